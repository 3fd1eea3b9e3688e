/*
 * The allocation sweep over a runtime whose store is SQLite, SQLite's own allocations among them. Each case: a file of its
 * own, one allocation fails (once, or it and all later ones), then: success or UAR_E_NOMEM, everything stored reads whole in
 * this runtime and in the next one, the file is sound, the same call works, nothing is left over, in SQLite neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/checks.h"
#include "fault/sqlite_port.h"

static char folder[64], path[96];
static long sqlite_before;

static world *fresh(fault_port *port) {
    store_files_remove(path);
    sqlite_before = sqlite_alive;
    sqlite_port = port;
    world *w = world_new(port);
    w->path = path;
    return w;
}

static void *open_unbuilt(fault_port *port) {
    return fresh(port);
}

static void *open_built(fault_port *port) {
    world *w = fresh(port);
    world_must_build(w);
    return w;
}

/* With something in the file: a run with calls, an agent. */
static void *open_used(fault_port *port) {
    world *w = open_built(port);
    uar_reply *reply = NULL;
    uar_agent agent = { .id = uar_str_of("assistant"),
                        .name = uar_str_of("A"),
                        .instructions = uar_str_of("Be kind.") };
    FAULT_EXPECT(world_say(w, "tool") == UAR_OK, "the run to store failed");
    FAULT_EXPECT(uar_agent_put_sync(&reply, w->rt, "local", &agent, NULL) == UAR_OK, "no agent");
    uar_reply_free(reply);
    end_runs(w);
    return w;
}

static void *open_closed(fault_port *port) {
    world *w = open_used(port);
    (void)world_close_runtime(w, UAR_CLOSE_PARK, 2000);
    w->run_count = 0;
    return w;
}

static uar_status act_build(void *arg) {
    world *w = arg;
    uar_status status = world_build(w);
    FAULT_EXPECT((status == UAR_OK) == (w->rt != NULL), "a failed build touched its output");
    if (status == UAR_OK) (void)world_close_runtime(w, UAR_CLOSE_PARK, 2000);
    return status;
}

static uar_status act_plain(void *arg) {
    return world_say(arg, "plain");
}

static uar_status act_tool(void *arg) {
    return world_say(arg, "tool");
}

static uar_status act_lists(void *arg) {
    world *w = arg;
    uar_reply *reply;
    OUTPUT_PREPARE(reply);
    uar_status status = uar_message_list_sync(&reply, w->rt, "local", "me", "s", 0, 100, NULL);
    OUTPUT_CHECK(status, reply, "uar_message_list_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(reply->count == 5, "%zu messages for a fault", reply->count);
    uar_reply_free(reply);
    OUTPUT_PREPARE(reply);
    status = uar_agent_load_sync(&reply, w->rt, "local", "assistant", NULL);
    OUTPUT_CHECK(status, reply, "uar_agent_load_sync");
    if (status == UAR_OK) uar_reply_free(reply);
    return status;
}

/* ---- care ---- */

static char copy_path[128];

static uar_status act_backup(void *arg) {
    const world *w = arg;
    (void)snprintf(copy_path, sizeof copy_path, "%s-copy", path);
    uar_status status = uar_backup_to_sync(w->rt, copy_path, NULL, NULL);
    bool is_there = access(copy_path, F_OK) == 0;
    FAULT_EXPECT((status == UAR_OK) == is_there, "a backup that answers %s left a file: %d", uar_status_name(status),
                 is_there);
    if (is_there) store_files_remove(copy_path);
    return status;
}

static uar_status act_maintain(void *arg) {
    const world *w = arg;
    uar_store_care care;
    uar_care_options options;
    uar_care_options_init(&options);
    uar_store_care_init(&care);
    uar_status status = uar_store_maintain_sync(&care, w->rt, &options, NULL, NULL);
    if (status == UAR_OK) {
        FAULT_EXPECT(care.bytes_after > 0, "nothing was measured");
        options.whole = true;
        status = uar_store_maintain_sync(&care, w->rt, &options, NULL, NULL);
    }
    return status;
}

static uar_status act_verify(void *arg) {
    const world *w = arg;
    uar_store_check check;
    uar_store_check_init(&check);
    check.records = 77;
    uar_status status = uar_store_verify_sync(&check, w->rt, NULL, NULL, NULL, NULL);
    FAULT_EXPECT(status == UAR_OK || check.records == 77, "a failed check touched its output");
    FAULT_EXPECT(check.lost == 0, "%llu records are lost for want of memory", (unsigned long long)check.lost);
    return status;
}

static uar_status act_suspend(void *arg) {
    const world *w = arg;
    uar_status status = uar_runtime_suspend(w->rt, 5000, NULL);
    return status == UAR_OK ? uar_runtime_resume(w->rt, NULL) : status;
}

static uar_status act_check_file(void *arg) {
    (void)arg;
    uar_store_check check;
    uar_store_check_init(&check);
    uar_status status = uar_sqlite_check(&check, path, NULL, NULL, NULL, NULL, NULL);
    FAULT_EXPECT(status != UAR_OK || (check.records > 0 && check.lost == 0), "the check saw something else");
    return status;
}

static uar_status act_repair_file(void *arg) {
    (void)arg;
    uar_store_repair report;
    uar_store_repair_init(&report);
    uar_status status = uar_sqlite_repair(&report, path, NULL, NULL, NULL, NULL, NULL);
    FAULT_EXPECT(status != UAR_OK || report.lost == 0, "a repair lost a record");
    if (report.replaced) {
        char aside[160];
        (void)snprintf(aside, sizeof aside, "%s%s", path, report.aside);
        (void)unlink(aside);
    }
    return status;
}

/* A store that has lost an index: nothing else is lost, but it must be rebuilt. */
static void *open_hurt(fault_port *port) {
    world *w = open_closed(port);
    sqlite3 *db = NULL;
    bool hurt = sqlite3_open(path, &db) == SQLITE_OK &&
                sqlite3_exec(db, "DROP INDEX record_sort", NULL, NULL, NULL) == SQLITE_OK;
    FAULT_EXPECT(hurt, "the store could not be hurt");
    (void)sqlite3_close(db);
    return w;
}

static uar_status repair_hurt(void *arg, uar_status was) {
    (void)was;
    return act_repair_file(arg);
}

static void inspect(void *arg, uar_status status) {
    (void)status;
    world *w = arg;
    if (w->rt == NULL) return;
    end_runs(w);
    check_events(w);
    check_store(w);
}

/* What could not go on for want of memory goes on when there is some. */
static void inspect_resumed(void *arg, uar_status status) {
    const world *w = arg;
    uar_status resumed = uar_runtime_resume(w->rt, NULL);
    FAULT_EXPECT(resumed == UAR_OK, "a later resume answers %s", uar_status_name(resumed));
    inspect(arg, status);
}

static void check_file(void) {
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    bool sound = sqlite3_open(path, &db) == SQLITE_OK &&
                 sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) == SQLITE_OK &&
                 sqlite3_step(s) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0;
    FAULT_EXPECT(sound, "the file is damaged");
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
}

