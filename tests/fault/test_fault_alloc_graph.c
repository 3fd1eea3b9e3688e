/*
 * The allocation sweep over the knowledge graph, SQLite's own allocations among them. Each case: a copy of a store with a
 * small graph, one allocation fails (once, or it and all later ones), then: success or UAR_E_NOMEM, outputs untouched, rows
 * and index agree, the same call works, nothing is left over, in SQLite neither.
 */
#include <uar/memory_graph_async.h>

#include "fault/memory_bench.h"

static uar_uuid ada, babbage, engine, relation, record;

static uar_uuid put(uar_memory *memory, const char *name) {
    uar_identity who;
    as_user(&who);
    uar_memory_change change;
    uar_memory_entity_draft d = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of(name), .kind = uar_str_of("x") };
    if (uar_memory_graph_put_sync(&change, memory, &who, &d, NULL) != UAR_OK) abort();
    uar_memory_observation_draft o = { UAR_MEMORY_OBSERVATION_DRAFT_INIT, .entity = change.id,
                                       .text = uar_str_of("has something to do with the engine") };
    uar_uuid id = change.id;
    if (uar_memory_graph_observe_sync(&change, memory, &who, &o, NULL) != UAR_OK) abort();
    return id;
}

static uar_uuid tie(uar_memory *memory, uar_uuid from, uar_uuid to) {
    uar_identity who;
    as_user(&who);
    uar_memory_change change;
    uar_memory_relation_draft d = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = from, .to = to,
                                    .type = uar_str_of("knows") };
    if (uar_memory_graph_relate_sync(&change, memory, &who, &d, NULL) != UAR_OK) abort();
    return change.id;
}

static void fill(uar_memory *memory) {
    uar_identity who;
    as_user(&who);
    ada = put(memory, "Ada");
    babbage = put(memory, "Babbage");
    engine = put(memory, "Engine");
    relation = tie(memory, ada, babbage);
    (void)tie(memory, babbage, engine);
    (void)tie(memory, ada, engine);
    uar_memory_change change;
    uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of("Ada wrote about the engine") };
    if (uar_memory_add_sync(&change, memory, &who, &d, NULL) != UAR_OK) abort();
    record = change.id;
    if (uar_memory_graph_link_sync(&change, memory, &who, record, ada, NULL) != UAR_OK) abort();
}

/* ---- writing ---- */

static uar_memory_entity_draft entity_draft(bench *b) {
    static const uar_str alias = { "Countess", 8 };
    (void)snprintf(b->text, sizeof b->text, "{\"n\":%u}", b->round++);
    return (uar_memory_entity_draft){ UAR_MEMORY_ENTITY_DRAFT_INIT,
                                      .name = uar_str_of("ADA"),
                                      .kind = uar_str_of("x"),
                                      .aliases = &alias,
                                      .alias_count = 1,
                                      .properties = uar_str_of(b->text) };
}

static uar_memory_relation_draft relation_draft(bench *b) {
    (void)snprintf(b->text, sizeof b->text, "{\"p\":%u}", b->round++);
    return (uar_memory_relation_draft){ UAR_MEMORY_RELATION_DRAFT_INIT,
                                        .from = ada,
                                        .to = engine,
                                        .type = uar_str_of("knows"),
                                        .properties = uar_str_of(b->text),
                                        .valid_from_ms = 5000 - (int64_t)b->round };
}

static uar_memory_observation_draft observation_draft(bench *b) {
    (void)snprintf(b->text, sizeof b->text, "was seen %u times near the engine", b->round++);
    return (uar_memory_observation_draft){ UAR_MEMORY_OBSERVATION_DRAFT_INIT, .entity = ada,
                                           .text = uar_str_of(b->text) };
}

/* The one name and the other, in turn. */
static uar_str next_name(bench *b) {
    (void)snprintf(b->text, sizeof b->text, "%s", b->round++ % 2 == 0 ? "Machine" : "Engine");
    return uar_str_of(b->text);
}

static int64_t next_end(bench *b) {
    return INT64_MAX - 1 - (int64_t)b->round++;
}

