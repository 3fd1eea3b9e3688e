/*
 * The dispatcher's own state, for store.c and store_care.c only.
 *
 * Invariants: `posted` is true while a task is queued or works the queue; `open` is the one call that the provider has; a
 * reference is held by the owner, by the posted tasks and by the open call, and all but the owner's also keep the host; the
 * layer is destroyed once: by whoever finds the store closed, no call open and no provider function on any stack. While `held`
 * nothing new is let in; `suspended` says that the layer has given its files back.
 */
#ifndef UAR_LIB_STORE_STORE_STATE_H
#define UAR_LIB_STORE_STORE_STATE_H

#include <stdatomic.h>

#include "store/store.h"

/* First in, first out. */
typedef struct op_queue {
    store_op *head, *tail;
} op_queue;

struct store {
    uar_allocator alloc;
    const uar_clock *clock;
    const uar_executor *executor;
    callouts *callouts;
    void *host;
    void (*host_ref)(void *host);
    void (*host_unref)(void *host);
    uar_persistence layer;
    atomic_uint refs;
    mutex lock;
    condition idle;
    op_queue queue;
    store_op *open;             /* the provider has it */
    uar_completion *completion; /* of `open` */
    uar_task task;
    bool posted; /* the task is queued or runs */
    bool inside; /* a provider function is on some stack */
    bool held;
    bool suspended;
    bool closed;
    bool destroyed; /* the layer is */
    /* Care that runs beside the queue. */
    op_queue care;
    uar_task care_task;
    bool caring;            /* the care task is queued or runs */
    bool care_inside;       /* it has called the provider */
    atomic_bool stops_care; /* what runs is to end soon */
};

void op_push(op_queue *q, store_op *op);
/* NULL: empty. */
store_op *op_pop(op_queue *q);
/* Take all out, as a list by `next`. */
store_op *op_take_all(op_queue *q);

/* References for work that is under way. */
void store_keep(store *s);
void store_let_go(store *s);
/* End an op that the provider doesn't get. */
void store_refuse(store_op *op, uar_status status, const char *message);
/* Under the lock, which it drops while the layer is destroyed. */
void store_destroy_when_done(store *s);
/* Under the lock: let the queue be worked if there is something in it; true: post it when the lock is dropped. */
bool store_wants_post(store *s);
void store_post(store *s);

/* ---- store_care.c ---- */

bool store_is_care(store_call call);
/* Call the layer's slot and end the op. No lock is held. */
void store_care_call(store *s, store_op *op);
/* Under the lock: take a care op that may overlap; true: post it when the lock is dropped. */
bool store_care_take(store *s, store_op *op);
void store_care_post(store *s);

#endif
