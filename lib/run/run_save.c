/*
 * Owns: the commits of a run. One step is one commit: what it says is all there or not there.
 *
 * Invariants: every commit but the first checks the session's lease at the revision that this run took it with, so a writer
 * that lost the session can't write; a session that was only given a name meanwhile keeps it, and the commit is made again; message numbers are handed out by the machine, without hole; revisions held here are
 * those that are stored, and move only when a commit succeeded.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "run/ledger.h"
#include "run/run.h"

#define DOCUMENT_MAX ((size_t)256 << 20)
/* Lease, what the turn stands on, session, run, open-run index, checkpoint, the message, the cost of the step, its counter. */
#define FIXED_WRITES 9
/* Commits in a row that others may disturb by giving the session a name. */
#define LOOKS_MAX 16

/* One commit, from its making to its answer. On the heap, so that a run that waits holds nothing of what it wrote. */
typedef struct saving {
    letter letter; /* brings the answer */
    store_op op;
    store_op look; /* the session once more, after a conflict */
    uint32_t looks;
    run *r;
    save_kind kind;
    arena *mem; /* the op's */
    uar_write *writes;
    size_t count;
    uar_session session; /* as it will be */
    uar_write *session_write;
    uar_message *messages; /* that it adds; their parts and texts in mem of the run */
    size_t message_count;
    uar_usage cost;         /* of the step that wasn't booked yet */
    uar_usage spent;        /* what is booked when this is stored */
    uint64_t step;          /* the same of steps */
    uar_write *usage_write; /* NULL: no step is booked */
    uar_status status;
} saving;

static uar_write *add(saving *s, uar_write_op op, uint64_t expected) {
    uar_write *w = &s->writes[s->count++];
    w->op = op;
    w->expected = expected;
    return w;
}

static void note(saving *s, uar_status status) {
    if (s->status == UAR_OK) s->status = status;
}

/* ---- lease, index ---- */

static void write_lease(saving *s) {
    run *r = s->r;
    bool takes = s->kind == SAVE_TURN, gives = s->kind == SAVE_END || s->kind == SAVE_PARK;
    uar_write *w = add(s, takes || gives ? UAR_WRITE_PUT : UAR_WRITE_CHECK, r->lease_revision);
    lease l = { .instance = r->env->instance, .run = r->id, .held = !gives };
    note(s, lease_record(&w->record, s->mem, r->spec.owner, r->session_key, &l));
}

/* A lease that was deleted with its session and made anew may be at the same revision again; a message never comes back. */
static void check_ground(saving *s) {
    run *r = s->r;
    if (s->kind != SAVE_TURN || uar_uuid_is_none(r->stands_on)) return;
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, r->stands_on);
    uar_write *w = add(s, UAR_WRITE_CHECK, r->stands_at);
    w->record.kind = UAR_RECORD_MESSAGE;
    w->record.owner = arena_str(s->mem, r->spec.owner);
    w->record.id = arena_str(s->mem, uar_str_of(id));
    if (w->record.owner.ptr == NULL || w->record.id.ptr == NULL) note(s, UAR_E_NOMEM);
}

static void write_open_run(saving *s) {
    run *r = s->r;
    if (s->kind != SAVE_TURN && s->kind != SAVE_END) return;
    uar_write *w = s->kind == SAVE_TURN ? add(s, UAR_WRITE_PUT, 0) : add(s, UAR_WRITE_DELETE, 1);
    open_run o = { .run = r->id,
                   .owner = r->spec.owner,
                   .user = r->spec.user,
                   .session = r->spec.session,
                   .instance = r->env->instance };
    note(s, open_run_record(&w->record, s->mem, &o));
}

static void write_checkpoint(saving *s) {
    run *r = s->r;
    if (s->kind == SAVE_END) return; /* the last one of the run stays as it is */
    buffer doc;
    buffer_init(&doc, &r->env->alloc, DOCUMENT_MAX);
    machine_save(&r->machine, &doc);
    if (doc.status != UAR_OK) {
        note(s, doc.status);
    } else {
        uar_write *w = add(s, UAR_WRITE_PUT, r->checkpoint_revision);
        note(s, checkpoint_record(&w->record, s->mem, r->spec.owner, r->session_key, r->id, buffer_str(&doc)));
    }
    buffer_dispose(&doc);
}

