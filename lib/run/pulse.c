/* Owns: the heartbeat record of this instance. */
#include "run/pulse.h"

#include <assert.h>

#include "base/clock.h"

static void fire(void *arg);
static void beat_done(store_op *op);
static void look(pulse *p);

uar_status pulse_init(pulse *p, const uar_allocator *alloc, timers *clockwork, store *records, uar_uuid instance) {
    memset(p, 0, sizeof *p);
    p->alloc = alloc;
    p->timers = clockwork;
    p->store = records;
    p->instance = instance;
    p->timer.fire = fire;
    p->timer.arg = p;
    p->op.done = beat_done;
    p->op.arg = p;
    arena_init(&p->op.mem, alloc);
    uar_status status = mutex_init(&p->lock);
    if (status != UAR_OK) return status;
    status = condition_init(&p->idle);
    if (status == UAR_OK) {
        status = timer_reserve(clockwork, 1);
        if (status != UAR_OK) condition_dispose(&p->idle);
    }
    if (status != UAR_OK) mutex_dispose(&p->lock);
    return status;
}

void pulse_dispose(pulse *p) {
    arena_dispose(&p->op.mem);
    timer_unreserve(p->timers, 1);
    condition_dispose(&p->idle);
    mutex_dispose(&p->lock);
}

static uar_status build(pulse *p, uar_write_op what) {
    arena_dispose(&p->op.mem);
    uar_write *w = arena_zeroed(&p->op.mem, 1, sizeof *w);
    if (w == NULL) return UAR_E_NOMEM;
    w->op = what;
    w->expected = p->revision;
    p->op.call = STORE_COMMIT;
    p->op.writes = w;
    p->op.write_count = 1;
    return heartbeat_record(&w->record, &p->op.mem, p->instance, p->revision + 1);
}

static void tell(pulse_waiter *list, uar_status status) {
    while (list != NULL) {
        pulse_waiter *w = list;
        list = w->next;
        w->ready(w, status);
    }
}

/* Under the lock: take the waiters out. */
static pulse_waiter *take_waiters(pulse *p) {
    pulse_waiter *list = p->waiters;
    p->waiters = NULL;
    return list;
}

/* With `beating` set by the caller. */
static void beat(pulse *p) {
    uar_status status = build(p, UAR_WRITE_PUT);
    if (status == UAR_OK) {
        store_submit(p->store, &p->op);
        return;
    }
    p->op.status = status;
    beat_done(&p->op);
}

/* With `beating` and `removing` set. */
static void remove_record(pulse *p) {
    uar_status status = build(p, UAR_WRITE_DELETE);
    if (status == UAR_OK) {
        store_submit(p->store, &p->op);
        return;
    }
    p->op.status = status;
    beat_done(&p->op);
}

/* Under the lock: true if the record is to be removed now. */
static bool begin_removal(pulse *p) {
    if (!p->closed || p->removing || p->beating || p->revision == 0) return false;
    p->beating = p->removing = true;
    return true;
}

/* Under the lock. The record isn't where we left it: somebody took us for dead while we were asleep and removed it, or a beat
 * was stored whose answer was lost. */
static bool was_lost(const pulse *p, const store_op *op) {
    return op->status == UAR_E_CONFLICT && op->call == STORE_COMMIT && !p->removing && !p->closed && !p->looking;
}

/* With `beating` and `looking` set. */
static void look(pulse *p) {
    uar_record key;
    memset(&key, 0, sizeof key);
    store_op *op = &p->op;
    arena_dispose(&op->mem);
    uar_status status = heartbeat_record(&key, &op->mem, p->instance, 0);
    op->call = STORE_GET;
    op->kind = UAR_RECORD_LEASE;
    op->owner = key.owner;
    op->id = key.id;
    if (status == UAR_OK) {
        store_submit(p->store, op);
        return;
    }
    op->status = status;
    beat_done(op);
}

/* Under the lock: where the record is now, to beat on from there. False: the store didn't say. */
static bool found(pulse *p, const store_op *op) {
    if (op->call != STORE_GET || p->closed || (op->status != UAR_OK && op->status != UAR_E_NOT_FOUND)) return false;
    p->revision = op->status == UAR_OK ? op->records->revision : 0;
    return true;
}

static void beat_done(store_op *op) {
    pulse *p = op->arg;
    mutex_lock(&p->lock);
    if (was_lost(p, op)) {
        p->looking = true;
        mutex_unlock(&p->lock);
        look(p);
        return;
    }
    if (p->looking && found(p, op)) {
        mutex_unlock(&p->lock);
        beat(p);
        return;
    }
    p->looking = false;
    p->beating = false;
    if (op->status == UAR_OK && op->call == STORE_COMMIT && !p->removing) p->revision++;
    pulse_waiter *list = take_waiters(p);
    bool arm = !p->closed && p->users > 0 && !p->armed;
    if (arm) p->armed = true;
    bool removes = begin_removal(p);
    condition_broadcast(&p->idle);
    uar_status status = op->status;
    mutex_unlock(&p->lock);
    if (arm) timer_start(p->timers, &p->timer, PULSE_BEAT_MS);
    tell(list, status);
    if (removes) remove_record(p);
}

static void fire(void *arg) {
    pulse *p = arg;
    mutex_lock(&p->lock);
    p->armed = false;
    bool go = !p->closed && p->users > 0 && !p->beating;
    if (go) p->beating = true;
    condition_broadcast(&p->idle);
    mutex_unlock(&p->lock);
    if (go) beat(p);
}

void pulse_require(pulse *p, pulse_waiter *w) {
    mutex_lock(&p->lock);
    p->users++;
    bool alive = p->revision > 0 && p->armed;
    bool closed = p->closed;
    bool go = false;
    if (!alive && !closed) {
        w->next = p->waiters;
        p->waiters = w;
        go = !p->beating;
        if (go) p->beating = true;
    }
    mutex_unlock(&p->lock);
    if (closed)
        w->ready(w, UAR_E_CLOSED);
    else if (alive)
        w->ready(w, UAR_OK);
    else if (go)
        beat(p);
}

void pulse_release(pulse *p) {
    mutex_lock(&p->lock);
    assert(p->users > 0);
    p->users--;
    mutex_unlock(&p->lock);
}

void pulse_stop(pulse *p) {
    mutex_lock(&p->lock);
    p->closed = true;
    if (p->armed && timer_stop(p->timers, &p->timer)) p->armed = false;
    bool removes = begin_removal(p);
    mutex_unlock(&p->lock);
    if (removes) remove_record(p);
}

bool pulse_wait(pulse *p, uint32_t ms) {
    uint64_t end = clock_mono(&clock_default) + ms;
    mutex_lock(&p->lock);
    while (p->beating || p->armed) {
        uint64_t now = clock_mono(&clock_default);
        if (now >= end) break;
        (void)condition_wait(&p->idle, &p->lock, (uint32_t)(end - now));
    }
    bool idle = !p->beating && !p->armed;
    mutex_unlock(&p->lock);
    return idle;
}
