/*
 * Regular expressions for `pattern` and `patternProperties`: ECMA-262 as with its u flag, without what would need
 * backtracking. Searching takes time in proportion to the length of the text times the size of the pattern, whatever both
 * are.
 *
 * Known: literals; `.`; classes with ranges and negation; \d \D \w \W \s \S (ASCII, white space by Unicode); \p{…} and
 * \P{…} for general categories, Any, ASCII, Assigned; ^ $ \b \B; groups, plain, (?:…) and (?<name>…); alternatives; * + ?
 * {m} {m,} {m,n}, greedy or lazy; \t \n \v \f \r \0 \cX \xHH \uHHHH \u{…}; a backslash before ASCII punctuation.
 * Refused by name: lookahead, lookbehind, backreferences, modifiers, properties other than those above.
 *
 * Characters are code points. Repeats are written out when the pattern is compiled, so they count by their size.
 */
#ifndef UAR_LIB_SCHEMA_PATTERN_H
#define UAR_LIB_SCHEMA_PATTERN_H

#include "base/arena.h"

enum {
    PATTERN_MAX_SIZE = 16384, /* instructions and ranges of one pattern, repeats written out */
    PATTERN_MAX_GROUPS = 64,  /* groups inside one another */
    PATTERN_VISITS = 8,       /* states visited for one step of a budget */
};

/* A compiled pattern. Immutable: any number of threads may search with it at once. */
typedef struct pattern pattern;

/* What is wrong with a pattern and where: `a lookahead at character 3`. */
typedef struct pattern_fault {
    char text[128];
} pattern_fault;

/*
 * Compile a pattern of valid UTF-8 into the arena's memory. `room` is what the patterns of one schema may still take
 * together, of the same unit as PATTERN_MAX_SIZE; it is lessened. UAR_E_UNSUPPORTED: a construct that is refused, or a
 * size beyond the limits. UAR_E_SCHEMA: no regular expression. Both fill `fault`. UAR_E_NOMEM.
 */
uar_status pattern_compile(const pattern **out, arena *memory, uar_str text, size_t *room, pattern_fault *fault);

typedef enum pattern_answer { PATTERN_ABSENT, PATTERN_FOUND, PATTERN_SPENT } pattern_answer;

/* Bytes of scratch memory that a search needs, aligned for uint32_t. */
size_t pattern_scratch(const pattern *p);
/*
 * Does the pattern match anywhere in the text? `steps` is a budget that is lessened by what the search took, at least 1; when
 * it doesn't suffice the answer is PATTERN_SPENT and it is 0. Allocates nothing.
 */
pattern_answer pattern_search(const pattern *p, uar_str text, void *scratch, uint64_t *steps);

#endif
