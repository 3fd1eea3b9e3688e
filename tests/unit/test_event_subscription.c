/* Subscriptions: replay and live, gaps, filters, push and pull, and their end. */
#include "test_event_fixture.h"

static ear hearing, other;

static int begin(void **state) {
    static fixture f;
    memset(&hearing, 0, sizeof hearing);
    memset(&other, 0, sizeof other);
    fixture_open(&f);
    *state = &f;
    return 0;
}

static int end(void **state) {
    fixture_close(*state);
    return 0;
}

static void test_E1_a_live_subscriber_hears_every_event_in_id_order_and_the_end(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, UINT64_MAX);
    publish_deltas(ch, 2);
    publish_done(ch);
    channel_close(ch);
    fixture_run(f);
    assert_string_equal(hearing.heard, "e1:ChatDelta e2:ChatDelta e3:RunDone closed ");
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_E1_a_replay_gives_the_very_events_that_a_live_subscriber_got(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *live = pull_run(f, 1, 0);
    publish_deltas(ch, 5);
    uar_next got, again;
    for (uint64_t id = 1; id <= 5; id++) {
        uar_subscription *late = pull_run(f, 1, id - 1);
        assert_int_equal(uar_subscription_next(&got, live, 0), UAR_OK);
        assert_int_equal(uar_subscription_next(&again, late, 0), UAR_OK);
        assert_int_equal(got.event->id, id);
        assert_ptr_equal(got.event, again.event);
        uar_event_unref(got.event);
        uar_event_unref(again.event);
        uar_subscription_free(late);
    }
    uar_subscription_free(live);
    channel_unref(ch);
}

static void test_E2_subscribing_behind_an_event_replays_the_later_ones_then_goes_live(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_deltas(ch, 4);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 2);
    fixture_run(f);
    publish_deltas(ch, 1);
    fixture_run(f);
    assert_string_equal(hearing.heard, "e3:ChatDelta e4:ChatDelta e5:ChatDelta ");
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_E2_subscribing_behind_the_newest_event_replays_nothing(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_deltas(ch, 4);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 4);
    fixture_run(f);
    assert_string_equal(hearing.heard, "");
    publish_deltas(ch, 1);
    fixture_run(f);
    assert_string_equal(hearing.heard, "e5:ChatDelta ");
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_E2_an_evicted_start_gives_one_gap_with_the_run_as_of_its_end(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "local", "me", "default", 1, 0, &(ring_limits){ .events = 2 });
    assert_int_equal(publish_delta(ch, "a"), UAR_OK);
    assert_int_equal(publish_delta(ch, "b"), UAR_OK);
    assert_int_equal(publish_delta(ch, "c"), UAR_OK);
    assert_int_equal(publish_delta(ch, "d"), UAR_OK);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 0);
    fixture_run(f);
    assert_string_equal(hearing.heard, "gap1-2 e3:ChatDelta e4:ChatDelta ");
    assert_string_equal(hearing.text, "ab");
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_E2_a_cursor_of_an_earlier_epoch_gets_a_gap_with_the_seeded_run(void **state) {
    fixture *f = *state;
    const uint64_t base = UINT64_C(3) << 40;
    channel *ch = open_run_of(f, "local", "me", "default", 1, 3, NULL);
    uar_run_snapshot known = { .state = UAR_RUN_PAUSED, .message = uuid_of(900), .text = uar_str_of("so far") };
    assert_int_equal(channel_seed(ch, &known), UAR_OK);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 17);
    fixture_run(f);
    assert_int_equal(hearing.gaps, 1);
    assert_int_equal(hearing.gap.first, 18);
    assert_int_equal(hearing.gap.last, base);
    assert_string_equal(hearing.text, "so far");
    assert_int_equal(hearing.state, UAR_RUN_PAUSED);
    publish_deltas(ch, 1);
    fixture_run(f);
    assert_int_equal(hearing.last_id, base + 1);
    assert_int_equal(hearing.gaps, 1);
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_an_after_beyond_the_newest_event_is_refused(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_deltas(ch, 3);
    uar_subscribe_options options = listen_to(&hearing, "local");
    options.run = uuid_of(1);
    options.has_after = true;
    uar_subscription *sub = NULL;
    uar_error err = UAR_ERROR_INIT;
    const uint64_t beyond[] = { 4, UINT64_C(1) << 40, UINT64_MAX };
    for (size_t i = 0; i < 3; i++) {
        options.after = beyond[i];
        assert_int_equal(subscription_open(&sub, f->hub, &options, &err), UAR_E_INVALID);
        assert_null(sub);
    }
    assert_int_equal(hearing.destroys, 0);
    channel_unref(ch);
}

