/* See machine_witness.h. Each function that checks says the promise in words; the first one that is broken is kept. */
#include "sim/machine_witness.h"

#include "base/str.h"

#define PROMISE(w, holds, words)                                \
    do {                                                        \
        if (!(holds) && (w)->fault == NULL) (w)->fault = words; \
    } while (0)

void witness_init(witness *w, const machine_limits *limits) {
    memset(w, 0, sizeof *w);
    w->max_steps = limits->max_steps;
    w->parallel_tools = limits->parallel_tools;
    buffer_init(&w->heard, &alloc_default, SIZE_MAX / 4);
    buffer_init(&w->expected, &alloc_default, SIZE_MAX / 4);
    utf8_lane_init(&w->lane);
}

void witness_dispose(witness *w) {
    buffer_dispose(&w->heard);
    buffer_dispose(&w->expected);
}

bool witness_waits(const witness *w) {
    bool calls = false;
    for (size_t i = 0; i < w->call_count; i++) {
        const witness_call *c = &w->calls[i];
        calls = calls || c->planning || c->running || (c->asked_aloud && !c->decided && !c->gone && !c->ended_aloud);
    }
    return calls || w->admit || w->recall || w->save || w->model || w->wait || w->capture;
}

/* ---- what it was told ---- */

static witness_call *call_numbered(witness *w, uint64_t number) {
    return number < w->call_count ? &w->calls[number] : NULL;
}

static witness_call *call_indexed(witness *w, uint32_t index) {
    for (size_t i = 0; i < w->call_count; i++)
        if (w->calls[i].index == index) return &w->calls[i];
    witness_call *c = &w->calls[w->call_count++];
    memset(c, 0, sizeof *c);
    c->index = index;
    return c;
}

static void told_piece(witness *w, const outcome *o) {
    witness_call *c = call_indexed(w, (uint32_t)o->number);
    c->has_arguments = c->has_arguments || o->text.len > 0;
}

/* The token limit cuts the last call, and one that had no arguments yet. */
static void told_limit(witness *w) {
    for (size_t i = 0; i < w->call_count; i++) {
        witness_call *c = &w->calls[i];
        if (c->has_arguments && i + 1 < w->call_count) continue;
        c->has_outcome = true;
        c->outcome_at = w->now;
    }
}

static void told_model_end(witness *w, const outcome *o) {
    w->model = false;
    w->spent.input += w->current.input;
    w->spent.output += w->current.output;
    memset(&w->current, 0, sizeof w->current);
    if (w->model_stop_told) return;
    utf8_lane_end(&w->lane, &w->expected);
    w->finish = o->finish;
    if (o->kind == OUTCOME_MODEL_FINISHED && o->finish == UAR_FINISH_LENGTH) told_limit(w);
}

static void told_plan(witness *w, const outcome *o) {
    witness_call *c = call_numbered(w, o->number);
    if (c == NULL || !c->planning) return;
    c->planning = false;
    c->arguments = o->text;
    c->may_run = o->verdict != VERDICT_REFUSE && o->verdict != VERDICT_DENY;
    c->asks = o->verdict == VERDICT_ASK || o->verdict == VERDICT_APPROVE || o->verdict == VERDICT_DENY;
    c->decided = o->verdict == VERDICT_APPROVE || o->verdict == VERDICT_DENY;
    c->approved = o->verdict == VERDICT_APPROVE;
    c->decided_at = w->now;
    if (c->may_run) return;
    c->has_outcome = true;
    c->outcome_at = w->now;
    if (o->verdict == VERDICT_REFUSE) c->result = o->message;
}

static void told_decision(witness *w, const outcome *o) {
    witness_call *c = call_numbered(w, o->number);
    PROMISE(w, c != NULL && c->asked_aloud && !c->decided, "only a call that was asked about, once, takes a decision");
    if (c == NULL) return;
    c->decided = true;
    c->approved = o->approved;
    c->decided_at = w->now;
    if (!o->approved) {
        c->has_outcome = true;
        c->outcome_at = w->now;
    } else if (o->text.ptr != NULL) {
        c->arguments = o->text;
    }
}

