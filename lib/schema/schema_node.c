/*
 * Values, types and places, as the schema compiler and checker both need them. Owns nothing.
 * Recursion is bounded by the depth that json_read allows.
 */
#include "schema/schema_node.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

enum { PATH_BYTES = 120, VALUE_BYTES = 40 }; /* what a line shows of one path or value */

void schema_line_add(schema_line *line, const char *format, ...) {
    if (line->is_full) return;
    size_t room = sizeof line->text - line->len;
    va_list args;
    va_start(args, format);
    int want = vsnprintf(line->text + line->len, room, format, args);
    va_end(args);
    line->is_full = want < 0 || (size_t)want >= room;
    line->len = line->is_full ? strlen(line->text) : line->len + (size_t)want;
}

void schema_line_text(schema_line *line, uar_str text, size_t max) {
    size_t cut = utf8_cut(text, max);
    schema_line_add(line, "%.*s%s", (int)cut, text.ptr, cut < text.len ? "..." : "");
}

static void add_step(schema_line *line, uar_str key) {
    for (size_t at = 0; at < key.len;) {
        size_t plain = at;
        while (plain < key.len && key.ptr[plain] != '~' && key.ptr[plain] != '/')
            plain++;
        schema_line_text(line, uar_str_n(key.ptr + at, plain - at), PATH_BYTES);
        if (plain < key.len) schema_line_add(line, "%s", key.ptr[plain] == '~' ? "~0" : "~1");
        at = plain + 1;
    }
}

static void add_steps(schema_line *line, const schema_path *at) {
    if (at == NULL) return;
    if (at->is_reference) {
        schema_line_text(line, at->key, PATH_BYTES);
        return;
    }
    add_steps(line, at->parent);
    schema_line_add(line, "/");
    if (at->key.ptr != NULL)
        add_step(line, at->key);
    else
        schema_line_add(line, "%zu", at->index);
}

void schema_line_path(schema_line *line, const schema_path *at) {
    if (line->is_full) return;
    if (at == NULL) {
        schema_line_add(line, "top level");
        return;
    }
    schema_line path = { .len = 0 };
    add_steps(&path, at);
    schema_line_text(line, uar_str_n(path.text, path.len), PATH_BYTES);
}

void schema_line_value(schema_line *line, const cJSON *value) {
    switch (value->type & 0xFF) {
    case cJSON_String:
        schema_line_add(line, "\"");
        schema_line_text(line, uar_str_of(value->valuestring), VALUE_BYTES);
        schema_line_add(line, "\"");
        break;
    case cJSON_Number: schema_line_text(line, uar_str_of(value->valuestring), VALUE_BYTES); break;
    case cJSON_True: schema_line_add(line, "true"); break;
    case cJSON_False: schema_line_add(line, "false"); break;
    case cJSON_Object: schema_line_add(line, value->child != NULL ? "{...}" : "{}"); break;
    case cJSON_Array: schema_line_add(line, value->child != NULL ? "[...]" : "[]"); break;
    default: schema_line_add(line, "null"); break;
    }
}

unsigned schema_types_of(const cJSON *value) {
    switch (value->type & 0xFF) {
    case cJSON_String: return SCHEMA_STRING;
    case cJSON_True:
    case cJSON_False: return SCHEMA_BOOLEAN;
    case cJSON_Object: return SCHEMA_OBJECT;
    case cJSON_Array: return SCHEMA_ARRAY;
    case cJSON_NULL: return SCHEMA_NULL;
    default: break;
    }
    assert(cJSON_IsNumber(value));
    number n = number_of(value);
    return number_is_integer(&n) ? SCHEMA_NUMBER | SCHEMA_INTEGER : SCHEMA_NUMBER;
}

/* Take steps; false if there are none left. */
static bool take(uint64_t *steps, uint64_t count) {
    *steps -= count < *steps ? count : *steps;
    return *steps > 0;
}

static bool texts_are_equal(const char *a, const char *b, uint64_t *steps) {
    size_t same = 0;
    while (a[same] != '\0' && a[same] == b[same])
        same++;
    return take(steps, same / SCHEMA_STEP_BYTES) && a[same] == b[same];
}

