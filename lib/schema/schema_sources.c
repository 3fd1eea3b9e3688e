/*
 * The documents inside a schema: where each begins, its URI, its anchors; and what a reference names.
 * Nothing is ever fetched: a reference to a document that isn't part of the text is refused.
 * Invariant: only places where a schema stands are searched, so an `$id` inside `enum`, `const`, `default` or an unknown
 * keyword is data. Recursion is bounded by the depth that json_read allows.
 */
#include <assert.h>

#include "base/str.h"
#include "schema/schema_compiler.h"
#include "schema/schema_uri.h"

enum { URI_MOST = 2048, FEW_MEMBERS = 16 };

typedef enum holding { HOLDS_NOTHING, HOLDS_SCHEMAS, HOLDS_NAMED_SCHEMAS } holding;

/* Whether schemas stand in the value of a keyword: one or a list of them, or an object of them. */
static holding holding_of(const char *keyword) {
    static const char *const plain[] = { "additionalProperties",
                                         "allOf",
                                         "anyOf",
                                         "contains",
                                         "else",
                                         "if",
                                         "items",
                                         "not",
                                         "oneOf",
                                         "prefixItems",
                                         "propertyNames",
                                         "then",
                                         "unevaluatedItems",
                                         "unevaluatedProperties" };
    static const char *const named[] = { "$defs",      "definitions",      "dependencies", "dependentSchemas",
                                         "properties", "patternProperties" };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(keyword, plain[i]) == 0) return HOLDS_SCHEMAS;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(keyword, named[i]) == 0) return HOLDS_NAMED_SCHEMAS;
    return HOLDS_NOTHING;
}

/* ---- Scanning ---- */

static bool scan(compiler *c, const cJSON *document, schema_source *source);

static bool has_legacy_dialect(const cJSON *document) {
    uar_str dialect = json_text(document, "$schema");
    static const char *const legacy[] = { "draft-06/schema", "draft-07/schema" };
    for (size_t i = 0; i < sizeof legacy / sizeof legacy[0]; i++) {
        size_t len = strlen(legacy[i]);
        uar_str end = uri_without_fragment(dialect);
        if (end.len >= len && memcmp(end.ptr + end.len - len, legacy[i], len) == 0) return true;
    }
    return false;
}

/* Make a URI known. One that is too long (absent here) can't be referred to from outside of its document. */
static bool name_source(compiler *c, schema_source *source, uar_str uri) {
    if (uri.ptr == NULL) return true;
    source->uri = arena_str(&c->scratch, uri);
    if (source->uri.ptr == NULL) return false;
    schema_source *other = map_get(&c->sources, uri);
    if (other == NULL) return map_put(&c->sources, uri, source) == UAR_OK;
    other->is_ambiguous = true;
    return true;
}

static schema_source *source_new(compiler *c, const cJSON *root, uar_str uri, const schema_source *around) {
    schema_source *source = arena_zeroed(&c->scratch, 1, sizeof *source);
    schema_resource *made = arena_zeroed(&c->made->memory, 1, sizeof *made);
    if (source == NULL || made == NULL) return NULL;
    map_init(&made->dynamics, &c->made->door);
    *source = (schema_source){ .uri = STR(""), .root = root, .made = made };
    source->is_legacy = has_legacy_dialect(root);
    if (around != NULL && json_member(root, "$schema") == NULL) source->is_legacy = around->is_legacy;
    map_init(&source->anchors, &c->scratch_door);
    bool is_known = map_put(&c->roots, compiler_key(&root), source) == UAR_OK && name_source(c, source, uri);
    return is_known ? source : NULL;
}

static bool add_anchor(compiler *c, schema_source *source, uar_str name, const cJSON *target, bool is_dynamic) {
    const char *dynamic = is_dynamic ? name.ptr : NULL;
    if (name.len == 0) return true;
    schema_anchor *anchor = map_get(&source->anchors, name);
    if (anchor != NULL) {
        anchor->is_ambiguous = anchor->is_ambiguous || anchor->target != target;
        if (anchor->dynamic == NULL) anchor->dynamic = dynamic;
        return true;
    }
    anchor = arena_zeroed(&c->scratch, 1, sizeof *anchor);
    if (anchor == NULL) return compiler_no_memory(c);
    *anchor = (schema_anchor){ .target = target, .source = source, .dynamic = dynamic };
    return map_put(&source->anchors, name, anchor) == UAR_OK || compiler_no_memory(c);
}

