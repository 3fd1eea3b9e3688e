/* Items by row number. Open addressing, at most three quarters full; not thread-safe. */
#ifndef UAR_LIB_MEMORY_NUM_TABLE_H
#define UAR_LIB_MEMORY_NUM_TABLE_H

#include "base/alloc.h"

/* Each item is of one size and begins with its number, an int64_t that is never 0. */
typedef struct num_table {
    const uar_allocator *alloc;
    size_t item;
    char *slots;
    size_t slot_count, count;
} num_table;

void num_table_init(num_table *t, const uar_allocator *a, size_t item);
void num_table_dispose(num_table *t);
/* NULL: it isn't there. */
void *num_table_find(const num_table *t, int64_t num);
/* The item of a number; a new one is zero but for its number. Valid until the next one is taken. NULL: out of memory. */
void *num_table_take(num_table *t, int64_t num);
/* The slot of an index below slot_count: an item, or its number is 0. */
void *num_table_slot(const num_table *t, size_t index);

#endif
