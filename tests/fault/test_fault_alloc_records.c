/*
 * The allocation sweep over what a host keeps beside its runs: settings with types, session policies, memory blocks, costs,
 * attachments; every call in both forms. Each case: one allocation fails (once, or it and all later ones), then: the right
 * status, outputs untouched, a store that reads whole, the same call works, nothing is left over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/checks.h"

#define SETTING_CALLS(X) \
    X(setting_put)       \
    X(setting_delete)    \
    X(setting_type_put)  \
    X(setting_type_load) \
    X(setting_type_list) \
    X(setting_type_delete)
#define BLOCK_CALLS(X)       \
    X(session_policy_put)    \
    X(session_policy_load)   \
    X(session_policy_list)   \
    X(session_policy_delete) \
    X(block_put)             \
    X(block_load)            \
    X(block_list)            \
    X(block_delete)          \
    X(cost_list)             \
    X(usage_load)
#define ATTACHMENT_CALLS(X) \
    X(attachment_put)       \
    X(attachment_load)      \
    X(attachment_list)      \
    X(attachment_read)      \
    X(attachment_delete)    \
    X(attachment_sweep)     \
    X(attachment_write)     \
    X(attachment_finish)
#define KEEP_CALLS(X) SETTING_CALLS(X) BLOCK_CALLS(X) ATTACHMENT_CALLS(X)

typedef enum keep_call {
#define CALL_ENUM(name) CALL_##name,
    KEEP_CALLS(CALL_ENUM)
#undef CALL_ENUM
        CALL_COUNT
} keep_call;

static keep_call swept;

#define PART (128 * 1024)
/* More than one commit of an upload, one list of a read, one step of a deletion: so that there are marks too. */
#define LARGE (8 * PART + 5)
static const char content[LARGE];

static uar_uuid kept;                  /* an attachment */
static uar_attachment_writer *writing; /* of the case */

/* Hashing takes most of the time, so only the calls that need much content have it. */
static size_t content_size(void) {
    bool large = swept == CALL_attachment_put || swept == CALL_attachment_read || swept == CALL_attachment_delete ||
                 swept == CALL_attachment_write;
    return large ? LARGE : PART + 5;
}

static const uar_block_place place = { UAR_BLOCK_PLACE_INIT, .scope = UAR_BLOCK_SESSION, .user = "me", .session = "s" };

static uar_setting_type a_type(void) {
    uar_setting_type t = { .key = uar_str_of("ui.*"),
                           .schema = uar_str_of("{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"array\"}}}"),
                           .fallback = uar_str_of("{}"),
                           .description = uar_str_of("how it looks"),
                           .revision = UAR_ANY_REVISION };
    return t;
}

static uar_session_policy a_policy(void) {
    static const uar_str tools[] = { { "clock", 5 }, { "echo", 4 } };
    uar_session_policy p = {
        .max_steps = 3, .model = uar_str_of("m"), .tools = tools, .tool_count = 2, .revision = UAR_ANY_REVISION
    };
    return p;
}

static uar_block a_block(void) {
    uar_block b = {
        .label = uar_str_of("plan"), .text = uar_str_of("go on"), .limit = 20, .revision = UAR_ANY_REVISION
    };
    return b;
}

#define VALUE uar_str_of("{\"x\":[1,2]}")

