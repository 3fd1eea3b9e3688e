/*
 * Owns: the life of a run: its inbox, and what carries out the machine's effects.
 * Invariants: one thread at a time is in the actor; after `closed` no letter feeds the machine; the spare terminal event and
 * its slot exist until a terminal event is out.
 */
#include "run/run.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

/* Letters opened before other work gets its turn: a fast model must not keep subscribers from the thread. */
#define LETTERS_A_TURN 64
/* Those of a run itself: model, wait, memory, and that of admission. */
#define RUN_TIMERS 4

/* ---- the environment ---- */

void env_ref(run_env *env) {
    atomic_fetch_add(&env->refs, 1);
}

void env_unref(run_env *env) {
    if (atomic_fetch_sub(&env->refs, 1) == 1) env->dispose(env);
}

void env_say(run_env *env, uar_log_level level, const char *format, ...) {
    if (env->log.write == NULL) return;
    char line[248];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    callout_frame frame;
    callout_enter(&env->calls, &frame, CALLOUT_LOG);
    env->log.write(env->log.ctx, level, uar_str_n(line, utf8_cut(uar_str_of(line), sizeof line)));
    callout_leave(&env->calls, &frame);
}

uar_status env_claim(run_env *env, uar_str key) {
    mutex_lock(&env->lock);
    uar_status status = map_get(&env->sessions, key) != NULL ? UAR_E_BUSY : map_put(&env->sessions, key, env);
    mutex_unlock(&env->lock);
    return status;
}

void env_disclaim(run_env *env, uar_str key) {
    mutex_lock(&env->lock);
    (void)map_remove(&env->sessions, key);
    mutex_unlock(&env->lock);
}

const model_entry *env_model(const run_env *env, uar_str name) {
    if (name.len == 0) return env->model_count > 0 ? &env->models[0] : NULL;
    for (size_t i = 0; i < env->model_count; i++)
        if (str_is(name, env->models[i].name)) return &env->models[i];
    return NULL;
}

/* ---- life ---- */

run *run_ref(run *r) {
    atomic_fetch_add(&r->refs, 1);
    return r;
}

static void free_pending(run *r) {
    while (r->pending != NULL) {
        pending_call *p = r->pending;
        r->pending = p->next;
        alloc_free(&r->env->alloc, p);
    }
}

void run_unref(run *r) {
    if (r == NULL || atomic_fetch_sub(&r->refs, 1) != 1) return;
    run_env *env = r->env;
    assert(r->head == NULL && r->calls == NULL);
    free_pending(r);
    machine_dispose(&r->machine);
    run_admit_forget(r);
    arena_dispose(&r->mem);
    uar_event_unref(r->spare);
    event_origin_unref(r->origin);
    channel_unref(r->channel);
    mutex_dispose(&r->lock);
    timer_unreserve(&env->timers, RUN_TIMERS);
    alloc_free(&env->alloc, r);
    live_add(-1);
    env_unref(env);
}

/* Made once, so that giving the session back needs no memory. */
static uar_status make_claim_key(run *r) {
    const uar_str parts[] = { r->spec.owner, r->spec.user, r->spec.session };
    buffer key;
    buffer_init(&key, &r->env->alloc, 1024);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buffer_append_str(&key, parts[i]);
        buffer_append_char(&key, 0x1f);
    }
    if (key.status == UAR_OK) r->claim_key = arena_str(&r->mem, buffer_str(&key));
    buffer_dispose(&key);
    return r->claim_key.ptr != NULL ? UAR_OK : UAR_E_NOMEM;
}

/* Who it runs for stays borrowed until open_events has copied it. */
static uar_status copy_spec(run *r, const run_spec *spec) {
    r->spec = *spec;
    uar_str *texts[] = { &r->spec.task, &r->spec.model, &r->spec.instructions };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i]->ptr == NULL) continue;
        *texts[i] = arena_str(&r->mem, *texts[i]);
        if (texts[i]->ptr == NULL) return UAR_E_NOMEM;
    }
    r->spec.input = uar_str_of(NULL); /* the machine has it */
    uar_status status = make_claim_key(r);
    return status == UAR_OK ? record_key(&r->session_key, &r->mem, r->spec.user, r->spec.session) : status;
}

