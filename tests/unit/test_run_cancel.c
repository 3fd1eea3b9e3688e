/* Cancel and close: at every step, once, twice, too late; what has to stop is seen stopped, and what can't is let go. */
#include "unit/test_run_fixture.h"

#include "base/clock.h"
#include "runtime/runtime.h"

#define CALL_SLOW LINE(TEXT("Wait") "," CALL(0, "c1", "slow", "{}") "," CALLS)

static uint64_t now_ms(void) {
    return clock_mono(&clock_default);
}

static host *open_slow(const char *script, host_tool slow, host_layer *l) {
    const host_tool tools[] = { slow, { .name = NULL } };
    return fixture_open(
        &(host_options){ .script = script, .tools = tools, .layer = l != NULL ? host_layer_door(l) : NULL });
}

static const host_tool STOPS = { .name = "slow", .way = HOST_STOPS, .result = "1" };
static const host_tool NEVER = { .name = "slow", .way = HOST_NEVER, .result = "1" };
static const host_tool ASKS = { .name = "slow", .way = HOST_ANSWERS, .result = "1", .approval = UAR_APPROVAL_ASK };

static uar_run_id start(host *h) {
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    return id;
}

static void cancel(host *h, uar_run_id id) {
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
}

/* Twice is once; the second may find the run ended. */
static void cancel_again(host *h, uar_run_id id) {
    uar_status status = uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "again", NULL);
    assert_true(status == UAR_OK || status == UAR_E_STALE);
}

/* The run ended as cancelled, said so once, and its record says the same. */
static void expect_cancelled(host *h, uar_run_id id) {
    uar_outcome out;
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_CANCELLED);
    assert_int_equal(out.status, UAR_E_CANCELLED);
    assert_int_equal(count_terminals(h), 1);
    expect_heard(h, "Cancelled {\"reason\":\"enough\"");
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, NULL, NULL), UAR_E_STALE);
    host_rest(h, 20);
    assert_int_equal(host_late_callbacks(h), 0); /* X3 */
}

/* ---- X2: every step ---- */

/* A run can be found, and so be cancelled, before the letter that lets it go is posted. */
static void test_X2_a_cancel_that_overtakes_the_start_is_heard(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .threading = UAR_THREADS_MANUAL });
    uar_runtime *rt = host_runtime(h);
    const run_spec spec = { .owner = uar_str_of("local"),
                            .user = uar_str_of("me"),
                            .session = uar_str_of("default"),
                            .agent = uar_str_of("assistant"),
                            .input = uar_str_of("go") };
    run *r = NULL;
    assert_int_equal(run_new(&r, &rt->env, &spec, NULL), UAR_OK);
    uar_run_id id = r->id;
    assert_int_equal(manager_add(&rt->manager, run_ref(r)), UAR_OK);
    assert_int_equal(run_cancel(r, UAR_CANCEL_NOW, uar_str_of("enough")), UAR_OK);
    run_begin(r);
    run_unref(r);
    expect_cancelled(h, id);
    expect_kinds(h, "RunStart Cancelled");
    fixture_close(h);
}

