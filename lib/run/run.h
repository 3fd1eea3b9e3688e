/*
 * A run: an actor that carries out what its step machine wants.
 *
 * Everything that happens to a run is a letter in its inbox; letters are opened one at a time on an executor, so nothing of
 * a run but its inbox and its table of decisions needs a lock. Each queued letter, each armed timer, each open call holds
 * one reference.
 *
 * Lock order: run.lock is a leaf; stream.lock > run.lock. No lock is held while the executor is called.
 */
#ifndef UAR_LIB_RUN_RUN_H
#define UAR_LIB_RUN_RUN_H

#include "run/env.h"

typedef struct run run;

/* ---- letters ---- */

typedef struct letter {
    struct letter *next;
    void (*open)(run *r, struct letter *l); /* in the actor; frees or keeps the letter */
} letter;

/* A letter that carries an outcome for the machine. */
typedef struct outcome_letter {
    letter head;
    outcome out;
    void (*release)(void *arg); /* instead of freeing it */
    void *arg;
} outcome_letter;

/* A heap letter with copies of the outcome's texts and hits. NULL: out of memory. */
outcome_letter *outcome_letter_new(const uar_allocator *a, const outcome *o);
/* One that lives in its owner; texts must be static or live as long. */
void outcome_letter_init(outcome_letter *l, void (*release)(void *arg), void *arg);

/* Put a letter in; takes over one reference to the run. Any thread. */
void run_post(run *r, letter *l);
/* The same in two steps, for who holds a lock: after run_put answers true, run_wake must be called without it. */
bool run_put(run *r, letter *l);
void run_wake(run *r);
/* Post an outcome; on failure the run breaks in an orderly way. In the actor. */
void run_post_outcome(run *r, const outcome *o);

/* A timer whose firing is a letter. It belongs to the actor; `due` is the truth, armed timers and letters follow it. */
typedef struct run_timer {
    letter letter;
    timer timer;
    run *r;
    uint64_t due; /* monotonic ms; 0: not wanted */
    bool armed;   /* the timer or its letter is on its way */
    void (*fn)(run *r, struct run_timer *t);
} run_timer;

void run_timer_init(run_timer *t, run *r, void (*fn)(run *r, run_timer *t));
void run_timer_start(run_timer *t, uint64_t ms);
void run_timer_stop(run_timer *t);

/* ---- the parts of a run ---- */

typedef struct pending_call {
    struct pending_call *next;
    uint64_t number; /* in the draft */
    const tool *tool;
    bool decided;
    char call[]; /* its id */
} pending_call;

typedef struct run_call run_call;

/* Where admission stands. */
typedef enum admit_stage {
    ADMIT_PULSE,
    ADMIT_SESSION,
    ADMIT_LEASE,
    ADMIT_WATCH,
    ADMIT_AGENT,
    ADMIT_MESSAGES
} admit_stage;

typedef struct admission {
    admit_stage stage;
    store_op op;
    letter letter;
    pulse_waiter waiter;
    run_timer timer;      /* between two looks at another instance's heartbeat */
    uar_uuid holder;      /* of the lease */
    uint64_t holder_beat; /* revision of its heartbeat when it was first seen */
    bool holder_seen;
    uint64_t watching_since; /* monotonic ms */
} admission;

typedef struct run_spec {
    uar_str owner, user, session, agent, task, input, model, instructions;
    uar_approvals approvals;
    uar_toggle memory;
    uint32_t max_steps;
    bool input_repaired; /* U+0000 in the input was replaced */
} run_spec;

struct run {
    run_env *env; /* a reference */
    atomic_uint refs;
    uar_run_id id;
    run_spec spec; /* texts in mem and in origin */
    arena mem;     /* what lives as long as the run */
    machine machine;
    channel *channel;
    event_origin *origin;
    uar_event *spare; /* RunFailed for want of memory, made when there was some */

    /* inbox */
    letter first; /* lets the run go */
    letter last;  /* ends it without waiting for anybody */
    mutex lock;
    letter *head, *tail;
    bool posted;
    uar_task task;
    pending_call *pending; /* under lock: calls that can be decided */

    bool going; /* the machine's first wish was carried out */
    bool begun; /* RunStart is out */
    bool claimed, pulsing, ended, closed, broken;
    bool break_wanted; /* memory ran out while an effect was carried out */

    /* what admission found */
    admission *admission; /* NULL before and after */
    uar_str claim_key;    /* names the session among those that this process writes */
    uar_str session_key;
    uar_session session_now; /* as stored, kept up to date with each save */
    uint64_t lease_revision, run_revision, checkpoint_revision;
    uar_str agent_instructions;
    const model_entry *model;
    int64_t started_ms;
    uar_message *history; /* in mem: the session's messages, oldest first */
    size_t history_count, history_cap;

    /* model and tools */
    uar_stream *stream;
    run_timer model_timer; /* grace after a cancel */
    run_timer wait_timer;
    run_call *calls;

    /* memory */
    struct ahead *asking;    /* the embedder is asked, borrowed from the job; NULL: it isn't */
    bool recalling;          /* for a recall, which a cancel cuts short */
    run_timer memory_timer;  /* of that */
    uar_str recalled;        /* block to inject before this turn's message, in mem */
    uar_str *recalled_texts; /* what it says */
    size_t recalled_count;
};

/* UAR_E_NOMEM, UAR_E_CLOSED. */
uar_status run_new(run **out, run_env *env, const run_spec *spec, uar_error *err);
/* Let it go. */
void run_begin(run *r);
run *run_ref(run *r);
void run_unref(run *r);

/* From any thread. */
uar_status run_cancel(run *r, uar_cancel_mode mode, uar_str reason);
uar_status run_park(run *r, uar_str reason);
/* End without waiting for anybody, in need of no memory; `says_so`: by RunFailed, else without a terminal event. Once. */
void run_abort(run *r, bool says_so);
uar_status run_decide(run *r, uar_str call, bool approved, uar_str arguments, uar_str reason, uar_error *err);

/* ---- between the files of this folder, all in the actor ---- */

void run_feed(run *r, const outcome *o);
uar_uuid run_fresh(run *r); /* a new id; none if the random door failed, which breaks the run */
void *run_list_push(void *list, size_t count, size_t *cap, size_t size, arena *mem);
uar_status run_remember_message(run *r, const uar_message *m); /* deep copy to history */

void run_admit(run *r);
void run_admit_abandon(run *r);
void run_admit_forget(run *r); /* free what admission needed; nothing of it may be open */
void run_save(run *r, save_kind kind);
void run_call_model(run *r, uint64_t attempt);
void run_stop_model(run *r);
void run_model_ended(run *r);
void run_plan(run *r, uint64_t number);
void run_invoke(run *r, uint64_t number);
void run_stop_tool(run *r, uint64_t number);
void run_sweep_calls(run *r);
void run_abandon_calls(run *r);
bool run_memory_injects(const run *r);
bool run_memory_captures(const run *r);
extern const memory_use run_memory_use;

#endif
