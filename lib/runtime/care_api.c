/* The calls of uar/store_care.h on a runtime. Owns nothing. */
#include <uar/store_care.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/struct_in.h"
#include "runtime/request.h"

/* ---- suspend and resume ---- */

uar_status uar_runtime_suspend(uar_runtime *rt, uint32_t deadline_ms, uar_error *err) {
    uar_status status = runtime_check_wait(rt, err);
    if (status != UAR_OK) return status;
    store *s = rt->env.store;
    if (rt->source != EXECUTOR_MANUAL) return store_suspend(s, deadline_ms, err);
    uint64_t end = clock_mono(&clock_default) + deadline_ms;
    while ((status = store_suspend(s, 0, err)) == UAR_E_TIMEOUT && clock_mono(&clock_default) < end)
        runtime_work(rt, 1);
    return status;
}

uar_status uar_runtime_resume(uar_runtime *rt, uar_error *err) {
    uar_status status = runtime_check_wait(rt, err);
    return status == UAR_OK ? store_resume(rt->env.store, err) : status;
}

/* ---- requests ---- */

/* 0: ask the store · 1: it has answered */
static void step_care(request *q) {
    store_care *c = q->op.care;
    if (q->stage++ == 0) {
        request_submit(q);
    } else if (request_went_well(q)) {
        q->box->reply.care = q->op.call == STORE_MAINTAIN ? &c->care : NULL;
        q->box->reply.check = q->op.call == STORE_CHECK ? &c->check : NULL;
        request_end(q, UAR_OK, NULL);
    }
}

static request *care_request(uar_runtime *rt, bool waits, store_call call, const uar_care_progress *progress,
                             uar_error *err) {
    request *q = request_new(rt, waits, step_care, err);
    if (q == NULL) return NULL;
    store_care *c = arena_zeroed(request_mem(q), 1, sizeof *c);
    if (c == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    if (progress != NULL) c->progress = *progress;
    q->op.call = call;
    q->op.care = c;
    return q;
}

static request *backup(uar_runtime *rt, bool waits, const char *path, const uar_care_progress *progress,
                       uar_error *err) {
    if (path == NULL || path[0] == '\0') return error_set(err, UAR_E_INVALID, "a backup needs a path"), NULL;
    request *q = care_request(rt, waits, STORE_BACKUP, progress, err);
    if (q == NULL) return NULL;
    size_t size = strlen(path) + 1;
    char *copy = arena_alloc(request_mem(q), size);
    if (copy == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    q->op.care->path = memcpy(copy, path, size);
    return q;
}

uar_status uar_backup_to(uar_runtime *rt, const char *path, const uar_care_progress *progress, uar_reply_fn done,
                         void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(backup(rt, false, path, progress, &fault), &fault, done, ctx, err);
}

uar_status uar_backup_to_sync(uar_runtime *rt, const char *path, const uar_care_progress *progress, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_status status = request_wait_for(backup(rt, true, path, progress, &fault), &fault, &reply, err);
    uar_reply_free(reply);
    return status;
}

static request *maintain(uar_runtime *rt, bool waits, const uar_care_options *options,
                         const uar_care_progress *progress, uar_error *err) {
    uar_care_options o;
    if (struct_in(&o, sizeof o, options, "uar_care_options", err) != UAR_OK) return NULL;
    request *q = care_request(rt, waits, STORE_MAINTAIN, progress, err);
    if (q != NULL) q->op.care->options = o;
    return q;
}

uar_status uar_store_maintain(uar_runtime *rt, const uar_care_options *options, const uar_care_progress *progress,
                              uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(maintain(rt, false, options, progress, &fault), &fault, done, ctx, err);
}

uar_status uar_store_maintain_sync(uar_store_care *out, uar_runtime *rt, const uar_care_options *options,
                                   const uar_care_progress *progress, uar_error *err) {
    if (out == NULL) return error_set(err, UAR_E_INVALID, "out is NULL");
    uar_error fault = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_status status = request_wait_for(maintain(rt, true, options, progress, &fault), &fault, &reply, err);
    if (status == UAR_OK) struct_out(out, reply->care, sizeof *reply->care);
    uar_reply_free(reply);
    return status;
}

static request *verify(uar_runtime *rt, bool waits, uar_store_finding_fn each, void *each_ctx,
                       const uar_care_progress *progress, uar_error *err) {
    request *q = care_request(rt, waits, STORE_CHECK, progress, err);
    if (q == NULL) return NULL;
    q->op.care->each = each;
    q->op.care->each_ctx = each_ctx;
    return q;
}

uar_status uar_store_verify(uar_runtime *rt, uar_store_finding_fn each, void *each_ctx,
                            const uar_care_progress *progress, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(verify(rt, false, each, each_ctx, progress, &fault), &fault, done, ctx, err);
}

uar_status uar_store_verify_sync(uar_store_check *out, uar_runtime *rt, uar_store_finding_fn each, void *each_ctx,
                                 const uar_care_progress *progress, uar_error *err) {
    if (out == NULL) return error_set(err, UAR_E_INVALID, "out is NULL");
    uar_error fault = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_status status = request_wait_for(verify(rt, true, each, each_ctx, progress, &fault), &fault, &reply, err);
    if (status == UAR_OK) struct_out(out, reply->check, sizeof *reply->check);
    uar_reply_free(reply);
    return status;
}