static void test_X2_cancel_before_the_first_step(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .threading = UAR_THREADS_MANUAL });
    uar_run_id id = start(h);
    cancel(h, id); /* nothing has run yet */
    expect_cancelled(h, id);
    expect_kinds(h, "RunStart Cancelled");
    assert_int_equal(host_model_calls(h), 0);
    uar_outcome out;
    assert_int_equal(host_say(h, "again", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    fixture_close(h);
}

/* Cancel after n letters of the actor have been worked, for each n until the run ends by itself. */
static void test_X2_cancel_at_every_pass_of_a_pump(void **state) {
    (void)state;
    const host_tool tools[] = { { .name = "slow", .way = HOST_ANSWERS, .result = "1" }, { .name = NULL } };
    bool done = false;
    for (int passes = 0; !done; passes++) {
        assert_true(passes < 500);
        host *h =
            fixture_open(&(host_options){ .script = CALL_SLOW HELLO, .tools = tools, .threading = UAR_THREADS_MANUAL });
        uar_run_id id = start(h);
        for (int i = 0; i < passes; i++)
            (void)uar_runtime_pump(host_runtime(h), 0);
        uar_status status = uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "enough", NULL);
        done = status == UAR_E_STALE;
        if (!done) assert_int_equal(status, UAR_OK);
        uar_outcome out;
        assert_int_equal(host_await(h, id, &out), UAR_OK);
        assert_int_equal(count_terminals(h), 1);
        assert_true(out.state == UAR_RUN_CANCELLED || out.state == UAR_RUN_DONE); /* as it came too late for its end */
        assert_true(host_count(h, "ToolStart") <= host_count(h, "ToolEnd"));  /* what never began may be interrupted */
        if (host_event_count(h) > 2) expect_stored_as_streamed(h, "default"); /* E6 */
        if (out.state == UAR_RUN_CANCELLED) {
            assert_int_equal(host_say(h, "again", &out), UAR_OK);
            expect_unheard(h, "unknown");
        }
        fixture_close(h);
    }
}

static void test_X2_cancel_in_the_middle_of_the_models_text(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("half a") "," HOLD) HELLO);
    uar_run_id id = start(h);
    assert_true(host_sees_streams(h, 1));
    cancel(h, id);
    cancel_again(h, id);
    expect_cancelled(h, id);
    expect_stored_as_streamed(h, "default");
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 2);
    assert_true(reply->messages[1].interrupted);
    uar_reply_free(reply);
    assert_int_equal(fixture_run(h, id, &reply).state, UAR_RUN_CANCELLED);
    uar_reply_free(reply);
    fixture_close(h);
}

static void test_X2_cancel_in_the_middle_of_a_call_that_is_being_written(void **state) {
    (void)state;
    host *h = open_slow(LINE(TEXT("I will") "," CALL(0, "c1", "slow", "{\\\"a\\\"") "," HOLD) HELLO, STOPS, NULL);
    uar_run_id id = start(h);
    assert_true(host_sees_streams(h, 1));
    cancel(h, id);
    expect_cancelled(h, id);
    assert_int_equal(host_invoked(h, "slow"), 0);
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->messages[1].part_count, 1); /* the call never happened */
    uar_reply_free(reply);
    fixture_close(h);
}

static void test_X1_cancel_tells_a_running_tool_and_waits_for_it(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW HELLO, STOPS, NULL);
    uar_run_id id = start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    cancel(h, id);
    expect_cancelled(h, id);
    assert_int_equal(host_cancelled(h, "slow"), 1);
    expect_kinds(h, "RunStart RuntimeStep ChatDelta ToolDelta ToolStart ToolEnd Cancelled");
    uar_outcome out;
    assert_int_equal(host_say(h, "again", &out), UAR_OK); /* R2: the call has a visible result */
    cJSON *doc = fixture_request(h, 2);
    assert_string_equal(request_text(doc, -2, "role"), "tool");
    assert_non_null(strstr(request_text(doc, -2, "content"), "stopped"));
    fixture_request_free(doc);
    fixture_close(h);
}

static void test_X1_a_tool_that_does_not_hear_is_let_go_at_its_deadline(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW, NEVER, NULL);
    uar_run_id id = start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    uint64_t began = now_ms();
    cancel(h, id);
    expect_cancelled(h, id);
    assert_in_range(now_ms() - began, 1500, 8000);
    assert_int_equal(host_finish(h, "slow"), UAR_E_STALE);
    expect_heard(h, "its effect is unknown");
    assert_int_equal(host_count(h, "ToolEnd"), 1);
    fixture_close(h);
}

