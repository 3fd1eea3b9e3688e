/* Many threads at one runtime, for ThreadSanitizer and for luck: whatever races, each run has one end and each stream no hole. */
#include "unit/test_run_fixture.h"

#include <stdatomic.h>

enum { WORKERS = 4, ROUNDS = 20, SESSIONS = 3 };

static const host_tool TOOLS[] = { { .name = "later", .way = HOST_ANSWERS_LATER, .result = "1" },
                                   { .name = "ask", .way = HOST_ANSWERS, .result = "1", .approval = UAR_APPROVAL_ASK },
                                   { .name = "race", .way = HOST_ANSWERS_LATER, .result = "1", .timeout_ms = 5 },
                                   { .name = "keep", .way = HOST_NEVER, .result = "1" },
                                   { .name = NULL } };

/* A worker's own small random numbers. */
static unsigned next_number(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static void nap(unsigned microseconds) {
    nanosleep(&(struct timespec){ .tv_nsec = (long)microseconds * 1000 }, NULL);
}

/* What the sink saw of every run: counts under the host's serial lane, so no lock is needed. */
typedef struct tally {
    size_t ends, starts;
    uint64_t newest[2048]; /* by run, see slot */
    uar_run_id runs[2048];
    size_t run_count;
    atomic_int faults;
} tally;

static size_t slot(tally *t, uar_run_id run) {
    for (size_t i = t->run_count; i-- > 0;)
        if (uar_uuid_equal(t->runs[i], run)) return i;
    t->runs[t->run_count] = run;
    return t->run_count++;
}

static void count_event(void *ctx, host *h, const uar_event *event) {
    (void)h;
    tally *t = ctx;
    size_t i = slot(t, event->run);
    if (event->id != t->newest[i] + 1) atomic_fetch_add(&t->faults, 1); /* E1 */
    t->newest[i] = event->id;
    t->starts += event->kind == UAR_EVENT_RUN_START;
    t->ends += uar_event_is_terminal(event->kind);
}

typedef struct crew {
    host *h;
    tally tally;
    atomic_int faults, done, busy, cancelled, started;
    uar_run_id run; /* for those that all work on one */
    atomic_bool go;
} crew;

static void crew_open(crew *c, const host_options *o) {
    memset(c, 0, sizeof *c);
    host_options with = *o;
    with.hooks = (host_hooks){ .ctx = &c->tally, .on_event = count_event };
    with.tools = TOOLS;
    with.repeats = true;
    with.quiet = true;
    c->h = fixture_open(&with);
}

static void crew_work(crew *c, thread_fn fn) {
    thread threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(thread_start(&threads[i], 0, fn, c), UAR_OK);
    for (size_t i = 0; i < WORKERS; i++)
        thread_join(threads[i]);
    assert_int_equal(atomic_load(&c->faults), 0);
}

static void crew_close(crew *c) {
    host_rest(c->h, 10);
    assert_int_equal(host_close(c->h, UAR_CLOSE_CANCEL), UAR_OK);
}

/* Every run said how it began and how it ended, once. */
static void expect_ends(crew *c, size_t runs) {
    assert_int_equal(atomic_load(&c->tally.faults), 0);
    assert_int_equal(c->tally.starts, runs);
    assert_int_equal(c->tally.ends, runs);
}

static void fault(crew *c, bool bad) {
    if (bad) atomic_fetch_add(&c->faults, 1);
}

/* ---- runs of all kinds at once ---- */

static void run_and_cancel(void *arg) {
    crew *c = arg;
    unsigned seed = (unsigned)atomic_fetch_add(&c->started, 1) + 1;
    for (int i = 0; i < ROUNDS; i++) {
        char session[32];
        snprintf(session, sizeof session, "s%u", next_number(&seed) % SESSIONS);
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .session = session };
        uar_run_id id;
        uar_outcome out;
        fault(c, uar_run_start(&id, host_runtime(c->h), &q, NULL) != UAR_OK);
        nap(next_number(&seed) % 2000);
        bool cancels = next_number(&seed) % 2 == 0;
        if (cancels) {
            uar_status status = uar_run_cancel(host_runtime(c->h), id, UAR_CANCEL_NOW, "enough", NULL);
            fault(c, status != UAR_OK && status != UAR_E_STALE);
        }
        fault(c, uar_run_wait(&out, host_runtime(c->h), id, 20000) != UAR_OK);
        bool fine = out.state == UAR_RUN_DONE || (out.state == UAR_RUN_CANCELLED && cancels) ||
                    (out.state == UAR_RUN_FAILED && out.status == UAR_E_BUSY);
        fault(c, !fine);
    }
}

