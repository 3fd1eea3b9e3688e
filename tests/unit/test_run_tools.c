/* Runs that call tools: what runs, what the model reads of it, deadlines, siblings, the context that follows. */
#include "unit/test_run_fixture.h"

#include "run/context.h"

#define ADD_SCHEMA                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}}," \
    "\"required\":[\"a\",\"b\"],\"additionalProperties\":false}"

static const host_tool ADD = { .name = "add", .schema = ADD_SCHEMA, .way = HOST_ANSWERS, .result = "{\"sum\":3}" };
static const host_tool NOW = { .name = "now", .way = HOST_ANSWERS, .result = "\"noon\"" };

/* A host with these tools and this script. */
static host *open_with(const char *script, host_tool first, host_tool second) {
    const host_tool tools[] = { first, second, { .name = NULL } };
    return fixture_open(&(host_options){ .script = script, .tools = tools });
}

static void say(host *h, uar_run_state state) {
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    if (out.state != state) fail_msg("it ended as %s: %s", uar_run_state_name(out.state), out.error.message);
    assert_int_equal(count_terminals(h), 1);
    expect_stored_as_streamed(h, "default");
}

/* The model's last request ends with this result of a call. */
static void expect_result(host *h, const char *call, const char *part) {
    cJSON *doc = fixture_request(h, host_model_calls(h));
    assert_string_equal(request_text(doc, -1, "role"), "tool");
    assert_string_equal(request_text(doc, -1, "tool_call_id"), call);
    const char *content = request_text(doc, -1, "content");
    if (strstr(content, part) == NULL) fail_msg("the model read: %s", content);
    fixture_request_free(doc);
}

static void a_call_runs_and_the_model_reads_its_result(void **state) {
    (void)state;
    host *h = open_with(
        LINE(TEXT("Let me see") "," CALL(0, "c1", "add", "{\\\"a\\\":1,") "," MORE(0, "\\\"b\\\":2}") "," CALLS) HELLO,
        ADD, NOW);
    say(h, UAR_RUN_DONE);
    expect_kinds(h,
                 "RunStart RuntimeStep ChatDelta ToolDelta ToolDelta ToolStart ToolEnd RuntimeStep ChatDelta ChatDelta "
                 "RunDone");
    expect_heard(h, "ToolStart {\"call\":\"c1\",\"tool\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}");
    expect_heard(h, "ToolEnd {\"call\":\"c1\",\"tool\":\"add\",\"ok\":true,\"result\":{\"sum\":3}");
    expect_result(h, "c1", "{\"sum\":3}");
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 4);
    static const uar_role roles[] = { UAR_ROLE_USER, UAR_ROLE_ASSISTANT, UAR_ROLE_TOOL, UAR_ROLE_ASSISTANT };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(reply->messages[i].role, roles[i]);
        assert_int_equal(reply->messages[i].number, i + 1);
    }
    uar_reply_free(reply);
    fixture_close(h);
}

static void a_result_that_is_a_string_is_read_as_its_text(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "now", "{}") "," CALLS) HELLO, ADD, NOW);
    say(h, UAR_RUN_DONE);
    cJSON *doc = fixture_request(h, 2);
    assert_string_equal(request_text(doc, -1, "content"), "noon");
    fixture_request_free(doc);
    fixture_close(h);
}

static void test_E9_previews_are_not_the_call(void **state) {
    (void)state;
    host *h = open_with(
        LINE(CALL(0, "c1", "add", "{\\\"a\\\":1") "," MORE(0, ",\\\"b\\\":") "," MORE(0, "2}") "," CALLS) HELLO, ADD,
        NOW);
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_count(h, "ToolDelta"), 3);
    assert_int_equal(host_count(h, "ToolStart"), 1);
    assert_int_equal(host_count(h, "ToolEnd"), 1);
    assert_int_equal(host_invoked(h, "add"), 1);
    fixture_close(h);
}

static void test_E9_a_call_of_a_failed_attempt_is_only_a_preview(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "add", "{\\\"a\\\":1,\\\"b\\\":2}") "," FAIL_AGAIN) HELLO, ADD, NOW);
    say(h, UAR_RUN_DONE);
    expect_kinds(h, "RunStart RuntimeStep ToolDelta AttemptSuperseded ChatDelta ChatDelta RunDone");
    assert_int_equal(host_invoked(h, "add"), 0);
    fixture_close(h);
}

