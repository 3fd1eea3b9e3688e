/* The backbone under threads: publishers, lanes on a real pool, pullers, and ends that race them. Asserts run in the main
 * thread only; other threads count faults. */
#include "test_event_fixture.h"

#include <stdatomic.h>

static hub *open_hub(uar_executor *pool, callouts *calls) {
    pool_options options = { .alloc = &alloc_default, .clock = &clock_default, .threads = 3 };
    assert_int_equal(pool_open(pool, &options), UAR_OK);
    assert_int_equal(callouts_init(calls), UAR_OK);
    hub_options hub_opts = {
        .alloc = alloc_default, .clock = &clock_default, .executor = pool, .calls = calls, .may_block = true
    };
    hub *h = NULL;
    assert_int_equal(hub_new(&h, &hub_opts), UAR_OK);
    return h;
}

static void close_pool(uar_executor *pool, callouts *calls) {
    assert_true(pool_stop(pool, 10000));
    pool_release(pool);
    callouts_dispose(calls);
}

static void close_hub(hub *h, uar_executor *pool, callouts *calls) {
    hub_close(h);
    close_pool(pool, calls);
}

static channel *open_channel(hub *h, unsigned run, const ring_limits *limits) {
    event_identity identity = { .run = uuid_of(run),
                                .owner = uar_str_of("local"),
                                .user = uar_str_of("me"),
                                .session = uar_str_of("default"),
                                .agent = uar_str_of("assistant") };
    event_origin *origin = event_origin_new(&alloc_default, &identity);
    channel *ch = NULL;
    if (origin != NULL && hub_open_channel(&ch, h, origin, 0, limits) != UAR_OK) ch = NULL;
    event_origin_unref(origin);
    return ch;
}

static void pause_ms(uint32_t ms) {
    mutex m = MUTEX_INIT;
    condition c;
    if (condition_init(&c) != UAR_OK) return;
    mutex_lock(&m);
    condition_wait(&c, &m, ms);
    mutex_unlock(&m);
    condition_dispose(&c);
}

static bool wait_until(atomic_bool *flag) {
    for (int i = 0; i < 20000 && !atomic_load(flag); i++)
        pause_ms(1);
    return atomic_load(flag);
}

/* Follows one run and checks that nothing is skipped or repeated. Callbacks are serial: no lock. */
typedef struct follower {
    uint64_t next; /* id that must come next */
    uint64_t got, missed;
    atomic_int faults;
    atomic_bool closed, destroyed;
} follower;

static void follow_event(void *ctx, const uar_event *event) {
    follower *f = ctx;
    if (event->id != f->next || atomic_load(&f->closed) || atomic_load(&f->destroyed)) atomic_fetch_add(&f->faults, 1);
    f->next = event->id + 1;
    f->got++;
}

static void follow_gap(void *ctx, const uar_gap *gap) {
    follower *f = ctx;
    bool sound = gap->first == f->next && gap->last >= gap->first && gap->snapshot != NULL &&
                 gap->snapshot->last_event == gap->last && gap->snapshot->text.len == gap->last;
    if (!sound || atomic_load(&f->closed)) atomic_fetch_add(&f->faults, 1);
    f->missed += gap->last - gap->first + 1;
    f->next = gap->last + 1;
}

static void follow_closed(void *ctx, uar_run_id run) {
    follower *f = ctx;
    if (!uar_uuid_equal(run, uuid_of(1)) || atomic_exchange(&f->closed, true)) atomic_fetch_add(&f->faults, 1);
}

static void follow_destroy(void *ctx) {
    follower *f = ctx;
    if (atomic_exchange(&f->destroyed, true)) atomic_fetch_add(&f->faults, 1);
}

static uar_subscribe_options follow(follower *f, uint64_t after) {
    f->next = after + 1;
    return (uar_subscribe_options){ .size = UAR_SUBSCRIBE_OPTIONS_INIT,
                                    .owner = "local",
                                    .run = uuid_of(1),
                                    .has_after = true,
                                    .after = after,
                                    .ctx = f,
                                    .on_event = follow_event,
                                    .on_gap = follow_gap,
                                    .on_closed = follow_closed,
                                    .destroy = follow_destroy };
}

