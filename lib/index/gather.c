/* Owns: reading chunks and loose documents for a search. Invariants: each chunk is read at most once a search; the postings
 * found of a term are in rising order of documents. */
#include "base/error.h"
#include "index/search.h"

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
}

static void scan_none(engine_answer *s, size_t base, size_t count) {
    for (size_t i = 0; i < count; i++)
        s->cosines[base + i] = SEARCH_NO_COSINE;
}

static uar_status gather_chunk(engine_answer *s, const search_part *p, const segment_chunk *c) {
    uar_status status = UAR_OK;
    for (size_t t = 0; t < s->question.term_count && status == UAR_OK; t++)
        status = gather_term(s, t, p, c);
    if (status != UAR_OK || !s->is_hybrid) return status;
    bool has_codes = c->body.codes != NULL && c->head.dims == s->source->dims && c->head.model == s->source->model;
    if (has_codes)
        scan_codes(s, p, c->base, c->body.codes, c->body.scales, c->head.count);
    else
        scan_none(s, p->base + c->base, c->head.count);
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

/* A body that there is room for stays; another one is read, used and let go. */
static uar_status visit_chunk(engine_answer *s, const search_part *p, size_t at, uar_error *err) {
    segment_chunk *c = &p->segment->chunks[at];
    segment_chunk passing;
    uar_status status = search_take_body(&passing, s->engine, s->since, p->segment, at, s->source, err);
    if (status != UAR_OK) return status;
    status = gather_chunk(s, p, &passing);
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
    return UAR_OK;
}
