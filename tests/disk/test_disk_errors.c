/*
 * Every call of the disk fails, once and for good: the step that meets it fails with a status of its own, the store is as it
 * was before that step, the same step works once the disk does, and what was acknowledged is there when it is opened again.
 *
 * Five ways to fail: an I/O error, a full disk, a read that ends early, a lock that somebody holds, a file that can't be
 * opened. A case is a scenario, a way, an index among the calls that can fail in this way, and once or for good.
 * UAR_CRASH_CASE=SCENARIO:CASE runs one alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "crash/cases.h"
#include "disk_vfs.h"
#include "store/sqlite.h"
#include "support/store_work.h"

enum { BATCH = 100, AT_ONCE = 2, SECONDS = 60, THINNED = 12, PATIENCE_MS = 1 };

typedef enum way { WAY_IO, WAY_FULL, WAY_SHORT, WAY_BUSY, WAY_CANTOPEN, WAYS } way;

static const char *const way_names[WAYS] = { "an I/O error", "a full disk", "a short read", "a lock", "no opening" };

/* What a call answers when it fails in this way; SQLITE_OK: it can't. */
static int code_of(way w, const disk_call *call) {
    static const int io[] = { [DISK_READ] = SQLITE_IOERR_READ,         [DISK_WRITE] = SQLITE_IOERR_WRITE,
                              [DISK_TRUNCATE] = SQLITE_IOERR_TRUNCATE, [DISK_SYNC] = SQLITE_IOERR_FSYNC,
                              [DISK_SIZE] = SQLITE_IOERR_FSTAT,        [DISK_DELETE] = SQLITE_IOERR_DELETE,
                              [DISK_ACCESS] = SQLITE_IOERR_ACCESS,     [DISK_LOCK] = SQLITE_IOERR_LOCK,
                              [DISK_MAP] = SQLITE_IOERR_SHMMAP,        [DISK_MAP_LOCK] = SQLITE_IOERR_SHMLOCK };
    switch (w) {
    case WAY_IO: return call->op == DISK_OPEN ? SQLITE_OK : io[call->op];
    case WAY_FULL: return call->op == DISK_WRITE ? SQLITE_FULL : SQLITE_OK;
    case WAY_SHORT: return call->op == DISK_READ ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
    case WAY_BUSY: return call->op == DISK_LOCK || call->op == DISK_MAP_LOCK ? SQLITE_BUSY : SQLITE_OK;
    default: return call->op == DISK_OPEN || call->op == DISK_MAP ? SQLITE_CANTOPEN : SQLITE_OK;
    }
}

/* Half a page that is zeros is damage as far as the store can tell. */
static bool is_its_status(way w, uar_status status) {
    switch (w) {
    case WAY_IO: return status == UAR_E_IO;
    case WAY_FULL: return status == UAR_E_FULL;
    case WAY_SHORT: return status == UAR_E_IO || status == UAR_E_CORRUPT;
    case WAY_BUSY: return status == UAR_E_BUSY;
    default: return status == UAR_E_CANTOPEN;
    }
}

/* ---- the fault ---- */

typedef struct fault {
    way way;
    unsigned at; /* from 1; 0: never */
    bool for_good, fired;
    unsigned calls;
} fault;

static int fault_hook(void *ctx, const disk_call *call) {
    fault *f = ctx;
    int code = code_of(f->way, call);
    if (code == SQLITE_OK) return SQLITE_OK;
    f->calls++;
    bool fails = f->at != 0 && (f->calls == f->at || (f->for_good && f->calls > f->at));
    if (fails) f->fired = true;
    return fails ? code : SQLITE_OK;
}

/* ---- scenarios ---- */

typedef struct scenario {
    const char *name;
    work_style style;
    unsigned before, commits; /* that the store has when it begins, and those that it does */
    int checkpoint_pages;     /* 0: as the library has it */
    bool leaves_log;          /* the process before has not closed its store */
    bool is_cared_for;        /* it is copied, tidied, checked, suspended and resumed too */
    bool is_migration;        /* it is opened by a version that is yet to come */
    bool is_careless;         /* the control: takes a failure for success */
    work_model model;
    char base[128]; /* folder with the files that it begins with */
    unsigned calls[WAYS];
} scenario;

