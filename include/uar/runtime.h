/*
 * uar/runtime.h: build a runtime, run it, close it. Since 0.1.
 */
#ifndef UAR_RUNTIME_H
#define UAR_RUNTIME_H

#include <uar/event.h>
#include <uar/sys/model.h>
#include <uar/sys/persistence.h>
#include <uar/sys/platform.h>
#include <uar/sys/sink.h>
#include <uar/sys/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The memory service; see uar/memory.h. */
typedef struct uar_memory uar_memory;

/** Who runs the work of a runtime. */
typedef enum uar_threading {
    UAR_THREADS_POOL = 0,  /**< a small pool of the library's own */
    UAR_THREADS_MANUAL = 1 /**< nothing runs unless the host calls uar_runtime_pump, or a call that waits */
} uar_threading;

/** How to build a runtime. Pointers may be NULL; what they point at is copied. */
typedef struct uar_builder_options {
    size_t size;                        /**< sizeof(uar_builder_options) */
    const uar_allocator *allocator;     /**< default: malloc */
    const uar_clock *clock;             /**< default: the system's */
    const uar_random *random;           /**< default: the system's random device */
    const uar_log *log;                 /**< default: none */
    const uar_executor *executor;       /**< default: by `threading` */
    uar_threading threading;            /**< bundled executor to use */
    uint32_t threads;                   /**< threads of the pool, 0: 2 */
    void *thread_ctx;                   /**< given to the two hooks */
    void (*thread_started)(void *ctx);  /**< optional: on each new thread of the pool, e.g. to attach to a VM */
    void (*thread_stopping)(void *ctx); /**< optional: on each thread before it ends */
    void *wake_ctx;                     /**< given to `wake` */
    /** Manual: there is work now; once an idle → ready edge, from any thread; must only signal. */
    void (*wake)(void *ctx);
    uint32_t ring_events;       /**< newest events kept a run, 0: 512 */
    size_t ring_bytes;          /**< and at most so many bytes of them; 0: 256 KiB, SIZE_MAX: no bound */
    uint32_t max_steps;         /**< model calls a run, 0: 32 */
    uint32_t parallel_tools;    /**< tool calls of a run at once, 0: 8 */
    uint32_t model_attempts;    /**< tries of a model call that fails retryably, 0: 3 */
    bool single_process;        /**< no other process uses the store: leases of dead ones are taken at once */
    const char *instructions;   /**< system text of every run, or NULL; copied */
    uar_toggle memory_inject;   /**< recall before a turn; inherits on where a memory service is attached */
    uar_toggle memory_capture;  /**< capture after a turn; inherits on where a memory service is attached */
    uint32_t memory_max_tokens; /**< of the injected block, 0: 1,000 */
} uar_builder_options;
/** Defaults of uar_builder_options: use as `uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT };` */
#define UAR_BUILDER_OPTIONS_INIT sizeof(uar_builder_options)
/** The twin of UAR_BUILDER_OPTIONS_INIT. */
static inline void uar_builder_options_init(uar_builder_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/** Collects what a runtime is made of. One thread at a time. */
typedef struct uar_builder uar_builder;

/** A builder. Never NULL: it keeps its first error and uar_builder_build returns it. `options` may be NULL. */
UAR_API uar_builder *uar_builder_new(const uar_builder_options *options);
/** The durable state; required. Takes the layer over. */
UAR_API void uar_builder_persistence(uar_builder *b, const uar_persistence *layer);
/** A model; at least one is required, the first is the default. Takes it over. */
UAR_API void uar_builder_model(uar_builder *b, const uar_model *model);
/** A tool. Takes it over. */
UAR_API void uar_builder_tool(uar_builder *b, const uar_tool *tool);
/** A sink; several may be added. Takes it over. */
UAR_API void uar_builder_event_sink(uar_builder *b, const uar_event_sink *sink);
/** The memory service; optional. Takes a reference; the host keeps and frees its own. */
UAR_API void uar_builder_memory(uar_builder *b, uar_memory *memory);
/**
 * Build. Consumes the builder either way, and on failure destroys all that it took over. Opens the persistence layer and
 * may wait for it. What an earlier process left open is looked for by a worker, which may call the layer before this
 * returns. Every mistake above surfaces here, named in `err`. UAR_E_STORE_CONFLICT if memory and state share a directory.
 */
UAR_API uar_status uar_builder_build(uar_runtime **out, uar_builder *b, uar_error *err);

/** What becomes of open runs at close. */
typedef enum uar_close_mode {
    UAR_CLOSE_PARK = 0,  /**< they stay resumable; no terminal event */
    UAR_CLOSE_CANCEL = 1 /**< they are cancelled */
} uar_close_mode;

/**
 * Close and free a runtime; NULL is accepted. Waits up to `deadline_ms` for runs to settle, then detaches what is open:
 * late completions answer UAR_E_STALE. UAR_E_TIMEOUT says that something had to be abandoned; the runtime is gone all the
 * same. UAR_E_WOULD_DEADLOCK in a callback: nothing happened.
 */
UAR_API uar_status uar_runtime_close(uar_runtime *rt, uar_close_mode mode, uint32_t deadline_ms);

/**
 * UAR_THREADS_MANUAL: work for up to `budget_ms` (0: one pass over what is ready) and return the milliseconds to the next
 * timer, 0 if work is left, UINT32_MAX if nothing waits for time. UAR_THREADS_POOL: returns UINT32_MAX.
 */
UAR_API uint32_t uar_runtime_pump(uar_runtime *rt, uint32_t budget_ms);

/** The instance id of this runtime, as leases name it. Any thread. */
UAR_API uar_uuid uar_runtime_instance(const uar_runtime *rt);

/** How the memory of a runtime stands: "disabled", "unavailable", "ready" or "reindexing". Static. Any thread. */
UAR_API const char *uar_runtime_memory_state(const uar_runtime *rt);

#ifdef __cplusplus
}
#endif
#endif