static void test_X1_a_tool_that_can_not_be_told_is_let_go_at_once(void **state) {
    (void)state;
    host_tool deaf = NEVER;
    deaf.deaf = true;
    host *h = open_slow(CALL_SLOW, deaf, NULL);
    uar_run_id id = start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    uint64_t began = now_ms();
    cancel(h, id);
    expect_cancelled(h, id);
    assert_true(now_ms() - began < 1500);
    assert_int_equal(host_finish(h, "slow"), UAR_E_STALE);
    fixture_close(h);
}

static void test_X2_cancel_while_a_person_is_asked(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW HELLO, ASKS, NULL);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    cancel(h, id);
    expect_cancelled(h, id);
    assert_int_equal(host_invoked(h, "slow"), 0);
    assert_int_equal(uar_run_approve(host_runtime(h), id, "c1", NULL, NULL), UAR_E_STALE);
    expect_heard(h, "it was interrupted");
    fixture_close(h);
}

static void test_X2_cancel_while_waiting_to_ask_the_model_again(void **state) {
    (void)state;
    host *h = fixture_script(LINE("{\"error\":{\"code\":\"UAR_E_MODEL_BUSY\",\"message\":\"later\",\"retryable\":true,"
                                  "\"retry_after_ms\":60000}}"));
    uar_run_id id = start(h);
    assert_true(host_hears(h, "RuntimeStep", 1));
    host_rest(h, 20);
    cancel(h, id);
    expect_cancelled(h, id);
    fixture_close(h);
}

static void cancel_while_saving(commit_kind kind, host_tool slow) {
    host_layer *l = host_layer_new(NULL);
    host *h = open_slow(CALL_SLOW HELLO, slow, l);
    host_layer_hold(l, kind);
    uar_run_id id = start(h);
    for (int i = 0; i < 2000 && host_layer_waiting(l) == 0; i++)
        host_rest(h, 5);
    assert_int_equal(host_layer_waiting(l), 1);
    cancel(h, id);
    host_rest(h, 20);
    assert_int_equal(count_terminals(h), 0);
    host_layer_let_go(l);
    expect_cancelled(h, id);
    expect_stored_as_streamed(h, "default");
    fixture_close(h);
    host_layer_free(l);
}

static void test_X2_cancel_while_the_turn_is_being_saved(void **state) {
    (void)state;
    cancel_while_saving(COMMIT_TURN, STOPS);
}

static void test_X2_cancel_while_the_calls_are_being_saved(void **state) {
    (void)state;
    cancel_while_saving(COMMIT_CALLS, ASKS);
    cancel_while_saving(COMMIT_CALLS, STOPS);
}

static void test_X2_cancel_while_a_result_is_being_saved(void **state) {
    (void)state;
    cancel_while_saving(COMMIT_FACTS, (host_tool){ .name = "slow", .way = HOST_ANSWERS, .result = "1" });
}

static void test_X2_cancel_while_a_failed_save_waits_for_its_next_try(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h = open_slow(CALL_SLOW HELLO, (host_tool){ .name = "slow", .way = HOST_ANSWERS, .result = "1" }, l);
    host_layer_fail(l, COMMIT_FACTS, 0, 3, UAR_E_PROTECTED);
    uar_run_id id = start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    host_rest(h, 50);
    cancel(h, id);
    expect_cancelled(h, id);
    assert_int_equal(host_count(h, "ToolEnd"), 1); /* the end stores what could not be stored before */
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 3);
    uar_reply_free(reply);
    fixture_close(h);
    host_layer_free(l);
}

static void test_X2_cancel_while_the_end_is_being_saved_comes_too_late(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l) });
    host_layer_hold(l, COMMIT_END);
    uar_run_id id = start(h);
    for (int i = 0; i < 2000 && host_layer_waiting(l) == 0; i++)
        host_rest(h, 5);
    cancel(h, id);
    host_rest(h, 20);
    host_layer_let_go(l);
    uar_outcome out;
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE); /* never both */
    expect_kinds(h, HELLO_KINDS);
    fixture_close(h);
    host_layer_free(l);
}

