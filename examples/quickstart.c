/* A whole app over libuar: one model, one tool, a store, a memory. Runs offline; its model is the scripted one below. */
#include <uar/uar.h>

#include <stdio.h>
#include <sys/stat.h>

static void on_event(void *ctx, const uar_event *event) {
    (void)ctx;
    if (event->kind == UAR_EVENT_CHAT_DELTA) fwrite(event->chat_delta.text.ptr, 1, event->chat_delta.text.len, stdout);
}

static void weather(void *ctx, const uar_tool_call *call, uar_completion *done) {
    (void)ctx;
    printf("[weather %.*s]\n", (int)call->arguments.len, call->arguments.ptr);
    uar_completion_json(done, "{\"celsius\": 4}"); /* now, or later from any thread */
}

/* The model: asks for the weather, then answers with what the tool said. A real one would talk to a service here. */
static void answer(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx;
    const uar_model_message *last = &request->messages[request->message_count - 1];
    if (last->role != UAR_ROLE_TOOL) {
        uar_stream_tool_call(stream, 0, uar_str_of("call-1"), uar_str_of("weather"), uar_str_of("{\"city\":\"Oslo\"}"));
        uar_stream_finish(stream, UAR_FINISH_TOOL_CALLS);
        return;
    }
    char text[128];
    int len = snprintf(text, sizeof text, "Take a coat: the tool says %.*s.\n", (int)last->parts[0].text.len,
                       last->parts[0].text.ptr);
    uar_stream_text(stream, text, (size_t)len);
    uar_stream_finish(stream, UAR_FINISH_STOP);
}

static int fail(const uar_error *err) {
    fprintf(stderr, "%s: %s\n", uar_status_name(err->code), err->message);
    return 1;
}

int main(void) {
    static const char *const folders[] = { "app", "app/state", "app/memory" };
    for (size_t i = 0; i < 3; i++)
        mkdir(folders[i], 0700);
    uar_error err = UAR_ERROR_INIT;
    uar_memory *memory = uar_memory_open("app/memory/memory.db", NULL);
    uar_builder *b = uar_builder_new(NULL);
    uar_builder_persistence(b, uar_persistence_sqlite("app/state/state.db", NULL));
    uar_builder_memory(b, memory);
    uar_builder_model(b, &(uar_model){ UAR_MODEL_INIT, .name = "scripted", .start = answer });
    uar_builder_event_sink(b, &(uar_event_sink){ UAR_EVENT_SINK_INIT, .on_event = on_event });
    uar_builder_tool(
        b, &(uar_tool){
               UAR_TOOL_INIT, .name = "weather", .description = "Current weather of a city",
               .input_schema =
                   "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"]}",
               .tool_class = UAR_TOOL_READ_ONLY, .invoke = weather });

    uar_runtime *rt = NULL;
    if (uar_builder_build(&rt, b, &err) != UAR_OK) { /* every mistake above surfaces here, named */
        uar_memory_free(memory);
        return fail(&err);
    }
    uar_run_id run;
    uar_outcome outcome = { .status = UAR_E_INVALID };
    if (uar_run_start(&run, rt,
                      &(uar_run_request){ UAR_RUN_REQUEST_INIT, .user = "u1", .session = "s1",
                                          .input = "Do I need a coat in Oslo?" },
                      &err) == UAR_OK)
        uar_run_wait(&outcome, rt, run, UAR_FOREVER);
    uar_runtime_close(rt, UAR_CLOSE_PARK, 1000);
    uar_memory_free(memory);
    return outcome.status == UAR_OK ? 0 : fail(outcome.status == UAR_E_INVALID ? &err : &outcome.error);
}
