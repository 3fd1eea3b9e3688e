/* What a runtime keeps: the records API in both forms, busy sessions, processes that were killed. */
#include "unit/test_run_fixture.h"

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define ONE_CALL LINE(CALL(0, "c1", "now", "{}") "," CALLS)

static const host_tool TOOLS[] = { { .name = "now", .way = HOST_ANSWERS, .result = "\"noon\"" },
                                   { .name = "slow", .way = HOST_NEVER, .result = "1" },
                                   { .name = NULL } };

static host *open_store(const char *script, const char *path) {
    return fixture_open(&(host_options){ .script = script, .tools = TOOLS, .store = path });
}

static const char *store_path(const char *folder) {
    static char path[300];
    snprintf(path, sizeof path, "%s/state.db", folder);
    return path;
}

/* ---- the plain form ---- */

typedef struct answer {
    mutex lock;
    condition changed;
    uar_reply *reply;
    int calls;
} answer;

static void answer_init(answer *a) {
    memset(a, 0, sizeof *a);
    assert_int_equal(mutex_init(&a->lock), UAR_OK);
    assert_int_equal(condition_init(&a->changed), UAR_OK);
}

static void answer_dispose(answer *a) {
    condition_dispose(&a->changed);
    mutex_dispose(&a->lock);
}

static void take_answer(void *ctx, uar_reply *reply) {
    answer *a = ctx;
    mutex_lock(&a->lock);
    a->reply = reply;
    a->calls++;
    condition_broadcast(&a->changed);
    mutex_unlock(&a->lock);
}

/* The reply of the plain call that was begun with this answer. */
static uar_reply *await_answer(host *h, answer *a) {
    for (int i = 0; i < 2000; i++) {
        (void)uar_runtime_pump(host_runtime(h), 1);
        mutex_lock(&a->lock);
        if (a->calls == 0) (void)condition_wait(&a->changed, &a->lock, 5);
        bool done = a->calls > 0;
        mutex_unlock(&a->lock);
        if (done) break;
    }
    assert_int_equal(a->calls, 1);
    uar_reply *reply = a->reply;
    a->reply = NULL;
    a->calls = 0;
    return reply;
}

static void expect_same_reply(uar_reply *one, uar_reply *other) {
    assert_int_equal(one->status, UAR_OK);
    assert_int_equal(other->status, UAR_OK);
    assert_int_equal(one->count, other->count);
    assert_int_equal(one->number, other->number);
    assert_true(uar_str_equal(one->cursor, other->cursor));
    assert_true(uar_str_equal(one->document, other->document));
    for (size_t i = 0; one->sessions != NULL && i < one->count; i++)
        assert_true(uar_str_equal(one->sessions[i].session, other->sessions[i].session));
    for (size_t i = 0; one->messages != NULL && i < one->count; i++)
        assert_true(uar_uuid_equal(one->messages[i].id, other->messages[i].id));
    for (size_t i = 0; one->runs != NULL && i < one->count; i++)
        assert_true(uar_uuid_equal(one->runs[i].run, other->runs[i].run));
    for (size_t i = 0; one->agents != NULL && i < one->count; i++)
        assert_true(uar_str_equal(one->agents[i].instructions, other->agents[i].instructions));
    for (size_t i = 0; one->settings != NULL && i < one->count; i++)
        assert_true(uar_str_equal(one->settings[i].value, other->settings[i].value));
    uar_reply_free(one);
    uar_reply_free(other);
}

