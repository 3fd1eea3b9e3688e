/*
 * Owns: admission, the way into a session: claim it in this process, have a heartbeat, look at the session, its lease, the
 * agent, and read the messages. Nothing is written here: the lease is taken by the commit of the turn, which fails if
 * somebody else was faster.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "run/run.h"

/* Messages of a session that are read back for the context. */
#define HISTORY_MAX 400
#define HISTORY_PAGE 100

static void ask(run *r, admit_stage stage);

/* ---- the answer ---- */

static void refuse(run *r, uar_status status, uar_str message) {
    outcome o = { .kind = OUTCOME_ADMITTED, .status = status, .message = message };
    o.model = r->model != NULL ? uar_str_of(r->model->name) : r->spec.model;
    run_feed(r, &o);
}

static void refuse_op(run *r) {
    store_op *op = &r->admission->op;
    refuse(r, op->status, uar_str_of(op->error.message));
}

static void admit(run *r) {
    run_admit_forget(r); /* what was read is decoded into the run's own memory */
    outcome o = { .kind = OUTCOME_ADMITTED, .status = UAR_OK, .max_steps = r->spec.max_steps };
    o.number = r->session_now.last_number;
    o.model = uar_str_of(r->model->name);
    o.recalls = run_memory_injects(r);
    o.captures = run_memory_captures(r);
    o.fresh = run_fresh(r);
    run_feed(r, &o);
}

/* ---- store calls ---- */

static void op_done(store_op *op) {
    run *r = op->arg;
    run_post(r, &r->admission->letter); /* the call's reference goes with the letter */
}

static void submit(run *r) {
    store_op *op = &r->admission->op;
    op->done = op_done;
    op->arg = run_ref(r);
    store_submit(r->env->store, op);
}

static void submit_get(run *r, uint32_t kind, uar_str owner, uar_str id) {
    store_op *op = &r->admission->op;
    arena_dispose(&op->mem);
    op->call = STORE_GET;
    op->kind = kind;
    op->owner = arena_str(&op->mem, owner);
    op->id = arena_str(&op->mem, id);
    if (op->owner.ptr == NULL || op->id.ptr == NULL)
        r->break_wanted = true;
    else
        submit(r);
}

static void submit_messages(run *r) {
    store_op *op = &r->admission->op;
    arena_dispose(&op->mem);
    memset(&op->query, 0, sizeof op->query);
    op->call = STORE_LIST;
    op->query.kind = UAR_RECORD_MESSAGE;
    op->query.owner = arena_str(&op->mem, r->spec.owner);
    op->query.parent = arena_str(&op->mem, r->session_key);
    op->query.order = UAR_ORDER_SORT;
    op->query.limit = HISTORY_PAGE;
    uint64_t last = r->session_now.last_number;
    uint64_t after = last > HISTORY_MAX ? last - HISTORY_MAX : 0;
    if (r->history_count > 0) after = r->history[r->history_count - 1].number;
    op->query.has_after = true;
    op->query.after_sort = (int64_t)after;
    /* An id above every UUID: behind all records of this number. */
    op->query.after_id = STR("~");
    if (op->query.owner.ptr == NULL || op->query.parent.ptr == NULL)
        r->break_wanted = true;
    else
        submit(r);
}

static void pulse_ready(pulse_waiter *w, uar_status status) {
    admission *a = (admission *)(void *)((char *)w - offsetof(admission, waiter));
    w->status = status;
    run_post(a->timer.r, &a->letter); /* the reference of the wait goes with the letter */
}

/* ---- stages ---- */

static void ask(run *r, admit_stage stage) {
    char key[WATCH_KEY_MAX];
    r->admission->stage = stage;
    switch (stage) {
    case ADMIT_PULSE: break;
    case ADMIT_SESSION: submit_get(r, UAR_RECORD_SESSION, r->spec.owner, r->session_key); break;
    case ADMIT_LEASE: submit_get(r, UAR_RECORD_LEASE, r->spec.owner, r->session_key); break;
    case ADMIT_WATCH:
        submit_get(r, UAR_RECORD_LEASE, STR(UAR_SYSTEM_OWNER), watch_key(key, r->admission->holder.instance));
        break;
    case ADMIT_AGENT: submit_get(r, UAR_RECORD_AGENT, r->spec.owner, r->spec.agent); break;
    case ADMIT_MESSAGES: submit_messages(r); break;
    }
}

