/*
 * The power goes at any moment: whatever of the unsynced writes is on the disk then, the store opens, holds every commit that
 * was acknowledged, at most the one that was begun besides, and nothing that was deleted.
 *
 * Each scenario is recorded once, from calls of the SQLite layer. A state is one image of its files; it is opened as a host
 * would open it and read whole. UAR_CRASH_CASE=SUITE:STATE looks at one state alone and keeps its files.
 */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/sqlite.h"
#include "support/store_work.h"
#include "trace.h"

enum { QUICK = 1600, FULL = 20000, BATCH = 250, AT_ONCE = 2, SECONDS = 60, TRIES = 24, SEEN = 1 << 17 };

typedef struct scenario {
    const char *name;
    work_style style;
    unsigned commits;
    int checkpoint_pages; /* how many pages the log may have before it is copied; 0: as the library has it */
    const char *sync;     /* a control: how the store is synced instead */
    bool is_migration;    /* opened by a version that is yet to come */
    void (*prepare)(const struct scenario *s, const char *folder);
    void (*play)(const struct scenario *s, const char *folder);
    work_model model;
    trace tape;
} scenario;

/* ---- playing ---- */

static void path_of(char out[192], const char *folder) {
    (void)snprintf(out, 192, "%s/state.db", folder);
}

/* One more table, filled from the records, and one more index. */
static const sqlite_step next_steps[] = {
    { "CREATE TABLE copy(kind INTEGER, owner BLOB, id BLOB, body BLOB);"
      "INSERT INTO copy SELECT kind, owner, id, body FROM record;"
      "CREATE INDEX record_updated ON record(updated_ms)",
      NULL },
};
static const sqlite_schema next_schema = { .version = 2, .oldest = 1, .create = "", .steps = next_steps };

static uar_status open_layer(const uar_persistence **out, const char *folder, bool next, uar_error *err) {
    char path[192];
    path_of(path, folder);
    *out = sqlite_new_with(&alloc_default, path, NULL, next ? &next_schema : &sqlite_schema_now);
    uar_status status = (*out)->open((*out)->ctx, err);
    if (status != UAR_OK) uar_persistence_free(*out);
    return status;
}

static void run_sql(const uar_persistence *layer, const char *sql) {
    if (sqlite3_exec(((const sqlite_layer *)layer->ctx)->db, sql, NULL, NULL, NULL) != SQLITE_OK) abort();
}

static const uar_persistence *open_to_play(const scenario *s, const char *folder, bool next) {
    const uar_persistence *layer = NULL;
    char sql[64];
    if (open_layer(&layer, folder, next, NULL) != UAR_OK) abort();
    (void)snprintf(sql, sizeof sql, "PRAGMA wal_autocheckpoint=%d", s->checkpoint_pages);
    if (s->checkpoint_pages > 0) run_sql(layer, sql);
    (void)snprintf(sql, sizeof sql, "PRAGMA synchronous=%s", s->sync != NULL ? s->sync : "FULL");
    if (s->sync != NULL) run_sql(layer, sql);
    return layer;
}

static void do_commits(const scenario *s, const uar_persistence *layer, unsigned from, unsigned to) {
    trace *tape = (trace *)(uintptr_t)&s->tape;
    for (unsigned i = from; i < to; i++) {
        tape->begun = i + 1;
        if (work_commit(layer, s->style, i, NULL) != UAR_OK) abort();
        tape->acked = i + 1;
    }
}

static void play_commits(const scenario *s, const char *folder) {
    const uar_persistence *layer = open_to_play(s, folder, s->is_migration);
    do_commits(s, layer, 0, s->commits);
    uar_persistence_free(layer);
}

/* A process that ends without closing its store leaves all its commits in the log. */
static void leave_log(const scenario *s, const char *folder) {
    pid_t pid = fork();
    if (pid == 0) {
        do_commits(s, open_to_play(s, folder, false), 0, s->commits / 2);
        _exit(0);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) abort();
}

/* What opens such a store reads the log, goes on in it, and copies it at the end; twice. */
static void play_recovery(const scenario *s, const char *folder) {
    unsigned half = s->commits / 2, more = half + (s->commits - half) / 2;
    uint64_t digest = 0;
    trace *tape = (trace *)(uintptr_t)&s->tape;
    tape->acked = tape->begun = half;
    for (unsigned from = half; from < s->commits; from = from == half ? more : s->commits) {
        const uar_persistence *layer = open_to_play(s, folder, s->is_migration);
        if (work_digest(&digest, layer, NULL) != UAR_OK || work_find(&s->model, digest) != (int)from) abort();
        do_commits(s, layer, from, from == half ? more : s->commits);
        uar_persistence_free(layer);
    }
}

/* Tidied in between, by bits and as a whole. */
static void play_tidied(const scenario *s, const char *folder) {
    static const uar_care_progress nobody = { NULL, NULL };
    const uar_persistence *layer = open_to_play(s, folder, false);
    for (unsigned from = 0, third = s->commits / 3; from < s->commits; from += third) {
        uar_care_options options;
        uar_store_care report;
        uar_care_options_init(&options);
        uar_store_care_init(&report);
        options.whole = from >= third;
        do_commits(s, layer, from, from + third);
        if (layer->maintain(layer->ctx, &options, &nobody, &report, NULL) != UAR_OK) abort();
    }
    uar_persistence_free(layer);
}

