/* Building and closing: every mistake is named, and what was handed over is destroyed once, whatever happens. */
#include "unit/test_run_fixture.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "support/probe_alloc.h"

/* ---- doors that count their destroys ---- */

typedef struct doors {
    int models, tools, sinks, layers, clocks, randoms, logs, executors;
    uar_status open_status;
} doors;

static void start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx, (void)request;
    (void)uar_stream_finish(stream, UAR_FINISH_STOP);
}

static void invoke(void *ctx, const uar_tool_call *call, uar_completion *done) {
    (void)ctx, (void)call;
    (void)uar_completion_json(done, "1");
}

static void on_event(void *ctx, const uar_event *event) {
    (void)ctx, (void)event;
}

static uar_status open_layer(void *ctx, uar_error *err) {
    const doors *d = ctx;
    if (d->open_status != UAR_OK) snprintf(err->message, sizeof err->message, "the test's layer is shut");
    if (d->open_status != UAR_OK) err->code = d->open_status;
    return d->open_status;
}

static void get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    (void)ctx, (void)kind, (void)owner, (void)id;
    (void)uar_completion_fail(done, UAR_E_NOT_FOUND, NULL);
}

static void list(void *ctx, const uar_list_query *query, uar_completion *done) {
    (void)ctx, (void)query;
    (void)uar_completion_records(done, NULL, 0, NULL, NULL);
}

static void commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    (void)ctx, (void)writes, (void)count;
    (void)uar_completion_ok(done);
}

#define COUNTER(name)                    \
    static void gone_##name(void *ctx) { \
        ((doors *)ctx)->name++;          \
    }
COUNTER(models)
COUNTER(tools)
COUNTER(sinks)
COUNTER(layers)
COUNTER(clocks)
COUNTER(randoms)
COUNTER(logs)
COUNTER(executors)

static int64_t wall(void *ctx) {
    (void)ctx;
    return clock_wall(&clock_default);
}

static uint64_t mono(void *ctx) {
    (void)ctx;
    return clock_mono(&clock_default);
}

static uar_status fill(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    return random_default.fill(random_default.ctx, out, len);
}

static void write_line(void *ctx, uar_log_level level, uar_str line) {
    (void)ctx, (void)level, (void)line;
}

static uar_model model_of(doors *d) {
    return (uar_model){ UAR_MODEL_INIT, .ctx = d, .destroy = gone_models, .name = "m", .start = start };
}

static uar_tool tool_of(doors *d) {
    return (uar_tool){ UAR_TOOL_INIT,           .ctx = d,
                       .destroy = gone_tools,   .name = "t",
                       .description = "a tool", .input_schema = "{\"type\":\"object\"}",
                       .invoke = invoke };
}

static uar_event_sink sink_of(doors *d) {
    return (uar_event_sink){ UAR_EVENT_SINK_INIT, .ctx = d, .destroy = gone_sinks, .on_event = on_event };
}

static uar_persistence layer_of(doors *d) {
    return (uar_persistence){ UAR_PERSISTENCE_INIT, .ctx = d,     .destroy = gone_layers, .open = open_layer,
                              .get = get,           .list = list, .commit = commit };
}

typedef struct platform {
    uar_clock clock;
    uar_random random;
    uar_log log;
} platform;

static uar_builder *builder_of(doors *d, platform *p, uar_builder_options *o) {
    p->clock = (uar_clock){ UAR_CLOCK_INIT, .ctx = d, .destroy = gone_clocks, .wall_ms = wall, .mono_ms = mono };
    p->random = (uar_random){ UAR_RANDOM_INIT, .ctx = d, .destroy = gone_randoms, .fill = fill };
    p->log = (uar_log){ UAR_LOG_INIT, .ctx = d, .destroy = gone_logs, .write = write_line };
    o->clock = &p->clock;
    o->random = &p->random;
    o->log = &p->log;
    return uar_builder_new(o);
}

