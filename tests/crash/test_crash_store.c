/*
 * kill -9 at each write, sync, truncation and deletion of the SQLite layer itself: commits of every style, checkpoints, the
 * recovery of a log, a migration, backup and tidying, and several processes on one file.
 *
 * A case is up to three victims over one store: the first dies at its point, the second, in half of the cases, dies too
 * while it takes up what the first one left, the last one lives. Each begins by reading the whole store: it must hold what
 * was acknowledged, at most the one commit besides that was tried, and nothing that was deleted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "early_ack.h"
#include "scenes.h"
#include "store/record.h"
#include "store/sqlite.h"
#include "store_check.h"
#include "support/layer_call.h"
#include "support/store_work.h"

enum { QUICK = 60, MORE = 500, AT_ONCE = 3, EACH = 14, PROCESSES = 3, THEIRS = 6 };

/* A version that is yet to come: one more table, filled from the records, and one more index. */
static const sqlite_step next_steps[] = {
    { "CREATE TABLE copy(kind INTEGER, owner BLOB, id BLOB, body BLOB);"
      "INSERT INTO copy SELECT kind, owner, id, body FROM record;"
      "CREATE INDEX record_updated ON record(updated_ms)",
      NULL },
};
static const sqlite_schema next_schema = { .version = 2, .oldest = 1, .create = "", .steps = next_steps };

static work_model models[WORK_STYLES];
static work_style style_now;
static bool is_next_version;

static const uar_persistence *open_layer(const char *folder, bool early, bool next) {
    char path[192];
    (void)snprintf(path, sizeof path, "%s/state.db", folder);
    const uar_persistence *layer =
        sqlite_new_with(&alloc_default, path, NULL, next ? &next_schema : &sqlite_schema_now);
    const sqlite_layer *inner = layer->ctx;
    if (early) layer = early_ack_over(layer);
    uar_error err = UAR_ERROR_INIT;
    if (layer->open(layer->ctx, &err) == UAR_OK) {
        (void)sqlite3_exec(inner->db, "PRAGMA wal_autocheckpoint=16", NULL, NULL, NULL);
        return layer;
    }
    fprintf(stderr, "%s\n", err.message);
    uar_persistence_free(layer);
    return NULL;
}

static void note_number(const stage *s, const char *when, const char *verb, unsigned n) {
    char number[16];
    (void)snprintf(number, sizeof number, "%u", n);
    note_write(s, when, verb, number, "", "");
}

/* After how many commits the store is; notes it. -1: it can't be. */
static int find_state(const stage *s, const uar_persistence *layer) {
    uar_error err = UAR_ERROR_INIT;
    uint64_t digest = 0;
    if (work_digest_deep(&digest, layer, &err) != UAR_OK) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    int found = work_find(&models[style_now], digest);
    if (found >= 0)
        note_number(s, "did", "find", (unsigned)found);
    else
        fputs("the store is in no state that it ever had\n", stderr);
    return found;
}

static bool commit_some(const stage *s, const uar_persistence *layer, unsigned from, unsigned count) {
    for (unsigned i = from; i < from + count; i++) {
        note_number(s, "try", "commit", i + 1);
        if (work_commit(layer, style_now, i, NULL) != UAR_OK) return false;
        note_number(s, "did", "commit", i + 1);
    }
    return true;
}

/* ---- scenes ---- */

static bool scene_commits(const stage *s) {
    const uar_persistence *layer = open_layer(s->folder, s->early, false);
    if (layer == NULL) return false;
    int found = find_state(s, layer);
    bool done = found >= 0 && commit_some(s, layer, (unsigned)found, EACH);
    uar_persistence_free(layer);
    return done;
}