/* ---- the run's record ---- */

static void list_pending(saving *s, uar_run_info *info) {
    const draft *d = &s->r->machine.draft;
    if (s->kind == SAVE_TURN || s->kind == SAVE_END) return;
    uar_pending_call *list = arena_zeroed(s->mem, d->call_count + 1, sizeof *list);
    if (list == NULL) {
        note(s, UAR_E_NOMEM);
        return;
    }
    for (size_t i = 0; i < d->call_count; i++) {
        const draft_call *c = &d->calls[i];
        if (c->state != CALL_ASKING || c->decision != DECISION_NONE) continue;
        list[info->pending_count++] =
            (uar_pending_call){ buffer_str(&c->id), buffer_str(&c->name), buffer_str(&c->effective) };
    }
    info->pending = list;
}

static void write_run(saving *s) {
    run *r = s->r;
    const machine *m = &r->machine;
    uar_run_info info = { .run = r->id,
                          .owner = r->spec.owner,
                          .user = r->spec.user,
                          .session = r->spec.session,
                          .agent = r->spec.agent,
                          .state = UAR_RUN_RUNNING,
                          .started_ms = r->started_ms,
                          .steps = m->step,
                          .usage = m->spent,
                          .instance = r->env->instance };
    list_pending(s, &info);
    if (s->kind == SAVE_END || s->kind == SAVE_PARK) {
        info.state = m->end_state;
        info.ended_ms = s->kind == SAVE_END ? clock_wall(&r->env->clock) : 0;
        if (m->end_state != UAR_RUN_DONE) {
            info.reason = buffer_str(&m->end_message);
            info.code = uar_str_of(uar_status_name(m->end_status));
            info.message = buffer_str(&m->end_message);
        }
    }
    uar_write *w = add(s, UAR_WRITE_PUT, r->run_revision);
    note(s, run_record(&w->record, s->mem, &info));
    w->record.created_ms = r->started_ms;
}

/* ---- cost ---- */

static uar_status prepare_usage(store_op *op) {
    saving *s = op->arg;
    return ledger_prepare(s->r->env, s->usage_write, s->mem, s->r->spec.owner, &s->cost);
}

static void settle_usage(store_op *op) {
    saving *s = op->arg;
    ledger_settle(s->r->env, s->r->spec.owner, &s->cost, op->status);
}

/* The model call of a step, with all its tries, is booked by the first commit behind it. */
static void write_cost(saving *s) {
    run *r = s->r;
    const machine *m = &r->machine;
    s->spent = m->spent;
    s->step = m->step;
    if (m->step <= r->booked_step || m->model_open) return;
    s->cost = usage_since(&m->spent, &r->booked);
    uar_cost cost = { .owner = r->spec.owner,
                      .run = r->id,
                      .user = r->spec.user,
                      .session = r->spec.session,
                      .agent = r->spec.agent,
                      .model = uar_str_of(r->model != NULL ? r->model->name : NULL),
                      .step = m->step,
                      .attempts = m->attempt > 0 ? m->attempt : 1,
                      .usage = s->cost };
    uar_write *w = add(s, UAR_WRITE_PUT, 0);
    note(s, cost_record(&w->record, s->mem, &cost));
    s->usage_write = add(s, UAR_WRITE_PUT, 0); /* made when the commit's turn has come */
    s->op.prepare = prepare_usage;
    s->op.settle = settle_usage;
}

/* ---- messages ---- */

