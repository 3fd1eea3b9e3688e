/* A runtime that is put to sleep and goes on, and care of its store while runs go on. */
#include "unit/test_run_fixture.h"

#include <dirent.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static char folder[64], path[96], copy[112];

static int begin(void **state) {
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/uar-suspend-XXXXXX" : "/tmp/uar-suspend-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/state.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    return fixture_begin(state);
}

static int end(void **state) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 ? -1 : fixture_end(state);
}

static const uar_threading THREADING[] = { UAR_THREADS_POOL, UAR_THREADS_MANUAL };

static uar_status put(uar_runtime *rt, const char *key, const char *value) {
    uar_reply *reply = NULL;
    uar_status status = uar_setting_put_sync(&reply, rt, "local", key, uar_str_of(value), NULL);
    uar_reply_free(reply);
    return status;
}

static uar_status get(uar_runtime *rt, const char *key) {
    uar_reply *reply = NULL;
    uar_status status = uar_setting_get_sync(&reply, rt, "local", key, NULL);
    uar_reply_free(reply);
    return status;
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

/* ---- suspend and resume ---- */

static void test_N5_a_suspended_runtime_has_no_file_open_and_goes_on_with_the_same_store(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        host *h = fixture_open(&(host_options){ .script = HELLO HELLO, .store = path, .threading = THREADING[i] });
        uar_runtime *rt = host_runtime(h);
        assert_int_equal(host_say(h, "hi", NULL), UAR_OK);
        assert_int_equal(put(rt, "a", "1"), UAR_OK);
        assert_true(files_open() > 0);
        assert_int_equal(uar_runtime_suspend(rt, 5000, NULL), UAR_OK);
        assert_int_equal(files_open(), 0);
        assert_int_equal(uar_runtime_suspend(rt, 0, NULL), UAR_OK);
        assert_int_equal(put(rt, "b", "2"), UAR_E_SUSPENDED);
        assert_int_equal(get(rt, "a"), UAR_E_SUSPENDED);
        assert_int_equal(uar_backup_to_sync(rt, copy, NULL, NULL), UAR_E_SUSPENDED);
        assert_int_equal(files_open(), 0);
        assert_int_equal(uar_runtime_resume(rt, NULL), UAR_OK);
        assert_int_equal(uar_runtime_resume(rt, NULL), UAR_OK);
        assert_int_equal(get(rt, "a"), UAR_OK);
        assert_int_equal(get(rt, "b"), UAR_E_NOT_FOUND);
        assert_int_equal(host_say(h, "again", NULL), UAR_OK);
        fixture_close(h);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_run_that_meets_a_suspended_store_fails_so_that_it_can_be_tried_again(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        host *h = fixture_open(&(host_options){ .script = HELLO, .store = path, .threading = THREADING[i] });
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "hi" };
        uar_run_id id;
        uar_outcome out = { 0 };
        assert_int_equal(uar_runtime_suspend(host_runtime(h), 5000, NULL), UAR_OK);
        assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
        assert_int_equal(host_await(h, id, &out), UAR_OK);
        assert_int_equal(out.error.code, UAR_E_SUSPENDED);
        assert_int_equal(uar_status_band(out.error.code), UAR_BAND_RETRY);
        assert_int_equal(uar_runtime_resume(host_runtime(h), NULL), UAR_OK);
        memset(&out, 0, sizeof out);
        assert_int_equal(host_run(h, &q, &id, &out), UAR_OK);
        assert_int_equal(out.error.code, UAR_OK);
        fixture_close(h);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_suspended_runtime_can_be_closed(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        host *h = fixture_open(&(host_options){ .script = HELLO, .store = path, .threading = THREADING[i] });
        assert_int_equal(host_say(h, "hi", NULL), UAR_OK);
        assert_int_equal(uar_runtime_suspend(host_runtime(h), 5000, NULL), UAR_OK);
        fixture_close(h);
        assert_int_equal(unlink(path), 0);
    }
}

static void take_reply(void *ctx, uar_reply *reply) {
    atomic_int *status = ctx;
    atomic_store(status, (int)reply->status);
    uar_reply_free(reply);
}

/* Until the plain call has been answered. */
static uar_status await(host *h, const atomic_int *status) {
    for (int i = 0; i < 2000 && atomic_load(status) == 1; i++)
        host_rest(h, 5);
    return (uar_status)atomic_load(status);
}

static void test_N5_suspending_waits_for_the_call_that_runs_and_no_longer_than_it_may(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        host_layer *l = host_layer_new(uar_persistence_sqlite(path, NULL));
        host *h =
            fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l), .threading = THREADING[i] });
        uar_runtime *rt = host_runtime(h);
        atomic_int status = 1, later = 1;
        host_layer_hold(l, COMMIT_OTHER);
        assert_int_equal(uar_setting_put(rt, "local", "a", uar_str_of("1"), take_reply, &status, NULL), UAR_OK);
        for (int n = 0; n < 1000 && host_layer_waiting(l) == 0; n++)
            host_rest(h, 5);
        assert_int_equal(host_layer_waiting(l), 1);
        uint64_t start = clock_mono(&clock_default);
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(uar_runtime_suspend(rt, 60, &err), UAR_E_TIMEOUT);
        assert_true(clock_mono(&clock_default) - start < 5000);
        assert_true(files_open() > 0);
        /* Nothing new is let in, and what ran ends well. */
        assert_int_equal(uar_setting_get(rt, "local", "a", take_reply, &later, NULL), UAR_OK);
        assert_int_equal(await(h, &later), UAR_E_SUSPENDED);
        assert_int_equal(status, 1);
        host_layer_let_go(l);
        assert_int_equal(uar_runtime_suspend(rt, 5000, &err), UAR_OK);
        assert_int_equal(files_open(), 0);
        assert_int_equal(uar_runtime_resume(rt, NULL), UAR_OK);
        (void)await(h, &status);
        assert_int_equal(get(rt, "a"), UAR_OK);
        fixture_close(h);
        host_layer_free(l);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_suspension_that_took_too_long_can_be_called_off(void **state) {
    (void)state;
    host_layer *l = host_layer_new(uar_persistence_sqlite(path, NULL));
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l) });
    uar_runtime *rt = host_runtime(h);
    atomic_int status = 1;
    host_layer_hold(l, COMMIT_OTHER);
    assert_int_equal(uar_setting_put(rt, "local", "a", uar_str_of("1"), take_reply, &status, NULL), UAR_OK);
    for (int n = 0; n < 1000 && host_layer_waiting(l) == 0; n++)
        host_rest(h, 5);
    assert_int_equal(uar_runtime_suspend(rt, 30, NULL), UAR_E_TIMEOUT);
    assert_int_equal(uar_runtime_resume(rt, NULL), UAR_OK);
    host_layer_let_go(l);
    assert_int_equal(await(h, &status), UAR_OK);
    assert_int_equal(get(rt, "a"), UAR_OK);
    fixture_close(h);
    host_layer_free(l);
}

