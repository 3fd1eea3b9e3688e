/*
 * The allocation sweep over uar/lifecycle.h, every call in both forms. Each case: one allocation fails (once, or it and all
 * later ones), then: the right status, outputs untouched, the same call works or says that it is done, the next process finds
 * a whole store without unfinished work, nothing is left over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uar/lifecycle.h>

#include "fault/checks.h"

#define LIFE_CALLS(X) \
    X(session_delete) \
    X(session_rename) \
    X(session_export) \
    X(session_branch) \
    X(session_origin) \
    X(owner_erase)    \
    X(retain)         \
    X(diagnostics)

typedef enum life_call {
#define CALL_ENUM(name) CALL_##name,
    LIFE_CALLS(CALL_ENUM)
#undef CALL_ENUM
        CALL_COUNT
} life_call;

static life_call swept;
static size_t lines; /* of an export */

static uar_status count_line(void *ctx, uar_str line) {
    (void)ctx;
    lines += line.len > 0;
    return UAR_OK;
}

static const uar_branch_options a_branch = { UAR_BRANCH_OPTIONS_INIT, .session = "b", .number = 1, .text = "else" };
static const uar_retention a_retention = { UAR_RETENTION_INIT, .max_bytes = 1 };
static const uar_export_options an_export = { UAR_EXPORT_OPTIONS_INIT, .contents = true };

static uar_status call_sync(world *w, life_call call, uar_reply **out) {
    uar_runtime *rt = w->rt;
    switch (call) {
    case CALL_session_delete: return uar_session_delete_sync(out, rt, "local", "me", "s", NULL);
    case CALL_session_rename: return uar_session_rename_sync(out, rt, "local", "me", "s", "A name", NULL);
    case CALL_session_export:
        return uar_session_export_sync(out, rt, "local", "me", "s", &an_export, count_line, NULL, NULL);
    case CALL_session_branch: return uar_session_branch_sync(out, rt, "local", "me", "s", &a_branch, NULL);
    case CALL_session_origin: return uar_session_origin_sync(out, rt, "local", "me", "s", NULL);
    case CALL_owner_erase: return uar_owner_erase_sync(out, rt, "local", NULL);
    case CALL_retain: return uar_retain_sync(out, rt, "local", &a_retention, NULL);
    case CALL_diagnostics: return uar_diagnostics_sync(out, rt, NULL);
    case CALL_COUNT: break;
    }
    return UAR_E_INVALID;
}

static uar_status call_async(world *w, life_call call, uar_reply_fn done, void *ctx) {
    uar_runtime *rt = w->rt;
    switch (call) {
    case CALL_session_delete: return uar_session_delete(rt, "local", "me", "s", done, ctx, NULL);
    case CALL_session_rename: return uar_session_rename(rt, "local", "me", "s", "A name", done, ctx, NULL);
    case CALL_session_export:
        return uar_session_export(rt, "local", "me", "s", &an_export, count_line, NULL, done, ctx, NULL);
    case CALL_session_branch: return uar_session_branch(rt, "local", "me", "s", &a_branch, done, ctx, NULL);
    case CALL_session_origin: return uar_session_origin(rt, "local", "me", "s", done, ctx, NULL);
    case CALL_owner_erase: return uar_owner_erase(rt, "local", done, ctx, NULL);
    case CALL_retain: return uar_retain(rt, "local", &a_retention, done, ctx, NULL);
    case CALL_diagnostics: return uar_diagnostics(rt, done, ctx, NULL);
    case CALL_COUNT: break;
    }
    return UAR_E_INVALID;
}

static void check_reply(const uar_reply *reply) {
    switch (swept) {
    case CALL_session_rename:
    case CALL_session_branch: FAULT_EXPECT(reply->sessions != NULL, "no session in the answer"); break;
    case CALL_session_export: FAULT_EXPECT(lines > reply->number, "%zu lines", lines); break;
    case CALL_owner_erase:
    case CALL_retain:
    case CALL_diagnostics: FAULT_EXPECT(reply->document.len > 0, "no document in the answer"); break;
    default: break;
    }
}

