/* Calls that a person decides on: asked once, decided once, each by itself. */
#include "unit/test_run_fixture.h"

#define SCHEMA                                                                                      \
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},\"required\":[\"path\"]," \
    "\"additionalProperties\":"                                                                     \
    "false}"
#define DELETE_A CALL(0, "c1", "delete", "{ \\\"path\\\" : \\\"a\\\" }")
#define DELETE_B CALL(1, "c2", "delete", "{\\\"path\\\":\\\"b\\\"}")

static const host_tool DELETES = {
    .name = "delete", .schema = SCHEMA, .way = HOST_ANSWERS, .result = "\"deleted\"", .approval = UAR_APPROVAL_ASK
};

static host *open_deletes(const char *script) {
    const host_tool tools[] = { DELETES,
                                { .name = "now", .way = HOST_ANSWERS, .result = "\"noon\"" },
                                { .name = NULL } };
    return fixture_open(&(host_options){ .script = script, .tools = tools });
}

static uar_run_id start(host *h) {
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    return id;
}

static uar_status approve(host *h, uar_run_id id, const char *call, const char *arguments) {
    return uar_run_approve(host_runtime(h), id, call, arguments, NULL);
}

static uar_status deny(host *h, uar_run_id id, const char *call, const char *reason) {
    return uar_run_deny(host_runtime(h), id, call, reason, NULL);
}

static void expect_done(host *h, uar_run_id id) {
    uar_outcome out;
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    assert_int_equal(count_terminals(h), 1);
    expect_stored_as_streamed(h, "default");
}

static void a_call_waits_until_it_is_approved(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    host_rest(h, 30);
    assert_int_equal(host_invoked(h, "delete"), 0);
    uar_reply *reply = NULL;
    uar_run_info info = fixture_run(h, id, &reply);
    assert_int_equal(info.pending_count, 1);
    assert_true(uar_str_equal(info.pending[0].call, uar_str_of("c1")));
    assert_true(uar_str_equal(info.pending[0].arguments, uar_str_of("{\"path\":\"a\"}")));
    uar_reply_free(reply);
    assert_int_equal(approve(h, id, "c1", NULL), UAR_OK);
    expect_done(h, id);
    expect_kinds(
        h, "RunStart RuntimeStep ToolDelta ToolCallApprovalRequired ToolCallApproved ToolStart ToolEnd RuntimeStep "
           "ChatDelta ChatDelta RunDone");
    assert_int_equal(host_invoked(h, "delete"), 1);
    assert_int_equal(fixture_run(h, id, &reply).pending_count, 0);
    uar_reply_free(reply);
    fixture_close(h);
}

static void test_A1_what_runs_is_the_approved_snapshot(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    expect_heard(h, "ToolCallApprovalRequired {\"call\":\"c1\",\"tool\":\"delete\",\"arguments\":{\"path\":\"a\"}}");
    assert_int_equal(approve(h, id, "c1", NULL), UAR_OK);
    expect_done(h, id);
    char *ran = host_arguments(h, "delete");
    assert_string_equal(ran, "{\"path\":\"a\"}");
    free(ran);
    fixture_close(h);
}

static void test_A8_a_denial_ends_the_call_not_the_run_and_the_model_reads_why(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," CALL(1, "c2", "now", "{}") "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    assert_int_equal(deny(h, id, "c1", "not that one"), UAR_OK);
    expect_done(h, id);
    assert_int_equal(host_invoked(h, "delete"), 0);
    assert_int_equal(host_invoked(h, "now"), 1); /* T9 */
    expect_heard(h, "ToolCallDenied {\"call\":\"c1\",\"reason\":\"not that one\"}");
    cJSON *doc = fixture_request(h, 2);
    assert_non_null(strstr(request_text(doc, -2, "content"), "denied"));
    assert_non_null(strstr(request_text(doc, -2, "content"), "not that one"));
    assert_string_equal(request_text(doc, -1, "content"), "noon");
    fixture_request_free(doc);
    fixture_close(h);
}

static void a_call_that_needs_no_approval_does_not_wait_for_one_that_does(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," CALL(1, "c2", "now", "{}") "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_sees_invoked(h, "now", 1));
    assert_int_equal(host_invoked(h, "delete"), 0);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    assert_int_equal(approve(h, id, "c1", NULL), UAR_OK);
    expect_done(h, id);
    fixture_close(h);
}

