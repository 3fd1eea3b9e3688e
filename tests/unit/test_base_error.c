/* What statuses, the version and lib/base/error promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"

typedef struct known_status {
    uar_status status;
    const char *name;
} known_status;

#define KNOWN(name, value, band, text) { UAR_##name, "UAR_" #name },
static const known_status known[] = { UAR_STATUSES(KNOWN) };
#undef KNOWN
enum { KNOWN_COUNT = sizeof known / sizeof known[0] };

static void test_every_status_has_its_own_value_name_and_text(void **state) {
    (void)state;
    for (int i = 0; i < KNOWN_COUNT; i++) {
        assert_string_equal(uar_status_name(known[i].status), known[i].name);
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(known[i].status, known[k].status);
            assert_string_not_equal(uar_status_text(known[i].status), uar_status_text(known[k].status));
        }
    }
}

static void test_the_band_of_a_status_agrees_with_its_value(void **state) {
    (void)state;
    for (int i = 0; i < KNOWN_COUNT; i++) {
        int value = known[i].status;
        uar_band want = value == 0     ? UAR_BAND_OK
                        : value > -100 ? UAR_BAND_RETRY
                        : value > -200 ? UAR_BAND_CALLER
                        : value > -300 ? UAR_BAND_DATA
                        : value > -400 ? UAR_BAND_STORE
                                       : UAR_BAND_FATAL;
        assert_int_equal(uar_status_band(known[i].status), want);
    }
}

static void test_values_that_hosts_may_have_stored_never_change(void **state) {
    (void)state;
    assert_int_equal(UAR_OK, 0);
    assert_int_equal(UAR_E_BUSY, -1);
    assert_int_equal(UAR_E_INVALID, -100);
    assert_int_equal(UAR_E_NOT_FOUND, -200);
    assert_int_equal(UAR_E_CANTOPEN, -300);
    assert_int_equal(UAR_E_NOMEM, -400);
}

static void test_an_unknown_status_reads_as_a_fault_of_the_library(void **state) {
    (void)state;
    uar_status unknown = (uar_status)-399;
    assert_string_equal(uar_status_name(unknown), "UAR_E_INTERNAL");
    assert_string_equal(uar_status_text(unknown), uar_status_text(UAR_E_INTERNAL));
    assert_int_equal(uar_status_band(unknown), UAR_BAND_FATAL);
}

static void test_the_version_is_that_of_the_headers(void **state) {
    (void)state;
    char want[32];
    snprintf(want, sizeof want, "%d.%d.%d", UAR_VERSION_MAJOR, UAR_VERSION_MINOR, UAR_VERSION_PATCH);
    assert_string_equal(uar_version(), want);
}

static void test_an_error_carries_code_and_message(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT;
    err.detail = 7;
    assert_int_equal(error_set(&err, UAR_E_INVALID, "%s is %d, not %zu", "x", -3, (size_t)4), UAR_E_INVALID);
    assert_int_equal(err.code, UAR_E_INVALID);
    assert_int_equal(err.detail, 0);
    assert_string_equal(err.message, "x is -3, not 4");
}

static void test_without_an_error_struct_the_status_still_comes_back(void **state) {
    (void)state;
    assert_int_equal(error_set(NULL, UAR_E_BUSY, "%s", "x"), UAR_E_BUSY);
    assert_int_equal(error_plain(NULL, UAR_E_BUSY), UAR_E_BUSY);
    uar_error from = UAR_ERROR_INIT;
    error_plain(&from, UAR_E_IO);
    assert_int_equal(error_copy(NULL, &from), UAR_E_IO);
}

static void test_success_writes_nothing(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT, none = UAR_ERROR_INIT;
    error_set(&err, UAR_E_BUSY, "kept");
    assert_int_equal(error_plain(&err, UAR_OK), UAR_OK);
    assert_int_equal(error_copy(&err, &none), UAR_OK);
    assert_int_equal(error_copy(&err, NULL), UAR_OK);
    assert_string_equal(err.message, "kept");
}

static void test_a_plain_error_has_the_text_of_its_status(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT;
    error_plain(&err, UAR_E_NOMEM);
    assert_string_equal(err.message, "out of memory");
}

static void test_a_message_may_quote_the_message_it_replaces(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT;
    error_set(&err, UAR_E_IO, "inner");
    error_set(&err, UAR_E_CANTOPEN, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

static void test_a_long_message_is_cut_between_characters(void **state) {
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char text[600];
        memset(text, 'a', shift);
        for (size_t i = 0; i < 140; i++)
            memcpy(text + shift + 4 * i, "\xF0\x9F\x98\x80", 4);
        text[shift + 4 * 140] = '\0';
        uar_error err = UAR_ERROR_INIT;
        error_set(&err, UAR_E_INVALID, "%s", text);
        size_t len = strlen(err.message);
        assert_int_equal(len, shift + (247 - shift) / 4 * 4);
        assert_memory_equal(err.message, text, len);
        assert_true(utf8_is_valid(uar_str_n(err.message, len)));
    }
}

static void test_a_message_is_one_line_of_valid_text(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT;
    error_set(&err, UAR_E_INVALID, "a\nb\tc\x7F%s", "\xC3(\xFF\xE4\xBD");
    size_t len = strlen(err.message);
    assert_true(utf8_is_valid(uar_str_n(err.message, len)));
    assert_memory_equal(err.message, "a b c ?(??", 10);
    error_set(&err, UAR_E_INVALID, "%.*s", 2, "abc");
    assert_string_equal(err.message, "ab");
}

static void test_a_status_is_passed_on_whatever_was_said_about_it(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT, why = UAR_ERROR_INIT;
    assert_int_equal(error_pass(&err, UAR_E_NOMEM, &why), UAR_E_NOMEM);
    assert_int_equal(err.code, UAR_E_NOMEM);
    error_set(&why, UAR_E_IO, "the disk");
    assert_int_equal(error_pass(&err, UAR_E_NOMEM, &why), UAR_E_NOMEM);
    assert_string_equal(err.message, uar_status_text(UAR_E_NOMEM));
    assert_int_equal(error_pass(&err, UAR_E_IO, &why), UAR_E_IO);
    assert_string_equal(err.message, "the disk");
    assert_int_equal(error_pass(NULL, UAR_E_NOMEM, &why), UAR_E_NOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_status_has_its_own_value_name_and_text),
        cmocka_unit_test(test_the_band_of_a_status_agrees_with_its_value),
        cmocka_unit_test(test_values_that_hosts_may_have_stored_never_change),
        cmocka_unit_test(test_an_unknown_status_reads_as_a_fault_of_the_library),
        cmocka_unit_test(test_the_version_is_that_of_the_headers),
        cmocka_unit_test(test_an_error_carries_code_and_message),
        cmocka_unit_test(test_without_an_error_struct_the_status_still_comes_back),
        cmocka_unit_test(test_success_writes_nothing),
        cmocka_unit_test(test_a_plain_error_has_the_text_of_its_status),
        cmocka_unit_test(test_a_message_may_quote_the_message_it_replaces),
        cmocka_unit_test(test_a_long_message_is_cut_between_characters),
        cmocka_unit_test(test_a_message_is_one_line_of_valid_text),
        cmocka_unit_test(test_a_status_is_passed_on_whatever_was_said_about_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
