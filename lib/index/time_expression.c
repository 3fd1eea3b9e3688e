/* Owns: the patterns of time expressions and what they mean. Invariants: a range is never empty; all arithmetic is in days
 * of the years 1 to 9998, so that nothing overflows. */
#include "index/time_expression.h"

#include <assert.h>
#include <math.h>

#include "index/time_words.h"

#define MS_PER_HOUR INT64_C(3600000)
#define MS_PER_DAY INT64_C(86400000)
#define COUNT_MAX 1000

/* How definite an expression is. */
typedef enum definite {
    DEFINITE_NOTHING, /* it looks like a date and is none */
    DEFINITE_TODAY,
    DEFINITE_NO_YEAR,
    DEFINITE_YEAR
} definite;

/* A part of the calendar, as far as it was named. */
typedef struct calendar {
    int year;   /* 0: not named */
    int month;  /* 0: the whole year */
    int months; /* 3 for a season, else 1 */
    int day;    /* 0: the whole month */
} calendar;

/* What was found at some place of the question. */
typedef struct match {
    size_t from, to; /* words */
    calendar at;     /* month and year 0: it depends on today only */
    definite how;
    bool is_tied; /* it has both its ends */
    time_range range;
} match;

typedef struct reader {
    const time_word *words;
    size_t count;
    int64_t now_ms, today; /* `today` in days since 1970 */
    civil_date date;       /* of today */
    bool is_french;
} reader;

static word_kind kind_at(const reader *r, size_t at) {
    return at < r->count ? r->words[at].kind : WORD_OTHER;
}

static int value_at(const reader *r, size_t at) {
    return at < r->count ? r->words[at].value : 0;
}

static bool is_open(const time_range *range) {
    return range->from_ms == INT64_MIN || range->until_ms == INT64_MAX;
}

static double length_of(const time_range *range) {
    return is_open(range) ? INFINITY : (double)range->until_ms - (double)range->from_ms;
}

time_range time_range_of(int64_t from_ms, int64_t until_ms) {
    assert(from_ms < until_ms);
    time_range r = { from_ms, until_ms, 0 };
    double half = length_of(&r) / 2;
    double day = (double)MS_PER_DAY;
    r.slope = 1 / (half < day ? day : half > 30 * day ? 30 * day : half);
    return r;
}

static time_range days_range(int64_t from, int64_t until) {
    return time_range_of(from * MS_PER_DAY, until * MS_PER_DAY);
}

/* The day of a month, or the last one that it has; any month number. */
static int64_t day_of(int64_t year, int64_t month, int day) {
    int64_t months = year * 12 + month - 1;
    if (months < 12) months = 12;
    if (months > 9998 * 12) months = 9998 * 12;
    civil_date d = { months / 12, (int)(months % 12) + 1, day };
    int most = civil_month_days(d.year, d.month);
    if (d.day > most) d.day = most;
    return civil_days(d);
}

/* --- the calendar --- */

static time_range range_of(const calendar *c, int64_t year) {
    if (c->month == 0) return days_range(day_of(year, 1, 1), day_of(year + 1, 1, 1));
    if (c->day == 0) return days_range(day_of(year, c->month, 1), day_of(year, c->month + c->months, 1));
    int64_t day = day_of(year, c->month, c->day);
    return days_range(day, day + 1);
}

/* Without a year the last one that has begun is meant; `ended`: the last one that is over. */
static time_range calendar_range(const reader *r, const calendar *c, bool ended) {
    if (c->year != 0) return range_of(c, c->year);
    for (int64_t year = r->date.year; year > r->date.year - 8; year--) {
        bool exists = c->day <= civil_month_days(year, c->month);
        time_range range = range_of(c, year);
        if (exists && (ended ? range.until_ms <= r->today * MS_PER_DAY : range.from_ms <= r->now_ms)) return range;
    }
    return range_of(c, r->date.year - 1);
}