static void close_and_reopen(void *arg) {
    world *w = arg;
    FAULT_EXPECT(world_close_runtime(w, UAR_CLOSE_CANCEL, 2000) == UAR_OK, "close had to abandon something");
    FAULT_EXPECT(sqlite_alive == sqlite_before, "SQLite holds %ld blocks", sqlite_alive - sqlite_before);
    check_file();
    w->run_count = 0;
    world_must_build(w);
    check_store(w);
    uar_status status = world_say(w, "plain");
    FAULT_EXPECT(status == UAR_OK, "a run over the store that is left: %s", uar_status_name(status));
    world_free(w);
    sqlite_port = NULL;
}

static sweep_scenario scenarios[] = {
    { "sqlite_create", open_unbuilt, act_build, NULL, NULL, close_and_reopen, 60 },
    { "sqlite_open", open_closed, act_build, NULL, NULL, close_and_reopen, 60 },
    { "sqlite_plain", open_built, act_plain, inspect, NULL, close_and_reopen, 90 },
    { "sqlite_tool", open_used, act_tool, inspect, NULL, close_and_reopen, 90 },
    { "sqlite_lists", open_used, act_lists, inspect, NULL, close_and_reopen, 60 },
    { "sqlite_backup", open_used, act_backup, inspect, NULL, close_and_reopen, 60 },
    { "sqlite_maintain", open_used, act_maintain, inspect, NULL, close_and_reopen, 60 },
    { "sqlite_verify", open_used, act_verify, inspect, NULL, close_and_reopen, 60 },
    { "sqlite_suspend", open_used, act_suspend, inspect_resumed, NULL, close_and_reopen, 60 },
    { "sqlite_check_file", open_closed, act_check_file, NULL, NULL, close_and_reopen, 60 },
    { "sqlite_repair_file", open_hurt, act_repair_file, NULL, repair_hurt, close_and_reopen, 60 },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(void) {
    struct CMUnitTest tests[COUNT(scenarios)];
    sqlite_port_install();
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/state.db", folder);
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < COUNT(scenarios); i++) {
        tests[i].name = scenarios[i].name;
        tests[i].test_func = test_sweep;
        tests[i].initial_state = &scenarios[i];
    }
    int failed =
        _cmocka_run_group_tests("every allocation over an SQLite store may fail", tests, COUNT(tests), NULL, NULL);
    store_files_remove(path);
    (void)rmdir(folder);
    return failed;
}
