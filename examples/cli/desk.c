/* The desk of chat and run: see desk.h. */
#include "desk.h"

#include "settings.h"
#include "signals.h"
#include "stores.h"
#include "terminal.h"
#include "tools_file.h"
#include "turn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RING_EVENTS = 65536, RING_BYTES = 256 * 1024 * 1024, POOL_THREADS = 4 };

struct desk {
    app own; /* the caller's, and what a person changed since */
    const app *app;
    char *session; /* of `own`, where it changed; so is `model` */
    char *model;
    editor *editor; /* NULL until somebody is asked */
    signals *signals;
    turn *turn;
    uar_runtime *rt;
    uar_memory *memory;
    tools_file tools;
    memory_choice choice;
    line_reader lines;
    turn_options how;
    uint32_t max_steps;
    const char *instructions;
};

/* On the signal thread. The first one cancels, the second doesn't wait for anything. */
static void signal_heard(void *ctx) {
    desk *d = ctx;
    if (!turn_interrupt(d->turn)) return;
    if (d->tools.calls != NULL) tool_calls_kill(d->tools.calls);
    terminal_restore();
    _exit(CODE_CANCELLED);
}

int desk_form_of(desk_form *out, const app *a) {
    const char *events = args_get(&a->args, "events");
    *out = a->json ? DESK_JSON : DESK_TEXT;
    if (events == NULL) return CODE_OK;
    if (strcmp(events, "json") == 0) {
        *out = DESK_JSON;
    } else if (strcmp(events, "text") == 0) {
        *out = DESK_TEXT;
    } else if (strcmp(events, "uar") == 0 || strcmp(events, "sse") == 0 || strcmp(events, "agui") == 0) {
        return report(a, UAR_E_UNSUPPORTED, "use text or json", "--events %s is not in this version", events);
    } else {
        return report_usage(a, "use text or json", "--events '%s' is not known", events);
    }
    return CODE_OK;
}

static int read_options(desk *d) {
    const args *in = &d->app->args;
    const char *approve = args_get(in, "approve");
    const char *steps = args_get(in, "max-steps");
    uint64_t count = 0;
    if (args_has(in, "budget")) return report(d->app, UAR_E_UNSUPPORTED, NULL, "--budget is not in this version");
    if (args_has(in, "policy")) return report(d->app, UAR_E_UNSUPPORTED, NULL, "--policy is not in this version");
    if (steps != NULL && (!parse_number(&count, steps, 10000) || count == 0))
        return report_usage(d->app, NULL, "--max-steps takes a whole number from 1 to 10000, not '%s'", steps);
    d->max_steps = (uint32_t)count;
    d->instructions = args_get(in, "instructions");
    d->how.approvals = UAR_APPROVALS_ASK;
    if (approve == NULL || strcmp(approve, "ask") == 0) return CODE_OK;
    if (strcmp(approve, "auto") == 0) {
        d->how.approvals = UAR_APPROVALS_AUTO;
    } else if (strcmp(approve, "deny") == 0) {
        d->how.approvals = UAR_APPROVALS_DENY;
    } else {
        return report_usage(d->app, "use ask, auto or deny", "--approve '%s' is not known", approve);
    }
    return CODE_OK;
}

static int open_runtime(desk *d) {
    uar_event_sink sink = turn_sink(d->turn);
    stores_extras extras = {
        .with_model = true, .sink = &sink, .tools = d->tools.tools, .tool_count = d->tools.count, .memory = d->memory
    };
    extras.options.threads = POOL_THREADS;
    extras.options.ring_events = RING_EVENTS;
    extras.options.ring_bytes = RING_BYTES;
    extras.options.max_steps = d->max_steps;
    extras.options.instructions = d->instructions;
    extras.options.memory_inject = d->choice.inject_context ? UAR_ON : UAR_OFF;
    extras.options.memory_capture = d->choice.auto_capture ? UAR_ON : UAR_OFF;
    extras.options.memory_max_tokens = d->choice.max_context_tokens;
    return stores_open(&d->rt, d->app, &extras);
}

int desk_open(desk **out, const app *a, desk_form form) {
    desk *d = must_alloc(sizeof *d);
    d->own = *a;
    d->app = &d->own;
    d->how.json = form == DESK_JSON;
    d->how.quiet = a->quiet;
    d->how.person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    d->how.screen = isatty(STDOUT_FILENO);
    d->how.styled = d->how.screen && !d->how.json && terminal_has_colours(STDOUT_FILENO);
    d->how.lively = d->how.person && d->how.screen && !d->how.json && !d->how.quiet && terminal_can_move();
    if (desk_has_person(d)) {
        terminal_keep();
        terminal_speak_utf8();
    }
    int code = read_options(d);
    if (code == CODE_OK) code = tools_file_read(&d->tools, a, args_get(&a->args, "tools"));
    if (code == CODE_OK) code = memory_choose(&d->choice, a);
    if (code == CODE_OK) {
        d->turn = turn_new(d->app, &d->how);
        d->signals = signals_start(signal_heard, d);
        if (d->signals == NULL) code = report(a, UAR_E_INTERNAL, NULL, "no thread or pipe for signals");
    }
    if (code == CODE_OK && d->choice.enabled) code = stores_memory(&d->memory, a);
    if (code == CODE_OK) code = open_runtime(d);
    if (code != CODE_OK) {
        desk_close(d);
        return code;
    }
    turn_attach(d->turn, d->rt, d->signals);
    *out = d;
    return CODE_OK;
}

