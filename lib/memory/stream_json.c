/* Owns: the JSON form of streams, entries and windows, written and read. Invariant: what is written is read back as it was. */
#include "memory/stream_json.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

/* A line carries a text and metadata, escaped at worst to six times their bytes. */
#define LINE_MAX_BYTES ((size_t)4 * 1024 * 1024)

static void put_time(json_writer *w, const char *key, int64_t ms) {
    char text[TIME_TEXT];
    time_format(text, ms);
    json_put_str(w, key, uar_str_of(text));
}

static void put_null(json_writer *w, const char *key) {
    json_key(w, key);
    json_null(w);
}

void stream_json_members(json_writer *w, const uar_memory_stream *s) {
    json_put_uuid(w, "id", s->id);
    json_put_str(w, "name", s->name);
    json_put_str(w, "scope", uar_str_of(uar_memory_scope_name(s->scope)));
    json_put_str(w, "owner", s->owner);
    json_put_str(w, "user", s->user);
    json_put_str(w, "agent", s->agent);
    json_put_str(w, "session", s->session);
    json_put_str(w, "task", s->task);
    json_put_raw(w, "metadata", s->metadata);
    put_time(w, "created", s->created_ms);
    put_time(w, "updated", s->updated_ms);
    if (s->archived_ms != 0)
        put_time(w, "archived", s->archived_ms);
    else
        put_null(w, "archived");
    json_put_uint(w, "last", s->last);
    json_put_uint(w, "summaries", s->summaries);
    json_put_uint(w, "tokens", s->tokens);
    json_put_uint(w, "live", s->live);
    json_put_uint(w, "live_tokens", s->live_tokens);
}

static void put_provenance(json_writer *w, const uar_memory_provenance *p) {
    json_key(w, "provenance");
    json_object_begin(w);
    json_put_uuid(w, "run", p->run);
    if (p->event != 0)
        json_put_uint(w, "event", p->event);
    else
        put_null(w, "event");
    json_put_str(w, "session", p->session);
    json_object_end(w);
}

void stream_entry_json_members(json_writer *w, const uar_memory_stream_entry *e) {
    json_put_uint(w, "number", e->number);
    json_put_str(w, "role", e->role);
    json_put_str(w, "text", e->text);
    json_put_raw(w, "metadata", e->metadata);
    json_put_str(w, "trust", uar_str_of(uar_memory_trust_name(e->trust)));
    put_time(w, "created", e->created_ms);
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
    if (e->summarised_by != 0)
        json_put_uint(w, "summarised_by", e->summarised_by);
    else
        put_null(w, "summarised_by");
    put_provenance(w, &e->provenance);
    json_put_str(w, "key", e->unique_key);
}

static void begin(buffer *out, json_writer *w, const uar_allocator *a) {
    buffer_init(out, a != NULL ? a : &alloc_default, SIZE_MAX / 4);
    json_writer_init(w, out);
    json_object_begin(w);
}

/* Hand what the buffer holds to the writer, and let go of it. */
static uar_status deliver(buffer *out, json_writer *w, uar_memory_write_fn write, void *ctx) {
    json_object_end(w);
    uar_status status = out->status;
    if (status == UAR_OK) status = write(ctx, buffer_str(out));
    buffer_dispose(out);
    return status;
}

uar_status uar_memory_stream_json(const uar_memory_stream *stream, const uar_allocator *allocator,
                                  uar_memory_write_fn write, void *ctx) {
    buffer out;
    json_writer w;
    begin(&out, &w, allocator);
    stream_json_members(&w, stream);
    return deliver(&out, &w, write, ctx);
}

uar_status uar_memory_stream_entry_json(const uar_memory_stream_entry *entry, const uar_allocator *allocator,
                                        uar_memory_write_fn write, void *ctx) {
    buffer out;
    json_writer w;
    begin(&out, &w, allocator);
    stream_entry_json_members(&w, entry);
    return deliver(&out, &w, write, ctx);
}

