/*
 * The event backbone of a runtime: its channels and its subscriptions.
 *
 * A registry finds the channel of a run. Ended runs stay findable until HUB_KEPT others ended after them; beyond
 * HUB_KEPT_BYTES the rings of the oldest are dropped once nobody reads them (a late listener gets the gap and the snapshot). A subscription
 * that is still behind on older ones is not robbed of them at once: the rings of the last HUB_BACKLOG_RINGS are kept for
 * it, then it gets gaps, and beyond HUB_BACKLOG_RUNS whole runs are dropped and counted. So memory stays bounded whatever a
 * subscriber does.
 *
 * Lock order: hub > channel > subscription. Closing goes in steps: hub_shut, let lanes run until hub_is_quiet or a deadline,
 * hub_close.
 */
#ifndef UAR_LIB_EVENT_HUB_H
#define UAR_LIB_EVENT_HUB_H

#include "base/callout.h"
#include "event/channel.h"

#define HUB_KEPT 16
#define HUB_KEPT_BYTES ((size_t)256 * 1024)
#define HUB_BACKLOG_RINGS 64
#define HUB_BACKLOG_RUNS 256

typedef struct hub hub;

/* The allocator is copied and must work until the last subscription, event and snapshot is freed. What the other pointers
 * point at must live until hub_close has returned. */
typedef struct hub_options {
    uar_allocator alloc;
    const uar_clock *clock;
    const uar_executor *executor;
    callouts *calls; /* marks threads that are in callbacks; NULL: none is */
    bool may_block;  /* post lanes as tasks that may block: a slow subscriber then takes no worker from the runs */
    /* Optional, where nothing runs by itself: do what is ready, waiting at most `ms` for something to do. Called by
     * uar_subscription_next while it waits. */
    void (*work)(void *ctx, uint32_t ms);
    void *work_ctx;
} hub_options;

/* UAR_E_NOMEM. */
uar_status hub_new(hub **out, const hub_options *options);
/* No new channels and subscriptions (UAR_E_CLOSED); open channels close. Deliveries go on. */
void hub_shut(hub *h);
/* True if no callback runs and none is due. */
bool hub_is_quiet(hub *h);
/*
 * Shut, wait for callbacks in flight, drop what wasn't delivered, call each subscription's `destroy`, give the hub back.
 * After it no callback comes. Pulled subscriptions may still read what is left. Lanes that were posted but did not run yet
 * must still be run (they do nothing) before the executor goes. Not from a callback, and no publishing may be in flight.
 */
void hub_close(hub *h);

/*
 * A channel for a run, heard by every subscription that matches. Returns a reference. UAR_E_EXISTS if the run has an open
 * channel, UAR_E_INVALID for an epoch of more than 24 bits, UAR_E_CLOSED, UAR_E_NOMEM. A run id of none makes a channel
 * that can't be found by id: the stream of what belongs to no run.
 */
uar_status hub_open_channel(channel **out, hub *h, event_origin *origin, uint64_t epoch, const ring_limits *limits);
/* A reference to the channel of a run, open or ended lately; NULL if there is none. */
channel *hub_find(hub *h, uar_run_id run);
/* The same, but NULL for a run of another owner. */
channel *hub_find_owned(hub *h, uar_str owner, uar_run_id run);

/* Give the rings of ended runs back that nobody is still to read; how many bytes of events they held. */
size_t hub_trim(hub *h);

/* For channel.c and subscription.c. */

hub *hub_ref(hub *h);
void hub_unref(hub *h);
const hub_options *hub_services(const hub *h);
/* True if this thread is in a callback. False once the hub is closed: then nothing waits. */
bool hub_is_inside_callback(hub *h);
/* A channel has closed: keep it for a while. */
void hub_retire(hub *h, channel *ch);
/* Register a subscription and put its taps in. `after` NULL: live. UAR_E_NOT_FOUND, UAR_E_INVALID, UAR_E_CLOSED,
 * UAR_E_NOMEM: nothing was done. */
uar_status hub_attach(hub *h, uar_subscription *sub, const uint64_t *after);
/* Take all taps of a subscription out; it gets no more. */
void hub_detach(hub *h, uar_subscription *sub);
/* Take a detached subscription out of the registry and give the registry's reference back. Last of all, after its
 * `destroy`: hub_close waits for those that are still registered. */
void hub_unregister(hub *h, uar_subscription *sub);
/* Free a tap that has read its channel to the end. */
void hub_finish_tap(hub *h, tap *t);

#endif