void desk_greet(desk *d) {
    uar_error reason = UAR_ERROR_INIT;
    bool seen = isatty(STDERR_FILENO) && !d->app->quiet && !d->app->json;
    uar_memory_status state = uar_memory_state(d->memory, &reason);
    if (state == UAR_MEMORY_UNAVAILABLE) {
        const char *why = reason.message[0] != '\0' ? reason.message : uar_status_text(reason.code);
        if (d->app->json) {
            notice(d->app, false, UAR_E_UNAVAILABLE, "memory: unavailable (%s)", why);
        } else {
            text_buffer shown = { 0 };
            text_add_visible(&shown, uar_str_of(why), false);
            fprintf(stderr, "memory: unavailable (%s)\n", shown.data);
            text_free(&shown);
        }
    } else if (seen && state == UAR_MEMORY_DISABLED) {
        fprintf(stderr, "memory: off\n");
    } else if (seen) {
        uar_identity who;
        uar_memory_stats stats;
        uar_identity_init(&who);
        who.owner = uar_str_of(d->app->owner);
        who.user = uar_str_of(d->app->user);
        who.agent = uar_str_of(d->app->agent);
        who.session = uar_str_of(d->app->session);
        who.task = uar_str_of(d->app->task);
        bool counted = uar_memory_stats_sync(&stats, d->memory, &who, NULL, NULL) == UAR_OK;
        if (counted) fprintf(stderr, "memory: on (%" PRIu64 " records)\n", stats.total);
        if (!counted) fprintf(stderr, "memory: on\n");
    }
}

int desk_turn(desk *d, uar_str input) {
    uar_run_request request;
    uar_run_request_init(&request);
    request.owner = d->app->owner;
    request.user = d->app->user;
    request.session = d->app->session;
    request.agent = d->app->agent;
    request.task = d->app->task;
    request.input = input.ptr;
    request.input_len = input.len;
    request.approvals = d->how.approvals;
    request.memory = d->choice.enabled ? UAR_INHERIT : UAR_OFF;
    request.max_steps = d->max_steps;
    return turn_take(d->turn, &request, desk_editor(d));
}

uar_usage desk_usage(const desk *d) {
    return turn_usage(d->turn);
}

line_kind desk_line(desk *d, text_buffer *line) {
    return lines_next(line, &d->lines, signals_wake_fd(d->signals));
}

bool desk_has_person(const desk *d) {
    return d->how.person && !d->how.json;
}

const app *desk_app(const desk *d) {
    return d->app;
}

uar_runtime *desk_runtime(desk *d) {
    return d->rt;
}

uar_memory *desk_memory(desk *d) {
    return d->memory;
}

editor *desk_editor(desk *d) {
    if (d->editor == NULL) {
        char *history = desk_has_person(d) ? stores_place(d->app, NULL, "chat.history") : NULL;
        d->editor = editor_open(&d->lines, signals_wake_fd(d->signals), signals_screen_fd(d->signals), history);
        free(history);
    }
    return d->editor;
}

bool desk_calm(desk *d) {
    signals_calm(d->signals);
    return signals_ended(d->signals);
}

bool desk_is_ended(const desk *d) {
    return signals_ended(d->signals);
}

void desk_use_session(desk *d, const char *session) {
    char *copy = must_copy(uar_str_of(session));
    free(d->session);
    d->session = copy;
    d->own.session = copy;
}

int desk_use_model(desk *d, const char *spec) {
    app other = d->own;
    char *copy = must_copy(uar_str_of(spec));
    other.model = copy;
    int code = stores_check_model(&other);
    if (code != CODE_OK) {
        free(copy);
        return CODE_USAGE;
    }
    stores_close(d->rt);
    d->rt = NULL;
    free(d->model);
    d->model = copy;
    d->own.model = copy;
    turn_attach(d->turn, NULL, d->signals);
    code = open_runtime(d);
    if (code == CODE_OK) turn_attach(d->turn, d->rt, d->signals);
    return code;
}

void desk_close(desk *d) {
    editor_close(d->editor);
    signals_stop(d->signals); /* from here on a signal just ends the program */
    if (d->rt != NULL) stores_close(d->rt);
    tools_file_free(&d->tools);
    turn_free(d->turn);
    uar_memory_free(d->memory);
    lines_free(&d->lines);
    free(d->session);
    free(d->model);
    free(d);
}
