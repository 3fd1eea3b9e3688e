/*
 * Branches: a new session from the first messages of another one.
 *
 * The new session is unborn while it is copied: nobody sees it, and a job of a deep delete names it, so that a crash leaves
 * nothing. The job names this instance as its maker, whose heartbeat keeps others from sweeping it. Each batch checks that the
 * unborn session is still there; the last commit brings it to life, makes its policy and takes the job away. Before it nothing
 * but messages is made, so undoing a branch leaves what else the new id had.
 */
#include <uar/lifecycle.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "base/utf8.h"
#include "runtime/lifecycle.h"
#include "store/sweep.h"

#define BATCH 32
#define TEXT_MAX_BYTES ((size_t)64 << 20)

typedef enum branch_stage {
    BRANCH_AT_START,
    BRANCH_AT_PULSE,
    BRANCH_AT_SOURCE,
    BRANCH_AT_MAKE,
    BRANCH_AT_TAKEN, /* what is there already? */
    BRANCH_AT_JOB,   /* … and whose is it? */
    BRANCH_AT_CLEAR, /* what a delete or a branch left is removed */
    BRANCH_AT_LIST,
    BRANCH_AT_COPY,
    BRANCH_AT_POLICY,
    BRANCH_AT_BIRTH,
    BRANCH_AT_READ,
    BRANCH_AT_UNDO
} branch_stage;

typedef struct branch {
    uar_str session, text, name; /* of the new one */
    uint64_t number;             /* 0: all */
    branch_stage stage;
    uar_str key, claim; /* of the new session */
    bool claimed, pulsing;
    pulse_waiter waiter;
    request *q;
    uint64_t copied, last; /* messages, and the number of the newest */
    size_t open_calls;     /* of the newest answer, without a result so far */
    uar_uuid newest;       /* in the old session */
    bool ends;             /* nothing more is to be copied */
    bool with_policy;      /* the last commit makes the policy too */
    bool cleared;
    uint64_t left_at; /* revision of what is to be cleared */
    sweep sweep;
    uar_status fault; /* why it is undone */
    uar_error why;
} branch;

static void dispose(request *q) {
    branch *b = q->state;
    if (b->claimed) env_disclaim(&q->rt->env, b->claim);
    if (b->pulsing) pulse_release(&q->rt->env.pulse);
    b->claimed = b->pulsing = false;
}

static void fail(request *q, uar_status status, const char *why) {
    request_end(q, status, why);
}

static void fail_plain(request *q, uar_status status) {
    fail(q, status, uar_status_text(status));
}

static void pulse_ready(pulse_waiter *w, uar_status status) {
    branch *b = (branch *)(void *)((char *)w - offsetof(branch, waiter));
    w->status = status;
    request_post(b->q);
}

static void start(request *q) {
    branch *b = q->state;
    uar_status status = env_claim(&q->rt->env, b->claim);
    if (status != UAR_OK) {
        fail(q, status, status == UAR_E_BUSY ? "a run has the new session open" : uar_status_text(status));
        return;
    }
    b->claimed = b->pulsing = true;
    b->stage = BRANCH_AT_PULSE;
    b->waiter.ready = pulse_ready;
    pulse_require(&q->rt->env.pulse, &b->waiter);
}

/* ---- undoing ---- */

static void go_undo(request *q) {
    branch *b = q->state;
    switch (sweep_step(&b->sweep, &q->op)) {
    case SWEEP_ASKS: request_submit(q); return;
    case SWEEP_DONE:
    case SWEEP_FAILED:
        request_end(q, b->fault, b->why.message);
        return; /* what is left, the next branch or build sweeps */
    }
}

static sweep_root unborn_root(request *q) {
    branch *b = q->state;
    return (sweep_root){
        .kind = UAR_RECORD_SESSION, .owner = q->owner, .id = b->key, .revision = 1, .maker = q->rt->env.instance
    };
}

static void undo(request *q, uar_status status, const char *why) {
    branch *b = q->state;
    b->fault = error_set(&b->why, status, "%s", why);
    sweep_root root = unborn_root(q);
    sweep_begin(&b->sweep, &root);
    b->stage = BRANCH_AT_UNDO;
    go_undo(q);
}

static void undo_store(request *q) {
    uar_error fault = q->op.error;
    bool swept = q->op.status == UAR_E_CONFLICT;
    undo(q, q->op.status, swept ? "the unfinished branch was removed by another process" : fault.message);
}

