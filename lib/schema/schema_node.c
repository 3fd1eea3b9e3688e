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
    add_steps(line, at->parent);
    schema_line_add(line, "/");
    if (at->key.ptr != NULL)
        add_step(line, at->key);
    else
        schema_line_add(line, "%zu", at->index);
}

void schema_line_path(schema_line *line, const schema_path *at) {
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

static bool arrays_are_equal(const cJSON *a, const cJSON *b) {
    const cJSON *x = a->child, *y = b->child;
    for (; x != NULL && y != NULL; x = x->next, y = y->next)
        if (!schema_equal(x, y)) return false;
    return x == NULL && y == NULL;
}

/* Names are unique in each, so equal counts and one inclusion are enough. */
static bool objects_are_equal(const cJSON *a, const cJSON *b) {
    const cJSON *x = a->child, *y = b->child;
    for (; x != NULL && y != NULL; x = x->next)
        y = y->next;
    if (x != NULL || y != NULL) return false;
    for (x = a->child; x != NULL; x = x->next) {
        y = cJSON_GetObjectItemCaseSensitive(b, x->string);
        if (y == NULL || !schema_equal(x, y)) return false;
    }
    return true;
}

bool schema_equal(const cJSON *a, const cJSON *b) {
    int kind = a->type & 0xFF;
    if (kind != (b->type & 0xFF)) return false;
    switch (kind) {
    case cJSON_String: return strcmp(a->valuestring, b->valuestring) == 0;
    case cJSON_Array: return arrays_are_equal(a, b);
    case cJSON_Object: return objects_are_equal(a, b);
    case cJSON_Number: break;
    default: return true;
    }
    number x = number_of(a), y = number_of(b);
    return number_compare(&x, &y) == 0;
}
