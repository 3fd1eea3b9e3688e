/*
 * uar/memory_stream.h: task streams, append-only logs in a memory, one a task or topic.
 *
 * A stream has a name, unique among the streams of its scope and place, and entries numbered 1, 2, 3 … without a hole, in
 * the order in which they were appended, whoever appends. Entries never change. A summary is an entry too: it stands for a
 * run of earlier ones, which stay readable; a window then shows the summary in their place. Summaries can be summarised
 * again.
 *
 * Who sees a stream is who would see a record of its scope (see uar/memory.h); what is not visible answers
 * UAR_E_NOT_FOUND. Creating, appending to, summarising, archiving and deleting streams of global and agent scope needs
 * UAR_IDENTITY_WRITE_SHARED (UAR_E_FORBIDDEN). Besides what is listed, each `_sync` call may answer what those of
 * uar/memory.h may; all work from any thread, and several processes may share one file. Texts that are given are borrowed
 * for the call. Tokens are estimates, rather too many than too few. Since 0.1.
 */
#ifndef UAR_MEMORY_STREAM_H
#define UAR_MEMORY_STREAM_H

#include <uar/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most entries of one append, and of one page. */
#define UAR_MEMORY_STREAM_BATCH_MAX 1000

/** A stream. */
typedef struct uar_memory_stream {
    uar_uuid id;            /**< never changes */
    uar_str name;           /**< 1–128 bytes */
    uar_memory_scope scope; /**< who shares it */
    uar_str owner;          /**< tenant */
    uar_str user;           /**< user, or absent: ids that the scope doesn't name are absent */
    uar_str agent;          /**< agent, or absent */
    uar_str session;        /**< session, or absent */
    uar_str task;           /**< task, or absent */
    uar_str metadata;       /**< a JSON object, as it was given */
    int64_t created_ms;     /**< when it was created */
    int64_t updated_ms;     /**< last append, summary, or change of its archiving */
    int64_t archived_ms;    /**< when it was archived; 0: it is active */
    uint64_t last;          /**< number of the newest entry, which is how many there are; 0: none */
    uint64_t summaries;     /**< how many of them are summaries */
    uint64_t tokens;        /**< of all entries */
    uint64_t live;          /**< entries that no summary stands for */
    uint64_t live_tokens;   /**< of these: what a window with room for all would hold */
    bool created;           /**< answer of an open: true if this call created it */
    uint8_t checksum[16];   /**< over the stored fields; checked on each read */
} uar_memory_stream;

/** Streams, the newest first. */
typedef struct uar_memory_streams {
    const uar_memory_stream *streams; /**< the streams */
    size_t count;                     /**< how many */
    uar_str cursor;                   /**< pass it to get the next page; absent on the last one */
} uar_memory_streams;

/** An entry. */
typedef struct uar_memory_stream_entry {
    uint64_t number;        /**< from 1 */
    uar_str role;           /**< what kind of entry: a label of the host's choice, such as "user" */
    uar_str text;           /**< 1 byte to 64 KiB */
    uar_str metadata;       /**< a JSON object, as it was given */
    uar_memory_trust trust; /**< who wrote it; of a summary: the least trusted of its writer and its sources */
    uar_memory_provenance provenance; /**< where it came from */
    int64_t created_ms;               /**< when it was said */
    uint64_t tokens;                  /**< of its text, at least 1 */
    uint64_t first;                   /**< of a summary: first number that it stands for; else 0 */
    uint64_t last;                    /**< of a summary: last number that it stands for; else 0 */
    uint64_t summarised_by;           /**< number of the summary that stands for it; 0: none */
    uar_str unique_key;               /**< the key it was appended with, or absent */
    uint8_t checksum[16];             /**< over the stored fields; checked on each read */
} uar_memory_stream_entry;

/** A page of entries. */
typedef struct uar_memory_stream_entries {
    const uar_memory_stream_entry *entries; /**< in the direction that was asked for */
    size_t count;                           /**< how many */
    uint64_t next;                          /**< pass it as `from` to get the next page; 0: there is none */
} uar_memory_stream_entries;

/** Neighbouring entries that a window left out. A summary counts as one entry, in the place of what it stands for. */
typedef struct uar_memory_stream_gap {
    uint64_t first;   /**< first number */
    uint64_t last;    /**< last number */
    uint64_t entries; /**< how many entries or summaries */
    uint64_t tokens;  /**< of these */
} uar_memory_stream_gap;