static uar_status open_events(run *r) {
    event_identity who = {
        .run = r->id, .owner = r->spec.owner, .user = r->spec.user, .session = r->spec.session, .agent = r->spec.agent
    };
    r->origin = event_origin_new(&r->env->alloc, &who);
    if (r->origin == NULL) return UAR_E_NOMEM;
    const event_identity *kept = event_origin_identity(r->origin);
    r->spec.owner = kept->owner;
    r->spec.user = kept->user;
    r->spec.session = kept->session;
    r->spec.agent = kept->agent;
    uar_event_run_failed failed = { .code = STR("UAR_E_NOMEM"), .message = STR("out of memory") };
    r->spare = event_new(r->origin, UAR_EVENT_RUN_FAILED, &failed);
    if (r->spare == NULL) return UAR_E_NOMEM;
    uar_status status = hub_open_channel(&r->channel, r->env->hub, r->origin, 0, &r->env->ring);
    if (status == UAR_OK) status = channel_reserve_terminal(r->channel);
    return status;
}

static void model_grace_over(run *r, run_timer *t);
static void wait_over(run *r, run_timer *t);

static void stop_asking(run *r, uar_status why) {
    if (r->asking != NULL) r->env->memory_use->stop_asking(r, why);
}

static void asked_too_long(run *r, run_timer *t) {
    (void)t;
    stop_asking(r, UAR_E_TIMEOUT);
}

static void init_parts(run *r) {
    arena_init(&r->mem, &r->env->alloc);
    machine_init(&r->machine, &r->env->alloc, &r->env->limits);
    run_timer_init(&r->model_timer, r, model_grace_over);
    run_timer_init(&r->wait_timer, r, wait_over);
    run_timer_init(&r->memory_timer, r, asked_too_long);
}

uar_status run_new(run **out, run_env *env, const run_spec *spec, uar_error *err) {
    run *r = ALLOC_NEW(&env->alloc, run);
    if (r == NULL) return error_plain(err, UAR_E_NOMEM);
    bool has_lock = mutex_init(&r->lock) == UAR_OK;
    if (!has_lock || timer_reserve(&env->timers, RUN_TIMERS) != UAR_OK) {
        if (has_lock) mutex_dispose(&r->lock);
        alloc_free(&env->alloc, r);
        return error_plain(err, UAR_E_NOMEM);
    }
    r->env = env;
    env_ref(env);
    atomic_init(&r->refs, 1);
    live_add(1);
    init_parts(r);
    uar_uuid message;
    uar_status status = uuid_make(&r->id, &env->clock, &env->random);
    if (status == UAR_OK) status = uuid_make(&message, &env->clock, &env->random);
    if (status == UAR_OK) status = copy_spec(r, spec);
    if (status == UAR_OK) status = open_events(r);
    if (status == UAR_OK) status = machine_start(&r->machine, message, spec->input);
    if (status != UAR_OK) {
        if (r->channel != NULL) channel_abandon(r->channel);
        run_unref(r);
        return error_plain(err, status);
    }
    r->started_ms = clock_wall(&env->clock);
    *out = r;
    return UAR_OK;
}

uar_uuid run_fresh(run *r) {
    uar_uuid id;
    memset(&id, 0, sizeof id);
    if (uuid_make(&id, &r->env->clock, &r->env->random) != UAR_OK) r->break_wanted = true;
    return id;
}

void *run_list_push(void *list, size_t count, size_t *cap, size_t size, arena *mem) {
    if (count < *cap) return list;
    size_t grown = *cap == 0 ? 1 : *cap * 2;
    void *copy = arena_zeroed(mem, grown, size);
    if (copy == NULL) return NULL;
    if (count != 0) memcpy(copy, list, count * size);
    *cap = grown;
    return copy;
}

/* ---- the end ---- */

/* Before the terminal event is out: who hears it may ask for the outcome and start the session's next run at once. `failure`
 * says why a run failed; absent for other ends. */
static void say_ended(run *r, uar_status status, uar_run_state state, uar_str failure) {
    uar_outcome end = { .status = status, .state = state, .usage = r->machine.spent };
    if (state == UAR_RUN_DONE) end.message = r->machine.stored_answer;
    if (failure.ptr != NULL)
        error_set(&end.error, status, "%.*s", (int)(failure.len < 240 ? failure.len : 240), failure.ptr);
    r->ended = true;
    if (r->claimed) env_disclaim(r->env, r->claim_key);
    r->claimed = false;
    r->env->watch.ended(r->env->watch.ctx, r, &end);
}