static void record(scenario *s) {
    char folder[128];
    if (s->tape.count > 0) return;
    work_model_make(&s->model, s->style, s->commits);
    if (!cases_make_folder(folder)) abort();
    disk_vfs_seed(cases_seed());
    if (s->prepare != NULL) s->prepare(s, folder);
    trace_begin(&s->tape, folder);
    s->play(s, folder);
    trace_end(&s->tape);
    cases_remove_folder(folder);
}

/* ---- looking at a state ---- */

/* The states of a scenario that were looked at, shared by all its processes: a set of hashes. */
static _Atomic uint64_t *seen;

static void forget_states(void) {
    if (seen == NULL) seen = mmap(NULL, SEEN * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) abort();
    for (size_t i = 0; i < SEEN; i++)
        atomic_store_explicit(&seen[i], 0, memory_order_relaxed);
}

/* False if it was looked at before. */
static bool is_first(uint64_t hash) {
    if (cases_are_alone()) return true;
    for (size_t at = hash % SEEN, n = 0; n < SEEN; at = (at + 1) % SEEN, n++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&seen[at], &none, hash)) return true;
        if (none == hash) return false;
    }
    abort();
}

static void check_found(case_result *r, const scenario *s, const image *m, uint64_t digest, int *found) {
    *found = work_find(&s->model, digest);
    r->acked = m->acked;
    if (*found < 0)
        case_fail(r, "what the store holds is no state that it ever had (%u acknowledged)", m->acked);
    else if ((unsigned)*found < m->acked)
        r->lost = m->acked - (unsigned)*found;
    else if ((unsigned)*found > m->begun)
        case_fail(r, "the store holds %d commits, only %u were begun", *found, m->begun);
}

/* The store goes on from there. */
static void check_next(case_result *r, const scenario *s, const char *folder, const uar_persistence *layer, int found) {
    uar_error err = UAR_ERROR_INIT;
    uint64_t digest = 0;
    uar_status status = work_commit(layer, s->style, (unsigned)found, &err);
    uar_persistence_free(layer);
    if (status != UAR_OK) {
        case_fail(r, "the next commit fails: %s", err.message);
        return;
    }
    if (open_layer(&layer, folder, s->is_migration, &err) != UAR_OK) {
        case_fail(r, "it doesn't open again: %s", err.message);
        return;
    }
    if (work_digest_deep(&digest, layer, &err) != UAR_OK)
        case_fail(r, "it doesn't read again: %s", err.message);
    else if (work_find(&s->model, digest) != found + 1)
        case_fail(r, "the next commit isn't there");
    uar_persistence_free(layer);
}

static void check_image(case_result *r, const crash_case *c, const scenario *s, const image *m) {
    const uar_persistence *layer = NULL;
    uar_error err = UAR_ERROR_INIT;
    uint64_t digest = 0;
    int found = -1;
    if (open_layer(&layer, c->folder, s->is_migration, &err) != UAR_OK) {
        case_fail(r, "it doesn't open: %s", err.message);
        return;
    }
    if (work_digest(&digest, layer, &err) != UAR_OK)
        case_fail(r, "it doesn't read: %s", err.message);
    else
        check_found(r, s, m, digest, &found);
    if (found >= 0 && (unsigned)found < s->commits && c->index % 8 == 0)
        check_next(r, s, c->folder, layer, found);
    else
        uar_persistence_free(layer);
}

/* The index of the log may have any bytes: nobody has it open, so that it is made anew. */
static void spoil_index(const crash_case *c, lots *random) {
    char path[192];
    (void)snprintf(path, sizeof path, "%s/state.db-shm", c->folder);
    FILE *out = fopen(path, "wb");
    if (out == NULL) abort();
    for (unsigned i = 0; i < 4096; i++) {
        uint64_t word = lots_next(random);
        (void)fwrite(&word, sizeof word, 1, out);
    }
    fclose(out);
}

static unsigned states_of(void) {
    return cases_are_full() ? FULL : QUICK;
}

static void look_at(case_result *r, crash_case *c, const scenario *s, image *m, lots *random) {
    if (r->fresh != 0) {
        cases_remove_folder(c->folder);
        if (mkdir(c->folder, 0700) != 0) abort();
    }
    r->fresh = 1;
    if (!image_write(m, c->folder)) abort();
    if (lots_below(random, 8) == 0) spoil_index(c, random);
    check_image(r, c, s, m);
}

/* All cuts in order, as often as there are states for; the first three rounds keep all, nothing, or no names. Where a state
 * was looked at before, another one is drawn; a case that runs alone can't know and looks at each. */
