/*
 * Tool calls of the step machine.
 *
 *   WRITING -> plan -> ASKING -> decision stored -> READY -> RUNNING -> ENDED -> SAVED
 *                   \-> READY (nobody needs asking)      \-> refused, denied, failed end the same way
 *
 * Invariants: no call runs before the save that holds it; a decision is announced after it was stored; every call gets
 * exactly one outcome, and a failing sibling doesn't touch the others.
 */
#include <assert.h>

#include "base/str.h"
#include "run/machine.h"

static void set(machine *m, buffer *b, uar_str text) {
    buffer_reset(b);
    buffer_append_str(b, text);
    if (b->status != UAR_OK) m->status = UAR_E_NOMEM;
}

static void end_call(machine *m, draft_call *c, uar_status status, uar_str result) {
    c->state = CALL_ENDED;
    c->ok = status == UAR_OK;
    c->status = status;
    set(m, &c->result, result);
}

/* ---- planning ---- */

static void save_when_planned(machine *m) {
    for (size_t i = 0; i < m->draft.call_count; i++)
        if (m->draft.calls[i].state == CALL_WRITING) return;
    machine_mark_facts(m);
    machine_want_save(m, SAVE_CALLS);
}

/*
 * Did the token limit cut this call? The last one was cut wherever the limit fell. A model that writes several in turns may
 * have been cut in others too: what is begun there can't be read as JSON, but for arguments that had not begun.
 */
static bool is_cut(const machine *m, uar_finish finish, size_t index) {
    if (finish != UAR_FINISH_LENGTH) return false;
    return index + 1 == m->draft.call_count || m->draft.calls[index].arguments.len == 0;
}

void machine_plan(machine *m, uar_finish finish) {
    m->phase = PHASE_PLAN;
    if (draft_name_calls(&m->draft) != UAR_OK) {
        m->status = UAR_E_NOMEM;
        return;
    }
    size_t count = m->draft.call_count;
    for (size_t i = 0; i < count; i++) {
        if (is_cut(m, finish, i)) {
            end_call(m, &m->draft.calls[i], UAR_E_TRUNCATED,
                     STR("The output was cut by the token limit inside this call, so it was not run. "
                         "Make the call again with shorter arguments."));
            continue;
        }
        effect *e = machine_want(m, EFFECT_PLAN);
        if (e != NULL) e->number = i;
    }
    save_when_planned(m);
}

static void deny(machine *m, draft_call *c, uar_str reason) {
    c->decision = DECISION_DENIED;
    set(m, &c->reason, reason);
    end_call(m, c, UAR_E_TOOL_DENIED, STR("The call was denied and did not run. Reason: "));
    buffer_append_str(&c->result, reason.len > 0 ? reason : STR("none given"));
    if (c->result.status != UAR_OK) m->status = UAR_E_NOMEM;
}

void machine_feed_planned(machine *m, const outcome *o) {
    assert(o->number < m->draft.call_count);
    draft_call *c = &m->draft.calls[o->number];
    assert(c->state == CALL_WRITING);
    set(m, &c->effective, o->text);
    c->asks = o->verdict == VERDICT_ASK || o->verdict == VERDICT_APPROVE || o->verdict == VERDICT_DENY;
    switch (o->verdict) {
    case VERDICT_RUN: c->state = CALL_READY; break;
    case VERDICT_ASK: c->state = CALL_ASKING; break;
    case VERDICT_APPROVE:
        c->state = CALL_ASKING;
        c->decision = DECISION_APPROVED;
        set(m, &c->reason, o->message);
        break;
    case VERDICT_DENY: deny(m, c, o->message); break;
    case VERDICT_REFUSE: end_call(m, c, o->status, o->message); break;
    }
    save_when_planned(m);
}

/* ---- facts ---- */

void machine_mark_facts(machine *m) {
    for (size_t i = 0; i < m->draft.call_count; i++) {
        draft_call *c = &m->draft.calls[i];
        c->in_save = 0;
        if (c->asks && !c->announced) c->in_save |= CALL_FACT_ASK;
        if (c->decision != DECISION_NONE && !c->decision_saved) c->in_save |= CALL_FACT_DECISION;
        if (c->state == CALL_ENDED) c->in_save |= CALL_FACT_OUTCOME;
    }
}

static void announce(machine *m, draft_call *c) {
    event_payload *p = machine_emit(m, UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED);
    if (p == NULL) return;
    p->tool_call_approval_required.call = buffer_str(&c->id);
    p->tool_call_approval_required.tool = buffer_str(&c->name);
    p->tool_call_approval_required.arguments = buffer_str(&c->effective);
    c->announced = true;
}

static void announce_decision(machine *m, draft_call *c) {
    bool approved = c->decision == DECISION_APPROVED;
    event_payload *p = machine_emit(m, approved ? UAR_EVENT_TOOL_CALL_APPROVED : UAR_EVENT_TOOL_CALL_DENIED);
    if (p == NULL) return;
    uar_str reason = c->reason.len > 0 ? buffer_str(&c->reason) : uar_str_of(NULL);
    if (approved) {
        p->tool_call_approved.call = buffer_str(&c->id);
        p->tool_call_approved.reason = reason;
    } else {
        p->tool_call_denied.call = buffer_str(&c->id);
        p->tool_call_denied.reason = reason;
    }
    c->decision_saved = true;
    if (approved && c->state == CALL_ASKING) c->state = CALL_READY;
}

