/*
 * Checking a value against a compiled schema: the budget, the faults, and the rules that aren't about items or properties.
 * Invariants: recursion is bounded by LEVELS_MOST, work by the budget; memory is taken for patterns, for marks and for
 * uniqueItems only, and given back before the answer.
 */
#include <assert.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/utf8.h"
#include "schema/schema_checker.h"

enum { LEVELS_MOST = 256, STEPS_A_WEIGHT = 64 };
#define STEPS_LEAST UINT64_C(10000000)

/* ---- Faults and the budget ---- */

/* What the line was, to go back to. */
typedef struct line_mark {
    size_t len;
    bool is_full, is_separated;
} line_mark;

static line_mark line_mark_of(const checker *c) {
    return (line_mark){ c->line.len, c->line.is_full, c->is_separated };
}

static void line_go_back(checker *c, line_mark mark) {
    c->line.len = mark.len;
    c->line.text[mark.len] = '\0';
    c->line.is_full = mark.is_full;
    c->is_separated = mark.is_separated;
}

/* Nothing is added to the line until it goes back to the mark that is returned. */
static line_mark line_hold(checker *c) {
    line_mark mark = line_mark_of(c);
    c->line.is_full = true;
    return mark;
}

bool checker_goes_on(const checker *c, bool ok) {
    if (c->status != UAR_OK) return false;
    return ok || (!c->line.is_full && c->line.len < sizeof((uar_error *)0)->message);
}

bool checker_stop(checker *c, uar_status status) {
    if (c->status == UAR_OK) c->status = status;
    return false;
}

bool checker_spend(checker *c, uint64_t steps) {
    if (c->status != UAR_OK) return false;
    if (steps >= c->steps) return checker_stop(c, UAR_E_TOO_LARGE);
    c->steps -= steps;
    return true;
}

schema_line *checker_fault(checker *c, const schema_path *at) {
    if (!c->is_separated) schema_line_add(&c->line, "; ");
    c->is_separated = false;
    schema_line_path(&c->line, at);
    schema_line_add(&c->line, ": ");
    return &c->line;
}

void checker_add_types(schema_line *line, unsigned types) {
    const char *before = "";
#define SCHEMA_TYPE_ADD(name, bit, json)             \
    if ((types & SCHEMA_##name) != 0) {              \
        schema_line_add(line, "%s%s", before, json); \
        before = " or ";                             \
    }
    SCHEMA_TYPES(SCHEMA_TYPE_ADD)
#undef SCHEMA_TYPE_ADD
}

/* ---- Values, numbers and texts ---- */

static bool check_type(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    if (node->types == 0) return true;
    unsigned types = schema_types_of(value);
    if ((node->types & types) != 0) return true;
    schema_line *line = checker_fault(c, at);
    schema_line_add(line, "expected ");
    checker_add_types(line, node->types);
    schema_line_add(line, ", got ");
    if ((node->types & SCHEMA_INTEGER) != 0 && (types & SCHEMA_NUMBER) != 0)
        schema_line_value(line, value);
    else
        checker_add_types(line, types & ~(unsigned)SCHEMA_INTEGER);
    return false;
}

static bool are_equal(checker *c, const cJSON *a, const cJSON *b) {
    bool equal = schema_equal(a, b, &c->steps);
    return checker_spend(c, 1) && equal;
}

static bool check_choices(checker *c, const schema_values *values, const cJSON *value, const schema_path *at) {
    for (const cJSON *choice = values->choices->child; choice != NULL; choice = choice->next)
        if (are_equal(c, choice, value)) return true;
    schema_line *line = checker_fault(c, at);
    if (values->choices->child == NULL) {
        schema_line_add(line, "no value is allowed here");
        return false;
    }
    schema_line_add(line, "got ");
    schema_line_value(line, value);
    schema_line_add(line, ", expected one of");
    const char *before = " ";
    for (const cJSON *choice = values->choices->child; choice != NULL && !line->is_full; choice = choice->next) {
        schema_line_add(line, "%s", before);
        schema_line_value(line, choice);
        before = ", ";
    }
    return false;
}

static bool check_constant(checker *c, const schema_values *values, const cJSON *value, const schema_path *at) {
    if (are_equal(c, values->constant, value)) return true;
    schema_line *line = checker_fault(c, at);
    schema_line_add(line, "expected exactly ");
    schema_line_value(line, values->constant);
    schema_line_add(line, ", got ");
    schema_line_value(line, value);
    return false;
}

static bool check_values(checker *c, const schema_node *node, const cJSON *value, const schema_path *at) {
    bool ok = true;
    if (node->values->choices != NULL) ok = check_choices(c, node->values, value, at);
    if (node->values->constant != NULL && checker_goes_on(c, ok)) ok = check_constant(c, node->values, value, at) && ok;
    return ok;
}

static bool number_fault(checker *c, const cJSON *value, const schema_path *at, const char *must, const cJSON *bound) {
    schema_line *line = checker_fault(c, at);
    schema_line_add(line, "must be %s ", must);
    schema_line_value(line, bound);
    schema_line_add(line, ", is ");
    schema_line_value(line, value);
    return false;
}

static bool check_numbers(checker *c, const schema_numbers *numbers, const cJSON *value, const schema_path *at) {
    const struct {
        const cJSON *bound;
        int low, high; /* what number_compare(value, bound) may say */
        const char *must;
    } rules[] = {
        { numbers->minimum, 0, 1, "at least" },
        { numbers->maximum, -1, 0, "at most" },
        { numbers->above, 1, 1, "greater than" },
        { numbers->below, -1, -1, "less than" },
    };
    bool ok = true;
    number n = number_of(value);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && checker_goes_on(c, ok); i++) {
        if (rules[i].bound == NULL) continue;
        number bound = number_of(rules[i].bound);
        int order = number_compare(&n, &bound);
        if (order < rules[i].low || order > rules[i].high)
            ok = number_fault(c, value, at, rules[i].must, rules[i].bound);
    }
    if (numbers->multiple == NULL || !checker_goes_on(c, ok)) return ok;
    number divisor = number_of(numbers->multiple);
    if (!number_is_multiple(&n, &divisor)) ok = number_fault(c, value, at, "a multiple of", numbers->multiple);
    return ok;
}

