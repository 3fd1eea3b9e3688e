/* Each block carries its size in front. */
#include "counting.h"

#include <stdalign.h>
#include <stdlib.h>

typedef struct counted_block {
    alignas(max_align_t) size_t size;
} counted_block;

static size_t as_malloc_rounds(size_t size) {
    size_t chunk = (size + 8 + 15) / 16 * 16;
    return chunk < 32 ? 32 : chunk;
}

static void add(counting *c, size_t size) {
    size_t now = atomic_fetch_add(&c->bytes, size) + size;
    size_t peak = atomic_load(&c->peak);
    while (now > peak && !atomic_compare_exchange_weak(&c->peak, &peak, now)) {}
    atomic_fetch_add(&c->blocks, 1);
    atomic_fetch_add(&c->rounded, as_malloc_rounds(size));
}

static void take(counting *c, size_t size) {
    atomic_fetch_sub(&c->bytes, size);
    atomic_fetch_sub(&c->blocks, 1);
    atomic_fetch_sub(&c->rounded, as_malloc_rounds(size));
}

static void *count_alloc(void *ctx, size_t size) {
    counting *c = ctx;
    counted_block *block = malloc(sizeof *block + size);
    atomic_fetch_add(&c->calls, 1);
    if (block == NULL) return NULL;
    block->size = size;
    add(c, size);
    return block + 1;
}

/* Old and new are never alive together as far as this counts: malloc may have grown it in place. */
static void *count_resize(void *ctx, void *ptr, size_t size) {
    counting *c = ctx;
    counted_block *block = (counted_block *)ptr - 1;
    size_t before = block->size;
    block = realloc(block, sizeof *block + size);
    atomic_fetch_add(&c->calls, 1);
    if (block == NULL) return NULL;
    block->size = size;
    take(c, before);
    add(c, size);
    return block + 1;
}

static void count_release(void *ctx, void *ptr) {
    counting *c = ctx;
    counted_block *block = (counted_block *)ptr - 1;
    take(c, block->size);
    free(block);
}

void counting_init(counting *c) {
    *c = (counting){ .door = { .struct_size = UAR_ALLOCATOR_INIT,
                               .ctx = c,
                               .alloc = count_alloc,
                               .resize = count_resize,
                               .release = count_release } };
}

void counting_mark(counting *c) {
    atomic_store(&c->peak, atomic_load(&c->bytes));
}
