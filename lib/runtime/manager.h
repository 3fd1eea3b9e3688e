/*
 * The run manager: every open run of a runtime, and the outcomes of the last ones that ended.
 *
 * Invariants: an entry holds one reference to its run until the run has closed; the last MANAGER_KEPT closed runs stay
 * findable so that a wait that comes late still gets its answer. Lock order: a leaf.
 */
#ifndef UAR_LIB_RUNTIME_MANAGER_H
#define UAR_LIB_RUNTIME_MANAGER_H

#include "run/run.h"

/* As many as the event hub keeps, so that a run's events and its outcome are found for equally long. */
#define MANAGER_KEPT HUB_KEPT

typedef struct run_entry {
    struct run_entry *next, *prev; /* in the list of open or of closed ones */
    run *r;                        /* a reference; NULL once closed */
    uar_run_id id;
    bool ended, told, closed; /* its outcome is known; its event is out; nothing more comes */
    uint64_t pass;            /* the last walk that met it */
    /* once ended: its outcome, spread out because thousands may be open */
    uar_status status;
    uar_run_state state;
    uar_uuid message;
    uar_usage usage;
    char *failure; /* NULL: none, or memory was short for it */
} run_entry;

typedef struct run_list {
    run_entry *first, *last;
    size_t count;
} run_list;

typedef struct manager {
    const uar_allocator *alloc;
    mutex lock;
    condition changed;
    map entries;           /* by id */
    run_list open, closed; /* oldest first */
    uint64_t pass;
    bool shut; /* no new runs */
} manager;

uar_status manager_init(manager *m, const uar_allocator *alloc);
void manager_dispose(manager *m);
/* Takes over a reference. UAR_E_CLOSED, UAR_E_NOMEM: it was not taken. */
uar_status manager_add(manager *m, run *r);
/* A reference to an open run. UAR_E_NOT_FOUND, UAR_E_STALE if it has closed. */
uar_status manager_find(manager *m, uar_run_id id, run **out);
/* UAR_E_NOT_FOUND, UAR_E_TIMEOUT while it is open. Known already to who hears the terminal event. */
uar_status manager_outcome(manager *m, uar_run_id id, uar_outcome *out);
/* The watch of runs. */
void manager_run_ended(void *ctx, run *r, const uar_outcome *result);
void manager_run_told(void *ctx, run *r);
void manager_run_closed(void *ctx, run *r);
/* Wait for one run's outcome and for its terminal event to be out, at most until `end` (monotonic ms of the platform; UINT64_MAX: for ever). */
uar_status manager_wait_outcome(manager *m, uar_run_id id, uar_outcome *out, uint64_t end);
/* No new runs; calls `fn` with each open one, with no lock held. */
void manager_shut(manager *m, void (*fn)(run *r));
/* Calls `fn` with each run that is open, with no lock held. One walk at a time. */
void manager_each(manager *m, void (*fn)(run *r));
/* Let `ms` pass, or less if a run ends. */
void manager_rest(manager *m, uint32_t ms);
/* True once no run is open; waits until `end`. */
bool manager_wait_idle(manager *m, uint64_t end);
size_t manager_open_count(manager *m);

#endif
