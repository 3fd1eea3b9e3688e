/*
 * The states of a machine, as rules. Each phase has one function that says what may be open in it and how its calls stand.
 *
 * Invariants: a sound machine that isn't closed waits for something that will be answered, so it can't hang; whatever
 * outcome it is fed, sound or not, it stays sound and within its memory.
 */
#include "run/machine_check.h"

#include "base/str.h"

/* ---- one call ---- */

static bool is_blank(const draft_call *c) {
    return !c->asks && !c->announced && c->decision == DECISION_NONE && !c->decision_saved && c->in_save == 0 &&
           c->effective.len == 0 && c->reason.len == 0 && c->result.len == 0;
}

static bool was_allowed(const draft_call *c) {
    return !c->asks || (c->announced && c->decision == DECISION_APPROVED && c->decision_saved);
}

static unsigned news_of(const draft_call *c) {
    unsigned news = 0;
    if (c->asks && !c->announced) news |= CALL_FACT_ASK;
    if (c->decision != DECISION_NONE && !c->decision_saved) news |= CALL_FACT_DECISION;
    if (c->state == CALL_ENDED) news |= CALL_FACT_OUTCOME;
    return news;
}

/* A save takes all news of a call or none, so that nothing is announced out of order. */
static bool marks_hold(const draft_call *c) {
    return c->in_save == 0 || c->in_save == news_of(c);
}

static bool call_is_sound(const draft_call *c) {
    bool ended = c->state == CALL_ENDED || c->state == CALL_SAVED;
    bool has_outcome = ended ? c->ok == (c->status == UAR_OK) : !c->ok && c->status == UAR_OK && c->result.len == 0;
    bool facts = (c->decision == DECISION_NONE || c->asks) && (!c->announced || c->asks) &&
                 (!c->decision_saved || (c->decision != DECISION_NONE && c->announced)) &&
                 (c->decision != DECISION_DENIED || ended);
    if (!has_outcome || !facts || !marks_hold(c)) return false;
    switch (c->state) {
    case CALL_WRITING: return is_blank(c);
    case CALL_ASKING: return c->asks && !c->decision_saved;
    case CALL_READY:
    case CALL_RUNNING: return was_allowed(c);
    case CALL_ENDED: return true;
    case CALL_SAVED: return news_of(c) == 0;
    }
    return false;
}

/* ---- all calls ---- */

#define STATE(state) (1u << (state))

static bool states_are(const draft *d, unsigned allowed) {
    for (size_t i = 0; i < d->call_count; i++)
        if ((STATE(d->calls[i].state) & allowed) == 0) return false;
    return true;
}

static size_t count_in(const draft *d, call_state state) {
    size_t n = 0;
    for (size_t i = 0; i < d->call_count; i++)
        n += d->calls[i].state == state;
    return n;
}

static size_t count_marked(const draft *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->call_count; i++)
        n += d->calls[i].in_save != 0;
    return n;
}

/* All news is marked, and nothing else is. */
static bool marks_are_all_news(const draft *d) {
    for (size_t i = 0; i < d->call_count; i++)
        if (d->calls[i].in_save != news_of(&d->calls[i])) return false;
    return true;
}

static bool calls_differ(const draft *d, bool named) {
    for (size_t i = 0; i < d->call_count; i++) {
        const draft_call *c = &d->calls[i];
        if (named && (c->id.len == 0 || c->lane.held_len != 0)) return false;
        for (size_t k = 0; k < i; k++) {
            if (d->calls[k].index == c->index) return false;
            if (named && uar_str_equal(buffer_str(&d->calls[k].id), buffer_str(&c->id))) return false;
        }
    }
    return true;
}

static bool calls_are_sound(const machine *m, bool named) {
    for (size_t i = 0; i < m->draft.call_count; i++) {
        const draft_call *c = &m->draft.calls[i];
        /* Who is to be asked hears of it as soon as the calls are stored. */
        if (!call_is_sound(c) || (m->answer_stored && c->asks && !c->announced)) return false;
        /* Before the end of the run only what ran, or may not, has an outcome. */
        bool ran = c->state == CALL_ENDED && c->decision == DECISION_APPROVED;
        if (ran && !c->decision_saved && m->phase < PHASE_END) return false;
    }
    return calls_differ(&m->draft, named);
}

static bool draft_is_blank(const machine *m) {
    const draft *d = &m->draft;
    return m->draft_void || (draft_is_empty(d) && d->text_lane.held_len == 0 && d->reasoning_lane.held_len == 0);
}

/* ---- what is open ---- */

static bool nothing_open(const machine *m) {
    return !m->model_open && !m->wait_open && !m->save_open && !m->save_waits;
}

/* This save is open or waits to be tried again, and nothing else is open. */
static bool saves(const machine *m, save_kind kind) {
    return m->save == kind && !m->model_open && m->save_open != m->save_waits && m->wait_open == m->save_waits;
}

static bool has_not_begun(const machine *m) {
    return m->step == 0 && m->attempt == 0 && !m->answer_stored && draft_is_blank(m) && m->stopped_in == PHASE_NEW;
}

static bool model_is_awaited(const machine *m) {
    bool only_writes = m->draft_void || states_are(&m->draft, STATE(CALL_WRITING));
    bool writes = m->model_open && !m->wait_open && only_writes;
    bool waits = !m->model_open && m->wait_open && draft_is_blank(m) && m->attempt < m->limits.model_attempts;
    bool is_attempt = m->attempt == 1 || (m->attempt > 1 && m->attempt <= m->limits.model_attempts);
    return m->step > 0 && is_attempt && !m->answer_stored && !m->save_open && !m->save_waits && (writes || waits);
}

