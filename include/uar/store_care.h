/*
 * uar/store_care.h: looking after stored state: suspend and resume, backup, maintenance, checks, repair.
 *
 * Calls on a runtime that take their time come in two forms, as in uar/records.h: the plain one calls `done` exactly once on a
 * worker, unless it returns an error itself; the `_sync` one waits, and answers UAR_E_WOULD_DEADLOCK from a callback of the
 * library. Care runs beside runs; closing or suspending the runtime stops it. A persistence layer without the slot for it
 * answers UAR_E_UNSUPPORTED. Functions that watch (`progress`, `each`) are called on the thread that does the work and may call
 * nothing of the library. Since 0.1.
 */
#ifndef UAR_STORE_CARE_H
#define UAR_STORE_CARE_H

#include <uar/persistence.h>
#include <uar/records.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Give back every lock, open file and unfinished statement of the stored state, as an app must before it is put to sleep.
 * Waits up to `deadline_ms` for calls of the store that run; runs go on and hear UAR_E_SUSPENDED from the store.
 * UAR_E_TIMEOUT: a call still runs; nothing new is let in all the same: ask again, or resume. UAR_E_UNSUPPORTED: the layer can't.
 * UAR_E_WOULD_DEADLOCK in a callback. UAR_OK as well if it is suspended already. Any thread.
 */
UAR_API uar_status uar_runtime_suspend(uar_runtime *rt, uint32_t deadline_ms, uar_error *err);
/**
 * Go on with the same store. UAR_OK as well if it isn't suspended. A failure (UAR_E_CANTOPEN: the file is gone; UAR_E_PROTECTED:
 * the device is locked) leaves it suspended: try again. UAR_E_WOULD_DEADLOCK in a callback. Waits on files. Any thread.
 */
UAR_API uar_status uar_runtime_resume(uar_runtime *rt, uar_error *err);

/**
 * Copy the stored state into a new file at `path`, while runs go on: one moment of it, whole and durable before it is
 * acknowledged. UAR_E_EXISTS if there is something at `path`: nothing is ever overwritten. When it fails or is stopped
 * (UAR_E_CANCELLED by `progress`, which may be NULL) there is no file. Reply: its status alone.
 */
UAR_API uar_status uar_backup_to(uar_runtime *rt, const char *path, const uar_care_progress *progress,
                                 uar_reply_fn done, void *ctx, uar_error *err);
/** The same, and wait. */
UAR_API uar_status uar_backup_to_sync(uar_runtime *rt, const char *path, const uar_care_progress *progress,
                                      uar_error *err);

/** Give unused space of the stored state back and shorten its log. `options` and `progress` may be NULL. Reply: `care`. */
UAR_API uar_status uar_store_maintain(uar_runtime *rt, const uar_care_options *options,
                                      const uar_care_progress *progress, uar_reply_fn done, void *ctx, uar_error *err);
/** The same, and wait. */
UAR_API uar_status uar_store_maintain_sync(uar_store_care *out, uar_runtime *rt, const uar_care_options *options,
                                           const uar_care_progress *progress, uar_error *err);

/**
 * Read all of the stored state and tell `each` (may be NULL) what is damaged, with kind, owner and id where they can be told.
 * Writes nothing. UAR_OK says that it was read, not that all is well: look at `lost` and `faults`. Reply: `check`.
 */
UAR_API uar_status uar_store_verify(uar_runtime *rt, uar_store_finding_fn each, void *each_ctx,
                                    const uar_care_progress *progress, uar_reply_fn done, void *ctx, uar_error *err);
/** The same, and wait. */
UAR_API uar_status uar_store_verify_sync(uar_store_check *out, uar_runtime *rt, uar_store_finding_fn each,
                                         void *each_ctx, const uar_care_progress *progress, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
