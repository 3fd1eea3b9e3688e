#include "memory_move.h"

#include "file.h"
#include "json_out.h"
#include "memory_args.h"
#include "output.h"
#include "progress.h"
#include "stores.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

void move_count(move_sum *sum, const char *what, uint64_t count) {
    assert(sum->size < MOVE_COUNTS_MOST);
    sum->counts[sum->size].what = what;
    sum->counts[sum->size++].count = count;
}

void move_count_failed(move_sum *sum, uint64_t count) {
    move_count(sum, "failed", count);
    sum->failed = count;
}

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

static void print_sum(const app *a, const move_sum *sum) {
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        for (size_t i = 0; i < sum->size; i++)
            node_set(line, sum->counts[i].what, node_whole(sum->counts[i].count));
        output_json(line);
        return;
    }
    for (size_t i = 0; i < sum->size; i++) {
        char text[60];
        snprintf(text, sizeof text, "%s%" PRIu64 " %s", i != 0 ? ", " : "", sum->counts[i].count, sum->counts[i].what);
        output_text(text);
    }
    output_text("\n");
}

int move_in(app *a, move_in_fn import, const void *ctx) {
    const char *path = a->args.operands[0];
    text_buffer lines = { 0 };
    uar_memory *memory = NULL;
    int code = file_read(&lines, a, path, "the file");
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code == CODE_OK) {
        uar_identity who = identity_of(a);
        uar_error err = UAR_ERROR_INIT;
        import_call call = { a, path };
        move_sum sum = { .size = 0 };
        progress *shown = progress_start(a, "importing");
        uar_status status = import(&sum, ctx, memory, &who, text_str(&lines), line_failed, &call, &err);
        progress_stop(shown);
        if (status == UAR_OK) print_sum(a, &sum);
        if (status != UAR_OK) code = report_error(a, &err, path);
        if (status == UAR_OK && sum.failed > 0) code = CODE_USAGE; /* a bad file, each line named above */
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

int move_out(app *a, move_out_fn export, const void *ctx) {
    uar_memory *memory = NULL;
    int code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_error err = UAR_ERROR_INIT;
    text_buffer out = { 0 };
    uar_status status = export(ctx, memory, &who, export_piece, &out, &err);
    if (out.len > 0) output_bytes(out.data, out.len);
    /* A closed pipe is not a fault of the store; output_close speaks of the rest. */
    if (status != UAR_OK && output_fault() == 0) code = report_error(a, &err, "");
    text_free(&out);
    uar_memory_free(memory);
    return code;
}
