/* Runs that only talk: events, stored messages, retries, ends. */
#include "unit/test_run_fixture.h"

/* Bytes of one, two, three and four bytes a character. */
#define WORDS "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"

static void an_answer_streams_and_is_stored(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("Hel") "," TEXT("lo") "," USED(5, 2) "," STOP));
    uar_outcome out;
    assert_int_equal(host_say(h, "Hi", &out), UAR_OK);
    assert_int_equal(out.status, UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    assert_int_equal(out.usage.input, 5);
    assert_int_equal(out.usage.output, 2);
    assert_true(out.usage.known);
    expect_kinds(h, HELLO_KINDS);
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 2);
    assert_true(uar_str_equal(part_text(&reply->messages[0], UAR_PART_TEXT), uar_str_of("Hi")));
    assert_true(uar_str_equal(part_text(&reply->messages[1], UAR_PART_TEXT), uar_str_of("Hello")));
    assert_true(uar_uuid_equal(reply->messages[1].id, out.message));
    assert_false(reply->messages[1].interrupted);
    uar_reply_free(reply);
    fixture_close(h);
}

static void the_next_turn_reads_what_was_said_before(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO HELLO, .instructions = "Be kind." });
    assert_int_equal(host_say(h, "one", NULL), UAR_OK);
    assert_int_equal(host_say(h, "two", NULL), UAR_OK);
    cJSON *doc = fixture_request(h, 2);
    assert_int_equal(cJSON_GetArraySize(json_member(doc, "messages")), 4);
    assert_string_equal(request_text(doc, 0, "role"), "system");
    assert_string_equal(request_text(doc, 0, "content"), "Be kind.");
    assert_string_equal(request_text(doc, 1, "content"), "one");
    assert_string_equal(request_text(doc, 2, "role"), "assistant");
    assert_string_equal(request_text(doc, 2, "content"), "Hello");
    assert_string_equal(request_text(doc, 3, "content"), "two");
    fixture_request_free(doc);
    fixture_close(h);
}

/* ---- ids and subscriptions ---- */

static uar_status append(void *ctx, const char *bytes, size_t len) {
    char *text = ctx;
    assert_true(strlen(text) + len < 8192);
    strncat(text, bytes, len);
    return UAR_OK;
}

static void expect_same_bytes(const uar_event *a, const uar_event *b) {
    static char one[8192], other[8192];
    one[0] = other[0] = '\0';
    assert_int_equal(uar_event_write_json(a, append, one), UAR_OK);
    assert_int_equal(uar_event_write_json(b, append, other), UAR_OK);
    assert_string_equal(one, other);
}

static uar_subscription *subscribe_after(host *h, uar_run_id run, uint64_t after) {
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = run, .has_after = true,
                                .after = after };
    uar_subscription *sub = NULL;
    assert_int_equal(uar_subscribe(&sub, host_runtime(h), &o, NULL), UAR_OK);
    return sub;
}

/* The next item must be event `id`, as the sink heard it. */
static void expect_next(host *h, uar_subscription *sub, uint64_t id) {
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 10000), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_EVENT);
    assert_int_equal(next.event->id, id);
    expect_same_bytes(next.event, host_event(h, (size_t)id - 1));
    uar_event_unref(next.event);
}

static void expect_closed(uar_subscription *sub, uar_run_id run) {
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 10000), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_CLOSED);
    assert_true(uar_uuid_equal(next.gap.run, run));
    assert_int_equal(uar_subscription_next(&next, sub, 0), UAR_E_TIMEOUT);
}

static void test_E1_ids_are_1_to_n_and_the_ring_is_what_was_heard_live(void **state) {
    (void)state;
    host *h =
        fixture_script(LINE(TEXT("a") "," REASONING("b") "," TEXT("c") "," CALL(0, "x", "no", "{}") "," CALLS) HELLO);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id run;
    assert_int_equal(host_run(h, &q, &run, NULL), UAR_OK);
    size_t count = host_event_count(h);
    assert_true(count > 8);
    uar_subscription *sub = subscribe_after(h, run, 0);
    for (size_t i = 1; i <= count; i++)
        expect_next(h, sub, i);
    expect_closed(sub, run);
    uar_subscription_free(sub);
    fixture_close(h);
}

