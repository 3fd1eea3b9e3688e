/* uar memory add|get|list|update|delete|history|stats|reindex: the store opened by the operator's own act, whatever the settings. */
#include "commands.h"
#include "json_out.h"
#include "memory_args.h"
#include "memory_out.h"
#include "output.h"
#include "pages.h"
#include "progress.h"
#include "stores.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

/* Report a failure of a call about one record. */
static int record_fault(const app *a, const uar_error *err, const char *id) {
    if (err->code == UAR_E_NOT_FOUND)
        return report(a, UAR_E_NOT_FOUND, "see 'uar memory list'", "user '%s' sees no record '%s'", a->user, id);
    return report_error(a, err, "");
}

static int check_content(const app *a, const char *text) {
    size_t len = strlen(text);
    size_t bad = text_fault(text, len);
    if (bad < len) return report(a, UAR_E_UTF8, NULL, "the text is not valid UTF-8 at byte %zu", bad + 1);
    return CODE_OK;
}

int cmd_memory_add(app *a) {
    uar_memory_draft draft;
    uar_str labels[CATEGORIES_MOST];
    const char *text = a->args.operands[0];
    int code = check_content(a, text);
    if (code == CODE_OK) code = draft_from_args(&draft, labels, a, text);
    if (code != CODE_OK) return code;
    uar_memory *memory = NULL;
    code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_add_sync(&change, memory, &who, &draft, &err) == UAR_OK) {
        print_change(a, &change);
    } else {
        code = report_error(a, &err, "");
    }
    uar_memory_free(memory);
    return code;
}

/* `get` and `history` differ in one call only. */
typedef uar_status (*records_fn)(uar_memory_records **out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                 uar_error *err);

static int print_of_id(app *a, records_fn ask) {
    uar_uuid id;
    int code = record_id(&id, a, a->args.operands[0]);
    uar_memory *memory = NULL;
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_memory_records *records = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (ask(&records, memory, &who, id, &err) == UAR_OK) {
        for (size_t i = 0; i < records->count; i++)
            print_record(a, &records->records[i]);
    } else {
        code = record_fault(a, &err, a->args.operands[0]);
    }
    uar_memory_records_free(records);
    uar_memory_free(memory);
    return code;
}

int cmd_memory_get(app *a) {
    return print_of_id(a, uar_memory_get_sync);
}

int cmd_memory_history(app *a) {
    return print_of_id(a, uar_memory_history_sync);
}

/* Print up to *left records behind *cursor, which moves on and is empty behind the last. */
static int print_records(text_buffer *cursor, uint64_t *left, const app *a, uar_memory *memory,
                         const uar_memory_filter *filter) {
    uar_identity who = identity_of(a);
    uar_memory_records *records = NULL;
    uar_error err = UAR_ERROR_INIT;
    size_t limit = *left < PAGE_MOST ? (size_t)*left : PAGE_MOST;
    if (uar_memory_list_sync(&records, memory, &who, filter, text_str(cursor), limit, &err) != UAR_OK)
        return report_error(a, &err, "");
    for (size_t i = 0; i < records->count; i++)
        print_record(a, &records->records[i]);
    *left -= records->count;
    text_buffer next = { 0 };
    if (records->cursor.ptr != NULL) text_add(&next, records->cursor.ptr, records->cursor.len);
    uar_memory_records_free(records);
    text_free(cursor);
    *cursor = next;
    return CODE_OK;
}

int cmd_memory_list(app *a) {
    uar_memory_filter filter;
    uint64_t limit = 0;
    uar_memory *memory = NULL;
    int code = filter_from_args(&filter, NULL, a);
    text_buffer cursor = { 0 };
    if (code == CODE_OK) code = pages_limit(&limit, a);
    if (code == CODE_OK) code = pages_after(&cursor, a);
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) {
        text_free(&cursor);
        return code;
    }
    uint64_t left = limit > 0 ? limit : UINT64_MAX;
    do {
        code = print_records(&cursor, &left, a, memory, &filter);
    } while (code == CODE_OK && left > 0 && cursor.len > 0 && output_fault() == 0);
    if (code == CODE_OK && cursor.len > 0 && output_fault() == 0) pages_more(a, text_str(&cursor));
    text_free(&cursor);
    uar_memory_free(memory);
    return code;
}

int cmd_memory_update(app *a) {
    uar_uuid id;
    uar_memory_patch patch;
    uar_str labels[CATEGORIES_MOST];
    uar_memory *memory = NULL;
    const char *text = a->args.operand_count > 1 ? a->args.operands[1] : NULL;
    int code = record_id(&id, a, a->args.operands[0]);
    if (code == CODE_OK && text != NULL) code = check_content(a, text);
    if (code == CODE_OK) code = patch_from_args(&patch, labels, a, text);
    if (code == CODE_OK && text == NULL && patch.type == 0 && !patch.set_categories && patch.metadata.ptr == NULL &&
        patch.importance < 0 && patch.expires_ms == 0)
        return report_usage(a, "give a new text, or --type, --category, --metadata, --importance, --ttl, --expires",
                            "nothing to change");
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_update_sync(&change, memory, &who, id, &patch, &err) == UAR_OK) {
        print_change(a, &change);
    } else {
        code = record_fault(a, &err, a->args.operands[0]);
    }
    uar_memory_free(memory);
    return code;
}

