/*
 * The heartbeat of an instance: one record whose revision rises every second while runs are open. Others watch it to tell a
 * living holder of a lease from a dead one; clocks are never compared.
 *
 * Invariants: the first beat is stored before any lease names this instance; at most one beat is on its way. Lock: leaf.
 */
#ifndef UAR_LIB_RUN_PULSE_H
#define UAR_LIB_RUN_PULSE_H

#include "base/timer.h"
#include "store/bodies.h"
#include "store/store.h"

#define PULSE_BEAT_MS 1000
/* Unchanged for so long of the observer's own time: dead. */
#define PULSE_DEAD_MS 3000

typedef struct pulse_waiter {
    struct pulse_waiter *next;
    void (*ready)(struct pulse_waiter *w, uar_status status); /* any thread, quick */
    uar_status status;
} pulse_waiter;

typedef struct pulse {
    const uar_allocator *alloc;
    timers *timers;
    store *store;
    uar_uuid instance;
    mutex lock;
    condition idle;
    timer timer;
    store_op op;
    pulse_waiter *waiters;
    uint64_t revision; /* of the record; 0: not stored */
    uint32_t users;    /* runs that need it */
    bool beating;      /* op is on its way */
    bool armed;        /* the timer is armed or firing */
    bool closed;
    bool removing; /* op is the removal, or it is done */
    bool looking;  /* the record was elsewhere: op asked where, or beats on from there */
} pulse;

uar_status pulse_init(pulse *p, const uar_allocator *alloc, timers *clockwork, store *records, uar_uuid instance);
/* A run needs the heartbeat: `ready` is called when it is stored, perhaps before this returns. Each call is paired with one
 * pulse_release, also when it failed. */
void pulse_require(pulse *p, pulse_waiter *w);
void pulse_release(pulse *p);
/* No more beats; the record is removed. Doesn't wait. */
void pulse_stop(pulse *p);
/* True once the record is removed (or the store said no) and nothing is on its way; waits up to `ms` of the platform's time. */
bool pulse_wait(pulse *p, uint32_t ms);
void pulse_dispose(pulse *p);

#endif
