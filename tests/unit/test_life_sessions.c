/* Sessions are deleted with all that hangs below them, and renamed. */
#include "test_life_fixture.h"

#define TOOL_TURN LINE(CALL(0, "c1", "pay", "{}") "," CALLS) HELLO

static void a_deleted_session_is_gone_with_all_that_hung_below_it(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    uar_run_id run = say_in(h, "me", "sess-gone", "one");
    (void)say_in(h, "me", "sess-gone", "two");
    (void)say_in(h, "me", "sess-kept", "three");
    long long kept = count_naming(&p, "sess-kept");
    uint64_t removed = 0;
    assert_int_equal(delete_session(h, "sess-gone", &removed), UAR_OK);
    assert_true(removed >= 4 + 2 + 2 + 2); /* messages, runs, checkpoints, session and lease */
    assert_int_equal(session_status(h, "sess-gone"), UAR_E_NOT_FOUND);
    uar_reply *reply = NULL;
    uar_runtime *rt = host_runtime(h);
    assert_int_equal(uar_message_list_sync(&reply, rt, "local", "me", "sess-gone", 0, 10, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_run_load_sync(&reply, rt, "local", "me", run, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_checkpoint_load_sync(&reply, rt, "local", "me", run, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_session_list_sync(&reply, rt, "local", "me", uar_str_of(NULL), 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 1);
    uar_reply_free(reply);
    assert_int_equal(count_naming(&p, "sess-gone"), 0);
    assert_int_equal(count_naming(&p, "sess-kept"), kept);
    fixture_close(h);
    place_remove(&p);
}

static void another_users_session_of_the_same_id_stays(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    (void)say_in(h, "me", "same", "one");
    (void)say_in(h, "you", "same", "two");
    assert_int_equal(delete_session(h, "same", NULL), UAR_OK);
    uar_reply *reply = NULL;
    assert_int_equal(uar_message_list_sync(&reply, host_runtime(h), "local", "you", "same", 0, 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 2);
    uar_reply_free(reply);
    fixture_close(h);
    place_remove(&p);
}

static void what_is_not_there_cannot_be_deleted(void **state) {
    (void)state;
    host *h = fixture_script(HELLO);
    assert_int_equal(delete_session(h, "nowhere", NULL), UAR_E_NOT_FOUND);
    uar_reply *reply = NULL;
    assert_int_equal(uar_session_delete_sync(&reply, host_runtime(h), "~", "me", "s", NULL), UAR_E_INVALID);
    assert_null(reply);
    fixture_close(h);
}

static void the_id_of_a_deleted_session_can_be_used_anew(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    (void)say_in(h, "me", "again", "old words");
    assert_int_equal(delete_session(h, "again", NULL), UAR_OK);
    (void)say_in(h, "me", "again", "new words");
    uar_reply *reply = fixture_messages(h, "again");
    assert_int_equal(reply->count, 2);
    assert_int_equal(reply->messages[0].number, 1);
    assert_true(uar_str_equal(reply->messages[0].parts[0].text, uar_str_of("new words")));
    uar_reply_free(reply);
    fixture_close(h);
    host *again = place_open(&p, HELLO);
    host_rest(again, 50);
    reply = fixture_messages(again, "again");
    assert_int_equal(reply->count, 2);
    uar_reply_free(reply);
    fixture_close(again);
    place_remove(&p);
}

static void a_session_that_runs_is_busy(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("a") "," HOLD "," STOP));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "busy", .input = "x" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_hears(h, "ChatDelta", 1));
    assert_int_equal(delete_session(h, "busy", NULL), UAR_E_BUSY);
    assert_int_equal(uar_run_cancel(host_runtime(h), id, UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
    uar_outcome out;
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    assert_true(host_hears_closed(h, 1));
    assert_int_equal(delete_session(h, "busy", NULL), UAR_OK);
    fixture_close(h);
}

static void a_session_is_renamed_while_it_runs_and_the_run_keeps_the_name(void **state) {
    (void)state;
    const host_tool tools[] = { { .name = "slow", .way = HOST_NEVER, .result = "1" }, { .name = NULL } };
    host *h =
        fixture_open(&(host_options){ .script = LINE(CALL(0, "c1", "slow", "{}") "," CALLS) HELLO, .tools = tools });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "s", .input = "x" };
    uar_run_id id;
    uar_outcome out;
    uar_reply *reply = NULL;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_sees_invoked(h, "slow", 1));
    for (int i = 0; i < 3; i++) {
        const char *name = i == 2 ? "A trip" : "not yet";
        assert_int_equal(uar_session_rename_sync(&reply, host_runtime(h), "local", "me", "s", name, NULL), UAR_OK);
        assert_true(uar_str_equal(reply->sessions[0].name, uar_str_of(name)));
        uar_reply_free(reply);
    }
    (void)host_finish(h, "slow");
    assert_int_equal(host_await(h, id, &out), UAR_OK);
    assert_int_equal(out.status, UAR_OK);
    assert_int_equal(uar_session_load_sync(&reply, host_runtime(h), "local", "me", "s", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->sessions[0].name, uar_str_of("A trip")));
    assert_int_equal(reply->sessions[0].messages, 4);
    assert_int_equal(reply->sessions[0].last_number, 4);
    uar_reply_free(reply);
    fixture_close(h);
}

static void a_parked_run_goes_with_its_session(void **state) {
    (void)state;
    life_place p = place_make();
    const host_tool tools[] = { { .name = "pay", .tool_class = UAR_TOOL_EFFECT, .approval = UAR_APPROVAL_ASK },
                                { .name = NULL } };
    host_options o = { .script = TOOL_TURN, .tools = tools, .store = p.store };
    host *h = fixture_open(&o);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "parked", .input = "x" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_hears(h, "ToolCallApprovalRequired", 1));
    assert_int_equal(host_close(h, UAR_CLOSE_PARK), UAR_OK);
    assert_int_equal(count_in(&p, "SELECT count(*) FROM record WHERE kind=71"), 1);
    h = fixture_open(&o);
    assert_int_equal(delete_session(h, "parked", NULL), UAR_OK);
    assert_int_equal(count_naming(&p, "parked"), 0);
    assert_int_equal(count_in(&p, "SELECT count(*) FROM record WHERE kind=71"), 0);
    fixture_close(h);
    place_remove(&p);
}

/* Stops storing at the `after`-th commit of a delete, as if the process were killed there. True: the delete got through. */
static bool delete_cut_at(const life_place *p, size_t after) {
    host_layer *layer = host_layer_new(uar_persistence_sqlite(p->store, NULL));
    host *h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(layer) });
    host_rest(h, 20);
    host_layer_fail(layer, COMMIT_OTHER, after, SIZE_MAX, UAR_E_IO);
    host_layer_fail(layer, COMMIT_END, after == 0 ? 0 : 1, SIZE_MAX, UAR_E_IO);
    uar_status status = delete_session(h, "cut", NULL);
    assert_true(status == UAR_OK || status == UAR_E_IO);
    if (after > 0) assert_int_equal(session_status(h, "cut"), UAR_E_NOT_FOUND);
    assert_int_equal(host_close(h, UAR_CLOSE_CANCEL), UAR_OK);
    host_layer_free(layer);
    return status == UAR_OK;
}

