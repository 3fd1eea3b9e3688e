/*
 * From a schema document to its compiled form.
 * Owns the keyword table: a keyword that isn't there is an annotation. Invariant: a compiled schema holds no pointer into
 * the document it was made from. Recursion is bounded by the depth that json_read allows.
 */
#include <assert.h>
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "schema/schema_compiler.h"

enum { PATTERNS_MOST = 200000, REFERENCES_MOST = 10000 };

/* The schemas `true` and `false`. */
static const schema_node accepts_all = { .number = 0 };
static const schema_node rejects_any = { .rejects_all = true };

/* A keyword of a schema, with the node that its rule goes to. */
typedef struct site {
    schema_node *node;
    schema_source *source;
    const cJSON *value;
    const schema_path *at;
} site;

typedef struct keyword keyword;

/* Takes the value of a keyword into the node; false after a fault. */
typedef bool (*keyword_fn)(compiler *c, const site *s, const keyword *k);

typedef enum group { VALUES, NUMBERS, TEXTS, ITEMS, MEMBERS, LOGIC } group;

struct keyword {
    const char *name;
    keyword_fn take;
    group group;  /* where the rule goes, for the functions that fill one field */
    size_t field; /* offset in the struct of the group */
};

bool compiler_no_memory(compiler *c) {
    c->status = error_plain(c->err, UAR_E_NOMEM);
    return false;
}

