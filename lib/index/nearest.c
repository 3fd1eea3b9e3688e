/*
 * Owns: the nearest documents of one segment, exactly: the keys and the order that a comparison with all vectors would give.
 * One pass over the codes keeps what may be among them, by the error that a score can have; the vectors of these few are
 * read, likely ones first, until no other can come in any more.
 *
 * Invariants: `floor` is `least`, or a cosine that at least `cap` documents reach for certain, so one whose highest possible
 * cosine lies below it is not among the nearest; `lows` is a heap of the `cap` highest certain cosines, the lowest on top.
 */
#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "index/search.h"
#include "index/vector_bits.h"

/* From this cosine on, bits rule out most of what isn't alike. */
#define BITS_FROM 0.75f
/* Rows scored at a time. */
#define ROWS 1024

typedef struct candidate {
    float high; /* its cosine is at most this */
    int64_t key;
} candidate;

/* One look for what is near. */
typedef struct look {
    engine *engine;
    const index_source *source;
    index_segment *segment;
    const engine_near_question *question;
    uint64_t since; /* clock of the engine before it */
    vector_query query;
    size_t cap;
    float *lows;
    size_t low_count;
    float floor;
    candidate *list;
    size_t count, room;
} look;

static bool is_meant(const look *l, size_t at) {
    const document *d = &l->segment->documents[at];
    return (l->segment->flags[at] & SEGMENT_LINKED) != 0 && d->type == l->question->type &&
           d->valid_until_ms > l->question->time_ms;
}

static void sift_low(float *lows, size_t count) {
    for (size_t at = 0;;) {
        size_t child = at * 2 + 1;
        if (child >= count) return;
        if (child + 1 < count && lows[child + 1] < lows[child]) child++;
        if (lows[at] <= lows[child]) return;
        float low = lows[at];
        lows[at] = lows[child];
        lows[child] = low;
        at = child;
    }
}

static void raise_low(float *lows, size_t at) {
    while (at != 0 && lows[at] < lows[(at - 1) / 2]) {
        float low = lows[at];
        lows[at] = lows[(at - 1) / 2];
        lows[(at - 1) / 2] = low;
        at = (at - 1) / 2;
    }
}

static void note_low(look *l, float low) {
    if (l->low_count < l->cap) {
        l->lows[l->low_count] = low;
        raise_low(l->lows, l->low_count++);
    } else if (low > l->lows[0]) {
        l->lows[0] = low;
        sift_low(l->lows, l->cap);
    }
    if (l->low_count == l->cap && l->lows[0] > l->floor) l->floor = l->lows[0];
}

static void drop_hopeless(look *l) {
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].high >= l->floor) l->list[kept++] = l->list[i];
    l->count = kept;
}

static uar_status make_room(look *l) {
    if (l->count < l->room) return UAR_OK;
    drop_hopeless(l);
    if (l->count < l->room / 2) return UAR_OK;
    size_t room = l->room * 2 + 64;
    candidate *list = (candidate *)alloc_resize(l->engine->alloc, l->list, room * sizeof *list);
    if (list == NULL) return UAR_E_NOMEM;
    l->list = list;
    l->room = room;
    return UAR_OK;
}

/* Some rows of a run whose first is document `base`; `which` NULL: all. */
static uar_status weigh(look *l, size_t base, const int8_t *rows, const float *scales, const uint32_t *which,
                        size_t count) {
    float scores[ROWS + SEARCH_LANES];
    vector_scan_some(scores, &l->query, rows, scales, which, count);
    for (size_t i = 0; i < count; i++) {
        float scale = scales[which != NULL ? which[i] : i];
        scores[i] = scale > 0 ? scores[i] + scale * l->query.slack + l->query.margin : -INFINITY;
    }
    for (size_t i = 0; i < count; i++) {
        if (i % SEARCH_LANES == 0) i = search_skip_below(scores, i, count, l->floor);
        if (i == count) break;
        size_t row = which != NULL ? which[i] : i;
        if (!(scores[i] >= l->floor) || !is_meant(l, base + row)) continue;
        uar_status status = make_room(l);
        if (status != UAR_OK) return status;
        l->list[l->count++] = (candidate){ scores[i], l->segment->documents[base + row].key };
        note_low(l, scores[i] - 2 * (scales[row] * l->query.slack + l->query.margin));
    }
    return UAR_OK;
}

static uar_status scan(look *l, size_t base, const int8_t *rows, const float *scales, size_t count) {
    size_t stride = vector_stride(l->query.dims);
    uar_status status = UAR_OK;
    for (size_t from = 0; from < count && status == UAR_OK; from += ROWS) {
        size_t some = count - from < ROWS ? count - from : ROWS;
        status = weigh(l, base + from, rows + from * stride, scales + from, NULL, some);
    }
    return status;
}

static uar_status scan_codes(look *l, const segment_chunk *c) {
    if (c->sheet == NULL) return scan(l, c->base, c->body.codes, c->body.scales, c->head.count);
    uint32_t which[CHUNK_DOCUMENTS];
    size_t left = vector_bits_sift(which, &l->query, l->floor, c->sheet, c->body.scales, c->head.count);
    return left != 0 ? weigh(l, c->base, c->body.codes, c->body.scales, which, left) : UAR_OK;
}

