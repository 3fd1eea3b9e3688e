/*
 * uar/records.h: what a runtime keeps: sessions, messages, runs, agents, settings and their types, policies, memory blocks,
 * checkpoints, counters, costs. Attachments are in uar/attachments.h.
 *
 * Every call comes in two forms. The plain one starts and calls `done` exactly once on a worker, unless it returns an
 * error itself. The `_sync` one waits; from a callback of the library it answers UAR_E_WOULD_DEADLOCK. A reply is immutable,
 * owns all that it points at and is freed with uar_reply_free by whom it was handed to. Since 0.1.
 */
#ifndef UAR_RECORDS_H
#define UAR_RECORDS_H

#include <uar/sys/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A runtime; see uar/runtime.h. */
typedef struct uar_runtime uar_runtime;

/** A conversation of one user. */
typedef struct uar_session {
    uar_str owner;        /**< tenant */
    uar_str user;         /**< whose it is */
    uar_str session;      /**< the host's id */
    uar_str name;         /**< for people; absent if never named */
    uint64_t messages;    /**< messages stored */
    uint64_t last_number; /**< number of the newest message, 0 if none */
    int64_t created_ms;   /**< wall time */
    int64_t updated_ms;   /**< wall time */
    uint64_t revision;    /**< of its record */
} uar_session;

/** A stored message. */
typedef struct uar_message {
    uar_uuid id;           /**< never changes */
    uar_run_id run;        /**< run that wrote it */
    uint64_t number;       /**< place in its session: 1, 2, 3 … */
    uar_role role;         /**< who speaks */
    bool interrupted;      /**< true: cut by an error, a cancel or the end of the process */
    const uar_part *parts; /**< its parts */
    size_t part_count;     /**< how many */
    uar_str recalled;      /**< memory block injected just before it, or absent; not part of the message */
    int64_t created_ms;    /**< wall time */
} uar_message;

/** How a run stands. X(name, json). */
#define UAR_RUN_STATES(X)         \
    X(RUNNING, "running")         \
    X(PAUSED, "paused")           \
    X(IN_DOUBT, "in_doubt")       \
    X(INTERRUPTED, "interrupted") \
    X(DONE, "done")               \
    X(FAILED, "failed")           \
    X(CANCELLED, "cancelled")

