/* The SQLite layer: opening what is and isn't a store, keeping what was committed, saying what went wrong. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/check.h"
#include "store/layer.h"
#include "store/sqlite.h"
#include "support/probe_alloc.h"
#include "test_store_fixture.h"

static void assert_refused(const char *at, const uar_sqlite_options *options, uar_status wanted, const char *word) {
    store s;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = try_open(&s, at, options, &err);
    if (status != wanted) fail_msg("%s, not %s: %s", uar_status_name(status), uar_status_name(wanted), err.message);
    assert_int_equal(err.code, wanted);
    if (strstr(err.message, word) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.message, word);
    finish(&s);
}

/* ---- files ---- */

static char *read_file(const char *at, size_t *len) {
    FILE *file = fopen(at, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *len = fread(bytes, 1, 1 << 20, file);
    assert_true(*len < 1 << 20);
    fclose(file);
    return bytes;
}

static void write_file(const char *at, const void *bytes, size_t len) {
    FILE *file = fopen(at, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *at, const char *bytes, size_t len) {
    size_t now_len;
    char *now = read_file(at, &now_len);
    assert_int_equal(now_len, len);
    assert_memory_equal(now, bytes, len);
    free(now);
}

static void run_sql(const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

/* ---- opening ---- */

static void a_store_keeps_its_records_when_it_is_opened_again(void **state) {
    (void)state;
    store s;
    open_store(&s);
    uar_record r = kit_sorted(&s.k, STR("a"), STR("p"), -1);
    r.blob = STR("\x00\x01\x02");
    assert_int_equal(put_new(&s, r), UAR_OK);
    finish(&s);
    open_store(&s);
    assert_true(kit_has(&s.k, &r));
    finish(&s);
}

static void a_store_may_be_destroyed_without_being_opened(void **state) {
    (void)state;
    uar_persistence_free(uar_persistence_sqlite(path, NULL));
    uar_persistence_free(NULL);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_call_on_a_store_that_is_not_open_is_refused(void **state) {
    (void)state;
    store s;
    begin(&s, uar_persistence_sqlite(path, NULL));
    uar_record r = kit_record(&s.k, STR("a"));
    const uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    kit_page page;
    assert_int_equal(put_new(&s, r), UAR_E_CLOSED);
    assert_int_equal(kit_get(&r, &s.k, r.kind, r.owner, r.id), UAR_E_CLOSED);
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_E_CLOSED);
    finish(&s);
}

static void a_path_must_be_given(void **state) {
    (void)state;
    assert_refused(NULL, NULL, UAR_E_INVALID, "path");
    assert_refused("", NULL, UAR_E_INVALID, "path");
}

static void options_of_a_newer_header_are_refused(void **state) {
    (void)state;
    struct {
        uar_sqlite_options known;
        uint64_t more;
    } newer = { .known = { UAR_SQLITE_OPTIONS_INIT, .read_only = false }, .more = 1 };
    newer.known.size = sizeof newer;
    assert_refused(path, &newer.known, UAR_E_STRUCT, "uar_sqlite_options");
    const uar_sqlite_options unset = { 0 };
    assert_refused(path, &unset, UAR_E_STRUCT, "uar_sqlite_options");
}

static void a_missing_folder_is_named_with_what_to_do(void **state) {
    (void)state;
    char deep[128];
    snprintf(deep, sizeof deep, "%s/no/such/state.db", folder);
    assert_refused(deep, NULL, UAR_E_CANTOPEN, "create it");
    assert_refused(deep, NULL, UAR_E_CANTOPEN, "such/state.db");
}

static void a_folder_is_not_a_store(void **state) {
    (void)state;
    char at[128];
    assert_refused(folder, NULL, UAR_E_CANTOPEN, "folder");
    snprintf(at, sizeof at, "%s/", folder);
    assert_refused(at, NULL, UAR_E_CANTOPEN, "folder");
}

static void test_R12_a_newer_store_is_refused_and_left_alone(void **state) {
    (void)state;
    store s;
    open_store(&s);
    finish(&s);
    run_sql("PRAGMA user_version=2");
    size_t len;
    char *before = read_file(path, &len);
    assert_refused(path, NULL, UAR_E_NEWER, "update");
    assert_file(path, before, len);
    free(before);
}

static void the_file_of_another_program_is_refused_and_left_alone(void **state) {
    (void)state;
    run_sql("CREATE TABLE note(text); INSERT INTO note VALUES('mine')");
    size_t len;
    char *before = read_file(path, &len);
    assert_refused(path, NULL, UAR_E_CANTOPEN, "another program");
    assert_file(path, before, len);
    free(before);
    run_sql("PRAGMA application_id=77");
    assert_refused(path, NULL, UAR_E_CANTOPEN, "another program");
}

static void what_is_no_database_is_refused_and_left_alone(void **state) {
    (void)state;
    char text[6000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 26);
    static const size_t lengths[] = { 1, 15, 100, 600, sizeof text };
    for (size_t i = 0; i < COUNT(lengths); i++) {
        write_file(path, text, lengths[i]);
        assert_refused(path, NULL, UAR_E_CORRUPT, "state.db");
        assert_file(path, text, lengths[i]);
    }
}

static void a_store_without_its_tables_is_damaged(void **state) {
    (void)state;
    store s;
    open_store(&s);
    finish(&s);
    run_sql("DROP INDEX record_sort");
    assert_refused(path, NULL, UAR_E_CORRUPT, "tables");
}

static void a_log_without_its_file_is_not_a_new_store(void **state) {
    (void)state;
    char log[128];
    snprintf(log, sizeof log, "%s-wal", path);
    write_file(log, "not empty", 9);
    assert_refused(path, NULL, UAR_E_CORRUPT, "log");
    assert_file(log, "not empty", 9);
    write_file(path, "", 0);
    assert_refused(path, NULL, UAR_E_CORRUPT, "log");
}

static void an_empty_file_becomes_a_store(void **state) {
    (void)state;
    write_file(path, "", 0);
    store s;
    open_store(&s);
    assert_int_equal(put_new(&s, kit_record(&s.k, STR("a"))), UAR_OK);
    finish(&s);
}

static void sqlites_special_names_are_plain_file_names(void **state) {
    (void)state;
    static const char *const names[] = { ":memory:", "file:x?mode=memory", "file::memory:" };
    char back[4096];
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        store s;
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(try_open(&s, names[i], NULL, &err), UAR_OK);
        assert_string_equal(s.door->location(s.door->ctx), folder);
        finish(&s);
        assert_int_equal(access(names[i], F_OK), 0);
    }
    assert_int_equal(chdir(back), 0);
}

static void the_location_is_the_real_folder(void **state) {
    (void)state;
    char link_folder[128], linked[160], real[160];
    snprintf(link_folder, sizeof link_folder, "%s/link", folder);
    snprintf(real, sizeof real, "%s/real", folder);
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink(real, link_folder), 0);
    snprintf(linked, sizeof linked, "%s/state.db", link_folder);
    for (int i = 0; i < 2; i++) { /* first the file is new, then it exists */
        store s;
        uar_error err = UAR_ERROR_INIT;
        begin(&s, uar_persistence_sqlite(linked, NULL));
        assert_null(s.door->location(s.door->ctx));
        assert_int_equal(s.door->open(s.door->ctx, &err), UAR_OK);
        assert_string_equal(s.door->location(s.door->ctx), real);
        finish(&s);
    }
}

/* ---- settings ---- */

static int64_t ask(sqlite3 *db, const char *sql) {
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

static void the_settings_of_a_durable_store_are_on(void **state) {
    (void)state;
    store s;
    open_store(&s);
    sqlite3 *db = db_of(&s);
    assert_int_equal(ask(db, "PRAGMA synchronous"), 2);
    assert_int_equal(ask(db, "PRAGMA fullfsync"), 1);
    assert_int_equal(ask(db, "PRAGMA checkpoint_fullfsync"), 1);
    assert_int_equal(ask(db, "PRAGMA secure_delete"), 1);
    assert_int_equal(ask(db, "PRAGMA temp_store"), 2);
    assert_int_equal(ask(db, "PRAGMA mmap_size"), 0);
    assert_int_equal(ask(db, "PRAGMA busy_timeout"), 5000);
    assert_int_equal(ask(db, "PRAGMA application_id"), SQLITE_APPLICATION_ID);
    assert_int_equal(ask(db, "PRAGMA user_version"), sqlite_schema_now.version);
    assert_int_equal(ask(db, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='wal'"), 1);
    finish(&s);
}

static void lists_follow_an_index_and_sort_nothing(void **state) {
    (void)state;
    store s;
    open_store(&s);
    static const sqlite_statement statements[] = { SQLITE_RUN_GET, SQLITE_RUN_LIST_KEY, SQLITE_RUN_LIST_KEY_OF,
                                                   SQLITE_RUN_LIST_SORT_OF, SQLITE_RUN_DELETE_CHILDREN };
    for (size_t i = 0; i < COUNT(statements); i++) {
        char sql[600];
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sqlite_text(statements[i]));
        sqlite3_stmt *plan = NULL;
        assert_int_equal(sqlite3_prepare_v2(db_of(&s), sql, -1, &plan, NULL), SQLITE_OK);
        while (sqlite3_step(plan) == SQLITE_ROW) {
            const char *line = (const char *)sqlite3_column_text(plan, 3);
            assert_null(strstr(line, "SCAN"));
            assert_null(strstr(line, "TEMP B-TREE"));
        }
        sqlite3_finalize(plan);
    }
    finish(&s);
}

static void assert_idle(const store *s) {
    assert_true(sqlite3_get_autocommit(db_of(s)));
    for (sqlite3_stmt *st = NULL; (st = sqlite3_next_stmt(db_of(s), st)) != NULL;)
        assert_false(sqlite3_stmt_busy(st));
}

static void test_N5_no_statement_or_transaction_outlives_a_call(void **state) {
    (void)state;
    store s;
    open_store(&s);
    assert_idle(&s);
    const uar_record r = kit_child(&s.k, STR("a"), STR("p"));
    const uar_write bad[] = { kit_put(kit_record(&s.k, STR("b")), 0), kit_put(r, 0), kit_fence(r, 3) };
    const uar_write clash[] = { kit_put(r, 0), kit_put(r, 0) };
    uar_record got;
    kit_page page;
    uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    assert_int_equal(kit_commit(&s.k, bad, COUNT(bad)), UAR_E_CONFLICT);
    assert_idle(&s);
    assert_int_equal(kit_commit(&s.k, clash, COUNT(clash)), UAR_E_CONFLICT);
    assert_idle(&s);
    assert_int_equal(put_new(&s, r), UAR_OK);
    assert_idle(&s);
    assert_int_equal(kit_get(&got, &s.k, r.kind, r.owner, r.id), UAR_OK);
    assert_idle(&s);
    assert_int_equal(kit_get(&got, &s.k, r.kind, r.owner, STR("none")), UAR_E_NOT_FOUND);
    assert_idle(&s);
    query.limit = 1;
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_OK);
    assert_idle(&s);
    finish(&s);
}

static void a_write_or_query_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    store s;
    open_store(&s);
    uar_record nameless = kit_record(&s.k, STR(""));
    uar_record homeless = kit_record(&s.k, STR("a"));
    homeless.owner = uar_str_n(NULL, 0);
    const uar_write childless = { .op = UAR_WRITE_DELETE_CHILDREN,
                                  .record = { .kind = 2, .owner = STR_INIT("local") } };
    const uar_write strange = { .op = (uar_write_op)9, .record = kit_record(&s.k, STR("a")) };
    assert_int_equal(put_new(&s, nameless), UAR_E_INVALID);
    assert_int_equal(put_new(&s, homeless), UAR_E_INVALID);
    assert_int_equal(kit_commit(&s.k, &childless, 1), UAR_E_INVALID);
    assert_int_equal(kit_commit(&s.k, &strange, 1), UAR_E_INVALID);
    uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    kit_page page;
    query.limit = 0;
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_E_INVALID);
    query = kit_query(&s.k, (uar_list_order)7);
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_E_INVALID);
    query = kit_query(&s.k, UAR_ORDER_KEY);
    query.owner = uar_str_n(NULL, 0);
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_E_INVALID);
    finish(&s);
}

