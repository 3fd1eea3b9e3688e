/*
 * Scores: the weight of a word, and how relevance meets age, importance and trust.
 */
#ifndef UAR_LIB_INDEX_SCORE_H
#define UAR_LIB_INDEX_SCORE_H

#include "base/alloc.h"

/* BM25's rarity of a term that `found` of `records` records have. Always above 0. */
double score_rarity(uint64_t records, uint64_t found);
/* Share of the rarity that one record earns, 0 to 1: `count` occurrences in `length` tokens where `mean` are usual. */
double score_share(uint32_t count, uint32_t length, double mean);

/*
 * The formula of relevance. A term counts in three fields, each as a text of its own: the document; the document with what
 * was said before and after it; the whole conversation that it is part of. The three weigh together before they saturate:
 *
 *   x = own / N(length) + SCORE_WINDOW * window / N(window's length) + SCORE_TALK * talk / N(talk's length)
 *   N(l) = 1 - b + b * l / mean                  mean: of that field
 *   earned = rarity * x / (x + k1)               rarity: of the term in documents
 *
 * The sum over all terms, as a share of the best document's, and the cosine in deviations make the relevance.
 */
typedef struct score_curve {
    float base, slope; /* N(l) = base + slope * l */
} score_curve;
score_curve score_curve_of(double mean);
static inline float score_norm(score_curve c, float length) {
    return c.base + c.slope * length;
}
/* Weights of the fields, and where a term saturates. */
#define SCORE_WINDOW 0.7f
#define SCORE_TALK 0.08f
#define SCORE_SATURATION 1.2f
static inline float score_earned(float x) {
    return x / (x + SCORE_SATURATION);
}
/* Half of what all vectors have in common is taken out of a question. */
#define SCORE_COMMON 0.5f
/* What the best cosine of a conversation counts beside a document's own: where one thing is near, others are meant too. */
#define SCORE_TALK_BEST 0.5f
/* A deviation of these beside the words of the best document. */
#define SCORE_VECTOR 0.14
/* Small things: long texts say more; the question names who or what the text opens with; a question holds no answer. */
#define SCORE_LENGTH 0.06
#define SCORE_OPENING 0.05
#define SCORE_ASKS (-0.08)
/* The question speaks of a time, and the document was created then. */
#define SCORE_TIME 0.3
/* Their weight beside vectors. */
#define SCORE_PRIORS_HYBRID 1.4

/* How values of one kind spread over all documents. */
typedef struct score_spread {
    double count, sum, squares;
} score_spread;
static inline void score_spread_add(score_spread *s, double value) {
    s->count += 1;
    s->sum += value;
    s->squares += value * value;
}
/* Values in deviations from the usual: (value - mean) * factor. */
typedef struct score_scale {
    double mean, factor;
} score_scale;
score_scale score_scale_of(const score_spread *s);
/* Trust of a tier, 1 being the highest: 1 to 0. */
double score_trust(unsigned tier);

/* 1 now, half of it after thirty days, and so on; what lies ahead counts as now. Any two times. */
double score_recency(int64_t now_ms, int64_t created_ms);
/* Relevance moved by at most a fifth up or down. recency, importance and trust are 0 to 1. */
double score_adjust(double relevance, double recency, double importance, double trust);

#endif
