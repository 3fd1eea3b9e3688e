/* Batches on threads of the embedder's own and on an executor of the host; several callers at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/completion.h"
#include "base/executor.h"
#include "base/str.h"
#include "bert/bert.h"
#include "support/probe_alloc.h"
#include "support/tiny_bert.h"

enum { TEXTS = 100, CALLERS = 4 };

static uar_str text_of(size_t i) {
    static const char *const all[] = { "the cat", "unbelievable bread, sitting cats", "", "a blue abc . ! red green" };
    return uar_str_of(all[i % 4]);
}

typedef struct answer {
    mutex lock;
    condition ended;
    bool over;
    uar_status status;
    float vectors[TEXTS * TINY_HIDDEN];
} answer;

static void take(void *arg, const completion_result *result) {
    answer *a = arg;
    mutex_lock(&a->lock);
    a->status = result->status;
    if (result->status == UAR_OK) memcpy(a->vectors, result->vectors, sizeof a->vectors);
    a->over = true;
    condition_signal(&a->ended);
    mutex_unlock(&a->lock);
}

static answer *answer_new(void) {
    answer *a = calloc(1, sizeof *a);
    assert_non_null(a);
    assert_int_equal(mutex_init(&a->lock), UAR_OK);
    assert_int_equal(condition_init(&a->ended), UAR_OK);
    return a;
}

static void answer_free(answer *a) {
    condition_dispose(&a->ended);
    mutex_dispose(&a->lock);
    free(a);
}

/* Start a batch; its texts are gone when this returns. */
static uar_completion *start(answer *a, const uar_embedder *e) {
    char *copies[TEXTS];
    uar_str asked[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        copies[i] = alloc_text(&alloc_default, text_of(i));
        assert_non_null(copies[i]);
        asked[i] = uar_str_of(copies[i]);
    }
    uar_completion *done = completion_new(&alloc_default, COMPLETION_VECTORS, take, a);
    assert_non_null(done);
    completion_lend(done);
    e->embed(e->ctx, UAR_EMBED_PASSAGE, asked, TEXTS, done);
    completion_return(done);
    for (size_t i = 0; i < TEXTS; i++) {
        memset(copies[i], 'x', strlen(copies[i]));
        alloc_free(&alloc_default, copies[i]);
    }
    return done;
}

static void wait_for(answer *a) {
    mutex_lock(&a->lock);
    while (!a->over)
        (void)condition_wait(&a->ended, &a->lock, 10000);
    mutex_unlock(&a->lock);
}

static void check_vectors(const answer *a, const uar_embedder *e) {
    assert_int_equal(a->status, UAR_OK);
    for (size_t i = 0; i < 8; i++) {
        float one[TINY_HIDDEN];
        uar_str s = text_of(i);
        assert_int_equal(uar_bert_embed(one, e, UAR_EMBED_PASSAGE, &s, 1, NULL), UAR_OK);
        for (size_t j = i; j < TEXTS; j += 4)
            if (j % 4 == i % 4) assert_memory_equal(one, a->vectors + j * TINY_HIDDEN, sizeof one);
    }
}

static uar_embedder opened(const tiny_bert *t, uint32_t threads, const uar_executor *executor) {
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    uar_embedder e;
    o.threads = threads;
    o.executor = executor;
    assert_int_equal(uar_bert_open_memory(&e, &t->files, &o, NULL), UAR_OK);
    return e;
}

static void test_own_threads_give_the_vectors_of_one_thread(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        uar_embedder e = opened(&t, threads, NULL);
        answer *a[CALLERS];
        uar_completion *done[CALLERS];
        for (int i = 0; i < CALLERS; i++)
            done[i] = start(a[i] = answer_new(), &e);
        for (int i = 0; i < CALLERS; i++) {
            wait_for(a[i]);
            check_vectors(a[i], &e);
            completion_release(done[i]);
        }
        uar_bert_close(&e);
        for (int i = 0; i < CALLERS; i++)
            answer_free(a[i]);
    }
    tiny_bert_free(&t);
}

