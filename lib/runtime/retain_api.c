/*
 * Retention: which sessions go, oldest first. Owns nothing.
 * First the sessions of the owner and those with an open run are listed, then, with a bound on bytes, their messages are
 * summed, then one after the other goes. A session that was written meanwhile has another revision, and stays.
 */
#include <uar/lifecycle.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "runtime/removal.h"

#define PAGE 200

typedef struct kept_session {
    struct kept_session *next; /* the one written next */
    uar_str user, session, key;
    int64_t updated_ms;
    uint64_t revision, bytes;
    bool is_open, is_named;
} kept_session;

typedef enum retain_stage {
    RETAIN_AT_START,
    RETAIN_AT_SESSIONS,
    RETAIN_AT_OPEN,
    RETAIN_AT_BYTES,
    RETAIN_AT_REMOVAL
} retain_stage;

typedef struct retaining {
    uar_retention policy;
    retain_stage stage;
    kept_session *first, *at; /* oldest first; in the request's arena */
    uint64_t after;           /* number of the last message that was summed */
    int64_t now_ms;
    uint64_t bytes, bytes_before, sessions, deleted, kept_open, records;
    removal removal;
} retaining;

static void fail(request *q, uar_status status) {
    request_end(q, status, uar_status_text(status));
}

/* ---- the report ---- */

static void answer(request *q) {
    const retaining *r = q->state;
    buffer text;
    json_writer w;
    buffer_init(&text, &q->rt->env.alloc, 4096);
    json_writer_init(&w, &text);
    json_object_begin(&w);
    json_put_uint(&w, "bytes_after", r->bytes);
    json_put_uint(&w, "bytes_before", r->bytes_before);
    json_put_uint(&w, "deleted", r->deleted);
    json_put_bool(&w, "dry_run", r->policy.dry_run);
    json_put_uint(&w, "kept_open", r->kept_open);
    json_put_uint(&w, "records", r->records);
    json_put_uint(&w, "sessions", r->sessions);
    json_put_uint(&w, "v", 1);
    json_object_end(&w);
    uar_status status = text.status;
    q->box->reply.number = r->deleted;
    if (status == UAR_OK) {
        q->box->reply.document = arena_str(request_mem(q), buffer_str(&text));
        if (q->box->reply.document.ptr == NULL) status = UAR_E_NOMEM;
    }
    buffer_dispose(&text);
    request_end(q, status, NULL);
}

/* ---- removing ---- */

static void go_remove(request *q);

static bool is_to_go(const retaining *r, const kept_session *s) {
    if (r->policy.keep_named && s->is_named) return false;
    bool is_old = r->policy.max_age_ms > 0 && r->now_ms - s->updated_ms > r->policy.max_age_ms;
    return is_old || (r->policy.max_bytes > 0 && r->bytes > r->policy.max_bytes);
}

static void has_gone(retaining *r) {
    r->deleted++;
    r->bytes -= r->at->bytes;
    r->at = r->at->next;
}

static void next_removal(request *q) {
    retaining *r = q->state;
    for (; r->at != NULL; r->at = r->at->next) {
        if (!is_to_go(r, r->at)) continue;
        if (!r->at->is_open) break;
        r->kept_open++;
    }
    if (r->at == NULL) {
        answer(q);
        return;
    }
    if (r->policy.dry_run) {
        has_gone(r);
        request_post(q); /* a long list isn't walked in one step */
        return;
    }
    uar_status status = removal_begin(&r->removal, q, q->owner, r->at->user, r->at->session);
    r->removal.only_at = r->at->revision;
    if (status != UAR_OK)
        fail(q, status);
    else
        go_remove(q);
}

static void go_remove(request *q) {
    retaining *r = q->state;
    if (r->policy.dry_run) {
        next_removal(q);
        return;
    }
    switch (removal_step(&r->removal, q)) {
    case REMOVAL_ASKS: return;
    case REMOVAL_DONE:
        r->records += r->removal.removed;
        has_gone(r);
        next_removal(q);
        return;
    case REMOVAL_FAILED: break;
    }
    if (q->op.status != UAR_E_BUSY && q->op.status != UAR_E_NOT_FOUND) {
        request_end(q, q->op.status, q->op.error.message);
        return;
    }
    r->kept_open += q->op.status == UAR_E_BUSY;
    r->at = r->at->next;
    next_removal(q);
}

static void begin_removals(request *q) {
    retaining *r = q->state;
    r->stage = RETAIN_AT_REMOVAL;
    r->bytes_before = r->bytes;
    r->at = r->first;
    next_removal(q);
}

/* ---- bytes ---- */

static void ask_bytes(request *q) {
    retaining *r = q->state;
    if (r->at == NULL) {
        begin_removals(q);
        return;
    }
    r->stage = RETAIN_AT_BYTES;
    request_list(q, UAR_RECORD_MESSAGE, q->owner, r->at->key, UAR_ORDER_SORT, r->after, PAGE);
}

static void got_bytes(request *q) {
    retaining *r = q->state;
    if (!request_went_well(q)) return;
    size_t count = q->op.record_count;
    for (size_t i = 0; i < count; i++)
        r->at->bytes += q->op.records[i].body.len + q->op.records[i].blob.len;
    if (count == PAGE) {
        r->after = (uint64_t)q->op.records[count - 1].sort;
    } else {
        r->bytes += r->at->bytes;
        r->at = r->at->next;
        r->after = 0;
    }
    ask_bytes(q);
}

/* ---- listing ---- */