static uar_status call_sync(world *w, keep_call call, uar_reply **out) {
    uar_runtime *rt = w->rt;
    uar_str none = uar_str_of(NULL);
    uar_setting_type type = a_type();
    uar_session_policy policy = a_policy();
    uar_block block = a_block();
    switch (call) {
    case CALL_setting_put: return uar_setting_put_sync(out, rt, "local", "ui.a", VALUE, NULL);
    case CALL_setting_delete: return uar_setting_delete_sync(out, rt, "local", "ui.a", UAR_ANY_REVISION, NULL);
    case CALL_setting_type_put: return uar_setting_type_put_sync(out, rt, "local", &type, false, NULL);
    case CALL_setting_type_load: return uar_setting_type_load_sync(out, rt, "local", "ui.*", NULL);
    case CALL_setting_type_list: return uar_setting_type_list_sync(out, rt, "local", none, 1, NULL);
    case CALL_setting_type_delete:
        return uar_setting_type_delete_sync(out, rt, "local", "ui.*", UAR_ANY_REVISION, NULL);
    case CALL_session_policy_put: return uar_session_policy_put_sync(out, rt, "local", "me", "s", &policy, NULL);
    case CALL_session_policy_load: return uar_session_policy_load_sync(out, rt, "local", "me", "s", NULL);
    case CALL_session_policy_list: return uar_session_policy_list_sync(out, rt, "local", "me", none, 1, NULL);
    case CALL_session_policy_delete:
        return uar_session_policy_delete_sync(out, rt, "local", "me", "s", UAR_ANY_REVISION, NULL);
    case CALL_block_put: return uar_block_put_sync(out, rt, "local", &place, &block, NULL);
    case CALL_block_load: return uar_block_load_sync(out, rt, "local", &place, "plan", NULL);
    case CALL_block_list: return uar_block_list_sync(out, rt, "local", &place, none, 1, NULL);
    case CALL_block_delete: return uar_block_delete_sync(out, rt, "local", &place, "plan", UAR_ANY_REVISION, NULL);
    case CALL_cost_list: return uar_cost_list_sync(out, rt, "local", "me", "s", none, 10, NULL);
    case CALL_usage_load: return uar_usage_load_sync(out, rt, "local", NULL);
    case CALL_attachment_put:
        return uar_attachment_put_sync(out, rt, "local", "me", NULL, uar_str_n(content, content_size()), NULL);
    case CALL_attachment_load: return uar_attachment_load_sync(out, rt, "local", "me", kept, NULL);
    case CALL_attachment_list: return uar_attachment_list_sync(out, rt, "local", "me", none, 1, NULL);
    case CALL_attachment_read: return uar_attachment_read_sync(out, rt, "local", "me", kept, 0, LARGE, NULL);
    case CALL_attachment_delete: return uar_attachment_delete_sync(out, rt, "local", "me", kept, NULL);
    case CALL_attachment_sweep: return uar_attachment_sweep_sync(out, rt, 0, NULL);
    case CALL_attachment_write:
        return uar_attachment_write_sync(out, writing, uar_str_n(content, content_size()), NULL);
    case CALL_attachment_finish: return uar_attachment_finish_sync(out, writing, NULL);
    case CALL_COUNT: break;
    }
    return UAR_E_INVALID;
}

static uar_status call_async(world *w, keep_call call, uar_reply_fn done, void *ctx) {
    uar_runtime *rt = w->rt;
    uar_str none = uar_str_of(NULL), whole = uar_str_n(content, content_size());
    uar_setting_type type = a_type();
    uar_session_policy policy = a_policy();
    uar_block block = a_block();
    const uint64_t any = UAR_ANY_REVISION;
    switch (call) {
    case CALL_setting_put: return uar_setting_put(rt, "local", "ui.a", VALUE, done, ctx, NULL);
    case CALL_setting_delete: return uar_setting_delete(rt, "local", "ui.a", any, done, ctx, NULL);
    case CALL_setting_type_put: return uar_setting_type_put(rt, "local", &type, false, done, ctx, NULL);
    case CALL_setting_type_load: return uar_setting_type_load(rt, "local", "ui.*", done, ctx, NULL);
    case CALL_setting_type_list: return uar_setting_type_list(rt, "local", none, 1, done, ctx, NULL);
    case CALL_setting_type_delete: return uar_setting_type_delete(rt, "local", "ui.*", any, done, ctx, NULL);
    case CALL_session_policy_put: return uar_session_policy_put(rt, "local", "me", "s", &policy, done, ctx, NULL);
    case CALL_session_policy_load: return uar_session_policy_load(rt, "local", "me", "s", done, ctx, NULL);
    case CALL_session_policy_list: return uar_session_policy_list(rt, "local", "me", none, 1, done, ctx, NULL);
    case CALL_session_policy_delete: return uar_session_policy_delete(rt, "local", "me", "s", any, done, ctx, NULL);
    case CALL_block_put: return uar_block_put(rt, "local", &place, &block, done, ctx, NULL);
    case CALL_block_load: return uar_block_load(rt, "local", &place, "plan", done, ctx, NULL);
    case CALL_block_list: return uar_block_list(rt, "local", &place, none, 1, done, ctx, NULL);
    case CALL_block_delete: return uar_block_delete(rt, "local", &place, "plan", any, done, ctx, NULL);
    case CALL_cost_list: return uar_cost_list(rt, "local", "me", "s", none, 10, done, ctx, NULL);
    case CALL_usage_load: return uar_usage_load(rt, "local", done, ctx, NULL);
    case CALL_attachment_put: return uar_attachment_put(rt, "local", "me", NULL, whole, done, ctx, NULL);
    case CALL_attachment_load: return uar_attachment_load(rt, "local", "me", kept, done, ctx, NULL);
    case CALL_attachment_list: return uar_attachment_list(rt, "local", "me", none, 1, done, ctx, NULL);
    case CALL_attachment_read: return uar_attachment_read(rt, "local", "me", kept, 0, LARGE, done, ctx, NULL);
    case CALL_attachment_delete: return uar_attachment_delete(rt, "local", "me", kept, done, ctx, NULL);
    case CALL_attachment_sweep: return uar_attachment_sweep(rt, 0, done, ctx, NULL);
    case CALL_attachment_write: return uar_attachment_write(writing, whole, done, ctx, NULL);
    case CALL_attachment_finish: return uar_attachment_finish(writing, done, ctx, NULL);
    case CALL_COUNT: break;
    }
    return UAR_E_INVALID;
}

