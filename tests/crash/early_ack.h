/*
 * The control: a persistence layer that says "committed" before it commits.
 *
 * Each commit is answered at once; its writes are kept and go to the layer below with the next call, or when the layer is
 * destroyed. A process that isn't killed loses nothing by it. One that is killed in between loses what it acknowledged, and a
 * harness that doesn't see that sees nothing.
 */
#ifndef UAR_TESTS_CRASH_EARLY_ACK_H
#define UAR_TESTS_CRASH_EARLY_ACK_H

#include <uar/persistence.h>

/* Takes `inner` over. Never NULL; ends the process if memory is short. */
const uar_persistence *early_ack_over(const uar_persistence *inner);

#endif
