/*
 * Owns: uar_stream, the open model call of a run.
 *
 * Invariants: `r` is set while the run listens and is a reference; who takes it out (an end, a detach) owns that reference;
 * so a call ends exactly once and a late push answers UAR_E_STALE. Lock order: stream.lock > run.lock.
 */
#include <assert.h>

#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "run/context.h"

/* How long a cancelled model may take to be seen stopped. */
#define MODEL_GRACE_MS 2000

struct uar_stream {
    uar_allocator alloc;
    atomic_uint refs;  /* memory */
    atomic_uint holds; /* the host's */
    mutex lock;
    run *r; /* under lock; NULL: ended */
    const model_entry *model;
    letter last;         /* for an end that must not need memory */
    const outcome *said; /* by `last`; static */
    bool told;           /* the actor's: cancel was called */
};

static void stream_release(uar_stream *s) {
    if (s == NULL || atomic_fetch_sub(&s->refs, 1) != 1) return;
    assert(s->r == NULL);
    uar_allocator alloc = s->alloc;
    mutex_dispose(&s->lock);
    alloc_free(&alloc, s);
    live_add(-1);
}

static void open_last(run *r, letter *l) {
    uar_stream *s = (uar_stream *)(void *)((char *)l - offsetof(uar_stream, last));
    run_feed(r, s->said);
    stream_release(s);
}

static uar_stream *stream_new(run *r) {
    const uar_allocator *a = &r->env->alloc;
    uar_stream *s = ALLOC_NEW(a, uar_stream);
    if (s == NULL) return NULL;
    if (mutex_init(&s->lock) != UAR_OK) {
        alloc_free(a, s);
        return NULL;
    }
    s->alloc = *a;
    atomic_init(&s->refs, 1);
    atomic_init(&s->holds, 0);
    s->r = run_ref(r);
    s->model = r->model;
    s->last.open = open_last;
    live_add(1);
    return s;
}

/* Under the lock: put a letter in; the run, if it must be woken when the lock is gone. */
static run *put(run *r, letter *l) {
    return run_put(r, l) ? r : NULL;
}

/* Under the lock: end the call by the letter that is part of it. `o` is static. As put. */
static run *end_by_last(uar_stream *s, const outcome *o) {
    run *r = s->r;
    s->r = NULL;
    s->said = o;
    atomic_fetch_add(&s->refs, 1); /* the letter's */
    return put(r, &s->last);
}

static uar_status push(uar_stream *s, const outcome *o, bool ends) {
    static const outcome no_memory = { .kind = OUTCOME_MODEL_FAILED,
                                       .status = UAR_E_NOMEM,
                                       .message = STR_INIT("out of memory") };
    if (s == NULL) return UAR_E_INVALID;
    mutex_lock(&s->lock);
    uar_status status = UAR_OK;
    run *sleeper = NULL;
    if (s->r == NULL) {
        status = UAR_E_STALE;
    } else {
        outcome_letter *l = outcome_letter_new(&s->alloc, o);
        if (l == NULL) {
            sleeper = end_by_last(s, &no_memory);
            status = UAR_E_NOMEM;
        } else {
            run *r = ends ? s->r : run_ref(s->r);
            if (ends) s->r = NULL;
            sleeper = put(r, &l->head);
        }
    }
    mutex_unlock(&s->lock);
    if (sleeper != NULL) run_wake(sleeper);
    return status;
}

/* Stops listening. True if the call was open. */
static bool detach(uar_stream *s, const outcome *last) {
    mutex_lock(&s->lock);
    bool open = s->r != NULL;
    run *sleeper = open ? end_by_last(s, last) : NULL;
    mutex_unlock(&s->lock);
    if (sleeper != NULL) run_wake(sleeper);
    return open;
}

/* ---- the host's side ---- */

uar_stream *uar_stream_ref(uar_stream *stream) {
    assert(stream != NULL);
    atomic_fetch_add(&stream->refs, 1);
    atomic_fetch_add(&stream->holds, 1);
    return stream;
}

void uar_stream_unref(uar_stream *stream) {
    static const outcome cut = { .kind = OUTCOME_MODEL_FAILED,
                                 .status = UAR_E_MODEL_CUT,
                                 .retryable = true,
                                 .message = STR_INIT("the model's stream ended before its end mark") };
    if (stream == NULL) return;
    if (atomic_fetch_sub(&stream->holds, 1) == 1) (void)detach(stream, &cut);
    stream_release(stream);
}

bool uar_stream_is_open(const uar_stream *stream) {
    if (stream == NULL) return false;
    mutex *lock = (mutex *)(uintptr_t)&stream->lock;
    mutex_lock(lock);
    bool open = stream->r != NULL;
    mutex_unlock(lock);
    return open;
}

uar_status uar_stream_text(uar_stream *stream, const char *text, size_t len) {
    if (text == NULL && len != 0) return UAR_E_INVALID;
    outcome o = { .kind = OUTCOME_MODEL_TEXT, .text = uar_str_n(text, len) };
    return push(stream, &o, false);
}