/* Everybody but the one who was asked for says that it isn't there, whatever the cursor. */
static void test_E3_a_replay_never_crosses_an_owner_a_user_a_session_or_a_run(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "o1", "u1", "s1", 1, 0, NULL);
    publish_deltas(ch, 3);
    const struct {
        const char *owner, *user, *session;
        unsigned run;
        uar_status status;
    } cases[] = {
        { "o1", NULL, NULL, 1, UAR_OK },           { "o1", "u1", NULL, 1, UAR_OK },
        { "o1", "u1", "s1", 1, UAR_OK },           { "o2", NULL, NULL, 1, UAR_E_NOT_FOUND },
        { "o1", "u2", NULL, 1, UAR_E_NOT_FOUND },  { "o1", "u1", "s2", 1, UAR_E_NOT_FOUND },
        { "o1", NULL, NULL, 2, UAR_E_NOT_FOUND },  { "o", NULL, NULL, 1, UAR_E_NOT_FOUND },
        { "o11", NULL, NULL, 1, UAR_E_NOT_FOUND },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t after = 0; after <= 3; after++) {
            uar_subscription *sub = NULL;
            memset(&hearing, 0, sizeof hearing);
            uar_subscribe_options options = listen_to(&hearing, cases[i].owner);
            options.user = cases[i].user;
            options.session = cases[i].session;
            options.run = uuid_of(cases[i].run);
            options.has_after = true;
            options.after = after;
            assert_int_equal(subscription_open(&sub, f->hub, &options, NULL), cases[i].status);
            fixture_run(f);
            assert_int_equal(hearing.events, cases[i].status == UAR_OK ? 3 - after : 0);
            uar_subscription_free(sub);
        }
    }
    channel_unref(ch);
}

static void test_E3_a_filter_without_a_run_hears_exactly_what_matches(void **state) {
    fixture *f = *state;
    static ear ears[4];
    memset(ears, 0, sizeof ears);
    uar_subscribe_options all = listen_to(&ears[0], "o1");
    uar_subscribe_options user = listen_to(&ears[1], "o1");
    user.user = "u1";
    uar_subscribe_options session = listen_to(&ears[2], "o1");
    session.user = "u1";
    session.session = "s1";
    uar_subscription *subs[3] = { subscribe(f, &all), subscribe(f, &user), subscribe(f, &session) };
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = &ears[3], .on_event = ear_event, .destroy = ear_destroy };
    assert_int_equal(subscription_open_sink(f->hub, &sink, NULL), UAR_OK);
    const char *identities[][3] = {
        { "o1", "u1", "s1" }, { "o1", "u1", "s2" }, { "o1", "u2", "s1" }, { "o2", "u1", "s1" }
    };
    for (unsigned i = 0; i < 4; i++) {
        channel *ch = open_run_of(f, identities[i][0], identities[i][1], identities[i][2], i + 1, 0, NULL);
        publish_deltas(ch, 1);
        channel_unref(ch);
    }
    fixture_run(f);
    assert_int_equal(ears[0].events, 3);
    assert_int_equal(ears[1].events, 2);
    assert_int_equal(ears[2].events, 1);
    assert_int_equal(ears[3].events, 4);
    for (size_t i = 0; i < 3; i++)
        uar_subscription_free(subs[i]);
    hub_close(f->hub);
    f->hub = NULL;
    assert_int_equal(ears[3].destroys, 1);
}

