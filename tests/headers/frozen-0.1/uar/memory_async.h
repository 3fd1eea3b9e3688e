/*
 * uar/memory_async.h: the calls of uar/memory.h for hosts that must not wait.
 *
 * Each call copies all that it is given and returns at once. UAR_OK: `done` is called exactly once, later, with what the
 * call's `_sync` form would have answered. Any other status: `done` is never called; it says UAR_E_DISABLED,
 * UAR_E_UNAVAILABLE, UAR_E_INVALID (no `done`), UAR_E_STRUCT, UAR_E_REENTRANT (inside the memory's executor), UAR_E_CLOSED
 * (the memory is being freed) or UAR_E_NOMEM.
 *
 * Where: on the executor of uar_memory_options, or on a small pool of the memory's own, which starts with the first call.
 * At most four calls of one memory run at once; they may overtake each other. What needs an order is begun in the `done` of
 * what it follows.
 *
 * In `done`: a result that is a pointer to records or hits belongs to the receiver, who frees it by its `_free`; all else is
 * borrowed for the call. `err` is NULL on success. No lock is held. Every call that doesn't wait works, uar_memory_free among
 * them; a `_sync` call of the same memory answers UAR_E_WOULD_DEADLOCK.
 *
 * Freeing: the last uar_memory_free ends what has not begun (`done` with UAR_E_CANCELLED, on the freeing thread), stops waits
 * for the embedder, lets what runs come to its end, and waits for it. When it has returned, no `done` is called any more.
 * Made inside a `done` of this memory it doesn't wait: the store is closed when the last running call is over.
 * All calls work from any thread. Since 0.1.
 */
#ifndef UAR_MEMORY_ASYNC_H
#define UAR_MEMORY_ASYNC_H

#include <uar/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A write has ended. `change` is NULL on failure. */
typedef void (*uar_memory_change_fn)(void *ctx, uar_status status, const uar_memory_change *change,
                                     const uar_error *err);
/** A batch has been written: the change of each draft, in order, as uar_memory_add_batch_sync gives them. NULL and 0 on
 *  failure. */
typedef void (*uar_memory_changes_fn)(void *ctx, uar_status status, const uar_memory_change *changes, size_t count,
                                      const uar_error *err);
/** Records, which now belong to the callee; NULL on failure. */
typedef void (*uar_memory_records_fn)(void *ctx, uar_status status, uar_memory_records *records, const uar_error *err);
/** Hits, which now belong to the callee; NULL on failure. */
typedef void (*uar_memory_hits_fn)(void *ctx, uar_status status, uar_memory_hits *hits, const uar_error *err);
/** Answers to a batch, in the order of its questions: each belongs to the callee, the array is borrowed. NULL and 0 on
 *  failure. */
typedef void (*uar_memory_answers_fn)(void *ctx, uar_status status, uar_memory_hits *const *answers, size_t count,
                                      const uar_error *err);
/** A bulk delete has ended. `erasure` is NULL on failure. */
typedef void (*uar_memory_erasure_fn)(void *ctx, uar_status status, const uar_memory_erasure *erasure,
                                      const uar_error *err);
/** A compression has ended. `compression` is NULL on failure. */
typedef void (*uar_memory_compression_fn)(void *ctx, uar_status status, const uar_memory_compression *compression,
                                          const uar_error *err);
/** Counts; NULL on failure. */
typedef void (*uar_memory_stats_fn)(void *ctx, uar_status status, const uar_memory_stats *stats, const uar_error *err);
/** An import has ended. `imported` is NULL on failure. */
typedef void (*uar_memory_imported_fn)(void *ctx, uar_status status, const uar_memory_imported *imported,
                                       const uar_error *err);
/** A call that gives a number has ended: what is still pending of a clean-up, what a sweep erased; 0 on failure. */
typedef void (*uar_memory_number_fn)(void *ctx, uar_status status, uint64_t number, const uar_error *err);
/** A call without a result has ended. */
typedef void (*uar_memory_done_fn)(void *ctx, uar_status status, const uar_error *err);

