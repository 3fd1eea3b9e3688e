/* The step machine by itself: its document, what it wants, what it takes for stale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/str.h"
#include "run/machine.h"
#include "support/probe_alloc.h"

static const machine_limits LIMITS = { .max_steps = 4, .parallel_tools = 2, .model_attempts = 2 };
static const uar_uuid USER = { { 1 } };

static uar_uuid fresh(void) {
    static uint8_t n = 1;
    return (uar_uuid){ { 2, n++ } };
}

/* ---- driving it ---- */

/* What it wanted since the last look: effects in order, as letters; the events among them by kind. */
typedef struct wants {
    char effects
        [64]; /* a: admit r: recall s: save m: model M: stop model p: plan i: invoke I: stop tool w: wait W: stop wait
                         c: capture z: close e: event */
    size_t count;
    uar_event_kind events[64];
    size_t event_count;
    save_kind save;
} wants;

static wants take(machine *m) {
    static const char letters[] = { '-', 'a', 'r', 's', 'e', 'm', 'M', 'p', 'i', 'I', 'w', 'W', 'c', 'z' };
    wants w = { .count = 0 };
    effect e;
    while (machine_next(m, &e)) {
        assert_true(w.count < sizeof w.effects - 1);
        w.effects[w.count++] = letters[e.kind];
        if (e.kind == EFFECT_EMIT) w.events[w.event_count++] = e.event;
        if (e.kind == EFFECT_SAVE) w.save = e.save;
    }
    return w;
}

static void expect_wants(machine *m, const char *effects) {
    wants w = take(m);
    assert_string_equal(w.effects, effects);
}

static uar_status feed(machine *m, outcome o) {
    if (uar_uuid_is_none(o.fresh)) o.fresh = fresh();
    return machine_feed(m, &o);
}

/* The steps of a run with a retry, text, reasoning, four calls of every fate, and an answer. */
static const outcome STEPS[] = {
    { .kind = OUTCOME_ADMITTED, .model = STR_INIT("m"), .recalls = true, .captures = true },
    { .kind = OUTCOME_RECALLED },
    { .kind = OUTCOME_SAVED },
    { .kind = OUTCOME_MODEL_TEXT, .text = STR_INIT("void") },
    { .kind = OUTCOME_MODEL_FAILED, .status = UAR_E_NETWORK, .message = STR_INIT("lost"), .retryable = true },
    { .kind = OUTCOME_WAITED },
    { .kind = OUTCOME_MODEL_REASONING, .text = STR_INIT("hm \xf0\x9f") },
    { .kind = OUTCOME_MODEL_OPAQUE, .text = STR_INIT("sealed") },
    { .kind = OUTCOME_MODEL_TEXT, .text = STR_INIT("see \xe2\x82") },
    { .kind = OUTCOME_MODEL_USAGE, .usage = { .input = 5, .output = 2, .known = true } },
    { .kind = OUTCOME_MODEL_CALL,
      .number = 7,
      .id = STR_INIT("a"),
      .name = STR_INIT("one"),
      .text = STR_INIT("{\"x\":\"\xc3") },
    { .kind = OUTCOME_MODEL_CALL, .number = 7, .text = STR_INIT("\xa9\"}") },
    { .kind = OUTCOME_MODEL_CALL, .number = 3, .id = STR_INIT("b"), .name = STR_INIT("two") },
    { .kind = OUTCOME_MODEL_CALL, .number = 4, .name = STR_INIT("three") },
    { .kind = OUTCOME_MODEL_CALL, .number = 5, .name = STR_INIT("four") },
    { .kind = OUTCOME_MODEL_FINISHED, .finish = UAR_FINISH_TOOL_CALLS },
    { .kind = OUTCOME_PLANNED, .number = 0, .verdict = VERDICT_RUN, .text = STR_INIT("{\"x\":1}") },
    { .kind = OUTCOME_PLANNED, .number = 1, .verdict = VERDICT_ASK, .text = STR_INIT("{}") },
    { .kind = OUTCOME_PLANNED,
      .number = 2,
      .verdict = VERDICT_REFUSE,
      .status = UAR_E_TOOL_UNKNOWN,
      .message = STR_INIT("no") },
    { .kind = OUTCOME_PLANNED,
      .number = 3,
      .verdict = VERDICT_APPROVE,
      .text = STR_INIT("{}"),
      .message = STR_INIT("policy") },
    { .kind = OUTCOME_SAVED },
    { .kind = OUTCOME_TOOL_DONE, .number = 0, .text = STR_INIT("{\"r\":1}") },
    { .kind = OUTCOME_DECIDED,
      .number = 1,
      .approved = true,
      .text = STR_INIT("{\"edited\":1}"),
      .message = STR_INIT("me") },
    { .kind = OUTCOME_SAVED },
    { .kind = OUTCOME_TOOL_DONE, .number = 3, .status = UAR_E_TOOL_FAILED, .text = STR_INIT("broken") },
    { .kind = OUTCOME_SAVED },
    { .kind = OUTCOME_TOOL_DONE, .number = 1, .text = STR_INIT("2") },
    { .kind = OUTCOME_SAVED },
    { .kind = OUTCOME_SAVED, .status = UAR_E_PROTECTED, .message = STR_INIT("locked") },
    { .kind = OUTCOME_WAITED },
    { .kind = OUTCOME_SAVED },
    { .kind = OUTCOME_MODEL_TEXT, .text = STR_INIT("done") },
    { .kind = OUTCOME_MODEL_FINISHED, .finish = UAR_FINISH_STOP },
    { .kind = OUTCOME_SAVED },
    { .kind = OUTCOME_MUTATED, .name = STR_INIT("add"), .text = STR_INIT("added") },
    { .kind = OUTCOME_CAPTURED },
};
#define STEP_COUNT (sizeof STEPS / sizeof *STEPS)

