/*
 * The step machine by itself, without a run around it. Effects are written as one line: events by their name, the rest in
 * small letters, numbers where they count.
 */
#ifndef UAR_TESTS_UNIT_TEST_RUN_MACHINE_FIXTURE_H
#define UAR_TESTS_UNIT_TEST_RUN_MACHINE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"
#include "run/machine.h"

#define EFFECTS_MAX 32

typedef struct steps {
    machine m;
    effect wants[EFFECTS_MAX]; /* since the last feed */
    size_t count;
    buffer line;
} steps;

/* ---- writing effects ---- */

static inline void append_effect(buffer *out, const effect *e) {
    static const char *const names[] = { "none", "admit",  "recall",    "save", "emit",      "call_model", "stop_model",
                                         "plan", "invoke", "stop_tool", "wait", "stop_wait", "capture",    "close" };
    static const char *const saves[] = { "turn", "calls", "facts", "end", "park" };
    if (out->len > 0) buffer_append_char(out, ' ');
    if (e->kind == EFFECT_EMIT) {
        buffer_append_text(out, uar_event_kind_name(e->event));
        return;
    }
    buffer_append_text(out, names[e->kind]);
    bool numbered = e->kind == EFFECT_CALL_MODEL || e->kind == EFFECT_PLAN || e->kind == EFFECT_INVOKE ||
                    e->kind == EFFECT_STOP_TOOL || e->kind == EFFECT_WAIT;
    if (e->kind == EFFECT_SAVE || numbered) buffer_append_char(out, ':');
    if (e->kind == EFFECT_SAVE) buffer_append_text(out, saves[e->save]);
    if (numbered) buffer_append_u64(out, e->number);
}

static inline void take(steps *s) {
    s->count = 0;
    buffer_reset(&s->line);
    while (machine_next(&s->m, &s->wants[s->count])) {
        append_effect(&s->line, &s->wants[s->count]);
        assert_true(++s->count < EFFECTS_MAX);
    }
}

static inline void expect(const steps *s, const char *line) {
    assert_string_equal(s->line.len > 0 ? s->line.ptr : "", line);
}

/* The event of this kind among what is wanted. */
static const event_payload *heard(const steps *s, uar_event_kind kind) {
    for (size_t i = 0; i < s->count; i++)
        if (s->wants[i].kind == EFFECT_EMIT && s->wants[i].event == kind) return &s->wants[i].payload;
    fail_msg("%s was not heard in: %s", uar_event_kind_name(kind), s->line.ptr);
    return NULL;
}

static inline void expect_text(uar_str text, const char *expected) {
    if (expected == NULL) {
        assert_null(text.ptr);
        return;
    }
    if (!str_is(text, expected)) fail_msg("\"%.*s\" is not \"%s\"", (int)text.len, text.ptr, expected);
}

/* ---- telling it ---- */

static inline uar_status tell_status(steps *s, outcome o) {
    uar_status status = machine_feed(&s->m, &o);
    take(s);
    return status;
}

static inline void tell(steps *s, outcome o) {
    assert_int_equal(tell_status(s, o), UAR_OK);
}

static inline void expect_stale(steps *s, outcome o) {
    assert_int_equal(tell_status(s, o), UAR_E_STALE);
    expect(s, "");
}

static inline uar_uuid id_of(uint8_t n) {
    return (uar_uuid){ { n } };
}

static inline bool is_id(uar_uuid id, uint8_t n) {
    return uar_uuid_equal(id, id_of(n));
}

static inline outcome saved(uar_status status) {
    return (outcome){ .kind = OUTCOME_SAVED, .status = status, .fresh = id_of(9) };
}

static inline outcome model_says(const char *text) {
    return (outcome){ .kind = OUTCOME_MODEL_TEXT, .text = uar_str_of(text) };
}

static inline outcome model_calls(uint64_t index, const char *id, const char *arguments) {
    return (outcome){ .kind = OUTCOME_MODEL_CALL,
                      .number = index,
                      .id = uar_str_of(id),
                      .name = STR("tool"),
                      .text = uar_str_of(arguments) };
}

static inline outcome model_ends(uar_finish finish) {
    return (outcome){ .kind = OUTCOME_MODEL_FINISHED, .finish = finish };
}

static inline outcome model_fails(bool retryable, uint64_t after_ms) {
    return (outcome){ .kind = OUTCOME_MODEL_FAILED,
                      .status = UAR_E_MODEL_BUSY,
                      .message = STR("busy"),
                      .retryable = retryable,
                      .number = after_ms };
}

static inline outcome planned(uint64_t number, call_verdict verdict) {
    return (outcome){ .kind = OUTCOME_PLANNED, .number = number, .verdict = verdict, .text = STR("{}") };
}

static inline outcome decided(uint64_t number, bool approved, const char *reason) {
    return (outcome){ .kind = OUTCOME_DECIDED, .number = number, .approved = approved, .message = uar_str_of(reason) };
}

static inline outcome tool_ends(uint64_t number, uar_status status) {
    return (outcome){ .kind = OUTCOME_TOOL_DONE, .number = number, .status = status, .text = STR("\"done\"") };
}

static inline outcome cancelled(const char *reason) {
    return (outcome){ .kind = OUTCOME_CANCEL, .message = uar_str_of(reason) };
}

static const outcome park = { .kind = OUTCOME_PARK };
static const outcome waited = { .kind = OUTCOME_WAITED };
static const outcome admitted = { .kind = OUTCOME_ADMITTED, .model = STR_INIT("m"), .number = 4, .fresh = { { 2 } } };

/* ---- given ---- */

static inline int open_steps(void **state) {
    steps *s = calloc(1, sizeof *s);
    machine_limits limits = { .max_steps = 3, .parallel_tools = 2, .model_attempts = 3 };
    assert_non_null(s);
    machine_init(&s->m, &alloc_default, &limits);
    buffer_init(&s->line, &alloc_default, 4096);
    *state = s;
    return 0;
}

static inline int close_steps(void **state) {
    steps *s = *state;
    machine_dispose(&s->m);
    buffer_dispose(&s->line);
    free(s);
    return 0;
}

static inline void given_start(steps *s) {
    assert_int_equal(machine_start(&s->m, id_of(1), STR("hello")), UAR_OK);
    take(s);
    expect(s, "admit");
}

static inline void given_turn(steps *s) {
    given_start(s);
    tell(s, admitted);
    expect(s, "RunStart save:turn");
}

static inline void given_model(steps *s) {
    given_turn(s);
    tell(s, (outcome){ .kind = OUTCOME_SAVED, .fresh = id_of(3) });
    expect(s, "RuntimeStep call_model:1");
}

/* The model asked for `count` calls and each was planned so. */
static inline void given_calls(steps *s, uint64_t count, call_verdict verdict) {
    given_model(s);
    for (uint64_t i = 0; i < count; i++)
        tell(s, model_calls(i, "", "{}"));
    tell(s, model_ends(UAR_FINISH_TOOL_CALLS));
    for (uint64_t i = 0; i < count; i++)
        tell(s, planned(i, verdict));
    expect(s, "save:calls");
    tell(s, saved(UAR_OK));
}

/* One call ran, its outcome is stored and the model is asked again. */
static inline void given_second_step(steps *s) {
    given_calls(s, 1, VERDICT_RUN);
    expect(s, "ToolStart invoke:0");
    tell(s, tool_ends(0, UAR_OK));
    expect(s, "save:facts");
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd RuntimeStep call_model:1");
}

#define STEPS(name) cmocka_unit_test_setup_teardown(name, open_steps, close_steps)

#endif
