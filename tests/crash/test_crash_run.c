/*
 * kill -9 at each write, sync, truncation and deletion of a store, through the public API.
 *
 * A case is up to three victims over one store: the first dies at its point, the second, in half of the cases, dies again
 * while it opens what the first one left and goes on, the last one lives. What they noted as done must then be there.
 * Full counts take every point of each scene; quick ones draw them.
 */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "scene_checks.h"
#include "store_check.h"

enum { QUICK = 100, AT_ONCE = 3 };

typedef struct scene_plan {
    const char *name;
    scene_fn scene;
    bool early;
    kill_counts points;
} scene_plan;

static scene_plan plans[] = {
    { "text", scene_text, false, { 0, 0 } },         { "tools", scene_tools, false, { 0, 0 } },
    { "settings", scene_settings, false, { 0, 0 } }, { "memory", scene_memory, false, { 0, 0 } },
    { "delete", scene_delete, false, { 0, 0 } },
};

/* Each point once, then, as in a quick run, one by lot, every other one inside a commit. */
static kill_point draw(crash_case *c, const scene_plan *plan) {
    kill_point p = { .at = 0 };
    uint64_t lot = lots_next(&c->random);
    bool in_order = cases_are_full() && !plan->early && c->index < (unsigned)plan->points.all;
    p.inside = !in_order && c->index % 2 == 0;
    p.at =
        1 + (in_order ? (long)c->index : (long)(lot % (uint64_t)(p.inside ? plan->points.inside : plan->points.all)));
    p.torn = lots_below(&c->random, 2) == 0;
    return p;
}

static void look_at_files(case_result *r, const char *folder) {
    char path[192];
    (void)snprintf(path, sizeof path, "%s/state.db", folder);
    check_state(r, path, 1);
    (void)snprintf(path, sizeof path, "%s/memory/memory.db", folder);
    check_memory(r, path);
}

static void scene_case(case_result *r, crash_case *c) {
    const scene_plan *plan = c->arg;
    const kill_point never = { .at = 0 };
    char memory[160];
    notes told = { .count = 0 };
    stage s = { .folder = c->folder, .early = plan->early };
    kill_point first = draw(c, plan), second = draw(c, plan);
    bool twice = lots_below(&c->random, 2) == 0;
    (void)snprintf(memory, sizeof memory, "%s/memory", c->folder);
    (void)mkdir(memory, 0700);
    if (!scene_play(&told, r, plan->scene, &s, &first)) return;
    check_erased(r, c->folder, &told);
    /* In some cases only: looking replays the log, which the next victim has to do in the others. What a deletion has left
     * half swept keeps no rules. */
    if (!plan->early && plan->scene != scene_delete && lots_below(&c->random, 4) == 0) look_at_files(r, c->folder);
    s.part++;
    if (twice && !scene_play(&told, r, plan->scene, &s, &second)) return;
    check_erased(r, c->folder, &told);
    s.part++;
    s.early = false;
    if (!plan->early && !scene_play(&told, r, plan->scene, &s, &never)) return;
    if (plan->scene == scene_delete) check_deleted(r, c->folder, &told);
    check_told(r, c->folder, &told, 2);
}

static int measure(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        case_result r = { .acked = 0 };
        if (!scene_measure(&plans[i].points, &r, plans[i].scene)) {
            printf("# %s can't be measured: %s\n", plans[i].name, r.fault);
            return -1;
        }
        printf("# %s: %ld points, %ld inside a commit\n", plans[i].name, plans[i].points.all, plans[i].points.inside);
    }
    return 0;
}

static void expect_nothing_lost(const scene_plan *plan) {
    case_sum sum;
    unsigned count = cases_are_full() ? (unsigned)plan->points.all + 8 * QUICK : QUICK;
    const case_suite suite = { .name = plan->name, .run = scene_case, .arg = plan, .count = count, .at_once = AT_ONCE };
    if (!cases_run(&sum, &suite, true)) skip();
    assert_int_equal(sum.lost, 0);
    assert_int_equal(sum.faults, 0);
    if (sum.cases < count) return; /* one case alone */
    assert_true(sum.killed >= count * 8 / 10);
    assert_true(sum.acked > count);
}

static void test_R1_nothing_done_in_text_turns_is_lost(void **state) {
    (void)state;
    expect_nothing_lost(&plans[0]);
}

static void test_R1_no_call_runs_that_is_not_stored_and_no_told_result_is_lost(void **state) {
    (void)state;
    expect_nothing_lost(&plans[1]);
}

static void no_setting_agent_or_count_is_lost(void **state) {
    (void)state;
    expect_nothing_lost(&plans[2]);
}

static void test_M14_records_and_index_agree_and_what_was_erased_stays_away(void **state) {
    (void)state;
    expect_nothing_lost(&plans[3]);
}

static void test_R1_a_deleted_session_never_comes_back_and_leaves_nothing(void **state) {
    (void)state;
    expect_nothing_lost(&plans[4]);
}

