/*
 * Exact arithmetic on the raw tokens of JSON numbers. Owns nothing.
 * Invariant of a number: neither its first nor its last digit is zero.
 */
#include "schema/number.h"

#include <assert.h>

number number_of(const cJSON *node) {
    assert(node != NULL && node->valuestring != NULL);
    const char *token = node->valuestring;
    decimal d;
    const char *stop;
    bool is_number = decimal_scan(&d, token, token + strlen(token), &stop);
    assert(is_number && *stop == '\0');
    if (!is_number || d.count == 0) return (number){ 0 };
    number n = { .is_negative = d.negative, .digits = d.first, .count = d.count, .exponent = d.exponent };
    for (const char *p = d.last - 1; *p == '0' || *p == '.'; p--) {
        if (*p == '.') continue;
        n.count--;
        n.exponent++;
    }
    assert(n.count > 0);
    return n;
}

/* The digit at *p, which moves behind it. */
static unsigned next_digit(const char **p) {
    if (**p == '.') ++*p;
    return (unsigned)(*(*p)++ - '0');
}

static int compare_magnitude(const number *a, const number *b) {
    if (a->count == 0 || b->count == 0) return (a->count != 0) - (b->count != 0);
    int64_t a_top = a->count + a->exponent, b_top = b->count + b->exponent;
    if (a_top != b_top) return a_top < b_top ? -1 : 1;
    const char *a_at = a->digits, *b_at = b->digits;
    for (int64_t i = 0; i < a->count && i < b->count; i++) {
        unsigned a_digit = next_digit(&a_at), b_digit = next_digit(&b_at);
        if (a_digit != b_digit) return a_digit < b_digit ? -1 : 1;
    }
    return (a->count > b->count) - (a->count < b->count);
}

int number_compare(const number *a, const number *b) {
    if (a->is_negative != b->is_negative) return a->is_negative ? -1 : 1;
    int order = compare_magnitude(a, b);
    return a->is_negative ? -order : order;
}

bool number_is_integer(const number *n) {
    return n->count == 0 || n->exponent >= 0;
}

uint64_t number_clamped(const number *n) {
    assert(number_is_integer(n) && !n->is_negative);
    if (n->count == 0) return 0;
    if (n->count + n->exponent > 20) return UINT64_MAX;
    uint64_t value = 0;
    const char *at = n->digits;
    for (int64_t i = 0; i < n->count + n->exponent; i++) {
        unsigned digit = i < n->count ? next_digit(&at) : 0;
        if (value > (UINT64_MAX - digit) / 10) return UINT64_MAX;
        value = value * 10 + digit;
    }
    return value;
}

bool number_is_multiple(const number *n, const number *divisor) {
    assert(divisor->count > 0 && divisor->count <= NUMBER_DIVISOR_DIGITS);
    if (n->count == 0) return true;
    /* The last digit of n isn't zero, so the power of ten that the divisor has more can't be in it. */
    if (n->exponent < divisor->exponent) return false;
    uint64_t by = 0;
    const char *at = divisor->digits;
    for (int64_t i = 0; i < divisor->count; i++)
        by = by * 10 + next_digit(&at);
    uint64_t rest = 0;
    at = n->digits;
    for (int64_t i = 0; i < n->count; i++)
        rest = (rest * 10 + next_digit(&at)) % by;
    /* A divisor below 2^60 has fewer than 60 factors two or five: more tens than that change nothing. */
    int64_t tens = n->exponent - divisor->exponent;
    for (int64_t i = 0; rest != 0 && i < tens && i < 60; i++)
        rest = rest * 10 % by;
    return rest == 0;
}