/* Waits until no job is left. */
static void wait_for_jobs(const life_place *p, host *h) {
    for (int i = 0; i < 500 && count_in(p, "SELECT count(*) FROM record WHERE kind=55") > 0; i++)
        host_rest(h, 10);
    assert_int_equal(count_in(p, "SELECT count(*) FROM record WHERE kind=55"), 0);
}

static void a_delete_that_was_cut_at_any_commit_is_taken_up_by_the_next_build(void **state) {
    (void)state;
    bool through = false;
    for (size_t after = 0; !through; after++) {
        life_place p = place_make();
        host *h = place_open(&p, HELLO);
        for (int i = 0; i < 40; i++)
            (void)say_in(h, "me", "cut", "words");
        (void)say_in(h, "me", "other", "words");
        fixture_close(h);
        through = delete_cut_at(&p, after);
        h = place_open(&p, HELLO);
        wait_for_jobs(&p, h);
        if (after == 0) assert_int_equal(session_status(h, "cut"), UAR_OK);
        if (after > 0) assert_int_equal(count_naming(&p, "cut"), 0);
        assert_int_equal(session_status(h, "other"), UAR_OK);
        (void)say_in(h, "me", "cut", "new");
        uar_reply *reply = fixture_messages(h, "cut");
        assert_int_equal(reply->count, after == 0 ? 82 : 2);
        uar_reply_free(reply);
        fixture_close(h);
        place_remove(&p);
        assert_true(after < 40);
    }
}

