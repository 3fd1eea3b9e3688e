/*
 * A store of documents in plain memory behind an index_source, and a scorer that follows the formula of index/score.h by the
 * letter, document by document: what the engine is compared with.
 */
#ifndef UAR_TESTS_UNIT_INDEX_WORLD_H
#define UAR_TESTS_UNIT_INDEX_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "index/engine.h"
#include "index/score.h"

#ifndef WORLD_DIMS
#define WORLD_DIMS 24
#endif
#define WORLD_VOCABULARY 120
#define WORLD_TERMS 14
#define WORLD_NOW INT64_C(1764500000000)

typedef struct world_document {
    document_item item;
    uint8_t terms[WORLD_TERMS * TERM_PACKED];
    float vector[WORLD_DIMS];
    int64_t changed; /* generation of its last change since it was packed; 0: none */
    bool is_alive, is_packed;
} world_document;

typedef struct world_chunk {
    chunk_place at;
    buffer bytes;
    int64_t first, last;
} world_chunk;

typedef struct world {
    const uar_allocator *alloc;
    world_document *documents; /* by key - 1 */
    size_t count, cap;
    world_chunk *chunks;
    size_t chunk_count, chunk_cap;
    segment_state state;
    uint64_t seed;
    int64_t next_chunk;
    size_t dims;
    size_t reads; /* calls of the source's read */
} world;

static inline uint64_t world_random(world *w) {
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return w->seed;
}

static inline size_t world_below(world *w, size_t n) {
    return (size_t)((world_random(w) >> 11) % n);
}

static inline float world_real(world *w) {
    return (float)((double)(world_random(w) >> 11) / 9007199254740992.0 * 2 - 1);
}

