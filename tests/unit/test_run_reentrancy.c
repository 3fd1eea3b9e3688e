/*
 * N1: every public function called from inside every callback works or is refused with a typed status; nothing deadlocks.
 *
 * Rules of the design: where only the own call may be finished (persistence), everything else is UAR_E_REENTRANT; everywhere
 * calls that wait are UAR_E_WOULD_DEADLOCK, and calls that don't wait do their work.
 */
#include "unit/test_run_fixture.h"

#include <stdatomic.h>

typedef enum place { IN_EVENT, IN_TOOL, IN_TOOL_CANCEL, IN_MODEL, IN_GET, IN_REPLY, PLACES } place;

static const char *const PLACE_NAMES[] = { "on_event",    "tool invoke", "tool cancel",
                                           "model start", "persistence", "reply" };

typedef struct prober {
    host *h;
    place place;
    uar_run_id run;           /* a run that is open */
    uar_run_id ended;         /* one that has ended */
    uar_subscription *pulled; /* made outside */
    atomic_int probes;        /* times that the callback was entered and tried everything */
    atomic_int replies, begun;
    atomic_bool armed;
    bool failed;
    char fault[200];
} prober;

/* What a call answered, against what its kind may answer here. */
static void judge(prober *p, const char *call, uar_status got, uar_status expected) {
    if (got == expected || p->failed) return;
    p->failed = true;
    snprintf(p->fault, sizeof p->fault, "%s in %s: %s instead of %s", call, PLACE_NAMES[p->place], uar_status_name(got),
             uar_status_name(expected));
}

/* A call that doesn't wait: it answers `works`, but where only the own call may be finished. */
#define CALL_WORKS(call, works) judge(p, #call, call, p->place == IN_GET ? UAR_E_REENTRANT : (works))
#define CALL_WAITS(call) judge(p, #call, call, UAR_E_WOULD_DEADLOCK)

static void count_reply(void *ctx, uar_reply *reply) {
    prober *p = ctx;
    uar_reply_free(reply);
    atomic_fetch_add(&p->replies, 1);
}

static void hear(void *ctx, const uar_event *event) {
    (void)ctx, (void)event;
}

