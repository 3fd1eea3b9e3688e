/*
 * References: what they name becomes a node, and no chain of them may turn in a circle.
 * Invariant after refs_check_progress: from every node, going on only through what applies to the same value ends after at
 * most SCHEMA_MAX_CHAIN nodes. `$dynamicRef` is followed to where it leads by itself; where a schema in use leads it
 * elsewhere, the checker's own bound on levels holds.
 */
#include <assert.h>

#include "base/str.h"
#include "schema/schema_compiler.h"

enum { SCHEMA_MAX_CHAIN = 200 };

/* ---- Resolving ---- */

/* An anchor that a $dynamicRef asks for: the node of each source that has it. */
static bool compile_dynamic(compiler *c, const schema_path *at, uar_str name) {
    for (map_entry *e = map_next(&c->roots, NULL); e != NULL; e = map_next(&c->roots, e)) {
        schema_source *source = map_value(e);
        const schema_anchor *anchor = map_get(&source->anchors, name);
        if (anchor == NULL || anchor->dynamic == NULL || map_get(&source->made->dynamics, name) != NULL) continue;
        const schema_node *node = compiler_node(c, anchor->target, source, at);
        if (node == NULL) return false;
        if (map_put(&source->made->dynamics, name, (void *)(uintptr_t)node) != UAR_OK) return compiler_no_memory(c);
    }
    return true;
}

static bool resolve_dynamic(compiler *c, const schema_pending *reference, const schema_path *at,
                            const schema_node *node, uar_str name) {
    schema_dynamic *dynamic = arena_zeroed(&c->made->memory, 1, sizeof *dynamic);
    uar_str kept = arena_str(&c->made->memory, name);
    if (dynamic == NULL || kept.ptr == NULL) return compiler_no_memory(c);
    *dynamic = (schema_dynamic){ node, kept };
    reference->node->logic->dynamic = dynamic;
    return compile_dynamic(c, at, kept);
}

/* A $dynamicRef that names no dynamic anchor is a $ref; a node may have both, so the second is put beside the first. */
static bool resolve(compiler *c, const schema_pending *reference) {
    schema_source *source;
    const char *anchor;
    const cJSON *target = sources_find(c, reference, &source, &anchor);
    if (target == NULL) return false;
    /* The place begins anew here: one that grew with each reference would take room by the square of their number. */
    schema_path at = { .key = uar_str_of(reference->text->valuestring), .is_reference = true };
    const schema_node *node = compiler_node(c, target, source, &at);
    if (node == NULL) return false;
    if (!reference->is_dynamic) {
        reference->node->logic->ref = node;
        return true;
    }
    return resolve_dynamic(c, reference, &at, node, anchor != NULL ? uar_str_of(anchor) : uar_str_n("", 0));
}

bool refs_resolve(compiler *c) {
    while (c->first != NULL) {
        const schema_pending *reference = c->first;
        c->first = reference->next;
        if (c->first == NULL) c->last = NULL;
        if (!resolve(c, reference)) return false;
    }
    return true;
}

/* ---- Progress ---- */

typedef struct walk {
    compiler *c;
    uint16_t *heights; /* of nodes by their number: 0 not known yet */
    unsigned depth;
} walk;

enum { HEIGHT_OPEN = UINT16_MAX };

static bool measure(walk *w, const schema_node *node, unsigned *most);

static bool measure_list(walk *w, const schema_list *list, unsigned *most) {
    for (size_t i = 0; i < list->count; i++)
        if (!measure(w, list->nodes[i], most)) return false;
    return true;
}

static bool measure_dependents(walk *w, const map *dependents, unsigned *most) {
    for (map_entry *e = map_next(dependents, NULL); e != NULL; e = map_next(dependents, e)) {
        const schema_dependent *dependent = map_value(e);
        if (!measure(w, dependent->node, most)) return false;
    }
    return true;
}

/* Everything that a node applies to the value that it is applied to itself. */
static bool measure_inside(walk *w, const schema_node *node, unsigned *most) {
    if (node->members != NULL && !measure_dependents(w, &node->members->dependents, most)) return false;
    const schema_logic *logic = node->logic;
    if (logic == NULL) return true;
    const schema_node *single[] = { logic->ref,  logic->dynamic != NULL ? logic->dynamic->node : NULL,
                                    logic->none, logic->condition,
                                    logic->then, logic->otherwise };
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        if (!measure(w, single[i], most)) return false;
    return measure_list(w, &logic->all, most) && measure_list(w, &logic->any, most) &&
           measure_list(w, &logic->one, most);
}

/* Raise `most` to the length of the longest chain that begins at the node. */
static bool measure(walk *w, const schema_node *node, unsigned *most) {
    if (node == NULL || node->number == 0) return true;
    uint16_t *height = &w->heights[node->number];
    if (*height == HEIGHT_OPEN)
        return compiler_refuse(w->c, UAR_E_SCHEMA, NULL,
                               "refers to itself in a circle that never reads on in the value");
    if (*height == 0) {
        unsigned inner = 0;
        *height = HEIGHT_OPEN;
        w->depth++;
        if (w->depth <= SCHEMA_MAX_CHAIN && !measure_inside(w, node, &inner)) return false;
        if (w->depth > SCHEMA_MAX_CHAIN || inner >= SCHEMA_MAX_CHAIN)
            return compiler_refuse(w->c, UAR_E_UNSUPPORTED, NULL, "has a chain of references that is too long");
        w->depth--;
        *height = (uint16_t)(inner + 1);
    }
    if (*height > *most) *most = *height;
    return true;
}

bool refs_check_progress(compiler *c) {
    walk w = { .c = c };
    w.heights = arena_zeroed(&c->scratch, c->node_count + 1, sizeof *w.heights);
    if (w.heights == NULL) return compiler_no_memory(c);
    for (map_entry *e = map_next(&c->nodes, NULL); e != NULL; e = map_next(&c->nodes, e)) {
        unsigned most = 0;
        if (!measure(&w, map_value(e), &most)) return false;
    }
    return true;
}