static void test_E13_tool_end_comes_after_the_commit_of_its_outcome(void **state) {
    (void)state;
    const host_tool tools[] = { NOW, { .name = NULL } };
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = LINE(CALL(0, "c1", "now", "{}") "," CALLS) HELLO,
                                            .tools = tools,
                                            .layer = host_layer_door(l),
                                            .threading = UAR_THREADS_MANUAL });
    host_layer_hold(l, COMMIT_FACTS);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    for (int i = 0; i < 400 && host_layer_waiting(l) == 0; i++)
        host_rest(h, 5);
    host_rest(h, 20);
    assert_int_equal(host_invoked(h, "now"), 1);
    assert_int_equal(host_count(h, "ToolEnd"), 0);
    host_layer_let_go(l);
    assert_int_equal(host_await(h, id, NULL), UAR_OK);
    assert_int_equal(host_count(h, "ToolEnd"), 1);
    fixture_close(h);
    host_layer_free(l);
}

static void no_tool_runs_before_the_commit_of_its_call(void **state) {
    (void)state;
    const host_tool tools[] = { NOW, { .name = NULL } };
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){ .script = LINE(TEXT("x") "," CALL(0, "c1", "now", "{}") "," CALLS) HELLO,
                                            .tools = tools,
                                            .layer = host_layer_door(l) });
    host_layer_fail(l, COMMIT_CALLS, 0, 1, UAR_E_FULL);
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_FULL);
    assert_int_equal(host_invoked(h, "now"), 0);
    assert_int_equal(host_count(h, "ToolStart"), 0);
    assert_int_equal(host_count(h, "RunFailed"), 1);
    expect_stored_as_streamed(h, "default");
    fixture_close(h);
    host_layer_free(l);
}

static void a_result_that_can_not_be_saved_fails_the_run_and_is_tried_once_more_at_the_end(void **state) {
    (void)state;
    const host_tool tools[] = { NOW, { .name = NULL } };
    host_layer *l = host_layer_new(NULL);
    host *h = fixture_open(&(host_options){
        .script = LINE(CALL(0, "c1", "now", "{}") "," CALLS) HELLO, .tools = tools, .layer = host_layer_door(l) });
    host_layer_fail(l, COMMIT_FACTS, 0, 1, UAR_E_IO);
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_IO);
    assert_int_equal(host_model_calls(h), 1);
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 3);
    assert_true(uar_str_equal(part_text(&reply->messages[2], UAR_PART_TOOL_RESULT), uar_str_of("noon")));
    uar_reply_free(reply);
    assert_int_equal(host_count(h, "ToolEnd"), 1);
    fixture_close(h);
    host_layer_free(l);
}

/* ---- arguments ---- */

static void test_T1_no_prefix_of_the_arguments_runs(void **state) {
    (void)state;
    static const char *const prefixes[] = { "{", "{\\\"a\\\":1", "{\\\"a\\\":1,\\\"b\\\":", "{\\\"a\\\":1,\\\"b\\\":2",
                                            "{\\\"a\\\":1,\\\"b\\\":2}}" };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 LINE("{\"tool_call\":{\"id\":\"c1\",\"name\":\"add\",\"args_delta\":\"%s\"}}," CALLS) HELLO,
                 prefixes[i]);
        host *h = open_with(script, ADD, NOW);
        say(h, UAR_RUN_DONE);
        assert_int_equal(host_invoked(h, "add"), 0);
        assert_int_equal(host_count(h, "ToolStart"), 0);
        expect_heard(h, "\"code\":\"UAR_E_TOOL_ARGUMENTS\"");
        expect_result(h, "c1", "additionalProperties"); /* the schema is shown */
        fixture_close(h);
    }
}

static void test_T1_arguments_against_the_schema_name_the_fault(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "add", "{\\\"a\\\":1,\\\"b\\\":\\\"two\\\"}") "," CALLS) HELLO, ADD, NOW);
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_invoked(h, "add"), 0);
    expect_result(h, "c1", "b");
    expect_result(h, "c1", "integer");
    fixture_close(h);
}

