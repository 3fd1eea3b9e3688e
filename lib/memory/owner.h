/* What the runtime's care asks of a memory: all of one owner erased, and memory given back. */
#ifndef UAR_LIB_MEMORY_OWNER_H
#define UAR_LIB_MEMORY_OWNER_H

#include <uar/memory.h>

/* What went: records, entities of the graph with all that hangs on them, streams; `pending`: their bytes may still be in the
 * file. Waits on files. UAR_E_UNAVAILABLE, UAR_E_BUSY, UAR_E_READ_ONLY …: what was erased by then stays erased; call again. */
typedef struct owner_erasure {
    uint64_t records, entities, streams, pending;
} owner_erasure;

uar_status memory_erase_owner(owner_erasure *out, uar_memory *memory, uar_str owner, uar_error *err);
/* Give the index's cache back, and what SQLite keeps in memory; bytes of the former. Waits for a call that runs. */
size_t memory_trim(uar_memory *memory);

#endif
