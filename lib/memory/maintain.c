/* Owns: rebuilding the word index and checking the store. Invariant: a rebuild moves in batches, each a whole transaction,
 * so that records and index agree between any two. */
#include <limits.h>

#include "memory/content.h"
#include "memory/erase.h"
#include "memory/graph.h"
#include "memory/shelf.h"
#include "memory/stream.h"

static uar_status reindex_row(uar_memory *m, int64_t num, uar_error *err) {
    arena ar;
    arena_init(&ar, &m->alloc);
    version old;
    uar_status status = version_load(&old, &m->database, num, &ar, err);
    if (status == UAR_OK && old.length != 0) {
        version next = old;
        status = content_index(&next, &ar, m->database.key, err);
        bool is_same = status == UAR_OK && next.length == old.length && next.digest == old.digest &&
                       next.terms_len == old.terms_len && memcmp(next.terms, old.terms, old.terms_len) == 0;
        if (status == UAR_OK && !is_same) {
            status = version_update(&m->database, &next, &m->alloc, err);
            if (status == UAR_OK) status = shelf_put(m, &next, NULL, err);
        }
    }
    arena_dispose(&ar);
    return status;
}

/* `last` becomes 0 when nothing is left. */
static uar_status reindex_batch(uar_memory *m, int64_t *last, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    m->state = UAR_MEMORY_REINDEXING;
    row_batch b;
    status = row_batch_next(&b, &m->database, SQL_ALL_NUMS, *last, err);
    for (size_t i = 0; i < b.count && status == UAR_OK; i++)
        status = reindex_row(m, b.nums[i], err);
    status = memory_leave_write(m, status, err);
    if (status == UAR_OK) *last = b.count != 0 ? b.nums[b.count - 1] : 0;
    return status;
}

/* The next segment behind `last`, 0 if there is none. */
static uar_status next_segment(int64_t *last, database *db, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_SEGMENT_NEXT);
    query_int(&q, 18, *last);
    return query_number(&q, last, err);
}

static uar_status rebuild_segment(uar_memory *m, int64_t *last, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    status = next_segment(last, &m->database, err);
    if (status == UAR_OK && *last != 0) status = shelf_rebuild(m, *last, err);
    return memory_leave_write(m, status, err);
}

static uar_status finish_reindex(uar_memory *m, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    uint8_t analysis[1] = { ANALYSIS_VERSION };
    query q;
    query_begin(&q, &m->database, SQL_META_PUT);
    query_text(&q, 18, uar_str_of("analysis"));
    query_blob(&q, 19, analysis, sizeof analysis);
    status = query_run(&q, err);
    if (status == UAR_OK) m->database.analysis = ANALYSIS_VERSION;
    return memory_leave_write(m, status, err);
}

uar_status uar_memory_reindex_sync(uar_memory *memory, uar_error *err) {
    int64_t last = 0;
    uar_status status = UAR_OK;
    do
        status = reindex_batch(memory, &last, err);
    while (status == UAR_OK && last != 0);
    if (status == UAR_OK) {
        do
            status = rebuild_segment(memory, &last, err);
        while (status == UAR_OK && last != 0);
    }
    if (status == UAR_OK) status = graph_reindex(memory, err);
    if (status == UAR_OK) status = finish_reindex(memory, err);
    if (status == UAR_E_DISABLED || status == UAR_E_UNAVAILABLE || status == UAR_E_SUSPENDED) return status;
    mutex_lock(&memory->lock);
    if (memory->database.analysis == ANALYSIS_VERSION) memory->state = UAR_MEMORY_READY;
    mutex_unlock(&memory->lock);
    return status;
}

/* SQLite's check reports a page that it could not read, for want of memory too, as a line of its findings. */
static int code_of_finding(const char *line) {
    static const char marker[] = "error code=";
    const char *at = strstr(line, marker);
    int code = 0;
    if (at == NULL) return SQLITE_CORRUPT;
    for (at += sizeof marker - 1; *at >= '0' && *at <= '9' && code < INT_MAX / 16; at++)
        code = code * 10 + (*at - '0');
    return code;
}

static uar_status report_finding(const database *db, const char *line, uar_error *err) {
    int code = line != NULL ? code_of_finding(line) : SQLITE_NOMEM;
    uar_status status = database_fault(db, code, NULL);
    if (status != UAR_E_NOMEM && status != UAR_E_IO) status = UAR_E_CORRUPT;
    return error_set(err, status, "memory store: %s", line != NULL ? line : "out of memory");
}

static uar_status check_file(database *db, uar_error *err) {
    query q = { db, NULL, SQLITE_OK };
    q.code = sqlite3_prepare_v2(db->handle, "PRAGMA integrity_check(1)", -1, &q.statement, NULL);
    uar_status status = UAR_OK;
    if (query_next(&q)) {
        uar_str line = query_get_text(&q, 0);
        if (!uar_str_equal(line, uar_str_of("ok")))
            status = report_finding(db, (const char *)sqlite3_column_text(q.statement, 0), err);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    sqlite3_finalize(q.statement);
    return status == UAR_OK ? end : status;
}

static uar_status check_terms(uar_memory *m, const version *v, arena *ar, uar_error *err) {
    if (v->length == 0 || m->database.analysis != ANALYSIS_VERSION) return UAR_OK;
    version again = *v;
    uar_status status = content_index(&again, ar, m->database.key, err);
    if (status != UAR_OK) return status;
    bool is_same = again.digest == v->digest && again.length == v->length && again.terms_len == v->terms_len &&
                   memcmp(again.terms, v->terms, v->terms_len) == 0;
    return is_same ? UAR_OK : error_set(err, UAR_E_CORRUPT, "the terms of a memory record are not those of its text");
}

/* Every row against its checksum and its text. */
static uar_status check_rows(uar_memory *m, uar_error *err) {
    int64_t last = 0;
    for (;;) {
        row_batch b;
        uar_status status = row_batch_next(&b, &m->database, SQL_ALL_NUMS, last, err);
        if (status != UAR_OK || b.count == 0) return status;
        arena ar;
        arena_init(&ar, &m->alloc);
        for (size_t i = 0; i < b.count && status == UAR_OK; i++) {
            version v;
            status = version_load(&v, &m->database, b.nums[i], &ar, err);
            if (status == UAR_OK) status = check_terms(m, &v, &ar, err);
        }
        arena_dispose(&ar);
        if (status != UAR_OK) return status;
        last = b.nums[b.count - 1];
    }
}

static uar_status check_segments(uar_memory *m, uar_error *err) {
    int64_t last = 0;
    for (;;) {
        uar_status status = next_segment(&last, &m->database, err);
        if (status != UAR_OK || last == 0) return status;
        status = shelf_check(m, last, err);
        if (status != UAR_OK) return status;
    }
}

uar_status uar_memory_check_sync(uar_memory *memory, uar_error *err) {
    uar_status status = memory_enter_read(memory, err);
    if (status != UAR_OK) return status;
    int64_t stray = 0;
    status = check_file(&memory->database, err);
    if (status == UAR_OK) status = check_rows(memory, err);
    if (status == UAR_OK) status = statement_number(&stray, &memory->database, SQL_VECTOR_STRAY, err);
    if (status == UAR_OK && stray != 0)
        status = error_set(err, UAR_E_CORRUPT, "%lld vectors of the memory belong to no record", (long long)stray);
    if (status == UAR_OK) status = check_segments(memory, err);
    if (status == UAR_OK) status = graph_check(memory, err);
    if (status == UAR_OK) status = stream_check(memory, err);
    memory_leave_read(memory);
    return status;
}
