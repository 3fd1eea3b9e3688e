/*
 * Owns: worker threads. Two lanes: `quick` for work that doesn't wait, `slow` for what may block.
 * Invariants: a posted task runs exactly once; memory lives until the last thread has left.
 * Lock order: the pool's mutex is a leaf; never held while a task, a hook or the wake function runs.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/executor.h"

void task_push(task_queue *q, uar_task *t) {
    t->next = NULL;
    if (q->tail != NULL)
        q->tail->next = t;
    else
        q->head = t;
    q->tail = t;
}

uar_task *task_pop(task_queue *q) {
    uar_task *t = q->head;
    if (t == NULL) return NULL;
    q->head = t->next;
    if (q->head == NULL) q->tail = NULL;
    return t;
}

typedef struct lane {
    task_queue queue;
    size_t queued;
    condition ready;
    uint32_t threads; /* alive */
    uint32_t idle;    /* waiting for work, or woken and not yet at it */
    uint32_t max;
} lane;

typedef struct pool {
    uar_allocator alloc;
    uar_clock clock;
    mutex lock;
    condition left; /* a thread has left */
    lane quick, slow;
    uint32_t refs; /* threads and the owner; under the lock */
    bool closing;
    uint64_t wake_at; /* UINT64_MAX: none */
    uar_task_fn wake;
    void *wake_arg;
    void *hook_ctx;
    void (*started)(void *ctx);
    void (*stopping)(void *ctx);
} pool;

static void pool_free(pool *p) {
    uar_allocator alloc = p->alloc;
    condition_dispose(&p->quick.ready);
    condition_dispose(&p->slow.ready);
    condition_dispose(&p->left);
    mutex_dispose(&p->lock);
    alloc_free(&alloc, p);
    live_add(-1);
}

/* Under the lock: how long a quick thread may sleep. */
static uint32_t sleep_ms(const pool *p, uint64_t now) {
    if (p->wake_at == UINT64_MAX) return UAR_FOREVER;
    if (p->wake_at <= now) return 0;
    uint64_t ms = p->wake_at - now;
    return ms < 60000 ? (uint32_t)ms : 60000;
}

/* Under the lock, which it drops while it runs the wake function. True if it did. */
static bool run_due_wake(pool *p, lane *l) {
    if (l != &p->quick || p->wake_at == UINT64_MAX || p->wake_at > clock_mono(&p->clock)) return false;
    uar_task_fn wake = p->wake;
    void *arg = p->wake_arg;
    p->wake_at = UINT64_MAX;
    mutex_unlock(&p->lock);
    wake(arg);
    mutex_lock(&p->lock);
    return true;
}

/* Under the lock, which it drops while the task runs. */
static bool run_task(pool *p, lane *l) {
    uar_task *t = task_pop(&l->queue);
    if (t == NULL) return false;
    l->queued--;
    uar_task_fn fn = t->fn;
    void *arg = t->arg;
    mutex_unlock(&p->lock);
    fn(arg);
    mutex_lock(&p->lock);
    return true;
}

static void work(pool *p, lane *l) {
    if (p->started != NULL) p->started(p->hook_ctx);
    mutex_lock(&p->lock);
    for (;;) {
        if (run_due_wake(p, l) || run_task(p, l)) continue;
        if (p->closing) break;
        l->idle++;
        uint32_t ms = l == &p->quick ? sleep_ms(p, clock_mono(&p->clock)) : UAR_FOREVER;
        if (ms != 0) (void)condition_wait(&l->ready, &p->lock, ms);
        l->idle--;
    }
    l->threads--; /* from here on a task that is posted needs a new thread */
    mutex_unlock(&p->lock);
    if (p->stopping != NULL) p->stopping(p->hook_ctx);
    mutex_lock(&p->lock);
    bool last = --p->refs == 0;
    condition_broadcast(&p->left);
    mutex_unlock(&p->lock);
    if (last) pool_free(p);
}

static void work_quick(void *arg) {
    pool *p = arg;
    work(p, &p->quick);
}

static void work_slow(void *arg) {
    pool *p = arg;
    work(p, &p->slow);
}

