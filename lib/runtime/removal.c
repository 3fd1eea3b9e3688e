/* Owns: the steps that remove one session. See removal.h for the invariants. */
#include "runtime/removal.h"

#include "base/error.h"
#include "base/str.h"

/* Commits of the tombstone that others may disturb in a row. */
#define TRIES_MAX 8

uar_status removal_begin(removal *m, request *q, uar_str owner, uar_str user, uar_str session) {
    memset(m, 0, sizeof *m);
    m->owner = owner;
    m->user = user;
    m->session = session;
    m->claim = env_session_key(request_mem(q), owner, user, session);
    if (m->claim.ptr == NULL) return UAR_E_NOMEM;
    return record_key(&m->key, request_mem(q), user, session);
}

static removal_next end(removal *m, request *q, removal_next next) {
    if (m->claimed) env_disclaim(&q->rt->env, m->claim);
    m->claimed = false;
    return next;
}

static removal_next fail(removal *m, request *q, uar_status status, const char *why) {
    q->op.status = error_set(&q->op.error, status, "%s", why);
    return end(m, q, REMOVAL_FAILED);
}

static removal_next fail_plain(removal *m, request *q, uar_status status) {
    return fail(m, q, status, uar_status_text(status));
}

static removal_next ask(removal *m, request *q, removal_stage stage, uint32_t kind, uar_str owner, uar_str id) {
    store_op *op = &q->op;
    arena_dispose(&op->mem);
    op->call = STORE_GET;
    op->kind = kind;
    op->owner = arena_str(&op->mem, owner);
    op->id = arena_str(&op->mem, id);
    if (op->owner.ptr == NULL || op->id.ptr == NULL) return fail_plain(m, q, UAR_E_NOMEM);
    m->stage = stage;
    request_submit(q);
    return REMOVAL_ASKS;
}

static removal_next ask_session(removal *m, request *q) {
    return ask(m, q, REMOVAL_AT_SESSION, UAR_RECORD_SESSION, m->owner, m->key);
}

static removal_next start(removal *m, request *q) {
    uar_status status = env_claim(&q->rt->env, m->claim);
    if (status == UAR_E_BUSY) return fail(m, q, status, "a run has this session open");
    if (status != UAR_OK) return fail_plain(m, q, status);
    m->claimed = true;
    return ask_session(m, q);
}

static removal_next go_sweep(removal *m, request *q) {
    switch (sweep_step(&m->sweep, &q->op)) {
    case SWEEP_ASKS:
        m->stage = REMOVAL_AT_SWEEP;
        request_submit(q);
        return REMOVAL_ASKS;
    case SWEEP_DONE: m->removed = m->sweep.removed; return end(m, q, REMOVAL_DONE);
    default: return end(m, q, REMOVAL_FAILED);
    }
}

static removal_next begin_sweep(removal *m, request *q, uint64_t revision) {
    const sweep_root root = { .kind = UAR_RECORD_SESSION, .owner = m->owner, .id = m->key, .revision = revision };
    sweep_begin(&m->sweep, &root);
    return go_sweep(m, q);
}

static removal_next got_session(removal *m, request *q) {
    store_op *op = &q->op;
    if (op->status == UAR_E_NOT_FOUND) return fail(m, q, UAR_E_NOT_FOUND, "there is no such session");
    if (op->status != UAR_OK) return end(m, q, REMOVAL_FAILED);
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = session_decode_whole(&m->now, &m->life, request_mem(q), op->records, &fault);
    if (status != UAR_OK) return fail(m, q, status, fault.message);
    if (m->life.mark == SESSION_UNBORN) return fail(m, q, UAR_E_NOT_FOUND, "there is no such session");
    /* Somebody began and didn't end: what is left to do is the sweep. */
    if (m->life.mark == SESSION_DELETED)
        return m->only_marks ? end(m, q, REMOVAL_DONE) : begin_sweep(m, q, m->now.revision);
    if (m->only_at != 0 && m->now.revision != m->only_at) return fail(m, q, UAR_E_BUSY, "this session has moved on");
    return ask(m, q, REMOVAL_AT_LEASE, UAR_RECORD_LEASE, m->owner, m->key);
}

/* ---- who writes it ---- */

static removal_next ask_beat(removal *m, request *q) {
    char key[WATCH_KEY_MAX];
    return ask(m, q, REMOVAL_AT_BEAT, UAR_RECORD_LEASE, STR(UAR_SYSTEM_OWNER), watch_key(key, m->holder.instance));
}

