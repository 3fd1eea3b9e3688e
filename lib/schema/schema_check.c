/*
 * Checking a value against a compiled schema.
 * Owns nothing and allocates nothing; the walk ends early once the message has no room for more faults.
 * Recursion is bounded by the depth that json_read allows.
 */
#include <assert.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "schema/schema_node.h"

typedef struct checker {
    schema_line line; /* the faults so far */
    bool has_fault;
    bool wants_text; /* false: only whether it passes is asked */
} checker;

static bool is_over(const checker *c) {
    return c->has_fault && (!c->wants_text || c->line.len >= sizeof((uar_error *)0)->message);
}

/* Begin a fault: the caller adds what is wrong to the line that is returned. */
static schema_line *fault(checker *c, const schema_path *at) {
    if (c->has_fault) schema_line_add(&c->line, "; ");
    c->has_fault = true;
    schema_line_path(&c->line, at);
    schema_line_add(&c->line, ": ");
    return &c->line;
}

static void add_types(schema_line *line, unsigned types) {
    const char *before = "";
#define SCHEMA_TYPE_ADD(name, bit, json)             \
    if ((types & SCHEMA_##name) != 0) {              \
        schema_line_add(line, "%s%s", before, json); \
        before = " or ";                             \
    }
    SCHEMA_TYPES(SCHEMA_TYPE_ADD)
#undef SCHEMA_TYPE_ADD
}

static bool check_type(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    unsigned types = schema_types_of(value);
    if (node->types == 0 || (node->types & types) != 0) return true;
    schema_line *line = fault(c, at);
    schema_line_add(line, "expected ");
    add_types(line, node->types);
    schema_line_add(line, ", got ");
    if ((node->types & SCHEMA_INTEGER) != 0 && (types & SCHEMA_NUMBER) != 0)
        schema_line_value(line, value);
    else
        add_types(line, types & ~(unsigned)SCHEMA_INTEGER);
    return false;
}

static void check_choices(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    for (const cJSON *choice = node->choices->child; choice != NULL; choice = choice->next)
        if (schema_equal(choice, value)) return;
    schema_line *line = fault(c, at);
    if (node->choices->child == NULL) {
        schema_line_add(line, "no value is allowed here");
        return;
    }
    schema_line_add(line, "got ");
    schema_line_value(line, value);
    schema_line_add(line, ", expected one of");
    const char *before = " ";
    for (const cJSON *choice = node->choices->child; choice != NULL && !line->is_full; choice = choice->next) {
        schema_line_add(line, "%s", before);
        schema_line_value(line, choice);
        before = ", ";
    }
}

static void check_constant(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    if (schema_equal(node->constant, value)) return;
    schema_line *line = fault(c, at);
    schema_line_add(line, "expected exactly ");
    schema_line_value(line, node->constant);
    schema_line_add(line, ", got ");
    schema_line_value(line, value);
}

static void number_fault(checker *c, const cJSON *value, const schema_path *at, const char *must, const cJSON *bound) {
    schema_line *line = fault(c, at);
    schema_line_add(line, "must be %s ", must);
    schema_line_value(line, bound);
    schema_line_add(line, ", is ");
    schema_line_value(line, value);
}

static void check_number(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    const struct {
        const cJSON *bound;
        int low, high; /* what number_compare(value, bound) may say */
        const char *must;
    } rules[] = {
        { node->minimum, 0, 1, "at least" },
        { node->maximum, -1, 0, "at most" },
        { node->above, 1, 1, "greater than" },
        { node->below, -1, -1, "less than" },
    };
    number n = number_of(value);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].bound == NULL) continue;
        number bound = number_of(rules[i].bound);
        int order = number_compare(&n, &bound);
        if (order < rules[i].low || order > rules[i].high) number_fault(c, value, at, rules[i].must, rules[i].bound);
    }
    if (node->multiple == NULL) return;
    number divisor = number_of(node->multiple);
    if (!number_is_multiple(&n, &divisor)) number_fault(c, value, at, "a multiple of", node->multiple);
}

