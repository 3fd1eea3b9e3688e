/* Owns: changing and deleting records. Invariant: a change and what it keeps of the past are one transaction; a deletion
 * takes rows, index entries and counts together. */
#include <assert.h>

#include "base/str.h"
#include "memory/erase.h"
#include "memory/filter.h"
#include "memory/shelf.h"
#include "memory/write.h"

static uar_status find_record(version *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_VERSION_BY_ID);
    caller_bind(&q, c);
    query_uuid(&q, 18, id);
    return version_first(out, &q, ar, err);
}

static uar_status apply_content(version *next, const uar_memory_patch *p, arena *ar, const uar_memory *m,
                                uar_error *err) {
    if (p->content.ptr == NULL) return UAR_OK;
    next->r.content = p->content;
    return content_index(next, ar, m->database.key, err);
}

/* All that can be wrong with a patch, before the store is asked. */
static uar_status check_patch(const uar_memory_patch *p, uar_memory_record *scratch, arena *ar, uar_error *err) {
    uar_status status = UAR_OK;
    if (p->content.ptr != NULL) status = content_check(p->content, "content", MEMORY_TEXT_MAX, err);
    if (status == UAR_OK && p->type != 0 && uar_memory_type_name(p->type) == NULL)
        status = error_set(err, UAR_E_INVALID, "there is no such memory type");
    if (status == UAR_OK && p->trust != 0 && uar_memory_trust_name(p->trust) == NULL)
        status = error_set(err, UAR_E_INVALID, "there is no such trust tier");
    if (status == UAR_OK && !(p->importance < 0)) status = content_importance(p->importance, err);
    if (status == UAR_OK && p->set_categories)
        status = content_labels(scratch, ar, p->categories, p->category_count, err);
    if (status == UAR_OK && p->metadata.ptr != NULL)
        status = content_metadata(&scratch->metadata, ar, p->metadata, err);
    return status;
}

static bool differs(const version *a, const version *b) {
    const uar_memory_record *x = &a->r;
    const uar_memory_record *y = &b->r;
    if (!uar_str_equal(x->content, y->content) || x->type != y->type || x->trust != y->trust ||
        x->importance < y->importance || x->importance > y->importance || x->valid_until_ms != y->valid_until_ms ||
        !uar_str_equal(x->metadata, y->metadata) || x->category_count != y->category_count)
        return true;
    for (size_t i = 0; i < x->category_count; i++)
        if (!uar_str_equal(x->categories[i], y->categories[i])) return true;
    return false;
}

static uar_status apply_patch(version *next, const uar_memory_patch *p, const uar_memory_record *checked, arena *ar,
                              const uar_memory *m, uar_error *err) {
    uar_memory_record *r = &next->r;
    uar_memory_trust trust = p->trust != 0 ? p->trust : UAR_MEMORY_TRUST_USER;
    if (p->type != 0) r->type = p->type;
    if (trust > r->trust) r->trust = trust;
    if (!(p->importance < 0)) r->importance = p->importance;
    if (p->valid_until_ms != 0) r->valid_until_ms = p->valid_until_ms;
    if (p->set_categories) {
        r->categories = checked->categories;
        r->category_count = checked->category_count;
    }
    if (p->metadata.ptr != NULL) r->metadata = checked->metadata;
    return apply_content(next, p, ar, m, err);
}

static uar_status update(uar_memory_change *out, uar_memory *m, const caller *c, uar_uuid id, const uar_memory_patch *p,
                         const uar_memory_record *checked, arena *ar, uar_error *err) {
    version old;
    uar_status status = find_record(&old, &m->database, c, id, ar, err);
    if (status == UAR_OK) status = caller_may_write(c, old.r.scope, err);
    if (status != UAR_OK) return status;
    if (p->expected != 0 && p->expected != old.r.revision)
        return error_set(err, UAR_E_CONFLICT, "the record is at revision %llu, not %llu",
                         (unsigned long long)old.r.revision, (unsigned long long)p->expected);
    if (!uar_uuid_is_none(old.r.superseded_by))
        return error_set(err, UAR_E_CONFLICT, "the record was superseded and is history now");
    version next = old;
    status = apply_patch(&next, p, checked, ar, m, err);
    if (status != UAR_OK) return status;
    *out = (uar_memory_change){ .id = id, .outcome = UAR_MEMORY_OUTCOME_UPDATED, .revision = old.r.revision };
    if (!differs(&old, &next)) return UAR_OK;
    int64_t now = clock_wall(&m->clock);
    bool new_text = !uar_str_equal(old.r.content, next.r.content);
    next.r.updated_ms = now;
    next.r.embedder = uar_str_of(m->embedder_id);
    if (new_text && now > old.r.valid_from_ms) next.r.valid_from_ms = now;
    if (next.r.valid_until_ms < next.r.valid_from_ms) next.r.valid_until_ms = next.r.valid_from_ms;
    out->revision++;
    return version_replace(m, &old, &next, new_text ? now : old.r.valid_from_ms, err);
}

