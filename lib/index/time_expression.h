/*
 * Times that a question speaks of: "yesterday", "last week", "two months ago", "in May 2023", "on 7 May", "since March",
 * "2023-05-07", "the week before August 3, 2023"; in English, German, Spanish and French. Days are those of UTC, weeks begin
 * on Monday, seasons are those of the northern half.
 *
 * It serves to move scores a little, never to leave anything out: what it doesn't understand is no time, and a date that
 * doesn't exist is none. A date without a year is the last one that has begun; the future is never meant, since what is
 * sought was written before.
 */
#ifndef UAR_LIB_INDEX_TIME_EXPRESSION_H
#define UAR_LIB_INDEX_TIME_EXPRESSION_H

#include "base/alloc.h"

/* Wall milliseconds [from, until); from is below until. INT64_MIN and INT64_MAX: open. */
typedef struct time_range {
    int64_t from_ms, until_ms;
} time_range;

/*
 * The time of a question that is asked at `now_ms`. Of several the most definite one: a date with its year before one
 * without, before one that depends on today; then the shortest; then the first. Two that are tied ("between May and July
 * 2023") are one. *found false: it names none, and *out is untouched. UAR_E_NOMEM, UAR_E_UTF8.
 */
uar_status time_expression_find(bool *found, time_range *out, const uar_allocator *a, uar_str question, int64_t now_ms);

/* How near a moment is to a range: 1 inside, falling towards 0 outside, by half for each half of the range's length, but
 * no faster than a day and no slower than thirty days. */
double time_range_nearness(const time_range *range, int64_t ms);

#endif
