/* Several processes on one session: leases, heartbeats, and what becomes of those whose process is dead or asleep. */
#include "test_life_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"

#define WRITERS 4
#define TURNS 8

/* A child speaks by its exit status and by a pipe: cmocka's state is the parent's. */
typedef struct child {
    pid_t pid;
    int from, to; /* what it says and hears */
} child;

/* The child's own ends. */
typedef struct line {
    int from, to;
} line;

static child child_start(int (*body)(const life_place *p, line parent), const life_place *p) {
    int up[2], down[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(up[0]);
        (void)close(down[1]);
        _exit(body(p, (line){ .from = down[0], .to = up[1] }));
    }
    (void)close(up[1]);
    (void)close(down[0]);
    return (child){ pid, .from = up[0], .to = down[1] };
}

static void child_hear(const child *c) {
    char byte;
    assert_int_equal(read(c->from, &byte, 1), 1);
}

/* Its exit status; -1 if it was killed. */
static int child_end(child *c) {
    int status = 0;
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    (void)close(c->from);
    (void)close(c->to);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void say(int to) {
    if (write(to, "x", 1) != 1) _exit(99);
}

static void hear(int from) {
    char byte;
    if (read(from, &byte, 1) != 1) _exit(98);
}

/* Turns that got through, as the exit status; 100 if one failed otherwise than by being busy. */
static int write_turns(const life_place *p, line parent) {
    (void)parent;
    host *h = place_open(p, HELLO);
    int won = 0;
    for (int i = 0; i < TURNS; i++) {
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "shared", .input = "x" };
        uar_outcome out;
        uar_run_id id;
        if (host_run(h, &q, &id, &out) != UAR_OK) return 100;
        if (out.status != UAR_OK && out.status != UAR_E_BUSY && out.status != UAR_E_CONFLICT) return 100;
        won += out.status == UAR_OK;
    }
    return host_close(h, UAR_CLOSE_CANCEL) == UAR_OK ? won : 100;
}

static void test_R6_of_several_processes_on_a_session_one_wins_and_the_log_is_linear(void **state) {
    (void)state;
    life_place p = place_make();
    child writers[WRITERS];
    size_t won = 0;
    for (int i = 0; i < WRITERS; i++)
        writers[i] = child_start(write_turns, &p);
    for (int i = 0; i < WRITERS; i++) {
        int turns = child_end(&writers[i]);
        assert_true(turns >= 0 && turns <= TURNS);
        won += (size_t)turns;
    }
    assert_true(won > 0);
    host *h = place_open(&p, HELLO);
    uar_reply *reply = fixture_messages(h, "shared");
    size_t asked = 0, answered = 0;
    for (size_t i = 0; i < reply->count; i++) {
        assert_int_equal(reply->messages[i].number, i + 1);
        asked += reply->messages[i].role == UAR_ROLE_USER;
        answered += reply->messages[i].role == UAR_ROLE_ASSISTANT;
        /* An answer follows its question: nobody came between. */
        if (reply->messages[i].role != UAR_ROLE_ASSISTANT) continue;
        assert_true(i > 0 && uar_uuid_equal(reply->messages[i].run, reply->messages[i - 1].run));
    }
    assert_int_equal(asked, won);
    assert_int_equal(answered, won);
    uar_reply_free(reply);
    fixture_close(h);
    place_remove(&p);
}

/* Begins a turn whose tool ends when the parent says so; says when it is under way, and how it ended. */
static int answer_slowly(const life_place *p, line parent) {
    const host_tool tools[] = { { .name = "slow", .way = HOST_NEVER, .result = "1" }, { .name = NULL } };
    host *h = fixture_open(&(host_options){
        .script = LINE(CALL(0, "c1", "slow", "{}") "," CALLS) HELLO, .tools = tools, .store = p->store });
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "shared", .input = "from the child" };
    uar_run_id id;
    uar_outcome out;
    if (uar_run_start(&id, host_runtime(h), &q, NULL) != UAR_OK) return 100;
    if (!host_sees_invoked(h, "slow", 1)) return 101;
    say(parent.to);
    hear(parent.from);
    (void)host_finish(h, "slow");
    if (host_await(h, id, &out) != UAR_OK) return 102;
    int code = out.status == UAR_OK ? 0 : out.state == UAR_RUN_FAILED ? 1 : 2;
    return host_close(h, UAR_CLOSE_CANCEL) == UAR_OK ? code : 103;
}

#define HEARTS "SELECT count(*) FROM record WHERE kind=56 AND CAST(owner AS TEXT)='~'"

static void test_R6_a_process_that_slept_through_its_lease_stores_nothing_more(void **state) {
    (void)state;
    life_place p = place_make();
    child sleeper = child_start(answer_slowly, &p);
    child_hear(&sleeper);
    assert_int_equal(kill(sleeper.pid, SIGSTOP), 0);
    host *h = place_open(&p, HELLO);
    (void)say_in(h, "me", "shared", "from the parent");
    uar_reply *reply = fixture_messages(h, "shared");
    assert_int_equal(reply->count, 4); /* the child's question and its call, and ours with its answer */
    uar_reply_free(reply);
    assert_int_equal(kill(sleeper.pid, SIGCONT), 0);
    say(sleeper.to);
    assert_int_equal(child_end(&sleeper), 1);
    reply = fixture_messages(h, "shared");
    assert_int_equal(reply->count, 4);
    assert_true(uar_str_equal(reply->messages[2].parts[0].text, uar_str_of("from the parent")));
    assert_int_equal(reply->messages[3].role, UAR_ROLE_ASSISTANT);
    uar_reply_free(reply);
    (void)say_in(h, "me", "shared", "again");
    fixture_close(h);
    assert_int_equal(count_in(&p, HEARTS), 0);
    place_remove(&p);
}

