/* A chat with a person: see conversation.h. The session used last is a stored setting of its own for each user. */
#include "conversation.h"

#include "json_out.h"
#include "json_syntax.h"
#include "output.h"
#include "slash.h"
#include "terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Dim where the terminal can do it. */
static void say_aside(const char *text) {
    bool dim = terminal_has_colours(STDERR_FILENO);
    fprintf(stderr, "%s%s%s\n", dim ? "\033[2m" : "", text, dim ? "\033[0m" : "");
}

static char *last_key(const app *a) {
    text_buffer key = { 0 };
    text_add_z(&key, "chat.last_session.");
    text_add_z(&key, a->user);
    return key.data;
}

/* The session that this user was in last, or NULL. Free with free(). */
static char *last_session(desk *d) {
    uar_reply *reply = NULL;
    char *session = NULL;
    char *key = last_key(desk_app(d));
    uar_status status = uar_setting_get_sync(&reply, desk_runtime(d), desk_app(d)->owner, key, NULL);
    if (status == UAR_OK && reply->count == 1) {
        const char *why = NULL;
        size_t fault = 0;
        cJSON *value = json_parse(reply->settings[0].value, &fault, &why);
        if (cJSON_IsString(value) && is_host_id(value->valuestring))
            session = must_copy(uar_str_of(value->valuestring));
        cJSON_Delete(value);
    }
    uar_reply_free(reply);
    free(key);
    return session;
}

static void keep_last_session(desk *d) {
    const app *a = desk_app(d);
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    char *key = last_key(a);
    char *value = node_line(node_z(a->session));
    if (uar_setting_put_sync(&reply, desk_runtime(d), a->owner, key, uar_str_of(value), &err) != UAR_OK)
        report_error(a, &err, "the session can't be noted as the last one");
    uar_reply_free(reply);
    free(value);
    free(key);
}

bool conversation_count(uint64_t *messages, desk *d, const char *session) {
    const app *a = desk_app(d);
    uar_reply *reply = NULL;
    bool there =
        uar_session_load_sync(&reply, desk_runtime(d), a->owner, a->user, session, NULL) == UAR_OK && reply->count == 1;
    if (there) *messages = reply->sessions[0].messages;
    uar_reply_free(reply);
    return there;
}

void conversation_name_session(desk *d, const char *why) {
    text_buffer line = { 0 };
    char rest[64];
    uint64_t messages = 0;
    bool there = conversation_count(&messages, d, desk_app(d)->session);
    text_add_z(&line, "session: ");
    text_add_visible(&line, uar_str_of(desk_app(d)->session), false);
    snprintf(rest, sizeof rest, " (%" PRIu64 " message%s", messages, messages == 1 ? "" : "s");
    text_add_z(&line, there ? rest : " (new");
    if (why != NULL) text_add_z(&line, ", ");
    if (why != NULL) text_add_z(&line, why);
    fprintf(stderr, "%s)\n", line.data);
    text_free(&line);
}

/* Name what the person talks to, in which session. */
static void greet(desk *d) {
    const app *a = desk_app(d);
    const char *why = NULL;
    if (args_get(&a->args, "session") == NULL) {
        char *last = last_session(d);
        if (last != NULL) desk_use_session(d, last);
        if (last != NULL) why = "resumed";
        free(last);
    }
    if (!a->quiet) {
        text_buffer model = { 0 };
        text_add_visible(&model, uar_str_of(a->model), false);
        fprintf(stderr, "model: %s\n", model.data);
        text_free(&model);
    }
    desk_greet(d);
    if (a->quiet) return;
    conversation_name_session(d, why);
    say_aside("/help lists commands, Ctrl-D ends");
}

static void add_bucket(text_buffer *line, const char *name, uint64_t count, bool known) {
    char text[64];
    snprintf(text, sizeof text, known ? "%s %" PRIu64 : "%s unknown", name, count);
    text_add_z(line, text);
}

static void say_usage(const desk *d) {
    uar_usage u = desk_usage(d);
    text_buffer line = { 0 };
    if (desk_app(d)->quiet) return;
    text_add_z(&line, "tokens: ");
    add_bucket(&line, "input", u.input, u.known);
    add_bucket(&line, ", cache read", u.cache_read, u.known);
    add_bucket(&line, ", cache write", u.cache_write, u.known);
    add_bucket(&line, ", output", u.output, u.known);
    text_add_z(&line, "; money: unknown");
    say_aside(line.data);
    text_free(&line);
}

static void take_turn(desk *d, uar_str text, char **noted) {
    const app *a = desk_app(d);
    size_t bad = text_fault(text.ptr, text.len);
    if (bad < text.len) {
        report(a, UAR_E_UTF8, NULL, "the line is not valid UTF-8 at byte %zu", bad + 1);
        return;
    }
    if (*noted == NULL || strcmp(*noted, a->session) != 0) {
        free(*noted);
        *noted = must_copy(uar_str_of(a->session));
        keep_last_session(d);
    }
    desk_turn(d, text);
    say_usage(d);
}

/* A line that was read: false ends the chat, with *code saying why. */
static bool take_line(desk *d, text_buffer *line, char **noted, int *code) {
    if (line->len > 0 && line->data[line->len - 1] == '\r') line->data[--line->len] = '\0';
    uar_str text = text_str(line);
    if (line->len == 0 || strspn(line->data, " \t") == line->len) return true;
    editor_keep(desk_editor(d), text);
    if (text.ptr[0] == '/' && (text.len < 2 || text.ptr[1] != '/')) return slash_take(d, line->data, code);
    if (text.ptr[0] == '/') text = uar_str_n(text.ptr + 1, text.len - 1); /* "//x" says "/x" */
    take_turn(d, text, noted);
    return true;
}

/* Ctrl-C at the prompt. False: it was the second one, or somebody asked the program to end. */
static bool go_on(desk *d, bool again) {
    fputc('\n', stderr);
    if (desk_calm(d) || again) return false;
    say_aside("Ctrl-C again ends the chat");
    return true;
}

int conversation_hold(desk *d) {
    text_buffer line = { 0 };
    char *noted = NULL;
    int code = CODE_OK;
    bool interrupted = false;
    greet(d);
    for (bool open = true; open && output_fault() == 0;) {
        line_kind kind = editor_line(&line, desk_editor(d), "> ", NULL);
        if (kind == LINE_INTERRUPTED) open = go_on(d, interrupted);
        if (kind == LINE_END) fputc('\n', stderr);
        if (kind == LINE_END) open = false;
        if (kind == LINE_TOO_LONG) report(desk_app(d), UAR_E_TOO_LARGE, NULL, "the line is too long");
        if (kind == LINE_READ) open = take_line(d, &line, &noted, &code) && !desk_is_ended(d);
        interrupted = kind == LINE_INTERRUPTED;
    }
    free(noted);
    text_free(&line);
    return code;
}