uar_status uar_memory_stream_window_json(const uar_memory_stream_window *window, const uar_allocator *allocator,
                                         uar_memory_write_fn write, void *ctx) {
    buffer out;
    json_writer w;
    begin(&out, &w, allocator);
    json_put_uint(&w, "tokens", window->tokens);
    json_put_uint(&w, "left_out", window->left_out);
    json_put_uint(&w, "left_out_tokens", window->left_out_tokens);
    json_key(&w, "gaps");
    json_array_begin(&w);
    for (size_t i = 0; i < window->gap_count; i++) {
        json_object_begin(&w);
        json_put_uint(&w, "first", window->gaps[i].first);
        json_put_uint(&w, "last", window->gaps[i].last);
        json_put_uint(&w, "entries", window->gaps[i].entries);
        json_put_uint(&w, "tokens", window->gaps[i].tokens);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_key(&w, "entries");
    json_array_begin(&w);
    for (size_t i = 0; i < window->count; i++) {
        json_object_begin(&w);
        stream_entry_json_members(&w, &window->entries[i]);
        json_object_end(&w);
    }
    json_array_end(&w);
    return deliver(&out, &w, write, ctx);
}

/* One line while it is read; the first fault sticks. */
typedef struct reader {
    const cJSON *root;
    arena *ar;
    uar_status status;
    uar_error *err;
} reader;

static void refuse(reader *r, const char *key) {
    if (r->status == UAR_OK)
        r->status = error_set(r->err, UAR_E_SCHEMA, "\"%s\" is not what a line of a stream has there", key);
}

static void no_memory(reader *r) {
    if (r->status == UAR_OK) r->status = error_plain(r->err, UAR_E_NOMEM);
}

/* NULL if the key is missing or null. */
static const cJSON *member(const cJSON *object, const char *key) {
    const cJSON *node = json_member(object, key);
    return cJSON_IsNull(node) ? NULL : node;
}

static uar_str text_of(reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(object, key);
    uar_str copy = { NULL, 0 };
    if (node == NULL) return copy;
    if (!cJSON_IsString(node)) {
        refuse(r, key);
        return copy;
    }
    copy = arena_str(r->ar, json_node_text(node));
    if (copy.ptr == NULL) no_memory(r);
    return copy;
}

static int64_t time_of(reader *r, const char *key) {
    uar_str text = text_of(r, r->root, key);
    int64_t ms = 0;
    if (text.ptr != NULL && time_parse(&ms, text) != UAR_OK) refuse(r, key);
    return text.ptr != NULL && ms == 0 ? 1 : ms; /* 0 would be no time */
}

static uint64_t number_of(reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(object, key);
    uint64_t value = 0;
    if (node != NULL && (!json_node_u64(node, &value) || value > INT64_MAX)) refuse(r, key);
    return value;
}

static uar_uuid uuid_of(reader *r, const cJSON *object, const char *key) {
    uar_str text = text_of(r, object, key);
    uar_uuid id = { { 0 } };
    if (text.ptr != NULL && uar_uuid_parse(&id, text) != UAR_OK) refuse(r, key);
    return id;
}

static uar_str metadata_of(reader *r) {
    const cJSON *node = member(r->root, "metadata");
    uar_str copy = { NULL, 0 };
    if (node == NULL) return copy;
    buffer text;
    buffer_init(&text, r->ar->alloc, SIZE_MAX / 4);
    json_append_node(&text, node);
    if (text.status == UAR_OK) copy = arena_str(r->ar, buffer_str(&text));
    if (copy.ptr == NULL) no_memory(r);
    buffer_dispose(&text);
    return copy;
}

/* An object, or NULL. */
static const cJSON *object_of(reader *r, const char *key) {
    const cJSON *node = member(r->root, key);
    if (node == NULL || cJSON_IsObject(node)) return node;
    refuse(r, key);
    return NULL;
}

static void read_stream(reader *r, stream_line *out) {
    uar_memory_stream_draft *d = &out->stream;
    uar_str scope = text_of(r, r->root, "scope");
    if (scope.ptr != NULL && uar_memory_scope_parse(&d->scope, scope) != UAR_OK) refuse(r, "scope");
    out->id = uuid_of(r, r->root, "id");
    d->name = text_of(r, r->root, "name");
    d->user = text_of(r, r->root, "user");
    d->agent = text_of(r, r->root, "agent");
    d->session = text_of(r, r->root, "session");
    d->task = text_of(r, r->root, "task");
    d->metadata = metadata_of(r);
    out->created_ms = time_of(r, "created");
    out->updated_ms = time_of(r, "updated");
    out->archived_ms = time_of(r, "archived");
    if (d->name.ptr == NULL) refuse(r, "name");
}

static void read_entry(reader *r, stream_line *out) {
    uar_memory_stream_entry_draft *d = &out->entry;
    uar_str trust = text_of(r, r->root, "trust");
    d->trust = UAR_MEMORY_TRUST_IMPORT;
    if (trust.ptr != NULL && uar_memory_trust_parse(&d->trust, trust) != UAR_OK) refuse(r, "trust");
    out->id = uuid_of(r, r->root, "stream");
    out->number = number_of(r, r->root, "number");
    d->role = text_of(r, r->root, "role");
    d->text = text_of(r, r->root, "text");
    d->metadata = metadata_of(r);
    d->created_ms = time_of(r, "created");
    d->unique_key = text_of(r, r->root, "key");
    const cJSON *from = object_of(r, "provenance");
    if (from != NULL) {
        d->provenance.run = uuid_of(r, from, "run");
        d->provenance.event = number_of(r, from, "event");
        d->provenance.session = text_of(r, from, "session");
    }
    const cJSON *range = object_of(r, "summary");
    if (range == NULL) return;
    out->first = number_of(r, range, "first");
    out->last = number_of(r, range, "last");
    if (out->first == 0 || out->last < out->first) refuse(r, "summary");
}

uar_status stream_line_read(stream_line *out, arena *ar, uar_str text, uar_error *err) {
    cJSON *root = NULL;
    uar_status status = json_read(&root, ar->alloc, text, LINE_MAX_BYTES, err);
    if (status != UAR_OK) return status;
    reader r = { root, ar, UAR_OK, err };
    memset(out, 0, sizeof *out);
    uar_memory_stream_draft_init(&out->stream);
    uar_memory_stream_entry_draft_init(&out->entry);
    if (!cJSON_IsObject(root)) r.status = error_set(err, UAR_E_SCHEMA, "the line is not a JSON object");
    const cJSON *version = member(root, "v");
    uint64_t v = 1;
    if (r.status == UAR_OK && version != NULL && (!json_node_u64(version, &v) || v != 1))
        r.status = error_set(err, UAR_E_NEWER, "the line is of a version that this library doesn't know");
    uar_str kind = text_of(&r, root, "kind");
    out->is_entry = str_is(kind, "entry");
    out->owner = text_of(&r, root, "owner");
    if (out->is_entry)
        read_entry(&r, out);
    else if (str_is(kind, "stream"))
        read_stream(&r, out);
    else
        refuse(&r, "kind");
    json_free(ar->alloc, root);
    return r.status;
}
