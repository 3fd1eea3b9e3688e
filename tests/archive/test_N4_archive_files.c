/*
 * Which files the library opens while it works: those the host named, SQLite's companions beside them, and the system's
 * random device. Nothing in a temporary folder, no configuration, no home.
 */
#include "archive_work.h"
#include "watched_files.h"

#include <fcntl.h>
#include <string.h>

static bool lies_in(const char *path, const char *folder) {
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_random_device(const char *path) {
    return strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0;
}

static void test_N4_no_file_is_opened_but_those_the_host_named(void **state) {
    (void)state;
    char folder[] = "/tmp/uar-files-XXXXXX";
    assert_non_null(mkdtemp(folder));
    watched_files_forget();
    check_a_store_in(folder);
    size_t named = 0;
    for (size_t i = 0; i < watched_files_count(); i++) {
        const char *path = watched_file(i);
        if (!lies_in(path, folder) && !is_random_device(path)) fail_msg("opened %s", path);
        named += lies_in(path, folder) ? 1 : 0;
    }
    assert_true(named > 0);
    remove_the_store_in(folder);
}

static void test_N4_a_layer_without_files_opens_none(void **state) {
    (void)state;
    watched_files_forget();
    uar_persistence_report report;
    assert_int_equal(uar_persistence_check(&report, uar_persistence_volatile(), NULL, NULL, NULL), UAR_OK);
    for (size_t i = 0; i < watched_files_count(); i++)
        if (!is_random_device(watched_file(i))) fail_msg("opened %s", watched_file(i));
}

static void test_N4_the_watch_sees_what_the_app_opens(void **state) {
    (void)state;
    watched_files_forget();
    int file = open("/dev/null", O_RDONLY);
    assert_true(file >= 0);
    close(file);
    FILE *stream = fopen("/dev/zero", "r");
    assert_non_null(stream);
    fclose(stream);
    assert_int_equal(watched_files_count(), 2);
    assert_string_equal(watched_file(0), "/dev/null");
    assert_string_equal(watched_file(1), "/dev/zero");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_N4_no_file_is_opened_but_those_the_host_named),
        cmocka_unit_test(test_N4_a_layer_without_files_opens_none),
        cmocka_unit_test(test_N4_the_watch_sees_what_the_app_opens),
    };
    return cmocka_run_group_tests_name("archive_files", tests, NULL, NULL);
}
