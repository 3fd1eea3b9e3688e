/*
 * uar/event.h: the normalized event vocabulary, subscriptions, snapshots, projections.
 *
 * An event is an immutable, reference-counted observation. It never is the state itself: losing every listener loses
 * nothing. An event that states a durable fact is published after the commit of that fact. Since 0.1.
 *
 * Ids: the low 40 bits count 1, 2, 3 … within a run's epoch, the high 24 bits are the epoch, raised whenever another
 * process takes the run up. Delivery order is id order.
 */
#ifndef UAR_EVENT_H
#define UAR_EVENT_H

#include <uar/records.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One recalled memory record. */
typedef struct uar_hit {
    uar_uuid id;  /**< of the record */
    double score; /**< as the search gave it */
} uar_hit;

/** Recalled memory records. */
typedef struct uar_hits {
    const uar_hit *items; /**< best first */
    size_t count;         /**< how many */
} uar_hits;

/*
 * The vocabulary: X(KIND, member, "JsonName", docs), and for each kind its fields: F(TYPE, name, docs).
 * From these two lists come the enum, the payload structs, the deep copy, every JSON projection and docs/events.md.
 * Types: STR text or null · JSON text that is JSON already, or null · UUID · U64 · I64 · F64 · BOOL · USAGE · HITS.
 */

/** Every event kind. The one place to add a line; appended, never reordered. */
#define UAR_EVENT_KINDS(X)                                                                                          \
    X(RUN_START, run_start, "RunStart", "a run was admitted, or refused at the door (then RunFailed follows)")      \
    X(RUN_PAUSED, run_paused, "RunPaused", "the run waits for a person or for budget")                              \
    X(RUN_RESUMED, run_resumed, "RunResumed", "the run goes on; first event of a later epoch")                      \
    X(RUN_DONE, run_done, "RunDone", "terminal: the answer is stored")                                              \
    X(RUN_FAILED, run_failed, "RunFailed", "terminal: the run could not end well")                                  \
    X(CANCELLED, cancelled, "Cancelled", "terminal: the run was cancelled")                                         \
    X(CHAT_DELTA, chat_delta, "ChatDelta", "answer text, whole characters")                                         \
    X(REASONING_DELTA, reasoning_delta, "ReasoningDelta", "reasoning text, whole characters")                       \
    X(CITATION, citation, "Citation", "what a piece of the answer rests on")                                        \
    X(MEMORY_RECALL, memory_recall, "MemoryRecall", "memory records were put into the context")                     \
    X(MEMORY_MUTATION, memory_mutation, "MemoryMutation", "a memory record was written or removed")                 \
    X(SKILL_ACTIVATED, skill_activated, "SkillActivated", "a skill was put into the context")                       \
    X(TOOL_START, tool_start, "ToolStart", "a tool call begins to run, with its whole arguments")                   \
    X(TOOL_DELTA, tool_delta, "ToolDelta", "preview of a call that the model is still writing")                     \
    X(TOOL_END, tool_end, "ToolEnd", "a tool call has its stored outcome")                                          \
    X(TOOL_CALL_APPROVAL_REQUIRED, tool_call_approval_required, "ToolCallApprovalRequired", "a person must decide") \
    X(TOOL_CALL_APPROVED, tool_call_approved, "ToolCallApproved", "the call may run")                               \
    X(TOOL_CALL_DENIED, tool_call_denied, "ToolCallDenied", "the call may not run")                                 \
    X(MCP_SERVER_STATE_CHANGED, mcp_server_state_changed, "McpServerStateChanged", "a remote tool server changed")  \
    X(ARTIFACT, artifact, "Artifact", "a named result beside the answer")                                           \
    X(ARTIFACT_INPUT_REQUEST, artifact_input_request, "ArtifactInputRequest", "the run asks a person for input")    \
    X(STATE_PATCH, state_patch, "StatePatch", "shared state changed, RFC 6902")                                     \
    X(RUNTIME_STEP, runtime_step, "RuntimeStep", "a step of the run begins or ends")                                \
    X(CONTEXT_ACTION, context_action, "ContextAction", "the context was cut, packed or checked")                    \
    X(ATTEMPT_SUPERSEDED, attempt_superseded, "AttemptSuperseded", "the deltas of this attempt are void")           \
    X(BUDGET_ALERT, budget_alert, "BudgetAlert", "a budget reached its alert share or its end")                     \
    X(GUARDRAIL_FLAGGED, guardrail_flagged, "GuardrailFlagged", "a guardrail spoke")                                \
    X(AGENT_THREAD_STARTED, agent_thread_started, "AgentThreadStarted", "a child run began")                        \
    X(AGENT_THREAD_UPDATED, agent_thread_updated, "AgentThreadUpdated", "a child run moved")                        \
    X(AGENT_THREAD_FINISHED, agent_thread_finished, "AgentThreadFinished", "a child run ended")                     \
    X(ERROR, error, "Error", "something went wrong; never ends a run")

