/* The calls of uar/records.h that read and write one kind of record. Owns nothing. */
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "runtime/request.h"

/* Makes room for `count` items of a reply. NULL: the request has ended. */
static void *items(request *q, size_t count, size_t size) {
    void *list = arena_zeroed(request_mem(q), count + 1, size);
    if (list == NULL) request_end(q, UAR_E_NOMEM, "out of memory");
    return list;
}

/* The cursor of a page in key order: the last id, if the page was full. */
static bool set_cursor(request *q) {
    if (q->op.record_count < q->limit) return true;
    uar_reply *reply = &q->box->reply;
    reply->cursor = arena_str(request_mem(q), q->op.records[q->op.record_count - 1].id);
    if (reply->cursor.ptr != NULL) return true;
    request_end(q, UAR_E_NOMEM, "out of memory");
    return false;
}

/* ---- sessions ---- */

/* Those that are deleted or not born yet are not there. */
static void decode_sessions(request *q) {
    uar_session *list = items(q, q->op.record_count, sizeof *list);
    if (list == NULL) return;
    size_t count = 0;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = session_decode(&list[count], request_mem(q), &q->op.records[i], &fault);
        bool hides = status == UAR_E_NOT_FOUND && q->op.call == STORE_LIST;
        if (status != UAR_OK && !hides) {
            request_end(q, status, fault.message);
            return;
        }
        if (!hides) count++;
    }
    q->box->reply.sessions = list;
    q->box->reply.count = count;
    request_end(q, UAR_OK, NULL);
}

static void step_session_load(request *q) {
    if (q->stage++ == 0)
        request_get(q, UAR_RECORD_SESSION, q->owner, q->id);
    else if (q->op.status == UAR_E_NOT_FOUND)
        request_end(q, UAR_E_NOT_FOUND, "there is no such session");
    else if (request_went_well(q))
        decode_sessions(q);
}

static bool session_key(request **q, const char *user, const char *session, uar_error *err) {
    if (!request_id(q, &(*q)->user, user, "user", err) || !request_id(q, &(*q)->session, session, "session", err))
        return false;
    if (record_key(&(*q)->id, request_mem(*q), (*q)->user, (*q)->session) == UAR_OK) return true;
    request_refuse(*q, UAR_E_NOMEM, "out of memory", err);
    *q = NULL;
    return false;
}

static request *session_load(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                             uar_error *err) {
    request *q = request_new(rt, waits, step_session_load, err);
    if (q == NULL || !request_id(&q, &q->owner, owner, "owner", err) || !session_key(&q, user, session, err))
        return NULL;
    return q;
}

uar_status uar_session_load(uar_runtime *rt, const char *owner, const char *user, const char *session,
                            uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(session_load(rt, false, owner, user, session, &fault), &fault, done, ctx, err);
}

uar_status uar_session_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                 const char *session, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(session_load(rt, true, owner, user, session, &fault), &fault, out, err);
}

static void step_session_list(request *q) {
    if (q->stage++ == 0)
        request_list(q, UAR_RECORD_SESSION, q->owner, q->user, UAR_ORDER_KEY, 0, q->limit);
    else if (request_went_well(q) && set_cursor(q))
        decode_sessions(q);
}

/* The key of a session of this user: the user, US, the session. */
static bool is_session_key(const request *q, uar_str cursor) {
    size_t head = q->user.len + 1;
    return cursor.len > head && uar_str_equal(uar_str_n(cursor.ptr, q->user.len), q->user) &&
           cursor.ptr[q->user.len] == 0x1f &&
           host_id_check(uar_str_n(cursor.ptr + head, cursor.len - head), "session", NULL) == UAR_OK;
}

static request *session_list(uar_runtime *rt, bool waits, const char *owner, const char *user, uar_str cursor,
                             size_t limit, uar_error *err) {
    request *q = request_new(rt, waits, step_session_list, err);
    bool good = q != NULL && request_id(&q, &q->owner, owner, "owner", err) &&
                request_id(&q, &q->user, user, "user", err) && request_cursor(&q, cursor, is_session_key, err) &&
                request_limit(&q, limit, err);
    return good ? q : NULL;
}

