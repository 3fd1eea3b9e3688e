/*
 * Setting types: the calls of uar/records.h. Owns nothing but the compiled schema of a put.
 *
 * A type is stored only if the settings that it would govern fit it. They are gone through before the commit, and once more
 * after it, for what others stored meanwhile: if one of those doesn't fit, what was there before is put back. From the commit
 * on no misfit can come in, because each put of a setting checks the type that it was measured by.
 */
#include "base/error.h"
#include "runtime/keep.h"
#include "schema/schema.h"

#define TYPE_TRIES 16
#define SCHEMA_MAX ((size_t)1 << 20)
#define PAGE 100

static uar_status decode(void *item, arena *ar, const uar_record *r, uar_error *err) {
    return setting_type_decode(item, ar, r, err);
}

static void answer(uar_reply *reply, void *items) {
    reply->setting_types = items;
}

static uar_status make(uar_record *out, arena *ar, const request *q, const void *item, uar_error *err) {
    return setting_type_record(out, ar, q->owner, item, err);
}

static const kept types = {
    .kind = UAR_RECORD_SETTING_TYPE,
    .size = sizeof(uar_setting_type),
    .decode = decode,
    .answer = answer,
    .make = make,
    .missing = "there is no setting type of this key",
};

typedef struct type_put {
    keeping keep; /* first: the state of a keeping request */
    uar_setting_type type;
    schema *schema;
    bool keep_unfit;
    bool committed;
    uar_record before;           /* what is replaced; revision 0: nothing */
    char pattern[RECORD_ID_MAX]; /* whose type a misfit has, from narrow to wide */
    uar_str level, misfit;       /* its key */
    uar_str heads;               /* settings begin so */
    uar_error fault;             /* why it doesn't fit */
} type_put;

static void go_through(request *q);
static void look(request *q);

static void free_schema(request *q) {
    type_put *p = q->state;
    schema_free(p->schema);
    p->schema = NULL;
}

/* ---- reading back, and putting back ---- */

static void read_back(request *q) {
    q->step = keep_load;
    q->stage = 0;
    keep_load(q);
}

static void step_put_back(request *q) {
    type_put *p = q->state;
    /* A conflict: somebody else has put another type meanwhile, and it is theirs that counts. */
    if (q->op.status != UAR_OK && q->op.status != UAR_E_CONFLICT)
        request_end(q, q->op.status, q->op.error.message);
    else
        request_end(q, UAR_E_INVALID, p->fault.message);
}

static void put_back(request *q) {
    type_put *p = q->state;
    arena *mem = &q->op.mem;
    arena_dispose(mem);
    uar_write *w = arena_zeroed(mem, 1, sizeof *w);
    if (w == NULL || record_copy(&w->record, mem, &p->before) != UAR_OK) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return;
    }
    w->op = p->before.revision != 0 ? UAR_WRITE_PUT : UAR_WRITE_DELETE;
    w->expected = p->before.revision + 1;
    q->step = step_put_back;
    keep_commit(q, w, 1);
}

/* ---- the settings that it would govern ---- */

static void all_fit(request *q);

static void refuse(request *q) {
    type_put *p = q->state;
    if (p->committed)
        put_back(q);
    else
        request_end(q, UAR_E_INVALID, p->fault.message);
}

/* A misfit may be governed by a narrower type: then it is none of ours. */
static void step_narrower(request *q) {
    type_put *p = q->state;
    if (q->op.status == UAR_OK) {
        go_through(q);
        return;
    }
    if (q->op.status != UAR_E_NOT_FOUND) {
        (void)request_went_well(q);
        return;
    }
    p->level = setting_pattern_wider(p->pattern, p->level);
    if (p->level.ptr == NULL || uar_str_equal(p->level, p->type.key))
        refuse(q);
    else
        request_get(q, UAR_RECORD_SETTING_TYPE, q->owner, p->level);
}

static void look_for_narrower(request *q) {
    type_put *p = q->state;
    if (uar_str_equal(p->misfit, p->type.key) || p->misfit.len > sizeof p->pattern) {
        refuse(q);
        return;
    }
    memcpy(p->pattern, p->misfit.ptr, p->misfit.len);
    p->level = uar_str_n(p->pattern, p->misfit.len);
    q->step = step_narrower;
    request_get(q, UAR_RECORD_SETTING_TYPE, q->owner, p->level);
}

static uar_status check(request *q, const uar_record *record) {
    type_put *p = q->state;
    uar_setting setting;
    uar_error fault = UAR_ERROR_INIT;
    const uar_allocator *a = &q->rt->env.alloc;
    cJSON *tree = NULL;
    uar_status status = setting_decode(&setting, &q->op.mem, record, &p->fault);
    if (status == UAR_OK) status = json_read(&tree, a, setting.value, SIZE_MAX, &p->fault);
    if (status != UAR_OK) return status;
    status = schema_check(p->schema, tree, &fault);
    json_free(a, tree);
    if (status != UAR_OK)
        error_set(&p->fault, status == UAR_E_SCHEMA ? UAR_E_INVALID : status, "the stored %.*s doesn't fit: %s",
                  (int)setting.key.len, setting.key.ptr, fault.message);
    return status;
}

