/* Owns: the keyed numbers of names, the index entries of the graph, and the checks of its texts. Invariant: of a text only
 * keyed numbers get into other tables than its row's. */
#include "memory/graph.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "index/fold.h"
#include "memory/content.h"
#include "store/record.h"

#define TEXT_MAX (SIZE_MAX / 4)
#define KEY_SEPARATOR '\x1F'

uar_status graph_digest(int64_t *out, const uar_memory *m, uar_str text, uar_error *err) {
    buffer folded_text;
    buffer_init(&folded_text, &m->alloc, TEXT_MAX);
    uar_status status = fold_append(&folded_text, text);
    if (status == UAR_OK) *out = (int64_t)term_hash(m->database.key, buffer_str(&folded_text));
    buffer_dispose(&folded_text);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status put_name(uar_memory *m, const entity *e, uar_str name, bool is_primary, uar_error *err) {
    int64_t digest = 0;
    uar_status status = graph_digest(&digest, m, name, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_NAME_ADD);
    query_int(&q, 18, e->row.seg);
    query_int(&q, 19, digest);
    query_int(&q, 20, e->row.num);
    query_int(&q, 21, e->kind_digest);
    query_int(&q, 22, is_primary ? 1 : 0);
    return query_run(&q, err);
}

uar_status graph_names_put(uar_memory *m, const entity *e, uar_error *err) {
    uar_status status = graph_run(&m->database, SQL_GRAPH_NAME_DROP, e->row.num, 0, err);
    if (status == UAR_OK) status = put_name(m, e, e->e.name, true, err);
    for (size_t i = 0; i < e->e.alias_count && status == UAR_OK; i++)
        status = put_name(m, e, e->e.aliases[i], false, err);
    return status;
}

static uar_status check_name(uar_memory *m, const entity *e, uar_str name, bool is_primary, uar_error *err) {
    int64_t digest = 0;
    uar_status status = graph_digest(&digest, m, name, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_NAME_HAS);
    query_int(&q, 18, e->row.seg);
    query_int(&q, 19, digest);
    query_int(&q, 20, e->row.num);
    query_int(&q, 21, e->kind_digest);
    bool is_there = query_next(&q) && (query_get_int(&q, 0) == 1) == is_primary;
    status = query_end(&q, err);
    if (status == UAR_OK && !is_there) return error_set(err, UAR_E_CORRUPT, "a graph entity misses one of its names");
    return status;
}

uar_status graph_names_check(uar_memory *m, const entity *e, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_NAME_COUNT);
    query_int(&q, 18, e->row.num);
    int64_t count = 0;
    uar_status status = query_number(&q, &count, err);
    if (status == UAR_OK && count != (int64_t)e->e.alias_count + 1)
        return error_set(err, UAR_E_CORRUPT, "a graph entity has %lld names in the index, not %zu", (long long)count,
                         e->e.alias_count + 1);
    if (status == UAR_OK) status = check_name(m, e, e->e.name, true, err);
    for (size_t i = 0; i < e->e.alias_count && status == UAR_OK; i++)
        status = check_name(m, e, e->e.aliases[i], false, err);
    return status;
}

uar_status graph_entity_text(buffer *out, const uar_memory_entity *e) {
    buffer_append_str(out, e->name);
    for (size_t i = 0; i < e->alias_count; i++) {
        buffer_append_char(out, '\n');
        buffer_append_str(out, e->aliases[i]);
    }
    buffer_append_char(out, '\n');
    buffer_append_str(out, e->kind);
    return out->status;
}

