/* Owns: reading chunks and loose documents for a search. Invariants: each chunk is read at most once a search; the postings
 * found of a term are in rising order of documents. */
#include <math.h>

#include "base/error.h"
#include "index/search.h"
#include "index/vector_bits.h"

static uar_status found_room(engine_found *f, const uar_allocator *a, size_t more) {
    if (f->cap - f->count >= more) return UAR_OK;
    size_t cap = f->cap + f->cap / 2 + more + 64;
    uint32_t *at = (uint32_t *)alloc_resize(a, f->at, cap * sizeof *at);
    if (at != NULL) f->at = at;
    uint8_t *times = (uint8_t *)alloc_resize(a, f->times, cap);
    if (times != NULL) f->times = times;
    if (at == NULL || times == NULL) return UAR_E_NOMEM;
    f->cap = cap;
    return UAR_OK;
}

static uar_status gather_term(engine_answer *s, size_t t, const search_part *p, const segment_chunk *c) {
    size_t count = 0;
    const uint8_t *postings = chunk_find(&c->body, s->question.terms[t].id, &count);
    if (count == 0) return UAR_OK;
    engine_found *f = &s->engine->found[t];
    uar_status status = found_room(f, s->engine->alloc, count);
    if (status != UAR_OK) return status;
    const uint8_t *in = p->in + c->base;
    size_t n = f->count;
    for (size_t i = 0; i < count; i++) {
        chunk_posting one = chunk_posting_at(postings, i);
        f->at[n] = p->base + c->base + one.document;
        f->times[n] = (uint8_t)one.count;
        n += (in[one.document] & s->in_mask) != 0;
    }
    f->count = n;
    return UAR_OK;
}

/* Documents that don't count in this search have no cosine. */
static void scan_codes(engine_answer *s, const search_part *p, size_t first, const int8_t *codes, const float *scales,
                       size_t count) {
    float *cosines = s->cosines + p->base + first;
    const uint8_t *in = p->in + first;
    vector_scan(cosines, &s->query, codes, scales, count);
    for (size_t i = 0; i < count; i++) {
        if (!(scales[i] > 0) || (in[i] & s->in_mask) == 0) cosines[i] = SEARCH_NO_COSINE;
        if (scales[i] > s->widest) s->widest = scales[i];
    }
    if (s->by_bits) memset(s->settled + p->base + first, 1, count);
}

/* What the estimates of a chunk add up to, in lanes; what doesn't take part gets no cosine. */
static void note_estimates(search_rough *r, float *restrict cosines, const float *restrict errors,
                           const float *restrict takes_part, float apart, size_t count) {
    float sums[SEARCH_LANES] = { 0 }, squares[SEARCH_LANES] = { 0 }, wrong[SEARCH_LANES] = { 0 }, seen = 0;
    for (size_t from = 0; from < count; from += SEARCH_LANES) {
        size_t some = count - from < SEARCH_LANES ? count - from : SEARCH_LANES;
        for (size_t lane = 0; lane < some; lane++) {
            float is_one = takes_part[from + lane], value = cosines[from + lane] * is_one;
            float error = errors[from + lane] * is_one;
            sums[lane] += value;
            squares[lane] += value * value;
            wrong[lane] += error * error;
            cosines[from + lane] = value + (1 - is_one) * SEARCH_NO_COSINE;
        }
    }
    for (size_t i = 0; i < count; i++)
        seen += takes_part[i];
    r->spread.count += (double)seen;
    for (size_t lane = 0; lane < SEARCH_LANES; lane++) {
        r->spread.sum += (double)sums[lane];
        r->spread.squares += (double)squares[lane];
        r->errors += (double)(wrong[lane] * apart * apart);
    }
}

/* The same by bits. */
static void scan_bits(engine_answer *s, const search_part *p, segment_chunk *c) {
    float takes_part[CHUNK_DOCUMENTS];
    float *cosines = s->cosines + p->base + c->base;
    uint8_t *settled = s->settled + p->base + c->base, mask = s->in_mask;
    const uint8_t *in = p->in + c->base;
    const float *scales = c->body.scales;
    size_t count = c->head.count;
    c->apart = vector_bits_estimate(cosines, &s->query, c->sheet, count);
    for (size_t i = 0; i < count; i++)
        settled[i] = (in[i] & mask) == 0;
    for (size_t i = 0; i < count; i++)
        takes_part[i] = scales[i] > 0 && settled[i] == 0 ? 1.0f : 0.0f;
    for (size_t i = 0; i < count; i++)
        settled[i] = takes_part[i] < 1;
    if (c->scale > s->widest) s->widest = c->scale;
    const float *errors = vector_bits_errors(c->sheet, c->head.dims, count);
    note_estimates(&s->rough, cosines, errors, takes_part, c->apart, count);
}

