/*
 * The newest events of one run, bounded by count and by bytes, and the snapshot of all that came before them.
 *
 * Invariant: base is exactly the fold over every event that was evicted, so base plus the events held is the run as of
 * now. The slots grow when needed. Not thread-safe: the channel locks.
 */
#ifndef UAR_LIB_EVENT_RING_H
#define UAR_LIB_EVENT_RING_H

#include "event/snapshot.h"

typedef struct ring_limits {
    uint32_t events; /* kept at most; 0: 512 */
    size_t bytes; /* and at most so many bytes of them, but always the newest event; 0: 256 KiB; SIZE_MAX: no bound */
} ring_limits;

typedef struct ring {
    const uar_event **slots;
    size_t cap;
    size_t head; /* slot of the oldest */
    size_t count;
    size_t bytes;
    ring_limits limits;
    snapshot_fold base;
} ring;

/* `before` is the id before the first event. `limits` may be NULL. */
void ring_init(ring *r, const uar_allocator *alloc, uint64_t before, const ring_limits *limits);
void ring_dispose(ring *r);
/* Make sure that the next `spare` pushes need no memory. UAR_E_NOMEM changes nothing. */
uar_status ring_reserve(ring *r, size_t spare);
/* Take over a reference, evicting the oldest where a limit says so. A slot must have been reserved. */
void ring_push(ring *r, const uar_event *event);
/* The i-th event held, 0 the oldest. */
const uar_event *ring_at(const ring *r, size_t i);
/* Id of the oldest event held, or of the next one to come. */
static inline uint64_t ring_oldest(const ring *r) {
    return r->base.last_event + 1;
}
/* Evict all. The slots go too unless `keep_slots`. */
void ring_drop(ring *r, bool keep_slots);

#endif
