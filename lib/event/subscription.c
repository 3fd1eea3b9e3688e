/*
 * Subscriptions. Invariants: the batch is touched only by the thread that set `running`; after `stop` no new callback
 * begins; `finished` is set once, after the taps are gone and `destroy` has returned.
 */
#include "event/subscription.h"

#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/struct_in.h"
#include "base/utf8.h"

#define FILTER_ID_MAX 128 /* bytes of an owner, user or session id */
#define WORK_SLICE_MS 50  /* how long a waiting thread helps out at once; hub_close may have to wait so long for it */

uar_subscription *subscription_ref(uar_subscription *sub) {
    atomic_fetch_add_explicit(&sub->refs, 1, memory_order_relaxed);
    return sub;
}

void subscription_unref(uar_subscription *sub) {
    if (atomic_fetch_sub_explicit(&sub->refs, 1, memory_order_acq_rel) != 1) return;
    assert(sub->taps.first == NULL && batch_is_empty(&sub->batch) && sub->shown == NULL);
    hub *h = sub->hub;
    condition_dispose(&sub->changed);
    mutex_dispose(&sub->lock);
    alloc_free(&hub_services(h)->alloc, sub);
    hub_unref(h);
    live_add(-1);
}

bool subscription_hears(const uar_subscription *sub, const event_identity *identity) {
    if (sub->everything) return true;
    if (!uar_str_equal(sub->owner, identity->owner)) return false;
    if (sub->user.ptr != NULL && !uar_str_equal(sub->user, identity->user)) return false;
    if (sub->session.ptr != NULL && !uar_str_equal(sub->session, identity->session)) return false;
    return uar_uuid_is_none(sub->run) || uar_uuid_equal(sub->run, identity->run);
}

static bool is_pulled(const uar_subscription *sub) {
    return sub->on_event == NULL;
}

/* Waking and being served. */

/* Something to deliver that no tap of a batch holds yet. Lock held. */
static bool has_ready(const uar_subscription *sub) {
    return sub->ready.first != NULL || sub->lost_runs != 0;
}

/* Lock held. */
static void add_ready(uar_subscription *sub, tap *t) {
    t->ready = true;
    tap_append(&sub->ready, t, TAP_IN_READY);
}

void subscription_ready(tap *t, wake_list *wake) {
    uar_subscription *sub = t->sub;
    mutex_lock(&sub->lock);
    add_ready(sub, t);
    if (is_pulled(sub)) {
        condition_broadcast(&sub->changed);
    } else if (!sub->posted && !atomic_load(&sub->stop)) {
        sub->posted = true;
        sub->wake_next = wake->first;
        wake->first = subscription_ref(sub);
    }
    mutex_unlock(&sub->lock);
}

static void post(uar_subscription *sub) {
    const hub_options *services = hub_services(sub->hub);
    services->executor->post(services->executor->ctx, &sub->task, services->may_block);
}

void subscription_wake(wake_list *wake) {
    for (uar_subscription *sub = wake->first, *next; sub != NULL; sub = next) {
        next = sub->wake_next;
        post(sub);
    }
}

bool subscription_drop_tap(uar_subscription *sub, tap *t) {
    mutex_lock(&sub->lock);
    bool waits = t->ready;
    if (waits) {
        tap_unlink(&sub->ready, t, TAP_IN_READY);
        t->ready = false;
        sub->lost_runs++;
    }
    mutex_unlock(&sub->lock);
    return waits;
}

bool subscription_is_busy(uar_subscription *sub) {
    mutex_lock(&sub->lock);
    bool busy = sub->posted;
    mutex_unlock(&sub->lock);
    return busy;
}

/* Runs that were dropped whole are told before anything else. True if the batch has that gap now. */
static bool tell_lost_runs(uar_subscription *sub) {
    mutex_lock(&sub->lock);
    uint64_t lost = sub->lost_runs;
    sub->lost_runs = 0;
    mutex_unlock(&sub->lock);
    if (lost == 0) return false;
    sub->batch.has_gap = true;
    sub->batch.gap = (uar_gap){ .first = 1, .last = lost };
    return true;
}

static tap *take_ready(uar_subscription *sub) {
    mutex_lock(&sub->lock);
    tap *t = sub->ready.first;
    if (t != NULL) {
        tap_unlink(&sub->ready, t, TAP_IN_READY);
        t->ready = false;
    }
    mutex_unlock(&sub->lock);
    return t;
}

