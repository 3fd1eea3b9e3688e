/*
 * Memory through the allocator door, and the count of live objects.
 * Invariants: the door never sees a size of 0 or a NULL pointer to release; a failed call changes nothing.
 * Owns one of the library's two pieces of static mutable data: the atomic count.
 */
#include "base/alloc.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

static void *heap_alloc(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size);
}

static void *heap_resize(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    return realloc(ptr, size);
}

static void heap_release(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

const uar_allocator alloc_default = {
    .struct_size = UAR_ALLOCATOR_INIT,
    .alloc = heap_alloc,
    .resize = heap_resize,
    .release = heap_release,
};

void *alloc_bytes(const uar_allocator *a, size_t size) {
    assert(a != NULL);
    return a->alloc(a->ctx, size != 0 ? size : 1);
}

void *alloc_zeroed(const uar_allocator *a, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    void *ptr = alloc_bytes(a, count * size);
    if (ptr != NULL) memset(ptr, 0, count * size);
    return ptr;
}

void *alloc_resize(const uar_allocator *a, void *ptr, size_t size) {
    assert(a != NULL);
    if (ptr == NULL) return alloc_bytes(a, size);
    return a->resize(a->ctx, ptr, size != 0 ? size : 1);
}

void alloc_free(const uar_allocator *a, const void *ptr) {
    if (ptr == NULL) return;
    assert(a != NULL);
    /* Through an integer: owners may hold their memory as const, the door takes it back as mutable. */
    a->release(a->ctx, (void *)(uintptr_t)ptr);
}

char *alloc_text(const uar_allocator *a, uar_str text) {
    if (text.len == SIZE_MAX) return NULL;
    char *copy = alloc_bytes(a, text.len + 1);
    if (copy == NULL) return NULL;
    if (text.len != 0) memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

static _Atomic int64_t live_objects;

void live_add(int delta) {
    int64_t before = atomic_fetch_add_explicit(&live_objects, delta, memory_order_relaxed);
    assert(before + delta >= 0);
    (void)before;
}

int64_t uar_live_objects(void) {
    return atomic_load_explicit(&live_objects, memory_order_relaxed);
}
