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
 * lease, and attachments that no message of another session of this user names. From the first commit on it reads as
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
 * Give a session a name for people: 1–1000 bytes of UTF-8; NULL takes it away. UAR_E_NOT_FOUND;
 * UAR_E_BUSY while a run has it open. Reply: `sessions`, the session as stored.
 */
UAR_API uar_status uar_session_rename(uar_runtime *rt, const char *owner, const char *user, const char *session,
                                      const char *name, uar_reply_fn done, void *ctx, uar_error *err);
/** Rename a session; waits. */
UAR_API uar_status uar_session_rename_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                           const char *session, const char *name, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
