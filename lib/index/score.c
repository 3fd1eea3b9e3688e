/* Owns: ranking arithmetic. Invariant: no input gives a value that is no number. */
#include "index/score.h"

#include <math.h>

/* BM25's usual saturation and length weight. */
#define SATURATION 1.2
#define LENGTH_WEIGHT 0.75
/* How far recency, importance and trust together may move a score. */
#define ADJUST_MOST 0.2
#define HALF_LIFE_MS (30.0 * 24 * 3600 * 1000)

double score_rarity(uint64_t records, uint64_t found) {
    double n = (double)(records > found ? records : found);
    return log1p((n - (double)found + 0.5) / ((double)found + 0.5));
}

double score_share(uint32_t count, uint32_t length, double mean) {
    double norm = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * (mean > 0 ? (double)length / mean : 1);
    double tf = (double)count;
    return tf / (tf + SATURATION * norm);
}

/* How much length counts. */
#define LENGTH_SHARE 0.5

score_curve score_curve_of(double mean) {
    if (!(mean > 0)) return (score_curve){ 1, 0 };
    return (score_curve){ (float)(1 - LENGTH_SHARE), (float)(LENGTH_SHARE / mean) };
}

score_scale score_scale_of(const score_spread *s) {
    if (!(s->count > 0)) return (score_scale){ 0, 0 };
    double mean = s->sum / s->count;
    double variance = s->squares / s->count - mean * mean;
    return (score_scale){ mean, variance > 1e-12 ? 1 / sqrt(variance) : 0 };
}

double score_trust(unsigned tier) {
    return tier > 5 ? 0 : tier > 1 ? 1 - ((double)tier - 1) / 4 : 1;
}

static double clamp(double x) {
    return x > 1 ? 1 : x > 0 ? x : 0;
}

double score_recency(int64_t now_ms, int64_t created_ms) {
    double age = (double)now_ms - (double)created_ms;
    return age > 0 ? exp2(-age / HALF_LIFE_MS) : 1;
}

double score_adjust(double relevance, double recency, double importance, double trust) {
    double mix = 0.5 * clamp(recency) + 0.3 * clamp(importance) + 0.2 * clamp(trust);
    return relevance * (1 + ADJUST_MOST * (2 * mix - 1));
}
