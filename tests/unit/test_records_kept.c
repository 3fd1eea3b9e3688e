/* Session policies, memory blocks, costs: kept by whom they belong to, at the revision that was expected; and what a turn adds. */
#include "base/str.h"
#include "support/spy_layer.h"
#include "unit/test_run_fixture.h"

static spy_layer spy;

static host *open_spied(const char *script) {
    spy_init(&spy);
    return fixture_open(&(host_options){ .script = script, .layer = &spy.door, .threading = UAR_THREADS_MANUAL });
}

static void close_spied(host *h) {
    fixture_close(h);
    spy_dispose(&spy);
}

#define NO_STR uar_str_of(NULL)

/* ---- session policies ---- */

static void a_policy_comes_back_with_all_it_says(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    const uar_str tools[] = { STR("clock"), STR("weather") };
    uar_session_policy p = { .memory = UAR_OFF,
                             .approvals = UAR_POLICY_DENY,
                             .max_steps = 4,
                             .model = STR("m"),
                             .tools = tools,
                             .tool_count = 2 };
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "s", &p, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_session_policy_load_sync(&reply, rt, "local", "me", "s", NULL), UAR_OK);
    const uar_session_policy *got = &reply->policies[0];
    assert_true(uar_str_equal(got->owner, STR("local")) && uar_str_equal(got->user, STR("me")));
    assert_true(uar_str_equal(got->session, STR("s")) && uar_str_equal(got->model, STR("m")));
    assert_true(got->memory == UAR_OFF && got->approvals == UAR_POLICY_DENY && got->max_steps == 4);
    assert_int_equal(got->tool_count, 2);
    assert_true(uar_str_equal(got->tools[1], STR("weather")));
    assert_int_equal(got->revision, 1);
    uar_reply_free(reply);
    close_spied(h);
}

static void a_policy_that_allows_no_tool_is_not_one_that_says_nothing(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    const uar_str none = NO_STR;
    uar_session_policy p = { .tools = &none, .revision = UAR_ANY_REVISION };
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "s", &p, NULL), UAR_OK);
    assert_non_null(reply->policies[0].tools);
    assert_int_equal(reply->policies[0].tool_count, 0);
    uar_reply_free(reply);
    p.tools = NULL;
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "s", &p, NULL), UAR_OK);
    assert_null(reply->policies[0].tools);
    assert_int_equal(reply->policies[0].revision, 2);
    uar_reply_free(reply);
    p.approvals = (uar_policy_approvals)9;
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "s", &p, NULL), UAR_E_INVALID);
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "s", NULL, NULL), UAR_E_INVALID);
    close_spied(h);
}

static void policies_belong_to_one_users_session(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_session_policy p = { .max_steps = 1 };
    static const char *const names[] = { "a", "b", "c" };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", names[i], &p, NULL), UAR_OK);
        uar_reply_free(reply);
    }
    assert_int_equal(uar_session_policy_load_sync(&reply, rt, "local", "you", "a", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_session_policy_load_sync(&reply, rt, "other", "me", "a", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_session_policy_delete_sync(&reply, rt, "local", "you", "a", UAR_ANY_REVISION, NULL),
                     UAR_E_NOT_FOUND);
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "a", &p, NULL), UAR_E_CONFLICT);
    assert_int_equal(uar_session_policy_list_sync(&reply, rt, "local", "me", NO_STR, 2, NULL), UAR_OK);
    assert_int_equal(reply->count, 2);
    uar_reply *rest = NULL;
    assert_int_equal(uar_session_policy_list_sync(&rest, rt, "local", "me", reply->cursor, 2, NULL), UAR_OK);
    assert_int_equal(rest->count, 1);
    assert_true(uar_str_equal(rest->policies[0].session, STR("c")));
    uar_reply_free(rest);
    uar_reply_free(reply);
    assert_int_equal(uar_session_policy_delete_sync(&reply, rt, "local", "me", "a", 1, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_session_policy_load_sync(&reply, rt, "local", "me", "a", NULL), UAR_E_NOT_FOUND);
    close_spied(h);
}

/* ---- memory blocks ---- */

static const uar_block_place agent_place = { UAR_BLOCK_PLACE_INIT, .scope = UAR_BLOCK_AGENT, .agent = "helper" };
static const uar_block_place user_place = { UAR_BLOCK_PLACE_INIT, .scope = UAR_BLOCK_USER, .user = "me" };
static const uar_block_place session_place = { UAR_BLOCK_PLACE_INIT, .scope = UAR_BLOCK_SESSION, .user = "me",
                                               .session = "s" };

