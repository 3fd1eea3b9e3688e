/*
 * The scenes. A victim is one runtime or one memory over the files of its case; with the early layer it acknowledges first.
 * The only process of its store at a time, it says so, and takes the session of a dead one at once.
 */
#include "scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uar/uar.h>

#include "early_ack.h"

enum { TURNS = 3, WAIT_MS = 60000 };

static bool fail(const char *what, const uar_error *err) {
    fprintf(stderr, "%s: %s %s\n", what, uar_status_name(err->code), err->message);
    return false;
}

/* ---- the host ---- */

static const uar_model_message *last_of(const uar_model_request *request) {
    return &request->messages[request->message_count - 1];
}

/* The context must be one that a provider takes, whatever a kill left of the session. */
static bool is_sound(const uar_model_request *request) {
    uar_codec_options o = { UAR_CODEC_OPTIONS_INIT, .model = "any" };
    char *body = NULL;
    size_t len = 0;
    bool sound = uar_codec_request(&body, &len, UAR_CODEC_OPENAI, request, &o, NULL) == UAR_OK;
    if (sound) uar_codec_body_free(body, &o);
    return sound;
}

static void answer(uar_stream *stream, const uar_model_request *request) {
    uar_str said = uar_str_of("");
    for (size_t i = 0; i < request->message_count; i++)
        if (request->messages[i].role == UAR_ROLE_USER) said = request->messages[i].parts[0].text;
    (void)uar_stream_text(stream, "heard: ", 7);
    (void)uar_stream_text(stream, said.ptr, said.len);
    (void)uar_stream_finish(stream, UAR_FINISH_STOP);
}

static void call_tools(uar_stream *stream, uar_str said) {
    for (uint32_t i = 0; i < 2; i++) {
        char id[NOTE_WORD];
        (void)snprintf(id, sizeof id, "%.*s-%u", (int)said.len, said.ptr, i);
        (void)uar_stream_tool_call(stream, i, uar_str_of(id), uar_str_of("touch"), uar_str_of("{}"));
    }
    (void)uar_stream_finish(stream, UAR_FINISH_TOOL_CALLS);
}

/* Texts that begin with "use" ask for the tools, all others for an answer. */
static void model_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx;
    const uar_model_message *last = last_of(request);
    if (!is_sound(request))
        (void)uar_stream_fail(stream, UAR_E_INVALID, NULL, "no provider takes this context", false, 0);
    else if (last->role == UAR_ROLE_USER && strncmp(last->parts[0].text.ptr, "use", 3) == 0)
        call_tools(stream, last->parts[0].text);
    else
        answer(stream, request);
}

static void copy_text(char out[NOTE_WORD], uar_str text) {
    (void)snprintf(out, NOTE_WORD, "%.*s", (int)text.len, text.ptr);
}

static void tool_invoke(void *ctx, const uar_tool_call *call, uar_completion *done) {
    char run[UAR_UUID_TEXT], id[NOTE_WORD];
    uar_uuid_format(run, call->run);
    copy_text(id, call->call);
    note_write(ctx, "did", "call", run, id, "");
    (void)uar_completion_text(done, id, strlen(id));
}

static void on_event(void *ctx, const uar_event *event) {
    char run[UAR_UUID_TEXT], other[NOTE_WORD];
    uar_uuid_format(run, event->run);
    if (event->kind == UAR_EVENT_RUN_DONE) {
        uar_uuid_format(other, event->run_done.message);
        note_write(ctx, "did", "turn", run, other, "");
    } else if (event->kind == UAR_EVENT_TOOL_END) {
        copy_text(other, event->tool_end.call);
        note_write(ctx, "did", event->tool_end.ok ? "end" : "failed", run, other, "");
    }
}

static uar_runtime *open_with(const stage *s, bool tells, uar_error *err) {
    char path[192];
    (void)snprintf(path, sizeof path, "%s/state.db", s->folder);
    uar_builder_options options = { UAR_BUILDER_OPTIONS_INIT, .single_process = true };
    uar_builder *b = uar_builder_new(&options);
    const uar_persistence *layer = uar_persistence_sqlite(path, NULL);
    uar_builder_persistence(b, s->early ? early_ack_over(layer) : layer);
    void *ctx = (void *)(uintptr_t)s;
    uar_builder_model(b, &(uar_model){ UAR_MODEL_INIT, .ctx = ctx, .name = "victim", .start = model_start });
    uar_builder_tool(b, &(uar_tool){ UAR_TOOL_INIT, .ctx = ctx, .name = "touch", .description = "Touch a thing",
                                     .input_schema = "{\"type\":\"object\"}", .invoke = tool_invoke });
    if (tells) uar_builder_event_sink(b, &(uar_event_sink){ UAR_EVENT_SINK_INIT, .ctx = ctx, .on_event = on_event });
    uar_runtime *rt = NULL;
    return uar_builder_build(&rt, b, err) == UAR_OK ? rt : NULL;
}

