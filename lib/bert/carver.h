/*
 * One block of memory cut into aligned pieces. The same cutting is done twice: without memory to learn the size, then over
 * the block. So what is made of many arrays has one allocation that can fail, and one to free.
 */
#ifndef UAR_LIB_BERT_CARVER_H
#define UAR_LIB_BERT_CARVER_H

#include "base/alloc.h"

#define CARVER_ALIGN ((size_t)64)

typedef struct carver {
    char *block; /* NULL: only measure */
    size_t used;
    bool overflow;
} carver;

/* `count` items of `size` bytes, on a boundary of CARVER_ALIGN; NULL while measuring. */
static inline void *carve(carver *c, size_t count, size_t size) {
    size_t at = c->used;
    if (count > (SIZE_MAX / 2 - at) / size) {
        c->overflow = true;
        return NULL;
    }
    c->used = at + (count * size + CARVER_ALIGN - 1) / CARVER_ALIGN * CARVER_ALIGN;
    return c->block != NULL ? c->block + at : NULL;
}

/* The block for what was measured, and the carver set to cut it; free `*raw` with alloc_free. False: no memory. */
static inline bool carver_begin(carver *c, void **raw, const uar_allocator *a) {
    if (c->overflow) return false;
    *raw = alloc_bytes(a, c->used + CARVER_ALIGN);
    if (*raw == NULL) return false;
    uintptr_t at = (uintptr_t)*raw;
    c->block = (char *)*raw + (CARVER_ALIGN - at % CARVER_ALIGN) % CARVER_ALIGN;
    c->used = 0;
    return true;
}

#endif