bool compiler_refuse(compiler *c, uar_status status, const schema_path *at, const char *fault) {
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
    return compiler_refuse(c, UAR_E_SCHEMA, at, must);
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

/* The group of a node, made when its first rule comes. NULL: out of memory. */
static void *group_of(compiler *c, schema_node *node, group which) {
    arena *memory = &c->made->memory;
    switch (which) {
    case VALUES:
        if (node->values == NULL) node->values = arena_zeroed(memory, 1, sizeof *node->values);
        return node->values;
    case NUMBERS:
        if (node->numbers == NULL) node->numbers = arena_zeroed(memory, 1, sizeof *node->numbers);
        return node->numbers;
    case TEXTS:
        if (node->texts != NULL || (node->texts = arena_zeroed(memory, 1, sizeof *node->texts)) == NULL)
            return node->texts;
        node->texts->max_length = UINT64_MAX;
        return node->texts;
    case ITEMS:
        if (node->items != NULL || (node->items = arena_zeroed(memory, 1, sizeof *node->items)) == NULL)
            return node->items;
        node->items->min_contains = 1;
        node->items->max_items = node->items->max_contains = UINT64_MAX;
        return node->items;
    case MEMBERS:
        if (node->members != NULL || (node->members = arena_zeroed(memory, 1, sizeof *node->members)) == NULL)
            return node->members;
        map_init(&node->members->by_name, &c->made->door);
        map_init(&node->members->dependents, &c->made->door);
        node->members->max_properties = UINT64_MAX;
        return node->members;
    case LOGIC: break;
    }
    if (node->logic == NULL) node->logic = arena_zeroed(memory, 1, sizeof *node->logic);
    return node->logic;
}

/* Put a value into the field that the keyword names. */
static bool set_field(compiler *c, const site *s, const keyword *k, const void *value, size_t size) {
    char *fields = group_of(c, s->node, k->group);
    if (fields == NULL) return compiler_no_memory(c);
    memcpy(fields + k->field, value, size);
    return true;
}

static bool take_copy(compiler *c, const site *s, const keyword *k) {
    const cJSON *copy = copy_node(&c->made->memory, s->value);
    if (copy == NULL) return compiler_no_memory(c);
    return set_field(c, s, k, &copy, sizeof copy);
}

static bool take_choices(compiler *c, const site *s, const keyword *k) {
    if (!cJSON_IsArray(s->value)) return malformed(c, s->at, "must be an array");
    return take_copy(c, s, k);
}

static bool take_number(compiler *c, const site *s, const keyword *k) {
    if (!cJSON_IsNumber(s->value)) return malformed(c, s->at, "must be a number");
    return take_copy(c, s, k);
}

static bool take_multiple(compiler *c, const site *s, const keyword *k) {
    if (!cJSON_IsNumber(s->value)) return malformed(c, s->at, "must be a number");
    number n = number_of(s->value);
    if (n.count == 0 || n.is_negative) return malformed(c, s->at, "must be greater than zero");
    if (n.count > NUMBER_DIVISOR_DIGITS)
        return compiler_refuse(c, UAR_E_UNSUPPORTED, s->at, "can't be checked with more than 18 significant digits");
    return take_copy(c, s, k);
}

static bool take_count(compiler *c, const site *s, const keyword *k) {
    const char *must = "must be a whole number that is not negative";
    if (!cJSON_IsNumber(s->value)) return malformed(c, s->at, must);
    number n = number_of(s->value);
    if (!number_is_integer(&n) || n.is_negative) return malformed(c, s->at, must);
    uint64_t count = number_clamped(&n);
    return set_field(c, s, k, &count, sizeof count);
}

static bool take_flag(compiler *c, const site *s, const keyword *k) {
    if (!cJSON_IsBool(s->value)) return malformed(c, s->at, "must be true or false");
    bool flag = cJSON_IsTrue(s->value);
    return set_field(c, s, k, &flag, sizeof flag);
}

static bool take_schema(compiler *c, const site *s, const keyword *k) {
    const schema_node *inner = compiler_node(c, s->value, s->source, s->at);
    return inner != NULL && set_field(c, s, k, &inner, sizeof inner);
}

static bool take_unevaluated(compiler *c, const site *s, const keyword *k) {
    s->node->wants_marks = true;
    return take_schema(c, s, k);
}

static bool take_list(compiler *c, const site *s, const keyword *k) {
    const char *must = "must be an array of schemas that is not empty";
    if (!cJSON_IsArray(s->value) || s->value->child == NULL) return malformed(c, s->at, must);
    schema_list list = { .count = 0 };
    for (const cJSON *item = s->value->child; item != NULL; item = item->next)
        list.count++;
    list.nodes = arena_zeroed(&c->made->memory, list.count, sizeof *list.nodes);
    if (list.nodes == NULL) return compiler_no_memory(c);
    size_t index = 0;
    for (const cJSON *item = s->value->child; item != NULL; item = item->next, index++) {
        schema_path inner = { .parent = s->at, .index = index };
        list.nodes[index] = compiler_node(c, item, s->source, &inner);
        if (list.nodes[index] == NULL) return false;
    }
    return set_field(c, s, k, &list, sizeof list);
}

static unsigned type_named(const cJSON *name) {
    if (!cJSON_IsString(name)) return 0;
#define SCHEMA_TYPE_NAMED(type, bit, json) \
    if (strcmp(name->valuestring, json) == 0) return SCHEMA_##type;
    SCHEMA_TYPES(SCHEMA_TYPE_NAMED)
#undef SCHEMA_TYPE_NAMED
    return 0;
}

static bool take_type(compiler *c, const site *s, const keyword *k) {
    (void)k;
    const char *must = "must be the name of a type or an array of different ones";
    const cJSON *name = cJSON_IsArray(s->value) ? s->value->child : s->value;
    if (name == NULL) return malformed(c, s->at, must);
    for (; name != NULL; name = cJSON_IsArray(s->value) ? name->next : NULL) {
        unsigned type = type_named(name);
        if (type == 0 || (s->node->types & type) != 0) return malformed(c, s->at, must);
        s->node->types |= type;
    }
    return true;
}

/* ---- Properties ---- */

/* What is said about a name in one of the group's maps, made if it isn't there; NULL: out of memory. */
static void *entry_of(compiler *c, map *names, uar_str name, size_t size) {
    void *entry = map_get(names, name);
    if (entry != NULL) return entry;
    entry = arena_zeroed(&c->made->memory, 1, size);
    return entry != NULL && map_put(names, name, entry) == UAR_OK ? entry : NULL;
}

static schema_members *members_of(compiler *c, const site *s) {
    schema_members *members = group_of(c, s->node, MEMBERS);
    if (members == NULL) compiler_no_memory(c);
    return members;
}

static bool take_properties(compiler *c, const site *s, const keyword *k) {
    (void)k;
    if (!cJSON_IsObject(s->value)) return malformed(c, s->at, "must be an object of schemas");
    schema_members *members = members_of(c, s);
    if (members == NULL) return false;
    for (const cJSON *property = s->value->child; property != NULL; property = property->next) {
        schema_path inner = { .parent = s->at, .key = uar_str_of(property->string) };
        schema_member *member = entry_of(c, &members->by_name, inner.key, sizeof *member);
        if (member == NULL) return compiler_no_memory(c);
        member->node = compiler_node(c, property, s->source, &inner);
        if (member->node == NULL) return false;
    }
    return true;
}

static bool take_required(compiler *c, const site *s, const keyword *k) {
    (void)k;
    const char *must = "must be an array of different names";
    if (!cJSON_IsArray(s->value)) return malformed(c, s->at, must);
    schema_members *members = members_of(c, s);
    if (members == NULL) return false;
    for (const cJSON *name = s->value->child; name != NULL; name = name->next) {
        if (!cJSON_IsString(name)) return malformed(c, s->at, must);
        schema_member *member = entry_of(c, &members->by_name, uar_str_of(name->valuestring), sizeof *member);
        if (member == NULL) return compiler_no_memory(c);
        if (member->is_required) return malformed(c, s->at, must);
        member->is_required = true;
        members->required++;
    }
    return true;
}

static bool is_list_of_names(const cJSON *value) {
    if (!cJSON_IsArray(value)) return false;
    for (const cJSON *name = value->child; name != NULL; name = name->next)
        if (!cJSON_IsString(name)) return false;
    return true;
}

/* One member of `dependentRequired`, `dependentSchemas` or, which may be either, of the older `dependencies`. */
static bool take_dependent(compiler *c, const site *s, const cJSON *value, const schema_path *at, bool may_be_list) {
    schema_dependent *dependent = entry_of(c, &s->node->members->dependents, at->key, sizeof *dependent);
    if (dependent == NULL) return compiler_no_memory(c);
    if (may_be_list && cJSON_IsArray(value)) {
        if (!is_list_of_names(value)) return malformed(c, at, "must be an array of names");
        dependent->required = copy_node(&c->made->memory, value);
        return dependent->required != NULL || compiler_no_memory(c);
    }
    dependent->node = compiler_node(c, value, s->source, at);
    return dependent->node != NULL;
}

static bool take_dependents(compiler *c, const site *s, const keyword *k) {
    bool are_lists = strcmp(k->name, "dependentRequired") == 0, are_schemas = strcmp(k->name, "dependentSchemas") == 0;
    if (!cJSON_IsObject(s->value))
        return malformed(c, s->at, are_lists ? "must be an object of arrays of names" : "must be an object of schemas");
    if (members_of(c, s) == NULL) return false;
    for (const cJSON *member = s->value->child; member != NULL; member = member->next) {
        schema_path inner = { .parent = s->at, .key = uar_str_of(member->string) };
        if (are_lists && !cJSON_IsArray(member)) return malformed(c, &inner, "must be an array of names");
        if (!take_dependent(c, s, member, &inner, !are_schemas)) return false;
    }
    return true;
}

/* ---- Patterns ---- */

static bool compile_pattern(compiler *c, schema_pattern *out, uar_str text, const schema_path *at) {
    pattern_fault fault;
    uar_status status = pattern_compile(&out->compiled, &c->made->memory, text, &c->pattern_room, &fault);
    out->text = status == UAR_OK ? arena_str(&c->made->memory, text) : text;
    if (status == UAR_E_NOMEM || out->text.ptr == NULL) return compiler_no_memory(c);
    if (status == UAR_OK) {
        size_t scratch = pattern_scratch(out->compiled);
        if (scratch > c->made->scratch) c->made->scratch = scratch;
        return true;
    }
    char what[192];
    snprintf(what, sizeof what, status == UAR_E_SCHEMA ? "is no regular expression: %s" : "can't be checked: %s",
             fault.text);
    return compiler_refuse(c, status, at, what);
}

static bool take_pattern(compiler *c, const site *s, const keyword *k) {
    if (!cJSON_IsString(s->value)) return malformed(c, s->at, "must be a string");
    schema_pattern taken = { .compiled = NULL };
    return compile_pattern(c, &taken, uar_str_of(s->value->valuestring), s->at) &&
           set_field(c, s, k, &taken, sizeof taken);
}

static bool take_rules(compiler *c, const site *s, const keyword *k) {
    (void)k;
    if (!cJSON_IsObject(s->value)) return malformed(c, s->at, "must be an object of schemas");
    schema_members *members = members_of(c, s);
    if (members == NULL) return false;
    for (const cJSON *member = s->value->child; member != NULL; member = member->next) {
        schema_path inner = { .parent = s->at, .key = uar_str_of(member->string) };
        schema_rule *rule = arena_zeroed(&c->made->memory, 1, sizeof *rule);
        if (rule == NULL) return compiler_no_memory(c);
        if (!compile_pattern(c, &rule->pattern, inner.key, &inner)) return false;
        rule->node = compiler_node(c, member, s->source, &inner);
        if (rule->node == NULL) return false;
        if (members->last_rule != NULL)
            members->last_rule->next = rule;
        else
            members->rules = rule;
        members->last_rule = rule;
    }
    return true;
}

/* ---- References ---- */

/* A copy in scratch memory, so that a fault can still be placed when the reference is resolved. */
static bool keep_path(compiler *c, const schema_path *at, const schema_path **out) {
    *out = NULL;
    if (at == NULL) return true;
    schema_path *copy = arena_alloc(&c->scratch, sizeof *copy);
    if (copy == NULL) return compiler_no_memory(c);
    *copy = *at;
    *out = copy;
    return keep_path(c, at->parent, &copy->parent);
}

static bool take_reference(compiler *c, const site *s, const keyword *k) {
    if (!cJSON_IsString(s->value)) return malformed(c, s->at, "must be a string");
    if (++c->reference_count > REFERENCES_MOST)
        return compiler_refuse(c, UAR_E_UNSUPPORTED, s->at, "is one reference more than the 10000 that are allowed");
    schema_pending *pending = arena_zeroed(&c->scratch, 1, sizeof *pending);
    if (pending == NULL || group_of(c, s->node, LOGIC) == NULL) return compiler_no_memory(c);
    *pending = (schema_pending){ .node = s->node, .text = s->value, .source = s->source };
    pending->is_dynamic = strcmp(k->name, "$dynamicRef") == 0;
    if (!keep_path(c, s->at, &pending->at)) return false;
    if (c->last != NULL)
        c->last->next = pending;
    else
        c->first = pending;
    c->last = pending;
    return true;
}

static bool take_recursive(compiler *c, const site *s, const keyword *k) {
    (void)k;
    return compiler_refuse(c, UAR_E_UNSUPPORTED, s->at, "is a keyword of an older draft that can't be checked");
}

/* ---- Annotations: their values are looked at only as far as the standard pins them ---- */

static bool pass_text(compiler *c, const site *s, const keyword *k) {
    (void)k;
    return cJSON_IsString(s->value) || malformed(c, s->at, "must be a string");
}

static bool pass_flag(compiler *c, const site *s, const keyword *k) {
    (void)k;
    return cJSON_IsBool(s->value) || malformed(c, s->at, "must be true or false");
}

static bool pass_array(compiler *c, const site *s, const keyword *k) {
    (void)k;
    return cJSON_IsArray(s->value) || malformed(c, s->at, "must be an array");
}

static bool pass_object(compiler *c, const site *s, const keyword *k) {
    (void)k;
    return cJSON_IsObject(s->value) || malformed(c, s->at, "must be an object");
}

/* Dialects in which the keywords of the table mean the same. Others could turn any of them off or round. */
static bool take_dialect(compiler *c, const site *s, const keyword *k) {
    static const char *const known[] = { "draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema",
                                         "draft-06/schema", "schema" };
    if (!pass_text(c, s, k)) return false;
    const char *name = s->value->valuestring;
    if (strncmp(name, "http://", 7) == 0)
        name += 7;
    else if (strncmp(name, "https://", 8) == 0)
        name += 8;
    const char *host = "json-schema.org/";
    if (strncmp(name, host, strlen(host)) == 0) {
        name += strlen(host);
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            size_t len = strlen(known[i]);
            if (strncmp(name, known[i], len) == 0 && (name[len] == '\0' || strcmp(name + len, "#") == 0)) return true;
        }
    }
    return compiler_refuse(c, UAR_E_UNSUPPORTED, s->at, "names a dialect that can't be checked");
}

