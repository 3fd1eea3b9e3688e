/*
 * The allocation sweep over the knowledge graph, SQLite's own allocations among them. Each case: a copy of a store with a
 * small graph, one allocation fails (once, or it and all later ones), then: success or UAR_E_NOMEM, outputs untouched, rows
 * and index agree, the same call works, nothing is left over, in SQLite neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uar/memory_graph.h>

#include "fault/sqlite_port.h"
#include "fault/world.h"

typedef struct bench {
    fault_port *port;
    uar_memory *memory;
    uar_identity who;
    long sqlite_before;
    unsigned round; /* texts differ from call to call */
} bench;

static char folder[64], path[96], template_path[96];
static uar_uuid ada, babbage, engine, relation, record;

static void as_user(uar_identity *who) {
    uar_identity_init(who);
    who->user = uar_str_of("me");
}

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

static void make_template(void) {
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/memory.db", folder);
    (void)snprintf(template_path, sizeof template_path, "%s/template.db", folder);
    uar_memory *memory = uar_memory_open(template_path, NULL);
    fill(memory);
    uar_memory_free(memory);
}

static void *open_bench(fault_port *port) {
    bench *b = calloc(1, sizeof *b);
    if (b == NULL) abort();
    store_files_remove(path);
    file_copy(path, template_path);
    b->port = port;
    b->sqlite_before = sqlite_alive;
    as_user(&b->who);
    sqlite_port = port;
    uar_memory_options o;
    uar_memory_options_init(&o);
    o.allocator = &b->port->door;
    b->memory = uar_memory_open(path, &o);
    uar_error why = UAR_ERROR_INIT;
    if (uar_memory_state(b->memory, &why) != UAR_MEMORY_READY) fault_note("the store doesn't open: %s", why.message);
    return b;
}

static void inspect(void *arg, uar_status status) {
    (void)status;
    bench *b = arg;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_check_sync(b->memory, &err) != UAR_OK) fault_note("the store is not whole: %s", err.message);
}

static void close_bench(void *arg) {
    bench *b = arg;
    uar_memory_free(b->memory);
    sqlite_port = NULL;
    FAULT_EXPECT(sqlite_alive == b->sqlite_before, "SQLite holds %ld blocks", sqlite_alive - b->sqlite_before);
    uar_error err = UAR_ERROR_INIT;
    uar_memory *memory = uar_memory_open(path, NULL);
    if (uar_memory_check_sync(memory, &err) != UAR_OK) fault_note("the store that is left: %s", err.message);
    uar_memory_free(memory);
    free(b);
}

/* ---- writing ---- */

