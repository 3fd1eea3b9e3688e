/*
 * Settings and their types: the calls of uar/records.h. Owns nothing.
 *
 * A setting is committed together with checks of every type record that was looked at for its key, those that weren't there
 * too: so a type that comes, changes or goes meanwhile is a conflict, and the put looks again.
 */
#include "base/error.h"
#include "runtime/keep.h"
#include "schema/schema.h"

#define SETTING_TRIES 16
/* A key of HOST_ID_MAX bytes has at most so many levels. */
#define LEVELS_MAX (HOST_ID_MAX + 2)
#define VALUE_MAX ((size_t)64 << 20)

static uar_status decode(void *item, arena *ar, const uar_record *r, uar_error *err) {
    return setting_decode(item, ar, r, err);
}

static void answer(uar_reply *reply, void *items) {
    reply->settings = items;
}

static const kept settings = {
    .kind = UAR_RECORD_SETTING,
    .size = sizeof(uar_setting),
    .decode = decode,
    .answer = answer,
    .missing = "this setting is not stored",
};

/* ---- does a value fit? ---- */

static uar_status check_value(const uar_allocator *a, const schema *s, uar_str value, uar_error *err) {
    cJSON *tree = NULL;
    uar_status status = json_read(&tree, a, value, VALUE_MAX, err);
    if (status == UAR_OK) status = schema_check(s, tree, err);
    json_free(a, tree);
    return status;
}

/* UAR_E_INVALID with the place in the value. */
static uar_status check_setting(const uar_allocator *a, const schema *s, uar_str key, uar_str pattern, uar_str value,
                                uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = check_value(a, s, value, &fault);
    if (status == UAR_E_SCHEMA)
        return error_set(err, UAR_E_INVALID, "%.*s doesn't fit its type %.*s: %s", (int)key.len, key.ptr,
                         (int)pattern.len, pattern.ptr, fault.message);
    error_copy(err, &fault);
    return status;
}

/* ---- put ---- */

/* A put under way, beside its keeping. */
typedef struct setting_put {
    keeping keep; /* first: the state of a keeping request */
    char pattern[RECORD_ID_MAX];
    uar_str level;     /* the type that is looked for */
    uar_write *checks; /* of the types that were looked at */
    size_t check_count;
    uint64_t revision; /* of the setting, 0: none */
} setting_put;

static void look_for_setting(request *q);

/* The inputs of a commit live in the op's arena: a layer may read them for longer than we wait. */
static bool copy_checks(const setting_put *p, uar_write *writes, arena *mem) {
    for (size_t i = 0; i < p->check_count; i++) {
        writes[i] = p->checks[i];
        writes[i].record.owner = arena_str(mem, p->checks[i].record.owner);
        writes[i].record.id = arena_str(mem, p->checks[i].record.id);
        if (writes[i].record.owner.ptr == NULL || writes[i].record.id.ptr == NULL) return false;
    }
    return true;
}

static void put_setting(request *q) {
    setting_put *p = q->state;
    uar_error fault = UAR_ERROR_INIT;
    arena *mem = &q->op.mem;
    arena_dispose(mem);
    uar_write *writes = arena_zeroed(mem, p->check_count + 1, sizeof *writes);
    if (writes == NULL || !copy_checks(p, writes, mem)) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return;
    }
    uar_write *last = &writes[p->check_count];
    *last = (uar_write){ .op = UAR_WRITE_PUT, .expected = p->revision };
    uar_status status = setting_record(&last->record, mem, q->owner, q->id, q->value, &fault);
    if (status != UAR_OK)
        request_end(q, status, fault.message);
    else
        keep_commit(q, writes, p->check_count + 1);
}

static void step_committed(request *q) {
    if (q->op.status == UAR_E_CONFLICT && q->tries++ < SETTING_TRIES) {
        look_for_setting(q);
    } else if (request_went_well(q)) {
        q->step = keep_load;
        q->stage = 0;
        keep_load(q);
    }
}

static uar_status fits(request *q, const uar_record *record, uar_error *err) {
    uar_setting_type type;
    schema *s = NULL;
    const uar_allocator *a = &q->rt->env.alloc;
    uar_status status = setting_type_decode(&type, &q->op.mem, record, err);
    if (status == UAR_OK) status = schema_compile_text(&s, a, type.schema, VALUE_MAX, err);
    if (status == UAR_OK) status = check_setting(a, s, q->id, type.key, q->value, err);
    schema_free(s);
    return status;
}

