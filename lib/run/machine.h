/*
 * The step machine of a run: pure, serialisable, without I/O.
 *
 * It is asked for effects (machine_next) and fed their outcomes (machine_feed). It holds no pointer to a host object, reads
 * no clock, draws no random number (fresh ids come in with outcomes), never blocks, and saves to a versioned document between
 * any two feeds. Messages are named by id and number, never copied: all that the document
 * holds of them is what no record holds yet.
 *
 * The way of a run:
 *
 *   ADMIT -> RECALL -> save turn -> [ model -> plan calls -> save calls -> decide, invoke, save results ]* -> save end
 *         -> terminal event -> CAPTURE -> CLOSE
 *
 * Invariants
 *   1. Effects come out in the order in which they must be carried out; an event that states a durable fact comes after the
 *      SAVED of that fact.
 *   2. Exactly one terminal event, on every path; only MemoryMutation and Error follow it.
 *   3. At most one save is open. Outcomes that arrive meanwhile wait in the state and go into the next one.
 *   4. Stopping (cancel, failure, park) tells everything that is open to stop and waits until it has.
 *   5. After UAR_E_NOMEM the machine is broken: it must be thrown away and the run ended from outside.
 */
#ifndef UAR_LIB_RUN_MACHINE_H
#define UAR_LIB_RUN_MACHINE_H

#include <uar/event.h>
#include <uar/run.h>

#include "run/draft.h"

#define MACHINE_DOCUMENT_VERSION 1

typedef enum machine_phase {
    PHASE_NEW,
    PHASE_ADMIT,  /* the session is being opened */
    PHASE_RECALL, /* memory is being asked */
    PHASE_TURN,   /* the user's message is being stored */
    PHASE_MODEL,  /* the model answers, or waits to be asked again */
    PHASE_PLAN,   /* the answer is stored, calls are planned */
    PHASE_CALLS,  /* calls are decided, run and stored */
    PHASE_STOP,   /* what is open is being stopped */
    PHASE_END,    /* the end is being stored */
    PHASE_SETTLE, /* terminal event is out; memory is being captured */
    PHASE_CLOSED
} machine_phase;

/* ---- what the machine wants ---- */

typedef enum effect_kind {
    EFFECT_NONE,
    EFFECT_ADMIT,      /* open the session; answer ADMITTED */
    EFFECT_RECALL,     /* ask memory; answer RECALLED */
    EFFECT_SAVE,       /* commit `save`; answer SAVED */
    EFFECT_EMIT,       /* publish `event` with `payload` */
    EFFECT_CALL_MODEL, /* ask the model (attempt in `number`); answer MODEL_* */
    EFFECT_STOP_MODEL, /* cancel it; answer MODEL_STOPPED, unless it ended by itself */
    EFFECT_PLAN,       /* check call `number`; answer PLANNED before anything else */
    EFFECT_INVOKE,     /* run call `number`; answer TOOL_DONE */
    EFFECT_STOP_TOOL,  /* cancel call `number`; TOOL_DONE must still come */
    EFFECT_WAIT,       /* wait `number` ms; answer WAITED */
    EFFECT_STOP_WAIT,  /* end the wait now; answer WAITED */
    EFFECT_CAPTURE,    /* capture memory; answer CAPTURED */
    EFFECT_CLOSE       /* nothing more will come */
} effect_kind;

typedef enum save_kind {
    SAVE_TURN,  /* lease, session, run, the user's message */
    SAVE_CALLS, /* the answer with its calls, outcomes of refused calls, pending calls */
    SAVE_FACTS, /* decisions and outcomes of the calls marked in_save */
    SAVE_END,   /* the last message, open outcomes, the end of the run */
    SAVE_PARK   /* the run stays resumable */
} save_kind;

typedef union event_payload {
#define UAR_X_MEMBER(kind, member, json, docs) uar_event_##member member;
    UAR_EVENT_KINDS(UAR_X_MEMBER)
#undef UAR_X_MEMBER
} event_payload;

typedef struct effect {
    effect_kind kind;
    save_kind save;
    uint64_t number;
    uar_event_kind event;
    event_payload payload; /* texts borrowed from the machine or from the outcome just fed, until the next feed */
} effect;

/* ---- what the machine is told ---- */

typedef enum outcome_kind {
    OUTCOME_ADMITTED,        /* status; model, recalls, captures, max_steps, number = last message number */
    OUTCOME_RECALLED,        /* status; hits */
    OUTCOME_SAVED,           /* status */
    OUTCOME_MODEL_TEXT,      /* text */
    OUTCOME_MODEL_REASONING, /* text */
    OUTCOME_MODEL_OPAQUE,    /* text */
    OUTCOME_MODEL_CALL,      /* number = index; id, name, text = piece of the arguments */
    OUTCOME_MODEL_USAGE,     /* usage */
    OUTCOME_MODEL_FINISHED,  /* finish */
    OUTCOME_MODEL_FAILED,    /* status, message, retryable, number = retry_after_ms */
    OUTCOME_MODEL_STOPPED,
    OUTCOME_PLANNED,   /* number = call; verdict, text = effective arguments, message */
    OUTCOME_DECIDED,   /* number = call; approved, message = reason, text = edited arguments or absent */
    OUTCOME_TOOL_DONE, /* number = call; status, text = result JSON or, on failure, why; message = what was repaired */
    OUTCOME_WAITED,
    OUTCOME_CANCEL,  /* after_step, message = reason */
    OUTCOME_PARK,    /* message = reason */
    OUTCOME_MUTATED, /* memory changed: fresh = record, name = op, text = outcome */
    OUTCOME_CAPTURED /* status, message: capture is over */
} outcome_kind;

