/* uar memory stream append|read|window|summarise. */
#include "cmd_memory_stream.h"
#include "file.h"
#include "instant.h"
#include "json_out.h"
#include "output.h"
#include "pages.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW_TOKENS = 2000 };

static int check_text(const app *a, uar_str text) {
    size_t bad = text_fault(text.ptr, text.len);
    if (bad < text.len) return report(a, UAR_E_UTF8, NULL, "the text is not valid UTF-8 at byte %zu", bad + 1);
    return CODE_OK;
}

/* The text of the second operand; "-" is stdin without its last line feed. */
static int read_text(text_buffer *out, const app *a) {
    const char *text = a->args.operands[1];
    int code = CODE_OK;
    if (strcmp(text, "-") == 0)
        code = file_read(out, a, text, "the entry");
    else
        text_add_z(out, text);
    if (code == CODE_OK && out->len > 0 && out->data[out->len - 1] == '\n') out->len--;
    return code == CODE_OK ? check_text(a, text_str(out)) : code;
}

static int created_of(int64_t *out, const app *a) {
    const char *text = args_get(&a->args, "created");
    if (text == NULL || instant_parse(out, text)) return CODE_OK;
    return report_usage(a, "write 2026-01-31 or 2026-01-31T12:30:00Z", "--created is no date: '%s'", text);
}

static void print_appended(const stream_call *call, const uar_memory_stream_appended *done) {
    if (call->app->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "stream", node_uuid(call->stream));
        node_set(line, "number", node_whole(done->number));
        node_set(line, "repeated", cJSON_CreateBool(done->repeated));
        output_json(line);
        return;
    }
    char text[64];
    snprintf(text, sizeof text, "%" PRIu64 "%s\n", done->number, done->repeated ? "  (was there)" : "");
    output_text(text);
}

static int append(app *a, uar_str text) {
    uar_memory_stream_entry_draft draft;
    uar_memory_stream_entry_draft_init(&draft);
    draft.text = text;
    draft.role = uar_str_of(args_get(&a->args, "role"));
    draft.metadata = uar_str_of(args_get(&a->args, "metadata"));
    draft.unique_key = uar_str_of(args_get(&a->args, "key"));
    uint64_t expected = 0;
    stream_call call;
    int code = created_of(&draft.created_ms, a);
    if (code == CODE_OK) code = stream_number(&expected, a, "expect");
    if (code == CODE_OK) code = stream_call_begin(&call, a, &draft, expected);
    if (code != CODE_OK) return code;
    uar_memory_stream_appended done;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_stream_append_sync(&done, call.memory, &call.who, call.stream, &draft, expected, &err) == UAR_OK)
        print_appended(&call, &done);
    else
        code = stream_call_fault(&call, &err);
    stream_call_end(&call);
    return code;
}

int cmd_memory_stream_append(app *a) {
    text_buffer text = { 0 };
    int code = read_text(&text, a);
    if (code == CODE_OK) code = append(a, text.len != 0 ? text_str(&text) : uar_str_n("", 0));
    text_free(&text);
    return code;
}

static void add_entry(text_buffer *out, const uar_memory_stream_entry *e) {
    char text[96], when[INSTANT_TEXT];
    instant_show(when, e->created_ms);
    snprintf(text, sizeof text, "%" PRIu64 "  %s  ", e->number, when);
    text_add_z(out, text);
    text_add_visible(out, e->role, false);
    if (e->first != 0) {
        snprintf(text, sizeof text, " of %" PRIu64 "-%" PRIu64, e->first, e->last);
        text_add_z(out, text);
    }
    if (e->summarised_by != 0) {
        snprintf(text, sizeof text, " (in %" PRIu64 ")", e->summarised_by);
        text_add_z(out, text);
    }
    text_add_z(out, "  ");
    text_add_visible(out, e->text, false);
    text_add_z(out, "\n");
}

static void print_entry(const app *a, const uar_memory_stream_entry *e) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (a->json) {
        status = uar_memory_stream_entry_json(e, NULL, text_write_piece, &line);
        text_add_z(&line, "\n");
    } else {
        add_entry(&line, e);
    }
    if (status == UAR_OK)
        output_bytes(line.data, line.len);
    else
        notice(a, false, status, "%s", uar_status_text(status));
    text_free(&line);
}

static void say_next(const app *a, uint64_t next) {
    if (a->json)
        fprintf(stderr, "{\"next\":%" PRIu64 "}\n", next);
    else if (!a->quiet)
        fprintf(stderr, "uar: there is more: --from %" PRIu64 "\n", next);
}