static void test_T2_a_call_that_the_token_limit_cut_does_not_run(void **state) {
    (void)state;
    static const char *const scripts[] = {
        LINE(CALL(0, "c1", "now", "{}") "," FINISH("length")) HELLO,          /* whole JSON, but who knows */
        LINE(CALL(0, "c1", "now", "") "," FINISH("length")) HELLO,            /* cut before the arguments */
        LINE(CALL(0, "c1", "now", "{\\\"a\\\":") "," FINISH("length")) HELLO, /* cut inside */
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        host *h = open_with(scripts[i], ADD, NOW);
        say(h, UAR_RUN_DONE);
        assert_int_equal(host_invoked(h, "now"), 0);
        expect_heard(h, "\"code\":\"UAR_E_TRUNCATED\"");
        expect_result(h, "c1", "token limit");
        fixture_close(h);
    }
}

static void test_T2_calls_before_the_cut_one_run(void **state) {
    (void)state;
    host *h = open_with(
        LINE(CALL(0, "c1", "now", "{}") "," CALL(1, "c2", "add", "{\\\"a\\\":1") "," FINISH("length")) HELLO, ADD, NOW);
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_invoked(h, "now"), 1);
    assert_int_equal(host_invoked(h, "add"), 0);
    fixture_close(h);
}

/* The model wrote two calls in turns; the first had no arguments yet when the limit came. */
static void test_T2_a_call_without_arguments_yet_does_not_run_after_a_cut(void **state) {
    (void)state;
    host *h = open_with(
        LINE(CALL(0, "c1", "now", "") "," CALL(1, "c2", "add", "{\\\"a\\\":1") "," FINISH("length")) HELLO, ADD, NOW);
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_invoked(h, "now"), 0);
    fixture_close(h);
}

static void test_T2_a_cut_that_the_provider_calls_tool_calls_is_malformed(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "add", "{\\\"a\\\":1,\\\"b\\\"") "," CALLS) HELLO, ADD, NOW);
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_invoked(h, "add"), 0);
    expect_heard(h, "\"code\":\"UAR_E_TOOL_ARGUMENTS\"");
    fixture_close(h);
}

static void test_T3_empty_arguments_are_an_empty_object_where_the_schema_takes_one(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "now", "") "," CALL(1, "c2", "add", "") "," CALLS) HELLO, ADD, NOW);
    say(h, UAR_RUN_DONE);
    char *arguments = host_arguments(h, "now");
    assert_string_equal(arguments, "{}");
    free(arguments);
    assert_int_equal(host_invoked(h, "add"), 0);
    expect_result(h, "c2", "can't be used");
    fixture_close(h);
}

/* ---- results ---- */

static void test_T4_results_go_back_in_call_order_whatever_order_they_ended_in(void **state) {
    (void)state;
    const host_tool tools[] = { { .name = "one", .way = HOST_NEVER, .result = "1" },
                                { .name = "two", .way = HOST_NEVER, .result = "2" },
                                { .name = "three", .way = HOST_NEVER, .result = "3" },
                                { .name = NULL } };
    host *h = fixture_open(&(host_options){ .script = LINE(CALL(0, "a", "one", "{}") "," CALL(
                                                1, "b", "two", "{}") "," CALL(2, "c", "three", "{}") "," CALLS) HELLO,
                                            .tools = tools });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    static const char *const order[] = { "three", "one", "two" };
    for (size_t i = 0; i < 3; i++)
        assert_true(host_sees_invoked(h, order[i], 1));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(host_finish(h, order[i]), UAR_OK);
        assert_true(host_hears(h, "ToolEnd", i + 1)); /* each is stored by itself */
    }
    assert_int_equal(host_await(h, id, NULL), UAR_OK);
    cJSON *doc = fixture_request(h, 2);
    static const char *const ids[] = { "a", "b", "c" }, *const results[] = { "1", "2", "3" };
    for (int i = 0; i < 3; i++) {
        assert_string_equal(request_text(doc, i - 3, "tool_call_id"), ids[i]);
        assert_string_equal(request_text(doc, i - 3, "content"), results[i]);
    }
    fixture_request_free(doc);
    uar_reply *reply = fixture_messages(h, "default");
    assert_int_equal(reply->count, 6);
    for (size_t i = 0; i < 3; i++)
        assert_true(uar_str_equal(reply->messages[2 + i].parts[0].call, uar_str_of(ids[i])));
    uar_reply_free(reply);
    fixture_close(h);
}

