/* Owns: rebuilding the word index and checking the store. Invariant: a rebuild moves in batches, each a whole transaction,
 * so that records and index agree between any two. */
#include "memory/content.h"
#include "memory/erase.h"
#include "memory/graph.h"

#define BATCH 128

typedef struct batch {
    int64_t nums[BATCH];
    size_t count;
} batch;

static uar_status next_batch(batch *b, database *db, int64_t after, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_ALL_NUMS);
    query_int(&q, 18, after);
    query_int(&q, 19, BATCH);
    b->count = 0;
    while (b->count < BATCH && query_next(&q))
        b->nums[b->count++] = query_get_int(&q, 0);
    return query_end(&q, err);
}

static uar_status reindex_row(uar_memory *m, int64_t num, uar_error *err) {
    arena ar;
    arena_init(&ar, &m->alloc);
    version old;
    uar_status status = version_load(&old, &m->database, num, &ar, err);
    if (status == UAR_OK && old.length != 0) {
        version next = old;
        status = content_index(&next, &ar, m->database.key, err);
        if (status == UAR_OK) status = postings_drop(&m->database, &old, err);
        if (status == UAR_OK) status = version_update(&m->database, &next, &m->alloc, err);
        if (status == UAR_OK) status = postings_add(&m->database, &next, err);
    }
    arena_dispose(&ar);
    return status;
}

/* `last` becomes 0 when nothing is left. */
static uar_status reindex_batch(uar_memory *m, int64_t *last, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    m->state = UAR_MEMORY_REINDEXING;
    batch b;
    status = next_batch(&b, &m->database, *last, err);
    for (size_t i = 0; i < b.count && status == UAR_OK; i++)
        status = reindex_row(m, b.nums[i], err);
    status = memory_leave_write(m, status, err);
    if (status == UAR_OK) *last = b.count != 0 ? b.nums[b.count - 1] : 0;
    return status;
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
    if (status == UAR_OK) status = graph_reindex(memory, err);
    if (status == UAR_OK) status = finish_reindex(memory, err);
    if (status == UAR_E_DISABLED || status == UAR_E_UNAVAILABLE) return status;
    mutex_lock(&memory->lock);
    if (memory->database.analysis == ANALYSIS_VERSION) memory->state = UAR_MEMORY_READY;
    mutex_unlock(&memory->lock);
    return status;
}

/* One look at the whole file; UAR_E_CORRUPT with SQLite's first finding. */
static uar_status look_at_file(database *db, uar_error *err) {
    query q = { db, NULL, SQLITE_OK };
    q.code = sqlite3_prepare_v2(db->handle, "PRAGMA integrity_check(1)", -1, &q.statement, NULL);
    uar_status status = UAR_OK;
    if (query_next(&q)) {
        uar_str line = query_get_text(&q, 0);
        if (!uar_str_equal(line, uar_str_of("ok")))
            status =
                error_set(err, UAR_E_CORRUPT, "memory store: %s", (const char *)sqlite3_column_text(q.statement, 0));
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    sqlite3_finalize(q.statement);
    return status == UAR_OK ? end : status;
}

/* To SQLite a page that it had no memory for is a finding too: only one that shows twice is damage. */
static uar_status check_file(database *db, uar_error *err) {
    uar_status status = look_at_file(db, NULL);
    if (status == UAR_E_CORRUPT) return look_at_file(db, err);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status number(database *db, sql_id id, int64_t *out, uar_error *err) {
    query q;
    query_begin(&q, db, id);
    if (query_next(&q)) *out = query_get_int(&q, 0);
    return query_end(&q, err);
}

static uar_status check_terms(database *db, const version *v, uar_error *err) {
    for (size_t at = 0; at + TERM_PACKED <= v->terms_len; at += TERM_PACKED) {
        term t = term_unpack(v->terms + at);
        query q;
        query_begin(&q, db, SQL_POSTING_HAS);
        query_int(&q, 18, v->seg);
        query_int(&q, 19, (int64_t)t.id);
        query_int(&q, 20, v->num);
        bool is_there = query_next(&q) && query_get_int(&q, 0) == (int64_t)t.count;
        uar_status status = query_end(&q, err);
        if (status != UAR_OK) return status;
        if (!is_there) return error_set(err, UAR_E_CORRUPT, "a memory record misses a term in the index");
    }
    return UAR_OK;
}

/* Every row against its checksum and the index; `terms` counts what the index should hold. */
static uar_status check_rows(uar_memory *m, int64_t *terms, uar_error *err) {
    int64_t last = 0;
    for (;;) {
        batch b;
        uar_status status = next_batch(&b, &m->database, last, err);
        if (status != UAR_OK || b.count == 0) return status;
        arena ar;
        arena_init(&ar, &m->alloc);
        for (size_t i = 0; i < b.count && status == UAR_OK; i++) {
            version v;
            status = version_load(&v, &m->database, b.nums[i], &ar, err);
            if (status != UAR_OK) break;
            *terms += (int64_t)(v.terms_len / TERM_PACKED);
            status = check_terms(&m->database, &v, err);
        }
        arena_dispose(&ar);
        if (status != UAR_OK) return status;
        last = b.nums[b.count - 1];
    }
}

uar_status uar_memory_check_sync(uar_memory *memory, uar_error *err) {
    uar_status status = memory_enter_read(memory, err);
    if (status != UAR_OK) return status;
    int64_t expected = 0;
    int64_t postings = 0;
    int64_t miscounted = 0;
    status = check_file(&memory->database, err);
    if (status == UAR_OK) status = check_rows(memory, &expected, err);
    if (status == UAR_OK) status = graph_check(memory, err);
    if (status == UAR_OK) status = number(&memory->database, SQL_POSTING_TOTAL, &postings, err);
    if (status == UAR_OK) status = number(&memory->database, SQL_SEGMENT_FAULT, &miscounted, err);
    if (status == UAR_OK && postings != expected)
        status = error_set(err, UAR_E_CORRUPT, "the memory index has %lld entries, the records name %lld",
                           (long long)postings, (long long)expected);
    if (status == UAR_OK && miscounted != 0)
        status = error_set(err, UAR_E_CORRUPT, "%lld memory segments are miscounted", (long long)miscounted);
    memory_leave_read(memory);
    return status;
}