static void test_X2_cancel_after_the_end_and_of_nobody(void **state) {
    (void)state;
    host *h = fixture_script(HELLO);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(host_run(h, &q, &id, NULL), UAR_OK);
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, NULL, NULL), UAR_E_STALE);
    id.bytes[0] ^= 1;
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, NULL, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_run_cancel(NULL, id, UAR_CANCEL_NOW, NULL, NULL), UAR_E_INVALID);
    expect_kinds(h, HELLO_KINDS);
    fixture_close(h);
}

static void a_cancel_request_that_is_wrong_is_refused(void **state) {
    (void)state;
    host *h = fixture_script(LINE(HOLD));
    uar_run_id id = start(h);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_run_cancel(host_runtime(h), id, (uar_cancel_mode)9, NULL, &err), UAR_E_INVALID);
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "\xff", &err), UAR_E_UTF8);
    assert_true(host_sees_streams(h, 1));
    cancel(h, id);
    expect_cancelled(h, id);
    fixture_close(h);
}

static void a_cancel_after_the_step_lets_the_step_end(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW HELLO, NEVER, NULL);
    uar_run_id id = start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_AFTER_STEP, "enough", NULL), UAR_OK);
    host_rest(h, 20);
    assert_int_equal(count_terminals(h), 0);
    assert_int_equal(host_finish(h, "slow"), UAR_OK);
    expect_cancelled(h, id);
    assert_int_equal(host_cancelled(h, "slow"), 0);
    assert_int_equal(host_model_calls(h), 1);
    expect_heard(h, "\"ok\":true");
    fixture_close(h);
}

static void a_cancel_now_overtakes_one_after_the_step(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW, STOPS, NULL);
    uar_run_id id = start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_AFTER_STEP, "later", NULL), UAR_OK);
    cancel(h, id);
    expect_cancelled(h, id);
    fixture_close(h);
}

static void a_cancel_after_the_last_step_is_no_cancel(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .threading = UAR_THREADS_MANUAL });
    uar_run_id id = start(h);
    while (host_model_calls(h) == 0)
        (void)uar_runtime_pump(host_runtime(h), 0);
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_AFTER_STEP, "enough", NULL), UAR_OK);
    uar_outcome out;
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    fixture_close(h);
}

/* ---- closing ---- */

static void test_E5_close_with_cancel_ends_an_open_run_with_one_event(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW, STOPS, NULL);
    (void)start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    assert_int_equal(host_close_runtime(h, UAR_CLOSE_CANCEL, 5000), UAR_OK);
    assert_int_equal(count_terminals(h), 1);
    assert_int_equal(host_count(h, "Cancelled"), 1);
    assert_int_equal(host_cancelled(h, "slow"), 1);
    (void)host_close(h, UAR_CLOSE_CANCEL);
}

static void test_E5_close_with_cancel_beyond_its_deadline_still_has_one_terminal_event(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW, NEVER, NULL);
    (void)start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    assert_int_equal(host_close_runtime(h, UAR_CLOSE_CANCEL, 50), UAR_E_TIMEOUT);
    assert_int_equal(count_terminals(h), 1);
    assert_int_equal(host_finish(h, "slow"), UAR_E_STALE);
    (void)host_close(h, UAR_CLOSE_CANCEL);
}