/** uar_memory_add_sync, later. */
UAR_API uar_status uar_memory_add(uar_memory *memory, const uar_identity *who, const uar_memory_draft *draft,
                                  uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_add_batch_sync, later; `failed` (may be NULL) is called on the executor with the same `ctx`, and never after
 *  `done`. */
UAR_API uar_status uar_memory_add_batch(uar_memory *memory, const uar_identity *who, const uar_memory_draft *drafts,
                                        size_t count, uint32_t flags, uar_memory_draft_fn failed,
                                        uar_memory_changes_fn done, void *ctx, uar_error *err);
/** uar_memory_get_sync, later. */
UAR_API uar_status uar_memory_get(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_records_fn done,
                                  void *ctx, uar_error *err);
/** uar_memory_update_sync, later. */
UAR_API uar_status uar_memory_update(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                     const uar_memory_patch *patch, uar_memory_change_fn done, void *ctx,
                                     uar_error *err);
/** uar_memory_delete_sync, later. */
UAR_API uar_status uar_memory_delete(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                     uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_delete_where_sync, later. */
UAR_API uar_status uar_memory_delete_where(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                           uar_memory_erasure_fn done, void *ctx, uar_error *err);
/** uar_memory_purge_sync, later. */
UAR_API uar_status uar_memory_purge(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                    uar_memory_erasure_fn done, void *ctx, uar_error *err);
/** uar_memory_compress_sync, later; `options->summarize` is called on the executor. */
UAR_API uar_status uar_memory_compress(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                       const uar_memory_compress_options *options, uar_memory_compression_fn done,
                                       void *ctx, uar_error *err);
/** uar_memory_list_sync, later. */
UAR_API uar_status uar_memory_list(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                   uar_str cursor, size_t limit, uar_memory_records_fn done, void *ctx, uar_error *err);
/** uar_memory_history_sync, later. */
UAR_API uar_status uar_memory_history(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                      uar_memory_records_fn done, void *ctx, uar_error *err);
/** uar_memory_search_sync, later. */
UAR_API uar_status uar_memory_search(uar_memory *memory, const uar_identity *who, uar_str query,
                                     const uar_memory_filter *filter, size_t limit, uar_memory_hits_fn done, void *ctx,
                                     uar_error *err);
/** uar_memory_search_batch_sync, later. */
UAR_API uar_status uar_memory_search_batch(uar_memory *memory, const uar_identity *who, const uar_memory_query *queries,
                                           size_t count, uar_memory_answers_fn done, void *ctx, uar_error *err);
/** uar_memory_stats_sync, later. (Its name would be that of the struct.) */
UAR_API uar_status uar_memory_count(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                    uar_memory_stats_fn done, void *ctx, uar_error *err);
/** uar_memory_export_sync, later; `write` is called on the executor with the same `ctx`, and never after `done`. */
UAR_API uar_status uar_memory_export(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                     uar_memory_write_fn write, uar_memory_done_fn done, void *ctx, uar_error *err);
/** uar_memory_import_sync, later; `failed` (may be NULL) is called on the executor with the same `ctx`, and never after
 *  `done`. */
UAR_API uar_status uar_memory_import(uar_memory *memory, const uar_identity *who, uar_str lines, uint32_t flags,
                                     uar_memory_line_fn failed, uar_memory_imported_fn done, void *ctx, uar_error *err);
/** uar_memory_reindex_sync, later. */
UAR_API uar_status uar_memory_reindex(uar_memory *memory, uar_memory_done_fn done, void *ctx, uar_error *err);
/** uar_memory_reembed_sync, later, in steps between which other calls run; `progress` (may be NULL) is called on the executor
 *  with the same `ctx`, and never after `done`. A memory that was opened with an executor begins it by itself. */
UAR_API uar_status uar_memory_reembed(uar_memory *memory, uar_memory_progress_fn progress, uar_memory_done_fn done,
                                      void *ctx, uar_error *err);
/** uar_memory_clean_sync, later. */
UAR_API uar_status uar_memory_clean(uar_memory *memory, uar_memory_number_fn done, void *ctx, uar_error *err);
/** uar_memory_sweep_sync, later. */
UAR_API uar_status uar_memory_sweep(uar_memory *memory, uar_memory_number_fn done, void *ctx, uar_error *err);
/** uar_memory_check_sync, later. */
UAR_API uar_status uar_memory_check(uar_memory *memory, uar_memory_done_fn done, void *ctx, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
