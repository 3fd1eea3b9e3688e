/* What uar/lifecycle.h does with one session: delete and rename. Owns nothing. */
#include <uar/lifecycle.h>

#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "runtime/lifecycle.h"
#include "runtime/removal.h"

#define NAME_MAX_BYTES 1000

request *lifecycle_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner, const char *user,
                           const char *session, size_t state_size, uar_error *err) {
    request *q = request_new(rt, waits, step, err);
    bool good = q != NULL && request_id(&q, &q->owner, owner, "owner", err) &&
                request_id(&q, &q->user, user, "user", err) && request_id(&q, &q->session, session, "session", err);
    if (!good) return NULL;
    if (state_size != 0) q->state = arena_zeroed(request_mem(q), 1, state_size);
    bool whole =
        (state_size == 0 || q->state != NULL) && record_key(&q->id, request_mem(q), q->user, q->session) == UAR_OK;
    if (whole) return q;
    request_refuse(q, UAR_E_NOMEM, "out of memory", err);
    return NULL;
}

/* ---- delete ---- */

static void step_delete(request *q) {
    removal *m = q->state;
    switch (removal_step(m, q)) {
    case REMOVAL_ASKS: return;
    case REMOVAL_DONE:
        q->box->reply.number = m->removed;
        request_end(q, UAR_OK, NULL);
        return;
    case REMOVAL_FAILED: request_end(q, q->op.status, q->op.error.message); return;
    }
}

static request *delete_request(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                               uar_error *err) {
    request *q = lifecycle_request(rt, waits, step_delete, owner, user, session, sizeof(removal), err);
    if (q == NULL || removal_begin(q->state, q, q->owner, q->user, q->session) == UAR_OK) return q;
    request_refuse(q, UAR_E_NOMEM, "out of memory", err);
    return NULL;
}

uar_status uar_session_delete(uar_runtime *rt, const char *owner, const char *user, const char *session,
                              uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(delete_request(rt, false, owner, user, session, &fault), &fault, done, ctx, err);
}

uar_status uar_session_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                   const char *session, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(delete_request(rt, true, owner, user, session, &fault), &fault, out, err);
}

/* ---- rename ---- */

/* 0: change · 1: as stored */
static void step_rename(request *q) {
    removal *m = q->state;
    if (q->stage == 1) {
        lifecycle_answer_session(q);
        return;
    }
    switch (removal_step(m, q)) {
    case REMOVAL_ASKS: return;
    case REMOVAL_DONE:
        q->stage = 1;
        request_get(q, UAR_RECORD_SESSION, q->owner, q->id);
        return;
    case REMOVAL_FAILED: request_end(q, q->op.status, q->op.error.message); return;
    }
}

void lifecycle_answer_session(request *q) {
    if (q->op.status == UAR_E_NOT_FOUND) {
        request_end(q, UAR_E_NOT_FOUND, "there is no such session");
        return;
    }
    if (!request_went_well(q)) return;
    uar_error fault = UAR_ERROR_INIT;
    uar_session *s = arena_zeroed(request_mem(q), 1, sizeof *s);
    uar_status status =
        s != NULL ? session_decode(s, request_mem(q), q->op.records, &fault) : error_plain(&fault, UAR_E_NOMEM);
    if (status == UAR_OK) {
        q->box->reply.sessions = s;
        q->box->reply.count = 1;
    }
    request_end(q, status, fault.message);
}

bool lifecycle_name_is_good(uar_str name) {
    return name.ptr == NULL || (name.len > 0 && name.len <= NAME_MAX_BYTES && utf8_is_valid(name));
}

static request *rename_request(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                               const char *name, uar_error *err) {
    request *q = lifecycle_request(rt, waits, step_rename, owner, user, session, sizeof(removal), err);
    if (q == NULL) return NULL;
    removal *m = q->state;
    if (!lifecycle_name_is_good(uar_str_of(name))) {
        request_refuse(q, UAR_E_INVALID, "the name must have 1 to 1000 bytes of UTF-8", err);
        return NULL;
    }
    if (removal_begin(m, q, q->owner, q->user, q->session) != UAR_OK) {
        request_refuse(q, UAR_E_NOMEM, "out of memory", err);
        return NULL;
    }
    m->renames = true;
    return request_text(&q, &m->name, uar_str_of(name), err) ? q : NULL;
}

uar_status uar_session_rename(uar_runtime *rt, const char *owner, const char *user, const char *session,
                              const char *name, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(rename_request(rt, false, owner, user, session, name, &fault), &fault, done, ctx, err);
}

uar_status uar_session_rename_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                   const char *session, const char *name, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(rename_request(rt, true, owner, user, session, name, &fault), &fault, out, err);
}
