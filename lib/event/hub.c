/*
 * The registry. Owns one reference to each listed channel and to each registered subscription. Invariants: a run id is in
 * the map at most once; `kept` holds the channels that closed last, oldest at `kept_at` once full, and a channel in it is
 * listed; a subscription's `forgotten` counts those of its taps whose channel is no longer listed.
 */
#include "event/hub.h"

#include <assert.h>

#include "base/map.h"
#include "event/subscription.h"

struct hub {
    hub_options options;
    atomic_uint refs;
    mutex lock;
    map by_run;             /* run id -> channel */
    channel *channels;      /* newest first */
    uar_subscription *subs; /* newest first */
    channel *kept[HUB_KEPT];
    size_t kept_at;
    bool shut;
    bool closed; /* the services are gone */
};

uar_status hub_new(hub **out, const hub_options *options) {
    assert(options->clock != NULL && options->executor != NULL);
    hub *h = ALLOC_NEW(&options->alloc, hub);
    if (h == NULL) return UAR_E_NOMEM;
    if (mutex_init(&h->lock) != UAR_OK) {
        alloc_free(&options->alloc, h);
        return UAR_E_NOMEM;
    }
    h->options = *options;
    atomic_init(&h->refs, 1);
    map_init(&h->by_run, &h->options.alloc);
    *out = h;
    return UAR_OK;
}

