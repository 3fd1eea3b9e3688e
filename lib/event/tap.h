/*
 * A tap: the place of one subscription in one channel, a cursor instead of a queue. Publishing to a thousand slow
 * subscribers costs no memory for any of them; who falls behind the ring gets a gap.
 *
 * A tap is in up to three lists, each under its own lock; the order of locks is hub, channel, subscription.
 */
#ifndef UAR_LIB_EVENT_TAP_H
#define UAR_LIB_EVENT_TAP_H

#include <uar/event.h>

#define TAP_BATCH 64 /* events taken from a ring at once */

struct channel;

typedef enum tap_place {
    TAP_IN_CHANNEL,      /* channel lock */
    TAP_IN_SUBSCRIPTION, /* hub lock */
    TAP_IN_READY,        /* subscription lock: something waits to be delivered */
    TAP_PLACES
} tap_place;

typedef struct tap {
    struct channel *channel; /* a reference */
    uar_subscription *sub;   /* owns the tap */
    uint64_t next_id;        /* channel lock: first id that it wasn't given */
    bool queued;             /* channel lock: in the ready list, or being served */
    bool ready;              /* subscription lock: in the ready list */
    bool forgotten;          /* hub lock: its channel is no longer in the registry */
    struct {
        struct tap *prev, *next;
    } links[TAP_PLACES];
} tap;

typedef struct tap_list {
    tap *first, *last;
} tap_list;

static inline void tap_append(tap_list *list, tap *t, tap_place place) {
    t->links[place].prev = list->last;
    t->links[place].next = NULL;
    if (list->last != NULL)
        list->last->links[place].next = t;
    else
        list->first = t;
    list->last = t;
}

static inline void tap_unlink(tap_list *list, tap *t, tap_place place) {
    tap *prev = t->links[place].prev;
    tap *next = t->links[place].next;
    if (prev != NULL)
        prev->links[place].next = next;
    else
        list->first = next;
    if (next != NULL)
        next->links[place].prev = prev;
    else
        list->last = prev;
    t->links[place].prev = t->links[place].next = NULL;
}

/* What was taken from a channel at once and is delivered in this order: the gap, the events, the end. */
typedef struct tap_batch {
    bool has_gap;
    bool has_closed;
    bool is_abandoned; /* the end is not told */
    uar_run_id run;
    uar_gap gap;
    uar_run_snapshot *snapshot; /* of the gap; owned */
    size_t at, count;
    const uar_event *events[TAP_BATCH]; /* from `at` on: owned references */
} tap_batch;

static inline bool batch_is_empty(const tap_batch *b) {
    return !b->has_gap && b->at == b->count && !b->has_closed;
}

#endif