bool check_count(checker *c, const schema_path *at, uint64_t count, uint64_t least, uint64_t most, const char *what) {
    if (count >= least && count <= most) return true;
    schema_line_add(checker_fault(c, at), "must have at %s %" PRIu64 " %s, has %" PRIu64,
                    count < least ? "least" : "most", count < least ? least : most, what, count);
    return false;
}

bool check_matches(checker *c, const schema_pattern *p, uar_str text) {
    if (!checker_spend(c, 1)) return false;
    if (c->scratch == NULL) c->scratch = alloc_bytes(c->schema->alloc, c->schema->scratch);
    if (c->scratch == NULL) return checker_stop(c, UAR_E_NOMEM);
    pattern_answer answer = pattern_search(p->compiled, text, c->scratch, &c->steps);
    return answer == PATTERN_SPENT ? checker_stop(c, UAR_E_TOO_LARGE) : answer == PATTERN_FOUND;
}

static bool check_texts(checker *c, const schema_texts *texts, const cJSON *value, const schema_path *at) {
    uar_str text = uar_str_of(value->valuestring);
    bool ok = true;
    bool is_counted = texts->min_length > 0 || texts->max_length < UINT64_MAX;
    if (is_counted && !checker_spend(c, text.len / 16)) return false; /* counting is slower than reading */
    if (is_counted) ok = check_count(c, at, utf8_length(text), texts->min_length, texts->max_length, "characters");
    if (texts->pattern.compiled == NULL || !checker_goes_on(c, ok)) return ok;
    if (check_matches(c, &texts->pattern, text)) return ok;
    schema_line *line = checker_fault(c, at);
    schema_line_add(line, "must match the pattern ");
    schema_line_text(line, texts->pattern.text, 100);
    schema_line_add(line, ", is ");
    schema_line_value(line, value);
    return false;
}

/* ---- Schemas in schemas ---- */

bool check_quietly(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    line_mark mark = line_hold(c);
    bool ok = check_node(c, node, value, at, m);
    line_go_back(c, mark);
    return ok;
}

