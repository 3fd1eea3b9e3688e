/* Owns: index entries of rows. Invariant: after each call, the index holds exactly what the row says. */
#include "memory/shelf.h"

#include <assert.h>

#include "memory/erase.h"

static uar_status run_num(uar_memory *m, sql_id id, int64_t num, uar_error *err) {
    query q;
    query_begin(&q, &m->database, id);
    query_int(&q, 18, num);
    return query_run(&q, err);
}

static uar_status put_terms(uar_memory *m, const version *v, uar_error *err) {
    uar_status status = run_num(m, SQL_POSTING_DROP, v->num, err);
    for (size_t at = 0; status == UAR_OK && at < v->terms_len; at += TERM_PACKED) {
        term t = term_unpack(v->terms + at);
        query q;
        query_begin(&q, &m->database, SQL_POSTING_ADD);
        query_int(&q, 18, v->seg);
        query_int(&q, 19, (int64_t)t.id);
        query_int(&q, 20, v->num);
        query_int(&q, 21, (int64_t)t.count);
        status = query_run(&q, err);
    }
    return status;
}

/* Drop the vector of a row, and note its mark. */
static uar_status drop_vector(uar_memory *m, int64_t num, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_GET);
    query_int(&q, 18, num);
    uint8_t mark[MARK_BYTES];
    bool found = query_next(&q);
    bool marked = false;
    if (found) {
        uar_str stored = query_get_text(&q, 2);
        marked = stored.len == MARK_BYTES;
        if (marked) memcpy(mark, stored.ptr, MARK_BYTES);
    }
    uar_status status = query_end(&q, err);
    if (status == UAR_OK && marked) status = erase_note(&m->database, mark, err);
    return status == UAR_OK && found ? run_num(m, SQL_VECTOR_DROP, num, err) : status;
}

static uar_status put_vector(uar_memory *m, const version *v, uar_str model, const void *value, size_t len,
                             uar_error *err) {
    uint8_t mark[MARK_BYTES];
    if (m->random.fill(m->random.ctx, mark, sizeof mark) != UAR_OK)
        return error_set(err, UAR_E_INTERNAL, "there are no random bytes for a memory record");
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_PUT);
    query_int(&q, 18, v->num);
    query_text(&q, 19, model);
    query_int(&q, 20, v->digest);
    query_blob(&q, 21, mark, sizeof mark);
    query_blob(&q, 22, value, len);
    return query_run(&q, err);
}

/* A vector of another text or of another model is of no use any more. */
static uar_status keep_vector(uar_memory *m, const version *v, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_GET);
    query_int(&q, 18, v->num);
    bool stale = query_next(&q) && (query_get_int(&q, 1) != v->digest || v->length == 0);
    uar_status status = query_end(&q, err);
    return status == UAR_OK && stale ? drop_vector(m, v->num, err) : status;
}

uar_status shelf_put(uar_memory *m, const version *v, const float *vector, uar_error *err) {
    assert(v->num != 0 && v->terms_len % TERM_PACKED == 0);
    uar_status status = put_terms(m, v, err);
    if (status != UAR_OK) return status;
    if (vector == NULL || v->length == 0) return keep_vector(m, v, err);
    status = drop_vector(m, v->num, err);
    if (status != UAR_OK) return status;
    return put_vector(m, v, uar_str_of(m->embedder_id), vector, m->embedder.dims * sizeof *vector, err);
}

uar_status shelf_put_kept(uar_memory *m, const version *v, int64_t from, uar_error *err) {
    uar_status status = put_terms(m, v, err);
    if (status != UAR_OK || v->length == 0) return status;
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_GET);
    query_int(&q, 18, from);
    if (query_next(&q) && query_get_int(&q, 1) == v->digest) {
        uar_str value = query_get_text(&q, 3);
        status = put_vector(m, v, query_get_text(&q, 0), value.ptr, value.len, err);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

uar_status shelf_drop(uar_memory *m, const version *v, uar_error *err) {
    uar_status status = run_num(m, SQL_POSTING_DROP, v->num, err);
    return status == UAR_OK ? drop_vector(m, v->num, err) : status;
}

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

static float cosine_of(const float *a, const char *bytes, size_t dims) {
    double sum = 0;
    for (size_t i = 0; i < dims; i++) {
        float b = 0;
        memcpy(&b, bytes + i * sizeof b, sizeof b);
        sum += (double)a[i] * (double)b;
    }
    return (float)sum;
}

uar_status shelf_nearest(shelf_near *out, size_t *count, size_t cap, uar_memory *m, int64_t seg, uar_memory_type type,
                         const float *vector, uar_error *err) {
    size_t found = 0;
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_SCAN);
    query_int(&q, 18, seg);
    query_int(&q, 19, (int64_t)type);
    query_text(&q, 20, uar_str_of(m->embedder_id));
    while (cap != 0 && query_next(&q)) {
        uar_str value = query_get_text(&q, 1);
        if (value.len != m->embedder.dims * sizeof *vector) continue;
        shelf_near one = { query_get_int(&q, 0), cosine_of(vector, value.ptr, m->embedder.dims) };
        place_near(out, &found, cap, one);
    }
    uar_status status = query_end(&q, err);
    if (status == UAR_OK) *count = found;
    return status;
}

uar_status shelf_unembedded(int64_t *nums, size_t *count, size_t cap, uar_memory *m, int64_t after, uar_error *err) {
    size_t found = 0;
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_MISSING);
    query_int(&q, 18, after);
    query_text(&q, 19, uar_str_of(m->embedder_id));
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
    query_text(&q, 18, uar_str_of(m->embedder_id));
    int64_t count = query_next(&q) ? query_get_int(&q, 0) : 0;
    uar_status status = query_end(&q, err);
    if (status == UAR_OK) *out = (uint64_t)count;
    return status;
}
