/*
 * A check while it runs: its budget, its line of faults, and what the rules need of each other. Internal to the files
 * schema_check.c, schema_items.c and schema_members.c.
 *
 * Every rule returns whether the value passes. While the line has room, rules go on behind a fault so that a message names
 * several; a full line (or one that is held shut) makes them stop at the first. Once `status` is set the answer of every
 * rule is false and means nothing.
 */
#ifndef UAR_LIB_SCHEMA_CHECKER_H
#define UAR_LIB_SCHEMA_CHECKER_H

#include "schema/schema_marks.h"
#include "schema/schema_node.h"

/* The schema documents in use, from the innermost. */
typedef struct scope {
    const struct scope *parent;
    const schema_resource *resource;
} scope;

typedef struct checker {
    const schema *schema;
    schema_line line;  /* the faults so far */
    bool is_separated; /* nothing needs to stand between the line so far and the next fault */
    uint64_t steps;    /* that are left */
    unsigned depth;
    const scope *scope;
    void *scratch; /* for patterns, once one was searched for */
    uar_status status;
} checker;

/* Whether rules go on after one that said `ok`. */
bool checker_goes_on(const checker *c, bool ok);
/* Take steps from the budget; false, with `status` set, if it is used up. */
bool checker_spend(checker *c, uint64_t steps);
/* End the check with a status. Returns false. */
bool checker_stop(checker *c, uar_status status);
/* Begin a fault: the caller adds what is wrong to the line that is returned. */
schema_line *checker_fault(checker *c, const schema_path *at);

/*
 * Does a value fit a node? `marks`, if not NULL, are the value's: what a node that fits looked at is added. The value is
 * applied to at a place; faults name it.
 */
bool check_node(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m);
/* The same without adding to the line. */
bool check_quietly(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m);
/* The rules for arrays and objects, but for the unevaluated ones; those come last. */
bool check_items(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m);
bool check_members(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m);
bool check_unevaluated_items(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m);
bool check_unevaluated_members(checker *c, const schema_node *node, const cJSON *value, const schema_path *at,
                               marks *m);

bool check_count(checker *c, const schema_path *at, uint64_t count, uint64_t least, uint64_t most, const char *what);
/* Whether a pattern matches a text; false too when the check was stopped. */
bool check_matches(checker *c, const schema_pattern *p, uar_str text);
void checker_add_types(schema_line *line, unsigned types);

#endif
