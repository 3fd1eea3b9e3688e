/*
 * The event stream of one run in one epoch.
 *
 * It assigns ids (epoch << 40 | 1, 2, 3 …) and times, keeps the newest events in a ring, and wakes subscriptions. Publishing
 * is all or nothing: a refused event uses up no id. Any thread may call; the events of a run are ordered by who gets the
 * lock first. Lock order: hub > channel > subscription. No lock is held while a subscription's lane is posted.
 */
#ifndef UAR_LIB_EVENT_CHANNEL_H
#define UAR_LIB_EVENT_CHANNEL_H

#include <stdatomic.h>

#include "base/lock.h"
#include "event/event.h"
#include "event/ring.h"
#include "event/tap.h"

#define CHANNEL_COUNT_BITS 40
#define CHANNEL_EPOCH_MAX ((UINT64_C(1) << 24) - 1)

struct hub;
struct wake_list;

typedef struct channel {
    struct hub *hub; /* a reference */
    event_origin *origin;
    atomic_uint refs;
    mutex lock;
    ring events;                 /* lock */
    tap_list taps;               /* lock */
    bool reserved;               /* lock: a slot is kept for the terminal event */
    bool ended;                  /* lock: the terminal event was published */
    bool closed;                 /* lock */
    bool abandoned;              /* lock: closing it is not told */
    struct channel *prev, *next; /* hub lock: in the registry */
    bool listed;                 /* hub lock */
} channel;

channel *channel_ref(channel *ch);
void channel_unref(channel *ch); /* accepts NULL */

/* Before the first event: what records tell of the run, so that a cursor of an earlier epoch gets a useful snapshot.
 * UAR_E_NOMEM changes nothing. */
uar_status channel_seed(channel *ch, const uar_run_snapshot *from);
/* From now on publishing one terminal event can't fail for want of memory. UAR_E_NOMEM. */
uar_status channel_reserve_terminal(channel *ch);
/*
 * Publish. Takes the event over, also when it fails; NULL, as event_new returns it, gives UAR_E_NOMEM.
 * UAR_E_STALE: the run has ended and this is neither MemoryMutation nor Error. UAR_E_CLOSED. UAR_E_NOMEM.
 */
uar_status channel_publish(channel *ch, uar_event *event);
/* Close a channel of a run that never was: subscribers hear nothing of it. */
void channel_abandon(channel *ch);
/* Nothing more will come. Subscribers hear it after they had everything else. Closing again does nothing. */
void channel_close(channel *ch);
bool channel_is_closed(channel *ch);
/* The run as of now. UAR_E_NOMEM. */
uar_status channel_snapshot(uar_run_snapshot **out, channel *ch);
/* Id of the newest event; before the first one, the id before it. */
uint64_t channel_last(channel *ch);
/* Give the ring's memory back (a parked run, a memory warning). Who had not read it yet gets a gap. */
void channel_trim(channel *ch);
/* Bytes of events in the ring that nobody is still to read; 0 if a tap is behind. */
size_t channel_spare_bytes(channel *ch);

/* For hub.c and subscription.c. */

/* NULL: out of memory. */
channel *channel_new(struct hub *h, event_origin *origin, uint64_t epoch, const ring_limits *limits);
/* Close without telling the hub; false if it was closed before. */
bool channel_end(channel *ch, struct wake_list *wake);
/* Put a tap in, behind the event `*after` (at most the newest), or live if NULL. The tap gets a reference. */
void channel_attach(channel *ch, tap *t, const uint64_t *after, struct wake_list *wake);
void channel_detach(tap *t);
/* Mark all its taps: the channel has left the registry. Under the hub's lock. */
void channel_mark_forgotten(channel *ch);
/* Fill an empty batch with what comes next. True if more waits behind it: the tap is still queued. */
bool channel_collect(tap *t, tap_batch *batch);

#endif
