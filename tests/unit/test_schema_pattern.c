/*
 * The patterns of JSON Schema: what matches, what is refused and where, and that no pattern and no text makes a search slow.
 * A second matcher, which steps back, must come to the same answers on patterns made by chance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"
#include "schema/pattern.h"
#include "support/probe_alloc.h"
#include "support/slow_pattern.h"

#define PLENTY (UINT64_C(1) << 40)

static pattern_answer search(const char *written, uar_str text, uint64_t *steps) {
    arena memory;
    arena_init(&memory, &alloc_default);
    const pattern *p = NULL;
    pattern_fault fault;
    size_t room = PATTERN_MAX_SIZE;
    if (pattern_compile(&p, &memory, uar_str_of(written), &room, &fault) != UAR_OK)
        fail_msg("%s: %s", written, fault.text);
    void *scratch = alloc_bytes(&alloc_default, pattern_scratch(p));
    pattern_answer answer = pattern_search(p, text, scratch, steps);
    alloc_free(&alloc_default, scratch);
    arena_dispose(&memory);
    return answer;
}

static bool matches(const char *written, const char *text) {
    uint64_t steps = PLENTY;
    pattern_answer answer = search(written, uar_str_of(text), &steps);
    slow_answer slow = slow_pattern_search(uar_str_of(written), uar_str_of(text), 1000000);
    if (slow <= SLOW_FOUND && (slow == SLOW_FOUND) != (answer == PATTERN_FOUND))
        fail_msg("%s on %s: the matchers don't agree", written, text);
    return answer == PATTERN_FOUND;
}

typedef struct expectation {
    const char *written, *text;
    bool matches;
} expectation;

static void assert_all(const expectation *e, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (matches(e[i].written, e[i].text) != e[i].matches)
            fail_msg("/%s/ on \"%s\": expected %s", e[i].written, e[i].text, e[i].matches ? "a match" : "none");
}
#define ASSERT_ALL(table) assert_all((table), sizeof(table) / sizeof(table)[0])

static void test_a_pattern_may_match_anywhere_unless_it_is_anchored(void **state) {
    (void)state;
    static const expectation table[] = {
        { "", "", true },          { "", "abc", true },       { "b", "abc", true },        { "^b", "abc", false },
        { "b$", "abc", false },    { "^abc$", "abc", true },  { "^abc$", "abc\n", false }, { "^$", "", true },
        { "^$", "\n", false },     { "a^b", "ab", false },    { "a$b", "ab", false },      { "^^a$$", "a", true },
        { "(^a|b$)", "xb", true }, { "(^a|b$)", "ax", true }, { "(^a|b$)", "xax", false },
    };
    ASSERT_ALL(table);
}

static void test_alternatives_and_groups(void **state) {
    (void)state;
    static const expectation table[] = {
        { "^(a|b|cd)$", "cd", true },       { "^(a|b|cd)$", "c", false }, { "^(|a)$", "", true },
        { "^(a||b)$", "", true },           { "^(?:x|y)z$", "yz", true }, { "^(?<name>x)$", "x", true },
        { "^(a|(b|(c|d))e)$", "de", true }, { "^a|b$", "ax", true },      { "^a|b$", "xa", false },
        { "^(((((a)))))$", "a", true },     { "^()$", "", true },
    };
    ASSERT_ALL(table);
}

static void test_repeats_greedy_or_lazy(void **state) {
    (void)state;
    static const expectation table[] = {
        { "^a*$", "", true },
        { "^a*$", "aaa", true },
        { "^a+$", "", false },
        { "^a?$", "aa", false },
        { "^a{3}$", "aaa", true },
        { "^a{3}$", "aaaa", false },
        { "^a{2,}$", "a", false },
        { "^a{2,}$", "aaaaa", true },
        { "^a{2,4}$", "aaaa", true },
        { "^a{2,4}$", "aaaaa", false },
        { "^a{0}$", "", true },
        { "^a{0}$", "a", false },
        { "^a{0,2}$", "aa", true },
        { "^a{0,2}$", "aaa", false },
        { "^a{0,}$", "aaa", true },
        { "^a{1,1}b$", "ab", true },
        { "^(ab){2}$", "abab", true },
        { "^(a{2}){2}$", "aaaa", true },
        { "^(a|b){2,3}$", "abab", false },
        { "^a*?b+?c??$", "aabb", true },
        { "^(a*)*$", "aaa", true },
        { "^(a*)+b$", "b", true },
        { "^(|a)*$", "aa", true },
        { "^(?:){3}$", "", true },
        { "^(a?){3}$", "aaaa", false },
        { "^(a+){3,}$", "aa", false },
        { "^(?:a{2,3}){2}$", "aaaaa", true },
    };
    ASSERT_ALL(table);
}

static void test_classes(void **state) {
    (void)state;
    static const expectation table[] = {
        { "^[abc]+$", "cab", true },
        { "^[^abc]+$", "xyz", true },
        { "^[^abc]$", "a", false },
        { "^[a-f0-9]+$", "c0ffee", true },
        { "^[a-]+$", "a-a", true },
        { "^[-a]+$", "-", true },
        { "^[\\d-]+$", "3-", true },
        { "^[\\w.]+$", "a_1.", true },
        { "^[\\s\\S]$", "\n", true },
        { "^[^]$", "x", true },
        { "[]", "x", false },
        { "^[\\]\\\\]+$", "]\\", true },
        { "^[.*+?]+$", "?.*", true },
        { "^[\\b]$", "\b", true },
        { "^[^\\d\\s]+$", "ab-", true },
        { "^[^\\d\\s]+$", "a1", false },
        { "^[\\D]$", "5", false },
        { "^[\xC3\xA0-\xC3\xBF]$", "\xC3\xA9", true },
        { "^[[a]+$", "[a[", true },
        { "^[\\u{1F600}-\\u{1F64F}]$", "\xF0\x9F\x98\x84", true },
        { "^[z\\-a]+$", "a-z", true },
        { "^.$", "\n", false },
        { "^.$", "\xE2\x80\xA8", false },
        { "^.$", "\xF0\x9F\x98\x84", true },
        { "^[^a]$", "\xF0\x9F\x98\x84", true },
    };
    ASSERT_ALL(table);
}

static void test_escapes(void **state) {
    (void)state;
    static const expectation table[] = {
        { "^\\t\\n\\v\\f\\r$", "\t\n\v\f\r", true },
        { "^\\x41\\u0042\\u{43}$", "ABC", true },
        { "^\\ud83d\\ude00$", "\xF0\x9F\x98\x80", true },
        { "^\\cA\\cz$", "\x01\x1A", true },
        { "^\\.\\*\\/\\-\\@\\_$", ".*/-@_", true },
        { "^\\$\\^$", "$^", true },
        { "^\\d\\D\\w\\W\\s\\S$", "1a_- x", true },
        { "^\\s$", "\xC2\xA0", true },
        { "^\\s$", "\xEF\xBB\xBF", true },
        { "^\\s$", "\xE3\x80\x80", true },
        { "^\\w$", "\xC3\xA9", false },
        { "^\\d$", "\xD9\xA3", false },
        { "^\\p{L}+$", "\xC3\xA9\xE4\xBD\xA0", true },
        { "^\\p{Lu}$", "a", false },
        { "^\\P{Lu}$", "a", true },
        { "^\\p{Letter}\\p{gc=Nd}\\p{General_Category=Decimal_Number}$", "a1\xD9\xA3", true },
        { "^\\p{Any}$", "\xF4\x8F\xBF\xBF", true },
        { "^\\p{ASCII}+$", "az", true },
        { "^\\P{ASCII}$", "z", false },
        { "^\\p{Assigned}$", "\xF4\x8F\xBF\xBF", false },
        { "^[\\p{Lu}\\d]+$", "A1B", true },
        { "^[^\\p{L}]$", "1", true },
        { "^\\p{LC}$", "\xE4\xBD\xA0", false },
        { "^\\0?$", "", true },
    };
    ASSERT_ALL(table);
}

