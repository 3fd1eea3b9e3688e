/*
 * The allocation sweep over runs, subscriptions, snapshots and records. Each case: a fresh runtime, one allocation fails
 * (once, or it and all later ones), then: the right status, outputs untouched, one terminal event a run, a store that reads
 * whole in this runtime and in the next one, the same call works, nothing is left over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/checks.h"

/* ---- what must hold after each case ---- */

static void inspect_runs(void *arg, uar_status status) {
    (void)status;
    world *w = arg;
    end_runs(w);
    check_events(w);
    check_store(w);
}

/* The next process finds a good store. */
static void close_and_reopen(void *arg) {
    world *w = arg;
    FAULT_EXPECT(world_close_runtime(w, UAR_CLOSE_CANCEL, 2000) == UAR_OK, "close had to abandon something");
    w->run_count = 0;
    world_must_build(w);
    check_store(w);
    uar_status status = world_say(w, "plain");
    FAULT_EXPECT(status == UAR_OK, "a run over the store that is left: %s", uar_status_name(status));
    FAULT_EXPECT(world_close_runtime(w, UAR_CLOSE_PARK, 2000) == UAR_OK, "the second close had to abandon something");
    world_free(w);
}

static void *open_world(fault_port *port) {
    world *w = world_new(port);
    world_must_build(w);
    return w;
}

/* ---- runs ---- */

static uar_status act_plain(void *arg) {
    return world_say(arg, "plain");
}

static uar_status act_retry(void *arg) {
    return world_say(arg, "retry");
}

static uar_status act_codec(void *arg) {
    return world_say(arg, "codec");
}

/* ---- cancel in mid-stream ---- */

static uar_run_id start_held(world *w) {
    uar_run_id id;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .session = "s", .input = "hold" };
    if (uar_run_start(&id, w->rt, &q, NULL) != UAR_OK) abort();
    remember_run(w, id);
    FAULT_EXPECT(world_drive(w, holds_stream, NULL, 60000), "the model was never asked");
    (void)uar_runtime_pump(w->rt, 0);
    return id;
}

static void *open_held(fault_port *port) {
    world *w = open_world(port);
    (void)start_held(w);
    return w;
}

static uar_status act_cancel(void *arg) {
    world *w = arg;
    uar_run_id id = newest_run(w);
    uar_outcome out;
    uar_status status = uar_run_cancel(w->rt, id, UAR_CANCEL_NOW, "enough", NULL);
    if (status != UAR_OK) return status;
    if (!world_drive(w, run_has_ended, &id, 60000)) return UAR_E_TIMEOUT;
    OUTPUT_PREPARE(out);
    status = uar_run_poll(&out, w->rt, id);
    OUTPUT_CHECK(status, out, "uar_run_poll");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(out.state == UAR_RUN_CANCELLED || out.status == UAR_E_NOMEM, "the cancelled run ended with %s",
                 uar_status_name(out.status));
    return out.status == UAR_E_CANCELLED ? UAR_OK : out.status;
}

static uar_status cancel_again(void *arg, uar_status was) {
    (void)was;
    (void)start_held(arg);
    return act_cancel(arg);
}

/* ---- approvals with edited arguments ---- */

static void start_asking(world *w) {
    uar_run_id id;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .session = "s", .input = "ask" };
    w->approves = false;
    w->has_asked = false;
    if (uar_run_start(&id, w->rt, &q, NULL) != UAR_OK) abort();
    remember_run(w, id);
    FAULT_EXPECT(world_drive(w, has_asked, NULL, 60000), "nobody asked");
}

static void *open_asking(fault_port *port) {
    world *w = open_world(port);
    start_asking(w);
    return w;
}

static uar_status act_approve(void *arg) {
    world *w = arg;
    uar_outcome out;
    uar_run_id id = newest_run(w);
    uar_status status = uar_run_approve(w->rt, id, "c1", "{\"n\":41}", NULL);
    if (status != UAR_OK) return status;
    status = uar_run_deny(w->rt, id, "c2", "not this one", NULL);
    if (status == UAR_E_STALE) return UAR_E_NOMEM; /* the first decision broke the run */
    if (status != UAR_OK) return status;
    if (!world_drive(w, run_has_ended, &id, 60000)) return UAR_E_TIMEOUT;
    status = uar_run_poll(&out, w->rt, id);
    return status != UAR_OK ? status : out.status;
}

