/*
 * The conformance kit's own types, for the check*.c files only.
 *
 * A requirement is a number that never changes, a one-line demand and a function that tries it. It returns true if the
 * demand is kept; otherwise it has left the fault in the kit. Calls wait, one at a time; what they read is copied into the
 * kit's arena before the layer's release. Each requirement works under two owners of its own, which are swept afterwards.
 */
#ifndef UAR_LIB_STORE_CHECK_H
#define UAR_LIB_STORE_CHECK_H

#include <uar/persistence.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "store/record.h"

enum { KIT_HOMES = 16, KIT_OWNER = 80, KIT_SAID = 96 };

/* An owner and a kind that a requirement has written to. */
typedef struct kit_home {
    uint32_t kind;
    uar_str owner;
} kit_home;

/* What a requirement needs to be asked for. */
typedef enum kit_need {
    KIT_ALWAYS,
    KIT_OVERLAPS, /* calls of one layer may overlap */
    KIT_REOPENS,  /* a source */
    KIT_HANDLES,  /* a source that gives several layers at once; the requirement finds the second one open */
    KIT_SUSPENDS,
    KIT_SUSPENDS_BESIDE, /* as KIT_HANDLES, and the layer can be suspended */
    KIT_SUSPENDS_REOPENS,
    KIT_MAINTAINS,
    KIT_CHECKS,
    KIT_BACKS_UP
} kit_need;

/* The kit's measures. The public calls have 30 s and 16 MiB; its own tests ask for less, because they ask often. */
typedef struct check_measures {
    uint32_t patience_ms; /* how long a call may take */
    size_t large;         /* bytes of the largest values */
} check_measures;

typedef struct kit {
    uar_persistence layer;         /* the one that calls go to */
    uar_persistence other_layer;   /* KIT_HANDLES: the second one on the same data */
    bool has_layer, has_other;     /* what is open */
    uar_persistence_source source; /* open_another NULL: there is none */
    check_measures measures;
    arena memory; /* of one requirement */
    char run[UAR_UUID_TEXT];
    char owner_text[KIT_OWNER], other_text[KIT_OWNER];
    uar_str owner, other;
    kit_home homes[KIT_HOMES];
    size_t home_count;
    bool watches_ends; /* look how calls end */
    bool scribbles;    /* overwrite what get and list were lent as soon as they return */
    bool is_hung;      /* a call never ended: nothing more may be asked */
    bool is_gone;      /* the layer couldn't be opened again: nothing more can be asked */
    bool is_out_of_memory;
    char said[KIT_SAID]; /* what the layer said with its last failure */
    bool was_held;       /* of the last call: a reference stayed */
    unsigned stale;      /* of the last call: finishes after its end */
    uar_error fault;
} kit;

typedef struct kit_requirement {
    uint32_t number;
    const char *demand;
    bool (*is_kept)(kit *k);
} kit_requirement;

typedef struct kit_group {
    kit_need need;
    const kit_requirement *requirements;
    size_t count;
} kit_group;

extern const kit_group check_writes;                                              /* 10 to 38 */
extern const kit_group check_fields;                                              /* 40 to 59 */
extern const kit_group check_lists;                                               /* 60 to 77 */
extern const kit_group check_pages;                                               /* 80 to 84 */
extern const kit_group check_overlap;                                             /* 85 to 87 */
extern const kit_group check_walks;                                               /* 88 and 89 */
extern const kit_group check_calls;                                               /* 90 to 93 */
extern const kit_group check_reopen;                                              /* 100 to 106 */
extern const kit_group check_handles;                                             /* 110 to 119 */
extern const kit_group check_suspend, check_suspend_beside, check_suspend_reopen; /* 120, 121, 122 */
extern const kit_group check_maintain, check_check, check_backup;                 /* 123, 124, 125 and 126 */

/* All of them, in the order of their numbers; the door's own, 1 to 3, come before. */
extern const kit_group *const check_groups[];
extern const size_t check_groups_count;

uar_status check_run(uar_persistence_report *report, const uar_persistence *layer, check_measures measures,
                     uar_requirement_fn each, void *each_ctx, uar_error *err);
