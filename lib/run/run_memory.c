/*
 * Owns: memory_job, recall before a turn and capture after it. Both run where blocking is allowed and come back as a letter.
 * The embedder is asked ahead, so that no thread waits for it: what it didn't say in time is done without.
 *
 * Identity comes from the run's spec, which trusted host code set; never from what a model wrote. Captures carry the key
 * (run, ordinal), so that the same turn captured twice is captured once.
 */
#include "base/error.h"
#include "base/str.h"
#include "memory/ahead.h"
#include "memory/capture.h"
#include "memory/owner.h"
#include "memory/recall.h"
#include "run/run.h"

typedef struct memory_job {
    letter letter;
    uar_task task;
    run *r; /* a reference */
    arena mem;
    uar_str text; /* of the user */
    uar_task_fn work;
    ahead *ahead; /* NULL: there was nothing to ask */
    /* recall */
    memory_recalled *recalled;
    uar_status status;
    uar_error error;
    /* capture */
    capture_candidate candidates[CAPTURE_MAX];
    size_t candidate_count;
    uar_memory_change changes[CAPTURE_MAX];
    size_t change_count;
} memory_job;

static bool is_on(const run *r, uar_toggle level) {
    return r->env->memory != NULL && level != UAR_OFF && r->spec.memory != UAR_OFF;
}

bool run_memory_injects(const run *r) {
    return is_on(r, r->env->memory_inject);
}

bool run_memory_captures(const run *r) {
    return is_on(r, r->env->memory_capture);
}

static uar_identity identity_of(const run *r) {
    uar_identity who;
    uar_identity_init(&who);
    who.owner = r->spec.owner;
    who.user = r->spec.user;
    who.agent = r->spec.agent;
    who.session = r->spec.session;
    who.task = r->spec.task;
    return who;
}

static void job_free(memory_job *job) {
    memory_recalled_free(job->recalled);
    ahead_unref(job->ahead);
    arena_dispose(&job->mem);
    alloc_free(&job->r->env->alloc, job);
}

/* Back to the actor; the job's reference goes with the letter. */
static void come_back(memory_job *job) {
    run_post(job->r, &job->letter);
}

/* NULL: there is no memory for it, and the run breaks. Has a reference of the run. */
static memory_job *job_new(run *r, uar_str text, uar_task_fn work, void (*open)(run *, letter *)) {
    memory_job *job = ALLOC_NEW(&r->env->alloc, memory_job);
    if (job == NULL) {
        r->break_wanted = true;
        return NULL;
    }
    arena_init(&job->mem, &r->env->alloc);
    job->r = r;
    job->letter.open = open;
    job->work = work;
    job->text = arena_str(&job->mem, text);
    if (job->text.ptr == NULL) {
        job_free(job);
        r->break_wanted = true;
        return NULL;
    }
    run_ref(r);
    return job;
}

static void post(memory_job *job, uar_task_fn fn) {
    uar_executor *e = &job->r->env->executor;
    job->task.fn = fn;
    job->task.arg = job;
    e->post(e->ctx, &job->task, true);
}

/* ---- asking the embedder ---- */

/* It has answered, or needn't any more. Any thread. */
static void asked(void *arg) {
    memory_job *job = arg;
    post(job, job->work);
}

/* The job may be gone when the embedder returns. */
static void ask(void *arg) {
    memory_job *job = arg;
    run *r = run_ref(job->r);
    ahead *a = ahead_ref(job->ahead);
    callout_frame frame;
    callout_enter(&r->env->calls, &frame, CALLOUT_EMBEDDER);
    ahead_start(a);
    callout_leave(&r->env->calls, &frame);
    ahead_unref(a);
    run_unref(r);
}

static void stop_asking(run *r, uar_status why) {
    ahead_stop(r->asking, why);
}

/* Ask for the vectors that the work needs, then work. Without memory to ask, it is not asked. */
static void start(run *r, memory_job *job, uar_embed_purpose purpose, const uar_str *texts, size_t count) {
    uar_memory *memory = r->env->memory;
    bool asks = count != 0 && ahead_is_needed(memory) &&
                ahead_new(&job->ahead, memory, purpose, texts, count, asked, job) == UAR_OK;
    if (!asks) {
        post(job, job->work);
        return;
    }
    r->asking = job->ahead;
    uint32_t ms = ahead_timeout_ms(memory);
    if (ms != UAR_FOREVER) run_timer_start(&r->memory_timer, ms);
    post(job, ask);
}

/* In the actor, before the job goes. What came of asking; UAR_OK where nothing was asked. */
static uar_status end_asking(run *r, const memory_job *job, uar_error *err) {
    run_timer_stop(&r->memory_timer);
    r->asking = NULL;
    r->recalling = false;
    return job->ahead != NULL ? ahead_result(job->ahead, err) : UAR_OK;
}

/* ---- recall ---- */

static void recall(void *arg) {
    memory_job *job = arg;
    run_env *env = job->r->env;
    uar_identity who = identity_of(job->r);
    callout_frame frame; /* the embedder is a door of the host */
    callout_enter(&env->calls, &frame, CALLOUT_EMBEDDER);
    job->status =
        memory_recall_block(&job->recalled, env->memory, &who, job->text, env->memory_max_tokens, &job->error);
    callout_leave(&env->calls, &frame);
    come_back(job);
}

