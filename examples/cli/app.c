/* One invocation: see app.h. Diagnostics go to stderr only, made visible so that no text can drive the terminal. */
#include "app.h"

#include "embedder_spec.h"
#include "json_out.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int code_of_status(uar_status status) {
    switch (status) {
    case UAR_OK: return CODE_OK;
    case UAR_E_NOT_FOUND: return CODE_NOT_FOUND;
    case UAR_E_BUSY: return CODE_BUSY;
    case UAR_E_CANCELLED: return CODE_CANCELLED;
    case UAR_E_PARKED: return CODE_PAUSED;
    case UAR_E_UNAVAILABLE:
    case UAR_E_STORE_CONFLICT: return CODE_STORE;
    case UAR_E_INVALID:
    case UAR_E_UNSUPPORTED:
    case UAR_E_EXISTS:
    case UAR_E_FILTER_REQUIRED:
    case UAR_E_FORBIDDEN:
    case UAR_E_JSON:
    case UAR_E_UTF8:
    case UAR_E_SCHEMA:
    case UAR_E_TOO_LARGE: return CODE_USAGE;
    default: return uar_status_band(status) == UAR_BAND_STORE ? CODE_STORE : CODE_FAILED;
    }
}

int code_of_outcome(uar_status status) {
    switch (status) {
    case UAR_OK: return CODE_OK;
    case UAR_E_CANCELLED: return CODE_CANCELLED;
    case UAR_E_PARKED: return CODE_PAUSED;
    case UAR_E_BUSY: return CODE_BUSY;
    default: return uar_status_band(status) == UAR_BAND_STORE ? CODE_STORE : CODE_FAILED;
    }
}

static void say_json(uar_status status, const char *message, const char *hint) {
    cJSON *line = cJSON_CreateObject();
    cJSON *error = cJSON_AddObjectToObject(line, "error");
    node_set(error, "code", node_z(uar_status_name(status)));
    node_set(error, "message", node_z(message));
    node_set(error, "hint", node_z(hint));
    char *text = node_line(line);
    fprintf(stderr, "%s\n", text);
    free(text);
}

static void say_text(const char *message, const char *hint) {
    text_buffer line = { 0 };
    text_add_z(&line, "uar: ");
    text_add_visible(&line, uar_str_of(message), false);
    if (hint != NULL) {
        text_add_z(&line, "; ");
        text_add_visible(&line, uar_str_of(hint), false);
    }
    text_add_z(&line, "\n");
    fwrite(line.data, 1, line.len, stderr);
    text_free(&line);
}

__attribute__((format(printf, 4, 0))) static void say(const app *a, uar_status status, const char *hint,
                                                      const char *format, va_list arguments) {
    char message[1024];
    vsnprintf(message, sizeof message, format, arguments);
    size_t end = text_fault(message, strlen(message));
    if (strlen(message) - end < 4) message[end] = '\0'; /* the cut may have split a character */
    if (a->json) {
        say_json(status, message, hint);
    } else {
        say_text(message, hint);
    }
}

int report(const app *a, uar_status status, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(a, status, hint, format, arguments);
    va_end(arguments);
    return code_of_status(status);
}

int report_usage(const app *a, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(a, UAR_E_INVALID, hint, format, arguments);
    va_end(arguments);
    return CODE_USAGE;
}

static const char *hint_of(uar_status status) {
    switch (status) {
    case UAR_E_NEWER: return "use the version that wrote it, or another --store";
    case UAR_E_CORRUPT: return "restore it from a backup, or use another --store";
    case UAR_E_CANTOPEN: return "check the path and the rights of --store";
    case UAR_E_FULL: return "make room on the disk";
    case UAR_E_BUSY: return "another process has it; try again later";
    case UAR_E_FORBIDDEN: return "global and agent scope need --allow-shared-memory";
    default: return NULL;
    }
}

int report_error(const app *a, const uar_error *err, const char *what) {
    uar_status status = err->code != UAR_OK ? err->code : UAR_E_INTERNAL;
    const char *why = err->message[0] != '\0' ? err->message : uar_status_text(status);
    return report(a, status, hint_of(status), "%s%s%s", what, what[0] != '\0' ? ": " : "", why);
}

void notice(const app *a, bool chatty, uar_status status, const char *format, ...) {
    if (chatty && a->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    say(a, status, NULL, format, arguments);
    va_end(arguments);
}

static const char *or_default(const char *value, const char *fallback) {
    return value != NULL ? value : fallback;
}

static int check_ids(const app *a) {
    const struct {
        const char *name, *value;
    } ids[] = { { "owner", a->owner },
                { "user", a->user },
                { "agent", a->agent },
                { "session", a->session },
                { "task", a->task } };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (ids[i].value != NULL && !is_host_id(ids[i].value))
            return report_usage(a, NULL, "--%s must be 1 to 128 bytes of UTF-8 without control characters",
                                ids[i].name);
    }
    if (strcmp(a->owner, "~") == 0) return report_usage(a, NULL, "--owner '~' is reserved");
    return CODE_OK;
}

int app_init(app *a) {
    const args *in = &a->args;
    a->json = args_has(in, "json");
    a->quiet = args_has(in, "quiet");
    a->store = args_get(in, "store");
    a->owner = or_default(args_get(in, "owner"), "local");
    a->user = or_default(args_get(in, "user"), "me");
    a->agent = or_default(args_get(in, "agent"), "assistant");
    a->session = or_default(args_get(in, "session"), "default");
    a->task = args_get(in, "task");
    a->model = or_default(args_get(in, "model"), "offline");
    a->shared_memory = args_has(in, "allow-shared-memory");
    if (args_has(in, "memory") && args_has(in, "no-memory"))
        return report_usage(a, NULL, "--memory and --no-memory contradict each other");
    a->memory = args_has(in, "memory") ? UAR_ON : args_has(in, "no-memory") ? UAR_OFF : UAR_INHERIT;
    a->embedder = or_default(args_get(in, "embedder"), "auto");
    uar_error err = UAR_ERROR_INIT;
    if (embedder_spec_check(a->embedder, &err) != UAR_OK)
        return report_usage(a, "use auto, lexical, bert:DIR or openai:URL#NAME", "--embedder '%s': %s", a->embedder,
                            err.message);
    return check_ids(a);
}
