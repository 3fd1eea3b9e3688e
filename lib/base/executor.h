/*
 * The bundled executors behind uar_executor: a thread pool, and `manual`, where the host pumps.
 *
 * Pool: `threads` workers for work that doesn't wait; tasks that may block get threads of their own, started when needed and
 * at most POOL_BLOCKING_MAX. Order: tasks of one lane start in the order they were posted.
 */
#ifndef UAR_LIB_BASE_EXECUTOR_H
#define UAR_LIB_BASE_EXECUTOR_H

#include "base/alloc.h"
#include "base/lock.h"

#define POOL_STACK_BYTES ((size_t)512 * 1024)
#define POOL_BLOCKING_MAX 64

/* FIFO of tasks. */
typedef struct task_queue {
    uar_task *head, *tail;
} task_queue;
void task_push(task_queue *q, uar_task *t);
uar_task *task_pop(task_queue *q); /* NULL: empty */

typedef struct pool_options {
    const uar_allocator *alloc;
    const uar_clock *clock;
    uint32_t threads;
    void *hook_ctx;
    void (*started)(void *ctx);
    void (*stopping)(void *ctx);
} pool_options;

/* Fill `out` with a running pool. UAR_E_NOMEM. `alloc` and `clock` are copied. */
uar_status pool_open(uar_executor *out, const pool_options *options);
/* Let what is queued run and end the threads; false if some still run host code at the deadline (they are left to end
 * alone). What is posted later never runs. Not from a pool thread. */
bool pool_stop(uar_executor *pool, uint32_t deadline_ms);
/* Give it back; the memory goes with the last thread. */
void pool_release(uar_executor *pool);

typedef struct manual_options {
    const uar_allocator *alloc;
    void *wake_ctx;
    void (*wake)(void *ctx);
} manual_options;

uar_status manual_open(uar_executor *out, const manual_options *options);
/* Run one task; false if there was none. Any thread, one at a time. */
bool manual_run_one(uar_executor *manual);
/* Tasks that are queued. The host hears the answer: after 0 the next task is an idle -> ready edge. */
size_t manual_count(uar_executor *manual);
/* Wait until a task is queued, at most `ms`. */
void manual_wait(uar_executor *manual, uint32_t ms);
void manual_close(uar_executor *manual);

#endif
