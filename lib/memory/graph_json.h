/*
 * The graph as JSON: the shape of the command line, of exports and of imports. One file writes it and one reads it.
 */
#ifndef UAR_LIB_MEMORY_GRAPH_JSON_H
#define UAR_LIB_MEMORY_GRAPH_JSON_H

#include <uar/memory_graph.h>

#include "base/arena.h"
#include "base/json.h"

/* The members of each, inside an object that the caller began. */
void graph_json_entity(json_writer *w, const uar_memory_entity *e);
void graph_json_relation(json_writer *w, const uar_memory_relation *r);
void graph_json_observation(json_writer *w, const uar_memory_observation *o);

/* What a line of an import is. */
typedef enum graph_line_kind {
    GRAPH_LINE_ENTITY,
    GRAPH_LINE_RELATION,
    GRAPH_LINE_OBSERVATION,
    GRAPH_LINE_MERGED, /* an id that stands for an entity */
    GRAPH_LINE_LINK,
    GRAPH_LINE_NAMED_ENTITY, /* of the official memory server: entities are known by their names */
    GRAPH_LINE_NAMED_RELATION
} graph_line_kind;

typedef struct graph_line {
    graph_line_kind kind;
    uar_uuid id, other; /* its own; the entity that it is about, the end of a relation, of a link its record */
    uar_memory_entity entity;
    uar_memory_relation relation;
    uar_memory_observation observation;
    const uar_str *texts; /* observations of a named entity */
    size_t text_count;
} graph_line;

/* Read a line. Keys that aren't known are ignored, null is absent; texts live in the arena. UAR_E_JSON, UAR_E_NEWER,
 * UAR_E_SCHEMA names the key. */
uar_status graph_line_read(graph_line *out, arena *ar, uar_str text, uar_error *err);

#endif