/* True if neither this key nor one behind it can match. */
static bool is_behind(const type_put *p, uar_str key) {
    bool begins_so = key.len >= p->heads.len && memcmp(key.ptr, p->heads.ptr, p->heads.len) == 0;
    return !begins_so && str_compare(key, p->heads) > 0;
}

static void step_page(request *q) {
    type_put *p = q->state;
    if (!request_went_well(q)) return;
    bool more = q->op.record_count == PAGE;
    for (size_t i = 0; i < q->op.record_count; i++) {
        const uar_record *r = &q->op.records[i];
        q->value = arena_str(request_mem(q), r->id);
        if (q->value.ptr == NULL) {
            request_end(q, UAR_E_NOMEM, "out of memory");
            return;
        }
        more = more && !is_behind(p, r->id);
        if (!setting_pattern_matches(p->type.key, r->id)) continue;
        uar_status status = check(q, r);
        if (status == UAR_OK) continue;
        if (status != UAR_E_SCHEMA) {
            request_end(q, status, p->fault.code == status ? p->fault.message : uar_status_text(status));
            return;
        }
        p->misfit = q->value;
        look_for_narrower(q);
        return;
    }
    if (more)
        go_through(q);
    else
        all_fit(q);
}

/* The next page of settings, behind q->value. */
static void go_through(request *q) {
    q->step = step_page;
    request_list(q, UAR_RECORD_SETTING, q->owner, uar_str_n(NULL, 0), UAR_ORDER_KEY, 0, PAGE);
}

/* A page starts behind a key: for a pattern behind what all its keys begin with, for a key one place before it. */
static void begin_pass(request *q) {
    type_put *p = q->state;
    bool is_pattern = p->type.key.ptr[p->type.key.len - 1] == '*';
    p->heads = is_pattern ? uar_str_n(p->type.key.ptr, p->type.key.len - 1) : p->type.key;
    q->value = is_pattern ? p->heads : uar_str_n(p->type.key.ptr, p->type.key.len - 1);
    go_through(q);
}

/* ---- the commit ---- */

static void step_type_committed(request *q) {
    type_put *p = q->state;
    if (q->op.status == UAR_E_CONFLICT && p->keep.expected == UAR_ANY_REVISION && q->tries++ < TYPE_TRIES) {
        look(q);
        return;
    }
    if (!request_went_well(q)) return;
    p->committed = true;
    if (p->keep_unfit)
        read_back(q);
    else
        begin_pass(q);
}

static void commit(request *q) {
    type_put *p = q->state;
    uar_record record;
    uar_error fault = UAR_ERROR_INIT;
    memset(&record, 0, sizeof record);
    arena_dispose(&q->op.mem);
    uar_status status = setting_type_record(&record, &q->op.mem, q->owner, &p->type, &fault);
    uar_write *w = status == UAR_OK ? arena_zeroed(&q->op.mem, 1, sizeof *w) : NULL;
    if (status == UAR_OK && w == NULL) status = UAR_E_NOMEM;
    if (status != UAR_OK) {
        request_end(q, status, fault.code == status ? fault.message : uar_status_text(status));
        return;
    }
    *w = (uar_write){ .op = UAR_WRITE_PUT, .expected = p->before.revision, .record = record };
    w->record.created_ms = p->before.created_ms;
    q->step = step_type_committed;
    keep_commit(q, w, 1);
}

static void all_fit(request *q) {
    type_put *p = q->state;
    if (p->committed)
        read_back(q);
    else
        commit(q);
}

static void step_type_looked(request *q) {
    type_put *p = q->state;
    uar_record none = { .kind = UAR_RECORD_SETTING_TYPE, .owner = q->owner, .id = p->type.key };
    p->before = none;
    if (q->op.status == UAR_OK) {
        if (record_copy(&p->before, request_mem(q), q->op.records) != UAR_OK) {
            request_end(q, UAR_E_NOMEM, "out of memory");
            return;
        }
    } else if (q->op.status != UAR_E_NOT_FOUND) {
        (void)request_went_well(q);
        return;
    }
    if (p->keep.expected != UAR_ANY_REVISION && p->keep.expected != p->before.revision)
        request_end(q, UAR_E_CONFLICT, uar_status_text(UAR_E_CONFLICT));
    else if (p->keep_unfit)
        commit(q);
    else
        begin_pass(q);
}

static void look(request *q) {
    type_put *p = q->state;
    q->step = step_type_looked;
    request_get(q, UAR_RECORD_SETTING_TYPE, q->owner, p->type.key);
}