uar_status check_run_with(uar_persistence_report *report, const uar_persistence_source *source, check_measures measures,
                          uar_requirement_report_fn each, void *each_ctx, uar_error *err);

/* ---- check_source.c: layers; each leaves a fault and returns false if there is none ---- */

/* Destroy the layer and open another on the same data. After a failure nothing more can be asked. */
bool kit_reopen(kit *k);
bool kit_open_other(kit *k);
void kit_close_other(kit *k);
void kit_swap(kit *k); /* calls go to the other layer */
void kit_close(kit *k);
/* A layer that was given, in the form that is called, and opened. `what` names it. */
bool kit_open_layer(uar_persistence *out, kit *k, const uar_persistence *given, const char *what);

/* ---- check_call.c ---- */

typedef struct kit_page {
    const uar_record *records;
    size_t count;
} kit_page;

uar_status kit_get(uar_record *out, kit *k, uint32_t kind, uar_str owner, uar_str id);
uar_status kit_list(kit_page *out, kit *k, const uar_list_query *query);
uar_status kit_commit(kit *k, const uar_write *writes, size_t count);
/* Delete what the requirement wrote, as far as the layer lets it. */
void kit_sweep(kit *k);

/* A sealed record of kind MESSAGE under the kit's owner, at revision 1, with a small body. */
uar_record kit_record(kit *k, uar_str id);
uar_record kit_child(kit *k, uar_str id, uar_str parent);
uar_record kit_sorted(kit *k, uar_str id, uar_str parent, int64_t sort);
/* The record at another revision with another body. */
uar_record kit_newer(kit *k, uar_record record, uint64_t revision);
uar_write kit_put(uar_record record, uint64_t expected);
uar_write kit_delete(uar_record record, uint64_t expected);
uar_write kit_fence(uar_record record, uint64_t expected);
uar_write kit_delete_children(uar_record child);
/* Numbered text in the arena: "<prefix><number>", zero-padded to four digits. */
uar_str kit_name(kit *k, const char *prefix, size_t number);
/* `len` bytes of every value, in the arena. */
uar_str kit_bytes(kit *k, size_t len);

/* A thread of a requirement has a kit of its own, so that arenas and faults aren't shared. */
void kit_fork(kit *own, const kit *of);
/* Take over what the thread found, first fault first. Returns whether all is well. */
bool kit_join(kit *k, kit *own, bool is_kept);
/* NULL with the mark set: out of memory. */
void *kit_memory(kit *k, size_t size);

/* ---- check_overlap.c: what is demanded of overlapping calls, and of two layers at once ---- */

bool kit_races(kit *k);
bool kit_sees_whole_commits(kit *k);
bool kit_pages_beside_writes(kit *k);

/* ---- check_expect.c ---- */

enum { KIT_QUOTE = 40 };
/* Bytes as a reader can see them: in quotes, odd ones as \xNN, cut; `absent` for NULL. */
const char *kit_quote(char out[KIT_QUOTE], uar_str text);

/* Leave a fault; always false. printf-like as error_set. */
#define KIT_FAULT(k, ...) (error_set(&(k)->fault, UAR_E_INVALID, __VA_ARGS__), false)
/* The common demands. Each leaves a fault and returns false if it isn't met; `what` says what was tried. */
bool kit_expect(kit *k, uar_status got, uar_status wanted, const char *what);
bool kit_commits(kit *k, const uar_write *writes, size_t count, const char *what);
bool kit_stores(kit *k, uar_record record);                                        /* puts it as new */
bool kit_refuses(kit *k, const uar_write *writes, size_t count, const char *what); /* UAR_E_CONFLICT */
bool kit_has(kit *k, const uar_record *record);                                    /* get gives exactly this */
bool kit_lacks(kit *k, const uar_record *record);
bool kit_same(kit *k, const uar_record *got, const uar_record *wanted);
/* The list gives exactly these ids in this order. */
bool kit_lists(kit *k, const uar_list_query *query, const uar_str *ids, size_t count);
/* All records of kind MESSAGE and the kit's owner, up to 1,000. */
uar_list_query kit_query(const kit *k, uar_list_order order);

#endif
