/* Owns nothing: a call lives on the caller's stack. Invariant: an answer is copied before the layer takes it back. */
#include "layer_call.h"

#include <stdlib.h>

#include "base/completion.h"
#include "base/error.h"
#include "store/record.h"

typedef struct call {
    arena *memory; /* NULL for a commit */
    uar_error *err;
    uar_status status;
    uar_record *records;
    size_t count;
} call;

static void call_ended(void *arg, const completion_result *result) {
    call *c = arg;
    c->status = result->status;
    if (c->err != NULL && c->status != UAR_OK)
        error_set(c->err, c->status, "%s", result->message != NULL ? result->message : uar_status_name(c->status));
    if (c->status != UAR_OK || c->memory == NULL) return;
    c->records = arena_zeroed(c->memory, result->record_count + 1, sizeof *c->records);
    if (c->records == NULL) abort();
    for (size_t i = 0; i < result->record_count; i++)
        if (record_copy(&c->records[i], c->memory, &result->records[i]) != UAR_OK) abort();
    c->count = result->record_count;
}

static uar_completion *begin(call *c, completion_kind kind) {
    c->status = UAR_E_TIMEOUT;
    uar_completion *done = completion_new(&alloc_default, kind, call_ended, c);
    if (done == NULL) abort();
    completion_lend(done);
    return done;
}

static uar_status end(const call *c, uar_completion *done) {
    completion_return(done);
    completion_release(done);
    return c->status;
}

uar_status layer_get(uar_record *out, const uar_persistence *layer, arena *ar, uint32_t kind, uar_str owner, uar_str id,
                     uar_error *err) {
    call c = { .memory = ar, .err = err };
    uar_completion *done = begin(&c, COMPLETION_RECORDS);
    layer->get(layer->ctx, kind, owner, id, done);
    uar_status status = end(&c, done);
    if (status == UAR_OK) *out = c.records[0];
    return status;
}

uar_status layer_list(layer_page *out, const uar_persistence *layer, arena *ar, const uar_list_query *query,
                      uar_error *err) {
    call c = { .memory = ar, .err = err };
    uar_completion *done = begin(&c, COMPLETION_RECORDS);
    layer->list(layer->ctx, query, done);
    uar_status status = end(&c, done);
    if (status == UAR_OK) *out = (layer_page){ c.records, c.count };
    return status;
}

uar_status layer_commit(const uar_persistence *layer, const uar_write *writes, size_t count, uar_error *err) {
    call c = { .err = err };
    uar_completion *done = begin(&c, COMPLETION_OK);
    layer->commit(layer->ctx, writes, count, done);
    return end(&c, done);
}
