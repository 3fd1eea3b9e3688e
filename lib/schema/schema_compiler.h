/*
 * A schema while it is compiled: its documents, what refers to what, and how faults are said. Internal to the files
 * schema_compile.c, schema_refs.c and schema_sources.c.
 */
#ifndef UAR_LIB_SCHEMA_COMPILER_H
#define UAR_LIB_SCHEMA_COMPILER_H

#include "schema/schema_node.h"

/* A schema document inside the text, as it is written. */
typedef struct schema_source {
    uar_str uri; /* empty: the whole has no `$id` */
    const cJSON *root;
    map anchors;       /* name to schema_anchor */
    bool is_legacy;    /* draft-06 or draft-07: what stands beside `$ref` is ignored */
    bool is_ambiguous; /* there are two of this URI */
    schema_resource *made;
} schema_source;

typedef struct schema_anchor {
    const cJSON *target;
    schema_source *source;
    const char *dynamic; /* the name if it is a dynamic anchor, else NULL; part of the document */
    bool is_ambiguous;   /* there are two of this name */
} schema_anchor;

/* A reference that is resolved once the schemas around it are compiled. */
typedef struct schema_pending {
    struct schema_pending *next;
    schema_node *node; /* which refers */
    const cJSON *text;
    schema_source *source;
    const schema_path *at;
    bool is_dynamic;
} schema_pending;

typedef struct compiler {
    schema *made;
    uar_error *err;
    uar_status status; /* the first fault */
    arena scratch;     /* gone when the schema is made */
    uar_allocator scratch_door;
    map sources; /* URI to schema_source */
    map roots;   /* place in the document to schema_source */
    map nodes;   /* place in the document to schema_node */
    map indexes; /* large object to a map of its members */
    schema_pending *first, *last;
    size_t node_count, reference_count;
    size_t pattern_room;
} compiler;

/* Each says the fault and returns false. The name of the keyword comes first, because long paths are cut. */
bool compiler_no_memory(compiler *c);
bool compiler_refuse(compiler *c, uar_status status, const schema_path *at, const char *fault);

/* A place in the document as a key of a map; the pointer lives as long as the key is used. */
static inline uar_str compiler_key(const cJSON *const *place) {
    return uar_str_n((const char *)place, sizeof *place);
}

/* The node of a schema in the document, compiled once; NULL after a fault. `source`: that of what is around it. */
const schema_node *compiler_node(compiler *c, const cJSON *document, schema_source *source, const schema_path *at);

/* Find every `$id` and anchor. The source of the whole; NULL: out of memory. */
schema_source *sources_scan(compiler *c, const cJSON *document);
/* The source that begins at a place, else the one around it. */
schema_source *source_at(const compiler *c, const cJSON *place, schema_source *around);
/*
 * What a reference names, and the source that it lies in. NULL after a fault. `anchor` is its name if it is a
 * dynamic anchor, else NULL.
 */
const cJSON *sources_find(compiler *c, const schema_pending *reference, schema_source **source, const char **anchor);

/* Resolve what is pending, until nothing is. False after a fault. */
bool refs_resolve(compiler *c);
/* No node leads back to itself without a step into the value, and no chain of such steps is too long. */
bool refs_check_progress(compiler *c);

#endif