typedef struct world {
    const scenario *s;
    case_result *r;
    const uar_persistence *layer; /* NULL: not open */
    fault fault;
    unsigned done; /* commits that were acknowledged */
    bool in_doubt; /* the next one failed: it may be there when the store is opened again, and only then */
} world;

/* One more table, filled from the records, and one more index. */
static const sqlite_step next_steps[] = {
    { "CREATE TABLE copy(kind INTEGER, owner BLOB, id BLOB, body BLOB);"
      "INSERT INTO copy SELECT kind, owner, id, body FROM record;"
      "CREATE INDEX record_updated ON record(updated_ms)",
      NULL },
};
static const sqlite_schema next_schema = { .version = 2, .oldest = 1, .create = "", .steps = next_steps };

static void path_in(char out[192], const char *folder, const char *name) {
    (void)snprintf(out, 192, "%s/%s", folder, name);
}

static uar_status open_as(world *w, const char *folder, bool next, uar_error *err) {
    char path[192], sql[64];
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.busy_timeout_ms = PATIENCE_MS;
    path_in(path, folder, "state.db");
    w->layer = sqlite_new_with(&alloc_default, path, &options, next ? &next_schema : &sqlite_schema_now);
    uar_status status = w->layer->open(w->layer->ctx, err);
    if (status != UAR_OK) {
        uar_persistence_free(w->layer);
        w->layer = NULL;
        return status;
    }
    (void)snprintf(sql, sizeof sql, "PRAGMA wal_autocheckpoint=%d", w->s->checkpoint_pages);
    if (w->s->checkpoint_pages > 0)
        (void)sqlite3_exec(((const sqlite_layer *)w->layer->ctx)->db, sql, NULL, NULL, NULL);
    return UAR_OK;
}

static uar_status open_store(world *w, const char *folder, uar_error *err) {
    return open_as(w, folder, w->s->is_migration, err);
}

static void close_store(world *w) {
    uar_persistence_free(w->layer);
    w->layer = NULL;
}

/* A step that failed must have met the fault, and say what kind it was. */
static void judge(const world *w, const char *step, uar_status status, const uar_error *err) {
    if (status == UAR_OK) return;
    if (!w->fault.fired)
        case_fail(w->r, "%s fails without a fault: %s", step, err->message);
    else if (!is_its_status(w->fault.way, status))
        case_fail(w->r, "%s meets %s and says %s: %s", step, way_names[w->fault.way], uar_status_name(status),
                  err->message);
    else if (err->message[0] == '\0')
        case_fail(w->r, "%s fails without a word", step);
}

/* What the store answers is what was acknowledged, or a failure. */
static void read_all(world *w, const char *when, bool must_work) {
    uar_error err = UAR_ERROR_INIT;
    uint64_t digest = 0;
    uar_status status = work_digest_deep(&digest, w->layer, &err);
    int found = status == UAR_OK ? work_find(&w->s->model, digest) : -1;
    if (status != UAR_OK && must_work)
        case_fail(w->r, "%s it doesn't read: %s", when, err.message);
    else
        judge(w, "reading", status, &err);
    if (status != UAR_OK) return;
    if (w->in_doubt && found == (int)w->done + 1 && must_work) return;
    if (found >= 0 && (unsigned)found < w->done) w->r->lost = w->done - (unsigned)found;
    if (found != (int)w->done)
        case_fail(w->r, "%s it holds %d commits where %u were acknowledged", when, found, w->done);
}

static uar_status do_commit(world *w, const char *step) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = work_commit(w->layer, w->s->style, w->done, &err);
    judge(w, step, status, &err);
    if (status == UAR_OK || w->s->is_careless) w->done++;
    return w->s->is_careless ? UAR_OK : status;
}

/* From a failed commit on: nothing of it is there, and once the disk works the same commit does too. */
static void go_on(world *w) {
    w->in_doubt = false;
    read_all(w, "behind a failed commit", false);
    if (w->fault.for_good) w->fault.at = 0;
    uar_status status = do_commit(w, "the same commit, again,");
    /* A single fault that the reading met is over now. */
    if (status != UAR_OK) case_fail(w->r, "the same commit doesn't work once the disk does");
    w->in_doubt = status != UAR_OK;
}

