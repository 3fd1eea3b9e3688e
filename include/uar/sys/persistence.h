/*
 * uar/sys/persistence.h: the door to durable state: three functions over records.
 *
 * The library calls one at a time unless `concurrent` is set; each call ends by its completion, inside the call or later
 * from any thread. A provider with `blocking` set is called on a thread that may wait. Provider callbacks may only finish
 * their own completion. Since 0.1.
 */
#ifndef UAR_SYS_PERSISTENCE_H
#define UAR_SYS_PERSISTENCE_H

#include <uar/sys/completion.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Every kind of record: X(name, number, json, docs). Numbers never change; gaps are reserved; providers store unknown ones. */
#define UAR_RECORD_KINDS(X)                                                         \
    X(SESSION, 1, "session", "a conversation of one user")                          \
    X(MESSAGE, 2, "message", "one message of a session, made of parts")             \
    X(SESSION_POLICY, 3, "session_policy", "policy of one session")                 \
    X(AGENT, 10, "agent", "an agent: instructions, model, policy")                  \
    X(SKILL, 11, "skill", "an installed skill")                                     \
    X(KNOWLEDGE_BASE, 20, "knowledge_base", "a set of documents")                   \
    X(DOCUMENT, 21, "document", "a document of a knowledge base")                   \
    X(CHUNK, 22, "chunk", "an indexed piece of a document")                         \
    X(MEMORY_BLOCK, 25, "memory_block", "a labelled text kept always in context")   \
    X(SETTING_TYPE, 30, "setting_type", "the schema of a setting")                  \
    X(SETTING, 31, "setting", "a stored setting")                                   \
    X(ATTACHMENT, 40, "attachment", "a large content")                              \
    X(ATTACHMENT_PART, 41, "attachment_part", "128 KiB of an attachment")           \
    X(RUN, 50, "run", "a run and how it stands")                                    \
    X(CHECKPOINT, 51, "checkpoint", "the saved machine of a run")                   \
    X(JOURNAL, 52, "journal", "intent and outcome of an effect")                    \
    X(APPROVAL, 53, "approval", "a call that waits for a person")                   \
    X(INPUT_REQUEST, 54, "input_request", "a question that waits for a person")     \
    X(OUTBOX, 55, "outbox", "work to do after a commit")                            \
    X(LEASE, 56, "lease", "who writes a session, and the heartbeat of an instance") \
    X(COUNTER, 60, "counter", "a sum kept by one instance")                         \
    X(COST, 61, "cost", "what one model call used")                                 \
    X(OWNER_KEY, 70, "owner_key", "the wrapped data key of an owner")               \
    X(OPEN_RUN, 71, "open_run", "index of runs that have not ended")                \
    X(GRAPH, 80, "graph", "a graph of steps")                                       \
    X(GRAPH_STATE, 81, "graph_state", "the state of a graph run")