static bool check_all(checker *c, const schema_list *list, const cJSON *value, const schema_path *at, marks *m) {
    bool ok = true;
    for (size_t i = 0; i < list->count && checker_goes_on(c, ok); i++)
        ok = check_node(c, list->nodes[i], value, at, m) && ok;
    return ok;
}

/*
 * How many of a list fit, up to `enough`; the faults of those that don't are added to the line, each behind its number. With
 * marks to make, `anyOf` asks all of them.
 */
static size_t count_fitting(checker *c, const schema_list *list, size_t enough, const cJSON *value,
                            const schema_path *at, marks *m) {
    size_t fitting = 0;
    for (size_t i = 0; i < list->count && fitting < enough && c->status == UAR_OK; i++) {
        schema_line_add(&c->line, i == 0 ? "(%zu) " : "; (%zu) ", i + 1);
        c->is_separated = true;
        if (!check_node(c, list->nodes[i], value, at, m)) continue;
        fitting++;
        c->line.is_full = true; /* what is said from now on is taken back anyway */
    }
    return fitting;
}

static bool check_any(checker *c, const schema_list *list, const cJSON *value, const schema_path *at, marks *m) {
    line_mark mark = line_mark_of(c);
    schema_line_add(checker_fault(c, at), "fits none of %zu alternatives: ", list->count);
    if (count_fitting(c, list, m != NULL ? list->count : 1, value, at, m) == 0) return false;
    line_go_back(c, mark);
    return c->status == UAR_OK;
}

static bool check_one(checker *c, const schema_list *list, const cJSON *value, const schema_path *at, marks *m) {
    line_mark mark = line_mark_of(c);
    schema_line_add(checker_fault(c, at), "fits none of %zu alternatives: ", list->count);
    size_t fitting = count_fitting(c, list, 2, value, at, m);
    if (fitting == 0) return false;
    line_go_back(c, mark);
    if (fitting == 1) return c->status == UAR_OK;
    schema_line_add(checker_fault(c, at), "fits more than one of %zu alternatives, of which only one may fit",
                    list->count);
    return false;
}

static bool check_none(checker *c, const schema_node *none, const cJSON *value, const schema_path *at) {
    if (!check_quietly(c, none, value, at, NULL)) return c->status == UAR_OK;
    schema_line_add(checker_fault(c, at), "fits what is ruled out here");
    return false;
}

static bool check_condition(checker *c, const schema_logic *logic, const cJSON *value, const schema_path *at,
                            marks *m) {
    bool holds = check_quietly(c, logic->condition, value, at, m);
    const schema_node *branch = holds ? logic->then : logic->otherwise;
    if (c->status != UAR_OK) return false;
    return branch == NULL || check_node(c, branch, value, at, m);
}

/* The outermost schema document in use that has the anchor. */
static const schema_node *dynamic_target(checker *c, const schema_dynamic *dynamic) {
    const schema_node *target = dynamic->node;
    if (dynamic->anchor.len == 0) return target;
    for (const scope *s = c->scope; s != NULL && checker_spend(c, 1); s = s->parent) {
        const schema_node *node = map_get(&s->resource->dynamics, dynamic->anchor);
        if (node != NULL) target = node;
    }
    return target;
}

static bool check_logic(checker *c, const schema_logic *logic, const cJSON *value, const schema_path *at, marks *m) {
    bool ok = true;
    if (logic->ref != NULL) ok = check_node(c, logic->ref, value, at, m);
    if (logic->dynamic != NULL && checker_goes_on(c, ok))
        ok = check_node(c, dynamic_target(c, logic->dynamic), value, at, m) && ok;
    if (logic->all.count > 0 && checker_goes_on(c, ok)) ok = check_all(c, &logic->all, value, at, m) && ok;
    if (logic->any.count > 0 && checker_goes_on(c, ok)) ok = check_any(c, &logic->any, value, at, m) && ok;
    if (logic->one.count > 0 && checker_goes_on(c, ok)) ok = check_one(c, &logic->one, value, at, m) && ok;
    if (logic->none != NULL && checker_goes_on(c, ok)) ok = check_none(c, logic->none, value, at) && ok;
    if (logic->condition != NULL && checker_goes_on(c, ok)) ok = check_condition(c, logic, value, at, m) && ok;
    return ok;
}