static void begin(machine *m, const uar_allocator *a) {
    machine_init(m, a, &LIMITS);
    assert_int_equal(machine_start(m, USER, uar_str_of("go \xf0\x9f\x98\x80")), UAR_OK);
    (void)take(m);
}

/* Up to `steps` outcomes; those that a step doesn't wait for (this happens with saves) are left out. */
static void walk(machine *m, size_t steps) {
    for (size_t i = 0; i < steps && i < STEP_COUNT; i++) {
        uar_status status = feed(m, STEPS[i]);
        if (status != UAR_OK) assert_int_equal(status, UAR_E_STALE);
        (void)take(m);
    }
}

static char *document_of(const machine *m) {
    buffer out;
    buffer_init(&out, &alloc_default, SIZE_MAX / 2);
    machine_save(m, &out);
    assert_int_equal(out.status, UAR_OK);
    char *text = alloc_text(&alloc_default, buffer_str(&out));
    assert_non_null(text);
    buffer_dispose(&out);
    return text;
}

static uar_status load(machine *m, uar_str document, uar_error *err) {
    static const machine_limits none = { 0, 0, 0 };
    machine_init(m, &alloc_default, &none);
    uar_status status = machine_load(m, document, err);
    if (status != UAR_OK) machine_dispose(m);
    return status;
}

/* ---- tests ---- */

static void a_run_goes_its_way(void **state) {
    (void)state;
    machine m;
    begin(&m, &alloc_default);
    walk(&m, STEP_COUNT);
    assert_int_equal(m.phase, PHASE_CLOSED);
    assert_int_equal(m.end_state, UAR_RUN_DONE);
    assert_int_equal(m.spent.input, 5);
    machine_dispose(&m);
}

static void a_saved_and_loaded_machine_saves_the_same_document(void **state) {
    (void)state;
    for (size_t steps = 0; steps <= STEP_COUNT; steps++) {
        machine m, copy;
        begin(&m, &alloc_default);
        walk(&m, steps);
        char *one = document_of(&m);
        uar_error err = UAR_ERROR_INIT;
        if (load(&copy, uar_str_of(one), &err) != UAR_OK) fail_msg("after %zu steps: %s\n%s", steps, err.message, one);
        char *other = document_of(&copy);
        /* A draft that is void is left out; loaded, it is an empty one. */
        if (strstr(one, "\"draft\"") != NULL) assert_string_equal(one, other);
        machine_dispose(&copy);
        assert_int_equal(load(&copy, uar_str_of(other), NULL), UAR_OK);
        char *again = document_of(&copy);
        assert_string_equal(other, again);
        alloc_free(&alloc_default, again);
        machine_dispose(&copy);
        machine_dispose(&m);
        alloc_free(&alloc_default, one);
        alloc_free(&alloc_default, other);
    }
}

