/* What an SQLite store is asked beside records: giving its files back, backups, maintenance, a log that stays small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/probe_alloc.h"
#include "test_store_fixture.h"

static int64_t size_of(const char *at) {
    struct stat st;
    return stat(at, &st) == 0 ? (int64_t)st.st_size : -1;
}

static const char *beside(const char *tail) {
    static char name[160];
    snprintf(name, sizeof name, "%s%s", path, tail);
    return name;
}

/* ---- suspend and resume ---- */

/* Open files of this process in the test's folder. */
static size_t files_open(void) {
    size_t count = 0;
    DIR *fds = opendir("/proc/self/fd");
    if (fds == NULL) skip();
    for (const struct dirent *e = readdir(fds); e != NULL; e = readdir(fds)) {
        char name[300], target[300];
        snprintf(name, sizeof name, "/proc/self/fd/%.200s", e->d_name);
        ssize_t len = readlink(name, target, sizeof target - 1);
        if (len > 0 && (size_t)len >= strlen(folder) && memcmp(target, folder, strlen(folder)) == 0) count++;
    }
    closedir(fds);
    return count;
}

/* Whether another process can have the file for itself at once. */
static bool another_takes_it_all(void) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sqlite3 *db = NULL;
        bool got =
            sqlite3_open(path, &db) == SQLITE_OK &&
            sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT", NULL, NULL, NULL) == SQLITE_OK;
        _exit(got ? 0 : 1);
    }
    int code = -1;
    assert_int_equal(waitpid(child, &code, 0), child);
    return WIFEXITED(code) && WEXITSTATUS(code) == 0;
}

/* Locks that other processes hold, as the system tells. */
static bool is_locked_by_another(void) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        int fd = open(path, O_RDWR);
        bool free_of_locks = fd >= 0 && fcntl(fd, F_GETLK, &all) == 0 && all.l_type == F_UNLCK;
        _exit(free_of_locks ? 0 : 1);
    }
    int code = -1;
    assert_int_equal(waitpid(child, &code, 0), child);
    return code != 0;
}

static void test_N5_a_suspended_store_has_no_lock_no_file_and_no_statement_and_goes_on_when_resumed(void **state) {
    (void)state;
    store s;
    open_store(&s);
    const uar_record before = kit_record(&s.k, STR("before"));
    assert_int_equal(put_new(&s, before), UAR_OK);
    assert_true(files_open() >= 2);
    assert_true(is_locked_by_another());
    assert_false(another_takes_it_all());
    char where[100];
    snprintf(where, sizeof where, "%s", s.door->location(s.door->ctx));
    assert_int_equal(s.door->suspend(s.door->ctx, NULL), UAR_OK);
    assert_null(db_of(&s));
    assert_int_equal(files_open(), 0);
    assert_false(is_locked_by_another());
    assert_true(another_takes_it_all());
    assert_string_equal(s.door->location(s.door->ctx), where);
    assert_int_equal(s.door->suspend(s.door->ctx, NULL), UAR_OK);
    assert_int_equal(s.door->resume(s.door->ctx, NULL), UAR_OK);
    assert_int_equal(s.door->resume(s.door->ctx, NULL), UAR_OK);
    assert_true(kit_has(&s.k, &before));
    assert_int_equal(put_new(&s, kit_record(&s.k, STR("after"))), UAR_OK);
    for (sqlite3_stmt *at = sqlite3_next_stmt(db_of(&s), NULL); at != NULL; at = sqlite3_next_stmt(db_of(&s), at))
        assert_false(sqlite3_stmt_busy(at));
    finish(&s);
}

static void a_suspended_store_may_be_destroyed(void **state) {
    (void)state;
    store s;
    open_store(&s);
    assert_int_equal(s.door->suspend(s.door->ctx, NULL), UAR_OK);
    finish(&s);
}

static void a_store_that_was_never_opened_cannot_be_suspended(void **state) {
    (void)state;
    store s;
    begin(&s, uar_persistence_sqlite(path, NULL));
    assert_int_equal(s.door->suspend(s.door->ctx, NULL), UAR_E_CLOSED);
    assert_int_equal(s.door->resume(s.door->ctx, NULL), UAR_E_CLOSED);
    assert_int_equal(s.door->backup(s.door->ctx, beside("-copy"), NULL, NULL), UAR_E_CLOSED);
    finish(&s);
}

