/*
 * Memory that is freed all at once.
 * Owns a list of blocks; the first one is the one that is filled, blocks for single large requests stand behind it.
 * Invariant: used <= size in each block, and every pointer given out is aligned for any type.
 */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>

enum { ARENA_FIRST = 512, ARENA_LARGEST = 64 * 1024, ARENA_ALIGN = alignof(max_align_t) };

struct arena_block {
    arena_block *next;
    size_t size; /* bytes of memory */
    size_t used;
    alignas(max_align_t) unsigned char memory[];
};

void arena_init(arena *ar, const uar_allocator *a) {
    assert(ar != NULL && a != NULL);
    *ar = (arena){ .alloc = a };
}

void arena_dispose(arena *ar) {
    for (arena_block *block = ar->blocks, *next; block != NULL; block = next) {
        next = block->next;
        alloc_free(ar->alloc, block);
    }
    ar->blocks = NULL;
}

static arena_block *block_new(const arena *ar, size_t size) {
    arena_block *block = alloc_bytes(ar->alloc, sizeof(arena_block) + size);
    if (block == NULL) return NULL;
    block->next = NULL;
    block->size = size;
    block->used = 0;
    return block;
}

/* The block that gets `size` more bytes. */
static arena_block *block_for(arena *ar, size_t size) {
    arena_block *first = ar->blocks;
    if (first != NULL && size <= first->size - first->used) return first;
    size_t wanted = first == NULL ? ARENA_FIRST : first->size * 2;
    if (wanted > ARENA_LARGEST) wanted = ARENA_LARGEST;
    bool is_large = size > wanted;
    arena_block *block = block_new(ar, is_large ? size : wanted);
    if (block == NULL) return NULL;
    if (is_large && first != NULL) {
        block->next = first->next;
        first->next = block;
    } else {
        block->next = first;
        ar->blocks = block;
    }
    return block;
}

void *arena_alloc(arena *ar, size_t size) {
    assert(ar != NULL && ar->alloc != NULL);
    if (size > SIZE_MAX / 2) return NULL;
    size_t rounded = size == 0 ? ARENA_ALIGN : (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    arena_block *block = block_for(ar, rounded);
    if (block == NULL) return NULL;
    void *ptr = block->memory + block->used;
    block->used += rounded;
    assert(block->used <= block->size);
    return ptr;
}

void *arena_zeroed(arena *ar, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    void *ptr = arena_alloc(ar, count * size);
    if (ptr != NULL) memset(ptr, 0, count * size);
    return ptr;
}

uar_str arena_str(arena *ar, uar_str s) {
    if (s.ptr == NULL || s.len == SIZE_MAX) return uar_str_n(NULL, 0);
    char *copy = arena_alloc(ar, s.len + 1);
    if (copy == NULL) return uar_str_n(NULL, 0);
    memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return uar_str_n(copy, s.len);
}
