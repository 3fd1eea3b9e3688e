/* The door to a memory's embedder: what it checks, how long it waits, and who may call what from inside. */
#include "test_memory_embed_fixture.h"

#include <math.h>

#include "memory/service.h"
#include "support/probe_alloc.h"

static uar_status embed(float **out, embed_fixture *x, uar_embed_purpose purpose, const char *text, uar_error *err) {
    uar_str one = uar_str_of(text);
    return memory_embed(out, x->memory, purpose, &one, 1, err);
}

static uar_status embed_wrongly(embed_fixture *x, embedder_way way, uar_error *err) {
    float *untouched = NULL;
    x->e.way = way;
    uar_status status = embed(&untouched, x, UAR_EMBED_PASSAGE, "a walrus", err);
    assert_null(untouched);
    return status;
}

static void vectors_leave_with_length_one(void **state) {
    embed_fixture *x = *state;
    x->e.scale = 17.5f;
    float *v = NULL;
    assert_int_equal(embed(&v, x, UAR_EMBED_PASSAGE, "the walrus lives near the harbour", NULL), UAR_OK);
    double sum = 0;
    for (size_t i = 0; i < TEST_EMBEDDER_DIMS; i++)
        sum += (double)v[i] * (double)v[i];
    assert_true(fabs(sum - 1) < 1e-5);
    alloc_free(&x->memory->alloc, v);
}

static void an_answer_from_another_thread_is_waited_for(void **state) {
    embed_fixture *x = *state;
    x->e.way = EMBEDDER_SLOW;
    reopen_with(x, 60000, NULL);
    float *v = NULL, expected[TEST_EMBEDDER_DIMS];
    assert_int_equal(embed(&v, x, UAR_EMBED_PASSAGE, "a walrus", NULL), UAR_OK);
    embedder_vector(expected, TEST_EMBEDDER_DIMS, 1, STR("a walrus"));
    for (size_t i = 0; i < TEST_EMBEDDER_DIMS; i++)
        assert_true(fabsf(v[i] - expected[i]) < 1e-5f);
    alloc_free(&x->memory->alloc, v);
}

static void many_texts_go_in_calls_of_at_most_64(void **state) {
    embed_fixture *x = *state;
    uar_str texts[130];
    char words[130][16];
    for (size_t i = 0; i < 130; i++) {
        (void)snprintf(words[i], sizeof words[i], "word%zu", i);
        texts[i] = uar_str_of(words[i]);
    }
    float *v = NULL, expected[TEST_EMBEDDER_DIMS];
    assert_int_equal(memory_embed(&v, x->memory, UAR_EMBED_PASSAGE, texts, 130, NULL), UAR_OK);
    assert_int_equal(atomic_load(&x->e.calls), 3);
    assert_int_equal(atomic_load(&x->e.texts), 130);
    assert_int_equal(atomic_load(&x->e.largest), 64);
    embedder_vector(expected, TEST_EMBEDDER_DIMS, 1, texts[129]);
    assert_true(fabsf(v[129 * TEST_EMBEDDER_DIMS] - expected[0]) < 1e-5f);
    alloc_free(&x->memory->alloc, v);
}

static void the_same_question_is_embedded_once(void **state) {
    embed_fixture *x = *state;
    uar_str questions[] = { STR_INIT("where is the walrus"), STR_INIT("who is Ada"), STR_INIT("where is the walrus") };
    for (size_t round = 0; round < 3; round++) {
        float *v = NULL;
        assert_int_equal(memory_embed(&v, x->memory, UAR_EMBED_QUERY, questions, round + 1, NULL), UAR_OK);
        alloc_free(&x->memory->alloc, v);
    }
    assert_int_equal(atomic_load(&x->e.texts), 2);
}

static void ask_many(embed_fixture *x, size_t count, const char *expected_mode) {
    uar_identity who = user_of("u1");
    uar_memory_query queries[40];
    uar_memory_hits *hits[40];
    char texts[40][32];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "who is number %zu", i);
        queries[i] = (uar_memory_query){ uar_str_of(texts[i]), NULL, 3 };
    }
    assert_int_equal(uar_memory_search_batch_sync(hits, x->memory, &who, queries, count, NULL), UAR_OK);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(hits[i]->mode, expected_mode);
        uar_memory_hits_free(hits[i]);
    }
}