static bool is_year(const reader *r, size_t at) {
    return kind_at(r, at) == WORD_NUMBER && value_at(r, at) >= 1000 && value_at(r, at) <= 9990;
}

static bool is_day(const reader *r, size_t at) {
    return kind_at(r, at) == WORD_NUMBER && value_at(r, at) >= 1 && value_at(r, at) <= 31;
}

/* A year at `at`, perhaps behind "of" or "de"; how many words that takes, 0: there is none. */
static size_t take_year(const reader *r, size_t at, calendar *c) {
    size_t skipped = kind_at(r, at) == WORD_IN ? 1 : 0;
    if (!is_year(r, at + skipped)) return 0;
    c->year = value_at(r, at + skipped);
    return skipped + 1;
}

/* "7 May", "7th of May", "7 de mayo": the day before the month. */
static size_t take_day_first(const reader *r, size_t at, calendar *c) {
    if (!is_day(r, at)) return 0;
    size_t month = at + 1;
    while (month < at + 3 && kind_at(r, month) == WORD_IN)
        month++;
    if (kind_at(r, month) != WORD_MONTH) return 0;
    *c = (calendar){ 0, value_at(r, month), 1, value_at(r, at) };
    return month + 1 - at;
}

static bool is_possible(const calendar *c) {
    return c->day == 0 || c->day <= civil_month_days(c->year != 0 ? c->year : 2000, c->month);
}

/* True if the words before `at` make a bare month or season a date: "in May", not "may I". */
static bool is_led(const reader *r, size_t at) {
    if (at == 0) return false;
    word_kind k = kind_at(r, at - 1);
    return k == WORD_IN || k == WORD_SINCE || k == WORD_BEFORE || k == WORD_AFTER || k == WORD_AND;
}

/* A date with or without its year; how many words it takes. */
static size_t take_calendar(const reader *r, size_t at, calendar *c) {
    size_t taken = take_day_first(r, at, c);
    if (taken != 0) return taken + take_year(r, at + taken, c);
    if (kind_at(r, at) == WORD_MONTH) {
        *c = (calendar){ 0, value_at(r, at), 1, 0 };
        size_t year = take_year(r, at + 1, c);
        if (year != 0) return 1 + year;
        if (is_day(r, at + 1)) {
            c->day = value_at(r, at + 1);
            return 2 + take_year(r, at + 2, c);
        }
        return is_led(r, at) ? 1 : 0;
    }
    if (kind_at(r, at) == WORD_SEASON) {
        *c = (calendar){ 0, value_at(r, at), 3, 0 };
        size_t year = take_year(r, at + 1, c);
        return year != 0 || is_led(r, at) ? 1 + year : 0;
    }
    *c = (calendar){ 0, 0, 0, 0 };
    bool is_named = kind_at(r, at) == WORD_UNIT && value_at(r, at) == UNIT_YEAR && is_year(r, at + 1);
    if (is_named) at++;
    if (!is_year(r, at) || !(is_named || is_led(r, at))) return 0;
    c->year = value_at(r, at);
    return is_named ? 2 : 1;
}

static bool match_calendar(match *m, const reader *r, size_t at) {
    if (kind_at(r, at) == WORD_DATE) {
        civil_date d = r->words[at].date;
        m->at = (calendar){ (int)d.year, d.month, 1, d.day };
        m->to = at + 1;
    } else {
        m->to = at + take_calendar(r, at, &m->at);
        if (m->to == at) return false;
        m->how = DEFINITE_NOTHING;
        if (!is_possible(&m->at)) return true;
    }
    m->how = m->at.year != 0 ? DEFINITE_YEAR : DEFINITE_NO_YEAR;
    m->range = calendar_range(r, &m->at, false);
    return true;
}

/* --- what depends on today --- */

static int64_t monday(const reader *r) {
    return r->today - ((r->today + 3) % 7 + 7) % 7; /* day 0 was a Thursday */
}

