/* Owns: the nearest documents of one segment. Invariant: of the living current documents of the type whose cosine may be
 * `least` or more, none that isn't on the list has a higher approximate cosine than one that is. */
#include "base/error.h"
#include "index/search.h"
#include "index/vector_head.h"

/* From this cosine on, the heads of vectors rule out most of what isn't alike. */
#define HEADS_FROM 0.6f

static void place(engine_near *out, size_t *count, size_t cap, engine_near one) {
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

/* One look for what is near. */
typedef struct look {
    engine *engine;
    const index_source *source;
    index_segment *segment;
    uint64_t since; /* clock of the engine before it */
    vector_query query;
    uint8_t type;
    int64_t time_ms;
    float least;
    engine_near *out;
    size_t count, cap;
} look;

static bool is_meant(const look *l, size_t at) {
    const document *d = &l->segment->documents[at];
    return (l->segment->flags[at] & SEGMENT_LINKED) != 0 && d->type == l->type && d->valid_until_ms > l->time_ms;
}

/* Some rows of a run whose first is document `base`; `which` NULL: all. */
static void weigh(look *l, size_t base, const int8_t *rows, const float *scales, const uint32_t *which, size_t count) {
    float scores[VECTOR_HEAD_ROWS];
    vector_scan_some(scores, &l->query, rows, scales, which, count);
    for (size_t i = 0; i < count; i++) {
        size_t row = which != NULL ? which[i] : i;
        float slack = scales[row] * l->query.slack + l->query.margin;
        if (!(scales[row] > 0) || scores[i] + slack < l->least || !is_meant(l, base + row)) continue;
        place(l->out, &l->count, l->cap, (engine_near){ l->segment->documents[base + row].key, scores[i], slack });
    }
}

static void scan(look *l, size_t base, const int8_t *rows, const float *scales, const float *rests, size_t count) {
    size_t stride = vector_stride(l->query.dims);
    for (size_t from = 0; from < count; from += VECTOR_HEAD_ROWS) {
        uint32_t which[VECTOR_HEAD_ROWS];
        size_t some = count - from < VECTOR_HEAD_ROWS ? count - from : VECTOR_HEAD_ROWS;
        const int8_t *first = rows + from * stride;
        size_t left = some;
        if (rests != NULL)
            left = vector_head_sift(which, &l->query, l->least, first, scales + from, rests + from, some);
        if (left != 0) weigh(l, base + from, first, scales + from, rests != NULL ? which : NULL, left);
    }
}

/* The rests of a chunk that stays in memory are kept with it. */
static uar_status make_rests(segment_chunk *c, const uar_allocator *a) {
    if (c->rests != NULL) return UAR_OK;
    float *rests = (float *)alloc_zeroed(a, c->head.count, sizeof *rests);
    if (rests == NULL) return UAR_E_NOMEM;
    vector_rests(rests, c->body.codes, c->body.scales, c->head.dims, c->head.count);
    c->rests = rests;
    return UAR_OK;
}

static uar_status scan_chunk(look *l, size_t at, uar_error *err) {
    segment_chunk *c = &l->segment->chunks[at];
    segment_chunk passing;
    if (c->head.dims != l->source->dims || c->head.model != l->source->model) return UAR_OK;
    uar_status status = search_take_body(&passing, l->engine, l->since, l->segment, at, l->source, err);
    if (status != UAR_OK) return status;
    bool has_heads = c->block != NULL && l->least >= HEADS_FROM && vector_has_heads(l->source->dims);
    if (has_heads) status = make_rests(c, l->engine->alloc);
    if (status == UAR_OK && passing.body.codes != NULL)
        scan(l, c->base, passing.body.codes, passing.body.scales, has_heads ? c->rests : NULL, c->head.count);
    if (c->block == NULL) segment_release(l->segment, &passing);
    return error_plain(err, status);
}

static uar_status scan_all(look *l, uar_error *err) {
    for (size_t at = 0; at < l->segment->chunk_count; at++) {
        uar_status status = scan_chunk(l, at, err);
        if (status != UAR_OK) return status;
    }
    const segment_loose *loose = &l->segment->loose;
    if (loose->slots != 0) scan(l, l->segment->packed, loose->codes, loose->scales, NULL, loose->slots);
    return UAR_OK;
}

uar_status engine_nearest(engine_near *out, size_t *count, size_t cap, engine *e, const float *vector, uint8_t type,
                          int64_t time_ms, float least, const segment_state *segment, const index_source *source,
                          uar_error *err) {
    look l = { .engine = e, .source = source, .since = e->clock, .type = type, .time_ms = time_ms, .least = least };
    l.out = out;
    l.cap = cap;
    uar_status status = engine_open(&l.segment, e, segment, source, err);
    if (status == UAR_OK && cap != 0 && source->dims != 0 && l.segment->vectors != 0) {
        status = error_plain(err, vector_query_init(&l.query, e->alloc, vector, source->dims));
        if (status == UAR_OK) {
            status = scan_all(&l, err);
            vector_query_dispose(&l.query);
        }
    }
    if (status == UAR_OK) *count = l.count;
    (void)engine_settle(e, e->clock, 0);
    return status;
}
