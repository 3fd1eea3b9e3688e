/* What the tests of uar/lifecycle.h share: a store in a file that several runtimes open one after another, and its rows. */
#ifndef UAR_TESTS_UNIT_TEST_LIFE_FIXTURE_H
#define UAR_TESTS_UNIT_TEST_LIFE_FIXTURE_H

#include "test_run_fixture.h"

#include <sqlite3.h>
#include <unistd.h>

#include <uar/lifecycle.h>

#include "fault/folder.h"

typedef struct life_place {
    char folder[64];
    char store[96];
    char memory[96];
} life_place;

static inline life_place place_make(void) {
    life_place p;
    folder_make(p.folder);
    (void)snprintf(p.store, sizeof p.store, "%s/state.db", p.folder);
    (void)snprintf(p.memory, sizeof p.memory, "%s/memory", p.folder);
    assert_int_equal(mkdir(p.memory, 0700), 0);
    (void)snprintf(p.memory, sizeof p.memory, "%s/memory/memory.db", p.folder);
    return p;
}

static inline void place_remove(life_place *p) {
    store_files_remove(p->store);
    store_files_remove(p->memory);
    *strrchr(p->memory, '/') = '\0';
    assert_int_equal(rmdir(p->memory), 0);
    assert_int_equal(rmdir(p->folder), 0);
}

/* The first number that `sql` selects in the state file. */
static inline long long count_in(const life_place *p, const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_open_v2(p->store, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    long long count = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return count;
}

/* Records whose id, parent or body has this text. */
static inline long long count_naming(const life_place *p, const char *text) {
    char sql[400];
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM record WHERE instr(CAST(id AS TEXT),'%s')>0 OR "
                   "instr(CAST(coalesce(parent,'') AS TEXT),'%s')>0 OR instr(CAST(body AS TEXT),'%s')>0",
                   text, text, text);
    return count_in(p, sql);
}

static inline host *place_open(const life_place *p, const char *script) {
    return fixture_open(&(host_options){ .script = script, .repeats = true, .store = p->store });
}

static inline uar_run_id say_in(host *h, const char *user, const char *session, const char *input) {
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = user, .session = session, .input = input };
    uar_outcome out;
    uar_run_id id;
    assert_int_equal(host_run(h, &q, &id, &out), UAR_OK);
    assert_int_equal(out.status, UAR_OK);
    return id;
}

static inline uar_status delete_session(host *h, const char *session, uint64_t *number) {
    uar_reply *reply = NULL;
    uar_status status = uar_session_delete_sync(&reply, host_runtime(h), "local", "me", session, NULL);
    if (status == UAR_OK && number != NULL) *number = reply->number;
    uar_reply_free(reply);
    return status;
}

static inline uar_status session_status(host *h, const char *session) {
    uar_reply *reply = NULL;
    uar_status status = uar_session_load_sync(&reply, host_runtime(h), "local", "me", session, NULL);
    uar_reply_free(reply);
    return status;
}

#endif