static void add_one(embed_fixture *x) {
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("number 3 is the walrus");
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, x->memory, &who, &d, NULL), UAR_OK);
    atomic_store(&x->e.calls, 0);
}

static void questions_of_a_batch_go_together(void **state) {
    embed_fixture *x = *state;
    add_one(x);
    ask_many(x, 40, "hybrid");
    assert_int_equal(atomic_load(&x->e.calls), 2); /* 32 and 8 */
}

static void a_batch_waits_once_for_an_embedder_that_is_silent(void **state) {
    embed_fixture *x = *state;
    add_one(x);
    reopen_with(x, 30, NULL);
    x->e.way = EMBEDDER_NEVER;
    ask_many(x, 10, "lexical");
    assert_int_equal(atomic_load(&x->e.calls), 1);
}

static void the_oldest_question_is_forgotten_first(void **state) {
    embed_fixture *x = *state;
    char text[32];
    for (size_t i = 0; i <= EMBED_CACHE; i++) {
        float *v = NULL;
        (void)snprintf(text, sizeof text, "question %zu", i);
        assert_int_equal(embed(&v, x, UAR_EMBED_QUERY, text, NULL), UAR_OK);
        alloc_free(&x->memory->alloc, v);
    }
    int calls = atomic_load(&x->e.calls);
    float *v = NULL;
    assert_int_equal(embed(&v, x, UAR_EMBED_QUERY, "question 1", NULL), UAR_OK);
    alloc_free(&x->memory->alloc, v);
    assert_int_equal(atomic_load(&x->e.calls), calls);
    assert_int_equal(embed(&v, x, UAR_EMBED_QUERY, "question 0", NULL), UAR_OK);
    alloc_free(&x->memory->alloc, v);
    assert_int_equal(atomic_load(&x->e.calls), calls + 1);
}

static void a_passage_is_not_taken_for_a_question(void **state) {
    embed_fixture *x = *state;
    float *v = NULL;
    assert_int_equal(embed(&v, x, UAR_EMBED_QUERY, "the same words", NULL), UAR_OK);
    alloc_free(&x->memory->alloc, v);
    assert_int_equal(embed(&v, x, UAR_EMBED_PASSAGE, "the same words", NULL), UAR_OK);
    alloc_free(&x->memory->alloc, v);
    assert_int_equal(atomic_load(&x->e.calls), 2);
}

static void a_failure_is_the_embedders_own(void **state) {
    embed_fixture *x = *state;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(embed_wrongly(x, EMBEDDER_FAILS, &err), UAR_E_NETWORK);
    assert_string_equal(err.message, "the line is down");
}

static void a_dropped_call_ends_at_once(void **state) {
    embed_fixture *x = *state;
    assert_int_equal(embed_wrongly(x, EMBEDDER_DROPS, NULL), UAR_E_DROPPED);
}

static void a_wrong_shape_is_refused(void **state) {
    embed_fixture *x = *state;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(embed_wrongly(x, EMBEDDER_TOO_FEW, &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "0 vectors of 32"));
    assert_int_equal(embed_wrongly(x, EMBEDDER_TOO_NARROW, &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "1 vectors of 31"));
}

static void a_vector_without_direction_is_refused(void **state) {
    embed_fixture *x = *state;
    assert_int_equal(embed_wrongly(x, EMBEDDER_NAN, NULL), UAR_E_INVALID);
    assert_int_equal(embed_wrongly(x, EMBEDDER_INFINITE, NULL), UAR_E_INVALID);
    assert_int_equal(embed_wrongly(x, EMBEDDER_ZERO, NULL), UAR_E_INVALID);
}

static void a_second_answer_is_stale_and_harmless(void **state) {
    embed_fixture *x = *state;
    x->e.way = EMBEDDER_TWICE;
    float *v = NULL;
    assert_int_equal(embed(&v, x, UAR_EMBED_PASSAGE, "a walrus", NULL), UAR_OK);
    alloc_free(&x->memory->alloc, v);
}

