/*
 * kill -9 of the program at random instants: nothing that it acknowledged is lost.
 *
 * A kill leaves the page cache whole, so it says nothing about power cuts. What it can show is an acknowledgement that came
 * before its commit; that it does show it, the control proves: the same program, linked to acknowledge first, must lose some.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli_cases.h"

/* Cases of `chat` mostly wait for a heartbeat that doesn't come. */
enum { CHAT_AT_ONCE = 12, ADD_AT_ONCE = 3 };

static cli_plan chat_plan, memory_plan;

static unsigned points(void) {
    return cases_are_full() ? 200 : 20;
}

static int measure(void **state) {
    (void)state;
    case_result r = { .acked = 0 };
    bool done = chat_measure(&chat_plan, &r) && memory_measure(&memory_plan, &r);
    if (r.fault[0] != '\0') printf("# %s\n", r.fault);
    printf("# chat: %ld points, %ld inside; memory add: %ld points, %ld inside, the first one %ld and %ld\n",
           chat_plan.fresh.points.all, chat_plan.fresh.points.inside, memory_plan.further.points.all,
           memory_plan.further.points.inside, memory_plan.fresh.points.all, memory_plan.fresh.points.inside);
    return done ? 0 : -1;
}

/* Safe: no loss, no fault, and nearly all of the kills came in time. */
static void expect_nothing_lost(const case_suite *suite) {
    case_sum sum;
    if (!cases_run(&sum, suite, true)) skip();
    if (sum.open > 0) printf("# %s: %u acknowledged turns were killed before their capture\n", suite->name, sum.open);
    assert_int_equal(sum.lost, 0);
    assert_int_equal(sum.faults, 0);
    if (sum.cases < suite->count) return; /* one case alone */
    assert_true(sum.killed >= suite->count * 7 / 10);
    assert_true(sum.inside >= suite->count * 4 / 10);
    assert_true(sum.acked > suite->count);
}

static void expect_some_lost(const case_suite *suite) {
    case_sum sum;
    if (!cases_run(&sum, suite, false)) skip();
    assert_int_equal(sum.faults, 0);
    if (sum.cases < suite->count) return;
    assert_true(sum.killed > 0);
    if (sum.lost == 0) fail_msg("no acknowledgement was lost: this harness wouldn't see it");
}

static void test_R1_no_acknowledged_turn_of_a_killed_chat_is_lost(void **state) {
    (void)state;
    const case_suite suite = {
        .name = "chat", .run = chat_case, .arg = &chat_plan, .count = points(), .at_once = CHAT_AT_ONCE
    };
    expect_nothing_lost(&suite);
}

static void test_M14_no_acknowledged_record_of_a_killed_addition_is_lost(void **state) {
    (void)state;
    const case_suite suite = {
        .name = "add", .run = memory_case, .arg = &memory_plan, .count = points(), .at_once = ADD_AT_ONCE
    };
    expect_nothing_lost(&suite);
}

static void a_chat_that_acknowledges_before_its_commit_is_caught(void **state) {
    (void)state;
    cli_plan plan = chat_plan;
    plan.is_control = true;
    const case_suite suite = {
        .name = "chat_control", .run = chat_case, .arg = &plan, .count = 20, .at_once = ADD_AT_ONCE
    };
    expect_some_lost(&suite);
}

static void an_addition_that_acknowledges_before_its_commit_is_caught(void **state) {
    (void)state;
    cli_plan plan = memory_plan;
    plan.is_control = true;
    const case_suite suite = {
        .name = "add_control", .run = memory_case, .arg = &plan, .count = 20, .at_once = ADD_AT_ONCE
    };
    expect_some_lost(&suite);
}

/* So it is the kill that loses, not the way the control is made. */
static void the_controls_lose_nothing_when_nobody_is_killed(void **state) {
    (void)state;
    cli_plan plans[2] = { chat_plan, memory_plan };
    plans[0].is_control = plans[0].no_kill = plans[1].is_control = plans[1].no_kill = true;
    const case_suite suites[2] = {
        { .name = "chat_unharmed", .run = chat_case, .arg = &plans[0], .count = 2, .at_once = ADD_AT_ONCE },
        { .name = "add_unharmed", .run = memory_case, .arg = &plans[1], .count = 2, .at_once = ADD_AT_ONCE }
    };
    for (size_t i = 0; i < 2; i++) {
        case_sum sum;
        if (!cases_run(&sum, &suites[i], true)) continue;
        assert_int_equal(sum.lost + sum.faults + sum.killed, 0);
        assert_true(sum.acked > 0);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_R1_no_acknowledged_turn_of_a_killed_chat_is_lost),
        cmocka_unit_test(test_M14_no_acknowledged_record_of_a_killed_addition_is_lost),
        cmocka_unit_test(a_chat_that_acknowledges_before_its_commit_is_caught),
        cmocka_unit_test(an_addition_that_acknowledges_before_its_commit_is_caught),
        cmocka_unit_test(the_controls_lose_nothing_when_nobody_is_killed),
    };
    cases_begin(argv[0]);
    return cmocka_run_group_tests(tests, measure, NULL);
}
