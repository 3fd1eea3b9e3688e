/*
 * JSON Schema (draft 2020-12) for tool arguments and settings: compiled once, then checked against values.
 * docs/schema.md has the whole story; in short:
 *
 * Checked: every keyword of the validation, applicator and unevaluated vocabularies, boolean schemas, $ref, $dynamicRef,
 * $id, $anchor, $dynamicAnchor and $defs inside the text, and the older `dependencies`. Annotations, `format` among them,
 * and unknown keywords assert nothing. Refused: references to other documents (nothing is fetched), other dialects,
 * references that turn in a circle, patterns that would need backtracking (pattern.h), multipleOf with more than 18 digits.
 * What stands in $defs is looked at when something refers to it.
 *
 * Numbers are compared by their exact decimal value, never as doubles: 1.0 equals 1, 9007199254740993 isn't
 * 9007199254740992, and 0.3 is a multiple of 0.1. Lengths count code points.
 *
 * A check takes at most 10,000,000 steps and 64 for each value in the value (a text counts as one more for each 64 bytes);
 * a step is one schema applied to one value, a comparison of two values, or eight states of a pattern. At most 256 schemas
 * are applied inside one another.
 */
#ifndef UAR_LIB_SCHEMA_SCHEMA_H
#define UAR_LIB_SCHEMA_SCHEMA_H

#include "base/json.h"

/* A compiled schema. Immutable: any number of threads may check with it at once, as its allocator allows. */
typedef struct schema schema;

/*
 * Compile a document made by json_read; it is copied and may be freed afterwards.
 * UAR_E_UNSUPPORTED: a keyword, reference, pattern or dialect that can't be checked. UAR_E_SCHEMA: a keyword with a value
 * it can't have, a reference to nothing, a circle of references. Both name the keyword and its JSON pointer. UAR_E_NOMEM.
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
 * faults are joined by "; " as far as there is room. UAR_E_TOO_LARGE: the check would take more steps or levels than are
 * allowed; UAR_E_NOMEM. The value is one made by json_read.
 */
uar_status schema_check(const schema *s, const cJSON *value, uar_error *err);

#endif
