/* libjansson behind the face of other_json.h. A value is a json_t with one reference. */
#include "fuzz/other_json.h"

#include <jansson.h>
#include <stdio.h>

static json_t *inner(other_value *value) {
    return (json_t *)value;
}

static const json_t *inner_const(const other_value *value) {
    return (const json_t *)value;
}

other_value *other_read(const char *text, size_t len, other_error *err) {
    json_error_t error = { 0 };
    json_t *value = json_loadb(text, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    err->is_number_range = value == NULL && json_error_code(&error) == json_error_numeric_overflow;
    snprintf(err->message, sizeof err->message, "%s", error.text);
    return (other_value *)value;
}

void other_free(other_value *value) {
    json_decref(inner(value));
}

other_kind other_kind_of(const other_value *value) {
    switch (json_typeof(inner_const(value))) {
    case JSON_OBJECT: return OTHER_OBJECT;
    case JSON_ARRAY: return OTHER_ARRAY;
    case JSON_STRING: return OTHER_STRING;
    case JSON_INTEGER: return OTHER_INTEGER;
    case JSON_REAL: return OTHER_REAL;
    case JSON_TRUE: return OTHER_TRUE;
    case JSON_FALSE: return OTHER_FALSE;
    default: return OTHER_NULL;
    }
}

int64_t other_integer(const other_value *value) {
    return json_integer_value(inner_const(value));
}

double other_real(const other_value *value) {
    return json_real_value(inner_const(value));
}

const char *other_text(const other_value *value, size_t *len) {
    *len = json_string_length(inner_const(value));
    return json_string_value(inner_const(value));
}

size_t other_size(const other_value *value) {
    const json_t *node = inner_const(value);
    return json_is_array(node) ? json_array_size(node) : json_object_size(node);
}

const other_value *other_item(const other_value *array, size_t index) {
    return (const other_value *)json_array_get(inner_const(array), index);
}

const other_value *other_member(const other_value *object, const char *key) {
    return (const other_value *)json_object_get(inner_const(object), key);
}

static unsigned deeper(unsigned a, unsigned b) {
    return a > b ? a : b;
}

static unsigned depth_of(json_t *node) {
    unsigned depth = 0;
    size_t index;
    const char *key;
    json_t *child;
    if (json_is_array(node)) {
        json_array_foreach(node, index, child) {
            depth = deeper(depth, depth_of(child));
        }
        return depth + 1;
    }
    if (json_is_object(node)) {
        json_object_foreach(node, key, child) {
            depth = deeper(depth, depth_of(child));
        }
        return depth + 1;
    }
    return 0;
}

unsigned other_depth(other_value *value) {
    return depth_of(inner(value));
}
