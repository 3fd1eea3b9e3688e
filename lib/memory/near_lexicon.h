/*
 * What the guard of near repeats knows of languages. A word that is in no list is content: it must be the same in both texts.
 */
#ifndef UAR_LIB_MEMORY_NEAR_LEXICON_H
#define UAR_LIB_MEMORY_NEAR_LEXICON_H

#include <uar/base.h>

typedef enum near_language {
    NEAR_UNKNOWN, /* no list: nothing is empty */
    NEAR_ENGLISH,
    NEAR_GERMAN,
    NEAR_SPANISH,
    NEAR_FRENCH,
    NEAR_RUSSIAN,
    NEAR_ARABIC,
    NEAR_CHINESE,
    NEAR_JAPANESE,
    NEAR_KOREAN,
    NEAR_LANGUAGES
} near_language;

typedef enum near_kind {
    NEAR_CONTENT,
    NEAR_ARTICLE,  /* says nothing before another word */
    NEAR_DEGREE,   /* says little where nothing is negated: "very" */
    NEAR_TRUTH,    /* says little but right behind a negation: "actually" */
    NEAR_REQUEST,  /* says nothing at the start: "remember that" */
    NEAR_ENDING,   /* says nothing at the end: a polite copula */
    NEAR_ALIAS,    /* stands for `same` */
    NEAR_NUMBER,   /* digits, or a word that `same` writes in digits */
    NEAR_NEGATION, /* turns the fact round */
    NEAR_TIME,     /* a word of a time phrase that may move */
    NEAR_TIE,      /* a word that only leads such a phrase: "on" */
    NEAR_AND,      /* ties a list of two */
    NEAR_VERB,     /* what comes behind it may be such a list */
    NEAR_REASON,   /* begins a reason */
    NEAR_LIMIT     /* narrows what was said: "if", "only" */
} near_kind;

typedef struct near_entry {
    const char *phrase; /* folded; words with one space between */
    const char *same;   /* of aliases and numbers, in the same form */
    near_kind kind;
} near_entry;

/* The list of a language; its end is a NULL phrase. Static. */
const near_entry *near_lexicon(near_language language);
/* True for a frequent word that tells the language from the others that use the Latin script. */
bool near_is_marker(near_language language, uar_str word);

#endif