/* Make sure that the batch has an item; false if nothing is due. The runner's. */
static bool refill(uar_subscription *sub) {
    while (batch_is_empty(&sub->batch)) {
        if (tell_lost_runs(sub)) return true;
        tap *t = take_ready(sub);
        if (t == NULL) return false;
        bool more = channel_collect(t, &sub->batch);
        if (more) {
            /* To the end of the list: runs take turns. */
            mutex_lock(&sub->lock);
            add_ready(sub, t);
            mutex_unlock(&sub->lock);
        } else if (sub->batch.has_closed) {
            hub_finish_tap(sub->hub, t);
            if (sub->batch.is_abandoned) sub->batch.has_closed = false;
        }
    }
    return true;
}

/* Take the next item out of a batch that isn't empty. The receiver owns the event's reference, or the gap's snapshot. */
static uar_next batch_take(tap_batch *batch) {
    uar_next item = { .kind = UAR_NEXT_EVENT };
    if (batch->has_gap) {
        item.kind = UAR_NEXT_GAP;
        item.gap = batch->gap;
        batch->has_gap = false;
        batch->snapshot = NULL;
    } else if (batch->at < batch->count) {
        item.event = batch->events[batch->at++];
    } else {
        item.kind = UAR_NEXT_CLOSED;
        item.gap.run = batch->run;
        batch->has_closed = false;
    }
    return item;
}

static void batch_clear(tap_batch *batch) {
    uar_run_snapshot_free(batch->snapshot);
    while (batch->at < batch->count)
        uar_event_unref(batch->events[batch->at++]);
    batch->snapshot = NULL;
    batch->has_gap = batch->has_closed = false;
}

/* Ending. */

static void call_destroy(uar_subscription *sub) {
    if (sub->destroyed) return;
    sub->destroyed = true;
    if (sub->destroy == NULL) return;
    callouts *calls = hub_services(sub->hub)->calls;
    callout_frame frame;
    if (calls != NULL) callout_enter(calls, &frame, CALLOUT_SINK);
    sub->destroy(sub->ctx);
    if (calls != NULL) callout_leave(calls, &frame);
}

/* Lock held. */
static void begin_running(uar_subscription *sub) {
    assert(!sub->running);
    sub->running = true;
    sub->runner = thread_self();
}

/* Let the taps go and call destroy. The runner's; lock held, and given up meanwhile. */
static void finish(uar_subscription *sub) {
    if (sub->finished) return;
    mutex_unlock(&sub->lock);
    batch_clear(&sub->batch);
    uar_run_snapshot_free(sub->shown);
    sub->shown = NULL;
    hub_detach(sub->hub, sub);
    call_destroy(sub);
    hub_unregister(sub->hub, sub);
    mutex_lock(&sub->lock);
    sub->ready = (tap_list){ NULL, NULL };
    sub->finished = true;
}

/* Lock held. */
static void end_running(uar_subscription *sub) {
    if (atomic_load(&sub->stop)) finish(sub);
    sub->running = false;
    condition_broadcast(&sub->changed);
}

/* No new callback from now on. Finish at once, or after the callback in flight if `waits`; else its thread will. */
static void stop(uar_subscription *sub, bool waits) {
    mutex_lock(&sub->lock);
    atomic_store(&sub->stop, true);
    condition_broadcast(&sub->changed);
    if (sub->running && thread_is(sub->runner, thread_self())) waits = false;
    while (waits && sub->running)
        condition_wait(&sub->changed, &sub->lock, UAR_FOREVER);
    if (!sub->running && !sub->finished) {
        begin_running(sub);
        end_running(sub);
    }
    mutex_unlock(&sub->lock);
}

void uar_subscription_free(uar_subscription *sub) {
    if (sub == NULL) return;
    stop(sub, !hub_is_inside_callback(sub->hub));
    subscription_unref(sub);
}

/* A pulled subscription keeps its taps: what is left can still be read. */
static void orphan(uar_subscription *sub) {
    mutex_lock(&sub->lock);
    sub->orphan = true;
    condition_broadcast(&sub->changed);
    while (sub->running)
        condition_wait(&sub->changed, &sub->lock, UAR_FOREVER);
    bool finished = sub->finished;
    if (!finished) begin_running(sub);
    sub->shutting = !finished;
    mutex_unlock(&sub->lock);
    if (finished) return;
    call_destroy(sub);
    mutex_lock(&sub->lock);
    sub->shutting = false;
    end_running(sub);
    mutex_unlock(&sub->lock);
}

void subscription_shut(uar_subscription *sub) {
    if (is_pulled(sub))
        orphan(sub);
    else
        stop(sub, true);
}

/* The lane of a pushed subscription. */

