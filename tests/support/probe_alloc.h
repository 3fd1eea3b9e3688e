/*
 * An allocator that counts what is alive and fails on demand, for leak checks and allocation-failure sweeps.
 * Not thread-safe. Owns nothing but its counters.
 */
#ifndef UAR_TESTS_SUPPORT_PROBE_ALLOC_H
#define UAR_TESTS_SUPPORT_PROBE_ALLOC_H

#include <stdlib.h>
#include <uar/sys/platform.h>

typedef struct probe_alloc {
    uar_allocator door; /* hand out &probe->door */
    long alive;         /* blocks not yet released */
    unsigned long calls;
    unsigned long fail_at; /* the number of the call that fails, from 1; 0: none */
    bool for_good;         /* all later calls fail as well */
} probe_alloc;

static inline bool probe_alloc_fails(probe_alloc *p) {
    p->calls++;
    return p->fail_at != 0 && (p->calls == p->fail_at || (p->for_good && p->calls > p->fail_at));
}

static inline void *probe_alloc_alloc(void *ctx, size_t size) {
    probe_alloc *p = ctx;
    if (size == 0 || probe_alloc_fails(p)) return NULL;
    void *ptr = malloc(size);
    if (ptr != NULL) p->alive++;
    return ptr;
}

static inline void *probe_alloc_resize(void *ctx, void *ptr, size_t size) {
    probe_alloc *p = ctx;
    if (size == 0 || probe_alloc_fails(p)) return NULL;
    return realloc(ptr, size);
}

static inline void probe_alloc_release(void *ctx, void *ptr) {
    probe_alloc *p = ctx;
    p->alive--;
    free(ptr);
}

static inline void probe_alloc_init(probe_alloc *p) {
    *p = (probe_alloc){ .door = { .struct_size = UAR_ALLOCATOR_INIT,
                                  .ctx = p,
                                  .alloc = probe_alloc_alloc,
                                  .resize = probe_alloc_resize,
                                  .release = probe_alloc_release } };
}

/* Start a round of a sweep: the n-th call from now on fails. */
static inline void probe_alloc_arm(probe_alloc *p, unsigned long fail_at, bool for_good) {
    p->calls = 0;
    p->fail_at = fail_at;
    p->for_good = for_good;
}

/* True if the armed failure happened. */
static inline bool probe_alloc_has_failed(const probe_alloc *p) {
    return p->fail_at != 0 && p->calls >= p->fail_at;
}

#endif