static void undo_plain(request *q, uar_status status) {
    undo(q, status, uar_status_text(status));
}

/* ---- commits ---- */

static uar_write *add(request *q, uar_write_op what, uint64_t expected) {
    uar_write *w = &q->op.writes[q->op.write_count++];
    w->op = what;
    w->expected = expected;
    return w;
}

static bool begin_commit(request *q, size_t count) {
    q->op.call = STORE_COMMIT;
    q->op.write_count = 0;
    q->op.writes = arena_zeroed(&q->op.mem, count, sizeof *q->op.writes);
    return q->op.writes != NULL;
}

static void add_fence(request *q) {
    const branch *b = q->state;
    uar_write *w = add(q, UAR_WRITE_CHECK, 1);
    w->record.kind = UAR_RECORD_SESSION;
    w->record.owner = q->owner; /* of the request's arena, which lives as long as the op */
    w->record.id = b->key;
}

static void commit(request *q, branch_stage stage) {
    branch *b = q->state;
    b->stage = stage;
    request_submit(q);
}

static uar_status put_session(request *q, uint64_t expected, const session_life *life) {
    const branch *b = q->state;
    uar_session s = { .owner = q->owner, .user = q->user, .session = b->session };
    if (life->mark == SESSION_LIVE) {
        s.name = b->name;
        s.messages = b->copied;
        s.last_number = b->last;
    }
    return session_record_whole(&add(q, UAR_WRITE_PUT, expected)->record, &q->op.mem, &s, life);
}

static void ask_messages(request *q) {
    branch *b = q->state;
    b->stage = BRANCH_AT_LIST;
    request_list(q, UAR_RECORD_MESSAGE, q->owner, q->id, UAR_ORDER_SORT, b->last, BATCH);
}

static void make(request *q) {
    const session_life unborn = { .mark = SESSION_UNBORN };
    sweep_root root = unborn_root(q);
    arena_dispose(&q->op.mem);
    uar_status status = begin_commit(q, 2) ? put_session(q, 0, &unborn) : UAR_E_NOMEM;
    if (status == UAR_OK) status = sweep_job_record(&add(q, UAR_WRITE_PUT, 0)->record, &q->op.mem, &root);
    if (status != UAR_OK)
        fail_plain(q, status);
    else
        commit(q, BRANCH_AT_MAKE);
}

static void got_source(request *q) {
    branch *b = q->state;
    uar_session s;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = q->op.status;
    if (status == UAR_E_NOT_FOUND)
        error_set(&fault, status, "there is no such session");
    else if (!request_went_well(q))
        return;
    else
        status = session_decode(&s, request_mem(q), q->op.records, &fault);
    if (status == UAR_OK && b->number > s.last_number)
        status = error_set(&fault, UAR_E_NOT_FOUND, "the session has no message of this number");
    if (status != UAR_OK) {
        fail(q, status, fault.message);
        return;
    }
    make(q);
}

/* ---- an id that somebody left behind ---- */

static void go_clear(request *q) {
    branch *b = q->state;
    switch (sweep_step(&b->sweep, &q->op)) {
    case SWEEP_ASKS: request_submit(q); return;
    case SWEEP_DONE: make(q); return;
    case SWEEP_FAILED: (void)request_went_well(q); return;
    }
}

static void taken(request *q) {
    fail(q, UAR_E_EXISTS, "there is a session of the new id already");
}

static void got_made(request *q) {
    branch *b = q->state;
    if (q->op.status == UAR_E_CONFLICT && b->cleared)
        taken(q);
    else if (q->op.status == UAR_E_CONFLICT) {
        b->cleared = true;
        b->stage = BRANCH_AT_TAKEN;
        request_get(q, UAR_RECORD_SESSION, q->owner, b->key);
    } else if (request_went_well(q))
        ask_messages(q);
}

/* A tombstone, or an unborn session, may be one whose end a failing store put off. */
static void got_taken(request *q) {
    branch *b = q->state;
    uar_session s;
    session_life life;
    uar_str job;
    if (q->op.status == UAR_E_NOT_FOUND) {
        make(q);
        return;
    }
    if (!request_went_well(q)) return;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = session_decode_whole(&s, &life, request_mem(q), q->op.records, &fault);
    if (status == UAR_OK && life.mark == SESSION_LIVE) {
        taken(q);
        return;
    }
    b->left_at = q->op.records->revision;
    if (status == UAR_OK) {
        status = sweep_job_id(&job, request_mem(q), UAR_RECORD_SESSION, q->owner, b->key);
        if (status != UAR_OK) error_plain(&fault, status);
    }
    if (status != UAR_OK) {
        fail(q, status, fault.message);
        return;
    }
    b->stage = BRANCH_AT_JOB;
    request_get(q, UAR_RECORD_OUTBOX, STR(UAR_SYSTEM_OWNER), job);
}

