/* Owns: the JSON form of records, answers, changes and counts. */
#include "memory/record_json.h"

#include "base/str.h"
#include "memory/json_answer.h"

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

void record_json_members(json_writer *w, const uar_memory_record *r) {
    const uar_memory_place where = { r->scope, r->owner, r->user, r->agent, r->session, r->task };
    json_put_uuid(w, "id", r->id);
    json_put_str(w, "content", r->content);
    json_put_str(w, "type", uar_str_of(uar_memory_type_name(r->type)));
    json_put_place(w, &where);
    json_put_texts(w, "categories", r->categories, r->category_count);
    json_put_raw(w, "metadata", r->metadata);
    json_put_double(w, "importance", r->importance);
    json_put_trust(w, r->trust);
    put_fact(w, r);
    json_put_time(w, "created", r->created_ms, INT64_MIN);
    json_put_time(w, "updated", r->updated_ms, INT64_MIN);
    json_put_time(w, "valid_from", r->valid_from_ms, INT64_MIN);
    json_put_time(w, "valid_until", r->valid_until_ms, UAR_MEMORY_OPEN_END);
    json_put_uint(w, "revision", r->revision);
    json_put_bool(w, "current", r->current);
    json_put_uuid(w, "superseded_by", r->superseded_by);
    json_put_time(w, "expires", r->expires_ms, 0);
    json_put_provenance(w, &r->provenance);
    json_put_uint(w, "recall_count", r->recall_count);
    json_put_time(w, "last_recalled", r->recalled_ms, 0);
    json_put_uint(w, "reinforced", r->reinforced);
    json_put_str(w, "embedder", r->embedder);
}

uar_status uar_memory_record_json(const uar_memory_record *record, const uar_allocator *allocator,
                                  uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    record_json_members(w, record);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_hits_json(const uar_memory_hits *hits, const uar_allocator *allocator, uar_memory_write_fn write,
                                void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_put_str(w, "query", hits->query);
    json_put_str(w, "mode", uar_str_of(hits->mode));
    json_key(w, "hits");
    json_array_begin(w);
    for (size_t i = 0; i < hits->count; i++) {
        const uar_memory_hit *hit = &hits->hits[i];
        json_object_begin(w);
        record_json_members(w, &hit->record);
        json_put_double(w, "score", hit->score);
        json_key(w, "why");
        json_object_begin(w);
        json_put_double(w, "lexical", hit->lexical);
        json_put_double(w, "vector", hit->vector);
        json_put_double(w, "recency", hit->recency);
        json_put_double(w, "around", hit->around);
        json_put_double(w, "time", hit->time);
        json_put_double(w, "relevance", hit->relevance);
        json_object_end(w);
        json_object_end(w);
    }
    json_array_end(w);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_change_json(const uar_memory_change *change, const uar_allocator *allocator,
                                  uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_put_uuid(w, "id", change->id);
    json_put_str(w, "outcome", uar_str_of(uar_memory_outcome_name(change->outcome)));
    json_put_uuid(w, "supersedes", change->supersedes);
    json_put_uint(w, "revision", change->revision);
    return json_answer_end(&answer, write, ctx);
}

static void put_embedding(json_writer *w, const uar_memory_embedding *e) {
    static const char *const keys[] = { "embedder", "embedded", "unembedded" };
    for (size_t i = 0; e == NULL && i < sizeof keys / sizeof keys[0]; i++)
        json_put_raw(w, keys[i], uar_str_n(NULL, 0));
    if (e == NULL) return;
    json_put_str(w, "embedder", uar_str_of(e->model));
    json_put_uint(w, "embedded", e->embedded);
    json_put_uint(w, "unembedded", e->unembedded);
}

uar_status uar_memory_stats_json(const uar_memory_stats *stats, const uar_memory_embedding *embedding,
                                 const uar_allocator *allocator, uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_put_uint(w, "total", stats->total);
    json_put_by_scope(w, stats->by_scope);
    json_put_str(w, "state", uar_str_of(uar_memory_status_name(stats->state)));
    json_put_uint(w, "pending", stats->pending);
    put_embedding(w, embedding);
    return json_answer_end(&answer, write, ctx);
}