static void a_loaded_machine_wants_the_same_from_then_on(void **state) {
    (void)state;
    for (size_t steps = 0; steps < STEP_COUNT; steps++) {
        machine m, copy;
        begin(&m, &alloc_default);
        walk(&m, steps);
        char *document = document_of(&m);
        assert_int_equal(load(&copy, uar_str_of(document), NULL), UAR_OK);
        for (size_t i = steps; i < STEP_COUNT; i++) {
            outcome o = STEPS[i];
            o.fresh = fresh();
            assert_int_equal(machine_feed(&m, &o), machine_feed(&copy, &o));
            wants a = take(&m), b = take(&copy);
            assert_string_equal(a.effects, b.effects);
            assert_int_equal(a.event_count, b.event_count);
            assert_memory_equal(a.events, b.events, sizeof a.events);
        }
        machine_dispose(&copy);
        machine_dispose(&m);
        alloc_free(&alloc_default, document);
    }
}

static void the_users_words_are_not_copied_once_they_are_a_record(void **state) {
    (void)state;
    machine m;
    begin(&m, &alloc_default);
    char *before = document_of(&m);
    walk(&m, 3);
    char *after = document_of(&m);
    assert_non_null(strstr(before, "go \xf0\x9f\x98\x80"));
    assert_null(strstr(after, "go \xf0\x9f\x98\x80"));
    machine_dispose(&m);
    alloc_free(&alloc_default, before);
    alloc_free(&alloc_default, after);
}

static void test_R12_a_newer_document_is_refused_by_name(void **state) {
    (void)state;
    machine m;
    begin(&m, &alloc_default);
    char *document = document_of(&m);
    machine_dispose(&m);
    char *version = strstr(document, "\"v\":1");
    assert_non_null(version);
    version[4] = '9';
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(load(&m, uar_str_of(document), &err), UAR_E_NEWER);
    assert_non_null(strstr(err.message, "9"));
    version[4] = '0';
    assert_int_equal(load(&m, uar_str_of(document), &err), UAR_E_CORRUPT);
    alloc_free(&alloc_default, document);
}

static void test_R12_nothing_is_read_as_an_empty_machine(void **state) {
    (void)state;
    static const char *const documents[] = {
        "", "{}", "null", "[]", "7", "{\"v\":1}", "{\"v\":\"1\"}", "{\"v\":-1}", "{\"v\":1,\"phase\":4}"
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        machine m;
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(load(&m, uar_str_of(documents[i]), &err), UAR_E_CORRUPT);
        assert_int_equal(err.code, UAR_E_CORRUPT);
        assert_true(err.message[0] != '\0');
    }
}

static void test_R10_a_document_that_was_cut_anywhere_is_refused(void **state) {
    (void)state;
    machine m, copy;
    begin(&m, &alloc_default);
    walk(&m, 22);
    char *document = document_of(&m);
    machine_dispose(&m);
    for (size_t len = 0; len < strlen(document); len++)
        assert_int_equal(load(&copy, uar_str_n(document, len), NULL), UAR_E_CORRUPT);
    alloc_free(&alloc_default, document);
}

/* Each byte turned into others: refused, or a machine that saves what it read. */
static void test_R10_a_document_with_a_changed_byte_is_refused_or_means_what_it_says(void **state) {
    (void)state;
    machine m, copy;
    begin(&m, &alloc_default);
    walk(&m, 22);
    char *document = document_of(&m);
    machine_dispose(&m);
    static const char others[] = "0}\"\xff";
    for (size_t at = 0; document[at] != '\0'; at++) {
        char kept = document[at];
        for (size_t i = 0; i < sizeof others - 1; i++) {
            document[at] = others[i];
            uar_status status = load(&copy, uar_str_of(document), NULL);
            if (status == UAR_OK) {
                char *again = document_of(&copy);
                machine_dispose(&copy);
                assert_int_equal(load(&copy, uar_str_of(again), NULL), UAR_OK);
                machine_dispose(&copy);
                alloc_free(&alloc_default, again);
            } else if (status != UAR_E_NEWER) {
                assert_int_equal(status, UAR_E_CORRUPT);
            }
        }
        document[at] = kept;
    }
    alloc_free(&alloc_default, document);
}

