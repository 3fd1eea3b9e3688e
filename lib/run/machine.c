/*
 * The way of a run, without its tool calls (machine_calls.c) and its document (machine_save.c).
 * See machine.h for the invariants.
 */
#include "run/machine.h"

#include <assert.h>

#include "base/str.h"

#define SAVE_TRIES 4
#define SAVE_RETRY_MS 100
#define MODEL_RETRY_MS 250
#define MODEL_RETRY_MAX_MS 10000
#define MODEL_RETRY_AFTER_MAX_MS 60000
#define MESSAGE_MAX ((size_t)64 << 20)

void machine_init(machine *m, const uar_allocator *alloc, const machine_limits *limits) {
    memset(m, 0, sizeof *m);
    m->alloc = alloc;
    m->limits = *limits;
    buffer_init(&m->input, alloc, MESSAGE_MAX);
    buffer_init(&m->model, alloc, 1024);
    buffer_init(&m->end_message, alloc, 4096);
    draft_init(&m->draft, alloc);
}

void machine_dispose(machine *m) {
    buffer_dispose(&m->input);
    buffer_dispose(&m->model);
    buffer_dispose(&m->end_message);
    draft_dispose(&m->draft);
    alloc_free(m->alloc, m->hits);
    alloc_free(m->alloc, m->effects);
}

/* ---- effects ---- */

/* Where a refused effect is written: the machine is broken then, and nobody reads it. */
static effect *want_nothing(machine *m) {
    m->status = UAR_E_NOMEM;
    return NULL;
}