static void told_tool_end(witness *w, const outcome *o) {
    witness_call *c = call_numbered(w, o->number);
    PROMISE(w, c != NULL && c->running, "only a call that runs takes an outcome");
    if (c == NULL) return;
    c->running = false;
    c->has_outcome = true;
    c->outcome_at = w->now;
    c->ok = o->status == UAR_OK;
    c->result = o->text;
}

static void told_too_late(witness *w, const outcome *o) {
    witness_call *c = call_numbered(w, o->number);
    if (c == NULL) return;
    if (o->kind == OUTCOME_PLANNED) c->planning = false;
    if (o->kind == OUTCOME_DECIDED && c->asked_aloud && !c->decided) c->gone = true;
}

void witness_told(witness *w, const outcome *o, uar_status answer) {
    w->now++;
    w->fed = *o;
    w->answer = answer;
    if (answer != UAR_OK) {
        told_too_late(w, o);
        return;
    }
    switch (o->kind) {
    case OUTCOME_ADMITTED:
        w->admit = false;
        if (o->max_steps != 0 && o->max_steps < w->max_steps) w->max_steps = o->max_steps;
        break;
    case OUTCOME_RECALLED: w->recall = false; break;
    case OUTCOME_SAVED:
        w->save = false;
        if (o->status == UAR_OK && w->save_kind == SAVE_TURN) w->turn_stored = true;
        if (o->status == UAR_OK && w->save_kind == SAVE_CALLS) w->calls_stored = true;
        if (w->save_kind == SAVE_END) w->end_save_failed = o->status != UAR_OK;
        break;
    case OUTCOME_MODEL_TEXT: utf8_lane_push(&w->lane, o->text, &w->expected); break;
    case OUTCOME_MODEL_CALL: told_piece(w, o); break;
    case OUTCOME_MODEL_USAGE: w->current = o->usage; break;
    case OUTCOME_MODEL_FINISHED:
    case OUTCOME_MODEL_FAILED:
    case OUTCOME_MODEL_STOPPED: told_model_end(w, o); break;
    case OUTCOME_PLANNED: told_plan(w, o); break;
    case OUTCOME_DECIDED: told_decision(w, o); break;
    case OUTCOME_TOOL_DONE: told_tool_end(w, o); break;
    case OUTCOME_WAITED: w->wait = false; break;
    case OUTCOME_CANCEL: w->cancelled = true; break;
    case OUTCOME_PARK: w->parked = true; break;
    case OUTCOME_CAPTURED: w->capture = false; break;
    default: break;
    }
}

/* ---- events ---- */

static bool was_just_saved(const witness *w) {
    return w->fed.kind == OUTCOME_SAVED && w->answer == UAR_OK && w->fed.status == UAR_OK;
}

static witness_call *call_with_id(witness *w, const machine *m, uar_str id) {
    for (size_t i = 0; i < m->draft.call_count && i < w->call_count; i++)
        if (uar_str_equal(buffer_str(&m->draft.calls[i].id), id)) return &w->calls[i];
    PROMISE(w, false, "an event of a call carries the id of a call");
    return &w->calls[0];
}

static void heard_ask(witness *w, witness_call *c) {
    PROMISE(w, was_just_saved(w) && w->calls_stored, "a person is asked after the calls are stored");
    PROMISE(w, c->asks && !c->asked_aloud && !c->approved_aloud && !c->denied_aloud && !c->ended_aloud,
            "a person is asked once, before anything else happens to the call");
    c->asked_aloud = true;
}

