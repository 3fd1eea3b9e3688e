/* Owns: the check of identities and the keys of segments. Invariant: two places have the same key only if owner, scope and
 * every id of the scope are equal; ids hold no control characters, so the separator is safe. */
#include "memory/caller.h"

#include <assert.h>

#include "base/str.h"
#include "memory/service.h"
#include "store/record.h"

#define SEPARATOR '\x1F'

static void key_append(segment_key *key, uar_str id) {
    assert(key->len + id.len + 1 <= SEGMENT_KEY_MAX);
    key->bytes[key->len++] = SEPARATOR;
    if (id.len != 0) memcpy(key->bytes + key->len, id.ptr, id.len);
    key->len += id.len;
}

void segment_key_of(segment_key *out, const place *p) {
    uar_str ids[2] = { { NULL, 0 }, { NULL, 0 } };
    size_t count = 0;
    switch (p->scope) {
    case UAR_MEMORY_SCOPE_GLOBAL: break;
    case UAR_MEMORY_SCOPE_AGENT: ids[count++] = p->agent; break;
    case UAR_MEMORY_SCOPE_USER: ids[count++] = p->user; break;
    case UAR_MEMORY_SCOPE_SESSION: ids[count++] = p->user, ids[count++] = p->session; break;
    case UAR_MEMORY_SCOPE_TASK: ids[count++] = p->user, ids[count++] = p->task; break;
    }
    out->len = 0;
    for (size_t i = 0; i < count; i++)
        if (str_is_empty(ids[i])) return;
    out->bytes[out->len++] = (char)('0' + (int)p->scope);
    key_append(out, p->owner);
    for (size_t i = 0; i < count; i++)
        key_append(out, ids[i]);
}

static uar_status check_id(uar_str id, const char *what, uar_error *err) {
    return id.ptr != NULL ? host_id_check(id, what, err) : UAR_OK;
}

static uar_status check_ids(const uar_identity *id, uar_error *err) {
    uar_status status = host_id_check(id->owner, "owner", err);
    if (status == UAR_OK) status = check_id(id->user, "user", err);
    if (status == UAR_OK) status = check_id(id->agent, "agent", err);
    if (status == UAR_OK) status = check_id(id->session, "session", err);
    if (status == UAR_OK) status = check_id(id->task, "task", err);
    return status;
}

static uar_status caller_init(caller *c, const uar_identity *who, uar_error *err) {
    if (who == NULL) return error_set(err, UAR_E_INVALID, "there is no identity");
    uar_status status = struct_in(&c->id, sizeof c->id, who, "uar_identity", err);
    if (status != UAR_OK) return status;
    if (c->id.owner.ptr == NULL) c->id.owner = STR("local");
    if ((c->id.flags & ~(UAR_IDENTITY_WRITE_SHARED | UAR_IDENTITY_OPERATOR)) != 0)
        return error_set(err, UAR_E_INVALID, "the identity has unknown flags");
    status = check_ids(&c->id, err);
    if (status != UAR_OK) return status;
    c->is_operator = (c->id.flags & UAR_IDENTITY_OPERATOR) != 0;
    c->writes_shared = (c->id.flags & UAR_IDENTITY_WRITE_SHARED) != 0;
    for (int i = 0; i < SEGMENTS_OF_CALLER; i++) {
        place p = { (uar_memory_scope)(i + 1), c->id.owner, c->id.user, c->id.agent, c->id.session, c->id.task };
        segment_key_of(&c->keys[i], &p);
    }
    return UAR_OK;
}

uar_status caller_begin(caller *c, const uar_memory *memory, const uar_identity *who, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    return status == UAR_OK ? caller_init(c, who, err) : status;
}

void caller_bind(query *q, const caller *c) {
    query_int(q, 1, c->is_operator ? 1 : 0);
    query_text(q, 2, c->id.owner);
    for (int i = 0; i < SEGMENTS_OF_CALLER; i++) {
        if (c->keys[i].len != 0)
            query_blob(q, 3 + i, c->keys[i].bytes, c->keys[i].len);
        else
            query_null(q, 3 + i);
    }
}

bool scope_is_shared(uar_memory_scope scope) {
    return scope == UAR_MEMORY_SCOPE_GLOBAL || scope == UAR_MEMORY_SCOPE_AGENT;
}

uar_status caller_place_id(uar_str *out, uar_str given, uar_str own, const caller *c, const char *what,
                           uar_error *err) {
    if (given.ptr == NULL) {
        *out = own;
        return UAR_OK;
    }
    uar_status status = host_id_check(given, what, err);
    if (status != UAR_OK) return status;
    if (!c->is_operator && !uar_str_equal(given, own))
        return error_set(err, UAR_E_FORBIDDEN, "this identity may not write memory of another %s", what);
    *out = given;
    return UAR_OK;
}

uar_status caller_lacks_id(const char *what, uar_memory_scope scope, uar_error *err) {
    const char *ids = scope == UAR_MEMORY_SCOPE_AGENT     ? "an agent"
                      : scope == UAR_MEMORY_SCOPE_SESSION ? "a user and a session"
                      : scope == UAR_MEMORY_SCOPE_TASK    ? "a user and a task"
                                                          : "a user";
    return error_set(err, UAR_E_INVALID, "%s of %s scope needs an identity with %s", what, uar_memory_scope_name(scope),
                     ids);
}

uar_status caller_may_write(const caller *c, uar_memory_scope scope, uar_error *err) {
    if (!scope_is_shared(scope) || c->writes_shared) return UAR_OK;
    return error_set(err, UAR_E_FORBIDDEN, "this identity may not write memory of %s scope",
                     uar_memory_scope_name(scope));
}

uar_status segment_number_find(int64_t *out, database *db, const segment_key *key, uar_error *err) {
    assert(key->len != 0);
    query q;
    query_begin(&q, db, SQL_SEGMENT_FIND);
    query_blob(&q, 18, key->bytes, key->len);
    return query_number(&q, out, err);
}

uar_status segment_number_make(int64_t *out, database *db, const segment_key *key, uar_str owner, uar_error *err) {
    int64_t found = 0;
    uar_status status = segment_number_find(&found, db, key, err);
    if (status == UAR_OK && found == 0) {
        query q;
        query_begin(&q, db, SQL_SEGMENT_ADD);
        query_blob(&q, 18, key->bytes, key->len);
        query_text(&q, 19, owner);
        status = query_run(&q, err);
        found = sqlite3_last_insert_rowid(db->handle);
    }
    if (status == UAR_OK) *out = found;
    return status;
}
