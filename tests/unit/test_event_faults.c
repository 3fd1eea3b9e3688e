/* Memory fails at every place in turn, once and for good: typed errors, outputs untouched, no leak, no hole in the ids. */
#include "test_event_fixture.h"

/* Expects ids to go on without a hole, however many publishings were refused. */
typedef struct witness {
    uint64_t next;
    bool broken;
    size_t destroys, gaps_without_snapshot;
} witness;

static void witness_event(void *ctx, const uar_event *event) {
    witness *w = ctx;
    w->broken = w->broken || event->id != w->next;
    w->next = event->id + 1;
}

static void witness_gap(void *ctx, const uar_gap *gap) {
    witness *w = ctx;
    w->broken = w->broken || gap->first != w->next || gap->last < gap->first;
    if (gap->snapshot == NULL) w->gaps_without_snapshot++;
    w->next = gap->last + 1;
}

static void witness_destroy(void *ctx) {
    witness *w = ctx;
    w->destroys++;
}

static bool failed(uar_status status) {
    assert_true(status == UAR_OK || status == UAR_E_NOMEM);
    return status == UAR_E_NOMEM;
}

static uar_subscription *try_subscribe(fixture *f, witness *w, bool of_run, uint64_t after) {
    uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT,
                                      .owner = "local",
                                      .user = "me",
                                      .ctx = w,
                                      .on_event = witness_event,
                                      .on_gap = witness_gap,
                                      .destroy = witness_destroy };
    if (of_run) options.run = uuid_of(1);
    options.has_after = of_run;
    options.after = after;
    w->next = after + 1;
    uar_subscription *sub = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (!failed(subscription_open(&sub, f->hub, &options, &err))) return sub;
    assert_null(sub);
    assert_int_equal(err.code, UAR_E_NOMEM);
    assert_int_equal(w->destroys, 0);
    return NULL;
}

static channel *try_open(fixture *f) {
    event_identity identity = { .run = uuid_of(1), .owner = uar_str_of("local"), .user = uar_str_of("me") };
    event_origin *origin = event_origin_new(&f->memory.door, &identity);
    if (origin == NULL) return NULL;
    channel *ch = NULL;
    if (failed(hub_open_channel(&ch, f->hub, origin, 0, &(ring_limits){ .events = 6 }))) assert_null(ch);
    event_origin_unref(origin);
    return ch;
}

static void try_seed(channel *ch) {
    uar_pending_call call = { uar_str_of("a"), uar_str_of("mail"), uar_str_of("{}") };
    uar_run_snapshot known = { .text = uar_str_of("before"), .pending = &call, .pending_count = 1 };
    bool seeded = !failed(channel_seed(ch, &known));
    uar_run_snapshot *now = NULL;
    if (failed(channel_snapshot(&now, ch))) {
        assert_null(now);
        return;
    }
    assert_int_equal(now->pending_count, seeded);
    assert_int_equal(now->text.len, seeded ? 6 : 0);
    uar_run_snapshot_free(now);
}

static void try_events(channel *ch, uint64_t *published) {
    uar_event_tool_start start = { uar_str_of("b"), uar_str_of("mail"), uar_str_of("{}") };
    for (int i = 0; i < 12; i++) {
        uar_status status = i % 4 == 3 ? publish(ch, UAR_EVENT_TOOL_START, &start) : publish_delta(ch, "some text");
        *published += !failed(status);
        assert_int_equal(channel_last(ch), *published);
    }
}