static uar_status put_block(host *h, const uar_block_place *place, const char *label, const char *text, uint32_t limit,
                            uint64_t revision) {
    uar_reply *reply = NULL;
    uar_block b = { .label = uar_str_of(label), .text = uar_str_of(text), .limit = limit, .revision = revision };
    uar_status status = uar_block_put_sync(&reply, host_runtime(h), "local", place, &b, NULL);
    if (status == UAR_OK) uar_reply_free(reply);
    return status;
}

static void a_block_is_kept_where_it_belongs(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    const uar_block_place *places[] = { &agent_place, &user_place, &session_place };
    static const char *const texts[] = { "of the agent", "of the user", "of the session" };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(put_block(h, places[i], "notes", texts[i], 100, 0), UAR_OK);
    for (size_t i = 0; i < 3; i++) {
        uar_reply *reply = NULL;
        assert_int_equal(uar_block_load_sync(&reply, host_runtime(h), "local", places[i], "notes", NULL), UAR_OK);
        assert_true(uar_str_equal(reply->blocks[0].text, uar_str_of(texts[i])));
        assert_int_equal(reply->blocks[0].scope, places[i]->scope);
        assert_int_equal(reply->blocks[0].limit, 100);
        uar_reply_free(reply);
        assert_int_equal(uar_block_list_sync(&reply, host_runtime(h), "local", places[i], NO_STR, 10, NULL), UAR_OK);
        assert_int_equal(reply->count, 1);
        uar_reply_free(reply);
    }
    close_spied(h);
}

static void a_limit_counts_characters(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    assert_int_equal(put_block(h, &user_place, "n", "\xc3\xa5\xe2\x82\xac\xf0\x9f\x98\x80", 3, 0), UAR_OK);
    assert_int_equal(put_block(h, &user_place, "n", "abcd", 3, UAR_ANY_REVISION), UAR_E_TOO_LARGE);
    assert_int_equal(put_block(h, &user_place, "n", "", 0, UAR_ANY_REVISION), UAR_E_INVALID);
    assert_int_equal(put_block(h, &user_place, "n", "\xff", 3, UAR_ANY_REVISION), UAR_E_UTF8);
    close_spied(h);
}

