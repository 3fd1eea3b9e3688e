/* Owns: the list of open call-outs. Invariant: a frame is linked exactly while its callback runs, on its thread's stack. */
#include "base/callout.h"

#include <assert.h>

uar_status callouts_init(callouts *c) {
    c->frames = NULL;
    return mutex_init(&c->lock);
}

void callouts_dispose(callouts *c) {
    assert(c->frames == NULL);
    mutex_dispose(&c->lock);
}

void callout_enter(callouts *c, callout_frame *frame, callout_kind kind) {
    frame->thread = thread_self();
    frame->kind = kind;
    frame->prev = NULL;
    mutex_lock(&c->lock);
    frame->next = c->frames;
    if (c->frames != NULL) c->frames->prev = frame;
    c->frames = frame;
    mutex_unlock(&c->lock);
}

void callout_leave(callouts *c, callout_frame *frame) {
    mutex_lock(&c->lock);
    if (frame->next != NULL) frame->next->prev = frame->prev;
    if (frame->prev != NULL)
        frame->prev->next = frame->next;
    else
        c->frames = frame->next;
    mutex_unlock(&c->lock);
}

static bool is_inside_from(callouts *c, callout_kind least) {
    thread_id self = thread_self();
    bool inside = false;
    mutex_lock(&c->lock);
    for (callout_frame *f = c->frames; f != NULL && !inside; f = f->next)
        inside = f->kind >= least && thread_is(f->thread, self);
    mutex_unlock(&c->lock);
    return inside;
}

bool callout_is_inside(callouts *c) {
    return is_inside_from(c, CALLOUT_SINK);
}

bool callout_is_restricted(callouts *c) {
    return is_inside_from(c, CALLOUT_PERSISTENCE);
}
