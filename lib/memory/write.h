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
    int64_t now;
} entry;

/* Everything that can be wrong with a draft is told here. Dispose it also after a failure. */
uar_status entry_make(entry *d, const uar_memory *memory, const caller *c, const uar_memory_draft *given,
                      uar_error *err);
void entry_dispose(entry *d);

/* Find or make the segment of the draft, inside a write transaction. */
uar_status entry_segment(entry *d, database *db, uar_error *err);
/* Add the draft by the rules of uar_memory_add_sync, inside a write transaction. */
uar_status entry_add(uar_memory_change *out, entry *d, uar_memory *memory, uar_error *err);
/* Insert it as it is, merging nothing. */
uar_status entry_insert(entry *d, uar_memory *memory, uar_error *err);

/* Replace the current row by `next` (same num, next revision) and keep `old` as an older version that ended at `until`. */
uar_status version_replace(uar_memory *memory, const version *old, version *next, int64_t until, uar_error *err);

#endif