static void test_T4_calls_without_ids_or_with_the_same_get_their_own(void **state) {
    (void)state;
    host *h =
        open_with(LINE(CALL(0, "", "now", "{}") "," CALL(1, "x", "now", "{}") "," CALL(2, "x", "now", "{}") "," CALLS)
                      LINE(CALL(0, "x", "now", "{}") "," CALLS) HELLO,
                  ADD, NOW);
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_invoked(h, "now"), 4);
    assert_int_equal(host_count(h, "ToolEnd"), 4);
    cJSON *doc = fixture_request(h, 2);
    const char *a = request_text(doc, -3, "tool_call_id"), *b = request_text(doc, -2, "tool_call_id");
    assert_true(a[0] != '\0');
    assert_string_equal(b, "x");
    assert_string_not_equal(a, b);
    assert_string_not_equal(b, request_text(doc, -1, "tool_call_id"));
    fixture_request_free(doc);
    fixture_close(h);
}

typedef struct bad_end {
    host_tool door;
    uar_approvals approvals;
    const char *name, *args, *code, *read;
} bad_end;

static void test_T5_unknown_denied_failed_and_malformed_read_differently(void **state) {
    (void)state;
    static const bad_end ends[] = {
        { { .name = "now", .way = HOST_ANSWERS, .result = "1" },
          UAR_APPROVALS_ASK,
          "later",
          "{}",
          "UAR_E_TOOL_UNKNOWN",
          "There is no tool named \"later\". The tools are: now, add" },
        { { .name = "now", .way = HOST_ANSWERS, .result = "1", .approval = UAR_APPROVAL_ASK },
          UAR_APPROVALS_DENY,
          "now",
          "{}",
          "UAR_E_TOOL_DENIED",
          "denied" },
        { { .name = "now", .way = HOST_FAILS, .result = "no clock" },
          UAR_APPROVALS_ASK,
          "now",
          "{}",
          "UAR_E_TOOL_FAILED",
          "The tool now failed: no clock" },
        { { .name = "now", .way = HOST_ANSWERS, .result = "1" },
          UAR_APPROVALS_ASK,
          "now",
          "{oops",
          "UAR_E_TOOL_ARGUMENTS",
          "can't be used" },
        { { .name = "now", .way = HOST_DROPS }, UAR_APPROVALS_ASK, "now", "{}", "UAR_E_DROPPED", "failed" },
        { { .name = "now", .way = HOST_BAD_JSON }, UAR_APPROVALS_ASK, "now", "{}", "UAR_E_JSON", "failed" },
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 LINE("{\"tool_call\":{\"id\":\"c1\",\"name\":\"%s\",\"args_delta\":\"%s\"}}," CALLS) HELLO,
                 ends[i].name, ends[i].args);
        host *h = open_with(script, ends[i].door, ADD);
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .approvals = ends[i].approvals };
        uar_outcome out;
        assert_int_equal(host_run(h, &q, NULL, &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE); /* a call that ends badly ends no run */
        char code[64];
        snprintf(code, sizeof code, "\"code\":\"%s\"", ends[i].code);
        expect_heard(h, code);
        expect_result(h, "c1", ends[i].read);
        uar_reply *reply = fixture_messages(h, "default");
        assert_true(reply->messages[2].parts[0].failed);
        uar_reply_free(reply);
        fixture_close(h);
    }
}

static void a_tools_failure_in_broken_utf8_is_made_text(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "now", "{}") "," CALLS) HELLO, ADD,
                        (host_tool){ .name = "now", .way = HOST_FAILS, .result = "bad \xff byte" });
    say(h, UAR_RUN_DONE);
    expect_result(h, "c1", "bad \xef\xbf\xbd byte");
    fixture_close(h);
}

