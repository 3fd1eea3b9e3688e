/* A run and the embedder of its memory: nobody's thread waits for it, and what it doesn't say in time is done without. */
#include "test_run_fixture.h"

#include <stdio.h>
#include <unistd.h>

#include <uar/memory.h>

#include "support/embedder.h"

typedef struct scene {
    test_embedder e;
    char folder[256], path[300];
    uar_memory *memory;
    host *h;
    int64_t live;
} scene;

static void begin(scene *s, uar_threading threading, uint32_t timeout_ms) {
    s->live = uar_live_objects();
    embedder_init(&s->e, "words-32");
    (void)snprintf(s->folder, sizeof s->folder, "%s", fixture_folder());
    (void)snprintf(s->path, sizeof s->path, "%s/memory.db", s->folder);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = &s->e.door;
    options.embed_timeout_ms = timeout_ms;
    s->memory = uar_memory_open(s->path, &options);
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("me") };
    uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of("My cat is called Tiger") };
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, s->memory, &who, &d, NULL), UAR_OK);
    s->h =
        fixture_open(&(host_options){ .script = HELLO, .threading = threading, .memory = s->memory, .repeats = true });
}

static uar_run_id ask(scene *s, const char *input) {
    uar_run_id id;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = input };
    assert_int_equal(uar_run_start(&id, host_runtime(s->h), &q, NULL), UAR_OK);
    return id;
}

static void await_kept(scene *s) {
    for (int i = 0; i < 500 && embedder_kept(&s->e) == 0; i++)
        host_rest(s->h, 5);
    assert_int_equal(embedder_kept(&s->e), 1);
}

static void finish(scene *s) {
    assert_int_equal(host_close(s->h, UAR_CLOSE_PARK), UAR_OK);
    uar_memory_free(s->memory);
    assert_int_equal(atomic_load(&s->e.destroyed), 1);
    embedder_dispose(&s->e);
    fixture_remove(s->folder);
    assert_int_equal(uar_live_objects(), s->live);
}

static void an_answer_that_comes_while_the_host_pumps_is_used(void **state) {
    (void)state;
    scene s;
    begin(&s, UAR_THREADS_MANUAL, 60000);
    s.e.way = EMBEDDER_NEVER;
    uar_run_id id = ask(&s, "What is my cat called?");
    await_kept(&s);
    assert_int_equal(host_model_calls(s.h), 0);
    s.e.way = EMBEDDER_ANSWERS;
    assert_int_equal(embedder_answer(&s.e), UAR_OK);
    uar_outcome out;
    assert_int_equal(host_await(s.h, id, &out), UAR_OK);
    assert_int_equal(host_count(s.h, "MemoryRecall"), 1);
    assert_int_equal(host_count(s.h, "Error"), 0);
    finish(&s);
}