static void a_call_that_is_never_answered_ends_at_its_deadline(void **state) {
    embed_fixture *x = *state;
    reopen_with(x, 30, NULL);
    assert_int_equal(embed_wrongly(x, EMBEDDER_NEVER, NULL), UAR_E_TIMEOUT);
    assert_int_equal(embedder_kept(&x->e), 1);
}

static void test_N1_an_answer_after_the_deadline_is_stale(void **state) {
    embed_fixture *x = *state;
    reopen_with(x, 30, NULL);
    assert_int_equal(embed_wrongly(x, EMBEDDER_NEVER, NULL), UAR_E_TIMEOUT);
    assert_int_equal(embedder_answer(&x->e), UAR_E_STALE);
}

static void test_N1_an_answer_after_the_memory_is_gone_is_stale(void **state) {
    embed_fixture *x = *state;
    reopen_with(x, 30, NULL);
    assert_int_equal(embed_wrongly(x, EMBEDDER_NEVER, NULL), UAR_E_TIMEOUT);
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_int_equal(embedder_answer(&x->e), UAR_E_STALE);
}

typedef struct inside {
    uar_memory *memory;
    uar_status search, add, check, state;
} inside;

static void call_from_inside(void *ctx) {
    inside *in = ctx;
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("from inside");
    uar_memory_hits *hits = NULL;
    uar_memory_change change;
    in->search = uar_memory_search_sync(&hits, in->memory, &who, STR("walrus"), NULL, 5, NULL);
    in->add = uar_memory_add_sync(&change, in->memory, &who, &d, NULL);
    in->check = uar_memory_check_sync(in->memory, NULL);
    in->state = uar_memory_state(in->memory, NULL) == UAR_MEMORY_READY ? UAR_OK : UAR_E_INTERNAL;
}

static void test_N1_calls_that_wait_are_refused_inside_the_embedder(void **state) {
    embed_fixture *x = *state;
    inside in = { x->memory, UAR_OK, UAR_OK, UAR_OK, UAR_E_INTERNAL };
    x->e.hook = call_from_inside;
    x->e.hook_ctx = &in;
    float *v = NULL;
    assert_int_equal(embed(&v, x, UAR_EMBED_PASSAGE, "a walrus", NULL), UAR_OK);
    alloc_free(&x->memory->alloc, v);
    assert_int_equal(in.search, UAR_E_WOULD_DEADLOCK);
    assert_int_equal(in.add, UAR_E_WOULD_DEADLOCK);
    assert_int_equal(in.check, UAR_E_WOULD_DEADLOCK);
    assert_int_equal(in.state, UAR_OK);
}

static void free_from_inside(void *ctx) {
    embed_fixture *x = ctx;
    uar_memory *memory = x->memory;
    x->memory = NULL;
    uar_memory_free(memory);
}

static void test_N1_the_memory_may_be_freed_inside_the_embedder(void **state) {
    embed_fixture *x = *state;
    x->e.hook = free_from_inside;
    x->e.hook_ctx = x;
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("written all the same");
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, x->memory, &who, &d, NULL), UAR_OK);
    assert_int_equal(atomic_load(&x->e.destroyed), 1);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_ADDED);
}

static void the_embedder_lexical_has_no_vectors(void **state) {
    memory_fixture *f = *state;
    float *v = NULL;
    uar_str text = STR("a walrus");
    assert_int_equal(memory_embed(&v, f->memory, UAR_EMBED_QUERY, &text, 1, NULL), UAR_E_UNSUPPORTED);
    assert_null(v);
}

static int64_t model_of(uar_memory *memory) {
    mutex_lock(&memory->lock);
    int64_t model = memory->embed.model;
    mutex_unlock(&memory->lock);
    return model;
}