/* ---- care ---- */

static const uar_care_progress nobody = { NULL, NULL };

/* Either a whole copy, or no file at all. */
static void copy_store(world *w, const char *folder) {
    char path[192];
    uar_error err = UAR_ERROR_INIT;
    uint64_t digest = 0;
    path_in(path, folder, "copy.db");
    uar_status status = w->layer->backup(w->layer->ctx, path, &nobody, &err);
    judge(w, "copying", status, &err);
    if (status != UAR_OK) {
        if (access(path, F_OK) == 0) case_fail(w->r, "a copy that failed is there");
        return;
    }
    fault now = w->fault;
    w->fault.at = 0;
    const uar_persistence *copy = uar_persistence_sqlite(path, NULL);
    status = copy->open(copy->ctx, &err);
    if (status == UAR_OK) status = work_digest_deep(&digest, copy, &err);
    if (status != UAR_OK || work_find(&w->s->model, digest) != (int)w->done)
        case_fail(w->r, "the copy isn't what was copied: %s", err.message);
    uar_persistence_free(copy);
    w->fault = now;
}

static void hear_finding(void *ctx, const uar_store_finding *finding) {
    world *w = ctx;
    if (w->fault.way != WAY_SHORT)
        case_fail(w->r, "a check finds a fault: %.*s", (int)finding->what.len, finding->what.ptr);
}

static void tidy_and_check(world *w) {
    uar_error err = UAR_ERROR_INIT;
    uar_care_options options;
    uar_store_care care;
    uar_store_check report;
    uar_care_options_init(&options);
    uar_store_care_init(&care);
    uar_store_check_init(&report);
    judge(w, "tidying", w->layer->maintain(w->layer->ctx, &options, &nobody, &care, &err), &err);
    judge(w, "checking", w->layer->check(w->layer->ctx, hear_finding, w, &nobody, &report, &err), &err);
}

/* A layer that couldn't go on stays suspended, and can when the disk works again. */
static void suspend_and_resume(world *w) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = w->layer->suspend(w->layer->ctx, &err);
    judge(w, "suspending", status, &err);
    if (status != UAR_OK) return;
    if (disk_vfs_open_files() != 0) case_fail(w->r, "%d files are open while suspended", disk_vfs_open_files());
    status = w->layer->resume(w->layer->ctx, &err);
    judge(w, "resuming", status, &err);
    if (status == UAR_OK) return;
    w->fault.at = 0;
    status = w->layer->resume(w->layer->ctx, &err);
    if (status != UAR_OK) case_fail(w->r, "it doesn't resume once the disk works: %s", err.message);
}

static void take_care(world *w, const char *folder) {
    copy_store(w, folder);
    tidy_and_check(w);
    suspend_and_resume(w);
}

static void play(world *w, const char *folder) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = open_store(w, folder, &err);
    judge(w, "opening", status, &err);
    if (status != UAR_OK) return;
    read_all(w, "at first", false);
    for (unsigned i = 0; i < w->s->commits && w->r->fault[0] == '\0'; i++)
        if (do_commit(w, "a commit") != UAR_OK) go_on(w);
    if (w->s->is_cared_for && w->r->fault[0] == '\0') take_care(w, folder);
    if (w->r->fault[0] == '\0') read_all(w, "at the end", false);
    close_store(w);
}

/* The disk works again: another process opens what is there, reads it and goes on. */
static void come_back(world *w, const char *folder) {
    uar_error err = UAR_ERROR_INIT;
    w->fault.at = 0;
    if (w->layer != NULL) close_store(w);
    if (open_store(w, folder, &err) != UAR_OK) {
        case_fail(w->r, "it doesn't open again: %s", err.message);
        return;
    }
    read_all(w, "opened again", true);
    if (w->r->fault[0] == '\0' && w->done < w->s->model.count && do_commit(w, "the next commit") != UAR_OK)
        case_fail(w->r, "the next commit doesn't work");
    close_store(w);
}