/* ---- reading only ---- */

static void a_store_opened_for_reading_takes_no_writes(void **state) {
    (void)state;
    store s;
    open_store(&s);
    const uar_record r = kit_record(&s.k, STR("a"));
    assert_int_equal(put_new(&s, r), UAR_OK);
    finish(&s);
    size_t len;
    char *before = read_file(path, &len);
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.read_only = true;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(try_open(&s, path, &options, &err), UAR_OK);
    const uar_record same = kit_record(&s.k, STR("a"));
    assert_true(kit_has(&s.k, &same));
    assert_int_equal(put_new(&s, kit_record(&s.k, STR("b"))), UAR_E_READ_ONLY);
    finish(&s);
    assert_file(path, before, len);
    free(before);
}

static void reading_only_makes_no_file(void **state) {
    (void)state;
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.read_only = true;
    assert_refused(path, &options, UAR_E_CANTOPEN, "state.db");
    assert_int_not_equal(access(path, F_OK), 0);
    write_file(path, "", 0);
    assert_refused(path, &options, UAR_E_CANTOPEN, "empty");
}

/* ---- locks ---- */

static sqlite3 *lock_file(const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void a_locked_store_is_busy_and_works_when_the_lock_is_gone(void **state) {
    (void)state;
    store s;
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.busy_timeout_ms = 30;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(try_open(&s, path, &options, &err), UAR_OK);
    const uar_record r = kit_record(&s.k, STR("a"));
    sqlite3 *other = lock_file("BEGIN IMMEDIATE");
    assert_int_equal(put_new(&s, r), UAR_E_BUSY);
    assert_idle(&s);
    assert_true(kit_lacks(&s.k, &r)); /* reading goes on */
    sqlite3_close(other);
    assert_int_equal(put_new(&s, r), UAR_OK);
    finish(&s);
}

static void a_file_that_stays_locked_is_busy_at_open(void **state) {
    (void)state;
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.busy_timeout_ms = 30;
    sqlite3 *other = lock_file("BEGIN EXCLUSIVE");
    assert_refused(path, &options, UAR_E_BUSY, "busy_timeout_ms");
    sqlite3_close(other);
    store s;
    open_store(&s);
    finish(&s);
}

enum { PROCESSES = 16, EACH = 5 };

/* One of many processes: waits for the start, opens the one new file, writes. */
static int open_and_write(int start, size_t number) {
    char go;
    if (read(start, &go, 1) != 0) return 1; /* the end of the pipe is the start */
    store s;
    uar_error err = UAR_ERROR_INIT;
    if (try_open(&s, path, NULL, &err) != UAR_OK) {
        fprintf(stderr, "process %zu: %s\n", number, err.message);
        return 2;
    }
    for (size_t i = 0; i < EACH; i++) {
        uar_status status = put_new(&s, kit_record(&s.k, kit_name(&s.k, "r-", number * EACH + i)));
        if (status != UAR_OK) {
            fprintf(stderr, "process %zu: %s\n", number, uar_status_name(status));
            return 3;
        }
    }
    finish(&s);
    return 0;
}

static void sixteen_processes(void) {
    int start[2];
    assert_int_equal(pipe(start), 0);
    pid_t children[PROCESSES];
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            close(start[1]);
            _exit(open_and_write(start[0], i));
        }
    }
    close(start[0]);
    close(start[1]);
    for (size_t i = 0; i < PROCESSES; i++) {
        int code = -1;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    store s;
    open_store(&s);
    const uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    kit_page page;
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_OK);
    assert_int_equal(page.count, PROCESSES * EACH);
    finish(&s);
}