/* A process that nobody kills commits and ends without closing: its commits are in the log. */
static bool leave_log(const stage *s) {
    const kill_point never = { .at = 0 };
    pid_t pid = fork();
    if (pid == 0) {
        kill_vfs_arm(&never);
        const uar_persistence *layer = open_layer(s->folder, false, false);
        _exit(layer != NULL && commit_some(s, layer, 0, EACH) ? 0 : 1);
    }
    int status = 1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Read the log and close, which copies it into the file; then go on. */
static bool recover(const stage *s, bool next) {
    if (s->part == 0 && !leave_log(s)) return false;
    for (int times = 0; times < 2; times++) {
        const uar_persistence *layer = open_layer(s->folder, false, next);
        if (layer == NULL) return false;
        int found = find_state(s, layer);
        bool done = found >= 0 && (times == 0 || commit_some(s, layer, (unsigned)found, 3));
        uar_persistence_free(layer);
        if (!done) return false;
    }
    return true;
}

static bool scene_recovery(const stage *s) {
    return recover(s, false);
}

static bool scene_migration(const stage *s) {
    return recover(s, true);
}

static bool back_up(const stage *s, const uar_persistence *layer, unsigned n) {
    static const uar_care_progress nobody = { NULL, NULL };
    char path[192], name[NOTE_WORD], number[16];
    uar_error err = UAR_ERROR_INIT;
    (void)snprintf(name, sizeof name, "copy-%u-%u.db", s->part, n);
    (void)snprintf(number, sizeof number, "%u", n);
    (void)snprintf(path, sizeof path, "%s/%s", s->folder, name);
    note_write(s, "try", "copy", name, number, "");
    if (layer->backup(layer->ctx, path, &nobody, &err) != UAR_OK) {
        fprintf(stderr, "backup: %s\n", err.message);
        return false;
    }
    note_write(s, "did", "copy", name, number, "");
    return true;
}

static bool tidy(const uar_persistence *layer, bool whole) {
    static const uar_care_progress nobody = { NULL, NULL };
    uar_error err = UAR_ERROR_INIT;
    uar_care_options options;
    uar_store_care report;
    uar_care_options_init(&options);
    uar_store_care_init(&report);
    options.whole = whole;
    if (layer->maintain(layer->ctx, &options, &nobody, &report, &err) == UAR_OK) return true;
    fprintf(stderr, "tidying: %s\n", err.message);
    return false;
}

static bool scene_care(const stage *s) {
    const uar_persistence *layer = open_layer(s->folder, false, false);
    if (layer == NULL) return false;
    int found = find_state(s, layer);
    unsigned n = found >= 0 ? (unsigned)found : 0;
    bool done = found >= 0 && commit_some(s, layer, n, 6) && back_up(s, layer, n + 6) && tidy(layer, false) &&
                commit_some(s, layer, n + 6, 3) && tidy(layer, true) && back_up(s, layer, n + 9) &&
                commit_some(s, layer, n + 9, 3);
    uar_persistence_free(layer);
    return done;
}

/* ---- several processes on one file ---- */

static uar_record own_record(char id[32], unsigned part, unsigned who, unsigned i) {
    (void)snprintf(id, 32, "p%u-%u-%u", part, who, i);
    uar_record r = { .kind = UAR_RECORD_SETTING,
                     .schema = 1,
                     .owner = uar_str_of("local"),
                     .id = uar_str_of(id),
                     .revision = 1,
                     .body = uar_str_of("{\"value\":1}") };
    if (record_seal(&r) != UAR_OK) abort();
    return r;
}

static bool write_own(const stage *s, unsigned who) {
    const uar_persistence *layer = open_layer(s->folder, false, false);
    bool done = layer != NULL;
    for (unsigned i = 0; i < THEIRS && done; i++) {
        char id[32];
        uar_error err = UAR_ERROR_INIT;
        const uar_write put = { .op = UAR_WRITE_PUT, .record = own_record(id, s->part, who, i) };
        note_write(s, "try", "own", id, "", "");
        done = layer_commit(layer, &put, 1, &err) == UAR_OK;
        if (done)
            note_write(s, "did", "own", id, "", "");
        else
            fprintf(stderr, "process %u: %s\n", who, err.message);
    }
    if (layer != NULL) uar_persistence_free(layer);
    return done;
}

/* The others live on when the victim dies; the pipe of notes ends when the last of them has. */
static bool scene_processes(const stage *s) {
    const kill_point never = { .at = 0 };
    pid_t others[PROCESSES];
    for (unsigned who = 1; who < PROCESSES; who++) {
        others[who] = fork();
        if (others[who] != 0) continue;
        kill_vfs_arm(&never);
        bool wrote = write_own(s, who);
        note_write(s, "did", wrote ? "live" : "fail", "", "", "");
        _exit(0);
    }
    bool done = write_own(s, 0);
    for (unsigned who = 1; who < PROCESSES; who++) {
        int status = 1;
        done = waitpid(others[who], &status, 0) == others[who] && status == 0 && done;
    }
    return done;
}

/* ---- what must hold ---- */

static bool is(const note *n, const char *verb) {
    return strcmp(n->words[0], verb) == 0;
}

/* What each reading found against what was told before it. */
static void check_commits(case_result *r, const notes *told) {
    unsigned long sure = 0, maybe = 0;
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        unsigned long number = strtoul(n->words[1], NULL, 10);
        if (is(n, "commit") && !n->done) maybe = number;
        if (is(n, "commit") && n->done) sure = number;
        r->acked += is(n, "commit") && n->done;
        if (!is(n, "find")) continue;
        if (number < sure) r->lost += (unsigned)(sure - number);
        if (number > sure && number > maybe) case_fail(r, "%lu commits were found, %lu were tried", number, maybe);
        sure = maybe = number;
    }
}