static void deliver(uar_subscription *sub, const uar_next *item) {
    switch (item->kind) {
    case UAR_NEXT_EVENT:
        sub->on_event(sub->ctx, item->event);
        uar_event_unref(item->event);
        break;
    case UAR_NEXT_GAP:
        if (sub->on_gap != NULL) sub->on_gap(sub->ctx, &item->gap);
        break;
    case UAR_NEXT_CLOSED:
        if (sub->on_closed != NULL) sub->on_closed(sub->ctx, item->gap.run);
        break;
    }
}

static void deliver_turn(uar_subscription *sub) {
    callouts *calls = hub_services(sub->hub)->calls;
    callout_frame frame;
    if (calls != NULL) callout_enter(calls, &frame, CALLOUT_SINK);
    for (int n = 0; n < LANE_TURN && !atomic_load_explicit(&sub->stop, memory_order_acquire) && refill(sub); n++) {
        uar_run_snapshot *snapshot = sub->batch.snapshot;
        uar_next item = batch_take(&sub->batch);
        deliver(sub, &item);
        if (item.kind == UAR_NEXT_GAP) uar_run_snapshot_free(snapshot);
    }
    if (calls != NULL) callout_leave(calls, &frame);
}

static void lane_run(void *arg) {
    uar_subscription *sub = arg;
    mutex_lock(&sub->lock);
    bool runs = !atomic_load(&sub->stop) && !sub->running;
    if (runs) {
        begin_running(sub);
        mutex_unlock(&sub->lock);
        deliver_turn(sub);
        mutex_lock(&sub->lock);
    }
    bool again = !atomic_load(&sub->stop) && (has_ready(sub) || !batch_is_empty(&sub->batch));
    sub->posted = again;
    if (runs) end_running(sub);
    mutex_unlock(&sub->lock);
    if (again)
        post(sub);
    else
        subscription_unref(sub);
}

/* Pulling. */

/* Wait until something may be due. `left` counts down. */
static uar_status pull_wait(uar_subscription *sub, uint32_t *left) {
    const hub_options *services = hub_services(sub->hub);
    uar_status status = UAR_OK;
    uint64_t began = clock_mono(&clock_default);
    mutex_lock(&sub->lock);
    bool due = has_ready(sub);
    bool gone = atomic_load(&sub->stop) || sub->orphan;
    bool helps = !due && !gone && *left != 0 && services->work != NULL;
    if (due)
        status = UAR_OK;
    else if (gone)
        status = UAR_E_CLOSED;
    else if (*left == 0)
        status = UAR_E_TIMEOUT;
    else if (!helps)
        condition_wait(&sub->changed, &sub->lock, *left);
    mutex_unlock(&sub->lock);
    /* `running` is set: hub_close waits for this thread before the services go. */
    if (helps) services->work(services->work_ctx, *left < WORK_SLICE_MS ? *left : WORK_SLICE_MS);
    uint64_t spent = clock_mono(&clock_default) - began;
    if (*left != UAR_FOREVER) *left = spent < *left ? *left - (uint32_t)spent : 0;
    return status;
}

static uar_status pull(uar_next *out, uar_subscription *sub, uint32_t timeout_ms) {
    uint32_t left = timeout_ms;
    while (!atomic_load(&sub->stop)) {
        if (refill(sub)) {
            uar_run_snapshot *snapshot = sub->batch.snapshot;
            *out = batch_take(&sub->batch);
            if (out->kind == UAR_NEXT_GAP) sub->shown = snapshot;
            return UAR_OK;
        }
        uar_status status = pull_wait(sub, &left);
        if (status != UAR_OK) return status;
    }
    return UAR_E_CLOSED;
}

uar_status uar_subscription_next(uar_next *out, uar_subscription *sub, uint32_t timeout_ms) {
    if (out == NULL || sub == NULL || !is_pulled(sub)) return UAR_E_INVALID;
    if (timeout_ms != 0 && hub_is_inside_callback(sub->hub)) return UAR_E_WOULD_DEADLOCK;
    subscription_ref(sub); /* whoever frees it meanwhile doesn't take it from under this call */
    mutex_lock(&sub->lock);
    while (sub->shutting && !thread_is(sub->runner, thread_self())) /* the hub that closes is no second puller */
        condition_wait(&sub->changed, &sub->lock, UAR_FOREVER);
    uar_status status = atomic_load(&sub->stop) ? UAR_E_CLOSED : sub->running ? UAR_E_BUSY : UAR_OK;
    if (status == UAR_OK) begin_running(sub);
    mutex_unlock(&sub->lock);
    if (status != UAR_OK) {
        subscription_unref(sub);
        return status;
    }
    uar_run_snapshot_free(sub->shown);
    sub->shown = NULL;
    status = pull(out, sub, timeout_ms);
    mutex_lock(&sub->lock);
    end_running(sub);
    mutex_unlock(&sub->lock);
    subscription_unref(sub);
    return status;
}

