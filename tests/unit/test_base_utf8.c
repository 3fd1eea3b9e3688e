/* UTF-8 steps against an independent rule, and the lane that joins what chunks cut apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/utf8.h"
#include "support/probe_alloc.h"

#define FFFD "\xEF\xBF\xBD"
#define HIGH_HALF "\xED\xA0\xBD" /* U+D83D */
#define LOW_HALF "\xED\xB8\x80"  /* U+DE00; together U+1F600 */
#define GRIN "\xF0\x9F\x98\x80"

/* ---- A second opinion on what is valid: RFC 3629, by value and not by byte ranges ---- */

static size_t reference_character(const uint8_t *p, size_t len) {
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t want = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (want == 0 || want > len) return 0;
    uint32_t code = want == 1 ? p[0] : p[0] & (0xFFu >> (want + 1));
    for (size_t i = 1; i < want; i++) {
        if (p[i] >> 6 != 2) return 0;
        code = code * 64 + p[i] % 64;
    }
    bool is_valid = code >= least[want] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    return is_valid ? want : 0;
}

static size_t reference_fault(const uint8_t *p, size_t len) {
    size_t at = 0;
    while (at < len) {
        size_t step = reference_character(p + at, len - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

static void check_fault(const uint8_t *bytes, size_t len) {
    uar_str s = uar_str_n((const char *)bytes, len);
    assert_int_equal(utf8_fault(s), reference_fault(bytes, len));
}

static void every_code_point_is_written_and_read_back(void **state) {
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[4];
        unsigned len = utf8_encode(bytes, code);
        utf8_item item = utf8_decode(bytes, len);
        bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
        if (item.len != len || item.code_point != code || len != utf8_size(code)) fail_msg("U+%04X", code);
        if (item.kind != (is_surrogate ? UTF8_SURROGATE : UTF8_CHARACTER)) fail_msg("kind of U+%04X", code);
        if (utf8_is_valid(uar_str_n(bytes, len)) == is_surrogate) fail_msg("validity of U+%04X", code);
    }
}

static void every_sequence_of_two_bytes_is_judged_as_by_the_standard(void **state) {
    (void)state;
    for (unsigned v = 0; v < 0x10000; v++) {
        uint8_t bytes[2] = { (uint8_t)(v >> 8), (uint8_t)v };
        check_fault(bytes, 2);
    }
}

static void sequences_of_five_bytes_at_the_borders_are_judged_as_by_the_standard(void **state) {
    (void)state;
    static const uint8_t border[] = { 0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2,
                                      0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF };
    const unsigned n = sizeof border;
    for (unsigned v = 0; v < n * n * n * n * n; v++) {
        uint8_t bytes[5];
        unsigned rest = v;
        for (unsigned i = 0; i < 5; i++) {
            bytes[i] = border[rest % n];
            rest /= n;
        }
        check_fault(bytes, 5);
    }
}

static void a_fault_is_found_at_every_place_of_a_long_text(void **state) {
    (void)state;
    uint8_t text[40];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'a', sizeof text);
        text[at] = 0xFF;
        assert_int_equal(utf8_fault(uar_str_n((const char *)text, sizeof text)), at);
        assert_int_equal(utf8_fault(uar_str_n((const char *)text, at)), at);
    }
}

static void an_absent_text_is_valid_and_empty(void **state) {
    (void)state;
    uar_str absent = uar_str_of(NULL);
    assert_true(utf8_is_valid(absent));
    assert_int_equal(utf8_length(absent), 0);
    assert_int_equal(utf8_cut(absent, 7), 0);
}

static void a_cut_is_the_longest_prefix_of_whole_characters(void **state) {
    (void)state;
    uar_str text = STR("a\xC3\xA9\xE6\x97\xA5" GRIN "z");
    for (size_t max = 0; max <= text.len + 2; max++) {
        size_t want = max < text.len ? max : text.len;
        while (!utf8_is_valid(uar_str_n(text.ptr, want))) {
            want--;
        }
        assert_int_equal(utf8_cut(text, max), want);
    }
}