/** State of a run. */
typedef enum uar_run_state {
#define UAR_X_ENUM(name, json) UAR_RUN_##name,
    UAR_RUN_STATES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_run_state;

/** JSON name of a state, static. Any thread. */
UAR_API const char *uar_run_state_name(uar_run_state state);

/** A call that waits for a decision. */
typedef struct uar_pending_call {
    uar_str call;      /**< id of the call */
    uar_str tool;      /**< name of the tool */
    uar_str arguments; /**< what the model wants to pass, a JSON object */
} uar_pending_call;

/** A run as its record tells. */
typedef struct uar_run_info {
    uar_run_id run;                  /**< its id */
    uar_str owner;                   /**< tenant */
    uar_str user;                    /**< user */
    uar_str session;                 /**< session */
    uar_str agent;                   /**< agent */
    uar_run_state state;             /**< how it stands; RUNNING of a dead process reads as INTERRUPTED */
    uar_str reason;                  /**< why it stands so, or absent */
    uar_str code;                    /**< status name of a failure, or absent */
    uar_str message;                 /**< text of a failure, or absent */
    int64_t started_ms;              /**< wall time */
    int64_t ended_ms;                /**< wall time, 0 while open */
    uint64_t steps;                  /**< model calls */
    uar_usage usage;                 /**< tokens of all calls */
    const uar_pending_call *pending; /**< calls that wait for a decision */
    size_t pending_count;            /**< how many */
    uar_uuid instance;               /**< process that has or had it */
    uint64_t epoch;                  /**< epoch of its event ids */
    uint64_t revision;               /**< of its record */
} uar_run_info;

/** An agent. */
typedef struct uar_agent {
    uar_str id;           /**< the host's id */
    uar_str name;         /**< for people */
    uar_str instructions; /**< system text */
    uar_str model;        /**< name of a registered model, or absent */
    uar_toggle memory;    /**< memory in its runs */
    uint32_t max_steps;   /**< model calls a run; 0: says nothing */
    uint64_t revision;    /**< of its record; as input: expected, 0: must not exist, UINT64_MAX: whatever is there */
} uar_agent;

/** A setting. */
typedef struct uar_setting {
    uar_str key;       /**< dotted name */
    uar_str value;     /**< JSON */
    uint64_t revision; /**< of its record */
} uar_setting;

/* Described below, or in uar/attachments.h. */
typedef struct uar_session_policy uar_session_policy;
typedef struct uar_setting_type uar_setting_type;
typedef struct uar_block uar_block;
typedef struct uar_cost uar_cost;
typedef struct uar_attachment uar_attachment;

/** Answer to a call: the array that the call speaks of is set, all others are NULL. */
typedef struct uar_reply {
    uar_status status;                     /**< UAR_OK or why not */
    uar_error error;                       /**< more about it */
    size_t count;                          /**< items in the array */
    uar_str cursor;                        /**< pass it to get the next page; absent on the last one */
    const uar_session *sessions;           /**< sessions */
    const uar_message *messages;           /**< messages */
    const uar_run_info *runs;              /**< runs */
    const uar_agent *agents;               /**< agents */
    const uar_setting *settings;           /**< settings */
    uint64_t number;                       /**< counters: the sum */
    uar_str document;                      /**< checkpoints: the saved machine, JSON */
    const struct uar_store_care *care;     /**< maintenance: what it did; see uar/store_care.h */
    const struct uar_store_check *check;   /**< verifying: what it saw */
    const uar_session_policy *policies;    /**< session policies */
    const uar_setting_type *setting_types; /**< setting types */
    const uar_block *blocks;               /**< memory blocks */
    const uar_cost *costs;                 /**< cost entries */
    const uar_attachment *attachments;     /**< attachments */
    uar_usage usage;                       /**< uar_usage_load: the tokens */
    uar_str content;                       /**< uar_attachment_read: the bytes */
} uar_reply;

/** Free a reply; NULL is accepted. Any thread. */
UAR_API void uar_reply_free(uar_reply *reply);

/** Called once with the answer, which now belongs to the callee. On a worker; may call everything that doesn't wait. */
typedef void (*uar_reply_fn)(void *ctx, uar_reply *reply);

/** One session. UAR_E_NOT_FOUND if this owner and user have none of that id. */
UAR_API uar_status uar_session_load(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                    uar_reply_fn done, void *ctx, uar_error *err);
/** One session; waits. */
UAR_API uar_status uar_session_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                         const char *session, uar_error *err);
/** Sessions of a user by id, at most `limit` (1–1000), behind `cursor` (absent: from the start). */
UAR_API uar_status uar_session_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor, size_t limit,
                                    uar_reply_fn done, void *ctx, uar_error *err);
/** Sessions of a user; waits. */
UAR_API uar_status uar_session_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                         uar_str cursor, size_t limit, uar_error *err);
/** Messages of a session by number, behind number `after` (0: from the start), at most `limit` (1–1000). */
UAR_API uar_status uar_message_list(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                    uint64_t after, size_t limit, uar_reply_fn done, void *ctx, uar_error *err);
/** Messages of a session; waits. */
UAR_API uar_status uar_message_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                         const char *session, uint64_t after, size_t limit, uar_error *err);
/** One run of an owner and user. */
UAR_API uar_status uar_run_load(uar_runtime *rt, const char *owner, const char *user, uar_run_id run, uar_reply_fn done,
                                void *ctx, uar_error *err);
/** One run; waits. */
UAR_API uar_status uar_run_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                     uar_run_id run, uar_error *err);
/** Runs of an owner and user, oldest first. A run that another process has open is watched for up to 3 s before it is
 *  called INTERRUPTED. */
UAR_API uar_status uar_run_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor, size_t limit,
                                uar_reply_fn done, void *ctx, uar_error *err);
/** Runs of an owner and user; waits. */
UAR_API uar_status uar_run_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                     uar_str cursor, size_t limit, uar_error *err);
/** The saved machine of a run, for inspection. */
UAR_API uar_status uar_checkpoint_load(uar_runtime *rt, const char *owner, const char *user, uar_run_id run,
                                       uar_reply_fn done, void *ctx, uar_error *err);
/** The saved machine of a run; waits. */
UAR_API uar_status uar_checkpoint_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                            uar_run_id run, uar_error *err);
/** One agent of an owner. */
UAR_API uar_status uar_agent_load(uar_runtime *rt, const char *owner, const char *agent, uar_reply_fn done, void *ctx,
                                  uar_error *err);
/** One agent; waits. */
UAR_API uar_status uar_agent_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *agent,
                                       uar_error *err);
/** Agents of an owner by id. */
UAR_API uar_status uar_agent_list(uar_runtime *rt, const char *owner, uar_str cursor, size_t limit, uar_reply_fn done,
                                  void *ctx, uar_error *err);
/** Agents of an owner; waits. */
UAR_API uar_status uar_agent_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_str cursor,
                                       size_t limit, uar_error *err);
