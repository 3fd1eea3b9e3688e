/* Owns: the heap of armed timers. Invariants: heap[i]->index == i + 1; room for every reserved timer is allocated. */
#include "base/timer.h"

#include <assert.h>

#include "base/clock.h"

static void wake(void *arg) {
    (void)timers_run(arg);
}

static uint64_t first_at(timers *ts) {
    mutex_lock(&ts->lock);
    uint64_t at = ts->count > 0 ? ts->heap[0]->at : UINT64_MAX;
    mutex_unlock(&ts->lock);
    return at;
}

/* Asks for a wake-up at the first timer. Asking happens outside the lock, so another thread's newer wish may have been
 * overwritten: look again until what was asked for is what is wanted. */
static void request_wake(timers *ts) {
    uint64_t asked;
    do {
        asked = first_at(ts);
        ts->executor->wake_at(ts->executor->ctx, asked, wake, ts);
    } while (first_at(ts) < asked);
}

uar_status timers_init(timers *ts, const uar_allocator *alloc, const uar_clock *clock, const uar_executor *executor) {
    memset(ts, 0, sizeof *ts);
    ts->alloc = alloc;
    ts->clock = clock;
    ts->executor = executor;
    return mutex_init(&ts->lock);
}

void timers_dispose(timers *ts) {
    alloc_free(ts->alloc, ts->heap);
    mutex_dispose(&ts->lock);
}

uar_status timer_reserve(timers *ts, size_t count) {
    uar_status status = UAR_OK;
    mutex_lock(&ts->lock);
    if (ts->room + count > ts->cap) {
        size_t cap = ts->cap < 16 ? 16 : ts->cap * 2;
        if (cap < ts->room + count) cap = ts->room + count;
        timer **heap = alloc_resize(ts->alloc, ts->heap, cap * sizeof *heap);
        if (heap == NULL)
            status = UAR_E_NOMEM;
        else {
            ts->heap = heap;
            ts->cap = cap;
        }
    }
    if (status == UAR_OK) ts->room += count;
    mutex_unlock(&ts->lock);
    return status;
}

void timer_unreserve(timers *ts, size_t count) {
    mutex_lock(&ts->lock);
    assert(ts->room >= count);
    ts->room -= count;
    mutex_unlock(&ts->lock);
}

static void place(timers *ts, size_t i, timer *t) {
    ts->heap[i] = t;
    t->index = i + 1;
}

static void sift_up(timers *ts, size_t i, timer *t) {
    while (i > 0 && ts->heap[(i - 1) / 2]->at > t->at) {
        place(ts, i, ts->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(ts, i, t);
}

static void sift_down(timers *ts, size_t i, timer *t) {
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= ts->count) break;
        if (child + 1 < ts->count && ts->heap[child + 1]->at < ts->heap[child]->at) child++;
        if (ts->heap[child]->at >= t->at) break;
        place(ts, i, ts->heap[child]);
        i = child;
    }
    place(ts, i, t);
}

static void take_out(timers *ts, timer *t) {
    size_t i = t->index - 1;
    t->index = 0;
    timer *last = ts->heap[--ts->count];
    if (last == t) return;
    sift_down(ts, i, last);
    sift_up(ts, last->index - 1, last);
}

void timer_start(timers *ts, timer *t, uint64_t ms) {
    mutex_lock(&ts->lock);
    assert(t->index == 0 && ts->count < ts->room);
    t->at = clock_mono(ts->clock) + ms;
    sift_up(ts, ts->count++, t);
    bool is_first = ts->heap[0] == t;
    mutex_unlock(&ts->lock);
    if (is_first) request_wake(ts);
}

bool timer_stop(timers *ts, timer *t) {
    mutex_lock(&ts->lock);
    bool armed = t->index != 0;
    if (armed) take_out(ts, t);
    mutex_unlock(&ts->lock);
    return armed;
}

static uint32_t until(uint64_t at, uint64_t now) {
    if (at <= now) return 0;
    return at - now < UINT32_MAX ? (uint32_t)(at - now) : UINT32_MAX - 1;
}

uint32_t timers_next(timers *ts) {
    uint64_t now = clock_mono(ts->clock);
    mutex_lock(&ts->lock);
    uint32_t ms = ts->count == 0 ? UINT32_MAX : until(ts->heap[0]->at, now);
    mutex_unlock(&ts->lock);
    return ms;
}

/* Takes the first timer out if it is due by `now`. */
static bool take_due(timers *ts, uint64_t now, void (**fire)(void *), void **arg) {
    mutex_lock(&ts->lock);
    timer *t = ts->count > 0 ? ts->heap[0] : NULL;
    bool due = t != NULL && t->at <= now;
    if (due) {
        *fire = t->fire;
        *arg = t->arg;
        take_out(ts, t);
    }
    mutex_unlock(&ts->lock);
    return due;
}

uint32_t timers_run(timers *ts) {
    void (*fire)(void *) = NULL;
    void *arg = NULL;
    while (take_due(ts, clock_mono(ts->clock), &fire, &arg))
        fire(arg);
    request_wake(ts);
    return timers_next(ts);
}

void timers_flush(timers *ts) {
    void (*fire)(void *) = NULL;
    void *arg = NULL;
    while (take_due(ts, UINT64_MAX, &fire, &arg))
        fire(arg);
}
