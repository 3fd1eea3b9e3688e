/* Whether a machine is in a state that the way of a run can reach: what a loaded document must be, and what tests ask after
 * every step. */
#ifndef UAR_LIB_RUN_MACHINE_CHECK_H
#define UAR_LIB_RUN_MACHINE_CHECK_H

#include "run/machine.h"

/* Asked between two feeds, with no effect left to take. Reads only; time grows with the square of the calls. */
bool machine_is_sound(const machine *m);

#endif