static void test_E2_a_subscriber_from_N_gets_the_rest_and_goes_live(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("a") "," TEXT("b") "," TEXT("c") "," HOLD));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id run;
    assert_int_equal(uar_run_start(&run, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_hears(h, "ChatDelta", 3));
    uar_subscription *sub = subscribe_after(h, run, 3);
    expect_next(h, sub, 4);
    expect_next(h, sub, 5);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 20), UAR_E_TIMEOUT);
    assert_int_equal(uar_run_cancel(host_runtime(h), run, UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
    assert_int_equal(host_await(h, run, NULL), UAR_OK);
    expect_next(h, sub, 6);
    expect_closed(sub, run);
    uar_subscription_free(sub);
    fixture_close(h);
}

#define TEN(x) x "," x "," x "," x "," x "," x "," x "," x "," x "," x

static void test_E2_an_evicted_start_gives_one_gap_with_the_range_and_a_snapshot(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = LINE(TEN(TEXT("x")) "," STOP), .ring_events = 4 });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id run;
    assert_int_equal(host_run(h, &q, &run, NULL), UAR_OK);
    uint64_t last = host_event(h, host_event_count(h) - 1)->id; /* the sink may have had a gap of its own */
    uar_subscription *sub = subscribe_after(h, run, 0);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 10000), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_GAP);
    assert_int_equal(next.gap.first, 1);
    assert_int_equal(next.gap.last, last - 4);
    assert_non_null(next.gap.snapshot);
    assert_int_equal(next.gap.snapshot->last_event, last - 4);
    assert_true(next.gap.snapshot->text.len > 0 && next.gap.snapshot->text.len < 10);
    for (uint64_t id = last - 3; id <= last; id++) {
        assert_int_equal(uar_subscription_next(&next, sub, 10000), UAR_OK);
        assert_int_equal(next.kind, UAR_NEXT_EVENT);
        assert_int_equal(next.event->id, id);
        uar_event_unref(next.event);
    }
    expect_closed(sub, run);
    uar_subscription_free(sub);
    fixture_close(h);
}

static void test_E3_a_replay_never_crosses_a_run_a_session_or_an_owner(void **state) {
    (void)state;
    host *h = fixture_script(HELLO HELLO);
    uar_run_id mine, theirs;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    assert_int_equal(host_run(h, &q, &mine, NULL), UAR_OK);
    q.owner = "other";
    assert_int_equal(host_run(h, &q, &theirs, NULL), UAR_OK);
    uar_subscription *sub = NULL;
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = theirs, .has_after = true };
    assert_int_equal(uar_subscribe(&sub, host_runtime(h), &o, NULL), UAR_E_NOT_FOUND);
    o.run = mine;
    o.after = 6; /* an id beyond the end never reaches into another run */
    assert_int_equal(uar_subscribe(&sub, host_runtime(h), &o, NULL), UAR_E_INVALID);
    o.after = 0;
    o.user = "me";
    o.session = "else";
    assert_int_equal(uar_subscribe(&sub, host_runtime(h), &o, NULL), UAR_E_NOT_FOUND);
    uar_run_snapshot *snapshot = NULL;
    assert_int_equal(uar_run_snapshot_take(&snapshot, host_runtime(h), "local", theirs, NULL), UAR_E_NOT_FOUND);
    sub = subscribe_after(h, mine, 4);
    uar_next next;
    assert_int_equal(uar_subscription_next(&next, sub, 10000), UAR_OK);
    assert_int_equal(next.kind, UAR_NEXT_EVENT);
    assert_true(uar_uuid_equal(next.event->run, mine));
    uar_event_unref(next.event);
    expect_closed(sub, mine);
    uar_subscription_free(sub);
    fixture_close(h);
}

