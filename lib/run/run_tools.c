/*
 * Owns: run_call, one tool call that is running.
 *
 * Invariants: a call has one outcome, by its completion or by the run's detaching it; a call that was given up before its
 * tool was called never calls it; its texts live as long as it does; it is freed when nothing refers to it any more: not the
 * run's list, not its task, not its completion, not its letter.
 */
#include <assert.h>

#include "base/completion.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "run/run.h"

/* How long a cancelled tool may take to be seen stopped. */
#define TOOL_GRACE_MS 2000

struct run_call {
    run_call *next;
    run *r; /* a reference */
    atomic_uint refs;
    uint64_t number;
    const tool *tool;
    uar_tool_call call; /* texts in mem */
    arena mem;
    uar_completion *done;
    run_timer timer;     /* the actor's: deadline, then grace */
    bool stopping;       /* the actor's */
    atomic_bool begun;   /* who sets it decides: the tool runs, or never will */
    atomic_bool overdue; /* whatever failure the tool tells of from now on, its deadline was the cause */
    uar_task task;
    outcome_letter spare;
};

static void call_unref(run_call *c) {
    if (atomic_fetch_sub(&c->refs, 1) != 1) return;
    run *r = c->r;
    arena_dispose(&c->mem);
    completion_release(c->done);
    timer_unreserve(&r->env->timers, 1);
    alloc_free(&r->env->alloc, c);
    live_add(-1);
    run_unref(r);
}

static void release_spare(void *arg) {
    call_unref(arg);
}

/* ---- planning ---- */

static call_verdict approval_verdict(const run *r, const tool *t) {
    if (t->door.approval == UAR_APPROVAL_AUTO) return VERDICT_RUN;
    switch (r->spec.approvals) {
    case UAR_APPROVALS_AUTO: return VERDICT_APPROVE;
    case UAR_APPROVALS_DENY: return VERDICT_DENY;
    default: return VERDICT_ASK;
    }
}

void run_plan(run *r, uint64_t number) {
    const draft_call *c = &r->machine.draft.calls[number];
    buffer arguments, message;
    buffer_init(&arguments, &r->env->alloc, DRAFT_TEXT_MAX);
    buffer_init(&message, &r->env->alloc, DRAFT_TEXT_MAX);
    outcome o = { .kind = OUTCOME_PLANNED, .number = number, .verdict = VERDICT_REFUSE };
    const tool *t = tool_find(&r->env->tools, buffer_str(&c->name));
    if (t == NULL) {
        o.status = UAR_E_TOOL_UNKNOWN;
        tool_explain_unknown(&r->env->tools, buffer_str(&c->name), &message);
    } else {
        o.status = tool_check_arguments(t, buffer_str(&c->arguments), &arguments, &message);
        if (o.status == UAR_OK) o.verdict = approval_verdict(r, t);
    }
    o.text = buffer_str(&arguments);
    o.message = buffer_str(&message);
    if (o.verdict == VERDICT_APPROVE || o.verdict == VERDICT_DENY) o.message = STR("policy");
    if (o.status == UAR_E_NOMEM || message.status != UAR_OK)
        r->break_wanted = true;
    else
        run_post_outcome(r, &o);
    buffer_dispose(&arguments);
    buffer_dispose(&message);
}

/* ---- the outcome ---- */

/* What a host wrote may hold anything. */
static void append_clean(buffer *out, uar_str text) {
    utf8_lane lane;
    utf8_lane_init(&lane);
    utf8_lane_push(&lane, text, out);
    utf8_lane_end(&lane, out);
}

/* A text result as JSON. */
static void append_text_result(buffer *out, uar_str value, outcome *o) {
    if (memchr(value.ptr, 0, value.len) == NULL) {
        json_append_string(out, value);
        return;
    }
    buffer clean;
    buffer_init(&clean, out->alloc, DRAFT_TEXT_MAX);
    append_clean(&clean, value);
    json_append_string(out, buffer_str(&clean));
    if (clean.status != UAR_OK) out->status = clean.status;
    buffer_dispose(&clean);
    o->message = STR("the tool's result held U+0000; it was replaced by U+FFFD");
}

