/*
 * Channels. Owns the ring and the list of taps. Invariants: the newest id is ring_oldest + count - 1; a tap that has
 * something to read is queued; once closed, ring and flags change only by trimming.
 */
#include "event/channel.h"

#include <assert.h>

#include "base/clock.h"
#include "event/hub.h"
#include "event/subscription.h"

channel *channel_new(hub *h, event_origin *origin, uint64_t epoch, const ring_limits *limits) {
    assert(epoch <= CHANNEL_EPOCH_MAX);
    const hub_options *options = hub_services(h);
    channel *ch = ALLOC_NEW(&options->alloc, channel);
    if (ch == NULL) return NULL;
    if (mutex_init(&ch->lock) != UAR_OK) {
        alloc_free(&options->alloc, ch);
        return NULL;
    }
    ch->hub = hub_ref(h);
    ch->origin = event_origin_ref(origin);
    atomic_init(&ch->refs, 1);
    ring_init(&ch->events, event_origin_allocator(origin), epoch << CHANNEL_COUNT_BITS, limits);
    return ch;
}

channel *channel_ref(channel *ch) {
    atomic_fetch_add_explicit(&ch->refs, 1, memory_order_relaxed);
    return ch;
}

void channel_unref(channel *ch) {
    if (ch == NULL || atomic_fetch_sub_explicit(&ch->refs, 1, memory_order_acq_rel) != 1) return;
    assert(ch->taps.first == NULL && !ch->listed);
    hub *h = ch->hub;
    ring_dispose(&ch->events);
    event_origin_unref(ch->origin);
    mutex_dispose(&ch->lock);
    alloc_free(&hub_services(h)->alloc, ch);
    hub_unref(h);
}

static uint64_t newest(const channel *ch) {
    return ch->events.base.last_event + ch->events.count;
}

static bool has_more(const channel *ch, const tap *t) {
    return t->next_id <= newest(ch) || ch->closed;
}

static void queue_tap(tap *t, wake_list *wake) {
    if (t->queued) return;
    t->queued = true;
    subscription_ready(t, wake);
}

static void queue_taps(channel *ch, wake_list *wake) {
    for (tap *t = ch->taps.first; t != NULL; t = t->links[TAP_IN_CHANNEL].next)
        queue_tap(t, wake);
}

uar_status channel_seed(channel *ch, const uar_run_snapshot *from) {
    mutex_lock(&ch->lock);
    assert(ch->events.count == 0);
    uar_status status = snapshot_fold_seed(&ch->events.base, from);
    mutex_unlock(&ch->lock);
    return status;
}

uar_status channel_reserve_terminal(channel *ch) {
    mutex_lock(&ch->lock);
    uar_status status = ring_reserve(&ch->events, 1);
    if (status == UAR_OK) ch->reserved = true;
    mutex_unlock(&ch->lock);
    return status;
}

/* May the next event be of this kind, and is there a slot for it? */
static uar_status admit(channel *ch, uar_event_kind kind) {
    if (ch->closed) return UAR_E_CLOSED;
    if (ch->ended && kind != UAR_EVENT_MEMORY_MUTATION && kind != UAR_EVENT_ERROR) return UAR_E_STALE;
    const uint64_t counted = (UINT64_C(1) << CHANNEL_COUNT_BITS) - 1;
    if ((newest(ch) & counted) == counted) return UAR_E_INTERNAL;
    bool keep_one = ch->reserved && !ch->ended && !uar_event_is_terminal(kind);
    return ring_reserve(&ch->events, keep_one ? 2 : 1);
}

uar_status channel_publish(channel *ch, uar_event *event) {
    if (event == NULL) return UAR_E_NOMEM;
    assert(event_is_from(event, ch->origin) && event->id == 0);
    wake_list wake = { NULL };
    mutex_lock(&ch->lock);
    uar_status status = admit(ch, event->kind);
    if (status == UAR_OK) {
        event->id = newest(ch) + 1;
        event->time_ms = clock_wall(hub_services(ch->hub)->clock);
        ch->ended = ch->ended || uar_event_is_terminal(event->kind);
        ring_push(&ch->events, event);
        queue_taps(ch, &wake);
    }
    mutex_unlock(&ch->lock);
    if (status != UAR_OK) uar_event_unref(event);
    subscription_wake(&wake);
    return status;
}

bool channel_end(channel *ch, wake_list *wake) {
    mutex_lock(&ch->lock);
    bool ends = !ch->closed;
    ch->closed = true;
    if (ends) queue_taps(ch, wake);
    mutex_unlock(&ch->lock);
    return ends;
}

