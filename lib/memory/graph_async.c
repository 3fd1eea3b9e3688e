/* Owns: the calls of uar/memory_graph_async.h: what each takes, does and tells. */
#include "memory/async.h"
#include "memory/graph.h"

/* ---- what is taken: a new member of these structs that points at something must be named here ---- */

static const keep_shape entity_shape = {
    "uar_memory_entity_draft",
    sizeof(uar_memory_entity_draft),
    .text_count = 8,
    .texts = { offsetof(uar_memory_entity_draft, name), offsetof(uar_memory_entity_draft, kind),
               offsetof(uar_memory_entity_draft, properties), offsetof(uar_memory_entity_draft, place.owner),
               offsetof(uar_memory_entity_draft, place.user), offsetof(uar_memory_entity_draft, place.agent),
               offsetof(uar_memory_entity_draft, place.session), offsetof(uar_memory_entity_draft, place.task) },
    .list = { offsetof(uar_memory_entity_draft, aliases), offsetof(uar_memory_entity_draft, alias_count),
              GRAPH_ALIASES_MAX },
};
_Static_assert(offsetof(uar_memory_entity_draft, trust) + 8 >= sizeof(uar_memory_entity_draft), "copy what is new");

static const keep_shape relation_shape = {
    "uar_memory_relation_draft",
    sizeof(uar_memory_relation_draft),
    .text_count = 8,
    .texts = { offsetof(uar_memory_relation_draft, type), offsetof(uar_memory_relation_draft, properties),
               offsetof(uar_memory_relation_draft, place.owner), offsetof(uar_memory_relation_draft, place.user),
               offsetof(uar_memory_relation_draft, place.agent), offsetof(uar_memory_relation_draft, place.session),
               offsetof(uar_memory_relation_draft, place.task),
               offsetof(uar_memory_relation_draft, provenance.session) },
};
_Static_assert(offsetof(uar_memory_relation_draft, valid_until_ms) + sizeof(int64_t) ==
                   sizeof(uar_memory_relation_draft),
               "copy what is new");

static const keep_shape observation_shape = {
    "uar_memory_observation_draft",
    sizeof(uar_memory_observation_draft),
    .text_count = 7,
    .texts = { offsetof(uar_memory_observation_draft, text), offsetof(uar_memory_observation_draft, place.owner),
               offsetof(uar_memory_observation_draft, place.user), offsetof(uar_memory_observation_draft, place.agent),
               offsetof(uar_memory_observation_draft, place.session),
               offsetof(uar_memory_observation_draft, place.task),
               offsetof(uar_memory_observation_draft, provenance.session) },
};
_Static_assert(offsetof(uar_memory_observation_draft, valid_until_ms) + sizeof(int64_t) ==
                   sizeof(uar_memory_observation_draft),
               "copy what is new");

static const keep_shape filter_shape = {
    "uar_memory_graph_filter",
    sizeof(uar_memory_graph_filter),
    .text_count = 2,
    .texts = { offsetof(uar_memory_graph_filter, kind), offsetof(uar_memory_graph_filter, type) },
};
_Static_assert(offsetof(uar_memory_graph_filter, max_visited) + 8 >= sizeof(uar_memory_graph_filter),
               "copy what is new");

static const keep_shape place_shape = {
    "uar_memory_place",
    sizeof(uar_memory_place),
    .is_bare = true,
    .text_count = 5,
    .texts = { offsetof(uar_memory_place, owner), offsetof(uar_memory_place, user), offsetof(uar_memory_place, agent),
               offsetof(uar_memory_place, session), offsetof(uar_memory_place, task) },
};
_Static_assert(offsetof(uar_memory_place, task) + sizeof(uar_str) == sizeof(uar_memory_place), "copy what is new");

/* ---- how ends are told ---- */

static void tell_graph(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.graph(r->in.ctx, status, status == UAR_OK ? r->result.graph : NULL, err);
}

static void tell_paths(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.paths(r->in.ctx, status, status == UAR_OK ? r->result.paths : NULL, err);
}

