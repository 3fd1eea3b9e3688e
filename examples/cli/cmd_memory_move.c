/* uar memory import|export: records as lines of JSON. */
#include "commands.h"
#include "memory_args.h"
#include "memory_move.h"

static uar_status import_records(move_sum *sum, const void *ctx, uar_memory *memory, const uar_identity *who,
                                 uar_str lines, uar_memory_line_fn failed, void *failed_ctx, uar_error *err) {
    const uint32_t *flags = ctx;
    uar_memory_imported done;
    uar_status status = uar_memory_import_sync(&done, memory, who, lines, *flags, failed, failed_ctx, err);
    if (status != UAR_OK) return status;
    move_count(sum, "added", done.added);
    move_count(sum, "reinforced", done.reinforced);
    move_count(sum, "superseded", done.superseded);
    move_count_failed(sum, done.failed);
    move_count(sum, "skipped", done.skipped);
    return UAR_OK;
}

int cmd_memory_import(app *a) {
    uint32_t flags = args_has(&a->args, "verbatim") ? UAR_MEMORY_IMPORT_VERBATIM : 0;
    return move_in(a, import_records, &flags);
}

static uar_status export_records(const void *ctx, uar_memory *memory, const uar_identity *who,
                                 uar_memory_write_fn write, void *write_ctx, uar_error *err) {
    return uar_memory_export_sync(memory, who, ctx, write, write_ctx, err);
}

int cmd_memory_export(app *a) {
    uar_memory_filter filter;
    int code = filter_from_args(&filter, NULL, a);
    return code == CODE_OK ? move_out(a, export_records, &filter) : code;
}