static void test_E5_racing_runs_and_cancels_give_each_run_one_end(void **state) {
    (void)state;
    static crew c;
    crew_open(&c, &(host_options){ .script = LINE(TEXT("a") "," CALL(0, "c1", "later", "{}") "," CALLS) HELLO });
    crew_work(&c, run_and_cancel);
    crew_close(&c);
    expect_ends(&c, WORKERS * ROUNDS);
}

/* ---- the same session from everywhere ---- */

static void run_in_one_session(void *arg) {
    crew *c = arg;
    for (int i = 0; i < ROUNDS; i++) {
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
        uar_run_id id;
        uar_outcome out;
        fault(c, uar_run_start(&id, host_runtime(c->h), &q, NULL) != UAR_OK);
        fault(c, uar_run_wait(&out, host_runtime(c->h), id, 20000) != UAR_OK);
        if (out.state == UAR_RUN_DONE) atomic_fetch_add(&c->done, 1);
        fault(c, out.state != UAR_RUN_DONE && out.status != UAR_E_BUSY);
    }
}

static void test_R6_racing_runs_of_one_session_keep_its_log_linear(void **state) {
    (void)state;
    static crew c;
    crew_open(&c, &(host_options){ .script = HELLO });
    crew_work(&c, run_in_one_session);
    uar_reply *reply = fixture_messages(c.h, "default");
    assert_int_equal(reply->count, 2 * atomic_load(&c.done));
    for (size_t i = 0; i < reply->count; i++) {
        assert_int_equal(reply->messages[i].number, i + 1);
        assert_int_equal(reply->messages[i].role, i % 2 == 0 ? UAR_ROLE_USER : UAR_ROLE_ASSISTANT);
    }
    uar_reply_free(reply);
    assert_true(atomic_load(&c.done) > 0);
    crew_close(&c);
    expect_ends(&c, WORKERS * ROUNDS);
}

/* ---- one call, many who decide ---- */

static void decide(void *arg) {
    crew *c = arg;
    while (!atomic_load(&c->go))
        nap(10);
    bool approves = atomic_fetch_add(&c->started, 1) % 2 == 0;
    uar_status status = approves ? uar_run_approve(host_runtime(c->h), c->run, "c1", NULL, NULL)
                                 : uar_run_deny(host_runtime(c->h), c->run, "c1", "no", NULL);
    if (status == UAR_OK) atomic_fetch_add(&c->done, 1);
    fault(c, status != UAR_OK && status != UAR_E_STALE);
}

static void test_A2_of_many_decisions_one_counts(void **state) {
    (void)state;
    static crew c;
    for (int i = 0; i < ROUNDS; i++) {
        crew_open(&c, &(host_options){ .script = LINE(CALL(0, "c1", "ask", "{}") "," CALLS) HELLO });
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
        assert_int_equal(uar_run_start(&c.run, host_runtime(c.h), &q, NULL), UAR_OK);
        uar_run_snapshot *snapshot = NULL;
        size_t pending = 0;
        while (pending == 0) {
            assert_int_equal(uar_run_snapshot_take(&snapshot, host_runtime(c.h), "local", c.run, NULL), UAR_OK);
            pending = snapshot->pending_count;
            uar_run_snapshot_free(snapshot);
        }
        atomic_store(&c.go, true);
        crew_work(&c, decide);
        uar_outcome out;
        assert_int_equal(host_await(c.h, c.run, &out), UAR_OK);
        assert_int_equal(out.state, UAR_RUN_DONE);
        assert_int_equal(atomic_load(&c.done), 1);
        assert_true(host_invoked(c.h, "ask") <= 1);
        crew_close(&c);
        expect_ends(&c, 1);
    }
}

/* ---- deadlines against answers ---- */

static void run_races(void *arg) {
    crew *c = arg;
    int worker = atomic_fetch_add(&c->started, 1);
    for (int i = 0; i < ROUNDS; i++) {
        char session[32];
        snprintf(session, sizeof session, "w%d", worker);
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .session = session };
        uar_run_id id;
        uar_outcome out;
        fault(c, uar_run_start(&id, host_runtime(c->h), &q, NULL) != UAR_OK);
        fault(c, uar_run_wait(&out, host_runtime(c->h), id, 20000) != UAR_OK);
        fault(c, out.state != UAR_RUN_DONE && out.status != UAR_E_STEP_LIMIT);
    }
}

static void test_T6_an_answer_that_races_its_deadline_counts_once_or_not_at_all(void **state) {
    (void)state;
    static crew c;
    crew_open(&c, &(host_options){ .script = LINE(CALL(0, "c1", "race", "{}") "," CALL(1, "c2", "race", "{}") "," CALLS)
                                       HELLO,
                                   .max_steps = 40 });
    crew_work(&c, run_races);
    crew_close(&c);
    expect_ends(&c, WORKERS * ROUNDS);
}

