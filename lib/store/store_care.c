/*
 * What a store is asked beside records: suspend and resume, backup, maintenance, checks. Owns nothing.
 * Care of a layer that allows it runs on a worker of its own, one piece after the other, and is told to stop when the store
 * closes or is to be suspended; all other care waits its turn in the queue.
 */
#include <assert.h>

#include "base/clock.h"
#include "store/store_state.h"

bool store_is_care(store_call call) {
    return call == STORE_BACKUP || call == STORE_MAINTAIN || call == STORE_CHECK;
}

/* ---- one piece of care ---- */

/* Stands between the layer and the host's progress. */
typedef struct watch {
    store *s;
    const uar_care_progress *host;
} watch;

static bool watch_step(void *ctx, uint64_t done, uint64_t total) {
    const watch *w = ctx;
    if (atomic_load(&w->s->stops_care)) return false;
    return w->host->step == NULL || w->host->step(w->host->ctx, done, total);
}

static void ignore_finding(void *ctx, const uar_store_finding *finding) {
    (void)ctx, (void)finding;
}

static uar_status call_slot(const uar_persistence *p, store_op *op, const uar_care_progress *progress) {
    store_care *c = op->care;
    switch (op->call) {
    case STORE_BACKUP:
        if (p->backup == NULL) break;
        return p->backup(p->ctx, c->path, progress, &op->error);
    case STORE_MAINTAIN:
        if (p->maintain == NULL) break;
        c->care = (uar_store_care){ .size = UAR_STORE_CARE_INIT };
        return p->maintain(p->ctx, &c->options, progress, &c->care, &op->error);
    default:
        if (p->check == NULL) break;
        c->check = (uar_store_check){ .size = UAR_STORE_CHECK_INIT };
        return p->check(p->ctx, c->each != NULL ? c->each : ignore_finding, c->each_ctx, progress, &c->check,
                        &op->error);
    }
    return error_set(&op->error, UAR_E_UNSUPPORTED, "this persistence layer can't do that");
}

void store_care_call(store *s, store_op *op) {
    watch w = { s, &op->care->progress };
    uar_care_progress progress = { &w, watch_step };
    callout_frame frame;
    callout_enter(s->callouts, &frame, CALLOUT_PERSISTENCE);
    op->status = call_slot(&s->layer, op, &progress);
    callout_leave(s->callouts, &frame);
    if (op->status == UAR_E_CANCELLED && atomic_load(&s->stops_care)) {
        mutex_lock(&s->lock);
        op->status = s->closed ? UAR_E_CLOSED : UAR_E_SUSPENDED;
        mutex_unlock(&s->lock);
        error_plain(&op->error, op->status);
    } else if (op->status != UAR_OK && op->error.code != op->status) {
        error_plain(&op->error, op->status);
    }
    op->done(op);
}

/* ---- beside the queue ---- */

static void care_work(void *arg) {
    store *s = arg;
    mutex_lock(&s->lock);
    store_op *op;
    while ((op = op_pop(&s->care)) != NULL) {
        bool runs = !s->closed && !s->held;
        uar_status status = s->closed ? UAR_E_CLOSED : UAR_E_SUSPENDED;
        s->care_inside = runs;
        mutex_unlock(&s->lock);
        if (runs)
            store_care_call(s, op);
        else
            store_refuse(op, status, uar_status_text(status));
        mutex_lock(&s->lock);
        s->care_inside = false;
        condition_broadcast(&s->idle);
    }
    s->caring = false;
    condition_broadcast(&s->idle);
    store_destroy_when_done(s);
    mutex_unlock(&s->lock);
    store_let_go(s);
}

bool store_care_take(store *s, store_op *op) {
    op_push(&s->care, op);
    if (s->caring) return false;
    s->caring = true;
    return true;
}

void store_care_post(store *s) {
    store_keep(s); /* care_work lets go */
    s->care_task.fn = care_work;
    s->care_task.arg = s;
    s->executor->post(s->executor->ctx, &s->care_task, true);
}

/* ---- suspend and resume ---- */

static bool is_quiet(const store *s) {
    return s->queue.head == NULL && s->open == NULL && !s->inside && !s->caring;
}

/* Under the lock. */
static uar_status wait_quiet(store *s, uint32_t deadline_ms, uar_error *err) {
    uint64_t end = clock_mono(&clock_default) + deadline_ms;
    while (!s->closed && !s->suspended && !is_quiet(s)) {
        uint64_t now = clock_mono(&clock_default);
        if (now >= end)
            return error_set(err, UAR_E_TIMEOUT, "a call of the persistence layer still runs; ask again, or resume");
        (void)condition_wait(&s->idle, &s->lock, (uint32_t)(end - now));
    }
    return s->closed ? error_plain(err, UAR_E_CLOSED) : UAR_OK;
}

/* With the lock, which it drops meanwhile: a slot of the layer that waits. */
static uar_status call_alone(store *s, uar_status (*slot)(void *ctx, uar_error *err), uar_error *err) {
    callout_frame frame;
    s->inside = true;
    mutex_unlock(&s->lock);
    callout_enter(s->callouts, &frame, CALLOUT_PERSISTENCE);
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = slot(s->layer.ctx, &fault);
    callout_leave(s->callouts, &frame);
    if (status != UAR_OK && fault.code != status) error_plain(&fault, status);
    if (status != UAR_OK) error_copy(err, &fault);
    mutex_lock(&s->lock);
    s->inside = false;
    return status;
}

/* With the lock, which it gives back. */
static void go_on(store *s) {
    condition_broadcast(&s->idle);
    bool more = store_wants_post(s);
    store_destroy_when_done(s);
    mutex_unlock(&s->lock);
    if (more) store_post(s);
}

/* Under the lock. */
static void let_in(store *s) {
    s->held = s->suspended = false;
    atomic_store(&s->stops_care, s->closed);
}

uar_status store_suspend(store *s, uint32_t deadline_ms, uar_error *err) {
    if (s->layer.suspend == NULL || s->layer.resume == NULL)
        return error_set(err, UAR_E_UNSUPPORTED, "this persistence layer can't be suspended");
    mutex_lock(&s->lock);
    s->held = true;
    atomic_store(&s->stops_care, true);
    uar_status status = wait_quiet(s, deadline_ms, err);
    if (status == UAR_OK && !s->suspended) {
        status = call_alone(s, s->layer.suspend, err);
        if (status == UAR_OK)
            s->suspended = true;
        else
            let_in(s);
    }
    go_on(s);
    return status;
}

uar_status store_resume(store *s, uar_error *err) {
    mutex_lock(&s->lock);
    while (s->suspended && s->inside && !s->closed)
        (void)condition_wait(&s->idle, &s->lock, UAR_FOREVER);
    uar_status status = s->closed ? error_plain(err, UAR_E_CLOSED) : UAR_OK;
    if (status == UAR_OK && s->suspended) status = call_alone(s, s->layer.resume, err);
    if (status == UAR_OK) let_in(s);
    go_on(s);
    return status;
}