uar_status uar_memory_update_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                  const uar_memory_patch *patch, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    if (patch == NULL) return error_set(err, UAR_E_INVALID, "there is no patch");
    caller c;
    uar_memory_patch p;
    status = caller_init(&c, who, err);
    if (status == UAR_OK) status = struct_in(&p, sizeof p, patch, "uar_memory_patch", err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    uar_memory_record checked;
    memset(&checked, 0, sizeof checked);
    status = check_patch(&p, &checked, &ar, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status == UAR_OK) {
        uar_memory_change change;
        status = update(&change, memory, &c, id, &p, &checked, &ar, err);
        status = memory_leave_write(memory, status, err);
        if (status == UAR_OK) *out = change;
    }
    arena_dispose(&ar);
    return status;
}

static uar_status run_with_id(database *db, sql_id sql, uar_uuid id, uar_error *err) {
    query q;
    query_begin(&q, db, sql);
    query_uuid(&q, 18, id);
    return query_run(&q, err);
}

static uar_status delete_version(uar_memory *m, int64_t num, arena *ar, uar_error *err) {
    database *db = &m->database;
    version v;
    uar_status status = version_load(&v, db, num, ar, err);
    if (status == UAR_OK) status = shelf_drop(m, &v, err);
    if (status == UAR_OK) status = erase_note(db, v.mark, err);
    if (status == UAR_OK) status = run_with_id(db, SQL_USAGE_DROP, v.r.id, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, db, SQL_VERSION_DELETE);
    query_int(&q, 18, num);
    status = query_run(&q, err);
    if (status != UAR_OK) return status;
    query_begin(&q, db, SQL_TOMBSTONE_ADD);
    query_uuid(&q, 18, v.r.id);
    query_int(&q, 19, v.seg);
    query_int(&q, 20, clock_wall(&m->clock));
    return query_run(&q, err);
}

/* Numbers of rows, collected before rows change under the statement that finds them. */
typedef struct num_list {
    int64_t *nums;
    size_t count, cap;
} num_list;

static uar_status collect(num_list *list, query *q, const uar_allocator *a) {
    while (query_next(q)) {
        if (list->count == list->cap) {
            size_t cap = list->cap != 0 ? list->cap * 2 : 64;
            int64_t *nums = (int64_t *)alloc_resize(a, list->nums, cap * sizeof *nums);
            if (nums == NULL) return UAR_E_NOMEM;
            list->nums = nums;
            list->cap = cap;
        }
        list->nums[list->count++] = query_get_int(q, 0);
    }
    return UAR_OK;
}

