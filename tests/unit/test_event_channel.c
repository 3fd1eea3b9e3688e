/* Channels and the hub's registry: ids, the one terminal event, the ring's bounds, snapshots. */
#include "test_event_fixture.h"

static int begin(void **state) {
    static fixture f;
    fixture_open(&f);
    *state = &f;
    return 0;
}

static int end(void **state) {
    fixture_close(*state);
    return 0;
}

static uar_run_snapshot *snapshot_of(channel *ch) {
    uar_run_snapshot *now = NULL;
    assert_int_equal(channel_snapshot(&now, ch), UAR_OK);
    assert_int_equal(now->last_event, channel_last(ch));
    return now;
}

static void assert_text(const uar_run_snapshot *snapshot, const char *text) {
    assert_int_equal(snapshot->text.len, strlen(text));
    assert_memory_equal(snapshot->text.ptr, text, strlen(text));
}

/* Ids. */

static void test_E1_ids_count_from_one_in_the_epoch_without_hole(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "local", "me", "default", 1, 7, NULL);
    uar_subscription *sub = pull_run(f, 1, 0);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_GAP);
    for (uint64_t n = 1; n <= 600; n++) {
        publish_deltas(ch, 1);
        assert_int_equal(channel_last(ch), (UINT64_C(7) << 40) + n);
        assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_OK);
        assert_int_equal(next.event->id, (UINT64_C(7) << 40) + n);
        uar_event_unref(next.event);
    }
    uar_subscription_free(sub);
    channel_unref(ch);
}

static void test_E1_refused_events_use_up_no_id(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_deltas(ch, 4);
    probe_alloc_arm(&f->memory, 1, false);
    assert_int_equal(publish_delta(ch, "no event"), UAR_E_NOMEM);
    probe_alloc_arm(&f->memory, 2, false);
    assert_int_equal(publish_delta(ch, "no slot"), UAR_E_NOMEM);
    probe_alloc_arm(&f->memory, 0, false);
    assert_int_equal(channel_last(ch), 4);
    assert_int_equal(channel_publish(ch, NULL), UAR_E_NOMEM);
    publish_deltas(ch, 1);
    assert_int_equal(channel_last(ch), 5);
    channel_unref(ch);
}

static void test_events_carry_the_identity_and_the_wall_time(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "o1", "u1", "s1", 5, 0, NULL);
    uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "o1" };
    uar_subscription *sub = subscribe(f, &options);
    int64_t before = clock_wall(&clock_default);
    publish_deltas(ch, 1);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_OK);
    assert_true(uar_str_equal(next.event->owner, uar_str_of("o1")));
    assert_true(uar_str_equal(next.event->user, uar_str_of("u1")));
    assert_true(uar_str_equal(next.event->session, uar_str_of("s1")));
    assert_true(uar_uuid_equal(next.event->run, uuid_of(5)));
    assert_true(next.event->time_ms >= before && next.event->time_ms <= before + 60000);
    uar_event_unref(next.event);
    uar_subscription_free(sub);
    channel_unref(ch);
}

/* The end. */

static void test_E5_a_second_terminal_event_is_refused_whatever_it_is(void **state) {
    fixture *f = *state;
    const uar_event_kind terminal[] = { UAR_EVENT_RUN_DONE, UAR_EVENT_RUN_FAILED, UAR_EVENT_CANCELLED };
    uar_event_run_failed payload = { .code = uar_str_of("UAR_E_IO") };
    uar_event_run_done done = { .message = uuid_of(900) };
    uar_event_cancelled cancelled = { .reason = uar_str_of("host") };
    const void *payloads[] = { &done, &payload, &cancelled };
    for (unsigned first = 0; first < 3; first++) {
        channel *ch = open_run(f, first + 1);
        assert_int_equal(publish(ch, terminal[first], payloads[first]), UAR_OK);
        for (unsigned second = 0; second < 3; second++)
            assert_int_equal(publish(ch, terminal[second], payloads[second]), UAR_E_STALE);
        assert_int_equal(channel_last(ch), 1);
        channel_unref(ch);
    }
}