/** Fields of RunStart. */
#define UAR_EVENT_FIELDS_RUN_START(F) F(STR, input, "what the user said") F(STR, model, "model that will answer")
/** Fields of RunPaused. */
#define UAR_EVENT_FIELDS_RUN_PAUSED(F) F(STR, reason, "approval, input or budget")
/** Fields of RunResumed. */
#define UAR_EVENT_FIELDS_RUN_RESUMED(F) F(STR, reason, "what let it go on")
/** Fields of RunDone. */
#define UAR_EVENT_FIELDS_RUN_DONE(F) F(UUID, message, "the stored answer") F(USAGE, usage, "tokens of the whole run")
/** Fields of RunFailed. */
#define UAR_EVENT_FIELDS_RUN_FAILED(F) \
    F(STR, code, "status name") F(STR, message, "one line") F(USAGE, usage, "tokens of the whole run")
/** Fields of Cancelled. */
#define UAR_EVENT_FIELDS_CANCELLED(F) F(STR, reason, "who or what cancelled") F(USAGE, usage, "tokens of the whole run")
/** Fields of ChatDelta. */
#define UAR_EVENT_FIELDS_CHAT_DELTA(F) F(UUID, message, "message it belongs to") F(STR, text, "what to append")
/** Fields of ReasoningDelta. */
#define UAR_EVENT_FIELDS_REASONING_DELTA(F) F(UUID, message, "message it belongs to") F(STR, text, "what to append")
/** Fields of Citation. */
#define UAR_EVENT_FIELDS_CITATION(F)          \
    F(UUID, message, "message it belongs to") \
    F(STR, source, "where it is from") F(STR, title, "for people") F(STR, quote, "the words cited")
/** Fields of MemoryRecall. */
#define UAR_EVENT_FIELDS_MEMORY_RECALL(F) F(HITS, hits, "records in the context, best first")
/** Fields of MemoryMutation. */
#define UAR_EVENT_FIELDS_MEMORY_MUTATION(F) \
    F(UUID, id, "the record")               \
    F(STR, op, "add, update or delete") F(STR, outcome, "added, reinforced, superseded, erased …")
/** Fields of SkillActivated. */
#define UAR_EVENT_FIELDS_SKILL_ACTIVATED(F) F(STR, skill, "its name") F(STR, reason, "why")
/** Fields of ToolStart. */
#define UAR_EVENT_FIELDS_TOOL_START(F) \
    F(STR, call, "id of the call") F(STR, tool, "name of the tool") F(JSON, arguments, "what it gets")
/** Fields of ToolDelta. */
#define UAR_EVENT_FIELDS_TOOL_DELTA(F) \
    F(STR, call, "id of the call") F(STR, tool, "name so far") F(STR, delta, "what the arguments' text grew by")
/** Fields of ToolEnd. */
#define UAR_EVENT_FIELDS_TOOL_END(F)    \
    F(STR, call, "id of the call")      \
    F(STR, tool, "name of the tool")    \
    F(BOOL, ok, "true if it worked")    \
    F(JSON, result, "what it returned") \
    F(STR, error, "what the model is told instead") F(STR, code, "status name of the failure")
/** Fields of ToolCallApprovalRequired. */
#define UAR_EVENT_FIELDS_TOOL_CALL_APPROVAL_REQUIRED(F) \
    F(STR, call, "id of the call") F(STR, tool, "name of the tool") F(JSON, arguments, "what it would get")