static void test_M2_without_an_answer_in_time_recall_is_by_words_and_says_so(void **state) {
    (void)state;
    const uar_threading both[] = { UAR_THREADS_MANUAL, UAR_THREADS_POOL };
    for (size_t i = 0; i < 2; i++) {
        scene s;
        begin(&s, both[i], 50);
        s.e.way = EMBEDDER_NEVER;
        uar_outcome out;
        assert_int_equal(host_say(s.h, "What is my cat called?", &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE);
        assert_int_equal(host_count(s.h, "MemoryRecall"), 1);
        assert_int_equal(
            host_count(s.h, "Error {\"code\":\"UAR_E_TIMEOUT\",\"message\":\"memory was searched by words"), 1);
        assert_int_equal(embedder_answer(&s.e), UAR_E_STALE);
        finish(&s);
    }
}

static void an_embedder_that_fails_does_not_fail_the_run(void **state) {
    (void)state;
    scene s;
    begin(&s, UAR_THREADS_POOL, 60000);
    s.e.way = EMBEDDER_FAILS;
    uar_outcome out;
    assert_int_equal(host_say(s.h, "What is my cat called?", &out), UAR_OK);
    assert_int_equal(host_count(s.h, "MemoryRecall"), 1);
    assert_int_equal(host_count(s.h, "Error {\"code\":\"UAR_E_NETWORK\""), 1);
    finish(&s);
}

static void test_X1_a_cancel_cuts_the_wait_short(void **state) {
    (void)state;
    const uar_threading both[] = { UAR_THREADS_MANUAL, UAR_THREADS_POOL };
    for (size_t i = 0; i < 2; i++) {
        scene s;
        begin(&s, both[i], UAR_FOREVER);
        s.e.way = EMBEDDER_NEVER;
        uar_run_id id = ask(&s, "What is my cat called?");
        await_kept(&s);
        assert_int_equal(uar_run_cancel(host_runtime(s.h), id, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
        uar_outcome out;
        assert_int_equal(host_await(s.h, id, &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_CANCELLED);
        assert_int_equal(host_count(s.h, "Error"), 0);
        finish(&s);
    }
}

static void closing_does_not_wait_for_the_embedder(void **state) {
    (void)state;
    const uar_threading both[] = { UAR_THREADS_MANUAL, UAR_THREADS_POOL };
    for (size_t i = 0; i < 2; i++) {
        scene s;
        begin(&s, both[i], UAR_FOREVER);
        s.e.way = EMBEDDER_NEVER;
        (void)ask(&s, "What is my cat called?");
        await_kept(&s);
        finish(&s);
    }
}

static void what_is_captured_is_embedded_ahead_too(void **state) {
    (void)state;
    scene s;
    begin(&s, UAR_THREADS_MANUAL, 60000);
    uar_outcome out;
    assert_int_equal(host_say(s.h, "I live in Oslo.", &out), UAR_OK);
    assert_true(host_hears_closed(s.h, 1));
    assert_int_equal(host_count(s.h, "MemoryMutation"), 1);
    uar_memory_embedding embedding;
    uar_memory_embedding_init(&embedding);
    assert_int_equal(uar_memory_embedding_sync(&embedding, s.memory, NULL), UAR_OK);
    assert_int_equal(embedding.embedded, 2);
    assert_int_equal(atomic_load(&s.e.texts), 3); /* the record, the question, the capture: each once */
    finish(&s);
}

static void what_is_captured_without_an_answer_is_embedded_later(void **state) {
    (void)state;
    scene s;
    begin(&s, UAR_THREADS_MANUAL, 50);
    s.e.way = EMBEDDER_NEVER;
    uar_outcome out;
    assert_int_equal(host_say(s.h, "I live in Oslo.", &out), UAR_OK);
    assert_true(host_hears_closed(s.h, 1));
    assert_int_equal(host_count(s.h, "MemoryMutation"), 1);
    uar_memory_embedding embedding;
    uar_memory_embedding_init(&embedding);
    assert_int_equal(uar_memory_embedding_sync(&embedding, s.memory, NULL), UAR_OK);
    assert_int_equal(embedding.unembedded, 1);
    embedder_let_go(&s.e);
    s.e.way = EMBEDDER_ANSWERS;
    assert_int_equal(uar_memory_reembed_sync(s.memory, NULL, NULL, NULL), UAR_OK);
    finish(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_comes_while_the_host_pumps_is_used),
        cmocka_unit_test(test_M2_without_an_answer_in_time_recall_is_by_words_and_says_so),
        cmocka_unit_test(an_embedder_that_fails_does_not_fail_the_run),
        cmocka_unit_test(test_X1_a_cancel_cuts_the_wait_short),
        cmocka_unit_test(closing_does_not_wait_for_the_embedder),
        cmocka_unit_test(what_is_captured_is_embedded_ahead_too),
        cmocka_unit_test(what_is_captured_without_an_answer_is_embedded_later),
    };
    return cmocka_run_group_tests_name("a run and the embedder", tests, NULL, NULL);
}