static uar_runtime *open_runtime(const stage *s, uar_error *err) {
    return open_with(s, true, err);
}

/* ---- turns ---- */

static bool take_turn_in(uar_runtime *rt, const char *session, const char *input) {
    uar_error err = UAR_ERROR_INIT;
    uar_run_id run;
    uar_outcome out;
    if (uar_run_start(&run, rt, &(uar_run_request){ UAR_RUN_REQUEST_INIT, .session = session, .input = input }, &err) !=
        UAR_OK)
        return fail("a run can't start", &err);
    uar_status status = uar_run_wait(&out, rt, run, WAIT_MS);
    if (status == UAR_OK && out.status == UAR_OK) return true;
    err.code = status;
    return fail("a run failed", status != UAR_OK ? &err : &out.error);
}

static bool take_turn(uar_runtime *rt, const char *input) {
    return take_turn_in(rt, NULL, input);
}

static bool talk(const stage *s, const char *verb) {
    uar_error err = UAR_ERROR_INIT;
    uar_runtime *rt = open_runtime(s, &err);
    if (rt == NULL) return fail("the runtime can't be built", &err);
    bool done = true;
    for (unsigned i = 0; i < TURNS && done; i++) {
        char input[NOTE_WORD];
        (void)snprintf(input, sizeof input, "%s-%u-%u", verb, s->part, i);
        done = take_turn(rt, input);
    }
    return uar_runtime_close(rt, UAR_CLOSE_PARK, WAIT_MS) == UAR_OK && done;
}

bool scene_text(const stage *s) {
    return talk(s, "say");
}

bool scene_tools(const stage *s) {
    return talk(s, "use");
}

/* ---- deleting ---- */

static bool fill_session(const stage *s, uar_runtime *rt, const char *session, unsigned turns) {
    for (unsigned i = 0; i < turns; i++)
        if (!take_turn_in(rt, session, "say something")) return false;
    note_write(s, "did", "keep", session, "", "");
    return true;
}

static bool delete_session(const stage *s, uar_runtime *rt, const char *session) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    note_write(s, "try", "delete", session, "", "");
    if (uar_session_delete_sync(&reply, rt, "local", "me", session, &err) != UAR_OK) return fail("delete", &err);
    note_write(s, "did", "delete", session, "", "");
    uar_reply_free(reply);
    return true;
}

bool scene_delete(const stage *s) {
    char kept[NOTE_WORD], gone[NOTE_WORD];
    uar_error err = UAR_ERROR_INIT;
    uar_runtime *rt = open_with(s, false, &err);
    if (rt == NULL) return fail("the runtime can't be built", &err);
    (void)snprintf(kept, sizeof kept, "kept%u", s->part);
    (void)snprintf(gone, sizeof gone, "gone%u", s->part);
    bool done = fill_session(s, rt, kept, 1) && fill_session(s, rt, gone, 8) && delete_session(s, rt, gone);
    return uar_runtime_close(rt, UAR_CLOSE_PARK, WAIT_MS) == UAR_OK && done;
}

/* ---- settings, agents, counters ---- */

static bool take_reply(const stage *s, uar_status status, uar_reply *reply, const char *verb, const char *key,
                       const char *value, const uar_error *err) {
    if (status != UAR_OK) return fail(verb, err);
    note_write(s, "did", verb, key, value, "");
    uar_reply_free(reply);
    return true;
}

static bool put_setting(const stage *s, uar_runtime *rt, const char *key, const char *value) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    note_write(s, "try", "set", key, value, "");
    uar_status status = uar_setting_put_sync(&reply, rt, "local", key, uar_str_of(value), &err);
    return take_reply(s, status, reply, "set", key, value, &err);
}

static bool put_agent(const stage *s, uar_runtime *rt, const char *key, const char *value) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_agent agent = { .id = uar_str_of(key), .name = uar_str_of(value), .revision = UINT64_MAX };
    note_write(s, "try", "agent", key, value, "");
    uar_status status = uar_agent_put_sync(&reply, rt, "local", &agent, &err);
    return take_reply(s, status, reply, "agent", key, value, &err);
}

static bool count_up(const stage *s, uar_runtime *rt, const char *key) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    note_write(s, "try", "count", key, "1", "");
    uar_status status = uar_counter_add_sync(&reply, rt, "local", key, 1, &err);
    return take_reply(s, status, reply, "count", key, "1", &err);
}

