/* Owns: asking the index for near vectors and for rows without one. Invariant: the nearest are exact: what the codes leave in
 * doubt, the vectors decide. */
#include "memory/shelf.h"

#include "index/vector.h"

static void place_near(shelf_near *out, size_t *count, size_t cap, shelf_near one) {
    size_t at = *count;
    if (at == cap) {
        if (!(one.cosine > out[at - 1].cosine)) return;
        at--;
    } else {
        ++*count;
    }
    for (; at > 0 && one.cosine > out[at - 1].cosine; at--)
        out[at] = out[at - 1];
    out[at] = one;
}

/* Exact cosines of what the codes named; `is_sure` if no other can belong to the list. */
static uar_status rescore(shelf_near *out, size_t *count, bool *is_sure, size_t cap, uar_memory *m,
                          const engine_near *near, size_t near_count, const float *vector, double least,
                          uar_error *err) {
    *count = 0;
    *is_sure = false;
    if (near_count == 0) return UAR_OK;
    float *room = (float *)alloc_zeroed(&m->alloc, m->embedder.dims, sizeof(float));
    if (room == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = UAR_OK;
    for (size_t i = 0; i < near_count && status == UAR_OK && !*is_sure; i++) {
        *is_sure = *count == cap && near[i].cosine + near[i].slack < out[cap - 1].cosine;
        if (*is_sure) break;
        bool found = false;
        status = shelf_vector(room, &found, m, near[i].key, err);
        if (status != UAR_OK || !found) continue;
        float cosine = vector_dot(vector, room, m->embedder.dims);
        if ((double)cosine >= least) place_near(out, count, cap, (shelf_near){ near[i].key, cosine });
    }
    alloc_free(&m->alloc, room);
    return status;
}

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

/* One try with room for `want` candidates; `is_done` unless more are needed to be sure. */
static uar_status try_nearest(shelf_near *out, size_t *count, bool *is_done, size_t cap, size_t want, uar_memory *m,
                              const segment_state *state, uar_memory_type type, const float *vector, double least,
                              uar_error *err) {
    engine_near *near = (engine_near *)alloc_zeroed(&m->alloc, want, sizeof *near);
    if (near == NULL) return error_plain(err, UAR_E_NOMEM);
    size_t near_count = 0;
    index_source source = shelf_source(m);
    uar_status status = engine_nearest(near, &near_count, want, &m->shelf.engine, vector, (uint8_t)type,
                                       clock_wall(&m->clock), (float)least, state, &source, err);
    bool is_sure = false;
    if (status == UAR_OK) status = rescore(out, count, &is_sure, cap, m, near, near_count, vector, least, err);
    *is_done = is_sure || near_count < want;
    alloc_free(&m->alloc, near);
    return status;
}

uar_status shelf_nearest(shelf_near *out, size_t *count, size_t cap, uar_memory *m, int64_t seg, uar_memory_type type,
                         const float *vector, double least, uar_error *err) {
    segment_state state;
    uar_status status = shelf_flush(m, err);
    if (status == UAR_OK) status = load_state(&state, m, seg, err);
    if (status != UAR_OK) return status;
    if (cap == 0 || state.generation == 0 || !shelf_has_vectors(m)) {
        *count = 0;
        return UAR_OK;
    }
    shelf_near *best = (shelf_near *)alloc_zeroed(&m->alloc, cap, sizeof *best);
    if (best == NULL) return error_plain(err, UAR_E_NOMEM);
    bool is_done = false;
    size_t found = 0;
    for (size_t want = cap + 16; status == UAR_OK && !is_done; want *= 4)
        status = try_nearest(best, &found, &is_done, cap, want, m, &state, type, vector, least, err);
    if (status == UAR_OK) {
        memcpy(out, best, found * sizeof *best);
        *count = found;
    }
    alloc_free(&m->alloc, best);
    return status;
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