static uar_status approve_again(void *arg, uar_status was) {
    (void)was;
    start_asking(arg);
    return act_approve(arg);
}

/* ---- subscriptions ---- */

static void *open_gappy(fault_port *port) {
    world *w = world_new(port);
    w->ring_events = 4;
    world_must_build(w);
    FAULT_EXPECT(world_say(w, "long") == UAR_OK, "the run to listen to failed");
    uar_run_id id = newest_run(w);
    FAULT_EXPECT(world_drive(w, run_has_closed, &id, 60000), "the run never closed");
    w->heard.count = 0; /* evicted events are another subscriber's gap */
    w->run_count = 0;
    w->asking = id;
    return w;
}

static uar_status read_all(world *w, uar_subscription *sub) {
    uar_next item;
    uar_status status = UAR_OK;
    w->heard.count = 0;
    for (int i = 0; i < 1000; i++) {
        OUTPUT_PREPARE(item);
        status = uar_subscription_next(&item, sub, 0);
        OUTPUT_CHECK(status, item, "uar_subscription_next");
        if (status != UAR_OK) return status;
        if (item.kind == UAR_NEXT_EVENT) {
            witness_event(&w->heard, item.event);
            uar_event_unref(item.event);
        } else if (item.kind == UAR_NEXT_GAP) {
            witness_gap(&w->heard, &item.gap);
        } else {
            witness_closed(&w->heard, item.gap.run);
            return UAR_OK;
        }
    }
    return UAR_E_TIMEOUT;
}

static uar_status act_subscribe(void *arg) {
    world *w = arg;
    uar_subscription *sub;
    char text[160];
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = w->asking, .has_after = true };
    OUTPUT_PREPARE(sub);
    uar_status status = uar_subscribe(&sub, w->rt, &o, NULL);
    OUTPUT_CHECK(status, sub, "uar_subscribe");
    if (status != UAR_OK) return status;
    status = read_all(w, sub);
    uar_subscription_free(sub);
    if (status != UAR_OK) return status;
    const char *fault = witness_fault(w->heard.items, w->heard.count, w->asking, VERDICT_ENDED, text);
    FAULT_EXPECT(fault == NULL, "the subscriber heard wrongly: %s", fault);
    FAULT_EXPECT(w->heard.count > 0 && w->heard.items[0].what == UAR_NEXT_GAP, "no gap was told");
    w->heard.count = 0;
    return UAR_OK;
}

static void inspect_nothing_runs(void *arg, uar_status status) {
    (void)status;
    check_store(arg);
}

/* ---- snapshots ---- */

static uar_status act_snapshot(void *arg) {
    world *w = arg;
    uar_run_snapshot *shot;
    OUTPUT_PREPARE(shot);
    uar_status status = uar_run_snapshot_take(&shot, w->rt, "local", newest_run(w), NULL);
    OUTPUT_CHECK(status, shot, "uar_run_snapshot_take");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(shot->incomplete || shot->pending_count == 2, "a whole snapshot has %zu pending calls",
                 shot->pending_count);
    bool whole = !shot->incomplete;
    uar_run_snapshot_free(shot);
    return whole ? UAR_OK : UAR_E_NOMEM; /* it says so itself */
}

/* The run is still waiting when it is asked again: it ends at the close. */
static void inspect_asking(void *arg, uar_status status) {
    (void)status;
    check_store(arg);
}

/* ---- records, both forms ---- */

#define RECORD_CALLS(X) \
    X(session_load)     \
    X(session_list)     \
    X(message_list)     \
    X(run_load)         \
    X(run_list)         \
    X(checkpoint_load)  \
    X(agent_put)        \
    X(agent_load) X(agent_list) X(setting_put) X(setting_get) X(setting_list) X(counter_add) X(counter_load)

typedef enum record_call {
#define CALL_ENUM(name) CALL_##name,
    RECORD_CALLS(CALL_ENUM)
#undef CALL_ENUM
        CALL_COUNT
} record_call;