bool scene_settings(const stage *s) {
    uar_error err = UAR_ERROR_INIT;
    uar_runtime *rt = open_runtime(s, &err);
    if (rt == NULL) return fail("the runtime can't be built", &err);
    bool done = true;
    for (unsigned i = 0; i < 6 && done; i++) {
        char key[16], value[24];
        (void)snprintf(key, sizeof key, "key%u", i % 2);
        (void)snprintf(value, sizeof value, "%u", s->part * 100 + i);
        done = put_setting(s, rt, key, value) && put_agent(s, rt, key, value) && count_up(s, rt, "counter");
    }
    return uar_runtime_close(rt, UAR_CLOSE_PARK, WAIT_MS) == UAR_OK && done;
}

/* ---- memory ---- */

typedef struct scribe {
    const stage *s;
    uar_memory *memory;
    uar_identity who;
    unsigned made;
} scribe;

/* Begins with a byte that it doesn't hold again: see folder_has_bytes. */
static void make_token(char out[NOTE_WORD], scribe *w) {
    (void)snprintf(out, NOTE_WORD, "@token%uq%uz", w->s->part, w->made++);
}

static bool add(uar_uuid *id, scribe *w, const char *attribute, const char *category) {
    uar_error err = UAR_ERROR_INIT;
    char token[NOTE_WORD], name[UAR_UUID_TEXT];
    uar_memory_change change;
    uar_str label = uar_str_of(category);
    make_token(token, w);
    uar_memory_draft draft = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(token), .categories = &label,
                               .category_count = category != NULL };
    if (attribute != NULL) {
        draft.subject = uar_str_of("user");
        draft.attribute = uar_str_of(attribute);
    }
    note_write(w->s, "try", "add", "-", token, "");
    if (uar_memory_add_sync(&change, w->memory, &w->who, &draft, &err) != UAR_OK) return fail("add", &err);
    uar_uuid_format(name, change.id);
    note_write(w->s, "did", "add", name, token, "");
    *id = change.id;
    return true;
}

static bool update(scribe *w, uar_uuid id) {
    uar_error err = UAR_ERROR_INIT;
    char token[NOTE_WORD], name[UAR_UUID_TEXT];
    uar_memory_change change;
    make_token(token, w);
    uar_uuid_format(name, id);
    uar_memory_patch patch = { UAR_MEMORY_PATCH_INIT, .content = uar_str_of(token) };
    note_write(w->s, "try", "update", name, token, "");
    if (uar_memory_update_sync(&change, w->memory, &w->who, id, &patch, &err) != UAR_OK) return fail("update", &err);
    note_write(w->s, "did", "update", name, token, "");
    return true;
}

static bool erase(scribe *w, uar_uuid id) {
    uar_error err = UAR_ERROR_INIT;
    char name[UAR_UUID_TEXT];
    uar_memory_change change;
    uar_uuid_format(name, id);
    note_write(w->s, "try", "erase", name, "-", "");
    if (uar_memory_delete_sync(&change, w->memory, &w->who, id, &err) != UAR_OK) return fail("erase", &err);
    note_write(w->s, "did", "erase", name, uar_memory_outcome_name(change.outcome), "");
    return true;
}

static bool erase_category(scribe *w, uar_uuid id, const char *category) {
    uar_error err = UAR_ERROR_INIT;
    char name[UAR_UUID_TEXT];
    uar_memory_erasure erasure;
    uar_memory_filter filter = { UAR_MEMORY_FILTER_INIT, .category = uar_str_of(category) };
    uar_uuid_format(name, id);
    note_write(w->s, "try", "erase", name, "-", "");
    if (uar_memory_delete_where_sync(&erasure, w->memory, &w->who, &filter, &err) != UAR_OK)
        return fail("erase a category", &err);
    note_write(w->s, "did", "erase", name, erasure.pending == 0 ? "erased" : "erasure_pending", "");
    return true;
}

static bool write_memory(scribe *w) {
    uar_error err = UAR_ERROR_INIT;
    uar_uuid first, second, third, fact, label;
    bool done = add(&first, w, NULL, NULL) && add(&second, w, NULL, NULL) && update(w, first) && erase(w, second) &&
                add(&fact, w, "home", NULL) && add(&fact, w, "home", NULL) && add(&label, w, NULL, "passing") &&
                erase_category(w, label, "passing") && add(&third, w, NULL, NULL) && update(w, third) &&
                erase(w, third);
    if (done && uar_memory_reindex_sync(w->memory, &err) != UAR_OK) return fail("reindex", &err);
    return done;
}

bool scene_memory(const stage *s) {
    char path[192];
    uar_error err = UAR_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/memory/memory.db", s->folder);
    scribe w = { .s = s,
                 .memory = uar_memory_open(path, NULL),
                 .who = { UAR_IDENTITY_INIT, .user = uar_str_of("me") } };
    bool done = uar_memory_state(w.memory, &err) == UAR_MEMORY_READY ? write_memory(&w) : fail("memory", &err);
    uar_memory_free(w.memory);
    return done;
}