/* ---- what an answer must hold ---- */

static bool answers_nothing(keep_call call) {
    return call == CALL_setting_delete || call == CALL_setting_type_delete || call == CALL_session_policy_delete ||
           call == CALL_block_delete || call == CALL_attachment_delete || call == CALL_attachment_sweep ||
           call == CALL_attachment_write;
}

static void check_reply(const uar_reply *reply) {
    bool has_items = reply->settings != NULL || reply->setting_types != NULL || reply->policies != NULL ||
                     reply->blocks != NULL || reply->costs != NULL || reply->attachments != NULL;
    if (answers_nothing(swept)) return;
    if (swept == CALL_usage_load)
        FAULT_EXPECT(reply->number > 0, "no call was counted");
    else
        FAULT_EXPECT(has_items && reply->count > 0, "an empty answer for a fault");
    if (swept == CALL_attachment_read)
        FAULT_EXPECT(reply->content.len == LARGE, "%zu bytes of a content", reply->content.len);
}

/* ---- worlds ---- */

static void must(world *w, keep_call call) {
    uar_reply *reply = NULL;
    FAULT_EXPECT(call_sync(w, call, &reply) == UAR_OK, "nothing to begin with");
    if (reply->attachments != NULL) kept = reply->attachments[0].id;
    uar_reply_free(reply);
}

static void begin_writing(world *w) {
    FAULT_EXPECT(uar_attachment_writer_new(&writing, w->rt, "local", "me", NULL, NULL) == UAR_OK, "no writer");
}

static void *open_keeping(fault_port *port) {
    world *w = world_new(port);
    world_must_build(w);
    FAULT_EXPECT(world_say(w, "plain") == UAR_OK, "the run to store failed");
    uar_run_id id = newest_run(w);
    FAULT_EXPECT(world_drive(w, run_has_closed, &id, 60000), "the run never closed");
    must(w, CALL_setting_type_put);
    must(w, CALL_setting_put);
    must(w, CALL_session_policy_put);
    must(w, CALL_block_put);
    if (swept >= CALL_attachment_load && swept <= CALL_attachment_delete) must(w, CALL_attachment_put);
    begin_writing(w);
    if (swept == CALL_attachment_sweep || swept == CALL_attachment_finish) {
        uar_reply *reply = NULL;
        FAULT_EXPECT(call_sync(w, CALL_attachment_write, &reply) == UAR_OK, "nothing was written");
        uar_reply_free(reply);
    }
    return w;
}