/* ---- cases ---- */

static void copy_file(const char *folder, const scenario *s, const char *name) {
    char from[192], to[192];
    static char bytes[1 << 16];
    path_in(from, s->base, name);
    path_in(to, folder, name);
    FILE *in = fopen(from, "rb");
    if (in == NULL) return;
    FILE *out = fopen(to, "wb");
    if (out == NULL) abort();
    for (size_t n = fread(bytes, 1, sizeof bytes, in); n > 0; n = fread(bytes, 1, sizeof bytes, in))
        if (fwrite(bytes, 1, n, out) != n) abort();
    fclose(in);
    if (fclose(out) != 0) abort();
}

static void play_fault(case_result *r, const scenario *s, const char *folder, fault *f) {
    world w = { .s = s, .r = r, .fault = *f, .done = s->before };
    int64_t live = uar_live_objects();
    sqlite3_int64 bytes = sqlite3_memory_used();
    disk_vfs_seed(cases_seed());
    copy_file(folder, s, "state.db");
    copy_file(folder, s, "state.db-wal");
    disk_vfs_hook(fault_hook, &w.fault);
    play(&w, folder);
    *f = w.fault;
    r->killed = w.fault.fired;
    r->acked = w.done;
    come_back(&w, folder);
    disk_vfs_hook(NULL, NULL);
    if (uar_live_objects() != live) case_fail(r, "%lld objects are left over", (long long)(uar_live_objects() - live));
    if (sqlite3_memory_used() != bytes) case_fail(r, "SQLite's memory leaks");
    if (disk_vfs_open_files() != 0) case_fail(r, "%d files stay open", disk_vfs_open_files());
}

static unsigned cases_of(const scenario *s) {
    unsigned count = 0;
    for (unsigned w = 0; w < WAYS; w++)
        count += 2 * s->calls[w];
    return count;
}

static fault fault_of(const scenario *s, unsigned index) {
    fault f = { .at = 0 };
    for (unsigned w = 0; w < WAYS; w++) {
        if (index < 2 * s->calls[w]) {
            f.way = (way)w;
            f.at = 1 + index / 2;
            f.for_good = index % 2 != 0;
            return f;
        }
        index -= 2 * s->calls[w];
    }
    abort();
}

/* A quick run takes one of ten, by lot. */
static void fault_case(case_result *r, crash_case *c) {
    const scenario *s = c->arg;
    unsigned all = cases_of(s), step = cases_are_full() ? 1 : THINNED;
    unsigned index = c->index * step + (unsigned)lots_below(&c->random, step);
    fault f = fault_of(s, index < all ? index : all - 1);
    play_fault(r, s, c->folder, &f);
    if (r->fault[0] == '\0') return;
    char said[sizeof r->fault];
    memcpy(said, r->fault, sizeof said);
    (void)snprintf(r->fault, sizeof r->fault, "call %u, %s %s: %.800s", f.at, way_names[f.way],
                   f.for_good ? "for good" : "once", said);
}

/* The files that a scenario begins with, made by a process of its own. */
static void make_base(scenario *s) {
    if (!cases_make_folder(s->base)) abort();
    if (s->before == 0) return;
    pid_t pid = fork();
    if (pid == 0) {
        disk_vfs_seed(cases_seed());
        case_result r = { .acked = 0 };
        world w = { .s = s, .r = &r };
        if (open_as(&w, s->base, false, NULL) != UAR_OK) _exit(1);
        for (unsigned i = 0; i < s->before; i++)
            if (do_commit(&w, "a commit") != UAR_OK) _exit(1);
        if (!s->leaves_log) close_store(&w);
        _exit(r.fault[0] == '\0' ? 0 : 1);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) abort();
}