static record_call swept;

static uar_agent an_agent(void) {
    uar_agent agent = { .id = uar_str_of("helper"),
                        .name = uar_str_of("Helper"),
                        .instructions = uar_str_of("Be kind."),
                        .model = uar_str_of("m"),
                        .revision = UINT64_MAX };
    return agent;
}

static uar_status call_sync(world *w, record_call call, uar_reply **out) {
    uar_runtime *rt = w->rt;
    uar_str none = uar_str_of(NULL);
    uar_agent agent = an_agent();
    switch (call) {
    case CALL_session_load: return uar_session_load_sync(out, rt, "local", "me", "s", NULL);
    case CALL_session_list: return uar_session_list_sync(out, rt, "local", "me", none, 10, NULL);
    case CALL_message_list: return uar_message_list_sync(out, rt, "local", "me", "s", 0, 10, NULL);
    case CALL_run_load: return uar_run_load_sync(out, rt, "local", "me", w->asking, NULL);
    case CALL_run_list: return uar_run_list_sync(out, rt, "local", "me", none, 10, NULL);
    case CALL_checkpoint_load: return uar_checkpoint_load_sync(out, rt, "local", "me", w->asking, NULL);
    case CALL_agent_put: return uar_agent_put_sync(out, rt, "local", &agent, NULL);
    case CALL_agent_load: return uar_agent_load_sync(out, rt, "local", "helper", NULL);
    case CALL_agent_list: return uar_agent_list_sync(out, rt, "local", none, 10, NULL);
    case CALL_setting_put: return uar_setting_put_sync(out, rt, "local", "a.b", uar_str_of("{\"x\":[1,2]}"), NULL);
    case CALL_setting_get: return uar_setting_get_sync(out, rt, "local", "a.b", NULL);
    case CALL_setting_list: return uar_setting_list_sync(out, rt, "local", none, 10, NULL);
    case CALL_counter_add: return uar_counter_add_sync(out, rt, "local", "n", 2, NULL);
    case CALL_counter_load: return uar_counter_load_sync(out, rt, "local", "n", NULL);
    case CALL_COUNT: break;
    }
    return UAR_E_INVALID;
}

static uar_status call_async(world *w, record_call call, uar_reply_fn done, void *ctx) {
    uar_runtime *rt = w->rt;
    uar_str none = uar_str_of(NULL);
    uar_agent agent = an_agent();
    switch (call) {
    case CALL_session_load: return uar_session_load(rt, "local", "me", "s", done, ctx, NULL);
    case CALL_session_list: return uar_session_list(rt, "local", "me", none, 10, done, ctx, NULL);
    case CALL_message_list: return uar_message_list(rt, "local", "me", "s", 0, 10, done, ctx, NULL);
    case CALL_run_load: return uar_run_load(rt, "local", "me", w->asking, done, ctx, NULL);
    case CALL_run_list: return uar_run_list(rt, "local", "me", none, 10, done, ctx, NULL);
    case CALL_checkpoint_load: return uar_checkpoint_load(rt, "local", "me", w->asking, done, ctx, NULL);
    case CALL_agent_put: return uar_agent_put(rt, "local", &agent, done, ctx, NULL);
    case CALL_agent_load: return uar_agent_load(rt, "local", "helper", done, ctx, NULL);
    case CALL_agent_list: return uar_agent_list(rt, "local", none, 10, done, ctx, NULL);
    case CALL_setting_put: return uar_setting_put(rt, "local", "a.b", uar_str_of("{\"x\":[1,2]}"), done, ctx, NULL);
    case CALL_setting_get: return uar_setting_get(rt, "local", "a.b", done, ctx, NULL);
    case CALL_setting_list: return uar_setting_list(rt, "local", none, 10, done, ctx, NULL);
    case CALL_counter_add: return uar_counter_add(rt, "local", "n", 2, done, ctx, NULL);
    case CALL_counter_load: return uar_counter_load(rt, "local", "n", done, ctx, NULL);
    case CALL_COUNT: break;
    }
    return UAR_E_INVALID;
}

