/* uar memory stream list|archive|unarchive|delete|stats, and what the other commands share: see cmd_memory_stream.h. */
#include "cmd_memory_stream.h"

#include "instant.h"
#include "json_out.h"
#include "memory_args.h"
#include "output.h"
#include "pages.h"
#include "stores.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

int stream_number(uint64_t *out, const app *a, const char *name) {
    const char *text = args_get(&a->args, name);
    if (text == NULL || (parse_number(out, text, INT64_MAX) && *out > 0)) return CODE_OK;
    return report_usage(a, NULL, "--%s takes a whole number from 1, not '%s'", name, text);
}

static int scope_of(uar_memory_scope *out, const app *a, const char *name) {
    if (uar_memory_scope_parse(out, uar_str_of(name)) == UAR_OK) return CODE_OK;
    return report_usage(a, "scopes are global, agent, user, session, task", "there is no scope '%s'", name);
}

int stream_filter_from_args(uar_memory_stream_filter *out, const app *a) {
    uar_memory_stream_filter_init(out);
    if (args_has(&a->args, "archived")) out->archived = UAR_MEMORY_STREAM_ARCHIVED;
    if (args_has(&a->args, "all")) out->archived = UAR_MEMORY_STREAM_ANY;
    int code = CODE_OK;
    const char *name = NULL;
    for (size_t n = 0; code == CODE_OK && (name = args_nth(&a->args, "scope", n)) != NULL; n++) {
        uar_memory_scope scope;
        code = scope_of(&scope, a, name);
        if (code == CODE_OK) out->scopes |= 1u << scope;
    }
    /* An operator narrows by what it names; for others the identity says it all. */
    if (args_has(&a->args, "all-users")) {
        out->agent = uar_str_of(args_get(&a->args, "agent"));
        out->session = uar_str_of(args_get(&a->args, "session"));
        out->task = uar_str_of(args_get(&a->args, "task"));
    }
    return code;
}

/* By its id or its name. */
static uar_status find_stream(uar_memory_streams **out, const stream_call *call, uar_memory_scope scope, bool create,
                              uar_error *err) {
    const char *name = call->app->args.operands[0];
    uar_uuid id;
    if (uar_uuid_parse(&id, uar_str_of(name)) == UAR_OK)
        return uar_memory_stream_get_sync(out, call->memory, &call->who, id, err);
    uar_memory_stream_draft draft;
    uar_memory_stream_draft_init(&draft);
    draft.name = uar_str_of(name);
    draft.scope = scope;
    draft.must_exist = !create;
    return uar_memory_stream_open_sync(out, call->memory, &call->who, &draft, err);
}

int stream_call_fault(const stream_call *call, const uar_error *err) {
    const app *a = call->app;
    if (err->code == UAR_E_NOT_FOUND)
        return report(a, UAR_E_NOT_FOUND, "see 'uar memory stream list --all'", "user '%s' sees no stream '%s'",
                      a->user, a->args.operands[0]);
    return report_error(a, err, "");
}

/* What is wrong with the first entry of a stream that isn't there yet, else UAR_E_NOT_FOUND: a refused entry shall not leave an
 * empty stream behind. */
static uar_status check_new(const uar_memory_stream_entry_draft *entry, uint64_t expected, const stream_call *call,
                            uar_error *err) {
    if (expected > 1) {
        *err = (uar_error){ .code = UAR_E_CONFLICT };
        snprintf(err->message, sizeof err->message, "there is no such stream: its first entry is 1, not %" PRIu64,
                 expected);
        return UAR_E_CONFLICT;
    }
    uar_memory_stream_appended none;
    return uar_memory_stream_append_sync(&none, call->memory, &call->who, (uar_uuid){ { 0 } }, entry, 0, err);
}

int stream_call_begin(stream_call *call, const app *a, const uar_memory_stream_entry_draft *new_entry,
                      uint64_t expected) {
    const char *scope_name = args_get(&a->args, "scope");
    uar_memory_scope scope = (uar_memory_scope)0;
    int code = scope_name != NULL ? scope_of(&scope, a, scope_name) : CODE_OK;
    *call = (stream_call){ .app = a, .who = identity_of(a) };
    if (code == CODE_OK) code = stores_memory_open(&call->memory, a);
    if (code != CODE_OK) return code;
    uar_memory_streams *streams = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = find_stream(&streams, call, scope, false, &err);
    if (status == UAR_E_NOT_FOUND && new_entry != NULL) status = check_new(new_entry, expected, call, &err);
    if (status == UAR_E_NOT_FOUND && new_entry != NULL) status = find_stream(&streams, call, scope, true, &err);
    if (status == UAR_OK)
        call->stream = streams->streams[0].id;
    else
        code = stream_call_fault(call, &err);
    uar_memory_streams_free(streams);
    if (code != CODE_OK) stream_call_end(call);
    return code;
}

void stream_call_end(stream_call *call) {
    uar_memory_free(call->memory);
    call->memory = NULL;
}

static void print_stream(const app *a, const uar_memory_stream *s) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (a->json) {
        status = uar_memory_stream_json(s, NULL, text_write_piece, &line);
    } else {
        char text[128], when[INSTANT_TEXT], id[UAR_UUID_TEXT];
        uar_uuid_format(id, s->id);
        instant_show(when, s->updated_ms);
        snprintf(text, sizeof text, "%s  %s  %-7s  %" PRIu64 " entries%s  ", id, when, uar_memory_scope_name(s->scope),
                 s->last, s->archived_ms != 0 ? " (archived)" : "");
        text_add_z(&line, text);
        text_add_visible(&line, s->name, false);
    }
    text_add_z(&line, "\n");
    if (status == UAR_OK)
        output_bytes(line.data, line.len);
    else
        notice(a, false, status, "%s", uar_status_text(status));
    text_free(&line);
}

