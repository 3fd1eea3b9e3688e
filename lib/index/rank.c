/*
 * Owns: from sums to an order. Invariant: of the documents that pass the filters, every one that could be among the best
 * `limit` after adjusting and rescoring is in the heap.
 */
#include <math.h>

#include "base/error.h"
#include "index/search.h"

/* What adjusting can make of a relevance at most. */
#define RAISE_MOST 1.2

/* Does the document pass the question's filters? */
static bool passes(const engine_question *q, const document *d) {
    if (!q->as_of && !q->include_ended && d->valid_until_ms <= q->time_ms) return false;
    if (q->types != 0 && (q->types >> d->type & 1) == 0) return false;
    if (q->after_ms != 0 && d->created_ms < q->after_ms) return false;
    if (q->before_ms != 0 && d->created_ms >= q->before_ms) return false;
    if ((q->labels & ~d->labels) != 0) return false;
    for (size_t i = 0; i < DOCUMENT_PLACES; i++)
        if (q->places[i] != 0 && q->places[i] != d->places[i]) return false;
    return true;
}

/* By words alone what has none of them is found only by a time that is short enough to say something. */
#define TIME_SAYS_MS (INT64_C(32) * 24 * 3600 * 1000)

static bool is_of_time(const engine_answer *s, const document *d) {
    const time_range *t = s->question.time;
    return t != NULL && time_range_has(t, d->created_ms) && t->from_ms > INT64_MIN && t->until_ms < INT64_MAX &&
           t->until_ms - t->from_ms < TIME_SAYS_MS;
}

static bool is_found(const engine_answer *s, const search_part *p, size_t at) {
    return s->is_hybrid || s->near[p->base + at] != 0 || is_of_time(s, &p->segment->documents[at]);
}

bool search_wants(const engine_answer *s, const search_part *p, size_t at) {
    if ((p->in[at] & s->in_mask) == 0 || !is_found(s, p, at)) return false;
    return passes(&s->question, &p->segment->documents[at]);
}

static double time_of(const engine_answer *s, const document *d) {
    return s->question.time != NULL ? time_range_nearness(s->question.time, d->created_ms) : 0;
}

/* What was created at the time that is asked about is better. */
static void add_times(engine_answer *s) {
    for (size_t i = 0; i < s->part_count; i++) {
        const search_part *p = &s->parts[i];
        for (size_t at = 0; at < p->segment->count; at++)
            s->bonus[p->base + at] += (float)(SCORE_TIME * time_of(s, &p->segment->documents[at]));
    }
}

static float length_bonus(float log_length, float log_mean) {
    float l = log_length - log_mean;
    return (float)SCORE_LENGTH * 0.5f * (fabsf(l + 1) - fabsf(l - 1)); /* from -1 to 1, without a branch */
}

static search_scorer scorer_of(const engine_answer *s) {
    return (search_scorer){ .words = s->best > 0 ? (float)(1 / s->best) : 0,
                            .log_mean = s->mean_length > 0 ? (float)log(s->mean_length) : 0,
                            .vectors = s->is_hybrid ? (float)(SCORE_VECTOR * s->vectors.factor) : 0,
                            .usual = (float)s->vectors.mean,
                            .small = s->is_hybrid ? (float)SCORE_PRIORS_HYBRID : 1 };
}

/* Never below 0. Without branches, so that many are done at once. */
static inline float relevance_of(const search_scorer *k, float words, float bonus, float log_length, float cosine) {
    float near = cosine > SEARCH_NO_COSINE ? cosine - k->usual : 0;
    float sum = words * k->words + k->vectors * near + k->small * (bonus + length_bonus(log_length, k->log_mean));
    return 0.5f * (sum + fabsf(sum));
}

float search_relevance(const engine_answer *s, const search_part *p, size_t at, float cosine) {
    size_t number = p->base + at;
    return relevance_of(&s->scorer, s->words[number], s->bonus[number], p->segment->log_length[at], cosine);
}

static double adjusted(const engine_answer *s, const document *d, double relevance) {
    double recency = score_recency(s->question.time_ms, d->created_ms);
    return score_adjust(relevance, recency, (double)d->importance, score_trust(d->trust));
}