static void test_filters_against_the_rules_are_refused_by_name(void **state) {
    fixture *f = *state;
    uar_error err = UAR_ERROR_INIT;
    uar_subscription *sub = NULL;
    uar_subscribe_options options = listen_to(&hearing, NULL);
    assert_int_equal(subscription_open(&sub, f->hub, &options, &err), UAR_E_INVALID);
    assert_string_equal(err.message, "owner must be an id");
    options.owner = "";
    assert_int_equal(subscription_open(&sub, f->hub, &options, &err), UAR_E_INVALID);
    options.owner = "lo\ncal";
    assert_int_equal(subscription_open(&sub, f->hub, &options, &err), UAR_E_INVALID);
    options = listen_to(&hearing, "local");
    options.session = "default";
    assert_int_equal(subscription_open(&sub, f->hub, &options, &err), UAR_E_INVALID);
    assert_string_equal(err.message, "session needs user");
    options = listen_to(&hearing, "local");
    options.has_after = true;
    assert_int_equal(subscription_open(&sub, f->hub, &options, &err), UAR_E_INVALID);
    assert_string_equal(err.message, "after needs run");
    options = listen_to(&hearing, "local");
    options.on_event = NULL;
    assert_int_equal(subscription_open(&sub, f->hub, &options, &err), UAR_E_INVALID);
    assert_int_equal(subscription_open(&sub, f->hub, NULL, &err), UAR_E_INVALID);
    assert_null(sub);
    assert_int_equal(hearing.destroys, 0);
}

static void test_N9_options_of_an_older_header_work_and_unknown_fields_are_refused(void **state) {
    fixture *f = *state;
    uar_subscribe_options older = listen_to(&hearing, "local");
    older.size = offsetof(uar_subscribe_options, destroy);
    uar_subscription *sub = subscribe(f, &older);
    uar_subscription_free(sub);
    assert_int_equal(hearing.destroys, 0);
    struct {
        uar_subscribe_options known;
        char more[8];
    } newer = { .known = listen_to(&hearing, "local") };
    newer.known.size = sizeof newer;
    sub = NULL;
    assert_int_equal(subscription_open(&sub, f->hub, &newer.known, NULL), UAR_OK);
    uar_subscription_free(sub);
    newer.more[3] = 1;
    sub = NULL;
    assert_int_equal(subscription_open(&sub, f->hub, &newer.known, NULL), UAR_E_STRUCT);
    assert_null(sub);
}

static void test_E4_a_slow_subscriber_gets_a_gap_and_the_ring_stays_bounded(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "local", "me", "default", 1, 0, &(ring_limits){ .events = 8 });
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 0);
    publish_deltas(ch, 20);
    long alive = f->memory.alive;
    publish_deltas(ch, 2000);
    assert_int_equal(f->memory.alive, alive);
    fixture_run(f);
    assert_int_equal(hearing.gaps, 1);
    assert_int_equal(hearing.gap.first, 1);
    assert_int_equal(hearing.gap.last, 2012);
    assert_int_equal(hearing.events, 8);
    assert_int_equal(hearing.last_id, 2020);
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_E4_a_pulled_subscription_that_nobody_pulls_costs_no_memory(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "local", "me", "default", 1, 0, &(ring_limits){ .events = 8 });
    uar_subscription *sub = pull_run(f, 1, 0);
    publish_deltas(ch, 20);
    long alive = f->memory.alive;
    publish_deltas(ch, 2000);
    assert_int_equal(f->memory.alive, alive);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_GAP);
    assert_int_equal(next.gap.last, 2012);
    assert_non_null(next.gap.snapshot);
    assert_int_equal(next.gap.snapshot->text.len, 2012);
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_E4_a_subscriber_that_never_reads_keeps_a_bounded_number_of_ended_runs(void **state) {
    fixture *f = *state;
    uar_subscribe_options options = listen_to(&hearing, "local");
    uar_subscription *sub = subscribe(f, &options);
    const unsigned runs = HUB_KEPT + HUB_BACKLOG_RUNS + 100;
    long alive = 0;
    for (unsigned run = 1; run <= 2 * runs; run++) {
        channel *ch = open_run(f, run);
        publish_deltas(ch, 3);
        publish_done(ch);
        channel_close(ch);
        channel_unref(ch);
        if (run == runs) alive = f->memory.alive;
    }
    assert_int_equal(f->memory.alive, alive);
    fixture_run(f);
    /* First what was lost whole, then gaps for those whose ring was dropped, then whole runs. */
    char first[32];
    snprintf(first, sizeof first, "gap1-%u gap1-4 closed ", 2 * runs - HUB_KEPT - HUB_BACKLOG_RUNS);
    assert_memory_equal(hearing.heard, first, strlen(first));
    assert_int_equal(hearing.gaps, 1 + HUB_BACKLOG_RUNS - HUB_BACKLOG_RINGS);
    assert_int_equal(hearing.closes, HUB_KEPT + HUB_BACKLOG_RUNS);
    assert_int_equal(hearing.events, 4 * (HUB_KEPT + HUB_BACKLOG_RINGS));
    uar_subscription_free(sub);
}

