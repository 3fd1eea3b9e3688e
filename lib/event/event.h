/*
 * Making events.
 *
 * An origin is the identity of a run in one reference-counted allocation, shared by all events of the run. An event is one
 * allocation: the public struct, then copies of everything that its payload points at. Both keep a copy of the allocator,
 * because a host may hold an event longer than the runtime that made it.
 */
#ifndef UAR_LIB_EVENT_EVENT_H
#define UAR_LIB_EVENT_EVENT_H

#include <uar/event.h>

#include "base/alloc.h"

typedef struct event_identity {
    uar_run_id run;
    uar_run_id parent_run;
    uar_str owner;
    uar_str user;
    uar_str session;
    uar_str agent;
} event_identity;

typedef struct event_origin event_origin;

/* Copies the texts. NULL: out of memory. */
event_origin *event_origin_new(const uar_allocator *alloc, const event_identity *identity);
event_origin *event_origin_ref(event_origin *origin);
void event_origin_unref(event_origin *origin); /* accepts NULL */
const event_identity *event_origin_identity(const event_origin *origin);
const uar_allocator *event_origin_allocator(const event_origin *origin);

/*
 * An event with one reference, not yet published: id and time are 0 until channel_publish sets them. `payload` is the
 * struct of the kind; its texts are borrowed and copied, each followed by a NUL. Takes a reference to the origin.
 * NULL: out of memory.
 */
uar_event *event_new(event_origin *origin, uar_event_kind kind, const void *payload);
/* Bytes that it holds, without its share of the origin. */
size_t event_bytes(const uar_event *event);
/* True if the event was made for this origin. */
bool event_is_from(const uar_event *event, const event_origin *origin);

#endif