static void a_text_result_with_u0000_becomes_visible_and_is_reported_once(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "now", "{}") "," CALLS) HELLO, ADD,
                        (host_tool){ .name = "now", .way = HOST_TEXT, .result = "a\0b\0c", .result_len = 5 });
    say(h, UAR_RUN_DONE);
    expect_result(h, "c1",
                  "a\xef\xbf\xbd"
                  "b\xef\xbf\xbd"
                  "c");
    assert_int_equal(host_count(h, "Error {\"code\":\"UAR_E_UTF8\""), 1);
    fixture_close(h);
}

static void a_text_result_is_read_as_it_is(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "now", "{}") "," CALLS) HELLO, ADD,
                        (host_tool){ .name = "now", .way = HOST_TEXT, .result = "{\"no\": json", .result_len = 11 });
    say(h, UAR_RUN_DONE);
    cJSON *doc = fixture_request(h, 2);
    assert_string_equal(request_text(doc, -1, "content"), "{\"no\": json");
    fixture_request_free(doc);
    assert_int_equal(host_count(h, "Error"), 0);
    fixture_close(h);
}

static void test_T6_a_call_has_a_deadline_and_a_late_result_is_stale(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "slow", "{}") "," CALLS) HELLO, ADD,
                        (host_tool){ .name = "slow", .way = HOST_NEVER, .result = "\"late\"", .timeout_ms = 50 });
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_cancelled(h, "slow"), 1);
    expect_heard(h, "\"code\":\"UAR_E_TIMEOUT\"");
    expect_result(h, "c1", "deadline");
    assert_int_equal(host_finish(h, "slow"), UAR_E_STALE);
    host_rest(h, 20);
    assert_int_equal(host_count(h, "ToolEnd"), 1);
    expect_unheard(h, "\"late\"");
    fixture_close(h);
}

static void test_T6_a_tool_that_fails_because_of_its_deadline_is_over_its_deadline(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "slow", "{}") "," CALLS) HELLO, ADD,
                        (host_tool){ .name = "slow", .way = HOST_STOPS, .timeout_ms = 50 });
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_cancelled(h, "slow"), 1); /* where it answers with a failure of its own */
    expect_heard(h, "\"code\":\"UAR_E_TIMEOUT\"");
    expect_result(h, "c1", "deadline");
    assert_int_equal(host_count(h, "ToolEnd"), 1);
    fixture_close(h);
}

static void test_T6_a_second_finish_is_stale(void **state) {
    (void)state;
    host *h = open_with(LINE(CALL(0, "c1", "twice", "{}") "," CALLS) HELLO, ADD,
                        (host_tool){ .name = "twice", .way = HOST_TWICE, .result = "1" });
    say(h, UAR_RUN_DONE); /* the tool itself looks at the status */
    assert_int_equal(host_count(h, "ToolEnd"), 1);
    fixture_close(h);
}

static void test_T9_a_failing_sibling_loses_nobodys_result(void **state) {
    (void)state;
    const host_tool tools[] = { { .name = "good", .way = HOST_ANSWERS, .result = "1" },
                                { .name = "bad", .way = HOST_FAILS, .result = "broken" },
                                { .name = "drops", .way = HOST_DROPS },
                                { .name = "later", .way = HOST_ANSWERS_LATER, .result = "4" },
                                { .name = "slow", .way = HOST_NEVER, .result = "5", .timeout_ms = 50 },
                                { .name = NULL } };
    host *h = fixture_open(&(host_options){
        .script =
            LINE(CALL(0, "a", "good", "{}") "," CALL(1, "b", "bad", "{}") "," CALL(2, "c", "drops", "{}") "," CALL(
                3, "d", "later", "{}") "," CALL(4, "e", "slow", "{}") "," CALL(5, "f", "none", "{}") "," CALLS) HELLO,
        .tools = tools });
    say(h, UAR_RUN_DONE);
    assert_int_equal(host_count(h, "ToolEnd"), 6);
    cJSON *doc = fixture_request(h, 2);
    static const char *const read[] = { "1", "broken", "failed", "4", "deadline", "no tool" };
    for (int i = 0; i < 6; i++)
        assert_non_null(strstr(request_text(doc, i - 6, "content"), read[i]));
    fixture_request_free(doc);
    fixture_close(h);
}