/** Fields of ToolCallApproved. */
#define UAR_EVENT_FIELDS_TOOL_CALL_APPROVED(F) F(STR, call, "id of the call") F(STR, reason, "who decided, or why")
/** Fields of ToolCallDenied. */
#define UAR_EVENT_FIELDS_TOOL_CALL_DENIED(F) F(STR, call, "id of the call") F(STR, reason, "who decided, or why")
/** Fields of McpServerStateChanged. */
#define UAR_EVENT_FIELDS_MCP_SERVER_STATE_CHANGED(F) \
    F(STR, server, "its name") F(STR, state, "connecting, ready, failed or closed") F(STR, reason, "why")
/** Fields of Artifact. */
#define UAR_EVENT_FIELDS_ARTIFACT(F) \
    F(STR, artifact, "its id")       \
    F(STR, name, "for people") F(STR, media_type, "of its content") F(JSON, content, "its content")
/** Fields of ArtifactInputRequest. */
#define UAR_EVENT_FIELDS_ARTIFACT_INPUT_REQUEST(F) \
    F(STR, request, "its id") F(STR, prompt, "the question") F(JSON, schema, "of the answer")
/** Fields of StatePatch. */
#define UAR_EVENT_FIELDS_STATE_PATCH(F) F(JSON, patch, "array of operations")
/** Fields of RuntimeStep. */
#define UAR_EVENT_FIELDS_RUNTIME_STEP(F) F(U64, step, "counted from 1") F(STR, phase, "what the step does: model")
/** Fields of ContextAction. */
#define UAR_EVENT_FIELDS_CONTEXT_ACTION(F) \
    F(STR, action, "what was done")        \
    F(U64, kept, "messages kept") F(U64, left_out, "messages left out") F(U64, tokens, "estimate of what is left")
/** Fields of AttemptSuperseded. */
#define UAR_EVENT_FIELDS_ATTEMPT_SUPERSEDED(F)        \
    F(UUID, message, "message whose deltas are void") \
    F(U64, attempt, "the attempt that failed, from 1") F(STR, reason, "why")
/** Fields of BudgetAlert. */
#define UAR_EVENT_FIELDS_BUDGET_ALERT(F) \
    F(STR, budget, "which one") F(F64, limit, "in its unit") F(F64, used, "in its unit")
/** Fields of GuardrailFlagged. */
#define UAR_EVENT_FIELDS_GUARDRAIL_FLAGGED(F) \
    F(STR, stage, "where") F(STR, rule, "which rule") F(STR, action, "flag, mask or block") F(STR, reason, "why")
/** Fields of AgentThreadStarted. */
#define UAR_EVENT_FIELDS_AGENT_THREAD_STARTED(F) F(UUID, thread, "the child run") F(STR, agent, "its agent")
/** Fields of AgentThreadUpdated. */
#define UAR_EVENT_FIELDS_AGENT_THREAD_UPDATED(F) F(UUID, thread, "the child run") F(STR, state, "its state")
/** Fields of AgentThreadFinished. */
#define UAR_EVENT_FIELDS_AGENT_THREAD_FINISHED(F) F(UUID, thread, "the child run") F(STR, state, "its last state")
/** Fields of Error. */
#define UAR_EVENT_FIELDS_ERROR(F) F(STR, code, "status name") F(STR, message, "one line")

/** Kind of an event. */
typedef enum uar_event_kind {
#define UAR_X_ENUM(kind, member, json, docs) UAR_EVENT_##kind,
    UAR_EVENT_KINDS(UAR_X_ENUM)
#undef UAR_X_ENUM
        UAR_EVENT_KIND_COUNT /**< how many kinds this header knows */
} uar_event_kind;

/** C type of a STR field. */
#define UAR_EVENT_TYPE_STR uar_str
/** C type of a JSON field. */
#define UAR_EVENT_TYPE_JSON uar_str
/** C type of a UUID field. */
#define UAR_EVENT_TYPE_UUID uar_uuid
/** C type of a U64 field. */
#define UAR_EVENT_TYPE_U64 uint64_t
/** C type of an I64 field. */
#define UAR_EVENT_TYPE_I64 int64_t
/** C type of an F64 field. */
#define UAR_EVENT_TYPE_F64 double
/** C type of a BOOL field. */
#define UAR_EVENT_TYPE_BOOL bool
/** C type of a USAGE field. */
#define UAR_EVENT_TYPE_USAGE uar_usage
/** C type of a HITS field. */
#define UAR_EVENT_TYPE_HITS uar_hits