/* ---- One schema on one value ---- */

static bool check_kind(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    switch (value->type & 0xFF) {
    case cJSON_Number: return node->numbers == NULL || check_numbers(c, node->numbers, value, at);
    case cJSON_String: return node->texts == NULL || check_texts(c, node->texts, value, at);
    case cJSON_Array: return node->items == NULL || check_items(c, node, value, at, m);
    case cJSON_Object: return node->members == NULL || check_members(c, node, value, at, m);
    default: return true;
    }
}

/* These see the marks of everything else, so they come last; where something else failed they'd say nothing of use. */
static bool check_unevaluated(checker *c, const schema_node *node, const cJSON *value, const schema_path *at,
                              marks *m) {
    if (cJSON_IsArray(value) && node->items != NULL && node->items->unevaluated != NULL)
        return check_unevaluated_items(c, node, value, at, m);
    if (cJSON_IsObject(value) && node->members != NULL && node->members->unevaluated != NULL)
        return check_unevaluated_members(c, node, value, at, m);
    return true;
}

static bool check_rules(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    if (!check_type(c, node, value, at)) return false;
    bool ok = node->values == NULL || check_values(c, node, value, at);
    if (checker_goes_on(c, ok)) ok = check_kind(c, node, value, at, m) && ok;
    if (node->logic != NULL && checker_goes_on(c, ok)) ok = check_logic(c, node->logic, value, at, m) && ok;
    return ok && c->status == UAR_OK && (!node->wants_marks || check_unevaluated(c, node, value, at, m));
}

static size_t count_children(const cJSON *value) {
    size_t count = 0;
    for (const cJSON *child = value->child; child != NULL; child = child->next)
        count++;
    return count;
}

/* A node that fails adds no marks, so it gets its own. */
static bool check_marked(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    marks own;
    size_t count = count_children(value);
    if (!checker_spend(c, count / SCHEMA_STEP_BYTES)) return false;
    if (!marks_init(&own, c->schema->alloc, count)) return checker_stop(c, UAR_E_NOMEM);
    bool ok = check_rules(c, node, value, at, &own);
    if (ok) marks_merge(m, &own);
    marks_dispose(&own, c->schema->alloc);
    return ok;
}

bool check_node(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    uint64_t bytes = value->valuestring != NULL ? strlen(value->valuestring) : 0;
    if (!checker_spend(c, 1 + bytes / SCHEMA_STEP_BYTES)) return false;
    if (node->rejects_all) {
        schema_line_add(checker_fault(c, at), "no value is allowed here");
        return false;
    }
    if (node->number == 0) return true;
    if (c->depth == LEVELS_MOST) return checker_stop(c, UAR_E_TOO_LARGE);
    c->depth++;
    const scope *outer = c->scope;
    scope inner = { outer, node->resource };
    if (outer == NULL || outer->resource != node->resource) c->scope = &inner;
    bool has_children = value->child != NULL && (m != NULL || node->wants_marks);
    bool ok = has_children ? check_marked(c, node, value, at, m) : check_rules(c, node, value, at, NULL);
    c->scope = outer;
    c->depth--;
    return ok;
}

static uint64_t budget_for(const cJSON *value) {
    uint64_t weight = schema_weight(value);
    return STEPS_LEAST + (weight < UINT64_MAX / 128 ? weight * STEPS_A_WEIGHT : UINT64_MAX / 2);
}

uar_status schema_check(const schema *s, const cJSON *value, uar_error *err) {
    assert(s != NULL && value != NULL);
    checker c = { .schema = s, .is_separated = true, .steps = budget_for(value) };
    c.line.is_full = err == NULL;
    bool ok = check_node(&c, s->root, value, NULL, NULL);
    alloc_free(s->alloc, c.scratch);
    assert(c.depth == 0 && c.scope == NULL);
    if (c.status == UAR_E_TOO_LARGE)
        return error_set(err, UAR_E_TOO_LARGE,
                         "checking it against its schema takes more steps or levels than are allowed");
    if (c.status != UAR_OK) return error_plain(err, c.status);
    return ok ? UAR_OK : error_set(err, UAR_E_SCHEMA, "%s", c.line.text);
}
