/* Owns: comparing the index of a segment with its rows. Invariant: reads only, and believes nothing of a chunk. */
#include "memory/shelf_pack.h"

#include "index/vector.h"

/* A chunk read whole. */
typedef struct whole {
    index_segment frame; /* so that the body is read as a search reads it */
    segment_chunk chunk, body;
    document *documents;
    uint64_t *sums; /* of the terms of each document */
    int64_t first, last;
} whole;

static uint64_t mix(uint64_t id, uint32_t times) {
    uint64_t x = (id ^ (uint64_t)times << 57) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ (x >> 29);
}

static uint64_t little_id(const uint8_t *ids, size_t at) {
    uint64_t id = 0;
    for (int i = 7; i >= 0; i--)
        id = id << 8 | ids[at * 8 + (size_t)i];
    return id;
}

static void sum_terms(whole *w) {
    const chunk_view *c = &w->body.body;
    for (size_t t = 0; t < c->head.terms; t++) {
        uint64_t id = little_id(c->ids, t);
        size_t count = 0;
        const uint8_t *postings = chunk_find(c, id, &count);
        for (size_t i = 0; i < count; i++) {
            chunk_posting p = chunk_posting_at(postings, i);
            w->sums[p.document] += mix(id, p.count);
        }
    }
}

static void whole_dispose(whole *w, const uar_allocator *a) {
    segment_release(&w->frame, &w->body);
    alloc_free(a, w->documents);
    alloc_free(a, w->sums);
}

static uar_status read_whole(whole *w, uar_memory *m, const chunk_place *at_place, uar_error *err) {
    const uar_allocator *a = &m->alloc;
    index_source source = shelf_source(m);
    segment_init(&w->frame, a);
    w->chunk.place = *at_place;
    uar_status status = segment_read_head(&w->chunk, &source, err);
    if (status != UAR_OK) return status;
    w->documents = (document *)alloc_zeroed(a, w->chunk.head.count, sizeof(document));
    w->sums = (uint64_t *)alloc_zeroed(a, w->chunk.head.count, sizeof(uint64_t));
    if (w->documents == NULL || w->sums == NULL) return error_plain(err, UAR_E_NOMEM);
    status = segment_read_documents(w->documents, &w->chunk, a, &source, err);
    w->frame.chunks = &w->chunk;
    if (status == UAR_OK) status = segment_read_body(&w->body, &w->frame, 0, &source, err);
    if (status == UAR_OK) sum_terms(w);
    return status;
}

static bool same_attributes(const document *a, const document *b) {
    return a->key == b->key && a->created_ms == b->created_ms && a->valid_from_ms == b->valid_from_ms &&
           a->valid_until_ms == b->valid_until_ms && a->group == b->group && a->length == b->length &&
           memcmp(a->places, b->places, sizeof a->places) == 0 && a->labels == b->labels &&
           memcmp(&a->importance, &b->importance, sizeof a->importance) == 0 && a->trust == b->trust &&
           a->type == b->type && a->is_current == b->is_current;
}

static bool same_terms(const whole *w, size_t at, const document_item *item) {
    uint64_t sum = 0;
    for (size_t i = 0; i < item->term_count; i++) {
        term t = term_unpack(item->terms + i * TERM_PACKED);
        sum += mix(t.id, t.count < DOCUMENT_TERM_COUNT_MAX ? t.count : DOCUMENT_TERM_COUNT_MAX);
    }
    return sum == w->sums[at];
}

/* Chunks of another model say nothing of this one's vectors. */
static uar_status same_vector(bool *out, const whole *w, size_t at, const document_item *item, const uar_memory *m) {
    const chunk_view *c = &w->body.body;
    bool is_ours = c->codes != NULL && c->head.model == (uint64_t)m->embed.model && c->head.dims == m->embedder.dims;
    if (!is_ours || item->vector == NULL) {
        *out = (!is_ours && item->vector == NULL) || (is_ours && !(c->scales[at] > 0)) || !shelf_has_vectors(m);
        return UAR_OK;
    }
    size_t stride = vector_stride(m->embedder.dims);
    int8_t *row = (int8_t *)alloc_bytes(&m->alloc, stride);
    if (row == NULL) return UAR_E_NOMEM;
    float scale = 0;
    vector_encode(row, &scale, item->vector, m->embedder.dims);
    *out = memcmp(&scale, &c->scales[at], sizeof scale) == 0 && memcmp(row, c->codes + at * stride, stride) == 0;
    alloc_free(&m->alloc, row);
    return UAR_OK;
}

static uar_status is_loose(bool *out, uar_memory *m, int64_t seg, int64_t num, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_LOOSE_LIST);
    query_int(&q, 18, seg);
    query_int(&q, 19, num - 1);
    *out = query_next(&q) && query_get_int(&q, 0) == num;
    return query_end(&q, err);
}

