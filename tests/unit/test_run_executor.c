/* A runtime on the host's own executor: what it may expect of the library, and what the library must bear. */
#include "unit/test_run_fixture.h"

#include "base/clock.h"

/* Runs nothing by itself. Work that may block waits in a list of its own, so that a test can let it wait. */
typedef struct bench {
    uar_executor door;
    mutex lock;
    uar_task *quick, **quick_end, *slow, **slow_end;
    uint64_t wake_at;
    uar_task_fn wake;
    void *wake_arg;
    int destroyed;
    /* inside post: */
    host *h;
    uar_stream *probed;
    uar_status started, waited;
    size_t posts;
} bench;

static void post(void *ctx, uar_task *slot, bool may_block) {
    bench *b = ctx;
    mutex_lock(&b->lock);
    uar_task ***end = may_block ? &b->slow_end : &b->quick_end;
    slot->next = NULL;
    **end = slot;
    *end = &slot->next;
    b->posts++;
    host *h = b->h;
    uar_stream *probed = b->probed;
    mutex_unlock(&b->lock);
    if (h == NULL) return;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "inner" };
    uar_run_id id;
    uar_outcome out;
    b->started = uar_run_start(&id, host_runtime(h), &q, NULL);
    b->waited = uar_run_wait(&out, host_runtime(h), (uar_run_id){ { 9 } }, 10);
    if (probed != NULL) (void)uar_stream_is_open(probed); /* hangs if the library holds the stream's lock */
}

static void wake_at(void *ctx, uint64_t mono_ms, uar_task_fn wake, void *arg) {
    bench *b = ctx;
    mutex_lock(&b->lock);
    b->wake_at = mono_ms;
    b->wake = wake;
    b->wake_arg = arg;
    mutex_unlock(&b->lock);
}

static void destroy(void *ctx) {
    bench *b = ctx;
    b->destroyed++;
}

static void bench_init(bench *b) {
    memset(b, 0, sizeof *b);
    assert_int_equal(mutex_init(&b->lock), UAR_OK);
    b->quick_end = &b->quick;
    b->slow_end = &b->slow;
    b->wake_at = UINT64_MAX;
    b->door = (uar_executor){ UAR_EXECUTOR_INIT, .ctx = b, .destroy = destroy, .post = post, .wake_at = wake_at };
}

static uar_task *take(bench *b, bool slow) {
    mutex_lock(&b->lock);
    uar_task **first = slow ? &b->slow : &b->quick;
    uar_task *t = *first;
    if (t != NULL) *first = t->next;
    if (*first == NULL) *(slow ? &b->slow_end : &b->quick_end) = first;
    mutex_unlock(&b->lock);
    return t;
}

static bool run_one(bench *b, bool slow) {
    uar_task *t = take(b, slow);
    if (t != NULL) t->fn(t->arg);
    return t != NULL;
}

/* One round over everything that is due, also timers; work that may block only if `slow`. */
static void work(bench *b, bool slow) {
    while (run_one(b, false) || (slow && run_one(b, true))) {}
    mutex_lock(&b->lock);
    bool due = b->wake_at <= clock_mono(&clock_default);
    if (due) b->wake_at = UINT64_MAX;
    uar_task_fn wake = b->wake;
    void *arg = b->wake_arg;
    mutex_unlock(&b->lock);
    if (due) wake(arg);
}

