/*
 * What the victims of test_crash_run do through the public API, and what they tell about it over a pipe.
 *
 * A note is one line. "try" comes before a call that writes, "did" after it returned: what was tried and not done may be
 * there or not, what was done must be.
 */
#ifndef UAR_TESTS_CRASH_SCENES_H
#define UAR_TESTS_CRASH_SCENES_H

#include "cases.h"
#include "kill_vfs.h"

enum { NOTE_WORDS = 5, NOTE_WORD = 64, NOTES_MOST = 256 };

typedef struct note {
    bool done;
    unsigned part;                     /* which victim wrote it, from 0 */
    char words[NOTE_WORDS][NOTE_WORD]; /* a verb and what it speaks of; "" where there is none */
} note;

typedef struct notes {
    note list[NOTES_MOST];
    size_t count;
} notes;

typedef struct stage {
    const char *folder; /* of the case: state.db and memory/memory.db */
    unsigned part;      /* names of this victim's things hold it, so that none is used twice */
    bool early;         /* the control: acknowledge before the commit */
    int out;            /* where notes go */
} stage;

/* A victim's work, from opening the store to closing it. False: something failed; it said so on its standard error. */
typedef bool (*scene_fn)(const stage *s);
bool scene_text(const stage *s);
bool scene_tools(const stage *s);
bool scene_settings(const stage *s);
bool scene_memory(const stage *s);
/* A session that stays and one that is deleted, deeply. */
bool scene_delete(const stage *s);

void note_write(const stage *s, const char *when, const char *verb, const char *a, const char *b, const char *c);

/* Run a scene in a process of its own that dies at `point`, and read its notes. False after a fault. */
bool scene_play(notes *out, case_result *r, scene_fn scene, const stage *s, const kill_point *point);
/* Play it unharmed and count its points. */
bool scene_measure(kill_counts *out, case_result *r, scene_fn scene);

#endif
