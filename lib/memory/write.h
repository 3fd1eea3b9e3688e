/* The shared parts of writing: from a draft to a row, and keeping an older version. */
#ifndef UAR_LIB_MEMORY_WRITE_H
#define UAR_LIB_MEMORY_WRITE_H

#include "memory/caller.h"
#include "memory/content.h"

/* A record to be written, checked, with all that can be known without the store. */
typedef struct entry {
    arena ar;
    version v; /* seg and num are not set */
    segment_key key;
    uar_str unique_key;
    const float *vector; /* of the content, by the memory's embedder, length 1; NULL: none. Not owned */
    bool seems_known;    /* the store was seen to hold what it says, so that it was given no vector */
    int64_t now;
} entry;

/* Everything that can be wrong with a draft is told here. Dispose it also after a failure. */
uar_status entry_make(entry *d, const uar_memory *memory, const caller *c, const uar_memory_draft *given,
                      uar_error *err);
void entry_dispose(entry *d);

/*
 * Vectors of texts, one row of the embedder's dimensions each, freed with alloc_free; NULL if there are none (no embedder, or
 * it failed: then the rows are written without and embedded later). Without the lock.
 */
float *entry_vectors(uar_memory *memory, const uar_str *texts, size_t count);

/* Set seems_known: its key was written before, or a record says the same, word for word. Inside a snapshot. */
uar_status entry_look_up(entry *d, database *db, uar_error *err);
/* Add the draft by the rules of uar_memory_add_sync, inside a write transaction. If it seemed known and isn't any more,
 * seems_known is cleared and nothing was written: UAR_E_CONFLICT. It needs its vector then. The draft is left as it was, so
 * that it may be written again after a rollback. */
uar_status entry_add(uar_memory_change *out, entry *d, uar_memory *memory, uar_error *err);
/* The same, merging nothing and superseding nothing; only a unique key that was written before is still a repeat. */
uar_status entry_add_verbatim(uar_memory_change *out, entry *d, uar_memory *memory, uar_error *err);
/* Insert it as it is. */
uar_status entry_insert(entry *d, uar_memory *memory, uar_error *err);

/* The current version of a record that the caller sees. UAR_E_NOT_FOUND. */
uar_status record_find(version *out, uar_memory *m, const caller *c, uar_uuid id, arena *ar, uar_error *err);

/* Numbers of rows, collected before rows change under the statement that finds them. */
typedef struct num_list {
    const uar_allocator *alloc;
    int64_t *nums;
    size_t count, cap;
} num_list;

void num_list_init(num_list *list, const uar_allocator *a);
void num_list_dispose(num_list *list);
/* First column of all rows of the query, which is ended. */
uar_status num_list_collect(num_list *list, query *q, uar_error *err);

/* Take these rows out of the store: text, index entries, counts; tombstones stay and their bytes are noted for erase.h. */
uar_status version_erase_all(uar_memory *m, const num_list *rows, uar_error *err);

/* Replace the current row by `next` (same num, next revision) and keep `old` as an older version that ended at `until`.
 * `vector` is of the new content; NULL: there is none, or the content is the old one. */
uar_status version_replace(uar_memory *memory, const version *old, version *next, const float *vector, int64_t until,
                           uar_error *err);
/* What holds at `at` gives way to the record `by`: it ends, leaves recall and stays in the history of `by`. */
uar_status version_end(uar_memory *memory, version *v, int64_t at, uar_uuid by, int64_t now, uar_error *err);

#endif
