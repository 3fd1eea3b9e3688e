/*
 * What a runtime takes up when it is built: deep deletes that a killed process left, and, where no other process uses the
 * store, heartbeats of dead ones. In the background; what can't be done now is done by the next build.
 */
#ifndef UAR_LIB_RUNTIME_RECOVERY_H
#define UAR_LIB_RUNTIME_RECOVERY_H

#include "runtime/runtime.h"

/* Begins; never waits, and never fails the build. */
void recovery_begin(uar_runtime *rt);

#endif
