/* Owns: the benchmark's runtime. One run at a time; the model's fields are touched by one thread at a time. */
#include "agent.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define TURN_MS 60000

struct agent {
    uar_runtime *rt;
    agent_options options;
    size_t delta_len;
    char *result; /* a JSON string */
    atomic_size_t calls;
    atomic_uint_least64_t first_call;
    uar_stream *stream; /* open, while the model waits to be fed */
    agent_answer answer;
    uint32_t pushed;
    size_t answers;
    atomic_size_t closed; /* runs of which the sink heard the end */
};

/* ---- the model ---- */

static void push_calls(uar_stream *stream, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        char id[16] = "call-x";
        id[5] = (char)('a' + i % 26);
        (void)uar_stream_tool_call(stream, i, uar_str_of(id), uar_str_of("look"), uar_str_of("{\"at\": \"Oslo\"}"));
    }
}

static void end_answer(agent *a, uar_stream *stream) {
    uar_usage usage = { .input = 100, .output = a->answer.deltas, .known = true };
    push_calls(stream, a->answer.calls);
    (void)uar_stream_usage(stream, &usage);
    (void)uar_stream_finish(stream, a->answer.calls > 0 ? UAR_FINISH_TOOL_CALLS : UAR_FINISH_STOP);
}

static uint32_t push_deltas(agent *a, uar_stream *stream, uint32_t count) {
    uint32_t left = a->answer.deltas - a->pushed;
    uint32_t now = count < left ? count : left;
    for (uint32_t i = 0; i < now; i++)
        (void)uar_stream_text(stream, a->options.delta, a->delta_len);
    a->pushed += now;
    return left - now;
}

static void start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)request;
    agent *a = ctx;
    if (atomic_fetch_add(&a->calls, 1) == 0) atomic_store(&a->first_call, bench_now());
    a->answer = a->options.plan[a->answers++ % a->options.plan_count];
    a->pushed = 0;
    if (a->options.feeds) {
        a->stream = uar_stream_ref(stream);
        return;
    }
    (void)push_deltas(a, stream, UINT32_MAX);
    end_answer(a, stream);
}

bool agent_feed(agent *a, uint32_t deltas) {
    uar_stream *stream = a->stream;
    if (stream == NULL) return false;
    if (push_deltas(a, stream, deltas) > 0) return true;
    a->stream = NULL;
    end_answer(a, stream);
    uar_stream_unref(stream);
    return true;
}

uint64_t agent_first_call(agent *a) {
    return atomic_load(&a->first_call);
}

size_t agent_calls(agent *a) {
    return atomic_load(&a->calls);
}

/* ---- tool and sink ---- */

static void look(void *ctx, const uar_tool_call *call, uar_completion *done) {
    (void)call;
    agent *a = ctx;
    (void)uar_completion_json(done, a->result);
}

static void on_event(void *ctx, const uar_event *event) {
    agent *a = ctx;
    if (a->options.hears != NULL) a->options.hears(a->options.hears_ctx, event);
}

static void on_closed(void *ctx, uar_run_id run) {
    (void)run;
    agent *a = ctx;
    atomic_fetch_add(&a->closed, 1);
}

/* ---- life ---- */

static char *make_result(size_t bytes) {
    char *text = bench_memory(bytes + 1);
    memset(text, 'r', bytes);
    text[0] = text[bytes - 1] = '"';
    return text;
}

agent *agent_open(const agent_options *options) {
    agent *a = bench_memory(sizeof *a);
    a->options = *options;
    a->delta_len = strlen(options->delta);
    a->result = make_result(options->result_bytes);
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .allocator = options->allocator,
                              .threading = options->threading };
    uar_builder *b = uar_builder_new(&o);
    uar_builder_persistence(b, options->layer != NULL ? options->layer : uar_persistence_volatile());
    uar_model model = { UAR_MODEL_INIT, .ctx = a, .name = "planned", .start = start };
    uar_builder_model(b, &model);
    uar_tool tool = { UAR_TOOL_INIT,
                      .ctx = a,
                      .name = "look",
                      .description = "Looks at a place.",
                      .input_schema = "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"}}}",
                      .tool_class = UAR_TOOL_READ_ONLY,
                      .invoke = look };
    uar_builder_tool(b, &tool);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = a, .on_event = on_event, .on_closed = on_closed };
    uar_builder_event_sink(b, &sink);
    uar_error err = UAR_ERROR_INIT;
    if (uar_builder_build(&a->rt, b, &err) != UAR_OK) bench_give_up(err.message);
    return a;
}

uar_runtime *agent_runtime(agent *a) {
    return a->rt;
}

static void pump_all(uar_runtime *rt) {
    while (uar_runtime_pump(rt, 0) == 0) {}
}

void agent_turn(agent *a, const char *session, const char *input, uint32_t batch) {
    uar_run_request request = { UAR_RUN_REQUEST_INIT, .session = session, .input = input };
    uar_run_id id;
    uar_outcome outcome = { .status = UAR_E_TIMEOUT };
    size_t closed = atomic_load(&a->closed);
    uint64_t began = bench_now();
    if (uar_run_start(&id, a->rt, &request, NULL) != UAR_OK) bench_give_up("a run doesn't start");
    while (atomic_load(&a->closed) == closed) {
        pump_all(a->rt);
        (void)agent_feed(a, batch);
        if (bench_now() - began > TURN_MS * UINT64_C(1000000)) bench_give_up("a run doesn't end");
    }
    if (uar_run_poll(&outcome, a->rt, id) != UAR_OK || outcome.status != UAR_OK) bench_give_up("a run failed");
    pump_all(a->rt);
}

void agent_close(agent *a) {
    if (a->stream != NULL) uar_stream_unref(a->stream);
    if (uar_runtime_close(a->rt, UAR_CLOSE_CANCEL, 10000) != UAR_OK) bench_give_up("the runtime doesn't close");
    free(a->result);
    free(a);
}
