/*
 * A sink that writes down what it is given, with neighbouring pieces of the same kind joined. For the tests of
 * lib/model.
 */
#ifndef UAR_TESTS_MODEL_RECORDER_H
#define UAR_TESTS_MODEL_RECORDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/sink.h"
#include "support/probe_alloc.h"

#define RECORD_MAX (1 << 18)

typedef struct recorder {
    char *
        log; /* one line an item: `text Hi`, `call 0 id c1`, `call 0 args {…`, `finish stop`, `fail UAR_E_… code message` */
    size_t len;
    char last[32]; /* kind of the newest line */
    size_t ends;   /* finishes and failures */
    model_failure failure;
    uar_usage usage;
    size_t refuse_after; /* pushes until the sink answers `refusal` */
    uar_status refusal;
    size_t pushes;
} recorder;

static inline void record_bytes(recorder *r, const char *bytes, size_t len) {
    assert_true(r->len + len < RECORD_MAX);
    memcpy(r->log + r->len, bytes, len);
    r->len += len;
    r->log[r->len] = '\0';
}

/* Start a line of this kind, or go on with it if it may be joined. */
static inline void record_line(recorder *r, const char *kind, bool joins) {
    if (joins && strcmp(r->last, kind) == 0) return;
    if (r->len > 0) record_bytes(r, "\n", 1);
    record_bytes(r, kind, strlen(kind));
    record_bytes(r, " ", 1);
    (void)snprintf(r->last, sizeof r->last, "%s", kind);
}

static inline uar_status record_answer(recorder *r) {
    assert_int_equal(r->ends, 0);
    r->pushes++;
    return r->refusal != UAR_OK && r->pushes > r->refuse_after ? r->refusal : UAR_OK;
}

static inline uar_status record_text(void *ctx, uar_str text) {
    record_line(ctx, "text", true);
    record_bytes(ctx, text.ptr, text.len);
    return record_answer(ctx);
}

static inline uar_status record_reasoning(void *ctx, uar_str text) {
    record_line(ctx, "reasoning", true);
    record_bytes(ctx, text.ptr, text.len);
    return record_answer(ctx);
}

static inline uar_status record_opaque(void *ctx, uar_str data) {
    record_line(ctx, "opaque", false);
    record_bytes(ctx, data.ptr, data.len);
    return record_answer(ctx);
}

static inline void record_field(recorder *r, uint32_t index, const char *field, uar_str value, bool joins) {
    char kind[32];
    if (value.len == 0) return;
    (void)snprintf(kind, sizeof kind, "call %u %s", (unsigned)index, field);
    record_line(r, kind, joins);
    record_bytes(r, value.ptr, value.len);
}

static inline uar_status record_call(void *ctx, uint32_t index, uar_str id, uar_str name, uar_str arguments) {
    record_field(ctx, index, "id", id, false);
    record_field(ctx, index, "name", name, false);
    record_field(ctx, index, "args", arguments, true);
    return record_answer(ctx);
}

static inline uar_status record_usage(void *ctx, const uar_usage *usage) {
    ((recorder *)ctx)->usage = *usage;
    return record_answer(ctx);
}

static inline uar_status record_finish(void *ctx, uar_finish reason) {
    static const char *const names[] = { "stop", "tool_calls", "length", "content_filter" };
    recorder *r = ctx;
    uar_status status = record_answer(r);
    record_line(r, "finish", false);
    record_bytes(r, names[reason], strlen(names[reason]));
    r->ends++;
    return status;
}

static inline uar_status record_fail(void *ctx, const model_failure *failure) {
    recorder *r = ctx;
    assert_int_equal(r->ends, 0);
    r->ends++;
    r->failure = *failure;
    record_line(r, failure->retryable ? "retry" : "fail", false);
    record_bytes(r, uar_status_name(failure->status), strlen(uar_status_name(failure->status)));
    return UAR_OK;
}

static inline model_sink recorder_sink(recorder *r) {
    model_sink sink = { r,           NULL,         record_text,   record_reasoning, record_opaque,
                        record_call, record_usage, record_finish, record_fail };
    return sink;
}

static inline void recorder_init(recorder *r) {
    memset(r, 0, sizeof *r);
    r->log = calloc(1, RECORD_MAX);
    assert_non_null(r->log);
}

static inline void recorder_clear(recorder *r) {
    char *log = r->log;
    log[0] = '\0';
    memset(r, 0, sizeof *r);
    r->log = log;
}

static inline void recorder_dispose(recorder *r) {
    free(r->log);
}

#endif
