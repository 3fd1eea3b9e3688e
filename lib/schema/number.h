/* Exact arithmetic on the raw tokens of JSON numbers. No memory, no state; any thread. */
#ifndef UAR_LIB_SCHEMA_NUMBER_H
#define UAR_LIB_SCHEMA_NUMBER_H

#include <cjson/cJSON.h>

#include "base/json_number.h"

#define NUMBER_DIVISOR_DIGITS 18

/* A number, sign apart: its significant digits without zeros at either end, as one integer, times ten to `exponent`. */
typedef struct number {
    bool is_negative;   /* false for zero */
    const char *digits; /* the first one; a point may stand among them */
    int64_t count;      /* 0: the number is zero */
    int64_t exponent;
} number;

/* Borrows the token of a number node made by json_read. */
number number_of(const cJSON *node);
/* -1, 0, 1. Exponents beyond ±10^18 count as equal. */
int number_compare(const number *a, const number *b);
bool number_is_integer(const number *n);
/* The value of an integer that is not negative; UINT64_MAX if it is larger. */
uint64_t number_clamped(const number *n);
/* True if `n` is a whole multiple of `divisor`, which isn't zero and has at most NUMBER_DIVISOR_DIGITS digits. */
bool number_is_multiple(const number *n, const number *divisor);

#endif
