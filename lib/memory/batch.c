/*
 * Owns: writing many records at once. Invariant: what can be wrong with a draft is found before its first write, so that a
 * refused one leaves nothing behind in the transaction that the others share (but perhaps an empty segment).
 */
#include "memory/batch.h"

#include "base/str.h"
#include "memory/expire.h"

bool batch_ends(uar_status status) {
    uar_band band = uar_status_band(status);
    return band == UAR_BAND_STORE || band == UAR_BAND_FATAL || band == UAR_BAND_RETRY;
}

/* UAR_OK if the batch goes on. */
static uar_status refuse(batch_item *item, uar_status status, const uar_error *why, uar_error *err) {
    if (status == UAR_OK) return UAR_OK;
    if (batch_ends(status) && status != UAR_E_NEWER) {
        error_copy(err, why);
        return status;
    }
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

/* Give each waiting entry its vector; *out holds them all. Without memory they do without. */
static void embed(float **out, batch_item *items, size_t count, uar_memory *memory) {
    *out = NULL;
    uar_str *texts = embed_is_lexical(memory) ? NULL : (uar_str *)alloc_zeroed(&memory->alloc, count, sizeof *texts);
    if (texts == NULL) return;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_waiting(&items[i])) texts[n++] = items[i].d.v.r.content;
    if (n != 0) *out = entry_vectors(memory, texts, n);
    alloc_free(&memory->alloc, texts);
    const float *next = *out;
    for (size_t i = 0; next != NULL && i < count; i++) {
        if (!is_waiting(&items[i])) continue;
        items[i].d.vector = next;
        next += memory->embedder.dims;
    }
}

static uar_status write_all(batch_item *items, size_t count, uar_memory *memory, batch_write_fn write, uar_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (!is_waiting(&items[i])) continue;
        uar_error why = UAR_ERROR_INIT;
        uar_status status = write(&items[i].change, &items[i], memory, &why);
        status = refuse(&items[i], status, &why, err);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

uar_status batch_run(batch_item *items, size_t count, uar_memory *memory, batch_write_fn write, uar_error *err) {
    memory_pin(memory); /* the host may free it inside the embedder */
    float *vectors = NULL;
    embed(&vectors, items, count, memory);
    uar_status status = memory_enter_write(memory, err);
    if (status == UAR_OK) {
        status = write_all(items, count, memory, write, err);
        status = memory_leave_write(memory, status, err);
    }
    alloc_free(&memory->alloc, vectors);
    if (status == UAR_OK) expire_behind_write(memory);
    memory_unpin(memory);
    return status;
}

void batch_dispose(batch_item *items, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (items[i].has_entry) entry_dispose(&items[i].d);
}

static uar_status write_merging(uar_memory_change *out, batch_item *item, uar_memory *memory, uar_error *err) {
    return entry_add(out, &item->d, memory, err);
}

static uar_status write_verbatim(uar_memory_change *out, batch_item *item, uar_memory *memory, uar_error *err) {
    return entry_add_verbatim(out, &item->d, memory, err);
}

const uar_memory_draft *batch_draft_at(const uar_memory_draft *drafts, size_t index) {
    return (const uar_memory_draft *)(const void *)((const char *)drafts + index * drafts->size);
}

uar_status batch_check_sizes(const uar_memory_draft *drafts, size_t count, uar_error *err) {
    size_t size = count != 0 ? drafts->size : sizeof *drafts;
    bool is_set = size >= sizeof size && size % _Alignof(uar_memory_draft) == 0;
    for (size_t i = 0; is_set && i < count; i++)
        is_set = batch_draft_at(drafts, i)->size == size;
    if (is_set) return UAR_OK;
    return error_set(err, UAR_E_STRUCT, "uar_memory_draft: its size is not set; begin it with its INIT macro");
}

static uar_status check_call(const uar_memory_draft *drafts, size_t count, uint32_t flags, uar_error *err) {
    if ((flags & ~UAR_MEMORY_ADD_VERBATIM) != 0) return error_set(err, UAR_E_INVALID, "the batch has unknown flags");
    if (count > UAR_MEMORY_BATCH_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "the batch has %zu drafts, at most %d are allowed", count,
                         UAR_MEMORY_BATCH_MAX);
    if (drafts == NULL) return error_set(err, UAR_E_INVALID, "there are no drafts");
    return batch_check_sizes(drafts, count, err);
}

static uar_status add_items(batch_item *items, const uar_memory_draft *drafts, size_t count, uint32_t flags,
                            uar_memory *memory, const caller *c, uar_error *err) {
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        items[i].number = i;
        status = batch_take(&items[i], memory, c, batch_draft_at(drafts, i), err);
    }
    if (status != UAR_OK) return status;
    bool verbatim = (flags & UAR_MEMORY_ADD_VERBATIM) != 0;
    return batch_run(items, count, memory, verbatim ? write_verbatim : write_merging, err);
}

uar_status uar_memory_add_batch_sync(uar_memory_change *changes, uar_memory *memory, const uar_identity *who,
                                     const uar_memory_draft *drafts, size_t count, uint32_t flags,
                                     uar_memory_draft_fn failed, void *ctx, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK || count == 0) return status;
    status = check_call(drafts, count, flags, err);
    if (status != UAR_OK) return status;
    batch_item *items = (batch_item *)alloc_zeroed(&memory->alloc, count, sizeof *items);
    if (items == NULL) return error_plain(err, UAR_E_NOMEM);
    memory_pin(memory); /* the host may free it in `failed` */
    status = add_items(items, drafts, count, flags, memory, &c, err);
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        if (changes != NULL) changes[i] = items[i].status == UAR_OK ? items[i].change : (uar_memory_change){ 0 };
        if (items[i].status != UAR_OK && failed != NULL) failed(ctx, i, &items[i].why);
    }
    batch_dispose(items, count);
    alloc_free(&memory->alloc, items);
    memory_unpin(memory);
    return status;
}
