/*
 * Number text of JSON, taken apart. Internal to the JSON files of this folder; everyone else uses json.h.
 */
#ifndef UAR_LIB_BASE_JSON_NUMBER_H
#define UAR_LIB_BASE_JSON_NUMBER_H

#include <uar/base.h>

/*
 * The significant digits of a number, read as one integer, times ten to the `exponent`. Zeros in front don't count,
 * zeros at the end do. `first` .. `last` is the text of these digits, perhaps with the point among them.
 */
typedef struct decimal {
    bool negative;
    uint64_t head; /* value of the first 19 digits, of all if there are fewer */
    int64_t count; /* digits; 0: the number is zero */
    int64_t exponent;
    const char *first, *last;
} decimal;

/*
 * Read the longest number that JSON's grammar allows at `p`; *stop is the byte after it. False: there is none, and *stop
 * is the byte that breaks the grammar.
 */
bool decimal_scan(decimal *out, const char *p, const char *end, const char **stop);
/* The nearest double, ties to even; beyond the range: the largest finite one. */
double decimal_to_double(const decimal *d);
/* The exact value without its sign; false if it has a fraction or doesn't fit. */
bool decimal_to_integer(const decimal *d, uint64_t *magnitude);

#endif
