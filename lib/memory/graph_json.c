/* Owns: the JSON form of the graph and its answers. */
#include "memory/graph_json.h"

#include "memory/json_answer.h"

/* What all three have at their ends. */
static void put_history(json_writer *w, uar_memory_trust trust, int64_t created, int64_t updated, uint64_t revision) {
    json_put_trust(w, trust);
    json_put_time(w, "created", created, INT64_MIN);
    json_put_time(w, "updated", updated, INT64_MIN);
    json_put_uint(w, "revision", revision);
}

void graph_json_entity(json_writer *w, const uar_memory_entity *e) {
    json_put_uuid(w, "id", e->id);
    json_put_str(w, "name", e->name);
    json_put_str(w, "kind", e->kind);
    json_put_texts(w, "aliases", e->aliases, e->alias_count);
    json_put_raw(w, "properties", e->properties);
    json_put_place(w, &e->place);
    put_history(w, e->trust, e->created_ms, e->updated_ms, e->revision);
}

void graph_json_relation(json_writer *w, const uar_memory_relation *r) {
    json_put_uuid(w, "id", r->id);
    json_put_uuid(w, "from", r->from);
    json_put_str(w, "from_name", r->from_name);
    json_put_str(w, "type", r->type);
    json_put_uuid(w, "to", r->to);
    json_put_str(w, "to_name", r->to_name);
    json_put_raw(w, "properties", r->properties);
    json_put_place(w, &r->place);
    json_put_time(w, "valid_from", r->valid_from_ms, INT64_MIN);
    json_put_time(w, "valid_until", r->valid_until_ms, UAR_MEMORY_OPEN_END);
    json_put_provenance(w, &r->provenance);
    put_history(w, r->trust, r->created_ms, r->updated_ms, r->revision);
}

void graph_json_observation(json_writer *w, const uar_memory_observation *o) {
    json_put_uuid(w, "id", o->id);
    json_put_uuid(w, "entity", o->entity);
    json_put_str(w, "text", o->text);
    json_put_place(w, &o->place);
    json_put_time(w, "valid_from", o->valid_from_ms, INT64_MIN);
    json_put_time(w, "valid_until", o->valid_until_ms, UAR_MEMORY_OPEN_END);
    json_put_provenance(w, &o->provenance);
    put_history(w, o->trust, o->created_ms, o->updated_ms, o->revision);
}

uar_status uar_memory_entity_json(const uar_memory_entity *entity, const uar_allocator *allocator,
                                  uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    graph_json_entity(w, entity);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_relation_json(const uar_memory_relation *relation, const uar_allocator *allocator,
                                    uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    graph_json_relation(w, relation);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_observation_json(const uar_memory_observation *observation, const uar_allocator *allocator,
                                       uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    graph_json_observation(w, observation);
    return json_answer_end(&answer, write, ctx);
}

static void put_relation(json_writer *w, const uar_memory_relation *r) {
    json_object_begin(w);
    graph_json_relation(w, r);
    json_object_end(w);
}

static void put_observation(json_writer *w, const uar_memory_observation *o) {
    json_object_begin(w);
    graph_json_observation(w, o);
    json_object_end(w);
}

uar_status uar_memory_graph_json(const uar_memory_graph *graph, const uar_allocator *allocator,
                                 uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_key(w, "entities");
    json_array_begin(w);
    for (size_t i = 0; i < graph->entity_count; i++) {
        json_object_begin(w);
        graph_json_entity(w, &graph->entities[i]);
        json_object_end(w);
    }
    json_array_end(w);
    json_key(w, "relations");
    json_array_begin(w);
    for (size_t i = 0; i < graph->relation_count; i++)
        put_relation(w, &graph->relations[i]);
    json_array_end(w);
    json_key(w, "observations");
    json_array_begin(w);
    for (size_t i = 0; i < graph->observation_count; i++)
        put_observation(w, &graph->observations[i]);
    json_array_end(w);
    json_put_str(w, "cursor", graph->cursor);
    return json_answer_end(&answer, write, ctx);
}

static void put_path(json_writer *w, const uar_memory_path *path) {
    json_object_begin(w);
    json_put_uint(w, "length", path->length);
    json_key(w, "steps");
    json_array_begin(w);
    for (size_t i = 0; i < path->length; i++) {
        json_object_begin(w);
        json_put_bool(w, "forward", path->steps[i].forward);
        graph_json_relation(w, path->steps[i].relation);
        json_object_end(w);
    }
    json_array_end(w);
    json_object_end(w);
}

uar_status uar_memory_paths_json(const uar_memory_paths *paths, const uar_allocator *allocator,
                                 uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_key(w, "paths");
    json_array_begin(w);
    for (size_t i = 0; i < paths->count; i++)
        put_path(w, &paths->paths[i]);
    json_array_end(w);
    json_put_bool(w, "truncated", paths->truncated);
    json_put_uint(w, "visited", paths->visited);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_entity_hits_json(const uar_memory_entity_hits *hits, const uar_allocator *allocator,
                                       uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_put_str(w, "query", hits->query);
    json_key(w, "hits");
    json_array_begin(w);
    for (size_t i = 0; i < hits->count; i++) {
        const uar_memory_entity_hit *hit = &hits->hits[i];
        json_object_begin(w);
        graph_json_entity(w, &hit->entity);
        json_put_double(w, "score", hit->score);
        json_key(w, "observation");
        if (uar_uuid_is_none(hit->observation.id))
            json_null(w);
        else
            put_observation(w, &hit->observation);
        json_object_end(w);
    }
    json_array_end(w);
    return json_answer_end(&answer, write, ctx);
}

uar_status uar_memory_graph_stats_json(const uar_memory_graph_stats *stats, const uar_allocator *allocator,
                                       uar_memory_write_fn write, void *ctx) {
    json_answer answer;
    json_writer *w = json_answer_begin(&answer, allocator);
    json_put_uint(w, "entities", stats->entities);
    json_put_uint(w, "relations", stats->relations);
    json_put_uint(w, "observations", stats->observations);
    json_put_uint(w, "links", stats->links);
    json_key(w, "by_scope");
    json_object_begin(w);
    for (int scope = UAR_MEMORY_SCOPE_GLOBAL; scope <= UAR_MEMORY_SCOPE_TASK; scope++)
        json_put_uint(w, uar_memory_scope_name((uar_memory_scope)scope), stats->by_scope[scope]);
    return json_answer_end(&answer, write, ctx);
}
