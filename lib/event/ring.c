/* The ring of a channel. Invariants: count <= cap <= limits.events; ids of the events held are consecutive. */
#include "event/ring.h"

#include <assert.h>

#include "event/event.h"

enum { RING_FIRST = 4, RING_EVENTS = 512 };
#define RING_BYTES ((size_t)256 * 1024)

void ring_init(ring *r, const uar_allocator *alloc, uint64_t before, const ring_limits *limits) {
    *r = (ring){ 0 };
    if (limits != NULL) r->limits = *limits;
    if (r->limits.events == 0) r->limits.events = RING_EVENTS;
    if (r->limits.bytes == 0) r->limits.bytes = RING_BYTES;
    snapshot_fold_init(&r->base, alloc, before);
}

void ring_dispose(ring *r) {
    for (size_t i = 0; i < r->count; i++)
        uar_event_unref(ring_at(r, i));
    alloc_free(r->base.alloc, r->slots);
    snapshot_fold_dispose(&r->base);
}

static size_t slot_of(const ring *r, size_t i) {
    size_t slot = r->head + i;
    return slot < r->cap ? slot : slot - r->cap;
}

const uar_event *ring_at(const ring *r, size_t i) {
    assert(i < r->count);
    return r->slots[slot_of(r, i)];
}

static uar_status ring_grow(ring *r, size_t cap) {
    const uar_event **slots = alloc_zeroed(r->base.alloc, cap, sizeof(const uar_event *));
    if (slots == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < r->count; i++)
        slots[i] = ring_at(r, i);
    alloc_free(r->base.alloc, r->slots);
    r->slots = slots;
    r->cap = cap;
    r->head = 0;
    return UAR_OK;
}

uar_status ring_reserve(ring *r, size_t spare) {
    if (r->cap - r->count >= spare || r->cap == r->limits.events) return UAR_OK;
    size_t cap = r->cap != 0 ? r->cap * 2 : RING_FIRST;
    if (cap < r->count + spare) cap = r->count + spare;
    return ring_grow(r, cap < r->limits.events ? cap : r->limits.events);
}

static void ring_evict(ring *r) {
    const uar_event *oldest = ring_at(r, 0);
    r->head = slot_of(r, 1);
    r->count--;
    r->bytes -= event_bytes(oldest);
    snapshot_fold_event(&r->base, oldest);
    uar_event_unref(oldest);
}

void ring_push(ring *r, const uar_event *event) {
    assert(event->id == ring_oldest(r) + r->count);
    if (r->count == r->limits.events) ring_evict(r);
    assert(r->count < r->cap);
    r->count++;
    r->slots[slot_of(r, r->count - 1)] = event;
    r->bytes += event_bytes(event);
    while (r->bytes > r->limits.bytes && r->count > 1)
        ring_evict(r);
}

void ring_drop(ring *r, bool keep_slots) {
    while (r->count != 0)
        ring_evict(r);
    if (keep_slots) return;
    alloc_free(r->base.alloc, r->slots);
    r->slots = NULL;
    r->cap = r->head = 0;
}