/* Print up to *left streams behind *cursor, which moves on and is empty behind the last. */
static int print_streams(text_buffer *cursor, uint64_t *left, const stream_call *call,
                         const uar_memory_stream_filter *filter) {
    uar_memory_streams *streams = NULL;
    uar_error err = UAR_ERROR_INIT;
    size_t limit = *left < PAGE_MOST ? (size_t)*left : PAGE_MOST;
    if (uar_memory_stream_list_sync(&streams, call->memory, &call->who, filter, text_str(cursor), limit, &err) !=
        UAR_OK)
        return report_error(call->app, &err, "");
    for (size_t i = 0; i < streams->count; i++)
        print_stream(call->app, &streams->streams[i]);
    *left -= streams->count;
    text_buffer next = { 0 };
    if (streams->cursor.ptr != NULL) text_add(&next, streams->cursor.ptr, streams->cursor.len);
    uar_memory_streams_free(streams);
    text_free(cursor);
    *cursor = next;
    return CODE_OK;
}

int cmd_memory_stream_list(app *a) {
    uar_memory_stream_filter filter;
    uint64_t limit = 0;
    text_buffer cursor = { 0 };
    stream_call call = { .app = a, .who = identity_of(a) };
    int code = stream_filter_from_args(&filter, a);
    if (code == CODE_OK) code = pages_limit(&limit, a);
    if (code == CODE_OK) code = pages_after(&cursor, a);
    if (code == CODE_OK) code = stores_memory_open(&call.memory, a);
    if (code != CODE_OK) {
        text_free(&cursor);
        return code;
    }
    uint64_t left = limit > 0 ? limit : UINT64_MAX;
    do {
        code = print_streams(&cursor, &left, &call, &filter);
    } while (code == CODE_OK && left > 0 && cursor.len > 0 && output_fault() == 0);
    if (code == CODE_OK && cursor.len > 0 && output_fault() == 0) pages_more(a, text_str(&cursor));
    text_free(&cursor);
    stream_call_end(&call);
    return code;
}

static int set_archived(app *a, bool archived) {
    stream_call call;
    int code = stream_call_begin(&call, a, NULL, 0);
    if (code != CODE_OK) return code;
    uar_memory_streams *streams = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_archive_sync(call.memory, &call.who, call.stream, archived, &err);
    if (status == UAR_OK) status = uar_memory_stream_get_sync(&streams, call.memory, &call.who, call.stream, &err);
    if (status == UAR_OK)
        print_stream(a, &streams->streams[0]);
    else
        code = stream_call_fault(&call, &err);
    uar_memory_streams_free(streams);
    stream_call_end(&call);
    return code;
}

int cmd_memory_stream_archive(app *a) {
    return set_archived(a, true);
}

int cmd_memory_stream_unarchive(app *a) {
    return set_archived(a, false);
}

int cmd_memory_stream_delete(app *a) {
    stream_call call;
    int code = stream_call_begin(&call, a, NULL, 0);
    if (code != CODE_OK) return code;
    uar_memory_outcome outcome;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_stream_delete_sync(&outcome, call.memory, &call.who, call.stream, &err) != UAR_OK) {
        code = stream_call_fault(&call, &err);
    } else if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "id", node_uuid(call.stream));
        node_set(line, "outcome", node_z(uar_memory_outcome_name(outcome)));
        output_json(line);
    } else {
        char id[UAR_UUID_TEXT], text[128];
        uar_uuid_format(id, call.stream);
        snprintf(text, sizeof text, "%s  %s\n", id, uar_memory_outcome_name(outcome));
        output_text(text);
    }
    stream_call_end(&call);
    return code;
}

static void print_stream_stats(const app *a, const uar_memory_stream_stats *s) {
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "streams", node_whole(s->streams));
        node_set(line, "archived", node_whole(s->archived));
        node_set(line, "entries", node_whole(s->entries));
        node_set(line, "summaries", node_whole(s->summaries));
        node_set(line, "tokens", node_whole(s->tokens));
        node_set(line, "live_tokens", node_whole(s->live_tokens));
        node_set(line, "pending", node_whole(s->pending));
        output_json(line);
        return;
    }
    char text[256];
    snprintf(text, sizeof text,
             "%" PRIu64 " streams (%" PRIu64 " archived), %" PRIu64 " entries (%" PRIu64 " summaries), %" PRIu64
             " tokens, %" PRIu64 " without what is summarised\n",
             s->streams, s->archived, s->entries, s->summaries, s->tokens, s->live_tokens);
    output_text(text);
}

int cmd_memory_stream_stats(app *a) {
    uar_memory_stream_filter filter;
    uar_memory *memory = NULL;
    int code = stream_filter_from_args(&filter, a);
    if (code == CODE_OK) code = stores_memory_open(&memory, a);
    if (code != CODE_OK) return code;
    uar_identity who = identity_of(a);
    uar_memory_stream_stats stats;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_stream_stats_sync(&stats, memory, &who, &filter, &err) == UAR_OK)
        print_stream_stats(a, &stats);
    else
        code = report_error(a, &err, "");
    uar_memory_free(memory);
    return code;
}