static void close_parked(const char *script, host_tool slow, const char *kinds, const char *message) {
    const char *folder = fixture_folder();
    char path[300];
    snprintf(path, sizeof path, "%s/state.db", folder);
    const host_tool tools[] = { slow, { .name = NULL } };
    host *h = fixture_open(&(host_options){ .script = script, .tools = tools, .store = path });
    uar_run_id id = start(h);
    if (strstr(kinds, "Approval") != NULL)
        assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    else if (strstr(kinds, "ToolStart") != NULL)
        assert_true(host_sees_invoked(h, "slow", 1));
    else
        assert_true(host_sees_streams(h, 1));
    assert_int_equal(host_close_runtime(h, UAR_CLOSE_PARK, 5000), UAR_OK);
    assert_int_equal(count_terminals(h), 0);
    expect_kinds(h, kinds);
    (void)host_close(h, UAR_CLOSE_PARK);
    h = fixture_open(&(host_options){ .script = HELLO, .tools = tools, .store = path });
    uar_reply *reply = NULL;
    uar_run_info info = fixture_run(h, id, &reply);
    assert_int_equal(info.state, UAR_RUN_INTERRUPTED);
    assert_true(uar_str_equal(info.code, uar_str_of("UAR_E_PARKED")));
    uar_reply_free(reply);
    assert_int_equal(uar_checkpoint_load_sync(&reply, host_runtime(h), "local", "me", id, NULL), UAR_OK);
    assert_true(reply->document.len > 2);
    uar_reply_free(reply);
    uar_outcome out;
    assert_int_equal(host_say(h, "again", &out), UAR_OK); /* the session was given back */
    assert_int_equal(out.state, UAR_RUN_DONE);
    cJSON *doc = fixture_request(h, 1);
    assert_string_equal(request_text(doc, -1, "content"), "again");
    if (message != NULL) assert_non_null(strstr(request_text(doc, -2, "content"), message));
    fixture_request_free(doc);
    fixture_close(h);
    fixture_remove(folder);
}

static void test_E5_close_with_park_gives_no_terminal_event_and_the_run_is_interrupted(void **state) {
    (void)state;
    close_parked(LINE(TEXT("half") "," HOLD), STOPS, "RunStart RuntimeStep ChatDelta", NULL);
    close_parked(CALL_SLOW, STOPS, "RunStart RuntimeStep ChatDelta ToolDelta ToolStart", NULL);
    close_parked(CALL_SLOW, ASKS, "RunStart RuntimeStep ChatDelta ToolDelta ToolCallApprovalRequired", "unknown");
}

static void test_N2_close_with_a_tool_that_blocks_lets_go_of_it(void **state) {
    (void)state;
    host_layer *l = host_layer_new(NULL);
    host *h = open_slow(CALL_SLOW, (host_tool){ .name = "slow", .way = HOST_BLOCKS, .result = "1" }, l);
    (void)start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    uint64_t began = now_ms();
    assert_int_equal(host_close_runtime(h, UAR_CLOSE_CANCEL, 100), UAR_E_TIMEOUT);
    assert_true(now_ms() - began < 5000);
    assert_int_equal(host_layer_destroyed(l), 1); /* nothing of it was on any stack */
    (void)host_close(h, UAR_CLOSE_CANCEL);        /* waits until the rest is destroyed, once each */
    host_layer_free(l);
}

static void close_with_stuck_commit(uar_threading threading, bool blocks) {
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(l), .threading = threading });
    if (blocks)
        host_layer_block(l, COMMIT_END);
    else
        host_layer_hold(l, COMMIT_END);
    (void)start(h);
    for (int i = 0; i < 2000 && host_layer_waiting(l) == 0; i++)
        host_rest(h, 5);
    assert_int_equal(host_close_runtime(h, UAR_CLOSE_CANCEL, 100), UAR_E_TIMEOUT);
    assert_int_equal(host_count(h, "RunDone"), 0);
    assert_true(count_terminals(h) <= 1);
    if (blocks) assert_int_equal(host_layer_destroyed(l), 0);
    host_layer_let_go(l);
    assert_true(host_layer_sees_destroyed(l));
    (void)host_close(h, UAR_CLOSE_CANCEL);
    host_layer_free(l);
}

static void test_N2_close_with_a_commit_that_is_late_or_blocks_destroys_the_layer_after_it(void **state) {
    (void)state;
    close_with_stuck_commit(UAR_THREADS_POOL, true);
    close_with_stuck_commit(UAR_THREADS_POOL, false);
    close_with_stuck_commit(UAR_THREADS_MANUAL, false);
}

static void keep_reply(void *ctx, uar_reply *reply) {
    uar_reply **out = ctx;
    *out = reply;
}