/** The newest context within a budget. */
typedef struct uar_memory_stream_window {
    const uar_memory_stream_entry *entries; /**< in the order of what they say; a summary in the place of its range */
    size_t count;                           /**< how many */
    uint64_t tokens;                        /**< of these; never above the budget */
    const uar_memory_stream_gap *gaps;      /**< what was left out, in order */
    size_t gap_count;                       /**< how many; 0: nothing was left out */
    uint64_t left_out;                      /**< entries and summaries left out, all gaps together */
    uint64_t left_out_tokens;               /**< of these */
} uar_memory_stream_window;

/** Which stream to open. */
typedef struct uar_memory_stream_draft {
    size_t size;            /**< sizeof(uar_memory_stream_draft) */
    uar_str name;           /**< 1–128 bytes of UTF-8 without control characters; compared as bytes */
    uar_memory_scope scope; /**< 0: task if the identity has a task, else user */
    uar_str user;     /**< absent: the identity's where the scope asks for it. Only an operator may name another */
    uar_str agent;    /**< the same */
    uar_str session;  /**< the same */
    uar_str task;     /**< the same */
    uar_str metadata; /**< a JSON object of at most 64 KiB for a new stream; absent: {} */
    bool must_exist;  /**< true: find it, never create it; works on a store that is read only */
} uar_memory_stream_draft;
/** Head of a uar_memory_stream_draft. */
#define UAR_MEMORY_STREAM_DRAFT_INIT sizeof(uar_memory_stream_draft)
/** The twin of UAR_MEMORY_STREAM_DRAFT_INIT. */
static inline void uar_memory_stream_draft_init(uar_memory_stream_draft *draft) {
    memset(draft, 0, sizeof *draft);
    draft->size = sizeof *draft;
}

/** What to append. */
typedef struct uar_memory_stream_entry_draft {
    size_t size;                      /**< sizeof(uar_memory_stream_entry_draft) */
    uar_str role;                     /**< 1–128 bytes without control characters; absent: "note" */
    uar_str text;                     /**< valid UTF-8, not blank, at most 64 KiB, without U+0000 */
    uar_str metadata;                 /**< a JSON object of at most 64 KiB; absent: {} */
    uar_memory_trust trust;           /**< 0: user */
    uar_memory_provenance provenance; /**< where it comes from */
    int64_t created_ms;               /**< when it was said, above INT64_MIN; 0: now. No order depends on it */
    uar_str unique_key; /**< at most 400 bytes: a second append to the stream under this key changes nothing */
} uar_memory_stream_entry_draft;
/** Head of a uar_memory_stream_entry_draft. */
#define UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT sizeof(uar_memory_stream_entry_draft)
/** The twin of UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT. */
static inline void uar_memory_stream_entry_draft_init(uar_memory_stream_entry_draft *draft) {
    memset(draft, 0, sizeof *draft);
    draft->size = sizeof *draft;
}

/** Where an entry went. */
typedef struct uar_memory_stream_appended {
    uint64_t number; /**< number of the entry */
    bool repeated;   /**< true: this unique key was appended before, as that number; nothing was done now */
} uar_memory_stream_appended;

/** What a summary is to stand for, and what it says. */
typedef struct uar_memory_stream_summary_draft {
    size_t size;         /**< sizeof(uar_memory_stream_summary_draft) */
    uint64_t first;      /**< first number; 0: 1 */
    uint64_t last;       /**< last number; 0: the newest */
    uar_str text;        /**< the summary; absent: whole sentences of the range, chosen by a rule */
    uint64_t max_tokens; /**< by rule: at most so many; 0: a quarter of the range, at most 1024 */
    uint64_t expected;   /**< number that the summary must get; 0: any */
    uar_str role;        /**< as for an entry; absent: "summary" */
    uar_str metadata;    /**< as for an entry */
    uar_memory_trust
        trust; /**< who wrote the text; 0: model; by rule nobody adds a word. Lowered to the least trusted source */
    uar_memory_provenance provenance; /**< where it comes from */
    uar_str unique_key;               /**< as for an entry */
} uar_memory_stream_summary_draft;
/** Head of a uar_memory_stream_summary_draft. */
#define UAR_MEMORY_STREAM_SUMMARY_DRAFT_INIT sizeof(uar_memory_stream_summary_draft)
/** The twin of UAR_MEMORY_STREAM_SUMMARY_DRAFT_INIT. */
static inline void uar_memory_stream_summary_draft_init(uar_memory_stream_summary_draft *draft) {
    memset(draft, 0, sizeof *draft);
    draft->size = sizeof *draft;
}

/** What a summary did. */
typedef struct uar_memory_stream_summary {
    uint64_t number;        /**< of the summary */
    uint64_t first;         /**< first number that it stands for */
    uint64_t last;          /**< last number that it stands for */
    uint64_t sources;       /**< entries and summaries that gave way to it */
    uint64_t tokens;        /**< of the summary */
    uint64_t source_tokens; /**< of what gave way */
    bool repeated;          /**< true: this unique key was written before; nothing was done now, `sources` are 0 */
} uar_memory_stream_summary;