int cmd_memory_stream_read(app *a) {
    uint64_t from = 0;
    uint64_t limit = 0;
    stream_call call;
    int code = stream_number(&from, a, "from");
    if (code == CODE_OK) code = pages_limit(&limit, a);
    if (code == CODE_OK) code = stream_call_begin(&call, a, NULL, 0);
    if (code != CODE_OK) return code;
    bool backwards = args_has(&a->args, "backwards");
    uint64_t left = limit > 0 ? limit : UINT64_MAX;
    do {
        uar_memory_stream_entries *entries = NULL;
        uar_error err = UAR_ERROR_INIT;
        size_t most = left < PAGE_MOST ? (size_t)left : PAGE_MOST;
        if (uar_memory_stream_read_sync(&entries, call.memory, &call.who, call.stream, from, backwards, most, &err) !=
            UAR_OK) {
            code = stream_call_fault(&call, &err);
            break;
        }
        for (size_t i = 0; i < entries->count; i++)
            print_entry(a, &entries->entries[i]);
        left -= entries->count;
        from = entries->next;
        uar_memory_stream_entries_free(entries);
    } while (left > 0 && from != 0 && output_fault() == 0);
    if (code == CODE_OK && from != 0 && output_fault() == 0) say_next(a, from);
    stream_call_end(&call);
    return code;
}

static void print_window(const app *a, const uar_memory_stream_window *w) {
    text_buffer out = { 0 };
    uar_status status = UAR_OK;
    if (a->json) {
        status = uar_memory_stream_window_json(w, NULL, text_write_piece, &out);
        text_add_z(&out, "\n");
    } else {
        for (size_t i = 0; i < w->count; i++)
            add_entry(&out, &w->entries[i]);
    }
    if (status != UAR_OK)
        notice(a, false, status, "%s", uar_status_text(status));
    else if (out.len > 0)
        output_bytes(out.data, out.len);
    if (!a->json && !a->quiet && w->left_out > 0)
        fprintf(stderr, "uar: %" PRIu64 " entries with %" PRIu64 " tokens were left out\n", w->left_out,
                w->left_out_tokens);
    text_free(&out);
}

int cmd_memory_stream_window(app *a) {
    uint64_t tokens = WINDOW_TOKENS;
    stream_call call;
    int code = stream_number(&tokens, a, "tokens");
    if (code == CODE_OK) code = stream_call_begin(&call, a, NULL, 0);
    if (code != CODE_OK) return code;
    uar_memory_stream_window *window = NULL;
    uar_error err = UAR_ERROR_INIT;
    uint32_t flags = args_has(&a->args, "archived") ? UAR_MEMORY_STREAM_WINDOW_ARCHIVED : 0;
    if (uar_memory_stream_window_sync(&window, call.memory, &call.who, call.stream, tokens, flags, &err) == UAR_OK)
        print_window(a, window);
    else
        code = stream_call_fault(&call, &err);
    uar_memory_stream_window_free(window);
    stream_call_end(&call);
    return code;
}

static void print_summary(const stream_call *call, const uar_memory_stream_summary *s) {
    if (call->app->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "stream", node_uuid(call->stream));
        node_set(line, "number", node_whole(s->number));
        node_set(line, "first", node_whole(s->first));
        node_set(line, "last", node_whole(s->last));
        node_set(line, "sources", node_whole(s->sources));
        node_set(line, "tokens", node_whole(s->tokens));
        node_set(line, "source_tokens", node_whole(s->source_tokens));
        node_set(line, "repeated", cJSON_CreateBool(s->repeated));
        output_json(line);
        return;
    }
    char text[192];
    if (s->repeated)
        snprintf(text, sizeof text, "%" PRIu64 "  of %" PRIu64 "-%" PRIu64 "  (was there)\n", s->number, s->first,
                 s->last);
    else
        snprintf(text, sizeof text, "%" PRIu64 "  of %" PRIu64 "-%" PRIu64 "  %" PRIu64 " tokens for %" PRIu64 "\n",
                 s->number, s->first, s->last, s->tokens, s->source_tokens);
    output_text(text);
}

static int summary_from_args(uar_memory_stream_summary_draft *out, const app *a) {
    uar_memory_stream_summary_draft_init(out);
    out->role = uar_str_of(args_get(&a->args, "role"));
    out->metadata = uar_str_of(args_get(&a->args, "metadata"));
    out->unique_key = uar_str_of(args_get(&a->args, "key"));
    if (a->args.operand_count > 1) {
        out->text = uar_str_of(a->args.operands[1]);
        out->trust = UAR_MEMORY_TRUST_USER;
        int code = check_text(a, out->text);
        if (code != CODE_OK) return code;
        if (args_has(&a->args, "max-tokens"))
            return report_usage(a, NULL, "--max-tokens is for a summary without TEXT");
    }
    int code = stream_number(&out->first, a, "first");
    if (code == CODE_OK) code = stream_number(&out->last, a, "last");
    if (code == CODE_OK) code = stream_number(&out->max_tokens, a, "max-tokens");
    if (code == CODE_OK) code = stream_number(&out->expected, a, "expect");
    return code;
}

int cmd_memory_stream_summarise(app *a) {
    uar_memory_stream_summary_draft draft;
    stream_call call;
    int code = summary_from_args(&draft, a);
    if (code == CODE_OK) code = stream_call_begin(&call, a, NULL, 0);
    if (code != CODE_OK) return code;
    uar_memory_stream_summary done;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_stream_summarise_sync(&done, call.memory, &call.who, call.stream, &draft, &err) == UAR_OK)
        print_summary(&call, &done);
    else
        code = stream_call_fault(&call, &err);
    stream_call_end(&call);
    return code;
}
