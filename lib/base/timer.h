/*
 * Timers of a runtime: a heap over the executor's single wake-up.
 *
 * A timer is a node inside its owner. `fire` runs once, outside all locks, on whatever thread woke; it must be quick.
 * timer_stop answers true if `fire` will not run; after false it runs or has run: so the owner holds one reference of
 * itself for an armed timer and gives it back in `fire`, or after a true stop. Lock order: leaf.
 */
#ifndef UAR_LIB_BASE_TIMER_H
#define UAR_LIB_BASE_TIMER_H

#include "base/alloc.h"
#include "base/lock.h"

typedef struct timer {
    uint64_t at;  /* monotonic ms */
    size_t index; /* place in the heap + 1; 0: not armed */
    void (*fire)(void *arg);
    void *arg;
} timer;

typedef struct timers {
    const uar_allocator *alloc;
    const uar_clock *clock;
    const uar_executor *executor;
    mutex lock;
    timer **heap;
    size_t count, cap;
    size_t room; /* slots promised by timer_reserve */
} timers;

uar_status timers_init(timers *ts, const uar_allocator *alloc, const uar_clock *clock, const uar_executor *executor);
void timers_dispose(timers *ts);
/* Promise room for `count` more armed timers, so that timer_start can't fail. UAR_E_NOMEM. */
uar_status timer_reserve(timers *ts, size_t count);
void timer_unreserve(timers *ts, size_t count);
/* Arm, in `ms` milliseconds. Must not be armed. */
void timer_start(timers *ts, timer *t, uint64_t ms);
bool timer_stop(timers *ts, timer *t);
/* Fire what is due; returns the milliseconds to the next one, UINT32_MAX: none. */
uint32_t timers_run(timers *ts);
/* Fire all, due or not: the end has come. */
void timers_flush(timers *ts);
/* Milliseconds to the next one without firing. */
uint32_t timers_next(timers *ts);

#endif