/* Sums in lanes, emptied before single precision could tell. */
static void spread_part(score_spread *spread, const float *cosines, size_t count) {
    for (size_t from = 0; from < count; from += 1024) {
        size_t to = count - from < 1024 ? count : from + 1024;
        float sums[SEARCH_LANES] = { 0 }, squares[SEARCH_LANES] = { 0 }, seen[SEARCH_LANES] = { 0 };
        size_t at = from;
        for (; at + SEARCH_LANES <= to; at += SEARCH_LANES) {
            for (size_t lane = 0; lane < SEARCH_LANES; lane++) {
                float is_one = cosines[at + lane] > SEARCH_NO_COSINE ? 1.0f : 0.0f;
                float value = cosines[at + lane] * is_one;
                sums[lane] += value;
                squares[lane] += value * value;
                seen[lane] += is_one;
            }
        }
        for (; at < to; at++)
            if (cosines[at] > SEARCH_NO_COSINE) score_spread_add(spread, (double)cosines[at]);
        for (size_t lane = 0; lane < SEARCH_LANES; lane++) {
            spread->count += (double)seen[lane];
            spread->sum += (double)sums[lane];
            spread->squares += (double)squares[lane];
        }
    }
}

static void add_share(float *cosines, size_t count, float share) {
    for (size_t i = 0; i < count; i++)
        cosines[i] = cosines[i] > SEARCH_NO_COSINE ? cosines[i] + share : SEARCH_NO_COSINE;
}

/* The best cosine of each conversation; `talk` has served the words. Then a share of it goes to all of its documents. */
static void share_best(engine_answer *s, const search_part *p) {
    float *cosines = s->cosines + p->base;
    float *talk = s->talk + p->group_base;
    const uint32_t *group = p->segment->group;
    for (size_t i = 0; i < p->segment->groups.count; i++)
        talk[i] = SEARCH_NO_COSINE;
    /* Documents of a conversation mostly stand together. */
    for (size_t at = 0; at < p->segment->count;) {
        uint32_t g = group[at];
        float best = talk[g];
        for (; at < p->segment->count && group[at] == g; at++)
            best = cosines[at] > best ? cosines[at] : best;
        talk[g] = best;
    }
    for (size_t i = 0; i < p->segment->groups.count; i++)
        talk[i] -= s->rough.excess;
    for (size_t at = 0; at < p->segment->count;) {
        size_t end = at;
        while (end < p->segment->count && group[end] == group[at])
            end++;
        add_share(cosines + at, end - at, SCORE_TALK_BEST * talk[group[at]]);
        at = end;
    }
}

/* Of a part: all cosines, or in a search by bits the estimates. */
static void spread_cosines(score_spread *spread, const engine_answer *s, const search_part *p) {
    const float *cosines = s->cosines + p->base;
    if (!(s->rough.spread.count > 0)) {
        spread_part(spread, cosines, p->segment->count);
        return;
    }
    for (size_t i = 0; i < p->segment->chunk_count; i++) {
        const segment_chunk *c = &p->segment->chunks[i];
        if (c->sheet != NULL) spread_part(spread, cosines + c->base, c->head.count);
    }
}

static void spread_vectors(engine_answer *s) {
    score_spread spread = { 0, 0, 0 };
    for (size_t i = 0; i < s->part_count; i++) {
        share_best(s, &s->parts[i]);
        spread_cosines(&spread, s, &s->parts[i]);
    }
    const search_rough *r = &s->rough;
    double middle = (1 + (double)SCORE_TALK_BEST) * r->middle;
    s->vectors = score_scale_of(&spread);
    double mean = s->vectors.mean + (double)(SCORE_TALK_BEST * r->excess);
    s->vectors.mean = middle + r->stretch * (mean - middle) + r->shift;
    s->vectors.factor /= r->stretch * r->ratio;
}

/* The best scores so far, the least of them on top. */
typedef struct best_list {
    float *values;
    size_t count, cap;
} best_list;

static void best_add(best_list *b, float value) {
    size_t at = b->count;
    if (b->count < b->cap) {
        b->count++;
        for (; at > 0 && b->values[(at - 1) / 2] > value; at = (at - 1) / 2)
            b->values[at] = b->values[(at - 1) / 2];
        b->values[at] = value;
        return;
    }
    at = 0;
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= b->count) break;
        if (child + 1 < b->count && b->values[child + 1] < b->values[child]) child++;
        if (b->values[child] >= value) break;
        b->values[at] = b->values[child];
        at = child;
    }
    b->values[at] = value;
}

static void weigh_part(float *restrict relevance, const search_scorer *k, const float *restrict words,
                       const float *restrict bonus, const float *restrict cosines, const float *restrict log_lengths,
                       size_t count) {
    search_scorer own = *k;
    size_t at = 0;
    for (; at + SEARCH_LANES <= count; at += SEARCH_LANES)
        for (size_t i = at; i < at + SEARCH_LANES; i++)
            relevance[i] = relevance_of(&own, words[i], bonus[i], log_lengths[i], cosines[i]);
    for (; at < count; at++)
        relevance[at] = relevance_of(&own, words[at], bonus[at], log_lengths[at], cosines[at]);
}