static void tell_entity_hits(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.entity_hits(r->in.ctx, status, status == UAR_OK ? r->result.entity_hits : NULL, err);
}

static void tell_graph_stats(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.graph_stats(r->in.ctx, status, status == UAR_OK ? &r->result.graph_stats : NULL, err);
}

static void tell_graph_imported(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.graph_imported(r->in.ctx, status, status == UAR_OK ? &r->result.graph_imported : NULL, err);
}

/* ---- what is done ---- */

static uar_status run_put(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_put_sync(&r->result.change, m, r->in.who, r->in.given, err);
}

static uar_status run_relate(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_relate_sync(&r->result.change, m, r->in.who, r->in.given, err);
}

static uar_status run_observe(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_observe_sync(&r->result.change, m, r->in.who, r->in.given, err);
}

static uar_status run_end(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_end_sync(&r->result.change, m, r->in.who, r->in.id, r->in.at_ms, err);
}

static uar_status run_delete(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_delete_sync(&r->result.change, m, r->in.who, r->in.id, err);
}

static uar_status run_rename(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_rename_sync(&r->result.change, m, r->in.who, r->in.id, r->in.text, err);
}

static uar_status run_merge(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_merge_sync(&r->result.change, m, r->in.who, r->in.id, r->in.other, err);
}

static uar_status run_get(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_get_sync(&r->result.graph, m, r->in.who, r->in.id, err);
}

static uar_status run_find(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_find_sync(&r->result.graph, m, r->in.who, r->in.text, r->in.filter, err);
}

static uar_status run_entities(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_entities_sync(&r->result.graph, m, r->in.who, r->in.filter, r->in.cursor, r->in.count, err);
}

static uar_status run_relations(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_relations_sync(&r->result.graph, m, r->in.who, r->in.filter, r->in.cursor, r->in.count,
                                           err);
}

static uar_status run_observations(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_observations_sync(&r->result.graph, m, r->in.who, r->in.id, r->in.filter, r->in.cursor,
                                              r->in.count, err);
}

static uar_status run_neighbours(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_neighbours_sync(&r->result.graph, m, r->in.who, r->in.id, r->in.filter, r->in.cursor,
                                            r->in.count, err);
}

static uar_status run_paths(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_paths_sync(&r->result.paths, m, r->in.who, r->in.id, r->in.other, r->in.filter, r->in.count,
                                       err);
}

static uar_status run_search(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_search_sync(&r->result.entity_hits, m, r->in.who, r->in.text, r->in.filter, r->in.count,
                                        err);
}

static uar_status run_count(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_stats_sync(&r->result.graph_stats, m, r->in.who, err);
}

static uar_status run_link(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_link_sync(&r->result.change, m, r->in.who, r->in.id, r->in.other, err);
}

static uar_status run_unlink(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_unlink_sync(&r->result.change, m, r->in.who, r->in.id, r->in.other, err);
}

static uar_status run_entities_of(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_entities_of_sync(&r->result.graph, m, r->in.who, r->in.id, r->in.cursor, r->in.count, err);
}

static uar_status run_records_of(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_records_of_sync(&r->result.records, m, r->in.who, r->in.id, r->in.cursor, r->in.count, err);
}

static uar_status run_export(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_export_sync(m, r->in.who, r->in.through.write, r->in.ctx, err);
}

static uar_status run_import(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_graph_import_sync(&r->result.graph_imported, m, r->in.who, r->in.text, r->in.given,
                                        r->in.through.failed, r->in.ctx, err);
}

