/* Policies of sessions: the calls of uar/records.h. Owns nothing. */
#include "base/error.h"
#include "runtime/keep.h"

static uar_status decode(void *item, arena *ar, const uar_record *r, uar_error *err) {
    return session_policy_decode(item, ar, r, err);
}

static void answer(uar_reply *reply, void *items) {
    reply->policies = items;
}

static uar_status make(uar_record *out, arena *ar, const request *q, const void *item, uar_error *err) {
    (void)q;
    uar_status status = session_policy_record(out, ar, item);
    return status == UAR_E_INVALID ? error_set(err, status, "the policy holds a value out of range") : status;
}

static const kept policies = {
    .kind = UAR_RECORD_SESSION_POLICY,
    .size = sizeof(uar_session_policy),
    .decode = decode,
    .answer = answer,
    .make = make,
    .missing = "this session has no policy",
};

static request *policy_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner,
                               const char *user, const char *session, uint64_t revision, uar_error *err) {
    request *q = keep_request(rt, waits, &policies, step, owner, err);
    bool good = q != NULL && request_id(&q, &q->user, user, "user", err) &&
                request_id(&q, &q->session, session, "session", err);
    if (!good) return NULL;
    keeping_of(q)->expected = revision;
    if (record_key(&keeping_of(q)->key, request_mem(q), q->user, q->session) == UAR_OK) return q;
    return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
}

static bool copy_tools(request **q, uar_session_policy *copy, uar_error *err) {
    if (copy->tools == NULL) return true;
    uar_str *tools = arena_zeroed(request_mem(*q), copy->tool_count + 1, sizeof *tools);
    if (tools == NULL) {
        request_refuse(*q, UAR_E_NOMEM, "out of memory", err);
        *q = NULL;
        return false;
    }
    for (size_t i = 0; i < copy->tool_count; i++)
        if (!request_text(q, &tools[i], copy->tools[i], err)) return false;
    copy->tools = tools;
    return true;
}

static request *policy_put(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                           const uar_session_policy *policy, uar_error *err) {
    if (policy == NULL) return error_set(err, UAR_E_INVALID, "the policy is NULL"), NULL;
    request *q = policy_request(rt, waits, keep_put, owner, user, session, policy->revision, err);
    if (q == NULL) return NULL;
    uar_session_policy *copy = arena_zeroed(request_mem(q), 1, sizeof *copy);
    if (copy == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    *copy = *policy;
    copy->owner = q->owner;
    copy->user = q->user;
    copy->session = q->session;
    keeping_of(q)->item = copy;
    return request_text(&q, &copy->model, policy->model, err) && copy_tools(&q, copy, err) ? q : NULL;
}

static request *policy_list(uar_runtime *rt, bool waits, const char *owner, const char *user, uar_str cursor,
                            size_t limit, uar_error *err) {
    request *q = keep_request(rt, waits, &policies, keep_list, owner, err);
    bool good = q != NULL && request_id(&q, &q->user, user, "user", err) &&
                request_cursor(&q, cursor, keep_is_key, err) && request_limit(&q, limit, err);
    if (good) keeping_of(q)->parent = q->user;
    return good ? q : NULL;
}

uar_status uar_session_policy_put(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                  const uar_session_policy *policy, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(policy_put(rt, false, owner, user, session, policy, &fault), &fault, done, ctx, err);
}

uar_status uar_session_policy_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                       const char *session, const uar_session_policy *policy, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(policy_put(rt, true, owner, user, session, policy, &fault), &fault, out, err);
}

uar_status uar_session_policy_load(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                   uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(policy_request(rt, false, keep_load, owner, user, session, 0, &fault), &fault, done, ctx, err);
}

uar_status uar_session_policy_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                        const char *session, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(policy_request(rt, true, keep_load, owner, user, session, 0, &fault), &fault, out, err);
}

uar_status uar_session_policy_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor, size_t limit,
                                   uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(policy_list(rt, false, owner, user, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_session_policy_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                        uar_str cursor, size_t limit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(policy_list(rt, true, owner, user, cursor, limit, &fault), &fault, out, err);
}

uar_status uar_session_policy_delete(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                     uint64_t revision, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(policy_request(rt, false, keep_delete, owner, user, session, revision, &fault), &fault, done,
                         ctx, err);
}

uar_status uar_session_policy_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                          const char *session, uint64_t revision, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(policy_request(rt, true, keep_delete, owner, user, session, revision, &fault), &fault, out,
                            err);
}