static void no_more_calls_run_at_once_than_the_builder_says(void **state) {
    (void)state;
    const host_tool tools[] = { { .name = "slow", .way = HOST_NEVER, .result = "1" }, { .name = NULL } };
    host *h = fixture_open(&(host_options){ .script = LINE(CALL(0, "a", "slow", "{}") "," CALL(
                                                1, "b", "slow", "{}") "," CALL(2, "c", "slow", "{}") "," CALLS) HELLO,
                                            .tools = tools,
                                            .parallel_tools = 2 });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_sees_invoked(h, "slow", 2));
    host_rest(h, 30);
    assert_int_equal(host_invoked(h, "slow"), 2);
    assert_int_equal(host_finish(h, "slow"), UAR_OK);
    assert_true(host_sees_invoked(h, "slow", 3));
    host_release(h);
    assert_int_equal(host_await(h, id, NULL), UAR_OK);
    fixture_close(h);
}

static void test_E5_the_step_limit_ends_the_run_once(void **state) {
    (void)state;
    const host_tool tools[] = { NOW, { .name = NULL } };
    host *h = fixture_open(&(host_options){
        .script = LINE(CALL(0, "c1", "now", "{}") "," CALLS), .repeats = true, .tools = tools, .max_steps = 3 });
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_STEP_LIMIT);
    assert_int_equal(host_model_calls(h), 3);
    assert_int_equal(host_invoked(h, "now"), 3);
    assert_int_equal(count_terminals(h), 1);
    assert_int_equal(host_count(h, "RunFailed"), 1);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .max_steps = 1 };
    assert_int_equal(host_run(h, &q, NULL, &out), UAR_OK); /* a run can only lower it */
    assert_int_equal(out.status, UAR_E_STEP_LIMIT);
    assert_int_equal(host_model_calls(h), 4);
    fixture_close(h);
}

/* ---- C1 ---- */

static void test_C1_a_history_begins_with_a_users_message(void **state) {
    (void)state;
    uar_message m[4] = { { .role = UAR_ROLE_TOOL },
                         { .role = UAR_ROLE_ASSISTANT },
                         { .role = UAR_ROLE_USER },
                         { .role = UAR_ROLE_ASSISTANT } };
    assert_int_equal(context_first_whole(m, 4), 2);
    assert_int_equal(context_first_whole(&m[2], 2), 0);
    assert_int_equal(context_first_whole(m, 2), 2);
    assert_int_equal(context_first_whole(m, 0), 0);
}

/* Every result follows the answer that called for it, and every call has its result. */
static void expect_whole(const cJSON *doc) {
    const cJSON *list = json_member(doc, "messages");
    int owed = 0, count = cJSON_GetArraySize(list);
    assert_string_equal(request_text(doc, 0, "role"), "user");
    for (int i = 0; i < count; i++) {
        const char *role = request_text(doc, i, "role");
        if (strcmp(role, "tool") == 0) {
            assert_true(owed > 0);
            owed--;
            assert_null(strstr(request_text(doc, i, "content"), "unknown"));
        } else {
            assert_int_equal(owed, 0);
            owed = cJSON_GetArraySize(json_member(cJSON_GetArrayItem(list, i), "tool_calls"));
        }
    }
    assert_int_equal(owed, 0);
}

