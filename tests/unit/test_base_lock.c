/* What lib/base/lock promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/lock.h"

enum { THREADS = 8, ROUNDS = 20000 };

typedef struct room {
    mutex lock;
    condition changed;
    long count;
    int inside;
    bool is_open;
    thread_id seen;
} room;

static void room_init(room *r) {
    memset(r, 0, sizeof *r);
    assert_int_equal(mutex_init(&r->lock), UAR_OK);
    assert_int_equal(condition_init(&r->changed), UAR_OK);
}

static void room_dispose(room *r) {
    condition_dispose(&r->changed);
    mutex_dispose(&r->lock);
}

static void count_up(void *arg) {
    room *r = arg;
    for (int i = 0; i < ROUNDS; i++) {
        mutex_lock(&r->lock);
        r->count++;
        mutex_unlock(&r->lock);
    }
}

static void test_a_mutex_lets_one_thread_in_at_a_time(void **state) {
    (void)state;
    room r;
    room_init(&r);
    thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], 0, count_up, &r), UAR_OK);
    for (int i = 0; i < THREADS; i++)
        thread_join(threads[i]);
    assert_int_equal(r.count, (long)THREADS * ROUNDS);
    room_dispose(&r);
}

static void test_a_timed_wait_ends_after_its_time_and_not_before(void **state) {
    (void)state;
    room r;
    room_init(&r);
    mutex_lock(&r.lock);
    uint64_t start = clock_mono(&clock_default);
    while (condition_wait(&r.changed, &r.lock, 30)) /* a spurious wake-up only starts the wait again */
        start = clock_mono(&clock_default);
    uint64_t waited = clock_mono(&clock_default) - start;
    mutex_unlock(&r.lock);
    assert_true(waited >= 29);
    room_dispose(&r);
}

static void test_a_wait_of_zero_ends_at_once(void **state) {
    (void)state;
    room r;
    room_init(&r);
    mutex_lock(&r.lock);
    int tries = 0;
    while (condition_wait(&r.changed, &r.lock, 0) && tries < 1000)
        tries++;
    assert_true(tries < 1000);
    mutex_unlock(&r.lock);
    room_dispose(&r);
}

static void wait_inside(void *arg) {
    room *r = arg;
    mutex_lock(&r->lock);
    r->inside++;
    condition_broadcast(&r->changed);
    while (!r->is_open)
        condition_wait(&r->changed, &r->lock, UAR_FOREVER);
    r->count++;
    mutex_unlock(&r->lock);
}

static void test_a_broadcast_wakes_all_who_wait(void **state) {
    (void)state;
    room r;
    room_init(&r);
    thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], 64 * 1024, wait_inside, &r), UAR_OK);
    mutex_lock(&r.lock);
    while (r.inside < THREADS)
        condition_wait(&r.changed, &r.lock, UAR_FOREVER);
    r.is_open = true;
    condition_broadcast(&r.changed);
    mutex_unlock(&r.lock);
    for (int i = 0; i < THREADS; i++)
        thread_join(threads[i]);
    assert_int_equal(r.count, THREADS);
    room_dispose(&r);
}

static void take_turn(void *arg) {
    room *r = arg;
    for (int i = 0; i < 500; i++) {
        mutex_lock(&r->lock);
        while (r->count % 2 == 0)
            condition_wait(&r->changed, &r->lock, 1000);
        r->count++;
        condition_signal(&r->changed);
        mutex_unlock(&r->lock);
    }
}

static void test_a_signal_wakes_the_one_who_waits(void **state) {
    (void)state;
    room r;
    room_init(&r);
    thread other;
    assert_int_equal(thread_start(&other, 0, take_turn, &r), UAR_OK);
    for (int i = 0; i < 500; i++) {
        mutex_lock(&r.lock);
        while (r.count % 2 == 1)
            condition_wait(&r.changed, &r.lock, 1000);
        r.count++;
        condition_signal(&r.changed);
        mutex_unlock(&r.lock);
    }
    thread_join(other);
    assert_int_equal(r.count, 1000);
    room_dispose(&r);
}

static void note_self(void *arg) {
    room *r = arg;
    r->seen = thread_self();
}

static void test_threads_know_themselves(void **state) {
    (void)state;
    room r;
    room_init(&r);
    thread other;
    assert_int_equal(thread_start(&other, 0, note_self, &r), UAR_OK);
    thread_join(other);
    assert_true(thread_is(thread_self(), thread_self()));
    assert_false(thread_is(thread_self(), r.seen));
    room_dispose(&r);
}

/* GCC's ThreadSanitizer keeps most of a small stack for itself. */
#if defined(__SANITIZE_THREAD__)
enum { STACK_USE = 64 * 1024 };
#else
enum { STACK_USE = 448 * 1024 };
#endif

static void fill_stack(void *arg) {
    volatile unsigned char bytes[STACK_USE];
    for (size_t i = 0; i < sizeof bytes; i += 512)
        bytes[i] = (unsigned char)(i / 512);
    bool *is_done = arg;
    *is_done = bytes[512] == 1;
}

static void test_a_thread_has_the_stack_it_was_given(void **state) {
    (void)state;
    bool is_done = false;
    thread other;
    assert_int_equal(thread_start(&other, 512 * 1024, fill_stack, &is_done), UAR_OK);
    thread_join(other);
    assert_true(is_done);
}

static void test_a_stack_that_no_machine_has_is_refused(void **state) {
    (void)state;
    room r;
    room_init(&r);
    thread other;
    assert_int_equal(thread_start(&other, SIZE_MAX / 4, note_self, &r), UAR_E_NOMEM);
    room_dispose(&r);
}

static void test_a_constant_initialiser_makes_a_usable_mutex(void **state) {
    (void)state;
    mutex m = MUTEX_INIT;
    mutex_lock(&m);
    mutex_unlock(&m);
    mutex_dispose(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mutex_lets_one_thread_in_at_a_time),
        cmocka_unit_test(test_a_timed_wait_ends_after_its_time_and_not_before),
        cmocka_unit_test(test_a_wait_of_zero_ends_at_once),
        cmocka_unit_test(test_a_broadcast_wakes_all_who_wait),
        cmocka_unit_test(test_a_signal_wakes_the_one_who_waits),
        cmocka_unit_test(test_threads_know_themselves),
        cmocka_unit_test(test_a_thread_has_the_stack_it_was_given),
        cmocka_unit_test(test_a_stack_that_no_machine_has_is_refused),
        cmocka_unit_test(test_a_constant_initialiser_makes_a_usable_mutex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