static uar_status scan_chunk(look *l, size_t at, uar_error *err) {
    segment_chunk *c = &l->segment->chunks[at];
    segment_chunk passing;
    if (c->head.dims != l->source->dims || c->head.model != l->source->model) return UAR_OK;
    uar_status status = search_take_body(&passing, l->engine, l->since, l->segment, at, l->source, err);
    if (status != UAR_OK) return status;
    bool by_bits = l->question->least >= BITS_FROM;
    if (by_bits) status = search_take_sheet(l->engine, l->since, l->segment, at);
    passing.sheet = by_bits ? c->sheet : NULL;
    if (status == UAR_OK && passing.body.codes != NULL) status = scan_codes(l, &passing);
    if (c->block == NULL) segment_release(l->segment, &passing);
    return error_plain(err, status);
}

static uar_status scan_all(look *l, uar_error *err) {
    for (size_t at = 0; at < l->segment->chunk_count; at++) {
        uar_status status = scan_chunk(l, at, err);
        if (status != UAR_OK) return status;
    }
    const segment_loose *loose = &l->segment->loose;
    if (loose->slots == 0) return UAR_OK;
    return error_plain(err, scan(l, l->segment->packed, loose->codes, loose->scales, loose->slots));
}

/* The list is a heap from here on: the likeliest on top. */
static void sift_candidate(candidate *list, size_t count, size_t at) {
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= count) return;
        if (child + 1 < count && list[child + 1].high > list[child].high) child++;
        if (list[at].high >= list[child].high) return;
        candidate c = list[at];
        list[at] = list[child];
        list[child] = c;
        at = child;
    }
}

static candidate take_likeliest(look *l) {
    candidate likeliest = l->list[0];
    l->list[0] = l->list[--l->count];
    sift_candidate(l->list, l->count, 0);
    return likeliest;
}

static bool is_before(const engine_near *a, const engine_near *b) {
    return a->cosine > b->cosine || (!(a->cosine < b->cosine) && a->key > b->key);
}

static void place(engine_near *out, size_t *count, size_t cap, engine_near one) {
    size_t at = *count;
    if (at == cap) {
        if (!is_before(&one, &out[at - 1])) return;
        at--;
    } else {
        ++*count;
    }
    for (; at > 0 && is_before(&one, &out[at - 1]); at--)
        out[at] = out[at - 1];
    out[at] = one;
}

static uar_status rescore(engine_near *out, size_t *count, look *l, uar_error *err) {
    drop_hopeless(l);
    for (size_t i = l->count / 2; i-- > 0;)
        sift_candidate(l->list, l->count, i);
    float *room = (float *)alloc_zeroed(l->engine->alloc, l->source->dims, sizeof(float));
    uar_status status = room != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
    while (status == UAR_OK && l->count != 0) {
        candidate c = take_likeliest(l);
        if (*count == l->cap && c.high < out[l->cap - 1].cosine) break;
        bool found = false;
        status = l->source->vector(l->source->ctx, c.key, room, &found, err);
        if (status != UAR_OK || !found) continue;
        float cosine = vector_dot(l->question->vector, room, l->source->dims);
        if (cosine >= l->question->least) place(out, count, l->cap, (engine_near){ c.key, cosine });
    }
    alloc_free(l->engine->alloc, room);
    return status;
}

static uar_status look_for(engine_near *out, size_t *count, look *l, uar_error *err) {
    uar_status status = vector_query_init(&l->query, l->engine->alloc, l->question->vector, l->source->dims);
    if (status != UAR_OK) return error_plain(err, status);
    l->lows = (float *)alloc_zeroed(l->engine->alloc, l->cap, sizeof *l->lows);
    status = l->lows != NULL ? scan_all(l, err) : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK && l->count != 0) status = rescore(out, count, l, err);
    alloc_free(l->engine->alloc, l->lows);
    alloc_free(l->engine->alloc, l->list);
    vector_query_dispose(&l->query);
    return status;
}

uar_status engine_nearest(engine_near *out, size_t *count, size_t cap, engine *e, const engine_near_question *q,
                          const segment_state *segment, const index_source *source, uar_error *err) {
    look l = { .engine = e, .source = source, .question = q, .since = e->clock, .cap = cap, .floor = q->least };
    assert(source->vector != NULL);
    e->sheets = ENGINE_SHEETS;
    engine_near *best = (engine_near *)alloc_zeroed(e->alloc, cap + 1, sizeof *best);
    if (best == NULL) return error_plain(err, UAR_E_NOMEM);
    size_t found = 0;
    uar_status status = engine_open(&l.segment, e, segment, source, err);
    if (status == UAR_OK && cap != 0 && source->dims != 0 && l.segment->vectors != 0)
        status = look_for(best, &found, &l, err);
    if (status == UAR_OK) {
        memcpy(out, best, found * sizeof *best);
        *count = found;
    }
    alloc_free(e->alloc, best);
    (void)engine_settle(e, e->clock, 0);
    return status;
}
