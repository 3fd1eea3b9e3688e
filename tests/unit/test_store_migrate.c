/* How a store of an older version becomes one of this version, proven with schemas that only this test has. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "test_store_fixture.h"

/* ---- three versions: 1 is the library's own, 2 has another index, 3 a column that is filled row by row ---- */

enum { RECORDS = 2000, ROWS = 100 };

static const char version_1[] =
    "CREATE TABLE record("
    " kind INTEGER NOT NULL, owner BLOB NOT NULL, id BLOB NOT NULL, parent BLOB, revision INTEGER NOT NULL,"
    " sort INTEGER, schema INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " body BLOB, blob BLOB, checksum BLOB NOT NULL);"
    "CREATE UNIQUE INDEX record_id ON record(kind, owner, id);"
    "CREATE INDEX record_parent ON record(kind, owner, parent, id) WHERE parent IS NOT NULL;"
    "CREATE INDEX record_sort ON record(kind, owner, parent, sort, id)"
    " WHERE parent IS NOT NULL AND sort IS NOT NULL;";
static const char to_2[] = "CREATE INDEX record_age ON record(owner, updated_ms)";
static const char to_3[] = "ALTER TABLE record ADD COLUMN size INTEGER NOT NULL DEFAULT 0";

/* A step that goes through the rows and tells how far it is. */
static int measure_rows(sqlite3 *db, sqlite_watch *watch) {
    sqlite3_int64 rows = 0, last = 0;
    int code = sqlite_ask(db, "SELECT count(*) FROM record", &rows);
    for (sqlite3_int64 done = 0; code == SQLITE_OK && done < rows; done += ROWS) {
        char sql[200];
        snprintf(sql, sizeof sql, "UPDATE record SET size=coalesce(length(body),0)+1 WHERE rowid>%lld AND rowid<=%lld",
                 (long long)last, (long long)last + ROWS);
        last += ROWS;
        code = sqlite3_exec(db, sql, NULL, NULL, NULL);
        if (code == SQLITE_OK && !sqlite_watch_tell(watch, (uint64_t)done, (uint64_t)rows)) code = SQLITE_INTERRUPT;
    }
    return code;
}

static const sqlite_step steps[] = { { to_2, NULL }, { to_3, measure_rows } };
static const sqlite_schema schema_1 = { .version = 1, .oldest = 1, .create = version_1 };
static const sqlite_schema schema_3 = { .version = 3, .oldest = 1, .create = version_1, .steps = steps };

static uar_status open_as(store *s, const sqlite_schema *schema, const uar_sqlite_options *options, uar_error *err) {
    begin(s, sqlite_new_with(&alloc_default, path, options, schema));
    return s->door->open(s->door->ctx, err);
}

static void make_version_1(void) {
    static uar_write writes[RECORDS];
    store s;
    assert_int_equal(open_as(&s, &schema_1, NULL, NULL), UAR_OK);
    for (size_t i = 0; i < RECORDS; i++)
        writes[i] = kit_put(kit_sorted(&s.k, kit_name(&s.k, "r-", i), STR("p"), (int64_t)i), 0);
    assert_int_equal(kit_commit(&s.k, writes, RECORDS), UAR_OK);
    finish(&s);
}

static int64_t ask(const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_int64 answer = -1;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite_ask(db, sql, &answer), SQLITE_OK);
    sqlite3_close(db);
    return answer;
}

static void expect_version_3(void) {
    assert_int_equal(ask("PRAGMA user_version"), 3);
    assert_int_equal(ask("SELECT count(*) FROM record WHERE size>0"), RECORDS);
    assert_int_equal(ask("SELECT count(*) FROM sqlite_master WHERE name='record_age'"), 1);
}

/* As it was: every record, and nothing of the newer versions. */
static void expect_version_1(void) {
    store s;
    assert_int_equal(open_as(&s, &schema_1, NULL, NULL), UAR_OK);
    uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    kit_page page;
    query.limit = RECORDS + 1;
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_OK);
    assert_int_equal(page.count, RECORDS);
    finish(&s);
    assert_int_equal(ask("PRAGMA user_version"), 1);
    assert_int_equal(ask("SELECT count(*) FROM sqlite_master WHERE name='record_age'"), 0);
}

/* ---- progress ---- */

typedef struct watcher {
    uint64_t calls, last, total;
    uint64_t stop_at; /* 0: never */
    bool dies;
} watcher;

static bool watch(void *ctx, uint64_t done, uint64_t total) {
    watcher *w = ctx;
    w->calls++;
    if (done < w->last || done > total || (w->total != 0 && total != w->total)) return false;
    w->last = done;
    w->total = total;
    bool is_it = w->stop_at != 0 && w->calls >= w->stop_at;
    if (is_it && w->dies) raise(SIGKILL);
    return !is_it;
}

static uar_sqlite_options watched(watcher *w) {
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.progress = (uar_care_progress){ w, watch };
    return options;
}

static void an_older_store_is_brought_up_to_date_with_progress(void **state) {
    (void)state;
    make_version_1();
    watcher w = { 0 };
    const uar_sqlite_options options = watched(&w);
    store s;
    uar_error err = UAR_ERROR_INIT;
    if (open_as(&s, &schema_3, &options, &err) != UAR_OK) fail_msg("%s", err.message);
    assert_true(w.calls > RECORDS / ROWS);
    assert_int_equal(w.last, w.total);
    uar_record got;
    assert_int_equal(kit_get(&got, &s.k, UAR_RECORD_MESSAGE, s.k.owner, STR("r-1999")), UAR_OK);
    assert_int_equal(put_new(&s, kit_record(&s.k, STR("later"))), UAR_OK);
    finish(&s);
    assert_int_equal(ask("SELECT count(*) FROM record WHERE size=0"), 1);
    w = (watcher){ 0 };
    assert_int_equal(open_as(&s, &schema_3, &options, NULL), UAR_OK);
    assert_int_equal(w.calls, 0);
    finish(&s);
}