static void got_session(run *r) {
    store_op *op = &r->admission->op;
    if (op->status == UAR_E_NOT_FOUND) {
        r->session_now = (uar_session){ .owner = r->spec.owner, .user = r->spec.user, .session = r->spec.session };
    } else if (op->status != UAR_OK) {
        refuse_op(r);
        return;
    } else {
        uar_error err = UAR_ERROR_INIT;
        uar_status status = session_decode_whole(&r->session_now, &r->session_life, &r->mem, op->records, &err);
        if (status == UAR_OK && r->session_life.mark != SESSION_LIVE)
            status = error_set(&err, UAR_E_BUSY, "this session is being deleted or made; try again");
        if (status != UAR_OK) {
            refuse(r, status, uar_str_of(err.message));
            return;
        }
    }
    ask(r, ADMIT_LEASE);
}

static void got_lease(run *r) {
    store_op *op = &r->admission->op;
    lease held = { .held = false };
    if (op->status == UAR_OK) {
        uar_error err = UAR_ERROR_INIT;
        uar_status status = lease_decode(&held, &op->mem, op->records, &err);
        if (status != UAR_OK) {
            refuse(r, status, uar_str_of(err.message));
            return;
        }
        r->lease_revision = op->records->revision;
    } else if (op->status != UAR_E_NOT_FOUND) {
        refuse_op(r);
        return;
    }
    /* Our own lease of a run that ended without giving it back is ours; with one process there are no others. */
    bool foreign = held.held && !uar_uuid_equal(held.instance, r->env->instance) && !r->env->single_process;
    if (!foreign) {
        ask(r, ADMIT_AGENT);
        return;
    }
    watch_begin(&r->admission->holder, held.instance);
    ask(r, ADMIT_WATCH);
}

static void look_again(run *r, run_timer *t) {
    (void)t;
    if (machine_is_ending(&r->machine))
        refuse(r, UAR_E_CANCELLED, STR("cancelled while waiting for the session"));
    else
        ask(r, ADMIT_WATCH);
}

static void got_beat(run *r) {
    admission *a = r->admission;
    bool is_there = a->op.status == UAR_OK;
    if (!is_there && a->op.status != UAR_E_NOT_FOUND) {
        refuse_op(r);
        return;
    }
    switch (watch_look(r->env, &a->holder, is_there ? a->op.records->revision : 0)) {
    case WATCH_ON: run_timer_start(&a->timer, WATCH_MS); break;
    case WATCH_ALIVE: refuse(r, UAR_E_BUSY, STR("another process has this session open")); break;
    case WATCH_DEAD:
        r->taken_from = a->holder.instance;
        r->taken_beat = a->holder.beat;
        ask(r, ADMIT_AGENT);
        break;
    }
}

static bool choose_model(run *r, const uar_agent *agent) {
    r->model = env_model(r->env, r->spec.model.len > 0 ? r->spec.model : agent->model);
    if (r->model != NULL) return true;
    refuse(r, UAR_E_NOT_FOUND, STR("no model of this name is registered"));
    return false;
}

static void take_agent(run *r, const uar_agent *agent) {
    r->agent_instructions = agent->instructions;
    if (agent->memory == UAR_OFF) r->spec.memory = UAR_OFF;
    if (agent->max_steps != 0 && (r->spec.max_steps == 0 || agent->max_steps < r->spec.max_steps))
        r->spec.max_steps = agent->max_steps;
}

/* Room at once for what the session holds and a short turn: a list that grows leaves its older selves in the arena. */
static bool reserve_history(run *r) {
    const size_t turn = 4;
    uint64_t last = r->session_now.last_number;
    size_t cap = (last < HISTORY_MAX ? (size_t)last : HISTORY_MAX) + turn;
    r->history = arena_zeroed(&r->mem, cap, sizeof *r->history);
    if (r->history != NULL) r->history_cap = cap;
    return r->history != NULL;
}

