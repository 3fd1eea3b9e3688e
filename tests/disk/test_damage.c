/*
 * Bytes of a store change or go: it opens and gives what was written, or says with a status of its own what is wrong. It never
 * gives anything else, never crashes, never hangs, and a store that it refuses is left as it is.
 *
 * A case damages one place of one file: a byte, a sector of zeros or of noise, or the end cut off. The places go evenly over
 * the file. What can't be seen in a write-ahead log is said in README.md and counted here.
 * UAR_CRASH_CASE=SUITE:CASE damages one place alone and keeps the files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "crash/cases.h"
#include "disk_vfs.h"
#include "store/sqlite.h"
#include "support/store_work.h"

enum { QUICK = 500, FULL = 5000, BATCH = 100, AT_ONCE = 2, SECONDS = 60, SECTOR = 512 };

typedef uar_status (*digest_fn)(uint64_t *out, const uar_persistence *layer, uar_error *err);

typedef struct victim {
    const char *name;
    work_style style;
    unsigned commits;
    int checkpoint_pages; /* 0: as the library has it */
    bool leaves_log;      /* the process that wrote it has not closed it */
    bool is_log;          /* the log is damaged */
    const char *file;     /* what is damaged */
    digest_fn digest;     /* how it is read */
    work_model model;
    char base[128];
    unsigned char *bytes; /* of the file */
    size_t len;
} victim;

static void path_in(char out[192], const char *folder, const char *name) {
    (void)snprintf(out, 192, "%s/%s", folder, name);
}

static uar_status open_store(const uar_persistence **out, const char *folder, uar_error *err) {
    char path[192];
    path_in(path, folder, "state.db");
    *out = uar_persistence_sqlite(path, NULL);
    uar_status status = (*out)->open((*out)->ctx, err);
    if (status != UAR_OK) uar_persistence_free(*out);
    return status;
}

/* ---- files ---- */

/* NULL: there is none. */
static unsigned char *read_file(const char *folder, const char *name, size_t *len) {
    char path[192];
    struct stat st;
    path_in(path, folder, name);
    FILE *in = fopen(path, "rb");
    *len = 0;
    if (in == NULL) return NULL;
    if (fstat(fileno(in), &st) != 0) abort();
    unsigned char *bytes = malloc((size_t)st.st_size + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)st.st_size, in) != (size_t)st.st_size) abort();
    fclose(in);
    *len = (size_t)st.st_size;
    return bytes;
}

static void write_file(const char *folder, const char *name, const unsigned char *bytes, size_t len) {
    char path[192];
    path_in(path, folder, name);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(bytes, 1, len, out) != len || fclose(out) != 0) abort();
}

static void copy_file(const char *to, const char *from, const char *name) {
    size_t len = 0;
    unsigned char *bytes = read_file(from, name, &len);
    if (bytes != NULL) write_file(to, name, bytes, len);
    free(bytes);
}

/* ---- damage ---- */

enum { FLIP, ZEROS, NOISE, CUT, DAMAGES };

typedef struct damage {
    int what; /* one of the kinds */
    size_t at, len;
    char words[80];
} damage;

/* Half are single bytes. */
static damage draw_damage(crash_case *c, const victim *v, unsigned count) {
    damage d = { .what = FLIP };
    if (lots_below(&c->random, 2) != 0) d.what = (int)lots_below(&c->random, DAMAGES);
    size_t width = v->len / count + 1;
    d.at = (size_t)((uint64_t)c->index * v->len / count) + (size_t)lots_below(&c->random, width);
    if (d.at >= v->len) d.at = v->len - 1;
    /* An empty file counts as a store that is to be made. */
    if (d.at == 0 && d.what == CUT) d.at = 1;
    d.len = 1;
    if (d.what == ZEROS || d.what == NOISE) {
        d.at -= d.at % SECTOR;
        d.len = v->len - d.at < SECTOR ? v->len - d.at : SECTOR;
    }
    return d;
}