static void test_R12_a_store_whose_file_went_away_while_it_was_suspended_is_not_made_anew(void **state) {
    (void)state;
    store s;
    uar_error err = UAR_ERROR_INIT;
    char moved[160];
    open_store(&s);
    const uar_record r = kit_record(&s.k, STR("a"));
    assert_int_equal(put_new(&s, r), UAR_OK);
    assert_int_equal(s.door->suspend(s.door->ctx, NULL), UAR_OK);
    snprintf(moved, sizeof moved, "%s", beside("-moved"));
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(s.door->resume(s.door->ctx, &err), UAR_E_CANTOPEN);
    assert_int_equal(size_of(path), -1);
    FILE *empty = fopen(path, "wb");
    assert_non_null(empty);
    fclose(empty);
    assert_int_equal(s.door->resume(s.door->ctx, &err), UAR_E_CORRUPT);
    assert_int_equal(rename(moved, path), 0);
    assert_int_equal(s.door->resume(s.door->ctx, &err), UAR_OK);
    assert_true(kit_has(&s.k, &r));
    finish(&s);
}

/* ---- backup ---- */

typedef struct watcher {
    store *s;
    uint64_t calls, last, total;
    uint64_t stop_at; /* 0: never */
    size_t written;
} watcher;

/* Writes to the store between any two steps of a backup. */
static bool write_meanwhile(void *ctx, uint64_t done, uint64_t total) {
    watcher *w = ctx;
    w->calls++;
    assert_true(done >= w->last && done <= total);
    w->last = done;
    w->total = total;
    if (w->s != NULL)
        assert_int_equal(put_new(w->s, kit_record(&w->s->k, kit_name(&w->s->k, "late-", w->written++))), UAR_OK);
    return w->stop_at == 0 || w->calls < w->stop_at;
}

enum { FILLED = 300 };

static void fill(store *s, size_t bytes) {
    uar_write writes[FILLED];
    for (size_t i = 0; i < FILLED; i++) {
        uar_record r = kit_record(&s->k, kit_name(&s->k, "r-", i));
        r.blob = kit_bytes(&s->k, bytes);
        assert_int_equal(record_seal(&r), UAR_OK);
        writes[i] = kit_put(r, 0);
    }
    assert_int_equal(kit_commit(&s->k, writes, FILLED), UAR_OK);
}

