/*
 * The machine's document is all of its state: every scenario says the same, stores the same and asks the model the same
 * when the machine is saved, freed and loaded after every step.
 */
#include "unit/test_run_fixture.h"

typedef struct scenario {
    const char *name;
    const char *script;
    host_tool tools[4];
    uar_approvals approvals;
    uint32_t max_steps, parallel_tools;
    bool remembers;
    void (*act)(host *h, uar_run_id id); /* between start and wait */
    uar_run_state state;
    const char *kinds;
} scenario;

#define ADDS                                                                                                 \
    {                                                                                                        \
        .name = "add", .way = HOST_ANSWERS, .result = "{\"sum\":3}",                                         \
        .schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]}" \
    }
#define NOW \
    { .name = "now", .way = HOST_ANSWERS, .result = "\"noon\"" }
#define ASKS \
    { .name = "ask", .way = HOST_ANSWERS, .result = "1", .approval = UAR_APPROVAL_ASK }
#define FAILS \
    { .name = "fail", .way = HOST_FAILS, .result = "broken" }
#define KEEPS \
    { .name = "keep", .way = HOST_NEVER, .result = "1" }
#define STOPS \
    { .name = "stop", .way = HOST_STOPS, .result = "1" }
#define LATE \
    { .name = "late", .way = HOST_NEVER, .result = "1", .timeout_ms = 30 }

static void decide_both(host *h, uar_run_id id) {
    assert_true(host_hears(h, "ToolCallApprovalRequired", 2));
    assert_int_equal(uar_run_deny(host_runtime(h), id, "c2", "no", NULL), UAR_OK);
    host_rest(h, 10);
    assert_int_equal(uar_run_approve(host_runtime(h), id, "c1", "{\"edited\":true}", NULL), UAR_OK);
}

static void cancel_stream(host *h, uar_run_id id) {
    assert_true(host_sees_streams(h, 1));
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
}

static void cancel_asked(host *h, uar_run_id id) {
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
}

static void cancel_tool(host *h, uar_run_id id) {
    assert_true(host_sees_invoked(h, "stop", 1));
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
}

static void cancel_after_step(host *h, uar_run_id id) {
    assert_true(host_sees_invoked(h, "keep", 1));
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_AFTER_STEP, "later", NULL), UAR_OK);
    host_rest(h, 10);
    assert_int_equal(host_finish(h, "keep"), UAR_OK);
}

static void cancel_first(host *h, uar_run_id id) {
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
}

static void finish_backwards(host *h, uar_run_id id) {
    (void)id;
    assert_true(host_sees_invoked(h, "keep", 1));
    assert_true(host_sees_invoked(h, "stop", 1));
    assert_int_equal(host_finish(h, "stop"), UAR_OK);
    assert_true(host_hears(h, "ToolEnd", 1));
    assert_int_equal(host_finish(h, "keep"), UAR_OK);
}

#define ANSWER " RuntimeStep ChatDelta ChatDelta RunDone"

