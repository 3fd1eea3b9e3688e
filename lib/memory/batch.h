/*
 * Several records in one transaction. One that is refused doesn't stop the others; a fault of the store undoes them all.
 */
#ifndef UAR_LIB_MEMORY_BATCH_H
#define UAR_LIB_MEMORY_BATCH_H

#include "memory/record_json.h"
#include "memory/write.h"

typedef struct batch_item {
    entry d;
    bool has_entry;          /* d is to be disposed */
    bool is_skipped;         /* nothing to write, and nothing wrong */
    const record_line *line; /* of an import, else NULL */
    uint64_t number;         /* what its failure is told by */
    uar_status status;       /* UAR_OK: it is, or will be, written */
    uar_error why;           /* if it was refused */
    uar_memory_change change;
} batch_item;

typedef uar_status (*batch_write_fn)(uar_memory_change *out, batch_item *item, uar_memory *memory, uar_error *err);

/* Check the draft and make the item's entry; what is wrong with it becomes the item's status. Only a status that ends the
 * whole batch is returned. */
uar_status batch_take(batch_item *item, uar_memory *memory, const caller *c, const uar_memory_draft *draft,
                      uar_error *err);
/* Embed, then write what has no fault yet by `write`, one behind the other inside one transaction; NULL: by the rules of
 * uar_memory_add_sync. Then what only repeats isn't embedded. Without the lock. */
uar_status batch_run(batch_item *items, size_t count, uar_memory *memory, batch_write_fn write, uar_error *err);
void batch_dispose(batch_item *items, size_t count);

#endif