static int delete_one(const app *a, uar_memory *memory, uar_uuid id) {
    uar_identity who = identity_of(a);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_delete_sync(&change, memory, &who, id, &err) != UAR_OK)
        return record_fault(a, &err, a->args.operands[0]);
    print_change(a, &change);
    return CODE_OK;
}

static int delete_matching(const app *a, uar_memory *memory, const uar_memory_filter *filter) {
    uar_identity who = identity_of(a);
    uar_memory_erasure erasure;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_delete_where_sync(&erasure, memory, &who, filter, &err) != UAR_OK) return report_error(a, &err, "");
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "erased", node_whole(erasure.erased));
        node_set(line, "pending", node_whole(erasure.pending));
        node_set(line, "forbidden", node_whole(erasure.forbidden));
        output_json(line);
    } else {
        char text[96];
        snprintf(text, sizeof text, "%" PRIu64 " erased, %" PRIu64 " pending\n", erasure.erased, erasure.pending);
        output_text(text);
    }
    if (erasure.forbidden > 0)
        notice(a, false, UAR_E_FORBIDDEN, "%" PRIu64 " shared records stay: they need --allow-shared-memory",
               erasure.forbidden);
    return CODE_OK;
}

int cmd_memory_delete(app *a) {
    uar_uuid id;
    uar_memory_filter filter;
    bool filtered = false;
    bool one = a->args.operand_count == 1;
    uar_memory *memory = NULL;
    int code = filter_from_args(&filter, &filtered, a);
    if (code == CODE_OK && one && filtered)
        return report_usage(a, NULL, "give the id of a record or filters, not both");
    if (code == CODE_OK && !one && !filtered)
        return report(a, UAR_E_FILTER_REQUIRED, "give the id of a record, or --scope, --category, --before …",
                      "a bulk delete needs an explicit filter");
    if (code == CODE_OK && !one && !args_has(&a->args, "yes"))
        return report_usage(a, "repeat it with --yes", "this erases all records that match");
    if (code == CODE_OK && one) code = record_id(&id, a, a->args.operands[0]);
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    code = one ? delete_one(a, memory, id) : delete_matching(a, memory, &filter);
    uar_memory_free(memory);
    return code;
}

int cmd_memory_stats(app *a) {
    uar_memory_filter filter;
    uar_memory *memory = NULL;
    int code = filter_from_args(&filter, NULL, a);
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_memory_stats stats;
    uar_error err = UAR_ERROR_INIT;
    uar_memory_embedding embedding;
    uar_memory_embedding_init(&embedding);
    uar_status status = uar_memory_stats_sync(&stats, memory, &who, &filter, &err);
    if (status == UAR_OK) status = uar_memory_embedding_sync(&embedding, memory, &err);
    if (status == UAR_OK) {
        print_stats(a, &stats, &embedding);
    } else {
        code = report_error(a, &err, "");
    }
    uar_memory_free(memory);
    return code;
}

static uar_status show_step(void *ctx, uint64_t done, uint64_t total) {
    progress_step(ctx, done, total);
    return UAR_OK;
}

/* The word index, then the vectors that are missing. */
static uar_status reindex(const app *a, uar_memory *memory, uar_error *err) {
    progress *p = progress_start(a, "reindexing");
    uar_status status = uar_memory_reindex_sync(memory, err);
    progress_stop(p);
    if (status != UAR_OK) return status;
    p = progress_start(a, "embedding");
    status = uar_memory_reembed_sync(memory, show_step, p, err);
    progress_stop(p);
    return status;
}

static void print_reindexed(const app *a, uar_memory *memory, const uar_memory_embedding *embedding) {
    if (!a->json) {
        output_text("the index is built anew\n");
        return;
    }
    cJSON *line = cJSON_CreateObject();
    node_set(line, "reindexed", cJSON_CreateBool(true));
    node_set(line, "state", node_z(uar_memory_status_name(uar_memory_state(memory, NULL))));
    node_set(line, "embedder", node_z(embedding->model));
    node_set(line, "embedded", node_whole(embedding->embedded));
    node_set(line, "unembedded", node_whole(embedding->unembedded));
    output_json(line);
}

int cmd_memory_reindex(app *a) {
    uar_memory *memory = NULL;
    int code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    uar_memory_embedding embedding;
    uar_memory_embedding_init(&embedding);
    uar_status status = reindex(a, memory, &err);
    if (status == UAR_OK) status = uar_memory_embedding_sync(&embedding, memory, &err);
    if (status == UAR_OK)
        print_reindexed(a, memory, &embedding);
    else
        code = report_error(a, &err, "");
    uar_memory_free(memory);
    return code;
}