/* The next process finds a good store, and a sweep leaves only what exists. */
static void close_keeping(void *arg) {
    world *w = arg;
    uar_reply *reply = NULL;
    uar_attachment_writer_free(writing);
    FAULT_EXPECT(world_close_runtime(w, UAR_CLOSE_CANCEL, 2000) == UAR_OK, "close had to abandon something");
    w->run_count = 0;
    world_must_build(w);
    check_store(w);
    FAULT_EXPECT(uar_attachment_sweep_sync(&reply, w->rt, 0, NULL) == UAR_OK, "no sweep");
    uar_reply_free(reply);
    FAULT_EXPECT(uar_attachment_list_sync(&reply, w->rt, "local", "me", uar_str_of(NULL), 100, NULL) == UAR_OK,
                 "attachments can't be listed");
    for (size_t i = 0; i < reply->count; i++) {
        uar_reply *read = NULL;
        FAULT_EXPECT(uar_attachment_read_sync(&read, w->rt, "local", "me", reply->attachments[i].id, 0, LARGE, NULL) ==
                         UAR_OK,
                     "an attachment isn't whole");
        uar_reply_free(read);
    }
    uar_reply_free(reply);
    FAULT_EXPECT(world_close_runtime(w, UAR_CLOSE_PARK, 2000) == UAR_OK, "the second close had to abandon something");
    world_free(w);
}

static void inspect(void *arg, uar_status status) {
    (void)status;
    check_store(arg);
}

/* ---- acts ---- */

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
    (void)world_drive(w, is_never, NULL, 10000);
    FAULT_EXPECT(box.count == (status == UAR_OK ? 1 : 0), "%u answers", box.count);
    return status != UAR_OK ? status : box.status;
}

/* What was deleted before memory ran out is deleted; an upload that failed is begun anew. */
static uar_status again(world *w, uar_status (*act)(void *arg)) {
    if (swept == CALL_attachment_write || swept == CALL_attachment_finish) {
        uar_attachment_writer_free(writing);
        writing = NULL;
        begin_writing(w);
    }
    uar_status status = act(w);
    return answers_nothing(swept) && status == UAR_E_NOT_FOUND ? UAR_OK : status;
}

static uar_status again_sync(void *arg, uar_status was) {
    (void)was;
    return again(arg, act_sync);
}

static uar_status again_async(void *arg, uar_status was) {
    (void)was;
    return again(arg, act_async);
}

/* ---- making a writer ---- */

static uar_status act_new(void *arg) {
    world *w = arg;
    uar_attachment_writer *made;
    uar_attachment_options o = { UAR_ATTACHMENT_OPTIONS_INIT, .media = "image/png", .name = "a.png" };
    OUTPUT_PREPARE(made);
    uar_status status = uar_attachment_writer_new(&made, w->rt, "local", "me", &o, NULL);
    OUTPUT_CHECK(status, made, "uar_attachment_writer_new");
    if (status == UAR_OK) uar_attachment_writer_free(made);
    return status;
}

#define KEEP_SCENARIO(name)                                                                   \
    { "keep_" #name "_sync", open_keeping, act_sync, inspect, again_sync, close_keeping, 1 }, \
        { "keep_" #name, open_keeping, act_async, inspect, again_async, close_keeping, 1 },

static sweep_scenario keep_scenarios[] = { KEEP_CALLS(KEEP_SCENARIO){ "attachment_writer_new", open_keeping, act_new,
                                                                      inspect, NULL, close_keeping, 1 } };

static void test_kept(void **state) {
    size_t i = (size_t)((sweep_scenario *)*state - keep_scenarios);
    swept = (keep_call)(i / 2);
    test_sweep(state);
}

#define COUNT (sizeof keep_scenarios / sizeof *keep_scenarios)

int main(void) {
    struct CMUnitTest tests[COUNT];
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < COUNT; i++) {
        tests[i].name = keep_scenarios[i].name;
        tests[i].test_func = test_kept;
        tests[i].initial_state = &keep_scenarios[i];
    }
    return _cmocka_run_group_tests("every allocation may fail: what is kept", tests, COUNT, NULL, NULL);
}