/* The record, its versions, and the records that gave way to it: their text is its history. */
static uar_status delete_chain(uar_memory *m, uar_uuid id, int64_t seg, uar_error *err) {
    num_list list = { NULL, 0, 0 };
    query q;
    query_begin(&q, &m->database, SQL_VERSION_CHAIN);
    query_uuid(&q, 18, id);
    query_int(&q, 19, seg);
    uar_status status = collect(&list, &q, &m->alloc);
    uar_status end = query_end(&q, err);
    if (status == UAR_OK)
        status = end;
    else
        error_plain(err, status);
    arena ar;
    arena_init(&ar, &m->alloc);
    for (size_t i = 0; status == UAR_OK && i < list.count; i++) {
        status = delete_version(m, list.nums[i], &ar, err);
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    alloc_free(&m->alloc, list.nums);
    return status;
}

static uar_status delete_one(uar_memory *m, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    version v;
    uar_status status = find_record(&v, &m->database, c, id, ar, err);
    if (status == UAR_OK) status = caller_may_write(c, v.r.scope, err);
    return status == UAR_OK ? delete_chain(m, id, v.seg, err) : status;
}

/* After the commit. What can't be cleaned now is pending, not an error: the records are gone from every answer. */
static bool clean(uar_memory *m) {
    uint64_t pending = 0;
    uar_status status = memory_enter(m, NULL);
    if (status != UAR_OK) return false;
    status = erase_pending(m, &pending, NULL);
    memory_leave(m);
    return status == UAR_OK && pending == 0;
}

uar_status uar_memory_delete_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                  uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    caller c;
    status = caller_init(&c, who, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    status = delete_one(memory, &c, id, &ar, err);
    status = memory_leave_write(memory, status, err);
    arena_dispose(&ar);
    if (status != UAR_OK) return status;
    bool is_clean = clean(memory);
    *out = (uar_memory_change){
        .id = id,
        .outcome = is_clean ? UAR_MEMORY_OUTCOME_ERASED : UAR_MEMORY_OUTCOME_ERASURE_PENDING,
    };
    return UAR_OK;
}

/* One match of a bulk delete. Its row may have gone with the record that superseded it. */
static uar_status delete_match(uar_memory_erasure *sum, uar_memory *m, const caller *c, const filter *f, int64_t num,
                               arena *ar, uar_error *err) {
    version v;
    uar_status status = version_load(&v, &m->database, num, ar, NULL);
    if (status == UAR_E_NOT_FOUND) {
        sum->erased++;
        return UAR_OK;
    }
    if (status != UAR_OK) return error_plain(err, status);
    bool matches = false;
    status = filter_matches(&matches, f, &v.r);
    if (status != UAR_OK) return error_plain(err, status);
    if (!matches) return UAR_OK;
    if (caller_may_write(c, v.r.scope, NULL) != UAR_OK) {
        sum->forbidden++;
        return UAR_OK;
    }
    status = delete_chain(m, v.r.id, v.seg, err);
    if (status == UAR_OK) sum->erased++;
    return status;
}

static uar_status delete_matches(uar_memory_erasure *sum, uar_memory *m, const caller *c, const filter *f,
                                 uar_error *err) {
    num_list list = { NULL, 0, 0 };
    query q;
    query_begin(&q, &m->database, SQL_LIST_DOWN);
    caller_bind(&q, c);
    filter_bind(&q, f);
    query_int(&q, 18, INT64_MAX);
    uar_status status = collect(&list, &q, &m->alloc);
    uar_status end = query_end(&q, err);
    if (status == UAR_OK)
        status = end;
    else
        error_plain(err, status);
    arena ar;
    arena_init(&ar, &m->alloc);
    for (size_t i = 0; status == UAR_OK && i < list.count; i++) {
        status = delete_match(sum, m, c, f, list.nums[i], &ar, err);
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    alloc_free(&m->alloc, list.nums);
    return status;
}

uar_status uar_memory_delete_where_sync(uar_memory_erasure *out, uar_memory *memory, const uar_identity *who,
                                        const uar_memory_filter *given, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    caller c;
    filter f;
    status = caller_init(&c, who, err);
    if (status == UAR_OK) status = filter_init(&f, given, clock_wall(&memory->clock), &memory->alloc, err);
    if (status != UAR_OK) return status;
    if (!filter_has_condition(&f))
        status = error_plain(err, UAR_E_FILTER_REQUIRED);
    else if (f.mode == FILTER_AS_OF)
        status = error_set(err, UAR_E_INVALID, "a bulk delete can't be made as of a time");
    f.mode = FILTER_CURRENT;
    uar_memory_erasure sum = { 0, 0, 0 };
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status == UAR_OK) {
        status = delete_matches(&sum, memory, &c, &f, err);
        status = memory_leave_write(memory, status, err);
    }
    filter_dispose(&f);
    if (status != UAR_OK) return status;
    if (sum.erased != 0 && !clean(memory)) {
        sum.pending = sum.erased;
        sum.erased = 0;
    }
    *out = sum;
    return UAR_OK;
}