static void check_reply(const uar_reply *reply) {
    bool has_items = reply->sessions != NULL || reply->messages != NULL || reply->runs != NULL ||
                     reply->agents != NULL || reply->settings != NULL;
    if (swept == CALL_counter_add) return;
    if (swept == CALL_counter_load)
        FAULT_EXPECT(reply->number > 0 && reply->number % 2 == 0, "the counter stands at %llu",
                     (unsigned long long)reply->number);
    else if (swept == CALL_checkpoint_load)
        FAULT_EXPECT(reply->document.len > 0, "an empty checkpoint");
    else
        FAULT_EXPECT(has_items && reply->count > 0, "an empty answer for a fault");
}

static void *open_stored(fault_port *port) {
    world *w = open_world(port);
    uar_reply *reply = NULL;
    FAULT_EXPECT(world_say(w, "tool") == UAR_OK, "the run to store failed");
    w->asking = newest_run(w);
    FAULT_EXPECT(world_drive(w, run_has_closed, &w->asking, 60000), "the run never closed");
    static const record_call puts[] = { CALL_agent_put, CALL_setting_put, CALL_counter_add };
    for (size_t i = 0; i < 3; i++) {
        FAULT_EXPECT(call_sync(w, puts[i], &reply) == UAR_OK, "nothing to load");
        uar_reply_free(reply);
    }
    return w;
}

static uar_status act_sync(void *arg) {
    world *w = arg;
    uar_reply *reply;
    OUTPUT_PREPARE(reply);
    uar_status status = call_sync(w, swept, &reply);
    OUTPUT_CHECK(status, reply, "the _sync call");
    if (status != UAR_OK) return status;
    check_reply(reply);
    uar_reply_free(reply);
    return UAR_OK;
}

typedef struct answer_box {
    unsigned count;
    uar_status status;
} answer_box;

static void take_reply(void *ctx, uar_reply *reply) {
    answer_box *box = ctx;
    box->count++;
    box->status = reply->status;
    if (reply->status == UAR_OK) check_reply(reply);
    uar_reply_free(reply);
}

static uar_status act_async(void *arg) {
    world *w = arg;
    answer_box box = { 0, UAR_OK };
    uar_status status = call_async(w, swept, take_reply, &box);
    if (status == UAR_OK) {
        (void)world_drive(w, is_never, NULL, 10000);
        status = box.status;
        FAULT_EXPECT(box.count == 1, "%u answers", box.count);
    } else {
        (void)world_drive(w, is_never, NULL, 10000);
        FAULT_EXPECT(box.count == 0, "an answer after a refusal");
    }
    return status;
}

