/* Small helpers over uar_str. No memory, no state. */
#ifndef UAR_LIB_BASE_STR_H
#define UAR_LIB_BASE_STR_H

#include <uar/base.h>

#define STR(literal) uar_str_n("" literal, sizeof(literal) - 1)
/* For constant initialisers. */
#define STR_INIT(literal) \
    { "" literal, sizeof(literal) - 1 }

static inline bool str_is(uar_str s, const char *text) {
    return uar_str_equal(s, uar_str_of(text));
}
static inline bool str_is_empty(uar_str s) {
    return s.len == 0;
}

/* The value of a hex digit of either case; -1: it is none. */
static inline int str_hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* -1, 0, 1 by bytes, shorter first. */
static inline int str_compare(uar_str a, uar_str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n != 0 ? memcmp(a.ptr, b.ptr, n) : 0;
    if (c != 0) return c < 0 ? -1 : 1;
    return a.len == b.len ? 0 : a.len < b.len ? -1 : 1;
}

#endif