static void test_R12_a_newer_store_is_refused_by_name(void **state) {
    (void)state;
    store s;
    uar_error err = UAR_ERROR_INIT;
    make_version_1();
    assert_int_equal(open_as(&s, &schema_3, NULL, NULL), UAR_OK);
    finish(&s);
    assert_int_equal(open_as(&s, &schema_1, NULL, &err), UAR_E_NEWER);
    assert_non_null(strstr(err.message, "format 3"));
    finish(&s);
    uar_store_check check = { .size = sizeof check };
    uar_store_repair repair = { .size = sizeof repair };
    assert_int_equal(uar_sqlite_check(&check, path, NULL, NULL, NULL, NULL, NULL), UAR_E_NEWER);
    assert_int_equal(uar_sqlite_repair(&repair, path, NULL, NULL, NULL, NULL, NULL), UAR_E_NEWER);
    expect_version_3();
}

static void an_older_store_opened_for_reading_is_refused_and_left_alone(void **state) {
    (void)state;
    make_version_1();
    uar_sqlite_options options;
    uar_error err = UAR_ERROR_INIT;
    store s;
    uar_sqlite_options_init(&options);
    options.read_only = true;
    assert_int_equal(open_as(&s, &schema_3, &options, &err), UAR_E_READ_ONLY);
    assert_non_null(strstr(err.message, "older version"));
    finish(&s);
    expect_version_1();
}

static void a_migration_that_is_stopped_anywhere_leaves_the_store_as_it_was(void **state) {
    (void)state;
    make_version_1();
    watcher whole = { 0 };
    for (uint64_t at = 1;; at++) {
        watcher w = { .stop_at = at };
        const uar_sqlite_options options = watched(&w);
        store s;
        uar_error err = UAR_ERROR_INIT;
        uar_status status = open_as(&s, &schema_3, &options, &err);
        finish(&s);
        if (status == UAR_OK) break;
        assert_int_equal(status, UAR_E_CANCELLED);
        assert_int_equal(w.calls, at);
        expect_version_1();
        whole.calls++;
    }
    assert_true(whole.calls > RECORDS / ROWS);
    expect_version_3();
}

static void test_R1_a_process_killed_anywhere_in_a_migration_loses_nothing(void **state) {
    (void)state;
    make_version_1();
    bool finished = false;
    size_t killed = 0;
    for (uint64_t at = 1; !finished; at += 3) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            watcher w = { .stop_at = at, .dies = true };
            const uar_sqlite_options options = watched(&w);
            store s;
            _exit(open_as(&s, &schema_3, &options, NULL) == UAR_OK ? 0 : 1);
        }
        int code = -1;
        assert_int_equal(waitpid(child, &code, 0), child);
        finished = WIFEXITED(code);
        if (finished) assert_int_equal(WEXITSTATUS(code), 0);
        if (!finished) expect_version_1();
        killed += !finished;
    }
    assert_true(killed >= 5);
    expect_version_3();
}

static void test_R8_sixteen_processes_bring_one_store_up_to_date_at_once(void **state) {
    (void)state;
    enum { PROCESSES = 16 };
    make_version_1();
    int start[2];
    pid_t children[PROCESSES];
    assert_int_equal(pipe(start), 0);
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] != 0) continue;
        char go;
        store s;
        uar_error err = UAR_ERROR_INIT;
        close(start[1]);
        uar_status status = read(start[0], &go, 1) == 0 ? open_as(&s, &schema_3, NULL, &err) : UAR_E_IO;
        if (status == UAR_OK) status = put_new(&s, kit_record(&s.k, kit_name(&s.k, "p-", i)));
        if (status != UAR_OK) fprintf(stderr, "process %zu: %s %s\n", i, uar_status_name(status), err.message);
        _exit(status == UAR_OK ? 0 : 1);
    }
    close(start[0]);
    close(start[1]);
    for (size_t i = 0; i < PROCESSES; i++) {
        int code = -1;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    expect_version_3();
    assert_int_equal(ask("SELECT count(*) FROM record"), RECORDS + PROCESSES);
}

/* ---- a step that can't be done ---- */

static const sqlite_step wrong_steps[] = { { to_2, NULL }, { "INSERT INTO nowhere VALUES(1)", NULL } };
static const sqlite_schema schema_wrong = { .version = 3, .oldest = 1, .create = version_1, .steps = wrong_steps };

static void a_step_that_fails_leaves_the_store_as_it_was(void **state) {
    (void)state;
    store s;
    uar_error err = UAR_ERROR_INIT;
    make_version_1();
    assert_int_equal(open_as(&s, &schema_wrong, NULL, &err), UAR_E_CORRUPT);
    finish(&s);
    expect_version_1();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_older_store_is_brought_up_to_date_with_progress),
        TEST(test_R12_a_newer_store_is_refused_by_name),
        TEST(an_older_store_opened_for_reading_is_refused_and_left_alone),
        TEST(a_migration_that_is_stopped_anywhere_leaves_the_store_as_it_was),
        TEST(test_R1_a_process_killed_anywhere_in_a_migration_loses_nothing),
        TEST(test_R8_sixteen_processes_bring_one_store_up_to_date_at_once),
        TEST(a_step_that_fails_leaves_the_store_as_it_was),
    };
    return cmocka_run_group_tests_name("store: migrations", tests, NULL, NULL);
}
