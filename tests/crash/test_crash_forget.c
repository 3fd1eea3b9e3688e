/*
 * kill -9 at each write of a forget: whatever is on the disk when the process dies, either all of what was to be forgotten is
 * there, or none of it is in any answer; and once the store was opened again, none of it is in any byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cases.h"
#include "die_store.h"
#include "support/canary.h"

#define CANARIES 12
/* A forget has far fewer points than this. */
#define POINTS_MAX 5000

typedef struct forget {
    die_store files;
    byte_scan traces;
    unsigned killed, undone, done;
} forget;

static uar_memory *open_store(const char *path) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = canary_embedder();
    return uar_memory_open(path, &options);
}

static uar_status forget_canaries(uar_memory *m, uar_memory_erasure *sum) {
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.category = STR("canary");
    return uar_memory_delete_where_sync(sum, m, &who, &filter, NULL);
}

static void prepare(forget *f) {
    die_store_make(&f->files);
    uar_memory *m = open_store(f->files.kept);
    assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_READY);
    canary_write(m, 0, CANARIES);
    byte_scan_init(&f->traces);
    canary_patterns(&f->traces, &f->traces, &f->traces, m, 0, CANARIES);
    uar_memory_free(m);
    assert_true(byte_scan_store(&f->traces, f->files.kept) >= 4 * CANARIES);
}

static bool forget_all(void *ctx, uar_memory *m) {
    (void)ctx;
    uar_memory_erasure sum;
    return forget_canaries(m, &sum) == UAR_OK && sum.erased == CANARIES;
}

static void check_what_is_left(forget *f) {
    uar_memory *m = open_store(f->files.path);
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
    assert_int_equal(byte_scan_store(&f->traces, f->files.path), 0);
    if (uar_memory_check_sync(m, &err) != UAR_OK) fail_msg("%s", err.message);
    uar_memory_free(m);
    assert_int_equal(byte_scan_store(&f->traces, f->files.path), 0);
}

static void test_M6_a_forget_killed_at_any_write_is_undone_or_leaves_no_byte(void **state) {
    (void)state;
    static forget f;
    prepare(&f);
    for (int torn = 0; torn < 2; torn++) {
        for (long at = 1;; at++) {
            assert_true(at < POINTS_MAX);
            bool was_killed = die_store_at(&f.files, at, torn != 0, open_store, forget_all, NULL);
            check_what_is_left(&f);
            if (!was_killed) break;
            f.killed++;
        }
    }
    print_message("# %u kills: %u undone, %u done\n", f.killed, f.undone, f.done);
    assert_true(f.killed > 20 && f.undone > 2 && f.done > 2);
    byte_scan_dispose(&f.traces);
    cases_remove_folder(f.files.folder);
}

int main(int argc, char **argv) {
    (void)argc;
    cases_begin(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M6_a_forget_killed_at_any_write_is_undone_or_leaves_no_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