static void write_without(buffer *out, const cJSON *doc, const cJSON *gone) {
    buffer_append_char(out, '{');
    for (const cJSON *field = doc->child; field != NULL; field = field->next) {
        if (field == gone) continue;
        if (out->len > 1) buffer_append_char(out, ',');
        json_append_string(out, uar_str_of(field->string));
        buffer_append_char(out, ':');
        json_append_node(out, field);
    }
    buffer_append_char(out, '}');
    assert_int_equal(out->status, UAR_OK);
}

static void test_R12_a_document_without_one_of_its_fields_is_refused(void **state) {
    (void)state;
    machine m, copy;
    begin(&m, &alloc_default);
    walk(&m, 22);
    char *document = document_of(&m);
    machine_dispose(&m);
    cJSON *doc = NULL;
    assert_int_equal(json_read(&doc, &alloc_default, uar_str_of(document), SIZE_MAX, NULL), UAR_OK);
    size_t fields = 0;
    for (const cJSON *gone = doc->child; gone != NULL; gone = gone->next, fields++) {
        buffer out;
        buffer_init(&out, &alloc_default, SIZE_MAX / 2);
        write_without(&out, doc, gone);
        uar_status status = load(&copy, buffer_str(&out), NULL);
        buffer_dispose(&out);
        if (status == UAR_E_CORRUPT) continue;
        if (status == UAR_OK) machine_dispose(&copy);
        fail_msg("without %s it is %s", gone->string, uar_status_name(status));
    }
    assert_true(fields > 20);
    json_free(&alloc_default, doc);
    alloc_free(&alloc_default, document);
}

static void saving_and_loading_without_memory_fails_typed_and_leaks_nothing(void **state) {
    (void)state;
    machine m;
    begin(&m, &alloc_default);
    walk(&m, 22);
    char *document = document_of(&m);
    machine_dispose(&m);
    probe_alloc probe;
    probe_alloc_init(&probe);
    for (unsigned long at = 1;; at++) {
        machine copy;
        machine_init(&copy, &probe.door, &LIMITS);
        probe_alloc_arm(&probe, at, false);
        uar_error err = UAR_ERROR_INIT;
        uar_status status = machine_load(&copy, uar_str_of(document), &err);
        bool failed = probe_alloc_has_failed(&probe);
        probe_alloc_arm(&probe, 0, false);
        assert_int_equal(status, failed ? UAR_E_NOMEM : UAR_OK);
        machine_dispose(&copy);
        assert_int_equal(probe.alive, 0);
        if (!failed) break;
    }
    alloc_free(&alloc_default, document);
}

static void a_machine_without_memory_is_broken_and_says_so(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    for (unsigned long at = 1;; at++) {
        machine m;
        probe_alloc_arm(&probe, at, true);
        machine_init(&m, &probe.door, &LIMITS);
        uar_status status = machine_start(&m, USER, uar_str_of("go"));
        (void)take(&m);
        for (size_t i = 0; i < STEP_COUNT && status != UAR_E_NOMEM; i++) {
            status = feed(&m, STEPS[i]);
            (void)take(&m);
        }
        bool failed = probe_alloc_has_failed(&probe);
        if (failed) {
            assert_int_equal(status, UAR_E_NOMEM);
            assert_int_equal(feed(&m, (outcome){ .kind = OUTCOME_WAITED }), UAR_E_NOMEM);
        } else {
            assert_int_equal(m.phase, PHASE_CLOSED);
        }
        machine_dispose(&m);
        assert_int_equal(probe.alive, 0);
        if (!failed) break;
    }
}

static void what_nobody_waits_for_is_stale_and_changes_nothing(void **state) {
    (void)state;
    static const outcome_kind kinds[] = { OUTCOME_ADMITTED,   OUTCOME_RECALLED,     OUTCOME_SAVED,
                                          OUTCOME_MODEL_TEXT, OUTCOME_MODEL_FAILED, OUTCOME_MODEL_STOPPED,
                                          OUTCOME_DECIDED,    OUTCOME_TOOL_DONE,    OUTCOME_WAITED,
                                          OUTCOME_MUTATED,    OUTCOME_CAPTURED };
    machine m;
    begin(&m, &alloc_default);
    walk(&m, 3); /* the model is asked */
    (void)feed(&m, (outcome){ .kind = OUTCOME_MODEL_TEXT, .text = STR_INIT("so far") });
    (void)take(&m);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i] == OUTCOME_MODEL_TEXT || kinds[i] == OUTCOME_MODEL_FAILED || kinds[i] == OUTCOME_MODEL_STOPPED)
            continue;
        char *before = document_of(&m);
        assert_int_equal(feed(&m, (outcome){ .kind = kinds[i], .number = 9 }), UAR_E_STALE);
        expect_wants(&m, "");
        char *after = document_of(&m);
        assert_string_equal(before, after);
        alloc_free(&alloc_default, before);
        alloc_free(&alloc_default, after);
    }
    machine_dispose(&m);
}