static void scan_none(engine_answer *s, size_t base, size_t count) {
    for (size_t i = 0; i < count; i++)
        s->cosines[base + i] = SEARCH_NO_COSINE;
    if (s->by_bits) memset(s->settled + base, 1, count);
}

static bool has_codes(const segment_chunk *c, const index_source *source) {
    return c->body.codes != NULL && c->head.dims == source->dims && c->head.model == source->model;
}

static uar_status gather_chunk(engine_answer *s, const search_part *p, segment_chunk *c) {
    uar_status status = UAR_OK;
    for (size_t t = 0; t < s->question.term_count && status == UAR_OK; t++)
        status = gather_term(s, t, p, c);
    if (status != UAR_OK || !s->is_hybrid) return status;
    if (!has_codes(c, s->source))
        scan_none(s, p->base + c->base, c->head.count);
    else if (s->by_bits && c->sheet != NULL)
        scan_bits(s, p, c);
    else
        scan_codes(s, p, c->base, c->body.codes, c->body.scales, c->head.count);
    return UAR_OK;
}

uar_status search_take_body(segment_chunk *out, engine *e, uint64_t since, index_segment *segment, size_t at,
                            const index_source *source, uar_error *err) {
    segment_chunk *c = &segment->chunks[at];
    if (c->block == NULL) {
        size_t cost = segment_body_cost(c);
        bool stays = engine_settle(e, since, cost);
        uar_status status = segment_read_body(out, segment, at, source, err);
        if (status != UAR_OK) return status;
        e->body_reads++;
        if (!stays) return UAR_OK;
        *c = *out;
        segment->body_bytes += cost;
    }
    *out = *c;
    return UAR_OK;
}

