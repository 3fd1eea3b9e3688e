/*
 * The async dispatcher above a persistence layer: one call at a time, checksums made and checked, answers validated and
 * copied, blocking layers kept off quick threads.
 *
 * A store_op is filled by its owner, submitted, and given back by `done` exactly once, on any thread, with no lock held:
 * `done` must be quick and must not wait (it posts to an inbox or signals a waiter). Between submit and done the op is the
 * store's. Everything that the inputs point at lives in op->mem, because a provider may read it for longer than we wait. Results live in op->mem until the owner disposes it.
 *
 * Invariants: at most one provider call is open (and beside it, where the layer allows it, one piece of care); what a provider answers is trusted only after its keys, order, count and
 * checksums were checked (a wrong answer is UAR_E_CORRUPT, never data). Lock order: leaf.
 */
#ifndef UAR_LIB_STORE_STORE_H
#define UAR_LIB_STORE_STORE_H

#include "base/callout.h"
#include "base/completion.h"
#include "store/record.h"

typedef enum store_call { STORE_GET, STORE_LIST, STORE_COMMIT, STORE_BACKUP, STORE_MAINTAIN, STORE_CHECK } store_call;

/* What care is given and gives: BACKUP reads `path`, MAINTAIN `options` and `care`, CHECK `each` and `check`. */
typedef struct store_care {
    const char *path; /* in op->mem */
    uar_care_options options;
    uar_care_progress progress;
    uar_store_finding_fn each; /* NULL: nobody listens */
    void *each_ctx;
    uar_store_care care;
    uar_store_check check;
} store_care;

typedef struct store_op {
    struct store_op *next;
    void (*done)(struct store_op *op);
    void *arg;
    store_call call;
    arena mem;            /* initialised by the owner: inputs may live here, results do */
    uint32_t kind;        /* GET */
    uar_str owner, id;    /* GET */
    uar_list_query query; /* LIST */
    uar_write *writes;    /* COMMIT: revision, times and checksum of PUT records are set by the store */
    size_t write_count;   /* COMMIT */
    store_care *care;     /* BACKUP, MAINTAIN, CHECK: the owner's, until done */
    /* COMMIT, optional, both quick and without a wait. `prepare`: just before the layer is called, when the answer of every
     * commit before is known: may still change the writes; what it returns instead of UAR_OK ends the op. `settle`: the layer
     * answered, or nobody waits for its answer any more; before any other call is made. Not for ops that the layer never got. */
    uar_status (*prepare)(struct store_op *op);
    void (*settle)(struct store_op *op);
    uar_status status;
    uar_error error;
    uar_record *records; /* GET: one; LIST: in order */
    size_t record_count;
} store_op;

typedef struct store store;

typedef struct store_options {
    const uar_allocator *alloc;
    const uar_clock *clock;
    const uar_executor *executor;
    callouts *callouts;
    /* Optional: keep what the options point at alive while a call of the layer may still need it. */
    void *host;
    void (*host_ref)(void *host);
    void (*host_unref)(void *host);
} store_options;

/* Takes `layer` over, also on failure. Calls its `open`. */
uar_status store_open(store **out, const uar_persistence *layer, const store_options *options, uar_error *err);
void store_submit(store *s, store_op *op);
/* Let what was submitted be done, then give the layer's files back; from the call on new ops end with UAR_E_SUSPENDED, and care
 * that runs is stopped. UAR_E_TIMEOUT: a call still runs after `deadline_ms`; nothing new is let in all the same, until it is
 * asked again or resumed. UAR_E_UNSUPPORTED: the layer can't; UAR_E_CLOSED. After any other failure the store goes on. Waits. */
uar_status store_suspend(store *s, uint32_t deadline_ms, uar_error *err);
/* Go on; UAR_OK as well if it wasn't suspended. After a failure it still is. Waits. */
uar_status store_resume(store *s, uar_error *err);
/* Real path of the layer's directory, or NULL. */
const char *store_location(store *s);
/* No new calls (they end with UAR_E_CLOSED, and so do queued ones); the open one is detached. Waits up to `deadline_ms` for a
 * provider call that is running; false if it still runs. The layer is destroyed now, or when that call has returned. */
bool store_close(store *s, uint32_t deadline_ms);
/* Give a closed store back; NULL is accepted. It may still be asked until then. */
void store_release(store *s);

#endif