effect *machine_want(machine *m, effect_kind kind) {
    if (m->effect_count == m->effect_cap) {
        size_t cap = m->effect_cap == 0 ? 4 : m->effect_cap * 2;
        effect *effects = alloc_resize(m->alloc, m->effects, cap * sizeof *effects);
        if (effects == NULL) return want_nothing(m);
        m->effects = effects;
        m->effect_cap = cap;
    }
    effect *e = &m->effects[m->effect_count++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    return e;
}

static void want_number(machine *m, effect_kind kind, uint64_t number) {
    effect *e = machine_want(m, kind);
    if (e != NULL) e->number = number;
}

event_payload *machine_emit(machine *m, uar_event_kind kind) {
    effect *e = machine_want(m, EFFECT_EMIT);
    if (e == NULL) return NULL;
    e->event = kind;
    return &e->payload;
}

void machine_want_save(machine *m, save_kind save) {
    assert(!m->save_open);
    effect *e = machine_want(m, EFFECT_SAVE);
    if (e == NULL) return;
    e->save = save;
    m->save = save;
    m->save_open = true;
}

bool machine_next(machine *m, effect *out) {
    if (m->effect_next == m->effect_count) {
        /* Behind anything but an event the run waits for somebody, perhaps for days. */
        bool waits = m->effect_count > 0 && m->effects[m->effect_count - 1].kind != EFFECT_EMIT;
        m->effect_next = m->effect_count = 0;
        if (!waits) return false;
        alloc_free(m->alloc, m->effects);
        m->effects = NULL;
        m->effect_cap = 0;
        return false;
    }
    *out = m->effects[m->effect_next++];
    return true;
}

/* ---- small facts ---- */

bool machine_is_ending(const machine *m) {
    return m->ending || m->phase >= PHASE_STOP;
}

static void set_text(machine *m, buffer *b, uar_str text) {
    buffer_reset(b);
    buffer_append(b, text.ptr, text.len <= b->max ? text.len : utf8_cut(text, b->max));
    if (b->status != UAR_OK) m->status = b->status;
}

static void add_usage(uar_usage *sum, const uar_usage *more) {
    sum->input += more->input;
    sum->cache_read += more->cache_read;
    sum->cache_write += more->cache_write;
    sum->output += more->output;
    sum->reasoning += more->reasoning;
    sum->known = sum->known || more->known;
}

void machine_emit_error(machine *m, uar_status status, uar_str message) {
    event_payload *p = machine_emit(m, UAR_EVENT_ERROR);
    if (p == NULL) return;
    p->error.code = uar_str_of(uar_status_name(status));
    p->error.message = message.len > 0 ? message : uar_str_of(uar_status_text(status));
}

/* ---- the end ---- */

static void emit_terminal(machine *m) {
    uar_event_kind kind = m->end_state == UAR_RUN_DONE        ? UAR_EVENT_RUN_DONE
                          : m->end_state == UAR_RUN_CANCELLED ? UAR_EVENT_CANCELLED
                                                              : UAR_EVENT_RUN_FAILED;
    event_payload *p = machine_emit(m, kind);
    if (p == NULL) return;
    if (kind == UAR_EVENT_RUN_DONE) {
        p->run_done.message = m->stored_answer;
        p->run_done.usage = m->spent;
    } else if (kind == UAR_EVENT_CANCELLED) {
        p->cancelled.reason = buffer_str(&m->end_message);
        p->cancelled.usage = m->spent;
    } else {
        p->run_failed.code = uar_str_of(uar_status_name(m->end_status));
        p->run_failed.message = buffer_str(&m->end_message);
        p->run_failed.usage = m->spent;
    }
}

static void close_machine(machine *m) {
    m->phase = PHASE_CLOSED;
    machine_want(m, EFFECT_CLOSE);
}

/* The terminal event goes out; a completed turn is captured after it. */
static void finish(machine *m) {
    if (!m->parks) emit_terminal(m);
    if (m->parks || m->end_state != UAR_RUN_DONE || !m->captures) {
        close_machine(m);
        return;
    }
    m->phase = PHASE_SETTLE;
    machine_want(m, EFFECT_CAPTURE);
}

static void set_end(machine *m, uar_run_state state, uar_status status, uar_str message) {
    m->ending = true;
    m->end_state = state;
    m->end_status = status;
    set_text(m, &m->end_message, message.len > 0 ? message : uar_str_of(uar_status_text(status)));
}

/* Nothing of this run is stored, so there is nothing to store about its end. */
static void finish_unsaved(machine *m) {
    m->parks = false;
    finish(m);
}

static bool is_quiet(const machine *m) {
    return !m->model_open && !m->wait_open && !m->save_open && !machine_calls_are_running(m);
}

void machine_stop_go_on(machine *m) {
    assert(m->phase == PHASE_STOP);
    if (!is_quiet(m)) return;
    m->waits = 0;
    m->phase = PHASE_END;
    /* Calls that were still being written never happened. */
    if (!m->answer_stored) draft_drop_calls(&m->draft);
    if (!m->parks) machine_interrupt_calls(m);
    machine_mark_facts(m);
    machine_want_save(m, m->parks ? SAVE_PARK : SAVE_END);
}

void machine_stop(machine *m, uar_run_state state, uar_status status, uar_str message) {
    assert(m->phase < PHASE_STOP);
    set_end(m, state, status, message);
    m->stopped_in = m->phase;
    m->phase = PHASE_STOP;
    if (m->model_open) machine_want(m, EFFECT_STOP_MODEL);
    if (m->wait_open) machine_want(m, EFFECT_STOP_WAIT);
    machine_stop_calls(m);
    machine_stop_go_on(m);
}

/* ---- admission and the turn ---- */

uar_status machine_start(machine *m, uar_uuid user_message, uar_str input) {
    assert(m->phase == PHASE_NEW);
    m->user_message = user_message;
    set_text(m, &m->input, input);
    m->phase = PHASE_ADMIT;
    machine_want(m, EFFECT_ADMIT);
    return m->status;
}

static void save_turn(machine *m) {
    m->phase = PHASE_TURN;
    machine_want_save(m, SAVE_TURN);
}

static void feed_admitted(machine *m, const outcome *o) {
    set_text(m, &m->model, o->model);
    event_payload *p = machine_emit(m, UAR_EVENT_RUN_START);
    if (p != NULL) {
        p->run_start.input = buffer_str(&m->input);
        p->run_start.model = m->model.len > 0 ? buffer_str(&m->model) : uar_str_of(NULL);
    }
    /* A cancel that came meanwhile is why the session wasn't opened. */
    bool cancelled = m->ending && !m->parks;
    if (o->status != UAR_OK && !cancelled) set_end(m, UAR_RUN_FAILED, o->status, o->message);
    if (o->status != UAR_OK || cancelled) {
        finish_unsaved(m);
        return;
    }
    m->captures = o->captures;
    m->last_number = o->number;
    m->answer = o->fresh;
    if (o->max_steps != 0 && o->max_steps < m->limits.max_steps) m->limits.max_steps = o->max_steps;
    if (!o->recalls) {
        save_turn(m);
        return;
    }
    m->phase = PHASE_RECALL;
    machine_want(m, EFFECT_RECALL);
}

static void keep_hits(machine *m, uar_hits hits) {
    if (hits.count == 0) return;
    m->hits = alloc_zeroed(m->alloc, hits.count, sizeof *m->hits);
    if (m->hits == NULL) {
        m->status = UAR_E_NOMEM;
        return;
    }
    memcpy(m->hits, hits.items, hits.count * sizeof *m->hits);
    m->hit_count = hits.count;
}

/* A memory that can't answer is told apart from one that knows nothing; the run goes on without it. */
static void feed_recalled(machine *m, const outcome *o) {
    if (o->status != UAR_OK) machine_emit_error(m, o->status, o->message);
    if (o->status == UAR_OK && o->warned != UAR_OK && !m->ending) machine_emit_error(m, o->warned, o->message);
    if (m->ending && !m->parks) {
        finish_unsaved(m);
        return;
    }
    if (o->status == UAR_OK) keep_hits(m, o->hits);
    save_turn(m);
}

static void turn_saved(machine *m, const outcome *o) {
    buffer_dispose(&m->input);
    m->last_number++;
    m->answer = o->fresh;
    if (m->hit_count > 0) {
        event_payload *p = machine_emit(m, UAR_EVENT_MEMORY_RECALL);
        if (p != NULL) p->memory_recall.hits = (uar_hits){ m->hits, m->hit_count };
    }
    m->phase = PHASE_MODEL;
    if (m->ending) {
        m->stopped_in = PHASE_TURN;
        m->phase = PHASE_STOP;
        machine_stop_go_on(m);
        return;
    }
    machine_step(m);
}

/* ---- the model ---- */

static void call_model(machine *m) {
    m->model_open = true;
    memset(&m->current, 0, sizeof m->current);
    want_number(m, EFFECT_CALL_MODEL, m->attempt);
}

void machine_step(machine *m) {
    m->phase = PHASE_MODEL;
    if (m->cancel_after_step) {
        uar_str reason = buffer_str(&m->end_message);
        char copy[256];
        size_t len = utf8_cut(reason, sizeof copy);
        memcpy(copy, reason.ptr, len);
        machine_stop(m, UAR_RUN_CANCELLED, UAR_E_CANCELLED, uar_str_n(copy, len));
        return;
    }
    if (m->step >= m->limits.max_steps) {
        machine_stop(m, UAR_RUN_FAILED, UAR_E_STEP_LIMIT, STR("the run reached its limit of model calls"));
        return;
    }
    m->step++;
    m->attempt = 1;
    m->draft_void = true;
    m->answer_stored = false;
    event_payload *p = machine_emit(m, UAR_EVENT_RUNTIME_STEP);
    if (p != NULL) {
        p->runtime_step.step = m->step;
        p->runtime_step.phase = STR("model");
    }
    call_model(m);
}

static void emit_delta(machine *m, uar_event_kind kind, uar_str text) {
    if (text.len == 0) return;
    event_payload *p = machine_emit(m, kind);
    if (p == NULL) return;
    /* ChatDelta and ReasoningDelta have the same fields, but each is written by its own name. */
    if (kind == UAR_EVENT_CHAT_DELTA) {
        p->chat_delta.message = m->answer;
        p->chat_delta.text = text;
    } else {
        p->reasoning_delta.message = m->answer;
        p->reasoning_delta.text = text;
    }
}

static void feed_call_piece(machine *m, const outcome *o) {
    uar_str grown = { NULL, 0 };
    draft_call *c = draft_call_piece(&m->draft, (uint32_t)o->number, o->id, o->name, o->text, &grown);
    if (c == NULL || grown.len == 0) return;
    event_payload *p = machine_emit(m, UAR_EVENT_TOOL_DELTA);
    if (p == NULL) return;
    p->tool_delta.call = c->id.len > 0 ? buffer_str(&c->id) : uar_str_of(NULL);
    p->tool_delta.tool = c->name.len > 0 ? buffer_str(&c->name) : uar_str_of(NULL);
    p->tool_delta.delta = grown;
}

/* What was replaced in the model's text is reported once a call, never silent. */
static void report_notes(machine *m, bool truncated) {
    uint32_t nuls = 0, broken = 0;
    draft_notes(&m->draft, &nuls, &broken);
    if (nuls > 0) machine_emit_error(m, UAR_E_UTF8, STR("the model's text held U+0000; it was replaced by U+FFFD"));
    if (broken > 0 && !truncated)
        machine_emit_error(m, UAR_E_UTF8, STR("the model's text held broken characters; they were replaced by U+FFFD"));
    if (truncated) machine_emit_error(m, UAR_E_UTF8, STR("the model's text ended inside a character"));
}

static void end_model_call(machine *m) {
    m->model_open = false;
    add_usage(&m->spent, &m->current);
    memset(&m->current, 0, sizeof m->current);
}

/* The text that stays is over: what is held back comes out, and what was wrong with it is said. */
static void end_draft(machine *m) {
    uar_str tail, reasoning_tail;
    bool truncated = draft_end(&m->draft, &tail, &reasoning_tail);
    if (draft_status(&m->draft) == UAR_E_NOMEM) m->status = UAR_E_NOMEM;
    emit_delta(m, UAR_EVENT_REASONING_DELTA, reasoning_tail);
    emit_delta(m, UAR_EVENT_CHAT_DELTA, tail);
    report_notes(m, truncated);
}

static void feed_model_finished(machine *m, const outcome *o) {
    end_model_call(m);
    end_draft(m);
    if (o->finish == UAR_FINISH_CONTENT_FILTER) {
        machine_stop(m, UAR_RUN_FAILED, UAR_E_FILTERED, STR("the provider withheld the answer"));
        return;
    }
    if (m->draft.call_count > 0) {
        machine_plan(m, o->finish);
        return;
    }
    if (o->finish == UAR_FINISH_LENGTH)
        machine_emit_error(m, UAR_E_TRUNCATED, STR("the answer was cut by the token limit"));
    set_end(m, UAR_RUN_DONE, UAR_OK, STR(""));
    m->phase = PHASE_END;
    machine_want_save(m, SAVE_END);
}

static uint64_t model_retry_ms(uint32_t attempt, uint64_t asked_for) {
    uint64_t ms = MODEL_RETRY_MS;
    for (uint32_t i = 1; i < attempt && ms < MODEL_RETRY_MAX_MS; i++)
        ms *= 2;
    return ms > asked_for ? ms : asked_for;
}

static void want_wait(machine *m, uint64_t ms) {
    m->wait_open = true;
    want_number(m, EFFECT_WAIT, ms);
}

/* What a run that failed because of its model is told to have failed with. A call that stopped unasked was cut, and words
 * for how a run ends are not the model's to use. */
static uar_status model_failure(uar_status status) {
    if (status == UAR_OK || status == UAR_E_CANCELLED) return UAR_E_MODEL_CUT;
    return status == UAR_E_PARKED || status == UAR_E_ABANDONED ? UAR_E_MODEL : status;
}

static void feed_model_failed(machine *m, const outcome *o) {
    end_model_call(m);
    /* A provider that wants to be left alone for long is no reason to hold the session for as long. */
    if (!o->retryable || m->attempt >= m->limits.model_attempts || o->number > MODEL_RETRY_AFTER_MAX_MS) {
        end_draft(m);
        machine_stop(m, UAR_RUN_FAILED, model_failure(o->status), o->message);
        return;
    }
    if (!draft_is_empty(&m->draft)) {
        event_payload *p = machine_emit(m, UAR_EVENT_ATTEMPT_SUPERSEDED);
        if (p != NULL) {
            p->attempt_superseded.message = m->answer;
            p->attempt_superseded.attempt = m->attempt;
            p->attempt_superseded.reason = o->message;
        }
    }
    m->draft_void = true; /* also where only half a character came */
    want_wait(m, model_retry_ms(m->attempt, o->number));
}

static void feed_model_piece(machine *m, const outcome *o) {
    switch (o->kind) {
    case OUTCOME_MODEL_TEXT: emit_delta(m, UAR_EVENT_CHAT_DELTA, draft_text(&m->draft, o->text)); break;
    case OUTCOME_MODEL_REASONING: emit_delta(m, UAR_EVENT_REASONING_DELTA, draft_reasoning(&m->draft, o->text)); break;
    case OUTCOME_MODEL_OPAQUE: draft_opaque(&m->draft, o->text); break;
    case OUTCOME_MODEL_CALL: feed_call_piece(m, o); break;
    default: m->current = o->usage; break;
    }
    uar_status status = draft_status(&m->draft);
    if (status == UAR_E_NOMEM)
        m->status = status;
    else if (status != UAR_OK)
        machine_stop(m, UAR_RUN_FAILED, status, STR("the model's answer is too large"));
}

static uar_status feed_model(machine *m, const outcome *o) {
    if (!m->model_open) return UAR_E_STALE;
    bool ends =
        o->kind == OUTCOME_MODEL_FINISHED || o->kind == OUTCOME_MODEL_FAILED || o->kind == OUTCOME_MODEL_STOPPED;
    if (m->phase == PHASE_STOP) {
        if (o->kind == OUTCOME_MODEL_USAGE) {
            m->current = o->usage;
            return UAR_OK;
        }
        if (!ends) return UAR_E_STALE;
        end_model_call(m);
        machine_stop_go_on(m);
        return UAR_OK;
    }
    assert(m->phase == PHASE_MODEL);
    if (o->kind == OUTCOME_MODEL_FINISHED)
        feed_model_finished(m, o);
    else if (ends)
        feed_model_failed(m, o);
    else
        feed_model_piece(m, o);
    return UAR_OK;
}

/* ---- saves and waits ---- */

static void save_succeeded(machine *m, const outcome *o) {
    m->waits = 0;
    switch (m->save) {
    case SAVE_TURN: turn_saved(m, o); return;
    case SAVE_CALLS:
        m->last_number += 1 + m->draft.call_count;
        m->answer_stored = true;
        m->stored_answer = m->answer;
        m->answer = o->fresh;
        break;
    case SAVE_FACTS: break;
    case SAVE_END:
        if (m->end_state == UAR_RUN_DONE) m->stored_answer = m->answer;
        machine_calls_saved(m);
        finish(m);
        return;
    case SAVE_PARK: finish(m); return;
    }
    machine_calls_saved(m);
    if (m->phase == PHASE_STOP) {
        machine_stop_go_on(m);
        return;
    }
    m->phase = PHASE_CALLS;
    machine_calls_go_on(m);
}

/* The end itself could not be stored. What is true now is that the run failed: that is stored, once, with the text that
 * streamed kept as a cut message. Whether it works or not, the run is over. */
static void end_save_failed(machine *m, uar_status status, uar_str message) {
    bool again = m->end_state != UAR_RUN_FAILED;
    set_end(m, UAR_RUN_FAILED, status, message);
    if (!again) {
        finish(m);
        return;
    }
    m->waits = SAVE_TRIES;
    machine_mark_facts(m);
    machine_want_save(m, SAVE_END);
}

static void save_failed(machine *m, const outcome *o) {
    uar_status status = o->status == UAR_E_CONFLICT ? UAR_E_BUSY : o->status;
    switch (m->save) {
    case SAVE_TURN:
        set_end(m, UAR_RUN_FAILED, status, o->message);
        finish_unsaved(m);
        return;
    case SAVE_CALLS:
    case SAVE_FACTS:
        if (m->phase == PHASE_STOP)
            machine_stop_go_on(m);
        else
            machine_stop(m, UAR_RUN_FAILED, status, o->message);
        return;
    case SAVE_END: end_save_failed(m, status, o->message); return;
    case SAVE_PARK: finish(m); return;
    }
}

/* A lost session stays lost. A full or failing disk fails a step; but an answer that is there is worth waiting for. */
static bool is_worth_another_save(const machine *m, uar_status status) {
    if (status == UAR_E_CONFLICT) return false;
    bool disk = status == UAR_E_IO || status == UAR_E_FULL;
    return uar_status_band(status) == UAR_BAND_RETRY || (disk && m->save == SAVE_END);
}

static void feed_saved(machine *m, const outcome *o) {
    m->save_open = false;
    if (o->status == UAR_OK) {
        save_succeeded(m, o);
        return;
    }
    if (!is_worth_another_save(m, o->status) || ++m->waits >= SAVE_TRIES || m->phase == PHASE_STOP) {
        save_failed(m, o);
        return;
    }
    m->save_waits = true;
    want_wait(m, (uint64_t)SAVE_RETRY_MS << m->waits);
}

static void feed_waited(machine *m) {
    m->wait_open = false;
    if (m->phase == PHASE_STOP) {
        m->save_waits = false;
        machine_stop_go_on(m);
        return;
    }
    if (m->save_waits) {
        m->save_waits = false;
        machine_want_save(m, m->save);
        return;
    }
    m->attempt++;
    call_model(m);
}

/* ---- from outside ---- */

static uar_status feed_cancel(machine *m, const outcome *o) {
    if (m->phase >= PHASE_END) return UAR_E_STALE;
    if (m->ending) return UAR_OK;
    if (o->after_step) {
        m->cancel_after_step = true;
        set_text(m, &m->end_message, o->message);
    } else if (m->phase <= PHASE_TURN) {
        set_end(m, UAR_RUN_CANCELLED, UAR_E_CANCELLED, o->message);
    } else {
        machine_stop(m, UAR_RUN_CANCELLED, UAR_E_CANCELLED, o->message);
    }
    return UAR_OK;
}

static uar_status feed_park(machine *m, const outcome *o) {
    if (m->phase >= PHASE_END || m->ending) return UAR_E_STALE;
    m->parks = true;
    if (m->phase <= PHASE_TURN)
        set_end(m, UAR_RUN_INTERRUPTED, UAR_E_PARKED, o->message);
    else
        machine_stop(m, UAR_RUN_INTERRUPTED, UAR_E_PARKED, o->message);
    return UAR_OK;
}

static uar_status feed_mutated(machine *m, const outcome *o) {
    if (m->phase != PHASE_SETTLE) return UAR_E_STALE;
    event_payload *p = machine_emit(m, UAR_EVENT_MEMORY_MUTATION);
    if (p == NULL) return UAR_E_NOMEM;
    p->memory_mutation.id = o->fresh;
    p->memory_mutation.op = o->name;
    p->memory_mutation.outcome = o->text;
    return UAR_OK;
}

static uar_status feed_captured(machine *m, const outcome *o) {
    if (m->phase != PHASE_SETTLE) return UAR_E_STALE;
    if (o->status != UAR_OK) machine_emit_error(m, o->status, o->message);
    close_machine(m);
    return UAR_OK;
}

/* Feeds an outcome that only one phase can wait for. */
static uar_status feed_in(machine *m, bool expected, void (*feed)(machine *, const outcome *), const outcome *o) {
    if (!expected) return UAR_E_STALE;
    feed(m, o);
    return UAR_OK;
}

static bool awaits_plan(const machine *m, uint64_t number) {
    const draft *d = &m->draft;
    return m->phase == PHASE_PLAN && number < d->call_count && d->calls[number].state == CALL_WRITING;
}

static uar_status dispatch(machine *m, const outcome *o) {
    switch (o->kind) {
    case OUTCOME_ADMITTED: return feed_in(m, m->phase == PHASE_ADMIT, feed_admitted, o);
    case OUTCOME_RECALLED: return feed_in(m, m->phase == PHASE_RECALL, feed_recalled, o);
    case OUTCOME_SAVED: return feed_in(m, m->save_open, feed_saved, o);
    case OUTCOME_MODEL_TEXT:
    case OUTCOME_MODEL_REASONING:
    case OUTCOME_MODEL_OPAQUE:
    case OUTCOME_MODEL_CALL:
    case OUTCOME_MODEL_USAGE:
    case OUTCOME_MODEL_FINISHED:
    case OUTCOME_MODEL_FAILED:
    case OUTCOME_MODEL_STOPPED: return feed_model(m, o);
    case OUTCOME_PLANNED: return feed_in(m, awaits_plan(m, o->number), machine_feed_planned, o);
    case OUTCOME_DECIDED: return machine_feed_decided(m, o);
    case OUTCOME_TOOL_DONE: return machine_feed_tool_done(m, o);
    case OUTCOME_WAITED:
        if (!m->wait_open) return UAR_E_STALE;
        feed_waited(m);
        return UAR_OK;
    case OUTCOME_CANCEL: return feed_cancel(m, o);
    case OUTCOME_PARK: return feed_park(m, o);
    case OUTCOME_MUTATED: return feed_mutated(m, o);
    case OUTCOME_CAPTURED: return feed_captured(m, o);
    }
    return UAR_E_INVALID;
}

uar_status machine_feed(machine *m, const outcome *o) {
    assert(m->effect_next == m->effect_count);
    if (m->status != UAR_OK) return m->status;
    m->effect_next = m->effect_count = 0;
    if (m->draft_void) draft_reset(&m->draft);
    m->draft_void = false;
    uar_status status = dispatch(m, o);
    return m->status != UAR_OK ? m->status : status;
}