static void test_E5_after_the_terminal_event_only_mutations_and_errors_may_follow(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_done(ch);
    const uar_event empty = { .id = 0 };
    uint64_t accepted = 1;
    for (int kind = 0; kind < UAR_EVENT_KIND_COUNT; kind++) {
        bool may = kind == UAR_EVENT_MEMORY_MUTATION || kind == UAR_EVENT_ERROR;
        assert_int_equal(publish(ch, (uar_event_kind)kind, &empty.run_start), may ? UAR_OK : UAR_E_STALE);
        accepted += may;
    }
    assert_int_equal(channel_last(ch), accepted);
    channel_unref(ch);
}

static void test_E5_a_reserved_terminal_event_needs_no_memory(void **state) {
    fixture *f = *state;
    for (unsigned before = 0; before < 40; before++) {
        channel *ch = open_run_of(f, "local", "me", "default", before + 1, 0, &(ring_limits){ .events = 32 });
        assert_int_equal(channel_reserve_terminal(ch), UAR_OK);
        uar_event_run_failed payload = { .code = uar_str_of("UAR_E_NOMEM") };
        uar_event *terminal = event_new(ch->origin, UAR_EVENT_RUN_FAILED, &payload);
        assert_non_null(terminal);
        for (unsigned i = 0; i < before; i++) {
            /* Memory runs out in every place that it can, over and over. */
            probe_alloc_arm(&f->memory, i % 4 + 1, true);
            publish_delta(ch, "x");
        }
        probe_alloc_arm(&f->memory, 1, true);
        assert_int_equal(channel_publish(ch, terminal), UAR_OK);
        probe_alloc_arm(&f->memory, 0, false);
        channel_close(ch);
        channel_unref(ch);
    }
}

static void test_E5_a_reservation_survives_a_trim(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    assert_int_equal(channel_reserve_terminal(ch), UAR_OK);
    uar_event_cancelled payload = { .reason = uar_str_of("host") };
    uar_event *terminal = event_new(ch->origin, UAR_EVENT_CANCELLED, &payload);
    publish_deltas(ch, 3);
    channel_trim(ch);
    probe_alloc_arm(&f->memory, 1, true);
    assert_int_equal(channel_publish(ch, terminal), UAR_OK);
    probe_alloc_arm(&f->memory, 0, false);
    channel_unref(ch);
}

static void test_a_closed_channel_takes_no_event(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    channel_close(ch);
    assert_true(channel_is_closed(ch));
    assert_int_equal(publish_delta(ch, "x"), UAR_E_CLOSED);
    assert_int_equal(publish_done(ch), UAR_E_CLOSED);
    channel_unref(ch);
}

/* The ring. */

static void test_an_idle_channel_is_small_and_a_short_run_too(void **state) {
    fixture *f = *state;
    assert_true(sizeof(channel) < 600);
    long before = f->memory.alive;
    channel *ch = open_run(f, 1);
    publish_deltas(ch, 3);
    /* Channel, origin, registry entry, slots of the map and of the ring, three events. */
    assert_true(f->memory.alive - before <= 8);
    assert_true(ch->events.cap <= 4);
    channel_unref(ch);
}

static uint64_t oldest_of(channel *ch) {
    return ring_oldest(&ch->events);
}

static void test_E4_the_ring_keeps_the_newest_512_events_by_default(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_deltas(ch, 512);
    assert_int_equal(oldest_of(ch), 1);
    publish_deltas(ch, 1);
    assert_int_equal(oldest_of(ch), 2);
    channel_unref(ch);
}

static void test_E4_the_ring_keeps_no_more_bytes_than_its_bound_but_always_the_newest(void **state) {
    fixture *f = *state;
    static char text[5000];
    memset(text, 'x', sizeof text - 1);
    channel *ch = open_run_of(f, "local", "me", "default", 1, 0, &(ring_limits){ .bytes = 12000 });
    for (int i = 0; i < 10; i++)
        assert_int_equal(publish_delta(ch, text), UAR_OK);
    assert_int_equal(oldest_of(ch), 9);
    assert_true(ch->events.bytes <= 12000);
    channel_unref(ch);
    ch = open_run_of(f, "local", "me", "default", 2, 0, &(ring_limits){ .bytes = 100 });
    assert_int_equal(publish_delta(ch, text), UAR_OK);
    assert_int_equal(publish_delta(ch, text), UAR_OK);
    assert_int_equal(oldest_of(ch), 2);
    channel_unref(ch);
}

