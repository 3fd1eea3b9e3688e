/* Tool calls in the step machine, and how it stops: given, when it is told something, then it wants exactly this. */
#include "unit/test_run_machine_fixture.h"

/* ---- calls ---- */

static void test_T2_the_last_call_before_the_token_limit_is_not_run(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_calls(0, "a", "{}"));
    tell(s, model_calls(1, "b", "{}"));
    tell(s, model_ends(UAR_FINISH_LENGTH));
    expect(s, "plan:0");
    tell(s, planned(0, VERDICT_RUN));
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd ToolStart invoke:0");
    expect_text(heard(s, UAR_EVENT_TOOL_END)->tool_end.code, "UAR_E_TRUNCATED");
    expect_text(heard(s, UAR_EVENT_TOOL_END)->tool_end.call, "b");
}

static void test_T2_a_call_without_arguments_at_the_token_limit_is_not_run(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_calls(0, "a", ""));
    tell(s, model_calls(1, "b", "{}"));
    tell(s, model_ends(UAR_FINISH_LENGTH));
    expect(s, "save:calls");
}

static void calls_are_stored_when_the_last_is_planned(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_calls(0, "a", "{}"));
    tell(s, model_calls(1, "b", "{}"));
    tell(s, model_ends(UAR_FINISH_TOOL_CALLS));
    expect(s, "plan:0 plan:1");
    tell(s, planned(1, VERDICT_RUN));
    expect(s, "");
    expect_stale(s, planned(1, VERDICT_RUN));
    expect_stale(s, planned(2, VERDICT_RUN));
    tell(s, planned(0, VERDICT_RUN));
    expect(s, "save:calls");
}

static void no_more_calls_run_at_once_than_allowed(void **state) {
    steps *s = *state;
    given_calls(s, 4, VERDICT_RUN);
    expect(s, "ToolStart invoke:0 ToolStart invoke:1");
    tell(s, tool_ends(1, UAR_OK));
    expect(s, "ToolStart invoke:2 save:facts");
    tell(s, tool_ends(0, UAR_OK));
    expect(s, "ToolStart invoke:3");
}

static void a_call_has_one_outcome(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_RUN);
    tell(s, tool_ends(0, UAR_OK));
    expect_stale(s, tool_ends(0, UAR_OK));
    expect_stale(s, tool_ends(1, UAR_OK));
}

static void a_repaired_result_is_reported(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_RUN);
    outcome o = tool_ends(0, UAR_OK);
    o.message = STR("bytes were replaced");
    tell(s, o);
    expect(s, "Error save:facts");
    expect_text(heard(s, UAR_EVENT_ERROR)->error.message, "bytes were replaced");
}

static void a_failed_call_tells_its_status(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_RUN);
    tell(s, tool_ends(0, UAR_E_TIMEOUT));
    tell(s, saved(UAR_OK));
    const uar_event_tool_end *e = &heard(s, UAR_EVENT_TOOL_END)->tool_end;
    assert_false(e->ok);
    expect_text(e->code, "UAR_E_TIMEOUT");
    expect_text(e->error, "\"done\"");
    expect_text(e->result, NULL);
}

static void test_E10_a_person_is_asked_once_the_call_is_stored(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_ASK);
    expect(s, "ToolCallApprovalRequired");
    expect_text(heard(s, UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED)->tool_call_approval_required.arguments, "{}");
}

static void test_A5_what_runs_is_the_approved_edit_after_it_was_stored(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_ASK);
    outcome o = decided(0, true, "fine");
    o.text = STR("{\"a\":1}");
    tell(s, o);
    expect(s, "save:facts");
    tell(s, saved(UAR_OK));
    expect(s, "ToolCallApproved ToolStart invoke:0");
    expect_text(heard(s, UAR_EVENT_TOOL_CALL_APPROVED)->tool_call_approved.reason, "fine");
    expect_text(heard(s, UAR_EVENT_TOOL_START)->tool_start.arguments, "{\"a\":1}");
}

