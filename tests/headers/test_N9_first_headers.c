/*
 * A host as it was written on the day of the first headers: compiled against the frozen copy of them, linked with
 * today's library. Every struct has the size and the slots of then; a whole turn with a tool must work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include <uar/uar.h>

/* What the host saw; written by callbacks of one run, read after the wait. */
typedef struct host {
    int model_calls;
    int tool_calls;
    int terminal_events;
    int destroyed;
    char text[64];
    size_t text_len;
} host;

static void model_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    host *h = ctx;
    uar_usage usage = { 3, 0, 0, 2, 0, true };
    assert_true(request->message_count > 0);
    uar_stream_usage(stream, &usage);
    if (h->model_calls++ == 0) {
        uar_stream_tool_call(stream, 0, uar_str_of("c1"), uar_str_of("weather"), uar_str_of("{\"city\":\"Oslo\"}"));
        uar_stream_finish(stream, UAR_FINISH_TOOL_CALLS);
        return;
    }
    uar_stream_text(stream, "Take a ", 7);
    uar_stream_text(stream, "coat.", 5);
    uar_stream_finish(stream, UAR_FINISH_STOP);
}

static void weather(void *ctx, const uar_tool_call *call, uar_completion *done) {
    host *h = ctx;
    h->tool_calls++;
    assert_true(uar_str_equal(call->tool, uar_str_of("weather")));
    assert_true(uar_str_equal(call->arguments, uar_str_of("{\"city\":\"Oslo\"}")));
    assert_int_equal(uar_completion_json(done, "{\"celsius\":4}"), UAR_OK);
}

static void on_event(void *ctx, const uar_event *event) {
    host *h = ctx;
    if (uar_event_is_terminal(event->kind)) h->terminal_events++;
    if (event->kind != UAR_EVENT_CHAT_DELTA) return;
    uar_str text = event->chat_delta.text;
    assert_true(h->text_len + text.len < sizeof h->text);
    memcpy(h->text + h->text_len, text.ptr, text.len);
    h->text_len += text.len;
}

static void count_destroy(void *ctx) {
    host *h = ctx;
    h->destroyed++;
}

static uar_runtime *build_host(host *h) {
    uar_builder_options options;
    uar_builder_options_init(&options);
    options.threading = UAR_THREADS_MANUAL;
    uar_builder *b = uar_builder_new(&options);
    uar_builder_persistence(b, uar_persistence_volatile());

    uar_model model = { UAR_MODEL_INIT, .ctx = h, .destroy = count_destroy, .name = "scripted", .start = model_start };
    uar_builder_model(b, &model);

    uar_tool tool = { UAR_TOOL_INIT,
                      .ctx = h,
                      .destroy = count_destroy,
                      .name = "weather",
                      .description = "Current weather of a city",
                      .input_schema = "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}",
                      .tool_class = UAR_TOOL_READ_ONLY,
                      .invoke = weather };
    uar_builder_tool(b, &tool);

    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = h, .destroy = count_destroy, .on_event = on_event };
    uar_builder_event_sink(b, &sink);

    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_builder_build(&rt, b, &err);
    if (status != UAR_OK) print_error("%s: %s\n", uar_status_name(status), err.message);
    assert_int_equal(status, UAR_OK);
    return rt;
}

static void test_N9_a_host_of_the_first_headers_runs_a_turn_with_a_tool(void **state) {
    (void)state;
    host h = { 0 };
    uar_runtime *rt = build_host(&h);
    uar_run_request request;
    uar_run_request_init(&request);
    request.user = "u1";
    request.session = "s1";
    request.input = "Do I need a coat in Oslo?";
    uar_run_id run;
    uar_outcome outcome;
    assert_int_equal(uar_run_start(&run, rt, &request, NULL), UAR_OK);
    assert_int_equal(uar_run_wait(&outcome, rt, run, 10000), UAR_OK);
    assert_int_equal(outcome.status, UAR_OK);
    assert_int_equal(outcome.usage.output, 4);
    assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
    assert_int_equal(h.model_calls, 2);
    assert_int_equal(h.tool_calls, 1);
    assert_int_equal(h.terminal_events, 1);
    assert_int_equal(h.text_len, 12);
    assert_memory_equal(h.text, "Take a coat.", 12);
    assert_int_equal(h.destroyed, 3);
    assert_int_equal(uar_live_objects(), 0);
}

/* A provider of then: the struct ends at the slot that was last in the first header. */
typedef struct empty_store {
    int gets;
    int destroyed;
} empty_store;

static void empty_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    empty_store *store = ctx;
    (void)kind, (void)owner, (void)id;
    store->gets++;
    uar_completion_fail(done, UAR_E_NOT_FOUND, NULL);
}

static void empty_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    (void)ctx, (void)query;
    uar_completion_records(done, NULL, 0, NULL, NULL);
}

static void empty_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    (void)ctx, (void)writes, (void)count;
    uar_completion_fail(done, UAR_E_FULL, "nothing can be kept here");
}

static void empty_destroy(void *ctx) {
    empty_store *store = ctx;
    store->destroyed++;
}

static void test_N9_a_provider_of_the_first_headers_is_accepted_and_heard(void **state) {
    (void)state;
    empty_store store = { 0 };
    uar_persistence layer = { UAR_PERSISTENCE_INIT, .ctx = &store,      .destroy = empty_destroy,
                              .get = empty_get,     .list = empty_list, .commit = empty_commit };
    uar_persistence_report report;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_persistence_check(&report, &layer, NULL, NULL, &err), UAR_E_INVALID);
    assert_true(report.failed > 0);
    assert_true(err.message[0] != '\0');
    assert_int_equal(store.destroyed, 1);
    assert_int_equal(uar_live_objects(), 0);
}

static void test_N9_the_values_compiled_into_an_old_host_still_mean_the_same(void **state) {
    (void)state;
#define CHECK_STATUS(name, value, band, text)                                \
    assert_string_equal(uar_status_name((uar_status)(value)), "UAR_" #name); \
    assert_int_equal(uar_status_band((uar_status)(value)), UAR_BAND_##band);
    UAR_STATUSES(CHECK_STATUS)
#undef CHECK_STATUS
#define CHECK_KIND(kind, member, json, docs) assert_string_equal(uar_event_kind_name(UAR_EVENT_##kind), json);
    UAR_EVENT_KINDS(CHECK_KIND)
#undef CHECK_KIND
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_N9_a_host_of_the_first_headers_runs_a_turn_with_a_tool),
        cmocka_unit_test(test_N9_a_provider_of_the_first_headers_is_accepted_and_heard),
        cmocka_unit_test(test_N9_the_values_compiled_into_an_old_host_still_mean_the_same),
    };
    return cmocka_run_group_tests_name("first_headers", tests, NULL, NULL);
}