static void a_block_is_put_and_deleted_at_the_expected_revision_only(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    assert_int_equal(put_block(h, &user_place, "n", "a", 9, 3), UAR_E_CONFLICT);
    assert_int_equal(put_block(h, &user_place, "n", "a", 9, 0), UAR_OK);
    assert_int_equal(put_block(h, &user_place, "n", "b", 9, 0), UAR_E_CONFLICT);
    assert_int_equal(put_block(h, &user_place, "n", "b", 9, 1), UAR_OK);
    assert_int_equal(put_block(h, &user_place, "n", "c", 9, UAR_ANY_REVISION), UAR_OK);
    assert_int_equal(uar_block_delete_sync(&reply, rt, "local", &user_place, "n", 2, NULL), UAR_E_CONFLICT);
    assert_int_equal(uar_block_delete_sync(&reply, rt, "local", &user_place, "n", 3, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_block_load_sync(&reply, rt, "local", &user_place, "n", NULL), UAR_E_NOT_FOUND);
    close_spied(h);
}

static void blocks_of_others_are_not_found(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    const uar_block_place yours = { UAR_BLOCK_PLACE_INIT, .scope = UAR_BLOCK_USER, .user = "you" };
    const uar_block_place tricky = { UAR_BLOCK_PLACE_INIT, .scope = UAR_BLOCK_AGENT, .agent = "user:me" };
    assert_int_equal(put_block(h, &user_place, "n", "a", 9, 0), UAR_OK);
    assert_int_equal(uar_block_load_sync(&reply, rt, "local", &yours, "n", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_block_load_sync(&reply, rt, "other", &user_place, "n", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_block_load_sync(&reply, rt, "local", &session_place, "n", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_block_load_sync(&reply, rt, "local", &tricky, "n", NULL), UAR_E_NOT_FOUND);
    close_spied(h);
}

static void a_wrong_place_is_refused(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_block_place p = { UAR_BLOCK_PLACE_INIT, .scope = (uar_block_scope)3, .user = "me" };
    assert_int_equal(put_block(h, &p, "n", "a", 9, 0), UAR_E_INVALID);
    assert_int_equal(put_block(h, NULL, "n", "a", 9, 0), UAR_E_INVALID);
    p.scope = UAR_BLOCK_SESSION;
    assert_int_equal(put_block(h, &p, "n", "a", 9, 0), UAR_E_INVALID);
    p.size = 1;
    assert_int_equal(put_block(h, &p, "n", "a", 9, 0), UAR_E_STRUCT);
    assert_int_equal(put_block(h, &user_place, "", "a", 9, 0), UAR_E_INVALID);
    close_spied(h);
}

/* ---- costs ---- */

#define PAID LINE(TEXT("Hi") "," USED(10, 7) "," STOP)
#define PAID_CALL LINE(CALL(0, "c1", "echo", "{}") "," USED(100, 20) "," CALLS)

static uar_reply *costs(host *h, const char *user, const char *session) {
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_cost_list_sync(&reply, host_runtime(h), "local", user, session, NO_STR, 1000, &err) != UAR_OK)
        fail_msg("%s", err.message);
    return reply;
}

static uar_usage used(host *h, const char *owner, uint64_t *calls) {
    uar_reply *reply = NULL;
    assert_int_equal(uar_usage_load_sync(&reply, host_runtime(h), owner, NULL), UAR_OK);
    uar_usage usage = reply->usage;
    *calls = reply->number;
    uar_reply_free(reply);
    return usage;
}

static void each_model_call_is_one_entry_with_its_tokens(void **state) {
    (void)state;
    static const host_tool tools[] = { { .name = "echo", .result = "1" }, { .name = NULL } };
    spy_init(&spy);
    host *h = fixture_open(&(host_options){
        .script = PAID_CALL PAID, .tools = tools, .layer = &spy.door, .threading = UAR_THREADS_MANUAL });
    assert_int_equal(host_say(h, "hello", NULL), UAR_OK);
    uar_reply *reply = costs(h, "me", "default");
    assert_int_equal(reply->count, 2);
    const uar_cost *one = &reply->costs[0], *two = &reply->costs[1];
    assert_true(one->step == 1 && one->usage.input == 100 && one->usage.output == 20 && one->usage.known);
    assert_true(two->step == 2 && two->usage.input == 10 && two->usage.output == 7 && two->usage.known);
    assert_true(uar_uuid_equal(one->run, two->run) && one->attempts == 1 && one->created_ms > 0);
    assert_true(uar_str_equal(one->agent, STR("assistant")) && one->model.len > 0);
    uar_reply_free(reply);
    uint64_t calls = 0;
    uar_usage sum = used(h, "local", &calls);
    assert_true(calls == 2 && sum.input == 110 && sum.output == 27 && sum.known);
    close_spied(h);
}

static void tokens_of_a_try_that_failed_count_with_the_call(void **state) {
    (void)state;
    host *h = open_spied(LINE(USED(5, 1) "," FAIL_AGAIN) PAID);
    assert_int_equal(host_say(h, "hello", NULL), UAR_OK);
    uar_reply *reply = costs(h, NULL, NULL);
    assert_int_equal(reply->count, 1);
    assert_true(reply->costs[0].attempts == 2 && reply->costs[0].usage.input == 15 &&
                reply->costs[0].usage.output == 8);
    uar_reply_free(reply);
    close_spied(h);
}

static void what_was_not_reported_is_unknown_and_not_nothing(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    assert_int_equal(host_say(h, "hello", NULL), UAR_OK);
    uar_reply *reply = costs(h, NULL, NULL);
    assert_int_equal(reply->count, 1);
    assert_false(reply->costs[0].usage.known);
    uar_reply_free(reply);
    uint64_t calls = 0;
    assert_false(used(h, "local", &calls).known);
    assert_true(calls == 1);
    close_spied(h);
}

static void costs_belong_to_their_owner_and_session(void **state) {
    (void)state;
    host *h = open_spied(PAID PAID PAID);
    uar_outcome out;
    static const uar_run_request runs[] = {
        { UAR_RUN_REQUEST_INIT, .session = "a", .input = "x" },
        { UAR_RUN_REQUEST_INIT, .session = "b", .input = "x" },
        { UAR_RUN_REQUEST_INIT, .owner = "other", .session = "a", .input = "x" },
    };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(host_run(h, &runs[i], NULL, &out), UAR_OK);
    static const struct {
        const char *user, *session;
        size_t count;
    } cases[] = { { "me", "a", 1 }, { "me", "b", 1 }, { "me", "c", 0 }, { "you", "a", 0 }, { NULL, NULL, 2 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uar_reply *reply = costs(h, cases[i].user, cases[i].session);
        assert_int_equal(reply->count, cases[i].count);
        uar_reply_free(reply);
    }
    uint64_t calls = 0;
    assert_true(used(h, "other", &calls).input == 10 && calls == 1);
    assert_true(used(h, "nobody", &calls).input == 0 && calls == 0);
    uar_reply *reply = NULL;
    assert_int_equal(uar_cost_list_sync(&reply, host_runtime(h), "local", "me", NULL, NO_STR, 1, NULL), UAR_E_INVALID);
    close_spied(h);
}

/* Entry and counter are in one commit with the step: whatever commit fails, done or not, the sum is that of the entries. */
static void the_counter_is_the_sum_of_the_entries_whatever_fails(void **state) {
    (void)state;
    for (size_t at = 1; at <= 8; at++)
        for (int after = 0; after < 2; after++) {
            host *h = open_spied(PAID PAID PAID PAID);
            spy.fail_at = at;
            spy.fail_after = after == 1;
            spy.fail_status = UAR_E_IO;
            for (int run = 0; run < 3; run++)
                (void)host_say(h, "hello", NULL);
            uar_reply *reply = costs(h, NULL, NULL);
            uint64_t calls = 0, input = 0;
            for (size_t i = 0; i < reply->count; i++)
                input += reply->costs[i].usage.input;
            uar_usage sum = used(h, "local", &calls);
            assert_true(calls == reply->count && sum.input == input);
            uar_reply_free(reply);
            close_spied(h);
        }
}

static void the_librarys_own_counters_are_not_the_hosts_to_change(void **state) {
    (void)state;
    host *h = open_spied(PAID);
    uar_reply *reply = NULL;
    assert_int_equal(uar_counter_add_sync(&reply, host_runtime(h), "local", "~usage", 1, NULL), UAR_E_INVALID);
    assert_int_equal(host_say(h, "hello", NULL), UAR_OK);
    assert_int_equal(uar_counter_load_sync(&reply, host_runtime(h), "local", "~usage", NULL), UAR_OK);
    assert_true(reply->number == 1);
    uar_reply_free(reply);
    close_spied(h);
}

/* ---- growth ---- */

/* R11: what a turn writes doesn't grow with the turns before it. The machine's document and the messages are of one size. */
static void test_R11_a_thousand_turns_write_a_thousand_times_what_one_writes(void **state) {
    (void)state;
    enum { TURNS = 1000 };
    spy_init(&spy);
    host *h = fixture_open(&(host_options){
        .script = PAID, .repeats = true, .layer = &spy.door, .threading = UAR_THREADS_MANUAL, .quiet = true });
    uint64_t early = 0, late = 0;
    for (int turn = 1; turn <= TURNS; turn++) {
        uint64_t before = spy.bytes;
        assert_int_equal(host_say(h, "What is the time in Oslo?", NULL), UAR_OK);
        if (turn > 10 && turn <= 20) early += spy.bytes - before;
        if (turn > TURNS - 10) late += spy.bytes - before;
    }
    print_message("# bytes written by 10 turns: %llu early, %llu late\n", (unsigned long long)early,
                  (unsigned long long)late);
    assert_true(early > 0);
    assert_true(late < early + early / 10); /* numbers get longer */
    assert_int_equal(spy_count(&spy, UAR_RECORD_SESSION, "local"), 1);
    assert_int_equal(spy_count(&spy, UAR_RECORD_COUNTER, "local"), 1);
    close_spied(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_policy_comes_back_with_all_it_says),
        fixture_test(a_policy_that_allows_no_tool_is_not_one_that_says_nothing),
        fixture_test(policies_belong_to_one_users_session),
        fixture_test(a_block_is_kept_where_it_belongs),
        fixture_test(a_limit_counts_characters),
        fixture_test(a_block_is_put_and_deleted_at_the_expected_revision_only),
        fixture_test(blocks_of_others_are_not_found),
        fixture_test(a_wrong_place_is_refused),
        fixture_test(each_model_call_is_one_entry_with_its_tokens),
        fixture_test(tokens_of_a_try_that_failed_count_with_the_call),
        fixture_test(what_was_not_reported_is_unknown_and_not_nothing),
        fixture_test(costs_belong_to_their_owner_and_session),
        fixture_test(the_counter_is_the_sum_of_the_entries_whatever_fails),
        fixture_test(the_librarys_own_counters_are_not_the_hosts_to_change),
        fixture_test(test_R11_a_thousand_turns_write_a_thousand_times_what_one_writes),
    };
    return cmocka_run_group_tests_name("policies, memory blocks, costs", tests, NULL, NULL);
}