/* A list of runs watches the heartbeat of others for 3 s; closing meanwhile answers it. */
static void a_request_that_waits_is_answered_by_close(void **state) {
    (void)state;
    const char *folder = fixture_folder();
    char path[300];
    snprintf(path, sizeof path, "%s/state.db", folder);
    host *other = fixture_open(&(host_options){ .script = LINE(HOLD), .store = path });
    uar_run_id id = start(other);
    assert_true(host_sees_streams(other, 1));
    host *h = fixture_open(&(host_options){ .script = HELLO, .store = path });
    uar_reply *reply = NULL;
    assert_int_equal(uar_run_load(host_runtime(h), "local", "me", id, keep_reply, &reply, NULL), UAR_OK);
    host_rest(h, 100);
    fixture_close(h);
    assert_non_null(reply);
    assert_true(reply->status == UAR_E_CLOSED || reply->status == UAR_OK);
    uar_reply_free(reply);
    fixture_close(other);
    fixture_remove(folder);
}

static void test_X3_after_close_nothing_more_is_called(void **state) {
    (void)state;
    host *h = open_slow(CALL_SLOW, NEVER, NULL);
    (void)start(h);
    assert_true(host_sees_invoked(h, "slow", 1));
    (void)host_close_runtime(h, UAR_CLOSE_CANCEL, 0);
    size_t heard = host_event_count(h);
    assert_int_equal(host_finish(h, "slow"), UAR_E_STALE);
    host_rest(h, 50);
    assert_int_equal(host_event_count(h), heard);
    (void)host_close(h, UAR_CLOSE_CANCEL); /* a callback behind a destroy would end the program */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_X2_a_cancel_that_overtakes_the_start_is_heard),
        fixture_test(test_X2_cancel_before_the_first_step),
        fixture_test(test_X2_cancel_at_every_pass_of_a_pump),
        fixture_test(test_X2_cancel_in_the_middle_of_the_models_text),
        fixture_test(test_X2_cancel_in_the_middle_of_a_call_that_is_being_written),
        fixture_test(test_X1_cancel_tells_a_running_tool_and_waits_for_it),
        fixture_test(test_X1_a_tool_that_does_not_hear_is_let_go_at_its_deadline),
        fixture_test(test_X1_a_tool_that_can_not_be_told_is_let_go_at_once),
        fixture_test(test_X2_cancel_while_a_person_is_asked),
        fixture_test(test_X2_cancel_while_waiting_to_ask_the_model_again),
        fixture_test(test_X2_cancel_while_the_turn_is_being_saved),
        fixture_test(test_X2_cancel_while_the_calls_are_being_saved),
        fixture_test(test_X2_cancel_while_a_result_is_being_saved),
        fixture_test(test_X2_cancel_while_a_failed_save_waits_for_its_next_try),
        fixture_test(test_X2_cancel_while_the_end_is_being_saved_comes_too_late),
        fixture_test(test_X2_cancel_after_the_end_and_of_nobody),
        fixture_test(a_cancel_request_that_is_wrong_is_refused),
        fixture_test(a_cancel_after_the_step_lets_the_step_end),
        fixture_test(a_cancel_now_overtakes_one_after_the_step),
        fixture_test(a_cancel_after_the_last_step_is_no_cancel),
        fixture_test(test_E5_close_with_cancel_ends_an_open_run_with_one_event),
        fixture_test(test_E5_close_with_cancel_beyond_its_deadline_still_has_one_terminal_event),
        fixture_test(test_E5_close_with_park_gives_no_terminal_event_and_the_run_is_interrupted),
        fixture_test(test_N2_close_with_a_tool_that_blocks_lets_go_of_it),
        fixture_test(test_N2_close_with_a_commit_that_is_late_or_blocks_destroys_the_layer_after_it),
        fixture_test(a_request_that_waits_is_answered_by_close),
        fixture_test(test_X3_after_close_nothing_more_is_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
