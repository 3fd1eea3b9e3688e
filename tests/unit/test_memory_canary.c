/* M6 over the bytes of all files: a thousand records whose every trace is known. */
#include "test_memory_fixture.h"

#include "support/canary.h"

#define CANARIES 1000
#define ONE_BY_ONE 50

typedef struct traces {
    byte_scan words, terms, vectors;
} traces;

static void use_embedder(memory_fixture *f) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &f->clock;
    options.embedder = canary_embedder();
    uar_memory_free(f->memory);
    f->memory = uar_memory_open(f->path, &options);
    assert_int_equal(uar_memory_state(f->memory, NULL), UAR_MEMORY_READY);
}

static void gather(traces *t, memory_fixture *f, unsigned from, unsigned count) {
    byte_scan_init(&t->words);
    byte_scan_init(&t->terms);
    byte_scan_init(&t->vectors);
    canary_patterns(&t->words, &t->terms, &t->vectors, f->memory, from, count);
}

static void let_go(traces *t) {
    byte_scan_dispose(&t->words);
    byte_scan_dispose(&t->terms);
    byte_scan_dispose(&t->vectors);
}

static void assert_no_trace(traces *t, memory_fixture *f) {
    assert_int_equal(byte_scan_store(&t->words, f->path), 0);
    assert_int_equal(byte_scan_store(&t->terms, f->path), 0);
    assert_int_equal(byte_scan_store(&t->vectors, f->path), 0);
}

/* The scan must be able to see: each canary's word, number and vector are there before they are erased. */
static void assert_all_traces(traces *t, memory_fixture *f, unsigned count) {
    assert_true(byte_scan_store(&t->words, f->path) >= 2 * (size_t)count);
    assert_true(byte_scan_store(&t->terms, f->path) >= count);
    assert_true(byte_scan_store(&t->vectors, f->path) >= 2 * (size_t)count);
}

static uar_memory_filter all_canaries(void) {
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.category = STR("canary");
    return filter;
}

static void test_M6_a_thousand_canaries_leave_no_word_no_term_and_no_vector(void **state) {
    memory_fixture *f = *state;
    use_embedder(f);
    canary_write(f->memory, 0, CANARIES);
    traces t;
    gather(&t, f, 0, CANARIES);
    assert_all_traces(&t, f, CANARIES);
    uar_identity who = user_of("ann");
    uar_memory_filter filter = all_canaries();
    uar_memory_records *r = NULL;
    assert_int_equal(uar_memory_list_sync(&r, f->memory, &who, &filter, uar_str_of(NULL), ONE_BY_ONE, NULL), UAR_OK);
    for (size_t i = 0; i < r->count; i++) {
        uar_memory_change gone;
        assert_int_equal(uar_memory_delete_sync(&gone, f->memory, &who, r->records[i].id, NULL), UAR_OK);
        assert_int_equal(gone.outcome, UAR_MEMORY_OUTCOME_ERASED);
    }
    uar_memory_records_free(r);
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_delete_where_sync(&sum, f->memory, &who, &filter, NULL), UAR_OK);
    assert_int_equal(sum.erased, CANARIES - ONE_BY_ONE);
    assert_no_trace(&t, f);
    assert_int_equal(count_of(f, "ann"), CANARIES);
    assert_true(finds(f, "ann", "sparrow 7", "sparrow 7 sings in the street"));
    assert_sound(f);
    let_go(&t);
}

/* What is rewritten is forgotten as well: old versions stay in history, and go with the record. */
static void test_M6_rewritten_and_expired_canaries_leave_nothing_either(void **state) {
    memory_fixture *f = *state;
    use_embedder(f);
    canary_write(f->memory, 5000, 60);
    uar_identity who = user_of("ann");
    uar_memory_filter filter = all_canaries();
    uar_memory_records *r = NULL;
    assert_int_equal(uar_memory_list_sync(&r, f->memory, &who, &filter, uar_str_of(NULL), 60, NULL), UAR_OK);
    for (size_t i = 0; i < r->count; i++) {
        uar_memory_patch p;
        uar_memory_patch_init(&p);
        char text[64];
        snprintf(text, sizeof text, "a plain text %zu", i);
        p.content = uar_str_of(text);
        p.expires_ms = FIXTURE_START + 3600000;
        uar_memory_change change;
        atomic_fetch_add(&f->now, 1);
        assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, r->records[i].id, &p, NULL), UAR_OK);
    }
    uar_memory_records_free(r);
    traces t;
    gather(&t, f, 5000, 60);
    assert_all_traces(&t, f, 60);
    atomic_store(&f->now, FIXTURE_START + 3600000);
    uint64_t erased = 0;
    assert_int_equal(uar_memory_sweep_sync(&erased, f->memory, NULL), UAR_OK);
    assert_int_equal(erased, 60);
    assert_no_trace(&t, f);
    assert_int_equal(count_of(f, "ann"), 60);
    assert_sound(f);
    let_go(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M6_a_thousand_canaries_leave_no_word_no_term_and_no_vector),
        MEMORY_TEST(test_M6_rewritten_and_expired_canaries_leave_nothing_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