typedef struct publisher {
    channel *ch;
    size_t count;
    atomic_int faults;
} publisher;

static void publish_run(void *arg) {
    publisher *p = arg;
    for (size_t i = 0; i < p->count; i++)
        if (publish_delta(p->ch, "x") != UAR_OK) atomic_fetch_add(&p->faults, 1);
    channel_close(p->ch);
}

enum { EVENTS = 20000, FOLLOWERS = 40 };

static void test_E2_replay_races_live_without_gap_or_double(void **state) {
    (void)state;
    int64_t live = uar_live_objects();
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    channel *ch = open_channel(h, 1, &(ring_limits){ .events = EVENTS, .bytes = SIZE_MAX });
    publisher p = { .ch = ch, .count = EVENTS };
    static follower followers[FOLLOWERS];
    uar_subscription *subs[FOLLOWERS] = { NULL };
    uint64_t after[FOLLOWERS];
    memset(followers, 0, sizeof followers);
    thread t;
    assert_int_equal(thread_start(&t, 0, publish_run, &p), UAR_OK);
    for (size_t i = 0; i < FOLLOWERS; i++) {
        uint64_t last = channel_last(ch);
        after[i] = last * (i % 5) / 4;
        uar_subscribe_options options = follow(&followers[i], after[i]);
        assert_int_equal(subscription_open(&subs[i], h, &options, NULL), UAR_OK);
    }
    for (size_t i = 0; i < FOLLOWERS; i++) {
        assert_true(wait_until(&followers[i].closed));
        uar_subscription_free(subs[i]);
        assert_int_equal(atomic_load(&followers[i].faults), 0);
        assert_int_equal(followers[i].got, EVENTS - after[i]);
        assert_int_equal(followers[i].missed, 0);
        assert_true(atomic_load(&followers[i].destroyed));
    }
    thread_join(t);
    assert_int_equal(atomic_load(&p.faults), 0);
    channel_unref(ch);
    close_hub(h, &pool, &calls);
    assert_int_equal(uar_live_objects(), live);
}

static void test_E2_with_a_small_ring_gaps_and_events_together_are_everything_once(void **state) {
    (void)state;
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    channel *ch = open_channel(h, 1, &(ring_limits){ .events = 8 });
    publisher p = { .ch = ch, .count = EVENTS };
    static follower followers[8];
    uar_subscription *subs[8] = { NULL };
    memset(followers, 0, sizeof followers);
    for (size_t i = 0; i < 8; i++) {
        uar_subscribe_options options = follow(&followers[i], 0);
        assert_int_equal(subscription_open(&subs[i], h, &options, NULL), UAR_OK);
    }
    thread t;
    assert_int_equal(thread_start(&t, 0, publish_run, &p), UAR_OK);
    for (size_t i = 0; i < 8; i++) {
        assert_true(wait_until(&followers[i].closed));
        uar_subscription_free(subs[i]);
        assert_int_equal(atomic_load(&followers[i].faults), 0);
        assert_int_equal(followers[i].got + followers[i].missed, EVENTS);
    }
    thread_join(t);
    channel_unref(ch);
    close_hub(h, &pool, &calls);
}

static void test_N2_freeing_races_delivery_and_nothing_comes_after_destroy(void **state) {
    (void)state;
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    channel *ch = open_channel(h, 1, NULL);
    publisher p = { .ch = ch, .count = EVENTS };
    thread t;
    assert_int_equal(thread_start(&t, 0, publish_run, &p), UAR_OK);
    static follower f[200];
    memset(f, 0, sizeof f);
    for (size_t i = 0; i < 200; i++) {
        uar_subscription *sub = NULL;
        uar_subscribe_options options = follow(&f[i], channel_last(ch));
        assert_int_equal(subscription_open(&sub, h, &options, NULL), UAR_OK);
        uar_subscription_free(sub);
        assert_true(atomic_load(&f[i].destroyed));
    }
    thread_join(t);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(atomic_load(&f[i].faults), 0);
    channel_unref(ch);
    close_hub(h, &pool, &calls);
}

typedef struct puller {
    uar_subscription *sub;
    uint64_t got, closes, lost;
    uar_status last;
} puller;