/** Kind of a record. */
typedef enum uar_record_kind {
#define UAR_X_ENUM(name, number, json, docs) UAR_RECORD_##name = number,
    UAR_RECORD_KINDS(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_record_kind;

/** The reserved owner of what recovery must find without knowing owners. */
#define UAR_SYSTEM_OWNER "~"

/** A record. All pointers are borrowed for the call that carries it. Ids are 1–400 bytes, compared as bytes. */
typedef struct uar_record {
    uint32_t kind;        /**< uar_record_kind, or a number that the provider need not know */
    uint32_t schema;      /**< version of the body's shape */
    uar_str owner;        /**< tenant */
    uar_str id;           /**< unique within kind and owner */
    uar_str parent;       /**< id of what it belongs to, or absent */
    uint64_t revision;    /**< 1 on creation, then +1 a put; the library sets it, the provider stores it */
    bool has_sort;        /**< true if `sort` counts */
    int64_t sort;         /**< order within the parent */
    int64_t created_ms;   /**< wall time of creation */
    int64_t updated_ms;   /**< wall time of the last put */
    uar_str body;         /**< canonical JSON */
    uar_str blob;         /**< opaque bytes, or absent */
    uint8_t checksum[16]; /**< made and checked by the library; the provider stores it as it is */
} uar_record;

/** What a write does. */
typedef enum uar_write_op {
    UAR_WRITE_CHECK = 1,  /**< nothing; fails unless the record is at `expected` (0: must not exist) */
    UAR_WRITE_PUT = 2,    /**< store `record`; fails unless the stored one is at `expected` (0: must not exist) */
    UAR_WRITE_DELETE = 3, /**< remove kind/owner/id; fails unless at `expected` */
    /** remove all of kind and owner whose parent is `record.parent`; `expected` is ignored */
    UAR_WRITE_DELETE_CHILDREN = 4
} uar_write_op;

/** One write of a commit. */
typedef struct uar_write {
    uar_write_op op;   /**< what to do */
    uint64_t expected; /**< revision that must be stored now; 0: none */
    uar_record record; /**< CHECK and DELETE use kind, owner, id; DELETE_CHILDREN kind, owner, parent */
} uar_write;

/** Order of a list. */
typedef enum uar_list_order {
    UAR_ORDER_KEY = 0, /**< by id, as bytes */
    UAR_ORDER_SORT = 1 /**< by sort, then id; records without a sort are left out */
} uar_list_order;

/** What to list. */
typedef struct uar_list_query {
    uint32_t kind;        /**< kind of the records */
    uar_str owner;        /**< their owner */
    uar_str parent;       /**< their parent; absent (NULL): all of kind and owner */
    uar_list_order order; /**< order of the answer */
    bool has_after;       /**< true: start behind (`after_sort`, `after_id`) */
    int64_t after_sort;   /**< for UAR_ORDER_SORT */
    uar_str after_id; /**< last id of the page before; with UAR_ORDER_SORT may be empty: behind all of `after_sort` */
    size_t limit;     /**< at most so many, > 0 */
} uar_list_query;

/** Called once when the library no longer reads what uar_completion_records was given. */
typedef void (*uar_release_fn)(void *ctx);

/**
 * Finish a `get` (count 1) or a `list` (count 0 … limit). `records` stays the provider's and valid until `release`,
 * which is called exactly once, also when the answer is UAR_E_STALE. `release` may be NULL.
 */
UAR_API uar_status uar_completion_records(uar_completion *done, const uar_record *records, size_t count,
                                          uar_release_fn release, void *release_ctx);

/**
 * Watches care that takes its time: `step` is called now and then with `done` of `total` units of work (`total` 0: not
 * known). False stops the care, which then ends with UAR_E_CANCELLED. It must be quick and may call nothing of the library.
 */
typedef struct uar_care_progress {
    void *ctx;                                              /**< given to `step` */
    bool (*step)(void *ctx, uint64_t done, uint64_t total); /**< NULL: nobody watches */
} uar_care_progress;

/** What to tidy. */
typedef struct uar_care_options {
    size_t size;        /**< sizeof(uar_care_options) */
    bool whole;         /**< rebuild the store: all free space goes back, and it takes memory and time by its size */
    uint64_t max_bytes; /**< without `whole`: give back at most so many bytes in this call; 0: 16 MiB */
} uar_care_options;
/** Head of a uar_care_options. */
#define UAR_CARE_OPTIONS_INIT sizeof(uar_care_options)
/** The twin of UAR_CARE_OPTIONS_INIT. */
static inline void uar_care_options_init(uar_care_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/** What tidying did. The library sets `size` and zeroes the rest before it asks a layer. */
typedef struct uar_store_care {
    size_t size;           /**< sizeof(uar_store_care) of whoever reads it */
    uint64_t bytes_before; /**< on disk before: the store and its log */
    uint64_t bytes_after;  /**< and after */
    uint64_t log_bytes;    /**< of these, what the log still has: another process reads what it holds */
    uint64_t free_bytes;   /**< free space inside the store that more calls can give back */
} uar_store_care;
/** Head of a uar_store_care. */
#define UAR_STORE_CARE_INIT sizeof(uar_store_care)
/** The twin of UAR_STORE_CARE_INIT. */
static inline void uar_store_care_init(uar_store_care *care) {
    memset(care, 0, sizeof *care);
    care->size = sizeof *care;
}

/** One fault of a store. Borrowed for the call that carries it. */
typedef struct uar_store_finding {
    size_t size;   /**< sizeof(uar_store_finding) of the library */
    bool is_lost;  /**< true: a record can't be read; false: only what can be made again, such as an index */
    uint32_t kind; /**< of the record; 0 if it isn't known */
    uar_str owner; /**< its owner, or absent */
    uar_str id;    /**< its id, or absent */
    uar_str what;  /**< what is wrong, one line */
} uar_store_finding;

/** Called for each fault. May call nothing of the library. */
typedef void (*uar_store_finding_fn)(void *ctx, const uar_store_finding *finding);

/** What a check saw. */
typedef struct uar_store_check {
    size_t size;      /**< sizeof(uar_store_check) of whoever reads it */
    uint64_t records; /**< records that are whole */
    uint64_t
        lost; /**< records that are damaged or missing; those behind a damaged page may not be counted one by one */
    uint64_t faults; /**< faults of structure */
} uar_store_check;
/** Head of a uar_store_check. */
#define UAR_STORE_CHECK_INIT sizeof(uar_store_check)
/** The twin of UAR_STORE_CHECK_INIT. */
static inline void uar_store_check_init(uar_store_check *report) {
    memset(report, 0, sizeof *report);
    report->size = sizeof *report;
}

/**
 * Durable state. See the rules on top of uar/sys/platform.h.
 *
 * The slots behind `concurrent` are optional, may block, and answer by their return value. `suspend` and `resume` are called
 * while no other call of the layer is open, on the thread that asked for it. The other three are called on a worker of their
 * own: while no other call is open, unless `care_overlaps` says that they may run beside the others. `destroy` may follow a
 * `suspend` without a `resume`.
 */
typedef struct uar_persistence {
    size_t struct_size;         /**< sizeof(uar_persistence) */
    void *ctx;                  /**< given to every slot */
    void (*destroy)(void *ctx); /**< after the last call and the last release; may block */
    /** Optional: open what is behind it. Called once, before all else, by uar_builder_build or the conformance kit, on
     *  its thread; may block. A failure is the failure of build. */
    uar_status (*open)(void *ctx, uar_error *err);
    /** Finish with one record, or fail with UAR_E_NOT_FOUND. Ids are borrowed until the call returns. */
    void (*get)(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done);
    /** Finish with up to `limit` records in order. A full page may be followed by an empty one. Borrowed until return. */
    void (*list)(void *ctx, const uar_list_query *query, uar_completion *done);
    /** All or nothing, durable before it finishes with uar_completion_ok. UAR_E_CONFLICT when an expectation fails.
     *  Writes apply in order and see the ones before. Borrowed until the completion is finished or dropped. */
    void (*commit)(void *ctx, const uar_write *writes, size_t count, uar_completion *done);
    /** Optional: absolute path of the directory that it locks, for the conflict check with memory; borrowed, stable. */
    const char *(*location)(void *ctx);
    bool blocking;   /**< true: calls may wait on files */
    bool concurrent; /**< true: calls may overlap */
    /** Optional: give back every lock, open file and unfinished statement until `resume`; the only calls that follow are
     *  `resume`, `location` and `destroy`. A failure leaves the layer as it was. */
    uar_status (*suspend)(void *ctx, uar_error *err);
    /** Optional, with `suspend`: go on with the same store. A failure leaves it suspended; it may be called again. */
    uar_status (*resume)(void *ctx, uar_error *err);
    /** Optional: a whole, consistent, durable copy in a new file at `path`: UAR_E_EXISTS if there is one. Leaves nothing
     *  behind when it fails. */
    uar_status (*backup)(void *ctx, const char *path, const uar_care_progress *progress, uar_error *err);
    /** Optional: give unused space back and shorten logs. */
    uar_status (*maintain)(void *ctx, const uar_care_options *options, const uar_care_progress *progress,
                           uar_store_care *report, uar_error *err);
    /** Optional: read everything, tell `each` (never NULL) what is damaged; writes nothing. UAR_OK says that it was read,
     *  not that all is well. */
    uar_status (*check)(void *ctx, uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                        uar_store_check *report, uar_error *err);
    bool care_overlaps; /**< true: `backup`, `maintain` and `check` may run beside other calls, one of them at a time */
} uar_persistence;
/** Head of a uar_persistence. */
#define UAR_PERSISTENCE_INIT sizeof(uar_persistence)

/** Result of the conformance kit. */
typedef struct uar_persistence_report {
    uint32_t passed;  /**< requirements kept */
    uint32_t failed;  /**< requirements broken */
    uint32_t skipped; /**< requirements that this layer can't be asked for */
} uar_persistence_report;

/** Called for each requirement that was tried (not for skipped ones): its number, what it demands, and NULL or what was wrong. */
typedef void (*uar_requirement_fn)(void *ctx, uint32_t number, const char *demand, const char *fault);

/**
 * Conformance kit: try a persistence layer against the contract. Takes the layer over (its `destroy` is called) and
 * writes records of its own under owners that start with "conformance". UAR_OK if every requirement is kept, else
 * UAR_E_INVALID with the first fault in `err`. Waits; call it from a test.
 */
UAR_API uar_status uar_persistence_check(uar_persistence_report *report, const uar_persistence *layer,
                                         uar_requirement_fn each, void *each_ctx, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
