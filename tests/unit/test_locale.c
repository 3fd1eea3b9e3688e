/*
 * Which locale the test programs run under. tests/run.sh runs the whole suite a second time with a comma-decimal
 * locale; this program fails there if the decimal point is not a comma, so that the second run can't be empty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *expected_decimal_point(void) {
    const char *wanted = getenv("UAR_TEST_LOCALE");
    return wanted != NULL && strcmp(wanted, "1") == 0 ? "," : ".";
}

static void test_N3_the_decimal_point_is_the_one_that_the_run_asked_for(void **state) {
    (void)state;
    assert_string_equal(localeconv()->decimal_point, expected_decimal_point());
}

static void test_N3_printf_writes_numbers_with_that_decimal_point(void **state) {
    (void)state;
    char text[16];
    char expected[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    snprintf(expected, sizeof expected, "0%s5", expected_decimal_point());
    assert_string_equal(text, expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_N3_the_decimal_point_is_the_one_that_the_run_asked_for),
        cmocka_unit_test(test_N3_printf_writes_numbers_with_that_decimal_point),
    };
    return cmocka_run_group_tests_name("locale", tests, NULL, NULL);
}