/* A reply that must come, if the call was taken. */
#define PLAIN_WORKS(call)                                                        \
    do {                                                                         \
        uar_status status_ = (call);                                             \
        if (status_ == UAR_OK) atomic_fetch_add(&p->begun, 1);                   \
        judge(p, #call, status_, p->place == IN_GET ? UAR_E_REENTRANT : UAR_OK); \
    } while (0)

static void try_runs(prober *p, uar_runtime *rt) {
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "inner", .session = "inner" };
    uar_run_id id = { { 0 } }, nobody = { { 9 } };
    uar_outcome out;
    CALL_WORKS(uar_run_start(&id, rt, &q, NULL), UAR_OK);
    CALL_WAITS(uar_run_wait(&out, rt, p->run, 10));
    CALL_WAITS(uar_run_wait(&out, rt, p->ended, 0));
    CALL_WORKS(uar_run_poll(&out, rt, p->ended), UAR_OK);
    CALL_WORKS(uar_run_poll(&out, rt, nobody), UAR_E_NOT_FOUND);
    CALL_WORKS(uar_run_cancel(rt, nobody, UAR_CANCEL_NOW, NULL, NULL), UAR_E_NOT_FOUND);
    CALL_WORKS(uar_run_cancel(rt, p->ended, UAR_CANCEL_NOW, NULL, NULL), UAR_E_STALE);
    if (p->place != IN_GET) judge(p, "cancel of a new run", uar_run_cancel(rt, id, UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
    CALL_WORKS(uar_run_approve(rt, p->ended, "c1", NULL, NULL), UAR_E_STALE);
    CALL_WORKS(uar_run_deny(rt, nobody, "c1", NULL, NULL), UAR_E_NOT_FOUND);
}

static void try_events(prober *p, uar_runtime *rt) {
    uar_run_snapshot *snapshot = NULL;
    CALL_WORKS(uar_run_snapshot_take(&snapshot, rt, "local", p->ended, NULL), UAR_OK);
    uar_run_snapshot_free(snapshot);
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = p->ended, .has_after = true };
    uar_subscription *sub = NULL;
    uar_next next;
    CALL_WORKS(uar_subscribe(&sub, rt, &o, NULL), UAR_OK);
    if (sub != NULL) {
        judge(p, "next without waiting", uar_subscription_next(&next, sub, 0), UAR_OK);
        uar_event_unref(next.event);
        CALL_WAITS(uar_subscription_next(&next, sub, 10));
        uar_subscription_free(sub);
    }
    CALL_WAITS(uar_subscription_next(&next, p->pulled, 10));
    sub = NULL;
    o.on_event = hear;
    CALL_WORKS(uar_subscribe(&sub, rt, &o, NULL), UAR_OK);
    uar_subscription_free(sub); /* from inside: its lane ends by itself */
}

static void try_plain_records(prober *p, uar_runtime *rt) {
    uar_str start = uar_str_of(NULL);
    uar_agent agent = { .id = uar_str_of("a"), .revision = UINT64_MAX };
    PLAIN_WORKS(uar_session_load(rt, "local", "me", "default", count_reply, p, NULL));
    PLAIN_WORKS(uar_session_list(rt, "local", "me", start, 10, count_reply, p, NULL));
    PLAIN_WORKS(uar_message_list(rt, "local", "me", "default", 0, 10, count_reply, p, NULL));
    PLAIN_WORKS(uar_run_load(rt, "local", "me", p->ended, count_reply, p, NULL));
    PLAIN_WORKS(uar_run_list(rt, "local", "me", start, 10, count_reply, p, NULL));
    PLAIN_WORKS(uar_checkpoint_load(rt, "local", "me", p->ended, count_reply, p, NULL));
    PLAIN_WORKS(uar_agent_load(rt, "local", "a", count_reply, p, NULL));
    PLAIN_WORKS(uar_agent_list(rt, "local", start, 10, count_reply, p, NULL));
    PLAIN_WORKS(uar_agent_put(rt, "local", &agent, count_reply, p, NULL));
    PLAIN_WORKS(uar_setting_get(rt, "local", "k", count_reply, p, NULL));
    PLAIN_WORKS(uar_setting_list(rt, "local", start, 10, count_reply, p, NULL));
    PLAIN_WORKS(uar_setting_put(rt, "local", "k", uar_str_of("1"), count_reply, p, NULL));
    PLAIN_WORKS(uar_counter_add(rt, "local", "n", 1, count_reply, p, NULL));
    PLAIN_WORKS(uar_counter_load(rt, "local", "n", count_reply, p, NULL));
    PLAIN_WORKS(uar_backup_to(rt, "/tmp/no/such/folder/copy", NULL, count_reply, p, NULL));
    PLAIN_WORKS(uar_store_maintain(rt, NULL, NULL, count_reply, p, NULL));
    PLAIN_WORKS(uar_store_verify(rt, NULL, NULL, NULL, count_reply, p, NULL));
}

static void try_waiting_records(prober *p, uar_runtime *rt) {
    uar_str start = uar_str_of(NULL);
    uar_agent agent = { .id = uar_str_of("a"), .revision = UINT64_MAX };
    uar_reply *reply = NULL;
    CALL_WAITS(uar_session_load_sync(&reply, rt, "local", "me", "default", NULL));
    CALL_WAITS(uar_session_list_sync(&reply, rt, "local", "me", start, 10, NULL));
    CALL_WAITS(uar_message_list_sync(&reply, rt, "local", "me", "default", 0, 10, NULL));
    CALL_WAITS(uar_run_load_sync(&reply, rt, "local", "me", p->ended, NULL));
    CALL_WAITS(uar_run_list_sync(&reply, rt, "local", "me", start, 10, NULL));
    CALL_WAITS(uar_checkpoint_load_sync(&reply, rt, "local", "me", p->ended, NULL));
    CALL_WAITS(uar_agent_load_sync(&reply, rt, "local", "a", NULL));
    CALL_WAITS(uar_agent_list_sync(&reply, rt, "local", start, 10, NULL));
    CALL_WAITS(uar_agent_put_sync(&reply, rt, "local", &agent, NULL));
    CALL_WAITS(uar_setting_get_sync(&reply, rt, "local", "k", NULL));
    CALL_WAITS(uar_setting_list_sync(&reply, rt, "local", start, 10, NULL));
    CALL_WAITS(uar_setting_put_sync(&reply, rt, "local", "k", uar_str_of("1"), NULL));
    CALL_WAITS(uar_counter_add_sync(&reply, rt, "local", "n", 1, NULL));
    CALL_WAITS(uar_counter_load_sync(&reply, rt, "local", "n", NULL));
    uar_store_care care = { .size = UAR_STORE_CARE_INIT };
    uar_store_check check = { .size = UAR_STORE_CHECK_INIT };
    CALL_WAITS(uar_runtime_suspend(rt, 10, NULL));
    CALL_WAITS(uar_runtime_resume(rt, NULL));
    CALL_WAITS(uar_backup_to_sync(rt, "/tmp/no/such/folder/copy", NULL, NULL));
    CALL_WAITS(uar_store_maintain_sync(&care, rt, NULL, NULL, NULL));
    CALL_WAITS(uar_store_verify_sync(&check, rt, NULL, NULL, NULL, NULL));
    if (reply != NULL) judge(p, "a reply", UAR_OK, UAR_E_INTERNAL);
}

static void model_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx, (void)request;
    (void)uar_stream_finish(stream, UAR_FINISH_STOP);
}

