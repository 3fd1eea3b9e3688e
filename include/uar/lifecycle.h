/*
 * uar/lifecycle.h: what an app does with what it stored: delete, rename, export and branch sessions, erase an owner, keep
 * storage small, give memory back, tell support how things stand. docs/lifecycle.md shows each.
 *
 * Calls come in the two forms of uar/records.h: the plain one calls `done` exactly once on a worker, unless it returns an error
 * itself; the `_sync` one waits, and answers UAR_E_WOULD_DEADLOCK from a callback of the library. Since 0.1.
 */
#ifndef UAR_LIFECYCLE_H
#define UAR_LIFECYCLE_H

#include <uar/records.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sessions ---- */

/**
 * Delete a session with all that belongs to it: messages, policy, blocks, runs, checkpoints, journal, approvals, costs, its
 * lease. Attachments belong to the user and stay: see uar_attachment_delete. From the first commit on it reads as
 * UAR_E_NOT_FOUND; the rest follows in batches, and goes on at the next build if the process ends in between. Its id can be
 * used anew when the reply has come. UAR_E_BUSY while a run has the session open, here or in another process, which is
 * watched for up to 3 s. A run that is parked goes with the session. Reply: `number` of records that were removed.
 */
UAR_API uar_status uar_session_delete(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                      uar_reply_fn done, void *ctx, uar_error *err);
/** Delete a session; waits. */
UAR_API uar_status uar_session_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                           const char *session, uar_error *err);

/**
 * Give a session a name for people: 1–1000 bytes of UTF-8; NULL takes it away. A run that has
 * the session open, here or in another process, isn't disturbed and keeps the name. UAR_E_NOT_FOUND; UAR_E_BUSY if others wrote
 * the session at each of many tries. Reply: `sessions`, the session as stored.
 */
UAR_API uar_status uar_session_rename(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                      const char *name, uar_reply_fn done, void *ctx, uar_error *err);
/** Rename a session; waits. */
UAR_API uar_status uar_session_rename_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                           const char *session, const char *name, uar_error *err);

/** Takes one line of an export, without its newline; borrowed for the call. Anything but UAR_OK stops the export, which ends
 *  with that status. On a worker; may call everything that doesn't wait. */
typedef uar_status (*uar_export_fn)(void *ctx, uar_str line);

/** What an export holds. */
typedef struct uar_export_options {
    size_t size;   /**< sizeof(uar_export_options) */
    bool contents; /**< the contents of attachments too, in base64 */
} uar_export_options;
/** Head of a uar_export_options. */
#define UAR_EXPORT_OPTIONS_INIT sizeof(uar_export_options)
/** The twin of UAR_EXPORT_OPTIONS_INIT. */
static inline void uar_export_options_init(uar_export_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/**
 * Write a session as lines of JSON, one a record, each with `"v":1`: the session first, then what belongs to it by kind,
 * messages in their order, last a line of kind "end" that counts the others, so that a cut export shows. Bodies are those of
 * docs/records.md, unchanged: nothing is lost. Read in pages: memory doesn't grow with the session. `options` may be NULL.
 * UAR_E_NOT_FOUND. Reply: `number` of lines before the last.
 */
UAR_API uar_status uar_session_export(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                      const uar_export_options *options, uar_export_fn write, void *write_ctx,
                                      uar_reply_fn done, void *ctx, uar_error *err);
/** Export a session; waits. `write` is called on a worker, in order, before this returns. */
UAR_API uar_status uar_session_export_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                           const char *session, const uar_export_options *options, uar_export_fn write,
                                           void *write_ctx, uar_error *err);

/** A branch: a new session that begins as another one did. */
typedef struct uar_branch_options {
    size_t size;         /**< sizeof(uar_branch_options) */
    const char *session; /**< id of the new session; required */
    uint64_t number;     /**< the last message that it takes; 0: all of them */
    const char *text;    /**< what that message says instead; NULL: as it is. Only for a message of the user. */
    const char *name;    /**< name of the new session, or NULL: none */
} uar_branch_options;
/** Head of a uar_branch_options. */
#define UAR_BRANCH_OPTIONS_INIT sizeof(uar_branch_options)
/** The twin of UAR_BRANCH_OPTIONS_INIT. */
static inline void uar_branch_options_init(uar_branch_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/**
 * Make a session from the messages 1 to `number` of another one of the same user, which is left as it is, and may go on
 * running. To have an edited message answered, branch before it (`number` - 1) and start a run with the new text; with `text`
 * the edited message is stored without an answer. Messages get ids of their own and keep number and time; the policy is copied;
 * attachments are shared; the new session knows its origin (uar_session_origin). It is there when it is whole: what is half
 * made is not seen, and removed after a crash. UAR_E_NOT_FOUND if session or message aren't there, UAR_E_EXISTS if the new one
 * is, UAR_E_INVALID if `number` is between a tool call and its last result, or `text` is for a message that isn't the user's.
 * Reply: `sessions`, the new one.
 */
UAR_API uar_status uar_session_branch(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                      const uar_branch_options *options, uar_reply_fn done, void *ctx, uar_error *err);
/** Branch a session; waits. */
UAR_API uar_status uar_session_branch_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                           const char *session, const uar_branch_options *options, uar_error *err);

