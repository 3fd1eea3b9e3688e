/* Owns: the memory of the graph's answers. Invariant: an answer keeps a copy of the allocator's functions, so that it may
 * outlive the memory object. */
#include "memory/graph_answer.h"

graph_answer *graph_answer_new(const uar_allocator *a) {
    graph_answer *g = ALLOC_NEW(a, graph_answer);
    if (g == NULL) return NULL;
    g->alloc = *a;
    arena_init(&g->ar, &g->alloc);
    return g;
}

/* Room for one more item; the list, perhaps moved, or NULL. */
static void *grow(const uar_allocator *a, void *list, size_t count, size_t *cap, size_t item) {
    if (count < *cap) return list;
    size_t more = *cap != 0 ? *cap * 2 : 8;
    void *moved = alloc_resize(a, list, more * item);
    if (moved != NULL) *cap = more;
    return moved;
}

uar_status graph_answer_add_entity(graph_answer *g, const uar_memory_entity *e) {
    void *list = grow(&g->alloc, g->entities, g->head.entity_count, &g->entity_cap, sizeof *e);
    if (list == NULL) return UAR_E_NOMEM;
    g->head.entities = g->entities = (uar_memory_entity *)list;
    g->entities[g->head.entity_count++] = *e;
    return UAR_OK;
}

uar_status graph_answer_add_relation(graph_answer *g, const uar_memory_relation *r) {
    void *list = grow(&g->alloc, g->relations, g->head.relation_count, &g->relation_cap, sizeof *r);
    if (list == NULL) return UAR_E_NOMEM;
    g->head.relations = g->relations = (uar_memory_relation *)list;
    g->relations[g->head.relation_count++] = *r;
    return UAR_OK;
}

uar_status graph_answer_add_observation(graph_answer *g, const uar_memory_observation *o) {
    void *list = grow(&g->alloc, g->observations, g->head.observation_count, &g->observation_cap, sizeof *o);
    if (list == NULL) return UAR_E_NOMEM;
    g->head.observations = g->observations = (uar_memory_observation *)list;
    g->observations[g->head.observation_count++] = *o;
    return UAR_OK;
}

bool graph_answer_has_entity(const graph_answer *g, uar_uuid id) {
    for (size_t i = 0; i < g->head.entity_count; i++)
        if (uar_uuid_equal(g->entities[i].id, id)) return true;
    return false;
}

void uar_memory_graph_free(uar_memory_graph *graph) {
    if (graph == NULL) return;
    graph_answer *g = (graph_answer *)(void *)graph;
    uar_allocator alloc = g->alloc;
    alloc_free(&alloc, g->entities);
    alloc_free(&alloc, g->relations);
    alloc_free(&alloc, g->observations);
    arena_dispose(&g->ar);
    alloc_free(&alloc, g);
}

path_answer *path_answer_new(const uar_allocator *a) {
    path_answer *p = ALLOC_NEW(a, path_answer);
    if (p == NULL) return NULL;
    p->alloc = *a;
    arena_init(&p->ar, &p->alloc);
    return p;
}

void uar_memory_paths_free(uar_memory_paths *paths) {
    if (paths == NULL) return;
    path_answer *p = (path_answer *)(void *)paths;
    uar_allocator alloc = p->alloc;
    arena_dispose(&p->ar);
    alloc_free(&alloc, p);
}

entity_hit_answer *entity_hit_answer_new(const uar_allocator *a, uar_str text, size_t limit) {
    entity_hit_answer *h = ALLOC_NEW(a, entity_hit_answer);
    if (h == NULL) return NULL;
    h->alloc = *a;
    arena_init(&h->ar, &h->alloc);
    h->items = (uar_memory_entity_hit *)alloc_zeroed(&h->alloc, limit, sizeof *h->items);
    h->head.query = arena_str(&h->ar, text);
    h->head.hits = h->items;
    if (h->items != NULL && h->head.query.ptr != NULL) return h;
    uar_memory_entity_hits_free(&h->head);
    return NULL;
}

void uar_memory_entity_hits_free(uar_memory_entity_hits *hits) {
    if (hits == NULL) return;
    entity_hit_answer *h = (entity_hit_answer *)(void *)hits;
    uar_allocator alloc = h->alloc;
    alloc_free(&alloc, h->items);
    arena_dispose(&h->ar);
    alloc_free(&alloc, h);
}
