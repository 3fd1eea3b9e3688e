/*
 * Giving records a vector of the memory's model that have none: those written with another embedder, or while it failed.
 *
 * Work goes in steps of at most EMBED_BATCH records. A step reads texts in a snapshot, waits for the embedder without a lock,
 * and writes what it got in one transaction: between any two steps, and after a crash, the store is whole and the work goes
 * on where it was.
 */
#ifndef UAR_LIB_MEMORY_REEMBED_H
#define UAR_LIB_MEMORY_REEMBED_H

#include <uar/memory.h>

typedef struct reembed {
    int64_t after; /* row that the last step ended with */
    uint64_t done, total;
    bool begun, over;
    uint64_t refused; /* records that the embedder doesn't take */
    uar_error reason; /* why it doesn't take the last one */
} reembed;

/* Begin all zero; call until `over` or a failure. What one record alone makes fail is left out and told at the end. */
uar_status reembed_step(reembed *state, uar_memory *memory, uar_error *err);
/* Begin in the background if there is something to do. */
void reembed_begin(uar_memory *memory);

#endif
