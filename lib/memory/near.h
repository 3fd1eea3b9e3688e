/*
 * Whether two texts that a sentence encoder finds alike say the same fact.
 *
 * Encoders put "the rent is 900" beside "the rent is 950", and a fact beside its negation. So the guard trusts nothing but
 * words: two texts are one fact only if their words are the same in the same order, but for what is known to say nothing.
 * That is, per language: articles, words of degree and of truth where nothing is negated, the request that a fact stands in
 * ("remember that …"), spellings, short forms, close synonyms, a number as a word or as digits, a time phrase that moved from
 * one end to the other, a list of two told the other way round, and a reason added at the end. Any other difference (a
 * number, a date, a name, a negation, a unit, a person, a tense, an unknown word) makes two facts: silence over a wrong merge.
 */
#ifndef UAR_LIB_MEMORY_NEAR_H
#define UAR_LIB_MEMORY_NEAR_H

#include "base/alloc.h"

typedef enum near_verdict {
    NEAR_DIFFERENT,    /* not one fact, or not sure */
    NEAR_SAME,         /* one fact, told as fully */
    NEAR_FIRST_FULLER, /* one fact, and the first says more */
    NEAR_SECOND_FULLER
} near_verdict;

/* Compare two texts of valid UTF-8. UAR_E_NOMEM, UAR_E_UTF8. */
uar_status near_compare(near_verdict *out, const uar_allocator *a, uar_str first, uar_str second);

#endif