static const scenario SCENARIOS[] = {
    { .name = "text", .script = HELLO, .state = UAR_RUN_DONE, .kinds = HELLO_KINDS },
    { .name = "reasoning and bytes",
      .script = LINE(REASONING("hm") "," BYTES("8J+Y") "," REASONING("so") "," BYTES("gA==") "," USED(3, 2) "," STOP),
      .state = UAR_RUN_DONE,
      .kinds = "RunStart RuntimeStep ReasoningDelta ReasoningDelta ChatDelta RunDone" },
    { .name = "a truncated tail",
      .script = LINE(TEXT("ok") "," BYTES("8J+Y") "," STOP),
      .state = UAR_RUN_DONE,
      .kinds = "RunStart RuntimeStep ChatDelta ChatDelta Error RunDone" },
    { .name = "parallel tools",
      .script = LINE(CALL(0, "c1", "add", "{\\\"a\\\"") "," CALL(1, "c2", "now", "{") "," MORE(0, ":1}") "," MORE(
          1, "}") "," CALLS) HELLO,
      .tools = { ADDS, NOW },
      .state = UAR_RUN_DONE,
      .kinds =
          "RunStart RuntimeStep ToolDelta ToolDelta ToolDelta ToolDelta ToolStart ToolStart ToolEnd ToolEnd" ANSWER },
    { .name = "one tool at a time",
      .script = LINE(CALL(0, "c1", "now", "{}") "," CALL(1, "c2", "now", "{}") "," CALLS) HELLO,
      .tools = { NOW },
      .parallel_tools = 1,
      .state = UAR_RUN_DONE },
    { .name = "results out of order",
      .script = LINE(CALL(0, "c1", "keep", "{}") "," CALL(1, "c2", "stop", "{}") "," CALLS) HELLO,
      .tools = { KEEPS, STOPS },
      .act = finish_backwards,
      .state = UAR_RUN_DONE },
    { .name = "approved by policy",
      .script = LINE(CALL(0, "c1", "ask", "{}") "," CALLS) HELLO,
      .tools = { ASKS },
      .approvals = UAR_APPROVALS_AUTO,
      .state = UAR_RUN_DONE,
      .kinds = "RunStart RuntimeStep ToolDelta ToolCallApprovalRequired ToolCallApproved ToolStart ToolEnd" ANSWER },
    { .name = "denied by policy",
      .script = LINE(CALL(0, "c1", "ask", "{}") "," CALLS) HELLO,
      .tools = { ASKS },
      .approvals = UAR_APPROVALS_DENY,
      .state = UAR_RUN_DONE,
      .kinds = "RunStart RuntimeStep ToolDelta ToolCallApprovalRequired ToolCallDenied ToolEnd" ANSWER },
    { .name = "a person decides",
      .script = LINE(CALL(0, "c1", "ask", "{}") "," CALL(1, "c2", "ask", "{}") "," CALLS) HELLO,
      .tools = { ASKS },
      .act = decide_both,
      .state = UAR_RUN_DONE },
    { .name = "retry after a cut",
      .script = LINE(TEXT("wrong") "," BYTES("8J+Y") "," USED(3, 1)) HELLO,
      .state = UAR_RUN_DONE,
      .kinds = "RunStart RuntimeStep ChatDelta AttemptSuperseded ChatDelta ChatDelta RunDone" },
    { .name = "retries used up", .script = LINE(TEXT("a")) LINE(TEXT("b")) LINE(TEXT("c")), .state = UAR_RUN_FAILED },
    { .name = "the model fails", .script = LINE(TEXT("a") "," FAIL("UAR_E_MODEL")), .state = UAR_RUN_FAILED },
    { .name = "step limit",
      .script = LINE(CALL(0, "c1", "now", "{}") "," CALLS) LINE(CALL(0, "c1", "now", "{}") "," CALLS),
      .tools = { NOW },
      .max_steps = 2,
      .state = UAR_RUN_FAILED },
    { .name = "cancel in mid-stream",
      .script = LINE(TEXT("half") "," CALL(0, "c1", "now", "{") "," HOLD),
      .tools = { NOW },
      .act = cancel_stream,
      .state = UAR_RUN_CANCELLED,
      .kinds = "RunStart RuntimeStep ChatDelta ToolDelta Cancelled" },
    { .name = "cancel while asked",
      .script = LINE(CALL(0, "c1", "ask", "{}") "," CALLS),
      .tools = { ASKS },
      .act = cancel_asked,
      .state = UAR_RUN_CANCELLED },
    { .name = "cancel while a tool runs",
      .script = LINE(CALL(0, "c1", "stop", "{}") "," CALLS),
      .tools = { STOPS },
      .act = cancel_tool,
      .state = UAR_RUN_CANCELLED },
    { .name = "cancel after the step",
      .script = LINE(CALL(0, "c1", "keep", "{}") "," CALLS),
      .tools = { KEEPS },
      .act = cancel_after_step,
      .state = UAR_RUN_CANCELLED },
    { .name = "cancel before anything",
      .script = HELLO,
      .act = cancel_first,
      .state = UAR_RUN_CANCELLED,
      .kinds = "RunStart Cancelled" },
    { .name = "malformed, unknown, failing, against the schema, cut",
      .script =
          LINE(CALL(0, "c1", "now", "{oops") "," CALL(1, "c2", "none", "{}") "," CALL(2, "c3", "fail", "{}") "," CALL(
              3, "c4", "add", "{}") "," CALL(4, "c5", "now", "{\\\"x\\\":1") "," FINISH("length")) HELLO,
      .tools = { ADDS, NOW, FAILS },
      .state = UAR_RUN_DONE },
    { .name = "a deadline",
      .script = LINE(CALL(0, "c1", "late", "{}") "," CALLS) HELLO,
      .tools = { LATE },
      .state = UAR_RUN_DONE },
    { .name = "length cut of a text",
      .script = LINE(TEXT("half a") "," FINISH("length")),
      .state = UAR_RUN_DONE,
      .kinds = "RunStart RuntimeStep ChatDelta Error RunDone" },
    { .name = "memory", .script = HELLO, .remembers = true, .state = UAR_RUN_DONE },
};

