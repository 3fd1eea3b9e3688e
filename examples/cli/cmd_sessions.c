/* uar sessions: what the store keeps of the conversations of --owner and --user, and what can be done with it. */
#include "commands.h"
#include "instant.h"
#include "json_out.h"
#include "output.h"
#include "pages.h"
#include "stores.h"
#include "text.h"

#include <uar/lifecycle.h>

#include <inttypes.h>
#include <stdio.h>

enum { MESSAGES_A_PAGE = 200 };

static void print_session(const app *a, const uar_session *s) {
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "session", node_text(s->session));
        node_set(line, "user", node_text(s->user));
        node_set(line, "name", node_text(s->name));
        node_set(line, "messages", node_whole(s->messages));
        node_set(line, "created_ms", node_time(s->created_ms));
        node_set(line, "updated_ms", node_time(s->updated_ms));
        output_json(line);
        return;
    }
    char when[INSTANT_TEXT];
    char rest[64];
    text_buffer line = { 0 };
    instant_show(when, s->updated_ms);
    text_add_visible(&line, s->session, false);
    snprintf(rest, sizeof rest, "  %" PRIu64 " messages  %s", s->messages, when);
    text_add_z(&line, rest);
    if (s->name.ptr != NULL) {
        text_add_z(&line, "  ");
        text_add_visible(&line, s->name, false);
    }
    text_add_z(&line, "\n");
    output_bytes(line.data, line.len);
    text_free(&line);
}

static uar_status list_page(uar_reply **out, const page_call *call, uar_str cursor, size_t limit, uar_error *err) {
    return uar_session_list_sync(out, call->rt, call->app->owner, call->app->user, cursor, limit, err);
}

static bool print_page(const page_call *call, const uar_reply *reply, size_t index) {
    print_session(call->app, &reply->sessions[index]);
    return true;
}

int cmd_sessions_list(app *a) {
    return pages_print(a, list_page, print_page);
}

static cJSON *part_json(const uar_part *part) {
    static const char *const types[] = {
#define UAR_X_NAME(name, json) json,
        UAR_PART_TYPES(UAR_X_NAME)
#undef UAR_X_NAME
    };
    cJSON *node = cJSON_CreateObject();
    size_t type = (size_t)part->type;
    node_set(node, "type", node_z(type < sizeof types / sizeof types[0] ? types[type] : "unknown"));
    if (part->type == UAR_PART_TOOL_CALL || part->type == UAR_PART_TOOL_RESULT) {
        node_set(node, "call", node_text(part->call));
        node_set(node, "tool", node_text(part->tool));
    }
    if (part->type == UAR_PART_TOOL_CALL) {
        node_set(node, "arguments", node_raw(part->arguments));
    } else {
        node_set(node, "text", node_text(part->text));
    }
    if (part->type == UAR_PART_TOOL_RESULT) node_set(node, "failed", cJSON_CreateBool(part->failed));
    return node;
}

static const char *role_name(uar_role role) {
    static const char *const names[] = {
#define UAR_X_NAME(name, json) json,
        UAR_ROLES(UAR_X_NAME)
#undef UAR_X_NAME
    };
    size_t at = (size_t)role;
    return at < sizeof names / sizeof names[0] ? names[at] : "unknown";
}

static void print_message_json(const uar_message *m) {
    cJSON *line = cJSON_CreateObject();
    node_set(line, "message", node_uuid(m->id));
    node_set(line, "number", node_whole(m->number));
    node_set(line, "role", node_z(role_name(m->role)));
    cJSON *parts = cJSON_AddArrayToObject(line, "parts");
    for (size_t i = 0; i < m->part_count; i++)
        cJSON_AddItemToArray(parts, part_json(&m->parts[i]));
    node_set(line, "interrupted", cJSON_CreateBool(m->interrupted));
    node_set(line, "run", node_uuid(m->run));
    node_set(line, "recalled", node_text(m->recalled));
    node_set(line, "created_ms", node_time(m->created_ms));
    output_json(line);
}

static void add_part(text_buffer *out, const uar_part *part) {
    if (part->type == UAR_PART_TOOL_CALL) {
        text_add_z(out, "[calls ");
        text_add_visible(out, part->tool, false);
        text_add_z(out, " ");
        text_add_visible(out, part->arguments, false);
        text_add_z(out, "]");
    } else if (part->type == UAR_PART_TOOL_RESULT) {
        text_add_z(out, part->failed ? "[failed " : "[result ");
        text_add_visible(out, part->tool, false);
        text_add_z(out, " ");
        text_add_visible(out, part->text, true);
        text_add_z(out, "]");
    } else if (part->type == UAR_PART_TEXT) {
        text_add_visible(out, part->text, true);
    }
}

static void print_message_text(const uar_message *m) {
    char head[96];
    text_buffer out = { 0 };
    snprintf(head, sizeof head, "%" PRIu64 " %s%s: ", m->number, role_name(m->role),
             m->interrupted ? " (interrupted)" : "");
    text_add_z(&out, head);
    for (size_t i = 0; i < m->part_count; i++)
        add_part(&out, &m->parts[i]);
    text_add_z(&out, "\n");
    output_bytes(out.data, out.len);
    text_free(&out);
}

