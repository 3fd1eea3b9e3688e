/*
 * uar/memory_graph_async.h: the calls of uar/memory_graph.h for hosts that must not wait.
 *
 * The rules of uar/memory_async.h are those of this header, word for word: input is copied, `done` is called exactly once
 * after UAR_OK and never after any other status, the same queue and the same four workers, the same end when the memory is
 * freed. A result that is a pointer to a graph, paths, hits or records belongs to the receiver, who frees it by its `_free`;
 * all else is borrowed for the call. Calls may overtake each other: a relation is begun in the `done` of the entities that it
 * joins. All calls work from any thread. Since 0.1.
 */
#ifndef UAR_MEMORY_GRAPH_ASYNC_H
#define UAR_MEMORY_GRAPH_ASYNC_H

#include <uar/memory_async.h>
#include <uar/memory_graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A part of the graph, which now belongs to the callee; NULL on failure. */
typedef void (*uar_memory_graph_fn)(void *ctx, uar_status status, uar_memory_graph *graph, const uar_error *err);
/** Paths, which now belong to the callee; NULL on failure. */
typedef void (*uar_memory_paths_fn)(void *ctx, uar_status status, uar_memory_paths *paths, const uar_error *err);
/** Hits, which now belong to the callee; NULL on failure. */
typedef void (*uar_memory_entity_hits_fn)(void *ctx, uar_status status, uar_memory_entity_hits *hits,
                                          const uar_error *err);
/** Counts; NULL on failure. */
typedef void (*uar_memory_graph_stats_fn)(void *ctx, uar_status status, const uar_memory_graph_stats *stats,
                                          const uar_error *err);
/** An import has ended. `imported` is NULL on failure. */
typedef void (*uar_memory_graph_imported_fn)(void *ctx, uar_status status, const uar_memory_graph_imported *imported,
                                             const uar_error *err);

/** uar_memory_graph_put_sync, later. */
UAR_API uar_status uar_memory_graph_put(uar_memory *memory, const uar_identity *who,
                                        const uar_memory_entity_draft *draft, uar_memory_change_fn done, void *ctx,
                                        uar_error *err);
/** uar_memory_graph_relate_sync, later. */
UAR_API uar_status uar_memory_graph_relate(uar_memory *memory, const uar_identity *who,
                                           const uar_memory_relation_draft *draft, uar_memory_change_fn done, void *ctx,
                                           uar_error *err);
/** uar_memory_graph_observe_sync, later. */
UAR_API uar_status uar_memory_graph_observe(uar_memory *memory, const uar_identity *who,
                                            const uar_memory_observation_draft *draft, uar_memory_change_fn done,
                                            void *ctx, uar_error *err);
/** uar_memory_graph_end_sync, later; `at_ms` 0: when it runs. */
UAR_API uar_status uar_memory_graph_end(uar_memory *memory, const uar_identity *who, uar_uuid id, int64_t at_ms,
                                        uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_delete_sync, later. */
UAR_API uar_status uar_memory_graph_delete(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                           uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_rename_sync, later. */
UAR_API uar_status uar_memory_graph_rename(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_str name,
                                           uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_merge_sync, later. */
UAR_API uar_status uar_memory_graph_merge(uar_memory *memory, const uar_identity *who, uar_uuid into, uar_uuid from,
                                          uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_get_sync, later. */
UAR_API uar_status uar_memory_graph_get(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                        uar_memory_graph_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_find_sync, later. */
UAR_API uar_status uar_memory_graph_find(uar_memory *memory, const uar_identity *who, uar_str name,
                                         const uar_memory_graph_filter *filter, uar_memory_graph_fn done, void *ctx,
                                         uar_error *err);
/** uar_memory_graph_entities_sync, later. */
UAR_API uar_status uar_memory_graph_entities(uar_memory *memory, const uar_identity *who,
                                             const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                             uar_memory_graph_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_relations_sync, later. */
UAR_API uar_status uar_memory_graph_relations(uar_memory *memory, const uar_identity *who,
                                              const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                              uar_memory_graph_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_observations_sync, later. */
UAR_API uar_status uar_memory_graph_observations(uar_memory *memory, const uar_identity *who, uar_uuid entity,
                                                 const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                                 uar_memory_graph_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_neighbours_sync, later. */
UAR_API uar_status uar_memory_graph_neighbours(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                               const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                               uar_memory_graph_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_paths_sync, later. */
UAR_API uar_status uar_memory_graph_paths(uar_memory *memory, const uar_identity *who, uar_uuid from, uar_uuid to,
                                          const uar_memory_graph_filter *filter, size_t limit, uar_memory_paths_fn done,
                                          void *ctx, uar_error *err);
/** uar_memory_graph_search_sync, later. */
UAR_API uar_status uar_memory_graph_search(uar_memory *memory, const uar_identity *who, uar_str query,
                                           const uar_memory_graph_filter *filter, size_t limit,
                                           uar_memory_entity_hits_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_stats_sync, later. (Its name would be that of the struct.) */
UAR_API uar_status uar_memory_graph_count(uar_memory *memory, const uar_identity *who, uar_memory_graph_stats_fn done,
                                          void *ctx, uar_error *err);
/** uar_memory_graph_link_sync, later. */
UAR_API uar_status uar_memory_graph_link(uar_memory *memory, const uar_identity *who, uar_uuid record, uar_uuid entity,
                                         uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_unlink_sync, later. */
UAR_API uar_status uar_memory_graph_unlink(uar_memory *memory, const uar_identity *who, uar_uuid record,
                                           uar_uuid entity, uar_memory_change_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_entities_of_sync, later. */
UAR_API uar_status uar_memory_graph_entities_of(uar_memory *memory, const uar_identity *who, uar_uuid record,
                                                uar_str cursor, size_t limit, uar_memory_graph_fn done, void *ctx,
                                                uar_error *err);
/** uar_memory_graph_records_of_sync, later. */
UAR_API uar_status uar_memory_graph_records_of(uar_memory *memory, const uar_identity *who, uar_uuid entity,
                                               uar_str cursor, size_t limit, uar_memory_records_fn done, void *ctx,
                                               uar_error *err);
/** uar_memory_graph_export_sync, later; `write` is called on the executor with the same `ctx`, and never after `done`. */
UAR_API uar_status uar_memory_graph_export(uar_memory *memory, const uar_identity *who, uar_memory_write_fn write,
                                           uar_memory_done_fn done, void *ctx, uar_error *err);
/** uar_memory_graph_import_sync, later; `failed` (may be NULL) is called on the executor with the same `ctx`, and never after
 *  `done`. */
UAR_API uar_status uar_memory_graph_import(uar_memory *memory, const uar_identity *who, uar_str lines,
                                           const uar_memory_place *place, uar_memory_line_fn failed,
                                           uar_memory_graph_imported_fn done, void *ctx, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