static void test_closing_with_a_batch_under_way_ends_its_call_once(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    for (int round = 0; round < 20; round++) {
        uar_embedder e = opened(&t, 2, NULL);
        answer *a = answer_new();
        uar_completion *done = start(a, &e);
        uar_bert_close(&e);
        wait_for(a);
        assert_true(a->status == UAR_OK || a->status == UAR_E_CLOSED);
        completion_release(done);
        answer_free(a);
    }
    tiny_bert_free(&t);
}

static void test_a_host_executor_runs_the_tasks_also_after_the_embedder_was_closed(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_executor manual;
    const manual_options options = { .alloc = &alloc_default };
    assert_int_equal(manual_open(&manual, &options), UAR_OK);
    uar_embedder e = opened(&t, 3, &manual), still = opened(&t, 0, NULL);
    answer *a = answer_new(), *late = answer_new();
    uar_completion *done = start(a, &e);
    assert_int_equal(manual_count(&manual), 3);
    while (manual_run_one(&manual))
        assert_true(manual_count(&manual) < 3);
    assert_true(a->over);
    check_vectors(a, &e);
    completion_release(done);
    done = start(late, &e);
    uar_bert_close(&e);
    assert_false(late->over);
    while (manual_run_one(&manual))
        continue;
    assert_true(late->over);
    assert_int_equal(late->status, UAR_E_CLOSED);
    completion_release(done);
    manual_close(&manual);
    uar_bert_close(&still);
    answer_free(a);
    answer_free(late);
    tiny_bert_free(&t);
}

static void test_a_batch_that_nobody_waits_for_is_not_computed(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_executor manual;
    const manual_options options = { .alloc = &alloc_default };
    assert_int_equal(manual_open(&manual, &options), UAR_OK);
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.executor = &manual;
    o.allocator = &probe.door;
    uar_embedder e;
    assert_int_equal(uar_bert_open_memory(&e, &t.files, &o, NULL), UAR_OK);
    answer *a = answer_new();
    uar_completion *done = start(a, &e);
    assert_true(completion_detach(done));
    unsigned long calls = probe.calls;
    while (manual_run_one(&manual))
        continue;
    assert_int_equal(probe.calls, calls);
    assert_false(a->over);
    completion_release(done);
    uar_bert_close(&e);
    assert_int_equal(probe.alive, 0);
    manual_close(&manual);
    answer_free(a);
    tiny_bert_free(&t);
}

typedef struct caller {
    const uar_embedder *e;
    thread id;
    float vectors[4 * TINY_HIDDEN];
} caller;

static void call(void *arg) {
    caller *c = arg;
    uar_str asked[4] = { text_of(0), text_of(1), text_of(2), text_of(3) };
    for (int i = 0; i < 20; i++)
        if (uar_bert_embed(c->vectors, c->e, UAR_EMBED_QUERY, asked, 4, NULL) != UAR_OK) abort();
}

static void test_several_callers_share_one_embedder(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_embedder e = opened(&t, 0, NULL);
    caller callers[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i].e = &e;
        assert_int_equal(thread_start(&callers[i].id, 0, call, &callers[i]), UAR_OK);
    }
    for (int i = 0; i < CALLERS; i++)
        thread_join(callers[i].id);
    for (int i = 1; i < CALLERS; i++)
        assert_memory_equal(callers[i].vectors, callers[0].vectors, sizeof callers[0].vectors);
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_threads_give_the_vectors_of_one_thread),
        cmocka_unit_test(test_closing_with_a_batch_under_way_ends_its_call_once),
        cmocka_unit_test(test_a_host_executor_runs_the_tasks_also_after_the_embedder_was_closed),
        cmocka_unit_test(test_a_batch_that_nobody_waits_for_is_not_computed),
        cmocka_unit_test(test_several_callers_share_one_embedder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
