/*
 * uar/run.h: start runs, decide on their calls, wait for them, cancel them. Since 0.1.
 */
#ifndef UAR_RUN_H
#define UAR_RUN_H

#include <uar/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What happens to calls whose tool asks for approval. */
typedef enum uar_approvals {
    UAR_APPROVALS_ASK = 0,  /**< they wait for uar_run_approve or uar_run_deny */
    UAR_APPROVALS_AUTO = 1, /**< they are approved at once */
    UAR_APPROVALS_DENY = 2  /**< they are denied at once */
} uar_approvals;

/** One turn. Texts are NUL-terminated and copied; NULL takes the default named. */
typedef struct uar_run_request {
    size_t size;              /**< sizeof(uar_run_request) */
    const char *owner;        /**< tenant, set by trusted code; "local" */
    const char *user;         /**< user; "me" */
    const char *session;      /**< session; "default" */
    const char *agent;        /**< agent; "assistant" */
    const char *task;         /**< task, for task-scoped memory; none */
    const char *input;        /**< what the user says; required, not empty */
    size_t input_len;         /**< bytes of `input`; 0: it ends at its NUL */
    const char *model;        /**< name of a registered model; the agent's, else the first registered */
    const char *instructions; /**< system text beside the runtime's and the agent's; none */
    uar_approvals approvals;  /**< what happens to calls that need approval */
    uar_toggle memory;  /**< UAR_OFF turns memory off for this run; a run can't turn on what a level above turned off */
    uint32_t max_steps; /**< model calls, 0: as the runtime says; can only lower it */
} uar_run_request;
/** Defaults of uar_run_request: use as `uar_run_request r = { UAR_RUN_REQUEST_INIT, .input = "…" };` */
#define UAR_RUN_REQUEST_INIT sizeof(uar_run_request)
/** The twin of UAR_RUN_REQUEST_INIT. */
static inline void uar_run_request_init(uar_run_request *request) {
    memset(request, 0, sizeof *request);
    request->size = sizeof *request;
}

/** How a run ended. */
typedef struct uar_outcome {
    uar_status status;   /**< UAR_OK, UAR_E_CANCELLED, UAR_E_PARKED, or the failure */
    uar_run_state state; /**< DONE, FAILED, CANCELLED, or INTERRUPTED if parked */
    uar_uuid message;    /**< the stored answer, or none */
    uar_usage usage;     /**< tokens of the whole run */
    uar_error error;     /**< more about a failure */
} uar_outcome;

/**
 * Start a run. Fails only for a caller's mistake (UAR_E_INVALID, UAR_E_UTF8), a closed runtime or no memory; whatever else
 * is wrong ends the run by events: RunStart, RunFailed. A session has one run at a time: a second one ends so with
 * UAR_E_BUSY, in this process at once, against another living process within three seconds. Works in callbacks.
 */
UAR_API uar_status uar_run_start(uar_run_id *out, uar_runtime *rt, const uar_run_request *request, uar_error *err);

/** Wait for the end of a run, up to `timeout_ms`. It returns with the terminal event: sinks may hear that event, what was
 *  captured after it and `on_closed` a little later. UAR_E_TIMEOUT; UAR_E_NOT_FOUND for a run that this runtime doesn't know
 *  (any more); UAR_E_WOULD_DEADLOCK in a callback. With UAR_THREADS_MANUAL it pumps. */
UAR_API uar_status uar_run_wait(uar_outcome *out, uar_runtime *rt, uar_run_id run, uint32_t timeout_ms);

/** Outcome of a run that has ended, without waiting. UAR_E_TIMEOUT while it is open. Works in callbacks. */
UAR_API uar_status uar_run_poll(uar_outcome *out, uar_runtime *rt, uar_run_id run);

/** When a cancel takes hold. */
typedef enum uar_cancel_mode {
    UAR_CANCEL_NOW = 0,       /**< model and tools are told at once */
    UAR_CANCEL_AFTER_STEP = 1 /**< the step that runs may end first */
} uar_cancel_mode;

/** Cancel a run. Model and tools are told, and get two seconds to be seen stopped; then they are abandoned and the run ends
 *  all the same. A tool without `cancel` is abandoned at once. UAR_OK also if it is being cancelled already; UAR_E_STALE if it has ended; UAR_E_NOT_FOUND. `reason` may be
 *  NULL. Works in callbacks. */
UAR_API uar_status uar_run_cancel(uar_runtime *rt, uar_run_id run, uar_cancel_mode mode, const char *reason,
                                  uar_error *err);

/**
 * Approve one call. `arguments` NULL: as proposed; else strict JSON that replaces them and is checked against the schema
 * (UAR_E_JSON, UAR_E_SCHEMA: the call still waits). UAR_E_NOT_FOUND if no such call waits, UAR_E_STALE if it was decided.
 * Works in callbacks.
 */
UAR_API uar_status uar_run_approve(uar_runtime *rt, uar_run_id run, const char *call, const char *arguments,
                                   uar_error *err);
/** Deny one call; the model is told `reason` (may be NULL). Statuses as uar_run_approve. Works in callbacks. */
UAR_API uar_status uar_run_deny(uar_runtime *rt, uar_run_id run, const char *call, const char *reason, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
