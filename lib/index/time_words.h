/*
 * The words that speak of time in English, German, Spanish and French, and how a question is cut into them. Internal to
 * time_expression.c.
 */
#ifndef UAR_LIB_INDEX_TIME_WORDS_H
#define UAR_LIB_INDEX_TIME_WORDS_H

#include "base/alloc.h"
#include "base/clock.h"

typedef enum word_kind {
    WORD_OTHER,
    WORD_NUMBER,  /* value: the number, digits or a word */
    WORD_AN,      /* "an": one, and a year in French */
    WORD_DATE,    /* written in digits: value is unused, `date` counts; day 0: the whole month */
    WORD_MONTH,   /* 1 to 12 */
    WORD_WEEKDAY, /* 0 Monday to 6 */
    WORD_UNIT,    /* a time_unit */
    WORD_SEASON,  /* its first month */
    WORD_LAST,    /* 1: "past", that is up to now */
    WORD_THIS,
    WORD_NEXT,
    WORD_AGO,       /* behind its number */
    WORD_AGO_FIRST, /* before its number: "vor zwei Tagen" */
    WORD_SINCE,
    WORD_BEFORE, /* before, until */
    WORD_AFTER,
    WORD_IN,     /* what may stand before a date: prepositions and articles */
    WORD_DAY,    /* days from today: 0, -1, -2 */
    WORD_HIER,   /* "yesterday" in French, "here" in German */
    WORD_FRENCH, /* says that the question is French */
    WORD_AND     /* what ties two dates; 1: "y" */
} word_kind;

typedef enum time_unit { UNIT_HOUR, UNIT_DAY, UNIT_WEEK, UNIT_MONTH, UNIT_YEAR, UNIT_WEEKEND } time_unit;

typedef struct time_word {
    word_kind kind;
    int value;
    civil_date date;
} time_word;

/* What a longer question says behind so many words isn't looked at. */
#define TIME_WORDS_MAX 128

/* Cut a question into at most TIME_WORDS_MAX words. UAR_E_NOMEM, UAR_E_UTF8. */
uar_status time_words_read(time_word out[TIME_WORDS_MAX], size_t *count, const uar_allocator *a, uar_str text);

#endif