static void test_a_trimmed_ring_gives_its_memory_back_and_the_run_is_still_known(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    publish_deltas(ch, 1);
    channel_trim(ch);
    long before = f->memory.alive;
    publish_deltas(ch, 300);
    channel_trim(ch);
    assert_int_equal(f->memory.alive, before);
    uar_run_snapshot *now = snapshot_of(ch);
    assert_int_equal(now->text.len, 301);
    assert_int_equal(now->last_event, 301);
    uar_run_snapshot_free(now);
    channel_unref(ch);
}

/* Snapshots. The same story is told to rings of every size: the cut must make no difference. */

static void tell(channel *ch, uar_event_kind kind, const void *payload) {
    assert_int_equal(publish(ch, kind, payload), UAR_OK);
}

static void tell_delta(channel *ch, unsigned message, const char *text) {
    uar_event_chat_delta delta = { .message = uuid_of(message), .text = uar_str_of(text) };
    tell(ch, UAR_EVENT_CHAT_DELTA, &delta);
}

static void tell_call(channel *ch, uar_event_kind kind, const char *call) {
    if (kind == UAR_EVENT_TOOL_START) {
        uar_event_tool_start start = { uar_str_of(call), uar_str_of("mail"), uar_str_of("{\"to\":\"kim\"}") };
        tell(ch, kind, &start);
    } else if (kind == UAR_EVENT_TOOL_END) {
        uar_event_tool_end finish = { .call = uar_str_of(call), .tool = uar_str_of("mail"), .ok = true };
        tell(ch, kind, &finish);
    } else if (kind == UAR_EVENT_TOOL_DELTA) {
        uar_event_tool_delta delta = { uar_str_of(call), uar_str_of("mail"), uar_str_of("{\"to") };
        tell(ch, kind, &delta);
    } else if (kind == UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED) {
        uar_event_tool_call_approval_required ask = { uar_str_of(call), uar_str_of("mail"), uar_str_of("{}") };
        tell(ch, kind, &ask);
    } else {
        uar_event_tool_call_approved decided = { uar_str_of(call), uar_str_of("host") };
        _Static_assert(sizeof decided == sizeof(uar_event_tool_call_denied), "the same fields");
        tell(ch, kind, &decided);
    }
}

static bool lists(const uar_pending_call *calls, size_t count, const char *ids) {
    char found[64] = "";
    for (size_t i = 0; i < count; i++)
        strncat(found, calls[i].call.ptr, calls[i].call.len);
    return strcmp(found, ids) == 0;
}

static void expect(channel *ch, uar_run_state run_state, const char *text, const char *open, const char *pending) {
    uar_run_snapshot *now = snapshot_of(ch);
    assert_int_equal(now->state, run_state);
    assert_text(now, text);
    assert_true(lists(now->open, now->open_count, open));
    assert_true(lists(now->pending, now->pending_count, pending));
    assert_false(now->incomplete);
    assert_true(uar_uuid_equal(now->run, uuid_of(1)));
    uar_run_snapshot_free(now);
}

