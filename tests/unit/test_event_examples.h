/* One example of every event kind, as a host would see it. docs/events.md shows these. */
#ifndef UAR_TESTS_UNIT_EVENT_EXAMPLES_H
#define UAR_TESTS_UNIT_EVENT_EXAMPLES_H

#include <uar/event.h>

#include "base/str.h"

#define T(literal) STR_INIT(literal)
#define ID(last)                                                                         \
    {                                                                                    \
        { 0x01, 0x9a, 0xd5, 0x12, 0x6c, 0x00, 0x70, 0x01, 0x80, 0, 0, 0, 0, 0, 0, last } \
    }
#define USED \
    { .input = 812, .cache_read = 512, .output = 96, .reasoning = 40, .known = true }
#define EXAMPLE(KIND, member, ...) [UAR_EVENT_##KIND] = { .kind = UAR_EVENT_##KIND, .member = { __VA_ARGS__ } }

static const uar_hit example_hits[] = { { ID(0x21), 1.25 }, { ID(0x22), 0.5 } };

static const uar_event event_examples[UAR_EVENT_KIND_COUNT] = {
    EXAMPLE(RUN_START, run_start, .input = T("Do I need a coat in Oslo?"), .model = T("offline")),
    EXAMPLE(RUN_PAUSED, run_paused, .reason = T("approval")),
    EXAMPLE(RUN_RESUMED, run_resumed, .reason = T("approved")),
    EXAMPLE(RUN_DONE, run_done, .message = ID(0x11), .usage = USED),
    EXAMPLE(RUN_FAILED, run_failed, .code = T("UAR_E_MODEL_CUT"), .message = T("the stream ended early"),
            .usage = { 0 }),
    EXAMPLE(CANCELLED, cancelled, .reason = T("host"), .usage = USED),
    EXAMPLE(CHAT_DELTA, chat_delta, .message = ID(0x11),
            .text = T("Yes, it is 4 \xc2\xb0"
                      "C.\n")),
    EXAMPLE(REASONING_DELTA, reasoning_delta, .message = ID(0x11), .text = T("The tool said 4.")),
    EXAMPLE(CITATION, citation, .message = ID(0x11), .source = T("https://example.org/oslo"),
            .title = T("Weather in Oslo"), .quote = T("4 degrees")),
    EXAMPLE(MEMORY_RECALL, memory_recall, .hits = { example_hits, 2 }),
    EXAMPLE(MEMORY_MUTATION, memory_mutation, .id = ID(0x21), .op = T("add"), .outcome = T("added")),
    EXAMPLE(SKILL_ACTIVATED, skill_activated, .skill = T("packing"), .reason = T("named by the user")),
    EXAMPLE(TOOL_START, tool_start, .call = T("c1"), .tool = T("weather"), .arguments = T("{\"city\":\"Oslo\"}")),
    EXAMPLE(TOOL_DELTA, tool_delta, .call = T("c1"), .tool = T("weather"), .delta = T("{\"city\":\"Os")),
    EXAMPLE(TOOL_END, tool_end, .call = T("c1"), .tool = T("weather"), .ok = true, .result = T("{\"celsius\":4}")),
    EXAMPLE(TOOL_CALL_APPROVAL_REQUIRED, tool_call_approval_required, .call = T("c2"), .tool = T("send_mail"),
            .arguments = T("{\"to\":\"kim@example.org\"}")),
    EXAMPLE(TOOL_CALL_APPROVED, tool_call_approved, .call = T("c2"), .reason = T("host")),
    EXAMPLE(TOOL_CALL_DENIED, tool_call_denied, .call = T("c2"), .reason = T("wrong address")),
    EXAMPLE(MCP_SERVER_STATE_CHANGED, mcp_server_state_changed, .server = T("files"), .state = T("ready")),
    EXAMPLE(ARTIFACT, artifact, .artifact = T("policy"), .name = T("Resolved policy"),
            .media_type = T("application/json"), .content = T("{\"memory\":\"off\"}")),
    EXAMPLE(ARTIFACT_INPUT_REQUEST, artifact_input_request, .request = T("r1"), .prompt = T("Which city?"),
            .schema = T("{\"type\":\"string\"}")),
    EXAMPLE(STATE_PATCH, state_patch, .patch = T("[{\"op\":\"add\",\"path\":\"/city\",\"value\":\"Oslo\"}]")),
    EXAMPLE(RUNTIME_STEP, runtime_step, .step = 1, .phase = T("model")),
    EXAMPLE(CONTEXT_ACTION, context_action, .action = T("window"), .kept = 12, .left_out = 4, .tokens = 3810),
    EXAMPLE(ATTEMPT_SUPERSEDED, attempt_superseded, .message = ID(0x11), .attempt = 1, .reason = T("UAR_E_NETWORK")),
    EXAMPLE(BUDGET_ALERT, budget_alert, .budget = T("tokens"), .limit = 10000, .used = 8000.5),
    EXAMPLE(GUARDRAIL_FLAGGED, guardrail_flagged, .stage = T("output"), .rule = T("secrets"), .action = T("mask"),
            .reason = T("looks like a key")),
    EXAMPLE(AGENT_THREAD_STARTED, agent_thread_started, .thread = ID(0x31), .agent = T("researcher")),
    EXAMPLE(AGENT_THREAD_UPDATED, agent_thread_updated, .thread = ID(0x31), .state = T("running")),
    EXAMPLE(AGENT_THREAD_FINISHED, agent_thread_finished, .thread = ID(0x31), .state = T("done")),
    EXAMPLE(ERROR, error, .code = T("UAR_E_UNAVAILABLE"), .message = T("memory could not be reached")),
};

#undef T

/* The example of a kind with its envelope: as a host would fill an event in itself. */
static inline uar_event example_of(uar_event_kind kind) {
    uar_event event = event_examples[kind];
    event.id = (uint64_t)kind + 1;
    event.time_ms = INT64_C(1764500000000) + (int64_t)kind;
    event.run = (uar_uuid)ID(0x01);
    event.owner = uar_str_of("local");
    event.user = uar_str_of("me");
    event.session = uar_str_of("default");
    event.agent = uar_str_of("assistant");
    return event;
}

#endif