static void heard_decision(witness *w, witness_call *c, bool approved) {
    PROMISE(w, was_just_saved(w), "a decision is announced after it was stored");
    PROMISE(w, c->asked_aloud && c->decided && c->approved == approved && c->decided_at <= w->save_began,
            "the decision that is announced is the one that was made and stored");
    PROMISE(w, !c->approved_aloud && !c->denied_aloud && !c->started && !c->ended_aloud,
            "a decision is announced once, before the call runs or ends");
    c->approved_aloud = approved;
    c->denied_aloud = !approved;
}

static void heard_tool_start(witness *w, witness_call *c, const effect *e) {
    PROMISE(w, !c->started && !c->has_outcome && c->may_run, "a call starts once and only if it may run");
    PROMISE(w, w->calls_stored, "no call runs before its save");
    PROMISE(w, !c->asks || c->approved_aloud, "a call that asks runs only after its approval was stored");
    PROMISE(w, uar_str_equal(c->arguments, e->payload.tool_start.arguments),
            "a call runs with what was checked or edited");
    c->started = true;
}

static void heard_tool_end(witness *w, witness_call *c, const uar_event_tool_end *end) {
    bool interrupted = !c->has_outcome && w->save_kind == SAVE_END;
    PROMISE(w, was_just_saved(w) && w->calls_stored, "ToolEnd comes after the outcome was stored");
    PROMISE(w, !c->ended_aloud, "a call has one ToolEnd");
    PROMISE(w, interrupted || (c->has_outcome && c->outcome_at <= w->save_began), "ToolEnd tells a stored outcome");
    PROMISE(w, end->ok == (c->has_outcome && c->ok), "ToolEnd says whether the call worked");
    if (c->has_outcome && c->result.ptr != NULL)
        PROMISE(w, uar_str_equal(end->ok ? end->result : end->error, c->result),
                "ToolEnd tells the call's own outcome");
    PROMISE(w, !c->running, "a call that runs has no ToolEnd");
    PROMISE(w, !c->asks || c->asked_aloud, "a call that asks was announced before it ends");
    PROMISE(w, !c->decided || c->approved_aloud || c->denied_aloud,
            "a decision is announced before the end of its call");
    c->ended_aloud = true;
}

static bool is_usage(const witness *w, const uar_usage *u) {
    return u->input == w->spent.input && u->output == w->spent.output;
}

static void heard_terminal(witness *w, const effect *e) {
    const uar_usage *usage = e->event == UAR_EVENT_RUN_DONE     ? &e->payload.run_done.usage
                             : e->event == UAR_EVENT_RUN_FAILED ? &e->payload.run_failed.usage
                                                                : &e->payload.cancelled.usage;
    PROMISE(w, ++w->terminals == 1, "a run has one terminal event");
    PROMISE(w, is_usage(w, usage), "the terminal event tells the usage of all model calls");
    if (e->event == UAR_EVENT_RUN_DONE) {
        PROMISE(w, was_just_saved(w) && w->save_kind == SAVE_END, "RunDone comes after the end was stored");
        PROMISE(w, w->call_count == 0 && w->finish != UAR_FINISH_CONTENT_FILTER, "RunDone follows a whole answer");
    }
    if (e->event == UAR_EVENT_CANCELLED) PROMISE(w, w->cancelled, "Cancelled follows a cancel");
    if (e->event == UAR_EVENT_RUN_FAILED)
        PROMISE(w, !str_is(e->payload.run_failed.code, "UAR_OK"), "a failure has a status");
}

static void heard_step(witness *w, const uar_event_runtime_step *step) {
    PROMISE(w, step->step == w->steps + 1 && step->step <= w->max_steps, "steps are counted from 1 up to the limit");
    for (size_t i = 0; i < w->call_count; i++)
        PROMISE(w, w->calls[i].ended_aloud, "a step begins when every call of the last has its ToolEnd");
    w->steps = step->step;
    w->call_count = 0;
    w->calls_stored = false;
}

