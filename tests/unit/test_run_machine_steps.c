/* The way of a run through the step machine: given where it stands, when it is told something, then it wants exactly this. */
#include "unit/test_run_machine_fixture.h"

/* ---- admission and the turn ---- */

static void a_run_without_a_model_name_starts_with_none(void **state) {
    steps *s = *state;
    given_start(s);
    tell(s, (outcome){ .kind = OUTCOME_ADMITTED });
    expect_text(heard(s, UAR_EVENT_RUN_START)->run_start.model, NULL);
    expect_text(heard(s, UAR_EVENT_RUN_START)->run_start.input, "hello");
}

static void a_run_that_is_not_admitted_starts_and_fails(void **state) {
    steps *s = *state;
    given_start(s);
    tell(s, (outcome){ .kind = OUTCOME_ADMITTED, .status = UAR_E_BUSY, .message = STR("taken") });
    expect(s, "RunStart RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_BUSY");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.message, "taken");
}

static void a_cancel_during_admission_ends_it_as_cancelled_even_if_admission_fails(void **state) {
    steps *s = *state;
    given_start(s);
    tell(s, cancelled("no more"));
    expect(s, "");
    tell(s, (outcome){ .kind = OUTCOME_ADMITTED, .status = UAR_E_BUSY });
    expect(s, "RunStart Cancelled close");
    expect_text(heard(s, UAR_EVENT_CANCELLED)->cancelled.reason, "no more");
}

static void a_cancel_during_admission_stores_nothing(void **state) {
    steps *s = *state;
    given_start(s);
    tell(s, cancelled(""));
    tell(s, admitted);
    expect(s, "RunStart Cancelled close");
}

static void a_park_during_admission_that_fails_is_a_failure(void **state) {
    steps *s = *state;
    given_start(s);
    tell(s, park);
    tell(s, (outcome){ .kind = OUTCOME_ADMITTED, .status = UAR_E_BUSY });
    expect(s, "RunStart RunFailed close");
}

static void a_park_during_admission_parks_when_the_turn_is_stored(void **state) {
    steps *s = *state;
    given_start(s);
    tell(s, park);
    tell(s, admitted);
    expect(s, "RunStart save:turn");
    tell(s, saved(UAR_OK));
    expect(s, "save:park");
    tell(s, saved(UAR_OK));
    expect(s, "close");
}

static void memory_that_cannot_answer_is_an_error_and_the_run_goes_on(void **state) {
    static const uar_hit hits[] = { { .id = { { 7 } }, .score = 0.5 } };
    steps *s = *state;
    given_start(s);
    tell(s, (outcome){ .kind = OUTCOME_ADMITTED, .recalls = true });
    expect(s, "RunStart recall");
    tell(s, (outcome){ .kind = OUTCOME_RECALLED, .status = UAR_E_UNAVAILABLE, .hits = { hits, 1 } });
    expect(s, "Error save:turn");
    tell(s, saved(UAR_OK));
    expect(s, "RuntimeStep call_model:1");
}

static void a_single_hit_is_told_when_the_turn_is_stored(void **state) {
    static const uar_hit hits[] = { { .id = { { 7 } }, .score = 0.5 } };
    steps *s = *state;
    given_start(s);
    tell(s, (outcome){ .kind = OUTCOME_ADMITTED, .recalls = true });
    tell(s, (outcome){ .kind = OUTCOME_RECALLED, .hits = { hits, 1 } });
    expect(s, "save:turn");
    tell(s, saved(UAR_OK));
    expect(s, "MemoryRecall RuntimeStep call_model:1");
    assert_true(is_id(heard(s, UAR_EVENT_MEMORY_RECALL)->memory_recall.hits.items[0].id, 7));
}

static void a_cancel_during_recall_stores_nothing(void **state) {
    steps *s = *state;
    given_start(s);
    tell(s, (outcome){ .kind = OUTCOME_ADMITTED, .recalls = true });
    tell(s, cancelled("stop"));
    tell(s, (outcome){ .kind = OUTCOME_RECALLED });
    expect(s, "Cancelled close");
}

