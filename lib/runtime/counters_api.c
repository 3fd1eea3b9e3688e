/* Counters and checkpoints of uar/records.h. A counter is a record an instance, summed when read. Owns nothing. */
#include "base/error.h"
#include "base/str.h"
#include "runtime/request.h"

static uar_status own_part(request *q, uar_str *key) {
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, q->rt->env.instance);
    return record_key(key, request_mem(q), q->id, uar_str_of(text));
}

static void put_part(request *q, uint64_t before, uint64_t expected) {
    uar_record record;
    memset(&record, 0, sizeof record);
    arena_dispose(&q->op.mem);
    uar_status status = before > UINT64_MAX - q->number ? UAR_E_TOO_LARGE : UAR_OK;
    if (status == UAR_OK)
        status = counter_record(&record, &q->op.mem, q->owner, q->id, q->rt->env.instance, before + q->number);
    if (status != UAR_OK)
        request_end(q, status, uar_status_text(status));
    else
        request_put(q, &record, expected);
}

static void add_to_part(request *q) {
    uint64_t before = 0, revision = 0;
    if (q->op.status == UAR_OK) {
        uar_error fault = UAR_ERROR_INIT;
        revision = q->op.records->revision;
        uar_status status = counter_decode(&before, request_mem(q), q->op.records, &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
    } else if (q->op.status != UAR_E_NOT_FOUND) {
        (void)request_went_well(q);
        return;
    }
    put_part(q, before, revision);
}

static void get_part(request *q) {
    uar_str key;
    if (own_part(q, &key) != UAR_OK)
        request_end(q, UAR_E_NOMEM, "out of memory");
    else
        request_get(q, UAR_RECORD_COUNTER, q->owner, key);
}

/* 0: look · 1: put · 2: done, or look again if another call of this instance was faster */
static void step_add(request *q) {
    switch (q->stage++) {
    case 0: get_part(q); break;
    case 1: add_to_part(q); break;
    default:
        if (q->op.status == UAR_E_CONFLICT && q->tries++ < 64) {
            q->stage = 1;
            get_part(q);
        } else if (request_went_well(q)) {
            request_end(q, UAR_OK, NULL);
        }
    }
}

static void step_sum(request *q) {
    if (q->stage++ == 0) {
        request_list(q, UAR_RECORD_COUNTER, q->owner, q->id, UAR_ORDER_KEY, 0, REQUEST_PAGE_MAX);
        return;
    }
    if (!request_went_well(q)) return;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uint64_t part = 0;
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = counter_decode(&part, request_mem(q), &q->op.records[i], &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
        q->box->reply.number += part;
    }
    bool more = q->op.record_count == REQUEST_PAGE_MAX;
    if (!more) {
        request_end(q, UAR_OK, NULL);
        return;
    }
    q->value = arena_str(request_mem(q), q->op.records[q->op.record_count - 1].id);
    if (q->value.ptr == NULL)
        request_end(q, UAR_E_NOMEM, "out of memory");
    else
        request_list(q, UAR_RECORD_COUNTER, q->owner, q->id, UAR_ORDER_KEY, 0, REQUEST_PAGE_MAX);
}

static request *counter_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner,
                                const char *name, uint64_t amount, uar_error *err) {
    request *q = request_new(rt, waits, step, err);
    bool good =
        q != NULL && request_id(&q, &q->owner, owner, "owner", err) && request_id(&q, &q->id, name, "counter", err);
    if (!good) return NULL;
    if (step == step_add && name[0] == COUNTER_RESERVED)
        return request_refuse(q, UAR_E_INVALID, "counters that begin with \"~\" are the library's own", err), NULL;
    q->number = amount;
    return q;
}

uar_status uar_counter_add(uar_runtime *rt, const char *owner, const char *name, uint64_t amount, uar_reply_fn done,
                           void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(counter_request(rt, false, step_add, owner, name, amount, &fault), &fault, done, ctx, err);
}

uar_status uar_counter_add_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *name, uint64_t amount,
                                uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(counter_request(rt, true, step_add, owner, name, amount, &fault), &fault, out, err);
}

uar_status uar_counter_load(uar_runtime *rt, const char *owner, const char *name, uar_reply_fn done, void *ctx,
                            uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(counter_request(rt, false, step_sum, owner, name, 0, &fault), &fault, done, ctx, err);
}

uar_status uar_counter_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *name,
                                 uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(counter_request(rt, true, step_sum, owner, name, 0, &fault), &fault, out, err);
}