static float largest(const float *values, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

uar_status search_take_sheet(engine *e, uint64_t since, index_segment *segment, size_t at) {
    segment_chunk *c = &segment->chunks[at];
    if (c->sheet != NULL || c->block == NULL || c->body.codes == NULL || e->sheets == 0) return UAR_OK;
    size_t cost = segment_sheet_cost(c);
    if (!engine_settle(e, since, cost)) return UAR_OK;
    float *sheet = (float *)alloc_bytes(e->alloc, cost);
    uar_status status = sheet != NULL ? UAR_OK : UAR_E_NOMEM;
    if (status == UAR_OK)
        status = vector_bits_build(sheet, e->alloc, c->body.codes, c->body.scales, c->head.dims, c->head.count);
    if (status != UAR_OK) {
        alloc_free(e->alloc, sheet);
        return status;
    }
    c->sheet = sheet;
    c->error = largest(vector_bits_errors(sheet, c->head.dims, c->head.count), c->head.count);
    c->scale = largest(c->body.scales, c->head.count);
    segment->body_bytes += cost;
    e->sheets--;
    return UAR_OK;
}

/* A body that there is room for stays; another one is read, used and let go. */
static uar_status visit_chunk(engine_answer *s, const search_part *p, size_t at, uar_error *err) {
    segment_chunk *c = &p->segment->chunks[at];
    segment_chunk passing;
    uar_status status = search_take_body(&passing, s->engine, s->since, p->segment, at, s->source, err);
    if (status != UAR_OK) return status;
    if (s->by_bits && has_codes(&passing, s->source)) status = search_take_sheet(s->engine, s->since, p->segment, at);
    if (status == UAR_OK) status = gather_chunk(s, p, c->block != NULL ? c : &passing);
    if (c->block == NULL) segment_release(p->segment, &passing);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

/* How often a loose document has a term; its terms are sorted. */
static uint8_t loose_times(const segment_loose *l, size_t slot, uint64_t id) {
    size_t from = l->starts[slot];
    size_t to = l->starts[slot + 1];
    size_t end = to;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (l->ids[middle] < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < end && l->ids[from] == id ? l->counts[from] : 0;
}

static uar_status gather_loose(engine_answer *s, const search_part *p) {
    const segment_loose *l = &p->segment->loose;
    size_t first = p->segment->packed;
    for (size_t t = 0; t < s->question.term_count; t++) {
        engine_found *f = &s->engine->found[t];
        uar_status status = found_room(f, s->engine->alloc, l->slots);
        if (status != UAR_OK) return status;
        for (size_t slot = 0; slot < l->slots; slot++) {
            if ((p->in[first + slot] & s->in_mask) == 0) continue;
            uint8_t times = loose_times(l, slot, s->question.terms[t].id);
            if (times == 0) continue;
            f->at[f->count] = p->base + (uint32_t)(first + slot);
            f->times[f->count++] = times;
        }
    }
    if (s->is_hybrid && l->slots != 0) scan_codes(s, p, first, l->codes, l->scales, l->slots);
    return UAR_OK;
}

/* Chunks of which all cosines are found to see how far the scale of estimates is off. */
#define SAMPLE_CHUNKS 16

/* How cosines spread with a share of the best of their conversation, as far as it stands together in the chunk. */
static void spread_runs(score_spread *spread, double *bests, const float *cosines, const uint32_t *groups,
                        size_t count) {
    for (size_t from = 0, to; from < count; from = to) {
        float best = SEARCH_NO_COSINE;
        for (to = from; to < count && groups[to] == groups[from]; to++)
            best = cosines[to] > best ? cosines[to] : best;
        for (size_t i = from; i < to; i++)
            if (cosines[i] > SEARCH_NO_COSINE) {
                score_spread_add(spread, (double)cosines[i] + (double)(SCORE_TALK_BEST * best));
                *bests += (double)best;
            }
    }
}

typedef struct scale_sample {
    score_spread bits, codes;
    double bits_best, codes_best; /* sums over documents of the best of their conversations; the first of what estimates
                                   * stand for */
} scale_sample;

static void sample_chunk(scale_sample *sample, const engine_answer *s, const search_part *p, const segment_chunk *c) {
    float likely[CHUNK_DOCUMENTS], cosines[CHUNK_DOCUMENTS];
    const float *estimates = s->cosines + p->base + c->base;
    const search_rough *r = &s->rough;
    size_t count = c->head.count;
    vector_scan(cosines, &s->query, c->body.codes, c->body.scales, count);
    for (size_t i = 0; i < count; i++) {
        bool has_one = estimates[i] > SEARCH_NO_COSINE;
        likely[i] = has_one ? (float)(r->middle + r->stretch * ((double)estimates[i] - r->middle)) : SEARCH_NO_COSINE;
        if (!has_one) cosines[i] = SEARCH_NO_COSINE;
    }
    spread_runs(&sample->bits, &sample->bits_best, likely, p->segment->group + c->base, count);
    spread_runs(&sample->codes, &sample->codes_best, cosines, p->segment->group + c->base, count);
}

/* Cosines are seldom spread so evenly as their errors: what that does to the scale is seen in a few chunks. */
static void calibrate(engine_answer *s) {
    scale_sample sample = { .bits_best = 0 };
    size_t chunks = 0, seen = 0;
    for (size_t i = 0; i < s->part_count; i++)
        chunks += s->parts[i].segment->chunk_count;
    for (size_t i = 0; i < s->part_count; i++) {
        const index_segment *g = s->parts[i].segment;
        for (size_t c = 0; c < g->chunk_count; c++, seen++)
            if (seen % (chunks / SAMPLE_CHUNKS + 1) == 0 && g->chunks[c].sheet != NULL &&
                has_codes(&g->chunks[c], s->source))
                sample_chunk(&sample, s, &s->parts[i], &g->chunks[c]);
    }
    score_scale bits = score_scale_of(&sample.bits), codes = score_scale_of(&sample.codes);
    if (!(bits.factor > 0) || !(codes.factor > 0)) return;
    s->rough.shift = codes.mean - bits.mean;
    s->rough.ratio = bits.factor / codes.factor;
    /* The best estimates themselves: what they stand for, undone. */
    double middle = s->rough.middle, best = sample.bits_best / sample.bits.count;
    double excess = middle + (best - middle) / s->rough.stretch - sample.codes_best / sample.codes.count;
    s->rough.excess = excess > 0 ? (float)excess : 0;
}

/* Estimates spread wider than cosines, by their errors. */
static void judge_estimates(engine_answer *s) {
    search_rough *r = &s->rough;
    if (!(r->spread.count > 0)) return;
    double mean = r->spread.sum / r->spread.count, wrong = r->errors / r->spread.count;
    double variance = r->spread.squares / r->spread.count - mean * mean;
    double share = variance > wrong ? (variance - wrong) / variance : 0;
    r->middle = mean;
    r->stretch = sqrt(share > 0.04 ? share : 0.04);
    r->error = (float)sqrt(wrong);
    calibrate(s);
}

uar_status search_gather(engine_answer *s, uar_error *err) {
    for (size_t t = 0; t < s->question.term_count; t++)
        s->engine->found[t].count = 0;
    for (size_t i = 0; i < s->part_count; i++) {
        const search_part *p = &s->parts[i];
        uar_status status = UAR_OK;
        for (size_t c = 0; c < p->segment->chunk_count && status == UAR_OK; c++)
            status = visit_chunk(s, p, c, err);
        if (status != UAR_OK) return status;
        status = gather_loose(s, p);
        if (status != UAR_OK) return error_plain(err, status);
    }
    if (s->by_bits) judge_estimates(s);
    return UAR_OK;
}