/* One that another process makes is its own; here the claim says that nobody else does. */
static void got_job(request *q) {
    branch *b = q->state;
    const run_env *env = &q->rt->env;
    sweep_root job;
    if (q->op.status == UAR_E_NOT_FOUND) {
        make(q);
        return;
    }
    if (!request_went_well(q)) return;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = sweep_job_decode(&job, request_mem(q), q->op.records, &fault);
    if (status != UAR_OK) {
        fail(q, status, fault.message);
        return;
    }
    bool ours = uar_uuid_is_none(job.maker) || uar_uuid_equal(job.maker, env->instance) || env->single_process;
    if (!ours || job.revision != b->left_at) {
        taken(q);
        return;
    }
    sweep_begin(&b->sweep, &job);
    b->stage = BRANCH_AT_CLEAR;
    go_clear(q);
}

/* ---- messages ---- */

static size_t count_calls(const uar_message *m) {
    size_t count = 0;
    for (size_t i = 0; i < m->part_count; i++)
        count += m->parts[i].type == UAR_PART_TOOL_CALL;
    return count;
}

static void count_open_calls(branch *b, const uar_message *m) {
    if (m->role != UAR_ROLE_TOOL)
        b->open_calls = count_calls(m);
    else if (b->open_calls > 0)
        b->open_calls--;
}

/* The text parts become one that says the new text; what else there is stays. */
static uar_status edit(request *q, uar_message *m) {
    const branch *b = q->state;
    uar_part *parts = arena_zeroed(&q->op.mem, m->part_count + 1, sizeof *parts);
    if (parts == NULL) return UAR_E_NOMEM;
    size_t count = 0;
    parts[count++] = (uar_part){ .type = UAR_PART_TEXT, .text = b->text };
    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].type != UAR_PART_TEXT) parts[count++] = m->parts[i];
    m->parts = parts;
    m->part_count = count;
    m->recalled = uar_str_of(NULL); /* what was recalled was recalled for the old text */
    return UAR_OK;
}

static uar_status copy_message(request *q, const uar_record *r, uar_error *err) {
    branch *b = q->state;
    run_env *env = &q->rt->env;
    uar_message m;
    uar_status status = message_decode(&m, &q->op.mem, r, err);
    if (status != UAR_OK) return status;
    b->newest = m.id;
    b->last = m.number;
    count_open_calls(b, &m);
    if (b->text.ptr != NULL && m.number == b->number) {
        if (m.role != UAR_ROLE_USER) return error_set(err, UAR_E_INVALID, "only a message of the user can be edited");
        status = edit(q, &m);
    }
    if (status == UAR_OK) status = uuid_make(&m.id, &env->clock, &env->random);
    uar_write *w = add(q, UAR_WRITE_PUT, 0);
    if (status == UAR_OK) status = message_record(&w->record, &q->op.mem, q->owner, b->key, &m);
    w->record.created_ms = r->created_ms;
    if (status != UAR_OK) return err->code == status ? status : error_plain(err, status);
    b->copied++;
    return UAR_OK;
}

/* What is in the op's memory of the policy stays there for this commit. */
static void bear(request *q, const uar_session_policy *policy) {
    branch *b = q->state;
    uar_str job;
    const session_life life = { .mark = SESSION_LIVE,
                                .origin = { .session = q->session, .message = b->newest, .number = b->last } };
    b->with_policy = policy != NULL;
    uar_status status = begin_commit(q, 3) ? put_session(q, 1, &life) : UAR_E_NOMEM;
    if (status == UAR_OK) status = sweep_job_id(&job, &q->op.mem, UAR_RECORD_SESSION, q->owner, b->key);
    if (status == UAR_OK && policy != NULL)
        status = session_policy_record(&add(q, UAR_WRITE_PUT, 0)->record, &q->op.mem, policy);
    if (status != UAR_OK) {
        undo_plain(q, status);
        return;
    }
    uar_write *w = add(q, UAR_WRITE_DELETE, 1);
    w->record.kind = UAR_RECORD_OUTBOX;
    w->record.owner = STR(UAR_SYSTEM_OWNER);
    w->record.id = job;
    commit(q, BRANCH_AT_BIRTH);
}