/** Which streams by their archiving. */
typedef enum uar_memory_stream_archiving {
    UAR_MEMORY_STREAM_ACTIVE = 0,   /**< those that are not archived */
    UAR_MEMORY_STREAM_ANY = 1,      /**< all */
    UAR_MEMORY_STREAM_ARCHIVED = 2, /**< archived ones only */
} uar_memory_stream_archiving;

/** Which streams. Conditions are and-ed; what is absent or 0 is no condition. */
typedef struct uar_memory_stream_filter {
    size_t size;                          /**< sizeof(uar_memory_stream_filter) */
    uar_uuid id;                          /**< this stream only */
    uint32_t scopes;                      /**< or of 1u << scope */
    uar_str user;                         /**< exactly this user */
    uar_str agent;                        /**< exactly this agent */
    uar_str session;                      /**< exactly this session */
    uar_str task;                         /**< exactly this task */
    uar_memory_stream_archiving archived; /**< by archiving; 0: active ones */
} uar_memory_stream_filter;
/** Head of a uar_memory_stream_filter. */
#define UAR_MEMORY_STREAM_FILTER_INIT sizeof(uar_memory_stream_filter)
/** The twin of UAR_MEMORY_STREAM_FILTER_INIT. */
static inline void uar_memory_stream_filter_init(uar_memory_stream_filter *filter) {
    memset(filter, 0, sizeof *filter);
    filter->size = sizeof *filter;
}

/** How many streams and entries there are. */
typedef struct uar_memory_stream_stats {
    uint64_t streams;     /**< visible streams that the filter picks */
    uint64_t archived;    /**< of these: archived */
    uint64_t entries;     /**< entries of these, summaries included */
    uint64_t summaries;   /**< of these: summaries */
    uint64_t tokens;      /**< of all these entries */
    uint64_t live_tokens; /**< of those that no summary stands for */
    uint64_t pending;     /**< deleted rows of the whole store whose bytes still wait to be erased */
} uar_memory_stream_stats;

/** What an import did. */
typedef struct uar_memory_stream_imported {
    uint64_t streams; /**< streams created */
    uint64_t entries; /**< entries appended, summaries included */
    uint64_t skipped; /**< streams and entries that were there already, the same */
    uint64_t failed;  /**< lines refused */
} uar_memory_stream_imported;

/** A window: also of a stream that is archived. */
#define UAR_MEMORY_STREAM_WINDOW_ARCHIVED 1u

/** Find a stream by its name, or create it. One item. Idempotent: the same name in the same place is the same stream, and
 *  the metadata of one that is there stays. UAR_E_NOT_FOUND with `must_exist`. */
UAR_API uar_status uar_memory_stream_open_sync(uar_memory_streams **out, uar_memory *memory, const uar_identity *who,
                                               const uar_memory_stream_draft *draft, uar_error *err);
/** One stream by its id, one item; also an archived one. */
UAR_API uar_status uar_memory_stream_get_sync(uar_memory_streams **out, uar_memory *memory, const uar_identity *who,
                                              uar_uuid stream, uar_error *err);
/** Append an entry. `expected`: the number that it must get (UAR_E_CONFLICT says which would be next); 0: any. An entry
 *  whose unique key is there already answers with its number, whatever is expected. UAR_E_CLOSED: the stream is archived. */
UAR_API uar_status uar_memory_stream_append_sync(uar_memory_stream_appended *out, uar_memory *memory,
                                                 const uar_identity *who, uar_uuid stream,
                                                 const uar_memory_stream_entry_draft *entry, uint64_t expected,
                                                 uar_error *err);
/** Append 1–1000 entries, all or none. `out` is an array of `count`; `expected` is the number of the first that is new. */
UAR_API uar_status uar_memory_stream_append_batch_sync(uar_memory_stream_appended *out, uar_memory *memory,
                                                       const uar_identity *who, uar_uuid stream,
                                                       const uar_memory_stream_entry_draft *entries, size_t count,
                                                       uint64_t expected, uar_error *err);
/** Entries from number `from` on (0: from the first, or backwards from the newest), at most `limit` (1–1000). All are there,
 *  summaries and what they stand for, also of an archived stream. */
UAR_API uar_status uar_memory_stream_read_sync(uar_memory_stream_entries **out, uar_memory *memory,
                                               const uar_identity *who, uar_uuid stream, uint64_t from, bool backwards,
                                               size_t limit, uar_error *err);