/* Few words are common, many are rare. */
static inline uint64_t world_word(world *w) {
    size_t a = world_below(w, WORLD_VOCABULARY);
    size_t b = world_below(w, WORLD_VOCABULARY);
    return (uint64_t)((a * b) / WORLD_VOCABULARY + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline void world_unit(world *w, float *v) {
    do
        for (size_t i = 0; i < WORLD_DIMS; i++)
            v[i] = world_real(w) + 0.3f;
    while (!vector_normalise(v, WORLD_DIMS));
}

static inline int world_compare(const void *a, const void *b) {
    uint64_t x = ((const term *)a)->id;
    uint64_t y = ((const term *)b)->id;
    return x < y ? -1 : x > y;
}

static inline void world_fill_terms(world *w, world_document *d) {
    term list[WORLD_TERMS];
    size_t count = 0;
    size_t wanted = 1 + world_below(w, WORLD_TERMS);
    d->item.at.length = 0;
    for (size_t i = 0; i < wanted; i++) {
        uint64_t id = world_word(w);
        size_t at = 0;
        while (at < count && list[at].id != id)
            at++;
        uint32_t times = world_below(w, 40) == 0 ? 200 : 1 + (uint32_t)world_below(w, 3);
        if (at == count) list[count++] = (term){ id, 0 };
        list[at].count += times;
        d->item.at.length += times;
    }
    qsort(list, count, sizeof *list, world_compare);
    term_list packed = { NULL, list, count, count, 0 };
    term_list_pack(&packed, d->terms);
    d->item.term_count = count;
}

static inline void world_fill(world *w, world_document *d) {
    document *at = &d->item.at;
    at->created_ms = WORLD_NOW - (int64_t)world_below(w, 200) * 86400000;
    at->valid_from_ms = at->created_ms;
    at->valid_until_ms = world_below(w, 6) == 0 ? WORLD_NOW - 1000 : INT64_MAX;
    at->group = world_below(w, 12);
    at->importance = (float)world_below(w, 11) / 10;
    at->trust = (uint8_t)(1 + world_below(w, 5));
    at->type = (uint8_t)(1 + world_below(w, 4));
    at->is_current = world_below(w, 8) != 0;
    at->places[0] = 1 + (uint32_t)world_below(w, 3);
    at->labels = (uint32_t)world_below(w, 16);
    world_fill_terms(w, d);
    world_unit(w, d->vector);
    d->item.vector = w->dims != 0 && world_below(w, 5) != 0 ? d->vector : NULL;
}

/* Items point into documents, which move when there are more. */
static inline document_item world_item(const world_document *d) {
    document_item item = d->item;
    item.terms = d->terms;
    if (item.vector != NULL) item.vector = d->vector;
    return item;
}

static inline void world_add(world *w) {
    if (w->count == w->cap) {
        w->cap = w->cap * 2 + 64;
        w->documents = realloc(w->documents, w->cap * sizeof *w->documents);
        assert_non_null(w->documents);
    }
    world_document *d = &w->documents[w->count++];
    memset(d, 0, sizeof *d);
    d->item.at.key = (int64_t)w->count;
    d->is_alive = true;
    world_fill(w, d);
    w->state.generation++;
    w->state.records++;
}

static inline world_document *world_any(world *w) {
    for (;;) {
        world_document *d = &w->documents[world_below(w, w->count)];
        if (d->is_alive) return d;
    }
}

static inline void world_change(world *w) {
    world_document *d = world_any(w);
    world_fill(w, d);
    d->changed = ++w->state.generation;
}

static inline void world_write_chunk(world *w, world_chunk *c, size_t from, size_t to) {
    document_item items[CHUNK_DOCUMENTS];
    size_t count = 0;
    bool has_vectors = false;
    for (size_t i = from; i < to; i++) {
        if (!w->documents[i].is_alive) continue;
        w->documents[i].changed = 0;
        w->documents[i].is_packed = true;
        items[count] = world_item(&w->documents[i]);
        has_vectors = has_vectors || items[count].vector != NULL;
        count++;
    }
    buffer_reset(&c->bytes);
    c->first = (int64_t)from + 1;
    c->last = (int64_t)to;
    c->at.stamp = w->state.generation;
    c->at.size = 0;
    if (count == 0) return;
    uint8_t mark[CHUNK_MARK] = { 7 };
    assert_int_equal(chunk_build(&c->bytes, items, count, has_vectors ? w->dims : 0, 5, mark), UAR_OK);
    c->at.size = c->bytes.len;
}

/* All documents behind the last chunk become one or more. */
static inline void world_pack(world *w, size_t most) {
    w->state.generation++;
    w->state.edits++;
    size_t from = (size_t)w->state.packed;
    while (from < w->count) {
        size_t to = w->count - from > most ? from + most : w->count;
        if (w->chunk_count == w->chunk_cap) {
            w->chunk_cap = w->chunk_cap * 2 + 8;
            w->chunks = realloc(w->chunks, w->chunk_cap * sizeof *w->chunks);
            assert_non_null(w->chunks);
        }
        world_chunk *c = &w->chunks[w->chunk_count++];
        memset(c, 0, sizeof *c);
        buffer_init(&c->bytes, w->alloc, SIZE_MAX / 4);
        c->at.id = ++w->next_chunk;
        world_write_chunk(w, c, from, to);
        from = to;
    }
    w->state.packed = (int64_t)w->count;
}

/* Write one chunk anew, with what changed in it and without what is gone. */
static inline void world_rewrite(world *w, int64_t key) {
    for (size_t i = 0; i < w->chunk_count; i++)
        if (w->chunks[i].first <= key && w->chunks[i].last >= key)
            world_write_chunk(w, &w->chunks[i], (size_t)w->chunks[i].first - 1, (size_t)w->chunks[i].last);
}

static inline void world_remove(world *w) {
    world_document *d = world_any(w);
    d->is_alive = false;
    w->state.records--;
    w->state.generation++;
    w->state.edits++;
    world_rewrite(w, d->item.at.key);
}

static inline uar_status world_chunks(void *ctx, int64_t segment, chunk_fn each, void *arg, uar_error *err) {
    world *w = ctx;
    (void)err;
    assert_int_equal(segment, w->state.id);
    for (size_t i = 0; i < w->chunk_count; i++) {
        if (w->chunks[i].at.size == 0) continue;
        uar_status status = each(arg, &w->chunks[i].at);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static inline uar_status world_read(void *ctx, int64_t chunk, uint64_t at, void *out, size_t len, uar_error *err) {
    world *w = ctx;
    (void)err;
    w->reads++;
    for (size_t i = 0; i < w->chunk_count; i++) {
        if (w->chunks[i].at.id != chunk) continue;
        if (at + len > w->chunks[i].bytes.len) return UAR_E_CORRUPT;
        memcpy(out, w->chunks[i].bytes.ptr + at, len);
        return UAR_OK;
    }
    return UAR_E_NOT_FOUND;
}

static inline uar_status world_loose(void *ctx, const segment_state *now, int64_t after, int64_t since,
                                     document_fn each, void *arg, uar_error *err) {
    world *w = ctx;
    (void)err;
    (void)now;
    for (int part = 0; part < 2; part++) {
        for (size_t i = 0; i < w->count; i++) {
            const world_document *d = &w->documents[i];
            bool is_behind = d->item.at.key > after;
            bool wanted = part == 0 ? is_behind : !is_behind && d->changed > (since > 0 ? since : 0);
            if (!d->is_alive || !wanted) continue;
            document_item item = world_item(d);
            uar_status status = each(arg, &item);
            if (status != UAR_OK) return status;
        }
    }
    return UAR_OK;
}

static inline uar_status world_vector(void *ctx, int64_t key, float *out, bool *found, uar_error *err) {
    const world *w = (const world *)ctx;
    (void)err;
    const world_document *d = &w->documents[key - 1];
    *found = d->is_alive && d->item.vector != NULL;
    if (*found) memcpy(out, d->vector, w->dims * sizeof *out);
    return UAR_OK;
}

static inline index_source world_source(world *w) {
    return (index_source){ w, w->dims, 5, world_chunks, world_read, world_loose, world_vector };
}

static inline void world_init(world *w, const uar_allocator *a, uint64_t seed, size_t dims) {
    memset(w, 0, sizeof *w);
    w->alloc = a;
    w->seed = seed * 2654435761u + 88172645463325252u;
    w->dims = dims;
    w->state = (segment_state){ .id = 3, .generation = 1 };
}

static inline void world_dispose(world *w) {
    for (size_t i = 0; i < w->chunk_count; i++)
        buffer_dispose(&w->chunks[i].bytes);
    free(w->chunks);
    free(w->documents);
}

/* ---- the scorer ---- */

typedef struct model_score {
    int64_t key;
    double score;
    bool is_found;
} model_score;

static inline double model_times(const world_document *d, uint64_t id) {
    for (size_t i = 0; i < d->item.term_count; i++) {
        term t = term_unpack(d->terms + i * TERM_PACKED);
        if (t.id == id) return t.count < DOCUMENT_TERM_COUNT_MAX ? t.count : DOCUMENT_TERM_COUNT_MAX;
    }
    return 0;
}

static inline bool model_counts(const engine_question *q, const world_document *d) {
    const document *at = &d->item.at;
    if (!d->is_alive) return false;
    return q->as_of ? at->valid_from_ms <= q->time_ms && at->valid_until_ms > q->time_ms : at->is_current;
}

static inline bool model_passes(const engine_question *q, const document *d) {
    return (q->as_of || q->include_ended || d->valid_until_ms > q->time_ms) &&
           (q->types == 0 || (q->types >> d->type & 1) != 0) && (q->after_ms == 0 || d->created_ms >= q->after_ms) &&
           (q->before_ms == 0 || d->created_ms < q->before_ms) && (q->labels & ~d->labels) == 0 &&
           (q->places[0] == 0 || q->places[0] == d->places[0]);
}

/* By words alone, a short time finds as well. */
static inline bool model_is_of_time(const engine_question *q, const document *d) {
    return q->time != NULL && d->created_ms >= q->time->from_ms && d->created_ms < q->time->until_ms &&
           q->time->until_ms != INT64_MAX && q->time->until_ms - q->time->from_ms < INT64_C(32) * 86400000;
}

/* The nth current document before (-) or after (+) in its conversation. */
static inline const world_document *model_neighbour(const world *w, size_t at, int steps) {
    const world_document *d = &w->documents[at];
    if (d->item.at.group == 0 || !d->item.at.is_current) return NULL;
    int step = steps < 0 ? -1 : 1;
    size_t i = at;
    for (int left = steps < 0 ? -steps : steps; left > 0;) {
        if ((step < 0 && i == 0) || (step > 0 && i + 1 == w->count)) return NULL;
        i = step < 0 ? i - 1 : i + 1;
        const world_document *o = &w->documents[i];
        if (o->is_alive && o->item.at.is_current && o->item.at.group == d->item.at.group && --left == 0) return o;
    }
    return NULL;
}

typedef struct model_field {
    double own, window, talk;
} model_field;

static inline double model_near(const world *w, size_t at, uint64_t id, const engine_question *q) {
    static const double weights[5] = { 0.6, 1, 1, 1, 0.6 };
    double sum = 0;
    for (int step = -2; step <= 2; step++) {
        const world_document *o = step == 0 ? &w->documents[at] : model_neighbour(w, at, step);
        if (o == NULL) continue;
        double value = id != 0 ? (step == 0 || model_counts(q, o) ? model_times(o, id) : 0) : o->item.at.length;
        sum += weights[step + 2] * value;
    }
    return sum;
}

static inline double model_talk(const world *w, size_t at, uint64_t id, const engine_question *q) {
    const world_document *d = &w->documents[at];
    double sum = 0;
    for (size_t i = 0; i < w->count; i++) {
        const world_document *o = &w->documents[i];
        bool same = d->item.at.group != 0 ? o->item.at.group == d->item.at.group : i == at;
        if (!same || !o->is_alive) continue;
        if (id != 0 ? model_counts(q, o) : o->item.at.is_current)
            sum += id != 0 ? model_times(o, id) : o->item.at.length;
    }
    return sum;
}

/* Usual lengths; records that count. */
typedef struct model_usual {
    double records;
    model_field mean;
} model_usual;

static inline model_usual model_measure(const world *w, const engine_question *q) {
    model_usual u = { 0, { 0, 0, 0 } };
    double current = 0;
    double groups = 0;
    for (size_t i = 0; i < w->count; i++) {
        const world_document *d = &w->documents[i];
        u.records += model_counts(q, d);
        if (!d->is_alive || !d->item.at.is_current) continue;
        current++;
        u.mean.own += d->item.at.length;
        u.mean.window += model_near(w, i, 0, q);
        groups += d->item.at.group == 0 || model_neighbour(w, i, -1) == NULL;
    }
    if (current > 0) {
        u.mean.talk = u.mean.own / groups;
        u.mean.own /= current;
        u.mean.window /= current;
    }
    return u;
}

static inline double model_norm(double length, double mean) {
    return mean > 0 ? 0.5 + 0.5 * length / mean : 1;
}

static inline double model_words(const world *w, size_t at, const engine_question *q, const model_usual *u,
                                 bool *near) {
    double sum = 0;
    *near = false;
    for (size_t t = 0; t < q->term_count; t++) {
        uint64_t id = q->terms[t].id;
        if (q->terms[t].kind != ENGINE_WORD) continue;
        double df = 0;
        for (size_t i = 0; i < w->count; i++)
            df += model_counts(q, &w->documents[i]) && model_times(&w->documents[i], id) > 0;
        double idf = log1p((u->records - df + 0.5) / (df + 0.5));
        double window = model_near(w, at, id, q);
        double x = model_times(&w->documents[at], id) / model_norm(w->documents[at].item.at.length, u->mean.own) +
                   0.7 * window / model_norm(model_near(w, at, 0, q), u->mean.window) +
                   0.08 * model_talk(w, at, id, q) / model_norm(model_talk(w, at, 0, q), u->mean.talk);
        sum += idf * x / (x + 1.2);
        *near = *near || window > 0;
    }
    return sum;
}

static inline double model_bonus(const world_document *d, const engine_question *q, const model_usual *u, bool hybrid) {
    double l = u->mean.own > 0 ? log(d->item.at.length / u->mean.own) : log(d->item.at.length);
    double sum = 0.06 * (l > 1 ? 1 : l < -1 ? -1 : l);
    bool opens = false;
    for (size_t t = 0; t < q->term_count; t++) {
        if (!(model_times(d, q->terms[t].id) > 0)) continue;
        opens = opens || q->terms[t].kind == ENGINE_OPENING;
        if (q->terms[t].kind == ENGINE_ASKS) sum -= 0.08;
    }
    if (opens) sum += 0.05;
    if (q->time != NULL) sum += 0.3 * time_range_nearness(q->time, d->item.at.created_ms);
    return hybrid ? 1.4 * sum : sum;
}

/* Cosine with the centred question, by codes as the engine sees them; what vectors have in common is the engine's sum. */
static inline bool model_cosine(double *out, const world_document *d, const vector_query *query) {
    if (d->item.vector == NULL) return false;
    int8_t row[64];
    float scale = 0;
    float cosine = 0;
    vector_encode(row, &scale, d->vector, WORLD_DIMS);
    vector_scan(&cosine, query, row, &scale, 1);
    *out = (double)cosine;
    return true;
}

static inline double model_adjust(const document *d, double relevance, int64_t now) {
    double age = (double)(now - d->created_ms);
    double recency = age > 0 ? exp2(-age / (30.0 * 86400000)) : 1;
    double mix = 0.5 * recency + 0.3 * (double)d->importance + 0.2 * (1 - ((double)d->trust - 1) / 4);
    return (relevance > 0 ? relevance : 0) * (1 + 0.2 * (2 * mix - 1));
}

/* The best cosine in the conversation of a document that has one. */
static inline double model_best(const world *w, size_t at, const engine_question *q, const double *cosines) {
    uint64_t group = w->documents[at].item.at.group;
    double best = cosines[at];
    for (size_t i = 0; i < w->count && group != 0; i++) {
        const world_document *o = &w->documents[i];
        if (model_counts(q, o) && o->item.vector != NULL && o->item.at.group == group && cosines[i] > best)
            best = cosines[i];
    }
    return best;
}

/* Scores of all documents, by key - 1. `segment` has the sum of vectors. */
static inline model_score *model_run(const world *w, const engine_question *q, const index_segment *segment) {
    model_score *out = calloc(w->count + 1, sizeof *out);
    double *cosines = calloc(w->count + 1, sizeof *cosines);
    double *nearness = calloc(w->count + 1, sizeof *nearness);
    assert_non_null(out);
    assert_non_null(nearness);
    assert_non_null(cosines);
    model_usual u = model_measure(w, q);
    bool hybrid = q->vector != NULL && segment->vectors != 0;
    double best = 0, count = 0, sum = 0, squares = 0;
    vector_query query;
    float centred[WORLD_DIMS];
    if (hybrid) {
        for (size_t i = 0; i < WORLD_DIMS; i++)
            centred[i] = q->vector[i] - 0.5f * segment->vector_sum[i] / (float)segment->vectors;
        assert_true(vector_normalise(centred, WORLD_DIMS));
        assert_int_equal(vector_query_init(&query, w->alloc, centred, WORLD_DIMS), UAR_OK);
    }
    for (size_t i = 0; i < w->count; i++) {
        if (!model_counts(q, &w->documents[i])) continue;
        bool near = false;
        out[i].key = (int64_t)i + 1;
        out[i].score = model_words(w, i, q, &u, &near);
        out[i].is_found = (near || hybrid || model_is_of_time(q, &w->documents[i].item.at)) &&
                          model_passes(q, &w->documents[i].item.at);
        if (out[i].score > best) best = out[i].score;
        if (hybrid) (void)model_cosine(&cosines[i], &w->documents[i], &query);
    }
    for (size_t i = 0; i < w->count; i++) {
        if (!hybrid || out[i].key == 0 || w->documents[i].item.vector == NULL) continue;
        nearness[i] = cosines[i] + 0.5 * model_best(w, i, q, cosines);
        count++;
        sum += nearness[i];
        squares += nearness[i] * nearness[i];
    }
    double mean = count > 0 ? sum / count : 0;
    double deviation = count > 0 ? sqrt(squares / count - mean * mean) : 0;
    for (size_t i = 0; i < w->count; i++) {
        if (out[i].key == 0) continue;
        const world_document *d = &w->documents[i];
        double relevance = best > 0 ? out[i].score / best : 0;
        if (hybrid && d->item.vector != NULL && deviation > 1e-6) relevance += 0.14 * (nearness[i] - mean) / deviation;
        out[i].score = model_adjust(&d->item.at, relevance + model_bonus(d, q, &u, hybrid), q->time_ms);
    }
    if (hybrid) vector_query_dispose(&query);
    free(cosines);
    free(nearness);
    return out;
}

#endif
