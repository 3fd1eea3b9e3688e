/*
 * A volatile layer that counts what is asked of it, lets a test look at and change its records directly, and fails one commit:
 * before it is done, or after it was, so that the caller can't know. For runtimes with UAR_THREADS_MANUAL: no locks.
 */
#ifndef UAR_TESTS_SUPPORT_SPY_LAYER_H
#define UAR_TESTS_SUPPORT_SPY_LAYER_H

#include <uar/uar.h>

#include "base/arena.h"

typedef struct spy_layer {
    uar_persistence door; /* hand out &spy->door; its destroy destroys what is inside */
    uar_persistence inner;
    arena mem; /* of what was looked at */
    size_t gets, lists, commits;
    size_t listed;  /* records that lists brought */
    uint64_t bytes; /* of bodies and blobs in puts */
    size_t fail_at; /* the commit that fails, counted from 1; 0: none */
    uar_status fail_status;
    bool fail_after; /* it is done all the same */
    void (*before_commit)(void *ctx, const uar_write *writes, size_t count);
    void *before_ctx;
} spy_layer;

void spy_init(spy_layer *s);
void spy_dispose(spy_layer *s); /* frees what was looked at; the door was destroyed by its taker */

/* Straight at the records. Those that were looked at live until spy_dispose. */
uar_status spy_get(spy_layer *s, uar_record *out, uint32_t kind, const char *owner, const char *id);
/* All of kind and owner, at most 1000. */
size_t spy_list(spy_layer *s, uar_record *out, size_t max, uint32_t kind, const char *owner);
size_t spy_count(spy_layer *s, uint32_t kind, const char *owner);
/* Store a record as it is, at the revision it has, with a checksum that fits. */
void spy_put(spy_layer *s, uar_record record);
void spy_delete(spy_layer *s, const uar_record *record);

#endif