#define RECORD_SCENARIO(name)                                                                             \
    { "record_" #name "_sync", open_stored, act_sync, inspect_nothing_runs, NULL, close_and_reopen, 40 }, \
        { "record_" #name, open_stored, act_async, inspect_nothing_runs, NULL, close_and_reopen, 40 },

static sweep_scenario record_scenarios[] = { RECORD_CALLS(RECORD_SCENARIO) };

static void test_records(void **state) {
    size_t i = (size_t)((sweep_scenario *)*state - record_scenarios);
    swept = (record_call)(i / 2);
    test_sweep(state);
}

/* ---- controls: the sweep must find what is wrong ---- */

typedef struct control {
    fault_port *port;
    void *lost; /* by its sin; freed behind the port's back */
    bool broken;
    int sin;
} control;

enum { SINS_NOT, SINS_LEAK, SINS_TOUCH, SINS_STATUS, SINS_BREAKS };
static int sin_of_next;

static void *open_control(fault_port *port) {
    control *c = calloc(1, sizeof *c);
    if (c == NULL) abort();
    c->port = port;
    c->sin = sin_of_next;
    return c;
}

/* Needs two allocations; each sin is one of the ways in which code forgets the second failing. */
static uar_status act_control(void *arg) {
    control *c = arg;
    uar_run_id out;
    if (c->broken) return UAR_E_INTERNAL;
    OUTPUT_PREPARE(out);
    void *first = port_alloc(c->port, 16);
    if (first == NULL) return UAR_E_NOMEM;
    if (c->sin == SINS_TOUCH) memset(&out, 0, sizeof out);
    void *second = port_alloc(c->port, 16);
    uar_status status = second != NULL ? UAR_OK : UAR_E_NOMEM;
    if (second == NULL && c->sin == SINS_STATUS) status = UAR_E_INVALID;
    if (second == NULL && c->sin == SINS_BREAKS) c->broken = true;
    OUTPUT_CHECK(status, out, "the control");
    if (second != NULL) port_release(c->port, second);
    if (second != NULL || c->sin != SINS_LEAK)
        port_release(c->port, first);
    else
        c->lost = first;
    return status;
}

static void close_control(void *arg) {
    free(((control *)arg)->lost);
    free(arg);
}

static const sweep_scenario control_scenario = { "control", open_control, act_control, NULL, NULL, close_control, 0 };

/* The findings of a control, which are not printed. */
static findings judge_control(int sin) {
    findings sheet;
    sin_of_next = sin;
    fault_is_control = true;
    sweep_tally tally = sweep(&control_scenario, &sheet);
    fault_is_control = false;
    assert_true(tally.faults == 4);
    assert_true(tally.total == 2);
    return sheet;
}

static void control_right_code_gives_no_finding(void **state) {
    (void)state;
    assert_int_equal(judge_control(SINS_NOT).count, 0);
}

static void control_a_leak_is_caught(void **state) {
    (void)state;
    findings sheet = judge_control(SINS_LEAK);
    assert_true(sheet.count > 0);
    assert_non_null(strstr(sheet.text, "control:2:once: leaks 1 blocks"));
}

static void control_a_touched_output_is_caught(void **state) {
    (void)state;
    findings sheet = judge_control(SINS_TOUCH);
    assert_non_null(strstr(sheet.text, "control:2:good: the control failed with UAR_E_NOMEM and touched its output"));
}

static void control_a_wrong_status_is_caught(void **state) {
    (void)state;
    findings sheet = judge_control(SINS_STATUS);
    assert_non_null(strstr(sheet.text, "control:2:once: wrong status UAR_E_INVALID"));
}

static void control_a_broken_state_is_caught(void **state) {
    (void)state;
    findings sheet = judge_control(SINS_BREAKS);
    assert_non_null(strstr(sheet.text, "control:2:once: the same call then fails with UAR_E_INTERNAL"));
}

/* ---- the list ---- */

static sweep_scenario run_scenarios[] = {
    { "plain", open_world, act_plain, inspect_runs, NULL, close_and_reopen, 0 },
    { "retry", open_world, act_retry, inspect_runs, NULL, close_and_reopen, 0 },
    { "codec", open_world, act_codec, inspect_runs, NULL, close_and_reopen, 0 },
    { "cancel", open_held, act_cancel, inspect_runs, cancel_again, close_and_reopen, 0 },
    { "approve", open_asking, act_approve, inspect_runs, approve_again, close_and_reopen, 0 },
    { "subscribe", open_gappy, act_subscribe, inspect_nothing_runs, NULL, close_and_reopen, 0 },
    { "snapshot", open_asking, act_snapshot, inspect_asking, NULL, close_and_reopen, 0 },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(void) {
    static const struct CMUnitTest controls[] = {
        cmocka_unit_test(control_right_code_gives_no_finding), cmocka_unit_test(control_a_leak_is_caught),
        cmocka_unit_test(control_a_touched_output_is_caught),  cmocka_unit_test(control_a_wrong_status_is_caught),
        cmocka_unit_test(control_a_broken_state_is_caught),
    };
    struct CMUnitTest tests[COUNT(controls) + COUNT(run_scenarios) + COUNT(record_scenarios)];
    size_t n = 0;
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < COUNT(controls); i++)
        tests[n++] = controls[i];
    for (size_t i = 0; i < COUNT(run_scenarios); i++, n++) {
        tests[n].name = run_scenarios[i].name;
        tests[n].test_func = test_sweep;
        tests[n].initial_state = &run_scenarios[i];
    }
    for (size_t i = 0; i < COUNT(record_scenarios); i++, n++) {
        tests[n].name = record_scenarios[i].name;
        tests[n].test_func = test_records;
        tests[n].initial_state = &record_scenarios[i];
    }
    return _cmocka_run_group_tests("every allocation may fail", tests, n, NULL, NULL);
}
