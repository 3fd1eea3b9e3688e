/*
 * What every run of a runtime shares: doors, services, limits, and which sessions are being written.
 *
 * Immutable once built, but for `sessions` and `dead` (under `lock`). Reference-counted: the runtime and each run hold one, so that a
 * late callback finds what it needs. Lock order: a leaf.
 */
#ifndef UAR_LIB_RUN_ENV_H
#define UAR_LIB_RUN_ENV_H

#include <stdatomic.h>

#include <uar/memory.h>

#include "base/callout.h"
#include "base/map.h"
#include "base/timer.h"
#include "event/hub.h"
#include "run/machine.h"
#include "run/pulse.h"
#include "store/store.h"
#include "tool/registry.h"

struct run;

/* Instances that were found dead, with the heartbeat that they died at: who asks again needn't watch again. */
#define GRAVES_MAX 32
typedef struct grave {
    uar_uuid instance; /* none: free */
    uint64_t beat;     /* revision of its heartbeat */
    uint64_t since;    /* monotonic ms when that was first seen */
} grave;

typedef struct graveyard {
    grave graves[GRAVES_MAX];
    size_t next; /* the oldest */
} graveyard;

typedef struct model_entry {
    uar_model door; /* name points at the copy */
    char *name;
} model_entry;

/* How a run tells the runtime that it has ended. Any worker thread, no lock held, quick. */
typedef struct run_watch {
    void *ctx;
    void (*ended)(void *ctx, struct run *r,
                  const uar_outcome *outcome); /* the outcome is known, its event comes next */
    void (*told)(void *ctx, struct run *r);    /* its event is out */
    void (*closed)(void *ctx, struct run *r);  /* nothing more will happen */
} run_watch;

/* What runs and their runtime ask of a memory. A table, so that an app which attaches none doesn't carry one: only
 * uar_builder_memory names it, and a linker leaves out what nobody names. */
typedef struct memory_use {
    void (*recall)(struct run *r);
    void (*capture)(struct run *r);
    void (*stop_asking)(struct run *r,
                        uar_status why); /* the embedder needn't answer any more; run->asking isn't NULL */
    const char *(*location)(const uar_memory *memory);
    uar_memory_status (*state)(const uar_memory *memory, uar_error *reason);
    void (*release)(uar_memory *memory);
    size_t (*trim)(uar_memory *memory);
} memory_use;

typedef struct run_env {
    uar_allocator alloc;
    uar_clock clock;
    uar_random random;
    uar_log log; /* write == NULL: none */
    uar_executor executor;
    atomic_uint refs;
    void (*dispose)(struct run_env *env); /* when the last reference goes */
    timers timers;
    callouts calls;
    store *store;
    hub *hub;
    pulse pulse;
    tool_registry tools;
    model_entry *models;
    size_t model_count;
    uar_memory *memory;           /* a reference, or NULL */
    const memory_use *memory_use; /* NULL without a memory */
    uar_toggle memory_inject, memory_capture;
    uint32_t memory_max_tokens;
    machine_limits limits;
    ring_limits ring;
    char *instructions; /* or NULL */
    uar_uuid instance;
    bool single_process;
    atomic_bool reload_each_step; /* proof: save, free and load the machine after every step */
    run_watch watch;
    mutex lock;
    map sessions;      /* claimed session keys */
    map ledger;        /* under lock: what this instance's counters stand at, by owner; see ledger.h */
    bool ledger_turns; /* under lock: an owner's entry was dropped for want of room */
    graveyard dead;    /* under lock: instances that were found dead */
} run_env;

void env_ref(run_env *env);
void env_unref(run_env *env);
/* A line for the log door; printf-like as error_set, cut at its length, without content of users or models. No lock held. */
void env_say(run_env *env, uar_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What env_claim calls a session, in the arena; ptr NULL on out of memory. */
uar_str env_session_key(arena *ar, uar_str owner, uar_str user, uar_str session);
/* One writer a session in this process; `key` names owner, user and session. UAR_E_BUSY, UAR_E_NOMEM. */
uar_status env_claim(run_env *env, uar_str key);
void env_disclaim(run_env *env, uar_str key);                   /* needs no memory */
const model_entry *env_model(const run_env *env, uar_str name); /* an empty name: the first */

#endif
