/*
 * Memory that is freed all at once: per-step scratch. Blocks double up to 64 KiB; larger requests get a block of their own.
 * Not thread-safe. Returned memory is aligned for any type and uninitialised.
 */
#ifndef UAR_LIB_BASE_ARENA_H
#define UAR_LIB_BASE_ARENA_H

#include "base/alloc.h"

typedef struct arena_block arena_block;
typedef struct arena {
    const uar_allocator *alloc;
    arena_block *blocks;
} arena;

void arena_init(arena *ar, const uar_allocator *a);
void arena_dispose(arena *ar);             /* frees everything; the arena can be used again */
void *arena_alloc(arena *ar, size_t size); /* NULL: out of memory */
void *arena_zeroed(arena *ar, size_t count, size_t size);
/* NUL-terminated copy; ptr NULL on out of memory. An absent text stays absent. */
uar_str arena_str(arena *ar, uar_str s);

#endif