/* On one line: events are written a line each, and a model reads no layout. */
static void append_json_result(buffer *text, uar_str json) {
    cJSON *tree = NULL;
    uar_status status = json_read(&tree, text->alloc, json, SIZE_MAX, NULL);
    if (status == UAR_OK)
        json_append_node(text, tree);
    else
        text->status = status; /* the completion has read it before: it can only be memory */
    json_free(text->alloc, tree);
}

/* These say that a call was refused before it ran; a tool that did run can't have them. */
static bool speaks_of_planning(uar_status status) {
    return status == UAR_E_TOOL_UNKNOWN || status == UAR_E_TOOL_ARGUMENTS || status == UAR_E_TOOL_DENIED ||
           status == UAR_E_TRUNCATED;
}

#define OVERDUE_TEXT STR("The tool did not answer before its deadline; its effect is unknown.")

static outcome_letter *letter_of(run_call *c, const completion_result *result) {
    buffer text;
    buffer_init(&text, &c->r->env->alloc, DRAFT_TEXT_MAX);
    outcome o = { .kind = OUTCOME_TOOL_DONE, .number = c->number, .status = result->status };
    if (result->status != UAR_OK && atomic_load(&c->overdue)) {
        o.status = UAR_E_TIMEOUT;
        buffer_append_str(&text, OVERDUE_TEXT);
    } else if (result->status != UAR_OK) {
        if (speaks_of_planning(result->status)) o.status = UAR_E_TOOL_FAILED;
        buffer_append_text(&text, "The tool ");
        buffer_append_text(&text, c->tool->name);
        buffer_append_text(&text, " failed: ");
        const char *why = result->message != NULL ? result->message : uar_status_text(result->status);
        append_clean(&text, uar_str_of(why));
    } else if (result->is_text) {
        append_text_result(&text, result->value, &o);
    } else {
        append_json_result(&text, result->value);
    }
    o.text = buffer_str(&text);
    outcome_letter *l = text.status == UAR_OK ? outcome_letter_new(&c->r->env->alloc, &o) : NULL;
    buffer_dispose(&text);
    return l;
}

static void post_spare(run_call *c, uar_status status, uar_str message) {
    outcome o = { .kind = OUTCOME_TOOL_DONE, .number = c->number, .status = status, .text = message };
    c->spare.out = o;
    atomic_fetch_add(&c->refs, 1); /* the letter's */
    run_post(run_ref(c->r), &c->spare.head);
}

static void on_end(void *arg, const completion_result *result) {
    run_call *c = arg;
    outcome_letter *l = letter_of(c, result);
    if (l != NULL)
        run_post(run_ref(c->r), &l->head);
    else
        post_spare(c, UAR_E_NOMEM, STR("The result could not be taken: out of memory."));
    call_unref(c);
}

/* Stops waiting for the host. */
static void abandon(run_call *c, uar_status status, uar_str message) {
    if (!completion_detach(c->done)) return; /* it ended; its letter is on its way */
    post_spare(c, status, message);
    call_unref(c); /* the completion's */
}

/* ---- running ---- */

static void invoke(void *arg) {
    run_call *c = arg;
    run_env *env = c->r->env;
    if (!atomic_exchange(&c->begun, true)) {
        callout_frame frame;
        completion_lend(c->done);
        callout_enter(&env->calls, &frame, CALLOUT_TOOL);
        c->tool->door.invoke(c->tool->door.ctx, &c->call, c->done);
        callout_leave(&env->calls, &frame);
        completion_return(c->done);
    }
    call_unref(c);
}

static void tell_cancel(run_call *c) {
    const uar_tool *door = &c->tool->door;
    if (door->cancel == NULL) return;
    callout_frame frame;
    callout_enter(&c->r->env->calls, &frame, CALLOUT_TOOL);
    door->cancel(door->ctx, &c->call, c->done);
    callout_leave(&c->r->env->calls, &frame);
}

/* True if the tool has not been called and now never will be. */
static bool prevent(run_call *c) {
    return !atomic_exchange(&c->begun, true);
}

static run_call *call_of_timer(run_timer *t) {
    return (run_call *)(void *)((char *)t - offsetof(run_call, timer));
}