static uar_status act_put(void *arg) {
    bench *b = arg;
    uar_memory_entity_draft d = entity_draft(b);
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_put_sync(&change, b->memory, &b->who, &d, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_put_sync");
    return status;
}

static uar_status act_relate(void *arg) {
    bench *b = arg;
    uar_memory_relation_draft d = relation_draft(b);
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_relate_sync(&change, b->memory, &b->who, &d, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_relate_sync");
    return status;
}

static uar_status act_observe(void *arg) {
    bench *b = arg;
    uar_memory_observation_draft d = observation_draft(b);
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_observe_sync(&change, b->memory, &b->who, &d, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_observe_sync");
    return status;
}

static uar_status act_end(void *arg) {
    bench *b = arg;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_end_sync(&change, b->memory, &b->who, relation, next_end(b), NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_end_sync");
    return status;
}

static uar_status act_rename(void *arg) {
    bench *b = arg;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_rename_sync(&change, b->memory, &b->who, engine, next_name(b), NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_rename_sync");
    return status;
}

static uar_status act_merge(void *arg) {
    bench *b = arg;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_merge_sync(&change, b->memory, &b->who, ada, engine, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_merge_sync");
    return status;
}

static uar_status act_delete(void *arg) {
    bench *b = arg;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_delete_sync(&change, b->memory, &b->who, ada, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_delete_sync");
    return status;
}

/* What worked can't be done twice; what failed did nothing. */
static uar_status once_more(bench *b, uar_status was, uar_uuid gone, uar_status (*act)(void *arg),
                            uar_uuid stands_for) {
    uar_memory_graph *found = NULL;
    uar_status then = uar_memory_graph_get_sync(&found, b->memory, &b->who, gone, NULL);
    bool is_there = then == UAR_OK && uar_uuid_equal(found->entities[0].id, gone);
    bool is_other = then == UAR_OK && uar_uuid_equal(found->entities[0].id, stands_for);
    uar_memory_graph_free(found);
    if (was != UAR_OK && is_there) return act(b);
    if (was != UAR_OK) return then == UAR_OK ? UAR_E_INTERNAL : then;
    FAULT_EXPECT(uar_uuid_is_none(stands_for) ? then == UAR_E_NOT_FOUND : is_other, "what is gone answers %s",
                 uar_status_name(then));
    return UAR_OK;
}

static uar_status merge_again(void *arg, uar_status was) {
    return once_more(arg, was, engine, act_merge, ada);
}

static uar_status delete_again(void *arg, uar_status was) {
    uar_uuid none;
    memset(&none, 0, sizeof none);
    return once_more(arg, was, ada, act_delete, none);
}

static uar_status act_link(void *arg) {
    bench *b = arg;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_link_sync(&change, b->memory, &b->who, record, babbage, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_link_sync");
    return status;
}

/* A tie is made first, so that there is one each time. */
static uar_status act_unlink(void *arg) {
    bench *b = arg;
    uar_status status = act_link(b);
    if (status != UAR_OK) return status;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    status = uar_memory_graph_unlink_sync(&change, b->memory, &b->who, record, babbage, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_unlink_sync");
    return status;
}

/* ---- reading ---- */

static uar_status take(uar_status status, uar_memory_graph *g, size_t least, const char *call) {
    if (status != UAR_OK && !output_is_untouched(&g, sizeof g)) fault_note("%s failed and touched its output", call);
    if (status != UAR_OK) return status;
    FAULT_EXPECT(g->entity_count + g->relation_count + g->observation_count >= least, "%s finds too little", call);
    uar_memory_graph_free(g);
    return UAR_OK;
}

static uar_status act_get(void *arg) {
    bench *b = arg;
    uar_memory_graph *g;
    OUTPUT_PREPARE(g);
    uar_status status = uar_memory_graph_get_sync(&g, b->memory, &b->who, ada, NULL);
    return take(status, g, 1, "uar_memory_graph_get_sync");
}

static uar_status act_find(void *arg) {
    bench *b = arg;
    uar_memory_graph *g;
    OUTPUT_PREPARE(g);
    uar_status status = uar_memory_graph_find_sync(&g, b->memory, &b->who, uar_str_of("ada"), NULL, NULL);
    return take(status, g, 1, "uar_memory_graph_find_sync");
}

static uar_status act_list(void *arg) {
    bench *b = arg;
    uar_memory_graph *g;
    OUTPUT_PREPARE(g);
    uar_status status = uar_memory_graph_entities_sync(&g, b->memory, &b->who, NULL, uar_str_of(NULL), 2, NULL);
    return take(status, g, 2, "uar_memory_graph_entities_sync");
}

static uar_status act_neighbours(void *arg) {
    bench *b = arg;
    uar_memory_graph *g;
    OUTPUT_PREPARE(g);
    uar_status status = uar_memory_graph_neighbours_sync(&g, b->memory, &b->who, ada, NULL, uar_str_of(NULL), 9, NULL);
    return take(status, g, 4, "uar_memory_graph_neighbours_sync");
}

static uar_status act_relations(void *arg) {
    bench *b = arg;
    uar_memory_graph *g;
    OUTPUT_PREPARE(g);
    uar_status status = uar_memory_graph_relations_sync(&g, b->memory, &b->who, NULL, uar_str_of(NULL), 9, NULL);
    return take(status, g, 3, "uar_memory_graph_relations_sync");
}

static uar_status act_observations(void *arg) {
    bench *b = arg;
    uar_memory_graph *g;
    OUTPUT_PREPARE(g);
    uar_status status =
        uar_memory_graph_observations_sync(&g, b->memory, &b->who, ada, NULL, uar_str_of(NULL), 9, NULL);
    return take(status, g, 1, "uar_memory_graph_observations_sync");
}

static uar_status act_entities_of(void *arg) {
    bench *b = arg;
    uar_memory_graph *g;
    OUTPUT_PREPARE(g);
    uar_status status = uar_memory_graph_entities_of_sync(&g, b->memory, &b->who, record, uar_str_of(NULL), 9, NULL);
    return take(status, g, 1, "uar_memory_graph_entities_of_sync");
}

static uar_status act_records_of(void *arg) {
    bench *b = arg;
    uar_memory_records *r;
    OUTPUT_PREPARE(r);
    uar_status status = uar_memory_graph_records_of_sync(&r, b->memory, &b->who, ada, uar_str_of(NULL), 9, NULL);
    OUTPUT_CHECK(status, r, "uar_memory_graph_records_of_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(r->count == 1, "%zu records", r->count);
    uar_memory_records_free(r);
    return UAR_OK;
}

static uar_status act_stats(void *arg) {
    bench *b = arg;
    uar_memory_graph_stats stats;
    OUTPUT_PREPARE(stats);
    uar_status status = uar_memory_graph_stats_sync(&stats, b->memory, &b->who, NULL);
    OUTPUT_CHECK(status, stats, "uar_memory_graph_stats_sync");
    if (status == UAR_OK) FAULT_EXPECT(stats.entities == 3 && stats.relations == 3 && stats.links == 1, "counts");
    return status;
}

static uar_status act_paths(void *arg) {
    bench *b = arg;
    uar_memory_paths *p;
    OUTPUT_PREPARE(p);
    uar_status status = uar_memory_graph_paths_sync(&p, b->memory, &b->who, ada, engine, NULL, 5, NULL);
    if (status != UAR_OK && !output_is_untouched(&p, sizeof p)) fault_note("paths failed and touched their output");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(p->count == 2, "%zu paths", p->count);
    uar_memory_paths_free(p);
    return UAR_OK;
}

static uar_status act_search(void *arg) {
    bench *b = arg;
    uar_memory_entity_hits *h;
    OUTPUT_PREPARE(h);
    uar_status status =
        uar_memory_graph_search_sync(&h, b->memory, &b->who, uar_str_of("what about the engine?"), NULL, 5, NULL);
    if (status != UAR_OK && !output_is_untouched(&h, sizeof h)) fault_note("a search failed and touched its output");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(h->count == 3, "%zu hits", h->count);
    uar_memory_entity_hits_free(h);
    return UAR_OK;
}

static uar_status act_export(void *arg) {
    bench *b = arg;
    size_t written = 0;
    uar_status status = uar_memory_graph_export_sync(b->memory, &b->who, drop_piece, &written, NULL);
    if (status == UAR_OK) FAULT_EXPECT(written > 2000, "an export of %zu bytes", written);
    return status;
}

static const char import_lines[] =
    "{\"type\":\"entity\",\"name\":\"Turing\",\"entityType\":\"x\",\"observations\":[\"read about the engine\"]}\n"
    "{\"type\":\"relation\",\"from\":\"Turing\",\"to\":\"Ada\",\"relationType\":\"cites\"}\n";

static uar_status act_import(void *arg) {
    bench *b = arg;
    uar_memory_graph_imported done;
    OUTPUT_PREPARE(done);
    uar_status status =
        uar_memory_graph_import_sync(&done, b->memory, &b->who, uar_str_of(import_lines), NULL, NULL, NULL, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_graph_import_sync");
    if (status == UAR_OK) FAULT_EXPECT(done.failed == 0, "%llu lines are refused", (unsigned long long)done.failed);
    return status;
}

static uar_status act_check(void *arg) {
    return uar_memory_check_sync(((bench *)arg)->memory, NULL);
}

/* ---- later: each call of uar/memory_graph_async.h ---- */

/* With something to copy. */
static uar_memory_graph_filter kind_filter(void) {
    return (uar_memory_graph_filter){ UAR_MEMORY_GRAPH_FILTER_INIT, .kind = uar_str_of("x"),
                                      .type = uar_str_of("knows") };
}

static void on_graph(void *ctx, uar_status status, uar_memory_graph *graph, const uar_error *err) {
    later_told(ctx, status, graph != NULL, err);
    FAULT_EXPECT(graph == NULL || graph->entity_count + graph->relation_count + graph->observation_count > 0,
                 "a part of the graph is empty");
    uar_memory_graph_free(graph);
}

static void on_paths(void *ctx, uar_status status, uar_memory_paths *paths, const uar_error *err) {
    later_told(ctx, status, paths != NULL, err);
    FAULT_EXPECT(paths == NULL || paths->count == 2, "paths are missing");
    uar_memory_paths_free(paths);
}

static void on_entity_hits(void *ctx, uar_status status, uar_memory_entity_hits *hits, const uar_error *err) {
    later_told(ctx, status, hits != NULL, err);
    FAULT_EXPECT(hits == NULL || hits->count == 3, "hits are missing");
    uar_memory_entity_hits_free(hits);
}

static void on_graph_stats(void *ctx, uar_status status, const uar_memory_graph_stats *stats, const uar_error *err) {
    later_told(ctx, status, stats != NULL, err);
    FAULT_EXPECT(stats == NULL || (stats->entities == 3 && stats->relations == 3), "counts are wrong");
}

static void on_imported(void *ctx, uar_status status, const uar_memory_graph_imported *imported, const uar_error *err) {
    later_told(ctx, status, imported != NULL, err);
    FAULT_EXPECT(imported == NULL || imported->failed == 0, "lines are refused");
}

static uar_status act_put_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_entity_draft d = entity_draft(b);
    return run_later(b, &end, uar_memory_graph_put(b->memory, &b->who, &d, on_change, &end, NULL));
}

static uar_status act_relate_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_relation_draft d = relation_draft(b);
    return run_later(b, &end, uar_memory_graph_relate(b->memory, &b->who, &d, on_change, &end, NULL));
}

static uar_status act_observe_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_observation_draft d = observation_draft(b);
    return run_later(b, &end, uar_memory_graph_observe(b->memory, &b->who, &d, on_change, &end, NULL));
}

static uar_status act_end_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_graph_end(b->memory, &b->who, relation, next_end(b), on_change, &end, NULL));
}

static uar_status act_rename_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_str name = next_name(b);
    return run_later(b, &end, uar_memory_graph_rename(b->memory, &b->who, engine, name, on_change, &end, NULL));
}

static uar_status act_merge_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_graph_merge(b->memory, &b->who, ada, engine, on_change, &end, NULL));
}

static uar_status merge_later_again(void *arg, uar_status was) {
    return once_more(arg, was, engine, act_merge_later, ada);
}

static uar_status act_delete_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_graph_delete(b->memory, &b->who, ada, on_change, &end, NULL));
}

static uar_status delete_later_again(void *arg, uar_status was) {
    return once_more(arg, was, ada, act_delete_later, (uar_uuid){ { 0 } });
}

static uar_status act_link_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_graph_link(b->memory, &b->who, record, babbage, on_change, &end, NULL));
}