typedef struct slow_listener {
    mutex lock;
    condition changed;
    bool released;
    size_t events, gaps, closed;
    int destroyed;
} slow_listener;

static void slow_event(void *ctx, const uar_event *event) {
    (void)event;
    slow_listener *s = ctx;
    mutex_lock(&s->lock);
    while (!s->released)
        (void)condition_wait(&s->changed, &s->lock, 1000);
    s->events++;
    mutex_unlock(&s->lock);
}

static void slow_gap(void *ctx, const uar_gap *gap) {
    slow_listener *s = ctx;
    assert_true(gap->first <= gap->last);
    s->gaps++;
}

static void slow_closed(void *ctx, uar_run_id run) {
    (void)run;
    slow_listener *s = ctx;
    mutex_lock(&s->lock);
    s->closed++;
    condition_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

static void slow_destroy(void *ctx) {
    slow_listener *s = ctx;
    s->destroyed++;
}

static void test_E4_a_slow_subscriber_slows_nobody_and_gets_a_gap(void **state) {
    (void)state;
    slow_listener s = { .released = false };
    assert_int_equal(mutex_init(&s.lock), UAR_OK);
    assert_int_equal(condition_init(&s.changed), UAR_OK);
    host *h = fixture_open(
        &(host_options){ .script = LINE(TEN(TEN(TEXT("x"))) "," TEN(TEN(TEXT("y"))) "," STOP), .ring_events = 8 });
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local",   .ctx = &s,
                                .on_event = slow_event,     .on_gap = slow_gap, .on_closed = slow_closed,
                                .destroy = slow_destroy };
    uar_subscription *sub = NULL;
    assert_int_equal(uar_subscribe(&sub, host_runtime(h), &o, NULL), UAR_OK);
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK); /* though nobody listens */
    assert_int_equal(out.state, UAR_RUN_DONE);
    mutex_lock(&s.lock);
    s.released = true;
    condition_broadcast(&s.changed);
    for (int i = 0; i < 1000 && s.closed == 0; i++)
        (void)condition_wait(&s.changed, &s.lock, 10);
    assert_int_equal(s.closed, 1);
    mutex_unlock(&s.lock);
    assert_true(s.gaps >= 1);
    assert_true(s.events < 204);
    uar_subscription_free(sub);
    assert_int_equal(s.destroyed, 1);
    fixture_close(h);
    condition_dispose(&s.changed);
    mutex_dispose(&s.lock);
}