/* How many calls can fail in each way. */
static void measure(scenario *s) {
    for (unsigned w = 0; w < WAYS; w++) {
        case_result r = { .acked = 0 };
        fault none = { .way = (way)w };
        char folder[128];
        if (!cases_make_folder(folder)) abort();
        play_fault(&r, s, folder, &none);
        cases_remove_folder(folder);
        if (r.fault[0] != '\0') fail_msg("%s: %s", s->name, r.fault);
        s->calls[w] = none.calls;
    }
    printf("# %s: calls that can fail: %u %u %u %u %u\n", s->name, s->calls[WAY_IO], s->calls[WAY_FULL],
           s->calls[WAY_SHORT], s->calls[WAY_BUSY], s->calls[WAY_CANTOPEN]);
}

static bool run_faults(case_sum *sum, scenario *s) {
    work_model_make(&s->model, s->style, s->before + s->commits + 1);
    make_base(s);
    measure(s);
    unsigned all = cases_of(s);
    const case_suite suite = { .name = s->name,
                               .run = fault_case,
                               .arg = s,
                               .count = cases_are_full() ? all : (all + THINNED - 1) / THINNED,
                               .at_once = AT_ONCE,
                               .batch = BATCH,
                               .seconds = SECONDS,
                               .is_for_show = s->is_careless };
    bool ran = cases_run(sum, &suite, true);
    cases_remove_folder(s->base);
    return ran;
}

static void expect_own_status_and_all_there(void **state) {
    case_sum sum;
    if (!run_faults(&sum, *state)) skip();
    assert_int_equal(sum.faults, 0);
    assert_int_equal(sum.lost, 0);
    if (sum.cases > 1) assert_true(sum.killed > sum.cases * 9 / 10);
}

static void a_host_that_takes_a_failure_for_success_is_found(void **state) {
    (void)state;
    static scenario s = {
        .name = "errors_control", .style = WORK_CHANGE, .before = 5, .commits = 6, .is_careless = true
    };
    case_sum sum;
    if (!run_faults(&sum, &s)) skip();
    assert_true(sum.lost > 0 && sum.faults > 10);
}

static scenario scenarios[] = {
    { .name = "errors_new", .style = WORK_SMALL, .commits = 10 },
    { .name = "errors_small", .style = WORK_SMALL, .before = 10, .commits = 30, .checkpoint_pages = 20 },
    { .name = "errors_change", .style = WORK_CHANGE, .before = 12, .commits = 30, .checkpoint_pages = 16 },
    { .name = "errors_big", .style = WORK_BIG, .before = 3, .commits = 12, .checkpoint_pages = 24 },
    { .name = "errors_tree", .style = WORK_TREE, .before = 4, .commits = 18, .checkpoint_pages = 16 },
    { .name = "errors_log", .style = WORK_CHANGE, .before = 20, .commits = 12, .leaves_log = true },
    { .name = "errors_migration",
      .style = WORK_CHANGE,
      .before = 24,
      .commits = 6,
      .leaves_log = true,
      .is_migration = true },
    { .name = "errors_care",
      .style = WORK_CHANGE,
      .before = 20,
      .commits = 6,
      .leaves_log = true,
      .is_cared_for = true },
};

int main(int argc, char **argv) {
    (void)argc;
    static const char *const names[] = {
        "test_R9_any_failure_while_a_store_is_made_is_said_and_leaves_it_usable",
        "test_R9_any_failure_in_small_commits_is_said_and_undoes_the_commit",
        "test_R9_any_failure_while_records_come_and_go_is_said_and_undoes_the_commit",
        "test_R9_any_failure_in_big_values_is_said_and_undoes_the_commit",
        "test_R9_any_failure_while_children_go_is_said_and_undoes_the_commit",
        "test_R9_any_failure_while_a_log_is_recovered_is_said_and_loses_nothing",
        "test_R9_any_failure_while_a_store_is_migrated_is_said_and_loses_nothing",
        "test_R9_any_failure_while_a_store_is_copied_tidied_or_suspended_is_said_and_leaves_no_half_copy",
    };
    enum { COUNT = sizeof scenarios / sizeof scenarios[0] };
    struct CMUnitTest tests[COUNT + 1] = {
        [COUNT] = cmocka_unit_test(a_host_that_takes_a_failure_for_success_is_found),
    };
    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){ names[i], expect_own_status_and_all_there, NULL, NULL, &scenarios[i] };
    cases_begin(argv[0]);
    disk_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