static void test_C1_a_call_and_its_results_stay_together_at_every_cut(void **state) {
    (void)state;
    const host_tool tools[] = { NOW, { .name = NULL } };
    /* Turns of six, two and five messages, so that the cut falls on every place of a turn. */
    static const char script[] =
        LINE(CALL(0, "a", "now", "{}") "," CALL(1, "b", "now", "{}") "," CALL(2, "c", "now", "{}") "," CALLS)
            LINE(TEXT("done") "," STOP) LINE(TEXT("hi") "," STOP)
                LINE(CALL(0, "a", "now", "{}") "," CALL(1, "b", "now", "{}") "," CALLS) LINE(TEXT("done") "," STOP);
    host *h = fixture_open(&(host_options){ .script = script, .repeats = true, .tools = tools });
    uint64_t stored = 0;
    for (int turn = 0; turn < 120; turn++) {
        uar_outcome out;
        assert_int_equal(host_say(h, "go", &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE);
        cJSON *doc = fixture_request(h, host_model_calls(h));
        expect_whole(doc);
        int read = cJSON_GetArraySize(json_member(doc, "messages"));
        assert_true(turn < 100 || read > 380);
        assert_true(read <= 410); /* what is older is left out, not carried along for ever */
        fixture_request_free(doc);
    }
    uar_reply *reply = NULL;
    assert_int_equal(uar_session_load_sync(&reply, host_runtime(h), "local", "me", "default", NULL), UAR_OK);
    stored = reply->sessions[0].messages;
    assert_int_equal(stored, 40 * 13);
    assert_int_equal(reply->sessions[0].last_number, stored);
    uar_reply_free(reply);
    fixture_close(h);
}

static void push_absent_texts_with_a_length(void *ctx, host *h, uar_stream *stream) {
    (void)ctx;
    (void)h;
    const uar_str odd = { NULL, 3 }, none = { NULL, 0 };
    assert_int_equal(uar_stream_tool_call(stream, 0, odd, none, none), UAR_E_INVALID);
    assert_int_equal(uar_stream_tool_call(stream, 0, none, odd, none), UAR_E_INVALID);
    assert_int_equal(uar_stream_tool_call(stream, 0, none, none, odd), UAR_E_INVALID);
}

static void test_N1_a_piece_of_a_call_without_its_bytes_is_refused(void **state) {
    (void)state;
    host *h =
        fixture_open(&(host_options){ .script = HELLO, .hooks = { .on_start = push_absent_texts_with_a_length } });
    uar_outcome out;
    assert_int_equal(host_say(h, "go", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    fixture_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_N1_a_piece_of_a_call_without_its_bytes_is_refused),
        fixture_test(a_call_runs_and_the_model_reads_its_result),
        fixture_test(a_result_that_is_a_string_is_read_as_its_text),
        fixture_test(test_E9_previews_are_not_the_call),
        fixture_test(test_E9_a_call_of_a_failed_attempt_is_only_a_preview),
        fixture_test(test_E13_tool_end_comes_after_the_commit_of_its_outcome),
        fixture_test(no_tool_runs_before_the_commit_of_its_call),
        fixture_test(a_result_that_can_not_be_saved_fails_the_run_and_is_tried_once_more_at_the_end),
        fixture_test(test_T1_no_prefix_of_the_arguments_runs),
        fixture_test(test_T1_arguments_against_the_schema_name_the_fault),
        fixture_test(test_T2_a_call_that_the_token_limit_cut_does_not_run),
        fixture_test(test_T2_calls_before_the_cut_one_run),
        fixture_test(test_T2_a_call_without_arguments_yet_does_not_run_after_a_cut),
        fixture_test(test_T2_a_cut_that_the_provider_calls_tool_calls_is_malformed),
        fixture_test(test_T3_empty_arguments_are_an_empty_object_where_the_schema_takes_one),
        fixture_test(test_T4_results_go_back_in_call_order_whatever_order_they_ended_in),
        fixture_test(test_T4_calls_without_ids_or_with_the_same_get_their_own),
        fixture_test(test_T5_unknown_denied_failed_and_malformed_read_differently),
        fixture_test(a_tools_failure_in_broken_utf8_is_made_text),
        fixture_test(a_text_result_with_u0000_becomes_visible_and_is_reported_once),
        fixture_test(a_text_result_is_read_as_it_is),
        fixture_test(test_T6_a_call_has_a_deadline_and_a_late_result_is_stale),
        fixture_test(test_T6_a_tool_that_fails_because_of_its_deadline_is_over_its_deadline),
        fixture_test(test_T6_a_second_finish_is_stale),
        fixture_test(test_T9_a_failing_sibling_loses_nobodys_result),
        fixture_test(no_more_calls_run_at_once_than_the_builder_says),
        fixture_test(test_E5_the_step_limit_ends_the_run_once),
        fixture_test(test_C1_a_history_begins_with_a_users_message),
        fixture_test(test_C1_a_call_and_its_results_stay_together_at_every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