/* A builder with one of each door. */
static uar_builder *whole_builder(doors *d, platform *p) {
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .threads = 0 };
    uar_builder *b = builder_of(d, p, &o);
    uar_model model = model_of(d);
    uar_tool tool = tool_of(d);
    uar_event_sink sink = sink_of(d);
    uar_persistence layer = layer_of(d);
    uar_builder_persistence(b, &layer);
    uar_builder_model(b, &model);
    uar_builder_tool(b, &tool);
    uar_builder_event_sink(b, &sink);
    return b;
}

static void expect_destroyed(const doors *d, int models, int tools, int sinks, int layers) {
    assert_int_equal(d->models, models);
    assert_int_equal(d->tools, tools);
    assert_int_equal(d->sinks, sinks);
    assert_int_equal(d->layers, layers);
    assert_int_equal(d->clocks, 1);
    assert_int_equal(d->randoms, 1);
    assert_int_equal(d->logs, 1);
}

static void test_N2_closing_destroys_each_door_once(void **state) {
    (void)state;
    doors d = { .models = 0 };
    platform p;
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_builder_build(&rt, whole_builder(&d, &p), &err), UAR_OK);
    assert_int_equal(d.models + d.tools + d.sinks + d.layers + d.clocks, 0);
    assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
    expect_destroyed(&d, 1, 1, 1, 1);
}

static void test_N2_a_layer_that_does_not_open_fails_the_build_and_destroys_all(void **state) {
    (void)state;
    doors d = { .open_status = UAR_E_CANTOPEN };
    platform p;
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_builder_build(&rt, whole_builder(&d, &p), &err), UAR_E_CANTOPEN);
    assert_string_equal(err.message, "the test's layer is shut");
    assert_null(rt);
    expect_destroyed(&d, 1, 1, 1, 1);
}

static void test_N2_a_second_layer_is_refused_and_both_are_destroyed(void **state) {
    (void)state;
    doors d = { .models = 0 };
    platform p;
    uar_builder *b = whole_builder(&d, &p);
    uar_persistence second = layer_of(&d);
    uar_builder_persistence(b, &second);
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_builder_build(&rt, b, &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "two persistence layers"));
    expect_destroyed(&d, 1, 1, 1, 2);
}

static void test_N2_a_build_without_a_place_for_the_runtime_destroys_all(void **state) {
    (void)state;
    doors d = { .models = 0 };
    platform p;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_builder_build(NULL, whole_builder(&d, &p), &err), UAR_E_INVALID);
    expect_destroyed(&d, 1, 1, 1, 1);
    uar_runtime *rt = NULL;
    assert_int_equal(uar_builder_build(&rt, NULL, &err), UAR_E_INVALID);
}

/* ---- mistakes ---- */

typedef struct mistake {
    const char *what; /* part of the message */
    uar_status status;
    void (*make)(uar_builder *b, doors *d);
} mistake;

static void no_model(uar_builder *b, doors *d) {
    uar_persistence layer = layer_of(d);
    uar_builder_persistence(b, &layer);
}

static void no_layer(uar_builder *b, doors *d) {
    uar_model model = model_of(d);
    uar_builder_model(b, &model);
}

static void null_layer(uar_builder *b, doors *d) {
    (void)d;
    uar_builder_persistence(b, NULL);
}

static void half_layer(uar_builder *b, doors *d) {
    uar_persistence layer = layer_of(d);
    layer.commit = NULL;
    uar_builder_persistence(b, &layer);
    no_layer(b, d); /* that is: with a model */
}

static void null_model(uar_builder *b, doors *d) {
    (void)d;
    uar_builder_model(b, NULL);
}

static void nameless_model(uar_builder *b, doors *d) {
    uar_model model = model_of(d);
    model.name = "";
    uar_builder_model(b, &model);
}

static void model_without_start(uar_builder *b, doors *d) {
    uar_model model = model_of(d);
    model.start = NULL;
    uar_builder_model(b, &model);
}

static void same_model_twice(uar_builder *b, doors *d) {
    no_layer(b, d);
    no_layer(b, d);
}

static void null_tool(uar_builder *b, doors *d) {
    (void)d;
    uar_builder_tool(b, NULL);
}

static void misnamed_tool(uar_builder *b, doors *d) {
    uar_tool tool = tool_of(d);
    tool.name = "no spaces";
    uar_builder_tool(b, &tool);
}

