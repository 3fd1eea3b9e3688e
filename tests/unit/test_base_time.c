/* What lib/base/clock (time, chance) and uuid promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/clock.h"
#include "base/str.h"

static void assert_time(const char *text, int64_t want) {
    int64_t got = 0;
    if (time_parse(&got, uar_str_of(text)) != UAR_OK) fail_msg("refused: %s", text);
    if (got != want) fail_msg("%s read as %lld, not %lld", text, (long long)got, (long long)want);
}

static void test_times_are_written_in_utc_with_milliseconds(void **state) {
    (void)state;
    char text[TIME_TEXT];
    time_format(text, 0);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    time_format(text, -1);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    time_format(text, INT64_C(1796051045123));
    assert_string_equal(text, "2026-11-30T15:04:05.123Z");
    time_format(text, INT64_C(951782400000));
    assert_string_equal(text, "2000-02-29T00:00:00.000Z");
}

static void test_times_outside_four_digit_years_are_clamped(void **state) {
    (void)state;
    char text[TIME_TEXT];
    time_format(text, INT64_MAX);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    time_format(text, INT64_MIN);
    assert_string_equal(text, "0000-01-01T00:00:00.000Z");
}

/* Counts the calendar day by day, by the textbook rule, and compares both directions. */
static void test_every_day_of_ten_thousand_years_is_written_and_read_back(void **state) {
    (void)state;
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t day = -719528;
    for (int year = 0; year < 10000; year++) {
        bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
        for (int month = 1; month <= 12; month++) {
            int length = lengths[month - 1] + (month == 2 && leap ? 1 : 0);
            for (int d = 1; d <= length; d++, day++) {
                char want[64], text[TIME_TEXT];
                int64_t at = day * INT64_C(86400000);
                snprintf(want, sizeof want, "%04d-%02d-%02dT00:00:00.000Z", year, month, d);
                time_format(text, at);
                if (strcmp(text, want) != 0) fail_msg("%s written as %s", want, text);
                assert_time(text, at);
            }
        }
    }
    assert_int_equal(day, 2932897);
}

static void test_offsets_fractions_and_bare_dates_are_read(void **state) {
    (void)state;
    assert_time("1970-01-01", 0);
    assert_time("2026-11-30", INT64_C(1795996800000));
    assert_time("2026-11-30T15:04:05Z", INT64_C(1796051045000));
    assert_time("2026-11-30t15:04:05.1z", INT64_C(1796051045100));
    assert_time("2026-11-30T15:04:05.123999999999999999999Z", INT64_C(1796051045123));
    assert_time("2026-11-30T16:34:05+01:30", INT64_C(1796051045000));
    assert_time("2026-11-30T03:34:05-11:30", INT64_C(1796051045000));
    assert_time("1970-01-01T00:00:00-00:00", 0);
    assert_time("0000-01-01T00:00:00+23:59", INT64_C(-62167219200000) - 23 * 3600000 - 59 * 60000);
}

static void test_a_leap_second_is_the_start_of_the_next_day(void **state) {
    (void)state;
    assert_time("2016-12-31T23:59:60Z", INT64_C(1483228800000));
    assert_time("2016-12-31T23:59:60.5Z", INT64_C(1483228800000));
    assert_time("2017-01-01T00:59:60+01:00", INT64_C(1483228800000));
    assert_time("2016-12-31T15:59:60-08:00", INT64_C(1483228800000));
    int64_t out = 0;
    assert_int_equal(time_parse(&out, STR("2016-12-31T12:59:60Z")), UAR_E_INVALID);
}

static void test_what_is_no_time_is_refused_and_leaves_the_output(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "2026",
        "2026-11",
        "2026-1-30",
        "2026-13-01",
        "2026-00-01",
        "2026-02-29",
        "2026-11-31",
        "2026-11-00",
        "2026-11-30T",
        "2026-11-30T15:04",
        "2026-11-30T15:04:05",
        "2026-11-30 15:04:05Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T15:60:00Z",
        "2026-11-30T15:04:61Z",
        "2026-11-30T15:04:05.Z",
        "2026-11-30T15:04:05,5Z",
        "2026-11-30T15:04:05+1:00",
        "2026-11-30T15:04:05+24:00",
        "2026-11-30T15:04:05+01:60",
        "2026-11-30T15:04:05+0100",
        "2026-11-30T15:04:05Zx",
        "+026-11-30",
        ("2026-11-30T15:04:05\xE2\x88\x92"
         "01:00"),
        "2026-11-30Z",
        " 2026-11-30",
        "99999-01-01",
        "2026/11/30",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t out = 42;
        if (time_parse(&out, uar_str_of(bad[i])) != UAR_E_INVALID) fail_msg("accepted: %s", bad[i]);
        assert_int_equal(out, 42);
    }
    int64_t out = 42;
    assert_int_equal(time_parse(&out, STR("2026-11-30\0")), UAR_E_INVALID);
    assert_int_equal(time_parse(&out, uar_str_of(NULL)), UAR_E_INVALID);
}

static void test_no_prefix_of_a_time_but_its_date_is_a_time(void **state) {
    (void)state;
    const char *text = "2026-11-30T15:04:05.123+01:00";
    for (size_t len = 0; len < strlen(text); len++) {
        int64_t out;
        assert_int_equal(time_parse(&out, uar_str_n(text, len)), len == 10 ? UAR_OK : UAR_E_INVALID);
    }
}

static void test_the_default_clocks_run(void **state) {
    (void)state;
    assert_true(clock_wall(&clock_default) > INT64_C(1600000000000));
    uint64_t first = clock_mono(&clock_default);
    assert_true(clock_mono(&clock_default) >= first);
}

