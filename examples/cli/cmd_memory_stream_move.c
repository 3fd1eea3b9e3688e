/* uar memory stream import|export: streams as lines of JSON. */
#include "cmd_memory_stream.h"
#include "file.h"
#include "json_out.h"
#include "memory_args.h"
#include "output.h"
#include "progress.h"
#include "stores.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

/* Whom to tell about lines that were refused. */
typedef struct import_call {
    const app *app;
    const char *path;
} import_call;

static void line_failed(void *ctx, uint64_t line, const uar_error *err) {
    const import_call *call = ctx;
    notice(call->app, false, err->code, "%s:%" PRIu64 ": %s", call->path, line,
           err->message[0] != '\0' ? err->message : uar_status_text(err->code));
}

static void print_imported(const app *a, const uar_memory_stream_imported *done) {
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "streams", node_whole(done->streams));
        node_set(line, "entries", node_whole(done->entries));
        node_set(line, "skipped", node_whole(done->skipped));
        node_set(line, "failed", node_whole(done->failed));
        output_json(line);
        return;
    }
    char text[160];
    snprintf(text, sizeof text, "%" PRIu64 " streams, %" PRIu64 " entries, %" PRIu64 " skipped, %" PRIu64 " failed\n",
             done->streams, done->entries, done->skipped, done->failed);
    output_text(text);
}

int cmd_memory_stream_import(app *a) {
    const char *path = a->args.operands[0];
    text_buffer lines = { 0 };
    uar_memory *memory = NULL;
    int code = file_read(&lines, a, path, "the file");
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code == CODE_OK) {
        uar_identity who = identity_of(a);
        uar_memory_stream_imported done;
        uar_error err = UAR_ERROR_INIT;
        import_call call = { a, path };
        progress *shown = progress_start(a, "importing");
        uar_status status =
            uar_memory_stream_import_sync(&done, memory, &who, text_str(&lines), line_failed, &call, &err);
        progress_stop(shown);
        if (status == UAR_OK) print_imported(a, &done);
        if (status != UAR_OK) code = report_error(a, &err, path);
        if (status == UAR_OK && done.failed > 0) code = CODE_USAGE; /* a bad file, each line named above */
    }
    uar_memory_free(memory);
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

int cmd_memory_stream_export(app *a) {
    uar_memory_stream_filter filter;
    uar_memory *memory = NULL;
    int code = stream_filter_from_args(&filter, a);
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_error err = UAR_ERROR_INIT;
    text_buffer out = { 0 };
    uar_status status = uar_memory_stream_export_sync(memory, &who, &filter, export_piece, &out, &err);
    if (out.len > 0) output_bytes(out.data, out.len);
    /* A closed pipe is not a fault of the store; output_close speaks of the rest. */
    if (status != UAR_OK && output_fault() == 0) code = report_error(a, &err, "");
    text_free(&out);
    uar_memory_free(memory);
    return code;
}
