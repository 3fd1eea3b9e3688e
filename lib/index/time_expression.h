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
    double slope; /* how fast nearness falls off, per millisecond */
} time_range;

/*
 * The time of a question that is asked at `now_ms`. Of several the most definite one: a date with its year before one
 * without, before one that depends on today; then the shortest; then the first. Two that are tied ("between May and July
 * 2023") are one. *found false: it names none, and *out is untouched. UAR_E_NOMEM, UAR_E_UTF8.
 */
uar_status time_expression_find(bool *found, time_range *out, const uar_allocator *a, uar_str question, int64_t now_ms);

/* A range with its slope: half as near at half of its length from it, but no faster than in a day and no slower than in
 * thirty days. */
time_range time_range_of(int64_t from_ms, int64_t until_ms);
static inline bool time_range_has(const time_range *r, int64_t ms) {
    return ms >= r->from_ms && ms < r->until_ms;
}
/* How near a moment is to a range: 1 inside, falling towards 0 outside. */
static inline double time_range_nearness(const time_range *r, int64_t ms) {
    if (time_range_has(r, ms)) return 1;
    double past = ms < r->from_ms ? (double)r->from_ms - (double)ms : (double)ms - (double)r->until_ms;
    return 1 / (1 + past * past * r->slope * r->slope);
}

#endif