static void test_M4_each_model_of_a_name_and_size_has_a_number_of_its_own(void **state) {
    embed_fixture *x = *state;
    int64_t first = model_of(x->memory);
    assert_true(first > 0);
    reopen_with(x, 300, NULL);
    assert_int_equal(model_of(x->memory), first);
    x->e.door.dims = 16;
    reopen_with(x, 300, NULL);
    int64_t narrow = model_of(x->memory);
    x->e.door.dims = TEST_EMBEDDER_DIMS;
    x->e.door.id = "other-32";
    reopen_with(x, 300, NULL);
    int64_t other = model_of(x->memory);
    assert_true(narrow != first && other != first && other != narrow);
}

static void too_many_dimensions_are_refused_at_opening(void **state) {
    embed_fixture *x = *state;
    x->e.door.dims = EMBED_DIMS_MAX + 1;
    reopen_with(x, 300, NULL);
    uar_error why = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_state(x->memory, &why), UAR_MEMORY_UNAVAILABLE);
    assert_int_equal(why.code, UAR_E_INVALID);
}

static void sweep(embed_fixture *x, bool for_good) {
    probe_alloc probe;
    probe_alloc_init(&probe);
    reopen_with(x, 300, &probe.door);
    assert_int_equal(uar_memory_state(x->memory, NULL), UAR_MEMORY_READY);
    uar_str texts[] = { STR_INIT("one"), STR_INIT("two"), STR_INIT("one") };
    for (unsigned long at = 1;; at++) {
        float *v = NULL;
        char text[32];
        (void)snprintf(text, sizeof text, "question %lu", at);
        texts[1] = uar_str_of(text);
        long before = probe.alive;
        probe_alloc_arm(&probe, at, for_good);
        uar_status status = memory_embed(&v, x->memory, UAR_EMBED_QUERY, texts, 3, NULL);
        bool failed = probe_alloc_has_failed(&probe);
        probe_alloc_arm(&probe, 0, false);
        if (status != UAR_OK) {
            assert_int_equal(status, UAR_E_NOMEM);
            assert_null(v);
            assert_int_equal(probe.alive, before);
        }
        alloc_free(&x->memory->alloc, v);
        if (!failed) break;
    }
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_int_equal(probe.alive, 0);
}

static void every_allocation_of_a_call_may_fail(void **state) {
    sweep(*state, false);
    atomic_store(&((embed_fixture *)*state)->e.destroyed, 0);
    sweep(*state, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EMBED_TEST(vectors_leave_with_length_one),
        EMBED_TEST(an_answer_from_another_thread_is_waited_for),
        EMBED_TEST(many_texts_go_in_calls_of_at_most_64),
        EMBED_TEST(the_same_question_is_embedded_once),
        EMBED_TEST(questions_of_a_batch_go_together),
        EMBED_TEST(a_batch_waits_once_for_an_embedder_that_is_silent),
        EMBED_TEST(the_oldest_question_is_forgotten_first),
        EMBED_TEST(a_passage_is_not_taken_for_a_question),
        EMBED_TEST(a_failure_is_the_embedders_own),
        EMBED_TEST(a_dropped_call_ends_at_once),
        EMBED_TEST(a_wrong_shape_is_refused),
        EMBED_TEST(a_vector_without_direction_is_refused),
        EMBED_TEST(a_second_answer_is_stale_and_harmless),
        EMBED_TEST(a_call_that_is_never_answered_ends_at_its_deadline),
        EMBED_TEST(test_N1_an_answer_after_the_deadline_is_stale),
        EMBED_TEST(test_N1_an_answer_after_the_memory_is_gone_is_stale),
        EMBED_TEST(test_N1_calls_that_wait_are_refused_inside_the_embedder),
        EMBED_TEST(test_N1_the_memory_may_be_freed_inside_the_embedder),
        MEMORY_TEST(the_embedder_lexical_has_no_vectors),
        EMBED_TEST(test_M4_each_model_of_a_name_and_size_has_a_number_of_its_own),
        EMBED_TEST(too_many_dimensions_are_refused_at_opening),
        EMBED_TEST(every_allocation_of_a_call_may_fail),
    };
    return cmocka_run_group_tests_name("the door to the embedder", tests, NULL, NULL);
}