static void tell_story(channel *ch) {
    uar_event_run_start start = { .input = uar_str_of("hello") };
    uar_event_run_paused paused = { .reason = uar_str_of("approval") };
    uar_event_run_resumed resumed = { .reason = uar_str_of("approved") };
    uar_event_reasoning_delta thought = { .message = uuid_of(3), .text = uar_str_of("hm") };
    uar_event_attempt_superseded other = { .message = uuid_of(9), .attempt = 1 };
    uar_event_attempt_superseded superseded = { .message = uuid_of(2), .attempt = 1 };
    uar_event_run_done done = { .message = uuid_of(3) };
    tell(ch, UAR_EVENT_RUN_START, &start);
    expect(ch, UAR_RUN_RUNNING, "", "", "");
    tell_delta(ch, 2, "Let me ");
    tell_delta(ch, 2, "see.");
    expect(ch, UAR_RUN_RUNNING, "Let me see.", "", "");
    tell(ch, UAR_EVENT_ATTEMPT_SUPERSEDED, &other);
    expect(ch, UAR_RUN_RUNNING, "Let me see.", "", "");
    tell(ch, UAR_EVENT_ATTEMPT_SUPERSEDED, &superseded);
    expect(ch, UAR_RUN_RUNNING, "", "", "");
    tell_delta(ch, 2, "I'll mail.");
    tell_call(ch, UAR_EVENT_TOOL_DELTA, "a");
    expect(ch, UAR_RUN_RUNNING, "I'll mail.", "", "");
    tell_call(ch, UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED, "a");
    tell_call(ch, UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED, "b");
    tell_call(ch, UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED, "c");
    tell(ch, UAR_EVENT_RUN_PAUSED, &paused);
    expect(ch, UAR_RUN_PAUSED, "I'll mail.", "", "abc");
    tell_call(ch, UAR_EVENT_TOOL_CALL_APPROVED, "b");
    tell_call(ch, UAR_EVENT_TOOL_CALL_DENIED, "c");
    tell(ch, UAR_EVENT_RUN_RESUMED, &resumed);
    expect(ch, UAR_RUN_RUNNING, "I'll mail.", "", "a");
    tell_call(ch, UAR_EVENT_TOOL_START, "b");
    tell_call(ch, UAR_EVENT_TOOL_START, "d");
    expect(ch, UAR_RUN_RUNNING, "I'll mail.", "bd", "a");
    tell_call(ch, UAR_EVENT_TOOL_END, "b");
    expect(ch, UAR_RUN_RUNNING, "I'll mail.", "d", "a");
    tell(ch, UAR_EVENT_REASONING_DELTA, &thought);
    expect(ch, UAR_RUN_RUNNING, "", "d", "a");
    tell_delta(ch, 3, "Done.");
    tell(ch, UAR_EVENT_RUN_DONE, &done);
    expect(ch, UAR_RUN_DONE, "Done.", "", "");
}

static void test_E9_E2_a_snapshot_is_the_same_wherever_the_ring_was_cut(void **state) {
    fixture *f = *state;
    for (uint32_t events = 1; events <= 24; events++) {
        channel *ch = open_run_of(f, "local", "me", "default", 1, 0, &(ring_limits){ .events = events });
        tell_story(ch);
        channel_close(ch);
        channel_unref(ch);
    }
}

static void test_the_other_ends_are_states_too(void **state) {
    fixture *f = *state;
    uar_event_run_failed failed = { .code = uar_str_of("UAR_E_IO") };
    uar_event_cancelled cancelled = { .reason = uar_str_of("host") };
    channel *ch = open_run(f, 1);
    tell(ch, UAR_EVENT_RUN_FAILED, &failed);
    expect(ch, UAR_RUN_FAILED, "", "", "");
    channel_close(ch);
    channel_unref(ch);
    ch = open_run(f, 1);
    tell(ch, UAR_EVENT_CANCELLED, &cancelled);
    expect(ch, UAR_RUN_CANCELLED, "", "", "");
    channel_unref(ch);
}

static void test_a_seeded_run_knows_its_calls_from_before(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "local", "me", "default", 1, 2, NULL);
    uar_pending_call calls[] = { { uar_str_of("a"), uar_str_of("mail"), uar_str_of("{}") },
                                 { uar_str_of("b"), uar_str_of("mail"), uar_str_of("{}") } };
    uar_run_snapshot known = { .state = UAR_RUN_PAUSED,
                               .message = uuid_of(2),
                               .text = uar_str_of("Shall I?"),
                               .pending = calls,
                               .pending_count = 2 };
    assert_int_equal(channel_seed(ch, &known), UAR_OK);
    expect(ch, UAR_RUN_PAUSED, "Shall I?", "", "ab");
    tell_call(ch, UAR_EVENT_TOOL_CALL_APPROVED, "a");
    tell_delta(ch, 2, " Yes.");
    expect(ch, UAR_RUN_PAUSED, "Shall I? Yes.", "", "b");
    channel_unref(ch);
}