static void test_R8_sixteen_processes_open_one_new_store_at_once(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        sixteen_processes();
        assert_int_equal(unlink(path), 0);
    }
}

static void test_R1_a_process_killed_while_it_makes_a_store_leaves_one_that_opens(void **state) {
    (void)state;
    enum { ROUNDS = 60 };
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            store s;
            uar_error err = UAR_ERROR_INIT;
            _exit(try_open(&s, path, NULL, &err) == UAR_OK ? 0 : 1);
        }
        const struct timespec wait = { 0, (long)round * 150000 };
        (void)nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        store s;
        open_store(&s);
        assert_int_equal(put_new(&s, kit_record(&s.k, STR("a"))), UAR_OK);
        finish(&s);
        assert_int_equal(unlink(path), 0);
    }
}

/* ---- trouble ---- */

static void test_R9_a_full_disk_fails_the_commit_and_keeps_what_was(void **state) {
    (void)state;
    store s;
    open_store(&s);
    const uar_record before = kit_record(&s.k, STR("before"));
    assert_int_equal(put_new(&s, before), UAR_OK);
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA max_page_count=%d", (int)ask(db_of(&s), "PRAGMA page_count") + 1);
    assert_int_equal(sqlite3_exec(db_of(&s), sql, NULL, NULL, NULL), SQLITE_OK);
    uar_record large = kit_record(&s.k, STR("large"));
    large.blob = kit_bytes(&s.k, 100000);
    const uar_write writes[] = { kit_put(kit_record(&s.k, STR("small")), 0), kit_put(large, 0) };
    assert_int_equal(kit_commit(&s.k, writes, COUNT(writes)), UAR_E_FULL);
    assert_idle(&s);
    assert_true(kit_has(&s.k, &before));
    assert_true(kit_lacks(&s.k, &writes[0].record));
    assert_true(kit_lacks(&s.k, &large));
    finish(&s);
    open_store(&s);
    const uar_record same = kit_record(&s.k, STR("before"));
    assert_true(kit_has(&s.k, &same));
    finish(&s);
}