typedef enum call_verdict {
    VERDICT_RUN,     /* it may run */
    VERDICT_ASK,     /* a person decides */
    VERDICT_APPROVE, /* it asks, and is approved at once by policy */
    VERDICT_DENY,    /* it asks, and is denied at once by policy */
    VERDICT_REFUSE   /* it can't run: `status` and `message` say why */
} call_verdict;

typedef struct outcome {
    outcome_kind kind;
    uar_status status;
    uar_status warned; /* RECALLED: what it had to do without, said by `message`; UAR_OK: nothing */
    uar_str message;
    uar_str text;
    uar_str id, name, model;
    uint64_t number;
    uar_uuid fresh; /* ADMITTED, SAVED: an id that was never used, for the next message */
    uar_usage usage;
    uar_finish finish;
    uar_hits hits;
    call_verdict verdict;
    uint32_t max_steps;
    bool recalls, captures, retryable, approved, after_step;
} outcome;

/* ---- the machine ---- */

typedef struct machine_limits {
    uint32_t max_steps;      /* model calls */
    uint32_t parallel_tools; /* calls at once */
    uint32_t model_attempts; /* tries of one model call */
} machine_limits;

typedef struct machine {
    const uar_allocator *alloc;
    machine_limits limits;
    machine_phase phase;
    machine_phase stopped_in; /* PHASE_STOP: where it was */
    buffer input;             /* until the turn is stored */
    buffer model;
    bool captures;
    uint64_t step;                 /* model calls begun */
    uint32_t attempt;              /* of the current one */
    uint64_t waits;                /* tries of the current save */
    uint64_t last_number;          /* of the newest message in the session */
    uar_uuid user_message, answer; /* ids; answer is the message being written */
    uar_uuid stored_answer;        /* newest stored assistant message */
    bool answer_stored;            /* the draft's message is a record */
    draft draft;
    bool
        draft_void; /* it was superseded or is stored whole; forgotten at the next feed, when no effect points into it */
    uar_usage spent;   /* of ended model calls */
    uar_usage current; /* of the open one */
    uar_hit *hits;
    size_t hit_count;
    /* what is open */
    bool model_open, wait_open, save_open;
    bool save_waits; /* the open wait is for another try of `save` */
    save_kind save;
    /* how it ends, once it does */
    bool ending;
    bool parks;
    bool cancel_after_step;
    uar_run_state end_state;
    uar_status end_status;
    buffer end_message; /* failure text or cancel reason */
    /* effects not yet taken */
    effect *effects;
    size_t effect_count, effect_cap, effect_next;
    uar_status status; /* UAR_E_NOMEM: broken */
} machine;

void machine_init(machine *m, const uar_allocator *alloc, const machine_limits *limits);
void machine_dispose(machine *m);
/* Begin with the user's words (valid UTF-8 without U+0000). */
uar_status machine_start(machine *m, uar_uuid user_message, uar_str input);
/* Next effect, or false when all is taken. The effect's texts live until the next feed. */
bool machine_next(machine *m, effect *out);
/* Feed one outcome. UAR_E_NOMEM: broken. UAR_E_STALE: it speaks of something that isn't open, and nothing changed. */
uar_status machine_feed(machine *m, const outcome *o);
/* True when an outcome of this kind would be stale. */
bool machine_is_ending(const machine *m);

/* A JSON document of all state. Effects that are wanted count as carried out. */
void machine_save(const machine *m, buffer *out);
/* UAR_E_NEWER, UAR_E_CORRUPT, UAR_E_NOMEM; `m` must be fresh from machine_init. */
uar_status machine_load(machine *m, uar_str document, uar_error *err);

/* Shared by machine.c and machine_calls.c, the part that deals with tool calls. */
effect *machine_want(machine *m, effect_kind kind);
event_payload *machine_emit(machine *m, uar_event_kind kind);
void machine_emit_error(machine *m, uar_status status, uar_str message);
void machine_want_save(machine *m, save_kind save);
void machine_stop(machine *m, uar_run_state state, uar_status status, uar_str message);
void machine_step(machine *m); /* next model call, or the end of the run at a limit */
void machine_plan(machine *m, uar_finish finish);
void machine_feed_planned(machine *m, const outcome *o);
uar_status machine_feed_decided(machine *m, const outcome *o);
uar_status machine_feed_tool_done(machine *m, const outcome *o);
void machine_calls_saved(machine *m); /* the open save of facts is done: say so */
void machine_calls_go_on(machine *m);
void machine_mark_facts(machine *m);      /* mark what is not stored yet for the save that comes */
void machine_interrupt_calls(machine *m); /* calls without an outcome get a visible one */
void machine_stop_go_on(machine *m);
void machine_stop_calls(machine *m);
bool machine_calls_are_running(const machine *m);

#endif
