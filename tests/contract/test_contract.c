/* Both bundled layers keep the persistence contract, and the kit that says so catches each way of breaking it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "contract/hostile.h"
#include "store/check.h"

enum { REQUIREMENTS = 64, SHORT_PATIENCE_MS = 300, PATIENCE_MS = 30000 };

typedef struct findings {
    uint32_t last; /* number of the requirement before; they must rise */
    bool is_ordered;
    bool failed[128];
    size_t tried;
} findings;

static void note(void *ctx, uint32_t number, const char *demand, const char *fault) {
    findings *f = ctx;
    assert_in_range(number, 1, 127);
    assert_non_null(demand);
    if (number <= f->last) f->is_ordered = false;
    f->last = number;
    f->failed[number] = fault != NULL;
    f->tried++;
    if (fault != NULL) assert_true(fault[0] != '\0');
}

static findings examine(const uar_persistence *layer, uint32_t patience_ms, uar_persistence_report *report,
                        uar_status *status, uar_error *err) {
    findings f = { .is_ordered = true };
    memset(report, 0, sizeof *report);
    uar_error_init(err);
    *status = check_run(report, layer, patience_ms, note, &f, err);
    assert_true(f.is_ordered);
    assert_int_equal(f.tried, report->passed + report->failed);
    return f;
}

static void assert_keeps_all(const uar_persistence *layer, uint32_t skipped) {
    uar_persistence_report report;
    uar_status status;
    uar_error err;
    examine(layer, PATIENCE_MS, &report, &status, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    assert_int_equal(report.failed, 0);
    assert_int_equal(report.skipped, skipped);
    assert_int_equal(report.passed + report.skipped, REQUIREMENTS);
    assert_int_equal(uar_live_objects(), 0);
}

static void the_volatile_layer_keeps_the_contract(void **state) {
    (void)state;
    assert_keeps_all(uar_persistence_volatile(), 2); /* no open, no location */
}

static void the_sqlite_layer_keeps_the_contract(void **state) {
    (void)state;
    char folder[] = "/tmp/uar-contract-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/state.db", folder);
    assert_keeps_all(uar_persistence_sqlite(path, NULL), 1); /* not concurrent */
    /* And once more over what the first run left in the file. */
    assert_keeps_all(uar_persistence_sqlite(path, NULL), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_layer_that_answers_within_the_call_passes(void **state) {
    (void)state;
    assert_keeps_all(hostile_new(HOSTILE_NONE), 0);
}

static void a_layer_that_answers_later_on_another_thread_passes(void **state) {
    (void)state;
    assert_keeps_all(hostile_new(HOSTILE_LATE), 0);
}

static const struct {
    const char *name, *what;
    uint32_t requirement;
} ways[] = {
#define WAY(name, number, what) { #name, what, number },
    HOSTILE_WAYS(WAY)
#undef WAY
};

static void each_way_to_break_the_contract_is_caught_by_its_requirement(void **state) {
    (void)state;
    size_t missed = 0;
    for (int way = 0; way < HOSTILE_COUNT; way++) {
        uint32_t requirement = ways[way].requirement;
        if (requirement == 0) continue;
        uar_persistence_report report;
        uar_status status;
        uar_error err;
        findings f = examine(hostile_new((hostile_way)way), SHORT_PATIENCE_MS, &report, &status, &err);
        if (!f.failed[requirement] || status != UAR_E_INVALID || report.failed == 0 || err.message[0] == '\0') {
            print_message("%s (%s) was not caught by requirement %u\n", ways[way].name, ways[way].what,
                          (unsigned)requirement);
            missed++;
        }
    }
    assert_int_equal(missed, 0);
}

static bool is_named(uint32_t requirement) {
    for (int way = 0; way < HOSTILE_COUNT; way++)
        if (ways[way].requirement == requirement) return true;
    return false;
}

static size_t count_named(const kit_requirement *group, size_t count) {
    size_t named = 0;
    for (size_t i = 0; i < count; i++)
        named += is_named(group[i].number);
    return named;
}

static void nearly_every_requirement_has_a_layer_that_breaks_it(void **state) {
    (void)state;
    size_t named = count_named(check_writes, check_writes_count) + count_named(check_fields, check_fields_count) +
                   count_named(check_lists, check_lists_count) + count_named(check_pages, check_pages_count);
    assert_true(named >= 45);
}

static void a_layer_with_unknown_fields_is_refused(void **state) {
    (void)state;
    struct {
        uar_persistence known;
        uint64_t more;
    } newer = { .known = { .struct_size = sizeof newer }, .more = 1 };
    uar_persistence_report report;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_persistence_check(&report, &newer.known, NULL, NULL, &err), UAR_E_STRUCT);
    assert_int_equal(err.code, UAR_E_STRUCT);
}

static void the_kit_needs_a_layer_and_a_report(void **state) {
    (void)state;
    uar_persistence_report report;
    assert_int_equal(uar_persistence_check(&report, NULL, NULL, NULL, NULL), UAR_E_INVALID);
    const uar_persistence *layer = uar_persistence_volatile();
    assert_int_equal(uar_persistence_check(NULL, layer, NULL, NULL, NULL), UAR_E_INVALID);
    uar_persistence_free(layer);
}

/* ---- a layer that counts what is left in it ---- */

typedef struct watch {
    const uar_persistence *inner;
    int destroyed;
} watch;

static void watch_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    const watch *w = ctx;
    w->inner->get(w->inner->ctx, kind, owner, id, done);
}