static void pull_all(void *arg) {
    puller *p = arg;
    uar_next next;
    while ((p->last = uar_subscription_next(&next, p->sub, UAR_FOREVER)) == UAR_OK) {
        if (next.kind == UAR_NEXT_EVENT) {
            p->got++;
            uar_event_unref(next.event);
        } else if (next.kind == UAR_NEXT_CLOSED) {
            p->closes++;
        } else {
            p->lost += next.gap.last - next.gap.first + 1;
        }
    }
}

static void test_pullers_that_wait_for_ever_read_everything_and_end_when_the_hub_closes(void **state) {
    (void)state;
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    puller pullers[3] = { { NULL, 0, 0, 0, UAR_OK } };
    thread threads[3];
    for (size_t i = 0; i < 3; i++) {
        uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local" };
        assert_int_equal(subscription_open(&pullers[i].sub, h, &options, NULL), UAR_OK);
        assert_int_equal(thread_start(&threads[i], 0, pull_all, &pullers[i]), UAR_OK);
    }
    channel *ch = open_channel(h, 1, NULL);
    publisher p = { .ch = ch, .count = EVENTS };
    publish_run(&p);
    channel_unref(ch);
    hub_close(h);
    for (size_t i = 0; i < 3; i++) {
        thread_join(threads[i]);
        assert_int_equal(pullers[i].last, UAR_E_CLOSED);
        assert_int_equal(pullers[i].got + pullers[i].lost, EVENTS);
        assert_int_equal(pullers[i].closes, 1);
        uar_subscription_free(pullers[i].sub);
    }
    close_pool(&pool, &calls);
}

static void test_N1_freeing_a_pull_subscription_ends_the_wait_of_its_puller(void **state) {
    (void)state;
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    for (int i = 0; i < 50; i++) {
        puller p = { .last = UAR_OK };
        uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local" };
        assert_int_equal(subscription_open(&p.sub, h, &options, NULL), UAR_OK);
        subscription_ref(p.sub);
        thread t;
        assert_int_equal(thread_start(&t, 0, pull_all, &p), UAR_OK);
        uar_subscription_free(p.sub);
        thread_join(t);
        assert_int_equal(p.last, UAR_E_CLOSED);
        subscription_unref(p.sub);
    }
    close_hub(h, &pool, &calls);
}

/* Two subscribers whose callbacks free each other at the same time. */
typedef struct rival {
    _Atomic(uar_subscription *) victim;
    atomic_int *arrived;
    atomic_int destroys;
    atomic_bool done;
} rival;

static void rival_event(void *ctx, const uar_event *event) {
    rival *r = ctx;
    (void)event;
    uar_subscription *victim = atomic_exchange(&r->victim, NULL);
    if (victim == NULL) return;
    atomic_fetch_add(r->arrived, 1);
    /* Meet the other one inside its callback where the timing allows it. */
    for (int i = 0; i < 100000 && atomic_load(r->arrived) < 2; i++)
        continue;
    uar_subscription_free(victim);
    atomic_store(&r->done, true);
}

static void rival_destroy(void *ctx) {
    rival *r = ctx;
    atomic_fetch_add(&r->destroys, 1);
}

static void test_N1_two_callbacks_that_free_each_other_do_not_deadlock(void **state) {
    (void)state;
    int64_t live = uar_live_objects();
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    for (unsigned i = 0; i < 200; i++) {
        channel *ch = open_channel(h, i + 1, NULL);
        atomic_int arrived = 0;
        rival rivals[2];
        uar_subscription *subs[2] = { NULL, NULL };
        for (size_t k = 0; k < 2; k++) {
            rivals[k].arrived = &arrived;
            atomic_init(&rivals[k].destroys, 0);
            atomic_init(&rivals[k].done, false);
            atomic_init(&rivals[k].victim, NULL);
            uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT,
                                              .owner = "local",
                                              .ctx = &rivals[k],
                                              .on_event = rival_event,
                                              .destroy = rival_destroy };
            assert_int_equal(subscription_open(&subs[k], h, &options, NULL), UAR_OK);
        }
        atomic_store(&rivals[0].victim, subs[1]);
        atomic_store(&rivals[1].victim, subs[0]);
        publish_delta(ch, "fight");
        /* Who was freed before its turn never fires: at least one does, and frees the other. */
        for (int wait = 0; wait < 20000 && !atomic_load(&rivals[0].done) && !atomic_load(&rivals[1].done); wait++)
            pause_ms(1);
        hub_shut(h);
        channel_close(ch);
        channel_unref(ch);
        for (int wait = 0; wait < 20000 && !hub_is_quiet(h); wait++)
            pause_ms(1);
        assert_true(hub_is_quiet(h));
        for (size_t k = 0; k < 2; k++)
            uar_subscription_free(atomic_exchange(&rivals[k].victim, NULL));
        hub_close(h);
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(atomic_load(&rivals[k].destroys), 1);
        close_pool(&pool, &calls);
        h = open_hub(&pool, &calls);
    }
    close_hub(h, &pool, &calls);
    assert_int_equal(uar_live_objects(), live);
}