static void test_edges_of_words(void **state) {
    (void)state;
    static const expectation table[] = {
        { "\\bfoo\\b", "a foo b", true }, { "\\bfoo\\b", "afoo", false }, { "\\Boo\\b", "foo", true },
        { "\\Bfoo", "foo", false },       { "^\\b$", "", false },         { "^\\B$", "", true },
        { "a\\b", "a\xC3\xA9", true },    { "_\\b", "_a", false },
    };
    ASSERT_ALL(table);
}

static void test_what_is_refused_is_named_with_its_place(void **state) {
    (void)state;
    static const struct {
        const char *written, *fault;
        uar_status status;
    } table[] = {
        { "a(?=b)", "a lookahead at character 2", UAR_E_UNSUPPORTED },
        { "a(?!b)", "a lookahead at character 2", UAR_E_UNSUPPORTED },
        { "(?<=a)b", "a lookbehind at character 1", UAR_E_UNSUPPORTED },
        { "(?<!a)b", "a lookbehind at character 1", UAR_E_UNSUPPORTED },
        { "\xC3\xA9(a)\\1", "a backreference at character 5", UAR_E_UNSUPPORTED },
        { "(?<n>a)\\k<n>", "a named backreference at character 8", UAR_E_UNSUPPORTED },
        { "(?i)a", "a group with modifiers at character 1", UAR_E_UNSUPPORTED },
        { "(?-i:a)", "a group with modifiers at character 1", UAR_E_UNSUPPORTED },
        { "(?P<n>a)", "a group with modifiers at character 1", UAR_E_UNSUPPORTED },
        { "a\\p{Script=Greek}", "the property \"Script=Greek\" at character 2", UAR_E_UNSUPPORTED },
        { "a{9999999999999999999999}", "too many instructions, with repeats written out, at character 26",
          UAR_E_UNSUPPORTED },
        { "(a{1000}){1000}", "too many instructions, with repeats written out, at character 16", UAR_E_UNSUPPORTED },
        { "*a", "a repeat of nothing at character 1", UAR_E_SCHEMA },
        { "a**", "a repeat of nothing at character 3", UAR_E_SCHEMA },
        { "^*", "a repeat of nothing at character 2", UAR_E_SCHEMA },
        { "a|+", "a repeat of nothing at character 3", UAR_E_SCHEMA },
        { "a{", "a brace that is not escaped at character 2", UAR_E_SCHEMA },
        { "a{,3}", "a brace that is not escaped at character 2", UAR_E_SCHEMA },
        { "a{1", "a repeat without its end at character 2", UAR_E_SCHEMA },
        { "a{3,2}", "a repeat whose counts are in the wrong order at character 2", UAR_E_SCHEMA },
        { "}", "a bracket or brace that is not escaped at character 1", UAR_E_SCHEMA },
        { "a]", "a bracket or brace that is not escaped at character 2", UAR_E_SCHEMA },
        { "(a", "a group without its end at character 1", UAR_E_SCHEMA },
        { "a)", "a group's end without its begin at character 2", UAR_E_SCHEMA },
        { "(?", "an unknown kind of group at character 1", UAR_E_SCHEMA },
        { "(?<>a)", "a group with a bad name at character 1", UAR_E_SCHEMA },
        { "(?<1>a)", "a group with a bad name at character 1", UAR_E_SCHEMA },
        { "[a", "a class without its end at character 1", UAR_E_SCHEMA },
        { "[b-a]", "a range whose end is before its begin at character 2", UAR_E_SCHEMA },
        { "[\\d-z]x[a-\\d]", "a range that begins or ends with a class at character 2", UAR_E_SCHEMA },
        { "a\\", "a backslash at the end at character 2", UAR_E_SCHEMA },
        { "\\a", "an unknown escape at character 1", UAR_E_SCHEMA },
        { "\\01", "an octal escape at character 1", UAR_E_SCHEMA },
        { "\\c1", "\\c without a letter at character 1", UAR_E_SCHEMA },
        { "\\x4", "a hex digit is missing at character 4", UAR_E_SCHEMA },
        { "\\u{110000}", "a code point above 10FFFF at character 4", UAR_E_SCHEMA },
        { "\\u{}", "a hex digit is missing at character 4", UAR_E_SCHEMA },
        { "\\pL", "a property without its braces at character 1", UAR_E_SCHEMA },
        { "\\p{L", "a property without its braces at character 1", UAR_E_SCHEMA },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        arena memory;
        arena_init(&memory, &alloc_default);
        const pattern *p = NULL;
        pattern_fault fault = { "" };
        size_t room = PATTERN_MAX_SIZE;
        uar_status status = pattern_compile(&p, &memory, uar_str_of(table[i].written), &room, &fault);
        if (status != table[i].status || strcmp(fault.text, table[i].fault) != 0)
            fail_msg("/%s/: %s, %s", table[i].written, uar_status_name(status), fault.text);
        assert_null(p);
        assert_int_equal(room, PATTERN_MAX_SIZE);
        arena_dispose(&memory);
    }
}