/* Calls both forms and compares what they answer. `call` has a hole for what differs. */
#define BOTH_FORMS(h, name, ...)                                                              \
    do {                                                                                      \
        answer a_;                                                                            \
        uar_reply *sync_ = NULL;                                                              \
        answer_init(&a_);                                                                     \
        assert_int_equal(name(host_runtime(h), __VA_ARGS__, take_answer, &a_, NULL), UAR_OK); \
        uar_reply *plain_ = await_answer(h, &a_);                                             \
        assert_int_equal(name##_sync(&sync_, host_runtime(h), __VA_ARGS__, NULL), UAR_OK);    \
        expect_same_reply(plain_, sync_);                                                     \
        answer_dispose(&a_);                                                                  \
    } while (0)

static void every_record_reads_the_same_in_both_forms(void **state) {
    (void)state;
    static const uar_threading threading[] = { UAR_THREADS_POOL, UAR_THREADS_MANUAL };
    for (size_t i = 0; i < 2; i++) {
        host *h =
            fixture_open(&(host_options){ .script = ONE_CALL HELLO HELLO, .tools = TOOLS, .threading = threading[i] });
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
        uar_run_id id;
        assert_int_equal(host_run(h, &q, &id, NULL), UAR_OK);
        uar_str start = uar_str_of(NULL);
        uar_agent agent = { .id = uar_str_of("helper"), .instructions = uar_str_of("Help."), .revision = UINT64_MAX };
        BOTH_FORMS(h, uar_session_load, "local", "me", "default");
        BOTH_FORMS(h, uar_session_list, "local", "me", start, 10);
        BOTH_FORMS(h, uar_message_list, "local", "me", "default", 0, 10);
        BOTH_FORMS(h, uar_run_load, "local", "me", id);
        BOTH_FORMS(h, uar_run_list, "local", "me", start, 10);
        BOTH_FORMS(h, uar_checkpoint_load, "local", "me", id);
        BOTH_FORMS(h, uar_agent_put, "local", &agent);
        BOTH_FORMS(h, uar_agent_load, "local", "helper");
        BOTH_FORMS(h, uar_agent_list, "local", start, 10);
        BOTH_FORMS(h, uar_setting_put, "local", "a.b", uar_str_of("{\"x\":1}"));
        BOTH_FORMS(h, uar_setting_get, "local", "a.b");
        BOTH_FORMS(h, uar_setting_list, "local", start, 10);
        BOTH_FORMS(h, uar_counter_add, "local", "spent", 7);
        BOTH_FORMS(h, uar_counter_load, "local", "spent");
        fixture_close(h);
    }
}

static void what_is_not_there_is_not_found_in_both_forms(void **state) {
    (void)state;
    host *h = open_store(HELLO, NULL);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_run_id none = { { 1 } };
    assert_int_equal(uar_session_load_sync(&reply, rt, "local", "me", "x", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_message_list_sync(&reply, rt, "local", "me", "x", 0, 10, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_run_load_sync(&reply, rt, "local", "me", none, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_checkpoint_load_sync(&reply, rt, "local", "me", none, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_agent_load_sync(&reply, rt, "local", "x", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_setting_get_sync(&reply, rt, "local", "x", NULL), UAR_E_NOT_FOUND);
    assert_null(reply);
    answer a;
    answer_init(&a);
    assert_int_equal(uar_session_load(rt, "local", "me", "x", take_answer, &a, NULL), UAR_OK);
    reply = await_answer(h, &a);
    assert_int_equal(reply->status, UAR_E_NOT_FOUND);
    assert_int_equal(reply->error.code, UAR_E_NOT_FOUND);
    assert_int_equal(reply->count, 0);
    uar_reply_free(reply);
    answer_dispose(&a);
    reply = NULL;
    assert_int_equal(uar_counter_load_sync(&reply, rt, "local", "x", NULL), UAR_OK); /* nothing was added: zero */
    assert_int_equal(reply->number, 0);
    uar_reply_free(reply);
    fixture_close(h);
}

static void a_wrong_argument_is_refused_before_anything_is_begun(void **state) {
    (void)state;
    host *h = open_store(HELLO, NULL);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    answer a;
    answer_init(&a);
    assert_int_equal(uar_session_load_sync(&reply, rt, "", "me", "x", &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "owner"));
    assert_int_equal(uar_session_load_sync(&reply, rt, "~", "me", "x", &err), UAR_E_INVALID);
    assert_int_equal(uar_session_load_sync(&reply, rt, "local", NULL, "x", &err), UAR_E_INVALID);
    assert_int_equal(uar_session_load_sync(NULL, rt, "local", "me", "x", &err), UAR_E_INVALID);
    assert_int_equal(uar_session_load_sync(&reply, NULL, "local", "me", "x", &err), UAR_E_INVALID);
    assert_int_equal(uar_session_load(rt, "local", "me", "x", NULL, NULL, &err), UAR_E_INVALID);
    assert_int_equal(uar_message_list(rt, "local", "me", "x", 0, 0, take_answer, &a, &err), UAR_E_INVALID);
    assert_int_equal(uar_message_list(rt, "local", "me", "x", 0, 1001, take_answer, &a, &err), UAR_E_INVALID);
    assert_int_equal(uar_message_list(rt, "local", "me", "x", UINT64_MAX, 10, take_answer, &a, &err), UAR_E_INVALID);
    assert_int_equal(uar_agent_put_sync(&reply, rt, "local", NULL, &err), UAR_E_INVALID);
    assert_int_equal(uar_agent_put_sync(&reply, rt, "local", &(uar_agent){ .id = { NULL, 0 } }, &err), UAR_E_INVALID);
    assert_int_equal(uar_setting_put_sync(&reply, rt, "local", "k", uar_str_of("{oops"), &err), UAR_E_JSON);
    assert_int_equal(uar_setting_put_sync(&reply, rt, "local", "", uar_str_of("1"), &err), UAR_E_INVALID);
    assert_int_equal(uar_counter_add_sync(&reply, rt, "local", "", 1, &err), UAR_E_INVALID);
    assert_null(reply);
    host_rest(h, 20);
    assert_int_equal(a.calls, 0);
    answer_dispose(&a);
    uar_reply_free(NULL);
    fixture_close(h);
}

/* ---- sessions, messages, runs ---- */

static void sessions_belong_to_one_owner_and_one_user(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    static const char *const who[][3] = {
        { "local", "me", "a" }, { "local", "you", "a" }, { "other", "me", "a" }, { "local", "me", "b" }
    };
    uar_run_id ids[4];
    for (size_t i = 0; i < 4; i++) {
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .owner = who[i][0], .user = who[i][1],
                              .session = who[i][2] };
        assert_int_equal(host_run(h, &q, &ids[i], NULL), UAR_OK);
    }
    uar_reply *reply = NULL;
    assert_int_equal(uar_session_list_sync(&reply, host_runtime(h), "local", "me", uar_str_of(NULL), 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 2);
    assert_true(uar_str_equal(reply->sessions[0].session, uar_str_of("a")));
    assert_int_equal(reply->sessions[0].messages, 2);
    assert_int_equal(reply->sessions[0].last_number, 2);
    assert_true(reply->sessions[0].created_ms > 0);
    uar_reply_free(reply);
    assert_int_equal(uar_run_list_sync(&reply, host_runtime(h), "local", "you", uar_str_of(NULL), 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 1);
    assert_true(uar_uuid_equal(reply->runs[0].run, ids[1]));
    uar_reply_free(reply);
    assert_int_equal(uar_run_load_sync(&reply, host_runtime(h), "local", "you", ids[0], NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_run_load_sync(&reply, host_runtime(h), "other", "me", ids[0], NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_checkpoint_load_sync(&reply, host_runtime(h), "local", "you", ids[0], NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_message_list_sync(&reply, host_runtime(h), "other", "me", "b", 0, 10, NULL), UAR_E_NOT_FOUND);
    fixture_close(h);
}

static void pages_follow_each_other_without_gap_or_repeat(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    for (int i = 0; i < 5; i++)
        assert_int_equal(host_say(h, "go", NULL), UAR_OK);
    uint64_t after = 0;
    for (size_t want = 4; want > 0 && after < 10;) {
        uar_reply *reply = NULL;
        assert_int_equal(uar_message_list_sync(&reply, host_runtime(h), "local", "me", "default", after, want, NULL),
                         UAR_OK);
        for (size_t i = 0; i < reply->count; i++)
            assert_int_equal(reply->messages[i].number, ++after);
        uar_reply_free(reply);
    }
    char cursor[500] = "";
    size_t runs = 0, pages = 0;
    do {
        uar_reply *reply = NULL;
        assert_int_equal(uar_run_list_sync(&reply, host_runtime(h), "local", "me", uar_str_of(cursor), 2, NULL),
                         UAR_OK);
        runs += reply->count;
        pages++;
        for (size_t i = 0; i < reply->count; i++)
            assert_int_equal(reply->runs[i].state, UAR_RUN_DONE);
        snprintf(cursor, sizeof cursor, "%.*s", (int)reply->cursor.len, reply->cursor.len > 0 ? reply->cursor.ptr : "");
        uar_reply_free(reply);
    } while (cursor[0] != '\0');
    assert_int_equal(runs, 5);
    assert_int_equal(pages, 3);
    fixture_close(h);
}

static void a_cursor_that_no_page_gave_is_refused_and_not_an_empty_page(void **state) {
    (void)state;
    host *h = fixture_script("");
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_str junk = uar_str_of("zz\x01");
    assert_int_equal(uar_run_list_sync(&reply, rt, "local", "me", uar_str_of("xx"), 10, &err), UAR_E_INVALID);
    assert_int_equal(uar_session_list_sync(&reply, rt, "local", "me", uar_str_of("default"), 10, &err), UAR_E_INVALID);
    assert_int_equal(uar_session_list_sync(&reply, rt, "local", "me",
                                           uar_str_of("bob\x1f"
                                                      "s"),
                                           10, &err),
                     UAR_E_INVALID);
    assert_int_equal(uar_agent_list_sync(&reply, rt, "local", junk, 10, &err), UAR_E_INVALID);
    assert_int_equal(uar_setting_list_sync(&reply, rt, "local", junk, 10, &err), UAR_E_INVALID);
    assert_null(reply);
    assert_non_null(strstr(err.message, "cursor"));
    fixture_close(h);
}

static void a_runs_record_tells_how_it_went(void **state) {
    (void)state;
    host *h =
        open_store(ONE_CALL LINE(TEXT("x") "," USED(10, 3) "," STOP) LINE(TEXT("half") "," FAIL("UAR_E_MODEL")), NULL);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .agent = "helper" };
    uar_run_id id;
    uar_reply *reply = NULL;
    assert_int_equal(host_run(h, &q, &id, NULL), UAR_OK);
    uar_run_info info = fixture_run(h, id, &reply);
    assert_int_equal(info.state, UAR_RUN_DONE);
    assert_int_equal(info.steps, 2);
    assert_int_equal(info.usage.input, 10);
    assert_true(info.ended_ms >= info.started_ms && info.started_ms > 0);
    assert_true(uar_str_equal(info.agent, uar_str_of("helper")));
    uar_uuid instance = uar_runtime_instance(host_runtime(h));
    assert_true(uar_uuid_equal(info.instance, instance));
    uar_reply_free(reply);
    assert_int_equal(host_run(h, &q, &id, NULL), UAR_OK);
    info = fixture_run(h, id, &reply);
    assert_int_equal(info.state, UAR_RUN_FAILED);
    assert_true(uar_str_equal(info.code, uar_str_of("UAR_E_MODEL")));
    assert_true(info.message.len > 0);
    uar_reply_free(reply);
    fixture_close(h);
}

/* ---- agents, settings, counters ---- */

static uar_status put_agent(host *h, const char *text, uint64_t revision, uar_reply **reply) {
    uar_agent agent = { .id = uar_str_of("helper"),
                        .name = uar_str_of("H"),
                        .instructions = uar_str_of(text),
                        .max_steps = 1,
                        .revision = revision };
    return uar_agent_put_sync(reply, host_runtime(h), "local", &agent, NULL);
}

static void an_agent_is_put_at_the_expected_revision_only(void **state) {
    (void)state;
    host *h = open_store(ONE_CALL, NULL);
    uar_reply *reply = NULL;
    assert_int_equal(put_agent(h, "one", 3, &reply), UAR_E_CONFLICT);
    assert_int_equal(put_agent(h, "one", 0, &reply), UAR_OK);
    assert_int_equal(reply->agents[0].revision, 1);
    uar_reply_free(reply);
    assert_int_equal(put_agent(h, "two", 0, &reply), UAR_E_CONFLICT);
    assert_int_equal(put_agent(h, "two", 1, &reply), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(put_agent(h, "Be brief.", UINT64_MAX, &reply), UAR_OK);
    assert_int_equal(reply->agents[0].revision, 3);
    assert_true(uar_str_equal(reply->agents[0].instructions, uar_str_of("Be brief.")));
    uar_reply_free(reply);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .agent = "helper", .instructions = "Now." };
    uar_outcome out;
    assert_int_equal(host_run(h, &q, NULL, &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_STEP_LIMIT); /* the agent lowered it */
    cJSON *doc = fixture_request(h, 1);
    assert_string_equal(request_text(doc, 0, "content"), "Be brief.");
    assert_string_equal(request_text(doc, 1, "content"), "Now.");
    fixture_request_free(doc);
    fixture_close(h);
}

static void an_agent_with_a_model_that_is_not_registered_refuses_the_run(void **state) {
    (void)state;
    host *h = open_store(HELLO, NULL);
    uar_agent agent = { .id = uar_str_of("helper"), .model = uar_str_of("gone"), .revision = 0 };
    uar_reply *reply = NULL;
    assert_int_equal(uar_agent_put_sync(&reply, host_runtime(h), "local", &agent, NULL), UAR_OK);
    uar_reply_free(reply);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .agent = "helper" };
    uar_outcome out;
    assert_int_equal(host_run(h, &q, NULL, &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_NOT_FOUND);
    expect_kinds(h, "RunStart RunFailed");
    fixture_close(h);
}

static void settings_keep_what_was_written_last(void **state) {
    (void)state;
    host *h = open_store(HELLO, NULL);
    uar_reply *reply = NULL;
    static const char *const values[] = { "1", "{\"big\":12345678901234567890}", "null", "\"\\u00e9\"" };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(uar_setting_put_sync(&reply, host_runtime(h), "local", "k", uar_str_of(values[i]), NULL),
                         UAR_OK);
        assert_int_equal(reply->settings[0].revision, i + 1);
        uar_reply_free(reply);
    }
    assert_int_equal(uar_setting_get_sync(&reply, host_runtime(h), "local", "k", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->settings[0].value, uar_str_of("\"\xc3\xa9\"")));
    uar_reply_free(reply);
    fixture_close(h);
}

static void counters_sum_over_instances(void **state) {
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", fixture_folder());
    for (int i = 0; i < 3; i++) {
        host *h = open_store(HELLO, store_path(folder));
        uar_reply *reply = NULL;
        assert_int_equal(uar_counter_add_sync(&reply, host_runtime(h), "local", "spent", 5, NULL), UAR_OK);
        uar_reply_free(reply);
        assert_int_equal(uar_counter_add_sync(&reply, host_runtime(h), "local", "spent", 2, NULL), UAR_OK);
        uar_reply_free(reply);
        assert_int_equal(uar_counter_add_sync(&reply, host_runtime(h), "other", "spent", 100, NULL), UAR_OK);
        uar_reply_free(reply);
        assert_int_equal(uar_counter_add_sync(&reply, host_runtime(h), "local", "spent", UINT64_MAX, NULL),
                         UAR_E_TOO_LARGE);
        assert_int_equal(uar_counter_load_sync(&reply, host_runtime(h), "local", "spent", NULL), UAR_OK);
        assert_int_equal(reply->number, 7 * (i + 1));
        uar_reply_free(reply);
        fixture_close(h);
    }
    fixture_remove(folder);
}

/* ---- several runtimes ---- */

static void test_R6_another_runtime_gets_busy_and_the_log_stays_linear(void **state) {
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", fixture_folder());
    host *first = open_store(LINE(CALL(0, "c1", "slow", "{}") "," CALLS) HELLO, store_path(folder));
    host *second = open_store(HELLO HELLO, store_path(folder));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "one" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(first), &q, NULL), UAR_OK);
    assert_true(host_sees_invoked(first, "slow", 1));
    uar_outcome out;
    q.input = "two";
    assert_int_equal(host_run(second, &q, NULL, &out), UAR_OK);
    assert_int_equal(out.status, UAR_E_BUSY);
    assert_int_equal(count_terminals(second), 1);
    uar_reply *reply = NULL;
    assert_int_equal(uar_run_load_sync(&reply, host_runtime(second), "local", "me", id, NULL), UAR_OK);
    assert_int_equal(reply->runs[0].state, UAR_RUN_RUNNING); /* reading takes no lease */
    uar_reply_free(reply);
    q.session = "else";
    assert_int_equal(host_run(second, &q, NULL, &out), UAR_OK); /* only that session is busy */
    assert_int_equal(out.state, UAR_RUN_DONE);
    host_release(first);
    assert_int_equal(host_await(first, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    q.session = NULL;
    assert_int_equal(host_run(second, &q, NULL, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    reply = fixture_messages(second, "default");
    assert_int_equal(reply->count, 6);
    for (size_t i = 0; i < reply->count; i++)
        assert_int_equal(reply->messages[i].number, i + 1);
    uar_reply_free(reply);
    fixture_close(second);
    fixture_close(first);
    fixture_remove(folder);
}

static const char *program; /* this one */

/* What `program killed|exits PATH FD` does: it dies in the middle of a run, whose id it writes to FD first. */
static int play_victim(const char *path, int out, bool by_signal) {
    uar_error err = UAR_ERROR_INIT;
    host *h = host_open(&(host_options){ .script = LINE(TEXT("half") "," CALL(0, "c1", "slow", "{}") "," CALLS),
                                         .tools = TOOLS,
                                         .store = path },
                        &err);
    if (h == NULL) return 2;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "one" };
    uar_run_id mine;
    if (uar_run_start(&mine, host_runtime(h), &q, NULL) != UAR_OK) return 3;
    if (!host_sees_invoked(h, "slow", 1)) return 4;
    if (write(out, &mine, sizeof mine) != (ssize_t)sizeof mine) return 5;
    if (by_signal) (void)raise(SIGKILL);
    _exit(7);
}

/* A process that dies in the middle of a run. Returns when it has. It begins anew: what is forked from threads is no place to
 * start threads in. */
static void kill_a_process(const char *path, uar_run_id *id, bool by_signal) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char out[16];
    snprintf(out, sizeof out, "%d", ends[1]);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)execl(program, program, by_signal ? "killed" : "exits", path, out, (char *)NULL);
        _exit(1);
    }
    int status = 0;
    close(ends[1]); /* else a child that dies early would be waited for without end */
    ssize_t got = read(ends[0], id, sizeof *id);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (got != (ssize_t)sizeof *id) fail_msg("the process ended early, with status %d", status);
    assert_true(by_signal ? WIFSIGNALED(status) : WEXITSTATUS(status) == 7);
}

static void test_R3_a_run_of_a_killed_process_reads_as_interrupted_and_the_session_goes_on(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        char folder[256];
        snprintf(folder, sizeof folder, "%s", fixture_folder());
        uar_run_id id;
        kill_a_process(store_path(folder), &id, i == 1);
        host *h = open_store(HELLO, store_path(folder));
        uint64_t began = clock_mono(&clock_default);
        uar_reply *reply = NULL;
        if (i == 0) { /* looking alone finds out */
            uar_run_info info = fixture_run(h, id, &reply);
            assert_int_equal(info.state, UAR_RUN_INTERRUPTED);
            assert_true(info.reason.len > 0);
            uar_reply_free(reply);
            assert_in_range(clock_mono(&clock_default) - began, 2000, 8000);
            assert_int_equal(uar_run_list_sync(&reply, host_runtime(h), "local", "me", uar_str_of(NULL), 10, NULL),
                             UAR_OK);
            assert_int_equal(reply->runs[0].state, UAR_RUN_INTERRUPTED);
            uar_reply_free(reply);
        }
        uar_outcome out;
        began = clock_mono(&clock_default);
        assert_int_equal(host_say(h, "two", &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE);
        assert_true(clock_mono(&clock_default) - began < 10000);
        cJSON *doc = fixture_request(h, 1); /* R2: the call without an outcome says so */
        assert_string_equal(request_text(doc, -1, "content"), "two");
        assert_string_equal(request_text(doc, -2, "role"), "tool");
        assert_non_null(strstr(request_text(doc, -2, "content"), "unknown"));
        fixture_request_free(doc);
        fixture_close(h);
        fixture_remove(folder);
    }
}

static void with_one_process_only_a_dead_lease_is_taken_at_once(void **state) {
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", fixture_folder());
    uar_run_id id;
    kill_a_process(store_path(folder), &id, true);
    host *h = fixture_open(
        &(host_options){ .script = HELLO, .tools = TOOLS, .store = store_path(folder), .single_process = true });
    uint64_t began = clock_mono(&clock_default);
    uar_outcome out;
    assert_int_equal(host_say(h, "two", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    assert_true(clock_mono(&clock_default) - began < 2000);
    fixture_close(h);
    fixture_remove(folder);
}

static void cancel_ends_the_wait_for_a_dead_holder(void **state) {
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", fixture_folder());
    uar_run_id id, mine;
    kill_a_process(store_path(folder), &id, true);
    host *h = open_store(HELLO, store_path(folder));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "two" };
    assert_int_equal(uar_run_start(&mine, host_runtime(h), &q, NULL), UAR_OK);
    host_rest(h, 300);
    assert_int_equal(uar_run_cancel(host_runtime(h), mine, UAR_CANCEL_NOW, "enough", NULL), UAR_OK);
    uar_outcome out;
    assert_int_equal(uar_run_wait(&out, host_runtime(h), mine, 1500), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_CANCELLED);
    fixture_close(h);
    fixture_remove(folder);
}

/* A lease that was lost to another writer: what comes after can't be written. */
static void test_R6_who_lost_the_session_can_not_write(void **state) {
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", fixture_folder());
    host *first = open_store(LINE(CALL(0, "c1", "slow", "{}") "," CALLS) HELLO, store_path(folder));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "one" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(first), &q, NULL), UAR_OK);
    assert_true(host_sees_invoked(first, "slow", 1));
    /* This one believes that there is no other process. */
    host *thief = fixture_open(
        &(host_options){ .script = HELLO, .tools = TOOLS, .store = store_path(folder), .single_process = true });
    uar_outcome out;
    assert_int_equal(host_say(thief, "two", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    host_release(first);
    assert_int_equal(host_await(first, id, &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_FAILED);
    assert_int_equal(out.status, UAR_E_BUSY);
    assert_int_equal(count_terminals(first), 1);
    uar_reply *reply = fixture_messages(thief, "default");
    assert_int_equal(reply->count, 4); /* one, the call, two, its answer; no result behind their back */
    for (size_t i = 1; i < reply->count; i++)
        assert_true(reply->messages[i].number > reply->messages[i - 1].number);
    uar_reply_free(reply);
    fixture_close(thief);
    fixture_close(first);
    fixture_remove(folder);
}

static void memory_in_the_same_folder_as_the_state_is_refused(void **state) {
    (void)state;
    char folder[256], path[300];
    snprintf(folder, sizeof folder, "%s", fixture_folder());
    snprintf(path, sizeof path, "%s/memory.db", folder);
    uar_memory *memory = uar_memory_open(path, NULL);
    uar_error err = UAR_ERROR_INIT;
    assert_null(host_open(&(host_options){ .script = HELLO, .store = store_path(folder), .memory = memory }, &err));
    assert_int_equal(err.code, UAR_E_STORE_CONFLICT);
    uar_memory_free(memory);
    fixture_remove(folder);
}

int main(int argc, char **argv) {
    if (argc == 4) return play_victim(argv[2], atoi(argv[3]), strcmp(argv[1], "killed") == 0);
    program = argv[0];
    const struct CMUnitTest tests[] = {
        fixture_test(every_record_reads_the_same_in_both_forms),
        fixture_test(what_is_not_there_is_not_found_in_both_forms),
        fixture_test(a_wrong_argument_is_refused_before_anything_is_begun),
        fixture_test(sessions_belong_to_one_owner_and_one_user),
        fixture_test(a_cursor_that_no_page_gave_is_refused_and_not_an_empty_page),
        fixture_test(pages_follow_each_other_without_gap_or_repeat),
        fixture_test(a_runs_record_tells_how_it_went),
        fixture_test(an_agent_is_put_at_the_expected_revision_only),
        fixture_test(an_agent_with_a_model_that_is_not_registered_refuses_the_run),
        fixture_test(settings_keep_what_was_written_last),
        fixture_test(counters_sum_over_instances),
        fixture_test(test_R6_another_runtime_gets_busy_and_the_log_stays_linear),
        fixture_test(test_R3_a_run_of_a_killed_process_reads_as_interrupted_and_the_session_goes_on),
        fixture_test(with_one_process_only_a_dead_lease_is_taken_at_once),
        fixture_test(cancel_ends_the_wait_for_a_dead_holder),
        fixture_test(test_R6_who_lost_the_session_can_not_write),
        fixture_test(memory_in_the_same_folder_as_the_state_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
