/*
 * Removing one session, for the calls that do: claim it in this process, see that nobody else writes it, commit
 * a tombstone, and sweep what hangs below a tombstone. Steps over a request's store calls.
 *
 * Invariants: the commit moves the lease's revision, so that a writer that lost the session can't write; a claim
 * that was taken is given back before the removal ends.
 */
#ifndef UAR_LIB_RUNTIME_REMOVAL_H
#define UAR_LIB_RUNTIME_REMOVAL_H

#include "run/watch.h"
#include "runtime/request.h"
#include "store/sweep.h"

typedef enum removal_stage {
    REMOVAL_AT_START,
    REMOVAL_AT_SESSION,
    REMOVAL_AT_LEASE,
    REMOVAL_AT_BEAT,
    REMOVAL_AT_PAUSE,
    REMOVAL_AT_MARK,
    REMOVAL_AT_SWEEP
} removal_stage;

typedef struct removal {
    uar_str owner, user, session; /* the caller's */
    bool only_marks;              /* leave what hangs below the tombstone to somebody else */
    uint64_t only_at;             /* remove only if the session's record is at this revision; 0: whatever it is */
    removal_stage stage;
    uar_str key, claim; /* in the request's arena */
    bool claimed;
    uar_session now;
    session_life life;
    uint64_t lease_revision;
    watch holder;
    uint32_t tries;
    sweep sweep;
    uint64_t removed; /* records, once done */
} removal;

typedef enum removal_next {
    REMOVAL_ASKS, /* a store call or a wait is on its way: step again when it ended */
    REMOVAL_DONE,
    REMOVAL_FAILED /* q->op.status and q->op.error say why */
} removal_next;

/* UAR_E_NOMEM. */
uar_status removal_begin(removal *m, request *q, uar_str owner, uar_str user, uar_str session);
removal_next removal_step(removal *m, request *q);

#endif