/* Another runtime is another world: it can be built, used and closed even here. */
static void try_another_runtime(prober *p) {
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .threading = UAR_THREADS_MANUAL };
    uar_builder *b = uar_builder_new(&o);
    uar_builder_persistence(b, uar_persistence_volatile());
    uar_model model = { UAR_MODEL_INIT, .name = "m", .start = model_start };
    uar_builder_model(b, &model);
    uar_runtime *rt = NULL;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "x" };
    uar_run_id id;
    uar_outcome out;
    judge(p, "build", uar_builder_build(&rt, b, NULL), UAR_OK);
    judge(p, "start there", uar_run_start(&id, rt, &q, NULL), UAR_OK);
    judge(p, "wait there", uar_run_wait(&out, rt, id, 5000), UAR_OK);
    judge(p, "close there", uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
}

static void try_all(prober *p) {
    if (!atomic_exchange(&p->armed, false)) return;
    uar_runtime *rt = host_runtime(p->h);
    try_runs(p, rt);
    try_events(p, rt);
    try_plain_records(p, rt);
    try_waiting_records(p, rt);
    CALL_WAITS(uar_runtime_close(rt, UAR_CLOSE_CANCEL, 0));
    judge(p, "pump", uar_runtime_pump(rt, 0) == UINT32_MAX ? UAR_OK : UAR_E_INTERNAL, UAR_OK);
    judge(p, "instance", uar_uuid_is_none(uar_runtime_instance(rt)) ? UAR_E_INTERNAL : UAR_OK, UAR_OK);
    judge(p, "memory state", strcmp(uar_runtime_memory_state(rt), "disabled") == 0 ? UAR_OK : UAR_E_INTERNAL, UAR_OK);
    if (p->place != IN_GET) try_another_runtime(p);
    atomic_fetch_add(&p->probes, 1);
}

static void from_event(void *ctx, host *h, const uar_event *event) {
    (void)h;
    prober *p = ctx;
    if (p->place == IN_EVENT && event->kind == UAR_EVENT_CHAT_DELTA) try_all(p);
}

static void from_start(void *ctx, host *h, uar_stream *stream) {
    (void)h, (void)stream;
    prober *p = ctx;
    if (p->place == IN_MODEL) try_all(p);
}