static void heard(witness *w, const effect *e, const machine *m) {
    const event_payload *p = &e->payload;
    bool late = e->event == UAR_EVENT_MEMORY_MUTATION || e->event == UAR_EVENT_ERROR;
    PROMISE(w, w->terminals == 0 || late, "after the terminal event come only MemoryMutation and Error");
    PROMISE(w, w->started == (e->event != UAR_EVENT_RUN_START), "RunStart is the first event and comes once");
    switch (e->event) {
    case UAR_EVENT_RUN_START: w->started = true; break;
    case UAR_EVENT_RUNTIME_STEP: heard_step(w, &p->runtime_step); break;
    case UAR_EVENT_CHAT_DELTA: buffer_append_str(&w->heard, p->chat_delta.text); break;
    case UAR_EVENT_ATTEMPT_SUPERSEDED: buffer_reset(&w->heard); break;
    case UAR_EVENT_MEMORY_RECALL:
        PROMISE(w, was_just_saved(w), "what was recalled is told when the turn is stored");
        break;
    case UAR_EVENT_MEMORY_MUTATION: PROMISE(w, w->terminals == 1, "memory is captured after the terminal event"); break;
    case UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED:
        heard_ask(w, call_with_id(w, m, p->tool_call_approval_required.call));
        break;
    case UAR_EVENT_TOOL_CALL_APPROVED: heard_decision(w, call_with_id(w, m, p->tool_call_approved.call), true); break;
    case UAR_EVENT_TOOL_CALL_DENIED: heard_decision(w, call_with_id(w, m, p->tool_call_denied.call), false); break;
    case UAR_EVENT_TOOL_START: heard_tool_start(w, call_with_id(w, m, p->tool_start.call), e); break;
    case UAR_EVENT_TOOL_END: heard_tool_end(w, call_with_id(w, m, p->tool_end.call), &p->tool_end); break;
    default: break;
    }
    if (uar_event_is_terminal(e->event)) heard_terminal(w, e);
}

/* ---- what it wanted ---- */

/* The stored message is what was heard, and what was heard is what a lane makes of the model's bytes. */
static void check_text(witness *w, const machine *m) {
    uar_str text = buffer_str(&m->draft.text);
    PROMISE(w, uar_str_equal(text, buffer_str(&w->heard)), "the stored text is the text of the deltas");
    PROMISE(w, uar_str_equal(text, buffer_str(&w->expected)),
            "the stored text is what the model wrote in this attempt");
}

static void wanted_save(witness *w, const effect *e, const machine *m) {
    PROMISE(w, !w->save, "at most one save is open");
    PROMISE(w, w->turn_stored == (e->save != SAVE_TURN), "the turn is stored first, and once");
    PROMISE(w, !w->model, "nothing is stored while the model answers");
    if (e->save == SAVE_CALLS) {
        PROMISE(w, m->draft.call_count == w->call_count, "all calls of the model are stored");
        for (size_t i = 0; i < w->call_count; i++)
            PROMISE(w, !w->calls[i].planning, "calls are stored when all are planned");
    }
    if (e->save == SAVE_CALLS || (e->save == SAVE_END && !w->calls_stored)) check_text(w, m);
    w->save = true;
    w->save_kind = e->save;
    w->save_began = w->now;
}

static void wanted_model(witness *w, const effect *e) {
    PROMISE(w, !w->model && !w->wait && !w->save, "the model is asked when nothing else is open");
    PROMISE(w, e->number > 0, "attempts are counted from 1");
    if (e->number > 1) PROMISE(w, w->heard.len == 0, "a new attempt begins with no delta standing");
    w->model = true;
    w->model_stop_told = false;
    w->call_count = 0;
    buffer_reset(&w->heard);
    buffer_reset(&w->expected);
    utf8_lane_init(&w->lane);
}

static void wanted_invoke(witness *w, witness_call *c) {
    uint32_t open = 0;
    for (size_t i = 0; i < w->call_count; i++)
        open += w->calls[i].running;
    PROMISE(w, c != NULL && c->started && !c->running && !c->has_outcome,
            "a call is invoked once, behind its ToolStart");
    PROMISE(w, open < w->parallel_tools, "no more calls run at once than allowed");
    if (c != NULL) c->running = true;
}