static void time_over(run *r, run_timer *t) {
    run_call *c = call_of_timer(t);
    if (c->stopping) {
        env_say(r->env, UAR_LOG_WARN, "tool %s did not stop in time; what it still answers is dropped", c->tool->name);
        abandon(c, UAR_E_CANCELLED, STR("The call was cancelled and did not stop in time; its effect is unknown."));
        return;
    }
    if (!uar_completion_is_open(c->done)) return;
    env_say(r->env, UAR_LOG_WARN, "tool %s is over its deadline; what it still answers is dropped", c->tool->name);
    atomic_store(&c->overdue, true);
    if (!prevent(c)) tell_cancel(c);
    abandon(c, UAR_E_TIMEOUT, OVERDUE_TEXT);
}

static bool copy_call(run *r, run_call *c, const draft_call *d) {
    uar_tool_call *call = &c->call;
    call->size = sizeof *call;
    call->run = r->id;
    call->owner = r->spec.owner;
    call->user = r->spec.user;
    call->session = r->spec.session;
    call->agent = r->spec.agent;
    call->tool = uar_str_of(c->tool->name);
    call->call = arena_str(&c->mem, buffer_str(&d->id));
    call->arguments = arena_str(&c->mem, buffer_str(&d->effective));
    return call->call.ptr != NULL && call->arguments.ptr != NULL;
}

static run_call *call_new(run *r, uint64_t number) {
    const draft_call *d = &r->machine.draft.calls[number];
    const uar_allocator *a = &r->env->alloc;
    run_call *c = ALLOC_NEW(a, run_call);
    if (c == NULL) return NULL;
    arena_init(&c->mem, a);
    c->number = number;
    c->tool = tool_find(&r->env->tools, buffer_str(&d->name));
    assert(c->tool != NULL);
    bool timed = timer_reserve(&r->env->timers, 1) == UAR_OK;
    bool copied = timed && copy_call(r, c, d);
    c->done = copied ? completion_new(a, COMPLETION_VALUE, on_end, c) : NULL;
    if (c->done == NULL) {
        if (timed) timer_unreserve(&r->env->timers, 1);
        arena_dispose(&c->mem);
        alloc_free(a, c);
        return NULL;
    }
    c->r = run_ref(r);
    atomic_init(&c->begun, false);
    atomic_init(&c->refs, 3); /* the run's list, the task, the completion */
    run_timer_init(&c->timer, r, time_over);
    outcome_letter_init(&c->spare, release_spare, c);
    live_add(1);
    return c;
}

void run_invoke(run *r, uint64_t number) {
    run_call *c = call_new(r, number);
    if (c == NULL) {
        r->break_wanted = true;
        return;
    }
    c->next = r->calls;
    r->calls = c;
    run_timer_start(&c->timer, c->tool->door.timeout_ms);
    c->task.fn = invoke;
    c->task.arg = c;
    r->env->executor.post(r->env->executor.ctx, &c->task, true);
}

static run_call *open_call(run *r, uint64_t number) {
    for (run_call *c = r->calls; c != NULL; c = c->next)
        if (c->number == number && uar_completion_is_open(c->done)) return c;
    return NULL;
}

void run_stop_tool(run *r, uint64_t number) {
    run_call *c = open_call(r, number);
    if (c == NULL) return; /* its outcome is on its way */
    c->stopping = true;
    run_timer_stop(&c->timer);
    if (prevent(c)) {
        abandon(c, UAR_E_CANCELLED, STR("The call was cancelled before it ran."));
        return;
    }
    if (c->tool->door.cancel == NULL) {
        abandon(c, UAR_E_CANCELLED, STR("The call was cancelled; its effect is unknown."));
        return;
    }
    tell_cancel(c);
    run_timer_start(&c->timer, TOOL_GRACE_MS);
}

void run_sweep_calls(run *r) {
    run_call **at = &r->calls;
    while (*at != NULL) {
        run_call *c = *at;
        if (uar_completion_is_open(c->done)) {
            at = &c->next;
            continue;
        }
        run_timer_stop(&c->timer);
        if (c->timer.armed) { /* its letter is on its way and still needs it */
            at = &c->next;
            continue;
        }
        *at = c->next;
        call_unref(c);
    }
}

void run_abandon_calls(run *r) {
    for (run_call *c = r->calls; c != NULL; c = c->next) {
        if (!uar_completion_is_open(c->done)) continue;
        if (!prevent(c)) tell_cancel(c);
        abandon(c, UAR_E_CANCELLED, STR("The run ended."));
    }
}
