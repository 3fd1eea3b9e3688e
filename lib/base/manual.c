/*
 * Owns: the queue of a runtime that the host pumps. Invariants: `wake` is called once an idle -> ready edge, outside the lock;
 * a pump that says that nothing is left has ended the readiness, so that the next task is an edge again.
 */
#include "base/executor.h"

typedef struct manual {
    uar_allocator alloc;
    mutex lock;
    condition ready;
    task_queue queue;
    size_t count;
    bool signalled; /* the host knows that there is work */
    uint64_t timer; /* when the first timer is due, as the host knows it; UINT64_MAX: none */
    void *wake_ctx;
    void (*wake)(void *ctx);
} manual;

static void manual_post(void *ctx, uar_task *slot, bool may_block) {
    (void)may_block;
    manual *m = ctx;
    mutex_lock(&m->lock);
    task_push(&m->queue, slot);
    m->count++;
    condition_signal(&m->ready);
    bool edge = !m->signalled;
    m->signalled = true;
    mutex_unlock(&m->lock);
    if (edge && m->wake != NULL) m->wake(m->wake_ctx);
}

/* The pump tells the host when it must come back, so timers need no wake-up of their own; a timer that moved nearer does. */
static void manual_wake_at(void *ctx, uint64_t mono_ms, uar_task_fn wake, void *arg) {
    (void)wake;
    (void)arg;
    manual *m = ctx;
    mutex_lock(&m->lock);
    bool edge = mono_ms < m->timer && !m->signalled;
    m->timer = mono_ms;
    if (edge) m->signalled = true;
    mutex_unlock(&m->lock);
    if (edge && m->wake != NULL) m->wake(m->wake_ctx);
}

uar_status manual_open(uar_executor *out, const manual_options *options) {
    manual *m = ALLOC_NEW(options->alloc, manual);
    if (m == NULL) return UAR_E_NOMEM;
    m->alloc = *options->alloc;
    m->timer = UINT64_MAX;
    m->wake_ctx = options->wake_ctx;
    m->wake = options->wake;
    uar_status status = mutex_init(&m->lock);
    if (status == UAR_OK) {
        status = condition_init(&m->ready);
        if (status != UAR_OK) mutex_dispose(&m->lock);
    }
    if (status != UAR_OK) {
        alloc_free(options->alloc, m);
        return status;
    }
    live_add(1);
    uar_executor e = { UAR_EXECUTOR_INIT, .ctx = m, .post = manual_post, .wake_at = manual_wake_at };
    *out = e;
    return UAR_OK;
}

bool manual_run_one(uar_executor *executor) {
    manual *m = executor->ctx;
    mutex_lock(&m->lock);
    uar_task *t = task_pop(&m->queue);
    if (t != NULL) m->count--;
    m->signalled = t != NULL;
    mutex_unlock(&m->lock);
    if (t == NULL) return false;
    t->fn(t->arg);
    return true;
}

size_t manual_count(uar_executor *executor) {
    manual *m = executor->ctx;
    mutex_lock(&m->lock);
    size_t count = m->count;
    if (count == 0) m->signalled = false;
    mutex_unlock(&m->lock);
    return count;
}

void manual_wait(uar_executor *executor, uint32_t ms) {
    manual *m = executor->ctx;
    mutex_lock(&m->lock);
    if (m->count == 0 && ms > 0) (void)condition_wait(&m->ready, &m->lock, ms);
    mutex_unlock(&m->lock);
}

void manual_close(uar_executor *executor) {
    manual *m = executor->ctx;
    uar_allocator alloc = m->alloc;
    condition_dispose(&m->ready);
    mutex_dispose(&m->lock);
    alloc_free(&alloc, m);
    live_add(-1);
}
