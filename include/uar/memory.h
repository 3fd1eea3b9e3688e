/*
 * uar/memory.h: durable recall: records that a host, a user or a run wrote, in a store of their own.
 *
 * The host opens a memory, hands it to a builder (which takes a reference) and keeps and frees its own. Without one, memory
 * is disabled: a NULL uar_memory answers UAR_E_DISABLED everywhere. A memory that could not open answers UAR_E_UNAVAILABLE
 * with the reason; that is never mixed up with "nothing found".
 *
 * Who sees what: a record is visible if its owner is the caller's and the id of its scope is the caller's: global = all
 * users of one owner; agent = all users of that agent; user = that user; session and task = that session or task *and* that
 * user. What is not visible answers UAR_E_NOT_FOUND. An operator identity sees all records of one owner.
 *
 * All calls work from any thread; several processes may share one file. Results are immutable, own what they point at, carry
 * no vectors and are freed by their `_free`. Besides what is listed, each `_sync` call may answer UAR_E_DISABLED,
 * UAR_E_UNAVAILABLE, UAR_E_INVALID (identity or argument), UAR_E_STRUCT, UAR_E_BUSY, UAR_E_FULL, UAR_E_IO, UAR_E_CORRUPT and
 * UAR_E_NOMEM; each that writes also UAR_E_READ_ONLY. Times are wall milliseconds since 1970 UTC. Since 0.1.
 */
#ifndef UAR_MEMORY_H
#define UAR_MEMORY_H

#include <uar/sys/embedder.h>
#include <uar/sys/platform.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A memory service over one file. Reference-counted. */
typedef struct uar_memory uar_memory;

/** How a memory stands: X(name, number, json). */
#define UAR_MEMORY_STATES(X) \
    X(DISABLED, 0, "disabled") X(UNAVAILABLE, 1, "unavailable") X(READY, 2, "ready") X(REINDEXING, 3, "reindexing")
/** Who shares a record: X(name, number, json). */
#define UAR_MEMORY_SCOPES(X) \
    X(GLOBAL, 1, "global") X(AGENT, 2, "agent") X(USER, 3, "user") X(SESSION, 4, "session") X(TASK, 5, "task")
/** What sort of memory a record is: X(name, number, json). */
#define UAR_MEMORY_TYPES(X)    \
    X(EPISODIC, 1, "episodic") \
    X(SEMANTIC, 2, "semantic") X(PROCEDURAL, 3, "procedural") X(ASSOCIATIVE, 4, "associative")
/** Who wrote a record, the most trusted first: X(name, number, json). */
#define UAR_MEMORY_TRUSTS(X) \
    X(HOST, 1, "host") X(USER, 2, "user") X(MODEL, 3, "model") X(TOOL, 4, "tool") X(IMPORT, 5, "import")
/** What a write did: X(name, number, json). */
#define UAR_MEMORY_OUTCOMES(X)     \
    X(ADDED, 1, "added")           \
    X(REINFORCED, 2, "reinforced") \
    X(SUPERSEDED, 3, "superseded") \
    X(UPDATED, 4, "updated") X(ERASED, 5, "erased") X(ERASURE_PENDING, 6, "erasure_pending")