/* A message of this commit. Its texts are copied to the run's memory: the history keeps it. */
static uar_message *add_message(saving *s, uar_role role, uar_uuid id, uint64_t number, size_t parts) {
    uar_part *list = arena_zeroed(&s->r->mem, parts, sizeof *list);
    if (list == NULL) {
        note(s, UAR_E_NOMEM);
        return NULL;
    }
    uar_message *m = &s->messages[s->message_count++];
    *m = (uar_message){ .id = id, .run = s->r->id, .number = number, .role = role, .parts = list };
    return m;
}

static uar_part *add_part(uar_message *m, uar_part_type type) {
    uar_part *list = (uar_part *)(uintptr_t)m->parts;
    uar_part *p = &list[m->part_count++];
    p->type = type;
    return p;
}

static uar_str keep(saving *s, uar_str text) {
    uar_str copy = arena_str(&s->r->mem, text);
    if (text.ptr != NULL && copy.ptr == NULL) note(s, UAR_E_NOMEM);
    return copy;
}

static void add_user_message(saving *s) {
    machine *m = &s->r->machine;
    uar_message *message = add_message(s, UAR_ROLE_USER, m->user_message, m->last_number + 1, 1);
    if (message == NULL) return;
    add_part(message, UAR_PART_TEXT)->text = keep(s, buffer_str(&m->input));
    message->recalled = s->r->recalled;
}

static void add_call_parts(saving *s, uar_message *message) {
    const draft *d = &s->r->machine.draft;
    for (size_t i = 0; i < d->call_count; i++) {
        uar_part *p = add_part(message, UAR_PART_TOOL_CALL);
        p->call = keep(s, buffer_str(&d->calls[i].id));
        p->tool = keep(s, buffer_str(&d->calls[i].name));
        p->arguments = keep(s, buffer_str(&d->calls[i].arguments));
    }
}

static void add_answer(saving *s, bool interrupted) {
    machine *m = &s->r->machine;
    draft *d = &m->draft;
    uar_message *message = add_message(s, UAR_ROLE_ASSISTANT, m->answer, m->last_number + 1, d->call_count + 2);
    if (message == NULL) return;
    message->interrupted = interrupted;
    if (d->reasoning.len > 0 || d->opaque.len > 0) {
        uar_part *p = add_part(message, UAR_PART_REASONING);
        p->text = keep(s, buffer_str(&d->reasoning));
        if (d->opaque.len > 0) p->opaque = keep(s, buffer_str(&d->opaque));
    }
    if (d->text.len > 0) add_part(message, UAR_PART_TEXT)->text = keep(s, buffer_str(&d->text));
    add_call_parts(s, message);
}

/* What the model reads of a result: a JSON string as its text, else the JSON as it is. */
static uar_str readable(saving *s, const draft_call *c) {
    uar_str text = buffer_str(&c->result);
    if (!c->ok || text.len == 0 || text.ptr[0] != '"') return keep(s, text);
    cJSON *node = NULL;
    uar_status status = json_read(&node, &s->r->env->alloc, text, SIZE_MAX, NULL);
    if (status != UAR_OK) {
        note(s, status);
        return text;
    }
    uar_str copy = keep(s, json_node_text(node));
    json_free(&s->r->env->alloc, node);
    return copy;
}

/* Results have the numbers behind the answer's, in call order, whatever order they ended in. */
static void add_results(saving *s) {
    machine *m = &s->r->machine;
    draft *d = &m->draft;
    uint64_t base = m->answer_stored ? m->last_number - d->call_count + 1 : m->last_number + 2;
    for (size_t i = 0; i < d->call_count; i++) {
        draft_call *c = &d->calls[i];
        if ((c->in_save & CALL_FACT_OUTCOME) == 0) continue;
        uar_message *message = add_message(s, UAR_ROLE_TOOL, run_fresh(s->r), base + i, 1);
        if (message == NULL) return;
        uar_part *p = add_part(message, UAR_PART_TOOL_RESULT);
        p->call = keep(s, buffer_str(&c->id));
        p->tool = keep(s, buffer_str(&c->name));
        p->failed = !c->ok;
        p->text = readable(s, c);
    }
}

