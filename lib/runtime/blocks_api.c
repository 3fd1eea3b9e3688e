/* Memory blocks: the calls of uar/records.h. Owns nothing. */
#include "base/error.h"
#include "base/struct_in.h"
#include "runtime/keep.h"

static uar_status decode(void *item, arena *ar, const uar_record *r, uar_error *err) {
    return block_decode(item, ar, r, err);
}

static void answer(uar_reply *reply, void *items) {
    reply->blocks = items;
}

static uar_status make(uar_record *out, arena *ar, const request *q, const void *item, uar_error *err) {
    (void)q;
    const uar_block *block = item;
    uar_status status = block_record(out, ar, block);
    if (status == UAR_E_TOO_LARGE)
        return error_set(err, status, "the text has more than %u characters", (unsigned)block->limit);
    return status == UAR_E_INVALID ? error_set(err, status, "a memory block needs a limit of at least 1") : status;
}

static const kept blocks = {
    .kind = UAR_RECORD_MEMORY_BLOCK,
    .size = sizeof(uar_block),
    .decode = decode,
    .answer = answer,
    .make = make,
    .missing = "there is no such memory block",
};

/* Whose: the ids that the scope asks for, checked, in `block`. */
static bool take_place(request **q, uar_block *block, const uar_block_place *given, uar_error *err) {
    uar_block_place place;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = struct_in(&place, sizeof place, given, "uar_block_place", &fault);
    if (status == UAR_OK && (given == NULL || (unsigned)place.scope > UAR_BLOCK_SESSION))
        status = error_set(&fault, UAR_E_INVALID, "the place of a memory block is missing or has no such scope");
    if (status != UAR_OK) {
        request_refuse(*q, status, fault.message, err);
        *q = NULL;
        return false;
    }
    block->owner = (*q)->owner;
    block->scope = place.scope;
    if (place.scope == UAR_BLOCK_AGENT) return request_id(q, &block->agent, place.agent, "agent", err);
    return request_id(q, &block->user, place.user, "user", err) &&
           (place.scope == UAR_BLOCK_USER || request_id(q, &block->session, place.session, "session", err));
}

/* A request about blocks of a place; `block` is in its arena and has the place. */
static request *place_request(uar_block **block, uar_runtime *rt, bool waits, void (*step)(request *q),
                              const char *owner, const uar_block_place *place, uar_error *err) {
    request *q = keep_request(rt, waits, &blocks, step, owner, err);
    if (q == NULL) return NULL;
    *block = arena_zeroed(request_mem(q), 1, sizeof **block);
    if (*block == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    return take_place(&q, *block, place, err) ? q : NULL;
}

static request *keyed(request *q, const uar_block *block, uar_error *err) {
    if (block_key(&keeping_of(q)->key, request_mem(q), block) == UAR_OK) return q;
    return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
}

static request *block_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner,
                              const uar_block_place *place, const char *label, uint64_t revision, uar_error *err) {
    uar_block *block = NULL;
    request *q = place_request(&block, rt, waits, step, owner, place, err);
    if (q == NULL || !request_id(&q, &block->label, label, "label", err)) return NULL;
    keeping_of(q)->expected = revision;
    return keyed(q, block, err);
}

static request *block_put(uar_runtime *rt, bool waits, const char *owner, const uar_block_place *place,
                          const uar_block *given, uar_error *err) {
    if (given == NULL) return error_set(err, UAR_E_INVALID, "the memory block is NULL"), NULL;
    uar_block *block = NULL;
    request *q = place_request(&block, rt, waits, keep_put, owner, place, err);
    if (q == NULL) return NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = host_id_check(given->label, "label", &fault);
    if (status != UAR_OK) return request_refuse(q, status, fault.message, err), NULL;
    block->limit = given->limit;
    keeping_of(q)->expected = given->revision;
    keeping_of(q)->item = block;
    bool good = request_text(&q, &block->label, given->label, err) && request_text(&q, &block->text, given->text, err);
    return good ? keyed(q, block, err) : NULL;
}

static request *block_list(uar_runtime *rt, bool waits, const char *owner, const uar_block_place *place, uar_str cursor,
                           size_t limit, uar_error *err) {
    uar_block *block = NULL;
    request *q = place_request(&block, rt, waits, keep_list, owner, place, err);
    if (q == NULL || !request_cursor(&q, cursor, keep_is_key, err) || !request_limit(&q, limit, err)) return NULL;
    if (block_parent(&keeping_of(q)->parent, request_mem(q), block) == UAR_OK) return q;
    return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
}

uar_status uar_block_put(uar_runtime *rt, const char *owner, const uar_block_place *place, const uar_block *block,
                         uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(block_put(rt, false, owner, place, block, &fault), &fault, done, ctx, err);
}

uar_status uar_block_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_block_place *place,
                              const uar_block *block, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(block_put(rt, true, owner, place, block, &fault), &fault, out, err);
}

uar_status uar_block_load(uar_runtime *rt, const char *owner, const uar_block_place *place, const char *label,
                          uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(block_request(rt, false, keep_load, owner, place, label, 0, &fault), &fault, done, ctx, err);
}

uar_status uar_block_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_block_place *place,
                               const char *label, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(block_request(rt, true, keep_load, owner, place, label, 0, &fault), &fault, out, err);
}

uar_status uar_block_list(uar_runtime *rt, const char *owner, const uar_block_place *place, uar_str cursor,
                          size_t limit, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(block_list(rt, false, owner, place, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_block_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_block_place *place,
                               uar_str cursor, size_t limit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(block_list(rt, true, owner, place, cursor, limit, &fault), &fault, out, err);
}

uar_status uar_block_delete(uar_runtime *rt, const char *owner, const uar_block_place *place, const char *label,
                            uint64_t revision, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(block_request(rt, false, keep_delete, owner, place, label, revision, &fault), &fault, done,
                         ctx, err);
}

uar_status uar_block_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const uar_block_place *place,
                                 const char *label, uint64_t revision, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(block_request(rt, true, keep_delete, owner, place, label, revision, &fault), &fault, out,
                            err);
}
