/*
 * The compiled form of a schema, and how places in a document are written. Internal to the schema files of this folder.
 *
 * A node holds the rules of one schema object, grouped by what they look at; a group that the schema says nothing about is
 * NULL. References are resolved, so nodes form a graph; no loop of it stays at one value (see schema_refs.c).
 */
#ifndef UAR_LIB_SCHEMA_NODE_H
#define UAR_LIB_SCHEMA_NODE_H

#include "base/arena.h"
#include "base/map.h"
#include "schema/number.h"
#include "schema/pattern.h"
#include "schema/schema.h"

/* X(bit name, bit, JSON name). A whole number is of the types number and integer. */
#define SCHEMA_TYPES(X)      \
    X(STRING, 1, "string")   \
    X(NUMBER, 2, "number")   \
    X(INTEGER, 4, "integer") \
    X(BOOLEAN, 8, "boolean") \
    X(OBJECT, 16, "object")  \
    X(ARRAY, 32, "array")    \
    X(NULL, 64, "null")

typedef enum schema_type {
#define SCHEMA_TYPE_ENUM(name, bit, json) SCHEMA_##name = (bit),
    SCHEMA_TYPES(SCHEMA_TYPE_ENUM)
#undef SCHEMA_TYPE_ENUM
} schema_type;

typedef struct schema_node schema_node;

typedef struct schema_list {
    const schema_node **nodes;
    size_t count;
} schema_list;

typedef struct schema_values {
    const cJSON *choices;  /* the array of `enum`, or NULL */
    const cJSON *constant; /* NULL: none */
} schema_values;

typedef struct schema_numbers {
    const cJSON *minimum, *maximum, *above, *below, *multiple; /* number nodes, or NULL */
} schema_numbers;

/* A pattern as it is compiled and as it was written. */
typedef struct schema_pattern {
    const pattern *compiled;
    uar_str text;
} schema_pattern;

typedef struct schema_texts {
    uint64_t min_length, max_length; /* code points */
    schema_pattern pattern;          /* `compiled` is NULL: none */
} schema_texts;

typedef struct schema_items {
    schema_list prefix;
    const schema_node *rest;        /* `items`: what comes behind the prefix; NULL: any */
    const schema_node *contains;    /* NULL: none */
    const schema_node *unevaluated; /* NULL: any */
    uint64_t min_contains, max_contains;
    uint64_t min_items, max_items;
    bool is_unique;
} schema_items;

/* What is said about one property: by `properties`, by `required`, or by both. */
typedef struct schema_member {
    const schema_node *node; /* NULL: not among `properties` */
    bool is_required;
} schema_member;

/* What must hold once a property is there. */
typedef struct schema_dependent {
    const cJSON *required;   /* an array of names, or NULL */
    const schema_node *node; /* or NULL */
} schema_dependent;

/* What is said about the properties whose names match. */
typedef struct schema_rule {
    struct schema_rule *next;
    schema_pattern pattern;
    const schema_node *node;
} schema_rule;

typedef struct schema_members {
    map by_name;     /* name to schema_member, in the order of the document */
    size_t required; /* members that are required */
    schema_rule *rules, *last_rule;
    const schema_node *additional;  /* NULL: any */
    const schema_node *names;       /* NULL: any */
    const schema_node *unevaluated; /* NULL: any */
    map dependents;                 /* name to schema_dependent */
    uint64_t min_properties, max_properties;
} schema_members;

/* `$dynamicRef`: the outermost schema document in use that has the anchor decides. */
typedef struct schema_dynamic {
    const schema_node *node; /* if none has it */
    uar_str anchor;
} schema_dynamic;

typedef struct schema_logic {
    const schema_node *ref;
    const schema_dynamic *dynamic;
    schema_list all, any, one;
    const schema_node *none; /* `not` */
    const schema_node *condition, *then, *otherwise;
} schema_logic;

/* A schema document inside the text: the whole, or a part with an `$id` of its own. */
typedef struct schema_resource {
    map dynamics; /* dynamic anchor to schema_node; those that are asked for */
} schema_resource;

struct schema_node {
    size_t number;             /* from 1, in the order of compilation; 0: one of the two below */
    bool rejects_all;          /* the schema `false` */
    bool wants_marks;          /* has `unevaluatedItems` or `unevaluatedProperties` */
    unsigned types;            /* set of schema_type; 0: any */
    schema_resource *resource; /* NULL for `true` and `false` */
    schema_values *values;
    schema_numbers *numbers;
    schema_texts *texts;
    schema_items *items;
    schema_members *members;
    schema_logic *logic;
};

struct schema {
    const uar_allocator *alloc;
    arena memory;       /* holds all nodes and copies */
    uar_allocator door; /* the arena as an allocator, for maps */
    const schema_node *root;
    size_t scratch; /* bytes that the search of any of its patterns needs */
};

/* A place in a document: a chain from the innermost step to the top level (NULL). */
typedef struct schema_path {
    const struct schema_path *parent;
    uar_str key;
    size_t index;      /* if key is absent */
    bool is_reference; /* the key is a reference that led here, written as it is: `#/$defs/city` */
} schema_path;

/* One line of text that grows up to its end and is cut there. */
typedef struct schema_line {
    char text[512];
    size_t len;
    bool is_full; /* nothing more is added */
} schema_line;

void schema_line_add(schema_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* At most `max` bytes of a text, cut at a character. */
void schema_line_text(schema_line *line, uar_str text, size_t max);
/* The JSON pointer, cut if very long; "top level" for the whole document. */
void schema_line_path(schema_line *line, const schema_path *at);
/* A value as JSON in short: objects and arrays by their brackets only. */
void schema_line_value(schema_line *line, const cJSON *value);

/*
 * Equal as JSON values: numbers by value, members in any order. `steps` is a budget: when it is used up it is 0 and the
 * answer means nothing.
 */
bool schema_equal(const cJSON *a, const cJSON *b, uint64_t *steps);
/* Bytes of text that are looked at for one step of a budget. */
#define SCHEMA_STEP_BYTES 64
/* The steps that looking at each part of a value once takes. */
uint64_t schema_weight(const cJSON *value);
/* The same for values that are equal, whatever the order of members and the writing of numbers. */
uint64_t schema_hash(const cJSON *value, uint64_t seed);
/* The set of schema_type that a value belongs to. */
unsigned schema_types_of(const cJSON *value);

#endif