static void a_run_that_never_was_is_not_heard_of(void **state) {
    fixture *f = *state;
    uar_subscribe_options options = listen_to(&hearing, "local");
    uar_subscription *sub = subscribe(f, &options);
    channel *ch = open_run(f, 1);
    channel_abandon(ch);
    channel_unref(ch);
    ch = open_run(f, 2);
    assert_int_equal(publish_done(ch), UAR_OK);
    channel_close(ch);
    channel_unref(ch);
    fixture_run(f);
    assert_string_equal(hearing.heard, "e1:RunDone closed ");
    uar_subscription_free(sub);
}

static void the_rings_of_ended_runs_share_a_budget_and_the_newest_stays_whole(void **state) {
    fixture *f = *state;
    for (unsigned run = 1; run <= HUB_KEPT; run++) {
        channel *ch = open_run(f, run);
        publish_deltas(ch, 500); /* well over a quarter of the budget */
        assert_int_equal(publish_done(ch), UAR_OK);
        channel_close(ch);
        channel_unref(ch);
    }
    size_t bytes = 0;
    for (unsigned run = 1; run <= HUB_KEPT; run++) {
        channel *ch = hub_find(f->hub, uuid_of(run));
        assert_non_null(ch);
        bytes += ch->events.bytes;
        if (run == HUB_KEPT) assert_int_equal(ch->events.count, 501);
        channel_unref(ch);
    }
    assert_true(bytes <= 2 * HUB_KEPT_BYTES);
    /* Who comes late to an old one is told what is missing, and how the run ended. */
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 0);
    fixture_run(f);
    assert_string_equal(hearing.heard, "gap1-501 closed ");
    assert_int_equal(hearing.state, UAR_RUN_DONE);
    uar_subscription_free(sub);
}

static void test_E4_losing_a_subscriber_leaves_the_run_and_the_others_alone(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *one = subscribe_run(f, &hearing, 1, 0);
    uar_subscription *two = subscribe_run(f, &other, 1, 0);
    publish_deltas(ch, 1);
    fixture_run(f);
    publish_deltas(ch, 1);
    uar_subscription_free(one);
    publish_deltas(ch, 1);
    fixture_run(f);
    assert_int_equal(hearing.events, 1);
    assert_int_equal(hearing.destroys, 1);
    assert_int_equal(other.events, 3);
    uar_subscription_free(two);
    channel_unref(ch);
}

static void test_a_lane_gives_way_after_its_turn(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 0);
    publish_deltas(ch, LANE_TURN + 10);
    assert_int_equal(f->posts, 1);
    assert_true(fixture_run_one(f));
    assert_int_equal(hearing.events, LANE_TURN);
    assert_int_equal(f->posts, 2);
    fixture_run(f);
    assert_int_equal(hearing.events, LANE_TURN + 10);
    assert_int_equal(f->posts, 2);
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_runs_take_turns_in_a_lane(void **state) {
    fixture *f = *state;
    uar_subscribe_options options = listen_to(&hearing, "local");
    uar_subscription *sub = subscribe(f, &options);
    channel *one = open_run(f, 1);
    channel *two = open_run(f, 2);
    publish_deltas(one, TAP_BATCH + 5);
    publish_done(two);
    fixture_run(f);
    /* The short run is not kept waiting for the long one's second batch. */
    assert_int_equal(hearing.events, TAP_BATCH + 6);
    assert_int_equal(hearing.last_id, TAP_BATCH + 5);
    uar_subscription_free(sub);
    channel_unref(one);
    channel_unref(two);
}

