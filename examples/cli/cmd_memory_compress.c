/* uar memory compress|purge|sweep: many records into one, what that left behind, and what has expired. */
#include "commands.h"
#include "json_out.h"
#include "memory_args.h"
#include "output.h"
#include "stores.h"

#include <inttypes.h>
#include <stdio.h>

static void print_compression(const app *a, const uar_memory_compression *done) {
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, done->id);
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "id", node_z(id));
        node_set(line, "archived", node_whole(done->archived));
        node_set(line, "source_bytes", node_whole(done->source_bytes));
        node_set(line, "summary_bytes", node_whole(done->summary_bytes));
        node_set(line, "trust", node_z(uar_memory_trust_name(done->trust)));
        output_json(line);
        return;
    }
    char text[160];
    snprintf(text, sizeof text, "%s  %" PRIu64 " records became one: %" PRIu64 " bytes instead of %" PRIu64 "\n", id,
             done->archived, done->summary_bytes, done->source_bytes);
    output_text(text);
}

/* The failures that a person can do something about. */
static int compress_fault(const app *a, const uar_error *err) {
    switch (err->code) {
    case UAR_E_NOT_FOUND:
        return report(a, err->code, "see 'uar memory list' with the same filters", "%s", err->message);
    case UAR_E_INVALID: return report(a, err->code, "narrow it with --scope, --session, --task", "%s", err->message);
    default: return report_error(a, err, "");
    }
}

int cmd_memory_compress(app *a) {
    uar_memory_filter filter;
    uar_memory_compress_options options;
    uar_memory_compress_options_init(&options);
    bool filtered = false;
    uar_memory *memory = NULL;
    options.summary = uar_str_of(args_get(&a->args, "summary"));
    options.trust = UAR_MEMORY_TRUST_USER;
    int code = filter_from_args(&filter, &filtered, a);
    if (code == CODE_OK && !filtered && !args_has(&a->args, "yes"))
        return report_usage(a, "give filters, or repeat it with --yes", "this compresses all records of the user");
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_memory_compression done;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_compress_sync(&done, memory, &who, &filter, &options, &err) == UAR_OK)
        print_compression(a, &done);
    else
        code = compress_fault(a, &err);
    uar_memory_free(memory);
    return code;
}

int cmd_memory_purge(app *a) {
    uar_uuid id;
    uar_memory *memory = NULL;
    int code = record_id(&id, a, a->args.operands[0]);
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_memory_erasure done;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_purge_sync(&done, memory, &who, id, &err) != UAR_OK) {
        code = report_error(a, &err, "");
    } else if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "erased", node_whole(done.erased));
        node_set(line, "pending", node_whole(done.pending));
        output_json(line);
    } else {
        char text[96];
        snprintf(text, sizeof text, "%" PRIu64 " erased, %" PRIu64 " pending\n", done.erased, done.pending);
        output_text(text);
    }
    uar_memory_free(memory);
    return code;
}

int cmd_memory_sweep(app *a) {
    uar_memory *memory = NULL;
    int code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uint64_t erased = 0;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_sweep_sync(&erased, memory, &err) != UAR_OK) {
        code = report_error(a, &err, "");
    } else if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "erased", node_whole(erased));
        output_json(line);
    } else {
        char text[64];
        snprintf(text, sizeof text, "%" PRIu64 " erased\n", erased);
        output_text(text);
    }
    uar_memory_free(memory);
    return code;
}
