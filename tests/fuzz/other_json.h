/*
 * The other parser of the differential run (libjansson) behind a face of its own: its header has names that our json.h
 * has too, so the two never meet in one file.
 */
#ifndef UAR_TESTS_FUZZ_OTHER_JSON_H
#define UAR_TESTS_FUZZ_OTHER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct other_value other_value;

typedef enum other_kind {
    OTHER_NULL,
    OTHER_FALSE,
    OTHER_TRUE,
    OTHER_INTEGER,
    OTHER_REAL,
    OTHER_STRING,
    OTHER_ARRAY,
    OTHER_OBJECT
} other_kind;

typedef struct other_error {
    bool is_number_range; /* refused only because a number is out of its range */
    char message[200];
} other_error;

/* As strict as it can be; NULL: refused, *err says why. */
other_value *other_read(const char *text, size_t len, other_error *err);
void other_free(other_value *value);
other_kind other_kind_of(const other_value *value);
int64_t other_integer(const other_value *value);
double other_real(const other_value *value);
const char *other_text(const other_value *value, size_t *len);
/* Items of an array, members of an object. */
size_t other_size(const other_value *value);
const other_value *other_item(const other_value *array, size_t index);
const other_value *other_member(const other_value *object, const char *key);
/* Levels of containers. */
unsigned other_depth(other_value *value);

#endif