static void announce_end(machine *m, draft_call *c) {
    event_payload *p = machine_emit(m, UAR_EVENT_TOOL_END);
    if (p == NULL) return;
    p->tool_end.call = buffer_str(&c->id);
    p->tool_end.tool = buffer_str(&c->name);
    p->tool_end.ok = c->ok;
    if (c->ok) {
        p->tool_end.result = buffer_str(&c->result);
    } else {
        p->tool_end.error = buffer_str(&c->result);
        p->tool_end.code = uar_str_of(uar_status_name(c->status));
    }
    c->state = CALL_SAVED;
}

void machine_calls_saved(machine *m) {
    for (size_t i = 0; i < m->draft.call_count; i++) {
        draft_call *c = &m->draft.calls[i];
        if ((c->in_save & CALL_FACT_ASK) != 0) announce(m, c);
        if ((c->in_save & CALL_FACT_DECISION) != 0) announce_decision(m, c);
        if ((c->in_save & CALL_FACT_OUTCOME) != 0) announce_end(m, c);
        c->in_save = 0;
    }
}

static bool has_facts(const machine *m) {
    for (size_t i = 0; i < m->draft.call_count; i++)
        if (m->draft.calls[i].in_save != 0) return true;
    return false;
}

/* ---- running ---- */

static uint32_t running(const machine *m) {
    uint32_t n = 0;
    for (size_t i = 0; i < m->draft.call_count; i++)
        n += m->draft.calls[i].state == CALL_RUNNING;
    return n;
}

bool machine_calls_are_running(const machine *m) {
    return running(m) > 0;
}

static void invoke(machine *m, size_t index) {
    draft_call *c = &m->draft.calls[index];
    event_payload *p = machine_emit(m, UAR_EVENT_TOOL_START);
    if (p == NULL) return;
    p->tool_start.call = buffer_str(&c->id);
    p->tool_start.tool = buffer_str(&c->name);
    p->tool_start.arguments = buffer_str(&c->effective);
    effect *e = machine_want(m, EFFECT_INVOKE);
    if (e == NULL) return;
    e->number = index;
    c->state = CALL_RUNNING;
}

static bool all_saved(const machine *m) {
    for (size_t i = 0; i < m->draft.call_count; i++)
        if (m->draft.calls[i].state != CALL_SAVED) return false;
    return true;
}

void machine_calls_go_on(machine *m) {
    if (m->phase != PHASE_CALLS) return;
    uint32_t open = running(m);
    for (size_t i = 0; i < m->draft.call_count && open < m->limits.parallel_tools; i++) {
        if (m->draft.calls[i].state != CALL_READY) continue;
        invoke(m, i);
        open++;
    }
    if (m->save_open || m->save_waits) return;
    machine_mark_facts(m);
    if (has_facts(m))
        machine_want_save(m, SAVE_FACTS);
    else if (all_saved(m))
        machine_step(m);
}

uar_status machine_feed_decided(machine *m, const outcome *o) {
    if (m->phase != PHASE_CALLS || o->number >= m->draft.call_count) return UAR_E_STALE;
    draft_call *c = &m->draft.calls[o->number];
    if (c->state != CALL_ASKING || !c->announced || c->decision != DECISION_NONE) return UAR_E_STALE;
    if (!o->approved) {
        deny(m, c, o->message);
    } else {
        c->decision = DECISION_APPROVED;
        set(m, &c->reason, o->message);
        if (o->text.ptr != NULL) set(m, &c->effective, o->text);
    }
    machine_calls_go_on(m);
    return UAR_OK;
}

uar_status machine_feed_tool_done(machine *m, const outcome *o) {
    if (o->number >= m->draft.call_count) return UAR_E_STALE;
    draft_call *c = &m->draft.calls[o->number];
    if (c->state != CALL_RUNNING) return UAR_E_STALE;
    if (o->message.len > 0) machine_emit_error(m, UAR_E_UTF8, o->message);
    end_call(m, c, o->status, o->text);
    if (m->phase == PHASE_STOP)
        machine_stop_go_on(m);
    else
        machine_calls_go_on(m);
    return UAR_OK;
}

/* ---- stopping ---- */

void machine_stop_calls(machine *m) {
    for (size_t i = 0; i < m->draft.call_count; i++) {
        if (m->draft.calls[i].state != CALL_RUNNING) continue;
        effect *e = machine_want(m, EFFECT_STOP_TOOL);
        if (e != NULL) e->number = i;
    }
}

void machine_interrupt_calls(machine *m) {
    for (size_t i = 0; i < m->draft.call_count; i++) {
        draft_call *c = &m->draft.calls[i];
        if (c->state != CALL_ENDED && c->state != CALL_SAVED)
            end_call(m, c, UAR_E_CANCELLED, STR("The run ended before this call did; it was interrupted."));
    }
}