static void a_turn_that_cannot_be_stored_fails_the_run_with_its_status(void **state) {
    steps *s = *state;
    given_turn(s);
    tell(s, saved(UAR_E_FULL));
    expect(s, "RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_FULL");
}

static void a_request_can_lower_the_step_limit_but_not_raise_it(void **state) {
    const uint32_t asked[] = { 0, 2, 100 }, limit[] = { 3, 2, 3 };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        void *fresh = NULL;
        assert_int_equal(open_steps(&fresh), 0);
        given_start(fresh);
        tell(fresh, (outcome){ .kind = OUTCOME_ADMITTED, .max_steps = asked[i] });
        assert_int_equal(((steps *)fresh)->m.limits.max_steps, limit[i]);
        close_steps(&fresh);
    }
}

/* ---- the model ---- */

static void the_answer_has_the_id_that_came_with_the_stored_turn(void **state) {
    steps *s = *state;
    given_model(s);
    assert_int_equal(s->m.last_number, 5);
    tell(s, model_says("Hi"));
    expect(s, "ChatDelta");
    assert_true(is_id(heard(s, UAR_EVENT_CHAT_DELTA)->chat_delta.message, 3));
    tell(s, model_ends(UAR_FINISH_STOP));
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect(s, "RunDone close");
    assert_true(is_id(heard(s, UAR_EVENT_RUN_DONE)->run_done.message, 3));
}

static void what_is_not_whole_is_not_told(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_says("\xC3"));
    expect(s, "");
    tell(s, model_says("\xA4"));
    expect(s, "ChatDelta");
    expect_text(heard(s, UAR_EVENT_CHAT_DELTA)->chat_delta.text, "\xC3\xA4");
    tell(s, model_calls(0, "c", ""));
    expect(s, "");
}

static void test_E7_a_text_that_ends_inside_a_character_is_reported_once(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_says("\xFF"));
    tell(s, model_says("\xC3"));
    tell(s, model_ends(UAR_FINISH_STOP));
    expect(s, "ChatDelta Error save:end");
    expect_text(heard(s, UAR_EVENT_ERROR)->error.message, "the model's text ended inside a character");
}

static void test_E7_a_text_cut_by_a_failure_is_reported_too(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_says("a\xC3"));
    tell(s, model_fails(false, 0));
    expect(s, "ChatDelta Error save:end");
}

static void one_U_0000_is_reported(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, (outcome){ .kind = OUTCOME_MODEL_TEXT, .text = { "\0", 1 } });
    expect(s, "ChatDelta");
    tell(s, model_ends(UAR_FINISH_STOP));
    expect(s, "Error save:end");
    expect_text(heard(s, UAR_EVENT_ERROR)->error.code, "UAR_E_UTF8");
}

static void an_answer_cut_by_the_token_limit_says_so_and_is_done(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_says("Hi"));
    tell(s, model_ends(UAR_FINISH_LENGTH));
    expect(s, "Error save:end");
    expect_text(heard(s, UAR_EVENT_ERROR)->error.code, "UAR_E_TRUNCATED");
    tell(s, saved(UAR_OK));
    expect(s, "RunDone close");
}

static void a_withheld_answer_fails_the_run(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_ends(UAR_FINISH_CONTENT_FILTER));
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect(s, "RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_FILTERED");
}

static void too_many_calls_stop_the_model_and_fail_the_run(void **state) {
    steps *s = *state;
    given_model(s);
    for (uint64_t i = 0; i < DRAFT_CALLS_MAX; i++)
        tell(s, model_calls(i, "", ""));
    expect(s, "");
    tell(s, model_calls(DRAFT_CALLS_MAX, "", ""));
    expect(s, "stop_model");
    tell(s, (outcome){ .kind = OUTCOME_MODEL_STOPPED });
    tell(s, saved(UAR_OK));
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_TOO_LARGE");
}