static void a_decision_without_a_reason_has_none(void **state) {
    steps *s = *state;
    given_calls(s, 2, VERDICT_ASK);
    tell(s, decided(0, true, ""));
    tell(s, saved(UAR_OK));
    expect_text(heard(s, UAR_EVENT_TOOL_CALL_APPROVED)->tool_call_approved.reason, NULL);
    tell(s, decided(1, false, ""));
    tell(s, saved(UAR_OK));
    expect(s, "ToolCallDenied ToolEnd");
    expect_text(heard(s, UAR_EVENT_TOOL_CALL_DENIED)->tool_call_denied.reason, NULL);
    expect_text(heard(s, UAR_EVENT_TOOL_END)->tool_end.error,
                "The call was denied and did not run. Reason: none given");
}

static void a_call_is_decided_once(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_ASK);
    tell(s, decided(0, true, "yes"));
    expect_stale(s, decided(0, true, "again"));
    expect_stale(s, decided(0, false, "no"));
    expect_stale(s, decided(1, true, "other"));
    tell(s, saved(UAR_OK));
    expect(s, "ToolCallApproved ToolStart invoke:0");
}

static void a_call_is_not_decided_before_it_is_announced(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_calls(0, "a", "{}"));
    tell(s, model_ends(UAR_FINISH_TOOL_CALLS));
    tell(s, planned(0, VERDICT_ASK));
    expect_stale(s, decided(0, true, ""));
}

static void an_approved_call_is_announced_once_though_more_is_stored(void **state) {
    steps *s = *state;
    given_calls(s, 2, VERDICT_ASK);
    expect(s, "ToolCallApprovalRequired ToolCallApprovalRequired");
    tell(s, decided(0, true, ""));
    tell(s, saved(UAR_OK));
    tell(s, tool_ends(0, UAR_OK));
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd");
    tell(s, decided(1, true, ""));
    tell(s, saved(UAR_OK));
    expect(s, "ToolCallApproved ToolStart invoke:1");
}

static void policy_approves_with_its_reason_and_the_call_runs(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_calls(0, "a", "{}"));
    tell(s, model_ends(UAR_FINISH_TOOL_CALLS));
    outcome o = planned(0, VERDICT_APPROVE);
    o.message = STR("policy");
    tell(s, o);
    tell(s, saved(UAR_OK));
    expect(s, "ToolCallApprovalRequired ToolCallApproved ToolStart invoke:0");
    expect_text(heard(s, UAR_EVENT_TOOL_CALL_APPROVED)->tool_call_approved.reason, "policy");
}

static void policy_denies_with_its_reason_and_the_model_goes_on(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_DENY);
    expect(s, "ToolCallApprovalRequired ToolCallDenied ToolEnd RuntimeStep call_model:1");
    expect_text(heard(s, UAR_EVENT_TOOL_END)->tool_end.code, "UAR_E_TOOL_DENIED");
}

/* ---- stopping ---- */

static void a_cancel_stops_every_call_and_waits_for_it(void **state) {
    steps *s = *state;
    given_calls(s, 3, VERDICT_RUN);
    tell(s, cancelled("enough"));
    expect(s, "stop_tool:0 stop_tool:1");
    tell(s, tool_ends(1, UAR_OK));
    expect(s, "");
    tell(s, tool_ends(0, UAR_E_CANCELLED));
    expect(s, "save:end");
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd ToolEnd ToolEnd Cancelled close");
    expect_text(heard(s, UAR_EVENT_CANCELLED)->cancelled.reason, "enough");
}

static void an_outcome_known_before_the_cancel_stays(void **state) {
    steps *s = *state;
    given_calls(s, 2, VERDICT_RUN);
    tell(s, tool_ends(0, UAR_OK));
    tell(s, cancelled(""));
    tell(s, tool_ends(1, UAR_E_CANCELLED));
    tell(s, saved(UAR_E_FULL));
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd ToolEnd Cancelled close");
    assert_true(heard(s, UAR_EVENT_TOOL_END)->tool_end.ok);
}

static void test_X2_a_second_cancel_changes_nothing(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, cancelled("first"));
    tell(s, cancelled("second"));
    expect(s, "");
    tell(s, (outcome){ .kind = OUTCOME_MODEL_STOPPED });
    expect_stale(s, cancelled("third"));
    expect_stale(s, park);
    tell(s, saved(UAR_OK));
    expect_text(heard(s, UAR_EVENT_CANCELLED)->cancelled.reason, "first");
}