/* A file with the name of a copy is one, whether it was acknowledged or not. */
static void check_copies(case_result *r, const char *folder, const notes *told) {
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        char path[192];
        uint64_t digest = 0;
        uar_error err = UAR_ERROR_INIT;
        if (!is(n, "copy")) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, n->words[1]);
        r->acked += n->done;
        if (access(path, F_OK) != 0) {
            r->lost += n->done;
            continue;
        }
        const uar_persistence *copy = uar_persistence_sqlite(path, NULL);
        uar_status status = copy->open(copy->ctx, &err);
        if (status == UAR_OK) status = work_digest_deep(&digest, copy, &err);
        if (status != UAR_OK)
            case_fail(r, "the copy %s can't be read: %s", n->words[1], err.message);
        else if (work_find(&models[style_now], digest) != atoi(n->words[2]))
            case_fail(r, "the copy %s isn't of the moment when it was made", n->words[1]);
        uar_persistence_free(copy);
    }
}

static void check_own(case_result *r, const char *folder, const notes *told) {
    const uar_persistence *layer = open_layer(folder, false, is_next_version);
    arena memory;
    arena_init(&memory, &alloc_default);
    for (size_t i = 0; i < told->count && layer != NULL; i++) {
        const note *n = &told->list[i];
        uar_record found;
        if (is(n, "fail")) case_fail(r, "a process fails because another one died");
        if (!is(n, "own") || !n->done) continue;
        r->acked++;
        if (layer_get(&found, layer, &memory, UAR_RECORD_SETTING, uar_str_of("local"), uar_str_of(n->words[1]), NULL) !=
            UAR_OK)
            r->lost++;
        else if (record_verify(&found, NULL) != UAR_OK)
            case_fail(r, "%s is damaged", n->words[1]);
    }
    arena_dispose(&memory);
    if (layer == NULL)
        case_fail(r, "the store doesn't open");
    else
        uar_persistence_free(layer);
}

/* ---- cases ---- */

typedef struct scene_plan {
    const char *name;
    scene_fn scene;
    work_style style;
    bool early, is_migration;
    kill_counts points;
} scene_plan;

static scene_plan plans[] = {
    { .name = "store_change", .scene = scene_commits, .style = WORK_CHANGE },
    { .name = "store_big", .scene = scene_commits, .style = WORK_BIG },
    { .name = "store_tree", .scene = scene_commits, .style = WORK_TREE },
    { .name = "store_recovery", .scene = scene_recovery, .style = WORK_CHANGE },
    { .name = "store_migration", .scene = scene_migration, .style = WORK_CHANGE, .is_migration = true },
    { .name = "store_care", .scene = scene_care, .style = WORK_CHANGE },
    { .name = "store_processes", .scene = scene_processes, .style = WORK_SMALL },
};

static kill_point draw(crash_case *c, const scene_plan *plan) {
    kill_point p = { .at = 0 };
    uint64_t lot = lots_next(&c->random);
    bool in_order = cases_are_full() && c->index < (unsigned)plan->points.all;
    p.inside = !in_order && c->index % 2 == 0;
    p.at = 1 + (long)(in_order ? c->index : lot % (uint64_t)(p.inside ? plan->points.inside : plan->points.all));
    p.torn = lots_below(&c->random, 2) == 0;
    return p;
}

/* The store as the last victim left it, read once more. */
static void read_again(case_result *r, const crash_case *c, notes *told) {
    const uar_persistence *layer = open_layer(c->folder, false, is_next_version);
    uint64_t digest = 0;
    int found = -1;
    if (layer != NULL && work_digest_deep(&digest, layer, NULL) == UAR_OK)
        found = work_find(&models[style_now], digest);
    if (layer != NULL) uar_persistence_free(layer);
    if (found < 0 || told->count == NOTES_MOST) {
        case_fail(r, "the store can't be read in the end, or is in no state that it ever had");
        return;
    }
    note *n = &told->list[told->count++];
    memset(n, 0, sizeof *n);
    n->done = true;
    (void)snprintf(n->words[0], NOTE_WORD, "find");
    (void)snprintf(n->words[1], NOTE_WORD, "%d", found);
}