static void watch_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    const watch *w = ctx;
    w->inner->list(w->inner->ctx, query, done);
}

/* Owners must be the kit's own. */
static void watch_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    const watch *w = ctx;
    for (size_t i = 0; i < count; i++) {
        assert_true(writes[i].record.owner.len > 11);
        assert_memory_equal(writes[i].record.owner.ptr, "conformance", 11);
    }
    w->inner->commit(w->inner->ctx, writes, count, done);
}

static void watch_destroy(void *ctx) {
    watch *w = ctx;
    w->destroyed++;
}

static void the_kit_leaves_no_record_behind(void **state) {
    (void)state;
    int64_t live = uar_live_objects();
    char folder[] = "/tmp/uar-contract-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/state.db", folder);
    uar_persistence_report report;
    assert_int_equal(uar_persistence_check(&report, uar_persistence_sqlite(path, NULL), NULL, NULL, NULL), UAR_OK);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM record", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(s, 0), 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    unlink(path);
    rmdir(folder);
    assert_true(uar_live_objects() == live);
}

static void the_kit_writes_only_to_owners_of_its_own_and_destroys_the_layer_once(void **state) {
    (void)state;
    watch w = { .inner = uar_persistence_volatile() };
    const uar_persistence layer = { .struct_size = UAR_PERSISTENCE_INIT,
                                    .ctx = &w,
                                    .destroy = watch_destroy,
                                    .get = watch_get,
                                    .list = watch_list,
                                    .commit = watch_commit };
    uar_persistence_report report;
    assert_int_equal(uar_persistence_check(&report, &layer, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(w.destroyed, 1);
    uar_persistence_free(w.inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_volatile_layer_keeps_the_contract),
        cmocka_unit_test(the_sqlite_layer_keeps_the_contract),
        cmocka_unit_test(the_kit_leaves_no_record_behind),
        cmocka_unit_test(the_kit_writes_only_to_owners_of_its_own_and_destroys_the_layer_once),
        cmocka_unit_test(the_kit_needs_a_layer_and_a_report),
        cmocka_unit_test(a_layer_with_unknown_fields_is_refused),
        cmocka_unit_test(a_layer_that_answers_within_the_call_passes),
        cmocka_unit_test(a_layer_that_answers_later_on_another_thread_passes),
        cmocka_unit_test(nearly_every_requirement_has_a_layer_that_breaks_it),
        cmocka_unit_test(each_way_to_break_the_contract_is_caught_by_its_requirement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