uar_status graph_terms(uar_str *terms, uint32_t *length, const uar_memory *m, uar_str text, arena *ar, uar_error *err) {
    term_list list;
    term_list_init(&list, &m->alloc);
    uar_status status = term_list_passage(&list, m->database.key, text);
    uint8_t *packed = status == UAR_OK ? (uint8_t *)arena_alloc(ar, list.count * TERM_PACKED + 1) : NULL;
    if (status == UAR_OK && packed == NULL) status = UAR_E_NOMEM;
    if (status == UAR_OK) {
        term_list_pack(&list, packed);
        *terms = uar_str_n((const char *)packed, list.count * TERM_PACKED);
        *length = list.count == 0 ? 0 : list.length != 0 ? list.length : 1;
    }
    term_list_dispose(&list);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

graph_document entity_document(const entity *e) {
    return (graph_document){ e->row.seg, e->row.num, 0, e->terms, e->length };
}

graph_document observation_document(const observation *o) {
    return (graph_document){ o->row.seg, o->entity, o->row.num, o->terms, o->length };
}

static uar_status count_document(database *db, const graph_document *d, int sign, uar_error *err) {
    if (d->length == 0) return UAR_OK;
    query q;
    query_begin(&q, db, SQL_GRAPH_SEGMENT_COUNT);
    query_int(&q, 18, d->seg);
    query_int(&q, 19, sign);
    query_int(&q, 20, sign * (int64_t)d->length);
    return query_run(&q, err);
}

static void begin_posting(query *q, database *db, sql_id sql, const graph_document *d, int64_t term_id) {
    query_begin(q, db, sql);
    query_int(q, 18, d->seg);
    query_int(q, 19, term_id);
    query_int(q, 20, d->entity);
    query_int(q, 21, d->document);
}

uar_status graph_postings_add(database *db, const graph_document *d, uar_error *err) {
    assert(d->terms.len % TERM_PACKED == 0);
    for (size_t at = 0; at < d->terms.len; at += TERM_PACKED) {
        term t = term_unpack((const uint8_t *)d->terms.ptr + at);
        query q;
        begin_posting(&q, db, SQL_GRAPH_POSTING_ADD, d, (int64_t)t.id);
        query_int(&q, 22, (int64_t)t.count);
        query_int(&q, 23, (int64_t)d->length);
        uar_status status = query_run(&q, err);
        if (status != UAR_OK) return status;
    }
    return count_document(db, d, 1, err);
}

uar_status graph_postings_drop(database *db, const graph_document *d, uar_error *err) {
    for (size_t at = 0; at + TERM_PACKED <= d->terms.len; at += TERM_PACKED) {
        term t = term_unpack((const uint8_t *)d->terms.ptr + at);
        query q;
        begin_posting(&q, db, SQL_GRAPH_POSTING_DROP, d, (int64_t)t.id);
        uar_status status = query_run(&q, err);
        if (status != UAR_OK) return status;
    }
    return count_document(db, d, -1, err);
}

uar_status graph_target_of(graph_target *out, const caller *c, const uar_memory_place *given, uar_memory_scope fallback,
                           uar_error *err) {
    memset(out, 0, sizeof *out);
    uar_memory_place *p = &out->place;
    p->scope = given->scope != 0 ? given->scope : fallback;
    p->owner = c->id.owner;
    if (uar_memory_scope_name(p->scope) == NULL) return error_set(err, UAR_E_INVALID, "there is no such scope");
    if (given->owner.ptr != NULL && !uar_str_equal(given->owner, c->id.owner))
        return error_set(err, UAR_E_FORBIDDEN, "this identity may not write memory of another owner");
    uar_status status = UAR_OK;
    if (!scope_is_shared(p->scope)) status = caller_place_id(&p->user, given->user, c->id.user, c, "user", err);
    if (status == UAR_OK && p->scope == UAR_MEMORY_SCOPE_AGENT)
        status = caller_place_id(&p->agent, given->agent, c->id.agent, c, "agent", err);
    if (status == UAR_OK && p->scope == UAR_MEMORY_SCOPE_SESSION)
        status = caller_place_id(&p->session, given->session, c->id.session, c, "session", err);
    if (status == UAR_OK && p->scope == UAR_MEMORY_SCOPE_TASK)
        status = caller_place_id(&p->task, given->task, c->id.task, c, "task", err);
    if (status == UAR_OK) status = caller_may_write(c, p->scope, err);
    if (status != UAR_OK) return status;
    place where = { p->scope, p->owner, p->user, p->agent, p->session, p->task };
    segment_key_of(&out->key, &where);
    return out->key.len != 0 ? UAR_OK : caller_lacks_id("memory", p->scope, err);
}

/* The next id of a key, without its separator. Absent at the end. */
static uar_str take_id(uar_str *rest) {
    if (rest->len == 0) return uar_str_n(NULL, 0);
    const char *end = (const char *)memchr(rest->ptr + 1, KEY_SEPARATOR, rest->len - 1);
    size_t len = end != NULL ? (size_t)(end - rest->ptr) : rest->len;
    uar_str id = uar_str_n(rest->ptr + 1, len - 1);
    rest->ptr += len;
    rest->len -= len;
    return id;
}

uar_status graph_place_read(uar_memory_place *out, arena *ar, uar_str key) {
    memset(out, 0, sizeof *out);
    uar_str copy = arena_str(ar, key);
    if (key.ptr != NULL && copy.ptr == NULL) return UAR_E_NOMEM;
    if (copy.len < 2 || copy.ptr[0] < '1' || copy.ptr[0] > '5') return UAR_E_CORRUPT;
    out->scope = (uar_memory_scope)(copy.ptr[0] - '0');
    uar_str rest = uar_str_n(copy.ptr + 1, copy.len - 1);
    out->owner = take_id(&rest);
    uar_str first = take_id(&rest);
    uar_str second = take_id(&rest);
    switch (out->scope) {
    case UAR_MEMORY_SCOPE_GLOBAL: break;
    case UAR_MEMORY_SCOPE_AGENT: out->agent = first; break;
    case UAR_MEMORY_SCOPE_USER: out->user = first; break;
    case UAR_MEMORY_SCOPE_SESSION: out->user = first, out->session = second; break;
    case UAR_MEMORY_SCOPE_TASK: out->user = first, out->task = second; break;
    }
    return UAR_OK;
}

/* Names stand in one line wherever they are shown: no control characters. */
static bool has_control(uar_str text) {
    for (size_t at = 0; at < text.len;) {
        utf8_item item = utf8_decode(text.ptr + at, text.len - at);
        if (item.code_point < 0x20 || (item.code_point >= 0x7F && item.code_point < 0xA0)) return true;
        at += item.len;
    }
    return false;
}

uar_status graph_name_check(uar_str name, const char *what, uar_error *err) {
    uar_status status = content_check(name, what, GRAPH_NAME_MAX, err);
    if (status == UAR_OK && has_control(name))
        return error_set(err, UAR_E_INVALID, "the %s holds a control character", what);
    return status;
}

uar_status graph_kind_check(uar_str kind, uar_error *err) {
    return kind.len == 0 ? UAR_OK : graph_name_check(kind, "kind", err);
}

uar_status graph_trust_check(uar_memory_trust *trust, uar_error *err) {
    if (*trust == 0) *trust = UAR_MEMORY_TRUST_USER;
    if (uar_memory_trust_name(*trust) != NULL) return UAR_OK;
    return error_set(err, UAR_E_INVALID, "there is no such trust tier");
}

uar_status graph_times_check(int64_t *from, int64_t *until, int64_t now, uar_error *err) {
    if (*from == 0) *from = now;
    if (*until == 0) *until = UAR_MEMORY_OPEN_END;
    if (*from == INT64_MIN) return memory_no_time(err);
    if (*until >= *from) return UAR_OK;
    return error_set(err, UAR_E_INVALID, "it would end before it begins");
}

uar_status graph_provenance_check(const uar_memory_provenance *p, uar_error *err) {
    if (p->event > INT64_MAX) return error_set(err, UAR_E_INVALID, "there is no such event of the provenance");
    return p->session.ptr != NULL ? host_id_check(p->session, "session of the provenance", err) : UAR_OK;
}

uar_status graph_properties_merge(uar_str *out, arena *ar, uar_str have, uar_str more, uar_error *err) {
    uar_str merged = { NULL, 0 };
    uar_status status = content_merge_metadata(&merged, ar, have, more, err);
    if (status != UAR_OK) return status == UAR_E_NOMEM ? error_plain(err, status) : status;
    if (merged.len > GRAPH_PROPERTIES_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "the properties would have %zu bytes, at most %zu are allowed",
                         merged.len, GRAPH_PROPERTIES_MAX);
    *out = merged;
    return UAR_OK;
}

uar_status graph_filter_init(graph_filter *f, const uar_memory *m, const uar_memory_graph_filter *given,
                             uar_error *err) {
    memset(f, 0, sizeof *f);
    uar_memory_graph_filter_init(&f->given);
    uar_status status = UAR_OK;
    if (given != NULL) status = struct_in(&f->given, sizeof f->given, given, "uar_memory_graph_filter", err);
    if (status != UAR_OK) return status;
    const uar_memory_graph_filter *g = &f->given;
    if (g->direction > UAR_MEMORY_DIRECTION_IN) return error_set(err, UAR_E_INVALID, "there is no such direction");
    if ((g->scopes & ~0x3Eu) != 0) return error_set(err, UAR_E_INVALID, "the filter names a scope that doesn't exist");
    f->has_kind = g->kind.ptr != NULL;
    f->has_type = g->type.ptr != NULL;
    f->time = g->as_of_ms != 0 ? g->as_of_ms : clock_wall(&m->clock);
    if (f->has_kind) status = graph_kind_check(g->kind, err);
    if (status == UAR_OK && f->has_kind) status = graph_digest(&f->kind, m, g->kind, err);
    if (status == UAR_OK && f->has_type) status = graph_name_check(g->type, "type", err);
    if (status == UAR_OK && f->has_type) status = graph_digest(&f->type, m, g->type, err);
    return status;
}

void graph_filter_bind(query *q, const graph_filter *f) {
    const int64_t values[6] = { f->kind, (int64_t)f->given.scopes,   f->given.include_past ? 1 : 0, f->time,
                                f->type, (int64_t)f->given.direction };
    const bool present[6] = { f->has_kind, true, true, true, f->has_type, true };
    for (int i = 0; i < 6; i++)
        if (present[i]) query_int(q, 8 + i, values[i]);
}

uar_status graph_nums_collect(graph_nums *list, query *q, const uar_allocator *a, uar_error *err) {
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(q)) {
        if (list->count == list->cap) {
            size_t cap = list->cap != 0 ? list->cap * 2 : 64;
            int64_t *nums = (int64_t *)alloc_resize(a, list->nums, cap * sizeof *nums);
            if (nums == NULL) {
                status = UAR_E_NOMEM;
                break;
            }
            list->nums = nums;
            list->cap = cap;
        }
        list->nums[list->count++] = query_get_int(q, 0);
    }
    uar_status end = query_end(q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : error_plain(err, status);
}

void graph_nums_dispose(graph_nums *list, const uar_allocator *a) {
    alloc_free(a, list->nums);
    *list = (graph_nums){ NULL, 0, 0 };
}
