/* Records that expire: from their time on they are in no answer, swept or not; a sweep takes their bytes. */
#include "test_memory_fixture.h"

#include "support/byte_scan.h"

#define HOUR INT64_C(3600000)

static uar_memory_change add_until(memory_fixture *f, const char *text, int64_t expires_ms) {
    uar_memory_draft d = draft_of(text);
    d.expires_ms = expires_ms;
    return add_draft(f, "ann", &d);
}

static uint64_t sweep(memory_fixture *f) {
    uint64_t erased = 99;
    assert_int_equal(uar_memory_sweep_sync(&erased, f->memory, NULL), UAR_OK);
    return erased;
}

static uar_status nothing_is_written(void *ctx, uar_str line) {
    (void)line;
    ++*(int *)ctx;
    return UAR_OK;
}

static void assert_in_no_answer(memory_fixture *f, uar_uuid id) {
    uar_identity who = user_of("ann");
    uar_memory_records *r = NULL;
    assert_int_equal(uar_memory_get_sync(&r, f->memory, &who, id, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_history_sync(&r, f->memory, &who, id, NULL), UAR_E_NOT_FOUND);
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    for (int way = 0; way < 3; way++) {
        filter.include_past = way == 1;
        filter.as_of_ms = way == 2 ? FIXTURE_START + 1 : 0;
        assert_int_equal(uar_memory_list_sync(&r, f->memory, &who, &filter, uar_str_of(NULL), 10, NULL), UAR_OK);
        assert_int_equal(r->count, 0);
        uar_memory_records_free(r);
        uar_memory_hits *hits = search_text(f, "ann", "walrus", &filter);
        assert_int_equal(hits->count, 0);
        uar_memory_hits_free(hits);
        int lines = 0;
        assert_int_equal(uar_memory_export_sync(f->memory, &who, &filter, nothing_is_written, &lines, NULL), UAR_OK);
        assert_int_equal(lines, 0);
    }
    assert_int_equal(count_of(f, "ann"), 0);
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("another walrus");
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, id, &p, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_delete_sync(&change, f->memory, &who, id, NULL), UAR_E_NOT_FOUND);
}

static void an_expired_record_is_in_no_answer_before_any_sweep(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_until(f, "the walrus sleeps", FIXTURE_START + HOUR);
    atomic_store(&f->now, FIXTURE_START + HOUR - 1);
    assert_int_equal(count_of(f, "ann"), 1);
    assert_true(finds(f, "ann", "walrus", "the walrus sleeps"));
    atomic_store(&f->now, FIXTURE_START + HOUR);
    assert_in_no_answer(f, made.id);
}

/* More of them than a page or an answer has room for. */
static void expired_records_take_nobodys_place(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 40; i++) {
        char text[48];
        snprintf(text, sizeof text, "walrus walrus walrus %d", i);
        (void)add_until(f, text, FIXTURE_START + HOUR);
    }
    (void)add_text(f, "ann", "one walrus among many other words that is still there");
    atomic_store(&f->now, FIXTURE_START + HOUR);
    assert_true(finds(f, "ann", "walrus", "one walrus among many other words that is still there"));
    uar_identity who = user_of("ann");
    uar_memory_records *r = NULL;
    assert_int_equal(uar_memory_list_sync(&r, f->memory, &who, NULL, uar_str_of(NULL), 1, NULL), UAR_OK);
    assert_int_equal(r->count, 1);
    assert_null(r->cursor.ptr);
    uar_memory_records_free(r);
}

static void test_M6_a_sweep_takes_expired_records_with_all_versions_from_the_files(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_until(f, "canarybird-one sings", FIXTURE_START + HOUR);
    (void)add_text(f, "ann", "it stays");
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("canarybird-two sings");
    atomic_fetch_add(&f->now, 10);
    assert_int_equal(uar_memory_update_sync(&made, f->memory, &who, made.id, &p, NULL), UAR_OK);
    assert_int_equal(sweep(f), 0);
    assert_true(store_holds(f->path, "canarybird-one"));
    atomic_store(&f->now, FIXTURE_START + HOUR);
    assert_int_equal(sweep(f), 1);
    assert_false(store_holds(f->path, "canarybird"));
    assert_int_equal(count_of(f, "ann"), 1);
    assert_int_equal(sweep(f), 0);
    assert_sound(f);
}

static void a_sweep_of_many_goes_in_batches(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 300; i++) {
        char text[32];
        snprintf(text, sizeof text, "short-lived %d", i);
        (void)add_until(f, text, FIXTURE_START + HOUR + i % 2);
    }
    (void)add_text(f, "ann", "it stays");
    atomic_store(&f->now, FIXTURE_START + 2 * HOUR);
    assert_int_equal(sweep(f), 300);
    assert_false(store_holds(f->path, "short-lived"));
    assert_int_equal(count_of(f, "ann"), 1);
    assert_sound(f);
}

static void opening_sweeps(void **state) {
    memory_fixture *f = *state;
    (void)add_until(f, "canarybird sings", FIXTURE_START + HOUR);
    atomic_store(&f->now, FIXTURE_START + HOUR);
    fixture_reopen(f);
    assert_int_equal(sweep(f), 0);
    assert_false(store_holds(f->path, "canarybird"));
}

static void writes_sweep_at_most_once_a_minute(void **state) {
    memory_fixture *f = *state;
    (void)add_until(f, "canarybird sings", FIXTURE_START + 1000);
    atomic_store(&f->now, FIXTURE_START + 2000);
    (void)add_text(f, "ann", "too early for a sweep");
    assert_true(store_holds(f->path, "canarybird"));
    atomic_store(&f->now, FIXTURE_START + 60000);
    (void)add_text(f, "ann", "now is the time");
    assert_false(store_holds(f->path, "canarybird"));
    assert_int_equal(count_of(f, "ann"), 2);
}

