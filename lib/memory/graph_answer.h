/* Answers of calls that read the graph: one allocation for the head, an arena for all that it points at. */
#ifndef UAR_LIB_MEMORY_GRAPH_ANSWER_H
#define UAR_LIB_MEMORY_GRAPH_ANSWER_H

#include "memory/graph.h"

/* A uar_memory_graph in the making. */
typedef struct graph_answer {
    uar_memory_graph head; /* first: the answer is this */
    uar_allocator alloc;
    arena ar;
    uar_memory_entity *entities;
    uar_memory_relation *relations;
    uar_memory_observation *observations;
    size_t entity_cap, relation_cap, observation_cap;
} graph_answer;

/* NULL: out of memory. Hand `head` out or dispose it with uar_memory_graph_free. */
graph_answer *graph_answer_new(const uar_allocator *a);
uar_status graph_answer_add_entity(graph_answer *g, const uar_memory_entity *e);
uar_status graph_answer_add_relation(graph_answer *g, const uar_memory_relation *r);
uar_status graph_answer_add_observation(graph_answer *g, const uar_memory_observation *o);
bool graph_answer_has_entity(const graph_answer *g, uar_uuid id);

/* A uar_memory_paths in the making. */
typedef struct path_answer {
    uar_memory_paths head;
    uar_allocator alloc;
    arena ar;
} path_answer;
path_answer *path_answer_new(const uar_allocator *a);

/* A uar_memory_entity_hits in the making, with room for `limit`. */
typedef struct entity_hit_answer {
    uar_memory_entity_hits head;
    uar_allocator alloc;
    arena ar;
    uar_memory_entity_hit *items;
} entity_hit_answer;
entity_hit_answer *entity_hit_answer_new(const uar_allocator *a, uar_str text, size_t limit);

#endif