/* ---- layers that can't ---- */

static void a_layer_without_a_slot_says_that_it_cannot(void **state) {
    (void)state;
    uar_persistence plain = *uar_persistence_volatile();
    plain.suspend = plain.resume = NULL;
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = &plain });
    uar_runtime *rt = host_runtime(h);
    uar_store_care care;
    uar_store_check check;
    uar_store_care_init(&care);
    uar_store_check_init(&check);
    check.lost = care.free_bytes = 99;
    assert_int_equal(uar_runtime_suspend(rt, 1000, NULL), UAR_E_UNSUPPORTED);
    assert_int_equal(uar_runtime_resume(rt, NULL), UAR_OK);
    assert_int_equal(uar_backup_to_sync(rt, copy, NULL, NULL), UAR_E_UNSUPPORTED);
    assert_int_equal(uar_store_maintain_sync(&care, rt, NULL, NULL, NULL), UAR_E_UNSUPPORTED);
    assert_int_equal(uar_store_verify_sync(&check, rt, NULL, NULL, NULL, NULL), UAR_E_UNSUPPORTED);
    assert_true(check.lost == 99 && care.free_bytes == 99);
    assert_int_equal(put(rt, "a", "1"), UAR_OK);
    fixture_close(h);
}

static void a_layer_of_an_older_header_says_that_it_cannot(void **state) {
    (void)state;
    uar_persistence older = *uar_persistence_volatile();
    older.struct_size = offsetof(uar_persistence, suspend);
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = &older });
    assert_int_equal(uar_runtime_suspend(host_runtime(h), 1000, NULL), UAR_E_UNSUPPORTED);
    assert_int_equal(host_say(h, "hi", NULL), UAR_OK);
    fixture_close(h);
}

static void what_forgets_everything_can_be_suspended(void **state) {
    (void)state;
    host *h = fixture_script(HELLO);
    assert_int_equal(put(host_runtime(h), "a", "1"), UAR_OK);
    assert_int_equal(uar_runtime_suspend(host_runtime(h), 1000, NULL), UAR_OK);
    assert_int_equal(get(host_runtime(h), "a"), UAR_E_SUSPENDED);
    assert_int_equal(uar_runtime_resume(host_runtime(h), NULL), UAR_OK);
    assert_int_equal(get(host_runtime(h), "a"), UAR_OK);
    fixture_close(h);
}