static void state_case(case_result *r, crash_case *c) {
    static image m;
    const scenario *s = c->arg;
    unsigned cuts = s->tape.count + 1, states = states_of();
    unsigned round = states >= cuts ? c->index / cuts : CUT_DRAWN;
    unsigned at = states >= cuts ? c->index % cuts : (unsigned)((uint64_t)c->index * cuts / states);
    for (unsigned n = 0; n < TRIES && r->fault[0] == '\0' && r->lost == 0; n++) {
        lots random = { lots_next(&c->random) };
        image_make(&m, &s->tape, at, n == 0 && round < CUT_DRAWN ? round : CUT_DRAWN, &random);
        at = (unsigned)lots_below(&random, cuts);
        if (!is_first(image_hash(&m))) continue;
        look_at(r, c, s, &m, &random);
        if (!cases_are_alone()) return;
    }
}

static bool run_states(case_sum *sum, scenario *s, unsigned count) {
    record(s);
    forget_states();
    printf("# %s: %u operations of the disk\n", s->name, s->tape.count);
    const case_suite suite = { .name = s->name,
                               .run = state_case,
                               .arg = s,
                               .count = count,
                               .at_once = AT_ONCE,
                               .batch = BATCH,
                               .seconds = SECONDS,
                               .is_for_show = s->sync != NULL };
    if (!cases_run(sum, &suite, true)) return false;
    printf("# %s: %u states, no two alike\n", s->name, sum->fresh);
    return true;
}

static scenario scenarios[] = {
    { .name = "power_new", .style = WORK_SMALL, .commits = 30, .play = play_commits },
    { .name = "power_change", .style = WORK_CHANGE, .commits = 40, .checkpoint_pages = 12, .play = play_commits },
    { .name = "power_big", .style = WORK_BIG, .commits = 12, .checkpoint_pages = 30, .play = play_commits },
    { .name = "power_tree", .style = WORK_TREE, .commits = 30, .checkpoint_pages = 16, .play = play_commits },
    { .name = "power_log", .style = WORK_CHANGE, .commits = 48, .prepare = leave_log, .play = play_recovery },
    { .name = "power_migration",
      .style = WORK_CHANGE,
      .commits = 48,
      .is_migration = true,
      .prepare = leave_log,
      .play = play_recovery },
    { .name = "power_tidied", .style = WORK_CHANGE, .commits = 36, .play = play_tidied },
};

static void expect_all_there(void **state) {
    case_sum sum;
    scenario *s = *state;
    unsigned count = states_of();
    if (!run_states(&sum, s, count)) skip();
    assert_int_equal(sum.faults, 0);
    assert_int_equal(sum.lost, 0);
    if (sum.cases < count) return; /* one state alone */
    assert_true(sum.fresh > count / 2 && sum.acked > sum.fresh);
}

static void a_store_that_is_not_synced_is_found_damaged(void **state) {
    (void)state;
    static scenario s = { .name = "power_control_off",
                          .style = WORK_CHANGE,
                          .commits = 30,
                          .checkpoint_pages = 12,
                          .sync = "OFF",
                          .play = play_commits };
    case_sum sum;
    if (!run_states(&sum, &s, QUICK)) skip();
    assert_true(sum.faults > 10);
    assert_true(sum.lost > 10);
}

static void a_store_that_syncs_only_at_checkpoints_is_found_to_lose(void **state) {
    (void)state;
    static scenario s = { .name = "power_control_normal",
                          .style = WORK_CHANGE,
                          .commits = 30,
                          .checkpoint_pages = 12,
                          .sync = "NORMAL",
                          .play = play_commits };
    case_sum sum;
    if (!run_states(&sum, &s, QUICK)) skip();
    assert_true(sum.lost > 10);
}

int main(int argc, char **argv) {
    (void)argc;
    struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(expect_all_there, &scenarios[0]),
        cmocka_unit_test_prestate(expect_all_there, &scenarios[1]),
        cmocka_unit_test_prestate(expect_all_there, &scenarios[2]),
        cmocka_unit_test_prestate(expect_all_there, &scenarios[3]),
        cmocka_unit_test_prestate(expect_all_there, &scenarios[4]),
        cmocka_unit_test_prestate(expect_all_there, &scenarios[5]),
        cmocka_unit_test_prestate(expect_all_there, &scenarios[6]),
        cmocka_unit_test(a_store_that_is_not_synced_is_found_damaged),
        cmocka_unit_test(a_store_that_syncs_only_at_checkpoints_is_found_to_lose),
    };
    static const char *const names[] = {
        "test_R9_a_power_cut_while_a_store_is_made_loses_no_commit",
        "test_R9_a_power_cut_while_records_come_and_go_loses_no_commit",
        "test_R9_a_power_cut_in_big_values_loses_no_commit",
        "test_R9_a_power_cut_while_children_go_brings_none_back",
        "test_R9_a_power_cut_while_a_log_is_recovered_loses_no_commit",
        "test_R9_a_power_cut_while_a_store_is_migrated_loses_no_commit",
        "test_R9_a_power_cut_while_a_store_is_tidied_loses_no_commit",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tests[i].name = names[i];
    cases_begin(argv[0]);
    disk_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