static int64_t unit_days(int unit, int64_t n) {
    switch (unit) {
    case UNIT_WEEK:
    case UNIT_WEEKEND: return 7 * n;
    case UNIT_MONTH: return 30 * n;
    case UNIT_YEAR: return 365 * n;
    default: return n;
    }
}

/* "two weeks ago": as exact as the unit is. */
static time_range ago(const reader *r, int unit, int64_t n) {
    const civil_date *d = &r->date;
    int64_t back = r->today - unit_days(unit, n);
    switch (unit) {
    case UNIT_HOUR: return time_range_of(r->now_ms - (n + 1) * MS_PER_HOUR, r->now_ms - (n - 1) * MS_PER_HOUR);
    case UNIT_MONTH: back = day_of(d->year, d->month - n, d->day); return days_range(back - 15, back + 16);
    case UNIT_YEAR: back = day_of(d->year - n, d->month, d->day); return days_range(back - 182, back + 183);
    case UNIT_WEEK:
    case UNIT_WEEKEND: return days_range(back - 3, back + 4);
    default: return days_range(back, back + 1);
    }
}

/* "the last three weeks": up to now. */
static time_range lately(const reader *r, int unit, int64_t n) {
    int64_t now = r->now_ms + 1;
    const civil_date *d = &r->date;
    switch (unit) {
    case UNIT_HOUR: return time_range_of(now - n * MS_PER_HOUR, now);
    case UNIT_MONTH: return time_range_of(day_of(d->year, d->month - n, d->day) * MS_PER_DAY, now);
    case UNIT_YEAR: return time_range_of(day_of(d->year - n, d->month, d->day) * MS_PER_DAY, now);
    default: return time_range_of((r->today - unit_days(unit, n)) * MS_PER_DAY, now);
    }
}

/* The unit of the calendar that is `back` units before this one. */
static time_range whole_unit(const reader *r, int unit, int back) {
    const civil_date *d = &r->date;
    int64_t week = monday(r) - 7 * back;
    switch (unit) {
    case UNIT_WEEK: return days_range(week, week + 7);
    case UNIT_WEEKEND: return days_range(week + 5, week + 7);
    case UNIT_MONTH: return days_range(day_of(d->year, d->month - back, 1), day_of(d->year, d->month - back + 1, 1));
    case UNIT_YEAR: return days_range(day_of(d->year - back, 1, 1), day_of(d->year - back + 1, 1, 1));
    default: return days_range(r->today - back, r->today - back + 1);
    }
}

static time_range weekday(const reader *r, int day, bool may_be_today) {
    int64_t at = monday(r) + day;
    if (at > r->today || (at == r->today && !may_be_today)) at -= 7;
    return days_range(at, at + 1);
}

static bool is_count(const reader *r, size_t at) {
    word_kind k = kind_at(r, at);
    return (k == WORD_NUMBER && value_at(r, at) >= 1 && value_at(r, at) <= COUNT_MAX) || k == WORD_AN;
}

/* "ans" is a unit; so is "an" behind a number. */
static bool take_unit(const reader *r, size_t at, int *unit) {
    if (kind_at(r, at) == WORD_AN) {
        *unit = UNIT_YEAR;
        return true;
    }
    *unit = value_at(r, at);
    return kind_at(r, at) == WORD_UNIT;
}

/* "two weeks", "a couple of weeks"; how many words. */
static size_t take_amount(const reader *r, size_t at, int *n, int *unit) {
    if (!is_count(r, at)) return 0;
    *n = value_at(r, at);
    size_t next = at + 1;
    if (*n == 1 && kind_at(r, next) == WORD_NUMBER && is_count(r, next)) *n = value_at(r, next++);
    if (kind_at(r, next) == WORD_IN) next++;
    return take_unit(r, next, unit) ? next + 1 - at : 0;
}

