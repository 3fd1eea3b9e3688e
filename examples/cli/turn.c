/*
 * One turn: see turn.h.
 *
 * Lock order: `lock` is innermost and is held over no call of the library, but for uar_run_start: it keeps the sink from
 * judging events by a run id that hasn't been stored yet; starting calls nothing back on its own thread.
 */
#include "turn.h"

#include "approval.h"
#include "json_out.h"
#include "markdown.h"
#include "output.h"
#include "spinner.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A call that a person must decide on. */
typedef struct question {
    struct question *next;
    char *call;
    char *tool;
    char *arguments;
} question;

struct turn {
    const app *app;
    const turn_options *how;
    uar_runtime *rt;
    signals *signals;

    pthread_mutex_t lock;
    pthread_cond_t moved;
    uar_run_id run; /* none while nothing runs */
    bool closed;
    bool cancelled;      /* somebody asked for it */
    unsigned interrupts; /* signals in this turn */
    question *questions;
    uar_status ended; /* how the terminal event says it ended */
    char *message;    /* its text, or NULL */
    uar_usage usage;  /* what it counts */

    spinner *spinner;  /* NULL: none */
    markdown markdown; /* the answer on its way to a terminal; of the sink's thread, then of turn_take */
    bool mid_line;     /* the answer on stdout didn't end with a line feed; of the sink's thread, then of turn_take */
};

turn *turn_new(const app *a, const turn_options *how) {
    turn *t = must_alloc(sizeof *t);
    t->app = a;
    t->how = how;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->moved, NULL);
    return t;
}

static void question_free(question *q) {
    free(q->call);
    free(q->tool);
    free(q->arguments);
    free(q);
}

static void questions_drop(turn *t) {
    while (t->questions != NULL) {
        question *q = t->questions;
        t->questions = q->next;
        question_free(q);
    }
}

void turn_free(turn *t) {
    if (t == NULL) return;
    questions_drop(t);
    spinner_stop(t->spinner);
    text_free(&t->markdown.held);
    pthread_cond_destroy(&t->moved);
    pthread_mutex_destroy(&t->lock);
    free(t->message);
    free(t);
}

void turn_attach(turn *t, uar_runtime *rt, signals *s) {
    pthread_mutex_lock(&t->lock);
    t->rt = rt;
    t->signals = s;
    pthread_mutex_unlock(&t->lock);
    /* Not before signals are blocked for every new thread. */
    if (t->how->lively && t->spinner == NULL) t->spinner = spinner_start();
}

/* Cancel the run, once. From any thread, callbacks too. */
static void cancel(turn *t, const char *reason) {
    pthread_mutex_lock(&t->lock);
    uar_run_id run = t->run;
    bool first = !t->cancelled && !uar_uuid_is_none(run);
    if (first) t->cancelled = true;
    pthread_mutex_unlock(&t->lock);
    if (first) uar_run_cancel(t->rt, run, UAR_CANCEL_NOW, reason, NULL);
}

bool turn_interrupt(turn *t) {
    pthread_mutex_lock(&t->lock);
    bool running = !uar_uuid_is_none(t->run) && !t->closed;
    bool again = t->rt == NULL || (running && t->interrupts++ > 0);
    pthread_mutex_unlock(&t->lock);
    if (running && !again) cancel(t, "interrupted");
    return again;
}

static bool is_ours(turn *t, uar_run_id run) {
    pthread_mutex_lock(&t->lock);
    bool ours = uar_uuid_equal(t->run, run) && !uar_uuid_is_none(run);
    pthread_mutex_unlock(&t->lock);
    return ours;
}

/* Nobody reads the answer: the run has no use any more. */
static void write_out(turn *t, const char *bytes, size_t len) {
    if (!output_bytes(bytes, len)) cancel(t, "standard output is closed");
}

static void show_json(turn *t, const uar_event *event) {
    text_buffer line = { 0 };
    uar_status status = uar_event_write_json(event, text_write, &line);
    assert(status == UAR_OK);
    (void)status;
    text_add_z(&line, "\n");
    write_out(t, line.data, line.len);
    text_free(&line);
}

static void end_line(turn *t) {
    text_buffer rest = { 0 };
    if (t->how->styled) markdown_end(&t->markdown, &rest);
    if (rest.len > 0) write_out(t, rest.data, rest.len);
    text_free(&rest);
    if (t->mid_line) write_out(t, "\n", 1);
    t->mid_line = false;
}

static void show_answer(turn *t, uar_str text) {
    if (text.len == 0) return;
    t->mid_line = text.ptr[text.len - 1] != '\n';
    if (!t->how->screen) {
        write_out(t, text.ptr, text.len);
        return;
    }
    text_buffer shown = { 0 };
    text_buffer styled = { 0 };
    text_add_visible(&shown, text, true);
    if (t->how->styled) markdown_feed(&t->markdown, &styled, text_str(&shown));
    write_out(t, t->how->styled ? styled.data : shown.data, t->how->styled ? styled.len : shown.len);
    text_free(&styled);
    text_free(&shown);
}