void channel_close(channel *ch) {
    wake_list wake = { NULL };
    if (!channel_end(ch, &wake)) return;
    hub_retire(ch->hub, ch);
    subscription_wake(&wake);
}

void channel_abandon(channel *ch) {
    mutex_lock(&ch->lock);
    ch->abandoned = true;
    mutex_unlock(&ch->lock);
    channel_close(ch);
}

bool channel_is_closed(channel *ch) {
    mutex_lock(&ch->lock);
    bool closed = ch->closed;
    mutex_unlock(&ch->lock);
    return closed;
}

uar_status channel_snapshot(uar_run_snapshot **out, channel *ch) {
    snapshot_fold now;
    mutex_lock(&ch->lock);
    uar_status status = snapshot_fold_copy(&now, &ch->events.base);
    for (size_t i = 0; status == UAR_OK && i < ch->events.count; i++)
        snapshot_fold_event(&now, ring_at(&ch->events, i));
    bool base_lost = ch->events.base.lost_text || ch->events.base.lost_calls;
    mutex_unlock(&ch->lock);
    if (status != UAR_OK) return status;
    /* What memory was short for just now can be had by asking again; only what the base lost is gone. */
    bool lost = now.lost_text || now.lost_calls;
    status = lost && !base_lost ? UAR_E_NOMEM : snapshot_take(out, &now, event_origin_identity(ch->origin)->run);
    snapshot_fold_dispose(&now);
    return status;
}

uint64_t channel_last(channel *ch) {
    mutex_lock(&ch->lock);
    uint64_t last = newest(ch);
    mutex_unlock(&ch->lock);
    return last;
}

void channel_trim(channel *ch) {
    mutex_lock(&ch->lock);
    ring_drop(&ch->events, ch->reserved && !ch->ended);
    mutex_unlock(&ch->lock);
}

size_t channel_spare_bytes(channel *ch) {
    mutex_lock(&ch->lock);
    size_t bytes = ch->taps.first == NULL ? ch->events.bytes : 0;
    mutex_unlock(&ch->lock);
    return bytes;
}

void channel_attach(channel *ch, tap *t, const uint64_t *after, wake_list *wake) {
    mutex_lock(&ch->lock);
    assert(after == NULL || *after <= newest(ch));
    t->channel = channel_ref(ch);
    t->next_id = after != NULL ? *after + 1 : newest(ch) + 1;
    tap_append(&ch->taps, t, TAP_IN_CHANNEL);
    if (has_more(ch, t)) queue_tap(t, wake);
    mutex_unlock(&ch->lock);
}

void channel_detach(tap *t) {
    channel *ch = t->channel;
    mutex_lock(&ch->lock);
    tap_unlink(&ch->taps, t, TAP_IN_CHANNEL);
    mutex_unlock(&ch->lock);
}

void channel_mark_forgotten(channel *ch) {
    mutex_lock(&ch->lock);
    for (tap *t = ch->taps.first; t != NULL; t = t->links[TAP_IN_CHANNEL].next) {
        t->forgotten = true;
        t->sub->forgotten++;
    }
    mutex_unlock(&ch->lock);
}

/* Step over what was evicted before the tap got to it. */
static void collect_gap(tap *t, tap_batch *batch) {
    const ring *events = &t->channel->events;
    if (t->next_id >= ring_oldest(events)) return;
    batch->has_gap = true;
    batch->gap = (uar_gap){ .run = batch->run, .first = t->next_id, .last = events->base.last_event };
    if (snapshot_take(&batch->snapshot, &events->base, batch->run) == UAR_OK) batch->gap.snapshot = batch->snapshot;
    t->next_id = ring_oldest(events);
}

static void collect_events(tap *t, tap_batch *batch) {
    const ring *events = &t->channel->events;
    size_t from = (size_t)(t->next_id - ring_oldest(events));
    size_t count = events->count - from < TAP_BATCH ? events->count - from : TAP_BATCH;
    for (size_t i = 0; i < count; i++)
        batch->events[i] = uar_event_ref(ring_at(events, from + i));
    batch->at = 0;
    batch->count = count;
    t->next_id += count;
}

bool channel_collect(tap *t, tap_batch *batch) {
    assert(batch_is_empty(batch));
    channel *ch = t->channel;
    batch->run = event_origin_identity(ch->origin)->run;
    mutex_lock(&ch->lock);
    collect_gap(t, batch);
    collect_events(t, batch);
    bool more = t->next_id <= newest(ch);
    batch->has_closed = !more && ch->closed;
    batch->is_abandoned = ch->abandoned;
    t->queued = more; /* a tap that read the end is never queued again: a channel closes once */
    mutex_unlock(&ch->lock);
    return more;
}
