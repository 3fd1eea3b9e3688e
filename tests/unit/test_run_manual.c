/* A runtime that the host pumps: nothing runs by itself, `wake` and the milliseconds of the pump are all that a host needs. */
#include "unit/test_run_fixture.h"

#include "base/clock.h"

typedef struct bell {
    mutex lock;
    condition rung;
    bool ringing;
    int count;
} bell;

static void bell_init(bell *b) {
    memset(b, 0, sizeof *b);
    assert_int_equal(mutex_init(&b->lock), UAR_OK);
    assert_int_equal(condition_init(&b->rung), UAR_OK);
}

static void bell_dispose(bell *b) {
    condition_dispose(&b->rung);
    mutex_dispose(&b->lock);
}

static void ring(void *ctx) {
    bell *b = ctx;
    mutex_lock(&b->lock);
    b->ringing = true;
    b->count++;
    condition_broadcast(&b->rung);
    mutex_unlock(&b->lock);
}

static int rings(bell *b) {
    mutex_lock(&b->lock);
    int n = b->count;
    mutex_unlock(&b->lock);
    return n;
}

static host *open_pumped(const char *script, const host_tool *tools, bell *b) {
    return fixture_open(&(host_options){ .script = script,
                                         .tools = tools,
                                         .threading = UAR_THREADS_MANUAL,
                                         .wake_ctx = b,
                                         .wake = b != NULL ? ring : NULL });
}

static uar_run_id start(host *h) {
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    return id;
}

static void nothing_runs_unless_it_is_pumped(void **state) {
    (void)state;
    host *h = open_pumped(HELLO, NULL, NULL);
    uar_run_id id = start(h);
    nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
    uar_outcome out;
    assert_int_equal(uar_run_poll(&out, host_runtime(h), id), UAR_E_TIMEOUT);
    assert_int_equal(host_event_count(h), 0);
    assert_int_equal(host_model_calls(h), 0);
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    expect_kinds(h, HELLO_KINDS);
    fixture_close(h);
}

static void a_pump_without_a_budget_makes_one_pass(void **state) {
    (void)state;
    host *h = open_pumped(HELLO, NULL, NULL);
    uar_run_id id = start(h);
    uar_outcome out;
    int passes = 0;
    while (uar_run_poll(&out, host_runtime(h), id) == UAR_E_TIMEOUT && passes < 1000) {
        (void)uar_runtime_pump(host_runtime(h), 0);
        passes++;
    }
    assert_in_range(passes, 4, 999); /* a run is more than one pass, and each pass gets on */
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    fixture_close(h);
}

static void a_pump_without_work_and_timers_says_so(void **state) {
    (void)state;
    host *h = open_pumped(HELLO, NULL, NULL);
    for (int i = 0; i < 100 && uar_runtime_pump(host_runtime(h), 0) == 0; i++) {} /* what building left to look at */
    assert_int_equal(uar_runtime_pump(host_runtime(h), 0), UINT32_MAX);
    assert_int_equal(uar_runtime_pump(host_runtime(h), 5), UINT32_MAX);
    assert_int_equal(uar_runtime_pump(NULL, 5), UINT32_MAX);
    (void)start(h);
    assert_int_equal(uar_runtime_pump(host_runtime(h), 0), 0); /* there is more */
    fixture_close(h);
    h = fixture_script(HELLO);
    assert_int_equal(uar_runtime_pump(host_runtime(h), 5), UINT32_MAX); /* nobody needs to pump a pool */
    fixture_close(h);
}

static uint32_t pump_dry(host *h) {
    uint32_t next = 0;
    for (int i = 0; i < 1000 && next == 0; i++)
        next = uar_runtime_pump(host_runtime(h), 0);
    return next;
}