static void test_R6_a_session_that_another_process_runs_is_busy_for_all_but_a_name(void **state) {
    (void)state;
    life_place p = place_make();
    child runner = child_start(answer_slowly, &p);
    child_hear(&runner);
    host *h = place_open(&p, HELLO);
    uar_reply *reply = NULL;
    assert_int_equal(delete_session(h, "shared", NULL), UAR_E_BUSY);
    assert_int_equal(uar_session_rename_sync(&reply, host_runtime(h), "local", "me", "shared", "n", NULL), UAR_OK);
    uar_reply_free(reply);
    say(runner.to);
    assert_int_equal(child_end(&runner), 0);
    assert_int_equal(uar_session_load_sync(&reply, host_runtime(h), "local", "me", "shared", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->sessions[0].name, uar_str_of("n")));
    assert_int_equal(reply->sessions[0].messages, 4);
    uar_reply_free(reply);
    assert_int_equal(delete_session(h, "shared", NULL), UAR_OK);
    fixture_close(h);
    place_remove(&p);
}

static uint64_t list_ms(host *h, size_t interrupted) {
    uar_reply *reply = NULL;
    uint64_t before = clock_mono(&clock_default);
    assert_int_equal(uar_run_list_sync(&reply, host_runtime(h), "local", "me", uar_str_of(NULL), 100, NULL), UAR_OK);
    uint64_t ms = clock_mono(&clock_default) - before;
    size_t count = 0;
    for (size_t i = 0; i < reply->count; i++)
        count += reply->runs[i].state == UAR_RUN_INTERRUPTED;
    assert_int_equal(count, interrupted);
    uar_reply_free(reply);
    return ms;
}

static void the_same_dead_instance_is_watched_once_and_its_heartbeat_goes_with_its_lease(void **state) {
    (void)state;
    life_place p = place_make();
    child dead = child_start(answer_slowly, &p);
    child_hear(&dead);
    assert_int_equal(kill(dead.pid, SIGKILL), 0);
    assert_int_equal(child_end(&dead), -1);
    assert_int_equal(count_in(&p, HEARTS), 1);
    host *h = place_open(&p, HELLO);
    assert_true(list_ms(h, 1) >= 2000);
    assert_true(list_ms(h, 1) < 1000);
    uint64_t before = clock_mono(&clock_default);
    (void)say_in(h, "me", "shared", "on we go");
    assert_true(clock_mono(&clock_default) - before < 1500);
    host_rest(h, 50);
    assert_int_equal(count_in(&p, HEARTS), 1); /* our own */
    assert_true(list_ms(h, 1) < 1000);
    fixture_close(h);
    assert_int_equal(count_in(&p, HEARTS), 0);
    place_remove(&p);
}

static void the_only_process_takes_all_over_at_once(void **state) {
    (void)state;
    life_place p = place_make();
    child dead = child_start(answer_slowly, &p);
    child_hear(&dead);
    assert_int_equal(kill(dead.pid, SIGKILL), 0);
    assert_int_equal(child_end(&dead), -1);
    uint64_t before = clock_mono(&clock_default);
    host *h = fixture_open(&(host_options){ .script = HELLO, .store = p.store, .single_process = true });
    assert_true(list_ms(h, 1) < 1000);
    (void)say_in(h, "me", "shared", "at once");
    assert_int_equal(delete_session(h, "shared", NULL), UAR_OK);
    assert_true(clock_mono(&clock_default) - before < 2000);
    fixture_close(h);
    assert_int_equal(count_in(&p, HEARTS), 0);
    place_remove(&p);
}

/* Deletes a long session until it is killed. */
static int delete_all(const life_place *p, line parent) {
    host *h = place_open(p, HELLO);
    say(parent.to);
    uint64_t number = 0;
    return delete_session(h, "long", &number) == UAR_OK ? 0 : 1;
}

static void a_process_killed_while_it_deletes_leaves_nothing_for_long(void **state) {
    (void)state;
    for (unsigned us = 0; us < 6000; us += 1500) {
        life_place p = place_make();
        host *h = place_open(&p, HELLO);
        for (int i = 0; i < 60; i++)
            (void)say_in(h, "me", "long", "words");
        fixture_close(h);
        child killed = child_start(delete_all, &p);
        child_hear(&killed);
        nanosleep(&(struct timespec){ .tv_nsec = (long)us * 1000 }, NULL);
        (void)kill(killed.pid, SIGKILL);
        (void)child_end(&killed);
        h = place_open(&p, HELLO);
        for (int i = 0; i < 500 && count_in(&p, "SELECT count(*) FROM record WHERE kind=55") > 0; i++)
            host_rest(h, 10);
        uar_status there = session_status(h, "long");
        if (there == UAR_E_NOT_FOUND) assert_int_equal(count_naming(&p, "long"), 0);
        if (there == UAR_OK) {
            uar_reply *reply = fixture_messages(h, "long");
            assert_int_equal(reply->count, 120);
            uar_reply_free(reply);
        }
        fixture_close(h);
        place_remove(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_R6_of_several_processes_on_a_session_one_wins_and_the_log_is_linear),
        fixture_test(test_R6_a_process_that_slept_through_its_lease_stores_nothing_more),
        fixture_test(test_R6_a_session_that_another_process_runs_is_busy_for_all_but_a_name),
        fixture_test(the_same_dead_instance_is_watched_once_and_its_heartbeat_goes_with_its_lease),
        fixture_test(the_only_process_takes_all_over_at_once),
        fixture_test(a_process_killed_while_it_deletes_leaves_nothing_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