static void test_text_lost_to_memory_is_said_and_the_next_message_is_whole_again(void **state) {
    fixture *f = *state;
    static char text[300];
    memset(text, 'x', sizeof text - 1);
    channel *ch = open_run_of(f, "local", "me", "default", 1, 0, &(ring_limits){ .events = 1 });
    tell_delta(ch, 2, "short");
    tell_delta(ch, 2, text);
    tell_delta(ch, 2, text);
    probe_alloc_arm(&f->memory, 2, false);
    tell_delta(ch, 2, "the fold of what this evicts fails");
    probe_alloc_arm(&f->memory, 0, false);
    uar_run_snapshot *now = snapshot_of(ch);
    assert_true(now->incomplete);
    uar_run_snapshot_free(now);
    tell_delta(ch, 3, "next");
    tell_delta(ch, 3, " one");
    expect(ch, UAR_RUN_RUNNING, "next one", "", "");
    channel_unref(ch);
}

static void test_a_call_lost_to_memory_is_said_until_the_run_ends(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "local", "me", "default", 1, 0, &(ring_limits){ .events = 1 });
    tell_delta(ch, 2, "x");
    tell_call(ch, UAR_EVENT_TOOL_START, "a");
    probe_alloc_arm(&f->memory, 2, false);
    tell_delta(ch, 2, "y");
    probe_alloc_arm(&f->memory, 0, false);
    uar_run_snapshot *now = snapshot_of(ch);
    assert_true(now->incomplete);
    assert_int_equal(now->open_count, 0);
    uar_run_snapshot_free(now);
    publish_done(ch);
    tell(ch, UAR_EVENT_ERROR, &(uar_event_error){ .code = uar_str_of("c") });
    now = snapshot_of(ch);
    assert_false(now->incomplete);
    uar_run_snapshot_free(now);
    channel_unref(ch);
}

/* The registry. */

static void test_a_run_has_one_open_channel(void **state) {
    fixture *f = *state;
    channel *ch = open_run(f, 1);
    channel *again = NULL;
    assert_int_equal(hub_open_channel(&again, f->hub, ch->origin, 1, NULL), UAR_E_EXISTS);
    assert_null(again);
    channel_close(ch);
    assert_int_equal(hub_open_channel(&again, f->hub, ch->origin, 1, NULL), UAR_OK);
    channel *found = hub_find(f->hub, uuid_of(1));
    assert_ptr_equal(found, again);
    channel_unref(found);
    channel_unref(again);
    channel_unref(ch);
}

static void test_an_epoch_of_more_than_24_bits_is_refused(void **state) {
    fixture *f = *state;
    event_origin *origin = origin_of(f, "local", "me", "default", 1);
    channel *ch = NULL;
    assert_int_equal(hub_open_channel(&ch, f->hub, origin, UINT64_C(1) << 24, NULL), UAR_E_INVALID);
    assert_int_equal(hub_open_channel(&ch, f->hub, origin, (UINT64_C(1) << 24) - 1, NULL), UAR_OK);
    publish_deltas(ch, 1);
    assert_int_equal(channel_last(ch), (((UINT64_C(1) << 24) - 1) << 40) + 1);
    channel_unref(ch);
    event_origin_unref(origin);
}

static void test_the_last_16_ended_runs_can_be_found(void **state) {
    fixture *f = *state;
    for (unsigned run = 1; run <= 40; run++) {
        channel *ch = open_run(f, run);
        publish_done(ch);
        channel_close(ch);
        channel_unref(ch);
    }
    for (unsigned run = 1; run <= 40; run++) {
        channel *ch = hub_find(f->hub, uuid_of(run));
        assert_int_equal(ch != NULL, run > 24);
        channel_unref(ch);
    }
}

