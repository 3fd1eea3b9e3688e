/*
 * A memory of which the calls run later: on its own pool, or on an executor that the test pumps; and what a receiver heard.
 */
#ifndef UAR_TESTS_UNIT_MEMORY_ASYNC_FIXTURE_H
#define UAR_TESTS_UNIT_MEMORY_ASYNC_FIXTURE_H

#include "test_memory_fixture.h"

#include <time.h>

#include <uar/memory_async.h>

#include "base/executor.h"
#include "memory/service.h"
#include "support/embedder.h"
#include "support/probe_alloc.h"

typedef struct async_fixture {
    memory_fixture f;
    test_embedder e;
    uar_executor manual; /* pumped by the test */
    bool has_manual, executor_destroyed;
    atomic_bool doors_gone; /* the clock goes last */
    uar_memory *memory;
} async_fixture;

/* What a receiver heard. */
typedef struct heard {
    async_fixture *x;
    mutex lock;
    condition changed;
    int calls;
    uar_status status;
    char message[64];
    uar_memory_change change;
    size_t count;
    char first[64];
    uint64_t number;
    uar_status inside; /* of a `_sync` call made in the receiver */
    bool asks_inside, frees_inside;
} heard;

static inline void heard_init(heard *h, async_fixture *x) {
    memset(h, 0, sizeof *h);
    h->x = x;
    h->status = UAR_E_INTERNAL;
    assert_int_equal(mutex_init(&h->lock), UAR_OK);
    assert_int_equal(condition_init(&h->changed), UAR_OK);
}

static inline void heard_dispose(heard *h) {
    condition_dispose(&h->changed);
    mutex_dispose(&h->lock);
}

static inline void hear(heard *h, uar_status status, const uar_error *err) {
    mutex_lock(&h->lock);
    h->calls++;
    h->status = status;
    if (err != NULL) (void)snprintf(h->message, sizeof h->message, "%.60s", err->message);
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
}

static inline int heard_calls(heard *h) {
    mutex_lock(&h->lock);
    int calls = h->calls;
    mutex_unlock(&h->lock);
    return calls;
}

/* Wait until it was called so often. */
static inline void await(heard *h, int calls) {
    mutex_lock(&h->lock);
    for (int i = 0; i < 200 && h->calls < calls; i++)
        (void)condition_wait(&h->changed, &h->lock, 100);
    mutex_unlock(&h->lock);
    assert_int_equal(heard_calls(h), calls);
}

/* ---- receivers ---- */

static inline void on_change(void *ctx, uar_status status, const uar_memory_change *change, const uar_error *err) {
    heard *h = ctx;
    if (change != NULL) h->change = *change;
    if (h->asks_inside) {
        uar_identity who = user_of("u1");
        uar_memory_stats stats;
        h->inside = uar_memory_stats_sync(&stats, h->x->memory, &who, NULL, NULL);
    }
    if (h->frees_inside) {
        uar_memory *memory = h->x->memory;
        h->x->memory = NULL;
        uar_memory_free(memory);
    }
    hear(h, status, err);
}

static inline void on_records(void *ctx, uar_status status, uar_memory_records *records, const uar_error *err) {
    heard *h = ctx;
    h->count = records != NULL ? records->count : 0;
    if (h->count != 0)
        (void)snprintf(h->first, sizeof h->first, "%.*s", (int)records->records[0].content.len,
                       records->records[0].content.ptr);
    uar_memory_records_free(records);
    hear(h, status, err);
}

static inline void on_done(void *ctx, uar_status status, const uar_error *err) {
    hear(ctx, status, err);
}

static inline uar_status count_line(void *ctx, uar_str piece) {
    heard *h = ctx;
    h->count++;
    return piece.len != 0 ? UAR_OK : UAR_E_INTERNAL;
}

static inline void count_failed(void *ctx, uint64_t line, const uar_error *err) {
    heard *h = ctx;
    assert_non_null(err);
    h->count = (size_t)line;
}

/* ---- the fixture ---- */

static inline void executor_gone(void *ctx) {
    async_fixture *x = ctx;
    x->executor_destroyed = true;
    manual_close(&x->manual);
}

static inline void post_manual(void *ctx, uar_task *slot, bool may_block) {
    async_fixture *x = ctx;
    assert_true(may_block);
    x->manual.post(x->manual.ctx, slot, may_block);
}

static inline void wake_manual(void *ctx, uint64_t mono_ms, uar_task_fn wake, void *arg) {
    (void)ctx, (void)mono_ms, (void)wake, (void)arg;
}

static inline size_t pump(async_fixture *x) {
    size_t ran = 0;
    while (!x->executor_destroyed && manual_run_one(&x->manual))
        ran++;
    return ran;
}

static inline void clock_gone(void *ctx) {
    async_fixture *x = (async_fixture *)ctx; /* its first member */
    atomic_store(&x->doors_gone, true);
}