static void from_invoke(void *ctx, host *h, const uar_tool_call *call) {
    (void)h, (void)call;
    prober *p = ctx;
    if (p->place == IN_TOOL) try_all(p);
}

static void from_cancel(void *ctx, host *h, const uar_tool_call *call) {
    (void)h, (void)call;
    prober *p = ctx;
    if (p->place == IN_TOOL_CANCEL) try_all(p);
}

static void from_layer(void *ctx) {
    prober *p = ctx;
    if (p->place == IN_GET) try_all(p);
}

static void from_reply(void *ctx, uar_reply *reply) {
    prober *p = ctx;
    if (p->place == IN_REPLY) try_all(p);
    uar_reply_free(reply);
}

static void probe(place where, uar_threading threading) {
    static const host_tool tools[] = { { .name = "stop", .way = HOST_STOPS, .result = "1" }, { .name = NULL } };
    static const char script[] = HELLO LINE(TEXT("x") "," CALL(0, "c1", "stop", "{}") "," CALLS);
    prober p = { .place = where };
    atomic_init(&p.probes, 0);
    atomic_init(&p.replies, 0);
    atomic_init(&p.begun, 0);
    atomic_init(&p.armed, false);
    host_layer *l = host_layer_new(NULL);
    host_layer_inside(l, from_layer, &p);
    host *h = fixture_open(&(host_options){ .script = script,
                                            .tools = tools,
                                            .threading = threading,
                                            .layer = host_layer_door(l),
                                            .hooks = { .ctx = &p,
                                                       .on_event = from_event,
                                                       .on_start = from_start,
                                                       .on_invoke = from_invoke,
                                                       .on_cancel = from_cancel } });
    p.h = h;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    assert_int_equal(host_run(h, &q, &p.ended, NULL), UAR_OK);
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local" };
    assert_int_equal(uar_subscribe(&p.pulled, host_runtime(h), &o, NULL), UAR_OK);
    p.run = p.ended;
    atomic_store(&p.armed, true);
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_int_equal(uar_session_load(host_runtime(h), "local", "me", "default", from_reply, &p, NULL), UAR_OK);
    assert_true(host_sees_invoked(h, "stop", 1));
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
    assert_int_equal(host_await(h, id, NULL), UAR_OK);
    for (int i = 0; i < 1000 && (atomic_load(&p.probes) == 0 || atomic_load(&p.replies) < atomic_load(&p.begun)); i++)
        host_rest(h, 5);
    assert_int_equal(atomic_load(&p.probes), 1);
    assert_int_equal(atomic_load(&p.replies), atomic_load(&p.begun));
    assert_int_equal(atomic_load(&p.begun), where == IN_GET ? 0 : 17);
    if (p.failed) fail_msg("%s", p.fault);
    uar_subscription_free(p.pulled);
    fixture_close(h);
    host_layer_free(l);
}

static void test_N1_every_call_from_every_callback_works_or_is_refused_with_a_pool(void **state) {
    (void)state;
    for (place where = IN_EVENT; where < PLACES; where++)
        probe(where, UAR_THREADS_POOL);
}

static void test_N1_every_call_from_every_callback_works_or_is_refused_when_pumped(void **state) {
    (void)state;
    for (place where = IN_EVENT; where < PLACES; where++)
        probe(where, UAR_THREADS_MANUAL);
}

/* ---- the moment of the end ---- */

typedef struct follower {
    int left;
    atomic_int failed;
    uar_status polled;
    uar_outcome out;
} follower;

static void start_next(void *ctx, host *h, const uar_event *event) {
    follower *f = ctx;
    if (!uar_event_is_terminal(event->kind)) return;
    f->polled = uar_run_poll(&f->out, host_runtime(h), event->run);
    if (event->kind != UAR_EVENT_RUN_DONE) atomic_fetch_add(&f->failed, 1);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "next" };
    uar_run_id id;
    if (f->left-- > 0 && uar_run_start(&id, host_runtime(h), &q, NULL) != UAR_OK) atomic_fetch_add(&f->failed, 1);
}