#define FIELD(group, name) group, offsetof(FIELDS_##group, name)
#define FIELDS_VALUES schema_values
#define FIELDS_NUMBERS schema_numbers
#define FIELDS_TEXTS schema_texts
#define FIELDS_ITEMS schema_items
#define FIELDS_MEMBERS schema_members
#define FIELDS_LOGIC schema_logic
#define NO_FIELD VALUES, 0

static const keyword keywords[] = {
    { "type", take_type, NO_FIELD },
    { "properties", take_properties, NO_FIELD },
    { "required", take_required, NO_FIELD },
    { "additionalProperties", take_schema, FIELD(MEMBERS, additional) },
    { "items", take_schema, FIELD(ITEMS, rest) },
    { "enum", take_choices, FIELD(VALUES, choices) },
    { "const", take_copy, FIELD(VALUES, constant) },
    { "$ref", take_reference, NO_FIELD },
    { "$dynamicRef", take_reference, NO_FIELD },
    { "allOf", take_list, FIELD(LOGIC, all) },
    { "anyOf", take_list, FIELD(LOGIC, any) },
    { "oneOf", take_list, FIELD(LOGIC, one) },
    { "not", take_schema, FIELD(LOGIC, none) },
    { "if", take_schema, FIELD(LOGIC, condition) },
    { "then", take_schema, FIELD(LOGIC, then) },
    { "else", take_schema, FIELD(LOGIC, otherwise) },
    { "minimum", take_number, FIELD(NUMBERS, minimum) },
    { "maximum", take_number, FIELD(NUMBERS, maximum) },
    { "exclusiveMinimum", take_number, FIELD(NUMBERS, above) },
    { "exclusiveMaximum", take_number, FIELD(NUMBERS, below) },
    { "multipleOf", take_multiple, FIELD(NUMBERS, multiple) },
    { "minLength", take_count, FIELD(TEXTS, min_length) },
    { "maxLength", take_count, FIELD(TEXTS, max_length) },
    { "pattern", take_pattern, FIELD(TEXTS, pattern) },
    { "prefixItems", take_list, FIELD(ITEMS, prefix) },
    { "contains", take_schema, FIELD(ITEMS, contains) },
    { "minContains", take_count, FIELD(ITEMS, min_contains) },
    { "maxContains", take_count, FIELD(ITEMS, max_contains) },
    { "minItems", take_count, FIELD(ITEMS, min_items) },
    { "maxItems", take_count, FIELD(ITEMS, max_items) },
    { "uniqueItems", take_flag, FIELD(ITEMS, is_unique) },
    { "unevaluatedItems", take_unevaluated, FIELD(ITEMS, unevaluated) },
    { "patternProperties", take_rules, NO_FIELD },
    { "propertyNames", take_schema, FIELD(MEMBERS, names) },
    { "minProperties", take_count, FIELD(MEMBERS, min_properties) },
    { "maxProperties", take_count, FIELD(MEMBERS, max_properties) },
    { "dependentRequired", take_dependents, NO_FIELD },
    { "dependentSchemas", take_dependents, NO_FIELD },
    { "dependencies", take_dependents, NO_FIELD },
    { "unevaluatedProperties", take_unevaluated, FIELD(MEMBERS, unevaluated) },
    { "$schema", take_dialect, NO_FIELD },
    { "$recursiveRef", take_recursive, NO_FIELD },
    { "$id", pass_text, NO_FIELD },
    { "$anchor", pass_text, NO_FIELD },
    { "$dynamicAnchor", pass_text, NO_FIELD },
    { "$comment", pass_text, NO_FIELD },
    { "$defs", pass_object, NO_FIELD },
    { "definitions", pass_object, NO_FIELD },
    { "$vocabulary", pass_object, NO_FIELD },
    { "title", pass_text, NO_FIELD },
    { "description", pass_text, NO_FIELD },
    { "examples", pass_array, NO_FIELD },
    { "deprecated", pass_flag, NO_FIELD },
    { "readOnly", pass_flag, NO_FIELD },
    { "writeOnly", pass_flag, NO_FIELD },
    { "format", pass_text, NO_FIELD },
    { "contentEncoding", pass_text, NO_FIELD },
    { "contentMediaType", pass_text, NO_FIELD },
};