static bool note_check(request *q, uint64_t revision) {
    setting_put *p = q->state;
    uar_write *w = &p->checks[p->check_count];
    *w = (uar_write){ .op = UAR_WRITE_CHECK, .expected = revision };
    w->record.kind = UAR_RECORD_SETTING_TYPE;
    w->record.owner = q->owner;
    w->record.id = arena_str(request_mem(q), p->level);
    if (w->record.id.ptr != NULL && ++p->check_count <= LEVELS_MAX) return true;
    request_end(q, UAR_E_NOMEM, "out of memory");
    return false;
}

static void step_typed(request *q) {
    setting_put *p = q->state;
    bool found = q->op.status == UAR_OK;
    if (!found && q->op.status != UAR_E_NOT_FOUND) {
        (void)request_went_well(q);
        return;
    }
    if (!note_check(q, found ? q->op.records->revision : 0)) return;
    if (found) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = fits(q, q->op.records, &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
    } else {
        p->level = setting_pattern_wider(p->pattern, p->level);
        if (p->level.ptr != NULL) {
            request_get(q, UAR_RECORD_SETTING_TYPE, q->owner, p->level);
            return;
        }
    }
    q->step = step_committed;
    put_setting(q);
}

static void step_looked(request *q) {
    setting_put *p = q->state;
    if (q->op.status == UAR_OK)
        p->revision = q->op.records->revision;
    else if (q->op.status != UAR_E_NOT_FOUND && !request_went_well(q))
        return;
    q->step = step_typed;
    request_get(q, UAR_RECORD_SETTING_TYPE, q->owner, p->level);
}

static void look_for_setting(request *q) {
    setting_put *p = q->state;
    memcpy(p->pattern, q->id.ptr, q->id.len);
    p->level = uar_str_n(p->pattern, q->id.len);
    p->check_count = 0;
    p->revision = 0;
    q->step = step_looked;
    request_get(q, UAR_RECORD_SETTING, q->owner, q->id);
}

static request *setting_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner,
                                const char *key, uint64_t revision, uar_error *err) {
    request *q = keep_request(rt, waits, &settings, step, owner, err);
    if (q == NULL || !request_id(&q, &q->id, key, "setting", err)) return NULL;
    keeping_of(q)->key = q->id;
    keeping_of(q)->expected = revision;
    return q;
}

static request *setting_put_request(uar_runtime *rt, bool waits, const char *owner, const char *key, uar_str value,
                                    uar_error *err) {
    request *q = setting_request(rt, waits, look_for_setting, owner, key, UAR_ANY_REVISION, err);
    if (q == NULL || !request_text(&q, &q->value, value, err)) return NULL;
    setting_put *p = arena_zeroed(request_mem(q), 1, sizeof *p);
    uar_write *checks = arena_zeroed(request_mem(q), LEVELS_MAX + 1, sizeof *checks);
    if (p == NULL || checks == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    p->keep = *keeping_of(q);
    p->checks = checks;
    q->state = p;
    return q;
}

static bool is_host_id(const request *q, uar_str cursor) {
    (void)q;
    return host_id_check(cursor, "cursor", NULL) == UAR_OK;
}

static request *settings_list(uar_runtime *rt, bool waits, const kept *k, const char *owner, uar_str cursor,
                              size_t limit, uar_error *err) {
    request *q = keep_request(rt, waits, k, keep_list, owner, err);
    bool good = q != NULL && request_cursor(&q, cursor, is_host_id, err) && request_limit(&q, limit, err);
    return good ? q : NULL;
}

uar_status uar_setting_get(uar_runtime *rt, const char *owner, const char *key, uar_reply_fn done, void *ctx,
                           uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(setting_request(rt, false, keep_load, owner, key, 0, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_get_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(setting_request(rt, true, keep_load, owner, key, 0, &fault), &fault, out, err);
}

uar_status uar_setting_list(uar_runtime *rt, const char *owner, uar_str cursor, size_t limit, uar_reply_fn done,
                            void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(settings_list(rt, false, &settings, owner, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_str cursor, size_t limit,
                                 uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(settings_list(rt, true, &settings, owner, cursor, limit, &fault), &fault, out, err);
}

uar_status uar_setting_put(uar_runtime *rt, const char *owner, const char *key, uar_str value, uar_reply_fn done,
                           void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(setting_put_request(rt, false, owner, key, value, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key, uar_str value,
                                uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(setting_put_request(rt, true, owner, key, value, &fault), &fault, out, err);
}

uar_status uar_setting_delete(uar_runtime *rt, const char *owner, const char *key, uint64_t revision, uar_reply_fn done,
                              void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(setting_request(rt, false, keep_delete, owner, key, revision, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                   uint64_t revision, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(setting_request(rt, true, keep_delete, owner, key, revision, &fault), &fault, out, err);
}
