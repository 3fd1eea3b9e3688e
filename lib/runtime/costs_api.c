/* Cost entries and what an owner used in all: the calls of uar/records.h. Owns nothing. */
#include "base/error.h"
#include "run/ledger.h"
#include "runtime/keep.h"

static uar_status decode(void *item, arena *ar, const uar_record *r, uar_error *err) {
    return cost_decode(item, ar, r, err);
}

static void answer(uar_reply *reply, void *items) {
    reply->costs = items;
}

static const kept costs = { .kind = UAR_RECORD_COST, .size = sizeof(uar_cost), .decode = decode, .answer = answer };

static request *cost_list(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                          uar_str cursor, size_t limit, uar_error *err) {
    if ((user == NULL) != (session == NULL))
        return error_set(err, UAR_E_INVALID, "costs are listed by user and session, or with neither"), NULL;
    request *q = keep_request(rt, waits, &costs, keep_list, owner, err);
    bool good = q != NULL && request_cursor(&q, cursor, keep_is_key, err) && request_limit(&q, limit, err);
    if (!good || user == NULL) return q;
    if (!request_id(&q, &q->user, user, "user", err) || !request_id(&q, &q->session, session, "session", err))
        return NULL;
    if (record_key(&keeping_of(q)->parent, request_mem(q), q->user, q->session) == UAR_OK) return q;
    return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
}

static bool add_parts(request *q) {
    uar_reply *reply = &q->box->reply;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uint64_t calls = 0;
        uar_usage usage;
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = usage_counter_decode(&calls, &usage, request_mem(q), &q->op.records[i], &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return false;
        }
        reply->number += calls;
        usage_add(&reply->usage, &usage);
    }
    return true;
}

/* Page by page: a part for each process that called models. */
static void step_usage(request *q) {
    if (q->stage++ > 0) {
        if (!request_went_well(q) || !add_parts(q)) return;
        if (q->op.record_count < REQUEST_PAGE_MAX) {
            request_end(q, UAR_OK, NULL);
            return;
        }
        q->value = arena_str(request_mem(q), q->op.records[q->op.record_count - 1].id);
        if (q->value.ptr == NULL) {
            request_end(q, UAR_E_NOMEM, "out of memory");
            return;
        }
    }
    request_list(q, UAR_RECORD_COUNTER, q->owner, STR(COUNTER_USAGE), UAR_ORDER_KEY, 0, REQUEST_PAGE_MAX);
}

static request *usage_request(uar_runtime *rt, bool waits, const char *owner, uar_error *err) {
    return keep_request(rt, waits, &costs, step_usage, owner, err);
}

uar_status uar_cost_list(uar_runtime *rt, const char *owner, const char *user, const char *session, uar_str cursor,
                         size_t limit, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(cost_list(rt, false, owner, user, session, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_cost_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                              const char *session, uar_str cursor, size_t limit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(cost_list(rt, true, owner, user, session, cursor, limit, &fault), &fault, out, err);
}

uar_status uar_usage_load(uar_runtime *rt, const char *owner, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(usage_request(rt, false, owner, &fault), &fault, done, ctx, err);
}

uar_status uar_usage_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(usage_request(rt, true, owner, &fault), &fault, out, err);
}