static void close_run(run *r) {
    if (r->closed) return;
    r->closed = true;
    if (!r->ended) say_ended(r, UAR_E_PARKED, UAR_RUN_INTERRUPTED, uar_str_of(NULL));
    if (r->claimed) env_disclaim(r->env, r->claim_key);
    r->claimed = false;
    if (r->pulsing) pulse_release(&r->env->pulse);
    r->pulsing = false;
    run_timer_stop(&r->model_timer);
    run_timer_stop(&r->wait_timer);
    run_timer_stop(&r->memory_timer);
    stop_asking(r, UAR_E_CANCELLED);
    run_admit_abandon(r);
    run_sweep_calls(r);
    channel_close(r->channel);
    r->env->watch.closed(r->env->watch.ctx, r);
}

/* The terminal event of a run whose end can't be stored. Without memory it is the one that was set aside. */
static void end_unsaved(run *r, uar_status status, uar_str text) {
    if (r->ended) return;
    if (!r->begun) {
        uar_event_run_start start = { .input = buffer_str(&r->machine.input) };
        (void)channel_publish(r->channel, event_new(r->origin, UAR_EVENT_RUN_START, &start));
    }
    uar_event_run_failed failed = { .code = uar_str_of(uar_status_name(status)),
                                    .message = text,
                                    .usage = r->machine.spent };
    uar_event *last = status != UAR_E_NOMEM ? event_new(r->origin, UAR_EVENT_RUN_FAILED, &failed) : NULL;
    if (last == NULL) {
        last = r->spare;
        r->spare = NULL;
    }
    say_ended(r, status, UAR_RUN_FAILED, text);
    (void)channel_publish(r->channel, last);
    r->env->watch.told(r->env->watch.ctx, r);
}

/* Memory ran out: end with what was set aside for this. The records stay as they are and are found interrupted. */
static void break_run(run *r) {
    if (r->broken || r->closed) return;
    r->broken = true;
    env_say(r->env, UAR_LOG_ERROR, "a run ended for want of memory");
    run_stop_model(r);
    run_abandon_calls(r);
    end_unsaved(r, UAR_E_NOMEM, STR("out of memory"));
    close_run(r);
}

/* The runtime goes and can wait no longer: let go of everything. */
static void let_go(run *r, bool says_so) {
    if (r->closed) return;
    r->broken = true;
    run_stop_model(r);
    run_abandon_calls(r);
    if (says_so) end_unsaved(r, UAR_E_ABANDONED, STR("the runtime was closed before the run could be stopped"));
    close_run(r);
}

static void open_drop(run *r, letter *l) {
    (void)l;
    let_go(r, false);
}

static void open_abort(run *r, letter *l) {
    (void)l;
    let_go(r, true);
}

void run_abort(run *r, bool says_so) {
    mutex_lock(&r->lock);
    bool first = r->last.open == NULL;
    if (first) r->last.open = says_so ? open_abort : open_drop;
    mutex_unlock(&r->lock);
    if (first) run_post(run_ref(r), &r->last);
}

/* ---- effects ---- */

static void add_pending(run *r, const uar_event_tool_call_approval_required *asked) {
    draft_call *c = draft_find(&r->machine.draft, asked->call);
    if (c == NULL || c->decision != DECISION_NONE) return;
    pending_call *p = alloc_bytes(&r->env->alloc, sizeof *p + asked->call.len + 1);
    if (p == NULL) {
        r->break_wanted = true;
        return;
    }
    p->number = (uint64_t)(c - r->machine.draft.calls);
    p->tool = tool_find(&r->env->tools, asked->tool);
    p->decided = false;
    memcpy(p->call, asked->call.ptr, asked->call.len);
    p->call[asked->call.len] = '\0';
    mutex_lock(&r->lock);
    p->next = r->pending;
    r->pending = p;
    mutex_unlock(&r->lock);
}

static void report_repair(run *r) {
    uar_event_error repaired = { .code = STR("UAR_E_UTF8"),
                                 .message = STR("the input held U+0000; it was replaced by U+FFFD") };
    if (channel_publish(r->channel, event_new(r->origin, UAR_EVENT_ERROR, &repaired)) == UAR_E_NOMEM)
        r->break_wanted = true;
}

