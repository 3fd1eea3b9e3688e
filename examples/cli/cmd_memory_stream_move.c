/* uar memory stream import|export: streams as lines of JSON. */
#include "cmd_memory_stream.h"
#include "memory_move.h"

static uar_status import_streams(move_sum *sum, const void *ctx, uar_memory *memory, const uar_identity *who,
                                 uar_str lines, uar_memory_line_fn failed, void *failed_ctx, uar_error *err) {
    (void)ctx;
    uar_memory_stream_imported done;
    uar_status status = uar_memory_stream_import_sync(&done, memory, who, lines, failed, failed_ctx, err);
    if (status != UAR_OK) return status;
    move_count(sum, "streams", done.streams);
    move_count(sum, "entries", done.entries);
    move_count(sum, "skipped", done.skipped);
    move_count_failed(sum, done.failed);
    return UAR_OK;
}

int cmd_memory_stream_import(app *a) {
    return move_in(a, import_streams, NULL);
}

static uar_status export_streams(const void *ctx, uar_memory *memory, const uar_identity *who,
                                 uar_memory_write_fn write, void *write_ctx, uar_error *err) {
    return uar_memory_stream_export_sync(memory, who, ctx, write, write_ctx, err);
}

int cmd_memory_stream_export(app *a) {
    uar_memory_stream_filter filter;
    int code = stream_filter_from_args(&filter, a);
    return code == CODE_OK ? move_out(a, export_streams, &filter) : code;
}