static void test_a_run_that_closed_says_so_at_once_to_a_live_subscriber(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_done(ch);
    channel_close(ch);
    channel_close(ch);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, UINT64_MAX);
    fixture_run(f);
    assert_string_equal(hearing.heard, "closed ");
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_pulling_brings_events_then_the_end_then_times_out(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *sub = pull_run(f, 1, 0);
    uar_next next = { .kind = UAR_NEXT_GAP };
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_E_TIMEOUT);
    assert_int_equal(next.kind, UAR_NEXT_GAP);
    publish_done(ch);
    channel_close(ch);
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_EVENT);
    assert_int_equal(next.event->kind, UAR_EVENT_RUN_DONE);
    uar_event_unref(next.event);
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_CLOSED);
    assert_true(uar_uuid_equal(next.gap.run, uuid_of(1)));
    assert_int_equal(uar_subscription_next(&next, sub, 1), UAR_E_TIMEOUT);
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_pulling_a_push_subscription_is_refused(void **state) {
    fixture *f = *state;
    uar_subscribe_options options = listen_to(&hearing, "local");
    uar_subscription *sub = subscribe(f, &options);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_E_INVALID);
    assert_int_equal(uar_subscription_next(NULL, sub, 0), UAR_E_INVALID);
    assert_int_equal(uar_subscription_next(&next, NULL, 0), UAR_E_INVALID);
    uar_subscription_free(sub);
    uar_subscription_free(NULL);
}

static void test_pulled_events_outlive_the_hub_and_the_rest_can_still_be_read(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *sub = pull_run(f, 1, 0);
    publish_delta(ch, "one");
    publish_delta(ch, "two");
    uar_next one, two, last;
    assert_int_equal(uar_subscription_next(&one, sub, 0), UAR_OK);
    channel_unref(ch);
    hub_close(f->hub);
    f->hub = NULL;
    assert_int_equal(uar_subscription_next(&two, sub, 0), UAR_OK);
    assert_int_equal(uar_subscription_next(&last, sub, 1000), UAR_OK);
    assert_int_equal(last.kind, UAR_NEXT_CLOSED);
    assert_int_equal(uar_subscription_next(&last, sub, 1000), UAR_E_CLOSED);
    uar_subscription_free(sub);
    assert_memory_equal(one.event->chat_delta.text.ptr, "one", 4);
    assert_memory_equal(two.event->chat_delta.text.ptr, "two", 4);
    uar_event_unref(one.event);
    uar_event_unref(two.event);
}

/* Callbacks that call back. */

typedef struct caller {
    fixture *f;
    uar_subscription *self;
    uar_subscription *pulled;
    ear ear;
    uar_status waited, polled;
    channel *ch;
} caller;

static void caller_destroy(void *ctx) {
    caller *c = ctx;
    c->ear.destroys++;
}

static void pull_inside(void *ctx, const uar_event *event) {
    caller *c = ctx;
    uar_next next;
    (void)event;
    c->waited = uar_subscription_next(&next, c->pulled, 10);
    c->polled = uar_subscription_next(&next, c->pulled, 0);
    if (c->polled == UAR_OK) uar_event_unref(next.event);
}

static void test_N1_pulling_inside_a_callback_works_unless_it_would_wait(void **state) {
    fixture *f = *state;
    static caller c;
    c = (caller){ .f = f };
    channel *ch = open_run(f, 1);
    c.pulled = pull_run(f, 1, 0);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = &c, .on_event = pull_inside };
    assert_int_equal(subscription_open_sink(f->hub, &sink, NULL), UAR_OK);
    publish_deltas(ch, 1);
    fixture_run(f);
    assert_int_equal(c.waited, UAR_E_WOULD_DEADLOCK);
    assert_int_equal(c.polled, UAR_OK);
    uar_subscription_free(c.pulled);
    channel_unref(ch);
}

static void free_self(void *ctx, const uar_event *event) {
    caller *c = ctx;
    ear_event(&c->ear, event);
    uar_subscription_free(c->self);
    assert_int_equal(c->ear.destroys, 0);
}