/* The source that a schema belongs to: a new one if it has an `$id` that is more than a fragment. NULL: no memory. */
static schema_source *own_source(compiler *c, const cJSON *document, schema_source *around) {
    uar_str id = uri_without_fragment(json_text(document, "$id"));
    bool is_ignored = around != NULL && around->is_legacy && json_member(document, "$ref") != NULL;
    if (around != NULL && (id.len == 0 || is_ignored)) return around;
    buffer uri;
    buffer_init(&uri, c->made->alloc, URI_MOST);
    uri_resolve(&uri, around != NULL ? around->uri : STR(""), id.ptr != NULL ? id : STR(""));
    schema_source *source = NULL;
    if (uri.status != UAR_E_NOMEM)
        source = source_new(c, document, uri.status == UAR_OK ? buffer_str(&uri) : uar_str_n(NULL, 0), around);
    buffer_dispose(&uri);
    return source;
}

static bool scan_all(compiler *c, const cJSON *list, schema_source *source) {
    for (const cJSON *item = list->child; item != NULL; item = item->next)
        if (!scan(c, item, source)) return false;
    return true;
}

static bool scan_member(compiler *c, const cJSON *member, schema_source *source) {
    switch (holding_of(member->string)) {
    case HOLDS_SCHEMAS: return cJSON_IsArray(member) ? scan_all(c, member, source) : scan(c, member, source);
    case HOLDS_NAMED_SCHEMAS: return !cJSON_IsObject(member) || scan_all(c, member, source);
    default: return true;
    }
}

static bool scan_names(compiler *c, const cJSON *document, schema_source *source) {
    uar_str id = json_text(document, "$id");
    if (id.len > 0 && id.ptr[0] == '#' && !add_anchor(c, source, uri_fragment(id), document, false)) return false;
    return add_anchor(c, source, json_text(document, "$anchor"), document, false) &&
           add_anchor(c, source, json_text(document, "$dynamicAnchor"), document, true);
}

/* What stands in a schema, whose own source this is. */
static bool scan_inside(compiler *c, const cJSON *document, schema_source *source) {
    if (!scan_names(c, document, source)) return false;
    for (const cJSON *member = document->child; member != NULL; member = member->next)
        if (!scan_member(c, member, source)) return false;
    return true;
}

static bool scan(compiler *c, const cJSON *document, schema_source *around) {
    if (!cJSON_IsObject(document)) return true;
    schema_source *source = own_source(c, document, around);
    return source != NULL ? scan_inside(c, document, source) : compiler_no_memory(c);
}

schema_source *sources_scan(compiler *c, const cJSON *document) {
    schema_source *whole = own_source(c, document, NULL);
    if (whole == NULL) {
        compiler_no_memory(c);
        return NULL;
    }
    return !cJSON_IsObject(document) || scan_inside(c, document, whole) ? whole : NULL;
}

schema_source *source_at(const compiler *c, const cJSON *place, schema_source *around) {
    schema_source *own = map_get(&c->roots, compiler_key(&place));
    return own != NULL ? own : around;
}

/* ---- Finding ---- */

/* The members of a large object by name, made when they are first asked for. NULL: out of memory. */
static const map *index_of(compiler *c, const cJSON *object) {
    map *index = map_get(&c->indexes, compiler_key(&object));
    if (index != NULL) return index;
    index = arena_alloc(&c->scratch, sizeof *index);
    if (index == NULL) return NULL;
    map_init(index, &c->scratch_door);
    for (cJSON *member = object->child; member != NULL; member = member->next)
        if (map_put(index, uar_str_of(member->string), member) != UAR_OK) return NULL;
    return map_put(&c->indexes, compiler_key(&object), index) == UAR_OK ? index : NULL;
}

static const cJSON *member_named(compiler *c, const cJSON *object, uar_str name) {
    const cJSON *member = object->child;
    for (size_t seen = 0; member != NULL && seen < FEW_MEMBERS; member = member->next, seen++)
        if (str_is(name, member->string)) return member;
    if (member == NULL) return NULL;
    const map *index = index_of(c, object);
    if (index == NULL) {
        compiler_no_memory(c);
        return NULL;
    }
    return map_get(index, name);
}

static const cJSON *item_numbered(const cJSON *array, uar_str digits) {
    if (digits.len == 0 || digits.len > 9 || (digits.ptr[0] == '0' && digits.len > 1)) return NULL;
    size_t index = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9') return NULL;
        index = index * 10 + (size_t)(digits.ptr[i] - '0');
    }
    const cJSON *item = array->child;
    while (item != NULL && index-- > 0)
        item = item->next;
    return item;
}