uar_status uar_session_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor, size_t limit,
                            uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(session_list(rt, false, owner, user, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_session_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user, uar_str cursor,
                                 size_t limit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(session_list(rt, true, owner, user, cursor, limit, &fault), &fault, out, err);
}

/* ---- messages ---- */

static void decode_messages(request *q) {
    uar_message *list = items(q, q->op.record_count, sizeof *list);
    if (list == NULL) return;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = message_decode(&list[i], request_mem(q), &q->op.records[i], &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
    }
    q->box->reply.messages = list;
    q->box->reply.count = q->op.record_count;
    request_end(q, UAR_OK, NULL);
}

/* False: the request has ended. */
static bool session_is_there(request *q) {
    uar_error fault = UAR_ERROR_INIT;
    uar_session s;
    uar_status status = q->op.status;
    if (status == UAR_E_NOT_FOUND)
        error_set(&fault, status, "there is no such session");
    else if (!request_went_well(q))
        return false;
    else
        status = session_decode(&s, request_mem(q), q->op.records, &fault);
    if (status == UAR_OK) return true;
    request_end(q, status, fault.message);
    return false;
}

static void step_message_list(request *q) {
    switch (q->stage++) {
    case 0: request_get(q, UAR_RECORD_SESSION, q->owner, q->id); break;
    case 1:
        if (session_is_there(q))
            request_list(q, UAR_RECORD_MESSAGE, q->owner, q->id, UAR_ORDER_SORT, q->number, q->limit);
        break;
    default:
        if (request_went_well(q)) decode_messages(q);
    }
}

static request *message_list(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                             uint64_t after, size_t limit, uar_error *err) {
    request *q = request_new(rt, waits, step_message_list, err);
    bool good = q != NULL && request_id(&q, &q->owner, owner, "owner", err) && session_key(&q, user, session, err) &&
                request_limit(&q, limit, err);
    if (good && after > INT64_MAX) return request_refuse(q, UAR_E_INVALID, "no message has this number", err), NULL;
    if (good) q->number = after;
    return good ? q : NULL;
}

uar_status uar_message_list(uar_runtime *rt, const char *owner, const char *user, const char *session, uint64_t after,
                            size_t limit, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(message_list(rt, false, owner, user, session, after, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_message_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                 const char *session, uint64_t after, size_t limit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(message_list(rt, true, owner, user, session, after, limit, &fault), &fault, out, err);
}

/* ---- agents ---- */

static void decode_agents(request *q) {
    uar_agent *list = items(q, q->op.record_count, sizeof *list);
    if (list == NULL) return;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = agent_decode(&list[i], request_mem(q), &q->op.records[i], &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
    }
    q->box->reply.agents = list;
    q->box->reply.count = q->op.record_count;
    request_end(q, UAR_OK, NULL);
}

static void step_agent_load(request *q) {
    if (q->stage++ == 0)
        request_get(q, UAR_RECORD_AGENT, q->owner, q->id);
    else if (q->op.status == UAR_E_NOT_FOUND)
        request_end(q, UAR_E_NOT_FOUND, "there is no such agent");
    else if (request_went_well(q))
        decode_agents(q);
}

static request *agent_load(uar_runtime *rt, bool waits, const char *owner, const char *agent, uar_error *err) {
    request *q = request_new(rt, waits, step_agent_load, err);
    bool good =
        q != NULL && request_id(&q, &q->owner, owner, "owner", err) && request_id(&q, &q->id, agent, "agent", err);
    return good ? q : NULL;
}

uar_status uar_agent_load(uar_runtime *rt, const char *owner, const char *agent, uar_reply_fn done, void *ctx,
                          uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(agent_load(rt, false, owner, agent, &fault), &fault, done, ctx, err);
}

uar_status uar_agent_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *agent, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(agent_load(rt, true, owner, agent, &fault), &fault, out, err);
}

static void step_agent_list(request *q) {
    if (q->stage++ == 0)
        request_list(q, UAR_RECORD_AGENT, q->owner, uar_str_of(NULL), UAR_ORDER_KEY, 0, q->limit);
    else if (request_went_well(q) && set_cursor(q))
        decode_agents(q);
}

static bool is_host_id(const request *q, uar_str cursor) {
    (void)q;
    return host_id_check(cursor, "cursor", NULL) == UAR_OK;
}

static request *owned_list(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner, uar_str cursor,
                           size_t limit, uar_error *err) {
    request *q = request_new(rt, waits, step, err);
    bool good = q != NULL && request_id(&q, &q->owner, owner, "owner", err) &&
                request_cursor(&q, cursor, is_host_id, err) && request_limit(&q, limit, err);
    return good ? q : NULL;
}

uar_status uar_agent_list(uar_runtime *rt, const char *owner, uar_str cursor, size_t limit, uar_reply_fn done,
                          void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(owned_list(rt, false, step_agent_list, owner, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_agent_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_str cursor, size_t limit,
                               uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(owned_list(rt, true, step_agent_list, owner, cursor, limit, &fault), &fault, out, err);
}

static void put_agent(request *q, uint64_t expected) {
    uar_record record;
    memset(&record, 0, sizeof record);
    arena_dispose(&q->op.mem);
    uar_status status = agent_record(&record, &q->op.mem, q->owner, q->state);
    if (status != UAR_OK)
        request_end(q, status, uar_status_text(status));
    else
        request_put(q, &record, expected);
}

/* 0: look what is there · 1: put · 2: read back as stored */
static void step_agent_put(request *q) {
    const uar_agent *agent = q->state;
    switch (q->stage++) {
    case 0:
        if (agent->revision == UINT64_MAX) {
            request_get(q, UAR_RECORD_AGENT, q->owner, agent->id);
            break;
        }
        q->stage = 2;
        put_agent(q, agent->revision);
        break;
    case 1:
        if (q->op.status == UAR_E_NOT_FOUND)
            put_agent(q, 0);
        else if (request_went_well(q))
            put_agent(q, q->op.records->revision);
        break;
    case 2:
        if (q->op.status == UAR_E_CONFLICT && agent->revision == UINT64_MAX && q->tries++ < 8) {
            q->stage = 1;
            request_get(q, UAR_RECORD_AGENT, q->owner, agent->id);
        } else if (request_went_well(q)) {
            request_get(q, UAR_RECORD_AGENT, q->owner, agent->id);
        }
        break;
    default:
        if (request_went_well(q)) decode_agents(q);
    }
}

static request *agent_put(uar_runtime *rt, bool waits, const char *owner, const uar_agent *agent, uar_error *err) {
    if (agent == NULL) return error_set(err, UAR_E_INVALID, "the agent is NULL"), NULL;
    request *q = request_new(rt, waits, step_agent_put, err);
    if (q == NULL || !request_id(&q, &q->owner, owner, "owner", err)) return NULL;
    uar_status status = host_id_check(agent->id, "agent", err);
    if (status != UAR_OK) {
        uar_error fault = *err;
        return request_refuse(q, status, fault.message, err), NULL;
    }
    uar_agent *copy = arena_zeroed(request_mem(q), 1, sizeof *copy);
    if (copy == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    *copy = *agent;
    q->state = copy;
    bool good = request_text(&q, &copy->id, agent->id, err) && request_text(&q, &copy->name, agent->name, err) &&
                request_text(&q, &copy->instructions, agent->instructions, err) &&
                request_text(&q, &copy->model, agent->model, err);
    return good ? q : NULL;
}

uar_status uar_agent_put(uar_runtime *rt, const char *owner, const uar_agent *agent, uar_reply_fn done, void *ctx,
                         uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(agent_put(rt, false, owner, agent, &fault), &fault, done, ctx, err);
}

uar_status uar_agent_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_agent *agent,
                              uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(agent_put(rt, true, owner, agent, &fault), &fault, out, err);
}

/* ---- settings ---- */

static void decode_settings(request *q) {
    uar_setting *list = items(q, q->op.record_count, sizeof *list);
    if (list == NULL) return;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = setting_decode(&list[i], request_mem(q), &q->op.records[i], &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
    }
    q->box->reply.settings = list;
    q->box->reply.count = q->op.record_count;
    request_end(q, UAR_OK, NULL);
}

static void step_setting_get(request *q) {
    if (q->stage++ == 0)
        request_get(q, UAR_RECORD_SETTING, q->owner, q->id);
    else if (q->op.status == UAR_E_NOT_FOUND)
        request_end(q, UAR_E_NOT_FOUND, "this setting is not stored");
    else if (request_went_well(q))
        decode_settings(q);
}

static request *setting_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner,
                                const char *key, uar_str value, uar_error *err) {
    request *q = request_new(rt, waits, step, err);
    bool good = q != NULL && request_id(&q, &q->owner, owner, "owner", err) &&
                request_id(&q, &q->id, key, "setting", err) && request_text(&q, &q->value, value, err);
    return good ? q : NULL;
}

uar_status uar_setting_get(uar_runtime *rt, const char *owner, const char *key, uar_reply_fn done, void *ctx,
                           uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(setting_request(rt, false, step_setting_get, owner, key, uar_str_of(NULL), &fault), &fault,
                         done, ctx, err);
}

uar_status uar_setting_get_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(setting_request(rt, true, step_setting_get, owner, key, uar_str_of(NULL), &fault), &fault,
                            out, err);
}

static void step_setting_list(request *q) {
    if (q->stage++ == 0)
        request_list(q, UAR_RECORD_SETTING, q->owner, uar_str_of(NULL), UAR_ORDER_KEY, 0, q->limit);
    else if (request_went_well(q) && set_cursor(q))
        decode_settings(q);
}

uar_status uar_setting_list(uar_runtime *rt, const char *owner, uar_str cursor, size_t limit, uar_reply_fn done,
                            void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(owned_list(rt, false, step_setting_list, owner, cursor, limit, &fault), &fault, done, ctx,
                         err);
}

uar_status uar_setting_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_str cursor, size_t limit,
                                 uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(owned_list(rt, true, step_setting_list, owner, cursor, limit, &fault), &fault, out, err);
}

static void put_setting(request *q, uint64_t expected) {
    uar_record record;
    uar_error fault = UAR_ERROR_INIT;
    memset(&record, 0, sizeof record);
    arena_dispose(&q->op.mem);
    uar_status status = setting_record(&record, &q->op.mem, q->owner, q->id, q->value, &fault);
    if (status != UAR_OK)
        request_end(q, status, fault.message);
    else
        request_put(q, &record, expected);
}

/* Whoever writes last wins, so a conflict only means: look again. 0: look · 1: put · 2: read back */
static void step_setting_put(request *q) {
    switch (q->stage++) {
    case 0: request_get(q, UAR_RECORD_SETTING, q->owner, q->id); break;
    case 1:
        if (q->op.status == UAR_E_NOT_FOUND)
            put_setting(q, 0);
        else if (request_went_well(q))
            put_setting(q, q->op.records->revision);
        break;
    case 2:
        if (q->op.status == UAR_E_CONFLICT && q->tries++ < 16)
            q->stage = 1;
        else if (!request_went_well(q))
            break;
        request_get(q, UAR_RECORD_SETTING, q->owner, q->id);
        break;
    default:
        if (request_went_well(q)) decode_settings(q);
    }
}

uar_status uar_setting_put(uar_runtime *rt, const char *owner, const char *key, uar_str value, uar_reply_fn done,
                           void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(setting_request(rt, false, step_setting_put, owner, key, value, &fault), &fault, done, ctx,
                         err);
}

uar_status uar_setting_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key, uar_str value,
                                uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(setting_request(rt, true, step_setting_put, owner, key, value, &fault), &fault, out, err);
}
