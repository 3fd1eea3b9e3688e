/* Owns: the JSON form of streams, entries and windows, written and read. Invariant: what is written is read back as it was. */
#include "memory/stream_json.h"

#include "base/str.h"
#include "memory/json_answer.h"
#include "memory/line.h"

/* A line carries a text and metadata, escaped at worst to six times their bytes. */
#define LINE_BYTES_MAX ((size_t)4 * 1024 * 1024)

void stream_json_members(json_writer *w, const uar_memory_stream *s) {
    const uar_memory_place where = { s->scope, s->owner, s->user, s->agent, s->session, s->task };
    json_put_uuid(w, "id", s->id);
    json_put_str(w, "name", s->name);
    json_put_place(w, &where);
    json_put_raw(w, "metadata", s->metadata);
    json_put_time(w, "created", s->created_ms, INT64_MIN);
    json_put_time(w, "updated", s->updated_ms, INT64_MIN);
    json_put_time(w, "archived", s->archived_ms, 0);
    json_put_uint(w, "last", s->last);
    json_put_uint(w, "summaries", s->summaries);
    json_put_uint(w, "tokens", s->tokens);
    json_put_uint(w, "live", s->live);
    json_put_uint(w, "live_tokens", s->live_tokens);
}

void stream_entry_json_members(json_writer *w, const uar_memory_stream_entry *e) {
    json_put_uint(w, "number", e->number);
    json_put_str(w, "role", e->role);
    json_put_str(w, "text", e->text);
    json_put_raw(w, "metadata", e->metadata);
    json_put_trust(w, e->trust);
    json_put_time(w, "created", e->created_ms, INT64_MIN);
    json_put_uint(w, "tokens", e->tokens);
    json_key(w, "summary");
    if (e->first != 0) {
        json_object_begin(w);
        json_put_uint(w, "first", e->first);
        json_put_uint(w, "last", e->last);
        json_object_end(w);
    } else {
        json_null(w);
    }
    json_put_uint_or_null(w, "summarised_by", e->summarised_by);
    json_put_provenance(w, &e->provenance);
    json_put_str(w, "key", e->unique_key);
}

uar_status uar_memory_stream_json(const uar_memory_stream *stream, const uar_allocator *allocator,
                                  uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    stream_json_members(w, stream);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_stream_entry_json(const uar_memory_stream_entry *entry, const uar_allocator *allocator,
                                        uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    stream_entry_json_members(w, entry);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_stream_window_json(const uar_memory_stream_window *window, const uar_allocator *allocator,
                                         uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_put_uint(w, "tokens", window->tokens);
    json_put_uint(w, "left_out", window->left_out);
    json_put_uint(w, "left_out_tokens", window->left_out_tokens);
    json_key(w, "gaps");
    json_array_begin(w);
    for (size_t i = 0; i < window->gap_count; i++) {
        json_object_begin(w);
        json_put_uint(w, "first", window->gaps[i].first);
        json_put_uint(w, "last", window->gaps[i].last);
        json_put_uint(w, "entries", window->gaps[i].entries);
        json_put_uint(w, "tokens", window->gaps[i].tokens);
        json_object_end(w);
    }
    json_array_end(w);
    json_key(w, "entries");
    json_array_begin(w);
    for (size_t i = 0; i < window->count; i++) {
        json_object_begin(w);
        stream_entry_json_members(w, &window->entries[i]);
        json_object_end(w);
    }
    json_array_end(w);
    return json_answer_end(&answer, write, ctx);
}

static void read_stream(line_reader *r, stream_line *out) {
    uar_memory_stream_draft *d = &out->stream;
    out->id = line_uuid(r, NULL, "id");
    d->name = line_text(r, NULL, "name");
    d->scope = line_scope(r, d->scope);
    d->user = line_text(r, NULL, "user");
    d->agent = line_text(r, NULL, "agent");
    d->session = line_text(r, NULL, "session");
    d->task = line_text(r, NULL, "task");
    d->metadata = line_json(r, "metadata");
    out->created_ms = line_time(r, "created", 0);
    out->updated_ms = line_time(r, "updated", 0);
    out->archived_ms = line_time(r, "archived", 0);
    if (d->name.ptr == NULL) line_refuse(r, "name");
}

static void read_entry(line_reader *r, stream_line *out) {
    uar_memory_stream_entry_draft *d = &out->entry;
    out->id = line_uuid(r, NULL, "stream");
    out->number = line_number(r, NULL, "number");
    d->role = line_text(r, NULL, "role");
    d->text = line_text(r, NULL, "text");
    d->metadata = line_json(r, "metadata");
    d->trust = line_trust(r);
    d->created_ms = line_time(r, "created", 0);
    d->unique_key = line_text(r, NULL, "key");
    d->provenance = line_provenance(r);
    const cJSON *range = line_object(r, "summary");
    if (range == NULL) return;
    out->first = line_number(r, range, "first");
    out->last = line_number(r, range, "last");
    if (out->first == 0 || out->last < out->first) line_refuse(r, "summary");
}

uar_status stream_line_read(stream_line *out, arena *ar, uar_str text, uar_error *err) {
    line_reader r;
    uar_status status = line_begin(&r, ar, text, LINE_BYTES_MAX, "a stream", err);
    if (status != UAR_OK) return status;
    memset(out, 0, sizeof *out);
    uar_memory_stream_draft_init(&out->stream);
    uar_memory_stream_entry_draft_init(&out->entry);
    uar_str kind = line_text(&r, NULL, "kind");
    out->is_entry = str_is(kind, "entry");
    out->owner = line_text(&r, NULL, "owner");
    if (out->is_entry)
        read_entry(&r, out);
    else if (str_is(kind, "stream"))
        read_stream(&r, out);
    else
        line_refuse(&r, "kind");
    return line_end(&r);
}