uar_status uar_stream_reasoning(uar_stream *stream, const char *text, size_t len) {
    if (text == NULL && len != 0) return UAR_E_INVALID;
    outcome o = { .kind = OUTCOME_MODEL_REASONING, .text = uar_str_n(text, len) };
    return push(stream, &o, false);
}

uar_status uar_stream_reasoning_opaque(uar_stream *stream, const char *data, size_t len) {
    if (data == NULL && len != 0) return UAR_E_INVALID;
    if (!utf8_is_valid(uar_str_n(data, len)) || memchr(data != NULL ? data : "", 0, len) != NULL) return UAR_E_UTF8;
    outcome o = { .kind = OUTCOME_MODEL_OPAQUE, .text = uar_str_n(data, len) };
    return push(stream, &o, false);
}

uar_status uar_stream_tool_call(uar_stream *stream, uint32_t index, uar_str id, uar_str name, uar_str arguments) {
    const uar_str texts[] = { id, name, arguments };
    for (size_t i = 0; i < 3; i++)
        if (texts[i].ptr == NULL && texts[i].len != 0) return UAR_E_INVALID;
    outcome o = { .kind = OUTCOME_MODEL_CALL, .number = index, .id = id, .name = name, .text = arguments };
    return push(stream, &o, false);
}

uar_status uar_stream_usage(uar_stream *stream, const uar_usage *usage) {
    if (usage == NULL) return UAR_E_INVALID;
    outcome o = { .kind = OUTCOME_MODEL_USAGE, .usage = *usage };
    o.usage.known = true;
    return push(stream, &o, false);
}

uar_status uar_stream_finish(uar_stream *stream, uar_finish reason) {
    if (reason > UAR_FINISH_CONTENT_FILTER) return UAR_E_INVALID;
    outcome o = { .kind = OUTCOME_MODEL_FINISHED, .finish = reason };
    return push(stream, &o, true);
}

/* The provider's word in front of its message, as one line. */
static uar_str failure_text(char *out, size_t size, uar_status status, const char *code, const char *message) {
    uar_error text;
    const char *said = message != NULL && message[0] != '\0' ? message : uar_status_text(status);
    if (code != NULL && code[0] != '\0' && strcmp(code, uar_status_name(status)) != 0)
        error_set(&text, UAR_E_MODEL, "%s: %s", code, said);
    else
        error_set(&text, UAR_E_MODEL, "%s", said);
    size_t len = strlen(text.message) < size ? strlen(text.message) : size;
    memcpy(out, text.message, len);
    return uar_str_n(out, len);
}

uar_status uar_stream_fail(uar_stream *stream, uar_status status, const char *code, const char *message, bool retryable,
                           uint32_t retry_after_ms) {
    char text[sizeof((uar_error *)0)->message];
    if (status == UAR_OK) status = UAR_E_INTERNAL;
    outcome o = { .kind = OUTCOME_MODEL_FAILED, .status = status, .retryable = retryable, .number = retry_after_ms };
    o.message = failure_text(text, sizeof text, status, code, message);
    return push(stream, &o, true);
}

/* ---- the run's side ---- */

static void start(run *r, uar_stream *s, const uar_model_request *request) {
    callout_frame frame;
    uar_stream_ref(s);
    callout_enter(&r->env->calls, &frame, CALLOUT_MODEL);
    s->model->door.start(s->model->door.ctx, request, s);
    callout_leave(&r->env->calls, &frame);
    uar_stream_unref(s);
}

void run_call_model(run *r, uint64_t attempt) {
    assert(r->stream == NULL);
    run_sweep_calls(r);
    arena mem;
    arena_init(&mem, &r->env->alloc);
    uar_model_request request;
    uar_status status = context_build(&request, r, attempt, &mem);
    if (status == UAR_OK) {
        r->stream = stream_new(r);
        if (r->stream != NULL)
            start(r, r->stream, &request);
        else
            status = UAR_E_NOMEM;
    }
    arena_dispose(&mem);
    if (status != UAR_OK) r->break_wanted = true;
}

void run_model_ended(run *r) {
    run_timer_stop(&r->model_timer);
    stream_release(r->stream);
    r->stream = NULL;
}

void run_stop_model(run *r) {
    static const outcome stopped = { .kind = OUTCOME_MODEL_STOPPED };
    uar_stream *s = r->stream;
    if (s == NULL) return;
    const uar_model *door = &s->model->door;
    bool first = !s->told;
    s->told = true;
    if (first && door->cancel != NULL && uar_stream_is_open(s)) {
        callout_frame frame;
        callout_enter(&r->env->calls, &frame, CALLOUT_MODEL);
        door->cancel(door->ctx, s);
        callout_leave(&r->env->calls, &frame);
        if (!r->break_wanted && !r->broken) {
            run_timer_start(&r->model_timer, MODEL_GRACE_MS);
            return;
        }
    }
    bool open = detach(s, &stopped);
    if (open && !first)
        env_say(r->env, UAR_LOG_WARN, "model %s did not stop in time; what it still says is dropped", s->model->name);
    if (r->broken) run_model_ended(r);
}