/* Making. */

static bool is_id(const char *id) {
    uar_str text = uar_str_of(id);
    if (text.len == 0 || text.len > FILTER_ID_MAX || !utf8_is_valid(text)) return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f) return false;
    return true;
}

static uar_status check_options(const uar_subscribe_options *o, uar_error *err) {
    if (o->owner == NULL || !is_id(o->owner)) return error_set(err, UAR_E_INVALID, "owner must be an id");
    if (o->user != NULL && !is_id(o->user)) return error_set(err, UAR_E_INVALID, "user must be an id");
    if (o->session != NULL && !is_id(o->session)) return error_set(err, UAR_E_INVALID, "session must be an id");
    if (o->session != NULL && o->user == NULL) return error_set(err, UAR_E_INVALID, "session needs user");
    if (o->has_after && uar_uuid_is_none(o->run)) return error_set(err, UAR_E_INVALID, "after needs run");
    if (o->on_event == NULL && (o->on_gap != NULL || o->on_closed != NULL))
        return error_set(err, UAR_E_INVALID, "on_gap and on_closed need on_event");
    return UAR_OK;
}

static bool init_waiting(uar_subscription *sub) {
    if (mutex_init(&sub->lock) != UAR_OK) return false;
    if (condition_init(&sub->changed) == UAR_OK) return true;
    mutex_dispose(&sub->lock);
    return false;
}

static uar_subscription *subscription_new(hub *h, size_t text_bytes) {
    const uar_allocator *alloc = &hub_services(h)->alloc;
    uar_subscription *sub = alloc_zeroed(alloc, 1, sizeof *sub + text_bytes);
    if (sub == NULL) return NULL;
    if (!init_waiting(sub)) {
        alloc_free(alloc, sub);
        return NULL;
    }
    sub->hub = hub_ref(h);
    atomic_init(&sub->refs, 1);
    atomic_init(&sub->stop, false);
    sub->task = (uar_task){ .fn = lane_run, .arg = sub };
    live_add(1);
    return sub;
}

static uar_str keep_text(char **at, const char *text) {
    uar_str kept = uar_str_of(text);
    if (text == NULL) return kept;
    memcpy(*at, text, kept.len);
    kept.ptr = *at;
    *at += kept.len;
    return kept;
}

uar_status subscription_open(uar_subscription **out, hub *h, const uar_subscribe_options *options, uar_error *err) {
    if (out == NULL || options == NULL) return error_set(err, UAR_E_INVALID, "out and options are required");
    uar_subscribe_options o;
    uar_status status = struct_in(&o, sizeof o, options, "uar_subscribe_options", err);
    if (status == UAR_OK) status = check_options(&o, err);
    if (status != UAR_OK) return status;
    size_t texts = uar_str_of(o.owner).len + uar_str_of(o.user).len + uar_str_of(o.session).len;
    uar_subscription *sub = subscription_new(h, texts);
    if (sub == NULL) return error_plain(err, UAR_E_NOMEM);
    char *at = sub->texts;
    sub->owner = keep_text(&at, o.owner);
    sub->user = keep_text(&at, o.user);
    sub->session = keep_text(&at, o.session);
    sub->run = o.run;
    sub->ctx = o.ctx;
    sub->on_event = o.on_event;
    sub->on_gap = o.on_gap;
    sub->on_closed = o.on_closed;
    sub->destroy = o.destroy;
    status = hub_attach(h, sub, o.has_after ? &o.after : NULL);
    if (status == UAR_OK) {
        *out = sub;
        return UAR_OK;
    }
    subscription_unref(sub);
    if (status == UAR_E_INVALID) return error_set(err, status, "after is not an id of this run");
    return error_plain(err, status);
}

uar_status subscription_open_sink(hub *h, const uar_event_sink *sink, uar_error *err) {
    if (sink == NULL) return error_set(err, UAR_E_INVALID, "the sink is missing");
    uar_event_sink s;
    uar_status status = struct_in(&s, sizeof s, sink, "uar_event_sink", err);
    if (status != UAR_OK) return status;
    if (s.on_event == NULL) return error_set(err, UAR_E_INVALID, "a sink needs on_event");
    uar_subscription *sub = subscription_new(h, 0);
    if (sub == NULL) return error_plain(err, UAR_E_NOMEM);
    sub->everything = true;
    sub->ctx = s.ctx;
    sub->on_event = s.on_event;
    sub->on_gap = s.on_gap;
    sub->on_closed = s.on_closed;
    sub->destroy = s.destroy;
    status = hub_attach(h, sub, NULL);
    subscription_unref(sub);
    return status != UAR_OK ? error_plain(err, status) : UAR_OK;
}