static bool turn_page(request *q) {
    size_t count = q->op.record_count;
    q->value = count == PAGE ? arena_str(request_mem(q), q->op.records[count - 1].id) : uar_str_of(NULL);
    if (count < PAGE || q->value.ptr != NULL) return true;
    fail(q, UAR_E_NOMEM);
    return false;
}

static void ask_open(request *q) {
    retaining *r = q->state;
    r->stage = RETAIN_AT_OPEN;
    request_list(q, UAR_RECORD_OPEN_RUN, STR(UAR_SYSTEM_OWNER), uar_str_of(NULL), UAR_ORDER_KEY, 0, PAGE);
}

static void got_open(request *q) {
    retaining *r = q->state;
    if (!request_went_well(q)) return;
    for (size_t i = 0; i < q->op.record_count; i++) {
        open_run o;
        if (open_run_decode(&o, &q->op.mem, &q->op.records[i], NULL) != UAR_OK) continue;
        if (!uar_str_equal(o.owner, q->owner)) continue;
        for (kept_session *s = r->first; s != NULL; s = s->next)
            if (uar_str_equal(s->user, o.user) && uar_str_equal(s->session, o.session)) s->is_open = true;
    }
    bool more = q->op.record_count == PAGE;
    if (!turn_page(q)) return;
    if (more) {
        ask_open(q);
        return;
    }
    r->at = r->policy.max_bytes > 0 ? r->first : NULL;
    ask_bytes(q);
}

static void ask_sessions(request *q) {
    retaining *r = q->state;
    r->stage = RETAIN_AT_SESSIONS;
    request_list(q, UAR_RECORD_SESSION, q->owner, uar_str_of(NULL), UAR_ORDER_KEY, 0, PAGE);
}

/* Merge sort of the list: thousands of sessions may come in any order. */
static kept_session *sorted(kept_session *list, size_t count) {
    if (count < 2) {
        if (list != NULL) list->next = NULL;
        return list;
    }
    kept_session *right = list;
    for (size_t i = 0; i < count / 2; i++)
        right = right->next;
    right = sorted(right, count - count / 2);
    kept_session *left = sorted(list, count / 2);
    kept_session *head = NULL, **end = &head;
    while (left != NULL && right != NULL) {
        kept_session **from = right->updated_ms < left->updated_ms ? &right : &left;
        *end = *from;
        end = &(*end)->next;
        *from = (*from)->next;
    }
    *end = left != NULL ? left : right;
    return head;
}

static bool keep_session(request *q, const uar_record *record) {
    retaining *r = q->state;
    uar_session s;
    uar_status status = session_decode(&s, request_mem(q), record, NULL);
    if (status != UAR_OK && status != UAR_E_NOMEM) return true; /* deleted, unborn, or not for us to judge */
    kept_session *k = status == UAR_OK ? arena_zeroed(request_mem(q), 1, sizeof *k) : NULL;
    if (k == NULL || record_key(&k->key, request_mem(q), s.user, s.session) != UAR_OK) return false;
    k->user = s.user;
    k->session = s.session;
    k->updated_ms = s.updated_ms;
    k->revision = s.revision;
    k->is_named = s.name.ptr != NULL;
    k->next = r->first;
    r->first = k;
    r->sessions++;
    return true;
}

static void got_sessions(request *q) {
    retaining *r = q->state;
    if (!request_went_well(q)) return;
    for (size_t i = 0; i < q->op.record_count; i++)
        if (!keep_session(q, &q->op.records[i])) {
            fail(q, UAR_E_NOMEM);
            return;
        }
    bool more = q->op.record_count == PAGE;
    if (!turn_page(q)) return;
    if (more) {
        ask_sessions(q);
        return;
    }
    r->first = sorted(r->first, (size_t)r->sessions);
    ask_open(q);
}

static void step_retain(request *q) {
    const retaining *r = q->state;
    switch (r->stage) {
    case RETAIN_AT_START: ask_sessions(q); break;
    case RETAIN_AT_SESSIONS: got_sessions(q); break;
    case RETAIN_AT_OPEN: got_open(q); break;
    case RETAIN_AT_BYTES: got_bytes(q); break;
    case RETAIN_AT_REMOVAL: go_remove(q); break;
    }
}

static request *retain_request(uar_runtime *rt, bool waits, const char *owner, const uar_retention *retention,
                               uar_error *err) {
    uar_retention policy;
    if (retention == NULL) return error_set(err, UAR_E_INVALID, "retention is NULL"), NULL;
    if (struct_in(&policy, sizeof policy, retention, "uar_retention", err) != UAR_OK) return NULL;
    if (policy.max_age_ms < 0 || (policy.max_age_ms == 0 && policy.max_bytes == 0))
        return error_set(err, UAR_E_INVALID, "retention needs a limit: max_age_ms or max_bytes"), NULL;
    request *q = request_new(rt, waits, step_retain, err);
    if (q == NULL || !request_id(&q, &q->owner, owner, "owner", err)) return NULL;
    retaining *r = arena_zeroed(request_mem(q), 1, sizeof *r);
    q->state = r;
    if (r == NULL) {
        request_refuse(q, UAR_E_NOMEM, "out of memory", err);
        return NULL;
    }
    r->policy = policy;
    r->now_ms = clock_wall(&rt->env.clock);
    return q;
}

uar_status uar_retain(uar_runtime *rt, const char *owner, const uar_retention *retention, uar_reply_fn done, void *ctx,
                      uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(retain_request(rt, false, owner, retention, &fault), &fault, done, ctx, err);
}

uar_status uar_retain_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_retention *retention,
                           uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(retain_request(rt, true, owner, retention, &fault), &fault, out, err);
}