static void result_codes_become_their_statuses(void **state) {
    (void)state;
    static const struct {
        int code;
        uar_status status;
    } codes[] = { { SQLITE_OK, UAR_OK },
                  { SQLITE_ROW, UAR_OK },
                  { SQLITE_FULL, UAR_E_FULL },
                  { SQLITE_IOERR_FSYNC, UAR_E_IO },
                  { SQLITE_IOERR_NOMEM, UAR_E_NOMEM },
                  { SQLITE_CORRUPT_INDEX, UAR_E_CORRUPT },
                  { SQLITE_IOERR_CORRUPTFS, UAR_E_CORRUPT },
                  { SQLITE_NOTADB, UAR_E_CORRUPT },
                  { SQLITE_BUSY_RECOVERY, UAR_E_BUSY },
                  { SQLITE_LOCKED, UAR_E_BUSY },
                  { SQLITE_PROTOCOL, UAR_E_BUSY },
                  { SQLITE_READONLY_DBMOVED, UAR_E_READ_ONLY },
                  { SQLITE_READONLY_CANTINIT, UAR_E_CANTOPEN },
                  { SQLITE_AUTH, UAR_E_PROTECTED },
                  { SQLITE_PERM, UAR_E_PROTECTED },
                  { SQLITE_CANTOPEN_ISDIR, UAR_E_CANTOPEN },
                  { SQLITE_NOMEM, UAR_E_NOMEM },
                  { SQLITE_TOOBIG, UAR_E_TOO_LARGE },
                  { SQLITE_INTERRUPT, UAR_E_CANCELLED },
                  { SQLITE_CONSTRAINT_UNIQUE, UAR_E_CONFLICT },
                  { SQLITE_MISUSE, UAR_E_INTERNAL } };
    const uar_persistence *layer = uar_persistence_sqlite("/a/very/long/path/that/ends/in/state.db", NULL);
    for (size_t i = 0; i < COUNT(codes); i++) {
        assert_int_equal(sqlite_status(codes[i].code), codes[i].status);
        if (codes[i].status == UAR_OK) continue;
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(sqlite_explain(layer->ctx, codes[i].code, "reading", &err), codes[i].status);
        assert_int_equal(err.detail, codes[i].code);
        assert_non_null(strstr(err.message, "state.db"));
    }
    uar_persistence_free(layer);
}