/* Many runs from many threads into one sink. */
enum { RUNS = 400, RUN_EVENTS = 20, RUN_THREADS = 3 };

typedef struct tally {
    atomic_int faults;
    uint64_t next[RUN_THREADS * RUNS + 1];
    uint64_t ended;
    uint64_t lost_runs;
    atomic_bool all_ended;
} tally;

static void tally_end(tally *t, uint64_t runs) {
    t->ended += runs;
    if (t->ended == RUN_THREADS * RUNS) atomic_store(&t->all_ended, true);
}

static unsigned number_of(uar_run_id run) {
    return (unsigned)run.bytes[14] << 8 | run.bytes[15];
}

static void tally_event(void *ctx, const uar_event *event) {
    tally *t = ctx;
    uint64_t *next = &t->next[number_of(event->run)];
    if (event->id != *next + 1) atomic_fetch_add(&t->faults, 1);
    *next = event->id;
}

static void tally_gap(void *ctx, const uar_gap *gap) {
    tally *t = ctx;
    if (uar_uuid_is_none(gap->run)) {
        t->lost_runs += gap->last - gap->first + 1;
        tally_end(t, gap->last - gap->first + 1);
        return;
    }
    uint64_t *next = &t->next[number_of(gap->run)];
    if (gap->first != *next + 1) atomic_fetch_add(&t->faults, 1);
    *next = gap->last;
}

static void tally_closed(void *ctx, uar_run_id run) {
    tally *t = ctx;
    if (t->next[number_of(run)] != RUN_EVENTS) atomic_fetch_add(&t->faults, 1);
    tally_end(t, 1);
}

typedef struct runner {
    hub *h;
    unsigned first;
    atomic_int faults;
} runner;

static void run_many(void *arg) {
    runner *r = arg;
    for (unsigned i = 0; i < RUNS; i++) {
        channel *ch = open_channel(r->h, r->first + i, NULL);
        if (ch == NULL) {
            atomic_fetch_add(&r->faults, 1);
            continue;
        }
        if (channel_reserve_terminal(ch) != UAR_OK) atomic_fetch_add(&r->faults, 1);
        for (int k = 0; k < RUN_EVENTS - 1; k++)
            if (publish_delta(ch, "x") != UAR_OK) atomic_fetch_add(&r->faults, 1);
        if (publish_done(ch) != UAR_OK) atomic_fetch_add(&r->faults, 1);
        channel_close(ch);
        channel_unref(ch);
    }
}

static void test_E1_many_runs_at_once_reach_a_sink_in_order_and_whole(void **state) {
    (void)state;
    int64_t live = uar_live_objects();
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    static tally t;
    memset(&t, 0, sizeof t);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = &t, .on_event = tally_event, .on_gap = tally_gap,
                            .on_closed = tally_closed };
    assert_int_equal(subscription_open_sink(h, &sink, NULL), UAR_OK);
    thread threads[RUN_THREADS];
    runner runners[RUN_THREADS];
    for (unsigned i = 0; i < RUN_THREADS; i++) {
        runners[i].h = h;
        runners[i].first = 1 + i * RUNS;
        atomic_init(&runners[i].faults, 0);
        assert_int_equal(thread_start(&threads[i], 0, run_many, &runners[i]), UAR_OK);
    }
    for (unsigned i = 0; i < RUN_THREADS; i++) {
        thread_join(threads[i]);
        assert_int_equal(atomic_load(&runners[i].faults), 0);
    }
    assert_true(wait_until(&t.all_ended));
    close_hub(h, &pool, &calls);
    assert_int_equal(atomic_load(&t.faults), 0);
    uint64_t unfinished = 0;
    for (unsigned run = 1; run <= RUN_THREADS * RUNS; run++)
        unfinished += t.next[run] != RUN_EVENTS;
    assert_int_equal(unfinished, t.lost_runs);
    assert_int_equal(uar_live_objects(), live);
}