static void a_store_that_acknowledges_before_its_commit_is_caught(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = { "text_control", "tools_control", "settings_control" };
        scene_plan plan = plans[i];
        case_sum sum;
        plan.early = true;
        const case_suite suite = { .name = names[i], .run = scene_case, .arg = &plan, .count = 40, .at_once = AT_ONCE };
        if (!cases_run(&sum, &suite, false) || sum.cases < suite.count) continue;
        if (sum.lost == 0) fail_msg("%s lost nothing: this harness wouldn't see it", names[i]);
    }
}

/* ---- the checks themselves ---- */

/* What is done to a store that a kill left, and what must be said of it. */
static const struct tampering {
    scene_fn scene;
    const char *file, *sql, *fault;
} tamperings[] = {
    { scene_tools, "state.db", "DELETE FROM record WHERE kind=71", "a run says that it is open" },
    { scene_tools, "state.db",
      "UPDATE record SET body=CAST(replace(CAST(body AS TEXT), '\"running\"', '\"done\"') AS BLOB) WHERE kind=50",
      "the index of open runs names" },
    { scene_tools, "state.db", "DELETE FROM record WHERE kind=51", "a run has no checkpoint" },
    { scene_tools, "state.db", "DELETE FROM record WHERE kind=1", "a message has no session" },
    { scene_tools, "state.db", "UPDATE record SET sort=1 WHERE kind=2", "two messages of a session have one number" },
    { scene_tools, "state.db", "DELETE FROM record WHERE kind=2 AND sort=1", "a session miscounts" },
    { scene_tools, "state.db", "UPDATE record SET sort=999 WHERE kind=2 AND sort=1", "didn't give" },
    { scene_tools, "state.db",
      "INSERT INTO record SELECT kind, owner, id || 'x', parent, revision, sort, schema, created_ms,"
      " updated_ms, body, blob, checksum FROM record WHERE kind=71",
      "the index of open runs names" },
    { scene_memory, "memory/memory.db", "UPDATE segment SET records=records+1", "the memory is not consistent" },
};

static bool has_open_run(const char *path) {
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    bool found = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                 sqlite3_prepare_v2(db,
                                    "SELECT 1 FROM record r WHERE kind=71 AND EXISTS(SELECT 1 FROM record m WHERE"
                                    " m.kind=2)",
                                    -1, &s, NULL) == SQLITE_OK &&
                 sqlite3_step(s) == SQLITE_ROW;
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    return found;
}

/* A store with a run that a kill cut off; of memory, one that is whole. */
static void leave_store(case_result *r, crash_case *c, const struct tampering *t, const char *path) {
    char memory[160];
    stage s = { .folder = c->folder };
    notes told;
    kill_point point = { .at = t->scene == scene_memory ? 0 : plans[1].points.all / 2 };
    (void)snprintf(memory, sizeof memory, "%s/memory", c->folder);
    (void)mkdir(memory, 0700);
    do {
        told.count = 0;
        s.part++;
        if (!scene_play(&told, r, t->scene, &s, &point)) return;
        point.at++;
    } while (point.at > 1 && point.at < plans[1].points.all && !has_open_run(path));
}

static void tampering_case(case_result *r, crash_case *c) {
    const struct tampering *t = &tamperings[c->index];
    char path[192];
    (void)snprintf(path, sizeof path, "%s/%s", c->folder, t->file);
    leave_store(r, c, t, path);
    look_at_files(r, c->folder);
    if (r->fault[0] != '\0') return;
    sqlite3 *db = NULL;
    char *why = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(db, t->sql, NULL, NULL, &why);
    if (code != SQLITE_OK || sqlite3_changes(db) == 0)
        case_fail(r, "nothing was tampered with: %s", why != NULL ? why : "");
    sqlite3_free(why);
    (void)sqlite3_close(db);
    if (r->fault[0] != '\0') return;
    look_at_files(r, c->folder);
    char said[sizeof r->fault];
    memcpy(said, r->fault, sizeof said);
    r->fault[0] = '\0';
    if (strstr(said, t->fault) == NULL) case_fail(r, "'%s' was expected, it was said: %s", t->fault, said);
}

static void each_check_notices_what_it_is_for(void **state) {
    (void)state;
    case_sum sum;
    const case_suite suite = { .name = "tampering",
                               .run = tampering_case,
                               .arg = NULL,
                               .count = sizeof tamperings / sizeof tamperings[0],
                               .at_once = AT_ONCE };
    if (!cases_run(&sum, &suite, true)) skip();
    assert_int_equal(sum.faults, 0);
}

int main(int argc, char **argv) {
    (void)argc;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_R1_nothing_done_in_text_turns_is_lost),
        cmocka_unit_test(test_R1_no_call_runs_that_is_not_stored_and_no_told_result_is_lost),
        cmocka_unit_test(no_setting_agent_or_count_is_lost),
        cmocka_unit_test(test_M14_records_and_index_agree_and_what_was_erased_stays_away),
        cmocka_unit_test(test_R1_a_deleted_session_never_comes_back_and_leaves_nothing),
        cmocka_unit_test(a_store_that_acknowledges_before_its_commit_is_caught),
        cmocka_unit_test(each_check_notices_what_it_is_for),
    };
    cases_begin(argv[0]);
    return cmocka_run_group_tests(tests, measure, NULL);
}
