/* Owns: reading records: get, list, history, stats. Invariant: every statement here filters by SQL_VISIBLE. */
#include "base/str.h"
#include "memory/answer.h"
#include "memory/caller.h"
#include "memory/erase.h"
#include "memory/filter.h"
#include "memory/service.h"

static uar_status get(record_list *list, database *db, const caller *c, uar_uuid id, int64_t now, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_VERSION_BY_ID);
    caller_bind(&q, c);
    query_uuid(&q, 18, id);
    query_int(&q, 19, now);
    version v;
    uar_status status = version_first(&v, &q, &list->ar, err);
    if (status != UAR_OK) return status;
    status = record_list_add(list, &v.r);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status history(record_list *list, database *db, const caller *c, uar_uuid id, int64_t now, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_VERSION_HISTORY);
    caller_bind(&q, c);
    query_uuid(&q, 18, id);
    query_int(&q, 19, now);
    uar_status status = UAR_OK;
    bool found = false; /* the record itself must be visible, not only what it superseded */
    while (status == UAR_OK && query_next(&q)) {
        version v;
        status = version_read(&v, &q, &list->ar, err);
        if (status != UAR_OK) break;
        found = found || uar_uuid_equal(v.r.id, id);
        status = record_list_add(list, &v.r);
        if (status != UAR_OK) error_plain(err, status);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    if (status == UAR_OK && !found) return error_set(err, UAR_E_NOT_FOUND, "there is no such memory record");
    return status;
}

typedef uar_status (*read_fn)(record_list *list, database *db, const caller *c, uar_uuid id, int64_t now,
                              uar_error *err);

static uar_status read_by_id(uar_memory_records **out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                             read_fn read, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    record_list *list = record_list_new(&memory->alloc);
    if (list == NULL) return error_plain(err, UAR_E_NOMEM);
    status = memory_enter_read(memory, err);
    if (status == UAR_OK) {
        status = read(list, &memory->database, &c, id, clock_wall(&memory->clock), err);
        memory_leave_read(memory);
    }
    if (status == UAR_OK)
        *out = &list->head;
    else
        uar_memory_records_free(&list->head);
    return status;
}

uar_status uar_memory_get_sync(uar_memory_records **out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                               uar_error *err) {
    return read_by_id(out, memory, who, id, get, err);
}

uar_status uar_memory_history_sync(uar_memory_records **out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                   uar_error *err) {
    return read_by_id(out, memory, who, id, history, err);
}

/* Load a row into the list's memory and keep it if the filter wants it. */
static uar_status take_row(record_list *list, database *db, const filter *f, int64_t num, bool *taken, uar_error *err) {
    version v;
    *taken = false;
    uar_status status = version_load(&v, db, num, &list->ar, err);
    if (status != UAR_OK) return status;
    status = filter_matches(taken, f, &v.r);
    if (status == UAR_OK && *taken) status = record_list_add(list, &v.r);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

/* The page is full when one more match is known to follow. */
static uar_status list_down(record_list *list, database *db, const caller *c, const filter *f, int64_t before,
                            size_t limit, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_LIST_DOWN);
    caller_bind(&q, c);
    filter_bind(&q, f);
    query_int(&q, 18, before);
    uar_status status = UAR_OK;
    int64_t last = 0;
    while (status == UAR_OK && query_next(&q)) {
        int64_t num = query_get_int(&q, 0);
        bool taken = false;
        status = take_row(list, db, f, num, &taken, err);
        if (status != UAR_OK || !taken) continue;
        if (list->head.count > limit) {
            list->head.count = limit;
            status = cursor_write(&list->head.cursor, &list->ar, last, err);
            break;
        }
        last = num;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

uar_status uar_memory_list_sync(uar_memory_records **out, uar_memory *memory, const uar_identity *who,
                                const uar_memory_filter *given, uar_str cursor, size_t limit, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status == UAR_OK) status = memory_check_limit(limit, err);
    if (status != UAR_OK) return status;
    int64_t before = 0;
    status = cursor_read(&before, cursor, INT64_MAX, err);
    if (status != UAR_OK) return status;
    caller c;
    filter f;
    status = filter_begin(&f, &c, memory, who, given, err);
    if (status != UAR_OK) return status;
    record_list *list = record_list_new(&memory->alloc);
    status = list != NULL ? memory_enter_read(memory, err) : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK) {
        status = list_down(list, &memory->database, &c, &f, before, limit, err);
        memory_leave_read(memory);
    }
    filter_dispose(&f);
    if (status == UAR_OK)
        *out = &list->head;
    else if (list != NULL)
        uar_memory_records_free(&list->head);
    return status;
}

static void count_record(uar_memory_stats *s, int64_t scope, uint64_t count) {
    s->total += count;
    if (scope > 0 && scope < 6) s->by_scope[scope] += count;
}

/* Labels and metadata are not known to SQL: each row is looked at. */
static uar_status count_rows(uar_memory_stats *s, uar_memory *m, const caller *c, const filter *f, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_LIST_DOWN);
    caller_bind(&q, c);
    filter_bind(&q, f);
    query_int(&q, 18, INT64_MAX);
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(&q)) {
        record_list *one = record_list_new(&m->alloc);
        bool taken = false;
        status = one != NULL ? take_row(one, &m->database, f, query_get_int(&q, 0), &taken, err)
                             : error_plain(err, UAR_E_NOMEM);
        if (status == UAR_OK && taken) count_record(s, (int64_t)one->items[0].scope, 1);
        if (one != NULL) uar_memory_records_free(&one->head);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

static uar_status count_groups(uar_memory_stats *s, uar_memory *m, const caller *c, const filter *f, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_COUNT);
    caller_bind(&q, c);
    filter_bind(&q, f);
    while (query_next(&q))
        count_record(s, query_get_int(&q, 0), (uint64_t)query_get_int(&q, 1));
    return query_end(&q, err);
}

uar_status uar_memory_stats_sync(uar_memory_stats *out, uar_memory *memory, const uar_identity *who,
                                 const uar_memory_filter *given, uar_error *err) {
    caller c;
    filter f;
    uar_status status = filter_begin(&f, &c, memory, who, given, err);
    if (status != UAR_OK) return status;
    uar_memory_stats s;
    memset(&s, 0, sizeof s);
    status = memory_enter_read(memory, err);
    if (status == UAR_OK) {
        s.state = memory->state;
        status = filter_needs_row(&f) ? count_rows(&s, memory, &c, &f, err) : count_groups(&s, memory, &c, &f, err);
        if (status == UAR_OK) status = erase_count(&s.pending, &memory->database, err);
        memory_leave_read(memory);
    }
    filter_dispose(&f);
    if (status == UAR_OK) *out = s;
    return status;
}
