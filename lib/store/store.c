/*
 * Owns: the queue of calls to one persistence layer, and the layer. See store_state.h for the invariants.
 */
#include <assert.h>

#include "base/clock.h"
#include "store/store_state.h"

void op_push(op_queue *q, store_op *op) {
    op->next = NULL;
    if (q->tail != NULL)
        q->tail->next = op;
    else
        q->head = op;
    q->tail = op;
}

store_op *op_pop(op_queue *q) {
    store_op *op = q->head;
    if (op == NULL) return NULL;
    q->head = op->next;
    if (q->head == NULL) q->tail = NULL;
    return op;
}

store_op *op_take_all(op_queue *q) {
    store_op *all = q->head;
    q->head = q->tail = NULL;
    return all;
}

static void store_unref(store *s) {
    if (atomic_fetch_sub(&s->refs, 1) != 1) return;
    assert(s->destroyed);
    uar_allocator alloc = s->alloc;
    condition_dispose(&s->idle);
    mutex_dispose(&s->lock);
    alloc_free(&alloc, s);
    live_add(-1);
}

void store_keep(store *s) {
    if (s->host_ref != NULL) s->host_ref(s->host);
    atomic_fetch_add(&s->refs, 1);
}

void store_let_go(store *s) {
    void *host = s->host;
    void (*host_unref)(void *) = s->host_unref;
    store_unref(s);
    if (host_unref != NULL) host_unref(host);
}

void store_destroy_when_done(store *s) {
    if (!s->closed || s->inside || s->care_inside || s->open != NULL || s->destroyed) return;
    s->destroyed = true;
    mutex_unlock(&s->lock);
    if (s->layer.destroy != NULL) s->layer.destroy(s->layer.ctx);
    mutex_lock(&s->lock);
}

static bool key_is_valid(uar_str s) {
    return s.len > 0 && s.len <= RECORD_ID_MAX;
}

/* ---- answers ---- */

static uar_status wrong_answer(store_op *op, const char *what) {
    return error_set(&op->error, UAR_E_CORRUPT, "the persistence layer answered wrongly: %s", what);
}

static uar_status check_get(store_op *op, const completion_result *r) {
    if (r->record_count != 1) return wrong_answer(op, "not one record for one id");
    const uar_record *record = r->records;
    bool same =
        record->kind == op->kind && uar_str_equal(record->owner, op->owner) && uar_str_equal(record->id, op->id);
    return same ? UAR_OK : wrong_answer(op, "another record than the one asked for");
}

static bool is_behind(const uar_list_query *q, const uar_record *r, bool has_before, int64_t sort, uar_str id) {
    if (!has_before) return true;
    if (q->order == UAR_ORDER_KEY) return str_compare(r->id, id) > 0;
    if (r->sort != sort) return r->sort > sort;
    return str_compare(r->id, id) > 0;
}

static uar_status check_list(store_op *op, const completion_result *r) {
    const uar_list_query *q = &op->query;
    if (r->record_count > q->limit) return wrong_answer(op, "more records than the limit");
    bool has_before = q->has_after;
    int64_t sort = q->after_sort;
    uar_str id = q->after_id;
    for (size_t i = 0; i < r->record_count; i++) {
        const uar_record *record = &r->records[i];
        bool belongs = record->kind == q->kind && uar_str_equal(record->owner, q->owner) &&
                       (q->parent.ptr == NULL || uar_str_equal(record->parent, q->parent)) &&
                       (q->order == UAR_ORDER_KEY || record->has_sort);
        if (!belongs) return wrong_answer(op, "a record that wasn't asked for");
        if (!is_behind(q, record, has_before, sort, id)) return wrong_answer(op, "records out of order");
        has_before = true;
        sort = record->sort;
        id = record->id;
    }
    return UAR_OK;
}

static uar_status copy_records(store_op *op, const completion_result *r) {
    if (r->record_count == 0) return UAR_OK;
    uar_record *records = arena_zeroed(&op->mem, r->record_count, sizeof *records);
    if (records == NULL) return error_plain(&op->error, UAR_E_NOMEM);
    for (size_t i = 0; i < r->record_count; i++) {
        uar_status status = record_verify(&r->records[i], &op->error);
        if (status == UAR_OK) status = record_copy(&records[i], &op->mem, &r->records[i]);
        if (status != UAR_OK) {
            if (op->error.code != status) error_plain(&op->error, status);
            return status;
        }
    }
    op->records = records;
    op->record_count = r->record_count;
    return UAR_OK;
}

static void take_answer(store_op *op, const completion_result *r) {
    op->status = r->status;
    if (r->status != UAR_OK) {
        error_set(&op->error, r->status, "%s", r->message != NULL ? r->message : uar_status_text(r->status));
        return;
    }
    if (op->call == STORE_COMMIT) return;
    op->status = op->call == STORE_GET ? check_get(op, r) : check_list(op, r);
    if (op->status == UAR_OK) op->status = copy_records(op, r);
}

/* ---- the queue ---- */