static void a_busy_model_is_asked_again_after_a_wait_that_doubles(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_fails(true, 0));
    expect(s, "wait:250");
    tell(s, waited);
    expect(s, "call_model:2");
    tell(s, model_fails(true, 0));
    expect(s, "wait:500");
    tell(s, waited);
    expect(s, "call_model:3");
    tell(s, model_fails(true, 0));
    expect(s, "save:end");
}

static void a_model_waits_as_long_as_the_provider_asks(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_fails(true, 12345));
    expect(s, "wait:12345");
}

static void the_wait_for_a_model_grows_no_longer_than_its_limit(void **state) {
    steps *s = *state;
    s->m.limits.model_attempts = 100;
    given_model(s);
    for (int i = 0; i < 40; i++) {
        tell(s, model_fails(true, 0));
        tell(s, waited);
    }
    tell(s, model_fails(true, 0));
    expect(s, "wait:16000");
}

static void a_failure_that_is_for_good_is_not_tried_again(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_fails(false, 0));
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_MODEL_BUSY");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.message, "busy");
}

static void test_E8_deltas_of_a_failed_attempt_are_superseded_first(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_says("Hel"));
    tell(s, model_fails(true, 0));
    expect(s, "AttemptSuperseded wait:250");
    const uar_event_attempt_superseded *e = &heard(s, UAR_EVENT_ATTEMPT_SUPERSEDED)->attempt_superseded;
    assert_int_equal(e->attempt, 1);
    assert_true(is_id(e->message, 3));
    expect_text(e->reason, "busy");
}

static void test_E7_half_a_character_of_a_failed_attempt_never_meets_the_next(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_says("\xC3"));
    tell(s, model_fails(true, 0));
    expect(s, "wait:250");
    tell(s, waited);
    tell(s, model_says("Hi"));
    expect_text(heard(s, UAR_EVENT_CHAT_DELTA)->chat_delta.text, "Hi");
    tell(s, model_ends(UAR_FINISH_STOP));
    expect(s, "save:end");
}

static void a_model_that_stops_unasked_was_cut(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, (outcome){ .kind = OUTCOME_MODEL_STOPPED });
    tell(s, saved(UAR_OK));
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_MODEL_CUT");
}

static void usage_is_the_sum_of_the_last_word_of_each_attempt(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, (outcome){ .kind = OUTCOME_MODEL_USAGE, .usage = { .input = 1, .output = 1, .known = true } });
    tell(s,
         (outcome){
             .kind = OUTCOME_MODEL_USAGE,
             .usage = { .input = 2, .cache_read = 3, .cache_write = 4, .output = 5, .reasoning = 6, .known = true } });
    tell(s, model_fails(true, 0));
    tell(s, waited);
    tell(s, (outcome){
                .kind = OUTCOME_MODEL_USAGE,
                .usage = {
                    .input = 10, .cache_read = 10, .cache_write = 10, .output = 10, .reasoning = 10, .known = true } });
    tell(s, model_fails(false, 0));
    tell(s, saved(UAR_OK));
    uar_usage u = heard(s, UAR_EVENT_RUN_FAILED)->run_failed.usage;
    assert_int_equal(u.input, 12);
    assert_int_equal(u.cache_read, 13);
    assert_int_equal(u.cache_write, 14);
    assert_int_equal(u.output, 15);
    assert_int_equal(u.reasoning, 16);
    assert_true(u.known);
}

static void usage_that_came_while_stopping_counts(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, cancelled("enough"));
    expect(s, "stop_model");
    tell(s, (outcome){ .kind = OUTCOME_MODEL_USAGE, .usage = { .input = 8, .known = true } });
    expect_stale(s, model_says("late"));
    tell(s, (outcome){ .kind = OUTCOME_MODEL_STOPPED });
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    assert_int_equal(heard(s, UAR_EVENT_CANCELLED)->cancelled.usage.input, 8);
}