static uar_status act_unlink_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_status status = act_link(b);
    if (status != UAR_OK) return status;
    return run_later(b, &end, uar_memory_graph_unlink(b->memory, &b->who, record, babbage, on_change, &end, NULL));
}

static uar_status act_get_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_graph_get(b->memory, &b->who, ada, on_graph, &end, NULL));
}

static uar_status act_find_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    (void)snprintf(b->text, sizeof b->text, "Ada");
    uar_memory_graph_filter f = kind_filter();
    return run_later(b, &end, uar_memory_graph_find(b->memory, &b->who, uar_str_of(b->text), &f, on_graph, &end, NULL));
}

static uar_status act_list_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_graph_filter f = kind_filter();
    return run_later(b, &end,
                     uar_memory_graph_entities(b->memory, &b->who, &f, uar_str_of(NULL), 2, on_graph, &end, NULL));
}

static uar_status act_relations_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end,
                     uar_memory_graph_relations(b->memory, &b->who, NULL, uar_str_of(NULL), 9, on_graph, &end, NULL));
}

static uar_status act_observations_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(
        b, &end,
        uar_memory_graph_observations(b->memory, &b->who, ada, NULL, uar_str_of(NULL), 9, on_graph, &end, NULL));
}

static uar_status act_neighbours_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_graph_filter f = kind_filter();
    return run_later(
        b, &end, uar_memory_graph_neighbours(b->memory, &b->who, ada, &f, uar_str_of(NULL), 9, on_graph, &end, NULL));
}

