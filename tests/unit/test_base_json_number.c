/*
 * Number text to double and back, against the C library under the C locale. Each random test takes a million numbers in
 * the full tier (UAR_TEST_FULL), tens of thousands in the quick one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/str.h"

static locale_t c_locale;

static double reference_strtod(const char *text) {
    locale_t before = uselocale(c_locale);
    double value = strtod(text, NULL);
    uselocale(before);
    return value;
}

static double reference_read(const char *text) {
    double value = reference_strtod(text);
    if (isinf(value)) return value > 0 ? DBL_MAX : -DBL_MAX;
    return value;
}

static void reference_write(char *out, size_t room, int digits, double value) {
    locale_t before = uselocale(c_locale);
    snprintf(out, room, "%.*e", digits - 1, value);
    uselocale(before);
}

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
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

static long rounds(long quick, long full) {
    return getenv("UAR_TEST_FULL") != NULL ? full : quick;
}

static void check_read(const char *text) {
    double ours = 0;
    double theirs = reference_read(text);
    if (!json_number(uar_str_of(text), &ours)) fail_msg("refused: %s", text);
    if (!same_bits(ours, theirs)) fail_msg("%s read as %a, should be %a", text, ours, theirs);
}

/* Significant digits of a text that json_append_double wrote. */
static int count_digits(const char *text) {
    int digits = 0;
    int zeros = 0;
    bool is_plain_integer = strpbrk(text, ".e") == NULL;
    for (const char *p = text; *p != '\0' && *p != 'e'; p++) {
        if (*p < '0' || *p > '9' || (digits == 0 && *p == '0')) continue;
        digits++;
        zeros = *p == '0' ? zeros + 1 : 0;
    }
    return is_plain_integer ? digits - zeros : digits;
}

/* How many digits the C library needs: the nearest decimal of that length reads back. */
static int digits_needed(double value) {
    char text[64];
    int digits = 1;
    for (; digits < 17; digits++) {
        reference_write(text, sizeof text, digits, value);
        if (same_bits(reference_strtod(text), value)) break;
    }
    return digits;
}

static void check_write(buffer *out, double value) {
    double back = 0;
    buffer_reset(out);
    json_append_double(out, value);
    assert_int_equal(out->status, UAR_OK);
    if (!same_bits(reference_read(out->ptr), value)) fail_msg("%a written as %s", value, out->ptr);
    if (!json_number(buffer_str(out), &back) || !same_bits(back, value))
        fail_msg("%s reads back as %a", out->ptr, back);
    if (count_digits(out->ptr) > digits_needed(value)) fail_msg("%s is not the shortest", out->ptr);
}

static double random_double(uint64_t *seed, long i) {
    uint64_t bits = next_random(seed);
    switch (i % 8) {
    case 0: bits &= UINT64_C(0xFFF0000000000000); break;                       /* powers of two: uneven gaps */
    case 1: bits &= UINT64_C(0x800FFFFFFFFFFFFF); break;                       /* subnormal */
    case 2: return (double)(int64_t)(bits >> (next_random(seed) % 64)) / 1000; /* as people write them */
    case 3: return (double)(bits >> (next_random(seed) % 64));                 /* integers */
    default: break;
    }
    double value = double_of(bits);
    return isfinite(value) ? value : 0.1;
}

static void random_doubles_are_written_short_and_read_back(void **state) {
    (void)state;
    uint64_t seed = test_seed();
    buffer out;
    buffer_init(&out, &alloc_default, 100);
    for (long i = rounds(40000, 1000000); i > 0; i--) {
        check_write(&out, random_double(&seed, i));
    }
    buffer_dispose(&out);
}

static void random_doubles_at_any_precision_are_read_as_by_the_c_library(void **state) {
    (void)state;
    uint64_t seed = test_seed();
    char text[64];
    for (long i = rounds(60000, 1000000); i > 0; i--) {
        double value = random_double(&seed, i);
        reference_write(text, sizeof text, 1 + (int)(next_random(&seed) % 40), value);
        check_read(text);
    }
}

static void random_texts_are_read_as_by_the_c_library(void **state) {
    (void)state;
    uint64_t seed = test_seed();
    char text[1000];
    for (long i = rounds(60000, 1000000); i > 0; i--) {
        size_t len = 0;
        size_t digits = 1 + next_random(&seed) % (i % 50 == 0 ? 900 : 25);
        size_t point = next_random(&seed) % (digits + 1);
        if (next_random(&seed) % 2 == 0) text[len++] = '-';
        if (point == 0) text[len++] = '0';
        for (size_t d = 0; d < digits; d++) {
            if (d == point) text[len++] = '.';
            text[len++] = (char)((d == 0 && point > 0 ? '1' : '0') + (int)(next_random(&seed) % 9));
        }
        snprintf(text + len, sizeof text - len, "e%d", (int)(next_random(&seed) % 720) - 360);
        check_read(text);
    }
}