static bool match_ago(match *m, const reader *r, size_t at) {
    int n, unit;
    size_t lead = 0;
    if (kind_at(r, at) == WORD_AGO_FIRST) lead = 1;
    if (kind_at(r, at) == WORD_AND && value_at(r, at) == 1 && kind_at(r, at + 1) == WORD_NUMBER &&
        value_at(r, at + 1) == 1 && is_count(r, at + 2))
        lead = 2; /* "il y a deux jours" */
    size_t taken = take_amount(r, at + lead, &n, &unit);
    if (taken == 0 || (lead == 0 && kind_at(r, at + taken) != WORD_AGO)) return false;
    m->to = at + lead + taken + (lead == 0 ? 1 : 0);
    m->range = ago(r, unit, n);
    return true;
}

/* "last May", "le mois dernier", "this week": the word that points, and what it points at, in either order. */
static bool match_pointed(match *m, const reader *r, size_t pointer, size_t thing) {
    word_kind points = kind_at(r, pointer);
    bool is_last = points == WORD_LAST;
    if (!is_last && points != WORD_THIS) return false;
    int what = value_at(r, thing);
    calendar c = { 0, what, 1, 0 };
    switch (kind_at(r, thing)) {
    case WORD_UNIT:
        if (what == UNIT_HOUR || what == UNIT_DAY) return false;
        m->range = is_last && value_at(r, pointer) == 1 ? lately(r, what, 1) : whole_unit(r, what, is_last ? 1 : 0);
        return true;
    case WORD_WEEKDAY: m->range = weekday(r, what, !is_last); return true;
    case WORD_SEASON: c.months = 3; break;
    case WORD_MONTH: break;
    default: return false;
    }
    m->range = calendar_range(r, &c, is_last);
    return true;
}

/* "the last three weeks", "los ultimos tres meses", "les deux dernieres semaines". */
static bool match_lately(match *m, const reader *r, size_t at) {
    size_t last = kind_at(r, at) == WORD_LAST ? at : at + 1;
    size_t number = last == at ? at + 1 : at;
    int unit;
    if (kind_at(r, last) != WORD_LAST || !is_count(r, number) || !take_unit(r, at + 2, &unit)) return false;
    m->to = at + 3;
    m->range = lately(r, unit, value_at(r, number));
    return true;
}

static bool match_day(match *m, const reader *r, size_t at) {
    int back = -value_at(r, at);
    /* "the day before yesterday", "avant-hier" */
    bool is_before = back == 1 && at > 0 && kind_at(r, at - 1) == WORD_BEFORE;
    if (kind_at(r, at) == WORD_HIER ? !r->is_french && !is_before : kind_at(r, at) != WORD_DAY) return false;
    if (is_before) back = 2;
    m->to = at + 1;
    m->range = days_range(r->today - back, r->today - back + 1);
    return true;
}

static bool match_today(match *m, const reader *r, size_t at) {
    m->how = DEFINITE_TODAY;
    m->at = (calendar){ 0, 0, 0, 0 };
    if (match_ago(m, r, at) || match_lately(m, r, at) || match_day(m, r, at)) return true;
    m->to = at + 2;
    if (match_pointed(m, r, at, at + 1) || match_pointed(m, r, at + 1, at)) return true;
    m->to = at + 1;
    if (kind_at(r, at) != WORD_WEEKDAY) return false;
    m->range = weekday(r, value_at(r, at), true);
    return true;
}

/* --- what stands around a time --- */

static size_t skip_in(const reader *r, size_t at) {
    while (kind_at(r, at) == WORD_IN)
        at++;
    return at;
}

static bool match_plain(match *m, const reader *r, size_t at) {
    m->from = at;
    m->is_tied = false;
    if (!match_calendar(m, r, at) && !match_today(m, r, at)) return false;
    bool is_ahead = kind_at(r, m->to) == WORD_NEXT || (at > 0 && kind_at(r, at - 1) == WORD_NEXT);
    return !is_ahead;
}

