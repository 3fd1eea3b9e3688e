/*
 * Owns: what documents earn by words (the formula of score.h). A term is laid out over the documents around each of its
 * postings; documents farther away in the same conversation get what the whole conversation earns, so that only what is near
 * is touched. Invariant: between two terms, `own`, `window` and `talk_own` are all zero.
 */
#include "index/search.h"

#define FAR_WEIGHT ((float)SEGMENT_WINDOW_FAR / (float)SEGMENT_WINDOW_STEPS)

/* One term in one part. */
typedef struct stroke {
    engine_answer *s;
    const search_part *part;
    score_curve length, window, talk;
    float rarity;
    size_t touched, touched_groups;
} stroke;

static void touch(stroke *k, uint32_t at, float times) {
    if (at == SEGMENT_NONE) return;
    float *window = k->s->window + k->part->base + at;
    if (!(*window > 0)) k->s->touched[k->touched++] = at;
    *window += times;
}

static void lay_posting(stroke *k, uint32_t at, float times) {
    const index_segment *g = k->part->segment;
    uint32_t before = g->before[at];
    uint32_t after = g->after[at];
    k->s->own[k->part->base + at] += times;
    touch(k, at, times);
    touch(k, before, times);
    touch(k, after, times);
    if (before != SEGMENT_NONE) touch(k, g->before[before], FAR_WEIGHT * times);
    if (after != SEGMENT_NONE) touch(k, g->after[after], FAR_WEIGHT * times);
    float *talk = k->s->talk_own + k->part->group_base + g->group[at];
    if (!(*talk > 0)) k->s->touched_groups[k->touched_groups++] = g->group[at];
    *talk += times;
}

/* What all documents of a conversation earn; `talk_own` becomes its part of x. */
static void settle_groups(stroke *k) {
    const segment_groups *g = &k->part->segment->groups;
    for (size_t i = 0; i < k->touched_groups; i++) {
        uint32_t at = k->s->touched_groups[i];
        float *x = k->s->talk_own + k->part->group_base + at;
        *x = SCORE_TALK * *x / score_norm(k->talk, (float)g->lengths[at]);
        k->s->talk[k->part->group_base + at] += k->rarity * score_earned(*x);
    }
}

static void settle_documents(stroke *k) {
    const index_segment *g = k->part->segment;
    const uint32_t *touched = k->s->touched;
    float *own = k->s->own + k->part->base;
    float *window = k->s->window + k->part->base;
    float *words = k->s->words + k->part->base;
    float *talks = k->s->talk_own + k->part->group_base;
    uint8_t *near = k->s->near + k->part->base;
    stroke c = *k;
    for (size_t i = 0; i < c.touched; i++) {
        uint32_t at = touched[i];
        float talk = talks[g->group[at]];
        float length = (float)g->window[at] * (1.0f / SEGMENT_WINDOW_STEPS);
        float x = own[at] / score_norm(c.length, (float)g->length[at]) +
                  SCORE_WINDOW * window[at] / score_norm(c.window, length) + talk;
        words[at] += c.rarity * (score_earned(x) - score_earned(talk));
        near[at] = 1;
        own[at] = 0;
        window[at] = 0;
    }
    for (size_t i = 0; i < c.touched_groups; i++)
        talks[c.s->touched_groups[i]] = 0;
}

/* Postings of the part, from `from` on; returns where those of the next one begin. */
static size_t lay_part(stroke *k, const engine_found *f, size_t from) {
    size_t end = k->part->base + k->part->segment->count;
    k->touched = k->touched_groups = 0;
    for (; from < f->count && f->at[from] < end; from++)
        lay_posting(k, f->at[from] - k->part->base, (float)f->times[from]);
    settle_groups(k);
    settle_documents(k);
    return from;
}

static void lay_word(engine_answer *s, size_t t) {
    const engine_found *f = &s->engine->found[t];
    s->rarities[t] = score_rarity((uint64_t)s->records, f->count);
    s->ideal += s->rarities[t];
    s->has_words = s->has_words || f->count != 0;
    stroke k = { .s = s,
                 .length = score_curve_of(s->mean_length),
                 .window = score_curve_of(s->mean_window),
                 .talk = score_curve_of(s->mean_talk),
                 .rarity = (float)s->rarities[t] };
    size_t from = 0;
    for (size_t p = 0; p < s->part_count && from < f->count; p++) {
        k.part = &s->parts[p];
        from = lay_part(&k, f, from);
    }
}

static void lay_bonus(engine_answer *s, const engine_found *f, float bonus) {
    for (size_t i = 0; i < f->count; i++) {
        float *at = s->bonus + f->at[i];
        bool has_it = bonus > 0 ? *at > 0 : *at < 0; /* once, however many openings the question has */
        if (!has_it) *at += bonus;
    }
}

/* What the conversation earned goes to its documents. One that earned nothing has none that did. */
static void add_talk(engine_answer *s, const search_part *p) {
    float *words = s->words + p->base;
    const float *talk = s->talk + p->group_base;
    const uint32_t *group = p->segment->group;
    const uint8_t *in = p->in;
    uint8_t mask = s->in_mask;
    float best = 0;
    for (size_t i = 0; i < p->segment->count;) {
        uint32_t g = group[i];
        float more = talk[g];
        if (!(more > 0)) {
            while (i < p->segment->count && group[i] == g)
                i++;
            continue;
        }
        for (; i < p->segment->count && group[i] == g; i++) {
            float sum = words[i] + more;
            sum = (in[i] & mask) != 0 && sum > 0 ? sum : 0;
            words[i] = sum;
            best = sum > best ? sum : best;
        }
    }
    if ((double)best > s->best) s->best = (double)best;
}

void search_words(engine_answer *s) {
    for (size_t t = 0; t < s->question.term_count; t++)
        if (s->question.terms[t].kind == ENGINE_WORD) lay_word(s, t);
    for (size_t t = 0; t < s->question.term_count; t++)
        if (s->question.terms[t].kind == ENGINE_OPENING) lay_bonus(s, &s->engine->found[t], (float)SCORE_OPENING);
    for (size_t t = 0; t < s->question.term_count; t++) {
        /* Openings and questions have their own signs, so that neither hides the other. */
        if (s->question.terms[t].kind != ENGINE_ASKS) continue;
        const engine_found *f = &s->engine->found[t];
        for (size_t i = 0; i < f->count; i++)
            s->bonus[f->at[i]] += (float)SCORE_ASKS;
    }
    for (size_t p = 0; p < s->part_count && s->has_words; p++)
        add_talk(s, &s->parts[p]);
}