/** Store an agent. UAR_E_CONFLICT if it isn't at the expected revision. The reply holds it as stored. */
UAR_API uar_status uar_agent_put(uar_runtime *rt, const char *owner, const uar_agent *agent, uar_reply_fn done,
                                 void *ctx, uar_error *err);
/** Store an agent; waits. */
UAR_API uar_status uar_agent_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_agent *agent,
                                      uar_error *err);
/** One setting. */
UAR_API uar_status uar_setting_get(uar_runtime *rt, const char *owner, const char *key, uar_reply_fn done, void *ctx,
                                   uar_error *err);
/** One setting; waits. */
UAR_API uar_status uar_setting_get_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                        uar_error *err);
/** Settings of an owner by key. */
UAR_API uar_status uar_setting_list(uar_runtime *rt, const char *owner, uar_str cursor, size_t limit, uar_reply_fn done,
                                    void *ctx, uar_error *err);
/** Settings of an owner; waits. */
UAR_API uar_status uar_setting_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_str cursor,
                                         size_t limit, uar_error *err);
/** Store a setting; `value` is strict JSON. Whatever was there is replaced. */
UAR_API uar_status uar_setting_put(uar_runtime *rt, const char *owner, const char *key, uar_str value,
                                   uar_reply_fn done, void *ctx, uar_error *err);
/** Store a setting; waits. */
UAR_API uar_status uar_setting_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                        uar_str value, uar_error *err);
/** Add to a counter of an owner; each instance keeps a part of its own, so that writers don't meet. */
UAR_API uar_status uar_counter_add(uar_runtime *rt, const char *owner, const char *name, uint64_t amount,
                                   uar_reply_fn done, void *ctx, uar_error *err);
/** Add to a counter; waits. */
UAR_API uar_status uar_counter_add_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *name,
                                        uint64_t amount, uar_error *err);
/** Sum of a counter over all instances, in `number`. */
UAR_API uar_status uar_counter_load(uar_runtime *rt, const char *owner, const char *name, uar_reply_fn done, void *ctx,
                                    uar_error *err);
/** Sum of a counter; waits. */
UAR_API uar_status uar_counter_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *name,
                                         uar_error *err);

/* ---- deleting, and settings with a type ---- */

/** As the expected revision of a put or a delete: whatever is there. */
#define UAR_ANY_REVISION UINT64_MAX

/** Forget a setting. UAR_E_NOT_FOUND if it isn't stored; UAR_E_CONFLICT if it isn't at `revision`. */
UAR_API uar_status uar_setting_delete(uar_runtime *rt, const char *owner, const char *key, uint64_t revision,
                                      uar_reply_fn done, void *ctx, uar_error *err);
/** Forget a setting; waits. The reply holds nothing. */
UAR_API uar_status uar_setting_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                           uint64_t revision, uar_error *err);

/**
 * What settings may be. From the moment it is stored, uar_setting_put refuses a value that doesn't fit (UAR_E_INVALID, with
 * the place in the value). A key has the type of the narrowest pattern that matches it: "ui.theme.dark", then
 * "ui.theme.*", then "ui.*", then "*".
 */
struct uar_setting_type {
    uar_str key;         /**< a setting's key, or a pattern: "*", or a prefix and ".*" */
    uar_str schema;      /**< JSON Schema of the value: an object, or true or false */
    uar_str fallback;    /**< JSON: what counts where nothing is stored, or absent; it must fit */
    uar_str description; /**< for people, or absent */
    uint64_t revision; /**< of its record; as input: expected, 0: must not exist, UAR_ANY_REVISION: whatever is there */
};

/**
 * Store a type. UAR_E_SCHEMA, UAR_E_UNSUPPORTED or UAR_E_JSON for a schema that can't be used. UAR_E_INVALID, naming the
 * first of them, if stored settings don't fit it, unless `keep_unfit`: then they stay as they are until somebody puts them.
 */
UAR_API uar_status uar_setting_type_put(uar_runtime *rt, const char *owner, const uar_setting_type *type,
                                        bool keep_unfit, uar_reply_fn done, void *ctx, uar_error *err);
/** Store a type; waits. */
UAR_API uar_status uar_setting_type_put_sync(uar_reply **out, uar_runtime *rt, const char *owner,
                                             const uar_setting_type *type, bool keep_unfit, uar_error *err);
/** The type of exactly this key or pattern. */
UAR_API uar_status uar_setting_type_load(uar_runtime *rt, const char *owner, const char *key, uar_reply_fn done,
                                         void *ctx, uar_error *err);
