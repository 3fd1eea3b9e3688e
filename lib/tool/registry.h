/*
 * The tools of a runtime: checked when they are added, immutable once runs exist, so that any thread may read.
 *
 * Invariants: names are unique and match ^[a-zA-Z0-9_-]{1,64}$; each tool's door is destroyed exactly once, also when
 * adding it failed.
 */
#ifndef UAR_LIB_TOOL_REGISTRY_H
#define UAR_LIB_TOOL_REGISTRY_H

#include <uar/sys/tool.h>

#include "schema/schema.h"

#define TOOL_TIMEOUT_MS 60000

typedef struct tool {
    uar_tool door; /* name, description and input_schema point at the copies below */
    char *name, *description, *input_schema;
    schema *arguments;
} tool;

typedef struct tool_registry {
    const uar_allocator *alloc;
    tool *tools;
    size_t count, cap;
} tool_registry;

void tool_registry_init(tool_registry *r, const uar_allocator *alloc);
void tool_registry_dispose(tool_registry *r);
/* Takes the tool over either way. UAR_E_STRUCT, UAR_E_INVALID, UAR_E_EXISTS, UAR_E_SCHEMA, UAR_E_UNSUPPORTED, UAR_E_JSON. */
uar_status tool_registry_add(tool_registry *r, const uar_tool *door, uar_error *err);
const tool *tool_find(const tool_registry *r, uar_str name);

/*
 * Check the arguments of a call as the model wrote them. On success `canonical` holds the JSON object to run with (`{}` for
 * no arguments where the schema accepts it). Else the message tells the model what is wrong and what the schema is:
 * UAR_E_TOOL_ARGUMENTS (not JSON, no object, against the schema), UAR_E_NOMEM.
 */
uar_status tool_check_arguments(const tool *t, uar_str arguments, buffer *canonical, buffer *message);
/* What a model is told about a name that no tool has: the names that exist. */
void tool_explain_unknown(const tool_registry *r, uar_str name, buffer *message);

#endif