static void deleting_again_goes_on_with_what_was_left(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    (void)say_in(h, "me", "cut", "words");
    fixture_close(h);
    host_layer *layer = host_layer_new(uar_persistence_sqlite(p.store, NULL));
    h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(layer) });
    host_rest(h, 20);
    host_layer_fail(layer, COMMIT_OTHER, 1, 1, UAR_E_FULL);
    assert_int_equal(delete_session(h, "cut", NULL), UAR_E_FULL);
    assert_int_equal(session_status(h, "cut"), UAR_E_NOT_FOUND);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "cut", .input = "x" };
    uar_outcome out;
    uar_run_id id;
    (void)host_run(h, &q, &id, &out);
    assert_int_equal(out.status, UAR_E_BUSY);
    assert_int_equal(delete_session(h, "cut", NULL), UAR_OK);
    assert_int_equal(count_naming(&p, "cut"), 0);
    fixture_close(h);
    host_layer_free(layer);
    place_remove(&p);
}

static void a_session_is_renamed_and_its_next_turn_keeps_the_name(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    (void)say_in(h, "me", "s", "one");
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    assert_int_equal(uar_session_rename_sync(&reply, rt, "local", "me", "s", "A trip to Oslo", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->sessions[0].name, uar_str_of("A trip to Oslo")));
    int64_t created = reply->sessions[0].created_ms;
    uar_reply_free(reply);
    (void)say_in(h, "me", "s", "two");
    assert_int_equal(uar_session_load_sync(&reply, rt, "local", "me", "s", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->sessions[0].name, uar_str_of("A trip to Oslo")));
    assert_int_equal(reply->sessions[0].messages, 4);
    assert_int_equal(reply->sessions[0].created_ms, created);
    uar_reply_free(reply);
    assert_int_equal(uar_session_rename_sync(&reply, rt, "local", "me", "s", NULL, NULL), UAR_OK);
    assert_null(reply->sessions[0].name.ptr);
    uar_reply_free(reply);
    reply = NULL;
    assert_int_equal(uar_session_rename_sync(&reply, rt, "local", "me", "s", "", NULL), UAR_E_INVALID);
    assert_int_equal(uar_session_rename_sync(&reply, rt, "local", "me", "none", "x", NULL), UAR_E_NOT_FOUND);
    assert_null(reply);
    fixture_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_deleted_session_is_gone_with_all_that_hung_below_it),
        fixture_test(another_users_session_of_the_same_id_stays),
        fixture_test(what_is_not_there_cannot_be_deleted),
        fixture_test(the_id_of_a_deleted_session_can_be_used_anew),
        fixture_test(a_session_that_runs_is_busy),
        fixture_test(a_session_is_renamed_while_it_runs_and_the_run_keeps_the_name),
        fixture_test(a_parked_run_goes_with_its_session),
        fixture_test(a_delete_that_was_cut_at_any_commit_is_taken_up_by_the_next_build),
        fixture_test(deleting_again_goes_on_with_what_was_left),
        fixture_test(a_session_is_renamed_and_its_next_turn_keeps_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