static void do_damage(damage *d, crash_case *c, const victim *v) {
    static const char *const words[] = { "a byte is changed", "zeros", "noise", "cut off" };
    unsigned char *bytes = malloc(v->len + 1);
    if (bytes == NULL) abort();
    memcpy(bytes, v->bytes, v->len);
    size_t len = v->len;
    if (d->what == FLIP) bytes[d->at] ^= (unsigned char)(1 + lots_below(&c->random, 255));
    if (d->what == ZEROS) memset(bytes + d->at, 0, d->len);
    for (size_t i = 0; d->what == NOISE && i < d->len; i++)
        bytes[d->at + i] = (unsigned char)lots_next(&c->random);
    if (d->what == CUT) len = d->at;
    write_file(c->folder, v->file, bytes, len);
    free(bytes);
    (void)snprintf(d->words, sizeof d->words, "%s, %s at %zu of %zu", v->file, words[d->what], d->at, v->len);
}

/* ---- looking ---- */

static bool is_told(uar_status status, const uar_error *err) {
    return (status == UAR_E_CORRUPT || status == UAR_E_CANTOPEN || status == UAR_E_NEWER) && err->message[0] != '\0';
}

/* A store that is refused keeps its bytes, and the log beside it. */
static void check_untouched(case_result *r, const char *folder, unsigned char *const before[2], const size_t len[2]) {
    static const char *const names[] = { "state.db", "state.db-wal" };
    for (int i = 0; i < 2; i++) {
        size_t now_len = 0;
        unsigned char *now = read_file(folder, names[i], &now_len);
        if (now_len != len[i] || (now_len > 0 && memcmp(now, before[i], now_len) != 0))
            case_fail(r, "%s was refused and is changed", names[i]);
        free(now);
    }
}

/* True if the host heard that something is wrong. */
static bool look(case_result *r, const victim *v, const uar_persistence *layer) {
    uar_error err = UAR_ERROR_INIT;
    uint64_t digest = 0;
    uar_status status = v->digest(&digest, layer, &err);
    if (status != UAR_OK) {
        if (!is_told(status, &err)) case_fail(r, "reading says %s: %s", uar_status_name(status), err.message);
        return true;
    }
    int found = work_find(&v->model, digest);
    if (found < 0 || (unsigned)found > v->commits)
        case_fail(r, "what it gives was never written");
    else
        r->lost = v->commits - (unsigned)found;
    /* Whatever is still unseen, a commit neither crashes nor hangs. */
    if (found >= 0) (void)work_commit(layer, v->style, (unsigned)found, NULL);
    return false;
}

static void look_at_store(case_result *r, const crash_case *c, const victim *v) {
    const uar_persistence *layer = NULL;
    uar_error err = UAR_ERROR_INIT;
    size_t len[2];
    unsigned char *before[2] = { read_file(c->folder, "state.db", &len[0]),
                                 read_file(c->folder, "state.db-wal", &len[1]) };
    uar_status status = open_store(&layer, c->folder, &err);
    r->acked = v->commits;
    if (status == UAR_OK) {
        r->killed = look(r, v, layer);
        uar_persistence_free(layer);
    } else {
        r->killed = true;
        if (!is_told(status, &err)) case_fail(r, "opening says %s: %s", uar_status_name(status), err.message);
        check_untouched(r, c->folder, before, len);
    }
    free(before[0]);
    free(before[1]);
}

/* What no look at a log can tell from a crash: its last commit is damaged, or its end is gone. A sector may lie on the end of
 * the last commit but one and on the head of what would prove that this one was acknowledged. */
static void allow(case_result *r, const victim *v, const damage *d) {
    if (r->lost == 0 || !v->is_log) return;
    if (d->what == CUT || r->lost <= (d->len > 1 ? 2u : 1u)) {
        r->open = 1;
        r->inside = d->what == CUT;
        r->lost = 0;
    }
}

static unsigned cases_of(void) {
    return cases_are_full() ? FULL : QUICK;
}

static void damage_case(case_result *r, crash_case *c) {
    const victim *v = c->arg;
    damage d = draw_damage(c, v, cases_of());
    copy_file(c->folder, v->base, "state.db");
    copy_file(c->folder, v->base, "state.db-wal");
    do_damage(&d, c, v);
    look_at_store(r, c, v);
    allow(r, v, &d);
    if (r->lost > 0) case_fail(r, "%u of %u commits are gone and nobody says so", r->lost, v->commits);
    if (r->fault[0] == '\0') return;
    char said[sizeof r->fault];
    memcpy(said, r->fault, sizeof said);
    (void)snprintf(r->fault, sizeof r->fault, "%s: %.800s", d.words, said);
}