/* ---- phases ---- */

static bool plan_is_sound(const machine *m) {
    const unsigned planned = STATE(CALL_READY) | STATE(CALL_ASKING) | STATE(CALL_ENDED);
    const draft *d = &m->draft;
    if (d->call_count == 0 || m->answer_stored) return false;
    for (size_t i = 0; i < d->call_count; i++)
        if (d->calls[i].announced || d->calls[i].decision_saved) return false;
    if (count_in(d, CALL_WRITING) == 0) return saves(m, SAVE_CALLS) && states_are(d, planned) && marks_are_all_news(d);
    return nothing_open(m) && states_are(d, planned | STATE(CALL_WRITING)) && count_marked(d) == 0;
}

static bool calls_phase_is_sound(const machine *m) {
    const draft *d = &m->draft;
    bool is_full = count_in(d, CALL_READY) == 0 || count_in(d, CALL_RUNNING) >= m->limits.parallel_tools;
    if (!m->answer_stored || !is_full || count_in(d, CALL_WRITING) != 0) return false;
    if (saves(m, SAVE_FACTS)) return count_marked(d) > 0;
    return nothing_open(m) && marks_are_all_news(d) && count_marked(d) == 0 && count_in(d, CALL_SAVED) < d->call_count;
}

static bool stop_is_sound(const machine *m) {
    const draft *d = &m->draft;
    switch (m->stopped_in) {
    case PHASE_MODEL: return model_is_awaited(m);
    case PHASE_PLAN: return count_in(d, CALL_WRITING) == 0 && plan_is_sound(m);
    case PHASE_CALLS:
        return m->answer_stored && count_in(d, CALL_WRITING) == 0 &&
               (saves(m, SAVE_FACTS) || (nothing_open(m) && count_in(d, CALL_RUNNING) > 0));
    default: return false;
    }
}

static bool end_is_sound(const machine *m) {
    const unsigned open = STATE(CALL_WRITING) | STATE(CALL_RUNNING), over = STATE(CALL_ENDED) | STATE(CALL_SAVED);
    const draft *d = &m->draft;
    bool was_stopped = m->stopped_in >= PHASE_TURN && m->stopped_in <= PHASE_CALLS;
    /* Nothing stopped it: it is done, or its end could not be stored and it failed of that. */
    bool ended_itself = m->end_state == UAR_RUN_DONE || m->end_state == UAR_RUN_FAILED;
    if (ended_itself && m->stopped_in == PHASE_NEW) return saves(m, SAVE_END) && d->call_count == 0;
    if (!was_stopped || !saves(m, m->parks ? SAVE_PARK : SAVE_END) || !marks_are_all_news(d)) return false;
    if (!m->answer_stored) return d->call_count == 0;
    return states_are(d, m->parks ? ~open : over);
}

static bool phase_is_sound(const machine *m) {
    switch (m->phase) {
    case PHASE_NEW:
    case PHASE_ADMIT:
    case PHASE_RECALL: return has_not_begun(m) && nothing_open(m) && m->hit_count == 0;
    case PHASE_TURN: return has_not_begun(m) && saves(m, SAVE_TURN);
    case PHASE_MODEL: return m->stopped_in == PHASE_NEW && model_is_awaited(m);
    case PHASE_PLAN: return m->stopped_in == PHASE_NEW && plan_is_sound(m);
    case PHASE_CALLS: return m->stopped_in == PHASE_NEW && calls_phase_is_sound(m);
    case PHASE_STOP: return stop_is_sound(m);
    case PHASE_END: return end_is_sound(m);
    case PHASE_SETTLE:
        return nothing_open(m) && m->captures && m->end_state == UAR_RUN_DONE && m->draft.call_count == 0;
    case PHASE_CLOSED: return nothing_open(m) && states_are(&m->draft, ~(STATE(CALL_WRITING) | STATE(CALL_RUNNING)));
    }
    return false;
}

/* How it ends, or that it doesn't yet. */
static bool end_fits(const machine *m) {
    if (!m->ending)
        return m->phase < PHASE_STOP && !m->parks && m->end_status == UAR_OK && m->end_state == (uar_run_state)0;
    if (m->phase > PHASE_TURN && m->phase < PHASE_STOP) return false;
    if (m->parks != (m->end_state == UAR_RUN_INTERRUPTED)) return false;
    switch (m->end_state) {
    case UAR_RUN_DONE: return m->phase >= PHASE_END && m->end_status == UAR_OK;
    case UAR_RUN_CANCELLED: return m->end_status == UAR_E_CANCELLED;
    case UAR_RUN_INTERRUPTED: return m->end_status == UAR_E_PARKED;
    case UAR_RUN_FAILED: return m->phase >= PHASE_STOP && m->end_status != UAR_OK;
    default: return false;
    }
}

bool machine_is_sound(const machine *m) {
    bool named = m->phase >= PHASE_PLAN && !(m->phase == PHASE_STOP && m->stopped_in == PHASE_MODEL);
    return m->limits.parallel_tools > 0 && end_fits(m) && phase_is_sound(m) && calls_are_sound(m, named);
}
