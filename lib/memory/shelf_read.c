/* Owns: asking the index for near vectors and for rows without one. */
#include "memory/shelf.h"

static uar_status load_state(segment_state *out, uar_memory *m, int64_t seg, uar_error *err) {
    *out = (segment_state){ .id = seg };
    query q;
    query_begin(&q, &m->database, SQL_SEGMENT_LOAD);
    query_int(&q, 18, seg);
    if (query_next(&q)) {
        out->generation = query_get_int(&q, 0);
        out->edits = query_get_int(&q, 1);
        out->packed = query_get_int(&q, 2);
        out->records = query_get_int(&q, 4);
    }
    return query_end(&q, err);
}

uar_status shelf_nearest(engine_near *out, size_t *count, size_t cap, uar_memory *m, int64_t seg, uar_memory_type type,
                         const float *vector, double least, uar_error *err) {
    segment_state state;
    uar_status status = shelf_flush(m, err);
    if (status == UAR_OK) status = load_state(&state, m, seg, err);
    if (status != UAR_OK) return status;
    if (cap == 0 || state.generation == 0 || !shelf_has_vectors(m)) {
        *count = 0;
        return UAR_OK;
    }
    index_source source = shelf_source(m);
    engine_near_question question = { vector, (uint8_t)type, clock_wall(&m->clock), (float)least };
    return engine_nearest(out, count, cap, &m->shelf.engine, &question, &state, &source, err);
}

uar_status shelf_unembedded(int64_t *nums, size_t *count, size_t cap, uar_memory *m, int64_t after, uar_error *err) {
    size_t found = 0;
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_MISSING);
    query_int(&q, 18, after);
    query_int(&q, 19, m->embed.model);
    query_int(&q, 20, (int64_t)cap);
    while (found < cap && query_next(&q))
        nums[found++] = query_get_int(&q, 0);
    uar_status status = query_end(&q, err);
    if (status == UAR_OK) *count = found;
    return status;
}

uar_status shelf_count_unembedded(uint64_t *out, uar_memory *m, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_UNCOUNTED);
    query_int(&q, 18, m->embed.model);
    int64_t count = 0;
    uar_status status = query_number(&q, &count, err);
    if (status == UAR_OK) *out = (uint64_t)count;
    return status;
}
