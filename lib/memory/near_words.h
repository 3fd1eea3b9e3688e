/*
 * A text as the words that the guard of near repeats compares: folded, numbers in ASCII digits, each sign that means
 * something (%, €, ?, +) a word of its own; what the language's lexicon calls empty is left out.
 */
#ifndef UAR_LIB_MEMORY_NEAR_WORDS_H
#define UAR_LIB_MEMORY_NEAR_WORDS_H

#include "base/arena.h"
#include "memory/near_lexicon.h"

/* Longer texts are never near repeats: who writes so much says more than one thing. */
#define NEAR_WORDS_MAX 400

typedef struct near_word {
    uar_str text;
    near_kind kind;
    bool is_unspaced; /* a character of a script without spaces, or of Hangul */
    bool after_space;
} near_word;

typedef struct near_text {
    near_word *words;
    size_t count;
    size_t emphasis; /* words of degree and truth that were left out */
    size_t capitals; /* letters that were written as capitals */
    bool is_negated;
    bool is_long; /* more than NEAR_WORDS_MAX words: nothing else is set */
    near_language language;
} near_text;

/* Everything lives in the arena. UAR_E_NOMEM, UAR_E_UTF8. */
uar_status near_text_read(near_text *out, arena *ar, uar_str text);

#endif
