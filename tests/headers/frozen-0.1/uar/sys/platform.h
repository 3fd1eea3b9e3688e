/*
 * uar/sys/platform.h: doors to what the platform gives: memory, time, chance, threads, log.
 * All are optional; tests replace them whole. Each struct is copied when it is handed over.
 *
 * Rules for every struct of include/uar/sys: `struct_size` and `ctx` come first; the INIT macro sets the size;
 * slots are only appended; a shorter struct of an older header is accepted; unknown non-zero bytes at the end are
 * refused with UAR_E_STRUCT. `destroy(ctx)` is called exactly once, after the last other call.
 * Since 0.1.
 */
#ifndef UAR_SYS_PLATFORM_H
#define UAR_SYS_PLATFORM_H

#include <uar/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Memory. Called from any thread, also under library locks: must call nothing of this library. Its `ctx` must outlive
 *  every object made through it, events, replies and completions that the host keeps among them: so it has no `destroy`. */
typedef struct uar_allocator {
    size_t struct_size;                                 /**< sizeof(uar_allocator) */
    void *ctx;                                          /**< given to every slot */
    void *(*alloc)(void *ctx, size_t size);             /**< `size` > 0 bytes aligned as by malloc, or NULL */
    void *(*resize)(void *ctx, void *ptr, size_t size); /**< like realloc: on NULL `ptr` is still valid */
    void (*release)(void *ctx, void *ptr);              /**< give back; `ptr` is never NULL */
} uar_allocator;
/** Head of a uar_allocator. */
#define UAR_ALLOCATOR_INIT sizeof(uar_allocator)

/** Time. Called from any thread, also under library locks: must call nothing of this library. */
typedef struct uar_clock {
    size_t struct_size;             /**< sizeof(uar_clock) */
    void *ctx;                      /**< given to every slot */
    void (*destroy)(void *ctx);     /**< optional */
    int64_t (*wall_ms)(void *ctx);  /**< milliseconds since 1970 UTC; may jump */
    uint64_t (*mono_ms)(void *ctx); /**< milliseconds that never go back; need not count sleep */
} uar_clock;
/** Head of a uar_clock. */
#define UAR_CLOCK_INIT sizeof(uar_clock)

/** Chance. Called from any thread, also under library locks: must call nothing of this library. */
typedef struct uar_random {
    size_t struct_size;                                      /**< sizeof(uar_random) */
    void *ctx;                                               /**< given to every slot */
    void (*destroy)(void *ctx);                              /**< optional */
    uar_status (*fill)(void *ctx, uint8_t *out, size_t len); /**< fill `len` unpredictable bytes, or fail */
} uar_random;
/** Head of a uar_random. */
#define UAR_RANDOM_INIT sizeof(uar_random)

/** How grave a log line is. */
typedef enum uar_log_level {
    UAR_LOG_DEBUG = 0, /**< for developers */
    UAR_LOG_INFO = 1,  /**< a fact worth keeping */
    UAR_LOG_WARN = 2,  /**< something was tolerated */
    UAR_LOG_ERROR = 3  /**< something failed */
} uar_log_level;

/** Log. Called from any thread with no lock held; must call nothing of this library. Lines hold no user content. */
typedef struct uar_log {
    size_t struct_size;                                          /**< sizeof(uar_log) */
    void *ctx;                                                   /**< given to every slot */
    void (*destroy)(void *ctx);                                  /**< optional */
    void (*write)(void *ctx, uar_log_level level, uar_str line); /**< one line without newline, borrowed */
} uar_log;
/** Head of a uar_log. */
#define UAR_LOG_INIT sizeof(uar_log)

/** A piece of library work. */
typedef void (*uar_task_fn)(void *arg);

/** One task, owned by the library; the executor may use `next` to queue it. */
typedef struct uar_task {
    struct uar_task *next; /**< for the executor */
    uar_task_fn fn;        /**< what to run */
    void *arg;             /**< its argument */
} uar_task;

/**
 * Threads. Both slots are called from any thread with no library lock held. `post` must not run the task inside the call;
 * each posted task must run exactly once, later, on any thread.
 */
typedef struct uar_executor {
    size_t struct_size;         /**< sizeof(uar_executor) */
    void *ctx;                  /**< given to every slot */
    void (*destroy)(void *ctx); /**< optional: no task is left and none will come */
    /** Run `fn(arg)` soon. `may_block` tasks wait on files: keep them off threads that must stay responsive.
     *  Never fails: the task is embedded in `slot`, which stays valid until the task has begun. */
    void (*post)(void *ctx, uar_task *slot, bool may_block);
    /** Ask that `wake(arg)` be called soon after `mono_ms` of the runtime's clock; a later request for the same `arg`
     *  replaces the earlier one; UINT64_MAX withdraws it. */
    void (*wake_at)(void *ctx, uint64_t mono_ms, uar_task_fn wake, void *arg);
} uar_executor;
/** Head of a uar_executor. */
#define UAR_EXECUTOR_INIT sizeof(uar_executor)

#ifdef __cplusplus
}
#endif
#endif
