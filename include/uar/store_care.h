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

#include <uar/memory.h>
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

/* ---- an SQLite store that no runtime has open ---- */

/**
 * The check of uar_store_verify on a file, also where it is too damaged to be opened as a store. `options` (may be NULL) gives
 * the patience for other processes. Writes nothing. UAR_E_CORRUPT: nothing in it can be read; UAR_E_CANTOPEN: there is no store;
 * UAR_E_NEWER. Waits. Any thread.
 */
UAR_API uar_status uar_sqlite_check(uar_store_check *out, const char *path, const uar_sqlite_options *options,
                                    uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                                    uar_error *err);

/** What a repair did. */
typedef struct uar_store_repair {
    size_t size;      /**< sizeof(uar_store_repair) */
    bool replaced;    /**< false: all was well, nothing was changed */
    uint64_t records; /**< records of the store now */
    uint64_t lost;    /**< records that are lost; those behind a damaged page may not be counted one by one */
    uint64_t faults;  /**< faults of structure that are gone now */
    char aside[48];   /**< replaced: the damaged file now has this behind its path; else "" */
} uar_store_repair;
/** Head of a uar_store_repair. */
#define UAR_STORE_REPAIR_INIT sizeof(uar_store_repair)
/** The twin of UAR_STORE_REPAIR_INIT. */
static inline void uar_store_repair_init(uar_store_repair *repair) {
    memset(repair, 0, sizeof *repair);
    repair->size = sizeof *repair;
}

/**
 * Check a store's file; if it is damaged, put all that is whole into a new one, name what is lost by `each` (may be NULL), keep
 * the damaged file under another name beside it, and give the new one its place, at once and durably. Whatever fails or stops it
 * (a crash too): the file stays as it was. UAR_E_BUSY while anybody has the store open. UAR_E_CORRUPT: nothing in it can be
 * read. UAR_E_UNSUPPORTED: it is of an older version. Waits. Any thread.
 */
UAR_API uar_status uar_sqlite_repair(uar_store_repair *out, const char *path, const uar_sqlite_options *options,
                                     uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                                     uar_error *err);

/* ---- a memory ---- */

/**
 * Give the file of a memory back: no lock, no open file, no statement is left; a copy that is being made is stopped. Waits for
 * calls that run; a longer piece of work (an import, a new index) stops at its next step. Until uar_memory_resume every call
 * answers UAR_E_SUSPENDED, and uar_memory_state says unavailable for that reason. UAR_OK as well if it is suspended already.
 * UAR_E_DISABLED, UAR_E_UNAVAILABLE; UAR_E_WOULD_DEADLOCK in a callback of this memory. Any thread.
 */
UAR_API uar_status uar_memory_suspend(uar_memory *memory, uar_error *err);
/** Open the same file again. UAR_OK as well if it isn't suspended. A failure (UAR_E_CANTOPEN: it is gone; UAR_E_PROTECTED) leaves
 *  the memory suspended: try again. Waits on files. Any thread. */
UAR_API uar_status uar_memory_resume(uar_memory *memory, uar_error *err);
/**
 * Copy a memory's store into a new file at `path`, as uar_backup_to does with the state: one moment, whole, durable, never over
 * another file. `progress` may be NULL. The memory goes on meanwhile; UAR_E_SUSPENDED if it is suspended before the end. Waits.
 */
UAR_API uar_status uar_memory_backup_to_sync(uar_memory *memory, const char *path, const uar_care_progress *progress,
                                             uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
