/*
 * Is another instance alive? Its heartbeat is looked at again and again: moved means alive, unchanged for PULSE_DEAD_MS of our
 * own time means dead, no record means dead. What was found dead is remembered with its last beat, so that the next one who
 * asks needs one look; an instance that was only asleep beats again and is alive.
 *
 * A watch belongs to its owner, who reads the record and sleeps; no lock is held.
 */
#ifndef UAR_LIB_RUN_WATCH_H
#define UAR_LIB_RUN_WATCH_H

#include "run/env.h"

/* Between two looks. */
#define WATCH_MS 200
/* The record of an instance that is dead for so long is removed by whoever sees it. */
#define WATCH_FORGET_MS 30000

typedef enum watch_verdict {
    WATCH_ON, /* look again after WATCH_MS */
    WATCH_ALIVE,
    WATCH_DEAD
} watch_verdict;

typedef struct watch {
    uar_uuid instance;
    uint64_t beat;  /* revision of its heartbeat; 0: there is no record */
    uint64_t since; /* monotonic ms of the first look */
    bool seen;
    bool is_long_dead; /* with WATCH_DEAD: its record serves nobody */
} watch;

#define WATCH_KEY_MAX 64
/* Id of an instance's heartbeat under UAR_SYSTEM_OWNER and UAR_RECORD_LEASE. */
uar_str watch_key(char out[WATCH_KEY_MAX], uar_uuid instance);

void watch_begin(watch *w, uar_uuid instance);
/* Judge by what the store answered: `beat` is the record's revision, 0 if there is none. */
watch_verdict watch_look(run_env *env, watch *w, uint64_t beat);
/* Remove the heartbeat of a dead instance if it is still at that beat. In the background; nobody hears how it went. An
 * instance that was only asleep writes a new one when it wakes. */
void watch_bury(run_env *env, uar_uuid instance, uint64_t beat);

#endif
