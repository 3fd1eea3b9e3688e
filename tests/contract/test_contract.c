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

enum { REQUIREMENTS = 108, NUMBERS = 128 };

static const check_measures full = { .patience_ms = 30000, .large = (size_t)16 << 20 };
static const check_measures brief = { .patience_ms = 300, .large = HOSTILE_LARGE };

/* What the kit said of each requirement. */
typedef struct findings {
    uint32_t last; /* number of the requirement before; they must rise */
    bool is_ordered;
    bool tried[NUMBERS], failed[NUMBERS], skipped[NUMBERS];
    size_t count, skips;
    uar_persistence_report report;
    uar_status status;
    uar_error err;
} findings;

static void note_outcome(void *ctx, const uar_requirement *r) {
    findings *f = ctx;
    assert_in_range(r->number, 1, NUMBERS - 1);
    assert_int_equal(r->size, sizeof *r);
    assert_non_null(r->demand);
    assert_int_equal(r->detail == NULL, r->outcome == UAR_REQUIREMENT_KEPT);
    if (r->detail != NULL) assert_true(r->detail[0] != '\0');
    if (r->number <= f->last) f->is_ordered = false;
    f->last = r->number;
    f->tried[r->number] = r->outcome != UAR_REQUIREMENT_SKIPPED;
    f->failed[r->number] = r->outcome == UAR_REQUIREMENT_BROKEN;
    f->skipped[r->number] = r->outcome == UAR_REQUIREMENT_SKIPPED;
    f->count++;
    f->skips += r->outcome == UAR_REQUIREMENT_SKIPPED;
}

static void note_tried(void *ctx, uint32_t number, const char *demand, const char *fault) {
    const uar_requirement r = { sizeof r, number, fault != NULL ? UAR_REQUIREMENT_BROKEN : UAR_REQUIREMENT_KEPT, demand,
                                fault };
    note_outcome(ctx, &r);
}

static findings examine(const uar_persistence *layer, check_measures measures) {
    findings f = { .is_ordered = true, .err = UAR_ERROR_INIT };
    f.status = check_run(&f.report, layer, measures, note_tried, &f, &f.err);
    assert_true(f.is_ordered);
    assert_int_equal(f.count, f.report.passed + f.report.failed);
    return f;
}

static findings examine_source(const uar_persistence_source *source, check_measures measures) {
    findings f = { .is_ordered = true, .err = UAR_ERROR_INIT };
    f.status = check_run_with(&f.report, source, measures, note_outcome, &f, &f.err);
    assert_true(f.is_ordered);
    assert_int_equal(f.count, f.report.passed + f.report.failed + f.report.skipped);
    assert_int_equal(f.skips, f.report.skipped);
    return f;
}

static void assert_kept(const findings *f, uint32_t skipped) {
    if (f->status != UAR_OK) fail_msg("%s", f->err.message);
    assert_int_equal(f->report.failed, 0);
    assert_int_equal(f->report.skipped, skipped);
    assert_int_equal(f->report.passed + f->report.skipped, REQUIREMENTS);
    assert_int_equal(uar_live_objects(), 0);
}

enum { OF_REOPENING = 7, OF_LAYERS = 10, OF_OVERLAP = 3, OF_CARE = 7 };

/* How many requirements on optional slots a layer can't be asked for, alone, reopened, or with another beside it. */
static uint32_t careless(const uar_persistence *layer, bool reopens, bool has_company) {
    uint32_t count = (layer->maintain == NULL ? 1u : 0u) + (layer->check == NULL ? 1u : 0u);
    if (layer->backup == NULL || !reopens) count += 2;
    if (layer->suspend == NULL) return count + 3;
    return count + (reopens ? 0u : 1u) + (has_company ? 0u : 1u);
}

static void the_volatile_layer_keeps_the_contract(void **state) {
    (void)state;
    const uar_persistence *layer = uar_persistence_volatile();
    uint32_t skipped = 2 + OF_REOPENING + OF_LAYERS + careless(layer, false, false); /* no open, no location */
    findings f = examine(layer, full);
    assert_kept(&f, skipped);
}

/* ---- the SQLite layer ---- */

typedef struct file_world {
    char folder[32], path[64], copy[64];
    uar_persistence_source source;
} file_world;

static const uar_persistence *open_file(void *ctx) {
    const file_world *w = ctx;
    return uar_persistence_sqlite(w->path, NULL);
}

static const uar_persistence *open_copy(void *ctx, const char *path) {
    (void)ctx;
    return uar_persistence_sqlite(path, NULL);
}

