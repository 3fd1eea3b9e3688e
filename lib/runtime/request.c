/* Owns: requests and replies. */
#include "runtime/request.h"

#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

typedef struct request_waiter {
    mutex lock;
    condition done;
    bool ended;
} request_waiter;

void uar_reply_free(uar_reply *reply) {
    if (reply == NULL) return;
    reply_box *box = (reply_box *)reply;
    arena_dispose(&box->mem);
    uar_allocator alloc = box->alloc;
    alloc_free(&alloc, box);
    live_add(-1);
}

arena *request_mem(request *q) {
    return &q->box->mem;
}

static void request_free(request *q) {
    run_env *env = &q->rt->env;
    arena_dispose(&q->op.mem);
    timer_unreserve(&env->timers, 1);
    alloc_free(&env->alloc, q);
    env_unref(env);
}

static void dispose_state(request *q) {
    if (q->dispose != NULL) q->dispose(q);
    q->dispose = NULL;
}

static void wake(void *arg);

request *request_new(uar_runtime *rt, bool waits, void (*step)(request *q), uar_error *err) {
    uar_status status = waits ? runtime_check_wait(rt, err) : runtime_check_call(rt, err);
    if (status != UAR_OK) return NULL;
    run_env *env = &rt->env;
    request *q = ALLOC_NEW(&env->alloc, request);
    reply_box *box = ALLOC_NEW(&env->alloc, reply_box);
    if (q == NULL || box == NULL || timer_reserve(&env->timers, 1) != UAR_OK) {
        alloc_free(&env->alloc, q);
        alloc_free(&env->alloc, box);
        error_plain(err, UAR_E_NOMEM);
        return NULL;
    }
    live_add(1);
    box->alloc = env->alloc;
    arena_init(&box->mem, &box->alloc);
    arena_init(&q->op.mem, &env->alloc);
    q->timer.fire = wake;
    q->timer.arg = q;
    q->rt = rt;
    env_ref(env);
    q->box = box;
    q->step = step;
    q->limit = REQUEST_PAGE_MAX;
    return q;
}

uar_status request_refuse(request *q, uar_status status, const char *what, uar_error *err) {
    dispose_state(q);
    uar_reply_free(&q->box->reply);
    request_free(q);
    return error_set(err, status, "%s", what);
}

bool request_text(request **q, uar_str *out, uar_str text, uar_error *err) {
    if (*q == NULL) return false;
    *out = arena_str(request_mem(*q), text);
    if (out->ptr != NULL || text.ptr == NULL) return true;
    request_refuse(*q, UAR_E_NOMEM, "out of memory", err);
    *q = NULL;
    return false;
}

bool request_id(request **q, uar_str *out, const char *text, const char *what, uar_error *err) {
    if (*q == NULL) return false;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = host_id_check(uar_str_of(text), what, &fault);
    if (status == UAR_OK && str_is(uar_str_of(what), "owner") && strcmp(text, UAR_SYSTEM_OWNER) == 0)
        status = error_set(&fault, UAR_E_INVALID, "the owner \"~\" is reserved");
    if (status == UAR_OK) return request_text(q, out, uar_str_of(text), err);
    request_refuse(*q, status, fault.message, err);
    *q = NULL;
    return false;
}

bool request_cursor(request **q, uar_str cursor, bool (*is_key)(const request *q, uar_str cursor), uar_error *err) {
    if (*q == NULL) return false;
    if (cursor.len == 0 || is_key(*q, cursor)) return request_text(q, &(*q)->value, cursor, err);
    request_refuse(*q, UAR_E_INVALID, "this is not a cursor of this list", err);
    *q = NULL;
    return false;
}

bool request_limit(request **q, size_t limit, uar_error *err) {
    if (*q == NULL) return false;
    if (limit >= 1 && limit <= REQUEST_PAGE_MAX) {
        (*q)->limit = limit;
        return true;
    }
    request_refuse(*q, UAR_E_INVALID, "the limit must be 1 to 1000", err);
    *q = NULL;
    return false;
}

/* ---- running ---- */

static void take_step(void *arg) {
    request *q = arg;
    q->step(q);
}

void request_post(request *q) {
    q->task.fn = take_step;
    q->task.arg = q;
    q->rt->env.executor.post(q->rt->env.executor.ctx, &q->task, false);
}

static void wake(void *arg) {
    request_post(arg);
}

static void op_done(store_op *op) {
    request_post(op->arg);
}

void request_submit(request *q) {
    q->op.done = op_done;
    q->op.arg = q;
    store_submit(q->rt->env.store, &q->op);
}

void request_get(request *q, uint32_t kind, uar_str owner, uar_str id) {
    arena_dispose(&q->op.mem);
    q->op.call = STORE_GET;
    q->op.kind = kind;
    q->op.owner = arena_str(&q->op.mem, owner);
    q->op.id = arena_str(&q->op.mem, id);
    if (q->op.owner.ptr == NULL || q->op.id.ptr == NULL)
        request_end(q, UAR_E_NOMEM, "out of memory");
    else
        request_submit(q);
}

