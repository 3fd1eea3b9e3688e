/*
 * What model calls used, counted in the commit of the step that called.
 *
 * Each owner has a counter record of this instance. Its value and revision are kept here, so that a commit needs no look
 * first: they are filled in when the store is about to be called, and taken over when it has answered; the store makes one
 * call at a time. When it isn't known whether a commit was done, the record is left as it is and another one is begun: the
 * sum over all of them is exact either way.
 */
#ifndef UAR_LIB_RUN_LEDGER_H
#define UAR_LIB_RUN_LEDGER_H

#include "run/env.h"

/* Owners that are kept at a time. */
#define LEDGER_OWNERS 1024

void ledger_dispose(run_env *env);
/* Before the commit: makes `w` the put of the owner's counter with `usage` and one call more. */
uar_status ledger_prepare(run_env *env, uar_write *w, arena *mem, uar_str owner, const uar_usage *usage);
/* Behind it. */
void ledger_settle(run_env *env, uar_str owner, const uar_usage *usage, uar_status status);

void usage_add(uar_usage *sum, const uar_usage *more);
/* What `now` has more than `before`. */
uar_usage usage_since(const uar_usage *now, const uar_usage *before);

#endif
