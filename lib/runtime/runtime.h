/*
 * A runtime: what its runs share, the table of runs, and who runs the work.
 *
 * Invariant: whatever the builder was given is destroyed exactly once, after its last callback: at close, or when the last
 * callback that close could not wait for has returned.
 */
#ifndef UAR_LIB_RUNTIME_RUNTIME_H
#define UAR_LIB_RUNTIME_RUNTIME_H

#include "runtime/manager.h"

typedef enum executor_source { EXECUTOR_POOL, EXECUTOR_MANUAL, EXECUTOR_HOST } executor_source;

/* How far building got: what must be undone. */
typedef enum build_stage {
    BUILT_NOTHING,
    BUILT_LOCKS,
    BUILT_EXECUTOR,
    BUILT_TIMERS,
    BUILT_HUB,
    BUILT_STORE,
    BUILT_PULSE
} build_stage;

struct uar_runtime {
    run_env env;
    manager manager;
    executor_source source;
    uar_executor host_executor; /* with EXECUTOR_HOST: what env.executor calls */
    build_stage stage;
};

/* env.executor of a host's own: marks the calls, so that the host can't call back where it must not. */
void runtime_use_host_executor(uar_runtime *rt, const uar_executor *door);
/* Do what is ready, waiting at most `ms` for something to do. Only with a manual executor. */
void runtime_work(uar_runtime *rt, uint32_t ms);
/* UAR_E_WOULD_DEADLOCK in a callback, UAR_E_REENTRANT where only the own call may be finished, UAR_E_INVALID for NULL. */
uar_status runtime_check_wait(uar_runtime *rt, uar_error *err);
uar_status runtime_check_call(uar_runtime *rt, uar_error *err);
/* An empty one with one reference (env.refs): destroyed with what it holds when the last goes. NULL: out of memory. */
uar_runtime *runtime_new(const uar_allocator *alloc);

#endif