static void the_step_limit_ends_the_run_with_its_calls_stored(void **state) {
    steps *s = *state;
    s->m.limits.max_steps = 1;
    given_calls(s, 1, VERDICT_RUN);
    tell(s, tool_ends(0, UAR_OK));
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd save:end");
    tell(s, saved(UAR_OK));
    expect(s, "RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_STEP_LIMIT");
}

static void a_second_step_begins_with_a_new_message_and_a_first_attempt(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_fails(true, 0));
    tell(s, waited);
    expect(s, "call_model:2");
    tell(s, model_says("first"));
    tell(s, model_calls(0, "c", "{}"));
    tell(s, model_ends(UAR_FINISH_TOOL_CALLS));
    tell(s, planned(0, VERDICT_RUN));
    tell(s, saved(UAR_OK));
    assert_int_equal(s->m.last_number, 7);
    tell(s, tool_ends(0, UAR_OK));
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd RuntimeStep call_model:1");
    assert_int_equal(heard(s, UAR_EVENT_RUNTIME_STEP)->runtime_step.step, 2);
    tell(s, model_says("second"));
    assert_true(is_id(heard(s, UAR_EVENT_CHAT_DELTA)->chat_delta.message, 9));
    assert_int_equal(s->m.draft.text.len, 6);
    assert_int_equal(s->m.draft.call_count, 0);
}

/* ---- saving ---- */

static void a_save_is_tried_four_times_with_waits_that_double(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_ends(UAR_FINISH_STOP));
    const char *waits[] = { "wait:200", "wait:400", "wait:800" };
    for (int i = 0; i < 3; i++) {
        tell(s, saved(UAR_E_TIMEOUT));
        expect(s, waits[i]);
        tell(s, waited);
        expect(s, "save:end");
    }
    tell(s, (outcome){ .kind = OUTCOME_SAVED, .status = UAR_E_TIMEOUT, .message = STR("too slow") });
    expect(s, "save:end"); /* that it failed is stored as well, once */
    tell(s, (outcome){ .kind = OUTCOME_SAVED, .status = UAR_E_TIMEOUT, .message = STR("too slow") });
    expect(s, "RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_TIMEOUT");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.message, "too slow");
}

static void each_save_has_tries_of_its_own(void **state) {
    steps *s = *state;
    given_turn(s);
    for (int i = 0; i < 3; i++) {
        tell(s, saved(UAR_E_TIMEOUT));
        tell(s, waited);
    }
    tell(s, saved(UAR_OK));
    tell(s, model_ends(UAR_FINISH_STOP));
    tell(s, saved(UAR_E_TIMEOUT));
    expect(s, "wait:200");
}

static void the_save_of_an_end_has_tries_of_its_own_after_a_save_was_stopped(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_calls(0, "c", "{}"));
    tell(s, model_ends(UAR_FINISH_TOOL_CALLS));
    tell(s, planned(0, VERDICT_RUN));
    for (int i = 0; i < 2; i++) {
        tell(s, saved(UAR_E_TIMEOUT));
        tell(s, waited);
    }
    tell(s, saved(UAR_E_TIMEOUT));
    tell(s, cancelled(""));
    expect(s, "stop_wait");
    tell(s, waited);
    expect(s, "save:end");
    tell(s, saved(UAR_E_TIMEOUT));
    expect(s, "wait:200");
    tell(s, waited);
    expect(s, "save:end");
}

static void test_R6_a_save_that_lost_the_session_is_not_tried_again(void **state) {
    steps *s = *state;
    given_turn(s);
    tell(s, saved(UAR_E_CONFLICT));
    expect(s, "RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_BUSY");
}

static void a_save_that_fails_while_the_run_stops_is_not_tried_again(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_RUN);
    tell(s, tool_ends(0, UAR_OK));
    expect(s, "save:facts");
    tell(s, cancelled(""));
    expect(s, "");
    tell(s, saved(UAR_E_TIMEOUT));
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd Cancelled close");
}