/** Declares one field of a payload. */
#define UAR_EVENT_FIELD(type, name, docs) UAR_EVENT_TYPE_##type name;
/** Declares the payload struct of one kind: uar_event_chat_delta …, fields as in its list above. */
#define UAR_EVENT_STRUCT(kind, member, json, docs) \
    typedef struct uar_event_##member {            \
        UAR_EVENT_FIELDS_##kind(UAR_EVENT_FIELD)   \
    } uar_event_##member;
UAR_EVENT_KINDS(UAR_EVENT_STRUCT)

/** An event. Everything that it points at lives as long as the event. */
typedef struct uar_event {
    uint64_t id;           /**< in its run: epoch << 40 | count */
    uar_event_kind kind;   /**< which payload counts */
    int64_t time_ms;       /**< wall time */
    uar_run_id run;        /**< run that it belongs to */
    uar_run_id parent_run; /**< parent of a child run, or none */
    uar_str owner;         /**< tenant */
    uar_str user;          /**< user of the run */
    uar_str session;       /**< session of the run */
    uar_str agent;         /**< agent of the run */
    /** The payload. */
    union {
#define UAR_X_MEMBER(kind, member, json, docs) uar_event_##member member;
        UAR_EVENT_KINDS(UAR_X_MEMBER)
#undef UAR_X_MEMBER
    };
} uar_event;

/** Take a reference; returns its argument. Any thread. */
UAR_API const uar_event *uar_event_ref(const uar_event *event);
/** Give a reference back; NULL is accepted. Any thread. */
UAR_API void uar_event_unref(const uar_event *event);
/** JSON name of a kind, "ChatDelta"; NULL for an unknown number. Static. */
UAR_API const char *uar_event_kind_name(uar_event_kind kind);
/** True for RunDone, RunFailed and Cancelled. */
UAR_API bool uar_event_is_terminal(uar_event_kind kind);

/** Takes bytes; anything but UAR_OK stops the writer, which returns it. */
typedef uar_status (*uar_write_fn)(void *ctx, const char *bytes, size_t len);

/** Projection of an event to one JSON object, as `uar run --events json` prints it, without newline, in one or more
 *  writes. Allocates nothing; fails only with what `write` returned, or UAR_E_INVALID for an unknown kind or a NULL. Any
 *  event will do, also one that the host filled in itself. Any thread. */
UAR_API uar_status uar_event_write_json(const uar_event *event, uar_write_fn write, void *ctx);
/** Projection of an event to text for a terminal: the answer's text as it is, other kinds as short bracketed lines that
 *  end with a newline and hold no control characters; nothing for kinds that people needn't see. A caller that wants the
 *  lines to begin at the left writes a newline itself where the answer's text didn't end with one. Otherwise as
 *  uar_event_write_json. */
UAR_API uar_status uar_event_write_text(const uar_event *event, uar_write_fn write, void *ctx);

/** A run as a late listener needs it. */
typedef struct uar_run_snapshot {
    uar_run_id run;                  /**< the run */
    uint64_t last_event;             /**< the snapshot holds what the events up to this id say */
    uar_run_state state;             /**< how it stands */
    uar_uuid message;                /**< message being written, or none */
    uar_str text;                    /**< its text so far, superseded attempts left out */
    const uar_pending_call *open;    /**< calls that run */
    size_t open_count;               /**< how many */
    const uar_pending_call *pending; /**< calls that wait for a decision */
    size_t pending_count;            /**< how many */
    bool incomplete;                 /**< true: memory was short, the end of `text` or some calls are missing */
} uar_run_snapshot;

/** Snapshot of a run that this runtime has or had lately. UAR_E_NOT_FOUND. Free it with uar_run_snapshot_free. */
UAR_API uar_status uar_run_snapshot_take(uar_run_snapshot **out, uar_runtime *rt, const char *owner, uar_run_id run,
                                         uar_error *err);
/** Free a snapshot; NULL is accepted. Any thread. */
UAR_API void uar_run_snapshot_free(uar_run_snapshot *snapshot);