static void a_long_path_leaves_room_for_the_rest_of_the_message(void **state) {
    (void)state;
    char deep[1200];
    snprintf(deep, sizeof deep, "%s/", folder);
    while (strlen(deep) < 1000)
        strcat(deep, "\xc3\xa9/");
    strcat(deep, "state.db");
    assert_refused(deep, NULL, UAR_E_CANTOPEN, "create it");
    assert_refused(deep, NULL, UAR_E_CANTOPEN, "state.db");
}

/* ---- damage ---- */

enum { SAMPLES = 40 };

static void fill(store *s, uar_record records[SAMPLES]) {
    for (size_t i = 0; i < SAMPLES; i++) {
        records[i] = kit_sorted(&s->k, kit_name(&s->k, "r-", i), kit_name(&s->k, "p-", i % 4), (int64_t)i);
        if (i % 10 == 0) records[i].blob = kit_bytes(&s->k, 700);
        assert_int_equal(record_seal(&records[i]), UAR_OK);
    }
}

/* Good data, or a typed refusal: true. Missing or wrong data without a word: false. */
static bool is_honest(const char *bytes, size_t len) {
    write_file(path, bytes, len);
    store s;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = try_open(&s, path, NULL, &err);
    bool is_refused = status == UAR_E_CORRUPT || status == UAR_E_CANTOPEN || status == UAR_E_NEWER;
    bool is_good = status == UAR_OK;
    uar_record wanted[SAMPLES];
    if (is_good) fill(&s, wanted);
    for (size_t i = 0; i < SAMPLES && is_good; i++) {
        uar_record got;
        status = kit_get(&got, &s.k, wanted[i].kind, wanted[i].owner, wanted[i].id);
        if (status == UAR_OK) status = record_verify(&got, NULL);
        is_refused = status == UAR_E_CORRUPT;
        is_good = status == UAR_OK && kit_same(&s.k, &got, &wanted[i]);
    }
    const uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    kit_page page;
    if (is_good) {
        status = kit_list(&page, &s.k, &query);
        is_refused = status == UAR_E_CORRUPT;
        is_good = status == UAR_OK && page.count == SAMPLES;
    }
    finish(&s);
    return is_good || is_refused;
}