/** What of a stream fits into `max_tokens`, which is at least 1. Summaries come first and may take half of it, the newest
 *  first; then entries, the newest first; then what is left goes to further summaries. What doesn't fit is left out whole,
 *  and the next may still fit. `flags`: UAR_MEMORY_STREAM_WINDOW_…. UAR_E_CLOSED: it is archived and wasn't asked for so. */
UAR_API uar_status uar_memory_stream_window_sync(uar_memory_stream_window **out, uar_memory *memory,
                                                 const uar_identity *who, uar_uuid stream, uint64_t max_tokens,
                                                 uint32_t flags, uar_error *err);
/**
 * Append a summary that stands for a range of numbers; what it stands for is marked in the same transaction. Summaries whose
 * range lies inside give way like entries; the number of a summary itself is part of no range. UAR_E_TOO_LARGE: it has not
 * fewer tokens than what it would stand for. UAR_E_INVALID: there is nothing in the range, or a summary lies only partly in
 * it. UAR_E_CONFLICT: not at `expected`, or the range changed meanwhile. UAR_E_CLOSED: the stream is archived.
 */
UAR_API uar_status uar_memory_stream_summarise_sync(uar_memory_stream_summary *out, uar_memory *memory,
                                                    const uar_identity *who, uar_uuid stream,
                                                    const uar_memory_stream_summary_draft *draft, uar_error *err);
/** Archive a stream or take it back. An archived one leaves lists, windows and exports that don't ask for it, and takes no
 *  entries. Idempotent. */
UAR_API uar_status uar_memory_stream_archive_sync(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                                  bool archived, uar_error *err);
/** Streams, the newest first, at most `limit` (1–1000), behind `cursor` (absent: from the start). `filter` may be NULL. */
UAR_API uar_status uar_memory_stream_list_sync(uar_memory_streams **out, uar_memory *memory, const uar_identity *who,
                                               const uar_memory_stream_filter *filter, uar_str cursor, size_t limit,
                                               uar_error *err);
/** Count. `filter` may be NULL. */
UAR_API uar_status uar_memory_stream_stats_sync(uar_memory_stream_stats *out, uar_memory *memory,
                                                const uar_identity *who, const uar_memory_stream_filter *filter,
                                                uar_error *err);
/** Erase a stream with all its entries. The outcome says whether the bytes have left the file, as for a record. */
UAR_API uar_status uar_memory_stream_delete_sync(uar_memory_outcome *out, uar_memory *memory, const uar_identity *who,
                                                 uar_uuid stream, uar_error *err);
/** Write streams as lines of JSON (`"v":1`), lossless: a line for the stream, then one an entry, by number. Each stream is
 *  as it was when its last line was read. `filter` may be NULL. */
UAR_API uar_status uar_memory_stream_export_sync(uar_memory *memory, const uar_identity *who,
                                                 const uar_memory_stream_filter *filter, uar_memory_write_fn write,
                                                 void *ctx, uar_error *err);
/** Read such lines. A stream line opens or creates its stream; the entry lines behind it are appended if their number is
 *  next, skipped if the same is there, else refused. One without a number is appended, under its key; without that too, under a
 *  key made of what it says and which of its equals among the lines of the stream it is, so that reading the same lines again
 *  appends nothing. A line that is refused doesn't stop the others. `failed` may be NULL. */
UAR_API uar_status uar_memory_stream_import_sync(uar_memory_stream_imported *out, uar_memory *memory,
                                                 const uar_identity *who, uar_str lines, uar_memory_line_fn failed,
                                                 void *ctx, uar_error *err);

/** Free streams; NULL is accepted. Any thread. */
UAR_API void uar_memory_streams_free(uar_memory_streams *streams);
/** Free a page of entries; NULL is accepted. Any thread. */
UAR_API void uar_memory_stream_entries_free(uar_memory_stream_entries *entries);
/** Free a window; NULL is accepted. Any thread. */
UAR_API void uar_memory_stream_window_free(uar_memory_stream_window *window);

/** Write a stream as one JSON object. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_stream_json(const uar_memory_stream *stream, const uar_allocator *allocator,
                                          uar_memory_write_fn write, void *ctx);
/** Write an entry as one JSON object. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_stream_entry_json(const uar_memory_stream_entry *entry, const uar_allocator *allocator,
                                                uar_memory_write_fn write, void *ctx);
/** Write a window as one JSON object {tokens, left_out, left_out_tokens, gaps, entries}. `allocator` NULL: malloc. Any
 *  thread. */
UAR_API uar_status uar_memory_stream_window_json(const uar_memory_stream_window *window, const uar_allocator *allocator,
                                                 uar_memory_write_fn write, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