/* "between May and July 2023": from the one to the other. */
static void tie(match *m, const reader *r) {
    word_kind k = kind_at(r, m->to);
    if (k != WORD_AND && k != WORD_BEFORE) return;
    match other;
    if (!match_plain(&other, r, skip_in(r, m->to + 1)) || other.how == DEFINITE_NOTHING) return;
    if (m->how == DEFINITE_NO_YEAR && other.how == DEFINITE_YEAR) {
        m->at.year = other.at.year;
        m->range = calendar_range(r, &m->at, false);
    }
    if (other.range.until_ms <= m->range.from_ms) return;
    m->range.until_ms = other.range.until_ms;
    m->how = other.how;
    m->to = other.to;
    m->is_tied = true;
}

/* "since", "before", "the week before": words in front of a time that is made of `m`. */
static void lead(match *m, const reader *r, bool is_ended_by_day) {
    size_t at = m->from;
    while (at > 0 && kind_at(r, at - 1) == WORD_IN)
        at--;
    if (at == 0) return;
    word_kind k = kind_at(r, at - 1);
    if (m->is_tied) return;
    if (k == WORD_SINCE || k == WORD_AFTER) {
        m->range.until_ms = INT64_MAX;
    } else if ((k == WORD_BEFORE || k == WORD_AGO_FIRST) && !is_ended_by_day) {
        bool is_near = at > 1 && (kind_at(r, at - 2) == WORD_UNIT || kind_at(r, at - 2) == WORD_WEEKDAY);
        int64_t n = at > 2 && is_count(r, at - 3) ? value_at(r, at - 3) : 1;
        int unit = is_near && kind_at(r, at - 2) == WORD_UNIT ? value_at(r, at - 2) : UNIT_WEEK;
        m->range.from_ms = is_near ? m->range.from_ms - unit_days(unit, n) * MS_PER_DAY : INT64_MIN;
    }
}

static bool match_at(match *m, const reader *r, size_t at) {
    if (!match_plain(m, r, at)) return false;
    if (m->how == DEFINITE_NOTHING) return true;
    word_kind k = kind_at(r, at);
    tie(m, r);
    lead(m, r, k == WORD_DAY || k == WORD_HIER);
    return true;
}

static bool is_better(const match *m, const match *best) {
    if (m->how != best->how) return m->how > best->how;
    return length_of(&m->range) < length_of(&best->range);
}

uar_status time_expression_find(bool *found, time_range *out, const uar_allocator *a, uar_str question,
                                int64_t now_ms) {
    assert(found != NULL && out != NULL);
    time_word words[TIME_WORDS_MAX];
    size_t count = 0;
    uar_status status = time_words_read(words, &count, a, question);
    if (status != UAR_OK) return status;
    reader r = { .words = words, .count = count };
    int64_t first = day_of(10, 1, 1), last = day_of(9990, 1, 1);
    r.today = now_ms / MS_PER_DAY - (now_ms % MS_PER_DAY < 0 ? 1 : 0);
    if (r.today < first || r.today > last) r.today = r.today < first ? first : last;
    r.now_ms = now_ms < first * MS_PER_DAY || now_ms > last * MS_PER_DAY ? r.today * MS_PER_DAY : now_ms;
    r.date = civil_date_of(r.today);
    for (size_t i = 0; i < count; i++)
        r.is_french = r.is_french || words[i].kind == WORD_FRENCH;
    match best = { .how = DEFINITE_NOTHING };
    for (size_t at = 0; at < count;) {
        match m;
        if (!match_at(&m, &r, at)) {
            at++;
            continue;
        }
        if (m.how != DEFINITE_NOTHING && is_better(&m, &best)) best = m;
        at = m.to;
    }
    *found = best.how != DEFINITE_NOTHING;
    if (*found) *out = time_range_of(best.range.from_ms, best.range.until_ms);
    return UAR_OK;
}