static void test_E4_losing_a_subscriber_does_not_cancel_the_run(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .threading = UAR_THREADS_MANUAL });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id run;
    assert_int_equal(uar_run_start(&run, host_runtime(h), &q, NULL), UAR_OK);
    uar_subscription_free(subscribe_after(h, run, 0));
    uar_outcome out;
    assert_int_equal(host_await(h, run, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    fixture_close(h);
}

/* ---- ends ---- */

typedef struct ending {
    const char *script, *model, *kinds;
    uar_run_state state;
    uar_status status;
} ending;

static void test_E5_every_way_to_end_has_exactly_one_terminal_event(void **state) {
    (void)state;
    static const ending ways[] = {
        { HELLO, NULL, HELLO_KINDS, UAR_RUN_DONE, UAR_OK },
        { LINE(STOP), NULL, "RunStart RuntimeStep RunDone", UAR_RUN_DONE, UAR_OK },
        { LINE(FAIL("UAR_E_MODEL")), NULL, "RunStart RuntimeStep RunFailed", UAR_RUN_FAILED, UAR_E_MODEL },
        { LINE(TEXT("a") "," FAIL("odd")), NULL, "RunStart RuntimeStep ChatDelta RunFailed", UAR_RUN_FAILED,
          UAR_E_MODEL },
        { "", NULL, "RunStart RuntimeStep RunFailed", UAR_RUN_FAILED, UAR_E_SCRIPT_EXHAUSTED },
        { LINE(TEXT("a") "," FINISH("content_filter")), NULL, "RunStart RuntimeStep ChatDelta RunFailed",
          UAR_RUN_FAILED, UAR_E_FILTERED },
        { LINE(TEXT("a") "," FINISH("length")), NULL, "RunStart RuntimeStep ChatDelta Error RunDone", UAR_RUN_DONE,
          UAR_OK },
        { HELLO, "nobody", "RunStart RunFailed", UAR_RUN_FAILED, UAR_E_NOT_FOUND },
        { LINE(TEXT("a")) LINE(FAIL_AGAIN), NULL, "RunStart RuntimeStep ChatDelta AttemptSuperseded RunFailed",
          UAR_RUN_FAILED, UAR_E_NETWORK },
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        host *h = fixture_open(&(host_options){ .script = ways[i].script, .model_attempts = 2 });
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .model = ways[i].model };
        uar_outcome out;
        uar_run_id run;
        assert_int_equal(host_run(h, &q, &run, &out), UAR_OK);
        expect_kinds(h, ways[i].kinds);
        assert_int_equal(count_terminals(h), 1);
        assert_int_equal(out.state, ways[i].state);
        assert_int_equal(out.status, ways[i].status);
        if (out.status != UAR_OK) {
            assert_int_equal(out.error.code, out.status);
            assert_true(out.error.message[0] != '\0');
        }
        if (ways[i].model == NULL) {
            expect_stored_as_streamed(h, "default"); /* E6 */
            uar_reply *reply = NULL;
            assert_int_equal(fixture_run(h, run, &reply).state, ways[i].state);
            uar_reply_free(reply);
        }
        fixture_close(h);
    }
}