/** State of a memory. */
typedef enum uar_memory_status {
#define UAR_X_ENUM(name, number, json) UAR_MEMORY_##name = number,
    UAR_MEMORY_STATES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_memory_status;

/** Scope of a record. */
typedef enum uar_memory_scope {
#define UAR_X_ENUM(name, number, json) UAR_MEMORY_SCOPE_##name = number,
    UAR_MEMORY_SCOPES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_memory_scope;

/** Type of a record. */
typedef enum uar_memory_type {
#define UAR_X_ENUM(name, number, json) UAR_MEMORY_TYPE_##name = number,
    UAR_MEMORY_TYPES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_memory_type;

/** Trust tier of a record: who wrote it. */
typedef enum uar_memory_trust {
#define UAR_X_ENUM(name, number, json) UAR_MEMORY_TRUST_##name = number,
    UAR_MEMORY_TRUSTS(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_memory_trust;

/** Outcome of a write. */
typedef enum uar_memory_outcome {
#define UAR_X_ENUM(name, number, json) UAR_MEMORY_OUTCOME_##name = number,
    UAR_MEMORY_OUTCOMES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_memory_outcome;

/** JSON name of a state; "disabled" for an unknown value. Static, any thread. */
UAR_API const char *uar_memory_status_name(uar_memory_status state);
/** JSON name of a scope; NULL for an unknown value. Static, any thread. */
UAR_API const char *uar_memory_scope_name(uar_memory_scope scope);
/** JSON name of a type; NULL for an unknown value. Static, any thread. */
UAR_API const char *uar_memory_type_name(uar_memory_type type);
/** JSON name of a trust tier; NULL for an unknown value. Static, any thread. */
UAR_API const char *uar_memory_trust_name(uar_memory_trust trust);
/** JSON name of an outcome; NULL for an unknown value. Static, any thread. */
UAR_API const char *uar_memory_outcome_name(uar_memory_outcome outcome);
/** Scope of a JSON name. UAR_E_INVALID if there is none. Any thread. */
UAR_API uar_status uar_memory_scope_parse(uar_memory_scope *out, uar_str name);
/** Type of a JSON name. UAR_E_INVALID if there is none. Any thread. */
UAR_API uar_status uar_memory_type_parse(uar_memory_type *out, uar_str name);
/** Trust tier of a JSON name. UAR_E_INVALID if there is none. Any thread. */
UAR_API uar_status uar_memory_trust_parse(uar_memory_trust *out, uar_str name);

/** May write, change and delete records of global and agent scope. */
#define UAR_IDENTITY_WRITE_SHARED 1u
/** Sees all records of its owner, narrowed only by filters. For administration, never for runs, tools or requests. */
#define UAR_IDENTITY_OPERATOR 2u

/** Who calls. Set by trusted host code, never from something that a model can write. Ids are 1–128 bytes, borrowed. */
typedef struct uar_identity {
    size_t size;     /**< sizeof(uar_identity) */
    uar_str owner;   /**< tenant; absent: "local" */
    uar_str user;    /**< user, or absent */
    uar_str agent;   /**< agent, or absent */
    uar_str session; /**< session of that user, or absent */
    uar_str task;    /**< task of that user, or absent */
    uint32_t flags;  /**< UAR_IDENTITY_… or-ed; others are refused */
} uar_identity;
/** Head of a uar_identity; all else is absent. */
#define UAR_IDENTITY_INIT sizeof(uar_identity)
/** The twin of UAR_IDENTITY_INIT. */
static inline void uar_identity_init(uar_identity *identity) {
    memset(identity, 0, sizeof *identity);
    identity->size = sizeof *identity;
}

/** How to open a memory. Structs are copied; their `destroy` is called exactly once, also when opening fails. */
typedef struct uar_memory_options {
    size_t size;                    /**< sizeof(uar_memory_options) */
    const uar_allocator *allocator; /**< NULL: malloc */
    const uar_clock *clock;         /**< NULL: the platform's */
    const uar_random *random;       /**< NULL: the system's random device */
    const uar_embedder *embedder;   /**< NULL: uar_embedder_lexical(); its `id` is copied */
    uint32_t busy_timeout_ms;       /**< how long to wait for another process; 0: 5000 */
    bool read_only;                 /**< open an existing store without writing to it */
    uint32_t embed_timeout_ms;      /**< how long a call waits for the embedder; 0: 30,000, UAR_FOREVER: without end */
    const uar_executor *executor;   /**< runs the calls of uar/memory_async.h; NULL: a small pool, when first needed */
    size_t cache_bytes; /**< most memory for the index between calls; 0: 64 MiB. Larger ones are read piece by piece */
} uar_memory_options;
/** Head of a uar_memory_options. */
#define UAR_MEMORY_OPTIONS_INIT sizeof(uar_memory_options)
/** The twin of UAR_MEMORY_OPTIONS_INIT. */
static inline void uar_memory_options_init(uar_memory_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/**
 * Open or create a memory in the SQLite file `path` (UTF-8); its folder must exist. `options` may be NULL.
 * Never NULL: an object that failed is UAR_MEMORY_UNAVAILABLE, and uar_memory_state says why. A file of a newer version
 * (UAR_E_NEWER), a damaged or foreign one (UAR_E_CORRUPT) is never written to. Waits on files. Free with uar_memory_free.
 */
UAR_API uar_memory *uar_memory_open(const char *path, const uar_memory_options *options);
/** Take a reference; returns its argument. NULL is accepted. Any thread. */
UAR_API uar_memory *uar_memory_ref(uar_memory *memory);
/** Give a reference back; the last one closes the store. NULL is accepted. Any thread. */
UAR_API void uar_memory_free(uar_memory *memory);
/** How it stands; NULL is UAR_MEMORY_DISABLED. If unavailable, `reason` (may be NULL) is filled. Any thread. */
UAR_API uar_memory_status uar_memory_state(const uar_memory *memory, uar_error *reason);
/** Absolute path of the directory of its file, symbolic links resolved; borrowed until the memory is freed. NULL if there is
 *  no memory or the path could not be resolved. Any thread. */
UAR_API const char *uar_memory_location(const uar_memory *memory);
/** Id of its embedder; borrowed until the memory is freed. "" if there is none. Any thread. */
UAR_API const char *uar_memory_embedder(const uar_memory *memory);

/**
 * The bundled embedder `lexical`: hashed words and character trigrams in 256 dimensions, length 1, any language, no file.
 * Finishes inside the call. Static: it needs no destroy and serves any number of takers. Any thread.
 */
UAR_API const uar_embedder *uar_embedder_lexical(void);

/** The time that is no end: the record is valid until something supersedes it. */
#define UAR_MEMORY_OPEN_END INT64_MAX

/** Where a record came from. */
typedef struct uar_memory_provenance {
    uar_run_id run;  /**< run that wrote it, or none */
    uint64_t event;  /**< id of the event in that run, 0 if none */
    uar_str session; /**< session of that run, or absent */
} uar_memory_provenance;

/** A record. */
typedef struct uar_memory_record {
    uar_uuid id;                      /**< never changes */
    uar_str content;                  /**< the text, 1 byte to 64 KiB */
    uar_memory_scope scope;           /**< who shares it */
    uar_memory_type type;             /**< what it is */
    uar_str owner;                    /**< tenant */
    uar_str user;                     /**< user, or absent */
    uar_str agent;                    /**< agent, or absent */
    uar_str session;                  /**< session, or absent */
    uar_str task;                     /**< task, or absent */
    const uar_str *categories;        /**< labels */
    size_t category_count;            /**< how many, at most 32 */
    uar_str metadata;                 /**< a JSON object, as it was given */
    double importance;                /**< 0 to 1 */
    uar_memory_trust trust;           /**< who wrote it */
    uar_memory_provenance provenance; /**< where it came from */
    uar_str subject;                  /**< fact slot: of what; absent if it is no slot fact */
    uar_str attribute;                /**< fact slot: which property */
    int64_t created_ms;               /**< when it was said */
    int64_t updated_ms;               /**< last change of this version */
    int64_t recalled_ms;              /**< last injection into a run, 0 if never */
    uint64_t recall_count;            /**< injections into runs; reading doesn't count */
    uint64_t reinforced;              /**< exact repeats that were merged into it */
    int64_t valid_from_ms;            /**< from when this version holds */
    int64_t valid_until_ms;           /**< until when; UAR_MEMORY_OPEN_END: open */
    uint64_t revision;                /**< 1 on creation, then +1 a change */
    bool current;                     /**< false: an older version of the record of this id */
    uar_uuid superseded_by;           /**< the record that took its fact slot, or none */
    uint8_t checksum[16];             /**< over the stored fields; checked on each read */
    int64_t expires_ms;               /**< when it is erased; 0: never */
    uar_str embedder;                 /**< id of the embedder that it was written with */
} uar_memory_record;

/** What to write. All texts are borrowed for the call. */
typedef struct uar_memory_draft {
    size_t size;            /**< sizeof(uar_memory_draft) */
    uar_str content;        /**< valid UTF-8, not blank, at most 64 KiB, without U+0000 */
    uar_memory_scope scope; /**< 0: user */
    uar_memory_type type;   /**< 0: semantic */
    uar_str user;    /**< absent: the identity's where the scope asks for it. Only an operator may name another */
    uar_str agent;   /**< the same; beyond its scope it is kept as a note */
    uar_str session; /**< the same */
    uar_str task;    /**< the same */
    const uar_str *categories;        /**< labels of 1–128 bytes without control characters */
    size_t category_count;            /**< at most 32 */
    uar_str metadata;                 /**< a JSON object of at most 64 KiB; absent: {} */
    double importance;                /**< 0 to 1; UAR_MEMORY_DRAFT_INIT sets 0.5 */
    uar_memory_trust trust;           /**< 0: user */
    uar_memory_provenance provenance; /**< where it comes from */
    uar_str subject;                  /**< fact slot, with `attribute`; both or none, at most 1024 bytes each */
    uar_str attribute;                /**< fact slot */
    int64_t created_ms;               /**< when it was said, above INT64_MIN; 0: now */
    int64_t valid_until_ms;           /**< when it ends; 0: open */
    uar_str unique_key; /**< at most 400 bytes: a second write of one owner under this key changes nothing */
    int64_t expires_ms; /**< when it is to be erased; 0 or UAR_MEMORY_OPEN_END: never */
} uar_memory_draft;
/** Head of a uar_memory_draft. */
#define UAR_MEMORY_DRAFT_INIT .size = sizeof(uar_memory_draft), .importance = 0.5
/** The twin of UAR_MEMORY_DRAFT_INIT. */
static inline void uar_memory_draft_init(uar_memory_draft *draft) {
    memset(draft, 0, sizeof *draft);
    draft->size = sizeof *draft;
    draft->importance = 0.5;
}

/** What to change; what is absent stays. Borrowed for the call. */
typedef struct uar_memory_patch {
    size_t size;               /**< sizeof(uar_memory_patch) */
    uint64_t expected;         /**< revision that must be stored now; 0: any */
    uar_str content;           /**< new text */
    uar_memory_type type;      /**< new type; 0 keeps */
    const uar_str *categories; /**< new labels, if `set_categories` */
    size_t category_count;     /**< how many */
    bool set_categories;       /**< true: replace the labels */
    uar_str metadata;          /**< new JSON object; replaces the whole */
    double importance;         /**< new importance; below 0 keeps; UAR_MEMORY_PATCH_INIT sets -1 */
    uar_memory_trust trust;    /**< who changes it; the record gets the less trusted of both. 0: user */
    int64_t valid_until_ms;    /**< new end; 0 keeps */
    int64_t expires_ms; /**< when it is to be erased; UAR_MEMORY_OPEN_END: never; 0 keeps. Makes no new version */
} uar_memory_patch;
/** Head of a uar_memory_patch. */
#define UAR_MEMORY_PATCH_INIT .size = sizeof(uar_memory_patch), .importance = -1
/** The twin of UAR_MEMORY_PATCH_INIT. */
static inline void uar_memory_patch_init(uar_memory_patch *patch) {
    memset(patch, 0, sizeof *patch);
    patch->size = sizeof *patch;
    patch->importance = -1;
}

/** Which records. Conditions are and-ed; what is absent or 0 is no condition. Borrowed for the call. */
typedef struct uar_memory_filter {
    size_t size;       /**< sizeof(uar_memory_filter) */
    uint32_t scopes;   /**< or of 1u << scope */
    uint32_t types;    /**< or of 1u << type */
    uar_str user;      /**< exactly this user */
    uar_str agent;     /**< exactly this agent */
    uar_str session;   /**< exactly this session */
    uar_str task;      /**< exactly this task */
    uar_str category;  /**< has this label */
    uar_str metadata;  /**< a JSON object: each of its members is in the record's metadata, equal */
    int64_t after_ms;  /**< created at or after */
    int64_t before_ms; /**< created before */
    int64_t as_of_ms;  /**< list, search: what held at this time, in the version of that time */
    bool include_past; /**< list, stats: also records that have ended or were superseded */
} uar_memory_filter;
/** Head of a uar_memory_filter. */
#define UAR_MEMORY_FILTER_INIT sizeof(uar_memory_filter)
/** The twin of UAR_MEMORY_FILTER_INIT. */
static inline void uar_memory_filter_init(uar_memory_filter *filter) {
    memset(filter, 0, sizeof *filter);
    filter->size = sizeof *filter;
}

/** What a write of one record did. */
typedef struct uar_memory_change {
    uar_uuid id;                /**< the record */
    uar_memory_outcome outcome; /**< what happened */
    uar_uuid supersedes;        /**< record that it replaced, or none */
    uint64_t revision;          /**< of the record now; 0 after a deletion */
    bool repeated;              /**< true: this unique key was written before; nothing was done now */
} uar_memory_change;

/** What a bulk delete did. */
typedef struct uar_memory_erasure {
    uint64_t erased;    /**< records whose bytes left the file */
    uint64_t pending;   /**< records that are gone from every answer, their bytes not yet from the file */
    uint64_t forbidden; /**< matching shared records that this identity may not delete; they stay */
} uar_memory_erasure;

/** Records, newest write first; from history: oldest first. */
typedef struct uar_memory_records {
    const uar_memory_record *records; /**< the records */
    size_t count;                     /**< how many */
    uar_str cursor;                   /**< pass it to get the next page; absent on the last one */
} uar_memory_records;

/** A record that a search found. */
typedef struct uar_memory_hit {
    uar_memory_record record; /**< the record, in the version that was found */
    double score;             /**< what hits are ordered by: relevance, moved by at most 20 % */
    double lexical;   /**< 0 to 1: share of the question's words, weighted by their rarity, in it or around it */
    double vector;    /**< cosine; 0 in lexical mode, and where the record has no vector */
    double recency;   /**< 1 now, 0.5 after thirty days */
    double around;    /**< how much of `lexical` comes from its neighbours and the rest of its conversation */
    double relevance; /**< words and vector joined, before recency, importance and trust; at least 0 */
    double time; /**< 0 to 1: how near its creation is to a time that the question speaks of; 0 if it speaks of none */
} uar_memory_hit;

/** Answer of a search. */
typedef struct uar_memory_hits {
    uar_str query;              /**< the question */
    const char *mode;           /**< "lexical": by words alone; "hybrid": by words and vectors */
    const uar_memory_hit *hits; /**< best first */
    size_t count;               /**< how many */
} uar_memory_hits;

/** One question of a batch. */
typedef struct uar_memory_query {
    uar_str text;                    /**< the question */
    const uar_memory_filter *filter; /**< NULL: none */
    size_t limit;                    /**< 1–1000 */
} uar_memory_query;

/** How many records there are. */
typedef struct uar_memory_stats {
    uint64_t total;          /**< visible records that hold now */
    uint64_t by_scope[6];    /**< the same by uar_memory_scope; index 0 is unused */
    uint64_t pending;        /**< deleted versions of the whole store whose bytes still wait to be erased */
    uar_memory_status state; /**< how the memory stands */
} uar_memory_stats;

/** Takes a piece of output, borrowed. Not UAR_OK stops the call, which returns that status. No lock is held. */
typedef uar_status (*uar_memory_write_fn)(void *ctx, uar_str piece);

/** Merge nothing on import: every line becomes a record of its own, with its id and times. */
#define UAR_MEMORY_IMPORT_VERBATIM 1u

/** Called for each line that could not be imported: its number from 1, and why. No lock is held. */
typedef void (*uar_memory_line_fn)(void *ctx, uint64_t line, const uar_error *err);

/** What an import did. */
typedef struct uar_memory_imported {
    uint64_t added;      /**< new records */
    uint64_t reinforced; /**< repeats */
    uint64_t superseded; /**< facts that replaced one */
    uint64_t failed;     /**< lines refused */
    uint64_t skipped;    /**< lines of older versions, which only a verbatim import restores */
} uar_memory_imported;

/**
 * Write a record. The exact same text (NFKC, case folded, white space normalised) of the same scope and type reinforces the
 * one that is there: nothing it carries is lost. Another text in the same fact slot supersedes it: the old record ends, stays
 * in history and leaves recall; of two, the one created later holds. UAR_E_FORBIDDEN: global and agent scope need
 * UAR_IDENTITY_WRITE_SHARED. UAR_E_UTF8, UAR_E_TOO_LARGE, UAR_E_JSON, UAR_E_INVALID name what is wrong in the draft.
 */
UAR_API uar_status uar_memory_add_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                       const uar_memory_draft *draft, uar_error *err);
/** Merge nothing in a batch: each draft becomes a record of its own, whatever is there. */
#define UAR_MEMORY_ADD_VERBATIM 1u
/** Most drafts of one batch. */
#define UAR_MEMORY_BATCH_MAX 10000

/** Called for each draft that was refused: its index, and why. No lock is held. */
typedef void (*uar_memory_draft_fn)(void *ctx, size_t index, const uar_error *err);

/**
 * Write `count` records in one transaction, embedded in batches; as uar_memory_add_sync, one after the other. A draft that is
 * refused doesn't stop the others: `failed` (may be NULL) is told of it, and its change is all zero. A fault of the store
 * writes none. `changes` has `count` places or is NULL. `flags`: UAR_MEMORY_ADD_…. UAR_E_TOO_LARGE: more than
 * UAR_MEMORY_BATCH_MAX.
 */
UAR_API uar_status uar_memory_add_batch_sync(uar_memory_change *changes, uar_memory *memory, const uar_identity *who,
                                             const uar_memory_draft *drafts, size_t count, uint32_t flags,
                                             uar_memory_draft_fn failed, void *ctx, uar_error *err);
/** One record, one item. UAR_E_NOT_FOUND. */
UAR_API uar_status uar_memory_get_sync(uar_memory_records **out, uar_memory *memory, const uar_identity *who,
                                       uar_uuid id, uar_error *err);
/** Change a record; the old version stays in its history. UAR_E_NOT_FOUND; UAR_E_CONFLICT: not at `expected`, or superseded;
 *  UAR_E_FORBIDDEN as for adding. */
UAR_API uar_status uar_memory_update_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                          uar_uuid id, const uar_memory_patch *patch, uar_error *err);
/** Erase a record, its versions, the facts that it superseded, and their index entries. The outcome says whether the bytes
 *  have left the file; pending ones are tried again at each deletion, at opening and by uar_memory_clean_sync. */
UAR_API uar_status uar_memory_delete_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                          uar_uuid id, uar_error *err);
/** Erase all that match, ended ones included. UAR_E_FILTER_REQUIRED without a condition. `as_of_ms` is refused. */
UAR_API uar_status uar_memory_delete_where_sync(uar_memory_erasure *out, uar_memory *memory, const uar_identity *who,
                                                const uar_memory_filter *filter, uar_error *err);
/** Erase what a record superseded or summarises, with all versions; the record itself stays. UAR_E_NOT_FOUND;
 *  UAR_E_FORBIDDEN as for adding. */
UAR_API uar_status uar_memory_purge_sync(uar_memory_erasure *out, uar_memory *memory, const uar_identity *who,
                                         uar_uuid id, uar_error *err);

/** Makes a summary of `sources` (oldest first, borrowed): writes it in pieces by `write` with `write_ctx`. Not UAR_OK ends
 *  the compression with that status. No lock is held; the memory may be asked. */
typedef uar_status (*uar_memory_summarize_fn)(void *ctx, const uar_memory_records *sources, uar_memory_write_fn write,
                                              void *write_ctx);

/** How to compress. Borrowed for the call. */
typedef struct uar_memory_compress_options {
    size_t size;                       /**< sizeof(uar_memory_compress_options) */
    uar_str summary;                   /**< the summary; absent: `summarize` makes it */
    uar_memory_summarize_fn summarize; /**< NULL: sentences of the sources, chosen by a rule */
    void *ctx;                         /**< given to `summarize` */
    size_t
        max_bytes; /**< of the rule's summary; 0: a third of the sources, at most 2048, or one sentence if none fits */
    uar_memory_type type;   /**< of the summary; 0: the sources' if they have one, else semantic */
    uar_memory_trust trust; /**< who summarises; the summary gets the least trusted of all. 0: host */
} uar_memory_compress_options;
/** Head of a uar_memory_compress_options. */
#define UAR_MEMORY_COMPRESS_OPTIONS_INIT sizeof(uar_memory_compress_options)
/** The twin of UAR_MEMORY_COMPRESS_OPTIONS_INIT. */
static inline void uar_memory_compress_options_init(uar_memory_compress_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/** What a compression did. */
typedef struct uar_memory_compression {
    uar_uuid id;            /**< the summary */
    uint64_t archived;      /**< sources that ended */
    uint64_t source_bytes;  /**< their text */
    uint64_t summary_bytes; /**< its text */
    uar_memory_trust trust; /**< the least trusted of its sources and of who summarised */
} uar_memory_compression;

/**
 * Put one summary in the place of the records that hold and match, in one transaction: they end, leave recall, and stay in
 * the summary's history (uar_memory_history_sync) until uar_memory_purge_sync or the deletion of the summary. They must be of
 * one scope and its ids (UAR_E_INVALID), at most 1,000 and 1 MiB (UAR_E_TOO_LARGE); facts with a slot and records that expire
 * are left as they are. `options` may be NULL. UAR_E_NOT_FOUND: fewer than two match. UAR_E_TOO_LARGE: the summary is not
 * shorter than its sources. UAR_E_CONFLICT: one was changed meanwhile. UAR_E_FORBIDDEN as for adding. On failure nothing is
 * changed.
 */
UAR_API uar_status uar_memory_compress_sync(uar_memory_compression *out, uar_memory *memory, const uar_identity *who,
                                            const uar_memory_filter *filter, const uar_memory_compress_options *options,
                                            uar_error *err);
/** Records that hold, newest write first, at most `limit` (1–1000), behind `cursor` (absent: from the start). `filter` may
 *  be NULL. */
UAR_API uar_status uar_memory_list_sync(uar_memory_records **out, uar_memory *memory, const uar_identity *who,
                                        const uar_memory_filter *filter, uar_str cursor, size_t limit, uar_error *err);
/** All versions of a record and of those whose fact it superseded, oldest first. UAR_E_NOT_FOUND. */
UAR_API uar_status uar_memory_history_sync(uar_memory_records **out, uar_memory *memory, const uar_identity *who,
                                           uar_uuid id, uar_error *err);
/** Search by words, and with an embedder by vectors too (`mode` says which). Any text is a question, at most 64 KiB. At most
 *  `limit` (1–1000) hits. `filter` may be NULL. */
UAR_API uar_status uar_memory_search_sync(uar_memory_hits **out, uar_memory *memory, const uar_identity *who,
                                          uar_str query, const uar_memory_filter *filter, size_t limit, uar_error *err);
/** `count` searches; `out` is an array of `count` pointers, untouched on failure. */
UAR_API uar_status uar_memory_search_batch_sync(uar_memory_hits **out, uar_memory *memory, const uar_identity *who,
                                                const uar_memory_query *queries, size_t count, uar_error *err);
/** Count visible records. `filter` may be NULL. */
UAR_API uar_status uar_memory_stats_sync(uar_memory_stats *out, uar_memory *memory, const uar_identity *who,
                                         const uar_memory_filter *filter, uar_error *err);
/** Write each visible version as one line of JSON (`"v":1`), oldest write first, lossless. `filter` may be NULL. */
UAR_API uar_status uar_memory_export_sync(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                          uar_memory_write_fn write, void *ctx, uar_error *err);
/** Read lines of JSON, `{"content":"…"}` and any key of a record. Lines are written a few hundred a transaction, and counted; a
 *  line that is refused doesn't stop the others. What a file says of trust in a host is an import's, but for an operator who
 *  imports verbatim. `flags`: UAR_MEMORY_IMPORT_…; `failed` may be NULL. */
UAR_API uar_status uar_memory_import_sync(uar_memory_imported *out, uar_memory *memory, const uar_identity *who,
                                          uar_str lines, uint32_t flags, uar_memory_line_fn failed, void *ctx,
                                          uar_error *err);
/** Build the index anew from the records. Meanwhile the state is UAR_MEMORY_REINDEXING and every call works. */
UAR_API uar_status uar_memory_reindex_sync(uar_memory *memory, uar_error *err);
/** Told after each step of a long call: how many of `total` are done. Not UAR_OK stops the call, which returns that status; what
 *  is done stays done. No lock is held. */
typedef uar_status (*uar_memory_progress_fn)(void *ctx, uint64_t done, uint64_t total);
/**
 * Give a vector to each record that has none of the memory's embedder: those written with another one, or while it failed.
 * Until then they are found by their words; vectors of two models are never compared. Goes on where it was stopped, by whatever;
 * several processes may do it at once. `progress` may be NULL. Nothing to do with `lexical`. UAR_E_TIMEOUT, UAR_E_NETWORK and
 * what else the embedder says; a record that it alone refuses is left out and told at the end.
 */
UAR_API uar_status uar_memory_reembed_sync(uar_memory *memory, uar_memory_progress_fn progress, void *ctx,
                                           uar_error *err);
/** How far the records of a store, all owners together, are embedded. */
typedef struct uar_memory_embedding {
    size_t size;         /**< sizeof(uar_memory_embedding) */
    const char *model;   /**< id of the embedder; borrowed until the memory is freed */
    size_t dims;         /**< floats a vector; 0: `lexical`, which needs none */
    uint64_t embedded;   /**< versions of records with a vector of this model */
    uint64_t unembedded; /**< those without: found by their words alone */
} uar_memory_embedding;
/** Head of a uar_memory_embedding. */
#define UAR_MEMORY_EMBEDDING_INIT sizeof(uar_memory_embedding)
/** The twin of UAR_MEMORY_EMBEDDING_INIT. */
static inline void uar_memory_embedding_init(uar_memory_embedding *embedding) {
    memset(embedding, 0, sizeof *embedding);
    embedding->size = sizeof *embedding;
}
/** Fill `out`, whose `size` is set. */
UAR_API uar_status uar_memory_embedding_sync(uar_memory_embedding *out, uar_memory *memory, uar_error *err);
/** Try to erase what deletions left pending; `pending` gets what is still left. */
UAR_API uar_status uar_memory_clean_sync(uint64_t *pending, uar_memory *memory, uar_error *err);
/** Erase what has expired; `erased` gets how many records went. From its time on a record is in no answer, swept or not. A
 *  sweep also runs at opening and, at most once a minute, behind writes. What an expired record superseded stays. */
UAR_API uar_status uar_memory_sweep_sync(uint64_t *erased, uar_memory *memory, uar_error *err);
/** Check the file, the checksums of all records and that records and index agree. UAR_E_CORRUPT names the first fault. */
UAR_API uar_status uar_memory_check_sync(uar_memory *memory, uar_error *err);

/** Free records; NULL is accepted. Any thread. */
UAR_API void uar_memory_records_free(uar_memory_records *records);
/** Free hits; NULL is accepted. Any thread. */
UAR_API void uar_memory_hits_free(uar_memory_hits *hits);

/** Write a record as one JSON object. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_record_json(const uar_memory_record *record, const uar_allocator *allocator,
                                          uar_memory_write_fn write, void *ctx);
/** Write an answer as one JSON object {query, mode, hits}. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_hits_json(const uar_memory_hits *hits, const uar_allocator *allocator,
                                        uar_memory_write_fn write, void *ctx);
/** Write a change as one JSON object {id, outcome, supersedes, revision}. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_change_json(const uar_memory_change *change, const uar_allocator *allocator,
                                          uar_memory_write_fn write, void *ctx);
/** Write counts as one JSON object {total, by_scope, state, pending, embedder, embedded, unembedded}; the last three are of
 *  the whole store, and null if `embedding` is NULL. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_stats_json(const uar_memory_stats *stats, const uar_memory_embedding *embedding,
                                         const uar_allocator *allocator, uar_memory_write_fn write, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
