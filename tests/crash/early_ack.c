/*
 * Owns: the layer that acknowledges first. Invariant: at most one commit is kept, and it goes down before any other call
 * does, so that the layer reads its own writes. The library never overlaps calls on a layer that isn't `concurrent`.
 */
#include "early_ack.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/completion.h"
#include "store/record.h"

typedef struct early_layer {
    uar_persistence door;
    const uar_persistence *inner;
    arena mem; /* of the kept commit */
    uar_write *writes;
    size_t count;
} early_layer;

static void inner_ended(void *arg, const completion_result *result) {
    uar_status *status = arg;
    *status = result->status;
}

/* The bundled layer finishes inside the call. A conflict would mean that a second process writes: not in this control. */
static void let_down(early_layer *l) {
    if (l->count == 0) return;
    uar_status status = UAR_E_TIMEOUT;
    uar_completion *done = completion_new(&alloc_default, COMPLETION_OK, inner_ended, &status);
    if (done == NULL) abort();
    completion_lend(done);
    l->inner->commit(l->inner->ctx, l->writes, l->count, done);
    completion_return(done);
    completion_release(done);
    if (status != UAR_OK) abort();
    l->count = 0;
    arena_dispose(&l->mem);
}

static void keep(early_layer *l, const uar_write *writes, size_t count) {
    l->writes = arena_zeroed(&l->mem, count + 1, sizeof *l->writes);
    if (l->writes == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        l->writes[i] = writes[i];
        if (record_copy(&l->writes[i].record, &l->mem, &writes[i].record) != UAR_OK) abort();
    }
    l->count = count;
}

static void early_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    early_layer *l = ctx;
    let_down(l);
    l->inner->get(l->inner->ctx, kind, owner, id, done);
}

static void early_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    early_layer *l = ctx;
    let_down(l);
    l->inner->list(l->inner->ctx, query, done);
}

static void early_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    early_layer *l = ctx;
    let_down(l);
    keep(l, writes, count);
    (void)uar_completion_ok(done);
}

static uar_status early_open(void *ctx, uar_error *err) {
    early_layer *l = ctx;
    return l->inner->open(l->inner->ctx, err);
}

static const char *early_location(void *ctx) {
    early_layer *l = ctx;
    return l->inner->location(l->inner->ctx);
}

static void early_destroy(void *ctx) {
    early_layer *l = ctx;
    let_down(l);
    l->inner->destroy(l->inner->ctx);
    arena_dispose(&l->mem);
    free(l);
}

const uar_persistence *early_ack_over(const uar_persistence *inner) {
    early_layer *l = calloc(1, sizeof *l);
    if (l == NULL) abort();
    assert(!inner->concurrent && inner->open != NULL && inner->location != NULL);
    l->inner = inner;
    arena_init(&l->mem, &alloc_default);
    l->door = (uar_persistence){
        .struct_size = UAR_PERSISTENCE_INIT,
        .ctx = l,
        .destroy = early_destroy,
        .open = early_open,
        .get = early_get,
        .list = early_list,
        .commit = early_commit,
        .location = early_location,
        .blocking = true,
    };
    return &l->door;
}