/** A type; waits. */
UAR_API uar_status uar_setting_type_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                              uar_error *err);
/** The types of an owner by key, at most `limit` (1–1000), behind `cursor` (absent: from the start). */
UAR_API uar_status uar_setting_type_list(uar_runtime *rt, const char *owner, uar_str cursor, size_t limit,
                                         uar_reply_fn done, void *ctx, uar_error *err);
/** The types of an owner; waits. */
UAR_API uar_status uar_setting_type_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_str cursor,
                                              size_t limit, uar_error *err);
/** Forget a type; settings stay. UAR_E_NOT_FOUND, UAR_E_CONFLICT. */
UAR_API uar_status uar_setting_type_delete(uar_runtime *rt, const char *owner, const char *key, uint64_t revision,
                                           uar_reply_fn done, void *ctx, uar_error *err);
/** Forget a type; waits. The reply holds nothing. */
UAR_API uar_status uar_setting_type_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *key,
                                                uint64_t revision, uar_error *err);

/* ---- policies of sessions ---- */

/** What a policy says of calls that need approval. X(name, json). */
#define UAR_POLICY_APPROVALS(X) X(INHERIT, "inherit") X(ASK, "ask") X(AUTO, "auto") X(DENY, "deny")

/** Approvals of a policy. */
typedef enum uar_policy_approvals {
#define UAR_X_ENUM(name, json) UAR_POLICY_##name,
    UAR_POLICY_APPROVALS(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_policy_approvals;

/** What the host laid down for one session. It is kept with the session; what a field doesn't say is inherited. */
struct uar_session_policy {
    uar_str owner;                  /**< tenant; not read by a put */
    uar_str user;                   /**< whose session; not read by a put */
    uar_str session;                /**< the session; not read by a put */
    uar_toggle memory;              /**< memory in its runs */
    uar_policy_approvals approvals; /**< calls that need approval */
    uint32_t max_steps;             /**< model calls a run; 0: says nothing */
    uar_str model;                  /**< name of a registered model, or absent */
    const uar_str *tools;           /**< the only tools that may be used; NULL: says nothing */
    size_t tool_count;              /**< how many; 0 with `tools` set: none may be used */
    uint64_t revision;              /**< as in uar_setting_type */
};

/** Store the policy of a session, which need not exist yet. UAR_E_CONFLICT. The reply holds it as stored. */
UAR_API uar_status uar_session_policy_put(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                          const uar_session_policy *policy, uar_reply_fn done, void *ctx,
                                          uar_error *err);
/** Store the policy of a session; waits. */
UAR_API uar_status uar_session_policy_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                               const char *session, const uar_session_policy *policy, uar_error *err);
/** The policy of a session. UAR_E_NOT_FOUND if there is none. */
UAR_API uar_status uar_session_policy_load(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                           uar_reply_fn done, void *ctx, uar_error *err);
/** The policy of a session; waits. */
UAR_API uar_status uar_session_policy_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                                const char *session, uar_error *err);
/** Policies of a user's sessions by session, at most `limit` (1–1000), behind `cursor` (absent: from the start). */
UAR_API uar_status uar_session_policy_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor,
                                           size_t limit, uar_reply_fn done, void *ctx, uar_error *err);
/** Policies of a user's sessions; waits. */
UAR_API uar_status uar_session_policy_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                                uar_str cursor, size_t limit, uar_error *err);
/** Forget a policy. UAR_E_NOT_FOUND, UAR_E_CONFLICT. */
UAR_API uar_status uar_session_policy_delete(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                             uint64_t revision, uar_reply_fn done, void *ctx, uar_error *err);
/** Forget a policy; waits. The reply holds nothing. */
UAR_API uar_status uar_session_policy_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                                  const char *session, uint64_t revision, uar_error *err);

/* ---- memory blocks ---- */

/** Whose a memory block is. X(name, json). */
#define UAR_BLOCK_SCOPES(X) X(AGENT, "agent") X(USER, "user") X(SESSION, "session")