static void test_E5_a_second_run_in_an_open_session_is_refused_by_events(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("a") "," HOLD) HELLO);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id first, second;
    assert_int_equal(uar_run_start(&first, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_sees_streams(h, 1));
    uar_outcome out;
    assert_int_equal(host_run(h, &q, &second, &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_BUSY);
    assert_int_equal(out.state, UAR_RUN_FAILED);
    assert_int_equal(host_count(h, "RunFailed"), 1);
    assert_int_equal(uar_run_cancel(host_runtime(h), first, UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
    assert_int_equal(host_await(h, first, NULL), UAR_OK);
    assert_int_equal(count_terminals(h), 2);
    assert_int_equal(host_run(h, &q, &second, &out), UAR_OK); /* the session is free again at once */
    assert_int_equal(out.state, UAR_RUN_DONE);
    fixture_close(h);
}

static void test_E6_a_partial_answer_is_stored_as_interrupted(void **state) {
    (void)state;
    host *h = fixture_script(LINE(REASONING("hm") "," TEXT("half a") "," FAIL("UAR_E_MODEL")));
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_FAILED);
    expect_stored_as_streamed(h, "default");
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 2);
    assert_true(reply->messages[1].interrupted);
    assert_true(uar_str_equal(part_text(&reply->messages[1], UAR_PART_TEXT), uar_str_of("half a")));
    uar_reply_free(reply);
    fixture_close(h);
}

/* ---- characters ---- */

/* Where the model's text, reasoning and arguments are pushed as bytes, cut in two at `cut`. */
typedef struct cut_words {
    size_t cut, len;
} cut_words;

static void push_cut(void *ctx, host *h, uar_stream *stream) {
    const cut_words *c = ctx;
    size_t rest = c->len - c->cut;
    if (host_model_calls(h) > 1) return;
    assert_int_equal(uar_stream_reasoning(stream, WORDS, c->cut), UAR_OK);
    assert_int_equal(uar_stream_text(stream, WORDS, c->cut), UAR_OK);
    assert_int_equal(uar_stream_reasoning(stream, &WORDS[c->cut], rest), UAR_OK);
    assert_int_equal(uar_stream_text(stream, &WORDS[c->cut], rest), UAR_OK);
    uar_str id = uar_str_of("c1"), name = uar_str_of("echo"), none = uar_str_of(NULL);
    assert_int_equal(uar_stream_tool_call(stream, 0, id, name, uar_str_of("{\"w\":\"")), UAR_OK);
    assert_int_equal(uar_stream_tool_call(stream, 0, none, none, uar_str_n(WORDS, c->cut)), UAR_OK);
    assert_int_equal(uar_stream_tool_call(stream, 0, none, none, uar_str_n(&WORDS[c->cut], rest)), UAR_OK);
    assert_int_equal(uar_stream_tool_call(stream, 0, none, none, uar_str_of("\"}")), UAR_OK);
}

static void test_E7_a_character_split_at_any_byte_arrives_whole(void **state) {
    (void)state;
    static const host_tool tools[] = { { .name = "echo", .way = HOST_ANSWERS, .result = "1" }, { .name = NULL } };
    cut_words c = { 0, strlen(WORDS) };
    for (c.cut = 0; c.cut <= c.len; c.cut++) {
        host *h = fixture_open(&(host_options){
            .script = LINE(CALLS) HELLO, .tools = tools, .hooks = { .ctx = &c, .on_start = push_cut } });
        uar_outcome out;
        assert_int_equal(host_say(h, "go", &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE);
        assert_int_equal(host_count(h, "Error"), 0);
        expect_unheard(h, "\xef\xbf\xbd");
        folded *list = calloc(FOLDED_MAX, sizeof *list);
        assert_non_null(list);
        assert_int_equal(fold_deltas(h, list, UAR_EVENT_CHAT_DELTA), 2);
        assert_string_equal(list[0].text, WORDS);
        assert_int_equal(fold_deltas(h, list, UAR_EVENT_REASONING_DELTA), 1);
        assert_string_equal(list[0].text, WORDS);
        free(list);
        char *arguments = host_arguments(h, "echo");
        assert_string_equal(arguments, "{\"w\":\"" WORDS "\"}");
        free(arguments);
        expect_stored_as_streamed(h, "default");
        fixture_close(h);
    }
}

static void test_E7_scripted_bytes_split_inside_a_character_arrive_whole(void **state) {
    (void)state;
    host *h = fixture_script(LINE(BYTES("8J+Y") "," BYTES("gA==") "," STOP));
    assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    expect_heard(h, "\"text\":\"\xf0\x9f\x98\x80\"");
    expect_stored_as_streamed(h, "default");
    fixture_close(h);
}

static void test_E7_a_truncated_tail_is_reported(void **state) {
    (void)state;
    static const char *const scripts[] = {
        LINE(TEXT("ok") "," BYTES("8J+Y") "," STOP),
        LINE(TEXT("ok") "," BYTES("8J+Y") "," FAIL("UAR_E_MODEL")),
    };
    for (size_t i = 0; i < 2; i++) {
        host *h = fixture_script(scripts[i]);
        assert_int_equal(host_say(h, "go", NULL), UAR_OK);
        expect_heard(h, "Error {\"code\":\"UAR_E_UTF8\",\"message\":\"the model's text ended inside a character\"}");
        expect_stored_as_streamed(h, "default");
        assert_int_equal(count_terminals(h), 1);
        fixture_close(h);
    }
}

static void push_cut_reasoning(void *ctx, host *h, uar_stream *stream) {
    (void)ctx;
    (void)h;
    assert_int_equal(uar_stream_reasoning(stream, "so \xe2\x82", 5), UAR_OK);
}

static void test_E7_a_truncated_tail_of_reasoning_is_reported(void **state) {
    (void)state;
    host *h =
        fixture_open(&(host_options){ .script = LINE(TEXT("ok") "," STOP), .hooks.on_start = push_cut_reasoning });
    assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    expect_heard(h, "ended inside a character");
    expect_stored_as_streamed(h, "default");
    fixture_close(h);
}

static void u0000_in_the_models_text_becomes_visible_and_is_reported_once(void **state) {
    (void)state;
    host *h = fixture_script(LINE(BYTES("YQBi") "," BYTES("AAA=") "," STOP));
    assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    expect_heard(h, "\"text\":\"a\xef\xbf\xbd"
                    "b\"");
    assert_int_equal(host_count(h, "Error"), 1);
    expect_stored_as_streamed(h, "default");
    fixture_close(h);
}

static void u0000_in_the_input_becomes_visible_and_is_reported(void **state) {
    (void)state;
    host *h = fixture_script(HELLO);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "a\0b", .input_len = 3 };
    assert_int_equal(host_run(h, &q, NULL, NULL), UAR_OK);
    expect_kinds(h, "RunStart Error RuntimeStep ChatDelta ChatDelta RunDone");
    expect_heard(h, "\"input\":\"a\xef\xbf\xbd"
                    "b\"");
    fixture_close(h);
}

static void what_a_provider_says_of_a_failure_is_cleaned(void **state) {
    (void)state;
    host *h = fixture_script(LINE("{\"error\":{\"code\":\"odd\\ncode\",\"message\":\"two\\nlines\"}}"));
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_string_equal(out.error.message, "odd code: two lines");
    fixture_close(h);
}

/* ---- attempts ---- */

static void test_E8_a_retry_after_deltas_says_so_first_and_keeps_the_message_id(void **state) {
    (void)state;
    host *h =
        fixture_script(LINE(TEXT("wrong") "," USED(3, 1) "," FAIL_AGAIN) LINE(TEXT("right") "," USED(3, 2) "," STOP));
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    expect_kinds(h, "RunStart RuntimeStep ChatDelta AttemptSuperseded ChatDelta RunDone");
    const uar_event *wrong = host_event(h, 2), *superseded = host_event(h, 3), *right = host_event(h, 4);
    assert_true(uar_uuid_equal(wrong->chat_delta.message, superseded->attempt_superseded.message));
    assert_true(uar_uuid_equal(wrong->chat_delta.message, right->chat_delta.message));
    assert_int_equal(superseded->attempt_superseded.attempt, 1);
    assert_int_equal(out.usage.input, 6); /* what a failed attempt used was used */
    assert_int_equal(out.usage.output, 3);
    expect_stored_as_streamed(h, "default");
    cJSON *doc = fixture_request(h, 2);
    assert_int_equal(cJSON_GetArraySize(json_member(doc, "messages")), 1);
    fixture_request_free(doc);
    fixture_close(h);
}

static void test_E8_an_attempt_that_said_nothing_is_not_superseded(void **state) {
    (void)state;
    host *h = fixture_script(LINE(FAIL_AGAIN) HELLO);
    assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    expect_kinds(h, HELLO_KINDS);
    fixture_close(h);
}

static void test_E8_half_a_character_of_a_failed_attempt_does_not_reach_the_next(void **state) {
    (void)state;
    host *h = fixture_script(LINE(BYTES("8J+Y") "," FAIL_AGAIN) LINE(TEXT("right") "," STOP));
    assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    expect_unheard(h, "\xef\xbf\xbd");
    expect_kinds(h, "RunStart RuntimeStep ChatDelta RunDone");
    expect_stored_as_streamed(h, "default");
    fixture_close(h);
}

static void a_stream_that_ends_without_its_end_mark_is_asked_again(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("cut")) HELLO);
    assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    expect_kinds(h, "RunStart RuntimeStep ChatDelta AttemptSuperseded ChatDelta ChatDelta RunDone");
    fixture_close(h);
}