static void publish(run *r, const effect *e) {
    bool terminal = uar_event_is_terminal(e->event);
    /* Whoever hears the question may answer at once. */
    if (e->event == UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED) add_pending(r, &e->payload.tool_call_approval_required);
    uar_event *event = event_new(r->origin, e->event, &e->payload);
    if (event == NULL && terminal && e->event == UAR_EVENT_RUN_FAILED) {
        event = r->spare;
        r->spare = NULL;
    }
    if (event != NULL && terminal) {
        bool failed = e->event == UAR_EVENT_RUN_FAILED;
        say_ended(r, r->machine.end_status, r->machine.end_state,
                  failed ? e->payload.run_failed.message : uar_str_of(NULL));
    }
    if (event == NULL || channel_publish(r->channel, event) == UAR_E_NOMEM) {
        assert(event == NULL || !terminal); /* a slot was kept for the terminal event */
        r->break_wanted = true;
        return;
    }
    if (e->event == UAR_EVENT_RUN_START) r->begun = true;
    if (e->event == UAR_EVENT_RUN_START && r->spec.input_repaired) report_repair(r);
    if (terminal) r->env->watch.told(r->env->watch.ctx, r);
}

static void wait_over(run *r, run_timer *t) {
    (void)t;
    outcome o = { .kind = OUTCOME_WAITED };
    run_feed(r, &o);
}

static void stop_wait(run *r) {
    run_timer_stop(&r->wait_timer);
    outcome o = { .kind = OUTCOME_WAITED };
    run_post_outcome(r, &o);
}

static void model_grace_over(run *r, run_timer *t) {
    (void)t;
    run_stop_model(r); /* the second time it no longer waits for the host */
}

static void perform(run *r, const effect *e) {
    switch (e->kind) {
    case EFFECT_NONE: break;
    case EFFECT_ADMIT: run_admit(r); break;
    case EFFECT_RECALL: r->env->memory_use->recall(r); break;
    case EFFECT_SAVE: run_save(r, e->save); break;
    case EFFECT_EMIT: publish(r, e); break;
    case EFFECT_CALL_MODEL: run_call_model(r, e->number); break;
    case EFFECT_STOP_MODEL: run_stop_model(r); break;
    case EFFECT_PLAN: run_plan(r, e->number); break;
    case EFFECT_INVOKE: run_invoke(r, e->number); break;
    case EFFECT_STOP_TOOL: run_stop_tool(r, e->number); break;
    case EFFECT_WAIT: run_timer_start(&r->wait_timer, e->number); break;
    case EFFECT_STOP_WAIT: stop_wait(r); break;
    case EFFECT_CAPTURE: r->env->memory_use->capture(r); break;
    case EFFECT_CLOSE: close_run(r); break;
    }
}

/* Proof that the document is the whole state: go on with a machine made from it. */
static void reload(run *r) {
    buffer doc;
    buffer_init(&doc, &r->env->alloc, SIZE_MAX / 2);
    machine_save(&r->machine, &doc);
    machine fresh;
    machine_init(&fresh, &r->env->alloc, &r->env->limits);
    uar_status status = doc.status != UAR_OK ? doc.status : machine_load(&fresh, buffer_str(&doc), NULL);
    buffer_dispose(&doc);
    if (status != UAR_OK) {
        assert(status == UAR_E_NOMEM);
        machine_dispose(&fresh);
        r->break_wanted = true;
        return;
    }
    machine_dispose(&r->machine);
    r->machine = fresh;
}

static void carry_out(run *r) {
    effect e;
    while (!r->break_wanted && !r->closed && machine_next(&r->machine, &e))
        perform(r, &e);
    if (atomic_load(&r->env->reload_each_step) && !r->break_wanted && !r->closed) reload(r);
    if (r->break_wanted) break_run(r);
}

/* Carries out what the machine wanted from its start on. A cancel may be in the inbox before the letter that lets the run
 * go, since a run can be found before that letter is posted. */
static void set_going(run *r) {
    if (r->going) return;
    r->going = true;
    carry_out(r);
}

void run_feed(run *r, const outcome *o) {
    set_going(r);
    if (r->closed || r->broken) return;
    bool ends_model =
        o->kind == OUTCOME_MODEL_FINISHED || o->kind == OUTCOME_MODEL_FAILED || o->kind == OUTCOME_MODEL_STOPPED;
    if (ends_model) run_model_ended(r);
    if (machine_feed(&r->machine, o) == UAR_E_NOMEM) r->break_wanted = true;
    if (r->recalling && r->machine.ending) stop_asking(r, UAR_E_CANCELLED);
    carry_out(r);
}

/* ---- inbox ---- */

static void work(void *arg);

void run_wake(run *r) {
    run_ref(r); /* the task's */
    r->task.fn = work;
    r->task.arg = r;
    r->env->executor.post(r->env->executor.ctx, &r->task, false);
}

bool run_put(run *r, letter *l) {
    l->next = NULL;
    mutex_lock(&r->lock);
    if (r->tail != NULL)
        r->tail->next = l;
    else
        r->head = l;
    r->tail = l;
    bool idle = !r->posted;
    r->posted = true;
    mutex_unlock(&r->lock);
    return idle;
}

