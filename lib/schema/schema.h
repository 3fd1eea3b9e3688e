/*
 * JSON Schema (draft 2020-12) for tool arguments and settings: compiled once, then checked against values.
 *
 * Checked: type, properties, required, additionalProperties, items, enum, const, minimum, maximum, exclusiveMinimum,
 * exclusiveMaximum, multipleOf, minLength, maxLength (code points), minItems, maxItems, minProperties, maxProperties, and
 * boolean schemas. Annotations pass, `format` among them; so do $defs and names that begin with `x-`. Every other keyword
 * is refused at compile time: a rule that can't be checked must not look as if it were.
 *
 * Numbers are compared by their exact decimal value, never as doubles: 1.0 equals 1, 9007199254740993 isn't
 * 9007199254740992, and 0.3 is a multiple of 0.1.
 */
#ifndef UAR_LIB_SCHEMA_SCHEMA_H
#define UAR_LIB_SCHEMA_SCHEMA_H

#include "base/json.h"

/* A compiled schema. Immutable: any number of threads may check with it at once. */
typedef struct schema schema;

/*
 * Compile a document made by json_read; it is copied and may be freed afterwards.
 * UAR_E_UNSUPPORTED: a keyword or dialect that can't be checked. UAR_E_SCHEMA: a keyword with a value it can't have. Both
 * name the keyword and its JSON pointer. UAR_E_NOMEM.
 */
uar_status schema_compile(schema **out, const uar_allocator *a, const cJSON *document, uar_error *err);
/* The same from text of at most `max` bytes. Also UAR_E_JSON, UAR_E_TOO_LARGE. */
uar_status schema_compile_text(schema **out, const uar_allocator *a, uar_str text, size_t max, uar_error *err);
/* The same for the input of a tool: the document must be an object and must not rule out objects, else UAR_E_SCHEMA. */
uar_status schema_compile_tool(schema **out, const uar_allocator *a, const cJSON *document, uar_error *err);
/* Accepts NULL. */
void schema_free(schema *s);

/*
 * UAR_OK, or UAR_E_SCHEMA with a message by which a model can correct itself: "/city: expected string, got number". Several
 * faults are joined by "; " as far as there is room. UAR_E_TOO_LARGE: the check would take more steps or levels than are allowed; UAR_E_NOMEM. The value is
 * one made by json_read.
 */
uar_status schema_check(const schema *s, const cJSON *value, uar_error *err);

#endif