/* ---- subscribers that come in the middle ---- */

static void listen_from_anywhere(void *arg) {
    crew *c = arg;
    unsigned seed = (unsigned)atomic_fetch_add(&c->started, 1) + 7;
    for (int i = 0; i < ROUNDS; i++) {
        nap(next_number(&seed) % 3000);
        uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = c->run, .has_after = true,
                                    .after = next_number(&seed) % 2 };
        uar_subscription *sub = NULL;
        if (uar_subscribe(&sub, host_runtime(c->h), &o, NULL) != UAR_OK) continue; /* `after` is not yet an id */
        uint64_t last = o.after;
        uar_next next;
        int reads = 1 + (int)(next_number(&seed) % 100);
        while (reads-- > 0 && uar_subscription_next(&next, sub, 5) == UAR_OK) {
            if (next.kind == UAR_NEXT_EVENT) {
                fault(c, next.event->id != last + 1);
                last = next.event->id;
                uar_event_unref(next.event);
            } else if (next.kind == UAR_NEXT_GAP) {
                fault(c, next.gap.first != last + 1);
                last = next.gap.last;
            }
        }
        uar_subscription_free(sub);
    }
}

/* A model that talks from threads of its own: each stream that the host's model was given gets one. */
typedef struct talker {
    uar_stream *stream;
    thread id;
} talker;

typedef struct talking {
    mutex lock;
    talker talkers[WORKERS * ROUNDS];
    size_t count;
    tally tally;
} talking;

static void talk(void *arg) {
    talker *t = arg;
    for (int i = 0; i < 200; i++) {
        if (uar_stream_text(t->stream, "word ", 5) != UAR_OK) break;
        if (i % 8 == 0) nap(200);
    }
    (void)uar_stream_finish(t->stream, UAR_FINISH_STOP);
    uar_stream_unref(t->stream);
}

static void give_to_talker(void *ctx, host *h, uar_stream *stream) {
    (void)h;
    talking *t = ctx;
    mutex_lock(&t->lock);
    talker *one = &t->talkers[t->count++];
    mutex_unlock(&t->lock);
    one->stream = uar_stream_ref(stream);
    if (thread_start(&one->id, 0, talk, one) != UAR_OK) abort();
}

static void count_talk(void *ctx, host *h, const uar_event *event) {
    talking *t = ctx;
    count_event(&t->tally, h, event);
}

static talking *open_talking(crew *c, size_t ring_events) {
    memset(c, 0, sizeof *c);
    talking *t = calloc(1, sizeof *t);
    assert_non_null(t);
    assert_int_equal(mutex_init(&t->lock), UAR_OK);
    /* The host's own script only holds the stream; what is said comes from the talker. */
    c->h = fixture_open(&(host_options){ .script = LINE(HOLD),
                                         .repeats = true,
                                         .quiet = true,
                                         .ring_events = (uint32_t)ring_events,
                                         .hooks = { .ctx = t, .on_start = give_to_talker, .on_event = count_talk } });
    return t;
}

static void close_talking(crew *c, talking *t) {
    assert_int_equal(host_close(c->h, UAR_CLOSE_CANCEL), UAR_OK);
    for (size_t i = 0; i < t->count; i++)
        thread_join(t->talkers[i].id);
    mutex_dispose(&t->lock);
    free(t);
}

static void test_E2_subscribers_that_race_a_stream_get_no_hole_and_no_repeat(void **state) {
    (void)state;
    static crew c;
    talking *t = open_talking(&c, 32);
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
    assert_int_equal(uar_run_start(&c.run, host_runtime(c.h), &q, NULL), UAR_OK);
    crew_work(&c, listen_from_anywhere);
    uar_outcome out;
    assert_int_equal(uar_run_wait(&out, host_runtime(c.h), c.run, 20000), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    close_talking(&c, t);
}

/* ---- streams that are pushed while they are cancelled ---- */

static void cancel_talk(void *arg) {
    crew *c = arg;
    int worker = atomic_fetch_add(&c->started, 1);
    unsigned seed = (unsigned)worker + 3;
    for (int i = 0; i < ROUNDS; i++) {
        char session[32];
        snprintf(session, sizeof session, "w%d", worker);
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .session = session };
        uar_run_id id;
        uar_outcome out;
        fault(c, uar_run_start(&id, host_runtime(c->h), &q, NULL) != UAR_OK);
        nap(next_number(&seed) % 8000);
        (void)uar_run_cancel(host_runtime(c->h), id, UAR_CANCEL_NOW, "enough", NULL);
        fault(c, uar_run_wait(&out, host_runtime(c->h), id, 20000) != UAR_OK);
        fault(c, out.state != UAR_RUN_CANCELLED && out.state != UAR_RUN_DONE);
    }
}