static void test_N2_closing_the_hub_races_lanes_and_nothing_comes_after_it(void **state) {
    (void)state;
    for (int i = 0; i < 30; i++) {
        uar_executor pool;
        callouts calls;
        hub *h = open_hub(&pool, &calls);
        channel *ch = open_channel(h, 1, NULL);
        static follower f[4];
        memset(f, 0, sizeof f);
        uar_subscription *subs[4] = { NULL };
        for (size_t k = 0; k < 4; k++) {
            uar_subscribe_options options = follow(&f[k], 0);
            assert_int_equal(subscription_open(&subs[k], h, &options, NULL), UAR_OK);
        }
        publish_deltas(ch, 300);
        channel_unref(ch);
        hub_close(h);
        uint64_t got[4];
        for (size_t k = 0; k < 4; k++) {
            assert_true(atomic_load(&f[k].destroyed));
            got[k] = f[k].got;
        }
        close_pool(&pool, &calls);
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(f[k].got, got[k]);
            assert_int_equal(atomic_load(&f[k].faults), 0);
            uar_subscription_free(subs[k]);
        }
    }
}

/* Frees itself in its callback; its destroy takes a while. */
typedef struct leaver {
    _Atomic(uar_subscription *) self;
    atomic_bool destroying, destroyed;
} leaver;

static void leaver_event(void *ctx, const uar_event *event) {
    leaver *l = ctx;
    (void)event;
    uar_subscription_free(atomic_exchange(&l->self, NULL));
}

static void leaver_destroy(void *ctx) {
    leaver *l = ctx;
    atomic_store(&l->destroying, true);
    pause_ms(50);
    atomic_store(&l->destroyed, true);
}

static void test_N2_closing_the_hub_waits_for_a_destroy_that_a_callback_left_to_its_lane(void **state) {
    (void)state;
    uar_executor pool;
    callouts calls;
    hub *h = open_hub(&pool, &calls);
    channel *ch = open_channel(h, 1, NULL);
    static leaver l;
    atomic_init(&l.self, NULL);
    atomic_init(&l.destroying, false);
    atomic_init(&l.destroyed, false);
    uar_subscribe_options options = { .size = UAR_SUBSCRIBE_OPTIONS_INIT,
                                      .owner = "local",
                                      .ctx = &l,
                                      .on_event = leaver_event,
                                      .destroy = leaver_destroy };
    uar_subscription *sub = NULL;
    assert_int_equal(subscription_open(&sub, h, &options, NULL), UAR_OK);
    atomic_store(&l.self, sub);
    publish_deltas(ch, 1);
    channel_unref(ch);
    assert_true(wait_until(&l.destroying));
    hub_close(h);
    assert_true(atomic_load(&l.destroyed));
    close_pool(&pool, &calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_E2_replay_races_live_without_gap_or_double),
        cmocka_unit_test(test_E2_with_a_small_ring_gaps_and_events_together_are_everything_once),
        cmocka_unit_test(test_N2_freeing_races_delivery_and_nothing_comes_after_destroy),
        cmocka_unit_test(test_pullers_that_wait_for_ever_read_everything_and_end_when_the_hub_closes),
        cmocka_unit_test(test_N1_freeing_a_pull_subscription_ends_the_wait_of_its_puller),
        cmocka_unit_test(test_N1_two_callbacks_that_free_each_other_do_not_deadlock),
        cmocka_unit_test(test_E1_many_runs_at_once_reach_a_sink_in_order_and_whole),
        cmocka_unit_test(test_N2_closing_the_hub_races_lanes_and_nothing_comes_after_it),
        cmocka_unit_test(test_N2_closing_the_hub_waits_for_a_destroy_that_a_callback_left_to_its_lane),
    };
    return cmocka_run_group_tests_name("event threads", tests, NULL, NULL);
}
