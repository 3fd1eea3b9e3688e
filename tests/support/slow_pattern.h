/*
 * A second reading of the patterns of JSON Schema, to compare the library's matcher with: it tries one way after the other
 * and steps back, looks classes up in their text, and shares no code with lib/schema but the Unicode tables.
 */
#ifndef UAR_TESTS_SUPPORT_SLOW_PATTERN_H
#define UAR_TESTS_SUPPORT_SLOW_PATTERN_H

#include <uar/base.h>

/* SLOW_UNKNOWN: it can't read the pattern, which may be a fault of the pattern; SLOW_SPENT: it would take too long. */
typedef enum slow_answer { SLOW_ABSENT, SLOW_FOUND, SLOW_SPENT, SLOW_UNKNOWN } slow_answer;

/* Valid UTF-8 both. `steps`: how much it may try. */
slow_answer slow_pattern_search(uar_str pattern, uar_str text, uint64_t steps);

#endif