static uar_write *add(store_op *op, uar_write_op what, uint64_t expected) {
    uar_write *w = &op->writes[op->write_count++];
    w->op = what;
    w->expected = expected;
    return w;
}

static uar_status add_tombstone(removal *m, store_op *op) {
    const session_life deleted = { .mark = SESSION_DELETED };
    uar_session tombstone = m->now;
    tombstone.name = uar_str_of(NULL);
    const sweep_root root = {
        .kind = UAR_RECORD_SESSION, .owner = m->owner, .id = m->key, .revision = m->now.revision + 1
    };
    uar_write *w = add(op, UAR_WRITE_PUT, m->now.revision);
    uar_status status = session_record_whole(&w->record, &op->mem, &tombstone, &deleted);
    return status == UAR_OK ? sweep_job_record(&add(op, UAR_WRITE_PUT, 0)->record, &op->mem, &root) : status;
}

static uar_status build_mark(removal *m, request *q) {
    store_op *op = &q->op;
    arena_dispose(&op->mem);
    op->call = STORE_COMMIT;
    op->write_count = 0;
    op->writes = arena_zeroed(&op->mem, 3, sizeof *op->writes);
    if (op->writes == NULL) return UAR_E_NOMEM;
    const lease given_back = { .instance = q->rt->env.instance, .held = false };
    uar_write *w = add(op, UAR_WRITE_PUT, m->lease_revision);
    uar_status status = lease_record(&w->record, &op->mem, m->owner, m->key, &given_back);
    if (status != UAR_OK) return status;
    return add_tombstone(m, op);
}

static removal_next mark(removal *m, request *q) {
    uar_status status = build_mark(m, q);
    if (status != UAR_OK) return fail_plain(m, q, status);
    m->stage = REMOVAL_AT_MARK;
    request_submit(q);
    return REMOVAL_ASKS;
}

static removal_next got_lease(removal *m, request *q) {
    store_op *op = &q->op;
    lease held = { .held = false };
    m->lease_revision = 0;
    if (op->status != UAR_OK && op->status != UAR_E_NOT_FOUND) return end(m, q, REMOVAL_FAILED);
    if (op->status == UAR_OK) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = lease_decode(&held, &op->mem, op->records, &fault);
        if (status != UAR_OK) return fail(m, q, status, fault.message);
        m->lease_revision = op->records->revision;
    }
    run_env *env = &q->rt->env;
    bool foreign = held.held && !uar_uuid_equal(held.instance, env->instance) && !env->single_process;
    if (!foreign) return mark(m, q);
    watch_begin(&m->holder, held.instance);
    return ask_beat(m, q);
}

static removal_next got_beat(removal *m, request *q) {
    store_op *op = &q->op;
    if (op->status != UAR_OK && op->status != UAR_E_NOT_FOUND) return end(m, q, REMOVAL_FAILED);
    switch (watch_look(&q->rt->env, &m->holder, op->status == UAR_OK ? op->records->revision : 0)) {
    case WATCH_ALIVE: return fail(m, q, UAR_E_BUSY, "another process has this session open");
    case WATCH_DEAD: return mark(m, q);
    case WATCH_ON: break;
    }
    m->stage = REMOVAL_AT_PAUSE;
    request_sleep(q, WATCH_MS);
    return REMOVAL_ASKS;
}

static removal_next got_mark(removal *m, request *q) {
    uar_status status = q->op.status;
    if (status == UAR_E_CONFLICT && m->tries++ < TRIES_MAX) return ask_session(m, q);
    if (status == UAR_E_CONFLICT) return fail(m, q, UAR_E_BUSY, "another process writes this session");
    if (status != UAR_OK) return end(m, q, REMOVAL_FAILED);
    if (!uar_uuid_is_none(m->holder.instance)) watch_bury(&q->rt->env, m->holder.instance, m->holder.beat);
    return m->only_marks ? end(m, q, REMOVAL_DONE) : begin_sweep(m, q, m->now.revision + 1);
}

removal_next removal_step(removal *m, request *q) {
    switch (m->stage) {
    case REMOVAL_AT_START: return start(m, q);
    case REMOVAL_AT_SESSION: return got_session(m, q);
    case REMOVAL_AT_LEASE: return got_lease(m, q);
    case REMOVAL_AT_BEAT: return got_beat(m, q);
    case REMOVAL_AT_PAUSE: return ask_beat(m, q);
    case REMOVAL_AT_MARK: return got_mark(m, q);
    case REMOVAL_AT_SWEEP: return go_sweep(m, q);
    }
    return fail_plain(m, q, UAR_E_INTERNAL);
}