hub *hub_ref(hub *h) {
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void hub_unref(hub *h) {
    if (atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1) return;
    assert(h->channels == NULL && h->subs == NULL);
    uar_allocator alloc = h->options.alloc;
    map_dispose(&h->by_run);
    mutex_dispose(&h->lock);
    alloc_free(&alloc, h);
}

const hub_options *hub_services(const hub *h) {
    return &h->options;
}

bool hub_is_inside_callback(hub *h) {
    mutex_lock(&h->lock);
    bool inside = !h->closed && h->options.calls != NULL && callout_is_inside(h->options.calls);
    mutex_unlock(&h->lock);
    return inside;
}

static uar_str run_key(const uar_run_id *run) {
    return uar_str_n((const char *)run->bytes, sizeof run->bytes);
}

static void list_channel(hub *h, channel *ch) {
    ch->listed = true;
    ch->prev = NULL;
    ch->next = h->channels;
    if (ch->next != NULL) ch->next->prev = ch;
    h->channels = ch;
}

/* Out of the registry; the caller gets the registry's reference. */
static void unlist_channel(hub *h, channel *ch) {
    assert(ch->listed);
    ch->listed = false;
    if (ch->prev != NULL)
        ch->prev->next = ch->next;
    else
        h->channels = ch->next;
    if (ch->next != NULL) ch->next->prev = ch->prev;
    uar_str key = run_key(&event_origin_identity(ch->origin)->run);
    if (map_get(&h->by_run, key) == ch) map_remove(&h->by_run, key);
}

static void free_tap(hub *h, tap *t) {
    channel *ch = t->channel;
    alloc_free(&h->options.alloc, t);
    channel_unref(ch);
}

/* Out of its channel and its subscription. Hub lock held. */
static void take_tap_out(tap *t) {
    channel_detach(t);
    tap_unlink(&t->sub->taps, t, TAP_IN_SUBSCRIPTION);
    if (t->forgotten) t->sub->forgotten--;
}

/* Keep what a slow subscription holds of forgotten runs within bounds. Hub lock held. */
static void bound_backlog(hub *h, uar_subscription *sub) {
    bool drop = sub->forgotten > HUB_BACKLOG_RUNS;
    size_t spare = sub->forgotten > HUB_BACKLOG_RINGS ? sub->forgotten - HUB_BACKLOG_RINGS : 0;
    for (tap *t = sub->taps.first, *next; t != NULL && spare != 0; t = next) {
        next = t->links[TAP_IN_SUBSCRIPTION].next;
        if (!t->forgotten) continue;
        spare--;
        if (drop && subscription_drop_tap(sub, t)) {
            drop = false;
            take_tap_out(t);
            free_tap(h, t);
        } else {
            channel_trim(t->channel);
        }
    }
}

/* A run that ended long ago leaves the registry. Hub lock held. */
static void forget_channel(hub *h, channel *ch) {
    unlist_channel(h, ch);
    channel_mark_forgotten(ch);
    for (uar_subscription *sub = h->subs; sub != NULL; sub = sub->next)
        if (sub->forgotten > HUB_BACKLOG_RINGS) bound_backlog(h, sub);
    channel_unref(ch);
}

/* Hub lock held: the rings of ended runs, the newest of them first, within their budget. */
static void trim_kept(hub *h) {
    size_t bytes = 0;
    for (size_t i = 1; i <= HUB_KEPT; i++) {
        channel *ch = h->kept[(h->kept_at + HUB_KEPT - i) % HUB_KEPT];
        if (ch == NULL) continue;
        size_t spare = channel_spare_bytes(ch);
        bytes += spare;
        if (spare > 0 && bytes > HUB_KEPT_BYTES && i > 1) channel_trim(ch);
    }
}

size_t hub_trim(hub *h) {
    size_t given = 0;
    mutex_lock(&h->lock);
    for (size_t i = 0; i < HUB_KEPT; i++) {
        channel *ch = h->kept[i];
        size_t spare = ch != NULL ? channel_spare_bytes(ch) : 0;
        if (spare > 0) channel_trim(ch);
        given += spare;
    }
    mutex_unlock(&h->lock);
    return given;
}

void hub_retire(hub *h, channel *ch) {
    mutex_lock(&h->lock);
    if (ch->listed && !h->shut) {
        channel *oldest = h->kept[h->kept_at];
        h->kept[h->kept_at] = ch;
        h->kept_at = (h->kept_at + 1) % HUB_KEPT;
        if (oldest != NULL) forget_channel(h, oldest);
        trim_kept(h);
    }
    mutex_unlock(&h->lock);
}

void hub_finish_tap(hub *h, tap *t) {
    mutex_lock(&h->lock);
    take_tap_out(t);
    mutex_unlock(&h->lock);
    free_tap(h, t);
}

/* Taps are made before any is put in: one that is in may be served at once and can't be taken back. Until then they are
 * chained by their place in the channel. */
static bool make_tap(hub *h, tap_list *made, uar_subscription *sub, channel *ch) {
    tap *t = ALLOC_NEW(&h->options.alloc, tap);
    if (t == NULL) return false;
    t->sub = sub;
    t->channel = ch;
    tap_append(made, t, TAP_IN_CHANNEL);
    return true;
}

static tap *next_made(tap_list *made) {
    tap *t = made->first;
    if (t != NULL) tap_unlink(made, t, TAP_IN_CHANNEL);
    return t;
}

static void discard_made(hub *h, tap_list *made) {
    for (tap *t = next_made(made); t != NULL; t = next_made(made))
        alloc_free(&h->options.alloc, t);
}

/* Hub lock held. */
static void put_tap_in(tap *t, const uint64_t *after, wake_list *wake) {
    tap_append(&t->sub->taps, t, TAP_IN_SUBSCRIPTION);
    channel_attach(t->channel, t, after, wake);
}

static void put_made_in(tap_list *made, const uint64_t *after, wake_list *wake) {
    for (tap *t = next_made(made); t != NULL; t = next_made(made))
        put_tap_in(t, after, wake);
}

/* Put a new channel into the registry and let everybody who matches hear it. Hub lock held. */
static uar_status register_channel(hub *h, channel *ch, wake_list *wake) {
    const event_identity *identity = event_origin_identity(ch->origin);
    if (h->shut) return UAR_E_CLOSED;
    channel *before = map_get(&h->by_run, run_key(&identity->run));
    if (before != NULL && !channel_is_closed(before)) return UAR_E_EXISTS;
    tap_list made = { NULL, NULL };
    bool whole = true;
    for (uar_subscription *sub = h->subs; sub != NULL && whole; sub = sub->next)
        if (!sub->detached && subscription_hears(sub, identity)) whole = make_tap(h, &made, sub, ch);
    if (whole && !uar_uuid_is_none(identity->run)) whole = map_put(&h->by_run, run_key(&identity->run), ch) == UAR_OK;
    if (!whole) {
        discard_made(h, &made);
        return UAR_E_NOMEM;
    }
    list_channel(h, channel_ref(ch));
    put_made_in(&made, NULL, wake);
    return UAR_OK;
}

uar_status hub_open_channel(channel **out, hub *h, event_origin *origin, uint64_t epoch, const ring_limits *limits) {
    if (epoch > CHANNEL_EPOCH_MAX) return UAR_E_INVALID;
    channel *ch = channel_new(h, origin, epoch, limits);
    if (ch == NULL) return UAR_E_NOMEM;
    wake_list wake = { NULL };
    mutex_lock(&h->lock);
    uar_status status = register_channel(h, ch, &wake);
    mutex_unlock(&h->lock);
    subscription_wake(&wake);
    if (status == UAR_OK)
        *out = ch;
    else
        channel_unref(ch);
    return status;
}

channel *hub_find(hub *h, uar_run_id run) {
    mutex_lock(&h->lock);
    channel *ch = map_get(&h->by_run, run_key(&run));
    if (ch != NULL) channel_ref(ch);
    mutex_unlock(&h->lock);
    return ch;
}

channel *hub_find_owned(hub *h, uar_str owner, uar_run_id run) {
    channel *ch = hub_find(h, run);
    if (ch == NULL || uar_str_equal(event_origin_identity(ch->origin)->owner, owner)) return ch;
    channel_unref(ch);
    return NULL;
}

/* Taps into all open channels that it hears. Hub lock held. */
static uar_status tap_open_channels(hub *h, uar_subscription *sub, wake_list *wake) {
    tap_list made = { NULL, NULL };
    for (channel *ch = h->channels; ch != NULL; ch = ch->next) {
        if (!subscription_hears(sub, event_origin_identity(ch->origin)) || channel_is_closed(ch)) continue;
        if (make_tap(h, &made, sub, ch)) continue;
        discard_made(h, &made);
        return UAR_E_NOMEM;
    }
    put_made_in(&made, NULL, wake);
    return UAR_OK;
}

/* A tap into the channel of the one run that it hears. Hub lock held. */
static uar_status tap_run(hub *h, uar_subscription *sub, const uint64_t *after, wake_list *wake) {
    channel *ch = map_get(&h->by_run, run_key(&sub->run));
    if (ch == NULL || !subscription_hears(sub, event_origin_identity(ch->origin))) return UAR_E_NOT_FOUND;
    if (after != NULL && *after > channel_last(ch)) return UAR_E_INVALID;
    tap_list made = { NULL, NULL };
    if (!make_tap(h, &made, sub, ch)) return UAR_E_NOMEM;
    put_made_in(&made, after, wake);
    return UAR_OK;
}

uar_status hub_attach(hub *h, uar_subscription *sub, const uint64_t *after) {
    wake_list wake = { NULL };
    mutex_lock(&h->lock);
    uar_status status = UAR_E_CLOSED;
    if (!h->shut)
        status = uar_uuid_is_none(sub->run) ? tap_open_channels(h, sub, &wake) : tap_run(h, sub, after, &wake);
    if (status == UAR_OK) {
        sub->prev = NULL;
        sub->next = h->subs;
        if (sub->next != NULL) sub->next->prev = sub;
        h->subs = subscription_ref(sub);
    }
    mutex_unlock(&h->lock);
    subscription_wake(&wake);
    return status;
}

/* All taps of a subscription, out of their channels. Hub lock held. They are freed only when all are out: until then
 * publishers may still link them in the ready list. */
static tap_list take_taps_out(uar_subscription *sub) {
    tap_list taken = { NULL, NULL };
    for (tap *t = sub->taps.first; t != NULL; t = sub->taps.first) {
        take_tap_out(t);
        tap_append(&taken, t, TAP_IN_SUBSCRIPTION);
    }
    return taken;
}

void hub_detach(hub *h, uar_subscription *sub) {
    mutex_lock(&h->lock);
    sub->detached = true;
    tap_list taken = take_taps_out(sub);
    mutex_unlock(&h->lock);
    for (tap *t = taken.first, *next; t != NULL; t = next) {
        next = t->links[TAP_IN_SUBSCRIPTION].next;
        free_tap(h, t);
    }
}

void hub_unregister(hub *h, uar_subscription *sub) {
    mutex_lock(&h->lock);
    if (sub->prev != NULL)
        sub->prev->next = sub->next;
    else
        h->subs = sub->next;
    if (sub->next != NULL) sub->next->prev = sub->prev;
    mutex_unlock(&h->lock);
    subscription_unref(sub);
}

void hub_shut(hub *h) {
    wake_list wake = { NULL };
    mutex_lock(&h->lock);
    h->shut = true;
    for (channel *ch = h->channels; ch != NULL; ch = ch->next)
        channel_end(ch, &wake);
    mutex_unlock(&h->lock);
    subscription_wake(&wake);
}

bool hub_is_quiet(hub *h) {
    mutex_lock(&h->lock);
    bool quiet = true;
    for (uar_subscription *sub = h->subs; sub != NULL && quiet; sub = sub->next)
        quiet = !subscription_is_busy(sub);
    mutex_unlock(&h->lock);
    return quiet;
}

/* A subscription that the close has not dealt with yet, with a reference; NULL: none is left. */
static uar_subscription *next_to_shut(hub *h) {
    mutex_lock(&h->lock);
    uar_subscription *sub = h->subs;
    while (sub != NULL && sub->shut)
        sub = sub->next;
    if (sub != NULL) {
        sub->shut = true;
        subscription_ref(sub);
    }
    mutex_unlock(&h->lock);
    return sub;
}

void hub_close(hub *h) {
    hub_shut(h);
    for (uar_subscription *sub = next_to_shut(h); sub != NULL; sub = next_to_shut(h)) {
        subscription_shut(sub);
        subscription_unref(sub);
    }
    mutex_lock(&h->lock);
    h->closed = true;
    while (h->channels != NULL) {
        channel *ch = h->channels;
        unlist_channel(h, ch);
        channel_unref(ch);
    }
    mutex_unlock(&h->lock);
    hub_unref(h);
}