static void wanted_plan(witness *w, witness_call *c) {
    PROMISE(w, c != NULL && !c->planning && !c->has_outcome && w->fed.kind == OUTCOME_MODEL_FINISHED,
            "a call is planned once, when the model ended");
    if (c != NULL) c->planning = true;
}

static void wanted_stop_tool(witness *w, witness_call *c) {
    PROMISE(w, c != NULL && c->running && !c->stop_told, "only a call that runs is stopped, once");
    if (c != NULL) c->stop_told = true;
}

static void wanted_close(witness *w) {
    PROMISE(w, !w->model && !w->wait && !w->save && !w->capture && !w->admit && !w->recall, "a run closes in quiet");
    bool is_parked = w->parked && w->save_kind == SAVE_PARK && w->turn_stored;
    PROMISE(w, w->terminals == (is_parked ? 0 : 1), "a run that isn't parked has a terminal event");
    for (size_t i = 0; i < w->call_count; i++) {
        PROMISE(w, !w->calls[i].running, "no call runs when the run closes");
        PROMISE(w, w->calls[i].ended_aloud || is_parked || !w->calls_stored || w->end_save_failed,
                "every stored call has its ToolEnd");
    }
    w->closed = true;
}

void witness_wanted(witness *w, const effect *e, const machine *m) {
    PROMISE(w, !w->closed, "nothing is wanted behind the close");
    PROMISE(w, w->answer == UAR_OK, "what is stale has no effect");
    switch (e->kind) {
    case EFFECT_NONE: PROMISE(w, false, "every effect has a kind"); break;
    case EFFECT_ADMIT: w->admit = true; break;
    case EFFECT_RECALL: w->recall = true; break;
    case EFFECT_SAVE: wanted_save(w, e, m); break;
    case EFFECT_EMIT: heard(w, e, m); break;
    case EFFECT_CALL_MODEL: wanted_model(w, e); break;
    case EFFECT_STOP_MODEL:
        PROMISE(w, w->model && !w->model_stop_told, "only a model that answers is stopped, once");
        w->model_stop_told = true;
        break;
    case EFFECT_PLAN: wanted_plan(w, call_numbered(w, e->number)); break;
    case EFFECT_INVOKE: wanted_invoke(w, call_numbered(w, e->number)); break;
    case EFFECT_STOP_TOOL: wanted_stop_tool(w, call_numbered(w, e->number)); break;
    case EFFECT_WAIT:
        PROMISE(w, !w->wait && e->number > 0, "one wait is open, of some length");
        if (w->fed.kind == OUTCOME_MODEL_FAILED) buffer_reset(&w->expected);
        w->wait = true;
        w->wait_stop_told = false;
        break;
    case EFFECT_STOP_WAIT:
        PROMISE(w, w->wait && !w->wait_stop_told, "only an open wait is ended, once");
        w->wait_stop_told = true;
        break;
    case EFFECT_CAPTURE:
        PROMISE(w, w->terminals == 1, "memory is captured after the terminal event");
        w->capture = true;
        break;
    case EFFECT_CLOSE: wanted_close(w); break;
    }
}

void witness_rests(witness *w, const machine *m) {
    PROMISE(w, w->heard.status == UAR_OK && w->expected.status == UAR_OK, "the witness has memory");
    PROMISE(w, w->closed == (m->phase == PHASE_CLOSED), "a closed machine said so");
    PROMISE(w, w->closed || witness_waits(w), "a run that isn't closed waits for something");
    if (m->phase != PHASE_STOP) return;
    PROMISE(w, !w->model || w->model_stop_told, "who stops tells the model");
    PROMISE(w, !w->wait || w->wait_stop_told, "who stops ends the wait");
    for (size_t i = 0; i < w->call_count; i++)
        PROMISE(w, !w->calls[i].running || w->calls[i].stop_told, "who stops tells every call that runs");
}
