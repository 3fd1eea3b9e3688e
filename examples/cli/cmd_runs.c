/* uar runs list|show: runs of --owner and --user as their records tell. */
#include "commands.h"
#include "instant.h"
#include "json_out.h"
#include "output.h"
#include "pages.h"
#include "stores.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

static cJSON *run_json(const uar_run_info *run) {
    cJSON *line = cJSON_CreateObject();
    node_set(line, "run", node_uuid(run->run));
    node_set(line, "user", node_text(run->user));
    node_set(line, "session", node_text(run->session));
    node_set(line, "agent", node_text(run->agent));
    node_set(line, "state", node_z(uar_run_state_name(run->state)));
    node_set(line, "reason", node_text(run->reason));
    node_set(line, "code", node_text(run->code));
    node_set(line, "message", node_text(run->message));
    node_set(line, "started_ms", node_time(run->started_ms));
    node_set(line, "ended_ms", run->ended_ms != 0 ? node_time(run->ended_ms) : cJSON_CreateNull());
    cJSON *pending = cJSON_AddArrayToObject(line, "pending");
    for (size_t i = 0; i < run->pending_count; i++) {
        cJSON *call = cJSON_CreateObject();
        node_set(call, "call", node_text(run->pending[i].call));
        node_set(call, "tool", node_text(run->pending[i].tool));
        node_set(call, "arguments", node_raw(run->pending[i].arguments));
        cJSON_AddItemToArray(pending, call);
    }
    return line;
}

static void print_run_text(const uar_run_info *run, bool whole) {
    char id[UAR_UUID_TEXT];
    char when[INSTANT_TEXT];
    char figures[160];
    text_buffer out = { 0 };
    uar_uuid_format(id, run->run);
    instant_show(when, run->started_ms);
    text_add_z(&out, id);
    text_add_z(&out, "  ");
    text_add_z(&out, when);
    text_add_z(&out, "  ");
    text_add_z(&out, uar_run_state_name(run->state));
    text_add_z(&out, "  ");
    text_add_visible(&out, run->session, false);
    const uar_str notes[] = { run->reason, run->code, run->message };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (notes[i].len == 0) continue;
        text_add_z(&out, "  ");
        text_add_visible(&out, notes[i], false);
    }
    text_add_z(&out, "\n");
    for (size_t i = 0; i < run->pending_count; i++) {
        text_add_z(&out, "  waits: ");
        text_add_visible(&out, run->pending[i].tool, false);
        text_add_z(&out, " ");
        text_add_visible(&out, run->pending[i].arguments, false);
        text_add_z(&out, "\n");
    }
    if (whole) {
        snprintf(figures, sizeof figures, "  %" PRIu64 " model calls; tokens: %" PRIu64 " in, %" PRIu64 " out%s\n",
                 run->steps, run->usage.input + run->usage.cache_read + run->usage.cache_write, run->usage.output,
                 run->usage.known ? "" : " (not reported)");
        text_add_z(&out, figures);
    }
    output_bytes(out.data, out.len);
    text_free(&out);
}

static uar_status list_page(uar_reply **out, const page_call *call, uar_str cursor, size_t limit, uar_error *err) {
    return uar_run_list_sync(out, call->rt, call->app->owner, call->app->user, cursor, limit, err);
}

static bool print_page(const page_call *call, const uar_reply *reply, size_t index) {
    const uar_run_info *run = &reply->runs[index];
    const char *state = args_get(&call->app->args, "state");
    if (state != NULL && strcmp(state, uar_run_state_name(run->state)) != 0) return false;
    if (call->app->json) output_json(run_json(run));
    if (!call->app->json) print_run_text(run, false);
    return true;
}

int cmd_runs_list(app *a) {
    static const char *const states[] = {
#define UAR_X_NAME(name, json) json,
        UAR_RUN_STATES(UAR_X_NAME)
#undef UAR_X_NAME
    };
    const char *state = args_get(&a->args, "state");
    bool known = state == NULL;
    for (size_t i = 0; i < sizeof states / sizeof states[0] && !known; i++)
        known = strcmp(states[i], state) == 0;
    if (!known)
        return report_usage(a, "states are running, paused, in_doubt, interrupted, done, failed, cancelled",
                            "there is no state '%s'", state);
    return pages_print(a, list_page, print_page);
}

static int print_one(const app *a, uar_runtime *rt, uar_run_id id) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_status status = uar_run_load_sync(&reply, rt, a->owner, a->user, id, &err);
    if (status == UAR_OK && reply->count == 1) {
        const uar_run_info *run = &reply->runs[0];
        if (a->json) {
            cJSON *line = run_json(run);
            node_set(line, "steps", node_whole(run->steps));
            node_set(line, "usage", node_usage(&run->usage));
            output_json(line);
        } else {
            print_run_text(run, true);
        }
    }
    uar_reply_free(reply);
    if (status == UAR_E_NOT_FOUND)
        return report(a, status, "see 'uar runs list'", "user '%s' has no run '%s'", a->user, a->args.operands[0]);
    return status == UAR_OK ? CODE_OK : report_error(a, &err, "");
}

int cmd_runs_show(app *a) {
    uar_run_id id;
    if (uar_uuid_parse(&id, uar_str_of(a->args.operands[0])) != UAR_OK)
        return report(a, UAR_E_NOT_FOUND, "the id of a run has 36 characters; see 'uar runs list'",
                      "there is no run '%s'", a->args.operands[0]);
    uar_runtime *rt = NULL;
    int code = stores_open(&rt, a, &(stores_extras){ .with_model = false });
    if (code != CODE_OK) return code;
    code = print_one(a, rt, id);
    stores_close(rt);
    return code;
}
