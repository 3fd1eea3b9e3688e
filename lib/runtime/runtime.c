/* Owns: the life of a runtime after it was built. See runtime.h for the invariant. */
#include "runtime/runtime.h"

#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "base/str.h"

/* What closing gives a step at least, however short the caller's deadline is. */
#define CLOSE_LEAST_MS 200

static void dispose(run_env *env) {
    uar_runtime *rt = (uar_runtime *)env; /* its first member */
    if (rt->stage >= BUILT_PULSE) pulse_dispose(&env->pulse);
    if (rt->stage >= BUILT_STORE) store_release(env->store);
    if (rt->stage >= BUILT_TIMERS) timers_dispose(&env->timers);
    if (rt->stage >= BUILT_EXECUTOR) {
        if (rt->source == EXECUTOR_POOL)
            pool_release(&env->executor);
        else if (rt->source == EXECUTOR_MANUAL)
            manual_close(&env->executor);
        else if (rt->host_executor.destroy != NULL)
            rt->host_executor.destroy(rt->host_executor.ctx);
    }
    if (rt->stage >= BUILT_LOCKS) {
        manager_dispose(&rt->manager);
        mutex_dispose(&env->lock);
        callouts_dispose(&env->calls);
    }
    map_dispose(&env->sessions);
    tool_registry_dispose(&env->tools);
    for (size_t i = 0; i < env->model_count; i++) {
        if (env->models[i].door.destroy != NULL) env->models[i].door.destroy(env->models[i].door.ctx);
        alloc_free(&env->alloc, env->models[i].name);
    }
    alloc_free(&env->alloc, env->models);
    alloc_free(&env->alloc, env->instructions);
    if (env->memory != NULL) env->memory_use->release(env->memory);
    if (env->clock.destroy != NULL) env->clock.destroy(env->clock.ctx);
    if (env->random.destroy != NULL) env->random.destroy(env->random.ctx);
    if (env->log.destroy != NULL) env->log.destroy(env->log.ctx);
    uar_allocator alloc = env->alloc;
    alloc_free(&alloc, rt);
    live_add(-1);
}

uar_runtime *runtime_new(const uar_allocator *alloc) {
    uar_runtime *rt = ALLOC_NEW(alloc, uar_runtime);
    if (rt == NULL) return NULL;
    rt->env.alloc = *alloc;
    atomic_init(&rt->env.refs, 1);
    atomic_init(&rt->env.reload_each_step, false);
    rt->env.dispose = dispose;
    rt->env.watch = (run_watch){ &rt->manager, manager_run_ended, manager_run_told, manager_run_closed };
    map_init(&rt->env.sessions, &rt->env.alloc);
    tool_registry_init(&rt->env.tools, &rt->env.alloc);
    live_add(1);
    return rt;
}

uar_status runtime_check_call(uar_runtime *rt, uar_error *err) {
    if (rt == NULL) return error_set(err, UAR_E_INVALID, "the runtime is NULL");
    if (callout_is_restricted(&rt->env.calls)) return error_plain(err, UAR_E_REENTRANT);
    return UAR_OK;
}

uar_status runtime_check_wait(uar_runtime *rt, uar_error *err) {
    if (rt == NULL) return error_set(err, UAR_E_INVALID, "the runtime is NULL");
    if (callout_is_inside(&rt->env.calls)) return error_plain(err, UAR_E_WOULD_DEADLOCK);
    return UAR_OK;
}

/* ---- the host's executor ---- */

static void post_to_host(void *ctx, uar_task *slot, bool may_block) {
    uar_runtime *rt = ctx;
    callout_frame frame;
    env_ref(&rt->env); /* the task may run, and be the last, before this returns */
    callout_enter(&rt->env.calls, &frame, CALLOUT_EXECUTOR);
    rt->host_executor.post(rt->host_executor.ctx, slot, may_block);
    callout_leave(&rt->env.calls, &frame);
    env_unref(&rt->env);
}

static void wake_host_at(void *ctx, uint64_t mono_ms, uar_task_fn wake, void *arg) {
    uar_runtime *rt = ctx;
    callout_frame frame;
    env_ref(&rt->env);
    callout_enter(&rt->env.calls, &frame, CALLOUT_EXECUTOR);
    rt->host_executor.wake_at(rt->host_executor.ctx, mono_ms, wake, arg);
    callout_leave(&rt->env.calls, &frame);
    env_unref(&rt->env);
}

void runtime_use_host_executor(uar_runtime *rt, const uar_executor *door) {
    rt->host_executor = *door;
    rt->env.executor = (uar_executor){ UAR_EXECUTOR_INIT, .ctx = rt, .post = post_to_host, .wake_at = wake_host_at };
}

/* ---- manual work ---- */

void runtime_work(uar_runtime *rt, uint32_t ms) {
    assert(rt->source == EXECUTOR_MANUAL);
    uint32_t next = timers_run(&rt->env.timers);
    if (manual_run_one(&rt->env.executor)) return;
    manual_wait(&rt->env.executor, next < ms ? next : ms);
}