/** Scope of a memory block. */
typedef enum uar_block_scope {
#define UAR_X_ENUM(name, json) UAR_BLOCK_##name,
    UAR_BLOCK_SCOPES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_block_scope;

/** Names the agent, the user or the session that blocks belong to. */
typedef struct uar_block_place {
    size_t size;           /**< sizeof(uar_block_place) */
    uar_block_scope scope; /**< which of the following count */
    const char *agent;     /**< UAR_BLOCK_AGENT */
    const char *user;      /**< UAR_BLOCK_USER, UAR_BLOCK_SESSION */
    const char *session;   /**< UAR_BLOCK_SESSION */
} uar_block_place;
/** Head of a uar_block_place. */
#define UAR_BLOCK_PLACE_INIT sizeof(uar_block_place)
/** The twin of UAR_BLOCK_PLACE_INIT. */
static inline void uar_block_place_init(uar_block_place *place) {
    memset(place, 0, sizeof *place);
    place->size = sizeof *place;
}

/** A memory block: a small labelled text that an agent, a user or a session keeps. */
struct uar_block {
    uar_str owner;         /**< tenant; not read by a put */
    uar_block_scope scope; /**< whose it is; not read by a put, as the next three */
    uar_str agent;         /**< UAR_BLOCK_AGENT */
    uar_str user;          /**< UAR_BLOCK_USER, UAR_BLOCK_SESSION */
    uar_str session;       /**< UAR_BLOCK_SESSION */
    uar_str label;         /**< its name there, as a host id */
    uar_str text;          /**< what it says */
    uint32_t limit;        /**< characters that the text may have, at least 1 */
    int64_t created_ms;    /**< wall time */
    int64_t updated_ms;    /**< wall time */
    uint64_t revision;     /**< as in uar_setting_type */
};

/** Store a block. UAR_E_TOO_LARGE if the text is longer than its limit; UAR_E_CONFLICT. The reply holds it as stored. */
UAR_API uar_status uar_block_put(uar_runtime *rt, const char *owner, const uar_block_place *place,
                                 const uar_block *block, uar_reply_fn done, void *ctx, uar_error *err);
/** Store a block; waits. */
UAR_API uar_status uar_block_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_block_place *place,
                                      const uar_block *block, uar_error *err);
/** One block. UAR_E_NOT_FOUND. */
UAR_API uar_status uar_block_load(uar_runtime *rt, const char *owner, const uar_block_place *place, const char *label,
                                  uar_reply_fn done, void *ctx, uar_error *err);
/** One block; waits. */
UAR_API uar_status uar_block_load_sync(uar_reply **out, uar_runtime *rt, const char *owner,
                                       const uar_block_place *place, const char *label, uar_error *err);
/** Blocks of one place by label, at most `limit` (1–1000), behind `cursor` (absent: from the start). */
UAR_API uar_status uar_block_list(uar_runtime *rt, const char *owner, const uar_block_place *place, uar_str cursor,
                                  size_t limit, uar_reply_fn done, void *ctx, uar_error *err);
/** Blocks of one place; waits. */
UAR_API uar_status uar_block_list_sync(uar_reply **out, uar_runtime *rt, const char *owner,
                                       const uar_block_place *place, uar_str cursor, size_t limit, uar_error *err);
/** Forget a block. UAR_E_NOT_FOUND, UAR_E_CONFLICT. */
UAR_API uar_status uar_block_delete(uar_runtime *rt, const char *owner, const uar_block_place *place, const char *label,
                                    uint64_t revision, uar_reply_fn done, void *ctx, uar_error *err);
/** Forget a block; waits. The reply holds nothing. */
UAR_API uar_status uar_block_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner,
                                         const uar_block_place *place, const char *label, uint64_t revision,
                                         uar_error *err);

/* ---- what model calls used ---- */

/** What one model call used. Written by the run, in the commit of the step that called. */
struct uar_cost {
    uar_str owner;      /**< tenant */
    uar_run_id run;     /**< run that called */
    uar_str user;       /**< user */
    uar_str session;    /**< session */
    uar_str agent;      /**< agent, or absent */
    uar_str model;      /**< name of the registered model, or absent */
    uint64_t step;      /**< which call of its run: 1, 2, 3 … */
    uint32_t attempts;  /**< tries that it took, at least 1; their tokens count too */
    uar_usage usage;    /**< tokens; `known` is false if the provider said nothing */
    int64_t created_ms; /**< wall time */
};

/** Cost entries by run and step: of a session, or, with `user` and `session` NULL, of the owner. At most `limit` (1–1000),
 *  behind `cursor` (absent: from the start). */
UAR_API uar_status uar_cost_list(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                 uar_str cursor, size_t limit, uar_reply_fn done, void *ctx, uar_error *err);
/** Cost entries; waits. */
UAR_API uar_status uar_cost_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                      const char *session, uar_str cursor, size_t limit, uar_error *err);
/** What all model calls of an owner used, in `usage`, and how many there were, in `number`. It outlives its entries. */
UAR_API uar_status uar_usage_load(uar_runtime *rt, const char *owner, uar_reply_fn done, void *ctx, uar_error *err);
/** What all model calls of an owner used; waits. */
UAR_API uar_status uar_usage_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
