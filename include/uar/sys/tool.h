/*
 * uar/sys/tool.h: the door to what an agent can do. Since 0.1.
 */
#ifndef UAR_SYS_TOOL_H
#define UAR_SYS_TOOL_H

#include <uar/sys/completion.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What running a tool twice means. */
typedef enum uar_tool_class {
    UAR_TOOL_EFFECT = 0,     /**< it changes something: never run again without being asked */
    UAR_TOOL_IDEMPOTENT = 1, /**< twice is like once */
    UAR_TOOL_READ_ONLY = 2   /**< it changes nothing */
} uar_tool_class;

/** Whether a person is asked first. */
typedef enum uar_tool_approval {
    UAR_APPROVAL_AUTO = 0, /**< runs without asking */
    UAR_APPROVAL_ASK = 1   /**< each call waits for uar_run_approve or uar_run_deny */
} uar_tool_approval;

/** One call of a tool. Borrowed until `invoke` returns; arguments have passed the schema. */
typedef struct uar_tool_call {
    size_t size;       /**< bytes of this struct as the library knows it */
    uar_run_id run;    /**< run that calls */
    uar_str owner;     /**< tenant of the run, set by the host */
    uar_str user;      /**< user of the run, set by the host */
    uar_str session;   /**< session of the run */
    uar_str agent;     /**< agent of the run */
    uar_str call;      /**< id of this call */
    uar_str tool;      /**< name of the tool */
    uar_str arguments; /**< the arguments, a JSON object; also NUL-terminated */
} uar_tool_call;

/**
 * A tool. Arguments are checked against its schema, JSON Schema draft 2020-12, before each call. Every keyword that asserts
 * something is checked; annotations (title, description, default, format …) and unknown keywords assert nothing. Build
 * refuses, by name and place, what can't be checked: references to other documents, other dialects, and patterns with
 * lookaround or backreferences. docs/schema.md has the limits. Texts are copied.
 * See the rules on top of uar/sys/platform.h.
 */
typedef struct uar_tool {
    size_t struct_size;         /**< sizeof(uar_tool) */
    void *ctx;                  /**< given to every slot */
    void (*destroy)(void *ctx); /**< optional */
    const char *name;           /**< `^[a-zA-Z0-9_-]{1,64}$`, unique in a runtime */
    const char *description;    /**< for the model */
    const char *input_schema;   /**< JSON Schema of an object, see below */
    uar_tool_class tool_class;  /**< what running it twice means */
    uar_tool_approval approval; /**< whether a person is asked */
    uint32_t timeout_ms;        /**< deadline of a call; 0: 60,000 */
    /** Do it. Should not wait long; finish `done` with JSON, text or a failure, now or later from any thread. Calls of
     *  one run overlap. Runs on a worker that may block. */
    void (*invoke)(void *ctx, const uar_tool_call *call, uar_completion *done);
    /** Optional: the outcome of this call is no longer wanted (cancel or deadline). `done` is only a name. */
    void (*cancel)(void *ctx, const uar_tool_call *call, uar_completion *done);
} uar_tool;
/** Head of a uar_tool. */
#define UAR_TOOL_INIT sizeof(uar_tool)

#ifdef __cplusplus
}
#endif
#endif