/* Cancel, or park, after each step; then answer all that is open until it is over. */
static size_t count_terminals_after(size_t steps, outcome_kind stop, machine *m) {
    size_t terminals = 0;
    begin(m, &alloc_default);
    walk(m, steps);
    if (m->phase >= PHASE_SETTLE) return 1; /* it was out */
    (void)feed(m, (outcome){ .kind = stop, .message = STR_INIT("enough") });
    static const outcome answers[] = {
        { .kind = OUTCOME_ADMITTED, .model = STR_INIT("m") },
        { .kind = OUTCOME_RECALLED },
        { .kind = OUTCOME_WAITED },
        { .kind = OUTCOME_MODEL_STOPPED },
        { .kind = OUTCOME_TOOL_DONE, .number = 0 },
        { .kind = OUTCOME_TOOL_DONE, .number = 1 },
        { .kind = OUTCOME_TOOL_DONE, .number = 3 },
        { .kind = OUTCOME_SAVED },
        { .kind = OUTCOME_CAPTURED },
    };
    for (int round = 0; round < 10 && m->phase != PHASE_CLOSED; round++) {
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
            wants w = take(m);
            for (size_t k = 0; k < w.event_count; k++)
                terminals += uar_event_is_terminal(w.events[k]);
            if (m->phase != PHASE_CLOSED) (void)feed(m, answers[i]);
        }
    }
    wants w = take(m);
    for (size_t k = 0; k < w.event_count; k++)
        terminals += uar_event_is_terminal(w.events[k]);
    assert_int_equal(m->phase, PHASE_CLOSED);
    return terminals;
}

static void test_X2_a_cancel_after_any_step_ends_with_one_terminal_event(void **state) {
    (void)state;
    for (size_t steps = 0; steps < STEP_COUNT; steps++) {
        machine m;
        assert_int_equal(count_terminals_after(steps, OUTCOME_CANCEL, &m), 1);
        machine_dispose(&m);
    }
}

static void test_E5_a_park_after_any_step_has_no_terminal_event_unless_it_came_too_late(void **state) {
    (void)state;
    for (size_t steps = 0; steps < STEP_COUNT; steps++) {
        machine m;
        size_t terminals = count_terminals_after(steps, OUTCOME_PARK, &m);
        assert_int_equal(terminals, m.parks ? 0 : 1);
        machine_dispose(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_its_way),
        cmocka_unit_test(a_saved_and_loaded_machine_saves_the_same_document),
        cmocka_unit_test(a_loaded_machine_wants_the_same_from_then_on),
        cmocka_unit_test(the_users_words_are_not_copied_once_they_are_a_record),
        cmocka_unit_test(test_R12_a_newer_document_is_refused_by_name),
        cmocka_unit_test(test_R12_nothing_is_read_as_an_empty_machine),
        cmocka_unit_test(test_R10_a_document_that_was_cut_anywhere_is_refused),
        cmocka_unit_test(test_R10_a_document_with_a_changed_byte_is_refused_or_means_what_it_says),
        cmocka_unit_test(test_R12_a_document_without_one_of_its_fields_is_refused),
        cmocka_unit_test(saving_and_loading_without_memory_fails_typed_and_leaks_nothing),
        cmocka_unit_test(a_machine_without_memory_is_broken_and_says_so),
        cmocka_unit_test(what_nobody_waits_for_is_stale_and_changes_nothing),
        cmocka_unit_test(test_X2_a_cancel_after_any_step_ends_with_one_terminal_event),
        cmocka_unit_test(test_E5_a_park_after_any_step_has_no_terminal_event_unless_it_came_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
