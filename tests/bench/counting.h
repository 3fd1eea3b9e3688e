/*
 * An allocator door over malloc that counts: bytes asked for and blocks, now and at most. Thread-safe. What malloc adds to
 * a block (8 bytes and rounding to 16 with glibc) is told apart, as `rounded`.
 */
#ifndef UAR_TESTS_BENCH_COUNTING_H
#define UAR_TESTS_BENCH_COUNTING_H

#include <stdatomic.h>

#include <uar/sys/platform.h>

typedef struct counting {
    uar_allocator door;
    atomic_size_t bytes, blocks, rounded; /* alive */
    atomic_size_t peak;                   /* most bytes alive since counting_mark */
    atomic_size_t calls;                  /* alloc and resize calls */
} counting;

void counting_init(counting *c);
/* Begin a new peak at what is alive. */
void counting_mark(counting *c);

#endif