/* ---- commits ---- */

static void test_E13_run_done_comes_after_the_commit_of_the_end(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h =
        fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l), .threading = UAR_THREADS_MANUAL });
    host_layer_hold(l, COMMIT_END);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id run;
    assert_int_equal(uar_run_start(&run, host_runtime(h), &q, NULL), UAR_OK);
    for (int i = 0; i < 400 && host_layer_waiting(l) == 0; i++)
        host_rest(h, 5);
    host_rest(h, 20);
    assert_int_equal(host_layer_waiting(l), 1);
    expect_kinds(h, "RunStart RuntimeStep ChatDelta ChatDelta");
    host_layer_let_go(l);
    assert_int_equal(host_await(h, run, NULL), UAR_OK);
    expect_kinds(h, HELLO_KINDS);
    fixture_close(h);
    host_layer_free(l);
}

static void test_E13_a_final_save_that_fails_for_good_is_run_failed_and_the_text_is_readable(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = HELLO HELLO, .layer = host_layer_door(l) });
    host_layer_fail(l, COMMIT_END, 0, 5, UAR_E_FULL); /* four tries, and one to say that it failed */
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id run;
    uar_outcome out;
    assert_int_equal(host_run(h, &q, &run, &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_FULL);
    assert_int_equal(out.state, UAR_RUN_FAILED);
    expect_kinds(h, "RunStart RuntimeStep ChatDelta ChatDelta RunFailed");
    uar_run_snapshot *snapshot = NULL;
    assert_int_equal(uar_run_snapshot_take(&snapshot, host_runtime(h), "local", run, NULL), UAR_OK);
    assert_true(uar_str_equal(snapshot->text, uar_str_of("Hello")));
    assert_int_equal(snapshot->state, UAR_RUN_FAILED);
    uar_run_snapshot_free(snapshot);
    assert_int_equal(host_run(h, &q, &run, &out), UAR_OK); /* the session can be used */
    assert_int_equal(out.state, UAR_RUN_DONE);
    fixture_close(h);
    host_layer_free(l);
}