static uar_status act_paths_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_graph_filter f = kind_filter();
    return run_later(b, &end, uar_memory_graph_paths(b->memory, &b->who, ada, engine, &f, 5, on_paths, &end, NULL));
}

static uar_status act_search_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    (void)snprintf(b->text, sizeof b->text, "what about the engine?");
    uar_memory_graph_filter f = kind_filter();
    return run_later(
        b, &end, uar_memory_graph_search(b->memory, &b->who, uar_str_of(b->text), &f, 5, on_entity_hits, &end, NULL));
}

static uar_status act_stats_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_graph_count(b->memory, &b->who, on_graph_stats, &end, NULL));
}

static uar_status act_entities_of_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(
        b, &end, uar_memory_graph_entities_of(b->memory, &b->who, record, uar_str_of(NULL), 9, on_graph, &end, NULL));
}

static uar_status act_records_of_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end,
                     uar_memory_graph_records_of(b->memory, &b->who, ada, uar_str_of(NULL), 9, on_records, &end, NULL));
}

static uar_status act_export_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_status status =
        run_later(b, &end, uar_memory_graph_export(b->memory, &b->who, drop_piece, on_done, &end, NULL));
    if (status == UAR_OK) FAULT_EXPECT(end.written > 2000, "an export of %zu bytes", end.written);
    return status;
}

