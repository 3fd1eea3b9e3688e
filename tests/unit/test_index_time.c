/* Times that questions speak of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "index/time_expression.h"
#include "index/time_words.h"
#include "support/probe_alloc.h"

/* A Wednesday. */
#define NOW "2024-03-13T10:30:00Z"

static int64_t moment(const char *text) {
    int64_t ms = 0;
    assert_int_equal(time_parse(&ms, uar_str_of(text)), UAR_OK);
    return ms;
}

typedef struct example {
    const char *question, *from, *until; /* NULL: open */
} example;

static bool is_same(const char *expected, int64_t ms, int64_t open) {
    return expected != NULL ? ms == moment(expected) : ms == open;
}

static void assert_times(const example *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        time_range r = { 0 };
        uar_str question = uar_str_of(list[i].question);
        assert_int_equal(time_expression_find(&found, &r, &alloc_default, question, moment(NOW)), UAR_OK);
        if (!found) fail_msg("no time in: %s", list[i].question);
        char from[TIME_TEXT], until[TIME_TEXT];
        time_format(from, r.from_ms);
        time_format(until, r.until_ms);
        if (!is_same(list[i].from, r.from_ms, INT64_MIN) || !is_same(list[i].until, r.until_ms, INT64_MAX))
            fail_msg("%s gave %s to %s", list[i].question, from, until);
    }
}

#define ASSERT_TIMES(list) assert_times(list, sizeof(list) / sizeof(list)[0])

static void assert_none(const char *question) {
    bool found = true;
    time_range r = { 7, 9, 0 };
    assert_int_equal(time_expression_find(&found, &r, &alloc_default, uar_str_of(question), moment(NOW)), UAR_OK);
    if (found) fail_msg("a time in: %s", question);
    assert_true(r.from_ms == 7 && r.until_ms == 9);
}

static void days_near_today(void **state) {
    (void)state;
    static const example list[] = {
        { "What did I do yesterday?", "2024-03-12", "2024-03-13" },
        { "the day before yesterday", "2024-03-11", "2024-03-12" },
        { "what is on today", "2024-03-13", "2024-03-14" },
        { "was habe ich gestern gemacht", "2024-03-12", "2024-03-13" },
        { "vorgestern", "2024-03-11", "2024-03-12" },
        { "ayer", "2024-03-12", "2024-03-13" },
        { "anteayer", "2024-03-11", "2024-03-12" },
        { "qu'est-ce que j'ai fait hier", "2024-03-12", "2024-03-13" },
        { "avant-hier", "2024-03-11", "2024-03-12" },
        { "aujourd'hui", "2024-03-13", "2024-03-14" },
    };
    ASSERT_TIMES(list);
}

static void the_unit_before_this_one(void **state) {
    (void)state;
    static const example list[] = {
        { "last week", "2024-03-04", "2024-03-11" },
        { "this week", "2024-03-11", "2024-03-18" },
        { "last weekend", "2024-03-09", "2024-03-11" },
        { "last month", "2024-02-01", "2024-03-01" },
        { "last year", "2023-01-01", "2024-01-01" },
        { "letzte Woche", "2024-03-04", "2024-03-11" },
        { "im vergangenen Jahr", "2023-01-01", "2024-01-01" },
        { "la semana pasada", "2024-03-04", "2024-03-11" },
        { "el mes pasado", "2024-02-01", "2024-03-01" },
        { "le mois dernier", "2024-02-01", "2024-03-01" },
        { "l'ann\xC3\xA9"
          "e derni\xC3\xA8re",
          "2023-01-01", "2024-01-01" },
        { "cette semaine", "2024-03-11", "2024-03-18" },
    };
    ASSERT_TIMES(list);
}

static void up_to_now(void **state) {
    (void)state;
    static const example list[] = {
        { "the last three weeks", "2024-02-21", "2024-03-13T10:30:00.001Z" },
        { "over the past month", "2024-02-13", "2024-03-13T10:30:00.001Z" },
        { "die letzten zwei Jahre", "2022-03-13", "2024-03-13T10:30:00.001Z" },
        { "los \xC3\xBAltimos 2 meses", "2024-01-13", "2024-03-13T10:30:00.001Z" },
        { "les deux derni\xC3\xA8res semaines", "2024-02-28", "2024-03-13T10:30:00.001Z" },
    };
    ASSERT_TIMES(list);
}

