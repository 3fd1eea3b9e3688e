/*
 * A fold over the events of one run: what a late listener must know instead of the events themselves.
 *
 * Out of memory never stops a fold. What couldn't be kept is missing and the snapshot says so (`incomplete`); text is whole
 * again with the next message, calls with the end of the run. Not thread-safe: the owner locks.
 */
#ifndef UAR_LIB_EVENT_SNAPSHOT_H
#define UAR_LIB_EVENT_SNAPSHOT_H

#include <uar/event.h>

#include "base/buffer.h"

typedef struct snapshot_call snapshot_call;

typedef struct snapshot_fold {
    const uar_allocator *alloc;
    uint64_t last_event; /* id of the newest event folded */
    uar_run_state state;
    bool lost_text;         /* memory was short: `text` is only a beginning */
    bool lost_calls;        /* memory was short: a call is missing */
    uar_uuid message;       /* message being written */
    buffer text;            /* its text, superseded attempts left out */
    snapshot_call *open;    /* calls that run, oldest first */
    snapshot_call *pending; /* calls that wait for a decision, oldest first */
} snapshot_fold;

/* The run before its first event: running, nothing said. `last_event` is the id before the first. */
void snapshot_fold_init(snapshot_fold *fold, const uar_allocator *alloc, uint64_t last_event);
void snapshot_fold_dispose(snapshot_fold *fold);
/* Begin from a snapshot instead, e.g. of what records tell about an earlier epoch; its run and last_event don't matter.
 * UAR_E_NOMEM leaves the fold as it was. */
uar_status snapshot_fold_seed(snapshot_fold *fold, const uar_run_snapshot *from);
/* UAR_E_NOMEM: `copy` is not initialised. */
uar_status snapshot_fold_copy(snapshot_fold *copy, const snapshot_fold *from);
/* Events come in id order. */
void snapshot_fold_event(snapshot_fold *fold, const uar_event *event);

/* A snapshot of its own, in one allocation that keeps a copy of the allocator. UAR_E_NOMEM leaves `out` untouched. */
uar_status snapshot_take(uar_run_snapshot **out, const snapshot_fold *fold, uar_run_id run);

#endif