static void wake_comes_once_an_edge_from_idle_to_ready(void **state) {
    (void)state;
    bell b;
    bell_init(&b);
    const host_tool tools[] = { { .name = "keep", .way = HOST_NEVER, .result = "1" }, { .name = NULL } };
    host *h = open_pumped(LINE(CALL(0, "a", "keep", "{}") "," CALL(1, "b", "keep", "{}") "," CALLS) HELLO, tools, &b);
    (void)pump_dry(h);
    int before = rings(&b);
    uar_run_id id = start(h);
    assert_int_equal(rings(&b), before + 1);
    (void)uar_run_cancel(host_runtime(h), (uar_run_id){ { 9 } }, UAR_CANCEL_NOW, NULL, NULL);
    assert_int_equal(rings(&b), before + 1);
    (void)pump_dry(h);
    assert_int_equal(host_invoked(h, "keep"), 2);
    before = rings(&b);
    assert_int_equal(host_finish(h, "keep"), UAR_OK); /* idle -> ready */
    assert_int_equal(host_finish(h, "keep"), UAR_OK); /* ready already */
    assert_int_equal(rings(&b), before + 1);
    (void)pump_dry(h);
    uar_outcome out;
    assert_int_equal(uar_run_poll(&out, host_runtime(h), id), UAR_OK);
    fixture_close(h);
    bell_dispose(&b);
}

static void wake_comes_again_after_each_kind_of_pump(void **state) {
    (void)state;
    static const uint32_t budgets[] = { 0, 1, 50 };
    for (size_t i = 0; i < 3; i++) {
        bell b;
        bell_init(&b);
        const host_tool tools[] = { { .name = "keep", .way = HOST_NEVER, .result = "1" }, { .name = NULL } };
        host *h = open_pumped(LINE(CALL(0, "a", "keep", "{}") "," CALLS), tools, &b);
        (void)start(h);
        while (host_invoked(h, "keep") == 0)
            (void)uar_runtime_pump(host_runtime(h), budgets[i]);
        while (uar_runtime_pump(host_runtime(h), budgets[i]) == 0) {}
        int before = rings(&b);
        assert_int_equal(host_finish(h, "keep"), UAR_OK);
        assert_int_equal(rings(&b), before + 1);
        fixture_close(h);
        bell_dispose(&b);
    }
}

static void a_timer_that_waits_does_not_ring_the_bell_again_and_again(void **state) {
    (void)state;
    bell b;
    bell_init(&b);
    const host_tool tools[] = { { .name = "keep", .way = HOST_NEVER, .result = "1" }, { .name = NULL } };
    host *h = open_pumped(LINE(CALL(0, "a", "keep", "{}") "," CALLS), tools, &b);
    (void)start(h);
    uint32_t next = pump_dry(h);
    assert_in_range(next, 1, 1000); /* the heartbeat */
    int before = rings(&b);
    for (int i = 0; i < 20; i++)
        assert_in_range(uar_runtime_pump(host_runtime(h), 0), 1, 1000);
    assert_int_equal(rings(&b), before);
    fixture_close(h);
    bell_dispose(&b);
}

/* An event loop that only does what the contract says: pump on wake and when the time is over that the last pump named. */
static int loop_until_done(host *h, bell *b, uar_run_id id) {
    uar_outcome out;
    uint64_t end = clock_mono(&clock_default) + 15000;
    int pumps = 0;
    while (uar_run_poll(&out, host_runtime(h), id) == UAR_E_TIMEOUT) {
        uint32_t next = uar_runtime_pump(host_runtime(h), 0);
        pumps++;
        mutex_lock(&b->lock);
        if (!b->ringing && next != 0) (void)condition_wait(&b->rung, &b->lock, next);
        b->ringing = false;
        mutex_unlock(&b->lock);
        if (clock_mono(&clock_default) > end) fail_msg("the loop was never woken; %d pumps", pumps);
    }
    return pumps;
}

static void a_loop_that_only_follows_wake_and_the_pumps_answer_gets_a_run_done(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        bell b;
        bell_init(&b);
        const host_tool tools[] = { { .name = "later", .way = HOST_ANSWERS_LATER, .result = "1" },
                                    { .name = "slow", .way = HOST_NEVER, .result = "1", .timeout_ms = 40 },
                                    { .name = NULL } };
        host *h = open_pumped(LINE(TEXT("x")) LINE(CALL(0, "a", "later", "{}") "," CALL(1, "b", "later", "{}") "," CALL(
                                  2, "c", "slow", "{}") "," CALLS) LINE(CALL(0, "a", "later", "{}") "," CALLS) HELLO,
                              tools, &b);
        uar_run_id id = start(h);
        int pumps = loop_until_done(h, &b, id);
        assert_in_range(pumps, 4, 300); /* it neither sleeps too long nor spins */
        assert_int_equal(host_await(h, id, NULL), UAR_OK);
        assert_int_equal(host_count(h, "RunDone"), 1);
        fixture_close(h);
        bell_dispose(&b);
    }
}

