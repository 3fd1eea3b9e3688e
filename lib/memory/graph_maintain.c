/* Owns: rebuilding the graph's index and checking the graph. Invariant: a rebuild moves in batches, each a whole transaction,
 * so that rows and index agree between any two. */
#include "memory/graph.h"

typedef uar_status (*row_fn)(uar_memory *m, int64_t num, arena *ar, int64_t *sum, uar_error *err);

static uar_status each_of_batch(uar_memory *m, const row_batch *b, row_fn row, int64_t *sum, uar_error *err) {
    arena ar;
    arena_init(&ar, &m->alloc);
    uar_status status = UAR_OK;
    for (size_t i = 0; i < b->count && status == UAR_OK; i++) {
        status = row(m, b->nums[i], &ar, sum, err);
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    return status;
}

static uar_status reindex_entity(uar_memory *m, int64_t num, arena *ar, int64_t *sum, uar_error *err) {
    (void)sum;
    entity e;
    uar_status status = entity_load(&e, &m->database, num, ar, err);
    return status == UAR_OK ? entity_put(m, &e, ar, err) : status;
}

static uar_status reindex_observation(uar_memory *m, int64_t num, arena *ar, int64_t *sum, uar_error *err) {
    (void)sum;
    observation o;
    uar_status status = observation_load(&o, &m->database, num, ar, err);
    return status == UAR_OK ? observation_put(m, &o, ar, err) : status;
}

static uar_status reindex_all(uar_memory *m, sql_id sql, row_fn row, uar_error *err) {
    int64_t last = 0;
    row_batch b;
    do {
        uar_status status = memory_enter_write(m, err);
        if (status != UAR_OK) return status;
        status = row_batch_next(&b, &m->database, sql, last, err);
        if (status == UAR_OK) status = each_of_batch(m, &b, row, NULL, err);
        status = memory_leave_write(m, status, err);
        if (status != UAR_OK) return status;
        if (b.count != 0) last = b.nums[b.count - 1];
    } while (b.count == ROW_BATCH);
    return UAR_OK;
}

uar_status graph_reindex(uar_memory *m, uar_error *err) {
    uar_status status = reindex_all(m, SQL_GRAPH_ENTITY_NUMS, reindex_entity, err);
    return status == UAR_OK ? reindex_all(m, SQL_GRAPH_OBSERVATION_NUMS, reindex_observation, err) : status;
}

/* `sum` counts what the index should hold. */
static uar_status check_document(database *db, const graph_document *d, int64_t *sum, uar_error *err) {
    for (size_t at = 0; at + TERM_PACKED <= d->terms.len; at += TERM_PACKED) {
        term t = term_unpack((const uint8_t *)d->terms.ptr + at);
        query q;
        query_begin(&q, db, SQL_GRAPH_POSTING_HAS);
        query_int(&q, 18, d->seg);
        query_int(&q, 19, (int64_t)t.id);
        query_int(&q, 20, d->entity);
        query_int(&q, 21, d->document);
        bool is_there =
            query_next(&q) && query_get_int(&q, 0) == (int64_t)t.count && query_get_int(&q, 1) == (int64_t)d->length;
        uar_status status = query_end(&q, err);
        if (status != UAR_OK) return status;
        if (!is_there) return error_set(err, UAR_E_CORRUPT, "a graph row misses a term in the index");
        ++*sum;
    }
    return UAR_OK;
}

static uar_status check_entity(uar_memory *m, int64_t num, arena *ar, int64_t *sum, uar_error *err) {
    entity e;
    uar_status status = entity_load(&e, &m->database, num, ar, err);
    graph_document d = entity_document(&e);
    if (status == UAR_OK) status = check_document(&m->database, &d, sum, err);
    return status == UAR_OK ? graph_names_check(m, &e, err) : status;
}

static uar_status check_relation(uar_memory *m, int64_t num, arena *ar, int64_t *sum, uar_error *err) {
    (void)sum;
    relation r;
    uar_status status = relation_load(&r, &m->database, num, ar, err);
    if (status == UAR_E_NOT_FOUND) return error_set(err, UAR_E_CORRUPT, "a graph relation has lost an end");
    if (status == UAR_OK && r.source == r.target)
        return error_set(err, UAR_E_CORRUPT, "a graph relation has one entity at both ends");
    return status;
}

static uar_status check_observation(uar_memory *m, int64_t num, arena *ar, int64_t *sum, uar_error *err) {
    observation o;
    uar_status status = observation_load(&o, &m->database, num, ar, err);
    if (status == UAR_E_NOT_FOUND) return error_set(err, UAR_E_CORRUPT, "a graph observation has lost its entity");
    graph_document d = observation_document(&o);
    return status == UAR_OK ? check_document(&m->database, &d, sum, err) : status;
}

static uar_status check_all(uar_memory *m, sql_id sql, row_fn row, int64_t *sum, uar_error *err) {
    int64_t last = 0;
    row_batch b;
    do {
        uar_status status = row_batch_next(&b, &m->database, sql, last, err);
        if (status == UAR_OK) status = each_of_batch(m, &b, row, sum, err);
        if (status != UAR_OK) return status;
        if (b.count != 0) last = b.nums[b.count - 1];
    } while (b.count == ROW_BATCH);
    return UAR_OK;
}

uar_status graph_check(uar_memory *m, uar_error *err) {
    database *db = &m->database;
    int64_t expected = 0;
    int64_t postings = 0;
    int64_t faults[3] = { 0, 0, 0 };
    uar_status status = check_all(m, SQL_GRAPH_ENTITY_NUMS, check_entity, &expected, err);
    if (status == UAR_OK) status = check_all(m, SQL_GRAPH_RELATION_NUMS, check_relation, &expected, err);
    if (status == UAR_OK) status = check_all(m, SQL_GRAPH_OBSERVATION_NUMS, check_observation, &expected, err);
    if (status == UAR_OK) status = statement_number(&postings, db, SQL_GRAPH_POSTING_TOTAL, err);
    if (status == UAR_OK && postings != expected)
        return error_set(err, UAR_E_CORRUPT, "the graph's index has %lld entries, its rows name %lld",
                         (long long)postings, (long long)expected);
    if (status == UAR_OK) status = statement_number(&faults[0], db, SQL_GRAPH_SEGMENT_FAULT, err);
    if (status == UAR_OK) status = statement_number(&faults[1], db, SQL_GRAPH_LINK_FAULT, err);
    if (status == UAR_OK) status = statement_number(&faults[2], db, SQL_GRAPH_FORWARD_FAULT, err);
    if (status == UAR_OK && faults[0] + faults[1] + faults[2] != 0)
        return error_set(err, UAR_E_CORRUPT, "the graph has %lld miscounted places, %lld loose links, %lld loose ids",
                         (long long)faults[0], (long long)faults[1], (long long)faults[2]);
    return status;
}