static char *sample_file(size_t *len) {
    store s;
    open_store(&s);
    uar_record records[SAMPLES];
    uar_write writes[SAMPLES];
    fill(&s, records);
    for (size_t i = 0; i < SAMPLES; i++)
        writes[i] = kit_put(records[i], 0);
    assert_int_equal(kit_commit(&s.k, writes, SAMPLES), UAR_OK);
    finish(&s);
    return read_file(path, len);
}

static void test_R10_a_flipped_byte_is_seen_or_harmless(void **state) {
    (void)state;
    size_t len;
    char *bytes = sample_file(&len);
    assert_true(is_honest(bytes, len));
    const char *full = getenv("UAR_TEST_FULL");
    size_t step = full != NULL && full[0] == '1' ? 3 : 53;
    size_t dishonest = 0;
    for (size_t at = 0; at < len; at += at < 200 ? 1 : step) {
        char was = bytes[at];
        bytes[at] = (char)(was ^ (char)(1 << at % 8));
        if (!is_honest(bytes, len)) {
            print_message("a flip of bit %zu of byte %zu was not seen\n", at % 8, at);
            dishonest++;
        }
        bytes[at] = was;
    }
    free(bytes);
    assert_int_equal(dishonest, 0);
}

static void test_R10_a_cut_file_is_seen(void **state) {
    (void)state;
    size_t len;
    char *bytes = sample_file(&len);
    for (size_t cut = 1; cut < len; cut += cut < 200 ? 17 : 1021)
        if (!is_honest(bytes, cut)) fail_msg("a cut at byte %zu was not seen", cut);
    free(bytes);
}