static size_t count_files(void) {
    size_t count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static void a_backup_is_one_moment_of_a_store_that_is_written_to(void **state) {
    (void)state;
    store s;
    open_store(&s);
    fill(&s, 8000);
    watcher w = { .s = &s };
    const uar_care_progress progress = { &w, write_meanwhile };
    uar_error err = UAR_ERROR_INIT;
    char copy[160];
    snprintf(copy, sizeof copy, "%s", beside("-copy"));
    if (s.door->backup(s.door->ctx, copy, &progress, &err) != UAR_OK) fail_msg("%s", err.message);
    assert_true(w.calls >= 3 && w.last == w.total && w.total > 256);
    finish(&s);
    uar_store_check check = { .size = sizeof check };
    assert_int_equal(uar_sqlite_check(&check, copy, NULL, NULL, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(check.records, FILLED);
    assert_int_equal(check.lost + check.faults, 0);
    assert_int_equal(uar_sqlite_check(&check, path, NULL, NULL, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(check.records, FILLED + w.written);
    assert_int_equal(try_open(&s, copy, NULL, &err), UAR_OK);
    uar_record got;
    assert_int_equal(kit_get(&got, &s.k, UAR_RECORD_MESSAGE, s.k.owner, STR("r-0007")), UAR_OK);
    assert_int_equal(got.blob.len, 8000);
    finish(&s);
}

static void a_backup_overwrites_nothing(void **state) {
    (void)state;
    static const char *const taken[] = { "-copy", "-copy-wal", "-copy-journal" };
    store s;
    open_store(&s);
    fill(&s, 10);
    char copy[160];
    snprintf(copy, sizeof copy, "%s", beside("-copy"));
    for (size_t i = 0; i < COUNT(taken); i++) {
        uar_error err = UAR_ERROR_INIT;
        FILE *there = fopen(beside(taken[i]), "wb");
        assert_non_null(there);
        fputs("mine", there);
        fclose(there);
        assert_int_equal(s.door->backup(s.door->ctx, copy, NULL, &err), UAR_E_EXISTS);
        assert_non_null(strstr(err.message, "already"));
        assert_int_equal(size_of(beside(taken[i])), 4);
        assert_int_equal(unlink(beside(taken[i])), 0);
    }
    assert_int_equal(s.door->backup(s.door->ctx, path, NULL, NULL), UAR_E_EXISTS);
    assert_int_equal(s.door->backup(s.door->ctx, "", NULL, NULL), UAR_E_INVALID);
    assert_int_equal(s.door->backup(s.door->ctx, "/no/such/folder/copy", NULL, NULL), UAR_E_CANTOPEN);
    size_t files = count_files();
    assert_int_equal(s.door->backup(s.door->ctx, copy, NULL, NULL), UAR_OK);
    assert_int_equal(count_files(), files + 1);
    finish(&s);
}

static void a_backup_that_is_stopped_leaves_nothing(void **state) {
    (void)state;
    store s;
    open_store(&s);
    fill(&s, 8000);
    size_t files = count_files();
    for (uint64_t at = 1; at <= 3; at++) {
        watcher w = { .stop_at = at };
        const uar_care_progress progress = { &w, write_meanwhile };
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(s.door->backup(s.door->ctx, beside("-copy"), &progress, &err), UAR_E_CANCELLED);
        assert_int_equal(w.calls, at);
        assert_int_equal(count_files(), files);
    }
    finish(&s);
}

/* ---- maintenance ---- */

static void drop_all(store *s) {
    uar_write writes[FILLED];
    for (size_t i = 0; i < FILLED; i++)
        writes[i] = kit_delete(kit_record(&s->k, kit_name(&s->k, "r-", i)), 1);
    assert_int_equal(kit_commit(&s->k, writes, FILLED), UAR_OK);
}

static uar_store_care tidy(store *s, bool whole, uint64_t max_bytes) {
    uar_care_options options;
    uar_store_care care;
    uar_error err = UAR_ERROR_INIT;
    uar_care_options_init(&options);
    uar_store_care_init(&care);
    options.whole = whole;
    options.max_bytes = max_bytes;
    if (s->door->maintain(s->door->ctx, &options, NULL, &care, &err) != UAR_OK) fail_msg("%s", err.message);
    return care;
}

static void maintenance_gives_free_space_back_bit_by_bit(void **state) {
    (void)state;
    enum { SOME = 1 << 20, PAGE = 4096, SLICE = 128 };
    store s;
    open_store(&s);
    fill(&s, 8000);
    drop_all(&s);
    uar_store_care first = tidy(&s, false, SOME);
    assert_int_equal(first.log_bytes, 0);
    assert_true(first.bytes_after < first.bytes_before);
    assert_true(first.free_bytes > 0);
    int64_t size = size_of(path);
    assert_int_equal(first.bytes_after, size);
    uar_store_care second = tidy(&s, false, SOME);
    int64_t given = size - size_of(path);
    assert_true(given >= SOME && given <= SOME + SLICE * PAGE);
    assert_int_equal(second.bytes_before, size);
    uar_store_care third = tidy(&s, false, 0);
    assert_int_equal(third.free_bytes, 0);
    assert_true(size_of(path) < 20 * PAGE);
    assert_int_equal(put_new(&s, kit_record(&s.k, STR("still"))), UAR_OK);
    finish(&s);
}

static void a_rebuild_gives_all_back_and_keeps_what_is_there(void **state) {
    (void)state;
    store s;
    open_store(&s);
    fill(&s, 8000);
    const uar_record kept = kit_record(&s.k, STR("kept"));
    assert_int_equal(put_new(&s, kept), UAR_OK);
    drop_all(&s);
    uar_store_care care = tidy(&s, true, 0);
    assert_int_equal(care.free_bytes, 0);
    assert_true(care.bytes_after < 100000 && care.bytes_before > 2000000);
    assert_true(kit_has(&s.k, &kept));
    finish(&s);
    open_store(&s);
    assert_true(kit_has(&s.k, &kept));
    finish(&s);
}

static void maintenance_that_is_stopped_says_so_and_harms_nothing(void **state) {
    (void)state;
    store s;
    open_store(&s);
    fill(&s, 8000);
    drop_all(&s);
    for (int whole = 0; whole < 2; whole++) {
        watcher w = { .stop_at = 1 };
        const uar_care_progress progress = { &w, write_meanwhile };
        const uar_care_options options = { .size = sizeof options, .whole = whole != 0 };
        uar_store_care care = { .size = sizeof care };
        uar_error err = UAR_ERROR_INIT;
        uar_status status = s.door->maintain(s.door->ctx, &options, &progress, &care, &err);
        /* A small store may be rebuilt before anybody is asked. */
        assert_true(status == UAR_E_CANCELLED || (whole != 0 && status == UAR_OK && w.calls == 0));
    }
    assert_int_equal(put_new(&s, kit_record(&s.k, STR("still"))), UAR_OK);
    finish(&s);
}

static void a_store_opened_for_reading_is_not_maintained_but_backed_up_and_checked(void **state) {
    (void)state;
    store s;
    open_store(&s);
    fill(&s, 100);
    finish(&s);
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.read_only = true;
    assert_int_equal(try_open(&s, path, &options, NULL), UAR_OK);
    const uar_care_options how = { .size = sizeof how };
    uar_store_care care = { .size = sizeof care };
    assert_int_equal(s.door->maintain(s.door->ctx, &how, NULL, &care, NULL), UAR_E_READ_ONLY);
    assert_int_equal(s.door->backup(s.door->ctx, beside("-copy"), NULL, NULL), UAR_OK);
    finish(&s);
    uar_store_check check = { .size = sizeof check };
    assert_int_equal(uar_sqlite_check(&check, beside("-copy"), NULL, NULL, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(check.records, FILLED);
}

/* ---- the log ---- */

enum { MIB = 1 << 20 };

static int64_t longest_log(store *s, size_t from, size_t count) {
    int64_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        uar_record r = kit_record(&s->k, kit_name(&s->k, "log-", from + i));
        r.blob = kit_bytes(&s->k, 30000);
        assert_int_equal(put_new(s, r), UAR_OK);
        int64_t size = size_of(beside("-wal"));
        if (size > longest) longest = size;
    }
    return longest;
}

static void the_log_stays_small_under_many_commits(void **state) {
    (void)state;
    store s;
    open_store(&s);
    int64_t longest = longest_log(&s, 0, 1000); /* 30 MB and more */
    print_message("log: %.1f MiB at most for 30 MB of commits\n", (double)longest / MIB);
    assert_true(longest < 6 * MIB);
    finish(&s);
}

static void a_log_that_a_reader_held_is_cut_when_the_reader_is_gone(void **state) {
    (void)state;
    store s;
    open_store(&s);
    sqlite3 *reader = NULL;
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM record", NULL, NULL, NULL), SQLITE_OK);
    int64_t held = longest_log(&s, 0, 1000);
    assert_true(held > 20 * MIB);
    assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    (void)longest_log(&s, 1000, 60); /* 2 MB */
    int64_t after = size_of(beside("-wal"));
    int64_t later = longest_log(&s, 2000, 300);
    print_message("log: %.1f MiB while a reader held it, %.1f MiB after it went, then %.1f MiB at most\n",
                  (double)held / MIB, (double)after / MIB, (double)later / MIB);
    assert_true(after < 4 * MIB);
    assert_true(later < 6 * MIB);
    sqlite3_close(reader);
    finish(&s);
}

/* ---- many processes ---- */

enum { PROCESSES = 16, EACH = 8 };

static int write_some(int start, size_t number) {
    char go;
    if (read(start, &go, 1) != 0) return 1;
    store s;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = try_open(&s, path, NULL, &err);
    for (size_t i = 0; i < EACH && status == UAR_OK; i++)
        status = put_new(&s, kit_record(&s.k, kit_name(&s.k, "p-", number * EACH + i)));
    if (status == UAR_OK && number % 4 == 0) {
        const uar_care_options how = { .size = sizeof how, .whole = number == 4 };
        uar_store_care care = { .size = sizeof care };
        status = s.door->maintain(s.door->ctx, &how, NULL, &care, &err);
    }
    if (status == UAR_OK && number % 4 == 1) {
        char copy[160];
        snprintf(copy, sizeof copy, "%s-copy-%zu", path, number);
        status = s.door->backup(s.door->ctx, copy, NULL, &err);
    }
    if (status == UAR_OK && number % 4 == 2) status = s.door->suspend(s.door->ctx, &err);
    if (status == UAR_OK && number % 4 == 2) status = s.door->resume(s.door->ctx, &err);
    if (status != UAR_OK) fprintf(stderr, "process %zu: %s %s\n", number, uar_status_name(status), err.message);
    finish(&s);
    return status == UAR_OK ? 0 : 2;
}

static void test_R8_sixteen_processes_write_back_up_tidy_and_suspend_one_store_at_once(void **state) {
    (void)state;
    int start[2];
    assert_int_equal(pipe(start), 0);
    pid_t children[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            close(start[1]);
            _exit(write_some(start[0], i));
        }
    }
    close(start[0]);
    close(start[1]);
    for (size_t i = 0; i < PROCESSES; i++) {
        int code = -1;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    uar_store_check check = { .size = sizeof check };
    assert_int_equal(uar_sqlite_check(&check, path, NULL, NULL, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(check.records, PROCESSES * EACH);
    assert_int_equal(check.lost + check.faults, 0);
    for (size_t i = 1; i < PROCESSES; i += 4) {
        char copy[160];
        snprintf(copy, sizeof copy, "%s-copy-%zu", path, i);
        assert_int_equal(uar_sqlite_check(&check, copy, NULL, NULL, NULL, NULL, NULL), UAR_OK);
        assert_true(check.records >= EACH && check.lost + check.faults == 0);
    }
}

/* ---- memory ---- */

static void hear_nothing(void *ctx, const uar_store_finding *finding) {
    (void)ctx, (void)finding;
}

static uar_status care_for(const uar_allocator *alloc) {
    const uar_persistence *door = sqlite_new(alloc, path, NULL);
    if (door == NULL) return UAR_E_NOMEM;
    const uar_care_options options = { .size = sizeof options };
    uar_store_care care = { .size = sizeof care };
    uar_store_check check = { .size = sizeof check };
    char copy[160];
    snprintf(copy, sizeof copy, "%s", beside("-copy"));
    uar_status status = door->open(door->ctx, NULL);
    if (status == UAR_OK) status = door->suspend(door->ctx, NULL);
    if (status == UAR_OK) status = door->resume(door->ctx, NULL);
    if (status == UAR_OK) {
        status = door->backup(door->ctx, copy, NULL, NULL);
        assert_int_equal(size_of(copy) > 0, status == UAR_OK);
        (void)unlink(copy);
    }
    if (status == UAR_OK) status = door->maintain(door->ctx, &options, NULL, &care, NULL);
    if (status == UAR_OK) status = door->check(door->ctx, hear_nothing, NULL, NULL, &check, NULL);
    if (status == UAR_OK) assert_int_equal(check.records, FILLED);
    uar_persistence_free(door);
    return status;
}

static void running_out_of_memory_anywhere_in_care_is_clean(void **state) {
    (void)state;
    probe_alloc probe;
    store s;
    open_store(&s);
    fill(&s, 20);
    finish(&s);
    size_t files = count_files();
    probe_alloc_init(&probe);
    bool ended = false;
    unsigned long n = 1;
    for (; !ended; n++) {
        /* Each record that is looked at is an allocation or two: far in, some of them will do. */
        unsigned long at = n < 120 ? (n + 1) / 2 : 60 + (n - 120) * 17;
        probe_alloc_arm(&probe, at, n % 2 == 0);
        uar_status status = care_for(&probe.door);
        ended = !probe_alloc_has_failed(&probe);
        if (ended)
            assert_int_equal(status, UAR_OK);
        else
            assert_true(status == UAR_E_NOMEM || status == UAR_OK);
        assert_int_equal(probe.alive, 0);
        assert_int_equal(uar_live_objects(), 0);
        assert_int_equal(count_files(), files);
    }
    assert_true(n > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_N5_a_suspended_store_has_no_lock_no_file_and_no_statement_and_goes_on_when_resumed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_suspended_store_may_be_destroyed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_store_that_was_never_opened_cannot_be_suspended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_R12_a_store_whose_file_went_away_while_it_was_suspended_is_not_made_anew,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_backup_is_one_moment_of_a_store_that_is_written_to, setup, teardown),
        cmocka_unit_test_setup_teardown(a_backup_overwrites_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_backup_that_is_stopped_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(maintenance_gives_free_space_back_bit_by_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rebuild_gives_all_back_and_keeps_what_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(maintenance_that_is_stopped_says_so_and_harms_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_store_opened_for_reading_is_not_maintained_but_backed_up_and_checked, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_log_stays_small_under_many_commits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_log_that_a_reader_held_is_cut_when_the_reader_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_R8_sixteen_processes_write_back_up_tidy_and_suspend_one_store_at_once,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(running_out_of_memory_anywhere_in_care_is_clean, setup, teardown),
    };
    return cmocka_run_group_tests_name("store: care", tests, NULL, NULL);
}
