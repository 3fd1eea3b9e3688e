/*
 * An app that links the prelinked archive and, beside it, the shared SQLite, cJSON, utf8proc and mbedtls of its own.
 * Both copies work, in the same process, and neither sees the other.
 */
#include "archive_work.h"

#include <cjson/cJSON.h>
#include <psa/crypto.h>
#include <sqlite3.h>
#include <utf8proc.h>

static void test_N4_the_archive_works_beside_an_app_with_its_own_libraries(void **state) {
    (void)state;
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
    check_a_store();
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES(1)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_N4_shutting_the_apps_sqlite_down_leaves_the_archive_working(void **state) {
    (void)state;
    assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
    check_a_store();
}

static void *refuse_to_allocate(size_t size) {
    (void)size;
    return NULL;
}

static void test_N4_the_apps_cjson_hooks_do_not_reach_the_archive(void **state) {
    (void)state;
    cJSON_Hooks hooks = { refuse_to_allocate, free };
    cJSON_InitHooks(&hooks);
    check_a_store();
    assert_null(cJSON_Parse("{}"));
    cJSON_InitHooks(NULL);
    cJSON *parsed = cJSON_Parse("{\"a\":1}");
    assert_non_null(parsed);
    cJSON_Delete(parsed);
}

static void test_N4_the_apps_crypto_can_be_freed_without_touching_the_archive(void **state) {
    (void)state;
    assert_int_equal(psa_crypto_init(), PSA_SUCCESS);
    mbedtls_psa_crypto_free();
    check_a_store();
    assert_int_equal(utf8proc_codepoint_valid(0x41), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_N4_the_archive_works_beside_an_app_with_its_own_libraries),
        cmocka_unit_test(test_N4_shutting_the_apps_sqlite_down_leaves_the_archive_working),
        cmocka_unit_test(test_N4_the_apps_cjson_hooks_do_not_reach_the_archive),
        cmocka_unit_test(test_N4_the_apps_crypto_can_be_freed_without_touching_the_archive),
    };
    return cmocka_run_group_tests_name("archive_beside_others", tests, NULL, NULL);
}