void request_list(request *q, uint32_t kind, uar_str owner, uar_str parent, uar_list_order order, uint64_t after,
                  size_t limit) {
    arena *mem = &q->op.mem;
    arena_dispose(mem);
    uar_list_query *query = &q->op.query;
    memset(query, 0, sizeof *query);
    q->op.call = STORE_LIST;
    query->kind = kind;
    query->owner = arena_str(mem, owner);
    query->parent = parent.ptr != NULL ? arena_str(mem, parent) : parent;
    query->order = order;
    query->limit = limit;
    bool copied = query->owner.ptr != NULL && (parent.ptr == NULL || query->parent.ptr != NULL);
    if (order == UAR_ORDER_SORT) {
        query->has_after = true;
        query->after_sort = (int64_t)after;
        query->after_id = STR("~"); /* above every UUID: behind all of this number */
    } else if (q->value.len > 0) {
        query->has_after = true;
        query->after_id = arena_str(mem, q->value);
        copied = copied && query->after_id.ptr != NULL;
    }
    if (!copied)
        request_end(q, UAR_E_NOMEM, "out of memory");
    else
        request_submit(q);
}

/* The record must live in the op's arena, which the caller prepared. */
void request_put(request *q, const uar_record *record, uint64_t expected) {
    uar_write *w = arena_zeroed(&q->op.mem, 1, sizeof *w);
    if (w == NULL) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return;
    }
    w->op = UAR_WRITE_PUT;
    w->expected = expected;
    w->record = *record;
    q->op.call = STORE_COMMIT;
    q->op.writes = w;
    q->op.write_count = 1;
    request_submit(q);
}

void request_sleep(request *q, uint32_t ms) {
    timer_start(&q->rt->env.timers, &q->timer, ms);
}

bool request_went_well(request *q) {
    if (q->op.status == UAR_OK) return true;
    request_end(q, q->op.status, q->op.error.message);
    return false;
}

/* ---- the end ---- */

static void tell_waiter(request_waiter *w) {
    mutex_lock(&w->lock);
    w->ended = true;
    condition_signal(&w->done);
    mutex_unlock(&w->lock);
}

void request_end(request *q, uar_status status, const char *message) {
    uar_reply *reply = &q->box->reply;
    reply->status = status;
    dispose_state(q);
    if (status != UAR_OK) {
        error_set(&reply->error, status, "%s", message != NULL ? message : uar_status_text(status));
        reply->count = 0;
    }
    if (q->waiter != NULL) {
        tell_waiter(q->waiter); /* the waiter frees the request */
        return;
    }
    callout_frame frame;
    callout_enter(&q->rt->env.calls, &frame, CALLOUT_REPLY);
    q->done(q->ctx, reply);
    callout_leave(&q->rt->env.calls, &frame);
    request_free(q);
}

uar_status request_begin(request *q, const uar_error *fault, uar_reply_fn done, void *ctx, uar_error *err) {
    if (q == NULL) return error_copy(err, fault);
    if (done == NULL) return request_refuse(q, UAR_E_INVALID, "done is NULL", err);
    q->done = done;
    q->ctx = ctx;
    request_post(q);
    return UAR_OK;
}

static void wait_for(request *q, request_waiter *w) {
    for (;;) {
        mutex_lock(&w->lock);
        if (!w->ended && q->rt->source != EXECUTOR_MANUAL) (void)condition_wait(&w->done, &w->lock, UAR_FOREVER);
        bool ended = w->ended;
        mutex_unlock(&w->lock);
        if (ended) return;
        if (q->rt->source == EXECUTOR_MANUAL) runtime_work(q->rt, 10);
    }
}

uar_status request_wait_for(request *q, const uar_error *fault, uar_reply **out, uar_error *err) {
    request_waiter w = { .ended = false };
    if (q == NULL) return error_copy(err, fault);
    if (out == NULL) return request_refuse(q, UAR_E_INVALID, "out is NULL", err);
    if (mutex_init(&w.lock) != UAR_OK) return request_refuse(q, UAR_E_NOMEM, "out of memory", err);
    if (condition_init(&w.done) != UAR_OK) {
        mutex_dispose(&w.lock);
        return request_refuse(q, UAR_E_NOMEM, "out of memory", err);
    }
    q->waiter = &w;
    request_post(q);
    wait_for(q, &w);
    condition_dispose(&w.done);
    mutex_dispose(&w.lock);
    reply_box *box = q->box;
    request_free(q);
    uar_status status = box->reply.status;
    if (status == UAR_OK) {
        *out = &box->reply;
        return UAR_OK;
    }
    error_copy(err, &box->reply.error);
    uar_reply_free(&box->reply);
    return status;
}