/* Keeps the block for the commit of the turn, and what it says for the capture. */
static uar_status keep_recalled(run *r, const memory_recalled *recalled) {
    if (recalled->count == 0) return UAR_OK;
    r->recalled = arena_str(&r->mem, recalled->block);
    r->recalled_texts = arena_zeroed(&r->mem, recalled->count, sizeof *r->recalled_texts);
    if (r->recalled.ptr == NULL || r->recalled_texts == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < recalled->count; i++) {
        r->recalled_texts[i] = arena_str(&r->mem, recalled->hits[i].content);
        if (r->recalled_texts[i].ptr == NULL) return UAR_E_NOMEM;
    }
    r->recalled_count = recalled->count;
    return UAR_OK;
}

static void open_recalled(run *r, letter *l) {
    memory_job *job = (memory_job *)l;
    outcome o = { .kind = OUTCOME_RECALLED, .status = job->status };
    uar_error why = UAR_ERROR_INIT;
    uar_status asking = end_asking(r, job, &why);
    if (job->status == UAR_OK && asking != UAR_OK) {
        o.warned = asking;
        error_set(&job->error, asking, "memory was searched by words alone: %s", why.message);
    }
    o.message = uar_str_of(job->error.message);
    if (job->status == UAR_OK) {
        o.status = keep_recalled(r, job->recalled);
        uar_hit *hits = arena_zeroed(&job->mem, job->recalled->count + 1, sizeof *hits);
        if (hits == NULL) o.status = UAR_E_NOMEM;
        for (size_t i = 0; o.status == UAR_OK && i < job->recalled->count; i++)
            hits[i] = (uar_hit){ .id = job->recalled->hits[i].id, .score = job->recalled->hits[i].score };
        if (o.status == UAR_OK) o.hits = (uar_hits){ hits, job->recalled->count };
    }
    if (o.status == UAR_E_NOMEM) r->break_wanted = true;
    run_feed(r, &o);
    job_free(job);
}

static void start_recall(run *r) {
    memory_job *job = job_new(r, buffer_str(&r->machine.input), recall, open_recalled);
    if (job == NULL) return;
    uar_str question = memory_recall_question(job->text);
    r->recalling = true;
    start(r, job, UAR_EMBED_QUERY, &question, question.len != 0 ? 1 : 0);
}

/* ---- capture ---- */

static uar_str unique_key(memory_job *job, size_t ordinal) {
    char text[UAR_UUID_TEXT + 8];
    uar_uuid_format(text, job->r->id);
    text[UAR_UUID_TEXT - 1] = '/';
    text[UAR_UUID_TEXT] = (char)('0' + ordinal);
    return arena_str(&job->mem, uar_str_n(text, UAR_UUID_TEXT + 1));
}

static uar_status add(memory_job *job, const capture_candidate *c, size_t ordinal) {
    run_env *env = job->r->env;
    uar_identity who = identity_of(job->r);
    uar_memory_draft entry;
    uar_memory_draft_init(&entry);
    entry.content = c->content;
    entry.scope = UAR_MEMORY_SCOPE_USER;
    entry.type = c->type;
    entry.importance = c->importance;
    entry.trust = UAR_MEMORY_TRUST_USER;
    entry.subject = c->subject;
    entry.attribute = c->attribute;
    entry.provenance.run = job->r->id;
    entry.provenance.session = job->r->spec.session;
    entry.unique_key = unique_key(job, ordinal);
    if (entry.unique_key.ptr == NULL) return UAR_E_NOMEM;
    uar_memory_change *change = &job->changes[job->change_count];
    uar_status status = uar_memory_add_sync(change, env->memory, &who, &entry, &job->error);
    if (status == UAR_OK) job->change_count++;
    return status;
}

static void capture(void *arg) {
    memory_job *job = arg;
    run *r = job->r;
    callout_frame frame;
    callout_enter(&r->env->calls, &frame, CALLOUT_EMBEDDER);
    for (size_t i = 0; i < job->candidate_count && job->status == UAR_OK; i++)
        job->status = add(job, &job->candidates[i], i);
    callout_leave(&r->env->calls, &frame);
    come_back(job);
}

static void open_captured(run *r, letter *l) {
    memory_job *job = (memory_job *)l;
    (void)end_asking(r, job, NULL); /* records without a vector get theirs later */
    for (size_t i = 0; i < job->change_count; i++) {
        const uar_memory_change *change = &job->changes[i];
        outcome o = { .kind = OUTCOME_MUTATED, .fresh = change->id, .name = STR("add") };
        o.text = uar_str_of(uar_memory_outcome_name(change->outcome));
        run_feed(r, &o);
    }
    outcome o = { .kind = OUTCOME_CAPTURED, .status = job->status, .message = uar_str_of(job->error.message) };
    run_feed(r, &o);
    job_free(job);
}

static uar_str user_text(const run *r) {
    for (size_t i = r->history_count; i-- > 0;) {
        const uar_message *m = &r->history[i];
        if (m->role == UAR_ROLE_USER && m->part_count > 0) return m->parts[0].text;
    }
    return STR("");
}

static void start_capture(run *r) {
    memory_job *job = job_new(r, user_text(r), capture, open_captured);
    if (job == NULL) return;
    job->status = memory_capture_extract(job->candidates, &job->candidate_count, &job->mem, job->text,
                                         r->recalled_texts, r->recalled_count);
    if (job->status != UAR_OK) job->candidate_count = 0;
    uar_str texts[CAPTURE_MAX];
    for (size_t i = 0; i < job->candidate_count; i++)
        texts[i] = job->candidates[i].content;
    start(r, job, UAR_EMBED_PASSAGE, texts, job->candidate_count);
}

const memory_use run_memory_use = { start_recall,     start_capture,   stop_asking, uar_memory_location,
                                    uar_memory_state, uar_memory_free, memory_trim };