static inline async_fixture *fixture_new(bool pumped, const uar_allocator *a, bool lexical) {
    async_fixture *x = calloc(1, sizeof *x);
    assert_non_null(x);
    x->f.live_before = uar_live_objects();
    atomic_init(&x->f.now, FIXTURE_START);
    x->f.clock =
        (uar_clock){ .struct_size = UAR_CLOCK_INIT, .ctx = &x->f, .wall_ms = fixture_wall, .mono_ms = fixture_mono };
    x->f.clock.destroy = clock_gone;
    fixture_folder(&x->f);
    embedder_init(&x->e, "words-32");
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x->f.clock;
    options.embedder = lexical ? NULL : &x->e.door;
    options.allocator = a;
    uar_executor door = { UAR_EXECUTOR_INIT, .ctx = x, .destroy = executor_gone, .post = post_manual,
                          .wake_at = wake_manual };
    if (pumped) {
        manual_options manual = { .alloc = &alloc_default };
        assert_int_equal(manual_open(&x->manual, &manual), UAR_OK);
        x->has_manual = true;
        options.executor = &door;
    }
    x->memory = uar_memory_open(x->f.path, &options);
    assert_int_equal(uar_memory_state(x->memory, NULL), UAR_MEMORY_READY);
    return x;
}

static inline int pool_setup(void **state) {
    *state = fixture_new(false, NULL, false);
    return 0;
}

static inline int manual_setup(void **state) {
    async_fixture *x = fixture_new(true, NULL, false);
    (void)pump(x); /* what a memory begins by itself */
    *state = x;
    return 0;
}

static inline bool is_over(async_fixture *x) {
    return atomic_load(&x->doors_gone) && uar_live_objects() == x->f.live_before;
}

static inline int fixture_free(async_fixture *x) {
    uar_memory_free(x->memory);
    if (x->has_manual) (void)pump(x);
    int wrong = x->has_manual && !x->executor_destroyed;
    const char *const suffixes[] = { "", "-wal", "-shm" };
    for (size_t i = 0; i < 3; i++)
        fixture_remove(&x->f, suffixes[i]);
    rmdir(x->f.folder);
    /* A pool that was stopped from inside ends by itself, a little later. */
    for (int i = 0; i < 200 && !is_over(x); i++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    wrong |= !is_over(x);
    embedder_dispose(&x->e);
    free(x);
    return wrong;
}

static inline int teardown(void **state) {
    return fixture_free(*state);
}

/* ---- allocations ---- */

typedef uar_status (*begin_fn)(async_fixture *x, heard *h);

/* Begin it, and let it run when all that it was given is gone. */
static inline void play(async_fixture *x, heard *h, begin_fn begin) {
    int before = heard_calls(h);
    h->count = 0;
    h->first[0] = '\0';
    assert_int_equal(begin(x, h), UAR_OK);
    if (x->has_manual) assert_int_equal(heard_calls(h), before);
    if (x->has_manual) (void)pump(x);
    await(h, before + 1);
    if (h->status != UAR_OK) fail_msg("%s: %s", uar_status_name(h->status), h->message);
}

/* The n-th allocation of a call fails, once or for good: it is told UAR_E_NOMEM, at once or later, or nothing happened. */
static inline void sweep(async_fixture *x, probe_alloc *probe, begin_fn begin, void (*prepare)(async_fixture *x),
                         bool for_good) {
    for (unsigned long at = 1;; at++) {
        if (prepare != NULL) prepare(x);
        heard h;
        heard_init(&h, x);
        long before = probe->alive;
        probe_alloc_arm(probe, at, for_good);
        uar_status status = begin(x, &h);
        bool failed = probe_alloc_has_failed(probe);
        if (status != UAR_OK) {
            assert_int_equal(status, UAR_E_NOMEM);
            assert_int_equal(probe->alive, before);
        }
        (void)pump(x);
        bool failed_later = probe_alloc_has_failed(probe);
        probe_alloc_arm(probe, 0, false);
        assert_int_equal(h.calls, status == UAR_OK ? 1 : 0);
        /* Vectors may be missing; a record that is there is whole. */
        if (status == UAR_OK && h.status != UAR_OK) assert_int_equal(h.status, UAR_E_NOMEM);
        heard_dispose(&h);
        assert_true(status == UAR_OK || failed);
        if (!failed_later) break;
    }
}

/* Each of these calls, on a pumped executor, with what `fill` (may be NULL) wrote. `again`: it writes before each attempt, so
 * that a call which can be made once only is made anew. */
static inline void sweep_all(const begin_fn *calls, size_t count, void (*fill)(async_fixture *x), bool again,
                             bool lexical) {
    probe_alloc probe;
    probe_alloc_init(&probe);
    async_fixture *x = fixture_new(true, &probe.door, lexical);
    if (fill != NULL) fill(x);
    for (size_t i = 0; i < count; i++) {
        sweep(x, &probe, calls[i], again ? fill : NULL, false);
        sweep(x, &probe, calls[i], again ? fill : NULL, true);
    }
    assert_int_equal(fixture_free(x), 0);
    assert_int_equal(probe.alive, 0);
}

#define ON_POOL(name) cmocka_unit_test_setup_teardown(name, pool_setup, teardown)
#define PUMPED(name) cmocka_unit_test_setup_teardown(name, manual_setup, teardown)

#endif
