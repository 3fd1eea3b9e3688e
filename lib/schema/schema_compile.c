/*
 * From a schema document to its compiled form.
 * Owns the keyword table: a keyword that isn't there is refused. Invariant: a compiled schema holds no pointer into the
 * document it was made from. Recursion is bounded by the depth that json_read allows.
 */
#include <assert.h>

#include "base/error.h"
#include "base/str.h"
#include "schema/schema_node.h"

typedef struct compiler {
    schema *made;
    uar_error *err;
    uar_status status; /* the first fault */
} compiler;

typedef struct keyword keyword;

/* Reads the value of a keyword into the node; false after a fault. */
typedef bool (*keyword_fn)(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at);

struct keyword {
    const char *name;
    keyword_fn take; /* NULL: known to the standard, but can't be checked here */
    size_t field;    /* offset in schema_node, for the functions that fill one field */
};

static const schema_node *compile_node(compiler *c, const cJSON *document, const schema_path *at);

static bool out_of_memory(compiler *c) {
    c->status = error_plain(c->err, UAR_E_NOMEM);
    return false;
}

/* `"minLength" must be ... (at /properties/city/minLength)`: the name first, because long paths are cut. */
static bool refuse(compiler *c, uar_status status, const schema_path *at, const char *fault) {
    schema_line line = { .len = 0 };
    if (at == NULL)
        schema_line_add(&line, "the schema");
    else if (at->key.ptr != NULL) {
        schema_line_add(&line, "\"");
        schema_line_text(&line, at->key, 64);
        schema_line_add(&line, "\"");
    } else
        schema_line_add(&line, "item %zu", at->index);
    schema_line_add(&line, " %s (at ", fault);
    schema_line_path(&line, at);
    schema_line_add(&line, ")");
    c->status = error_set(c->err, status, "%s", line.text);
    return false;
}

static bool malformed(compiler *c, const schema_path *at, const char *must) {
    return refuse(c, UAR_E_SCHEMA, at, must);
}

/* Linked forwards only: nothing here walks back. */
static cJSON *copy_node(arena *memory, const cJSON *from) {
    cJSON *copy = arena_zeroed(memory, 1, sizeof *copy);
    if (copy == NULL) return NULL;
    copy->type = from->type & 0xFF;
    copy->valueint = from->valueint;
    copy->valuedouble = from->valuedouble;
    copy->valuestring = (char *)(uintptr_t)arena_str(memory, uar_str_of(from->valuestring)).ptr;
    copy->string = (char *)(uintptr_t)arena_str(memory, uar_str_of(from->string)).ptr;
    if ((from->valuestring != NULL && copy->valuestring == NULL) || (from->string != NULL && copy->string == NULL))
        return NULL;
    cJSON *last = NULL;
    for (const cJSON *child = from->child; child != NULL; child = child->next) {
        cJSON *item = copy_node(memory, child);
        if (item == NULL) return NULL;
        if (last != NULL)
            last->next = item;
        else
            copy->child = item;
        last = item;
    }
    return copy;
}

/* Put a pointer into the node's field that the keyword names. */
static void set_field(schema_node *node, const keyword *k, const void *value, size_t size) {
    assert(k->field + size <= sizeof *node);
    memcpy((char *)node + k->field, value, size);
}

static bool take_copy(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)at;
    const cJSON *copy = copy_node(&c->made->memory, value);
    if (copy == NULL) return out_of_memory(c);
    set_field(node, k, &copy, sizeof copy);
    return true;
}

static bool take_choices(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    if (!cJSON_IsArray(value)) return malformed(c, at, "must be an array");
    return take_copy(c, node, k, value, at);
}

static bool take_number(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    if (!cJSON_IsNumber(value)) return malformed(c, at, "must be a number");
    return take_copy(c, node, k, value, at);
}

