/*
 * Owns: the calls of uar/memory_async.h: what each copies, does and tells.
 * Invariant: all that a request points at lives in its arena, so that the caller's memory is free when the call returns.
 */
#include "base/str.h"
#include "base/struct_in.h"
#include "memory/async.h"
#include "memory/batch.h"
#include "memory/service.h"

/* ---- copies ---- */

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

/* One more than is allowed is enough for the call to refuse it. */
static void keep_labels(deferred *r, const uar_str **labels, size_t *count) {
    if (*labels == NULL || *count == 0) return;
    if (*count > MEMORY_CATEGORIES_MAX) *count = MEMORY_CATEGORIES_MAX + 1;
    uar_str *kept = keep_bytes(r, *count, sizeof *kept);
    for (size_t i = 0; kept != NULL && i < *count; i++) {
        kept[i] = (*labels)[i];
        keep_str(r, &kept[i]);
    }
    *labels = kept;
}

static uar_status keep_who(deferred *r, const uar_identity *given, uar_error *err) {
    if (given == NULL) return UAR_OK; /* the call says what it thinks of that */
    uar_identity *who = keep_bytes(r, 1, sizeof *who);
    if (who == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = struct_in(who, sizeof *who, given, "uar_identity", err);
    uar_str *texts[] = { &who->owner, &who->user, &who->agent, &who->session, &who->task };
    for (size_t i = 0; status == UAR_OK && i < sizeof texts / sizeof *texts; i++)
        keep_str(r, texts[i]);
    r->who = who;
    return status;
}

/* A new member of these structs that points at something must be copied here. */
_Static_assert(offsetof(uar_identity, flags) + 2 * sizeof(uint32_t) == sizeof(uar_identity), "copy what is new");
_Static_assert(offsetof(uar_memory_draft, expires_ms) + sizeof(int64_t) == sizeof(uar_memory_draft),
               "copy what is new");
_Static_assert(offsetof(uar_memory_patch, expires_ms) + sizeof(int64_t) == sizeof(uar_memory_patch),
               "copy what is new");
_Static_assert(offsetof(uar_memory_filter, include_past) + sizeof(int64_t) == sizeof(uar_memory_filter),
               "copy what is new");

static uar_status keep_draft(deferred *r, uar_memory_draft *d, const uar_memory_draft *given, uar_error *err) {
    uar_status status = struct_in(d, sizeof *d, given, "uar_memory_draft", err);
    if (status != UAR_OK) return status;
    uar_str *texts[] = { &d->content,   &d->user,      &d->agent,
                         &d->session,   &d->task,      &d->metadata,
                         &d->subject,   &d->attribute, &d->provenance.session,
                         &d->unique_key };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        keep_str(r, texts[i]);
    keep_labels(r, &d->categories, &d->category_count);
    return UAR_OK;
}

static uar_status keep_drafts(deferred *r, const uar_memory_draft *given, size_t count, uar_error *err) {
    if (count == 0) return UAR_OK;
    if (given == NULL && count > 1) return error_set(err, UAR_E_INVALID, "the drafts are NULL");
    if (count > UAR_MEMORY_BATCH_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "a batch has at most %d drafts", UAR_MEMORY_BATCH_MAX);
    uar_status status = given != NULL ? batch_check_sizes(given, count, err) : UAR_OK;
    if (status != UAR_OK) return status;
    uar_memory_draft *kept = keep_bytes(r, count, sizeof *kept);
    if (kept == NULL) return error_plain(err, UAR_E_NOMEM);
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = keep_draft(r, &kept[i], given != NULL ? batch_draft_at(given, i) : NULL, err);
    r->drafts = kept;
    r->count = count;
    return status;
}

static uar_status keep_patch(deferred *r, const uar_memory_patch *given, uar_error *err) {
    uar_memory_patch *p = keep_bytes(r, 1, sizeof *p);
    if (p == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = struct_in(p, sizeof *p, given, "uar_memory_patch", err);
    if (status != UAR_OK) return status;
    keep_str(r, &p->content);
    keep_str(r, &p->metadata);
    keep_labels(r, &p->categories, &p->category_count);
    r->patch = p;
    return UAR_OK;
}

static uar_status keep_filter(const uar_memory_filter **out, deferred *r, const uar_memory_filter *given,
                              uar_error *err) {
    if (given == NULL) return UAR_OK;
    uar_memory_filter *f = keep_bytes(r, 1, sizeof *f);
    if (f == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = struct_in(f, sizeof *f, given, "uar_memory_filter", err);
    if (status != UAR_OK) return status;
    uar_str *texts[] = { &f->user, &f->agent, &f->session, &f->task, &f->category, &f->metadata };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        keep_str(r, texts[i]);
    *out = f;
    return UAR_OK;
}

_Static_assert(offsetof(uar_memory_compress_options, trust) + 4 <= sizeof(uar_memory_compress_options) &&
                   offsetof(uar_memory_compress_options, trust) + 8 >= sizeof(uar_memory_compress_options),
               "copy what is new");

static uar_status keep_compress(deferred *r, const uar_memory_compress_options *given, uar_error *err) {
    if (given == NULL) return UAR_OK;
    uar_memory_compress_options *kept = keep_bytes(r, 1, sizeof *kept);
    if (kept == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = struct_in(kept, sizeof *kept, given, "uar_memory_compress_options", err);
    if (status != UAR_OK) return status;
    keep_str(r, &kept->summary);
    r->compress = kept;
    return UAR_OK;
}

static uar_status keep_queries(deferred *r, const uar_memory_query *given, size_t count, uar_error *err) {
    if (count == 0) return UAR_OK;
    if (given == NULL) return error_set(err, UAR_E_INVALID, "the questions are NULL");
    uar_memory_query *kept = keep_bytes(r, count, sizeof *kept);
    r->result.answers = keep_bytes(r, count, sizeof *r->result.answers);
    if (kept == NULL || r->result.answers == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        kept[i].text = given[i].text;
        kept[i].limit = given[i].limit;
        keep_str(r, &kept[i].text);
        status = keep_filter(&kept[i].filter, r, given[i].filter, err);
    }
    r->queries = kept;
    r->count = count;
    return status;
}

/* ---- how ends are told ---- */

static void tell_change(deferred *r, uar_status status, const uar_error *err) {
    r->to.change(r->ctx, status, status == UAR_OK ? &r->result.change : NULL, err);
}

static void tell_changes(deferred *r, uar_status status, const uar_error *err) {
    bool ok = status == UAR_OK;
    r->to.changes(r->ctx, status, ok ? r->result.changes : NULL, ok ? r->count : 0, err);
}

static void tell_compression(deferred *r, uar_status status, const uar_error *err) {
    r->to.compression(r->ctx, status, status == UAR_OK ? &r->result.compression : NULL, err);
}

static void tell_records(deferred *r, uar_status status, const uar_error *err) {
    r->to.records(r->ctx, status, status == UAR_OK ? r->result.records : NULL, err);
}

static void tell_hits(deferred *r, uar_status status, const uar_error *err) {
    r->to.hits(r->ctx, status, status == UAR_OK ? r->result.hits : NULL, err);
}

static void tell_answers(deferred *r, uar_status status, const uar_error *err) {
    bool ok = status == UAR_OK;
    r->to.answers(r->ctx, status, ok ? r->result.answers : NULL, ok ? r->count : 0, err);
}

static void tell_erasure(deferred *r, uar_status status, const uar_error *err) {
    r->to.erasure(r->ctx, status, status == UAR_OK ? &r->result.erasure : NULL, err);
}

static void tell_stats(deferred *r, uar_status status, const uar_error *err) {
    r->to.stats(r->ctx, status, status == UAR_OK ? &r->result.stats : NULL, err);
}

static void tell_imported(deferred *r, uar_status status, const uar_error *err) {
    r->to.imported(r->ctx, status, status == UAR_OK ? &r->result.imported : NULL, err);
}

static void tell_number(deferred *r, uar_status status, const uar_error *err) {
    r->to.number(r->ctx, status, status == UAR_OK ? r->result.number : 0, err);
}

static void tell_done(deferred *r, uar_status status, const uar_error *err) {
    r->to.done(r->ctx, status, err);
}

/* ---- the operations ---- */

static uar_status run_add(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_add_sync(&r->result.change, m, r->who, r->drafts, err);
}

static uar_status run_add_batch(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_add_batch_sync(r->result.changes, m, r->who, r->drafts, r->count, r->flags, r->through.refused,
                                     r->ctx, err);
}

static uar_status run_purge(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_purge_sync(&r->result.erasure, m, r->who, r->id, err);
}

static uar_status run_compress(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_compress_sync(&r->result.compression, m, r->who, r->filter, r->compress, err);
}

static uar_status run_get(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_get_sync(&r->result.records, m, r->who, r->id, err);
}

static uar_status run_update(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_update_sync(&r->result.change, m, r->who, r->id, r->patch, err);
}

static uar_status run_delete(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_delete_sync(&r->result.change, m, r->who, r->id, err);
}

static uar_status run_delete_where(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_delete_where_sync(&r->result.erasure, m, r->who, r->filter, err);
}

static uar_status run_list(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_list_sync(&r->result.records, m, r->who, r->filter, r->text, r->count, err);
}

static uar_status run_history(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_history_sync(&r->result.records, m, r->who, r->id, err);
}

static uar_status run_search(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_search_sync(&r->result.hits, m, r->who, r->text, r->filter, r->count, err);
}

static uar_status run_search_batch(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_search_batch_sync(r->result.answers, m, r->who, r->queries, r->count, err);
}

static uar_status run_count(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stats_sync(&r->result.stats, m, r->who, r->filter, err);
}

static uar_status run_export(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_export_sync(m, r->who, r->filter, r->through.write, r->ctx, err);
}

static uar_status run_import(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_import_sync(&r->result.imported, m, r->who, r->text, r->flags, r->through.failed, r->ctx, err);
}

static uar_status run_reindex(deferred *r, uar_memory *m, uar_error *err) {
    (void)r;
    return uar_memory_reindex_sync(m, err);
}

static uar_status run_clean(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_clean_sync(&r->result.number, m, err);
}

static uar_status run_sweep(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_sweep_sync(&r->result.number, m, err);
}

static uar_status run_check(deferred *r, uar_memory *m, uar_error *err) {
    (void)r;
    return uar_memory_check_sync(m, err);
}

/* One step a turn, so that other calls come in between. */
static uar_status run_reembed(deferred *r, uar_memory *m, uar_error *err) {
    uar_status status = reembed_step(&r->reembed, m, err);
    if (status != UAR_OK || r->reembed.over || r->through.progress == NULL) return status;
    status = r->through.progress(r->ctx, r->reembed.done, r->reembed.total);
    return error_plain(err, status);
}

static bool reembed_goes_on(const deferred *r) {
    return !r->reembed.over;
}

/* What was begun unasked has no receiver. */
static void tell_reembedded(deferred *r, uar_status status, const uar_error *err) {
    if (r->to.done != NULL) r->to.done(r->ctx, status, err);
}

static const operation op_add = { run_add, tell_change, NULL };
static const operation op_add_batch = { run_add_batch, tell_changes, NULL };
static const operation op_purge = { run_purge, tell_erasure, NULL };
static const operation op_compress = { run_compress, tell_compression, NULL };
static const operation op_get = { run_get, tell_records, NULL };
static const operation op_update = { run_update, tell_change, NULL };
static const operation op_delete = { run_delete, tell_change, NULL };
static const operation op_delete_where = { run_delete_where, tell_erasure, NULL };
static const operation op_list = { run_list, tell_records, NULL };
static const operation op_history = { run_history, tell_records, NULL };
static const operation op_search = { run_search, tell_hits, NULL };
static const operation op_search_batch = { run_search_batch, tell_answers, NULL };
static const operation op_count = { run_count, tell_stats, NULL };
static const operation op_export = { run_export, tell_done, NULL };
static const operation op_import = { run_import, tell_imported, NULL };
static const operation op_reindex = { run_reindex, tell_done, NULL };
static const operation op_clean = { run_clean, tell_number, NULL };
static const operation op_sweep = { run_sweep, tell_number, NULL };
static const operation op_reembed = { run_reembed, tell_reembedded, reembed_goes_on };
static const operation op_check = { run_check, tell_done, NULL };

/* ---- the calls ---- */

/* A request of this identity, with its receiver. NULL: it failed, and `status` says why. */
static deferred *begin(uar_status *status, const operation *op, uar_memory *m, const uar_identity *who, bool has_done,
                       void *ctx, uar_error *err) {
    deferred *r = NULL;
    *status = has_done ? async_new(&r, op, m, err) : error_set(err, UAR_E_INVALID, "there is nobody to tell the end");
    if (*status != UAR_OK) return NULL;
    r->ctx = ctx;
    *status = keep_who(r, who, err);
    if (*status == UAR_OK) return r;
    async_free(r);
    return NULL;
}

/* What was begun is submitted, unless something could not be kept. */
static uar_status submit(deferred *r, uar_memory *m, uar_status status, uar_error *err) {
    if (r == NULL) return status;
    if (status == UAR_OK) return async_submit(r, m, err);
    async_free(r);
    return status;
}

uar_status uar_memory_add(uar_memory *memory, const uar_identity *who, const uar_memory_draft *draft,
                          uar_memory_change_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_add, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.change = done;
        status = keep_drafts(r, draft, 1, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_add_batch(uar_memory *memory, const uar_identity *who, const uar_memory_draft *drafts,
                                size_t count, uint32_t flags, uar_memory_draft_fn failed, uar_memory_changes_fn done,
                                void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_add_batch, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.changes = done;
        r->through.refused = failed;
        r->flags = flags;
        if (count != 0) r->result.changes = keep_bytes(r, count, sizeof *r->result.changes);
        status = keep_drafts(r, drafts, count, err);
    }
    return submit(r, memory, status, err);
}

/* Calls that name one record and give records, or delete it. */
static uar_status submit_records_of(const operation *op, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                    uar_memory_records_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, op, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.records = done;
        r->id = id;
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_get(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_records_fn done,
                          void *ctx, uar_error *err) {
    return submit_records_of(&op_get, memory, who, id, done, ctx, err);
}

uar_status uar_memory_history(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_records_fn done,
                              void *ctx, uar_error *err) {
    return submit_records_of(&op_history, memory, who, id, done, ctx, err);
}

uar_status uar_memory_update(uar_memory *memory, const uar_identity *who, uar_uuid id, const uar_memory_patch *patch,
                             uar_memory_change_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_update, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.change = done;
        r->id = id;
        status = keep_patch(r, patch, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_delete(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_change_fn done,
                             void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_delete, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.change = done;
        r->id = id;
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_delete_where(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                   uar_memory_erasure_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_delete_where, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.erasure = done;
        status = keep_filter(&r->filter, r, filter, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_purge(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_erasure_fn done,
                            void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_purge, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.erasure = done;
        r->id = id;
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_compress(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                               const uar_memory_compress_options *options, uar_memory_compression_fn done, void *ctx,
                               uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_compress, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.compression = done;
        status = keep_filter(&r->filter, r, filter, err);
        if (status == UAR_OK) status = keep_compress(r, options, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_list(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter, uar_str cursor,
                           size_t limit, uar_memory_records_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_list, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.records = done;
        r->text = cursor;
        r->count = limit;
        keep_str(r, &r->text);
        status = keep_filter(&r->filter, r, filter, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_search(uar_memory *memory, const uar_identity *who, uar_str text, const uar_memory_filter *filter,
                             size_t limit, uar_memory_hits_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_search, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.hits = done;
        r->text = text;
        r->count = limit;
        keep_str(r, &r->text);
        status = keep_filter(&r->filter, r, filter, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_search_batch(uar_memory *memory, const uar_identity *who, const uar_memory_query *queries,
                                   size_t count, uar_memory_answers_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_search_batch, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.answers = done;
        status = keep_queries(r, queries, count, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_count(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                            uar_memory_stats_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_count, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.stats = done;
        status = keep_filter(&r->filter, r, filter, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_export(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                             uar_memory_write_fn write, uar_memory_done_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_export, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.done = done;
        r->through.write = write;
        status = keep_filter(&r->filter, r, filter, err);
    }
    return submit(r, memory, status, err);
}

uar_status uar_memory_import(uar_memory *memory, const uar_identity *who, uar_str lines, uint32_t flags,
                             uar_memory_line_fn failed, uar_memory_imported_fn done, void *ctx, uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_import, memory, who, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.imported = done;
        r->through.failed = failed;
        r->text = lines;
        r->flags = flags;
        keep_str(r, &r->text);
    }
    return submit(r, memory, status, err);
}

/* Calls that need nobody's identity and give nothing. */
static uar_status submit_plain(const operation *op, uar_memory *memory, uar_memory_done_fn done, void *ctx,
                               uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, op, memory, NULL, done != NULL, ctx, err);
    if (r != NULL) r->to.done = done;
    return submit(r, memory, status, err);
}

uar_status uar_memory_reindex(uar_memory *memory, uar_memory_done_fn done, void *ctx, uar_error *err) {
    return submit_plain(&op_reindex, memory, done, ctx, err);
}

uar_status uar_memory_check(uar_memory *memory, uar_memory_done_fn done, void *ctx, uar_error *err) {
    return submit_plain(&op_check, memory, done, ctx, err);
}

static uar_status submit_counting(const operation *op, uar_memory *memory, uar_memory_number_fn done, void *ctx,
                                  uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, op, memory, NULL, done != NULL, ctx, err);
    if (r != NULL) r->to.number = done;
    return submit(r, memory, status, err);
}

uar_status uar_memory_clean(uar_memory *memory, uar_memory_number_fn done, void *ctx, uar_error *err) {
    return submit_counting(&op_clean, memory, done, ctx, err);
}

uar_status uar_memory_sweep(uar_memory *memory, uar_memory_number_fn done, void *ctx, uar_error *err) {
    return submit_counting(&op_sweep, memory, done, ctx, err);
}

uar_status uar_memory_reembed(uar_memory *memory, uar_memory_progress_fn progress, uar_memory_done_fn done, void *ctx,
                              uar_error *err) {
    uar_status status;
    deferred *r = begin(&status, &op_reembed, memory, NULL, done != NULL, ctx, err);
    if (r != NULL) {
        r->to.done = done;
        r->through.progress = progress;
    }
    return submit(r, memory, status, err);
}

/* There may be nothing to do; the first step finds out. */
void reembed_begin(uar_memory *memory) {
    if (embed_is_lexical(memory) || memory->database.read_only || !async_has_executor(memory)) return;
    deferred *r = NULL;
    if (async_new(&r, &op_reembed, memory, NULL) == UAR_OK) (void)async_submit(r, memory, NULL);
}
