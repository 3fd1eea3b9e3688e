/*
 * The rules for arrays. Owns nothing but the table in which equal items meet.
 * Items are numbered from 0, as a JSON pointer does.
 */
#include "schema/schema_checker.h"

enum { FEW_ITEMS = 12 }; /* up to here every pair is compared */

/* ---- uniqueItems ---- */

typedef struct seen_item {
    uint64_t hash;
    const cJSON *item; /* NULL: a free place */
    size_t index;
} seen_item;

static bool repeated(checker *c, const schema_path *at, size_t first, size_t second) {
    schema_line_add(checker_fault(c, at), "items must differ, but %zu and %zu are equal", first, second);
    return false;
}

static bool few_are_unique(checker *c, const cJSON *value, const schema_path *at) {
    size_t i = 0;
    for (const cJSON *a = value->child; a != NULL; a = a->next, i++) {
        size_t j = i + 1;
        for (const cJSON *b = a->next; b != NULL; b = b->next, j++) {
            bool equal = schema_equal(a, b, &c->steps);
            if (!checker_spend(c, 1)) return false;
            if (equal) return repeated(c, at, i, j);
        }
    }
    return true;
}

/* Puts an item in; false if the check is over: an equal one is there, or the budget is used up. */
static bool put_item(checker *c, seen_item *table, size_t mask, const seen_item *item, const schema_path *at) {
    size_t place = (size_t)item->hash & mask;
    for (; table[place].item != NULL; place = (place + 1) & mask) {
        if (!checker_spend(c, 1)) return false;
        if (table[place].hash != item->hash) continue;
        bool equal = schema_equal(table[place].item, item->item, &c->steps);
        if (!checker_spend(c, 1)) return false;
        if (equal) return repeated(c, at, table[place].index, item->index);
    }
    table[place] = *item;
    return true;
}

static bool many_are_unique(checker *c, const cJSON *value, size_t count, const schema_path *at) {
    size_t room = 32; /* a power of two, at most half full */
    while (room / 2 < count && room <= SIZE_MAX / 4)
        room *= 2;
    if (!checker_spend(c, schema_weight(value))) return false;
    seen_item *table = alloc_zeroed(c->schema->alloc, room, sizeof *table);
    if (table == NULL) return checker_stop(c, UAR_E_NOMEM);
    uint64_t seed = (uint64_t)(uintptr_t)table;
    seen_item next = { .index = 0 };
    bool ok = true;
    for (const cJSON *item = value->child; item != NULL && ok; item = item->next, next.index++) {
        next.item = item;
        next.hash = schema_hash(item, seed);
        ok = put_item(c, table, room - 1, &next, at);
    }
    alloc_free(c->schema->alloc, table);
    return ok;
}

/* ---- The rules ---- */

static bool check_each(checker *c, const schema_items *items, const cJSON *value, const schema_path *at, marks *m) {
    bool ok = true;
    size_t index = 0;
    for (const cJSON *item = value->child; item != NULL && checker_goes_on(c, ok); item = item->next, index++) {
        const schema_node *node = index < items->prefix.count ? items->prefix.nodes[index] : items->rest;
        if (node == NULL) break;
        schema_path inner = { .parent = at, .index = index };
        ok = check_node(c, node, item, &inner, NULL) && ok;
        marks_set(m, index);
    }
    return ok;
}

static bool check_contains(checker *c, const schema_items *items, const cJSON *value, const schema_path *at, marks *m) {
    uint64_t fitting = 0;
    size_t index = 0;
    for (const cJSON *item = value->child; item != NULL; item = item->next, index++) {
        schema_path inner = { .parent = at, .index = index };
        bool fits = check_quietly(c, items->contains, item, &inner, NULL);
        if (c->status != UAR_OK) return false;
        if (!fits) continue;
        marks_set(m, index);
        fitting++;
    }
    return check_count(c, at, fitting, items->min_contains, items->max_contains, "items that fit `contains`");
}

bool check_items(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    const schema_items *items = node->items;
    bool ok = true;
    size_t count = 0;
    for (const cJSON *item = value->child; item != NULL; item = item->next)
        count++;
    if (!checker_spend(c, count / SCHEMA_STEP_BYTES)) return false;
    if (items->prefix.count > 0 || items->rest != NULL) ok = check_each(c, items, value, at, m);
    if (checker_goes_on(c, ok)) ok = check_count(c, at, count, items->min_items, items->max_items, "items") && ok;
    if (items->contains != NULL && checker_goes_on(c, ok)) ok = check_contains(c, items, value, at, m) && ok;
    if (!items->is_unique || !checker_goes_on(c, ok)) return ok;
    return (count <= FEW_ITEMS ? few_are_unique(c, value, at) : many_are_unique(c, value, count, at)) && ok;
}

bool check_unevaluated_items(checker *c, const schema_node *node, const cJSON *value, const schema_path *at, marks *m) {
    bool ok = true;
    size_t index = 0;
    for (const cJSON *item = value->child; item != NULL && checker_goes_on(c, ok); item = item->next, index++) {
        if (marks_has(m, index)) continue;
        schema_path inner = { .parent = at, .index = index };
        ok = check_node(c, node->items->unevaluated, item, &inner, NULL) && ok;
    }
    marks_set_all(m);
    return ok;
}
