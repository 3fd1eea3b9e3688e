/* Whether two effects ask for the same, down to the last byte of an event. */
#ifndef UAR_TESTS_SIM_EFFECT_SAME_H
#define UAR_TESTS_SIM_EFFECT_SAME_H

#include "run/machine.h"

bool effect_same(const effect *a, const effect *b);

#endif