static void test_A2_each_call_is_decided_by_itself(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," DELETE_B "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 2));
    assert_int_equal(approve(h, id, "c2", NULL), UAR_OK);
    assert_true(host_sees_invoked(h, "delete", 1));
    host_rest(h, 30);
    assert_int_equal(host_invoked(h, "delete"), 1); /* an approval of the other is none of this one */
    assert_int_equal(deny(h, id, "c1", NULL), UAR_OK);
    expect_done(h, id);
    char *ran = host_arguments(h, "delete");
    assert_string_equal(ran, "{\"path\":\"b\"}");
    free(ran);
    fixture_close(h);
}

static void test_A2_the_next_call_of_the_same_tool_asks_again(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," CALLS) LINE(DELETE_A "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    assert_int_equal(approve(h, id, "c1", NULL), UAR_OK);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 2));
    host_rest(h, 30);
    assert_int_equal(host_invoked(h, "delete"), 1);
    assert_int_equal(deny(h, id, "c1", NULL), UAR_OK); /* the same id in a later step is another call */
    expect_done(h, id);
    assert_int_equal(host_invoked(h, "delete"), 1);
    fixture_close(h);
}

static void a_decision_counts_once(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," DELETE_B "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 2));
    assert_int_equal(approve(h, id, "c1", NULL), UAR_OK);
    assert_int_equal(approve(h, id, "c1", NULL), UAR_E_STALE);
    assert_int_equal(deny(h, id, "c1", NULL), UAR_E_STALE);
    assert_int_equal(approve(h, id, "c9", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_run_approve(host_runtime(h), id, NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(deny(h, id, "c2", "\xff"), UAR_E_UTF8);
    assert_int_equal(deny(h, id, "c2", NULL), UAR_OK);
    expect_done(h, id);
    assert_int_equal(approve(h, id, "c2", NULL), UAR_E_STALE);
    id.bytes[0] ^= 1;
    assert_int_equal(approve(h, id, "c2", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(host_invoked(h, "delete"), 1);
    fixture_close(h);
}

static void test_A5_edited_arguments_are_checked_and_what_ran_is_told(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," CALLS) HELLO);
    uar_run_id id = start(h);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    assert_int_equal(approve(h, id, "c1", "{oops"), UAR_E_JSON);
    assert_int_equal(approve(h, id, "c1", "[]"), UAR_E_SCHEMA);
    assert_int_equal(approve(h, id, "c1", "{\"path\":7}"), UAR_E_SCHEMA);
    assert_int_equal(host_invoked(h, "delete"), 0); /* the call still waits */
    assert_int_equal(approve(h, id, "c1", "{ \"path\": \"safe\" }"), UAR_OK);
    expect_done(h, id);
    char *ran = host_arguments(h, "delete");
    assert_string_equal(ran, "{\"path\":\"safe\"}");
    free(ran);
    expect_heard(h, "ToolStart {\"call\":\"c1\",\"tool\":\"delete\",\"arguments\":{\"path\":\"safe\"}}");
    fixture_close(h);
}

static void test_A6_a_call_that_can_not_be_parsed_is_never_put_to_a_person(void **state) {
    (void)state;
    static const char *const calls[] = { CALL(0, "c1", "delete", "{oops"), CALL(0, "c1", "delete", "{\\\"path\\\":7}"),
                                         CALL(0, "c1", "delete", ""), CALL(0, "c1", "erase", "{}") };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char script[512];
        snprintf(script, sizeof script, LINE("%s," CALLS) HELLO, calls[i]);
        host *h = open_deletes(script);
        expect_done(h, start(h));
        assert_int_equal(host_count(h, "ToolCall"), 0);
        assert_int_equal(host_count(h, "ToolEnd"), 1);
        assert_int_equal(host_invoked(h, "delete"), 0);
        fixture_close(h);
    }
}

static void test_A6_a_call_that_was_cut_is_never_put_to_a_person(void **state) {
    (void)state;
    host *h = open_deletes(LINE(DELETE_A "," FINISH("length")) HELLO);
    expect_done(h, start(h));
    assert_int_equal(host_count(h, "ToolCall"), 0);
    fixture_close(h);
}

static void a_run_can_approve_or_deny_everything_at_once(void **state) {
    (void)state;
    static const uar_approvals modes[] = { UAR_APPROVALS_AUTO, UAR_APPROVALS_DENY };
    static const char *const kinds[] = {
        "RunStart RuntimeStep ToolDelta ToolCallApprovalRequired ToolCallApproved ToolStart "
        "ToolEnd RuntimeStep ChatDelta ChatDelta RunDone",
        "RunStart RuntimeStep ToolDelta ToolCallApprovalRequired ToolCallDenied ToolEnd "
        "RuntimeStep ChatDelta ChatDelta RunDone"
    };
    for (size_t i = 0; i < 2; i++) {
        host *h = open_deletes(LINE(DELETE_A "," CALLS) HELLO);
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .approvals = modes[i] };
        uar_outcome out;
        assert_int_equal(host_run(h, &q, NULL, &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE);
        expect_kinds(h, kinds[i]);
        expect_heard(h, "\"reason\":\"policy\"");
        assert_int_equal(host_invoked(h, "delete"), i == 0 ? 1 : 0);
        fixture_close(h);
    }
}

/* E10, E13: asked once, after the call is complete and stored; decided after the decision is stored. */
static void test_E13_asking_and_deciding_are_told_after_their_commits(void **state) {
    (void)state;
    const host_tool tools[] = { DELETES, { .name = NULL } };
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = LINE(DELETE_A "," CALLS) HELLO,
                                            .tools = tools,
                                            .layer = host_layer_door(l),
                                            .threading = UAR_THREADS_MANUAL });
    host_layer_hold(l, COMMIT_CALLS);
    host_layer_hold(l, COMMIT_FACTS);
    uar_run_id id = start(h);
    for (int i = 0; i < 400 && host_layer_waiting(l) == 0; i++)
        host_rest(h, 5);
    host_rest(h, 20);
    assert_int_equal(host_count(h, "ToolCallApprovalRequired"), 0);
    assert_int_equal(approve(h, id, "c1", NULL), UAR_E_NOT_FOUND); /* it isn't asked yet */
    host_layer_let_go(l);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    host_layer_hold(l, COMMIT_FACTS);
    assert_int_equal(approve(h, id, "c1", NULL), UAR_OK);
    for (int i = 0; i < 400 && host_layer_waiting(l) == 0; i++)
        host_rest(h, 5);
    host_rest(h, 20);
    assert_int_equal(host_count(h, "ToolCallApproved"), 0);
    assert_int_equal(host_invoked(h, "delete"), 0); /* nor does it run before */
    host_layer_let_go(l);
    expect_done(h, id);
    assert_int_equal(host_count(h, "ToolCallApprovalRequired"), 1); /* E10 */
    assert_int_equal(host_count(h, "ToolCallApproved"), 1);
    fixture_close(h);
    host_layer_free(l);
}

typedef struct decider {
    bool approves;
    uar_status status;
} decider;

static void decide_at_once(void *ctx, host *h, const uar_event *event) {
    decider *d = ctx;
    if (event->kind != UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED) return;
    char call[64];
    uar_str text = event->tool_call_approval_required.call;
    snprintf(call, sizeof call, "%.*s", (int)text.len, text.ptr);
    d->status = d->approves ? approve(h, event->run, call, NULL) : deny(h, event->run, call, "no");
}

/* An answer from inside the event, the earliest that anybody can give. */
static void test_N1_a_sink_may_decide_from_inside_its_event(void **state) {
    (void)state;
    for (int i = 0; i < 40; i++) {
        const host_tool tools[] = { DELETES, { .name = NULL } };
        decider d = { .approves = i % 2 == 0, .status = UAR_E_INTERNAL };
        host *h = fixture_open(&(host_options){ .script = LINE(DELETE_A "," CALLS) HELLO,
                                                .tools = tools,
                                                .hooks = { .ctx = &d, .on_event = decide_at_once } });
        expect_done(h, start(h));
        assert_int_equal(d.status, UAR_OK);
        assert_int_equal(host_invoked(h, "delete"), d.approves ? 1 : 0);
        fixture_close(h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_call_waits_until_it_is_approved),
        fixture_test(test_A1_what_runs_is_the_approved_snapshot),
        fixture_test(test_A8_a_denial_ends_the_call_not_the_run_and_the_model_reads_why),
        fixture_test(a_call_that_needs_no_approval_does_not_wait_for_one_that_does),
        fixture_test(test_A2_each_call_is_decided_by_itself),
        fixture_test(test_A2_the_next_call_of_the_same_tool_asks_again),
        fixture_test(a_decision_counts_once),
        fixture_test(test_A5_edited_arguments_are_checked_and_what_ran_is_told),
        fixture_test(test_A6_a_call_that_can_not_be_parsed_is_never_put_to_a_person),
        fixture_test(test_A6_a_call_that_was_cut_is_never_put_to_a_person),
        fixture_test(a_run_can_approve_or_deny_everything_at_once),
        fixture_test(test_E13_asking_and_deciding_are_told_after_their_commits),
        fixture_test(test_N1_a_sink_may_decide_from_inside_its_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