static void check_count(checker *c, const schema_path *at, uint64_t count, uint64_t least, uint64_t most,
                        const char *what) {
    if (count >= least && count <= most) return;
    schema_line_add(fault(c, at), "must have at %s %" PRIu64 " %s, has %" PRIu64, count < least ? "least" : "most",
                    count < least ? least : most, what, count);
}

static void check_node(checker *c, const schema_node *node, const cJSON *value, const schema_path *at);

static void check_array(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    size_t count = 0;
    for (const cJSON *item = value->child; item != NULL; item = item->next, count++) {
        schema_path inner = { .parent = at, .index = count };
        if (node->items != NULL && !is_over(c)) check_node(c, node->items, item, &inner);
    }
    check_count(c, at, count, node->min_items, node->max_items, "items");
}

static void unknown_property(checker *c, const schema_node *node, const schema_path *at) {
    schema_line *line = fault(c, at);
    schema_line_add(line, "unknown property");
    const char *before = "; known are ";
    for (map_entry *e = map_next(&node->members, NULL); e != NULL && !line->is_full; e = map_next(&node->members, e)) {
        const schema_member *member = map_value(e);
        if (member->node == NULL) continue;
        schema_line_add(line, "%s\"", before);
        schema_line_text(line, map_key(e), 64);
        schema_line_add(line, "\"");
        before = ", ";
    }
}

/* Only after the count has shown that some are missing: looking each of them up is slow. */
static void missing_properties(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    for (map_entry *e = map_next(&node->members, NULL); e != NULL && !is_over(c); e = map_next(&node->members, e)) {
        const schema_member *member = map_value(e);
        uar_str name = map_key(e);
        const cJSON *property = value->child;
        while (member->is_required && property != NULL && !str_is(name, property->string))
            property = property->next;
        if (!member->is_required || property != NULL) continue;
        schema_line *line = fault(c, at);
        schema_line_add(line, "missing property \"");
        schema_line_text(line, name, 64);
        schema_line_add(line, "\"");
        if (member->node == NULL || member->node->types == 0) continue;
        schema_line_add(line, " (");
        add_types(line, member->node->types);
        schema_line_add(line, ")");
    }
}

static void check_object(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    size_t count = 0, required = 0;
    for (const cJSON *property = value->child; property != NULL; property = property->next, count++) {
        schema_path inner = { .parent = at, .key = uar_str_of(property->string) };
        const schema_member *member = map_get(&node->members, inner.key);
        if (member != NULL && member->is_required) required++;
        if (is_over(c)) continue;
        if (member != NULL && member->node != NULL)
            check_node(c, member->node, property, &inner);
        else if (node->additional != NULL && node->additional->rejects_all)
            unknown_property(c, node, &inner);
        else if (node->additional != NULL)
            check_node(c, node->additional, property, &inner);
    }
    if (required < node->required) missing_properties(c, node, value, at);
    check_count(c, at, count, node->min_properties, node->max_properties, "properties");
}

static void check_node(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    if (node->rejects_all) {
        schema_line_add(fault(c, at), "no value is allowed here");
        return;
    }
    if (!check_type(c, node, value, at)) return;
    if (node->choices != NULL) check_choices(c, node, value, at);
    if (node->constant != NULL) check_constant(c, node, value, at);
    switch (value->type & 0xFF) {
    case cJSON_Number: check_number(c, node, value, at); break;
    case cJSON_String:
        check_count(c, at, utf8_length(uar_str_of(value->valuestring)), node->min_length, node->max_length,
                    "characters");
        break;
    case cJSON_Array: check_array(c, node, value, at); break;
    case cJSON_Object: check_object(c, node, value, at); break;
    default: break;
    }
}

uar_status schema_check(const schema *s, const cJSON *value, uar_error *err) {
    assert(s != NULL && value != NULL);
    checker c = { .wants_text = err != NULL };
    check_node(&c, s->root, value, NULL);
    return c.has_fault ? error_set(err, UAR_E_SCHEMA, "%s", c.line.text) : UAR_OK;
}