static void on_end(void *arg, const completion_result *result) {
    store *s = arg;
    mutex_lock(&s->lock);
    store_op *op = s->open;
    mutex_unlock(&s->lock);
    take_answer(op, result);
    mutex_lock(&s->lock);
    s->open = NULL;
    uar_completion *completion = s->completion;
    s->completion = NULL;
    bool more = store_wants_post(s);
    condition_broadcast(&s->idle);
    store_destroy_when_done(s);
    mutex_unlock(&s->lock);
    op->done(op);
    completion_release(completion);
    if (more) store_post(s);
    store_let_go(s);
}

void store_refuse(store_op *op, uar_status status, const char *message) {
    op->status = error_set(&op->error, status, "%s", message);
    op->done(op);
}

static void call_provider(store *s, store_op *op, uar_completion *completion) {
    callout_frame frame;
    completion_lend(completion);
    callout_enter(s->callouts, &frame, CALLOUT_PERSISTENCE);
    switch (op->call) {
    case STORE_GET: s->layer.get(s->layer.ctx, op->kind, op->owner, op->id, completion); break;
    case STORE_LIST: s->layer.list(s->layer.ctx, &op->query, completion); break;
    case STORE_COMMIT: s->layer.commit(s->layer.ctx, op->writes, op->write_count, completion); break;
    default: assert(false); /* care has no completion */
    }
    callout_leave(s->callouts, &frame);
    completion_return(completion);
}

static uar_status seal_writes(store *s, store_op *op) {
    int64_t now = clock_wall(s->clock);
    for (size_t i = 0; i < op->write_count; i++) {
        uar_write *w = &op->writes[i];
        if (w->op != UAR_WRITE_PUT) continue;
        w->record.revision = w->expected + 1;
        w->record.updated_ms = now;
        if (w->record.created_ms == 0) w->record.created_ms = now;
        uar_status status = record_seal(&w->record);
        if (status != UAR_OK) return error_plain(&op->error, status);
    }
    return UAR_OK;
}

static uar_status check_input(const store_op *op) {
    if (op->call == STORE_GET) return key_is_valid(op->owner) && key_is_valid(op->id) ? UAR_OK : UAR_E_INVALID;
    if (op->call == STORE_LIST) return key_is_valid(op->query.owner) && op->query.limit > 0 ? UAR_OK : UAR_E_INVALID;
    for (size_t i = 0; i < op->write_count; i++) {
        const uar_write *w = &op->writes[i];
        uar_str id = w->op == UAR_WRITE_DELETE_CHILDREN ? w->record.parent : w->record.id;
        if (!key_is_valid(w->record.owner) || !key_is_valid(id)) return UAR_E_INVALID;
    }
    return UAR_OK;
}

/* Starts one call; the caller has marked the store as inside. */
static void start(store *s, store_op *op) {
    if (store_is_care(op->call)) {
        store_care_call(s, op);
        return;
    }
    uar_status status = check_input(op);
    if (status == UAR_OK && op->call == STORE_COMMIT) status = seal_writes(s, op);
    uar_completion *completion = NULL;
    if (status == UAR_OK) {
        completion_kind kind = op->call == STORE_COMMIT ? COMPLETION_OK : COMPLETION_RECORDS;
        completion = completion_new(&s->alloc, kind, on_end, s);
        if (completion == NULL) status = UAR_E_NOMEM;
    }
    if (status != UAR_OK) {
        store_refuse(op, status,
                     status == UAR_E_INVALID ? "a record key is empty or too long" : uar_status_text(status));
        return;
    }
    store_keep(s); /* on_end lets go */
    mutex_lock(&s->lock);
    bool closed = s->closed;
    if (!closed) {
        s->open = op;
        s->completion = completion;
    }
    mutex_unlock(&s->lock);
    if (closed) {
        completion_release(completion);
        store_refuse(op, UAR_E_CLOSED, "the store is closed");
        store_let_go(s); /* the task still keeps it */
        return;
    }
    call_provider(s, op, completion);
}

static void work(void *arg) {
    store *s = arg;
    mutex_lock(&s->lock);
    while (s->open == NULL && s->queue.head != NULL) {
        store_op *op = op_pop(&s->queue);
        s->inside = true;
        mutex_unlock(&s->lock);
        start(s, op);
        mutex_lock(&s->lock);
        s->inside = false;
        condition_broadcast(&s->idle);
    }
    s->posted = false;
    store_destroy_when_done(s);
    mutex_unlock(&s->lock);
    store_let_go(s);
}

bool store_wants_post(store *s) {
    if (s->open != NULL || s->queue.head == NULL || s->posted) return false;
    s->posted = true;
    return true;
}

void store_post(store *s) {
    store_keep(s); /* work lets go */
    s->task.fn = work;
    s->task.arg = s;
    s->executor->post(s->executor->ctx, &s->task, s->layer.blocking);
}

