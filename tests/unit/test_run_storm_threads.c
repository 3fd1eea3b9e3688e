/*
 * A storm: 8 threads start 64 runs on one runtime, cancel, subscribe, take snapshots and wait at random while another closes
 * it. And many runtimes, one after the other. UAR_TEST_FULL=1: more rounds, all 1,000 cycles.
 */
#include "test_run_fixture.h"

#define THREADS 8
#define RUNS_A_THREAD 8
#define RUNS (THREADS * RUNS_A_THREAD)

/* What the sink saw of one run. */
typedef struct sighting {
    uar_run_id run;
    uint64_t last_id;
    int terminals, closed, holes;
} sighting;

typedef struct storm {
    uar_runtime *rt;
    mutex lock;
    sighting seen[RUNS];
    size_t seen_count;
    int started;
    uint32_t seed;
} storm;

typedef struct sailor {
    storm *s;
    uint32_t dice;
    thread id;
} sailor;

static uint32_t roll(uint32_t *dice, uint32_t sides) {
    *dice = *dice * 1664525u + 1013904223u;
    return (*dice >> 8) % sides;
}

/* ---- the host ---- */

static void model_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx;
    uar_str id = uar_str_of("c1"), tool = uar_str_of("now"), none = uar_str_of(NULL);
    bool answered = request->messages[request->message_count - 1].role == UAR_ROLE_TOOL;
    for (int i = 0; i < 5; i++)
        (void)uar_stream_text(stream, "storm ", 6);
    if (!answered) (void)uar_stream_tool_call(stream, 0, id, tool, none);
    (void)uar_stream_finish(stream, answered ? UAR_FINISH_STOP : UAR_FINISH_TOOL_CALLS);
}

static void tool_now(void *ctx, const uar_tool_call *call, uar_completion *done) {
    (void)ctx;
    (void)call;
    (void)uar_completion_json(done, "{\"now\":1}");
}

/* Under the lock. */
static sighting *sight(storm *s, uar_run_id run) {
    for (size_t i = 0; i < s->seen_count; i++)
        if (uar_uuid_equal(s->seen[i].run, run)) return &s->seen[i];
    sighting *fresh = &s->seen[s->seen_count++];
    fresh->run = run;
    return fresh;
}

static void on_event(void *ctx, const uar_event *event) {
    storm *s = ctx;
    mutex_lock(&s->lock);
    sighting *one = sight(s, event->run);
    one->holes += event->id != one->last_id + 1;
    one->last_id = event->id;
    one->terminals += uar_event_is_terminal(event->kind);
    mutex_unlock(&s->lock);
}

static void on_closed(void *ctx, uar_run_id run) {
    storm *s = ctx;
    mutex_lock(&s->lock);
    sight(s, run)->closed++;
    mutex_unlock(&s->lock);
}

static uar_runtime *build(storm *s, uint32_t threads) {
    uar_builder *b = uar_builder_new(&(uar_builder_options){ UAR_BUILDER_OPTIONS_INIT, .threads = threads });
    uar_builder_persistence(b, uar_persistence_volatile());
    uar_builder_model(b, &(uar_model){ UAR_MODEL_INIT, .name = "storm", .start = model_start });
    uar_builder_tool(b, &(uar_tool){ UAR_TOOL_INIT, .name = "now", .description = "the time",
                                     .input_schema = "{\"type\":\"object\"}", .tool_class = UAR_TOOL_READ_ONLY,
                                     .invoke = tool_now });
    uar_builder_event_sink(
        b, &(uar_event_sink){ UAR_EVENT_SINK_INIT, .ctx = s, .on_event = on_event, .on_closed = on_closed });
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_builder_build(&rt, b, &err) != UAR_OK) fail_msg("%s", err.message);
    return rt;
}

/* ---- the storm ---- */

static void ignore_event(void *ctx, const uar_event *event) {
    (void)ctx;
    (void)event;
}