static void test_groups_nest_up_to_a_limit(void **state) {
    (void)state;
    char written[4 * PATTERN_MAX_GROUPS];
    for (int depth = PATTERN_MAX_GROUPS; depth <= PATTERN_MAX_GROUPS + 1; depth++) {
        memset(written, '(', (size_t)depth);
        written[depth] = 'a';
        memset(written + depth + 1, ')', (size_t)depth);
        written[2 * depth + 1] = '\0';
        arena memory;
        arena_init(&memory, &alloc_default);
        const pattern *p = NULL;
        pattern_fault fault;
        size_t room = PATTERN_MAX_SIZE;
        assert_int_equal(pattern_compile(&p, &memory, uar_str_of(written), &room, &fault),
                         depth <= PATTERN_MAX_GROUPS ? UAR_OK : UAR_E_UNSUPPORTED);
        arena_dispose(&memory);
    }
}

/* The steps that a search takes on a text of so many `a` and one `!`. */
static uint64_t steps_on(const char *written, size_t len) {
    char *text = test_malloc(len + 1);
    memset(text, 'a', len);
    text[len] = '!';
    uint64_t steps = PLENTY;
    assert_int_equal(search(written, uar_str_n(text, len + 1), &steps), PATTERN_ABSENT);
    test_free(text);
    return PLENTY - steps;
}