static void bear_plain(request *q) {
    arena_dispose(&q->op.mem);
    bear(q, NULL);
}

static void got_policy(request *q) {
    const branch *b = q->state;
    uar_session_policy policy;
    if (q->op.status == UAR_E_NOT_FOUND) {
        bear_plain(q);
        return;
    }
    if (q->op.status != UAR_OK) {
        undo_store(q);
        return;
    }
    uar_status status = session_policy_decode(&policy, &q->op.mem, q->op.records, NULL);
    if (status != UAR_OK) {
        undo_plain(q, status);
        return;
    }
    policy.session = b->session;
    bear(q, &policy);
}

static void bring_to_life(request *q) {
    branch *b = q->state;
    if (b->open_calls > 0) {
        undo(q, UAR_E_INVALID, "this message is between a tool call and its last result");
        return;
    }
    if (b->number != 0 && b->last != b->number) {
        undo(q, UAR_E_NOT_FOUND, "the session has no message of this number");
        return;
    }
    b->stage = BRANCH_AT_POLICY;
    request_get(q, UAR_RECORD_SESSION_POLICY, q->owner, q->id);
}

static void got_messages(request *q) {
    branch *b = q->state;
    if (q->op.status != UAR_OK) {
        undo_store(q);
        return;
    }
    const uar_record *records = q->op.records;
    size_t count = q->op.record_count;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = begin_commit(q, count + 1) ? UAR_OK : error_plain(&fault, UAR_E_NOMEM);
    if (status == UAR_OK) add_fence(q);
    b->ends = count < BATCH;
    for (size_t i = 0; status == UAR_OK && i < count; i++) {
        bool is_behind = b->number != 0 && (uint64_t)records[i].sort > b->number;
        if (is_behind) {
            b->ends = true;
            break;
        }
        status = copy_message(q, &records[i], &fault);
    }
    if (status != UAR_OK)
        undo(q, status, fault.message);
    else if (q->op.write_count > 1)
        commit(q, BRANCH_AT_COPY);
    else
        bring_to_life(q);
}

static void got_copied(request *q) {
    const branch *b = q->state;
    if (q->op.status != UAR_OK)
        undo_store(q);
    else if (b->ends)
        bring_to_life(q);
    else
        ask_messages(q);
}

static void got_born(request *q) {
    branch *b = q->state;
    if (q->op.status == UAR_E_CONFLICT && b->with_policy) {
        bear_plain(q); /* the new id has a policy of its own, which stays */
        return;
    }
    if (q->op.status != UAR_OK) {
        undo_store(q);
        return;
    }
    b->stage = BRANCH_AT_READ;
    request_get(q, UAR_RECORD_SESSION, q->owner, b->key);
}

static void got_pulse(request *q) {
    branch *b = q->state;
    if (b->waiter.status != UAR_OK) {
        fail_plain(q, b->waiter.status);
        return;
    }
    b->stage = BRANCH_AT_SOURCE;
    request_get(q, UAR_RECORD_SESSION, q->owner, q->id);
}

static void step_branch(request *q) {
    const branch *b = q->state;
    switch (b->stage) {
    case BRANCH_AT_START: start(q); break;
    case BRANCH_AT_PULSE: got_pulse(q); break;
    case BRANCH_AT_SOURCE: got_source(q); break;
    case BRANCH_AT_MAKE: got_made(q); break;
    case BRANCH_AT_TAKEN: got_taken(q); break;
    case BRANCH_AT_JOB: got_job(q); break;
    case BRANCH_AT_CLEAR: go_clear(q); break;
    case BRANCH_AT_LIST: got_messages(q); break;
    case BRANCH_AT_COPY: got_copied(q); break;
    case BRANCH_AT_POLICY: got_policy(q); break;
    case BRANCH_AT_BIRTH: got_born(q); break;
    case BRANCH_AT_READ: lifecycle_answer_session(q); break;
    case BRANCH_AT_UNDO: go_undo(q); break;
    }
}

/* ---- the call ---- */