static void a_cut_leaves_out_a_character_that_the_text_itself_ends_in(void **state) {
    (void)state;
    assert_int_equal(utf8_cut(STR("ab\xE6\x97"), 100), 2);
    assert_int_equal(utf8_cut(STR("ab\xF0\x9F\x98"), 100), 2);
}

static void length_counts_code_points(void **state) {
    (void)state;
    assert_int_equal(utf8_length(STR("a\xC3\xA9\xE6\x97\xA5" GRIN)), 4);
}

/* ---- The lane ---- */

typedef struct outcome {
    buffer text;
    utf8_lane lane;
} outcome;

static void push(outcome *o, uar_str s, size_t from, size_t to) {
    /* A copy of exactly this size lets the sanitizers see a read beyond the chunk. */
    char *chunk = malloc(to - from + 1);
    assert_non_null(chunk);
    memcpy(chunk, s.ptr + from, to - from);
    char *exact = realloc(chunk, to - from > 0 ? to - from : 1);
    assert_non_null(exact);
    utf8_lane_push(&o->lane, uar_str_n(exact, to - from), &o->text);
    free(exact);
}

static void outcome_init(outcome *o) {
    buffer_init(&o->text, &alloc_default, 1 << 20);
    utf8_lane_init(&o->lane);
}

static void whole(outcome *o, uar_str s) {
    outcome_init(o);
    push(o, s, 0, s.len);
    utf8_lane_end(&o->lane, &o->text);
}

static void check_same(const outcome *a, const outcome *b) {
    assert_int_equal(a->text.len, b->text.len);
    assert_memory_equal(buffer_str(&a->text).ptr, buffer_str(&b->text).ptr, a->text.len);
    assert_int_equal(a->lane.nuls, b->lane.nuls);
    assert_int_equal(a->lane.broken, b->lane.broken);
    assert_int_equal(a->lane.truncated, b->lane.truncated);
    assert_int_equal(a->lane.held_len, 0);
}

static void check_cut_at(const outcome *expected, uar_str s, size_t first, size_t second) {
    outcome cut;
    outcome_init(&cut);
    push(&cut, s, 0, first);
    push(&cut, s, first, second);
    push(&cut, s, second, s.len);
    utf8_lane_end(&cut.lane, &cut.text);
    check_same(&cut, expected);
    buffer_dispose(&cut.text);
}

static void check_byte_by_byte(const outcome *expected, uar_str s) {
    outcome cut;
    outcome_init(&cut);
    for (size_t i = 0; i < s.len; i++) {
        push(&cut, s, i, i + 1);
    }
    utf8_lane_end(&cut.lane, &cut.text);
    check_same(&cut, expected);
    buffer_dispose(&cut.text);
}

static void check_every_cut(uar_str s) {
    outcome expected;
    whole(&expected, s);
    assert_true(utf8_is_valid(buffer_str(&expected.text)));
    if (expected.text.len > 0) assert_null(memchr(expected.text.ptr, 0, expected.text.len));
    for (size_t first = 0; first <= s.len; first++) {
        for (size_t second = first; second <= s.len; second++) {
            check_cut_at(&expected, s, first, second);
        }
    }
    check_byte_by_byte(&expected, s);
    buffer_dispose(&expected.text);
}

typedef struct lane_case {
    uar_str input;
    uar_str output;
    uint32_t nuls, broken;
    bool truncated;
} lane_case;