static uar_status check_fallback(const uar_allocator *a, const type_put *p, uar_error *err) {
    if (p->type.fallback.ptr == NULL) return UAR_OK;
    cJSON *tree = NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = json_read(&tree, a, p->type.fallback, SCHEMA_MAX, err);
    if (status != UAR_OK) return status;
    status = schema_check(p->schema, tree, &fault);
    json_free(a, tree);
    if (status == UAR_OK) return UAR_OK;
    return error_set(err, status == UAR_E_SCHEMA ? UAR_E_INVALID : status, "the fallback doesn't fit its schema: %s",
                     fault.message);
}

static void step_type_put(request *q) {
    type_put *p = q->state;
    uar_error fault = UAR_ERROR_INIT;
    const uar_allocator *a = &q->rt->env.alloc;
    uar_status status = schema_compile_text(&p->schema, a, p->type.schema, SCHEMA_MAX, &fault);
    if (status == UAR_OK) status = check_fallback(a, p, &fault);
    if (status != UAR_OK)
        request_end(q, status, fault.message);
    else
        look(q);
}

/* ---- the calls ---- */

static request *type_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner, const char *key,
                             uint64_t revision, uar_error *err) {
    request *q = keep_request(rt, waits, &types, step, owner, err);
    if (q == NULL || !request_id(&q, &q->id, key, "setting type", err)) return NULL;
    keeping_of(q)->key = q->id;
    keeping_of(q)->expected = revision;
    return q;
}

static request *type_put_request(uar_runtime *rt, bool waits, const char *owner, const uar_setting_type *type,
                                 bool keep_unfit, uar_error *err) {
    if (type == NULL) return error_set(err, UAR_E_INVALID, "the setting type is NULL"), NULL;
    request *q = keep_request(rt, waits, &types, step_type_put, owner, err);
    if (q == NULL) return NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = host_id_check(type->key, "setting type", &fault);
    if (status == UAR_OK && !setting_pattern_is_valid(type->key))
        status = error_set(&fault, UAR_E_INVALID, "a setting type is for a key, for \"*\", or for a prefix and \".*\"");
    if (status != UAR_OK) return request_refuse(q, status, fault.message, err), NULL;
    type_put *p = arena_zeroed(request_mem(q), 1, sizeof *p);
    if (p == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    p->keep = *keeping_of(q);
    p->keep.expected = type->revision;
    p->keep_unfit = keep_unfit;
    q->state = p;
    q->dispose = free_schema;
    bool good = request_text(&q, &p->type.key, type->key, err) &&
                request_text(&q, &p->type.schema, type->schema, err) &&
                request_text(&q, &p->type.fallback, type->fallback, err) &&
                request_text(&q, &p->type.description, type->description, err);
    if (good) p->keep.key = p->type.key;
    return good ? q : NULL;
}

static bool is_type_key(const request *q, uar_str cursor) {
    (void)q;
    return host_id_check(cursor, "cursor", NULL) == UAR_OK;
}

static request *type_list(uar_runtime *rt, bool waits, const char *owner, uar_str cursor, size_t limit,
                          uar_error *err) {
    request *q = keep_request(rt, waits, &types, keep_list, owner, err);
    bool good = q != NULL && request_cursor(&q, cursor, is_type_key, err) && request_limit(&q, limit, err);
    return good ? q : NULL;
}

uar_status uar_setting_type_put(uar_runtime *rt, const char *owner, const uar_setting_type *type, bool keep_unfit,
                                uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(type_put_request(rt, false, owner, type, keep_unfit, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_type_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_setting_type *type,
                                     bool keep_unfit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(type_put_request(rt, true, owner, type, keep_unfit, &fault), &fault, out, err);
}

uar_status uar_setting_type_load(uar_runtime *rt, const char *owner, const char *key, uar_reply_fn done, void *ctx,
                                 uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(type_request(rt, false, keep_load, owner, key, 0, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_type_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                      uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(type_request(rt, true, keep_load, owner, key, 0, &fault), &fault, out, err);
}

uar_status uar_setting_type_list(uar_runtime *rt, const char *owner, uar_str cursor, size_t limit, uar_reply_fn done,
                                 void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(type_list(rt, false, owner, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_type_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_str cursor, size_t limit,
                                      uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(type_list(rt, true, owner, cursor, limit, &fault), &fault, out, err);
}

uar_status uar_setting_type_delete(uar_runtime *rt, const char *owner, const char *key, uint64_t revision,
                                   uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(type_request(rt, false, keep_delete, owner, key, revision, &fault), &fault, done, ctx, err);
}

uar_status uar_setting_type_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                        uint64_t revision, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(type_request(rt, true, keep_delete, owner, key, revision, &fault), &fault, out, err);
}