void run_post(run *r, letter *l) {
    if (run_put(r, l)) run_wake(r);
}

static letter *take_letter(run *r) {
    mutex_lock(&r->lock);
    letter *l = r->head;
    if (l != NULL) {
        r->head = l->next;
        if (r->head == NULL) r->tail = NULL;
    } else {
        r->posted = false;
    }
    mutex_unlock(&r->lock);
    return l;
}

static void work(void *arg) {
    run *r = arg;
    for (int i = 0; i < LETTERS_A_TURN; i++) {
        letter *l = take_letter(r);
        if (l == NULL) {
            run_unref(r);
            return;
        }
        l->open(r, l);
        if (r->closed) run_sweep_calls(r); /* a timer's letter may have been the last that needed a call */
        run_unref(r);                      /* the letter's */
    }
    run_wake(r);
    run_unref(r);
}

static void open_begin(run *r, letter *l) {
    (void)l;
    set_going(r);
}

void run_begin(run *r) {
    r->first.open = open_begin;
    run_post(run_ref(r), &r->first);
}

/* ---- from other threads ---- */

static uar_status post_request(run *r, const outcome *o) {
    outcome_letter *l = outcome_letter_new(&r->env->alloc, o);
    if (l == NULL) return UAR_E_NOMEM;
    run_post(run_ref(r), &l->head);
    return UAR_OK;
}

uar_status run_cancel(run *r, uar_cancel_mode mode, uar_str reason) {
    outcome o = { .kind = OUTCOME_CANCEL, .message = reason, .after_step = mode == UAR_CANCEL_AFTER_STEP };
    return post_request(r, &o);
}

uar_status run_park(run *r, uar_str reason) {
    outcome o = { .kind = OUTCOME_PARK, .message = reason };
    return post_request(r, &o);
}

static pending_call *find_pending(run *r, uar_str call) {
    for (pending_call *p = r->pending; p != NULL; p = p->next)
        if (str_is(call, p->call)) return p;
    return NULL;
}

static uar_status check_edit(run *r, const tool *t, uar_str arguments, buffer *canonical, uar_error *err) {
    cJSON *value = NULL;
    uar_status status = json_read(&value, &r->env->alloc, arguments, DRAFT_TEXT_MAX, err);
    if (status == UAR_OK && !cJSON_IsObject(value))
        status = error_set(err, UAR_E_SCHEMA, "the arguments are not a JSON object");
    if (status == UAR_OK) status = schema_check(t->arguments, value, err);
    if (status == UAR_OK) json_append_node(canonical, value);
    json_free(&r->env->alloc, value);
    return status == UAR_OK && canonical->status != UAR_OK ? error_plain(err, canonical->status) : status;
}

uar_status run_decide(run *r, uar_str call, bool approved, uar_str arguments, uar_str reason, uar_error *err) {
    mutex_lock(&r->lock);
    pending_call *p = find_pending(r, call);
    const tool *t = p != NULL ? p->tool : NULL;
    bool decided = p != NULL && p->decided;
    mutex_unlock(&r->lock);
    if (p == NULL) return error_set(err, UAR_E_NOT_FOUND, "no call of this id waits for a decision");
    if (decided) return error_set(err, UAR_E_STALE, "this call was decided before");
    buffer canonical;
    buffer_init(&canonical, &r->env->alloc, DRAFT_TEXT_MAX);
    uar_status status = UAR_OK;
    if (approved && arguments.ptr != NULL) status = check_edit(r, t, arguments, &canonical, err);
    outcome o = { .kind = OUTCOME_DECIDED, .approved = approved, .message = reason };
    if (approved && arguments.ptr != NULL) o.text = buffer_str(&canonical);
    outcome_letter *l = NULL;
    if (status == UAR_OK) {
        l = outcome_letter_new(&r->env->alloc, &o);
        if (l == NULL) status = error_plain(err, UAR_E_NOMEM);
    }
    buffer_dispose(&canonical);
    if (status != UAR_OK) return status;
    mutex_lock(&r->lock);
    p = find_pending(r, call);
    bool first = p != NULL && !p->decided;
    if (first) {
        p->decided = true;
        l->out.number = p->number;
    }
    mutex_unlock(&r->lock);
    if (!first) {
        alloc_free(&r->env->alloc, l);
        return error_set(err, UAR_E_STALE, "this call was decided before");
    }
    run_post(run_ref(r), &l->head);
    return UAR_OK;
}