static void so_long_ago_is_as_exact_as_its_unit(void **state) {
    (void)state;
    static const example list[] = {
        { "two hours ago", "2024-03-13T07:30:00Z", "2024-03-13T09:30:00Z" },
        { "3 days ago", "2024-03-10", "2024-03-11" },
        { "a week ago", "2024-03-03", "2024-03-10" },
        { "a couple of weeks ago", "2024-02-25", "2024-03-03" },
        { "one month ago", "2024-01-29", "2024-02-29" },
        { "vor drei Tagen", "2024-03-10", "2024-03-11" },
        { "hace tres d\xC3\xAD"
          "as",
          "2024-03-10", "2024-03-11" },
        { "il y a trois jours", "2024-03-10", "2024-03-11" },
        { "il y a un an", "2022-09-12", "2023-09-12" },
        { "a year ago", "2022-09-12", "2023-09-12" },
    };
    ASSERT_TIMES(list);
}

static void months_and_seasons(void **state) {
    (void)state;
    static const example list[] = {
        { "in May 2023", "2023-05-01", "2023-06-01" },
        { "in May", "2023-05-01", "2023-06-01" },
        { "in March", "2024-03-01", "2024-04-01" },
        { "last March", "2023-03-01", "2023-04-01" },
        { "im Mai 2023", "2023-05-01", "2023-06-01" },
        { "en mayo de 2023", "2023-05-01", "2023-06-01" },
        { "en ao\xC3\xBBt 2022", "2022-08-01", "2022-09-01" },
        { "last summer", "2023-06-01", "2023-09-01" },
        { "letzten Winter", "2023-12-01", "2024-03-01" }, /* over on 1 March 2024 */
        { "l'\xC3\xA9t\xC3\xA9 dernier", "2023-06-01", "2023-09-01" },
        { "summer of 2021", "2021-06-01", "2021-09-01" },
        { "in winter 2022", "2022-12-01", "2023-03-01" },
        { "in 2023", "2023-01-01", "2024-01-01" },
        { "im Jahr 2022", "2022-01-01", "2023-01-01" },
    };
    ASSERT_TIMES(list);
}

static void dates(void **state) {
    (void)state;
    static const example list[] = {
        { "on 7 May 2023", "2023-05-07", "2023-05-08" },    { "May 7th, 2023", "2023-05-07", "2023-05-08" },
        { "the 7th of May", "2023-05-07", "2023-05-08" },   { "December 1,2023", "2023-12-01", "2023-12-02" },
        { "am 7. Mai", "2023-05-07", "2023-05-08" },        { "el 7 de mayo de 2022", "2022-05-07", "2022-05-08" },
        { "le 1er mai", "2023-05-01", "2023-05-02" },       { "2023-05-07", "2023-05-07", "2023-05-08" },
        { "since 2023-05?", "2023-05-01", NULL },           { "7.5.2023", "2023-05-07", "2023-05-08" },
        { "25/7/2023", "2023-07-25", "2023-07-26" },        { "7/25/2023", "2023-07-25", "2023-07-26" },
        { "2023/7/25", "2023-07-25", "2023-07-26" },        { "29 February", "2024-02-29", "2024-03-01" },
        { "29 February 2020", "2020-02-29", "2020-03-01" },
    };
    ASSERT_TIMES(list);
}

static void weekdays_are_those_behind_us(void **state) {
    (void)state;
    static const example list[] = {
        { "on Monday", "2024-03-11", "2024-03-12" },        { "on Wednesday", "2024-03-13", "2024-03-14" },
        { "last Wednesday", "2024-03-06", "2024-03-07" },   { "on Friday", "2024-03-08", "2024-03-09" },
        { "am Montag", "2024-03-11", "2024-03-12" },        { "el lunes pasado", "2024-03-11", "2024-03-12" },
        { "vendredi dernier", "2024-03-08", "2024-03-09" },
    };
    ASSERT_TIMES(list);
}

static void open_and_tied_ranges(void **state) {
    (void)state;
    static const example list[] = {
        { "since May 2023", "2023-05-01", NULL },
        { "seit M\xC3\xA4rz", "2024-03-01", NULL },
        { "depuis mai", "2023-05-01", NULL },
        { "before May 2023", NULL, "2023-06-01" },
        { "by July 10, 2022", NULL, "2022-07-11" },
        { "between May and July 2023", "2023-05-01", "2023-08-01" },
        { "between August 11 and August 15 2022", "2022-08-11", "2022-08-16" },
        { "from May to July", "2023-05-01", "2023-08-01" },
        { "desde mayo hasta julio de 2022", "2022-05-01", "2022-08-01" },
        { "the week before August 3, 2023", "2023-07-27", "2023-08-04" },
        { "two weeks before August 11, 2023", "2023-07-28", "2023-08-12" },
    };
    ASSERT_TIMES(list);
}