/* Where 128 bits decide: more digits than a double holds exactly, a moderate exponent. */
static void random_long_integers_with_moderate_exponents_are_read_as_by_the_c_library(void **state) {
    (void)state;
    uint64_t seed = test_seed();
    char text[64];
    for (long i = rounds(100000, 1000000); i > 0; i--) {
        unsigned long long digits = next_random(&seed) >> (next_random(&seed) % 12);
        snprintf(text, sizeof text, "%llue%d", digits, (int)(next_random(&seed) % 60) - 30);
        check_read(text);
    }
}

/* The exact decimal of the point half way between a double and its upper neighbour. */
static void write_midpoint(char *out, size_t room, bool is_plain, double value) {
    int exponent;
    long double mid = ldexpl((long double)frexp(value, &exponent), 54) + 1;
    locale_t before = uselocale(c_locale);
    snprintf(out, room, is_plain ? "%.0Lf" : "%.780Le", ldexpl(mid, exponent - 54));
    uselocale(before);
}

static void midpoints_and_their_closest_neighbours_are_rounded_as_by_the_c_library(void **state) {
    (void)state;
    if (LDBL_MANT_DIG < 64) skip();
    uint64_t seed = test_seed();
    char text[1200];
    for (long i = rounds(2000, 30000); i > 0; i--) {
        double value = fabs(random_double(&seed, 4));
        if (value < DBL_MIN) continue;
        write_midpoint(text, sizeof text, false, value);
        check_read(text);
        /* A digit far behind lifts it off the tie. */
        char *e = strchr(text, 'e');
        assert_non_null(e);
        assert_int_equal(e[-1], '0');
        e[-1] = '1';
        check_read(text);
    }
}

static void midpoints_of_large_integers_written_out_are_rounded_as_by_the_c_library(void **state) {
    (void)state;
    if (LDBL_MANT_DIG < 64) skip();
    uint64_t seed = test_seed();
    char text[1200];
    for (long i = rounds(2000, 30000); i > 0; i--) {
        double value =
            ldexp((double)(next_random(&seed) >> 11 | UINT64_C(1) << 52), 2 + (int)(next_random(&seed) % 900));
        write_midpoint(text, sizeof text, true, value);
        check_read(text);
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, ".0000000000000000000000000000000000000000000000000000001");
        check_read(text);
    }
}

typedef struct number_case {
    const char *text;
    double value;
} number_case;

static void texts_at_the_edges_of_the_range_have_these_values(void **state) {
    (void)state;
    static const number_case cases[] = {
        { "0", 0 },
        { "-0", -0.0 },
        { "0e999999999999999999999", 0 },
        { "1e999999999999999999999", DBL_MAX },
        { "-1e999999999999999999999", -DBL_MAX },
        { "1e-999999999999999999999", 0 },
        { "-1e-999999999999999999999", -0.0 },
        { "1.7976931348623157e308", DBL_MAX },
        { "1.7976931348623159e308", DBL_MAX },
        { "2.2250738585072011e-308", 0x0.fffffffffffffp-1022 },
        { "2.2250738585072012e-308", DBL_MIN },
        { "4.9406564584124654e-324", 0x1p-1074 },
        { "2.4703282292062328e-324", 0x1p-1074 },
        { "2.4703282292062327e-324", 0 },
        { "9007199254740993", 9007199254740992.0 },
        { "9007199254740993.00000000000000000000000000000000000000000000000000001", 9007199254740994.0 },
        { "18446744073709551615", 18446744073709551616.0 },
        { "123456789012345678901234567890e-29", 1.2345678901234567 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 1;
        assert_true(json_number(uar_str_of(cases[i].text), &value));
        if (!same_bits(value, cases[i].value)) fail_msg("%s gave %a", cases[i].text, value);
    }
}

static void a_million_zeros_are_balanced_by_the_exponent(void **state) {
    (void)state;
    const size_t zeros = 1000000;
    char *text = malloc(zeros + 32);
    double value = 0;
    assert_non_null(text);
    memcpy(text, "0.", 2);
    memset(text + 2, '0', zeros);
    snprintf(text + 2 + zeros, 30, "25e%zu", zeros + 2);
    assert_true(json_number(uar_str_of(text), &value));
    assert_true(same_bits(value, 25.0));
    free(text);
}

static void what_is_no_json_number_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = { "",      "-",    "+1",    ".5",    "1.",  "01",          "-01", "1e",
                                         "1e+",   "1.e1", "0x10",  "NaN",   "inf", "1 ",          " 1",  "1,5",
                                         "1e1.5", "--1",  "1_000", "1e--1", "-a",  "\xEF\xBC\x91" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value = 42;
        if (json_number(uar_str_of(texts[i]), &value)) fail_msg("accepted: %s", texts[i]);
        assert_true(same_bits(value, 42));
    }
    double value = 42;
    assert_false(json_number(uar_str_of(NULL), &value));
}