static void a_repeat_outlives_the_shorter_of_two_times(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_until(f, "I like tea", FIXTURE_START + HOUR);
    (void)add_until(f, "i like TEA", FIXTURE_START + 3 * HOUR);
    (void)add_until(f, "I like  tea", FIXTURE_START + 2 * HOUR);
    uar_memory_records *r = get_record(f, "ann", made.id);
    assert_int_equal(r->records[0].expires_ms, FIXTURE_START + 3 * HOUR);
    uar_memory_records_free(r);
    (void)add_text(f, "ann", "I like tea");
    r = get_record(f, "ann", made.id);
    assert_int_equal(r->records[0].expires_ms, 0);
    uar_memory_records_free(r);
}

static void the_same_text_after_its_time_is_a_new_record(void **state) {
    memory_fixture *f = *state;
    uar_memory_change old = add_until(f, "I like tea", FIXTURE_START + HOUR);
    atomic_store(&f->now, FIXTURE_START + HOUR);
    uar_memory_change made = add_text(f, "ann", "I like tea");
    assert_int_equal(made.outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_false(uar_uuid_equal(old.id, made.id));
}

static void what_an_expired_fact_superseded_stays(void **state) {
    memory_fixture *f = *state;
    uar_memory_change home = add_fact(f, "ann", "home", "I live in Oslo");
    atomic_fetch_add(&f->now, 1000);
    uar_memory_draft d = draft_of("I live in a hotel");
    d.subject = STR("user");
    d.attribute = STR("home");
    d.expires_ms = FIXTURE_START + HOUR;
    assert_int_equal(add_draft(f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_SUPERSEDED);
    atomic_store(&f->now, FIXTURE_START + HOUR);
    assert_int_equal(sweep(f), 1);
    uar_memory_records_free(get_record(f, "ann", home.id));
    assert_false(store_holds(f->path, "hotel"));
    assert_sound(f);
}

static void a_patch_moves_the_time_without_a_new_version(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_until(f, "I like tea", FIXTURE_START + HOUR);
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.expires_ms = FIXTURE_START + 2 * HOUR + 1;
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_OK);
    assert_int_equal(change.revision, 1);
    uar_memory_records *r = get_record(f, "ann", made.id);
    assert_int_equal(r->records[0].expires_ms, FIXTURE_START + 2 * HOUR + 1);
    uar_memory_records_free(r);
    p.expires_ms = UAR_MEMORY_OPEN_END;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_OK);
    atomic_store(&f->now, FIXTURE_START + 9 * HOUR);
    assert_int_equal(sweep(f), 0);
    assert_int_equal(count_of(f, "ann"), 1);
}

static void times_that_passed_or_are_too_far_are_refused(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_memory_draft d = draft_of("I like tea");
    uar_memory_change change;
    const int64_t wrong[] = { FIXTURE_START, 1, -1, INT64_C(1) << 50 };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        d.expires_ms = wrong[i];
        assert_int_equal(uar_memory_add_sync(&change, f->memory, &who, &d, NULL), UAR_E_INVALID);
    }
    uar_memory_change made = add_text(f, "ann", "I like tea");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.expires_ms = FIXTURE_START;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_E_INVALID);
}

static uar_status keep_line(void *ctx, uar_str line) {
    strncat(ctx, line.ptr, line.len);
    return UAR_OK;
}

static void an_export_carries_the_time_to_another_store(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_until(f, "I like tea", FIXTURE_START + HOUR + 1);
    uar_identity boss = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    static char lines[4096];
    lines[0] = '\0';
    assert_int_equal(uar_memory_export_sync(f->memory, &boss, NULL, keep_line, lines, NULL), UAR_OK);
    assert_non_null(strstr(lines, "\"expires\":\"2025-11-30T11:53:20.001Z\""));
    uar_memory_change gone;
    assert_int_equal(uar_memory_delete_sync(&gone, f->memory, &boss, made.id, NULL), UAR_OK);
    uar_memory_imported sum;
    assert_int_equal(
        uar_memory_import_sync(&sum, f->memory, &boss, uar_str_of(lines), UAR_MEMORY_IMPORT_VERBATIM, NULL, NULL, NULL),
        UAR_OK);
    assert_int_equal(sum.added, 1);
    uar_memory_records *r = get_record(f, "ann", made.id);
    assert_int_equal(r->records[0].expires_ms, FIXTURE_START + HOUR + 1);
    uar_memory_records_free(r);
    atomic_store(&f->now, FIXTURE_START + HOUR);
    assert_int_equal(sweep(f), 0);
    atomic_store(&f->now, FIXTURE_START + HOUR + 1);
    assert_in_no_answer(f, made.id);
    assert_int_equal(sweep(f), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(an_expired_record_is_in_no_answer_before_any_sweep),
        MEMORY_TEST(expired_records_take_nobodys_place),
        MEMORY_TEST(test_M6_a_sweep_takes_expired_records_with_all_versions_from_the_files),
        MEMORY_TEST(a_sweep_of_many_goes_in_batches),
        MEMORY_TEST(opening_sweeps),
        MEMORY_TEST(writes_sweep_at_most_once_a_minute),
        MEMORY_TEST(a_repeat_outlives_the_shorter_of_two_times),
        MEMORY_TEST(the_same_text_after_its_time_is_a_new_record),
        MEMORY_TEST(what_an_expired_fact_superseded_stays),
        MEMORY_TEST(a_patch_moves_the_time_without_a_new_version),
        MEMORY_TEST(times_that_passed_or_are_too_far_are_refused),
        MEMORY_TEST(an_export_carries_the_time_to_another_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