static void an_outcome_that_could_not_be_stored_is_told_with_the_end(void **state) {
    steps *s = *state;
    given_calls(s, 2, VERDICT_RUN);
    tell(s, tool_ends(0, UAR_OK));
    tell(s, saved(UAR_E_FULL));
    expect(s, "stop_tool:1");
    tell(s, tool_ends(1, UAR_E_CANCELLED));
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd ToolEnd RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_FULL");
}

static void what_comes_while_a_save_waits_goes_into_the_next(void **state) {
    steps *s = *state;
    given_calls(s, 2, VERDICT_RUN);
    tell(s, tool_ends(0, UAR_OK));
    tell(s, saved(UAR_E_TIMEOUT));
    expect(s, "wait:200");
    tell(s, tool_ends(1, UAR_OK));
    expect(s, "");
    tell(s, waited);
    expect(s, "save:facts");
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd save:facts");
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd RuntimeStep call_model:1");
}

/* ---- after the end ---- */

static void given_settle(steps *s) {
    given_start(s);
    outcome o = admitted;
    o.captures = true;
    tell(s, o);
    tell(s, saved(UAR_OK));
    tell(s, model_ends(UAR_FINISH_STOP));
    expect_stale(s, (outcome){ .kind = OUTCOME_MUTATED });
    tell(s, saved(UAR_OK));
    expect(s, "RunDone capture");
}

static void captured_memory_is_told_with_record_and_outcome(void **state) {
    steps *s = *state;
    given_settle(s);
    tell(s, (outcome){ .kind = OUTCOME_MUTATED, .fresh = id_of(5), .name = STR("add"), .text = STR("reinforced") });
    expect(s, "MemoryMutation");
    const uar_event_memory_mutation *e = &heard(s, UAR_EVENT_MEMORY_MUTATION)->memory_mutation;
    assert_true(is_id(e->id, 5));
    expect_text(e->op, "add");
    expect_text(e->outcome, "reinforced");
    tell(s, (outcome){ .kind = OUTCOME_CAPTURED });
    expect(s, "close");
    expect_stale(s, (outcome){ .kind = OUTCOME_MUTATED });
    expect_stale(s, (outcome){ .kind = OUTCOME_CAPTURED });
}

static void a_capture_that_fails_is_an_error_behind_the_end(void **state) {
    steps *s = *state;
    given_settle(s);
    tell(s, (outcome){ .kind = OUTCOME_CAPTURED, .status = UAR_E_IO });
    expect(s, "Error close");
    expect_text(heard(s, UAR_EVENT_ERROR)->error.code, "UAR_E_IO");
}

static void a_run_that_failed_is_not_captured(void **state) {
    steps *s = *state;
    given_start(s);
    outcome o = admitted;
    o.captures = true;
    tell(s, o);
    tell(s, saved(UAR_OK));
    tell(s, model_fails(false, 0));
    tell(s, saved(UAR_OK));
    expect(s, "RunFailed close");
}

static void an_answer_that_could_not_be_stored_is_a_failure(void **state) {
    steps *s = *state;
    given_second_step(s);
    tell(s, model_ends(UAR_FINISH_STOP));
    tell(s, saved(UAR_E_READ_ONLY));
    expect(s, "save:end");
    tell(s, saved(UAR_E_READ_ONLY));
    expect(s, "RunFailed close");
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_READ_ONLY");
}

static void test_R5_an_answer_waits_for_room_on_the_disk_but_another_step_does_not(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_ends(UAR_FINISH_STOP));
    tell(s, saved(UAR_E_FULL));
    expect(s, "wait:200");
    tell(s, waited);
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect(s, "RunDone close");
}

static void a_run_whose_end_could_not_be_stored_is_stored_as_failed(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_ends(UAR_FINISH_STOP));
    tell(s, saved(UAR_E_READ_ONLY));
    expect(s, "save:end");
    assert_int_equal(s->m.end_state, UAR_RUN_FAILED);
    tell(s, saved(UAR_OK));
    expect(s, "RunFailed close");
}

