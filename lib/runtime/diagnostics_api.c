/* What an app asks about the runtime itself: memory back, and a report for support. Owns nothing. */
#include <uar/lifecycle.h>

#include "base/clock.h"
#include "base/str.h"
#include "runtime/request.h"

#define PAGE 200

uint64_t uar_runtime_trim(uar_runtime *rt) {
    if (runtime_check_call(rt, NULL) != UAR_OK) return 0;
    run_env *env = &rt->env;
    uint64_t given = hub_trim(env->hub);
    if (env->memory != NULL) given += env->memory_use->trim(env->memory);
    return given;
}

/* Records under "~" that are counted, with the status of the last look. */
static const struct {
    uint32_t kind;
    const char *name;
} counted[] = {
    { UAR_RECORD_LEASE, "heartbeats" },
    { UAR_RECORD_OPEN_RUN, "open_runs" },
    { UAR_RECORD_OUTBOX, "pending_jobs" },
    { UAR_RECORD_ATTACHMENT, "pending_uploads" },
};
#define COUNTED (sizeof counted / sizeof *counted)

typedef struct diagnosis {
    size_t at;
    uint64_t counts[COUNTED];
    uar_status store;
} diagnosis;

static void write_limits(json_writer *w, const run_env *env) {
    json_key(w, "limits");
    json_object_begin(w);
    json_put_uint(w, "max_steps", env->limits.max_steps);
    json_put_uint(w, "memory_max_tokens", env->memory_max_tokens);
    json_put_uint(w, "model_attempts", env->limits.model_attempts);
    json_put_uint(w, "parallel_tools", env->limits.parallel_tools);
    json_put_uint(w, "ring_bytes", env->ring.bytes);
    json_put_uint(w, "ring_events", env->ring.events);
    json_object_end(w);
}

static void write_store(json_writer *w, const request *q) {
    const diagnosis *d = q->state;
    json_key(w, "store");
    json_object_begin(w);
    for (size_t i = 0; i < COUNTED; i++)
        json_put_uint(w, counted[i].name, d->counts[i]);
    json_put_bool(w, "has_files", store_location(q->rt->env.store) != NULL);
    json_put_str(w, "status", uar_str_of(uar_status_name(d->store)));
    json_object_end(w);
}

static void write_all(json_writer *w, const request *q) {
    static const char *const executors[] = { "pool", "manual", "host" };
    uar_runtime *rt = q->rt;
    const run_env *env = &rt->env;
    json_object_begin(w);
    json_put_str(w, "executor", uar_str_of(executors[rt->source]));
    write_limits(w, env);
    json_put_int(w, "live_objects", uar_live_objects());
    json_put_str(w, "memory", uar_str_of(uar_runtime_memory_state(rt)));
    json_put_uint(w, "models", env->model_count);
    json_put_uint(w, "runs_open", manager_open_count(&rt->manager));
    json_put_bool(w, "single_process", env->single_process);
    write_store(w, q);
    json_put_int(w, "time_ms", clock_wall(&env->clock));
    json_put_uint(w, "v", 1);
    json_put_str(w, "version", uar_str_of(uar_version()));
    json_object_end(w);
}

static void answer(request *q) {
    buffer text;
    json_writer w;
    buffer_init(&text, &q->rt->env.alloc, 1 << 16);
    json_writer_init(&w, &text);
    write_all(&w, q);
    uar_status status = text.status;
    if (status == UAR_OK) {
        q->box->reply.document = arena_str(request_mem(q), buffer_str(&text));
        if (q->box->reply.document.ptr == NULL) status = UAR_E_NOMEM;
    }
    buffer_dispose(&text);
    request_end(q, status, NULL);
}

static void ask(request *q) {
    const diagnosis *d = q->state;
    request_list(q, counted[d->at].kind, STR(UAR_SYSTEM_OWNER), uar_str_of(NULL), UAR_ORDER_KEY, 0, PAGE);
}

/* A store that doesn't answer is a finding, not a failure of the report. */
static void step_diagnose(request *q) {
    diagnosis *d = q->state;
    if (q->stage++ == 0) {
        ask(q);
        return;
    }
    d->store = q->op.status;
    if (d->store == UAR_E_NOMEM) {
        request_end(q, d->store, NULL);
        return;
    }
    size_t count = d->store == UAR_OK ? q->op.record_count : 0;
    d->counts[d->at] += count;
    bool more = count == PAGE;
    if (more) q->value = arena_str(request_mem(q), q->op.records[count - 1].id);
    if (!more) {
        q->value = uar_str_of(NULL);
        d->at++;
    }
    if (d->store != UAR_OK || d->at == COUNTED)
        answer(q);
    else if (more && q->value.ptr == NULL)
        request_end(q, UAR_E_NOMEM, NULL);
    else
        ask(q);
}

static request *diagnose_request(uar_runtime *rt, bool waits, uar_error *err) {
    request *q = request_new(rt, waits, step_diagnose, err);
    if (q == NULL) return NULL;
    q->state = arena_zeroed(request_mem(q), 1, sizeof(diagnosis));
    if (q->state != NULL) return q;
    request_refuse(q, UAR_E_NOMEM, "out of memory", err);
    return NULL;
}

uar_status uar_diagnostics(uar_runtime *rt, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(diagnose_request(rt, false, &fault), &fault, done, ctx, err);
}

uar_status uar_diagnostics_sync(uar_reply **out, uar_runtime *rt, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(diagnose_request(rt, true, &fault), &fault, out, err);
}
