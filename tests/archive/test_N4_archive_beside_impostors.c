/*
 * An app whose own functions happen to have the names of the archive's dependencies: it links without a clash, works,
 * and none of them is called.
 */
#include "archive_work.h"
#include "impostors.h"

static void test_N4_the_archive_never_calls_the_apps_functions_of_the_same_name(void **state) {
    (void)state;
    check_a_store();
    assert_int_equal(impostor_calls(), 0);
}

static void test_N4_a_call_of_an_impostor_would_have_been_counted(void **state) {
    (void)state;
    int before = impostor_calls();
    assert_int_equal(sqlite3_step(), -1);
    assert_int_equal(impostor_calls(), before + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_N4_the_archive_never_calls_the_apps_functions_of_the_same_name),
        cmocka_unit_test(test_N4_a_call_of_an_impostor_would_have_been_counted),
    };
    return cmocka_run_group_tests_name("archive_beside_impostors", tests, NULL, NULL);
}