static void test_the_default_random_fills_every_byte(void **state) {
    (void)state;
    uint8_t seen[1000] = { 0 }, bytes[1002];
    for (int round = 0; round < 8; round++) {
        memset(bytes, 0, sizeof bytes);
        assert_int_equal(random_default.fill(random_default.ctx, bytes + 1, 1000), UAR_OK);
        for (size_t i = 0; i < 1000; i++)
            seen[i] |= bytes[i + 1];
        assert_int_equal(bytes[0], 0);
        assert_int_equal(bytes[1001], 0);
    }
    /* A byte that stays zero in eight rounds: one chance in 2^64 each. */
    for (size_t i = 0; i < 1000; i++)
        assert_int_not_equal(seen[i], 0);
}

static int64_t fixed_wall(void *ctx) {
    return *(int64_t *)ctx;
}

static uar_status fill_with_ff(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    memset(out, 0xFF, len);
    return UAR_OK;
}

static uar_status fill_fails(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    memset(out, 1, len);
    return UAR_E_UNAVAILABLE;
}

static void test_a_uuid_holds_time_version_variant_and_chance(void **state) {
    (void)state;
    int64_t now = INT64_C(0x0123456789AB);
    uar_clock clock = { UAR_CLOCK_INIT, .ctx = &now, .wall_ms = fixed_wall };
    uar_random random = { UAR_RANDOM_INIT, .fill = fill_with_ff };
    uar_uuid id;
    assert_int_equal(uuid_make(&id, &clock, &random), UAR_OK);
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    assert_string_equal(text, "01234567-89ab-7fff-bfff-ffffffffffff");
}

static void test_uuids_of_a_later_millisecond_sort_later(void **state) {
    (void)state;
    int64_t now = 0;
    uar_clock clock = { UAR_CLOCK_INIT, .ctx = &now, .wall_ms = fixed_wall };
    uar_uuid before, after;
    for (now = 1; now < INT64_C(0x800000000000); now *= 2) {
        assert_int_equal(uuid_make(&before, &clock, &random_default), UAR_OK);
        now++;
        assert_int_equal(uuid_make(&after, &clock, &random_default), UAR_OK);
        now--;
        assert_true(memcmp(before.bytes, after.bytes, 16) < 0);
    }
    now = -5;
    assert_int_equal(uuid_make(&before, &clock, &random_default), UAR_OK);
    assert_memory_equal(before.bytes, "\0\0\0\0\0\0", 6);
}

static void test_without_chance_there_is_no_uuid(void **state) {
    (void)state;
    uar_random random = { UAR_RANDOM_INIT, .fill = fill_fails };
    uar_uuid id = { { 9 } };
    assert_int_equal(uuid_make(&id, &clock_default, &random), UAR_E_UNAVAILABLE);
    assert_int_equal(id.bytes[0], 9);
}

static void test_a_uuid_is_read_in_either_case_and_written_in_lower(void **state) {
    (void)state;
    uar_uuid id;
    assert_int_equal(uar_uuid_parse(&id, STR("01234567-89AB-cdef-FEDC-ba9876543210")), UAR_OK);
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    assert_string_equal(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

static void test_what_is_no_uuid_is_refused_and_leaves_the_output(void **state) {
    (void)state;
    const char *good = "01234567-89ab-7def-8edc-ba9876543210";
    uar_uuid id = { { 9 } };
    for (size_t i = 0; i < 36; i++) {
        char bad[37];
        memcpy(bad, good, 37);
        bad[i] = bad[i] == '-' ? '0' : '-';
        assert_int_equal(uar_uuid_parse(&id, uar_str_of(bad)), UAR_E_INVALID);
        bad[i] = 'g';
        assert_int_equal(uar_uuid_parse(&id, uar_str_of(bad)), UAR_E_INVALID);
        assert_int_equal(uar_uuid_parse(&id, uar_str_n(good, i)), UAR_E_INVALID);
    }
    assert_int_equal(uar_uuid_parse(&id, STR("{1234567-89ab-7def-8edc-ba987654321}")), UAR_E_INVALID);
    assert_int_equal(uar_uuid_parse(&id, STR("01234567-89ab-7def-8edc-ba98765432100")), UAR_E_INVALID);
    assert_int_equal(uar_uuid_parse(&id, uar_str_of(NULL)), UAR_E_INVALID);
    assert_int_equal(id.bytes[0], 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_are_written_in_utc_with_milliseconds),
        cmocka_unit_test(test_times_outside_four_digit_years_are_clamped),
        cmocka_unit_test(test_every_day_of_ten_thousand_years_is_written_and_read_back),
        cmocka_unit_test(test_offsets_fractions_and_bare_dates_are_read),
        cmocka_unit_test(test_a_leap_second_is_the_start_of_the_next_day),
        cmocka_unit_test(test_what_is_no_time_is_refused_and_leaves_the_output),
        cmocka_unit_test(test_no_prefix_of_a_time_but_its_date_is_a_time),
        cmocka_unit_test(test_the_default_clocks_run),
        cmocka_unit_test(test_the_default_random_fills_every_byte),
        cmocka_unit_test(test_a_uuid_holds_time_version_variant_and_chance),
        cmocka_unit_test(test_uuids_of_a_later_millisecond_sort_later),
        cmocka_unit_test(test_without_chance_there_is_no_uuid),
        cmocka_unit_test(test_a_uuid_is_read_in_either_case_and_written_in_lower),
        cmocka_unit_test(test_what_is_no_uuid_is_refused_and_leaves_the_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
