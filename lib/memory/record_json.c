/* Owns: the JSON form of records, answers, changes and counts. */
#include "memory/record_json.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

static void put_time(json_writer *w, const char *key, int64_t ms, int64_t none) {
    char text[TIME_TEXT];
    json_key(w, key);
    if (ms == none) {
        json_null(w);
        return;
    }
    time_format(text, ms);
    json_str(w, uar_str_of(text));
}

static void put_double(json_writer *w, const char *key, double value) {
    json_key(w, key);
    json_double(w, value);
}

static void put_fact(json_writer *w, const uar_memory_record *r) {
    json_key(w, "fact");
    if (r->subject.ptr == NULL) {
        json_null(w);
        return;
    }
    json_object_begin(w);
    json_put_str(w, "subject", r->subject);
    json_put_str(w, "attribute", r->attribute);
    json_object_end(w);
}

static void put_provenance(json_writer *w, const uar_memory_provenance *p) {
    json_key(w, "provenance");
    json_object_begin(w);
    json_put_uuid(w, "run", p->run);
    json_key(w, "event");
    if (p->event != 0)
        json_uint(w, p->event);
    else
        json_null(w);
    json_put_str(w, "session", p->session);
    json_object_end(w);
}

void record_json_members(json_writer *w, const uar_memory_record *r) {
    json_put_uuid(w, "id", r->id);
    json_put_str(w, "content", r->content);
    json_put_str(w, "scope", uar_str_of(uar_memory_scope_name(r->scope)));
    json_put_str(w, "type", uar_str_of(uar_memory_type_name(r->type)));
    json_put_str(w, "owner", r->owner);
    json_put_str(w, "user", r->user);
    json_put_str(w, "agent", r->agent);
    json_put_str(w, "session", r->session);
    json_put_str(w, "task", r->task);
    json_key(w, "categories");
    json_array_begin(w);
    for (size_t i = 0; i < r->category_count; i++)
        json_str(w, r->categories[i]);
    json_array_end(w);
    json_put_raw(w, "metadata", r->metadata);
    put_double(w, "importance", r->importance);
    json_put_str(w, "trust", uar_str_of(uar_memory_trust_name(r->trust)));
    put_fact(w, r);
    put_time(w, "created", r->created_ms, INT64_MIN);
    put_time(w, "updated", r->updated_ms, INT64_MIN);
    put_time(w, "valid_from", r->valid_from_ms, INT64_MIN);
    put_time(w, "valid_until", r->valid_until_ms, UAR_MEMORY_OPEN_END);
    json_put_uint(w, "revision", r->revision);
    json_put_bool(w, "current", r->current);
    json_put_uuid(w, "superseded_by", r->superseded_by);
    put_time(w, "expires", (int64_t)r->expires_s * 1000, 0);
    put_provenance(w, &r->provenance);
    json_put_uint(w, "recall_count", r->recall_count);
    put_time(w, "last_recalled", r->recalled_ms, 0);
    json_put_uint(w, "reinforced", r->reinforced);
    json_put_str(w, "embedder", r->embedder);
}

/* Hand what the buffer holds to the writer, and let go of it. */
static uar_status deliver(buffer *out, uar_memory_write_fn write, void *ctx) {
    uar_status status = out->status;
    if (status == UAR_OK) status = write(ctx, buffer_str(out));
    buffer_dispose(out);
    return status;
}

static void begin(buffer *out, json_writer *w, const uar_allocator *a) {
    buffer_init(out, a != NULL ? a : &alloc_default, SIZE_MAX / 4);
    json_writer_init(w, out);
    json_object_begin(w);
}

uar_status uar_memory_record_json(const uar_memory_record *record, const uar_allocator *allocator,
                                  uar_memory_write_fn write, void *ctx) {
    buffer out;
    json_writer w;
    begin(&out, &w, allocator);
    record_json_members(&w, record);
    json_object_end(&w);
    return deliver(&out, write, ctx);
}

uar_status uar_memory_hits_json(const uar_memory_hits *hits, const uar_allocator *allocator, uar_memory_write_fn write,
                                void *ctx) {
    buffer out;
    json_writer w;
    begin(&out, &w, allocator);
    json_put_str(&w, "query", hits->query);
    json_put_str(&w, "mode", uar_str_of(hits->mode));
    json_key(&w, "hits");
    json_array_begin(&w);
    for (size_t i = 0; i < hits->count; i++) {
        const uar_memory_hit *hit = &hits->hits[i];
        json_object_begin(&w);
        record_json_members(&w, &hit->record);
        put_double(&w, "score", hit->score);
        json_key(&w, "why");
        json_object_begin(&w);
        put_double(&w, "lexical", hit->lexical);
        put_double(&w, "vector", hit->vector);
        put_double(&w, "recency", hit->recency);
        put_double(&w, "around", hit->around);
        put_double(&w, "time", hit->time);
        put_double(&w, "relevance", hit->relevance);
        json_object_end(&w);
        json_object_end(&w);
    }
    json_array_end(&w);
    json_object_end(&w);
    return deliver(&out, write, ctx);
}

uar_status uar_memory_change_json(const uar_memory_change *change, const uar_allocator *allocator,
                                  uar_memory_write_fn write, void *ctx) {
    buffer out;
    json_writer w;
    begin(&out, &w, allocator);
    json_put_uuid(&w, "id", change->id);
    json_put_str(&w, "outcome", uar_str_of(uar_memory_outcome_name(change->outcome)));
    json_put_uuid(&w, "supersedes", change->supersedes);
    json_put_uint(&w, "revision", change->revision);
    json_object_end(&w);
    return deliver(&out, write, ctx);
}

uar_status uar_memory_stats_json(const uar_memory_stats *stats, const char *embedder, const uar_allocator *allocator,
                                 uar_memory_write_fn write, void *ctx) {
    buffer out;
    json_writer w;
    begin(&out, &w, allocator);
    json_put_uint(&w, "total", stats->total);
    json_key(&w, "by_scope");
    json_object_begin(&w);
    for (int scope = UAR_MEMORY_SCOPE_GLOBAL; scope <= UAR_MEMORY_SCOPE_TASK; scope++)
        json_put_uint(&w, uar_memory_scope_name((uar_memory_scope)scope), stats->by_scope[scope]);
    json_object_end(&w);
    json_put_str(&w, "state", uar_str_of(uar_memory_status_name(stats->state)));
    json_put_str(&w, "embedder", uar_str_of(embedder));
    json_put_uint(&w, "pending", stats->pending);
    json_object_end(&w);
    return deliver(&out, write, ctx);
}