/* A document whose cosine is only estimated can't be among the best: what could be was settled. */
static bool is_ready(const engine_answer *s, const search_part *p, size_t at) {
    return !s->by_bits || s->settled[p->base + at] != 0;
}

search_run search_run_at(const engine_answer *s, const search_part *p, size_t number) {
    const index_segment *g = p->segment;
    if (number == g->chunk_count) return (search_run){ g->packed, g->count, (float)RAISE_MOST };
    const segment_chunk *c = &g->chunks[number];
    double recency = score_recency(s->question.time_ms, c->newest);
    double lift = score_adjust(1, recency, (double)c->importance, score_trust(c->trust));
    return (search_run){ c->base, c->base + c->head.count, (float)(lift * 1.0001) };
}

/* Documents that no adjusting could bring onto the list are passed over. */
static void find_best(best_list *best, const engine_answer *s, const search_part *p, search_run run, bool is_rough) {
    const float *relevance = s->relevance + p->base;
    float least = best->count == best->cap ? best->values[0] / run.lift : -1;
    for (size_t at = run.from; at < run.to; at++) {
        if ((at - run.from) % SEARCH_LANES == 0) at = search_skip_below(relevance, at, run.to, least);
        if (at == run.to) break;
        if (relevance[at] <= least || !(is_rough || is_ready(s, p, at)) || !search_wants(s, p, at)) continue;
        float score = (float)adjusted(s, &p->segment->documents[at], (double)relevance[at]);
        if (best->count == best->cap && score <= best->values[0]) continue;
        best_add(best, score);
        if (best->count == best->cap) least = best->values[0] / run.lift;
    }
}

uar_status search_floor(float *out, engine_answer *s, bool is_rough) {
    *out = 0;
    if (s->question.is_open) return UAR_OK;
    best_list best = { NULL, 0, s->question.limit };
    best.values = (float *)alloc_bytes(s->engine->alloc, best.cap * sizeof(float));
    if (best.values == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < s->part_count; i++)
        for (size_t n = 0; n <= s->parts[i].segment->chunk_count; n++)
            find_best(&best, s, &s->parts[i], search_run_at(s, &s->parts[i], n), is_rough);
    double least = best.count == best.cap ? (double)best.values[0] - 2 * engine_answer_slack(s) : 0;
    if (least > 0) *out = (float)(least * 0.9999);
    alloc_free(s->engine->alloc, best.values);
    return UAR_OK;
}

static void weigh(engine_answer *s) {
    s->scorer = scorer_of(s);
    for (size_t i = 0; i < s->part_count; i++) {
        const search_part *p = &s->parts[i];
        size_t base = p->base;
        weigh_part(s->relevance + base, &s->scorer, s->words + base, s->bonus + base, s->cosines + base,
                   p->segment->log_length, p->segment->count);
    }
}

static bool comes_before(const search_entry *a, const search_entry *b) {
    return a->score > b->score || (!(a->score < b->score) && a->number > b->number);
}

static void sift(search_entry *e, size_t root, size_t count) {
    search_entry moved = e[root];
    for (;;) {
        size_t child = root * 2 + 1;
        if (child >= count) break;
        if (child + 1 < count && comes_before(&e[child + 1], &e[child])) child++;
        if (!comes_before(&e[child], &moved)) break;
        e[root] = e[child];
        root = child;
    }
    e[root] = moved;
}

static uar_status add_entry(engine_answer *s, size_t *cap, search_entry entry) {
    if (s->entry_count == *cap) {
        size_t more = *cap != 0 ? *cap * 2 : 256;
        search_entry *entries = (search_entry *)alloc_resize(s->engine->alloc, s->entries, more * sizeof *entries);
        if (entries == NULL) return UAR_E_NOMEM;
        s->entries = entries;
        *cap = more;
    }
    s->entries[s->entry_count++] = entry;
    return UAR_OK;
}

