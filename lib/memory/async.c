/*
 * Owns: the queue of calls that run later, and who works on it.
 * Invariants: each request that was queued is told exactly once; `posted` of a worker is true from before it is posted until
 * it has found nothing to do; a posted worker holds a reference of the lane; `busy` counts who still uses the memory, as a
 * worker or in the call that wakes one.
 */
#include "memory/async.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/executor.h"
#include "base/str.h"
#include "memory/service.h"

typedef struct worker {
    uar_task task;
    struct async_lane *lane;
    bool posted;
} worker;

struct async_lane {
    uar_allocator alloc;
    atomic_uint refs;
    uar_executor executor; /* post is NULL: none yet */
    bool is_own;           /* it is a pool of ours */
    mutex lock;            /* guards what follows, and the opening of the pool */
    condition quiet;
    uar_memory *memory; /* NULL: closed */
    deferred *head, *tail;
    size_t busy; /* who is about to let go of the memory */
    worker workers[ASYNC_AT_ONCE];
};

/* ---- the lane ---- */

static void destroy_executor(const uar_executor *e) {
    if (e->destroy != NULL) e->destroy(e->ctx);
}

uar_status async_open(uar_memory *m, const uar_executor *executor) {
    async_lane *lane = ALLOC_NEW(&m->alloc, async_lane);
    bool made = lane != NULL && mutex_init(&lane->lock) == UAR_OK;
    if (made && condition_init(&lane->quiet) != UAR_OK) {
        mutex_dispose(&lane->lock);
        made = false;
    }
    if (!made) {
        alloc_free(&m->alloc, lane);
        destroy_executor(executor);
        return UAR_E_NOMEM;
    }
    lane->alloc = m->alloc;
    atomic_init(&lane->refs, 1);
    lane->executor = *executor;
    lane->memory = m;
    for (size_t i = 0; i < ASYNC_AT_ONCE; i++)
        lane->workers[i].lane = lane;
    m->lane = lane;
    return UAR_OK;
}

void async_release(async_lane *lane) {
    if (lane == NULL || atomic_fetch_sub(&lane->refs, 1) != 1) return;
    assert(lane->head == NULL);
    uar_allocator alloc = lane->alloc;
    uar_executor executor = lane->executor;
    if (lane->is_own)
        pool_release(&executor);
    else
        destroy_executor(&executor);
    condition_dispose(&lane->quiet);
    mutex_dispose(&lane->lock);
    alloc_free(&alloc, lane);
}

bool async_has_executor(const uar_memory *m) {
    return m->lane->executor.post != NULL && !m->lane->is_own;
}

/* Under the lock. */
static uar_status need_executor(async_lane *lane, uar_error *err) {
    if (lane->executor.post != NULL) return UAR_OK;
    pool_options options = { .alloc = &lane->alloc, .clock = &clock_default, .threads = ASYNC_AT_ONCE };
    uar_status status = pool_open(&lane->executor, &options);
    if (status != UAR_OK) return error_plain(err, status);
    lane->is_own = true;
    return UAR_OK;
}

/* Under the lock. Who calls the host's executor may be overtaken by all that follows, the end of the memory among it. */
static void hold(async_lane *lane, uar_memory *m) {
    lane->busy++;
    memory_pin(m);
    atomic_fetch_add(&lane->refs, 1);
}

/* Who frees the memory waits for this: nothing may be done with it afterwards. */
static void let_go(async_lane *lane, uar_memory *m) {
    memory_unpin(m);
    mutex_lock(&lane->lock);
    lane->busy--;
    condition_broadcast(&lane->quiet);
    mutex_unlock(&lane->lock);
    async_release(lane);
}

/* Under the lock: a worker for the queue, if one is idle; it is marked, and posted by the caller without the lock. */
static worker *call_worker(async_lane *lane) {
    for (size_t i = 0; i < ASYNC_AT_ONCE; i++) {
        worker *w = &lane->workers[i];
        if (w->posted) continue;
        w->posted = true;
        atomic_fetch_add(&lane->refs, 1);
        return w;
    }
    return NULL;
}

/* ---- one request ---- */

uar_status async_new(deferred **out, const operation *op, uar_memory *m, uar_error *err) {
    uar_status status = memory_ready(m, err);
    if (status != UAR_OK) return status;
    if (callout_is_restricted(&m->embed.calls)) return error_plain(err, UAR_E_REENTRANT);
    deferred *r = ALLOC_NEW(&m->alloc, deferred);
    if (r == NULL) return error_plain(err, UAR_E_NOMEM);
    r->op = op;
    r->alloc = m->alloc;
    arena_init(&r->ar, &r->alloc);
    *out = r;
    return UAR_OK;
}

void async_free(deferred *r) {
    arena_dispose(&r->ar);
    uar_allocator alloc = r->alloc;
    alloc_free(&alloc, r);
}