static void every_power_of_ten_and_two_and_its_neighbours_are_exact_both_ways(void **state) {
    (void)state;
    buffer out;
    buffer_init(&out, &alloc_default, 100);
    for (int power = -1074; power <= 1023; power++) {
        double value = ldexp(1, power);
        check_write(&out, value);
        check_write(&out, -double_of(bits_of(value) + 1));
        if (power > -1074) check_write(&out, double_of(bits_of(value) - 1));
    }
    for (int power = -340; power <= 310; power++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", power);
        check_read(text);
        check_write(&out, reference_read(text));
    }
    buffer_dispose(&out);
}

typedef struct text_case {
    double value;
    const char *text;
} text_case;

static void doubles_are_written_as_these_texts(void **state) {
    (void)state;
    static const text_case cases[] = {
        { 0, "0" },
        { -0.0, "-0" },
        { 1, "1" },
        { -1.5, "-1.5" },
        { 0.1, "0.1" },
        { 0.3, "0.3" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 100, "100" },
        { 19.99, "19.99" },
        { 1e20, "100000000000000000000" },
        { 1e21, "1e+21" },
        { 123456789012345680000.0, "123456789012345680000" },
        { 1e-6, "0.000001" },
        { 1e-7, "1e-7" },
        { 1.5e-7, "1.5e-7" },
        { 9007199254740993.0, "9007199254740992" },
        { DBL_MAX, "1.7976931348623157e+308" },
        { -DBL_MAX, "-1.7976931348623157e+308" },
        { DBL_MIN, "2.2250738585072014e-308" },
        { 0x1p-1074, "5e-324" },
        { 0x1p-44, "5.684341886080802e-14" },
        { 75224522143829.375, "75224522143829.38" },
        { 1007378811798602.75, "1007378811798602.8" },
        { 2086924061865915.25, "2086924061865915.2" },
        { 9.5367431640625e-7, "9.5367431640625e-7" },
        { 5e-324 * 3, "1.5e-323" },
        { NAN, "null" },
        { INFINITY, "null" },
        { -INFINITY, "null" },
    };
    buffer out;
    buffer_init(&out, &alloc_default, 100);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_reset(&out);
        json_append_double(&out, cases[i].value);
        assert_string_equal(out.ptr, cases[i].text);
    }
    buffer_dispose(&out);
}

/* The suite runs a second time where the point is a comma; there this test would show a slip. */
static void test_N3_a_number_has_a_point_in_every_locale(void **state) {
    (void)state;
    buffer out;
    double value = 0;
    buffer_init(&out, &alloc_default, 100);
    json_append_double(&out, 1234.5);
    assert_string_equal(out.ptr, "1234.5");
    assert_true(json_number(STR("1234.5"), &value));
    assert_true(same_bits(value, 1234.5));
    assert_false(json_number(STR("1234,5"), &value));
    buffer_dispose(&out);
}

static int group_setup(void **state) {
    (void)state;
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c_locale == (locale_t)0;
}

static int group_teardown(void **state) {
    (void)state;
    freelocale(c_locale);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_doubles_are_written_short_and_read_back),
        cmocka_unit_test(random_doubles_at_any_precision_are_read_as_by_the_c_library),
        cmocka_unit_test(random_texts_are_read_as_by_the_c_library),
        cmocka_unit_test(random_long_integers_with_moderate_exponents_are_read_as_by_the_c_library),
        cmocka_unit_test(midpoints_and_their_closest_neighbours_are_rounded_as_by_the_c_library),
        cmocka_unit_test(midpoints_of_large_integers_written_out_are_rounded_as_by_the_c_library),
        cmocka_unit_test(texts_at_the_edges_of_the_range_have_these_values),
        cmocka_unit_test(a_million_zeros_are_balanced_by_the_exponent),
        cmocka_unit_test(what_is_no_json_number_is_refused),
        cmocka_unit_test(every_power_of_ten_and_two_and_its_neighbours_are_exact_both_ways),
        cmocka_unit_test(doubles_are_written_as_these_texts),
        cmocka_unit_test(test_N3_a_number_has_a_point_in_every_locale),
    };
    return cmocka_run_group_tests_name("json numbers", tests, group_setup, group_teardown);
}
