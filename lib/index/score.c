/* Owns: ranking arithmetic and the table of sums. Invariant: a tally is at most three quarters full. */
#include "index/score.h"

#include <assert.h>
#include <math.h>

/* BM25's usual saturation and length weight. */
#define SATURATION 1.2
#define LENGTH_WEIGHT 0.75
/* How far recency, importance and trust together may move a score. */
#define ADJUST_MOST 0.2
#define HALF_LIFE_MS (30.0 * 24 * 3600 * 1000)
#define LEXICAL_SHARE 0.5

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

double score_fuse(double lexical, bool has_vector, double vector) {
    if (!has_vector) return clamp(lexical);
    return LEXICAL_SHARE * clamp(lexical) + (1 - LEXICAL_SHARE) * clamp(vector);
}

double score_recency(int64_t age_ms) {
    return age_ms > 0 ? exp2(-(double)age_ms / HALF_LIFE_MS) : 1;
}

double score_recency_at(int64_t now_ms, int64_t created_ms) {
    double age = (double)now_ms - (double)created_ms;
    return age > 0 ? exp2(-age / HALF_LIFE_MS) : 1;
}

double score_adjust(double relevance, double recency, double importance, double trust) {
    double mix = 0.5 * clamp(recency) + 0.3 * clamp(importance) + 0.2 * clamp(trust);
    return relevance * (1 + ADJUST_MOST * (2 * mix - 1));
}

void tally_init(tally *t, const uar_allocator *a) {
    *t = (tally){ a, NULL, 0, 0 };
}

void tally_dispose(tally *t) {
    alloc_free(t->alloc, t->slots);
    tally_init(t, t->alloc);
}

static tally_entry *place(tally_entry *slots, size_t slot_count, int64_t key) {
    uint64_t h = (uint64_t)key * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(h >> 17) & (slot_count - 1);
    while (slots[at].key != 0 && slots[at].key != key)
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static uar_status grow(tally *t) {
    size_t slot_count = t->slot_count != 0 ? t->slot_count * 2 : 64;
    tally_entry *slots = (tally_entry *)alloc_zeroed(t->alloc, slot_count, sizeof *slots);
    if (slots == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < t->slot_count; i++)
        if (t->slots[i].key != 0) *place(slots, slot_count, t->slots[i].key) = t->slots[i];
    alloc_free(t->alloc, t->slots);
    t->slots = slots;
    t->slot_count = slot_count;
    return UAR_OK;
}

uar_status tally_add(tally *t, int64_t key, double amount) {
    assert(key > 0);
    if ((t->count + 1) * 4 > t->slot_count * 3) {
        uar_status status = grow(t);
        if (status != UAR_OK) return status;
    }
    tally_entry *e = place(t->slots, t->slot_count, key);
    if (e->key == 0) {
        e->key = key;
        t->count++;
    }
    e->score += amount;
    return UAR_OK;
}

static bool comes_before(const tally_entry *a, const tally_entry *b) {
    if (a->score > b->score) return true;
    if (a->score < b->score) return false;
    return a->key > b->key;
}

static void swap(tally_entry *a, tally_entry *b) {
    tally_entry t = *a;
    *a = *b;
    *b = t;
}

/* The heap's root comes last, so that sorting puts the best in front. */
static void sift(tally_entry *e, size_t root, size_t count) {
    for (;;) {
        size_t child = root * 2 + 1;
        if (child >= count) return;
        if (child + 1 < count && comes_before(&e[child], &e[child + 1])) child++;
        if (comes_before(&e[child], &e[root])) return;
        swap(&e[root], &e[child]);
        root = child;
    }
}

void tally_rank(tally *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->slot_count; i++)
        if (t->slots[i].key != 0) t->slots[n++] = t->slots[i];
    assert(n == t->count);
    for (size_t i = n / 2; i-- > 0;)
        sift(t->slots, i, n);
    for (size_t end = n; end-- > 1;) {
        swap(&t->slots[0], &t->slots[end]);
        sift(t->slots, 0, end);
    }
}