/**
 * Events that a subscriber did not get. Borrowed for the callback. `first` to `last` is the range of ids that will not
 * come; ids of an earlier epoch in it may never have been used.
 * A subscriber to many runs that stays behind for hundreds of ended runs loses the oldest of them: then `run` is none,
 * `first` 1, `last` the number of runs of which nothing more will come, not even their end, `snapshot` NULL.
 */
typedef struct uar_gap {
    uar_run_id run;                   /**< the run, or none: see above */
    uint64_t first;                   /**< first missing id */
    uint64_t last;                    /**< last missing id: the event after it comes next */
    const uar_run_snapshot *snapshot; /**< the run as of `last`; NULL if memory was short: ask for one later */
} uar_gap;

/** What to hear. Absent ids hear all. */
typedef struct uar_subscribe_options {
    size_t size;         /**< sizeof(uar_subscribe_options) */
    const char *owner;   /**< required: events never cross owners */
    const char *user;    /**< this user only, or NULL */
    const char *session; /**< this session only, or NULL; needs `user` */
    uar_run_id run;      /**< this run only, or none */
    bool has_after;      /**< true: first the history behind `after`; needs `run` */
    uint64_t after;      /**< id of the last event seen; 0: from the start */
    void *ctx;           /**< given to the callbacks */
    /** Push form: called one at a time, in order, on a lane of its own; NULL: pull with uar_subscription_next. */
    void (*on_event)(void *ctx, const uar_event *event);
    void (*on_gap)(void *ctx, const uar_gap *gap); /**< optional: some events are missing */
    void (*on_closed)(void *ctx, uar_run_id run);  /**< optional: nothing more will come from this run */
    void (*destroy)(void *ctx);                    /**< optional: after the last callback, exactly once */
} uar_subscribe_options;
/** Defaults of uar_subscribe_options. */
#define UAR_SUBSCRIBE_OPTIONS_INIT sizeof(uar_subscribe_options)
/** The twin of UAR_SUBSCRIBE_OPTIONS_INIT. */
static inline void uar_subscribe_options_init(uar_subscribe_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/** A subscription. Losing it loses nothing. */
typedef struct uar_subscription uar_subscription;

/** Listen. UAR_E_NOT_FOUND for a run that is unknown or another owner's, UAR_E_INVALID for a filter against the rules above
 *  or an `after` beyond the newest event, UAR_E_NOMEM. An `after` of an earlier epoch gives a gap first. Callbacks may begin
 *  before this returns. After a failure nothing was taken over: `destroy` is not called. Works in callbacks. */
UAR_API uar_status uar_subscribe(uar_subscription **out, uar_runtime *rt, const uar_subscribe_options *options,
                                 uar_error *err);

/** What uar_subscription_next brings. */
typedef enum uar_next_kind {
    UAR_NEXT_EVENT = 1, /**< `event`; give it back with uar_event_unref */
    UAR_NEXT_GAP = 2,   /**< `gap`; its snapshot is freed by the next call */
    UAR_NEXT_CLOSED = 3 /**< nothing more will come from run `gap.run` */
} uar_next_kind;

/** One item of a pulled subscription. */
typedef struct uar_next {
    uar_next_kind kind;     /**< which field counts */
    const uar_event *event; /**< with UAR_NEXT_EVENT */
    uar_gap gap;            /**< with UAR_NEXT_GAP and UAR_NEXT_CLOSED */
} uar_next;

/** Next item, waiting up to `timeout_ms` (0: not at all). UAR_E_TIMEOUT if nothing came, UAR_E_CLOSED when the runtime is
 *  gone and everything was read, UAR_E_WOULD_DEADLOCK in a callback unless `timeout_ms` is 0, UAR_E_INVALID for a push
 *  subscription. One thread at a time: UAR_E_BUSY to another. `out` is written only with UAR_OK. */
UAR_API uar_status uar_subscription_next(uar_next *out, uar_subscription *sub, uint32_t timeout_ms);

/** Stop listening and free. Waits for a callback in flight, unless called from inside any callback of the library: then the
 *  callback in flight, if there is one, is the last, and `destroy` follows it. Needed also after the runtime was closed (which
 *  calls `destroy` itself). NULL is accepted. */
UAR_API void uar_subscription_free(uar_subscription *sub);

#ifdef __cplusplus
}
#endif
#endif
