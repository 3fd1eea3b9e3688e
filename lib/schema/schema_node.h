/*
 * The compiled form of a schema, and how places in a document are written. Internal to the schema files of this folder.
 */
#ifndef UAR_LIB_SCHEMA_NODE_H
#define UAR_LIB_SCHEMA_NODE_H

#include "base/arena.h"
#include "base/map.h"
#include "schema/number.h"
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

/* What is said about one property: by `properties`, by `required`, or by both. */
typedef struct schema_member {
    const schema_node *node; /* NULL: not among `properties` */
    bool is_required;
} schema_member;

struct schema_node {
    bool rejects_all;                                          /* the schema `false` */
    unsigned types;                                            /* set of schema_type; 0: any */
    map members;                                               /* name to schema_member, in the order of the document */
    size_t required;                                           /* members that are required */
    const schema_node *additional;                             /* NULL: any */
    const schema_node *items;                                  /* NULL: any */
    const cJSON *choices;                                      /* the array of `enum`, or NULL */
    const cJSON *constant;                                     /* NULL: none */
    const cJSON *minimum, *maximum, *above, *below, *multiple; /* number nodes, or NULL */
    uint64_t min_length, max_length;                           /* code points */
    uint64_t min_items, max_items;
    uint64_t min_properties, max_properties;
};

struct schema {
    const uar_allocator *alloc;
    arena memory;       /* holds all nodes and copies */
    uar_allocator door; /* the arena as an allocator, for maps */
    const schema_node *root;
};

/* A place in a document: a chain from the innermost step to the top level (NULL). */
typedef struct schema_path {
    const struct schema_path *parent;
    uar_str key;
    size_t index; /* if key is absent */
} schema_path;

/* One line of text that grows up to its end and is cut there. */
typedef struct schema_line {
    char text[512];
    size_t len;
    bool is_full;
} schema_line;

void schema_line_add(schema_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* At most `max` bytes of a text, cut at a character. */
void schema_line_text(schema_line *line, uar_str text, size_t max);
/* The JSON pointer, cut if very long; "top level" for the whole document. */
void schema_line_path(schema_line *line, const schema_path *at);
/* A value as JSON in short: objects and arrays by their brackets only. */
void schema_line_value(schema_line *line, const cJSON *value);

/* Equal as JSON values: numbers by value, members in any order. */
bool schema_equal(const cJSON *a, const cJSON *b);
/* The set of schema_type that a value belongs to. */
unsigned schema_types_of(const cJSON *value);

#endif
