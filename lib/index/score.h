/*
 * Scores: the weight of a word, sums per record, and how relevance meets age, importance and trust.
 */
#ifndef UAR_LIB_INDEX_SCORE_H
#define UAR_LIB_INDEX_SCORE_H

#include "base/alloc.h"

/* BM25's rarity of a term that `found` of `records` records have. Always above 0. */
double score_rarity(uint64_t records, uint64_t found);
/* Share of the rarity that one record earns, 0 to 1: `count` occurrences in `length` tokens where `mean` are usual. */
double score_share(uint32_t count, uint32_t length, double mean);

/* Relevance from the words and, where there is one, the cosine of the vectors; each 0 to 1, as is the result. */
double score_fuse(double lexical, bool has_vector, double vector);
/* 1 now, half of it after thirty days, and so on; what lies ahead counts as now. */
double score_recency(int64_t age_ms);
/* Relevance moved by at most a fifth up or down. recency, importance and trust are 0 to 1. */
double score_adjust(double relevance, double recency, double importance, double trust);

typedef struct tally_entry {
    int64_t key;
    double score;
} tally_entry;

/* Sums by key. Keys are above 0. */
typedef struct tally {
    const uar_allocator *alloc;
    tally_entry *slots;
    size_t slot_count, count;
} tally;

void tally_init(tally *t, const uar_allocator *a);
void tally_dispose(tally *t);
/* UAR_E_NOMEM leaves it as it was. */
uar_status tally_add(tally *t, int64_t key, double amount);
/* Entries by falling score, then falling key. The tally becomes the list: `slots[0 .. count)`; nothing may be added then. */
void tally_rank(tally *t);

#endif
