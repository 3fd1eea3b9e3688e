/*
 * A uar_stream without a run: writes down what is pushed, from any thread. Include it first: it gives the functions of the
 * model door other names, and the sources included behind it push here.
 */
#ifndef UAR_TESTS_MODEL_STREAM_FAKE_H
#define UAR_TESTS_MODEL_STREAM_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <time.h>

#define uar_stream_ref fake_stream_ref
#define uar_stream_unref fake_stream_unref
#define uar_stream_is_open fake_stream_is_open
#define uar_stream_text fake_stream_text
#define uar_stream_reasoning fake_stream_reasoning
#define uar_stream_reasoning_opaque fake_stream_reasoning_opaque
#define uar_stream_tool_call fake_stream_tool_call
#define uar_stream_usage fake_stream_usage
#define uar_stream_finish fake_stream_finish
#define uar_stream_fail fake_stream_fail

#include <uar/model.h>

struct uar_stream {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refs;
    bool is_open; /* somebody listens and no end came */
    bool has_end;
    char log[4096]; /* text, then other pushes as [kind value] */
    size_t len;
    uar_status status; /* of a failure */
    bool retryable;
    uint32_t retry_after_ms;
    uar_usage usage;
};

static inline void fake_stream_init(uar_stream *s) {
    memset(s, 0, sizeof *s);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    s->refs = 1;
    s->is_open = true;
}

static inline void fake_stream_dispose(uar_stream *s) {
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->changed);
}

static inline struct timespec fake_deadline(void) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    return until;
}

/* Nobody listens any more. */
static inline void fake_stream_close(uar_stream *s) {
    pthread_mutex_lock(&s->lock);
    s->is_open = false;
    pthread_mutex_unlock(&s->lock);
}

/* Wait until something was pushed; false after ten seconds. */
static inline bool fake_stream_wait_push(uar_stream *s) {
    struct timespec until = fake_deadline();
    pthread_mutex_lock(&s->lock);
    int late = 0;
    while (s->len == 0 && late == 0)
        late = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    bool pushed = s->len > 0;
    pthread_mutex_unlock(&s->lock);
    return pushed;
}

/* Wait until only the test holds the stream; false after ten seconds. */
static inline bool fake_stream_wait(uar_stream *s) {
    struct timespec until = fake_deadline();
    pthread_mutex_lock(&s->lock);
    int late = 0;
    while (s->refs > 1 && late == 0)
        late = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    bool alone = s->refs == 1;
    pthread_mutex_unlock(&s->lock);
    return alone;
}

uar_stream *uar_stream_ref(uar_stream *s) {
    pthread_mutex_lock(&s->lock);
    s->refs++;
    pthread_mutex_unlock(&s->lock);
    return s;
}

void uar_stream_unref(uar_stream *s) {
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    s->refs--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

bool uar_stream_is_open(const uar_stream *s) {
    uar_stream *open = (uar_stream *)(uintptr_t)s;
    pthread_mutex_lock(&open->lock);
    bool is_open = open->is_open;
    pthread_mutex_unlock(&open->lock);
    return is_open;
}

static inline uar_status fake_push(uar_stream *s, const char *before, uar_str text, const char *behind, bool ends) {
    pthread_mutex_lock(&s->lock);
    bool taken = s->is_open && s->len + text.len + 64 < sizeof s->log;
    if (taken) {
        int n = snprintf(s->log + s->len, sizeof s->log - s->len, "%s%.*s%s", before, (int)text.len,
                         text.ptr != NULL ? text.ptr : "", behind);
        s->len += (size_t)n;
        s->has_end = ends;
        s->is_open = !ends;
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return taken ? UAR_OK : UAR_E_STALE;
}

uar_status uar_stream_text(uar_stream *s, const char *text, size_t len) {
    return fake_push(s, "", uar_str_n(text, len), "", false);
}

uar_status uar_stream_reasoning(uar_stream *s, const char *text, size_t len) {
    return fake_push(s, "[reasoning ", uar_str_n(text, len), "]", false);
}

uar_status uar_stream_reasoning_opaque(uar_stream *s, const char *data, size_t len) {
    return fake_push(s, "[opaque ", uar_str_n(data, len), "]", false);
}

uar_status uar_stream_tool_call(uar_stream *s, uint32_t index, uar_str id, uar_str name, uar_str arguments) {
    char text[512];
    (void)snprintf(text, sizeof text, "%u %.*s %.*s %.*s", (unsigned)index, (int)id.len, id.len > 0 ? id.ptr : "",
                   (int)name.len, name.len > 0 ? name.ptr : "", (int)arguments.len,
                   arguments.len > 0 ? arguments.ptr : "");
    return fake_push(s, "[call ", uar_str_of(text), "]", false);
}

uar_status uar_stream_usage(uar_stream *s, const uar_usage *usage) {
    s->usage = *usage;
    return fake_push(s, "[usage", uar_str_of(""), "]", false);
}

uar_status uar_stream_finish(uar_stream *s, uar_finish reason) {
    static const char *const names[] = { "stop", "tool_calls", "length", "content_filter" };
    return fake_push(s, "[finish ", uar_str_of(names[reason]), "]", true);
}

uar_status uar_stream_fail(uar_stream *s, uar_status status, const char *code, const char *message, bool retryable,
                           uint32_t retry_after_ms) {
    char text[512];
    (void)snprintf(text, sizeof text, "%s %s %s", uar_status_name(status), code != NULL ? code : "-",
                   message != NULL ? message : "-");
    pthread_mutex_lock(&s->lock);
    if (s->is_open) {
        s->status = status;
        s->retryable = retryable;
        s->retry_after_ms = retry_after_ms;
    }
    pthread_mutex_unlock(&s->lock);
    return fake_push(s, "[fail ", uar_str_of(text), "]", true);
}

#endif
