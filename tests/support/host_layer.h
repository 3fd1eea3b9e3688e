/*
 * A persistence layer for tests around another one: it tells commits apart by what they write, counts them, and can fail
 * them, hold them back, or run code inside a call. Thread-safe. Destroying it destroys the inner layer; the counts live on
 * until host_layer_free.
 */
#ifndef UAR_TESTS_SUPPORT_HOST_LAYER_H
#define UAR_TESTS_SUPPORT_HOST_LAYER_H

#include <uar/uar.h>

/* What a commit is for. */
typedef enum commit_kind {
    COMMIT_BEAT,  /* a heartbeat */
    COMMIT_TURN,  /* the user's message */
    COMMIT_CALLS, /* an answer with its calls */
    COMMIT_FACTS, /* decisions and results */
    COMMIT_END,   /* the end of a run */
    COMMIT_OTHER, /* parked runs, agents, settings … */
    COMMIT_KINDS
} commit_kind;

typedef struct host_layer host_layer;

/* Takes `inner` over; NULL: a volatile one. */
host_layer *host_layer_new(const uar_persistence *inner);
/* The door, for host_options.layer. */
const uar_persistence *host_layer_door(host_layer *l);
/* Commits of a kind that reached the inner layer. */
size_t host_layer_commits(host_layer *l, commit_kind kind);
/* Of the commits of this kind that come, let `after` be, then fail `times`. */
void host_layer_fail(host_layer *l, commit_kind kind, size_t after, size_t times, uar_status status);
/* Hold commits of this kind back (they are not made) until host_layer_let_go. */
void host_layer_hold(host_layer *l, commit_kind kind);
/* Block inside commits of this kind until host_layer_let_go. */
void host_layer_block(host_layer *l, commit_kind kind);
/* Commits that are held or blocked now. */
size_t host_layer_waiting(host_layer *l);
/* Make what is held, and hold nothing more. */
void host_layer_let_go(host_layer *l);
/* Called inside each get, list and commit, on the library's thread. */
void host_layer_inside(host_layer *l, void (*fn)(void *ctx), void *ctx);
/* How often the door's destroy was called. */
int host_layer_destroyed(host_layer *l);
/* Wait until it was destroyed, at most 10 s. */
bool host_layer_sees_destroyed(host_layer *l);
void host_layer_free(host_layer *l);

#endif