static const operation op_put = { .run = run_put, .tell = tell_change, .given = &entity_shape };
static const operation op_relate = { .run = run_relate, .tell = tell_change, .given = &relation_shape };
static const operation op_observe = { .run = run_observe, .tell = tell_change, .given = &observation_shape };
static const operation op_end = { .run = run_end, .tell = tell_change };
static const operation op_delete = { .run = run_delete, .tell = tell_change };
static const operation op_rename = { .run = run_rename, .tell = tell_change };
static const operation op_merge = { .run = run_merge, .tell = tell_change };
static const operation op_get = { .run = run_get, .tell = tell_graph };
static const operation op_find = { .run = run_find, .tell = tell_graph, .filter = &filter_shape };
static const operation op_entities = { .run = run_entities, .tell = tell_graph, .filter = &filter_shape };
static const operation op_relations = { .run = run_relations, .tell = tell_graph, .filter = &filter_shape };
static const operation op_observations = { .run = run_observations, .tell = tell_graph, .filter = &filter_shape };
static const operation op_neighbours = { .run = run_neighbours, .tell = tell_graph, .filter = &filter_shape };
static const operation op_paths = { .run = run_paths, .tell = tell_paths, .filter = &filter_shape };
static const operation op_search = { .run = run_search, .tell = tell_entity_hits, .filter = &filter_shape };
static const operation op_count = { .run = run_count, .tell = tell_graph_stats };
static const operation op_link = { .run = run_link, .tell = tell_change };
static const operation op_unlink = { .run = run_unlink, .tell = tell_change };
static const operation op_entities_of = { .run = run_entities_of, .tell = tell_graph };
static const operation op_records_of = { .run = run_records_of, .tell = tell_records };
static const operation op_export = { .run = run_export, .tell = tell_done };
static const operation op_import = { .run = run_import, .tell = tell_graph_imported, .given = &place_shape };

/* ---- the calls ---- */

uar_status uar_memory_graph_put(uar_memory *memory, const uar_identity *who, const uar_memory_entity_draft *draft,
                                uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .given = draft, .ctx = ctx, .to.change = done };
    return async_call(&op_put, memory, &in, err);
}

uar_status uar_memory_graph_relate(uar_memory *memory, const uar_identity *who, const uar_memory_relation_draft *draft,
                                   uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .given = draft, .ctx = ctx, .to.change = done };
    return async_call(&op_relate, memory, &in, err);
}

uar_status uar_memory_graph_observe(uar_memory *memory, const uar_identity *who,
                                    const uar_memory_observation_draft *draft, uar_memory_change_fn done, void *ctx,
                                    uar_error *err) {
    const async_input in = { .who = who, .given = draft, .ctx = ctx, .to.change = done };
    return async_call(&op_observe, memory, &in, err);
}

uar_status uar_memory_graph_end(uar_memory *memory, const uar_identity *who, uar_uuid id, int64_t at_ms,
                                uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .at_ms = at_ms, .ctx = ctx, .to.change = done };
    return async_call(&op_end, memory, &in, err);
}

uar_status uar_memory_graph_delete(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_change_fn done,
                                   void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .ctx = ctx, .to.change = done };
    return async_call(&op_delete, memory, &in, err);
}

uar_status uar_memory_graph_rename(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_str name,
                                   uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .text = name, .ctx = ctx, .to.change = done };
    return async_call(&op_rename, memory, &in, err);
}

uar_status uar_memory_graph_merge(uar_memory *memory, const uar_identity *who, uar_uuid into, uar_uuid from,
                                  uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = into, .other = from, .ctx = ctx, .to.change = done };
    return async_call(&op_merge, memory, &in, err);
}

uar_status uar_memory_graph_get(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_graph_fn done,
                                void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .ctx = ctx, .to.graph = done };
    return async_call(&op_get, memory, &in, err);
}

uar_status uar_memory_graph_find(uar_memory *memory, const uar_identity *who, uar_str name,
                                 const uar_memory_graph_filter *filter, uar_memory_graph_fn done, void *ctx,
                                 uar_error *err) {
    const async_input in = { .who = who, .text = name, .filter = filter, .ctx = ctx, .to.graph = done };
    return async_call(&op_find, memory, &in, err);
}

uar_status uar_memory_graph_entities(uar_memory *memory, const uar_identity *who, const uar_memory_graph_filter *filter,
                                     uar_str cursor, size_t limit, uar_memory_graph_fn done, void *ctx,
                                     uar_error *err) {
    const async_input in = {
        .who = who, .filter = filter, .cursor = cursor, .count = limit, .ctx = ctx, .to.graph = done
    };
    return async_call(&op_entities, memory, &in, err);
}