/** Where a branch came from. Reply: `document`, `{"message":"UUID","number":3,"session":"…"}`, or absent if it is no branch. */
UAR_API uar_status uar_session_origin(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                      uar_reply_fn done, void *ctx, uar_error *err);
/** Where a branch came from; waits. */
UAR_API uar_status uar_session_origin_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                           const char *session, uar_error *err);

/* ---- owners ---- */

/**
 * Erase an owner: sessions and all other records of every user of it, attachments, what names it in the indexes, and its part
 * of the memory that the runtime was built with: records, graph, streams. Then the stores are rebuilt, so that the bytes leave
 * the files. Other owners stay as they are. UAR_E_BUSY while a run has one of its sessions open: cancel it, and call again;
 * start no runs for this owner meanwhile. If the process ends in between, or a store says no, call again: it goes on where it
 * was. Reply: `document`, the receipt: `{"ended_ms":…,"files":"rebuilt","memory":{"entities":N,"pending":N,"records":N,
 * "streams":N},"owner":"…","pending":false,"records":{KIND:N,…,"total":N},"started_ms":…,"v":1}`. `memory` is null without a
 * memory; `files` is a status name if the store couldn't be rebuilt; `pending`: true if bytes may still be in a file, because
 * another process reads it: call again later.
 */
UAR_API uar_status uar_owner_erase(uar_runtime *rt, const char *owner, uar_reply_fn done, void *ctx, uar_error *err);
/** Erase an owner; waits. */
UAR_API uar_status uar_owner_erase_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_error *err);

/* ---- retention ---- */

/** Which sessions of an owner may go. A limit of 0 says nothing. */
typedef struct uar_retention {
    size_t size;        /**< sizeof(uar_retention) */
    int64_t max_age_ms; /**< sessions that were last written longer ago go */
    uint64_t max_bytes; /**< of all messages of the owner: the oldest sessions go until the rest has no more */
    bool keep_named;    /**< a session that has a name stays; its bytes count all the same */
    bool dry_run;       /**< only say what would go */
} uar_retention;
/** Head of a uar_retention. */
#define UAR_RETENTION_INIT sizeof(uar_retention)
/** The twin of UAR_RETENTION_INIT. */
static inline void uar_retention_init(uar_retention *retention) {
    memset(retention, 0, sizeof *retention);
    retention->size = sizeof *retention;
}

/**
 * Delete sessions of all users of an owner that a policy lets go, the one that was written longest ago first, each whole as by
 * uar_session_delete. One that a run has open, here or elsewhere, or that has a parked run, stays. UAR_E_INVALID without a
 * limit. Reply: `number` of sessions that went, or would go; `document`: `{"bytes_after":N,"bytes_before":N,"deleted":N,
 * "dry_run":false,"kept_open":N,"records":N,"sessions":N,"v":1}`; the bytes are those of messages, 0 without `max_bytes`.
 */
UAR_API uar_status uar_retain(uar_runtime *rt, const char *owner, const uar_retention *retention, uar_reply_fn done,
                              void *ctx, uar_error *err);
/** Delete what a policy lets go; waits. */
UAR_API uar_status uar_retain_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_retention *retention,
                                   uar_error *err);

/* ---- memory warnings, support ---- */

/**
 * Give memory back: events of runs that ended which nobody is still to read (a later subscriber gets a gap notice), the cache
 * of the memory's index. Nothing is lost; what is needed again is read again. Bytes given back as far as they are known.
 * 0 in a callback that may only finish its own call. May wait for a call of the memory that runs. Any thread.
 */
UAR_API uint64_t uar_runtime_trim(uar_runtime *rt);

/**
 * How things stand, as JSON for support: version, limits, counts, states, schema versions. It holds no text of users, models
 * or tools, no names, no paths, no ids. Reply: `document`. Members may be added.
 */
UAR_API uar_status uar_diagnostics(uar_runtime *rt, uar_reply_fn done, void *ctx, uar_error *err);
/** How things stand; waits. */
UAR_API uar_status uar_diagnostics_sync(uar_reply **out, uar_runtime *rt, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