static void same_tool_twice(uar_builder *b, doors *d) {
    uar_tool tool = tool_of(d);
    uar_builder_tool(b, &tool);
    uar_builder_tool(b, &tool);
}

static void tool_without_invoke(uar_builder *b, doors *d) {
    uar_tool tool = tool_of(d);
    tool.invoke = NULL;
    uar_builder_tool(b, &tool);
}

static void tool_without_schema(uar_builder *b, doors *d) {
    uar_tool tool = tool_of(d);
    tool.input_schema = NULL;
    uar_builder_tool(b, &tool);
}

static void tool_with_broken_schema(uar_builder *b, doors *d) {
    uar_tool tool = tool_of(d);
    tool.input_schema = "{oops";
    uar_builder_tool(b, &tool);
}

static void tool_of_unknown_class(uar_builder *b, doors *d) {
    uar_tool tool = tool_of(d);
    tool.tool_class = (uar_tool_class)9;
    uar_builder_tool(b, &tool);
}

static void null_sink(uar_builder *b, doors *d) {
    (void)d;
    uar_builder_event_sink(b, NULL);
}

static void deaf_sink(uar_builder *b, doors *d) {
    uar_event_sink sink = sink_of(d);
    sink.on_event = NULL;
    uar_builder_event_sink(b, &sink);
}

static void model_without_size(uar_builder *b, doors *d) {
    uar_model model = model_of(d);
    model.destroy = NULL; /* what can't be read can't be taken over */
    model.struct_size = 0;
    uar_builder_model(b, &model);
}

static void model_from_the_future(uar_builder *b, doors *d) {
    struct {
        uar_model model;
        void *more;
    } future = { .model = model_of(d), .more = d };
    future.model.destroy = NULL;
    future.model.struct_size = sizeof future;
    uar_builder_model(b, &future.model);
}

static void every_mistake_is_named_by_build(void **state) {
    (void)state;
    static const mistake mistakes[] = {
        { "needs a model", UAR_E_INVALID, no_model },
        { "needs a persistence layer", UAR_E_INVALID, no_layer },
        { "layer is NULL", UAR_E_INVALID, null_layer },
        { "needs get, list and commit", UAR_E_INVALID, half_layer },
        { "model is NULL", UAR_E_INVALID, null_model },
        { "model needs a name", UAR_E_INVALID, nameless_model },
        { "no start function", UAR_E_INVALID, model_without_start },
        { "two models named \"m\"", UAR_E_EXISTS, same_model_twice },
        { "tool is NULL", UAR_E_INVALID, null_tool },
        { "no spaces", UAR_E_INVALID, misnamed_tool },
        { "two tools named \"t\"", UAR_E_EXISTS, same_tool_twice },
        { "no invoke function", UAR_E_INVALID, tool_without_invoke },
        { "no input schema", UAR_E_INVALID, tool_without_schema },
        { "schema of tool \"t\"", UAR_E_JSON, tool_with_broken_schema },
        { "class or approval", UAR_E_INVALID, tool_of_unknown_class },
        { "sink is NULL", UAR_E_INVALID, null_sink },
        { "no on_event", UAR_E_INVALID, deaf_sink },
        { "uar_model", UAR_E_STRUCT, model_without_size },
        { "doesn't know", UAR_E_STRUCT, model_from_the_future },
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        doors d = { .models = 0 };
        platform p;
        uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .threads = 0 };
        uar_builder *b = builder_of(&d, &p, &o);
        mistakes[i].make(b, &d);
        uar_runtime *rt = NULL;
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(uar_builder_build(&rt, b, &err), mistakes[i].status);
        if (strstr(err.message, mistakes[i].what) == NULL) fail_msg("%s: %s", mistakes[i].what, err.message);
        assert_null(rt);
        assert_int_equal(d.clocks, 1);
    }
}

