/*
 * One listener: push (callbacks, on a serial lane of its own) or pull (uar_subscription_next).
 *
 * It has no queue. Publishers put taps into its ready list; whoever runs the subscription takes events from the rings in
 * batches and delivers them with no lock held. `running` makes that one thread at a time. The lane is posted on the edge
 * from idle to ready, delivers at most LANE_TURN items and posts itself again, so that lanes share threads fairly.
 *
 * `destroy` is called once, by the thread that finishes the subscription: who frees it, the lane if it was freed from inside
 * a callback, or hub_close. Lock order: hub > channel > subscription; no lock is held in call-outs.
 */
#ifndef UAR_LIB_EVENT_SUBSCRIPTION_H
#define UAR_LIB_EVENT_SUBSCRIPTION_H

#include <uar/sys/sink.h>

#include "event/hub.h"

#define LANE_TURN 256

struct uar_subscription {
    hub *hub; /* a reference */
    atomic_uint refs;
    /* What it hears; constant. */
    bool everything;
    uar_str owner, user, session;
    uar_run_id run;
    /* The host's callbacks; constant. */
    void *ctx;
    void (*on_event)(void *ctx, const uar_event *event);
    void (*on_gap)(void *ctx, const uar_gap *gap);
    void (*on_closed)(void *ctx, uar_run_id run);
    void (*destroy)(void *ctx);

    uar_task task;               /* the executor's while posted */
    uar_subscription *wake_next; /* who posts it */

    mutex lock;
    condition changed;
    tap_list ready;          /* lock */
    uint64_t lost_runs;      /* lock: dropped whole, not told yet */
    bool posted;             /* lock: the lane is posted or runs */
    bool running;            /* lock: `runner` has the batch */
    bool finished;           /* lock: it has no taps and gets no more */
    bool orphan;             /* lock: pulled, and the hub is closed */
    bool shutting;           /* lock: the hub that closes is the runner */
    atomic_bool stop;        /* set under lock: deliver nothing more */
    thread_id runner;        /* lock, while running */
    tap_batch batch;         /* the runner's */
    uar_run_snapshot *shown; /* the runner's: of the gap that the last uar_subscription_next gave */
    bool destroyed;          /* whoever finishes it: the host's destroy was called */

    tap_list taps;                 /* hub lock */
    size_t forgotten;              /* hub lock: taps whose channel is no longer in the registry */
    bool detached;                 /* hub lock: gets no more taps */
    bool shut;                     /* hub lock: hub_close has dealt with it */
    uar_subscription *prev, *next; /* hub lock: in the registry */
    char texts[];
};

/* Subscriptions whose lane must be posted once no lock is held. Each brings a reference for the task. */
typedef struct wake_list {
    uar_subscription *first;
} wake_list;

/* As uar_subscribe. After a failure nothing was taken over: `destroy` is not called. */
uar_status subscription_open(uar_subscription **out, hub *h, const uar_subscribe_options *options, uar_error *err);
/* A sink hears everything of all owners until the hub closes. After a failure nothing was taken over. */
uar_status subscription_open_sink(hub *h, const uar_event_sink *sink, uar_error *err);

/* For channel.c and hub.c. */

bool subscription_hears(const uar_subscription *sub, const event_identity *identity);
/* A tap has something to deliver. Called under its channel's lock. */
void subscription_ready(tap *t, wake_list *wake);
/* Post the lanes of the list. With no lock held. */
void subscription_wake(wake_list *wake);
/* Take a tap that waits out of the ready list, counting its run as lost; false if it is being served. */
bool subscription_drop_tap(uar_subscription *sub, tap *t);
/* True if something is being delivered or due; never for pulled ones. */
bool subscription_is_busy(uar_subscription *sub);
/* The hub closes: wait for a callback in flight, then no more callbacks; `destroy` is called. */
void subscription_shut(uar_subscription *sub);
uar_subscription *subscription_ref(uar_subscription *sub);
void subscription_unref(uar_subscription *sub);

#endif