/* Who hears the end knows the outcome, and the session is free. */
static void test_N1_the_next_turn_can_begin_inside_the_terminal_event(void **state) {
    (void)state;
    follower f = { .left = 100, .polled = UAR_E_INTERNAL };
    atomic_init(&f.failed, 0);
    host *h = fixture_open(
        &(host_options){ .script = HELLO, .repeats = true, .hooks = { .ctx = &f, .on_event = start_next } });
    assert_int_equal(host_say(h, "first", NULL), UAR_OK);
    assert_true(host_hears(h, "RunDone", 101));
    assert_true(host_hears_closed(h, 101));
    assert_int_equal(atomic_load(&f.failed), 0);
    assert_int_equal(f.polled, UAR_OK);
    assert_int_equal(f.out.state, UAR_RUN_DONE);
    fixture_close(h);
}

/* ---- late and double completions ---- */

static void keep_stream(void *ctx, host *h, uar_stream *stream) {
    (void)h;
    uar_stream **kept = ctx;
    if (*kept == NULL) *kept = uar_stream_ref(stream);
}

static void test_N1_pushes_behind_the_end_are_stale_also_after_the_runtime_is_gone(void **state) {
    (void)state;
    uar_stream *kept = NULL;
    host *h = fixture_open(&(host_options){ .script = HELLO, .hooks = { .ctx = &kept, .on_start = keep_stream } });
    assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    assert_non_null(kept);
    assert_false(uar_stream_is_open(kept));
    assert_int_equal(uar_stream_text(kept, "x", 1), UAR_E_STALE);
    fixture_close(h);
    assert_int_equal(uar_stream_reasoning(kept, "x", 1), UAR_E_STALE);
    assert_int_equal(uar_stream_reasoning_opaque(kept, "x", 1), UAR_E_STALE);
    uar_str none = uar_str_of(NULL);
    assert_int_equal(uar_stream_tool_call(kept, 0, none, none, none), UAR_E_STALE);
    assert_int_equal(uar_stream_usage(kept, &(uar_usage){ .input = 1 }), UAR_E_STALE);
    assert_int_equal(uar_stream_fail(kept, UAR_E_MODEL, NULL, NULL, false, 0), UAR_E_STALE);
    assert_int_equal(uar_stream_finish(kept, UAR_FINISH_STOP), UAR_E_STALE);
    uar_stream_unref(kept);
}

static void test_N1_a_push_that_is_wrong_is_refused_and_the_call_goes_on(void **state) {
    (void)state;
    uar_stream *kept = NULL;
    host *h = fixture_open(&(host_options){ .script = LINE(HOLD), .hooks = { .ctx = &kept, .on_start = keep_stream } });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_sees_streams(h, 1));
    assert_int_equal(uar_stream_text(NULL, "x", 1), UAR_E_INVALID);
    assert_int_equal(uar_stream_text(kept, NULL, 1), UAR_E_INVALID);
    assert_int_equal(uar_stream_reasoning_opaque(kept, "\xff", 1), UAR_E_UTF8);
    assert_int_equal(uar_stream_usage(kept, NULL), UAR_E_INVALID);
    assert_int_equal(uar_stream_finish(kept, (uar_finish)9), UAR_E_INVALID);
    assert_true(uar_stream_is_open(kept));
    assert_int_equal(uar_stream_text(kept, "ok", 2), UAR_OK);
    assert_int_equal(uar_stream_finish(kept, UAR_FINISH_STOP), UAR_OK);
    uar_outcome out;
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    uar_stream_unref(kept);
    uar_stream_unref(NULL);
    fixture_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_N1_every_call_from_every_callback_works_or_is_refused_with_a_pool),
        fixture_test(test_N1_every_call_from_every_callback_works_or_is_refused_when_pumped),
        fixture_test(test_N1_the_next_turn_can_begin_inside_the_terminal_event),
        fixture_test(test_N1_pushes_behind_the_end_are_stale_also_after_the_runtime_is_gone),
        fixture_test(test_N1_a_push_that_is_wrong_is_refused_and_the_call_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