static void a_call_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .store = path });
    uar_runtime *rt = host_runtime(h);
    uar_store_care care;
    uar_store_care_init(&care);
    assert_int_equal(uar_runtime_suspend(NULL, 0, NULL), UAR_E_INVALID);
    assert_int_equal(uar_runtime_resume(NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_backup_to_sync(rt, NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_backup_to_sync(rt, "", NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_backup_to(rt, copy, NULL, NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_store_maintain_sync(NULL, rt, NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_store_verify_sync(NULL, rt, NULL, NULL, NULL, NULL), UAR_E_INVALID);
    const uar_care_options wrong = { .size = 3 };
    assert_int_equal(uar_store_maintain_sync(&care, rt, &wrong, NULL, NULL), UAR_E_STRUCT);
    fixture_close(h);
}

/* ---- care while runs go on ---- */

static void care_runs_beside_the_calls_of_the_store(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        host *h = fixture_open(&(host_options){ .script = HELLO, .store = path, .threading = THREADING[i] });
        uar_runtime *rt = host_runtime(h);
        atomic_int backed_up = 1, tidied = 1, verified = 1;
        assert_int_equal(host_say(h, "hi", NULL), UAR_OK);
        assert_int_equal(uar_backup_to(rt, copy, NULL, take_reply, &backed_up, NULL), UAR_OK);
        assert_int_equal(uar_store_maintain(rt, NULL, NULL, take_reply, &tidied, NULL), UAR_OK);
        assert_int_equal(uar_store_verify(rt, NULL, NULL, NULL, take_reply, &verified, NULL), UAR_OK);
        for (int n = 0; n < 20; n++)
            assert_int_equal(put(rt, "a", "1"), UAR_OK);
        assert_int_equal(await(h, &backed_up), UAR_OK);
        assert_int_equal(await(h, &tidied), UAR_OK);
        assert_int_equal(await(h, &verified), UAR_OK);
        uar_store_check check;
        uar_store_check_init(&check);
        assert_int_equal(uar_store_verify_sync(&check, rt, NULL, NULL, NULL, NULL), UAR_OK);
        assert_true(check.records > 3 && check.lost + check.faults == 0);
        assert_int_equal(uar_backup_to_sync(rt, copy, NULL, NULL), UAR_E_EXISTS);
        fixture_close(h);
        assert_int_equal(unlink(copy), 0);
        assert_int_equal(unlink(path), 0);
    }
}

typedef struct slow_watch {
    atomic_int calls;
} slow_watch;

/* Care that never ends by itself: each step takes its time, and there are many. */
static bool watch_slowly(void *ctx, uint64_t done, uint64_t total) {
    slow_watch *w = ctx;
    (void)done, (void)total;
    atomic_fetch_add(&w->calls, 1);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    return true;
}

static void fill(uar_runtime *rt) {
    char *value = malloc(60003);
    assert_non_null(value);
    memset(value, 'x', 60002);
    value[0] = value[60001] = '"';
    value[60002] = '\0';
    for (int n = 0; n < 100; n++) {
        char key[24];
        snprintf(key, sizeof key, "key-%d", n);
        assert_int_equal(put(rt, key, value), UAR_OK);
    }
    free(value);
}

static void test_N5_suspending_stops_care_that_runs(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .store = path });
    uar_runtime *rt = host_runtime(h);
    fill(rt);
    slow_watch w = { 0 };
    const uar_care_progress progress = { &w, watch_slowly };
    atomic_int status = 1;
    assert_int_equal(uar_backup_to(rt, copy, &progress, take_reply, &status, NULL), UAR_OK);
    for (int n = 0; n < 1000 && atomic_load(&w.calls) == 0; n++)
        host_rest(h, 2);
    assert_int_equal(uar_runtime_suspend(rt, 5000, NULL), UAR_OK);
    assert_int_equal(files_open(), 0);
    assert_int_equal(await(h, &status), UAR_E_SUSPENDED);
    assert_int_not_equal(access(copy, F_OK), 0);
    assert_int_equal(uar_runtime_resume(rt, NULL), UAR_OK);
    assert_int_equal(uar_backup_to_sync(rt, copy, NULL, NULL), UAR_OK);
    fixture_close(h);
}

static void closing_stops_care_that_runs(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .store = path });
    uar_runtime *rt = host_runtime(h);
    fill(rt);
    slow_watch w = { 0 };
    const uar_care_progress progress = { &w, watch_slowly };
    atomic_int status = 1;
    assert_int_equal(uar_backup_to(rt, copy, &progress, take_reply, &status, NULL), UAR_OK);
    for (int n = 0; n < 1000 && atomic_load(&w.calls) == 0; n++)
        host_rest(h, 2);
    fixture_close(h);
    assert_int_equal(atomic_load(&status), UAR_E_CLOSED);
    assert_int_not_equal(access(copy, F_OK), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_N5_a_suspended_runtime_has_no_file_open_and_goes_on_with_the_same_store),
        TEST(a_run_that_meets_a_suspended_store_fails_so_that_it_can_be_tried_again),
        TEST(a_suspended_runtime_can_be_closed),
        TEST(test_N5_suspending_waits_for_the_call_that_runs_and_no_longer_than_it_may),
        TEST(a_suspension_that_took_too_long_can_be_called_off),
        TEST(a_layer_without_a_slot_says_that_it_cannot),
        TEST(a_layer_of_an_older_header_says_that_it_cannot),
        TEST(what_forgets_everything_can_be_suspended),
        TEST(a_call_that_makes_no_sense_is_refused),
        TEST(care_runs_beside_the_calls_of_the_store),
        TEST(test_N5_suspending_stops_care_that_runs),
        TEST(closing_stops_care_that_runs),
    };
    return cmocka_run_group_tests_name("suspend and care", tests, NULL, NULL);
}