static const lane_case lane_cases[] = {
    { STR_INIT(""), STR_INIT(""), 0, 0, false },
    { STR_INIT("plain ASCII that is longer than a word or two"),
      STR_INIT("plain ASCII that is longer than a word or two"), 0, 0, false },
    { STR_INIT("caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC " GRIN), STR_INIT("caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC " GRIN), 0,
      0, false },
    { STR_INIT("a\0b"), STR_INIT("a" FFFD "b"), 1, 0, false },
    { STR_INIT("eight by\0tes\0"), STR_INIT("eight by" FFFD "tes" FFFD), 2, 0, false },
    { STR_INIT(HIGH_HALF LOW_HALF), STR_INIT(GRIN), 0, 0, false },
    { STR_INIT("x" HIGH_HALF LOW_HALF "y"), STR_INIT("x" GRIN "y"), 0, 0, false },
    { STR_INIT(HIGH_HALF "y"), STR_INIT(FFFD "y"), 0, 1, false },
    { STR_INIT(LOW_HALF "y"), STR_INIT(FFFD "y"), 0, 1, false },
    { STR_INIT(LOW_HALF HIGH_HALF "."), STR_INIT(FFFD FFFD "."), 0, 2, false },
    { STR_INIT(HIGH_HALF HIGH_HALF LOW_HALF), STR_INIT(FFFD GRIN), 0, 1, false },
    { STR_INIT(HIGH_HALF "\xED\x9F\xBF"), STR_INIT(FFFD "\xED\x9F\xBF"), 0, 1, false },
    { STR_INIT(HIGH_HALF "\0"), STR_INIT(FFFD FFFD), 1, 1, false },
    { STR_INIT(HIGH_HALF), STR_INIT(FFFD), 0, 0, true },
    { STR_INIT(HIGH_HALF "\xED\xB8"), STR_INIT(FFFD), 0, 0, true },
    { STR_INIT(HIGH_HALF "\xED\xA0"), STR_INIT(FFFD FFFD), 0, 1, true },
    { STR_INIT(HIGH_HALF "\xED\xB8 "), STR_INIT(FFFD FFFD " "), 0, 2, false },
    { STR_INIT("\xFF"), STR_INIT(FFFD), 0, 1, false },
    { STR_INIT("\x80\x80"), STR_INIT(FFFD FFFD), 0, 2, false },
    { STR_INIT("\xC0\xAF"), STR_INIT(FFFD FFFD), 0, 2, false },
    { STR_INIT("\xE6\x97("), STR_INIT(FFFD "("), 0, 1, false },
    { STR_INIT("\xF0\x9F\x98("), STR_INIT(FFFD "("), 0, 1, false },
    { STR_INIT("\xF4\x90\x80\x80"), STR_INIT(FFFD FFFD FFFD FFFD), 0, 4, false },
    { STR_INIT("a\xE6\x97"), STR_INIT("a" FFFD), 0, 0, true },
    { STR_INIT("a\xF0\x9F\x98"), STR_INIT("a" FFFD), 0, 0, true },
    { STR_INIT("\xF0\xF0\x9F\x98\x80"), STR_INIT(FFFD GRIN), 0, 1, false },
};

static void the_lane_gives_the_text_that_each_case_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lane_cases / sizeof *lane_cases; i++) {
        const lane_case *c = &lane_cases[i];
        outcome o;
        whole(&o, c->input);
        bool is_right = uar_str_equal(buffer_str(&o.text), c->output) && o.lane.nuls == c->nuls &&
                        o.lane.broken == c->broken && o.lane.truncated == c->truncated;
        if (!is_right) fail_msg("case %zu", i);
        buffer_dispose(&o.text);
    }
}

