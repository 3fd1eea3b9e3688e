/*
 * The witness: what a sink or subscriber heard, item by item, and the rules that it must have kept. The rules read a plain
 * list, so a control can hand them a list that breaks one.
 */
#ifndef UAR_TESTS_FAULT_WITNESS_H
#define UAR_TESTS_FAULT_WITNESS_H

#include <stdio.h>
#include <uar/uar.h>

#include "base/lock.h"

#define WITNESS_MAX 4096

typedef struct heard {
    uar_next_kind what; /* event, gap or closed */
    uar_run_id run;
    uint64_t id, last; /* of the event; first and last of the gap */
    uar_event_kind kind;
} heard;

typedef struct witness {
    mutex lock;
    size_t count;
    size_t lost; /* items beyond WITNESS_MAX */
    heard items[WITNESS_MAX];
} witness;

static inline void witness_add(witness *w, const heard *item) {
    mutex_lock(&w->lock);
    if (w->count < WITNESS_MAX)
        w->items[w->count++] = *item;
    else
        w->lost++;
    mutex_unlock(&w->lock);
}

static inline void witness_event(witness *w, const uar_event *event) {
    heard item = { .what = UAR_NEXT_EVENT, .run = event->run, .id = event->id, .kind = event->kind };
    witness_add(w, &item);
}

static inline void witness_gap(witness *w, const uar_gap *gap) {
    heard item = { .what = UAR_NEXT_GAP, .run = gap->run, .id = gap->first, .last = gap->last };
    witness_add(w, &item);
}

static inline void witness_closed(witness *w, uar_run_id run) {
    heard item = { .what = UAR_NEXT_CLOSED, .run = run };
    witness_add(w, &item);
}

/* How many terminal events a run must have. */
typedef enum verdict {
    VERDICT_ENDED, /* exactly one */
    VERDICT_OPEN,  /* none: parked, or the store never answered */
    VERDICT_EITHER /* one at most: the runtime was closed meanwhile */
} verdict;

/* What one run's items break, or NULL. `text` is where the answer is written. */
static inline const char *witness_fault(const heard *items, size_t count, uar_run_id run, verdict expected,
                                        char text[160]) {
    uint64_t next = 1;
    size_t terminals = 0, hidden = 0, closed = 0;
    for (size_t i = 0; i < count; i++) {
        const heard *h = &items[i];
        if (!uar_uuid_equal(h->run, run)) continue;
        if (closed > 0) return "something came after the run was closed";
        if (h->what == UAR_NEXT_CLOSED) {
            closed++;
            continue;
        }
        if (h->id != next) {
            (void)snprintf(text, 160, "event %llu came where %llu was due", (unsigned long long)(h->id & 0xffffffffff),
                           (unsigned long long)(next & 0xffffffffff));
            return text;
        }
        if (h->what == UAR_NEXT_GAP) {
            hidden += terminals == 0 ? 1 : 0;
            next = h->last + 1;
            continue;
        }
        next = h->id + 1;
        bool terminal = uar_event_is_terminal(h->kind);
        if (terminals > 0 && terminal) return "a second terminal event";
        if (terminals > 0 && h->kind != UAR_EVENT_MEMORY_MUTATION && h->kind != UAR_EVENT_ERROR)
            return "an event that may not follow the terminal one";
        terminals += terminal ? 1 : 0;
    }
    if (expected == VERDICT_ENDED && terminals == 0 && hidden == 0) return "no terminal event";
    if (expected == VERDICT_OPEN && terminals > 0) return "a terminal event of a run that was parked";
    return NULL;
}

#endif
