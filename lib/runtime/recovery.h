/*
 * What a runtime takes up when it is built: deep deletes that a killed process left, and, where no other process uses the
 * store, heartbeats of dead ones. In the background; what can't be done now is done by the next build.
 */
#ifndef UAR_LIB_RUNTIME_RECOVERY_H
#define UAR_LIB_RUNTIME_RECOVERY_H

#include "runtime/runtime.h"

/* Begins; never waits. UAR_E_NOMEM. What the store says later is no fault of the build. */
uar_status recovery_begin(uar_runtime *rt, uar_error *err);

#endif