static void test_N2_freeing_from_inside_the_callback_defers_destroy_to_after_it(void **state) {
    fixture *f = *state;
    static caller c;
    c = (caller){ .f = f };
    channel *ch = open_run(f, 1);
    uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT,
                                      .owner = "local",
                                      .ctx = &c,
                                      .on_event = free_self,
                                      .destroy = caller_destroy };
    c.self = subscribe(f, &options);
    publish_deltas(ch, 3);
    fixture_run(f);
    assert_int_equal(c.ear.events, 1);
    assert_int_equal(c.ear.destroys, 1);
    publish_deltas(ch, 3);
    fixture_run(f);
    assert_int_equal(c.ear.events, 1);
    channel_unref(ch);
}

static void free_other(void *ctx, const uar_event *event) {
    caller *c = ctx;
    (void)event;
    uar_subscription_free(c->self);
    c->self = NULL;
}

static void test_N2_freeing_an_idle_subscription_from_another_callback_destroys_it_once(void **state) {
    fixture *f = *state;
    static caller c;
    c = (caller){ .f = f };
    channel *ch = open_run(f, 1);
    c.self = subscribe_run(f, &hearing, 1, 0);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = &c, .on_event = free_other, .destroy = caller_destroy };
    assert_int_equal(subscription_open_sink(f->hub, &sink, NULL), UAR_OK);
    publish_deltas(ch, 1);
    fixture_run(f);
    assert_int_equal(hearing.destroys, 1);
    assert_true(hearing.events <= 1);
    channel_unref(ch);
}

static void publish_more(void *ctx, const uar_event *event) {
    caller *c = ctx;
    ear_event(&c->ear, event);
    if (event->id < 5) assert_int_equal(publish_delta(c->ch, "more"), UAR_OK);
}

static void test_N1_publishing_and_subscribing_inside_a_callback_work(void **state) {
    fixture *f = *state;
    static caller c;
    c = (caller){ .f = f };
    c.ch = open_run(f, 1);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = &c, .on_event = publish_more };
    assert_int_equal(subscription_open_sink(f->hub, &sink, NULL), UAR_OK);
    publish_deltas(c.ch, 1);
    fixture_run(f);
    assert_int_equal(c.ear.last_id, 5);
    channel_unref(c.ch);
}

static void open_run_inside(void *ctx) {
    caller *c = ctx;
    c->ear.destroys++;
    c->ch = open_run(c->f, 2);
    publish_deltas(c->ch, 1);
}

static void test_N1_a_run_may_begin_inside_destroy_and_does_not_reach_the_one_that_goes(void **state) {
    fixture *f = *state;
    static caller c;
    c = (caller){ .f = f };
    uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT,
                                      .owner = "local",
                                      .ctx = &c,
                                      .on_event = publish_more,
                                      .destroy = open_run_inside };
    uar_subscription_free(subscribe(f, &options));
    fixture_run(f);
    assert_int_equal(c.ear.destroys, 1);
    assert_int_equal(c.ear.events, 0);
    channel_unref(c.ch);
}

static void test_N2_freeing_before_the_lane_ran_delivers_nothing(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 0);
    publish_deltas(ch, 3);
    uar_subscription_free(sub);
    assert_int_equal(hearing.destroys, 1);
    fixture_run(f);
    assert_int_equal(hearing.events, 0);
    channel_unref(ch);
}

static void test_N2_closing_the_hub_destroys_each_subscriber_once_and_a_later_free_does_not(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *push = subscribe_run(f, &hearing, 1, 0);
    uar_subscribe_options options = {
        .size = UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .ctx = &other, .destroy = ear_destroy
    };
    uar_subscription *pull = subscribe(f, &options);
    publish_deltas(ch, 3);
    channel_unref(ch);
    hub_close(f->hub);
    f->hub = NULL;
    assert_int_equal(hearing.destroys, 1);
    assert_int_equal(other.destroys, 1);
    fixture_run(f);
    assert_int_equal(hearing.events, 0);
    uar_subscription_free(push);
    uar_subscription_free(pull);
    assert_int_equal(hearing.destroys, 1);
    assert_int_equal(other.destroys, 1);
}