static void show_text(turn *t, const uar_event *event) {
    if (event->kind == UAR_EVENT_CHAT_DELTA) {
        show_answer(t, event->chat_delta.text);
        return;
    }
    /* What a superseded attempt wrote can't be taken back; the next one begins on a line of its own. */
    bool asks = event->kind == UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED && t->how->person;
    if (event->kind == UAR_EVENT_ATTEMPT_SUPERSEDED || (asks && t->how->screen)) end_line(t);
    bool told_otherwise = event->kind == UAR_EVENT_RUN_FAILED || asks;
    if (t->how->quiet || told_otherwise) return;
    text_buffer line = { 0 };
    uar_event_write_text(event, text_write, &line);
    if (line.len > 0) {
        if (t->how->screen) end_line(t);
        fwrite(line.data, 1, line.len, stderr);
    }
    text_free(&line);
}

static uar_status status_of_name(uar_str name) {
    static const uar_status all[] = {
#define UAR_X_VALUE(code, value, band, text) UAR_##code,
        UAR_STATUSES(UAR_X_VALUE)
#undef UAR_X_VALUE
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (uar_str_equal(name, uar_str_of(uar_status_name(all[i])))) return all[i];
    return UAR_E_INTERNAL;
}

static void remember_end(turn *t, const uar_event *event) {
    uar_status status = UAR_OK;
    char *message = NULL;
    uar_usage usage = event->kind == UAR_EVENT_RUN_DONE ? event->run_done.usage : event->cancelled.usage;
    if (event->kind == UAR_EVENT_CANCELLED) status = UAR_E_CANCELLED;
    if (event->kind == UAR_EVENT_RUN_FAILED) {
        usage = event->run_failed.usage;
        status = status_of_name(event->run_failed.code);
        message = must_copy(event->run_failed.message);
    }
    pthread_mutex_lock(&t->lock);
    t->ended = status;
    free(t->message);
    t->message = message;
    t->usage = usage;
    pthread_mutex_unlock(&t->lock);
}

/* A decision that isn't taken would leave the run waiting for ever: it is cancelled instead. */
static void settle(turn *t, uar_status status, const uar_error *err) {
    if (status == UAR_OK || status == UAR_E_STALE) return;
    report_error(t->app, err, "the decision was not taken");
    cancel(t, "a decision was not taken");
}

static void approve(turn *t, uar_run_id run, const char *call) {
    uar_error err = UAR_ERROR_INIT;
    settle(t, uar_run_approve(t->rt, run, call, NULL, &err), &err);
}

static void deny(turn *t, uar_run_id run, const char *call, const char *reason) {
    uar_error err = UAR_ERROR_INIT;
    settle(t, uar_run_deny(t->rt, run, call, reason, &err), &err);
}

/* Approve with other arguments. False: they can't be used, and the call still waits. */
static bool decide(turn *t, uar_run_id run, const char *call, const char *arguments, uar_error *err) {
    uar_status status = uar_run_approve(t->rt, run, call, arguments, err);
    if (uar_status_band(status) == UAR_BAND_DATA && status != UAR_E_NOT_FOUND) return false;
    if (status == UAR_E_INVALID) return false;
    settle(t, status, err);
    return true;
}

/* A person is asked by turn_take; without one the call is denied here. */
static void approval_wanted(turn *t, const uar_event *event) {
    const uar_event_tool_call_approval_required *what = &event->tool_call_approval_required;
    if (t->how->approvals != UAR_APPROVALS_ASK) return;
    char *call = must_copy(what->call);
    if (!t->how->person) {
        notice(t->app, false, UAR_E_TOOL_DENIED,
               "tool '%.*s' was denied: there is no terminal to ask on (see --approve)", (int)what->tool.len,
               what->tool.ptr);
        deny(t, event->run, call, "there is nobody to ask");
        free(call);
        return;
    }
    question *q = must_alloc(sizeof *q);
    q->call = call;
    q->tool = must_copy(what->tool);
    q->arguments = must_copy(what->arguments);
    pthread_mutex_lock(&t->lock);
    question **at = &t->questions;
    while (*at != NULL)
        at = &(*at)->next;
    *at = q;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}

static void on_event(void *ctx, const uar_event *event) {
    turn *t = ctx;
    if (!is_ours(t, event->run)) return;
    bool over = uar_event_is_terminal(event->kind);
    spinner_hide(t->spinner);
    if (t->how->json) show_json(t, event);
    if (!t->how->json) show_text(t, event);
    if (over) remember_end(t, event);
    if (!over && !t->mid_line) spinner_show(t->spinner);
    if (event->kind == UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED) approval_wanted(t, event);
}

static void on_gap(void *ctx, const uar_gap *gap) {
    turn *t = ctx;
    char run[UAR_UUID_TEXT];
    if (!is_ours(t, gap->run)) return;
    uar_uuid_format(run, gap->run);
    spinner_hide(t->spinner);
    notice(t->app, false, UAR_E_DROPPED,
           "events %" PRIu64 " to %" PRIu64 " of run %s are missing: standard output is too slow", gap->first,
           gap->last, run);
}

static void on_closed(void *ctx, uar_run_id run) {
    turn *t = ctx;
    if (!is_ours(t, run)) return;
    pthread_mutex_lock(&t->lock);
    /* Somebody may wait for an answer that isn't needed any more. Inside the lock: turn_take calms it afterwards. */
    signals_wake(t->signals);
    t->closed = true;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}

uar_event_sink turn_sink(turn *t) {
    uar_event_sink sink;
    memset(&sink, 0, sizeof sink);
    sink.struct_size = UAR_EVENT_SINK_INIT;
    sink.ctx = t;
    sink.on_event = on_event;
    sink.on_gap = on_gap;
    sink.on_closed = on_closed;
    return sink;
}

/* Ask about one call until it is decided, or a signal or the end of the run comes first. */
static void ask(turn *t, uar_run_id run, const question *q, editor *answers) {
    text_buffer text = { 0 };
    approval answer = APPROVAL_EDITED;
    char *draft = must_copy(uar_str_of(q->arguments));
    editor_forget(answers);
    approval_show(q->tool, q->arguments);
    do {
        uar_error err = UAR_ERROR_INIT;
        answer = approval_ask(&text, answers, draft);
        if (answer == APPROVAL_EDITED) {
            free(draft);
            draft = must_copy(text_str(&text));
            if (decide(t, run, q->call, draft, &err)) break;
            report_error(t->app, &err, "the arguments can't be used");
        }
    } while (answer == APPROVAL_EDITED);
    if (answer == APPROVAL_YES) approve(t, run, q->call);
    if (answer == APPROVAL_NO) deny(t, run, q->call, text.len > 0 ? text.data : "the user said no");
    if (answer == APPROVAL_LEFT) {
        signals_calm(t->signals);
        fputc('\n', stderr);
    }
    free(draft);
    text_free(&text);
}

/* Until the run is closed: put questions to the person as they come. */
static void attend(turn *t, uar_run_id run, editor *answers) {
    pthread_mutex_lock(&t->lock);
    while (!t->closed) {
        question *q = t->cancelled ? NULL : t->questions;
        if (q == NULL) {
            pthread_cond_wait(&t->moved, &t->lock);
            continue;
        }
        t->questions = q->next;
        pthread_mutex_unlock(&t->lock);
        spinner_hold(t->spinner, true);
        ask(t, run, q, answers);
        spinner_hold(t->spinner, false);
        question_free(q);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

/* How the run ended: by its outcome, or where that is gone already, by its terminal event. */
static int judge(turn *t, uar_run_id run) {
    uar_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    uar_status status = t->ended;
    const char *message = t->message;
    if (uar_run_poll(&outcome, t->rt, run) == UAR_OK) {
        status = outcome.status;
        if (outcome.error.message[0] != '\0') message = outcome.error.message;
    }
    if (status == UAR_OK || output_fault() == EPIPE) return code_of_outcome(status);
    if (status == UAR_E_CANCELLED) {
        if (t->app->json) report(t->app, status, NULL, "the run was cancelled");
        return CODE_CANCELLED;
    }
    report(t->app, status, NULL, "the run failed: %s: %s", uar_status_name(status),
           message != NULL && message[0] != '\0' ? message : uar_status_text(status));
    return code_of_outcome(status);
}

static void reset(turn *t) {
    questions_drop(t);
    free(t->message);
    t->message = NULL;
    t->closed = false;
    t->cancelled = false;
    t->interrupts = 0;
    t->ended = UAR_E_INTERNAL;
    t->mid_line = false;
    memset(&t->run, 0, sizeof t->run);
    memset(&t->usage, 0, sizeof t->usage);
}

uar_usage turn_usage(const turn *t) {
    return t->usage;
}

int turn_take(turn *t, const uar_run_request *request, editor *answers) {
    uar_error err = UAR_ERROR_INIT;
    uar_run_id run;
    pthread_mutex_lock(&t->lock);
    reset(t);
    uar_status status = uar_run_start(&run, t->rt, request, &err);
    if (status == UAR_OK) t->run = run;
    pthread_mutex_unlock(&t->lock);
    if (status != UAR_OK) return report_error(t->app, &err, "the run can't start");
    if (signals_pending(t->signals)) cancel(t, "interrupted"); /* it came before there was a run to cancel */
    attend(t, run, answers);
    spinner_hide(t->spinner);
    end_line(t);
    int code = judge(t, run);
    pthread_mutex_lock(&t->lock);
    memset(&t->run, 0, sizeof t->run);
    pthread_mutex_unlock(&t->lock);
    signals_calm(t->signals);
    return code;
}
