/* What the log door hears: what was tolerated or given up, never what users or models said. */
#include "test_run_fixture.h"

typedef struct diary {
    mutex lock;
    char lines[4096];
    int destroyed;
    uar_completion *kept;
} diary;

static void write_line(void *ctx, uar_log_level level, uar_str line) {
    diary *d = ctx;
    mutex_lock(&d->lock);
    size_t len = strlen(d->lines);
    snprintf(d->lines + len, sizeof d->lines - len, "%d %.*s\n", (int)level, (int)line.len, line.ptr);
    mutex_unlock(&d->lock);
}

static void destroy(void *ctx) {
    ((diary *)ctx)->destroyed++;
}

static void model_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx;
    bool answered = request->messages[request->message_count - 1].role == UAR_ROLE_TOOL;
    uar_str arguments = uar_str_of("{\"secret\":\"sesame\"}");
    if (!answered) (void)uar_stream_tool_call(stream, 0, uar_str_of("c1"), uar_str_of("deaf"), arguments);
    (void)uar_stream_text(stream, "sesame", 6);
    (void)uar_stream_finish(stream, answered ? UAR_FINISH_STOP : UAR_FINISH_TOOL_CALLS);
}

static void deaf(void *ctx, const uar_tool_call *call, uar_completion *done) {
    (void)call;
    ((diary *)ctx)->kept = uar_completion_ref(done);
}

static void test_T6_a_result_that_is_given_up_is_logged_without_content(void **state) {
    (void)state;
    diary d = { .destroyed = 0 };
    assert_int_equal(mutex_init(&d.lock), UAR_OK);
    uar_log log = { UAR_LOG_INIT, .ctx = &d, .destroy = destroy, .write = write_line };
    uar_builder *b = uar_builder_new(&(uar_builder_options){ UAR_BUILDER_OPTIONS_INIT, .log = &log });
    uar_builder_persistence(b, uar_persistence_volatile());
    uar_builder_model(b, &(uar_model){ UAR_MODEL_INIT, .name = "m", .start = model_start });
    uar_builder_tool(b, &(uar_tool){ UAR_TOOL_INIT, .ctx = &d, .name = "deaf", .description = "hears nothing",
                                     .input_schema = "{\"type\":\"object\"}", .timeout_ms = 30, .invoke = deaf });
    uar_runtime *rt = NULL;
    assert_int_equal(uar_builder_build(&rt, b, NULL), UAR_OK);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "sesame" };
    uar_run_id run;
    uar_outcome out;
    assert_int_equal(uar_run_start(&run, rt, &q, NULL), UAR_OK);
    assert_int_equal(uar_run_wait(&out, rt, run, 10000), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    assert_int_equal(uar_completion_json(d.kept, "1"), UAR_E_STALE);
    uar_completion_unref(d.kept);
    assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 5000), UAR_OK);
    assert_string_equal(d.lines, "2 tool deaf is over its deadline; what it still answers is dropped\n");
    assert_int_equal(d.destroyed, 1);
    mutex_dispose(&d.lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_T6_a_result_that_is_given_up_is_logged_without_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
