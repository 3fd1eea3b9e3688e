/*
 * What a memory keeps of its index: the engine with the segments that are in memory, and what the transaction in the works
 * did to segments and has not yet written down.
 */
#ifndef UAR_LIB_MEMORY_SHELF_STATE_H
#define UAR_LIB_MEMORY_SHELF_STATE_H

#include "index/engine.h"

#define SHELF_CACHE_BYTES ((size_t)64 * 1024 * 1024)

/* Numbers of rows, sorted when they are used. */
typedef struct shelf_nums {
    int64_t *list;
    size_t count, cap;
} shelf_nums;

/* A segment that this transaction has touched: its row in `segment`, as it will be. */
typedef struct shelf_touched {
    int64_t seg;
    int64_t generation, edits, packed, newest, records, fresh;
    bool is_dirty;    /* something is not yet written down */
    bool has_changed; /* rows were put into `loose` */
    shelf_nums gone;  /* rows that left chunks */
} shelf_touched;

typedef struct shelf {
    engine engine;
    shelf_touched *touched;
    size_t count, cap;
} shelf;

#endif