/* ---- worlds ---- */

static void *open_life(fault_port *port) {
    world *w = world_new(port);
    world_must_build(w);
    FAULT_EXPECT(world_say(w, "plain") == UAR_OK, "the run to store failed");
    uar_run_id id = newest_run(w);
    FAULT_EXPECT(world_drive(w, run_has_closed, &id, 60000), "the run never closed");
    return w;
}

static void *open_and_look(fault_port *port) {
    world *w = open_life(port);
    uar_reply *reply = NULL;
    FAULT_EXPECT(uar_session_load_sync(&reply, w->rt, "local", "me", "s", NULL) == UAR_OK, "no session to begin with");
    uar_reply_free(reply);
    lines = 0;
    return w;
}

/* The next process takes up what was left: then no job is there, and no half session. */
static void close_life(void *arg) {
    world *w = arg;
    uar_reply *reply = NULL;
    FAULT_EXPECT(world_close_runtime(w, UAR_CLOSE_CANCEL, 2000) == UAR_OK, "close had to abandon something");
    w->run_count = 0;
    world_must_build(w);
    (void)world_drive(w, is_never, NULL, 8000);
    FAULT_EXPECT(uar_diagnostics_sync(&reply, w->rt, NULL) == UAR_OK, "no diagnosis");
    FAULT_EXPECT(strstr(reply->document.ptr, "\"pending_jobs\":0") != NULL, "work was left: %s", reply->document.ptr);
    uar_reply_free(reply);
    FAULT_EXPECT(uar_session_list_sync(&reply, w->rt, "local", "me", uar_str_of(NULL), 10, NULL) == UAR_OK, "no list");
    for (size_t i = 0; i < reply->count; i++) {
        uar_reply *messages = NULL;
        const char *session = reply->sessions[i].session.ptr;
        FAULT_EXPECT(uar_message_list_sync(&messages, w->rt, "local", "me", session, 0, 10, NULL) == UAR_OK &&
                         messages->count == reply->sessions[i].messages,
                     "a session isn't whole");
        uar_reply_free(messages);
    }
    uar_reply_free(reply);
    FAULT_EXPECT(world_close_runtime(w, UAR_CLOSE_PARK, 2000) == UAR_OK, "the second close had to abandon something");
    world_free(w);
}

static void inspect(void *arg, uar_status status) {
    (void)arg;
    (void)status;
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

/* What was done before memory ran out is done; a branch that could not be cleared away waits for the next build. */
static uar_status settled(uar_status status) {
    bool is_done = (swept == CALL_session_delete && status == UAR_E_NOT_FOUND) ||
                   (swept == CALL_session_branch && status == UAR_E_EXISTS);
    return is_done ? UAR_OK : status;
}

static uar_status again_sync(void *arg, uar_status was) {
    (void)was;
    return settled(act_sync(arg));
}

static uar_status again_async(void *arg, uar_status was) {
    (void)was;
    return settled(act_async(arg));
}

#define LIFE_SCENARIO(name)                                                                 \
    { "life_" #name "_sync", open_and_look, act_sync, inspect, again_sync, close_life, 1 }, \
        { "life_" #name, open_and_look, act_async, inspect, again_async, close_life, 1 },

static sweep_scenario life_scenarios[] = { LIFE_CALLS(LIFE_SCENARIO) };

static void test_life(void **state) {
    size_t i = (size_t)((sweep_scenario *)*state - life_scenarios);
    swept = (life_call)(i / 2);
    test_sweep(state);
}

#define COUNT (sizeof life_scenarios / sizeof *life_scenarios)

int main(void) {
    struct CMUnitTest tests[COUNT];
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < COUNT; i++) {
        tests[i].name = life_scenarios[i].name;
        tests[i].test_func = test_life;
        tests[i].initial_state = &life_scenarios[i];
    }
    return _cmocka_run_group_tests("every allocation may fail: lives of sessions", tests, COUNT, NULL, NULL);
}
