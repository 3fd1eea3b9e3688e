/*
 * uar/memory_stream_async.h: the calls of uar/memory_stream.h for hosts that must not wait.
 *
 * The rules of uar/memory_async.h are those of this header, word for word: input is copied, `done` is called exactly once
 * after UAR_OK and never after any other status, the same queue and the same four workers, the same end when the memory is
 * freed. A result that is a pointer to streams, entries or a window belongs to the receiver, who frees it by its `_free`; all
 * else is borrowed for the call. Calls may overtake each other: entries of which the order counts are begun one in the `done`
 * of the other, given with the number that is expected, or put into one batch. All calls work from any thread. Since 0.1.
 */
#ifndef UAR_MEMORY_STREAM_ASYNC_H
#define UAR_MEMORY_STREAM_ASYNC_H

#include <uar/memory_async.h>
#include <uar/memory_stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Streams, which now belong to the callee; NULL on failure. */
typedef void (*uar_memory_streams_fn)(void *ctx, uar_status status, uar_memory_streams *streams, const uar_error *err);
/** An append has ended: where each entry went, in order. NULL and 0 on failure. */
typedef void (*uar_memory_stream_appended_fn)(void *ctx, uar_status status, const uar_memory_stream_appended *appended,
                                              size_t count, const uar_error *err);
/** Entries, which now belong to the callee; NULL on failure. */
typedef void (*uar_memory_stream_entries_fn)(void *ctx, uar_status status, uar_memory_stream_entries *entries,
                                             const uar_error *err);
/** A window, which now belongs to the callee; NULL on failure. */
typedef void (*uar_memory_stream_window_fn)(void *ctx, uar_status status, uar_memory_stream_window *window,
                                            const uar_error *err);
/** A summary was written. `summary` is NULL on failure. */
typedef void (*uar_memory_stream_summary_fn)(void *ctx, uar_status status, const uar_memory_stream_summary *summary,
                                             const uar_error *err);
/** Counts; NULL on failure. */
typedef void (*uar_memory_stream_stats_fn)(void *ctx, uar_status status, const uar_memory_stream_stats *stats,
                                           const uar_error *err);
/** A stream was erased; `outcome` is 0 on failure. */
typedef void (*uar_memory_outcome_fn)(void *ctx, uar_status status, uar_memory_outcome outcome, const uar_error *err);
/** An import has ended. `imported` is NULL on failure. */
typedef void (*uar_memory_stream_imported_fn)(void *ctx, uar_status status, const uar_memory_stream_imported *imported,
                                              const uar_error *err);

/** uar_memory_stream_open_sync, later. */
UAR_API uar_status uar_memory_stream_open(uar_memory *memory, const uar_identity *who,
                                          const uar_memory_stream_draft *draft, uar_memory_streams_fn done, void *ctx,
                                          uar_error *err);
/** uar_memory_stream_get_sync, later. */
UAR_API uar_status uar_memory_stream_get(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                         uar_memory_streams_fn done, void *ctx, uar_error *err);
/** uar_memory_stream_append_sync, later. */
UAR_API uar_status uar_memory_stream_append(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                            const uar_memory_stream_entry_draft *entry, uint64_t expected,
                                            uar_memory_stream_appended_fn done, void *ctx, uar_error *err);
/** uar_memory_stream_append_batch_sync, later. */
UAR_API uar_status uar_memory_stream_append_batch(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                                  const uar_memory_stream_entry_draft *entries, size_t count,
                                                  uint64_t expected, uar_memory_stream_appended_fn done, void *ctx,
                                                  uar_error *err);
/** uar_memory_stream_read_sync, later. */
UAR_API uar_status uar_memory_stream_read(uar_memory *memory, const uar_identity *who, uar_uuid stream, uint64_t from,
                                          bool backwards, size_t limit, uar_memory_stream_entries_fn done, void *ctx,
                                          uar_error *err);
/** uar_memory_stream_window_sync, later. (Its name would be that of the struct.) */
UAR_API uar_status uar_memory_stream_read_window(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                                 uint64_t max_tokens, uint32_t flags, uar_memory_stream_window_fn done,
                                                 void *ctx, uar_error *err);
/** uar_memory_stream_summarise_sync, later. */
UAR_API uar_status uar_memory_stream_summarise(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                               const uar_memory_stream_summary_draft *draft,
                                               uar_memory_stream_summary_fn done, void *ctx, uar_error *err);
/** uar_memory_stream_archive_sync, later. */
UAR_API uar_status uar_memory_stream_archive(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                             bool archived, uar_memory_done_fn done, void *ctx, uar_error *err);
/** uar_memory_stream_list_sync, later. */
UAR_API uar_status uar_memory_stream_list(uar_memory *memory, const uar_identity *who,
                                          const uar_memory_stream_filter *filter, uar_str cursor, size_t limit,
                                          uar_memory_streams_fn done, void *ctx, uar_error *err);
/** uar_memory_stream_stats_sync, later. (Its name would be that of the struct.) */
UAR_API uar_status uar_memory_stream_count(uar_memory *memory, const uar_identity *who,
                                           const uar_memory_stream_filter *filter, uar_memory_stream_stats_fn done,
                                           void *ctx, uar_error *err);
/** uar_memory_stream_delete_sync, later. */
UAR_API uar_status uar_memory_stream_delete(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                            uar_memory_outcome_fn done, void *ctx, uar_error *err);
/** uar_memory_stream_export_sync, later; `write` is called on the executor with the same `ctx`, and never after `done`. */
UAR_API uar_status uar_memory_stream_export(uar_memory *memory, const uar_identity *who,
                                            const uar_memory_stream_filter *filter, uar_memory_write_fn write,
                                            uar_memory_done_fn done, void *ctx, uar_error *err);
/** uar_memory_stream_import_sync, later; `failed` (may be NULL) is called on the executor with the same `ctx`, and never after
 *  `done`. */
UAR_API uar_status uar_memory_stream_import(uar_memory *memory, const uar_identity *who, uar_str lines,
                                            uar_memory_line_fn failed, uar_memory_stream_imported_fn done, void *ctx,
                                            uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