/* Under the lock: one more thread for a lane whose threads all have work. Failing is fine while it has one. */
static uar_status grow(pool *p, lane *l) {
    thread t;
    l->threads++;
    p->refs++;
    if (thread_start(&t, POOL_STACK_BYTES, l == &p->quick ? work_quick : work_slow, p) == UAR_OK) {
        thread_detach(t);
        return UAR_OK;
    }
    l->threads--;
    p->refs--;
    return UAR_E_NOMEM;
}

static void pool_post(void *ctx, uar_task *slot, bool may_block) {
    pool *p = ctx;
    mutex_lock(&p->lock);
    lane *l = may_block ? &p->slow : &p->quick;
    /* Each queued task speaks for one idle thread: no task may wait behind one that blocks. */
    bool all_busy = l->queued >= l->idle && l->threads < l->max;
    if (all_busy && grow(p, l) != UAR_OK && l->threads == 0) l = &p->quick;
    task_push(&l->queue, slot);
    l->queued++;
    condition_signal(&l->ready);
    mutex_unlock(&p->lock);
}

static void pool_wake_at(void *ctx, uint64_t mono_ms, uar_task_fn wake, void *arg) {
    pool *p = ctx;
    mutex_lock(&p->lock);
    p->wake = wake;
    p->wake_arg = arg;
    p->wake_at = mono_ms;
    condition_signal(&p->quick.ready);
    mutex_unlock(&p->lock);
}

static uar_status pool_init(pool *p) {
    uar_status status = mutex_init(&p->lock);
    if (status != UAR_OK) return status;
    condition *conditions[] = { &p->left, &p->quick.ready, &p->slow.ready };
    for (size_t i = 0; i < 3; i++) {
        status = condition_init(conditions[i]);
        if (status == UAR_OK) continue;
        while (i > 0)
            condition_dispose(conditions[--i]);
        mutex_dispose(&p->lock);
        return status;
    }
    return UAR_OK;
}

uar_status pool_open(uar_executor *out, const pool_options *options) {
    pool *p = ALLOC_NEW(options->alloc, pool);
    if (p == NULL) return UAR_E_NOMEM;
    p->alloc = *options->alloc;
    p->clock = *options->clock;
    p->quick.max = options->threads != 0 ? options->threads : 2;
    p->slow.max = POOL_BLOCKING_MAX;
    p->refs = 1;
    p->wake_at = UINT64_MAX;
    p->hook_ctx = options->hook_ctx;
    p->started = options->started;
    p->stopping = options->stopping;
    uar_status status = pool_init(p);
    if (status != UAR_OK) {
        alloc_free(options->alloc, p);
        return status;
    }
    live_add(1);
    uar_executor e = { UAR_EXECUTOR_INIT, .ctx = p, .post = pool_post, .wake_at = pool_wake_at };
    mutex_lock(&p->lock);
    while (status == UAR_OK && p->quick.threads < p->quick.max)
        status = grow(p, &p->quick);
    bool usable = p->quick.threads > 0;
    mutex_unlock(&p->lock);
    if (!usable) {
        pool_free(p);
        return status;
    }
    *out = e;
    return UAR_OK;
}

bool pool_stop(uar_executor *executor, uint32_t deadline_ms) {
    pool *p = executor->ctx;
    uint64_t end = clock_mono(&clock_default) + deadline_ms;
    mutex_lock(&p->lock);
    p->closing = true;
    p->wake_at = UINT64_MAX;
    condition_broadcast(&p->quick.ready);
    condition_broadcast(&p->slow.ready);
    while (p->refs > 1) {
        uint64_t now = clock_mono(&clock_default);
        if (now >= end) break;
        (void)condition_wait(&p->left, &p->lock, (uint32_t)(end - now));
    }
    bool all_left = p->refs == 1;
    mutex_unlock(&p->lock);
    return all_left;
}

void pool_release(uar_executor *executor) {
    pool *p = executor->ctx;
    mutex_lock(&p->lock);
    bool last = --p->refs == 0;
    mutex_unlock(&p->lock);
    if (last) pool_free(p);
}
