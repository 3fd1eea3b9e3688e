/*
 * Owns: writing many records at once. Invariant: what can be wrong with a draft is found before its first write, so that a
 * refused one leaves nothing behind in the transaction that the others share (but perhaps an empty segment).
 */
#include "memory/batch.h"

#include <assert.h>

#include "base/str.h"
#include "base/struct_in.h"
#include "memory/expire.h"

/* UAR_OK if the batch goes on. */
static uar_status refuse(batch_item *item, uar_status status, const uar_error *why, uar_error *err) {
    if (status == UAR_OK) return UAR_OK;
    if (memory_stops_at(status)) return error_pass(err, status, why);
    item->status = status;
    item->why = *why;
    return UAR_OK;
}

uar_status batch_take(batch_item *item, uar_memory *memory, const caller *c, const uar_memory_draft *draft,
                      uar_error *err) {
    uar_error why = UAR_ERROR_INIT;
    item->has_entry = true;
    uar_status status = entry_make(&item->d, memory, c, draft, &why);
    return refuse(item, status, &why, err);
}

static bool is_waiting(const batch_item *item) {
    return item->status == UAR_OK && !item->is_skipped;
}

static bool wants_vector(const batch_item *item) {
    return is_waiting(item) && !item->d.seems_known;
}

/* What only repeats needs no vector. Whether it does is asked again when it is written, so that a fault here costs no more
 * than a call of the embedder. */
static uar_status look_up(batch_item *items, size_t count, uar_memory *memory, uar_error *err) {
    uar_status status = memory_enter_read(memory, err);
    if (status != UAR_OK) return status;
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        if (is_waiting(&items[i])) status = entry_look_up(&items[i].d, &memory->database, NULL);
    memory_leave_read(memory);
    return UAR_OK;
}

/* Give each entry that wants it its vector; *out holds them all. Without memory they do without. */
static void embed(float **out, batch_item *items, size_t count, uar_memory *memory) {
    *out = NULL;
    uar_str *texts = embed_is_lexical(memory) ? NULL : (uar_str *)alloc_zeroed(&memory->alloc, count, sizeof *texts);
    if (texts == NULL) return;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (wants_vector(&items[i])) texts[n++] = items[i].d.v.r.content;
    if (n != 0) *out = entry_vectors(memory, texts, n);
    alloc_free(&memory->alloc, texts);
    const float *next = *out;
    for (size_t i = 0; next != NULL && i < count; i++) {
        if (!wants_vector(&items[i])) continue;
        items[i].d.vector = next;
        next += memory->embedder.dims;
    }
}

static uar_status write_all(batch_item *items, size_t count, uar_memory *memory, batch_write_fn write, bool *again,
                            uar_error *err) {
    for (size_t i = 0; i < count; i++) {
        batch_item *item = &items[i];
        if (!is_waiting(item)) continue;
        bool seemed_known = item->d.seems_known;
        uar_error why = UAR_ERROR_INIT;
        uar_status status = write(&item->change, item, memory, &why);
        *again = seemed_known && !item->d.seems_known;
        if (*again) return status;
        status = refuse(item, status, &why, err);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

/* `again`: a record that was to be repeated has gone meanwhile, and nothing was written. */
static uar_status write_once(batch_item *items, size_t count, uar_memory *memory, batch_write_fn write, bool *again,
                             uar_error *err) {
    float *vectors = NULL;
    *again = false;
    embed(&vectors, items, count, memory);
    uar_status status = memory_enter_write(memory, err);
    if (status == UAR_OK) {
        status = write_all(items, count, memory, write, again, err);
        status = memory_leave_write(memory, status, err);
    }
    for (size_t i = 0; i < count; i++)
        items[i].d.vector = NULL;
    alloc_free(&memory->alloc, vectors);
    return status;
}

static uar_status write_merging(uar_memory_change *out, batch_item *item, uar_memory *memory, uar_error *err) {
    return entry_add(out, &item->d, memory, err);
}

uar_status batch_run(batch_item *items, size_t count, uar_memory *memory, batch_write_fn write, uar_error *err) {
    uar_status status = UAR_OK;
    bool again = false;
    memory_pin(memory); /* the host may free it inside the embedder */
    if (write == NULL && !embed_is_lexical(memory)) status = look_up(items, count, memory, err);
    if (write == NULL) write = write_merging;
    if (status == UAR_OK) status = write_once(items, count, memory, write, &again, err);
    if (again) {
        for (size_t i = 0; i < count; i++)
            items[i].d.seems_known = false;
        status = write_once(items, count, memory, write, &again, err);
        assert(!again);
    }
    if (status == UAR_OK) expire_behind_write(memory);
    memory_unpin(memory);
    return status;
}

void batch_dispose(batch_item *items, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (items[i].has_entry) entry_dispose(&items[i].d);
}

static uar_status write_verbatim(uar_memory_change *out, batch_item *item, uar_memory *memory, uar_error *err) {
    return entry_add_verbatim(out, &item->d, memory, err);
}

/* `step`: how far apart the drafts lie. */
static uar_status check_call(size_t *step, const uar_memory_draft *drafts, size_t count, uint32_t flags,
                             uar_error *err) {
    if ((flags & ~UAR_MEMORY_ADD_VERBATIM) != 0) return error_set(err, UAR_E_INVALID, "the batch has unknown flags");
    if (count > UAR_MEMORY_BATCH_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "the batch has %zu drafts, at most %d are allowed", count,
                         UAR_MEMORY_BATCH_MAX);
    if (drafts == NULL) return error_set(err, UAR_E_INVALID, "there are no drafts");
    return struct_step(step, drafts, count, "uar_memory_draft", err);
}

static uar_status add_items(batch_item *items, const char *drafts, size_t step, size_t count, uint32_t flags,
                            uar_memory *memory, const caller *c, uar_error *err) {
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        items[i].number = i;
        status = batch_take(&items[i], memory, c, (const void *)(drafts + i * step), err);
    }
    if (status != UAR_OK) return status;
    bool verbatim = (flags & UAR_MEMORY_ADD_VERBATIM) != 0;
    return batch_run(items, count, memory, verbatim ? write_verbatim : NULL, err);
}

uar_status uar_memory_add_batch_sync(uar_memory_change *changes, uar_memory *memory, const uar_identity *who,
                                     const uar_memory_draft *drafts, size_t count, uint32_t flags,
                                     uar_memory_draft_fn failed, void *ctx, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK || count == 0) return status;
    size_t step = 0;
    status = check_call(&step, drafts, count, flags, err);
    if (status != UAR_OK) return status;
    batch_item *items = (batch_item *)alloc_zeroed(&memory->alloc, count, sizeof *items);
    if (items == NULL) return error_plain(err, UAR_E_NOMEM);
    memory_pin(memory); /* the host may free it in `failed` */
    status = add_items(items, (const char *)drafts, step, count, flags, memory, &c, err);
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        if (changes != NULL) changes[i] = items[i].status == UAR_OK ? items[i].change : (uar_memory_change){ 0 };
        if (items[i].status != UAR_OK && failed != NULL) failed(ctx, i, &items[i].why);
    }
    batch_dispose(items, count);
    alloc_free(&memory->alloc, items);
    memory_unpin(memory);
    return status;
}
