/* What uar/lifecycle.h does with one session: delete and rename. Owns nothing. */
#include <uar/lifecycle.h>

#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "runtime/lifecycle.h"
#include "runtime/removal.h"

#define NAME_MAX_BYTES 1000
/* Commits of a name that a run may disturb in a row. */
#define RENAME_TRIES 64

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

typedef enum rename_stage { RENAME_AT_START, RENAME_AT_LOOK, RENAME_AT_COMMIT, RENAME_AT_ANSWER } rename_stage;

typedef struct renaming {
    rename_stage stage;
    uar_str name; /* absent: none */
    uint32_t tries;
} renaming;

static void look(request *q, rename_stage stage) {
    renaming *n = q->state;
    n->stage = stage;
    request_get(q, UAR_RECORD_SESSION, q->owner, q->id);
}

/* Only the name changes, at the revision that was read: a run that has the session open reads it again and goes on. */
static void put_name(request *q) {
    renaming *n = q->state;
    store_op *op = &q->op;
    uar_error fault = UAR_ERROR_INIT;
    uar_session s;
    session_life life;
    uar_status status = op->status == UAR_E_NOT_FOUND ? UAR_OK : op->status;
    bool there = op->status == UAR_OK;
    if (status != UAR_OK) {
        (void)request_went_well(q);
        return;
    }
    if (there) status = session_decode_whole(&s, &life, request_mem(q), op->records, &fault);
    if (status == UAR_OK && (!there || life.mark != SESSION_LIVE))
        status = error_set(&fault, UAR_E_NOT_FOUND, "there is no such session");
    if (status == UAR_OK) {
        arena_dispose(&op->mem);
        op->call = STORE_COMMIT;
        op->write_count = 1;
        op->writes = arena_zeroed(&op->mem, 1, sizeof *op->writes);
        if (op->writes == NULL) status = error_plain(&fault, UAR_E_NOMEM);
    }
    if (status == UAR_OK) {
        s.name = n->name;
        op->writes->op = UAR_WRITE_PUT;
        op->writes->expected = s.revision;
        status = session_record_whole(&op->writes->record, &op->mem, &s, &life);
        op->writes->record.created_ms = s.created_ms;
        if (status != UAR_OK) error_plain(&fault, status);
    }
    if (status != UAR_OK) {
        request_end(q, status, fault.message);
        return;
    }
    n->stage = RENAME_AT_COMMIT;
    request_submit(q);
}

static void got_named(request *q) {
    renaming *n = q->state;
    if (q->op.status == UAR_E_CONFLICT && n->tries++ < RENAME_TRIES)
        look(q, RENAME_AT_LOOK);
    else if (q->op.status == UAR_E_CONFLICT)
        request_end(q, UAR_E_BUSY, "others write this session all the time");
    else if (request_went_well(q))
        look(q, RENAME_AT_ANSWER);
}

static void step_rename(request *q) {
    const renaming *n = q->state;
    switch (n->stage) {
    case RENAME_AT_START: look(q, RENAME_AT_LOOK); break;
    case RENAME_AT_LOOK: put_name(q); break;
    case RENAME_AT_COMMIT: got_named(q); break;
    case RENAME_AT_ANSWER: lifecycle_answer_session(q); break;
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
    request *q = lifecycle_request(rt, waits, step_rename, owner, user, session, sizeof(renaming), err);
    if (q == NULL) return NULL;
    renaming *n = q->state;
    if (!lifecycle_name_is_good(uar_str_of(name))) {
        request_refuse(q, UAR_E_INVALID, "the name must have 1 to 1000 bytes of UTF-8", err);
        return NULL;
    }
    return request_text(&q, &n->name, uar_str_of(name), err) ? q : NULL;
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
