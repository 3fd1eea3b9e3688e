/* Owns: deleting records. Invariant: a deletion takes rows, index entries and counts together; its bytes are waited for behind
 * the commit, and what can't go now stays noted. */
#include "base/str.h"
#include "memory/erase.h"
#include "memory/filter.h"
#include "memory/shelf.h"
#include "memory/write.h"

uar_status record_find(version *out, uar_memory *m, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_VERSION_BY_ID);
    caller_bind(&q, c);
    query_uuid(&q, 18, id);
    query_int(&q, 19, clock_wall(&m->clock));
    return version_first(out, &q, ar, err);
}

static uar_status run_with_id(database *db, sql_id sql, uar_uuid id, uar_error *err) {
    query q;
    query_begin(&q, db, sql);
    query_uuid(&q, 18, id);
    return query_run(&q, err);
}

static uar_status erase_version(uar_memory *m, int64_t num, arena *ar, uar_error *err) {
    database *db = &m->database;
    version v;
    uar_status status = version_load(&v, db, num, ar, err);
    if (status == UAR_OK) status = shelf_drop(m, &v, err);
    if (status == UAR_OK) status = erase_note(db, v.mark, err);
    if (status == UAR_OK) status = run_with_id(db, SQL_USAGE_DROP, v.r.id, err);
    if (status == UAR_OK) status = run_with_id(db, SQL_EXPIRY_DROP, v.r.id, err);
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

void num_list_init(num_list *list, const uar_allocator *a) {
    *list = (num_list){ a, NULL, 0, 0 };
}

void num_list_dispose(num_list *list) {
    alloc_free(list->alloc, list->nums);
    list->nums = NULL;
    list->count = list->cap = 0;
}

static uar_status num_list_add(num_list *list, int64_t num) {
    if (list->count == list->cap) {
        size_t cap = list->cap != 0 ? list->cap * 2 : 64;
        int64_t *nums = (int64_t *)alloc_resize(list->alloc, list->nums, cap * sizeof *nums);
        if (nums == NULL) return UAR_E_NOMEM;
        list->nums = nums;
        list->cap = cap;
    }
    list->nums[list->count++] = num;
    return UAR_OK;
}

uar_status num_list_collect(num_list *list, query *q, uar_error *err) {
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(q))
        status = num_list_add(list, query_get_int(q, 0));
    uar_status end = query_end(q, err);
    return status == UAR_OK ? end : error_plain(err, status);
}

uar_status version_erase_all(uar_memory *m, const num_list *rows, uar_error *err) {
    uar_status status = UAR_OK;
    arena ar;
    arena_init(&ar, &m->alloc);
    for (size_t i = 0; status == UAR_OK && i < rows->count; i++) {
        status = erase_version(m, rows->nums[i], &ar, err);
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    return status;
}

/* The record, its versions, and the records that gave way to it: their text is its history. `keep_self`: only those. */
static uar_status delete_chain(uar_memory *m, uar_uuid id, int64_t seg, bool keep_self, uint64_t *erased,
                               uar_error *err) {
    num_list rows;
    num_list_init(&rows, &m->alloc);
    query q;
    query_begin(&q, &m->database, keep_self ? SQL_VERSION_GIVEN_WAY : SQL_VERSION_CHAIN);
    query_uuid(&q, 18, id);
    query_int(&q, 19, seg);
    uar_status status = num_list_collect(&rows, &q, err);
    if (status == UAR_OK) status = version_erase_all(m, &rows, err);
    if (status == UAR_OK && erased != NULL) *erased = rows.count;
    num_list_dispose(&rows);
    return status;
}

static uar_status delete_one(uar_memory *m, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    version v;
    uar_status status = record_find(&v, m, c, id, ar, err);
    if (status == UAR_OK) status = caller_may_write(c, v.r.scope, err);
    return status == UAR_OK ? delete_chain(m, id, v.seg, false, NULL, err) : status;
}

/* After the commit. What can't be cleaned now is pending, not an error: the records are gone from every answer. */
uar_status uar_memory_delete_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                  uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    status = delete_one(memory, &c, id, &ar, err);
    status = memory_leave_write(memory, status, err);
    arena_dispose(&ar);
    if (status != UAR_OK) return status;
    bool is_clean = erase_now(memory);
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
    status = delete_chain(m, v.r.id, v.seg, false, NULL, err);
    if (status == UAR_OK) sum->erased++;
    return status;
}

static uar_status delete_matches(uar_memory_erasure *sum, uar_memory *m, const caller *c, const filter *f,
                                 uar_error *err) {
    num_list list;
    num_list_init(&list, &m->alloc);
    query q;
    query_begin(&q, &m->database, SQL_LIST_DOWN);
    caller_bind(&q, c);
    filter_bind(&q, f);
    query_int(&q, 18, INT64_MAX);
    uar_status status = num_list_collect(&list, &q, err);
    arena ar;
    arena_init(&ar, &m->alloc);
    for (size_t i = 0; status == UAR_OK && i < list.count; i++) {
        status = delete_match(sum, m, c, f, list.nums[i], &ar, err);
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    num_list_dispose(&list);
    return status;
}

uar_status uar_memory_delete_where_sync(uar_memory_erasure *out, uar_memory *memory, const uar_identity *who,
                                        const uar_memory_filter *given, uar_error *err) {
    caller c;
    filter f;
    uar_status status = filter_begin(&f, &c, memory, who, given, err);
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
    if (sum.erased != 0 && !erase_now(memory)) {
        sum.pending = sum.erased;
        sum.erased = 0;
    }
    *out = sum;
    return UAR_OK;
}

uar_status uar_memory_purge_sync(uar_memory_erasure *out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                 uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    version v;
    uint64_t erased = 0;
    status = record_find(&v, memory, &c, id, &ar, err);
    if (status == UAR_OK) status = caller_may_write(&c, v.r.scope, err);
    if (status == UAR_OK) status = delete_chain(memory, id, v.seg, true, &erased, err);
    status = memory_leave_write(memory, status, err);
    arena_dispose(&ar);
    if (status != UAR_OK) return status;
    bool is_clean = erased == 0 || erase_now(memory);
    *out = (uar_memory_erasure){ .erased = is_clean ? erased : 0, .pending = is_clean ? 0 : erased };
    return UAR_OK;
}