static void test_X3_a_shut_hub_still_delivers_then_is_quiet(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    uar_subscription *sub = subscribe_run(f, &hearing, 1, 0);
    uar_event_cancelled cancelled = { .reason = uar_str_of("host") };
    publish(ch, UAR_EVENT_CANCELLED, &cancelled);
    hub_shut(f->hub);
    assert_int_equal(publish_delta(ch, "late"), UAR_E_CLOSED);
    assert_false(hub_is_quiet(f->hub));
    fixture_run(f);
    assert_true(hub_is_quiet(f->hub));
    assert_string_equal(hearing.heard, "e1:Cancelled closed ");
    uar_subscribe_options options = listen_to(&other, "local");
    uar_subscription *late = NULL;
    assert_int_equal(subscription_open(&late, f->hub, &options, NULL), UAR_E_CLOSED);
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void help_publish(void *ctx, uint32_t ms) {
    caller *c = ctx;
    assert_true(ms <= 50);
    if (++c->ear.closes == 3) publish_deltas(c->ch, 1);
}

static void test_a_pull_that_waits_does_the_work_where_nothing_else_does(void **state) {
    fixture *f = *state;
    static caller c;
    c = (caller){ .f = f };
    hub_close(f->hub);
    f->options.work = help_publish;
    f->options.work_ctx = &c;
    assert_int_equal(hub_new(&f->hub, &f->options), UAR_OK);
    c.ch = open_run(f, 1);
    uar_subscription *sub = pull_run(f, 1, 0);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 10000), UAR_OK);
    assert_int_equal(next.event->id, 1);
    uar_event_unref(next.event);
    uar_subscription_free(sub);
    channel_unref(c.ch);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_E1_a_live_subscriber_hears_every_event_in_id_order_and_the_end),
        CASE(test_E1_a_replay_gives_the_very_events_that_a_live_subscriber_got),
        CASE(test_E2_subscribing_behind_an_event_replays_the_later_ones_then_goes_live),
        CASE(test_E2_subscribing_behind_the_newest_event_replays_nothing),
        CASE(test_E2_an_evicted_start_gives_one_gap_with_the_run_as_of_its_end),
        CASE(test_E2_a_cursor_of_an_earlier_epoch_gets_a_gap_with_the_seeded_run),
        CASE(test_an_after_beyond_the_newest_event_is_refused),
        CASE(test_E3_a_replay_never_crosses_an_owner_a_user_a_session_or_a_run),
        CASE(test_E3_a_filter_without_a_run_hears_exactly_what_matches),
        CASE(test_filters_against_the_rules_are_refused_by_name),
        CASE(test_N9_options_of_an_older_header_work_and_unknown_fields_are_refused),
        CASE(test_E4_a_slow_subscriber_gets_a_gap_and_the_ring_stays_bounded),
        CASE(test_E4_a_pulled_subscription_that_nobody_pulls_costs_no_memory),
        CASE(test_E4_a_subscriber_that_never_reads_keeps_a_bounded_number_of_ended_runs),
        CASE(a_run_that_never_was_is_not_heard_of),
        CASE(the_rings_of_ended_runs_share_a_budget_and_the_newest_stays_whole),
        CASE(test_E4_losing_a_subscriber_leaves_the_run_and_the_others_alone),
        CASE(test_a_lane_gives_way_after_its_turn),
        CASE(test_runs_take_turns_in_a_lane),
        CASE(test_a_run_that_closed_says_so_at_once_to_a_live_subscriber),
        CASE(test_pulling_brings_events_then_the_end_then_times_out),
        CASE(test_pulling_a_push_subscription_is_refused),
        CASE(test_pulled_events_outlive_the_hub_and_the_rest_can_still_be_read),
        CASE(test_N1_pulling_inside_a_callback_works_unless_it_would_wait),
        CASE(test_N2_freeing_from_inside_the_callback_defers_destroy_to_after_it),
        CASE(test_N2_freeing_an_idle_subscription_from_another_callback_destroys_it_once),
        CASE(test_N1_publishing_and_subscribing_inside_a_callback_work),
        CASE(test_N1_a_run_may_begin_inside_destroy_and_does_not_reach_the_one_that_goes),
        CASE(test_N2_freeing_before_the_lane_ran_delivers_nothing),
        CASE(test_N2_closing_the_hub_destroys_each_subscriber_once_and_a_later_free_does_not),
        CASE(test_X3_a_shut_hub_still_delivers_then_is_quiet),
        CASE(test_a_pull_that_waits_does_the_work_where_nothing_else_does),
    };
    return cmocka_run_group_tests_name("event subscription", tests, NULL, NULL);
}