static const keyword *keyword_named(const char *name) {
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(keywords[i].name, name) == 0) return &keywords[i];
    return NULL;
}

static bool take_keywords(compiler *c, schema_node *node, const cJSON *document, schema_source *source,
                          const schema_path *at) {
    bool only_ref = source->is_legacy && json_member(document, "$ref") != NULL;
    for (const cJSON *value = document->child; value != NULL; value = value->next) {
        const keyword *k = keyword_named(value->string);
        if (k == NULL || (only_ref && strcmp(k->name, "$ref") != 0)) continue;
        schema_path inner = { .parent = at, .key = uar_str_of(value->string) };
        site s = { node, source, value, &inner };
        if (!k->take(c, &s, k)) return false;
    }
    return true;
}

const schema_node *compiler_node(compiler *c, const cJSON *document, schema_source *source, const schema_path *at) {
    if (!cJSON_IsObject(document) && !cJSON_IsBool(document)) {
        malformed(c, at, "must be a schema: an object, true or false");
        return NULL;
    }
    if (document->child == NULL) return cJSON_IsFalse(document) ? &rejects_any : &accepts_all;
    schema_node *node = map_get(&c->nodes, compiler_key(&document));
    if (node != NULL) return node;
    node = arena_zeroed(&c->made->memory, 1, sizeof *node);
    if (node == NULL || map_put(&c->nodes, compiler_key(&document), node) != UAR_OK) {
        compiler_no_memory(c);
        return NULL;
    }
    source = source_at(c, document, source);
    node->number = ++c->node_count;
    node->resource = source->made;
    return take_keywords(c, node, document, source, at) ? node : NULL;
}