static void test_X1_pushes_that_race_a_cancel_end_in_a_partial_message(void **state) {
    (void)state;
    static crew c;
    talking *t = open_talking(&c, 0);
    crew_work(&c, cancel_talk);
    for (int i = 0; i < WORKERS; i++) {
        char session[32];
        snprintf(session, sizeof session, "w%d", i);
        uar_reply *reply = NULL;
        uar_status status = uar_message_list_sync(&reply, host_runtime(c.h), "local", "me", session, 0, 1000, NULL);
        if (status == UAR_E_NOT_FOUND) continue; /* each was cancelled before its first step */
        assert_int_equal(status, UAR_OK);
        for (size_t k = 0; k < reply->count; k++) {
            const uar_message *m = &reply->messages[k];
            if (m->role != UAR_ROLE_ASSISTANT) continue;
            assert_int_equal(part_text(m, UAR_PART_TEXT).len % 5, 0);
            assert_int_equal(m->interrupted, part_text(m, UAR_PART_TEXT).len < 1000);
        }
        uar_reply_free(reply);
    }
    close_talking(&c, t);
}

/* ---- close while everything runs ---- */

static void start_more(void *ctx, host *h, const uar_event *event) {
    crew *c = ctx;
    if (event->kind != UAR_EVENT_RUNTIME_STEP) return;
    char session[32];
    snprintf(session, sizeof session, "m%d", atomic_fetch_add(&c->started, 1));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "more", .session = session };
    uar_run_id id;
    uar_status status = uar_run_start(&id, host_runtime(h), &q, NULL);
    fault(c, status != UAR_OK && status != UAR_E_CLOSED);
    if (status == UAR_E_CLOSED) atomic_fetch_add(&c->busy, 1);
}

static void test_N2_closing_while_callbacks_start_runs_ends_all_of_them(void **state) {
    (void)state;
    static const uar_close_mode modes[] = { UAR_CLOSE_CANCEL, UAR_CLOSE_PARK };
    static crew c;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        memset(&c, 0, sizeof c);
        c.h = fixture_open(
            &(host_options){ .script = LINE(TEXT("a") "," CALL(0, "c1", "later", "{}") "," CALLS) LINE(HOLD),
                             .repeats = true,
                             .tools = TOOLS,
                             .hooks = { .ctx = &c, .on_event = start_more } });
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go" };
        assert_int_equal(uar_run_start(&c.run, host_runtime(c.h), &q, NULL), UAR_OK);
        nap((unsigned)i * 300);
        assert_int_equal(host_close(c.h, modes[i % 2]), UAR_OK);
        assert_int_equal(atomic_load(&c.faults), 0);
    }
}

/* ---- records from everywhere ---- */

static void use_records(void *arg) {
    crew *c = arg;
    uar_runtime *rt = host_runtime(c->h);
    for (int i = 0; i < ROUNDS; i++) {
        uar_reply *reply = NULL;
        fault(c, uar_counter_add_sync(&reply, rt, "local", "n", 1, NULL) != UAR_OK);
        uar_reply_free(reply);
        reply = NULL;
        fault(c, uar_setting_put_sync(&reply, rt, "local", "k", uar_str_of("{\"a\":1}"), NULL) != UAR_OK);
        uar_reply_free(reply);
        reply = NULL;
        fault(c, uar_setting_get_sync(&reply, rt, "local", "k", NULL) != UAR_OK);
        uar_reply_free(reply);
    }
}

static void counters_and_settings_lose_nothing_between_threads(void **state) {
    (void)state;
    static crew c;
    crew_open(&c, &(host_options){ .script = HELLO });
    crew_work(&c, use_records);
    uar_reply *reply = NULL;
    assert_int_equal(uar_counter_load_sync(&reply, host_runtime(c.h), "local", "n", NULL), UAR_OK);
    assert_int_equal(reply->number, WORKERS * ROUNDS);
    uar_reply_free(reply);
    crew_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_E5_racing_runs_and_cancels_give_each_run_one_end),
        fixture_test(test_R6_racing_runs_of_one_session_keep_its_log_linear),
        fixture_test(test_A2_of_many_decisions_one_counts),
        fixture_test(test_T6_an_answer_that_races_its_deadline_counts_once_or_not_at_all),
        fixture_test(test_E2_subscribers_that_race_a_stream_get_no_hole_and_no_repeat),
        fixture_test(test_X1_pushes_that_race_a_cancel_end_in_a_partial_message),
        fixture_test(test_N2_closing_while_callbacks_start_runs_ends_all_of_them),
        fixture_test(counters_and_settings_lose_nothing_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