/* The control: the matcher that steps back doesn't come to an end on the first of these. */
static void test_time_grows_with_the_length_of_the_text_only(void **state) {
    (void)state;
    static const char *const evil[] = { "(a+)+$",
                                        "^(a+)+$",
                                        "(a*)*b",
                                        "^(a|a)*$",
                                        "(a|aa)+$",
                                        "(.*a){12}$",
                                        "(a?){20}a{20}$",
                                        "^(([a-z])+.)+[A-Z]([a-z])+$",
                                        "(x+x+)+y|a*a*a*a*a*a*b" };
    for (size_t i = 0; i < sizeof evil / sizeof evil[0]; i++) {
        uint64_t some = steps_on(evil[i], 10000), more = steps_on(evil[i], 40000);
        if (more > 4 * some + some / 50)
            fail_msg("/%s/: %llu steps, then %llu", evil[i], (unsigned long long)some, (unsigned long long)more);
    }
    assert_int_equal(slow_pattern_search(STR("^(a+)+$"), STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"), 10000000),
                     SLOW_SPENT);
}

static void test_a_search_ends_when_its_budget_does(void **state) {
    (void)state;
    uint64_t whole = PLENTY;
    assert_int_equal(search("^[a-z]+$", STR("abcdefghijklmnopqrstuvwxyz"), &whole), PATTERN_FOUND);
    uint64_t needed = PLENTY - whole;
    for (uint64_t given = 0; given <= needed; given++) {
        uint64_t steps = given;
        pattern_answer answer = search("^[a-z]+$", STR("abcdefghijklmnopqrstuvwxyz"), &steps);
        assert_int_equal(answer, given < needed ? PATTERN_SPENT : PATTERN_FOUND);
        assert_int_equal(steps, 0);
    }
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed >> 11;
}

/* A pattern from pieces that are whole in themselves; brackets may stay open, then it is refused. */
static void make_pattern(char *out, size_t room, uint64_t *seed) {
    static const char *const pieces[] = { "a",   "b",   "c",   "(",     ")",  "(?:", "|",        "*",      "+",
                                          "?",   "*?",  "{2}", "{1,2}", "^",  "$",   "[ab]",     "[^a]",   ".",
                                          "\\b", "\\B", "\\w", "\\d",   ")*", ")+",  "[b-c\\d]", "\\p{L}", "{0,1}?" };
    size_t len = 0, wanted = 1 + next_random(seed) % 12;
    for (size_t i = 0; i < wanted && len + 12 < room; i++) {
        const char *piece = pieces[next_random(seed) % (sizeof pieces / sizeof pieces[0])];
        len += (size_t)snprintf(out + len, room - len, "%s", piece);
    }
    if (wanted == 0) out[0] = '\0';
}

static void make_text(char *out, uint64_t *seed) {
    static const char letters[] = "aaabbc1 ";
    size_t len = next_random(seed) % 9;
    for (size_t i = 0; i < len; i++)
        out[i] = letters[next_random(seed) % (sizeof letters - 1)];
    out[len] = '\0';
}

static void test_a_matcher_that_steps_back_comes_to_the_same_answers(void **state) {
    (void)state;
    uint64_t seed = 20120612;
    int compiled = 0, compared = 0, found = 0, rounds = getenv("UAR_TEST_FULL") != NULL ? 2000000 : 100000;
    for (int round = 0; round < rounds; round++) {
        char written[200], text[16];
        make_pattern(written, sizeof written, &seed);
        arena memory;
        arena_init(&memory, &alloc_default);
        const pattern *p = NULL;
        pattern_fault fault;
        size_t room = PATTERN_MAX_SIZE;
        uar_status status = pattern_compile(&p, &memory, uar_str_of(written), &room, &fault);
        bool is_known = slow_pattern_search(uar_str_of(written), STR(""), 100000) != SLOW_UNKNOWN;
        if (is_known != (status == UAR_OK)) fail_msg("/%s/: %s", written, fault.text);
        void *scratch = status == UAR_OK ? alloc_bytes(&alloc_default, pattern_scratch(p)) : NULL;
        for (int i = 0; i < 4 && status == UAR_OK; i++) {
            make_text(text, &seed);
            uint64_t steps = PLENTY;
            pattern_answer answer = pattern_search(p, uar_str_of(text), scratch, &steps);
            slow_answer slow = slow_pattern_search(uar_str_of(written), uar_str_of(text), 100000);
            if (slow > SLOW_FOUND) continue;
            if ((slow == SLOW_FOUND) != (answer == PATTERN_FOUND)) fail_msg("/%s/ on \"%s\"", written, text);
            compared++;
            found += answer == PATTERN_FOUND;
        }
        compiled += status == UAR_OK;
        alloc_free(&alloc_default, scratch);
        arena_dispose(&memory);
    }
    print_message("%d patterns of %d compiled, %d searches compared, %d found\n", compiled, rounds, compared, found);
    assert_true(compiled > rounds / 10 && found > compared / 10 && found < compared - compared / 10);
}

static void test_compiling_a_pattern_without_memory_leaks_nothing_and_leaves_the_output(void **state) {
    (void)state;
    static const char written[] = "^(?:[a-z\\p{Lu}\\d_-]{2,40}|\\w+[^\\s]){1,3}(x|y|z)*\\S.\\D$";
    for (int for_good = 0; for_good < 2; for_good++) {
        bool has_failed = true;
        for (unsigned long n = 1; has_failed; n++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            probe_alloc_arm(&probe, n, for_good != 0);
            arena memory;
            arena_init(&memory, &probe.door);
            const pattern *p = NULL;
            pattern_fault fault;
            size_t room = PATTERN_MAX_SIZE;
            uar_status status = pattern_compile(&p, &memory, uar_str_of(written), &room, &fault);
            has_failed = probe_alloc_has_failed(&probe);
            assert_int_equal(status, has_failed ? UAR_E_NOMEM : UAR_OK);
            assert_true((p == NULL) == has_failed && (room == PATTERN_MAX_SIZE) == has_failed);
            if (!has_failed) assert_true(n > 8);
            arena_dispose(&memory);
            assert_int_equal(probe.alive, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pattern_may_match_anywhere_unless_it_is_anchored),
        cmocka_unit_test(test_alternatives_and_groups),
        cmocka_unit_test(test_repeats_greedy_or_lazy),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_edges_of_words),
        cmocka_unit_test(test_what_is_refused_is_named_with_its_place),
        cmocka_unit_test(test_groups_nest_up_to_a_limit),
        cmocka_unit_test(test_time_grows_with_the_length_of_the_text_only),
        cmocka_unit_test(test_a_search_ends_when_its_budget_does),
        cmocka_unit_test(test_a_matcher_that_steps_back_comes_to_the_same_answers),
        cmocka_unit_test(test_compiling_a_pattern_without_memory_leaks_nothing_and_leaves_the_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