static void got_agent(run *r) {
    store_op *op = &r->admission->op;
    uar_agent agent;
    memset(&agent, 0, sizeof agent);
    if (op->status == UAR_OK) {
        uar_error err = UAR_ERROR_INIT;
        uar_status status = agent_decode(&agent, &r->mem, op->records, &err);
        if (status != UAR_OK) {
            refuse(r, status, uar_str_of(err.message));
            return;
        }
    } else if (op->status != UAR_E_NOT_FOUND) {
        refuse_op(r);
        return;
    }
    if (!choose_model(r, &agent)) return;
    take_agent(r, &agent);
    if (r->session_now.last_number == 0)
        admit(r);
    else if (reserve_history(r))
        ask(r, ADMIT_MESSAGES);
    else
        r->break_wanted = true;
}

uar_status run_remember_message(run *r, const uar_message *m) {
    uar_message *grown = run_list_push(r->history, r->history_count, &r->history_cap, sizeof *grown, &r->mem);
    if (grown == NULL) return UAR_E_NOMEM;
    r->history = grown;
    r->history[r->history_count++] = *m;
    return UAR_OK;
}

static void got_messages(run *r) {
    store_op *op = &r->admission->op;
    if (op->status != UAR_OK) {
        refuse_op(r);
        return;
    }
    for (size_t i = 0; i < op->record_count; i++) {
        uar_message m;
        uar_error err = UAR_ERROR_INIT;
        uar_status status = message_decode(&m, &r->mem, &op->records[i], &err);
        if (status == UAR_OK) status = run_remember_message(r, &m);
        if (status != UAR_OK) {
            refuse(r, status, err.code != UAR_OK ? uar_str_of(err.message) : uar_str_of(uar_status_text(status)));
            return;
        }
    }
    if (op->record_count > 0) {
        r->stands_on = r->history[r->history_count - 1].id;
        r->stands_at = op->records[op->record_count - 1].revision;
    }
    if (op->record_count == HISTORY_PAGE)
        ask(r, ADMIT_MESSAGES);
    else
        admit(r);
}

static void got_pulse(run *r) {
    if (r->admission->waiter.status != UAR_OK)
        refuse(r, r->admission->waiter.status, uar_str_of(uar_status_text(r->admission->waiter.status)));
    else
        ask(r, ADMIT_SESSION);
}

static void open_answer(run *r, letter *l) {
    (void)l;
    if (r->closed) return;
    if (machine_is_ending(&r->machine) && !r->machine.parks) {
        refuse(r, UAR_E_CANCELLED, STR("cancelled"));
        return;
    }
    switch (r->admission->stage) {
    case ADMIT_PULSE: got_pulse(r); break;
    case ADMIT_SESSION: got_session(r); break;
    case ADMIT_LEASE: got_lease(r); break;
    case ADMIT_WATCH: got_beat(r); break;
    case ADMIT_AGENT: got_agent(r); break;
    case ADMIT_MESSAGES: got_messages(r); break;
    }
    if (r->break_wanted) run_feed(r, &(outcome){ .kind = OUTCOME_WAITED }); /* lets the run break */
}

void run_admit(run *r) {
    assert(r->admission == NULL);
    admission *a = ALLOC_NEW(&r->env->alloc, admission);
    if (a == NULL) {
        r->break_wanted = true;
        return;
    }
    r->admission = a;
    arena_init(&a->op.mem, &r->env->alloc);
    a->letter.open = open_answer;
    a->waiter.ready = pulse_ready;
    run_timer_init(&a->timer, r, look_again);
    uar_status status = env_claim(r->env, r->claim_key);
    r->claimed = status == UAR_OK;
    if (status != UAR_OK) {
        outcome o = { .kind = OUTCOME_ADMITTED, .status = status, .model = r->spec.model };
        o.message = status == UAR_E_BUSY ? STR("this session has a run already") : uar_str_of(uar_status_text(status));
        run_post_outcome(r, &o);
        return;
    }
    a->stage = ADMIT_PULSE;
    r->pulsing = true;
    run_ref(r); /* the wait's */
    pulse_require(&r->env->pulse, &a->waiter);
}

void run_admit_abandon(run *r) {
    if (r->admission != NULL) run_timer_stop(&r->admission->timer);
}

void run_admit_forget(run *r) {
    if (r->admission == NULL) return;
    assert(!r->admission->timer.armed);
    arena_dispose(&r->admission->op.mem);
    alloc_free(&r->env->alloc, r->admission);
    r->admission = NULL;
}