static uar_status check(const uar_branch_options *o, const char *session, uar_error *err) {
    uar_status status = host_id_check(uar_str_of(o->session), "new session", err);
    if (status != UAR_OK) return status;
    if (session != NULL && strcmp(session, o->session) == 0)
        return error_set(err, UAR_E_EXISTS, "a branch needs an id of its own");
    if (o->number > INT64_MAX) return error_set(err, UAR_E_INVALID, "no message has this number");
    if (o->text != NULL && o->number == 0)
        return error_set(err, UAR_E_INVALID, "an edited text needs the number of its message");
    if (o->text != NULL && strlen(o->text) > TEXT_MAX_BYTES) return error_plain(err, UAR_E_TOO_LARGE);
    if (o->text != NULL && !utf8_is_valid(uar_str_of(o->text)))
        return error_set(err, UAR_E_UTF8, "the text is not valid UTF-8");
    if (!lifecycle_name_is_good(uar_str_of(o->name)))
        return error_set(err, UAR_E_INVALID, "the name must have 1 to 1000 bytes of UTF-8");
    return UAR_OK;
}

static request *branch_request(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                               const uar_branch_options *options, uar_error *err) {
    uar_branch_options o;
    if (options == NULL) return error_set(err, UAR_E_INVALID, "options is NULL"), NULL;
    uar_status status = struct_in(&o, sizeof o, options, "uar_branch_options", err);
    if (status == UAR_OK) status = check(&o, session, err);
    if (status != UAR_OK) return NULL;
    request *q = lifecycle_request(rt, waits, step_branch, owner, user, session, sizeof(branch), err);
    if (q == NULL) return NULL;
    branch *b = q->state;
    b->q = q;
    b->number = o.number;
    bool whole = request_text(&q, &b->session, uar_str_of(o.session), err) &&
                 request_text(&q, &b->text, uar_str_of(o.text), err) &&
                 request_text(&q, &b->name, uar_str_of(o.name), err);
    if (!whole) return NULL;
    b->claim = env_session_key(request_mem(q), q->owner, q->user, b->session);
    if (b->claim.ptr == NULL || record_key(&b->key, request_mem(q), q->user, b->session) != UAR_OK) {
        request_refuse(q, UAR_E_NOMEM, "out of memory", err);
        return NULL;
    }
    q->dispose = dispose;
    return q;
}

uar_status uar_session_branch(uar_runtime *rt, const char *owner, const char *user, const char *session,
                              const uar_branch_options *options, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(branch_request(rt, false, owner, user, session, options, &fault), &fault, done, ctx, err);
}

uar_status uar_session_branch_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                   const char *session, const uar_branch_options *options, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(branch_request(rt, true, owner, user, session, options, &fault), &fault, out, err);
}

/* ---- where a branch came from ---- */

static uar_status write_origin(request *q, const session_origin *origin) {
    buffer text;
    json_writer w;
    buffer_init(&text, &q->rt->env.alloc, 4096);
    json_writer_init(&w, &text);
    json_object_begin(&w);
    json_put_uuid(&w, "message", origin->message);
    json_put_uint(&w, "number", origin->number);
    json_put_str(&w, "session", origin->session);
    json_object_end(&w);
    uar_status status = text.status;
    if (status == UAR_OK) {
        q->box->reply.document = arena_str(request_mem(q), buffer_str(&text));
        if (q->box->reply.document.ptr == NULL) status = UAR_E_NOMEM;
    }
    buffer_dispose(&text);
    return status;
}

/* 0: read · 1: answer */
static void step_origin(request *q) {
    uar_session s;
    session_life life;
    uar_error fault = UAR_ERROR_INIT;
    if (q->stage++ == 0) {
        request_get(q, UAR_RECORD_SESSION, q->owner, q->id);
        return;
    }
    uar_status status = q->op.status;
    if (status == UAR_OK)
        status = session_decode_whole(&s, &life, request_mem(q), q->op.records, &fault);
    else if (status != UAR_E_NOT_FOUND)
        error_copy(&fault, &q->op.error);
    if (status == UAR_E_NOT_FOUND || (status == UAR_OK && life.mark != SESSION_LIVE))
        status = error_set(&fault, UAR_E_NOT_FOUND, "there is no such session");
    if (status == UAR_OK && session_has_origin(&life)) {
        status = write_origin(q, &life.origin);
        if (status != UAR_OK) error_plain(&fault, status);
    }
    request_end(q, status, fault.message);
}

uar_status uar_session_origin(uar_runtime *rt, const char *owner, const char *user, const char *session,
                              uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(lifecycle_request(rt, false, step_origin, owner, user, session, 0, &fault), &fault, done, ctx,
                         err);
}

uar_status uar_session_origin_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                   const char *session, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(lifecycle_request(rt, true, step_origin, owner, user, session, 0, &fault), &fault, out,
                            err);
}