/* ~0 and ~1 resolved in place: the text only gets shorter. */
static uar_str unescape_token(char *token, size_t len) {
    size_t to = 0;
    for (size_t i = 0; i < len; i++) {
        bool is_escape = token[i] == '~' && i + 1 < len && (token[i + 1] == '0' || token[i + 1] == '1');
        token[to++] = is_escape ? (token[i + 1] == '0' ? '~' : '/') : token[i];
        if (is_escape) i++;
    }
    return uar_str_n(token, to);
}

/* Along a JSON pointer that begins with a slash. NULL: it leads nowhere. */
static const cJSON *follow_pointer(compiler *c, const cJSON *from, char *text, size_t len, schema_source **source) {
    const cJSON *place = from;
    for (size_t at = 0; place != NULL && at < len;) {
        char *token = text + at + 1;
        const char *stop = memchr(token, '/', len - at - 1);
        size_t token_len = stop != NULL ? (size_t)(stop - token) : len - at - 1;
        at += token_len + 1;
        uar_str name = unescape_token(token, token_len);
        place = cJSON_IsObject(place)  ? member_named(c, place, name)
                : cJSON_IsArray(place) ? item_numbered(place, name)
                                       : NULL;
        if (place != NULL) *source = source_at(c, place, *source);
    }
    return place;
}

static const cJSON *find_anchor(compiler *c, const schema_pending *reference, uar_str name, schema_source **source,
                                const char **dynamic) {
    const schema_anchor *anchor = map_get(&(*source)->anchors, name);
    if (anchor == NULL) return NULL;
    if (anchor->is_ambiguous) {
        compiler_refuse(c, UAR_E_SCHEMA, reference->at, "names an anchor that stands twice");
        return NULL;
    }
    *source = anchor->source;
    *dynamic = anchor->dynamic;
    return anchor->target;
}

static schema_source *find_source(compiler *c, const schema_pending *reference, uar_str text) {
    buffer uri;
    buffer_init(&uri, c->made->alloc, URI_MOST);
    uri_resolve(&uri, reference->source->uri, text);
    uar_status status = uri.status;
    schema_source *source = status == UAR_OK ? map_get(&c->sources, buffer_str(&uri)) : NULL;
    buffer_dispose(&uri);
    if (status == UAR_E_NOMEM) {
        compiler_no_memory(c);
        return NULL;
    }
    if (source == NULL) {
        compiler_refuse(c, UAR_E_UNSUPPORTED, reference->at, "names a schema outside of this one; nothing is fetched");
        return NULL;
    }
    if (source->is_ambiguous) {
        compiler_refuse(c, UAR_E_SCHEMA, reference->at, "names an $id that stands twice");
        return NULL;
    }
    return source;
}

/* What a fragment that isn't empty names in its source. */
static const cJSON *find_fragment(compiler *c, const schema_pending *reference, uar_str encoded, schema_source **source,
                                  const char **anchor) {
    const cJSON *target = NULL;
    buffer fragment;
    buffer_init(&fragment, c->made->alloc, SIZE_MAX / 2);
    bool is_whole = uri_decode(&fragment, encoded);
    if (fragment.status != UAR_OK)
        compiler_no_memory(c);
    else if (is_whole && fragment.len > 0 && fragment.ptr[0] == '/')
        target = follow_pointer(c, (*source)->root, fragment.ptr, fragment.len, source);
    else if (is_whole)
        target = find_anchor(c, reference, buffer_str(&fragment), source, anchor);
    buffer_dispose(&fragment);
    return target;
}

const cJSON *sources_find(compiler *c, const schema_pending *reference, schema_source **source, const char **anchor) {
    uar_str text = uar_str_of(reference->text->valuestring), encoded = uri_fragment(text);
    *anchor = NULL;
    /* A reference into its own document needs no URI, so it works where two have the same. */
    bool is_inside = text.len > 0 && text.ptr[0] == '#';
    *source = is_inside ? reference->source : find_source(c, reference, text);
    if (*source == NULL) return NULL;
    if (encoded.len == 0) return (*source)->root;
    const cJSON *target = find_fragment(c, reference, encoded, source, anchor);
    if (target == NULL && c->status == UAR_OK)
        compiler_refuse(c, UAR_E_SCHEMA, reference->at, "names nothing that is in this schema");
    return target;
}