static void *door_alloc(void *ctx, size_t size) {
    return arena_alloc(ctx, size);
}

static void door_release(void *ctx, void *ptr) {
    (void)ctx, (void)ptr; /* goes with the arena */
}

static uar_allocator door_of(arena *memory) {
    return (uar_allocator){
        .struct_size = UAR_ALLOCATOR_INIT, .ctx = memory, .alloc = door_alloc, .release = door_release
    };
}

static bool compile_whole(compiler *c, const cJSON *document) {
    schema_source *whole = sources_scan(c, document);
    if (whole == NULL) return false;
    c->made->root = compiler_node(c, document, whole, NULL);
    return c->made->root != NULL && refs_resolve(c) && refs_check_progress(c);
}

uar_status schema_compile(schema **out, const uar_allocator *a, const cJSON *document, uar_error *err) {
    assert(out != NULL && a != NULL && document != NULL);
    schema *made = ALLOC_NEW(a, schema);
    if (made == NULL) return error_plain(err, UAR_E_NOMEM);
    made->alloc = a;
    arena_init(&made->memory, a);
    made->door = door_of(&made->memory);
    compiler c = { .made = made, .err = err, .pattern_room = PATTERNS_MOST };
    arena_init(&c.scratch, a);
    c.scratch_door = door_of(&c.scratch);
    map_init(&c.sources, &c.scratch_door);
    map_init(&c.roots, &c.scratch_door);
    map_init(&c.nodes, &c.scratch_door);
    map_init(&c.indexes, &c.scratch_door);
    bool is_made = compile_whole(&c, document);
    arena_dispose(&c.scratch);
    assert(is_made == (c.status == UAR_OK));
    if (is_made)
        *out = made;
    else
        schema_free(made);
    return c.status;
}

uar_status schema_compile_text(schema **out, const uar_allocator *a, uar_str text, size_t max, uar_error *err) {
    assert(out != NULL && a != NULL);
    cJSON *document = NULL;
    uar_status status = json_read(&document, a, text, max, err);
    if (status == UAR_OK) status = schema_compile(out, a, document, err);
    json_free(a, document);
    return status;
}

/* False if type, enum or const leave no room for an object, here or in what must hold as well. */
static bool allows_objects(const schema_node *node) {
    if (node->rejects_all || (node->types != 0 && (node->types & SCHEMA_OBJECT) == 0)) return false;
    const schema_logic *logic = node->logic;
    if (logic != NULL && logic->ref != NULL && !allows_objects(logic->ref)) return false;
    for (size_t i = 0; logic != NULL && i < logic->all.count; i++)
        if (!allows_objects(logic->all.nodes[i])) return false;
    if (node->values == NULL) return true;
    if (node->values->constant != NULL && !cJSON_IsObject(node->values->constant)) return false;
    if (node->values->choices == NULL) return true;
    for (const cJSON *choice = node->values->choices->child; choice != NULL; choice = choice->next)
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
