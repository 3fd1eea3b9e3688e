/* uar memory graph import|export: the graph as lines of JSON. */
#include "memory_graph.h"

#include "file.h"
#include "json_out.h"
#include "output.h"
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>

static void line_failed(void *ctx, uint64_t line, const uar_error *err) {
    const graph_session *s = ctx;
    notice(s->app, false, err->code, "%s:%" PRIu64 ": %s", s->app->args.operands[0], line,
           err->message[0] != '\0' ? err->message : uar_status_text(err->code));
}

static void print_imported(const app *a, const uar_memory_graph_imported *done) {
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "entities", node_whole(done->entities));
        node_set(line, "relations", node_whole(done->relations));
        node_set(line, "observations", node_whole(done->observations));
        node_set(line, "links", node_whole(done->links));
        node_set(line, "repeated", node_whole(done->repeated));
        node_set(line, "failed", node_whole(done->failed));
        output_json(line);
        return;
    }
    char text[240];
    snprintf(text, sizeof text,
             "%" PRIu64 " entities, %" PRIu64 " relations, %" PRIu64 " observations, %" PRIu64 " links, %" PRIu64
             " repeated, %" PRIu64 " failed\n",
             done->entities, done->relations, done->observations, done->links, done->repeated, done->failed);
    output_text(text);
}

int cmd_memory_graph_import(app *a) {
    graph_session s = { 0 };
    text_buffer lines = { 0 };
    uar_memory_place place = { 0 };
    const char *path = a->args.operands[0];
    int code = graph_scope_of(&place.scope, a);
    if (code == CODE_OK) code = file_read(&lines, a, path, "the file");
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) {
        uar_memory_graph_imported done;
        uar_error err = UAR_ERROR_INIT;
        progress *shown = progress_start(a, "importing");
        uar_status status =
            uar_memory_graph_import_sync(&done, s.memory, &s.who, text_str(&lines), &place, line_failed, &s, &err);
        progress_stop(shown);
        if (status == UAR_OK) print_imported(a, &done);
        if (status != UAR_OK) code = report_error(a, &err, path);
        if (status == UAR_OK && done.failed > 0) code = CODE_USAGE; /* a bad file, each line named above */
    }
    graph_close(&s);
    text_free(&lines);
    return code;
}

/* Whole lines go out, in pieces of some size. */
static uar_status export_piece(void *ctx, uar_str piece) {
    text_buffer *out = ctx;
    text_add(out, piece.ptr, piece.len);
    if (out->len < (1u << 16)) return UAR_OK;
    bool written = output_bytes(out->data, out->len);
    out->len = 0;
    return written ? UAR_OK : UAR_E_IO;
}

int cmd_memory_graph_export(app *a) {
    graph_session s = { 0 };
    int code = graph_open(&s, a);
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    text_buffer out = { 0 };
    uar_status status = uar_memory_graph_export_sync(s.memory, &s.who, export_piece, &out, &err);
    if (out.len > 0) output_bytes(out.data, out.len);
    /* A closed pipe is not a fault of the store; output_close speaks of the rest. */
    if (status != UAR_OK && output_fault() == 0) code = graph_fault(&s, &err);
    text_free(&out);
    graph_close(&s);
    return code;
}