static void collect_messages(saving *s) {
    machine *m = &s->r->machine;
    bool unsaved_text = !m->answer_stored && !m->draft_void && (m->draft.text.len > 0 || m->draft.reasoning.len > 0);
    switch (s->kind) {
    case SAVE_TURN: add_user_message(s); return;
    case SAVE_CALLS: add_answer(s, false); break;
    case SAVE_FACTS: break;
    case SAVE_END:
        if (m->end_state == UAR_RUN_DONE)
            add_answer(s, false);
        else if (unsaved_text)
            add_answer(s, true);
        break;
    case SAVE_PARK: break;
    }
    add_results(s);
}

static void write_messages(saving *s) {
    for (size_t i = 0; i < s->message_count; i++) {
        uar_write *w = add(s, UAR_WRITE_PUT, 0);
        note(s, message_record(&w->record, s->mem, s->r->spec.owner, s->r->session_key, &s->messages[i]));
    }
}

static void write_session(saving *s) {
    s->session = s->r->session_now;
    s->session.messages += s->message_count;
    for (size_t i = 0; i < s->message_count; i++)
        if (s->messages[i].number > s->session.last_number) s->session.last_number = s->messages[i].number;
    /* The numbers of results that are still to come are taken with the calls. */
    if (s->kind == SAVE_CALLS) s->session.last_number = s->r->machine.last_number + 1 + s->r->machine.draft.call_count;
    uar_write *w = add(s, UAR_WRITE_PUT, s->r->session_now.revision);
    note(s, session_record_whole(&w->record, s->mem, &s->session, &s->r->session_life));
    w->record.created_ms = s->session.created_ms;
    s->session_write = w;
}

/* ---- the commit ---- */

/* A record that moved under us means that somebody else holds the session. */
static outcome saved(run *r, uar_status status, uar_str message) {
    outcome o = { .kind = OUTCOME_SAVED, .status = status, .message = message, .fresh = run_fresh(r) };
    if (status == UAR_E_CONFLICT) o.message = STR("another process writes this session");
    return o;
}

/* A result may be stored before its neighbour that was called earlier; the history is kept in number order. */
static void remember(run *r, const uar_message *m) {
    if (run_remember_message(r, m) != UAR_OK) {
        r->break_wanted = true;
        return;
    }
    for (size_t i = r->history_count - 1; i > 0 && r->history[i - 1].number > r->history[i].number; i--) {
        uar_message swap = r->history[i];
        r->history[i] = r->history[i - 1];
        r->history[i - 1] = swap;
    }
}

static void take_over(run *r, saving *s) {
    r->session_now = s->session;
    r->session_now.created_ms = s->session_write->record.created_ms;
    r->session_now.revision++;
    if (s->kind != SAVE_CALLS && s->kind != SAVE_FACTS) r->lease_revision++;
    r->run_revision++;
    if (s->usage_write != NULL) {
        r->booked = s->spent;
        r->booked_step = s->step;
    }
    if (s->kind != SAVE_END) r->checkpoint_revision++;
    for (size_t i = 0; i < s->message_count; i++)
        remember(r, &s->messages[i]);
    if (s->kind == SAVE_TURN && !uar_uuid_is_none(r->taken_from)) watch_bury(r->env, r->taken_from, r->taken_beat);
}

static void saving_free(saving *s) {
    arena_dispose(s->mem);
    arena_dispose(&s->look.mem);
    alloc_free(&s->r->env->alloc, s);
}

static void finish(saving *s, uar_status status) {
    run *r = s->r;
    if (status == UAR_OK)
        take_over(r, s);
    else
        env_say(r->env, UAR_LOG_WARN, "a commit of a run failed: %s", uar_status_name(status));
    arena_dispose(s->mem);
    outcome o = saved(r, status, status != UAR_OK ? uar_str_of(s->op.error.message) : uar_str_of(NULL));
    run_feed(r, &o);
    saving_free(s);
}

/* ---- a session that was given a name meanwhile ---- */

static void open_saved(run *r, letter *l);