static void test_E6_an_answer_whose_end_can_not_be_stored_is_kept_as_a_cut_message(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l) });
    host_layer_fail(l, COMMIT_END, 0, 1, UAR_E_READ_ONLY);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id run;
    uar_outcome out;
    assert_int_equal(host_run(h, &q, &run, &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_READ_ONLY);
    expect_kinds(h, "RunStart RuntimeStep ChatDelta ChatDelta RunFailed");
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 2);
    assert_true(reply->messages[1].interrupted);
    uar_reply_free(reply);
    assert_int_equal(fixture_run(h, run, &reply).state, UAR_RUN_FAILED);
    uar_reply_free(reply);
    fixture_close(h);
    host_layer_free(l);
}

static void test_R5_only_the_save_of_the_answer_is_tried_again(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l) });
    host_layer_fail(l, COMMIT_END, 0, 2, UAR_E_PROTECTED);
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    assert_int_equal(host_model_calls(h), 1);
    expect_kinds(h, HELLO_KINDS);
    expect_stored_as_streamed(h, "default");
    fixture_close(h);
    host_layer_free(l);
}

static void a_turn_that_can_not_be_saved_fails_before_the_model_is_asked(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l) });
    host_layer_fail(l, COMMIT_TURN, 0, 1, UAR_E_IO);
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_IO);
    assert_int_equal(host_model_calls(h), 0);
    expect_kinds(h, "RunStart RunFailed");
    fixture_close(h);
    host_layer_free(l);
}

/* ---- requests that are the caller's mistake ---- */

typedef struct mistake {
    uar_run_request request;
    uar_status status;
    const char *named;
} mistake;