static uar_status check_row(uar_memory *m, int64_t seg, const whole *w, size_t at, const document_item *item,
                            uar_error *err) {
    if (at >= w->chunk.head.count || w->documents[at].key != item->at.key)
        return error_set(err, UAR_E_CORRUPT, "the memory index and the records of a segment differ");
    bool loose = false;
    uar_status status = is_loose(&loose, m, seg, item->at.key, err);
    if (status != UAR_OK || loose) return status;
    if (!same_attributes(&w->documents[at], &item->at))
        return error_set(err, UAR_E_CORRUPT, "the memory index has other attributes than a record");
    if (!same_terms(w, at, item))
        return error_set(err, UAR_E_CORRUPT, "the memory index has other terms than a record");
    bool same = false;
    status = same_vector(&same, w, at, item, m);
    if (status != UAR_OK) return error_plain(err, status);
    return same ? UAR_OK : error_set(err, UAR_E_CORRUPT, "the memory index has another vector than a record");
}

static uar_status compare_rows(uar_memory *m, int64_t seg, const whole *w, uar_error *err) {
    float *room = (float *)alloc_zeroed(&m->alloc, m->embedder.dims, sizeof(float));
    uar_status status = room != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
    query q;
    query_begin(&q, &m->database, SQL_SHELF_RANGE);
    query_int(&q, 18, seg);
    query_int(&q, 19, w->first - 1);
    query_int(&q, 20, w->last);
    query_int(&q, 21, m->embed.model);
    query_int(&q, 22, -1);
    size_t at = 0;
    while (status == UAR_OK && query_next(&q)) {
        document_item item;
        status = shelf_item_read(&item, room, m->embedder.dims, &q, m);
        if (status != UAR_OK)
            error_set(err, status, "a memory record has values that it can't have");
        else
            status = check_row(m, seg, w, at++, &item, err);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    alloc_free(&m->alloc, room);
    if (status == UAR_OK) status = end;
    if (status == UAR_OK && at != w->chunk.head.count)
        return error_set(err, UAR_E_CORRUPT, "the memory index has entries of records that are gone");
    return status;
}

/* The chunk behind number `after`. */
static uar_status next_chunk(chunk_place *at_place, whole *w, bool *found, uar_memory *m, int64_t seg, int64_t after,
                             uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_CHUNK_AFTER);
    query_int(&q, 18, seg);
    query_int(&q, 19, after);
    *found = query_next(&q);
    if (*found) {
        *at_place = (chunk_place){ query_get_int(&q, 0), query_get_int(&q, 3), (uint64_t)query_get_int(&q, 4) };
        w->first = query_get_int(&q, 1);
        w->last = query_get_int(&q, 2);
    }
    return query_end(&q, err);
}

static uar_status check_counts(uar_memory *m, int64_t seg, int64_t *packed, int64_t *in_chunks, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_SEGMENT_LOAD);
    query_int(&q, 18, seg);
    int64_t records = 0, fresh = 0;
    if (query_next(&q)) {
        *packed = query_get_int(&q, 2);
        records = query_get_int(&q, 4);
        fresh = query_get_int(&q, 5);
    }
    uar_status status = query_end(&q, err);
    if (status != UAR_OK) return status;
    query_begin(&q, &m->database, SQL_SEGMENT_COUNTS);
    query_int(&q, 18, seg);
    query_int(&q, 19, *packed);
    bool same = query_next(&q) && query_get_int(&q, 0) == records && query_get_int(&q, 2) == fresh;
    status = query_end(&q, err);
    if (status == UAR_OK && !same) return error_set(err, UAR_E_CORRUPT, "a memory segment is miscounted");
    *in_chunks = records - fresh;
    return status;
}

static uar_status check_vectors(uar_memory *m, int64_t seg, uar_error *err) {
    int64_t num = 0;
    uar_status status = shelf_find_damaged(&num, m, seg, 0, err);
    return status == UAR_OK && num != 0 ? error_set(err, UAR_E_CORRUPT, "a vector of the memory is damaged") : status;
}

uar_status shelf_check(uar_memory *m, int64_t seg, uar_error *err) {
    int64_t packed = 0, in_chunks = 0, after = 0;
    uar_status status = check_counts(m, seg, &packed, &in_chunks, err);
    if (status == UAR_OK) status = check_vectors(m, seg, err);
    while (status == UAR_OK) {
        whole w;
        memset(&w, 0, sizeof w);
        chunk_place one;
        bool found = false;
        status = next_chunk(&one, &w, &found, m, seg, after, err);
        if (status != UAR_OK || !found) break;
        if (w.last < w.first || w.last > packed)
            return error_set(err, UAR_E_CORRUPT, "a chunk of the memory index is out of place");
        status = read_whole(&w, m, &one, err);
        if (status == UAR_OK) status = compare_rows(m, seg, &w, err);
        in_chunks -= w.chunk.head.count;
        after = w.last;
        whole_dispose(&w, &m->alloc);
    }
    if (status == UAR_OK && in_chunks != 0)
        return error_set(err, UAR_E_CORRUPT, "memory records are missing in the index");
    return status;
}
