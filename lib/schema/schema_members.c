/* The rules for objects. Owns nothing. */
#include "base/str.h"
#include "schema/schema_checker.h"

enum { LOOKS_MOST = 1000000 };

static bool unknown_property(checker *c, const schema_members *members, const schema_path *at) {
    schema_line *line = checker_fault(c, at);
    schema_line_add(line, "unknown property");
    const char *before = "; known are ";
    for (map_entry *e = map_next(&members->by_name, NULL); e != NULL && !line->is_full;
         e = map_next(&members->by_name, e)) {
        const schema_member *member = map_value(e);
        if (member->node == NULL) continue;
        schema_line_add(line, "%s\"", before);
        schema_line_text(line, map_key(e), 64);
        schema_line_add(line, "\"");
        before = ", ";
    }
    return false;
}

static bool has_property(checker *c, const cJSON *value, uar_str name) {
    for (const cJSON *property = value->child; property != NULL; property = property->next)
        if (!checker_spend(c, 1) || str_is(name, property->string)) return true;
    return false;
}

static void missing_property(checker *c, uar_str name, const schema_node *node, const schema_path *at) {
    schema_line *line = checker_fault(c, at);
    schema_line_add(line, "missing property \"");
    schema_line_text(line, name, 64);
    schema_line_add(line, "\"");
    if (node == NULL || node->types == 0) return;
    schema_line_add(line, " (");
    checker_add_types(line, node->types);
    schema_line_add(line, ")");
}

/*
 * Only after the count has shown that some are missing, to name them: looking each of them up is slow, so no more is looked
 * at than a part of the budget allows.
 */
static void missing_properties(checker *c, const schema_members *members, const cJSON *value, const schema_path *at) {
    uint64_t looks = c->steps / 4 < LOOKS_MOST ? c->steps / 4 : LOOKS_MOST;
    uint64_t before = looks;
    bool is_named = false;
    map_entry *e = map_next(&members->by_name, NULL);
    for (; e != NULL && looks > 0 && checker_goes_on(c, false); e = map_next(&members->by_name, e)) {
        const schema_member *member = map_value(e);
        uar_str name = map_key(e);
        const cJSON *property = member->is_required ? value->child : NULL;
        for (; property != NULL && looks > 0 && !str_is(name, property->string); looks--)
            property = property->next;
        if (!member->is_required || property != NULL || looks == 0) continue;
        missing_property(c, name, member->node, at);
        is_named = true;
    }
    c->steps -= before - looks;
    if (!is_named) schema_line_add(checker_fault(c, at), "a property that must be there is missing");
}

/* A name is checked as the text that it is; where it fails it is checked again to say why. */
static bool check_name(checker *c, const schema_node *names, const schema_path *at) {
    cJSON name = { .type = cJSON_String, .valuestring = (char *)(uintptr_t)at->key.ptr };
    if (check_quietly(c, names, &name, at, NULL)) return true;
    if (!checker_goes_on(c, false)) return false;
    schema_line_add(checker_fault(c, at), "this name can't be used: ");
    c->is_separated = true;
    return check_node(c, names, &name, at, NULL);
}

static bool check_patterns(checker *c, const schema_members *members, const cJSON *property, const schema_path *at,
                           bool *matched) {
    bool ok = true;
    for (const schema_rule *rule = members->rules; rule != NULL && checker_goes_on(c, ok); rule = rule->next) {
        if (!check_matches(c, &rule->pattern, at->key)) continue;
        *matched = true;
        ok = check_node(c, rule->node, property, at, NULL) && ok;
    }
    return ok;
}

/* `covered`: whether a rule but `unevaluatedProperties` has looked at it. */
static bool check_property(checker *c, const schema_members *members, const schema_member *member,
                           const cJSON *property, const schema_path *at, bool *covered) {
    bool ok = true;
    *covered = member != NULL && member->node != NULL;
    if (*covered) ok = check_node(c, member->node, property, at, NULL);
    if (members->rules != NULL && checker_goes_on(c, ok)) ok = check_patterns(c, members, property, at, covered) && ok;
    if (!*covered && members->additional != NULL && checker_goes_on(c, ok)) {
        *covered = true;
        if (members->additional->rejects_all) return unknown_property(c, members, at);
        ok = check_node(c, members->additional, property, at, NULL) && ok;
    }
    if (members->names != NULL && checker_goes_on(c, ok)) ok = check_name(c, members->names, at) && ok;
    return ok;
}

/* All names of a list must be there. */
static bool check_dependent_names(checker *c, const cJSON *names, const cJSON *value, uar_str because,
                                  const schema_path *at) {
    bool ok = true;
    for (const cJSON *name = names->child; name != NULL && checker_goes_on(c, ok); name = name->next) {
        if (has_property(c, value, uar_str_of(name->valuestring))) continue;
        missing_property(c, uar_str_of(name->valuestring), NULL, at);
        schema_line_add(&c->line, ", which \"");
        schema_line_text(&c->line, because, 64);
        schema_line_add(&c->line, "\" needs");
        ok = false;
    }
    return ok;
}

static bool check_dependents(checker *c, const schema_members *members, const cJSON *value, const schema_path *at,
                             marks *m) {
    bool ok = true;
    for (const cJSON *property = value->child; property != NULL && checker_goes_on(c, ok); property = property->next) {
        uar_str name = uar_str_of(property->string);
        const schema_dependent *dependent = map_get(&members->dependents, name);
        if (dependent == NULL) continue;
        if (dependent->required != NULL) ok = check_dependent_names(c, dependent->required, value, name, at) && ok;
        if (dependent->node != NULL && checker_goes_on(c, ok)) ok = check_node(c, dependent->node, value, at, m) && ok;
    }
    return ok;
}

bool check_members(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    const schema_members *members = node->members;
    bool ok = true;
    size_t count = 0, required = 0;
    for (const cJSON *property = value->child; property != NULL; property = property->next, count++) {
        schema_path inner = { .parent = at, .key = uar_str_of(property->string) };
        if (!checker_spend(c, 1 + inner.key.len / SCHEMA_STEP_BYTES)) return false;
        const schema_member *member = map_get(&members->by_name, inner.key);
        if (member != NULL && member->is_required) required++;
        if (!checker_goes_on(c, ok)) continue;
        bool covered;
        ok = check_property(c, members, member, property, &inner, &covered) && ok;
        if (covered) marks_set(m, count);
    }
    if (required < members->required && checker_goes_on(c, ok)) missing_properties(c, members, value, at);
    if (required < members->required) ok = false;
    if (checker_goes_on(c, ok))
        ok = check_count(c, at, count, members->min_properties, members->max_properties, "properties") && ok;
    if (members->dependents.count > 0 && checker_goes_on(c, ok)) ok = check_dependents(c, members, value, at, m) && ok;
    return ok;
}

bool check_unevaluated_members(checker *c, const schema_node *node, const cJSON *value, const schema_path *at,
                               marks *m) {
    const schema_node *unevaluated = node->members->unevaluated;
    bool ok = true;
    size_t index = 0;
    for (const cJSON *property = value->child; property != NULL && checker_goes_on(c, ok);
         property = property->next, index++) {
        if (marks_has(m, index)) continue;
        schema_path inner = { .parent = at, .key = uar_str_of(property->string) };
        if (unevaluated->rejects_all)
            ok = unknown_property(c, node->members, &inner);
        else
            ok = check_node(c, unevaluated, property, &inner, NULL) && ok;
    }
    marks_set_all(m);
    return ok;
}