static void a_provider_that_wants_to_be_left_alone_for_long_fails_the_run(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, (outcome){ .kind = OUTCOME_MODEL_FAILED, .status = UAR_E_MODEL_BUSY, .retryable = true, .number = 60001 });
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_MODEL_BUSY");
}

static void a_model_can_not_say_that_the_run_was_cancelled(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, (outcome){ .kind = OUTCOME_MODEL_FAILED, .status = UAR_E_CANCELLED });
    tell(s, saved(UAR_OK));
    expect_text(heard(s, UAR_EVENT_RUN_FAILED)->run_failed.code, "UAR_E_MODEL_CUT");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STEPS(a_run_without_a_model_name_starts_with_none),
        STEPS(a_run_that_is_not_admitted_starts_and_fails),
        STEPS(a_cancel_during_admission_ends_it_as_cancelled_even_if_admission_fails),
        STEPS(a_cancel_during_admission_stores_nothing),
        STEPS(a_park_during_admission_that_fails_is_a_failure),
        STEPS(a_park_during_admission_parks_when_the_turn_is_stored),
        STEPS(memory_that_cannot_answer_is_an_error_and_the_run_goes_on),
        STEPS(a_single_hit_is_told_when_the_turn_is_stored),
        STEPS(a_cancel_during_recall_stores_nothing),
        STEPS(a_turn_that_cannot_be_stored_fails_the_run_with_its_status),
        STEPS(a_request_can_lower_the_step_limit_but_not_raise_it),
        STEPS(the_answer_has_the_id_that_came_with_the_stored_turn),
        STEPS(what_is_not_whole_is_not_told),
        STEPS(test_E7_a_text_that_ends_inside_a_character_is_reported_once),
        STEPS(test_E7_a_text_cut_by_a_failure_is_reported_too),
        STEPS(one_U_0000_is_reported),
        STEPS(an_answer_cut_by_the_token_limit_says_so_and_is_done),
        STEPS(a_withheld_answer_fails_the_run),
        STEPS(too_many_calls_stop_the_model_and_fail_the_run),
        STEPS(a_busy_model_is_asked_again_after_a_wait_that_doubles),
        STEPS(a_model_waits_as_long_as_the_provider_asks),
        STEPS(the_wait_for_a_model_grows_no_longer_than_its_limit),
        STEPS(a_failure_that_is_for_good_is_not_tried_again),
        STEPS(test_E8_deltas_of_a_failed_attempt_are_superseded_first),
        STEPS(test_E7_half_a_character_of_a_failed_attempt_never_meets_the_next),
        STEPS(a_model_that_stops_unasked_was_cut),
        STEPS(usage_is_the_sum_of_the_last_word_of_each_attempt),
        STEPS(usage_that_came_while_stopping_counts),
        STEPS(the_step_limit_ends_the_run_with_its_calls_stored),
        STEPS(a_second_step_begins_with_a_new_message_and_a_first_attempt),
        STEPS(a_save_is_tried_four_times_with_waits_that_double),
        STEPS(each_save_has_tries_of_its_own),
        STEPS(the_save_of_an_end_has_tries_of_its_own_after_a_save_was_stopped),
        STEPS(test_R6_a_save_that_lost_the_session_is_not_tried_again),
        STEPS(a_save_that_fails_while_the_run_stops_is_not_tried_again),
        STEPS(an_outcome_that_could_not_be_stored_is_told_with_the_end),
        STEPS(what_comes_while_a_save_waits_goes_into_the_next),
        STEPS(captured_memory_is_told_with_record_and_outcome),
        STEPS(a_capture_that_fails_is_an_error_behind_the_end),
        STEPS(a_run_that_failed_is_not_captured),
        STEPS(an_answer_that_could_not_be_stored_is_a_failure),
        STEPS(test_R5_an_answer_waits_for_room_on_the_disk_but_another_step_does_not),
        STEPS(a_run_whose_end_could_not_be_stored_is_stored_as_failed),
        STEPS(a_provider_that_wants_to_be_left_alone_for_long_fails_the_run),
        STEPS(a_model_can_not_say_that_the_run_was_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