static void a_row_of_another_type_is_damage(void **state) {
    (void)state;
    static const char *const spoilers[] = {
        "UPDATE record SET revision='x'",      "UPDATE record SET schema=-1",
        "UPDATE record SET body='text'",       "UPDATE record SET checksum=x'00'",
        "UPDATE record SET blob=1.5",          "UPDATE record SET created_ms=x'01'",
        "UPDATE record SET sort='abc'",        "UPDATE record SET updated_ms=''",
        "UPDATE record SET schema=4294967296", "UPDATE record SET checksum='0123456789abcdef'",
    };
    for (size_t i = 0; i < COUNT(spoilers); i++) {
        store s;
        open_store(&s);
        const uar_record r = kit_record(&s.k, STR("a"));
        assert_int_equal(put_new(&s, r), UAR_OK);
        assert_int_equal(sqlite3_exec(db_of(&s), spoilers[i], NULL, NULL, NULL), SQLITE_OK);
        uar_record got;
        kit_page page;
        const uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
        assert_int_equal(kit_get(&got, &s.k, r.kind, r.owner, r.id), UAR_E_CORRUPT);
        assert_int_equal(kit_list(&page, &s.k, &query), UAR_E_CORRUPT);
        assert_idle(&s);
        finish(&s);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_M6_deleted_bytes_leave_the_file(void **state) {
    (void)state;
    store s;
    open_store(&s);
    uar_record r = kit_child(&s.k, STR("a"), STR("p"));
    r.body = STR("{\"secret\":\"canary-5417\"}");
    r.blob = STR("canary-5417");
    const uar_write gone = kit_delete(r, 1);
    assert_int_equal(put_new(&s, r), UAR_OK);
    assert_int_equal(kit_commit(&s.k, &gone, 1), UAR_OK);
    finish(&s);
    size_t len;
    char *bytes = read_file(path, &len);
    for (size_t i = 0; i + 11 <= len; i++)
        assert_memory_not_equal(bytes + i, "canary-5417", 11);
    free(bytes);
}

/* ---- memory ---- */

static uar_status scenario(const uar_allocator *alloc) {
    const uar_persistence *door = sqlite_new(alloc, path, NULL);
    if (door == NULL) return UAR_E_NOMEM;
    store s;
    begin(&s, door);
    uar_status status = door->open(door->ctx, NULL);
    uar_record records[SAMPLES], got;
    uar_write writes[SAMPLES];
    fill(&s, records);
    for (size_t i = 0; i < SAMPLES; i++)
        writes[i] = kit_put(records[i], 0);
    if (status == UAR_OK) status = kit_commit(&s.k, writes, SAMPLES);
    if (status == UAR_OK) status = kit_get(&got, &s.k, UAR_RECORD_MESSAGE, s.k.owner, records[10].id);
    const uar_list_query query = kit_query(&s.k, UAR_ORDER_SORT);
    kit_page page;
    if (status == UAR_OK) status = kit_list(&page, &s.k, &query);
    finish(&s);
    return status;
}

static void running_out_of_memory_anywhere_is_clean(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    bool ended = false;
    for (unsigned long n = 1; !ended; n++) {
        unlink(path);
        probe_alloc_arm(&probe, (n + 1) / 2, n % 2 == 0);
        uar_status status = scenario(&probe.door);
        ended = !probe_alloc_has_failed(&probe);
        /* One allocation only helps to look for a log without its file, and is done without. */
        if (ended)
            assert_int_equal(status, UAR_OK);
        else
            assert_true(status == UAR_E_NOMEM || status == UAR_OK);
        assert_int_equal(probe.alive, 0);
        assert_int_equal(uar_live_objects(), 0);
    }
}

static void the_layer_for_no_memory_says_so(void **state) {
    (void)state;
    store s;
    begin(&s, &layer_nomem);
    uar_error err = UAR_ERROR_INIT;
    uar_record r = kit_record(&s.k, STR("a"));
    const uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    kit_page page;
    assert_int_equal(s.door->open(s.door->ctx, &err), UAR_E_NOMEM);
    assert_int_equal(err.code, UAR_E_NOMEM);
    assert_int_equal(put_new(&s, r), UAR_E_NOMEM);
    assert_int_equal(kit_get(&r, &s.k, 2, s.k.owner, STR("a")), UAR_E_NOMEM);
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_E_NOMEM);
    finish(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_store_keeps_its_records_when_it_is_opened_again),
        TEST(a_store_may_be_destroyed_without_being_opened),
        TEST(a_call_on_a_store_that_is_not_open_is_refused),
        TEST(a_path_must_be_given),
        TEST(options_of_a_newer_header_are_refused),
        TEST(a_missing_folder_is_named_with_what_to_do),
        TEST(a_folder_is_not_a_store),
        TEST(test_R12_a_newer_store_is_refused_and_left_alone),
        TEST(the_file_of_another_program_is_refused_and_left_alone),
        TEST(what_is_no_database_is_refused_and_left_alone),
        TEST(a_store_without_its_tables_is_damaged),
        TEST(a_log_without_its_file_is_not_a_new_store),
        TEST(an_empty_file_becomes_a_store),
        TEST(sqlites_special_names_are_plain_file_names),
        TEST(the_location_is_the_real_folder),
        TEST(the_settings_of_a_durable_store_are_on),
        TEST(lists_follow_an_index_and_sort_nothing),
        TEST(test_N5_no_statement_or_transaction_outlives_a_call),
        TEST(a_write_or_query_that_makes_no_sense_is_refused),
        TEST(a_store_opened_for_reading_takes_no_writes),
        TEST(reading_only_makes_no_file),
        TEST(a_locked_store_is_busy_and_works_when_the_lock_is_gone),
        TEST(a_file_that_stays_locked_is_busy_at_open),
        TEST(test_R8_sixteen_processes_open_one_new_store_at_once),
        TEST(test_R1_a_process_killed_while_it_makes_a_store_leaves_one_that_opens),
        TEST(test_R9_a_full_disk_fails_the_commit_and_keeps_what_was),
        TEST(result_codes_become_their_statuses),
        TEST(a_long_path_leaves_room_for_the_rest_of_the_message),
        TEST(test_R10_a_flipped_byte_is_seen_or_harmless),
        TEST(test_R10_a_cut_file_is_seen),
        TEST(a_row_of_another_type_is_damage),
        TEST(test_M6_deleted_bytes_leave_the_file),
        TEST(running_out_of_memory_anywhere_is_clean),
        TEST(the_layer_for_no_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