/* Under the lock: why nothing new is taken, or UAR_OK. */
static uar_status gate(const store *s) {
    if (s->closed) return UAR_E_CLOSED;
    return s->held ? UAR_E_SUSPENDED : UAR_OK;
}

void store_submit(store *s, store_op *op) {
    op->next = NULL;
    op->status = UAR_OK;
    op->records = NULL;
    op->record_count = 0;
    memset(&op->error, 0, sizeof op->error);
    mutex_lock(&s->lock);
    uar_status status = gate(s);
    bool overlaps = s->layer.care_overlaps && store_is_care(op->call);
    bool wake = false;
    if (status == UAR_OK && overlaps) {
        wake = store_care_take(s, op);
    } else if (status == UAR_OK) {
        op_push(&s->queue, op);
        wake = store_wants_post(s);
    }
    mutex_unlock(&s->lock);
    if (status != UAR_OK)
        store_refuse(op, status, status == UAR_E_CLOSED ? "the store is closed" : "the store is suspended");
    else if (wake && overlaps)
        store_care_post(s);
    else if (wake)
        store_post(s);
}

/* ---- life ---- */

static uar_status check_layer(const uar_persistence *layer, uar_error *err) {
    if (layer->get == NULL || layer->list == NULL || layer->commit == NULL)
        return error_set(err, UAR_E_INVALID, "a persistence layer needs get, list and commit");
    return UAR_OK;
}

static uar_status open_layer(store *s, uar_error *err) {
    uar_status status = check_layer(&s->layer, err);
    if (status != UAR_OK || s->layer.open == NULL) return status;
    callout_frame frame;
    callout_enter(s->callouts, &frame, CALLOUT_PERSISTENCE);
    status = s->layer.open(s->layer.ctx, err);
    callout_leave(s->callouts, &frame);
    return status;
}

static void destroy_layer(const uar_persistence *layer) {
    if (layer->destroy != NULL) layer->destroy(layer->ctx);
}

uar_status store_open(store **out, const uar_persistence *layer, const store_options *options, uar_error *err) {
    store *s = ALLOC_NEW(options->alloc, store);
    if (s == NULL || mutex_init(&s->lock) != UAR_OK) {
        alloc_free(options->alloc, s);
        destroy_layer(layer);
        return error_plain(err, UAR_E_NOMEM);
    }
    if (condition_init(&s->idle) != UAR_OK) {
        mutex_dispose(&s->lock);
        alloc_free(options->alloc, s);
        destroy_layer(layer);
        return error_plain(err, UAR_E_NOMEM);
    }
    s->alloc = *options->alloc;
    s->clock = options->clock;
    s->executor = options->executor;
    s->callouts = options->callouts;
    s->host = options->host;
    s->host_ref = options->host_ref;
    s->host_unref = options->host_unref;
    s->layer = *layer;
    atomic_init(&s->refs, 1);
    atomic_init(&s->stops_care, false);
    live_add(1);
    uar_status status = open_layer(s, err);
    if (status == UAR_OK) {
        *out = s;
        return UAR_OK;
    }
    (void)store_close(s, 0);
    store_release(s);
    return status;
}

const char *store_location(store *s) {
    return s->layer.location != NULL ? s->layer.location(s->layer.ctx) : NULL;
}

/* Under the lock: wait until no provider function is on a stack. */
static bool wait_outside(store *s, uint32_t deadline_ms) {
    uint64_t end = clock_mono(&clock_default) + deadline_ms;
    while (s->inside || s->care_inside) {
        uint64_t now = clock_mono(&clock_default);
        if (now >= end) return false;
        (void)condition_wait(&s->idle, &s->lock, (uint32_t)(end - now));
    }
    return true;
}

/* The provider has an open call that nobody waits for any more. Its inputs stay until it lets go of the completion. */
static void end_detached(store *s, store_op *op, uar_completion *completion) {
    completion_keep(completion, &op->mem);
    store_refuse(op, UAR_E_CLOSED, "the persistence layer didn't finish in time");
    completion_release(completion);
    store_let_go(s);
}

static void refuse_all(store_op *list) {
    while (list != NULL) {
        store_op *op = list;
        list = op->next;
        store_refuse(op, UAR_E_CLOSED, "the store is closed");
    }
}

bool store_close(store *s, uint32_t deadline_ms) {
    mutex_lock(&s->lock);
    s->closed = true;
    atomic_store(&s->stops_care, true);
    store_op *queued = op_take_all(&s->queue), *care = op_take_all(&s->care);
    bool outside = wait_outside(s, deadline_ms);
    store_op *open = s->open;
    uar_completion *completion = s->completion;
    bool detached = open != NULL && completion_detach(completion);
    if (detached) {
        s->open = NULL;
        s->completion = NULL;
    }
    store_destroy_when_done(s);
    mutex_unlock(&s->lock);
    refuse_all(queued);
    refuse_all(care);
    if (detached) end_detached(s, open, completion);
    return outside;
}

void store_release(store *s) {
    if (s == NULL) return;
    assert(s->closed);
    store_unref(s);
}