/* ---- suites ---- */

/* A process of its own, so that it can end without closing. */
static void make_base(victim *v) {
    if (!cases_make_folder(v->base)) abort();
    pid_t pid = fork();
    if (pid == 0) {
        disk_vfs_seed(cases_seed());
        const uar_persistence *layer = NULL;
        char sql[64];
        (void)snprintf(sql, sizeof sql, "PRAGMA wal_autocheckpoint=%d", v->checkpoint_pages);
        if (open_store(&layer, v->base, NULL) != UAR_OK) _exit(1);
        if (v->checkpoint_pages > 0 &&
            sqlite3_exec(((const sqlite_layer *)layer->ctx)->db, sql, NULL, NULL, NULL) != SQLITE_OK)
            _exit(1);
        for (unsigned i = 0; i < v->commits; i++)
            if (work_commit(layer, v->style, i, NULL) != UAR_OK) _exit(1);
        if (!v->leaves_log) uar_persistence_free(layer);
        _exit(0);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) abort();
    v->bytes = read_file(v->base, v->file, &v->len);
    if (v->len == 0) abort();
}

static bool run_damage(case_sum *sum, victim *v, bool is_for_show) {
    work_model_make(&v->model, v->style, v->commits + 1);
    make_base(v);
    const case_suite suite = { .name = v->name,
                               .run = damage_case,
                               .arg = v,
                               .count = cases_of(),
                               .at_once = AT_ONCE,
                               .batch = BATCH,
                               .seconds = SECONDS,
                               .is_for_show = is_for_show };
    bool ran = cases_run(sum, &suite, true);
    printf("# %s: %u told, %u do no harm, %u unseen in the log\n", v->name, sum->killed,
           sum->cases - sum->killed - sum->open, sum->open);
    free(v->bytes);
    cases_remove_folder(v->base);
    return ran;
}

static void expect_right_or_told(void **state) {
    case_sum sum;
    if (!run_damage(&sum, *state, false)) skip();
    assert_int_equal(sum.faults, 0);
    assert_int_equal(sum.lost, 0);
    if (sum.cases > 1) assert_true(sum.killed > sum.cases / 50);
}

static victim victims[] = {
    { .name = "damage_change", .style = WORK_CHANGE, .commits = 40, .file = "state.db", .digest = work_digest_deep },
    { .name = "damage_big", .style = WORK_BIG, .commits = 8, .file = "state.db", .digest = work_digest_deep },
    { .name = "damage_tree", .style = WORK_TREE, .commits = 14, .file = "state.db", .digest = work_digest_deep },
    { .name = "damage_beside_log",
      .style = WORK_CHANGE,
      .commits = 30,
      .leaves_log = true,
      .checkpoint_pages = 40,
      .file = "state.db",
      .digest = work_digest_deep },
    { .name = "damage_log",
      .style = WORK_CHANGE,
      .commits = 20,
      .leaves_log = true,
      .is_log = true,
      .file = "state.db-wal",
      .digest = work_digest_deep },
};

static void a_host_that_checks_no_checksum_is_found(void **state) {
    (void)state;
    static victim v = {
        .name = "damage_control", .style = WORK_BIG, .commits = 8, .file = "state.db", .digest = work_digest_unchecked
    };
    case_sum sum;
    if (!run_damage(&sum, &v, true)) skip();
    assert_true(sum.faults > 10);
}

int main(int argc, char **argv) {
    (void)argc;
    static const char *const names[] = {
        "test_R10_damage_in_a_store_is_told_or_does_no_harm",
        "test_R10_damage_in_big_values_is_told_or_does_no_harm",
        "test_R10_damage_in_a_store_of_many_children_is_told_or_does_no_harm",
        "test_R10_damage_in_a_store_with_a_log_is_told_or_does_no_harm",
        "test_R10_damage_in_a_log_is_told_or_does_no_harm",
    };
    enum { COUNT = sizeof victims / sizeof victims[0] };
    struct CMUnitTest tests[COUNT + 1] = { [COUNT] = cmocka_unit_test(a_host_that_checks_no_checksum_is_found) };
    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){ names[i], expect_right_or_told, NULL, NULL, &victims[i] };
    cases_begin(argv[0]);
    disk_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