static void calls_that_wait_pump_by_themselves(void **state) {
    (void)state;
    host *h = open_pumped(HELLO, NULL, NULL);
    uar_run_id id = start(h);
    uar_reply *reply = NULL;
    assert_int_equal(uar_setting_put_sync(&reply, host_runtime(h), "local", "k", uar_str_of("1"), NULL), UAR_OK);
    uar_reply_free(reply);
    uar_outcome out;
    assert_int_equal(uar_run_wait(&out, host_runtime(h), id, 5000), UAR_OK);
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = id, .has_after = true };
    uar_subscription *sub = NULL;
    assert_int_equal(uar_subscribe(&sub, host_runtime(h), &o, NULL), UAR_OK);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 1000), UAR_OK);
    uar_event_unref(next.event);
    uar_subscription_free(sub);
    fixture_close(h);
}

/* ---- waiting ---- */

static void wait_keeps_its_time(void **state) {
    (void)state;
    static const uar_threading threading[] = { UAR_THREADS_POOL, UAR_THREADS_MANUAL };
    for (size_t i = 0; i < 2; i++) {
        host *h = fixture_open(&(host_options){ .script = LINE(HOLD), .threading = threading[i] });
        uar_run_id id = start(h), nobody = { { 9 } };
        uar_outcome out;
        memset(&out, 0xee, sizeof out);
        uar_outcome untouched = out;
        assert_int_equal(uar_run_wait(&out, host_runtime(h), id, 0), UAR_E_TIMEOUT);
        uint64_t began = clock_mono(&clock_default);
        assert_int_equal(uar_run_wait(&out, host_runtime(h), id, 80), UAR_E_TIMEOUT);
        assert_in_range(clock_mono(&clock_default) - began, 75, 3000);
        assert_int_equal(uar_run_poll(&out, host_runtime(h), id), UAR_E_TIMEOUT);
        assert_int_equal(uar_run_wait(&out, host_runtime(h), nobody, 1000), UAR_E_NOT_FOUND);
        assert_int_equal(uar_run_wait(NULL, host_runtime(h), id, 0), UAR_E_INVALID);
        assert_int_equal(uar_run_wait(&out, NULL, id, 0), UAR_E_INVALID);
        assert_memory_equal(&out, &untouched, sizeof out);
        assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
        assert_int_equal(uar_run_wait(&out, host_runtime(h), id, UAR_FOREVER), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_CANCELLED);
        assert_int_equal(uar_run_wait(&out, host_runtime(h), id, 0), UAR_OK); /* again, later */
        fixture_close(h);
    }
}

static void the_outcome_of_a_run_is_known_for_a_while(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id first, id;
    assert_int_equal(host_run(h, &q, &first, NULL), UAR_OK);
    uar_outcome out;
    for (int i = 0; i < 10; i++)
        assert_int_equal(host_run(h, &q, &id, NULL), UAR_OK);
    assert_int_equal(uar_run_wait(&out, host_runtime(h), first, 0), UAR_OK);
    for (int i = 0; i < 40; i++)
        assert_int_equal(host_run(h, &q, &id, NULL), UAR_OK);
    assert_int_equal(uar_run_wait(&out, host_runtime(h), first, 0), UAR_E_NOT_FOUND); /* its record tells */
    uar_reply *reply = NULL;
    assert_int_equal(fixture_run(h, first, &reply).state, UAR_RUN_DONE);
    uar_reply_free(reply);
    fixture_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(nothing_runs_unless_it_is_pumped),
        fixture_test(a_pump_without_a_budget_makes_one_pass),
        fixture_test(a_pump_without_work_and_timers_says_so),
        fixture_test(wake_comes_once_an_edge_from_idle_to_ready),
        fixture_test(wake_comes_again_after_each_kind_of_pump),
        fixture_test(a_timer_that_waits_does_not_ring_the_bell_again_and_again),
        fixture_test(a_loop_that_only_follows_wake_and_the_pumps_answer_gets_a_run_done),
        fixture_test(calls_that_wait_pump_by_themselves),
        fixture_test(wait_keeps_its_time),
        fixture_test(the_outcome_of_a_run_is_known_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