static void the_first_mistake_is_the_one_that_is_told(void **state) {
    (void)state;
    doors d = { .models = 0 };
    platform p;
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .threads = 0 };
    uar_builder *b = builder_of(&d, &p, &o);
    misnamed_tool(b, &d);
    same_model_twice(b, &d);
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_builder_build(&rt, b, &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "no spaces"));
    expect_destroyed(&d, 2, 1, 0, 0);
}

static void a_platform_door_that_lacks_a_function_is_named(void **state) {
    (void)state;
    doors d = { .models = 0 };
    uar_clock clock = { UAR_CLOCK_INIT, .ctx = &d, .destroy = gone_clocks, .wall_ms = wall };
    uar_executor executor = { UAR_EXECUTOR_INIT, .ctx = &d, .destroy = gone_executors };
    uar_allocator allocator = { UAR_ALLOCATOR_INIT, .ctx = &d };
    const uar_builder_options options[] = { { UAR_BUILDER_OPTIONS_INIT, .clock = &clock },
                                            { UAR_BUILDER_OPTIONS_INIT, .executor = &executor },
                                            { UAR_BUILDER_OPTIONS_INIT, .allocator = &allocator },
                                            { 3, .threads = 0 } };
    static const char *const named[] = { "clock", "executor", "allocator", "uar_builder_options" };
    for (size_t i = 0; i < 4; i++) {
        uar_runtime *rt = NULL;
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(uar_builder_build(&rt, uar_builder_new(&options[i]), &err),
                         i == 3 ? UAR_E_STRUCT : UAR_E_INVALID);
        if (strstr(err.message, named[i]) == NULL) fail_msg("%s: %s", named[i], err.message);
    }
    assert_int_equal(d.clocks, 1);
    assert_int_equal(d.executors, 1);
}

/* ---- options ---- */

static void a_shorter_struct_of_an_older_header_is_taken(void **state) {
    (void)state;
    doors d = { .models = 0 };
    platform p;
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .threads = 0 };
    uar_builder *b = builder_of(&d, &p, &o);
    uar_persistence layer = layer_of(&d);
    uar_builder_persistence(b, &layer);
    uar_model model = model_of(&d);
    model.struct_size = offsetof(uar_model, cancel);
    uar_builder_model(b, &model);
    uar_runtime *rt = NULL;
    assert_int_equal(uar_builder_build(&rt, b, NULL), UAR_OK);
    assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
    expect_destroyed(&d, 1, 0, 0, 1);
}

typedef struct hooks {
    atomic_int started, stopping;
} hooks;

static void thread_started(void *ctx) {
    atomic_fetch_add(&((hooks *)ctx)->started, 1);
}

static void thread_stopping(void *ctx) {
    atomic_fetch_add(&((hooks *)ctx)->stopping, 1);
}

static void the_pools_threads_say_when_they_begin_and_end(void **state) {
    (void)state;
    hooks seen;
    atomic_init(&seen.started, 0);
    atomic_init(&seen.stopping, 0);
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .threads = 3, .thread_ctx = &seen,
                              .thread_started = thread_started, .thread_stopping = thread_stopping };
    uar_builder *b = uar_builder_new(&o);
    uar_builder_persistence(b, uar_persistence_volatile());
    doors d = { .models = 0 };
    uar_model model = model_of(&d);
    uar_builder_model(b, &model);
    uar_runtime *rt = NULL;
    assert_int_equal(uar_builder_build(&rt, b, NULL), UAR_OK);
    assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
    assert_true(atomic_load(&seen.started) >= 3);
    assert_int_equal(atomic_load(&seen.started), atomic_load(&seen.stopping));
}

