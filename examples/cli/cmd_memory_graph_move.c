/* uar memory graph import|export: the graph as lines of JSON. */
#include "memory_graph.h"
#include "memory_move.h"

static uar_status import_graph(move_sum *sum, const void *ctx, uar_memory *memory, const uar_identity *who,
                               uar_str lines, uar_memory_line_fn failed, void *failed_ctx, uar_error *err) {
    const uar_memory_place *place = ctx;
    uar_memory_graph_imported done;
    uar_status status = uar_memory_graph_import_sync(&done, memory, who, lines, place, failed, failed_ctx, err);
    if (status != UAR_OK) return status;
    move_count(sum, "entities", done.entities);
    move_count(sum, "relations", done.relations);
    move_count(sum, "observations", done.observations);
    move_count(sum, "links", done.links);
    move_count(sum, "repeated", done.repeated);
    move_count_failed(sum, done.failed);
    return UAR_OK;
}

int cmd_memory_graph_import(app *a) {
    uar_memory_place place = { 0 };
    int code = graph_scope_of(&place.scope, a);
    return code == CODE_OK ? move_in(a, import_graph, &place) : code;
}

static uar_status export_graph(const void *ctx, uar_memory *memory, const uar_identity *who, uar_memory_write_fn write,
                               void *write_ctx, uar_error *err) {
    (void)ctx;
    return uar_memory_graph_export_sync(memory, who, write, write_ctx, err);
}

int cmd_memory_graph_export(app *a) {
    return move_out(a, export_graph, NULL);
}