static void meddle(sailor *me, uar_run_id run) {
    storm *s = me->s;
    uar_subscription *sub = NULL;
    uar_run_snapshot *snapshot = NULL;
    uar_outcome out;
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = run, .has_after = true };
    switch (roll(&me->dice, 6)) {
    case 0: (void)uar_run_cancel(s->rt, run, UAR_CANCEL_NOW, "storm", NULL); break;
    case 1: (void)uar_run_cancel(s->rt, run, UAR_CANCEL_AFTER_STEP, "storm", NULL); break;
    case 2:
        o.on_event = ignore_event;
        if (uar_subscribe(&sub, s->rt, &o, NULL) == UAR_OK) uar_subscription_free(sub);
        break;
    case 3:
        if (uar_run_snapshot_take(&snapshot, s->rt, "local", run, NULL) == UAR_OK) uar_run_snapshot_free(snapshot);
        break;
    case 4: (void)uar_run_wait(&out, s->rt, run, roll(&me->dice, 3)); break;
    default: break;
    }
}

static void sail(void *arg) {
    sailor *me = arg;
    uar_run_id runs[RUNS_A_THREAD];
    int count = 0;
    for (int i = 0; i < RUNS_A_THREAD; i++) {
        char session[32];
        snprintf(session, sizeof session, "s%u", roll(&me->dice, RUNS));
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .session = session };
        if (uar_run_start(&runs[count], me->s->rt, &q, NULL) == UAR_OK) count++;
        for (int turn = 0; turn < 2 && count > 0; turn++)
            meddle(me, runs[roll(&me->dice, (uint32_t)count)]);
    }
    mutex_lock(&me->s->lock);
    me->s->started += count;
    mutex_unlock(&me->s->lock);
}

static void check_sightings(const storm *s) {
    assert_int_equal(s->seen_count, s->started);
    for (size_t i = 0; i < s->seen_count; i++) {
        if (s->seen[i].terminals != 1 || s->seen[i].closed != 1 || s->seen[i].holes != 0)
            fail_msg("seed %u: a run with %d terminal events, %d ends, %d holes", s->seed, s->seen[i].terminals,
                     s->seen[i].closed, s->seen[i].holes);
    }
}

static void weather_one(uint32_t seed) {
    storm s = { .seed = seed };
    sailor sailors[THREADS];
    assert_int_equal(mutex_init(&s.lock), UAR_OK);
    s.rt = build(&s, 1 + seed % 4);
    for (uint32_t i = 0; i < THREADS; i++) {
        sailors[i] = (sailor){ .s = &s, .dice = seed * 31 + i };
        assert_int_equal(thread_start(&sailors[i].id, 0, sail, &sailors[i]), UAR_OK);
    }
    for (int i = 0; i < THREADS; i++)
        thread_join(sailors[i].id);
    /* Some runs are still at it. */
    assert_int_equal(uar_runtime_close(s.rt, UAR_CLOSE_CANCEL, 10000), UAR_OK);
    check_sightings(&s);
    mutex_dispose(&s.lock);
}

static uint32_t first_seed(void) {
    const char *text = getenv("UAR_TEST_SEED");
    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : 1;
}

static void test_E5_a_storm_of_threads_leaves_each_run_with_one_end(void **state) {
    (void)state;
    uint32_t seed = first_seed();
    print_message("# seed %u\n", seed);
    for (uint32_t i = 0; i < (fixture_is_full() ? 200u : 10u); i++)
        weather_one(seed + i);
}

static void test_N6_many_runtimes_one_after_the_other_leave_nothing(void **state) {
    (void)state;
    int cycles = fixture_is_full() ? 1000 : 100;
    int64_t before = uar_live_objects();
    for (int i = 0; i < cycles; i++) {
        storm s = { .seed = 0 };
        assert_int_equal(mutex_init(&s.lock), UAR_OK);
        s.rt = build(&s, 1);
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
        uar_run_id run;
        uar_outcome out;
        assert_int_equal(uar_run_start(&run, s.rt, &q, NULL), UAR_OK);
        assert_int_equal(uar_run_wait(&out, s.rt, run, 10000), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE);
        assert_int_equal(uar_runtime_close(s.rt, UAR_CLOSE_PARK, 10000), UAR_OK);
        assert_int_equal(s.seen[0].terminals, 1);
        mutex_dispose(&s.lock);
        assert_int_equal(uar_live_objects(), before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_E5_a_storm_of_threads_leaves_each_run_with_one_end),
        fixture_test(test_N6_many_runtimes_one_after_the_other_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