uint32_t uar_runtime_pump(uar_runtime *rt, uint32_t budget_ms) {
    if (rt == NULL || rt->source != EXECUTOR_MANUAL || callout_is_inside(&rt->env.calls)) return UINT32_MAX;
    uint64_t end = clock_mono(&clock_default) + budget_ms;
    (void)timers_run(&rt->env.timers);
    /* One pass runs what was ready when it began; what that makes ready waits for the next. */
    size_t ready = manual_count(&rt->env.executor);
    bool more = ready > 0;
    while (more && manual_run_one(&rt->env.executor)) {
        if (ready > 0) ready--;
        more = budget_ms == 0 ? ready > 0 : clock_mono(&clock_default) < end;
        if (more) (void)timers_run(&rt->env.timers);
    }
    uint32_t next = timers_run(&rt->env.timers); /* and the executor knows when the host comes back */
    return manual_count(&rt->env.executor) > 0 ? 0 : next;
}

/* ---- closing ---- */

typedef struct closing {
    uar_runtime *rt;
    uint64_t end;
    bool abandoned;
} closing;

static uint32_t left_ms(const closing *c) {
    uint64_t now = clock_mono(&clock_default);
    uint64_t ms = now < c->end ? c->end - now : 0;
    if (ms < CLOSE_LEAST_MS) ms = CLOSE_LEAST_MS;
    return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX - 1;
}

static void park(run *r) {
    (void)run_park(r, STR("the runtime was closed"));
}

static void cancel(run *r) {
    (void)run_cancel(r, UAR_CANCEL_NOW, STR("the runtime was closed"));
}

static bool wait_runs(closing *c, uint64_t end) {
    uar_runtime *rt = c->rt;
    if (rt->source != EXECUTOR_MANUAL) return manager_wait_idle(&rt->manager, end);
    while (manager_open_count(&rt->manager) > 0 && clock_mono(&clock_default) < end)
        runtime_work(rt, 10);
    return manager_open_count(&rt->manager) == 0;
}

/* Parked runs stay as they are; those that were to be cancelled end, if only for who listens. */
static void drop_run(run *r) {
    run_abort(r, false);
}

static void abort_run(run *r) {
    run_abort(r, true);
}

static void close_runs(closing *c, uar_close_mode mode) {
    uar_runtime *rt = c->rt;
    manager_shut(&rt->manager, mode == UAR_CLOSE_CANCEL ? cancel : park);
    if (wait_runs(c, c->end)) return;
    c->abandoned = true;
    manager_each(&rt->manager, mode == UAR_CLOSE_CANCEL ? abort_run : drop_run);
    (void)wait_runs(c, clock_mono(&clock_default) + CLOSE_LEAST_MS);
}

static void close_store(closing *c) {
    uar_runtime *rt = c->rt;
    if (rt->stage >= BUILT_PULSE) {
        pulse_stop(&rt->env.pulse);
        bool idle = pulse_wait(&rt->env.pulse, rt->source == EXECUTOR_MANUAL ? 0 : left_ms(c));
        uint64_t end = clock_mono(&clock_default) + left_ms(c);
        while (!idle && rt->source == EXECUTOR_MANUAL && clock_mono(&clock_default) < end) {
            runtime_work(rt, 1);
            idle = pulse_wait(&rt->env.pulse, 0);
        }
        if (!idle) c->abandoned = true;
    }
    if (rt->stage >= BUILT_STORE && !store_close(rt->env.store, left_ms(c))) c->abandoned = true;
}

static void close_hub(closing *c) {
    uar_runtime *rt = c->rt;
    hub *events = rt->env.hub;
    hub_shut(events);
    uint64_t end = clock_mono(&clock_default) + left_ms(c);
    while (!hub_is_quiet(events) && clock_mono(&clock_default) < end) {
        if (rt->source == EXECUTOR_MANUAL)
            runtime_work(rt, 1);
        else
            manager_rest(&rt->manager, 1);
    }
    hub_close(events);
}

/* Lanes and runs that were posted before still have to see that all is over. */
static void drain(closing *c) {
    uar_runtime *rt = c->rt;
    if (rt->source == EXECUTOR_POOL) {
        if (!pool_stop(&rt->env.executor, left_ms(c))) c->abandoned = true;
    } else if (rt->source == EXECUTOR_MANUAL) {
        while (manual_run_one(&rt->env.executor)) {}
    }
}

uar_status uar_runtime_close(uar_runtime *rt, uar_close_mode mode, uint32_t deadline_ms) {
    if (rt == NULL) return UAR_OK;
    if (rt->stage >= BUILT_LOCKS && callout_is_inside(&rt->env.calls)) return UAR_E_WOULD_DEADLOCK;
    uint64_t now = clock_mono(&clock_default);
    closing c = { .rt = rt, .end = deadline_ms == UAR_FOREVER ? UINT64_MAX : now + deadline_ms };
    if (rt->stage >= BUILT_HUB) {
        close_runs(&c, mode);
        close_store(&c);
        close_hub(&c);
    }
    if (rt->stage >= BUILT_TIMERS) timers_flush(&rt->env.timers);
    if (rt->stage >= BUILT_EXECUTOR) drain(&c);
    env_unref(&rt->env);
    return c.abandoned ? UAR_E_TIMEOUT : UAR_OK;
}

/* ---- small facts ---- */

uar_uuid uar_runtime_instance(const uar_runtime *rt) {
    assert(rt != NULL);
    return rt->env.instance;
}

const char *uar_runtime_memory_state(const uar_runtime *rt) {
    if (rt == NULL || rt->env.memory == NULL) return uar_memory_status_name(UAR_MEMORY_DISABLED);
    return uar_memory_status_name(rt->env.memory_use->state(rt->env.memory, NULL));
}
