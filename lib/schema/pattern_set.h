/* Sets of code points: ranges and general categories, perhaps all but those. Internal to the pattern files. */
#ifndef UAR_LIB_SCHEMA_PATTERN_SET_H
#define UAR_LIB_SCHEMA_PATTERN_SET_H

#include "base/arena.h"

#define PATTERN_LAST_POINT 0x10FFFFu

typedef struct pattern_range {
    uint32_t first, last;
} pattern_range;

typedef struct pattern_set {
    uint64_t ascii[2];   /* the members below 128, negation included */
    uint32_t categories; /* one bit a general category, numbered as utf8proc does */
    bool is_negated;     /* all but the ranges and categories */
    size_t count;
    const pattern_range *ranges; /* ascending and apart */
} pattern_set;

bool pattern_set_has(const pattern_set *set, uint32_t point);

/* A set that grows. A zeroed one with an allocator is empty. */
typedef struct pattern_draft {
    const uar_allocator *alloc;
    pattern_range *ranges;
    size_t count, room;
    uint32_t categories;
} pattern_draft;

void pattern_draft_dispose(pattern_draft *d);
/* False: out of memory. */
bool pattern_draft_add(pattern_draft *d, uint32_t first, uint32_t last);
/* What \d, \w or \s mean; the capital letter: all but those. `.` is all but line ends. */
bool pattern_draft_add_named(pattern_draft *d, char letter);
/* The finished set, its ranges in the arena. False: out of memory. */
bool pattern_draft_finish(pattern_set *out, arena *memory, pattern_draft *d, bool is_negated);

/* The categories of a name such as L, Lu, Letter or Uppercase_Letter; 0: unknown. */
uint32_t pattern_category(uar_str name);
/* All of them, and that of code points without a character. */
#define PATTERN_ALL_CATEGORIES 0x3FFFFFFFu
#define PATTERN_UNASSIGNED 1u

#endif