static void file_world_make(file_world *w, bool one_at_a_time) {
    strcpy(w->folder, "/tmp/uar-contract-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    snprintf(w->path, sizeof w->path, "%s/state.db", w->folder);
    snprintf(w->copy, sizeof w->copy, "%s/copy.db", w->folder);
    uar_persistence_source_init(&w->source);
    w->source.ctx = w;
    w->source.open_another = open_file;
    w->source.one_at_a_time = one_at_a_time;
    w->source.backup_path = w->copy;
    w->source.open_backup = open_copy;
}

static void file_world_remove(const file_world *w) {
    assert_int_equal(unlink(w->path), 0);
    assert_int_equal(rmdir(w->folder), 0); /* and nothing else is left */
}

static uint32_t sqlite_careless(bool reopens, bool has_company) {
    const uar_persistence *layer = uar_persistence_sqlite("unused", NULL);
    uint32_t count = careless(layer, reopens, has_company);
    uar_persistence_free(layer);
    return count;
}

static void the_sqlite_layer_keeps_the_contract(void **state) {
    (void)state;
    file_world w;
    file_world_make(&w, false);
    findings f = examine_source(&w.source, full);
    assert_kept(&f, OF_OVERLAP + sqlite_careless(true, true));
    /* And once more over what the first run left in the file. */
    f = examine_source(&w.source, brief);
    assert_kept(&f, OF_OVERLAP + sqlite_careless(true, true));
    file_world_remove(&w);
}

static void the_sqlite_layer_keeps_the_contract_opened_once_at_a_time(void **state) {
    (void)state;
    file_world w;
    file_world_make(&w, true);
    findings f = examine_source(&w.source, brief);
    assert_kept(&f, OF_OVERLAP + OF_LAYERS + sqlite_careless(true, false));
    assert_true(f.skipped[110] && f.tried[100] && f.skipped[121] && f.tried[122]);
    file_world_remove(&w);
}

/* ---- layers that are right in other ways ---- */

static void a_layer_that_answers_within_the_call_passes(void **state) {
    (void)state;
    findings f = examine(hostile_new(HOSTILE_NONE), full);
    assert_kept(&f, OF_REOPENING + OF_LAYERS + OF_CARE);
}

static void a_layer_that_answers_later_on_another_thread_passes(void **state) {
    (void)state;
    findings f = examine(hostile_new(HOSTILE_LATE), brief);
    assert_kept(&f, OF_REOPENING + OF_LAYERS + OF_CARE);
}

static void layers_in_memory_on_the_same_data_pass(void **state) {
    (void)state;
    static const hostile_way ways_that_pass[] = { HOSTILE_NONE, HOSTILE_LATE };
    for (size_t i = 0; i < 2; i++) {
        hostile_source source = hostile_source_new(ways_that_pass[i], NULL);
        findings f = examine_source(&source.door, brief);
        hostile_source_free(&source);
        assert_kept(&f, OF_CARE);
    }
}

/* ---- layers that are wrong ---- */

static const struct {
    const char *name, *what;
    uint32_t requirement;
    bool is_narrow;
} ways[] = {
#define WAY(name, number, what) { #name, what, number, false },
    HOSTILE_WAYS(WAY)
#undef WAY
#define WAY(name, number, what) { #name, what, number, true },
        HOSTILE_NARROW_WAYS(WAY)
#undef WAY
};

static findings examine_hostile(hostile_way way) {
    if (ways[way].requirement < 100) return examine(hostile_new(way), brief);
    char path[] = "/tmp/uar-contract-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    hostile_source source = hostile_source_new(way, path);
    findings f = examine_source(&source.door, brief);
    hostile_source_free(&source);
    return f;
}

static void each_way_to_break_the_contract_is_caught_by_its_requirement(void **state) {
    (void)state;
    size_t missed = 0;
    for (int way = 0; way < HOSTILE_COUNT; way++) {
        uint32_t requirement = ways[way].requirement;
        if (requirement == 0) continue;
        findings f = examine_hostile((hostile_way)way);
        bool is_caught = f.failed[requirement] && f.status == UAR_E_INVALID && f.err.message[0] != '\0';
        if (!is_caught)
            print_message("%s (%s) was not caught by %u\n", ways[way].name, ways[way].what, (unsigned)requirement);
        for (uint32_t other = 1; other < NUMBERS && ways[way].is_narrow; other++)
            if (f.failed[other] && other != requirement) {
                print_message("%s (%s) was caught by %u as well\n", ways[way].name, ways[way].what, (unsigned)other);
                is_caught = false;
            }
        missed += !is_caught;
    }
    assert_int_equal(missed, 0);
    assert_int_equal(uar_live_objects(), 0);
}

static bool is_named(uint32_t requirement) {
    for (int way = 0; way < HOSTILE_COUNT; way++)
        if (ways[way].requirement == requirement) return true;
    return false;
}

static void nearly_every_requirement_has_a_layer_that_breaks_it(void **state) {
    (void)state;
    size_t named = 0, count = 0;
    for (size_t g = 0; g < check_groups_count; g++)
        for (size_t i = 0; i < check_groups[g]->count; i++) {
            uint32_t number = check_groups[g]->requirements[i].number;
            bool is_new = (number >= 34 && number < 40) || (number >= 56 && number < 60) ||
                          (number >= 75 && number < 80) || number >= 86;
            if (is_new && !is_named(number)) fail_msg("no layer breaks requirement %u", (unsigned)number);
            named += is_named(number);
            count++;
        }
    assert_int_equal(count + 3, REQUIREMENTS); /* three of the door */
    assert_true(named >= 90);
}

/* ---- the report ---- */

static void keep_detail(void *ctx, const uar_requirement *r) {
    if (r->outcome == UAR_REQUIREMENT_BROKEN) snprintf(ctx, 300, "%u %s", (unsigned)r->number, r->detail);
}

static void a_fault_says_what_was_done_what_was_expected_and_what_came(void **state) {
    (void)state;
    static const struct {
        hostile_way way;
        const char *detail;
    } cases[] = {
        { HOSTILE_LOSES_PAGE_END,
          "57 record \"length-0019\": its blob of 4096 bytes came back with 4095, and differs from byte 4095 on" },
        { HOSTILE_SIGNED_LIMIT, "75 a list by key of parent \"p\", at most 4294967295: expected 2 records, came 0" },
        { HOSTILE_DELETE_NEEDS_RECORD, "34 a delete with expected 0 where nothing is stored, and a put: expected "
                                       "UAR_OK, came UAR_E_CONFLICT" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hostile_source source = hostile_source_new(cases[i].way, NULL);
        uar_persistence_report report;
        char detail[300] = "";
        assert_int_equal(check_run_with(&report, &source.door, brief, keep_detail, detail, NULL), UAR_E_INVALID);
        hostile_source_free(&source);
        assert_string_equal(detail, cases[i].detail);
    }
}

static const uar_persistence *no_layer(void *ctx) {
    (void)ctx;
    return NULL;
}

static void a_source_that_gives_nothing_is_refused(void **state) {
    (void)state;
    uar_persistence_report report;
    uar_persistence_source source;
    uar_persistence_source_init(&source);
    assert_int_equal(uar_persistence_check_with(&report, &source, NULL, NULL, NULL), UAR_E_INVALID);
    source.open_another = no_layer;
    assert_int_equal(uar_persistence_check_with(&report, &source, NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_persistence_check_with(&report, NULL, NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_persistence_check_with(NULL, &source, NULL, NULL, NULL), UAR_E_INVALID);
}

/* Gives one layer and then no more. */
static const uar_persistence *one_layer(void *ctx) {
    bool *is_given = ctx;
    if (*is_given) return NULL;
    *is_given = true;
    return uar_persistence_volatile();
}

static void data_that_can_not_be_opened_again_fails_what_follows(void **state) {
    (void)state;
    bool is_given = false;
    uar_persistence_source source;
    uar_persistence_source_init(&source);
    source.ctx = &is_given;
    source.open_another = one_layer;
    findings f = examine_source(&source, brief);
    assert_int_equal(f.status, UAR_E_INVALID);
    assert_true(f.failed[100] && f.failed[101] && f.failed[110]);
    assert_false(f.failed[93]);
    assert_int_equal(uar_live_objects(), 0);
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

static void the_sqlite_layer_alone_keeps_the_contract_and_no_record_is_left(void **state) {
    (void)state;
    file_world w;
    file_world_make(&w, true);
    findings f = examine(uar_persistence_sqlite(w.path, NULL), brief);
    assert_kept(&f, OF_OVERLAP + OF_REOPENING + OF_LAYERS + sqlite_careless(false, false));
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(w.path, &db), SQLITE_OK);
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM record", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(s, 0), 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    file_world_remove(&w);
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
        cmocka_unit_test(the_sqlite_layer_keeps_the_contract_opened_once_at_a_time),
        cmocka_unit_test(the_sqlite_layer_alone_keeps_the_contract_and_no_record_is_left),
        cmocka_unit_test(the_kit_writes_only_to_owners_of_its_own_and_destroys_the_layer_once),
        cmocka_unit_test(the_kit_needs_a_layer_and_a_report),
        cmocka_unit_test(a_layer_with_unknown_fields_is_refused),
        cmocka_unit_test(a_source_that_gives_nothing_is_refused),
        cmocka_unit_test(data_that_can_not_be_opened_again_fails_what_follows),
        cmocka_unit_test(a_layer_that_answers_within_the_call_passes),
        cmocka_unit_test(a_layer_that_answers_later_on_another_thread_passes),
        cmocka_unit_test(layers_in_memory_on_the_same_data_pass),
        cmocka_unit_test(a_fault_says_what_was_done_what_was_expected_and_what_came),
        cmocka_unit_test(nearly_every_requirement_has_a_layer_that_breaks_it),
        cmocka_unit_test(each_way_to_break_the_contract_is_caught_by_its_requirement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
