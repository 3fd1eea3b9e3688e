/*
 * Owns: the second look of a search whose first one was by bits. Invariants: what is settled has a cosine by codes; every
 * document whose estimate leaves it a chance is settled, and so is the best cosine of each conversation that one of these
 * belongs to, but for what lies more than DOUBTS deviations off its estimate.
 */
#include <assert.h>

#include "base/error.h"
#include "index/search.h"
#include "index/vector_bits.h"

/* Deviations that an estimate may be too low by before its document is lost. */
#define DOUBTS 2.5f

/* What a document's own cosine adds to the estimate's share of its conversation. */
static float share_of(const engine_answer *s, const search_part *p, size_t at) {
    return SCORE_TALK_BEST * s->talk[p->group_base + p->segment->group[at]];
}

static void settle(engine_answer *s, const search_part *p, const segment_chunk *c, const uint32_t *which,
                   size_t count) {
    float cosines[CHUNK_DOCUMENTS];
    assert(count <= CHUNK_DOCUMENTS);
    vector_scan_some(cosines, &s->query, c->body.codes, c->body.scales, which, count);
    for (size_t i = 0; i < count; i++) {
        size_t at = c->base + which[i], number = p->base + at;
        s->cosines[number] = cosines[i] + share_of(s, p, at);
        s->relevance[number] = search_relevance(s, p, at, s->cosines[number]);
        s->settled[number] = 1;
    }
}

/* Settle the documents of a chunk that may reach `floor` if estimates are `doubts` deviations too low. */
static void look_at_chunk(engine_answer *s, const search_part *p, const segment_chunk *c, float floor, float doubts) {
    uint32_t which[CHUNK_DOCUMENTS];
    const float *relevance = s->relevance + p->base + c->base;
    const uint8_t *settled = s->settled + p->base + c->base;
    const float *errors = vector_bits_errors(c->sheet, c->head.dims, c->head.count);
    float worth = doubts * s->scorer.vectors * c->apart;
    size_t n = 0;
    for (size_t at = 0; at < c->head.count; at++) {
        if (at % SEARCH_LANES == 0) at = search_skip_below(relevance, at, c->head.count, floor - worth * c->error);
        if (at == c->head.count) break;
        bool is_hopeful = relevance[at] + worth * errors[at] >= floor;
        if (is_hopeful && settled[at] == 0 && search_wants(s, p, c->base + at)) which[n++] = (uint32_t)at;
    }
    if (n != 0) settle(s, p, c, which, n);
}

static void look_again(engine_answer *s, float floor, float doubts) {
    for (size_t i = 0; i < s->part_count; i++) {
        const search_part *p = &s->parts[i];
        for (size_t c = 0; c < p->segment->chunk_count; c++)
            if (p->segment->chunks[c].sheet != NULL)
                look_at_chunk(s, p, &p->segment->chunks[c], floor / search_run_at(s, p, c).lift, doubts);
    }
}

static const segment_chunk *chunk_of(const index_segment *g, size_t at) {
    size_t from = 0, to = g->chunk_count;
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (g->chunks[middle].base <= at)
            from = middle;
        else
            to = middle;
    }
    return &g->chunks[from];
}

/* The best cosine of a conversation, by codes: what might be better than the best that is settled is settled as well. */
static float find_best(engine_answer *s, const search_part *p, uint32_t group) {
    const index_segment *g = p->segment;
    float best = SEARCH_NO_COSINE;
    for (uint32_t at = g->groups.tails[group]; at != SEGMENT_NONE; at = g->before[at]) {
        float cosine = s->cosines[p->base + at];
        if (s->settled[p->base + at] == 0 || !(cosine > SEARCH_NO_COSINE)) continue;
        cosine -= share_of(s, p, at);
        best = cosine > best ? cosine : best;
    }
    for (uint32_t at = g->groups.tails[group]; at != SEGMENT_NONE; at = g->before[at]) {
        float estimate = s->cosines[p->base + at] - share_of(s, p, at);
        if (s->settled[p->base + at] != 0 || estimate + DOUBTS * s->rough.error < best) continue;
        const segment_chunk *c = chunk_of(g, at);
        uint32_t row = (uint32_t)(at - c->base);
        settle(s, p, c, &row, 1);
        float cosine = s->cosines[p->base + at] - share_of(s, p, at);
        best = cosine > best ? cosine : best;
    }
    return best;
}

static void settle_talk(engine_answer *s, const search_part *p, uint32_t group) {
    const index_segment *g = p->segment;
    float *talk = &s->talk[p->group_base + group], best = find_best(s, p, group);
    float more = SCORE_TALK_BEST * (best - *talk);
    *talk = best;
    for (uint32_t at = g->groups.tails[group]; at != SEGMENT_NONE; at = g->before[at]) {
        float *cosine = &s->cosines[p->base + at];
        if (s->settled[p->base + at] == 0 || !(*cosine > SEARCH_NO_COSINE)) continue;
        *cosine += more;
        s->relevance[p->base + at] = search_relevance(s, p, at, *cosine);
    }
}

/* `talk_own` is zero when words are done: it marks conversations here. */
static void mark_talks(engine_answer *s, const search_part *p, search_run run, float floor, size_t *count) {
    const float *relevance = s->relevance + p->base;
    float *marks = s->talk_own + p->group_base;
    for (size_t at = run.from; at < run.to; at++) {
        if ((at - run.from) % SEARCH_LANES == 0) at = search_skip_below(relevance, at, run.to, floor);
        if (at == run.to) break;
        uint32_t group = p->segment->group[at];
        bool is_meant = relevance[at] >= floor && s->settled[p->base + at] != 0 && search_wants(s, p, at) &&
                        s->cosines[p->base + at] > SEARCH_NO_COSINE;
        if (!is_meant || marks[group] > 0) continue;
        marks[group] = 1;
        s->touched_groups[(*count)++] = group;
    }
}

static void settle_talks(engine_answer *s, const search_part *p, float floor) {
    float doubt = DOUBTS * SCORE_TALK_BEST * s->scorer.vectors * s->rough.error;
    size_t count = 0;
    for (size_t n = 0; n <= p->segment->chunk_count; n++) {
        search_run run = search_run_at(s, p, n);
        mark_talks(s, p, run, floor / run.lift - doubt, &count);
    }
    for (size_t i = 0; i < count; i++) {
        settle_talk(s, p, s->touched_groups[i]);
        s->talk_own[p->group_base + s->touched_groups[i]] = 0;
    }
}

static uar_status settle_best(engine_answer *s, float *floor) {
    uar_status status = search_floor(floor, s, false);
    for (size_t i = 0; i < s->part_count && status == UAR_OK; i++)
        settle_talks(s, &s->parts[i], *floor);
    return status == UAR_OK ? search_floor(floor, s, false) : status;
}

/* Those that seem best tell how good one has to be; then what may be as good is settled. */
uar_status search_refine(float *floor, engine_answer *s) {
    uar_status status = search_floor(floor, s, true);
    if (status != UAR_OK) return status;
    look_again(s, *floor, 0);
    status = settle_best(s, floor);
    if (status != UAR_OK) return status;
    look_again(s, *floor, DOUBTS);
    return settle_best(s, floor);
}