static uar_status work_until_ended(bench *b, host *h, uar_run_id id, uar_outcome *out) {
    uar_status status = UAR_E_TIMEOUT;
    for (int i = 0; i < 5000 && status == UAR_E_TIMEOUT; i++) {
        work(b, true);
        status = uar_run_poll(out, host_runtime(h), id);
        if (status == UAR_E_TIMEOUT) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return status;
}

/* Closing waits for work that only this thread does: give it a thread. */
typedef struct worker {
    bench *b;
    bool stops;
} worker;

static void keep_working(void *arg) {
    worker *w = arg;
    bool stops = false;
    while (!stops) {
        work(w->b, true);
        nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
        mutex_lock(&w->b->lock);
        stops = w->stops;
        mutex_unlock(&w->b->lock);
    }
}

static void close_bench(bench *b, host *h) {
    worker w = { b, false };
    thread id;
    assert_int_equal(thread_start(&id, 0, keep_working, &w), UAR_OK);
    assert_int_equal(host_late_callbacks(h), 0);
    assert_int_equal(host_close_runtime(h, UAR_CLOSE_CANCEL, 5000), UAR_OK);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    mutex_lock(&b->lock);
    w.stops = true;
    mutex_unlock(&b->lock);
    thread_join(id);
    (void)host_close(h, UAR_CLOSE_CANCEL);
    assert_int_equal(b->destroyed, 1);
    assert_null(b->quick);
    assert_null(b->slow);
    mutex_dispose(&b->lock);
}

static const host_tool TOOLS[] = { { .name = "now", .way = HOST_ANSWERS, .result = "1", .deaf = true },
                                   { .name = NULL } };
#define ONE_CALL LINE(TEXT("x") "," CALL(0, "c1", "now", "{}") "," CALLS)

static void a_run_works_on_the_hosts_executor(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    host *h = fixture_open(
        &(host_options){ .script = LINE(TEXT("cut")) ONE_CALL HELLO, .tools = TOOLS, .executor = &b.door });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    uar_outcome out;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_int_equal(work_until_ended(&b, h, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    work(&b, true);
    expect_kinds(h,
                 "RunStart RuntimeStep ChatDelta AttemptSuperseded ChatDelta ToolDelta ToolStart ToolEnd RuntimeStep "
                 "ChatDelta ChatDelta RunDone");
    close_bench(&b, h);
}

static void test_X3_a_tool_whose_call_was_cancelled_before_it_began_is_never_called(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    host *h = fixture_open(&(host_options){ .script = ONE_CALL, .tools = TOOLS, .executor = &b.door });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    uar_outcome out;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    for (int i = 0; i < 1000 && host_count(h, "ToolStart") == 0; i++)
        work(&b, false);
    assert_int_equal(host_count(h, "ToolStart"), 1);
    assert_non_null(b.slow); /* the tool is about to be called */
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
    for (int i = 0; i < 1000 && uar_run_poll(&out, host_runtime(h), id) == UAR_E_TIMEOUT; i++)
        work(&b, false);
    assert_int_equal(uar_run_poll(&out, host_runtime(h), id), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_CANCELLED);
    assert_true(run_one(&b, true)); /* now its turn comes */
    assert_int_equal(host_invoked(h, "now"), 0);
    expect_heard(h, "before it ran");
    close_bench(&b, h);
}

static void keep_stream(void *ctx, host *h, uar_stream *stream) {
    (void)h;
    bench *b = ctx;
    mutex_lock(&b->lock);
    b->probed = uar_stream_ref(stream);
    mutex_unlock(&b->lock);
}

static void test_N1_post_is_called_with_no_lock_held_and_may_call_nothing(void **state) {
    (void)state;
    bench b;
    bench_init(&b);
    host *h = fixture_open(
        &(host_options){ .script = LINE(HOLD), .executor = &b.door, .hooks = { .ctx = &b, .on_start = keep_stream } });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    uar_outcome out;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    for (int i = 0; i < 1000 && b.probed == NULL; i++)
        work(&b, true);
    work(&b, true);
    assert_non_null(b.probed);
    b.h = h;
    size_t posts = b.posts;
    assert_int_equal(uar_stream_text(b.probed, "x", 1), UAR_OK); /* posts the run */
    assert_true(b.posts > posts);
    b.h = NULL;
    assert_int_equal(b.started, UAR_E_REENTRANT);
    assert_int_equal(b.waited, UAR_E_WOULD_DEADLOCK);
    assert_int_equal(uar_stream_finish(b.probed, UAR_FINISH_STOP), UAR_OK);
    assert_int_equal(work_until_ended(&b, h, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    uar_stream_unref(b.probed);
    close_bench(&b, h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_run_works_on_the_hosts_executor),
        fixture_test(test_X3_a_tool_whose_call_was_cancelled_before_it_began_is_never_called),
        fixture_test(test_N1_post_is_called_with_no_lock_held_and_may_call_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