static uar_memory *open_memory(const char *folder) {
    char path[300];
    snprintf(path, sizeof path, "%s/memory.db", folder);
    uar_memory *memory = uar_memory_open(path, NULL);
    uar_identity who;
    uar_identity_init(&who);
    who.owner = uar_str_of("local");
    who.user = uar_str_of("me");
    uar_memory_draft draft;
    uar_memory_draft_init(&draft);
    draft.content = uar_str_of("The user's cat is called Mia.");
    draft.scope = UAR_MEMORY_SCOPE_USER;
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, memory, &who, &draft, NULL), UAR_OK);
    return memory;
}

/* What a scenario left behind. */
typedef struct trace {
    char *events, *kinds, *last_request;
    uar_outcome outcome;
    size_t messages;
} trace;

/* How well a memory fits depends on its age in milliseconds: the figures are cut out. */
static void cut_scores(char *events) {
    for (char *at = strstr(events, "\"score\":"); at != NULL; at = strstr(at + 8, "\"score\":"))
        memmove(at + 8, at + 8 + strspn(at + 8, "0123456789.e-"), strlen(at + 8 + strspn(at + 8, "0123456789.e-")) + 1);
}

static trace play(const scenario *s, bool reload) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s", fixture_folder());
    uar_memory *memory = s->remembers ? open_memory(folder) : NULL;
    host *h = fixture_open(&(host_options){ .script = s->script,
                                            .tools = s->tools,
                                            .threading = UAR_THREADS_MANUAL,
                                            .parallel_tools = s->parallel_tools,
                                            .memory = memory,
                                            .reload = reload });
    uar_memory_free(memory);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "What is my cat called? I live in Oslo.",
                          .approvals = s->approvals, .max_steps = s->max_steps };
    uar_run_id id;
    trace t = { .messages = 0 };
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    if (s->act != NULL) s->act(h, id);
    assert_int_equal(host_await(h, id, &t.outcome), UAR_OK);
    t.events = host_events(h);
    cut_scores(t.events);
    t.kinds = host_kinds(h);
    if (host_model_calls(h) > 0) {
        t.last_request = host_request(h, host_model_calls(h));
        expect_stored_as_streamed(h, "default");
        uar_reply *reply = fixture_messages(h, "default");
        t.messages = reply->count;
        uar_reply_free(reply);
    }
    assert_int_equal(count_terminals(h), 1);
    fixture_close(h);
    fixture_remove(folder);
    return t;
}

static void trace_free(trace *t) {
    free(t->events);
    free(t->kinds);
    free(t->last_request);
}

static void every_scenario_is_the_same_when_the_machine_is_reloaded_at_every_step(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof SCENARIOS / sizeof *SCENARIOS; i++) {
        const scenario *s = &SCENARIOS[i];
        trace straight = play(s, false), reloaded = play(s, true);
        print_message("# %s: %s\n", s->name, straight.kinds);
        assert_int_equal(straight.outcome.state, s->state);
        if (s->kinds != NULL) assert_string_equal(straight.kinds, s->kinds);
        assert_string_equal(straight.events, reloaded.events);
        assert_int_equal(straight.outcome.status, reloaded.outcome.status);
        assert_int_equal(straight.outcome.usage.input, reloaded.outcome.usage.input);
        assert_int_equal(straight.messages, reloaded.messages);
        assert_int_equal(straight.last_request == NULL, reloaded.last_request == NULL);
        if (straight.last_request != NULL) assert_string_equal(straight.last_request, reloaded.last_request);
        trace_free(&straight);
        trace_free(&reloaded);
    }
}

/* The control: the scenarios do differ from each other, so that equality says something. */
static void no_two_scenarios_leave_the_same_trace(void **state) {
    (void)state;
    enum { COUNT = sizeof SCENARIOS / sizeof *SCENARIOS };
    static trace all[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        all[i] = play(&SCENARIOS[i], false);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(all[i].events, all[j].events);
    for (size_t i = 0; i < COUNT; i++)
        trace_free(&all[i]);
}

static void what_memory_recalled_is_read_before_the_question(void **state) {
    (void)state;
    trace t = play(&SCENARIOS[sizeof SCENARIOS / sizeof *SCENARIOS - 1], true);
    const char *cat = strstr(t.last_request, "Mia"), *question = strstr(t.last_request, "What is my cat called");
    assert_true(cat != NULL && question != NULL && cat < question);
    assert_non_null(strstr(t.kinds, "MemoryRecall"));
    assert_non_null(strstr(t.kinds, "RunDone MemoryMutation"));
    trace_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(every_scenario_is_the_same_when_the_machine_is_reloaded_at_every_step),
        fixture_test(no_two_scenarios_leave_the_same_trace),
        fixture_test(what_memory_recalled_is_read_before_the_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
