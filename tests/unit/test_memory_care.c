/* A memory whose file is given back and taken again, and copies of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/stat.h>

#include <uar/store_care.h>

static char folder[64], path[96], copy[112];

static int setup(void **state) {
    (void)state;
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/uar-memory-XXXXXX" : "/tmp/uar-memory-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/memory.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || uar_live_objects() != 0 ? -1 : 0;
}

static size_t files_open(void) {
    size_t count = 0;
    DIR *fds = opendir("/proc/self/fd");
    if (fds == NULL) skip();
    for (const struct dirent *e = readdir(fds); e != NULL; e = readdir(fds)) {
        char name[300], target[300];
        snprintf(name, sizeof name, "/proc/self/fd/%.200s", e->d_name);
        ssize_t len = readlink(name, target, sizeof target - 1);
        if (len >= (ssize_t)strlen(folder) && memcmp(target, folder, strlen(folder)) == 0) count++;
    }
    closedir(fds);
    return count;
}

static const uar_identity me = { .size = UAR_IDENTITY_INIT, .owner = { "local", 5 }, .user = { "me", 2 } };

static uar_status add(uar_memory *m, const char *text) {
    uar_memory_change change;
    const uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(text) };
    return uar_memory_add_sync(&change, m, &me, &d, NULL);
}

static bool finds(uar_memory *m, const char *text) {
    uar_memory_hits *hits = NULL;
    if (uar_memory_search_sync(&hits, m, &me, uar_str_of(text), NULL, 3, NULL) != UAR_OK) return false;
    bool found = hits->count > 0 && uar_str_equal(hits->hits[0].record.content, uar_str_of(text));
    uar_memory_hits_free(hits);
    return found;
}

static void test_N5_a_suspended_memory_has_no_file_open_and_goes_on_when_resumed(void **state) {
    (void)state;
    uar_memory *m = uar_memory_open(path, NULL);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(add(m, "the walrus lives near the harbour"), UAR_OK);
    assert_true(files_open() > 0);
    assert_int_equal(uar_memory_suspend(m, &err), UAR_OK);
    assert_int_equal(files_open(), 0);
    assert_int_equal(uar_memory_suspend(m, &err), UAR_OK);
    assert_int_equal(add(m, "nobody hears this"), UAR_E_SUSPENDED);
    assert_false(finds(m, "the walrus lives near the harbour"));
    assert_int_equal(uar_memory_check_sync(m, &err), UAR_E_SUSPENDED);
    assert_int_equal(uar_memory_reindex_sync(m, &err), UAR_E_SUSPENDED);
    assert_int_equal(uar_memory_backup_to_sync(m, copy, NULL, &err), UAR_E_SUSPENDED);
    assert_int_equal(uar_memory_state(m, &err), UAR_MEMORY_UNAVAILABLE);
    assert_int_equal(err.code, UAR_E_SUSPENDED);
    assert_int_equal(files_open(), 0);
    assert_int_equal(uar_memory_resume(m, &err), UAR_OK);
    assert_int_equal(uar_memory_resume(m, &err), UAR_OK);
    assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_READY);
    assert_true(finds(m, "the walrus lives near the harbour"));
    assert_int_equal(add(m, "the gull sleeps on the roof"), UAR_OK);
    assert_true(finds(m, "the gull sleeps on the roof"));
    assert_int_equal(uar_memory_check_sync(m, &err), UAR_OK);
    uar_memory_free(m);
}

static void a_suspended_memory_can_be_freed(void **state) {
    (void)state;
    uar_memory *m = uar_memory_open(path, NULL);
    assert_int_equal(uar_memory_suspend(m, NULL), UAR_OK);
    uar_memory_free(m);
}

static void what_others_wrote_while_a_memory_was_suspended_is_found(void **state) {
    (void)state;
    uar_memory *m = uar_memory_open(path, NULL);
    assert_int_equal(add(m, "the walrus lives near the harbour"), UAR_OK);
    assert_true(finds(m, "the walrus lives near the harbour"));
    assert_int_equal(uar_memory_suspend(m, NULL), UAR_OK);
    uar_memory *other = uar_memory_open(path, NULL);
    assert_int_equal(add(other, "the gull sleeps on the roof"), UAR_OK);
    uar_memory_free(other);
    assert_int_equal(uar_memory_resume(m, NULL), UAR_OK);
    assert_true(finds(m, "the gull sleeps on the roof"));
    uar_memory_free(m);
}

static void test_R12_a_memory_whose_file_went_away_is_not_made_anew(void **state) {
    (void)state;
    uar_memory *m = uar_memory_open(path, NULL);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(add(m, "the walrus lives near the harbour"), UAR_OK);
    assert_int_equal(uar_memory_suspend(m, NULL), UAR_OK);
    assert_int_equal(rename(path, copy), 0);
    assert_int_equal(uar_memory_resume(m, &err), UAR_E_CANTOPEN);
    assert_int_not_equal(access(path, F_OK), 0);
    fclose(fopen(path, "wb"));
    assert_int_equal(uar_memory_resume(m, &err), UAR_E_CORRUPT);
    assert_int_equal(rename(copy, path), 0);
    assert_int_equal(uar_memory_resume(m, &err), UAR_OK);
    assert_true(finds(m, "the walrus lives near the harbour"));
    uar_memory_free(m);
}

typedef struct writer {
    uar_memory *m;
    size_t calls;
    size_t stop_at;
} writer;

static bool write_meanwhile(void *ctx, uint64_t done, uint64_t total) {
    writer *w = ctx;
    char text[64];
    assert_true(done <= total);
    snprintf(text, sizeof text, "number %zu came while it was copied", w->calls++);
    if (w->stop_at == 0) assert_int_equal(add(w->m, text), UAR_OK);
    return w->stop_at == 0 || w->calls < w->stop_at;
}

static void a_copy_is_one_moment_of_a_memory_that_is_written_to(void **state) {
    (void)state;
    uar_memory *m = uar_memory_open(path, NULL);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(add(m, "the walrus lives near the harbour"), UAR_OK);
    writer w = { .m = m };
    const uar_care_progress progress = { &w, write_meanwhile };
    if (uar_memory_backup_to_sync(m, copy, &progress, &err) != UAR_OK) fail_msg("%s", err.message);
    assert_true(w.calls > 0);
    assert_int_equal(uar_memory_backup_to_sync(m, copy, NULL, &err), UAR_E_EXISTS);
    uar_memory *of_copy = uar_memory_open(copy, NULL);
    assert_int_equal(uar_memory_check_sync(of_copy, &err), UAR_OK);
    assert_true(finds(of_copy, "the walrus lives near the harbour"));
    assert_false(finds(of_copy, "number 0 came while it was copied"));
    assert_true(finds(m, "number 0 came while it was copied"));
    uar_memory_free(of_copy);
    uar_memory_free(m);
}

static void a_copy_that_is_stopped_leaves_nothing(void **state) {
    (void)state;
    uar_memory *m = uar_memory_open(path, NULL);
    writer w = { .m = m, .stop_at = 1 };
    const uar_care_progress progress = { &w, write_meanwhile };
    assert_int_equal(add(m, "the walrus lives near the harbour"), UAR_OK);
    assert_int_equal(uar_memory_backup_to_sync(m, copy, &progress, NULL), UAR_E_CANCELLED);
    assert_int_not_equal(access(copy, F_OK), 0);
    uar_memory_free(m);
}

static void a_memory_that_is_none_is_refused(void **state) {
    (void)state;
    uar_memory *m = uar_memory_open("/no/such/folder/memory.db", NULL);
    assert_int_equal(uar_memory_suspend(NULL, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_resume(NULL, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_backup_to_sync(NULL, copy, NULL, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_suspend(m, NULL), UAR_E_UNAVAILABLE);
    assert_int_equal(uar_memory_resume(m, NULL), UAR_E_UNAVAILABLE);
    assert_int_equal(uar_memory_backup_to_sync(m, copy, NULL, NULL), UAR_E_UNAVAILABLE);
    uar_memory_free(m);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_N5_a_suspended_memory_has_no_file_open_and_goes_on_when_resumed),
        TEST(a_suspended_memory_can_be_freed),
        TEST(what_others_wrote_while_a_memory_was_suspended_is_found),
        TEST(test_R12_a_memory_whose_file_went_away_is_not_made_anew),
        TEST(a_copy_is_one_moment_of_a_memory_that_is_written_to),
        TEST(a_copy_that_is_stopped_leaves_nothing),
        TEST(a_memory_that_is_none_is_refused),
    };
    return cmocka_run_group_tests_name("memory: care", tests, NULL, NULL);
}