/* Tell the end of a request, which then is gone. */
static void finish(deferred *r, uar_memory *m, uar_status status, const uar_error *err) {
    callout_frame frame;
    callout_enter(&m->embed.calls, &frame, CALLOUT_REPLY);
    r->op->tell(r, status, status == UAR_OK ? NULL : err);
    callout_leave(&m->embed.calls, &frame);
    async_free(r);
}

/* Under the lock. */
static void enqueue(async_lane *lane, deferred *r) {
    r->next = NULL;
    if (lane->tail != NULL)
        lane->tail->next = r;
    else
        lane->head = r;
    lane->tail = r;
}

/* True if it was queued again. */
static bool queue_again(async_lane *lane, deferred *r) {
    mutex_lock(&lane->lock);
    bool open = lane->memory != NULL;
    if (open) enqueue(lane, r);
    mutex_unlock(&lane->lock);
    return open;
}

static void perform(async_lane *lane, deferred *r, uar_memory *m) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = r->op->run(r, m, &err);
    if (status == UAR_OK && r->op->goes_on != NULL && r->op->goes_on(r)) {
        if (queue_again(lane, r)) return;
        status = error_set(&err, UAR_E_CANCELLED, "the memory was closed");
    }
    finish(r, m, status, &err);
}

/* ---- working ---- */

/* The next request, its memory pinned. Without one the worker is idle. */
static deferred *take(async_lane *lane, worker *w, uar_memory **memory) {
    mutex_lock(&lane->lock);
    deferred *r = lane->head;
    if (r != NULL) {
        lane->head = r->next;
        if (lane->head == NULL) lane->tail = NULL;
        *memory = lane->memory;
        hold(lane, lane->memory);
    } else {
        w->posted = false;
    }
    mutex_unlock(&lane->lock);
    return r;
}

/* True if there is more to do: then the worker has a new reference of the lane. Else it is idle. */
static bool is_needed(async_lane *lane, worker *w) {
    mutex_lock(&lane->lock);
    bool more = lane->head != NULL;
    w->posted = more;
    if (more) atomic_fetch_add(&lane->refs, 1);
    mutex_unlock(&lane->lock);
    return more;
}

static void post(async_lane *lane, worker *w, uar_memory *m) {
    callout_frame frame;
    callout_enter(&m->embed.calls, &frame, CALLOUT_EXECUTOR);
    lane->executor.post(lane->executor.ctx, &w->task, !lane->is_own);
    callout_leave(&m->embed.calls, &frame);
}

/* One request a task, so that an executor can do other things between them. */
static void work(void *arg) {
    worker *w = arg;
    async_lane *lane = w->lane;
    uar_memory *m = NULL;
    deferred *r = take(lane, w, &m);
    if (r != NULL) {
        perform(lane, r, m);
        if (is_needed(lane, w)) post(lane, w, m);
        let_go(lane, m);
    }
    async_release(lane);
}

uar_status async_submit(deferred *r, uar_memory *m, uar_error *err) {
    async_lane *lane = m->lane;
    uar_status status = r->lacks_memory ? error_plain(err, UAR_E_NOMEM) : UAR_OK;
    worker *w = NULL;
    mutex_lock(&lane->lock);
    if (status == UAR_OK && lane->memory == NULL) status = error_set(err, UAR_E_CLOSED, "the memory is being freed");
    if (status == UAR_OK) status = need_executor(lane, err);
    if (status == UAR_OK) {
        enqueue(lane, r);
        w = call_worker(lane);
    }
    if (w != NULL) hold(lane, m);
    mutex_unlock(&lane->lock);
    if (status != UAR_OK) async_free(r);
    if (w != NULL) {
        w->task.fn = work;
        w->task.arg = w;
        post(lane, w, m);
        let_go(lane, m);
    }
    return status;
}

/* ---- the end ---- */

static deferred *shut(async_lane *lane) {
    mutex_lock(&lane->lock);
    lane->memory = NULL;
    deferred *queued = lane->head;
    lane->head = lane->tail = NULL;
    mutex_unlock(&lane->lock);
    return queued;
}

static void wait_until_quiet(async_lane *lane) {
    mutex_lock(&lane->lock);
    while (lane->busy != 0)
        (void)condition_wait(&lane->quiet, &lane->lock, UAR_FOREVER);
    mutex_unlock(&lane->lock);
}

void async_close(uar_memory *m) {
    async_lane *lane = m->lane;
    if (lane == NULL) return;
    bool waits = !embed_is_inside(m);
    deferred *queued = shut(lane);
    uar_error err = UAR_ERROR_INIT;
    error_set(&err, UAR_E_CANCELLED, "the memory was closed before the call began");
    while (queued != NULL) {
        deferred *r = queued;
        queued = r->next;
        finish(r, m, UAR_E_CANCELLED, &err);
    }
    if (waits) wait_until_quiet(lane);
    /* From a thread of the pool its end can't be waited for. */
    if (lane->is_own) (void)pool_stop(&lane->executor, waits ? UAR_FOREVER - 1 : 0);
}