static void a_cancel_while_a_model_is_awaited_ends_the_wait(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_fails(true, 0));
    tell(s, cancelled(""));
    expect(s, "stop_wait");
    tell(s, waited);
    expect(s, "save:end");
}

static void a_cancel_after_the_step_lets_its_calls_end(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_RUN);
    tell(s, (outcome){ .kind = OUTCOME_CANCEL, .after_step = true, .message = STR("later") });
    expect(s, "");
    tell(s, tool_ends(0, UAR_OK));
    tell(s, saved(UAR_OK));
    expect(s, "ToolEnd save:end");
    tell(s, saved(UAR_OK));
    expect(s, "Cancelled close");
    expect_text(heard(s, UAR_EVENT_CANCELLED)->cancelled.reason, "later");
}

static void a_reason_beyond_its_limit_is_cut_at_a_character(void **state) {
    steps *s = *state;
    char reason[6001];
    for (size_t i = 0; i < 6000; i += 3)
        memcpy(reason + i, "\xE2\x82\xAC", 4);
    given_model(s);
    tell(s, cancelled(reason));
    tell(s, (outcome){ .kind = OUTCOME_MODEL_STOPPED });
    tell(s, saved(UAR_OK));
    assert_int_equal(heard(s, UAR_EVENT_CANCELLED)->cancelled.reason.len, 4095);
}

static void a_park_keeps_calls_that_wait_for_a_person(void **state) {
    steps *s = *state;
    given_calls(s, 1, VERDICT_ASK);
    tell(s, park);
    expect(s, "save:park");
    assert_int_equal(s->m.draft.calls[0].state, CALL_ASKING);
    tell(s, saved(UAR_OK));
    expect(s, "close");
}

static void a_park_does_not_come_behind_a_cancel(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, cancelled(""));
    expect_stale(s, park);
    tell(s, (outcome){ .kind = OUTCOME_MODEL_STOPPED });
    expect(s, "save:end");
}

static void calls_that_were_never_stored_never_happened(void **state) {
    steps *s = *state;
    given_model(s);
    tell(s, model_says("Hi"));
    tell(s, model_calls(0, "a", "{"));
    tell(s, cancelled(""));
    tell(s, (outcome){ .kind = OUTCOME_MODEL_STOPPED });
    expect(s, "save:end");
    assert_int_equal(s->m.draft.call_count, 0);
    tell(s, saved(UAR_OK));
    expect(s, "Cancelled close");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STEPS(test_T2_the_last_call_before_the_token_limit_is_not_run),
        STEPS(test_T2_a_call_without_arguments_at_the_token_limit_is_not_run),
        STEPS(calls_are_stored_when_the_last_is_planned),
        STEPS(no_more_calls_run_at_once_than_allowed),
        STEPS(a_call_has_one_outcome),
        STEPS(a_repaired_result_is_reported),
        STEPS(a_failed_call_tells_its_status),
        STEPS(test_E10_a_person_is_asked_once_the_call_is_stored),
        STEPS(test_A5_what_runs_is_the_approved_edit_after_it_was_stored),
        STEPS(a_decision_without_a_reason_has_none),
        STEPS(a_call_is_decided_once),
        STEPS(a_call_is_not_decided_before_it_is_announced),
        STEPS(an_approved_call_is_announced_once_though_more_is_stored),
        STEPS(policy_approves_with_its_reason_and_the_call_runs),
        STEPS(policy_denies_with_its_reason_and_the_model_goes_on),
        STEPS(a_cancel_stops_every_call_and_waits_for_it),
        STEPS(an_outcome_known_before_the_cancel_stays),
        STEPS(test_X2_a_second_cancel_changes_nothing),
        STEPS(a_cancel_while_a_model_is_awaited_ends_the_wait),
        STEPS(a_cancel_after_the_step_lets_its_calls_end),
        STEPS(a_reason_beyond_its_limit_is_cut_at_a_character),
        STEPS(a_park_keeps_calls_that_wait_for_a_person),
        STEPS(a_park_does_not_come_behind_a_cancel),
        STEPS(calls_that_were_never_stored_never_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