static void test_E7_no_cut_at_any_byte_changes_what_comes_out(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lane_cases / sizeof *lane_cases; i++) {
        check_every_cut(lane_cases[i].input);
    }
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint64_t test_seed(void) {
    const char *text = getenv("UAR_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
    print_message("# seed %llu\n", (unsigned long long)seed);
    return (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static void test_E7_no_cut_changes_random_mixtures_of_whole_and_broken_pieces(void **state) {
    (void)state;
    static const uar_str pieces[] = {
        STR_INIT("a"),        STR_INIT("\0"),           STR_INIT("\xC3\xA9"), STR_INIT("\xED"),
        STR_INIT(HIGH_HALF),  STR_INIT(LOW_HALF),       STR_INIT(GRIN),       STR_INIT("\x80"),
        STR_INIT("\xF0\x9F"), STR_INIT("\xE6\x97\xA5"), STR_INIT("12345678"), STR_INIT("\xED\xB8")
    };
    uint64_t seed = test_seed();
    int rounds = getenv("UAR_TEST_FULL") != NULL ? 20000 : 500;
    for (int round = 0; round < rounds; round++) {
        char text[64];
        size_t len = 0;
        for (int i = 0; i < 7; i++) {
            uar_str piece = pieces[next_random(&seed) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + len, piece.ptr, piece.len);
            len += piece.len;
        }
        check_every_cut(uar_str_n(text, len));
    }
}

static void test_E7_a_tail_that_is_cut_off_is_reported_and_the_lane_can_be_used_again(void **state) {
    (void)state;
    outcome o;
    whole(&o, STR("a\xE6\x97"));
    assert_true(o.lane.truncated);
    assert_int_equal(o.lane.held_len, 0);
    push(&o, STR("\xA5"), 0, 1);
    assert_true(uar_str_equal(buffer_str(&o.text), STR("a" FFFD FFFD)));
    assert_int_equal(o.lane.broken, 1);
    buffer_dispose(&o.text);
}

static void the_end_of_a_whole_text_adds_nothing(void **state) {
    (void)state;
    outcome o;
    whole(&o, STR("whole"));
    utf8_lane_end(&o.lane, &o.text);
    assert_false(o.lane.truncated);
    assert_true(uar_str_equal(buffer_str(&o.text), STR("whole")));
    buffer_dispose(&o.text);
}

static void a_full_output_is_an_error_that_stays_in_the_buffer(void **state) {
    (void)state;
    utf8_lane lane;
    buffer out;
    utf8_lane_init(&lane);
    buffer_init(&out, &alloc_default, 4);
    utf8_lane_push(&lane, STR("abc"), &out);
    utf8_lane_push(&lane, STR(GRIN), &out);
    assert_int_equal(out.status, UAR_E_TOO_LARGE);
    assert_true(uar_str_equal(buffer_str(&out), STR("abc")));
    buffer_dispose(&out);
}

static void running_out_of_memory_at_any_point_leaks_nothing(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    bool has_failed = true;
    for (unsigned long n = 1; has_failed; n++) {
        utf8_lane lane;
        buffer out;
        utf8_lane_init(&lane);
        buffer_init(&out, &probe.door, 1 << 20);
        probe_alloc_arm(&probe, n, n % 2 == 0);
        for (int i = 0; i < 50; i++) {
            utf8_lane_push(&lane, STR("text with \0 and \xFF and \xE6\x97"), &out);
        }
        has_failed = probe_alloc_has_failed(&probe);
        assert_int_equal(out.status, has_failed ? UAR_E_NOMEM : UAR_OK);
        buffer_dispose(&out);
        assert_int_equal(probe.alive, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_written_and_read_back),
        cmocka_unit_test(every_sequence_of_two_bytes_is_judged_as_by_the_standard),
        cmocka_unit_test(sequences_of_five_bytes_at_the_borders_are_judged_as_by_the_standard),
        cmocka_unit_test(a_fault_is_found_at_every_place_of_a_long_text),
        cmocka_unit_test(an_absent_text_is_valid_and_empty),
        cmocka_unit_test(a_cut_is_the_longest_prefix_of_whole_characters),
        cmocka_unit_test(a_cut_leaves_out_a_character_that_the_text_itself_ends_in),
        cmocka_unit_test(length_counts_code_points),
        cmocka_unit_test(the_lane_gives_the_text_that_each_case_says),
        cmocka_unit_test(test_E7_no_cut_at_any_byte_changes_what_comes_out),
        cmocka_unit_test(test_E7_no_cut_changes_random_mixtures_of_whole_and_broken_pieces),
        cmocka_unit_test(test_E7_a_tail_that_is_cut_off_is_reported_and_the_lane_can_be_used_again),
        cmocka_unit_test(the_end_of_a_whole_text_adds_nothing),
        cmocka_unit_test(a_full_output_is_an_error_that_stays_in_the_buffer),
        cmocka_unit_test(running_out_of_memory_at_any_point_leaks_nothing),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