static uar_status collect_run(engine_answer *s, size_t *cap, const search_part *p, search_run run, float floor) {
    const float *relevance = s->relevance + p->base;
    float least = floor / run.lift;
    for (size_t at = run.from; at < run.to; at++) {
        if ((at - run.from) % SEARCH_LANES == 0) at = search_skip_below(relevance, at, run.to, least);
        if (at == run.to) break;
        if (relevance[at] < least || !is_ready(s, p, at) || !search_wants(s, p, at)) continue;
        float score = (float)adjusted(s, &p->segment->documents[at], (double)relevance[at]);
        if (score < floor) continue;
        uar_status status = add_entry(s, cap, (search_entry){ score, p->base + (uint32_t)at });
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static uar_status collect(engine_answer *s, float floor) {
    size_t cap = 0;
    for (size_t i = 0; i < s->part_count; i++)
        for (size_t n = 0; n <= s->parts[i].segment->chunk_count; n++) {
            const search_part *p = &s->parts[i];
            uar_status status = collect_run(s, &cap, p, search_run_at(s, p, n), floor);
            if (status != UAR_OK) return status;
        }
    for (size_t i = s->entry_count / 2; i-- > 0;)
        sift(s->entries, i, s->entry_count);
    return UAR_OK;
}

/* From words and cosines to the heap of entries. */
static uar_status rank_documents(engine_answer *s) {
    if (s->is_hybrid) spread_vectors(s);
    if (s->question.time != NULL) add_times(s);
    weigh(s);
    float floor = 0;
    uar_status status = s->by_bits ? search_refine(&floor, s) : search_floor(&floor, s, false);
    return status == UAR_OK ? collect(s, floor) : status;
}

/* Occurrences of a term in a document. */
static float times_in(const engine_found *f, uint32_t number) {
    size_t from = 0;
    size_t to = f->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f->at[middle] < number)
            from = middle + 1;
        else
            to = middle;
    }
    return from < f->count && f->at[from] == number ? (float)f->times[from] : 0;
}

/* Of the question's words, the weighted share that the document itself earns. */
static double own_share(const engine_answer *s, uint32_t number, uint32_t length) {
    double sum = 0;
    score_curve curve = score_curve_of(s->mean_length);
    for (size_t t = 0; t < s->question.term_count; t++) {
        if (s->question.terms[t].kind != ENGINE_WORD) continue;
        float times = times_in(&s->engine->found[t], number);
        if (times > 0) sum += s->rarities[t] * (double)score_earned(times / score_norm(curve, (float)length));
    }
    return s->ideal > 0 ? sum / s->ideal : 0;
}

bool engine_answer_next(engine_answer *s, engine_hit *out) {
    if (s->entry_count == 0) return false;
    search_entry top = s->entries[0];
    s->entries[0] = s->entries[--s->entry_count];
    if (s->entry_count != 0) sift(s->entries, 0, s->entry_count);
    const search_part *p = search_part_of(s, top.number);
    size_t at = top.number - p->base;
    const document *d = &p->segment->documents[at];
    double lexical = s->ideal > 0 ? (double)s->words[top.number] / s->ideal : 0;
    double own = own_share(s, top.number, d->length);
    double relevance = (double)search_relevance(s, p, at, s->cosines[top.number]);
    *out = (engine_hit){ .key = d->key,
                         .score = adjusted(s, d, relevance),
                         .relevance = relevance,
                         .lexical = lexical,
                         .around = lexical > own ? lexical - own : 0,
                         .time = time_of(s, d),
                         .has_vector = s->is_hybrid && s->cosines[top.number] > SEARCH_NO_COSINE,
                         .number = top.number };
    return true;
}

void engine_answer_rescore(const engine_answer *s, engine_hit *hit, const float *vector) {
    if (!s->is_hybrid) return;
    const search_part *p = search_part_of(s, hit->number);
    size_t at = hit->number - p->base;
    float centred = vector_dot(s->centred, vector, s->source->dims) +
                    SCORE_TALK_BEST * s->talk[p->group_base + p->segment->group[at]];
    hit->cosine = (double)vector_dot(s->question.vector, vector, s->source->dims);
    hit->relevance = (double)search_relevance(s, p, at, centred);
    hit->score = adjusted(s, &p->segment->documents[at], hit->relevance);
}

double engine_answer_slack(const engine_answer *s) {
    if (!s->is_hybrid) return 0;
    double off = (double)(s->widest * s->query.slack + s->query.margin);
    return RAISE_MOST * SCORE_VECTOR * s->vectors.factor * off;
}

bool engine_answer_is_hybrid(const engine_answer *s) {
    return s->is_hybrid;
}

void engine_answer_free(engine_answer *s) {
    if (s == NULL) return;
    const uar_allocator *a = s->engine->alloc;
    search_end(s);
    alloc_free(a, s);
}

uar_status engine_search(engine_answer **out, engine *e, const engine_question *q, const segment_state *segments,
                         size_t count, const index_source *source, uar_error *err) {
    engine_answer *s = ALLOC_NEW(e->alloc, engine_answer);
    if (s == NULL) return error_plain(err, UAR_E_NOMEM);
    s->engine = e;
    s->question = *q;
    s->source = source;
    s->since = e->clock;
    uar_status status = search_begin(s, segments, count, err);
    if (status == UAR_OK) status = search_gather(s, err);
    if (status == UAR_OK) {
        search_words(s);
        status = rank_documents(s);
        if (status != UAR_OK) error_plain(err, status);
    }
    if (status == UAR_OK)
        *out = s;
    else
        engine_answer_free(s);
    return status;
}