static bool take_multiple(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    if (!cJSON_IsNumber(value)) return malformed(c, at, "must be a number");
    number n = number_of(value);
    if (n.count == 0 || n.is_negative) return malformed(c, at, "must be greater than zero");
    if (n.count > NUMBER_DIVISOR_DIGITS)
        return refuse(c, UAR_E_UNSUPPORTED, at, "can't be checked with more than 18 significant digits");
    return take_copy(c, node, k, value, at);
}

static bool take_count(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    const char *must = "must be a whole number that is not negative";
    if (!cJSON_IsNumber(value)) return malformed(c, at, must);
    number n = number_of(value);
    if (!number_is_integer(&n) || n.is_negative) return malformed(c, at, must);
    uint64_t count = number_clamped(&n);
    set_field(node, k, &count, sizeof count);
    return true;
}

static bool take_schema(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    const schema_node *inner = compile_node(c, value, at);
    if (inner == NULL) return false;
    set_field(node, k, &inner, sizeof inner);
    return true;
}

static unsigned type_named(const cJSON *name) {
    if (!cJSON_IsString(name)) return 0;
#define SCHEMA_TYPE_NAMED(type, bit, json) \
    if (strcmp(name->valuestring, json) == 0) return SCHEMA_##type;
    SCHEMA_TYPES(SCHEMA_TYPE_NAMED)
#undef SCHEMA_TYPE_NAMED
    return 0;
}

static bool take_type(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)k;
    const char *must = "must be the name of a type or an array of different ones";
    const cJSON *name = cJSON_IsArray(value) ? value->child : value;
    if (name == NULL) return malformed(c, at, must);
    for (; name != NULL; name = cJSON_IsArray(value) ? name->next : NULL) {
        unsigned type = type_named(name);
        if (type == 0 || (node->types & type) != 0) return malformed(c, at, must);
        node->types |= type;
    }
    return true;
}

/* The member of this name, made if it isn't there; NULL: out of memory. */
static schema_member *member_of(compiler *c, schema_node *node, uar_str name) {
    schema_member *member = map_get(&node->members, name);
    if (member != NULL) return member;
    member = arena_zeroed(&c->made->memory, 1, sizeof *member);
    if (member == NULL || map_put(&node->members, name, member) != UAR_OK) return NULL;
    return member;
}

static bool take_properties(compiler *c, schema_node *node, const keyword *k, const cJSON *value,
                            const schema_path *at) {
    (void)k;
    if (!cJSON_IsObject(value)) return malformed(c, at, "must be an object of schemas");
    for (const cJSON *property = value->child; property != NULL; property = property->next) {
        schema_path inner = { .parent = at, .key = uar_str_of(property->string) };
        schema_member *member = member_of(c, node, inner.key);
        if (member == NULL) return out_of_memory(c);
        member->node = compile_node(c, property, &inner);
        if (member->node == NULL) return false;
    }
    return true;
}

static bool take_required(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)k;
    const char *must = "must be an array of different names";
    if (!cJSON_IsArray(value)) return malformed(c, at, must);
    for (const cJSON *name = value->child; name != NULL; name = name->next) {
        if (!cJSON_IsString(name)) return malformed(c, at, must);
        schema_member *member = member_of(c, node, uar_str_of(name->valuestring));
        if (member == NULL) return out_of_memory(c);
        if (member->is_required) return malformed(c, at, must);
        member->is_required = true;
        node->required++;
    }
    return true;
}

/* Annotations: their values are looked at only as far as the standard pins them. */

static bool pass_any(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)c, (void)node, (void)k, (void)value, (void)at;
    return true;
}

static bool pass_text(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)node, (void)k;
    return cJSON_IsString(value) || malformed(c, at, "must be a string");
}

static bool pass_flag(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)node, (void)k;
    return cJSON_IsBool(value) || malformed(c, at, "must be true or false");
}

static bool pass_array(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)node, (void)k;
    return cJSON_IsArray(value) || malformed(c, at, "must be an array");
}

static bool pass_object(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    (void)node, (void)k;
    return cJSON_IsObject(value) || malformed(c, at, "must be an object");
}