uar_status uar_memory_graph_relations(uar_memory *memory, const uar_identity *who,
                                      const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                      uar_memory_graph_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .filter = filter, .cursor = cursor, .count = limit, .ctx = ctx, .to.graph = done
    };
    return async_call(&op_relations, memory, &in, err);
}

uar_status uar_memory_graph_observations(uar_memory *memory, const uar_identity *who, uar_uuid entity_id,
                                         const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                         uar_memory_graph_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .id = entity_id, .filter = filter, .cursor = cursor, .count = limit, .ctx = ctx, .to.graph = done
    };
    return async_call(&op_observations, memory, &in, err);
}

uar_status uar_memory_graph_neighbours(uar_memory *memory, const uar_identity *who, uar_uuid id,
                                       const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                       uar_memory_graph_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .id = id, .filter = filter, .cursor = cursor, .count = limit, .ctx = ctx, .to.graph = done
    };
    return async_call(&op_neighbours, memory, &in, err);
}

uar_status uar_memory_graph_paths(uar_memory *memory, const uar_identity *who, uar_uuid from, uar_uuid to,
                                  const uar_memory_graph_filter *filter, size_t limit, uar_memory_paths_fn done,
                                  void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .id = from, .other = to, .filter = filter, .count = limit, .ctx = ctx, .to.paths = done
    };
    return async_call(&op_paths, memory, &in, err);
}

uar_status uar_memory_graph_search(uar_memory *memory, const uar_identity *who, uar_str words,
                                   const uar_memory_graph_filter *filter, size_t limit, uar_memory_entity_hits_fn done,
                                   void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .text = words, .filter = filter, .count = limit, .ctx = ctx, .to.entity_hits = done
    };
    return async_call(&op_search, memory, &in, err);
}

uar_status uar_memory_graph_count(uar_memory *memory, const uar_identity *who, uar_memory_graph_stats_fn done,
                                  void *ctx, uar_error *err) {
    const async_input in = { .who = who, .ctx = ctx, .to.graph_stats = done };
    return async_call(&op_count, memory, &in, err);
}

uar_status uar_memory_graph_link(uar_memory *memory, const uar_identity *who, uar_uuid record, uar_uuid entity_id,
                                 uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = record, .other = entity_id, .ctx = ctx, .to.change = done };
    return async_call(&op_link, memory, &in, err);
}

uar_status uar_memory_graph_unlink(uar_memory *memory, const uar_identity *who, uar_uuid record, uar_uuid entity_id,
                                   uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = record, .other = entity_id, .ctx = ctx, .to.change = done };
    return async_call(&op_unlink, memory, &in, err);
}

uar_status uar_memory_graph_entities_of(uar_memory *memory, const uar_identity *who, uar_uuid record, uar_str cursor,
                                        size_t limit, uar_memory_graph_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = record, .cursor = cursor, .count = limit, .ctx = ctx, .to.graph = done };
    return async_call(&op_entities_of, memory, &in, err);
}

uar_status uar_memory_graph_records_of(uar_memory *memory, const uar_identity *who, uar_uuid entity_id, uar_str cursor,
                                       size_t limit, uar_memory_records_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .id = entity_id, .cursor = cursor, .count = limit, .ctx = ctx, .to.records = done
    };
    return async_call(&op_records_of, memory, &in, err);
}

uar_status uar_memory_graph_export(uar_memory *memory, const uar_identity *who, uar_memory_write_fn write,
                                   uar_memory_done_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .through.write = write, .ctx = ctx, .to.done = done };
    return async_call(&op_export, memory, &in, err);
}

uar_status uar_memory_graph_import(uar_memory *memory, const uar_identity *who, uar_str lines,
                                   const uar_memory_place *where, uar_memory_line_fn failed,
                                   uar_memory_graph_imported_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .text = lines, .given = where, .through.failed = failed, .ctx = ctx, .to.graph_imported = done
    };
    return async_call(&op_import, memory, &in, err);
}