static void store_case(case_result *r, crash_case *c) {
    static notes told;
    const scene_plan *plan = c->arg;
    const kill_point never = { .at = 0 };
    char path[192];
    told.count = 0;
    stage s = { .folder = c->folder, .early = plan->early };
    kill_point first = draw(c, plan), second = draw(c, plan);
    bool twice = lots_below(&c->random, 2) == 0;
    style_now = plan->style;
    is_next_version = plan->is_migration;
    if (!scene_play(&told, r, plan->scene, &s, &first)) return;
    s.part++;
    if (twice && !scene_play(&told, r, plan->scene, &s, &second)) return;
    s.part++;
    s.early = false;
    if (!scene_play(&told, r, plan->scene, &s, &never)) return;
    if (plan->scene == scene_processes) {
        check_own(r, c->folder, &told);
    } else {
        read_again(r, c, &told);
        check_commits(r, &told);
        check_copies(r, c->folder, &told);
    }
    (void)snprintf(path, sizeof path, "%s/state.db", c->folder);
    check_integrity(r, path);
}

static void expect_nothing_lost(void **state) {
    scene_plan *plan = *state;
    case_result measured = { .acked = 0 };
    case_sum sum;
    style_now = plan->style;
    if (!scene_measure(&plan->points, &measured, plan->scene)) fail_msg("%s: %s", plan->name, measured.fault);
    printf("# %s: %ld points, %ld inside a commit\n", plan->name, plan->points.all, plan->points.inside);
    unsigned count = cases_are_full() ? (unsigned)plan->points.all + MORE : QUICK;
    const case_suite suite = { .name = plan->name,
                               .run = store_case,
                               .arg = plan,
                               .count = count,
                               .at_once = AT_ONCE,
                               .batch = 10,
                               .seconds = 60 };
    if (!cases_run(&sum, &suite, true)) skip();
    assert_int_equal(sum.lost, 0);
    assert_int_equal(sum.faults, 0);
    if (sum.cases < count) return; /* one case alone */
    assert_true(sum.killed >= count / 2);
    assert_true(sum.acked > count);
}

static void a_layer_that_acknowledges_before_its_commit_is_found(void **state) {
    (void)state;
    scene_plan plan = plans[0];
    case_sum sum;
    plan.early = true;
    style_now = plan.style;
    case_result measured = { .acked = 0 };
    assert_true(scene_measure(&plan.points, &measured, plan.scene));
    const case_suite suite = { .name = "store_control",
                               .run = store_case,
                               .arg = &plan,
                               .count = 40,
                               .at_once = AT_ONCE,
                               .batch = 10,
                               .seconds = 60,
                               .is_for_show = true };
    if (!cases_run(&sum, &suite, false) || sum.cases < suite.count) skip();
    if (sum.lost == 0) fail_msg("nothing was lost: this harness wouldn't see it");
}

int main(int argc, char **argv) {
    (void)argc;
    static const char *const names[] = {
        "test_R1_no_commit_is_lost_and_nothing_deleted_comes_back",
        "test_R1_no_big_value_is_lost_or_half_there",
        "test_R1_children_that_were_deleted_stay_away",
        "test_R1_nothing_is_lost_while_a_log_is_recovered",
        "test_R1_nothing_is_lost_while_a_store_is_migrated",
        "test_R1_nothing_is_lost_while_a_store_is_copied_and_tidied_and_no_half_copy_is_left",
        "test_R8_a_process_that_dies_takes_nothing_from_the_others",
    };
    enum { COUNT = sizeof plans / sizeof plans[0] };
    struct CMUnitTest tests[COUNT + 1] = {
        [COUNT] = cmocka_unit_test(a_layer_that_acknowledges_before_its_commit_is_found),
    };
    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){ names[i], expect_nothing_lost, NULL, NULL, &plans[i] };
    cases_begin(argv[0]);
    for (unsigned style = 0; style < WORK_STYLES; style++)
        work_model_make(&models[style], (work_style)style, WORK_MOST);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