/* Dialects in which the keywords of the table mean the same. Others could turn any of them off or round. */
static bool take_dialect(compiler *c, schema_node *node, const keyword *k, const cJSON *value, const schema_path *at) {
    static const char *const known[] = { "draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema",
                                         "draft-06/schema", "schema" };
    if (!pass_text(c, node, k, value, at)) return false;
    const char *name = value->valuestring;
    if (strncmp(name, "http://", 7) == 0)
        name += 7;
    else if (strncmp(name, "https://", 8) == 0)
        name += 8;
    const char *site = "json-schema.org/";
    if (strncmp(name, site, strlen(site)) == 0) {
        name += strlen(site);
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            size_t len = strlen(known[i]);
            if (strncmp(name, known[i], len) == 0 && (name[len] == '\0' || strcmp(name + len, "#") == 0)) return true;
        }
    }
    return refuse(c, UAR_E_UNSUPPORTED, at, "names a dialect that can't be checked");
}

#define FIELD(name) offsetof(schema_node, name)

static const keyword keywords[] = {
    { "type", take_type, 0 },
    { "properties", take_properties, 0 },
    { "required", take_required, 0 },
    { "additionalProperties", take_schema, FIELD(additional) },
    { "items", take_schema, FIELD(items) },
    { "enum", take_choices, FIELD(choices) },
    { "const", take_copy, FIELD(constant) },
    { "minimum", take_number, FIELD(minimum) },
    { "maximum", take_number, FIELD(maximum) },
    { "exclusiveMinimum", take_number, FIELD(above) },
    { "exclusiveMaximum", take_number, FIELD(below) },
    { "multipleOf", take_multiple, FIELD(multiple) },
    { "minLength", take_count, FIELD(min_length) },
    { "maxLength", take_count, FIELD(max_length) },
    { "minItems", take_count, FIELD(min_items) },
    { "maxItems", take_count, FIELD(max_items) },
    { "minProperties", take_count, FIELD(min_properties) },
    { "maxProperties", take_count, FIELD(max_properties) },
    { "$schema", take_dialect, 0 },
    { "$id", pass_text, 0 },
    { "$anchor", pass_text, 0 },
    { "$dynamicAnchor", pass_text, 0 },
    { "$comment", pass_text, 0 },
    { "$defs", pass_object, 0 },
    { "definitions", pass_object, 0 },
    { "title", pass_text, 0 },
    { "description", pass_text, 0 },
    { "default", pass_any, 0 },
    { "examples", pass_array, 0 },
    { "deprecated", pass_flag, 0 },
    { "readOnly", pass_flag, 0 },
    { "writeOnly", pass_flag, 0 },
    { "format", pass_text, 0 },
    { "contentEncoding", pass_text, 0 },
    { "contentMediaType", pass_text, 0 },
    { "contentSchema", pass_any, 0 },
    { "$ref", NULL, 0 },
    { "$dynamicRef", NULL, 0 },
    { "$vocabulary", NULL, 0 },
    { "allOf", NULL, 0 },
    { "anyOf", NULL, 0 },
    { "oneOf", NULL, 0 },
    { "not", NULL, 0 },
    { "if", NULL, 0 },
    { "then", NULL, 0 },
    { "else", NULL, 0 },
    { "dependentSchemas", NULL, 0 },
    { "dependentRequired", NULL, 0 },
    { "prefixItems", NULL, 0 },
    { "contains", NULL, 0 },
    { "minContains", NULL, 0 },
    { "maxContains", NULL, 0 },
    { "uniqueItems", NULL, 0 },
    { "pattern", NULL, 0 },
    { "patternProperties", NULL, 0 },
    { "propertyNames", NULL, 0 },
    { "unevaluatedItems", NULL, 0 },
    { "unevaluatedProperties", NULL, 0 },
};

static const keyword *keyword_named(const char *name) {
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(keywords[i].name, name) == 0) return &keywords[i];
    return NULL;
}

