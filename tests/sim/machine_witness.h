/*
 * Watches one step machine from outside: what it was told and what it wanted, and says which promise of run/machine.h or
 * rule about events it broke first. It knows nothing of how the machine decides; it looks into its draft only to
 * compare texts and to find a call by its id.
 *
 * Owns: what is open, the deltas since the last void attempt, the story of each call of the current step.
 */
#ifndef UAR_TESTS_SIM_MACHINE_WITNESS_H
#define UAR_TESTS_SIM_MACHINE_WITNESS_H

#include "run/machine.h"

#define WITNESS_CALLS 8

typedef struct witness_call {
    bool planning; /* PLAN is open */
    bool has_arguments;
    bool may_run, asks;
    bool decided, approved; /* by outcome or policy */
    bool asked_aloud, approved_aloud, denied_aloud;
    bool started, running, stop_told, ended_aloud;
    bool has_outcome;
    bool gone; /* a decision came too late */
    bool ok;
    uint32_t index; /* the model's name for it */
    uint64_t decided_at, outcome_at;
    uar_str arguments; /* that it must run with */
    uar_str result;    /* that was fed, absent if the machine makes it */
} witness_call;

typedef struct witness {
    const char *fault; /* the first broken promise, or NULL */
    uint64_t now;      /* counts feeds */
    outcome fed;       /* the newest */
    uar_status answer; /* what the machine said to it */
    /* open */
    bool admit, recall, save, model, wait, capture;
    bool model_stop_told, wait_stop_told;
    save_kind save_kind;
    uint64_t save_began;
    /* story */
    bool started, closed, parked, cancelled;
    bool turn_stored, calls_stored, end_save_failed;
    unsigned terminals;
    uint64_t steps;
    uint32_t max_steps, parallel_tools;
    buffer heard;    /* ChatDelta texts of the attempt */
    buffer expected; /* what a lane makes of the texts that were fed */
    utf8_lane lane;
    uar_usage spent, current;
    witness_call calls[WITNESS_CALLS];
    size_t call_count;
    uar_finish finish;
} witness;

void witness_init(witness *w, const machine_limits *limits);
void witness_dispose(witness *w);
/* Right behind each machine_feed, before its effects are taken. */
void witness_told(witness *w, const outcome *o, uar_status answer);
void witness_wanted(witness *w, const effect *e, const machine *m);
/* All effects of a feed are taken. */
void witness_rests(witness *w, const machine *m);
/* True if something is open that the host must answer. */
bool witness_waits(const witness *w);

#endif
