/*
 * kill -9 at each write of a forget: whatever is on the disk when the process dies, either all of what was to be forgotten is
 * there, or none of it is in any answer; and once the store was opened again, none of it is in any byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "cases.h"
#include "kill_vfs.h"
#include "support/canary.h"

#define CANARIES 12
/* A forget has far fewer points than this. */
#define POINTS_MAX 5000

typedef struct forget {
    char folder[128], kept[192], path[192]; /* the store as it is before each forget, and where it dies */
    byte_scan traces;
    unsigned killed, undone, done;
} forget;

static uar_memory *open_store(const char *path) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = canary_embedder();
    return uar_memory_open(path, &options);
}

static void copy_file(const char *from, const char *to) {
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    char bytes[65536];
    size_t got = 0;
    while ((got = fread(bytes, 1, sizeof bytes, in)) != 0)
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void start_again(const forget *f) {
    static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s%s", f->path, suffixes[i]);
        (void)unlink(path);
    }
    copy_file(f->kept, f->path);
}

static uar_status forget_canaries(uar_memory *m, uar_memory_erasure *sum) {
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.category = STR("canary");
    return uar_memory_delete_where_sync(sum, m, &who, &filter, NULL);
}

static void prepare(forget *f) {
    assert_true(cases_make_folder(f->folder));
    snprintf(f->kept, sizeof f->kept, "%s/kept.db", f->folder);
    snprintf(f->path, sizeof f->path, "%s/memory.db", f->folder);
    uar_memory *m = open_store(f->kept);
    assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_READY);
    canary_write(m, 0, CANARIES);
    byte_scan_init(&f->traces);
    canary_patterns(&f->traces, &f->traces, &f->traces, m, 0, CANARIES);
    uar_memory_free(m);
    assert_true(byte_scan_store(&f->traces, f->kept) >= 4 * CANARIES);
}

/* True if the process was killed at this point; false: it came to its end. */
static bool die_at(const forget *f, long at, bool torn) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kill_point point = { .at = at, .torn = torn };
        kill_vfs_arm(&point);
        uar_memory *m = open_store(f->path);
        uar_memory_erasure sum;
        uar_status status = forget_canaries(m, &sum);
        uar_memory_free(m);
        _exit(status == UAR_OK && sum.erased == CANARIES ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return true;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

static void check_what_is_left(forget *f) {
    uar_memory *m = open_store(f->path);
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_state(m, &err) != UAR_MEMORY_READY) fail_msg("%s", err.message);
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, m, &who, NULL, NULL), UAR_OK);
    if (stats.total == 2 * CANARIES) {
        uar_memory_erasure sum;
        assert_int_equal(forget_canaries(m, &sum), UAR_OK);
        assert_int_equal(sum.erased, CANARIES);
        f->undone++;
    } else {
        /* Opening has made up for what the killed process could not do. */
        assert_int_equal(stats.total, CANARIES);
        assert_int_equal(stats.pending, 0);
        f->done++;
    }
    assert_int_equal(byte_scan_store(&f->traces, f->path), 0);
    if (uar_memory_check_sync(m, &err) != UAR_OK) fail_msg("%s", err.message);
    uar_memory_free(m);
    assert_int_equal(byte_scan_store(&f->traces, f->path), 0);
}

static void test_M6_a_forget_killed_at_any_write_is_undone_or_leaves_no_byte(void **state) {
    (void)state;
    static forget f;
    prepare(&f);
    for (int torn = 0; torn < 2; torn++) {
        for (long at = 1;; at++) {
            assert_true(at < POINTS_MAX);
            start_again(&f);
            bool was_killed = die_at(&f, at, torn != 0);
            check_what_is_left(&f);
            if (!was_killed) break;
            f.killed++;
        }
    }
    print_message("# %u kills: %u undone, %u done\n", f.killed, f.undone, f.done);
    assert_true(f.killed > 20 && f.undone > 2 && f.done > 2);
    byte_scan_dispose(&f.traces);
    cases_remove_folder(f.folder);
}

int main(int argc, char **argv) {
    (void)argc;
    cases_begin(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M6_a_forget_killed_at_any_write_is_undone_or_leaves_no_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
