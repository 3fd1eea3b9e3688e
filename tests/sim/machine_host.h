/*
 * A small world around a step machine: it answers what the machine wants in any order, lets things fail, sends what nobody
 * waits for, cancels and parks, all by choices that can be repeated. A twin of the machine is saved and loaded after every
 * feed and must want the same.
 */
#ifndef UAR_TESTS_SIM_MACHINE_HOST_H
#define UAR_TESTS_SIM_MACHINE_HOST_H

#include "run/machine.h"
#include "sim/choices.h"

/* What a control breaks, to see that it is found. */
typedef enum host_break {
    BREAK_NOTHING,
    BREAK_SECOND_TERMINAL, /* the witness hears the terminal event twice */
    BREAK_LOST_TOOL_END,   /* it doesn't hear a ToolEnd */
    BREAK_EARLY_INVOKE,    /* it hears a call run before its save */
    BREAK_SECOND_SAVE,     /* it hears each save twice */
    BREAK_TWIN             /* the twin loses a field of its document */
} host_break;

/* What happened in the sequences of a test, to see that they reach everything. */
typedef struct host_tally {
    uint64_t feeds, stale, done, failed, cancelled, parked, calls, asks, superseded, save_retries;
} host_tally;

/* One run from start to close. NULL, or the promise that was broken. `tally` may be NULL. `path` (may be NULL) gets the
 * machine's document after every feed, one a line. */
const char *machine_host_play(choices *c, host_break broken, host_tally *tally, buffer *path);
/* A document as it may come from a file: NULL if it is refused as it should be, or is accepted and keeps every promise. */
const char *machine_host_read(uar_str document, choices *c, bool *accepted);
/* One run whose `fail_at`-th allocation fails: `*failed` tells if it came to that. */
const char *machine_host_starve(choices *c, unsigned long fail_at, bool *failed);

#endif