static bool take_keyword(compiler *c, schema_node *node, const cJSON *value, const schema_path *at) {
    const keyword *k = keyword_named(value->string);
    if (k == NULL) {
        if (strncmp(value->string, "x-", 2) == 0) return true;
        return refuse(c, UAR_E_UNSUPPORTED, at, "is not a keyword that is known here");
    }
    if (k->take == NULL) return refuse(c, UAR_E_UNSUPPORTED, at, "is a keyword that can't be checked");
    return k->take(c, node, k, value, at);
}

static const schema_node *compile_node(compiler *c, const cJSON *document, const schema_path *at) {
    if (!cJSON_IsObject(document) && !cJSON_IsBool(document)) {
        malformed(c, at, "must be a schema: an object, true or false");
        return NULL;
    }
    schema_node *node = arena_zeroed(&c->made->memory, 1, sizeof *node);
    if (node == NULL) {
        out_of_memory(c);
        return NULL;
    }
    map_init(&node->members, &c->made->door);
    node->max_length = node->max_items = node->max_properties = UINT64_MAX;
    node->rejects_all = cJSON_IsFalse(document);
    for (const cJSON *value = document->child; value != NULL; value = value->next) {
        schema_path inner = { .parent = at, .key = uar_str_of(value->string) };
        if (!take_keyword(c, node, value, &inner)) return NULL;
    }
    return node;
}

static void *door_alloc(void *ctx, size_t size) {
    return arena_alloc(ctx, size);
}

static void door_release(void *ctx, void *ptr) {
    (void)ctx, (void)ptr; /* goes with the arena */
}

uar_status schema_compile(schema **out, const uar_allocator *a, const cJSON *document, uar_error *err) {
    assert(out != NULL && a != NULL && document != NULL);
    schema *made = ALLOC_NEW(a, schema);
    if (made == NULL) return error_plain(err, UAR_E_NOMEM);
    made->alloc = a;
    arena_init(&made->memory, a);
    made->door = (uar_allocator){
        .struct_size = UAR_ALLOCATOR_INIT, .ctx = &made->memory, .alloc = door_alloc, .release = door_release
    };
    compiler c = { .made = made, .err = err };
    made->root = compile_node(&c, document, NULL);
    if (made->root == NULL) {
        schema_free(made);
        assert(c.status != UAR_OK);
        return c.status;
    }
    *out = made;
    return UAR_OK;
}

uar_status schema_compile_text(schema **out, const uar_allocator *a, uar_str text, size_t max, uar_error *err) {
    assert(out != NULL && a != NULL);
    cJSON *document = NULL;
    uar_status status = json_read(&document, a, text, max, err);
    if (status == UAR_OK) status = schema_compile(out, a, document, err);
    json_free(a, document);
    return status;
}

/* False if type, enum or const leave no room for an object. */
static bool allows_objects(const schema_node *node) {
    if (node->types != 0 && (node->types & SCHEMA_OBJECT) == 0) return false;
    if (node->constant != NULL && !cJSON_IsObject(node->constant)) return false;
    if (node->choices == NULL) return true;
    for (const cJSON *choice = node->choices->child; choice != NULL; choice = choice->next)
        if (cJSON_IsObject(choice)) return true;
    return false;
}

uar_status schema_compile_tool(schema **out, const uar_allocator *a, const cJSON *document, uar_error *err) {
    assert(out != NULL && a != NULL && document != NULL);
    if (!cJSON_IsObject(document)) return error_set(err, UAR_E_SCHEMA, "the schema of a tool must be a JSON object");
    schema *made = NULL;
    uar_status status = schema_compile(&made, a, document, err);
    if (status != UAR_OK) return status;
    if (!allows_objects(made->root)) {
        schema_free(made);
        return error_set(err, UAR_E_SCHEMA, "the schema of a tool must accept an object at its top level");
    }
    *out = made;
    return UAR_OK;
}

void schema_free(schema *s) {
    if (s == NULL) return;
    arena_dispose(&s->memory);
    alloc_free(s->alloc, s);
}