static void op_done(store_op *op) {
    saving *s = op->arg;
    run_post(s->r, &s->letter); /* the call's reference goes with the letter */
}

static void submit(saving *s, store_op *op, void (*open)(run *r, letter *l)) {
    s->letter.open = open;
    op->done = op_done;
    op->arg = s;
    run_ref(s->r); /* the call's */
    store_submit(s->r->env->store, op);
}

/* True if the stored session is ours but for its name, which is taken over. Whoever writes messages moves the numbers. */
static bool adopt_name(saving *s) {
    run *r = s->r;
    uar_session now;
    session_life life;
    uar_status status = s->look.status;
    if (status == UAR_OK) status = session_decode_whole(&now, &life, &r->mem, s->look.records, NULL);
    bool only_named = status == UAR_OK && life.mark == SESSION_LIVE && now.revision > r->session_now.revision &&
                      now.messages == r->session_now.messages && now.last_number == r->session_now.last_number &&
                      now.created_ms == r->session_now.created_ms;
    if (!only_named) return false;
    uar_write *w = s->session_write;
    int64_t created_ms = r->session_now.created_ms;
    s->session.name = now.name;
    if (session_record_whole(&w->record, s->mem, &s->session, &r->session_life) != UAR_OK) return false;
    w->record.created_ms = created_ms;
    w->expected = now.revision;
    r->session_now.name = now.name;
    r->session_now.revision = now.revision;
    return true;
}

static void open_looked(run *r, letter *l) {
    saving *s = (saving *)l;
    (void)r;
    if (adopt_name(s))
        submit(s, &s->op, open_saved); /* the lease is checked by it once more */
    else
        finish(s, UAR_E_CONFLICT);
}

/* False: there is nothing to be looked for. */
static bool look_again(saving *s) {
    run *r = s->r;
    if (r->session_now.revision == 0 || s->looks++ == LOOKS_MAX) return false;
    arena_dispose(&s->look.mem);
    s->look.call = STORE_GET;
    s->look.kind = UAR_RECORD_SESSION;
    s->look.owner = arena_str(&s->look.mem, r->spec.owner);
    s->look.id = arena_str(&s->look.mem, r->session_key);
    if (s->look.owner.ptr == NULL || s->look.id.ptr == NULL) return false;
    submit(s, &s->look, open_looked);
    return true;
}

static void open_saved(run *r, letter *l) {
    saving *s = (saving *)l;
    (void)r;
    uar_status status = s->op.status;
    if (status != UAR_E_CONFLICT || !look_again(s)) finish(s, status);
}

static saving *saving_new(run *r, save_kind kind) {
    size_t calls = r->machine.draft.call_count;
    saving *s = ALLOC_NEW(&r->env->alloc, saving);
    if (s == NULL) return NULL;
    arena_init(&s->op.mem, &r->env->alloc);
    arena_init(&s->look.mem, &r->env->alloc);
    s->r = r;
    s->kind = kind;
    s->mem = &s->op.mem;
    s->writes = arena_zeroed(s->mem, FIXED_WRITES + calls, sizeof *s->writes);
    s->messages = arena_zeroed(s->mem, calls + 1, sizeof *s->messages);
    if (s->writes != NULL && s->messages != NULL) return s;
    saving_free(s);
    return NULL;
}

void run_save(run *r, save_kind kind) {
    saving *s = saving_new(r, kind);
    if (s == NULL) {
        r->break_wanted = true;
        return;
    }
    collect_messages(s);
    write_lease(s);
    check_ground(s);
    write_session(s);
    write_messages(s);
    write_run(s);
    write_open_run(s);
    write_checkpoint(s);
    write_cost(s);
    if (s->status != UAR_OK) {
        outcome o = saved(r, s->status, uar_str_of(uar_status_text(s->status)));
        run_post_outcome(r, &o);
        saving_free(s);
        return;
    }
    s->op.call = STORE_COMMIT;
    s->op.writes = s->writes;
    s->op.write_count = s->count;
    submit(s, &s->op, open_saved);
}