static int print_messages(const app *a, uar_runtime *rt, const char *session) {
    uint64_t after = 0;
    for (size_t count = MESSAGES_A_PAGE; count == MESSAGES_A_PAGE;) {
        uar_error err = UAR_ERROR_INIT;
        uar_reply *reply = NULL;
        if (uar_message_list_sync(&reply, rt, a->owner, a->user, session, after, MESSAGES_A_PAGE, &err) != UAR_OK) {
            uar_reply_free(reply);
            return report_error(a, &err, session);
        }
        count = reply->count;
        for (size_t i = 0; i < count; i++) {
            if (a->json) print_message_json(&reply->messages[i]);
            if (!a->json) print_message_text(&reply->messages[i]);
            after = reply->messages[i].number;
        }
        uar_reply_free(reply);
        if (output_fault() != 0) break;
    }
    return CODE_OK;
}

/* The runtime, for a command about the session that is its first operand. */
static int open_for_session(uar_runtime **out, const app *a) {
    const char *session = a->args.operands[0];
    if (!is_host_id(session)) return report(a, UAR_E_NOT_FOUND, NULL, "there is no session '%s'", session);
    return stores_open(out, a, &(stores_extras){ .with_model = false });
}

static int report_session(const app *a, const uar_error *err) {
    const char *session = a->args.operands[0];
    if (err->code != UAR_E_NOT_FOUND) return report_error(a, err, session);
    return report(a, err->code, "see 'uar sessions list'", "user '%s': %s: '%s'", a->user, err->message, session);
}

int cmd_sessions_delete(app *a) {
    uar_runtime *rt = NULL;
    int code = open_for_session(&rt, a);
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    const char *session = a->args.operands[0];
    if (uar_session_delete_sync(&reply, rt, a->owner, a->user, session, &err) != UAR_OK) {
        code = report_session(a, &err);
    } else if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "session", node_z(session));
        node_set(line, "outcome", node_z("deleted"));
        node_set(line, "records", node_whole(reply->number));
        output_json(line);
    } else if (!a->quiet) {
        output_text("deleted\n");
    }
    uar_reply_free(reply);
    stores_close(rt);
    return code;
}

int cmd_sessions_rename(app *a) {
    uar_runtime *rt = NULL;
    int code = open_for_session(&rt, a);
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    const char *name = a->args.operands[1][0] != '\0' ? a->args.operands[1] : NULL;
    if (uar_session_rename_sync(&reply, rt, a->owner, a->user, a->args.operands[0], name, &err) != UAR_OK)
        code = report_session(a, &err);
    else if (a->json || !a->quiet)
        print_session(a, &reply->sessions[0]);
    uar_reply_free(reply);
    stores_close(rt);
    return code;
}

static uar_status print_line(void *ctx, uar_str line) {
    (void)ctx;
    return output_bytes(line.ptr, line.len) && output_bytes("\n", 1) ? UAR_OK : UAR_E_IO;
}

int cmd_sessions_export(app *a) {
    uar_runtime *rt = NULL;
    int code = open_for_session(&rt, a);
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    const uar_export_options options = { UAR_EXPORT_OPTIONS_INIT, .contents = args_has(&a->args, "contents") };
    uar_status status =
        uar_session_export_sync(&reply, rt, a->owner, a->user, a->args.operands[0], &options, print_line, NULL, &err);
    if (status != UAR_OK && output_fault() == 0) code = report_session(a, &err);
    uar_reply_free(reply);
    stores_close(rt);
    return code;
}

int cmd_sessions_branch(app *a) {
    const char *number = args_get(&a->args, "at");
    uar_branch_options options = { UAR_BRANCH_OPTIONS_INIT, .session = a->args.operands[1] };
    options.text = args_get(&a->args, "text");
    options.name = args_get(&a->args, "name");
    if (number != NULL && (!parse_number(&options.number, number, INT64_MAX) || options.number == 0))
        return report_usage(a, NULL, "--at takes the number of a message, not '%s'", number);
    uar_runtime *rt = NULL;
    int code = open_for_session(&rt, a);
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    if (uar_session_branch_sync(&reply, rt, a->owner, a->user, a->args.operands[0], &options, &err) != UAR_OK)
        code = report_session(a, &err);
    else
        print_session(a, &reply->sessions[0]);
    uar_reply_free(reply);
    stores_close(rt);
    return code;
}

int cmd_sessions_show(app *a) {
    const char *session = a->args.operands[0];
    uar_runtime *rt = NULL;
    int code = open_for_session(&rt, a);
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_status status = uar_session_load_sync(&reply, rt, a->owner, a->user, session, &err);
    uar_reply_free(reply);
    if (status == UAR_E_NOT_FOUND) {
        code = report(a, status, "see 'uar sessions list'", "user '%s' has no session '%s'", a->user, session);
    } else if (status != UAR_OK) {
        code = report_error(a, &err, session);
    } else {
        code = print_messages(a, rt, session);
    }
    stores_close(rt);
    return code;
}