/* Everything that asks for memory, in the order of a run. */
static void scenario(fixture *f) {
    witness w[3] = { { .next = 1 }, { .next = 1 }, { .next = 1 } };
    uint64_t published = 0;
    uar_subscription *everything = try_subscribe(f, &w[0], false, 0);
    channel *ch = try_open(f);
    uar_subscription *late = NULL;
    uar_event *terminal = NULL;
    if (ch != NULL) {
        try_seed(ch);
        uar_event_run_failed payload = { .code = uar_str_of("UAR_E_NOMEM") };
        bool reserved = !failed(channel_reserve_terminal(ch));
        if (reserved) terminal = event_new(ch->origin, UAR_EVENT_RUN_FAILED, &payload);
        try_events(ch, &published);
        late = try_subscribe(f, &w[1], true, 0);
        fixture_run(f);
        try_events(ch, &published);
        if (terminal != NULL) assert_int_equal(channel_publish(ch, terminal), UAR_OK);
        published += terminal != NULL;
        assert_int_equal(channel_last(ch), published);
        fixture_run(f);
        channel_close(ch);
        fixture_run(f);
        if (everything != NULL) assert_int_equal(w[0].next, published + 1);
        if (late != NULL) assert_int_equal(w[1].next, published + 1);
        channel_unref(ch);
    }
    for (size_t i = 0; i < 2; i++)
        assert_false(w[i].broken);
    uar_subscription_free(everything);
    uar_subscription_free(late);
    assert_int_equal(w[0].destroys, everything != NULL);
    assert_int_equal(w[1].destroys, late != NULL);
}

static unsigned long sweep(bool for_good) {
    static fixture f;
    for (unsigned long n = 1;; n++) {
        fixture_open(&f);
        probe_alloc_arm(&f.memory, n, for_good);
        scenario(&f);
        bool fired = probe_alloc_has_failed(&f.memory);
        probe_alloc_arm(&f.memory, 0, false);
        fixture_close(&f);
        if (!fired) return n - 1;
    }
}

static void test_E1_a_run_stays_sound_when_one_allocation_fails(void **state) {
    (void)state;
    assert_true(sweep(false) > 40);
}

static void test_E1_a_run_stays_sound_when_all_later_allocations_fail(void **state) {
    (void)state;
    assert_true(sweep(true) > 40);
}

static void test_a_hub_without_memory_is_not_made(void **state) {
    (void)state;
    static fixture f;
    fixture_open(&f);
    probe_alloc_arm(&f.memory, 1, true);
    hub *made = NULL;
    assert_int_equal(hub_new(&made, &f.options), UAR_E_NOMEM);
    assert_null(made);
    probe_alloc_arm(&f.memory, 0, false);
    fixture_close(&f);
}

static void test_a_sink_without_memory_is_not_taken_over(void **state) {
    (void)state;
    static fixture f;
    fixture_open(&f);
    static ear e;
    memset(&e, 0, sizeof e);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = &e, .on_event = ear_event, .destroy = ear_destroy };
    uar_error err = UAR_ERROR_INIT;
    channel *ch = open_run(&f, 1);
    for (unsigned long n = 1; n <= 2; n++) {
        probe_alloc_arm(&f.memory, n, true);
        assert_int_equal(subscription_open_sink(f.hub, &sink, &err), UAR_E_NOMEM);
        assert_int_equal(e.destroys, 0);
    }
    probe_alloc_arm(&f.memory, 0, false);
    sink.struct_size = 3;
    assert_int_equal(subscription_open_sink(f.hub, &sink, &err), UAR_E_STRUCT);
    sink.struct_size = UAR_EVENT_SINK_INIT;
    sink.on_event = NULL;
    assert_int_equal(subscription_open_sink(f.hub, &sink, &err), UAR_E_INVALID);
    assert_int_equal(subscription_open_sink(f.hub, NULL, &err), UAR_E_INVALID);
    channel_unref(ch);
    fixture_close(&f);
    assert_int_equal(e.destroys, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_E1_a_run_stays_sound_when_one_allocation_fails),
        cmocka_unit_test(test_E1_a_run_stays_sound_when_all_later_allocations_fail),
        cmocka_unit_test(test_a_hub_without_memory_is_not_made),
        cmocka_unit_test(test_a_sink_without_memory_is_not_taken_over),
    };
    return cmocka_run_group_tests_name("event faults", tests, NULL, NULL);
}