static void several_models_are_told_apart_by_name(void **state) {
    (void)state;
    doors d = { .models = 0 };
    uar_builder *b =
        uar_builder_new(&(uar_builder_options){ UAR_BUILDER_OPTIONS_INIT, .threading = UAR_THREADS_MANUAL });
    uar_builder_persistence(b, uar_persistence_volatile());
    uar_model model = model_of(&d);
    uar_builder_model(b, &model);
    uar_builder_model(b, uar_model_offline());
    uar_runtime *rt = NULL;
    assert_int_equal(uar_builder_build(&rt, b, NULL), UAR_OK);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "hi", .model = uar_model_offline()->name };
    uar_run_id id;
    uar_outcome out;
    assert_int_equal(uar_run_start(&id, rt, &q, NULL), UAR_OK);
    assert_int_equal(uar_run_wait(&out, rt, id, 5000), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    uar_reply *reply = NULL;
    assert_int_equal(uar_message_list_sync(&reply, rt, "local", "me", "default", 0, 10, NULL), UAR_OK);
    assert_true(part_text(&reply->messages[1], UAR_PART_TEXT).len > 0); /* the other one says nothing */
    uar_reply_free(reply);
    assert_string_equal(uar_runtime_memory_state(rt), "disabled");
    assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
    assert_int_equal(uar_runtime_close(NULL, UAR_CLOSE_PARK, 1000), UAR_OK);
}

static void a_memory_that_is_unavailable_is_told_apart_and_the_run_goes_on(void **state) {
    (void)state;
    uar_memory *memory = uar_memory_open("/nowhere/at/all/memory.db", NULL);
    host *h = fixture_open(&(host_options){ .script = HELLO, .memory = memory });
    uar_memory_free(memory); /* the runtime has its own reference */
    assert_string_equal(uar_runtime_memory_state(host_runtime(h)), "unavailable");
    uar_outcome out;
    assert_int_equal(host_say(h, "I live in Oslo.", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    assert_true(host_count(h, "Error") >= 1);
    expect_heard(h, "UAR_E_UNAVAILABLE");
    assert_int_equal(count_terminals(h), 1);
    fixture_close(h);
}

/* ---- memory runs out ---- */

static void building_without_memory_fails_typed_and_destroys_all(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    for (unsigned long at = 1;; at++) {
        for (int for_good = 0; for_good < 2; for_good++) {
            doors d = { .models = 0 };
            platform p;
            uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .allocator = &probe.door,
                                      .threading = UAR_THREADS_MANUAL, .instructions = "Be kind." };
            int64_t live = uar_live_objects();
            probe_alloc_arm(&probe, at, for_good == 1);
            uar_builder *b = builder_of(&d, &p, &o);
            uar_model model = model_of(&d);
            uar_tool tool = tool_of(&d);
            uar_event_sink sink = sink_of(&d);
            uar_persistence layer = layer_of(&d);
            uar_builder_persistence(b, &layer);
            uar_builder_model(b, &model);
            uar_builder_tool(b, &tool);
            uar_builder_event_sink(b, &sink);
            uar_runtime *rt = NULL;
            uar_error err = UAR_ERROR_INIT;
            uar_status status = uar_builder_build(&rt, b, &err);
            bool failed = probe_alloc_has_failed(&probe);
            probe_alloc_arm(&probe, 0, false);
            assert_int_equal(status, failed ? UAR_E_NOMEM : UAR_OK);
            if (failed) assert_int_equal(err.code, UAR_E_NOMEM);
            if (!failed) assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
            assert_int_equal(d.models, 1);
            assert_int_equal(d.tools, 1);
            assert_int_equal(d.sinks, 1);
            assert_int_equal(d.layers, 1);
            assert_int_equal(probe.alive, 0);
            assert_int_equal(uar_live_objects(), live);
            if (!failed) return;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_N2_closing_destroys_each_door_once),
        fixture_test(test_N2_a_layer_that_does_not_open_fails_the_build_and_destroys_all),
        fixture_test(test_N2_a_second_layer_is_refused_and_both_are_destroyed),
        fixture_test(test_N2_a_build_without_a_place_for_the_runtime_destroys_all),
        fixture_test(every_mistake_is_named_by_build),
        fixture_test(the_first_mistake_is_the_one_that_is_told),
        fixture_test(a_platform_door_that_lacks_a_function_is_named),
        fixture_test(a_shorter_struct_of_an_older_header_is_taken),
        fixture_test(the_pools_threads_say_when_they_begin_and_end),
        fixture_test(several_models_are_told_apart_by_name),
        fixture_test(a_memory_that_is_unavailable_is_told_apart_and_the_run_goes_on),
        fixture_test(building_without_memory_fails_typed_and_destroys_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