static uar_status act_put(void *arg) {
    bench *b = arg;
    char text[64];
    (void)snprintf(text, sizeof text, "{\"n\":%u}", b->round++);
    uar_str alias = uar_str_of("Countess");
    uar_memory_entity_draft d = { UAR_MEMORY_ENTITY_DRAFT_INIT,
                                  .name = uar_str_of("ADA"),
                                  .kind = uar_str_of("x"),
                                  .aliases = &alias,
                                  .alias_count = 1,
                                  .properties = uar_str_of(text) };
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_put_sync(&change, b->memory, &b->who, &d, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_put_sync");
    return status;
}

static uar_status act_relate(void *arg) {
    bench *b = arg;
    uar_memory_relation_draft d = { UAR_MEMORY_RELATION_DRAFT_INIT,
                                    .from = ada,
                                    .to = engine,
                                    .type = uar_str_of("knows"),
                                    .properties = uar_str_of("{\"p\":1}"),
                                    .valid_from_ms = 5000 - (int64_t)b->round++ };
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_relate_sync(&change, b->memory, &b->who, &d, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_relate_sync");
    return status;
}

static uar_status act_observe(void *arg) {
    bench *b = arg;
    char text[64];
    (void)snprintf(text, sizeof text, "was seen %u times near the engine", b->round++);
    uar_memory_observation_draft d = { UAR_MEMORY_OBSERVATION_DRAFT_INIT, .entity = ada, .text = uar_str_of(text) };
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
    uar_status status =
        uar_memory_graph_end_sync(&change, b->memory, &b->who, relation, INT64_MAX - 1 - (int64_t)b->round++, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_graph_end_sync");
    return status;
}

static uar_status act_rename(void *arg) {
    bench *b = arg;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_graph_rename_sync(&change, b->memory, &b->who, engine,
                                                     uar_str_of(b->round++ % 2 == 0 ? "Machine" : "Engine"), NULL);
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

static uar_status drop_piece(void *ctx, uar_str piece) {
    *(size_t *)ctx += piece.len;
    return UAR_OK;
}

static uar_status act_export(void *arg) {
    bench *b = arg;
    size_t written = 0;
    uar_status status = uar_memory_graph_export_sync(b->memory, &b->who, drop_piece, &written, NULL);
    if (status == UAR_OK) FAULT_EXPECT(written > 2000, "an export of %zu bytes", written);
    return status;
}

static uar_status act_import(void *arg) {
    static const char lines[] =
        "{\"type\":\"entity\",\"name\":\"Turing\",\"entityType\":\"x\",\"observations\":[\"read about the engine\"]}\n"
        "{\"type\":\"relation\",\"from\":\"Turing\",\"to\":\"Ada\",\"relationType\":\"cites\"}\n";
    bench *b = arg;
    uar_memory_graph_imported done;
    OUTPUT_PREPARE(done);
    uar_status status =
        uar_memory_graph_import_sync(&done, b->memory, &b->who, uar_str_of(lines), NULL, NULL, NULL, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_graph_import_sync");
    if (status == UAR_OK) FAULT_EXPECT(done.failed == 0, "%llu lines are refused", (unsigned long long)done.failed);
    return status;
}

static uar_status act_check(void *arg) {
    return uar_memory_check_sync(((bench *)arg)->memory, NULL);
}

static sweep_scenario scenarios[] = {
    { "graph_put", open_bench, act_put, inspect, NULL, close_bench, 0 },
    { "graph_relate", open_bench, act_relate, inspect, NULL, close_bench, 0 },
    { "graph_observe", open_bench, act_observe, inspect, NULL, close_bench, 0 },
    { "graph_end", open_bench, act_end, inspect, NULL, close_bench, 0 },
    { "graph_rename", open_bench, act_rename, inspect, NULL, close_bench, 0 },
    { "graph_merge", open_bench, act_merge, inspect, merge_again, close_bench, 0 },
    { "graph_delete", open_bench, act_delete, inspect, delete_again, close_bench, 0 },
    { "graph_link", open_bench, act_link, inspect, NULL, close_bench, 0 },
    { "graph_get", open_bench, act_get, inspect, NULL, close_bench, 0 },
    { "graph_list", open_bench, act_list, inspect, NULL, close_bench, 0 },
    { "graph_neighbours", open_bench, act_neighbours, inspect, NULL, close_bench, 0 },
    { "graph_paths", open_bench, act_paths, inspect, NULL, close_bench, 0 },
    { "graph_search", open_bench, act_search, inspect, NULL, close_bench, 0 },
    { "graph_export", open_bench, act_export, inspect, NULL, close_bench, 0 },
    { "graph_import", open_bench, act_import, inspect, NULL, close_bench, 0 },
    { "graph_check", open_bench, act_check, inspect, NULL, close_bench, 0 },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(void) {
    struct CMUnitTest tests[COUNT(scenarios)];
    sqlite_port_install();
    make_template();
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < COUNT(scenarios); i++) {
        if (scenarios[i].quick == 0) scenarios[i].quick = 40;
        tests[i].name = scenarios[i].name;
        tests[i].test_func = test_sweep;
        tests[i].initial_state = &scenarios[i];
    }
    int failed = _cmocka_run_group_tests("every allocation of the graph may fail", tests, COUNT(tests), NULL, NULL);
    store_files_remove(path);
    store_files_remove(template_path);
    (void)rmdir(folder);
    return failed;
}