static void test_a_run_that_was_taken_up_again_is_not_forgotten_with_its_earlier_channel(void **state) {
    fixture *f = *state;
    channel *earlier = open_run(f, 1);
    channel_close(earlier);
    channel_unref(earlier);
    channel *now = open_run_of(f, "local", "me", "default", 1, 1, NULL);
    for (unsigned run = 2; run <= 40; run++) {
        channel *ch = open_run(f, run);
        channel_close(ch);
        channel_unref(ch);
    }
    channel *found = hub_find(f->hub, uuid_of(1));
    assert_ptr_equal(found, now);
    channel_unref(found);
    channel_unref(now);
}

static void test_E3_another_owners_run_can_not_be_found(void **state) {
    fixture *f = *state;
    channel *ch = open_run_of(f, "o1", "u1", "s1", 1, 0, NULL);
    assert_null(hub_find_owned(f->hub, uar_str_of("o2"), uuid_of(1)));
    assert_null(hub_find_owned(f->hub, uar_str_of("o1"), uuid_of(2)));
    channel *found = hub_find_owned(f->hub, uar_str_of("o1"), uuid_of(1));
    assert_ptr_equal(found, ch);
    channel_unref(found);
    channel_unref(ch);
}

static void test_streams_that_belong_to_no_run_are_heard_but_not_found(void **state) {
    fixture *f = *state;
    channel *one = open_run_of(f, "local", NULL, NULL, 0, 0, NULL);
    channel *two = open_run_of(f, "local", NULL, NULL, 0, 0, NULL);
    assert_null(hub_find(f->hub, (uar_uuid){ { 0 } }));
    uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local" };
    uar_subscription *sub = subscribe(f, &options);
    uar_event_memory_mutation mutation = { .id = uuid_of(1), .op = uar_str_of("add") };
    tell(one, UAR_EVENT_MEMORY_MUTATION, &mutation);
    tell(two, UAR_EVENT_MEMORY_MUTATION, &mutation);
    uar_next next;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_OK);
        assert_int_equal(next.event->id, 1);
        uar_event_unref(next.event);
    }
    uar_subscription_free(sub);
    channel_unref(one);
    channel_unref(two);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_E1_ids_count_from_one_in_the_epoch_without_hole),
        CASE(test_E1_refused_events_use_up_no_id),
        CASE(test_events_carry_the_identity_and_the_wall_time),
        CASE(test_E5_a_second_terminal_event_is_refused_whatever_it_is),
        CASE(test_E5_after_the_terminal_event_only_mutations_and_errors_may_follow),
        CASE(test_E5_a_reserved_terminal_event_needs_no_memory),
        CASE(test_E5_a_reservation_survives_a_trim),
        CASE(test_a_closed_channel_takes_no_event),
        CASE(test_an_idle_channel_is_small_and_a_short_run_too),
        CASE(test_E4_the_ring_keeps_the_newest_512_events_by_default),
        CASE(test_E4_the_ring_keeps_no_more_bytes_than_its_bound_but_always_the_newest),
        CASE(test_a_trimmed_ring_gives_its_memory_back_and_the_run_is_still_known),
        CASE(test_E9_E2_a_snapshot_is_the_same_wherever_the_ring_was_cut),
        CASE(test_the_other_ends_are_states_too),
        CASE(test_a_seeded_run_knows_its_calls_from_before),
        CASE(test_text_lost_to_memory_is_said_and_the_next_message_is_whole_again),
        CASE(test_a_call_lost_to_memory_is_said_until_the_run_ends),
        CASE(test_a_run_has_one_open_channel),
        CASE(test_an_epoch_of_more_than_24_bits_is_refused),
        CASE(test_the_last_16_ended_runs_can_be_found),
        CASE(test_a_run_that_was_taken_up_again_is_not_forgotten_with_its_earlier_channel),
        CASE(test_E3_another_owners_run_can_not_be_found),
        CASE(test_streams_that_belong_to_no_run_are_heard_but_not_found),
    };
    return cmocka_run_group_tests_name("event channel", tests, NULL, NULL);
}
