/*
 * A script as a model. One thread plays all open calls: each takes steps until it has to wait, and the thread sleeps until
 * the next one is due, a call comes, or one is cancelled. `start` only takes the next line and queues it.
 *
 * Invariants: the lock guards the list and the flags of the calls, and is never held while something is pushed; a call is
 * freed by the thread alone (or by destroy, after the thread has ended), which gives its reference of the stream back.
 */
#include "host_script.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <uar/model.h>

#include "host_file.h"

typedef struct script_call {
    struct script_call *next;
    uar_stream *stream; /* a reference */
    uar_script *line;
    uint64_t due_ms;
    bool is_cancelled;
} script_call;

typedef struct script_model {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool is_stopping;
    char *script;
    size_t len;
    size_t next_line;
    script_call *calls;   /* those that wait */
    script_call *playing; /* the one that the thread has in hand */
} script_model;

static uint64_t now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void call_free(script_call *call) {
    uar_script_free(call->line);
    uar_stream_unref(call->stream);
    free(call);
}

/* ---- the thread ---- */

/* Unlink and return a call that is cancelled or due, or NULL; `*due` is then when the next one is. Locked. */
static script_call *call_take(script_model *model, uint64_t *due) {
    uint64_t now = now_ms();
    *due = UINT64_MAX;
    for (script_call **at = &model->calls; *at != NULL; at = &(*at)->next) {
        script_call *call = *at;
        if (call->is_cancelled || call->due_ms <= now) {
            *at = call->next;
            return call;
        }
        if (call->due_ms < *due) *due = call->due_ms;
    }
    return NULL;
}

/* Push until the line is over or wants to wait; false: it is over. Not locked: the call is in no list. */
static bool call_play(script_call *call) {
    uint32_t wait = 0;
    if (!uar_stream_is_open(call->stream)) return false;
    if (uar_script_play(&wait, call->line, call->stream) != UAR_OK || wait == UAR_FOREVER) return false;
    call->due_ms = now_ms() + wait;
    return true;
}

static void calls_wait(script_model *model, uint64_t due) {
    if (due == UINT64_MAX) {
        (void)pthread_cond_wait(&model->changed, &model->lock);
        return;
    }
    struct timespec until = { .tv_sec = (time_t)(due / 1000), .tv_nsec = (long)(due % 1000) * 1000000 };
    (void)pthread_cond_timedwait(&model->changed, &model->lock, &until);
}

static void *script_thread(void *arg) {
    script_model *model = arg;
    pthread_mutex_lock(&model->lock);
    while (!model->is_stopping) {
        uint64_t due = 0;
        script_call *call = call_take(model, &due);
        if (call == NULL) {
            calls_wait(model, due);
            continue;
        }
        bool goes_on = !call->is_cancelled;
        model->playing = call;
        pthread_mutex_unlock(&model->lock);
        goes_on = goes_on && call_play(call);
        pthread_mutex_lock(&model->lock);
        model->playing = NULL;
        if (goes_on && !call->is_cancelled) {
            call->next = model->calls;
            model->calls = call;
            continue;
        }
        pthread_mutex_unlock(&model->lock);
        call_free(call);
        pthread_mutex_lock(&model->lock);
    }
    pthread_mutex_unlock(&model->lock);
    return NULL;
}

/* ---- the door ---- */

/* Take the next line of the script. UAR_E_SCRIPT_EXHAUSTED. */
static uar_status line_take(uar_script **out, script_model *model) {
    uar_str text;
    pthread_mutex_lock(&model->lock);
    size_t number = model->next_line;
    uar_status status = uar_script_find(&text, &number, uar_str_n(model->script, model->len));
    if (status == UAR_OK) model->next_line = number + 1;
    pthread_mutex_unlock(&model->lock);
    return status == UAR_OK ? uar_script_open(out, text, number, NULL, NULL) : status;
}

static void script_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    script_model *model = ctx;
    (void)request;
    uar_script *line = NULL;
    uar_status status = line_take(&line, model);
    script_call *call = status == UAR_OK ? calloc(1, sizeof *call) : NULL;
    if (call == NULL) {
        uar_script_free(line);
        if (status == UAR_OK) status = UAR_E_NOMEM;
        (void)uar_stream_fail(stream, status, NULL, uar_status_text(status), false, 0);
        return;
    }
    call->line = line;
    call->stream = uar_stream_ref(stream);
    pthread_mutex_lock(&model->lock);
    call->next = model->calls;
    model->calls = call;
    pthread_cond_signal(&model->changed);
    pthread_mutex_unlock(&model->lock);
}

static void script_cancel(void *ctx, uar_stream *stream) {
    script_model *model = ctx;
    pthread_mutex_lock(&model->lock);
    if (model->playing != NULL && model->playing->stream == stream) model->playing->is_cancelled = true;
    for (script_call *call = model->calls; call != NULL; call = call->next) {
        if (call->stream == stream) call->is_cancelled = true;
    }
    pthread_cond_signal(&model->changed);
    pthread_mutex_unlock(&model->lock);
}

static void script_free(script_model *model) {
    while (model->calls != NULL) {
        script_call *call = model->calls;
        model->calls = call->next;
        call_free(call);
    }
    (void)pthread_cond_destroy(&model->changed);
    (void)pthread_mutex_destroy(&model->lock);
    free(model->script);
    free(model);
}

static void script_destroy(void *ctx) {
    script_model *model = ctx;
    pthread_mutex_lock(&model->lock);
    model->is_stopping = true;
    pthread_cond_signal(&model->changed);
    pthread_mutex_unlock(&model->lock);
    (void)pthread_join(model->thread, NULL);
    script_free(model);
}

/* ---- opening ---- */

static uar_status script_check(const script_model *model, const char *path, uar_error *err) {
    uar_str script = uar_str_n(model->script, model->len), text;
    for (size_t number = model->next_line; uar_script_find(&text, &number, script) == UAR_OK; number++) {
        uar_script *line = NULL;
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = uar_script_open(&line, text, number, NULL, &fault);
        uar_script_free(line);
        if (status != UAR_OK) return host_error(err, status, path, fault.message);
    }
    return UAR_OK;
}

static void script_init(script_model *model) {
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&model->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&model->lock, NULL);
}

uar_status host_script_model(uar_model *out, const char *path, long from, uar_error *err) {
    script_model *model = calloc(1, sizeof *model);
    if (model == NULL) return host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
    script_init(model);
    model->next_line = from > 1 ? (size_t)from : 1;
    uar_status status = host_file_read(&model->script, &model->len, path, err);
    if (status == UAR_OK) status = script_check(model, path, err);
    if (status == UAR_OK && pthread_create(&model->thread, NULL, script_thread, model) != 0)
        status = host_error(err, UAR_E_NOMEM, "no thread can be had", NULL);
    if (status != UAR_OK) {
        script_free(model);
        return status;
    }
    *out = (uar_model){ .struct_size = UAR_MODEL_INIT,
                        .ctx = model,
                        .destroy = script_destroy,
                        .name = "script",
                        .start = script_start,
                        .cancel = script_cancel };
    return UAR_OK;
}