static void a_mistake_in_a_request_is_named_and_starts_nothing(void **state) {
    (void)state;
    host *h = fixture_script(HELLO);
    const mistake mistakes[] = {
        { { UAR_RUN_REQUEST_INIT, .input = NULL }, UAR_E_INVALID, "input" },
        { { UAR_RUN_REQUEST_INIT, .input = " \n" }, UAR_E_INVALID, "input" },
        { { UAR_RUN_REQUEST_INIT, .input = "\xff" }, UAR_E_UTF8, "input" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .owner = "" }, UAR_E_INVALID, "owner" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .owner = "~" }, UAR_E_INVALID, "reserved" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .user = "a\nb" }, UAR_E_INVALID, "user" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .session = "" }, UAR_E_INVALID, "session" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .agent = "" }, UAR_E_INVALID, "agent" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .task = "" }, UAR_E_INVALID, "task" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .model = "\xff" }, UAR_E_UTF8, "model" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .instructions = "\xff" }, UAR_E_UTF8, "instructions" },
        { { UAR_RUN_REQUEST_INIT, .input = "x", .approvals = (uar_approvals)7 }, UAR_E_INVALID, "approvals" },
        { { 0, .input = "x" }, UAR_E_STRUCT, "size" },
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        uar_error err = UAR_ERROR_INIT;
        uar_run_id run;
        memset(&run, 0xee, sizeof run);
        uar_run_id untouched = run;
        assert_int_equal(uar_run_start(&run, host_runtime(h), &mistakes[i].request, &err), mistakes[i].status);
        assert_int_equal(err.code, mistakes[i].status);
        if (strstr(err.message, mistakes[i].named) == NULL) fail_msg("%zu: %s", i, err.message);
        assert_true(uar_uuid_equal(run, untouched));
    }
    assert_int_equal(host_event_count(h), 0);
    fixture_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(an_answer_streams_and_is_stored),
        fixture_test(the_next_turn_reads_what_was_said_before),
        fixture_test(test_E1_ids_are_1_to_n_and_the_ring_is_what_was_heard_live),
        fixture_test(test_E2_a_subscriber_from_N_gets_the_rest_and_goes_live),
        fixture_test(test_E2_an_evicted_start_gives_one_gap_with_the_range_and_a_snapshot),
        fixture_test(test_E3_a_replay_never_crosses_a_run_a_session_or_an_owner),
        fixture_test(test_E4_a_slow_subscriber_slows_nobody_and_gets_a_gap),
        fixture_test(test_E4_losing_a_subscriber_does_not_cancel_the_run),
        fixture_test(test_E5_every_way_to_end_has_exactly_one_terminal_event),
        fixture_test(test_E5_a_second_run_in_an_open_session_is_refused_by_events),
        fixture_test(test_E6_a_partial_answer_is_stored_as_interrupted),
        fixture_test(test_E7_a_character_split_at_any_byte_arrives_whole),
        fixture_test(test_E7_scripted_bytes_split_inside_a_character_arrive_whole),
        fixture_test(test_E7_a_truncated_tail_is_reported),
        fixture_test(test_E7_a_truncated_tail_of_reasoning_is_reported),
        fixture_test(u0000_in_the_models_text_becomes_visible_and_is_reported_once),
        fixture_test(u0000_in_the_input_becomes_visible_and_is_reported),
        fixture_test(what_a_provider_says_of_a_failure_is_cleaned),
        fixture_test(test_E8_a_retry_after_deltas_says_so_first_and_keeps_the_message_id),
        fixture_test(test_E8_an_attempt_that_said_nothing_is_not_superseded),
        fixture_test(test_E8_half_a_character_of_a_failed_attempt_does_not_reach_the_next),
        fixture_test(a_stream_that_ends_without_its_end_mark_is_asked_again),
        fixture_test(test_E13_run_done_comes_after_the_commit_of_the_end),
        fixture_test(test_E13_a_final_save_that_fails_for_good_is_run_failed_and_the_text_is_readable),
        fixture_test(test_E6_an_answer_whose_end_can_not_be_stored_is_kept_as_a_cut_message),
        fixture_test(test_R5_only_the_save_of_the_answer_is_tried_again),
        fixture_test(a_turn_that_can_not_be_saved_fails_before_the_model_is_asked),
        fixture_test(a_mistake_in_a_request_is_named_and_starts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
