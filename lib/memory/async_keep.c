/*
 * Owns: how a call that runs later copies its input and comes into the queue.
 * Invariant: all that a request points at lives in its arena, so that the caller's memory is free when the call returns.
 */
#include "base/error.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "memory/async.h"

static void *keep_bytes(deferred *r, size_t count, size_t size) {
    void *kept = arena_zeroed(&r->ar, count, size);
    if (kept == NULL) r->lacks_memory = true;
    return kept;
}

static void keep_str(deferred *r, uar_str *s) {
    if (s->ptr == NULL) return;
    *s = arena_str(&r->ar, *s);
    if (s->ptr == NULL) r->lacks_memory = true;
}

static void keep_texts(deferred *r, const keep_list *shape, char *at) {
    const uar_str *given = NULL;
    size_t count = 0;
    memcpy(&given, at + shape->texts, sizeof given);
    memcpy(&count, at + shape->count, sizeof count);
    if (given == NULL || count == 0) return;
    if (count > shape->most) count = shape->most + 1;
    uar_str *kept = keep_bytes(r, count, sizeof *kept);
    for (size_t i = 0; kept != NULL && i < count; i++) {
        kept[i] = given[i];
        keep_str(r, &kept[i]);
    }
    memcpy(at + shape->texts, &kept, sizeof kept);
    memcpy(at + shape->count, &count, sizeof count);
}

static uar_status keep_structs(const void **out, deferred *r, const keep_shape *shape, const void *given, size_t count,
                               uar_error *err);

static uar_status keep_one(char *at, deferred *r, const keep_shape *shape, const void *given, uar_error *err) {
    uar_status status = UAR_OK;
    if (shape->is_bare)
        memcpy(at, given, shape->size);
    else
        status = struct_in(at, shape->size, given, shape->name, err);
    if (status != UAR_OK) return status;
    for (size_t i = 0; i < shape->text_count; i++)
        keep_str(r, (uar_str *)(void *)(at + shape->texts[i]));
    if (shape->list.most != 0) keep_texts(r, &shape->list, at);
    if (shape->part == NULL) return UAR_OK;
    const void *part = NULL;
    memcpy(&part, at + shape->part_at, sizeof part);
    status = keep_structs(&part, r, shape->part, part, 1, err);
    memcpy(at + shape->part_at, &part, sizeof part);
    return status;
}

static uar_status keep_structs(const void **out, deferred *r, const keep_shape *shape, const void *given, size_t count,
                               uar_error *err) {
    *out = NULL;
    if (given == NULL || count == 0) return UAR_OK; /* the call says what it thinks of that */
    size_t step = shape->size;
    uar_status status = shape->is_bare ? UAR_OK : struct_step(&step, given, count, shape->name, err);
    if (status != UAR_OK) return status;
    char *kept = keep_bytes(r, count, shape->size);
    if (kept == NULL) return error_plain(err, UAR_E_NOMEM);
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = keep_one(kept + i * shape->size, r, shape, (const char *)given + i * step, err);
    *out = kept;
    return status;
}

static const keep_shape identity_shape = {
    "uar_identity",
    sizeof(uar_identity),
    .text_count = 5,
    .texts = { offsetof(uar_identity, owner), offsetof(uar_identity, user), offsetof(uar_identity, agent),
               offsetof(uar_identity, session), offsetof(uar_identity, task) },
};
_Static_assert(offsetof(uar_identity, flags) + 2 * sizeof(uint32_t) == sizeof(uar_identity), "copy what is new");

static uar_status keep_input(deferred *r, const async_input *in, uar_error *err) {
    const operation *op = r->op;
    r->in = *in;
    keep_str(r, &r->in.text);
    keep_str(r, &r->in.cursor);
    const void *who = NULL;
    uar_status status = keep_structs(&who, r, &identity_shape, in->who, 1, err);
    r->in.who = who;
    bool fits = op->given_most == 0 || in->count <= op->given_most;
    size_t count = op->given_most == 0 ? 1 : in->count;
    if (status == UAR_OK && op->given != NULL)
        status = keep_structs(&r->in.given, r, op->given, fits ? in->given : NULL, count, err);
    if (status == UAR_OK && op->filter != NULL) status = keep_structs(&r->in.filter, r, op->filter, in->filter, 1, err);
    if (status == UAR_OK && op->result_size != 0 && fits && count != 0)
        r->result.list = keep_bytes(r, count, op->result_size);
    return status;
}

uar_status async_call(const operation *op, uar_memory *memory, const async_input *in, uar_error *err) {
    if (in->to.any == NULL) return error_set(err, UAR_E_INVALID, "there is nobody to tell the end");
    deferred *r = NULL;
    uar_status status = async_new(&r, op, memory, err);
    if (status != UAR_OK) return status;
    status = keep_input(r, in, err);
    if (status == UAR_OK) return async_submit(r, memory, err);
    async_free(r);
    return status;
}
