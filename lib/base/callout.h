/*
 * Who is inside a host callback. Each call-out pushes a frame on its own stack and links it here, so that a call that waits
 * can refuse with UAR_E_WOULD_DEADLOCK where waiting would never end. Nothing is thread-local.
 * Lock order: the mutex is a leaf.
 */
#ifndef UAR_LIB_BASE_CALLOUT_H
#define UAR_LIB_BASE_CALLOUT_H

#include "base/lock.h"

typedef enum callout_kind {
    CALLOUT_SINK,
    CALLOUT_MODEL,
    CALLOUT_TOOL,
    CALLOUT_EMBEDDER,
    CALLOUT_REPLY,       /* completion functions of the host */
    CALLOUT_PERSISTENCE, /* from here on: may only finish their own call */
    CALLOUT_EXECUTOR,
    CALLOUT_LOG
} callout_kind;

typedef struct callout_frame {
    struct callout_frame *next, *prev;
    thread_id thread;
    callout_kind kind;
} callout_frame;

typedef struct callouts {
    mutex lock;
    callout_frame *frames;
} callouts;

uar_status callouts_init(callouts *c);
void callouts_dispose(callouts *c);
void callout_enter(callouts *c, callout_frame *frame, callout_kind kind);
void callout_leave(callouts *c, callout_frame *frame);
/* True if this thread is inside any callback: waiting is refused. */
bool callout_is_inside(callouts *c);
/* True if this thread is inside a callback that may only finish its own call. */
bool callout_is_restricted(callouts *c);

#endif