static void the_most_definite_of_several_counts(void **state) {
    (void)state;
    static const example list[] = {
        { "what did I finish last Friday on 23 January, 2022?", "2022-01-23", "2022-01-24" },
        { "in 2022, on 23 January 2022", "2022-01-23", "2022-01-24" },
        { "yesterday I said that in May it rained", "2023-05-01", "2023-06-01" },
        { "yesterday or last week", "2024-03-12", "2024-03-13" },
    };
    ASSERT_TIMES(list);
}

static void what_only_looks_like_a_time_is_none(void **state) {
    (void)state;
    static const char *const list[] = {
        "",
        "?",
        "What may I do?",
        "march on",
        "We march at dawn",
        "June said so",
        "Was ist hier los?",
        "a second one",
        "next Friday",
        "next week",
        "vendredi prochain",
        "tomorrow",
        "flight 2023",
        "room 12",
        "5/7/2023",
        "31 February 2023",
        "February 30",
        "2023-13-40",
        "2023-02-30",
        "32.1.2023",
        "version 2023.1",
        "the last time",
        "three days",
        "in an hour",
        "at last",
        "this is it",
        "POL-358",
        "la vida",
        "v2024-05-07x1",
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        assert_none(list[i]);
}

static void nearness_falls_off_outside(void **state) {
    (void)state;
    time_range day = time_range_of(moment("2023-05-07"), moment("2023-05-08"));
    assert_true(time_range_nearness(&day, day.from_ms) == 1);
    assert_true(time_range_nearness(&day, day.until_ms - 1) == 1);
    assert_float_equal(time_range_nearness(&day, moment("2023-05-09")), 0.5, 1e-9);
    assert_float_equal(time_range_nearness(&day, moment("2023-05-05")), 0.2, 1e-9);
    assert_true(time_range_nearness(&day, INT64_MIN) >= 0 && time_range_nearness(&day, INT64_MAX) >= 0);
    time_range year = time_range_of(moment("2022-01-01"), moment("2023-01-01"));
    assert_float_equal(time_range_nearness(&year, moment("2023-01-31")), 0.5, 1e-9);
    time_range since = time_range_of(moment("2022-01-01"), INT64_MAX);
    assert_true(time_range_nearness(&since, moment("2024-01-01")) == 1);
    assert_float_equal(time_range_nearness(&since, moment("2021-12-02")), 0.5, 1e-9);
}

static void any_clock_gives_a_range(void **state) {
    (void)state;
    static const char *const questions[] = { "last winter", "two years ago", "29 February",
                                             "since March", "last week",     "1000 years ago",
                                             "in 9990",     "in 1000",       "the last 1000 months" };
    static const int64_t clocks[] = { INT64_MIN, -1, 0, 1, INT64_MAX, INT64_C(-62135596800000) };
    for (size_t c = 0; c < sizeof clocks / sizeof clocks[0]; c++) {
        for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++) {
            bool found = false;
            time_range r = { 0 };
            assert_int_equal(time_expression_find(&found, &r, &alloc_default, uar_str_of(questions[q]), clocks[c]),
                             UAR_OK);
            assert_true(found && r.from_ms < r.until_ms);
        }
    }
}

static void broken_text_and_no_memory_are_told(void **state) {
    (void)state;
    bool found = true;
    time_range r = { 7, 9, 0 };
    assert_int_equal(time_expression_find(&found, &r, &alloc_default, STR("in May \xFF"), 0), UAR_E_UTF8);
    for (unsigned long at = 1; at < 4; at++) {
        probe_alloc probe;
        probe_alloc_init(&probe);
        probe_alloc_arm(&probe, at, true);
        uar_status status = time_expression_find(&found, &r, &probe.door, STR("of old"), 0);
        assert_int_equal(status, probe_alloc_has_failed(&probe) ? UAR_E_NOMEM : UAR_OK);
        assert_true(r.from_ms == 7 && r.until_ms == 9);
        assert_int_equal(probe.alive, 0);
    }
}

static void a_long_question_is_read_as_far_as_its_first_words(void **state) {
    (void)state;
    char text[4096] = "";
    for (int i = 0; i < TIME_WORDS_MAX; i++)
        strcat(text, "word ");
    strcat(text, "yesterday");
    assert_none(text);
    assert_none("word word");
}

#define T(f) cmocka_unit_test(f)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(days_near_today),
        T(the_unit_before_this_one),
        T(up_to_now),
        T(so_long_ago_is_as_exact_as_its_unit),
        T(months_and_seasons),
        T(dates),
        T(weekdays_are_those_behind_us),
        T(open_and_tied_ranges),
        T(the_most_definite_of_several_counts),
        T(what_only_looks_like_a_time_is_none),
        T(nearness_falls_off_outside),
        T(any_clock_gives_a_range),
        T(broken_text_and_no_memory_are_told),
        T(a_long_question_is_read_as_far_as_its_first_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