/* The lines and the place are gone when they are read. */
static uar_status act_import_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    char lines[sizeof import_lines];
    memcpy(lines, import_lines, sizeof lines);
    uar_memory_place place = { .scope = UAR_MEMORY_SCOPE_USER, .user = uar_str_of("me") };
    uar_status begun =
        uar_memory_graph_import(b->memory, &b->who, uar_str_of(lines), &place, NULL, on_imported, &end, NULL);
    memset(lines, '?', sizeof lines);
    memset(&place, '?', sizeof place);
    return run_later(b, &end, begun);
}

static sweep_scenario scenarios[] = {
    { "graph_put", open_bench, act_put, inspect_memory, NULL, close_bench, 0 },
    { "graph_relate", open_bench, act_relate, inspect_memory, NULL, close_bench, 0 },
    { "graph_observe", open_bench, act_observe, inspect_memory, NULL, close_bench, 0 },
    { "graph_end", open_bench, act_end, inspect_memory, NULL, close_bench, 0 },
    { "graph_rename", open_bench, act_rename, inspect_memory, NULL, close_bench, 0 },
    { "graph_merge", open_bench, act_merge, inspect_memory, merge_again, close_bench, 0 },
    { "graph_delete", open_bench, act_delete, inspect_memory, delete_again, close_bench, 0 },
    { "graph_link", open_bench, act_link, inspect_memory, NULL, close_bench, 0 },
    { "graph_get", open_bench, act_get, inspect_memory, NULL, close_bench, 0 },
    { "graph_list", open_bench, act_list, inspect_memory, NULL, close_bench, 0 },
    { "graph_neighbours", open_bench, act_neighbours, inspect_memory, NULL, close_bench, 0 },
    { "graph_paths", open_bench, act_paths, inspect_memory, NULL, close_bench, 0 },
    { "graph_search", open_bench, act_search, inspect_memory, NULL, close_bench, 0 },
    { "graph_export", open_bench, act_export, inspect_memory, NULL, close_bench, 0 },
    { "graph_import", open_bench, act_import, inspect_memory, NULL, close_bench, 0 },
    { "graph_unlink", open_bench, act_unlink, inspect_memory, NULL, close_bench, 0 },
    { "graph_find", open_bench, act_find, inspect_memory, NULL, close_bench, 0 },
    { "graph_relations", open_bench, act_relations, inspect_memory, NULL, close_bench, 0 },
    { "graph_observations", open_bench, act_observations, inspect_memory, NULL, close_bench, 0 },
    { "graph_entities_of", open_bench, act_entities_of, inspect_memory, NULL, close_bench, 0 },
    { "graph_records_of", open_bench, act_records_of, inspect_memory, NULL, close_bench, 0 },
    { "graph_stats", open_bench, act_stats, inspect_memory, NULL, close_bench, 0 },
    { "graph_check", open_bench, act_check, inspect_memory, NULL, close_bench, 0 },
    { "later_put", open_pumped, act_put_later, inspect_memory, NULL, close_bench, 20 },
    { "later_relate", open_pumped, act_relate_later, inspect_memory, NULL, close_bench, 20 },
    { "later_observe", open_pumped, act_observe_later, inspect_memory, NULL, close_bench, 20 },
    { "later_end", open_pumped, act_end_later, inspect_memory, NULL, close_bench, 20 },
    { "later_rename", open_pumped, act_rename_later, inspect_memory, NULL, close_bench, 20 },
    { "later_merge", open_pumped, act_merge_later, inspect_memory, merge_later_again, close_bench, 20 },
    { "later_delete", open_pumped, act_delete_later, inspect_memory, delete_later_again, close_bench, 20 },
    { "later_link", open_pumped, act_link_later, inspect_memory, NULL, close_bench, 20 },
    { "later_unlink", open_pumped, act_unlink_later, inspect_memory, NULL, close_bench, 20 },
    { "later_get", open_pumped, act_get_later, inspect_memory, NULL, close_bench, 20 },
    { "later_find", open_pumped, act_find_later, inspect_memory, NULL, close_bench, 20 },
    { "later_list", open_pumped, act_list_later, inspect_memory, NULL, close_bench, 20 },
    { "later_relations", open_pumped, act_relations_later, inspect_memory, NULL, close_bench, 20 },
    { "later_observations", open_pumped, act_observations_later, inspect_memory, NULL, close_bench, 20 },
    { "later_neighbours", open_pumped, act_neighbours_later, inspect_memory, NULL, close_bench, 20 },
    { "later_paths", open_pumped, act_paths_later, inspect_memory, NULL, close_bench, 20 },
    { "later_search", open_pumped, act_search_later, inspect_memory, NULL, close_bench, 20 },
    { "later_stats", open_pumped, act_stats_later, inspect_memory, NULL, close_bench, 20 },
    { "later_entities_of", open_pumped, act_entities_of_later, inspect_memory, NULL, close_bench, 20 },
    { "later_records_of", open_pumped, act_records_of_later, inspect_memory, NULL, close_bench, 20 },
    { "later_export", open_pumped, act_export_later, inspect_memory, NULL, close_bench, 20 },
    { "later_import", open_pumped, act_import_later, inspect_memory, NULL, close_bench, 20 },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(void) {
    return sweep_memory("every allocation of the graph may fail", fill, scenarios, COUNT(scenarios));
}