static bool numbers_are_equal(const cJSON *a, const cJSON *b, uint64_t *steps) {
    if (!take(steps, (strlen(a->valuestring) + strlen(b->valuestring)) / SCHEMA_STEP_BYTES)) return false;
    number x = number_of(a), y = number_of(b);
    return number_compare(&x, &y) == 0;
}

static bool arrays_are_equal(const cJSON *a, const cJSON *b, uint64_t *steps) {
    const cJSON *x = a->child, *y = b->child;
    for (; x != NULL && y != NULL; x = x->next, y = y->next)
        if (!schema_equal(x, y, steps)) return false;
    return x == NULL && y == NULL;
}

/* The member of a name. It is looked for from where the last one was found: most often the order is the same. */
static const cJSON *member_from(const cJSON *object, const cJSON *from, const char *name, uint64_t *steps) {
    for (const cJSON *m = from; m != NULL && take(steps, 1); m = m->next)
        if (strcmp(m->string, name) == 0) return m;
    for (const cJSON *m = object->child; m != from && take(steps, 1); m = m->next)
        if (strcmp(m->string, name) == 0) return m;
    return NULL;
}

/* Names are unique in each, so equal counts and one inclusion are enough. */
static bool objects_are_equal(const cJSON *a, const cJSON *b, uint64_t *steps) {
    const cJSON *x = a->child, *y = b->child;
    for (; x != NULL && y != NULL; x = x->next)
        y = y->next;
    if (x != NULL || y != NULL) return false;
    y = b->child;
    for (x = a->child; x != NULL; x = x->next) {
        y = member_from(b, y, x->string, steps);
        if (y == NULL || !schema_equal(x, y, steps)) return false;
        y = y->next;
    }
    return true;
}

bool schema_equal(const cJSON *a, const cJSON *b, uint64_t *steps) {
    int kind = a->type & 0xFF;
    if (!take(steps, 1) || kind != (b->type & 0xFF)) return false;
    switch (kind) {
    case cJSON_String: return texts_are_equal(a->valuestring, b->valuestring, steps);
    case cJSON_Array: return arrays_are_equal(a, b, steps);
    case cJSON_Object: return objects_are_equal(a, b, steps);
    case cJSON_Number: return numbers_are_equal(a, b, steps);
    default: return true;
    }
}

uint64_t schema_weight(const cJSON *value) {
    uint64_t weight = 1;
    if (value->valuestring != NULL) weight += strlen(value->valuestring) / SCHEMA_STEP_BYTES;
    for (const cJSON *child = value->child; child != NULL; child = child->next)
        weight += schema_weight(child);
    return weight;
}

static uint64_t mix(uint64_t h, uint64_t value) {
    h = (h ^ value) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

static uint64_t hash_text(uint64_t h, const char *text) {
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return mix(h, 1);
}

static uint64_t hash_number(uint64_t h, const cJSON *value) {
    number n = number_of(value);
    h = mix(h, (uint64_t)n.exponent + (n.is_negative ? 1 : 0));
    const char *at = n.digits;
    for (int64_t i = 0; i < n.count; i++, at++) {
        if (*at == '.') at++;
        h = (h ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    return mix(h, 2);
}

uint64_t schema_hash(const cJSON *value, uint64_t seed) {
    uint64_t h = mix(seed, (uint64_t)(value->type & 0xFF)), sum = 0;
    switch (value->type & 0xFF) {
    case cJSON_String: return hash_text(h, value->valuestring);
    case cJSON_Number: return hash_number(h, value);
    case cJSON_Array:
        for (const cJSON *item = value->child; item != NULL; item = item->next)
            h = mix(h, schema_hash(item, seed));
        return h;
    case cJSON_Object:
        for (const cJSON *member = value->child; member != NULL; member = member->next)
            sum += mix(hash_text(seed, member->string), schema_hash(member, seed));
        return mix(h, sum);
    default: return h;
    }
}
