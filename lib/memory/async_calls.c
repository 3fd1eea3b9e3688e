/* Owns: the calls of uar/memory_async.h: what each takes, does and tells. */
#include "memory/async.h"
#include "memory/service.h"

/* ---- what is taken: a new member of these structs that points at something must be named here ---- */

static const keep_shape draft_shape = {
    "uar_memory_draft",
    sizeof(uar_memory_draft),
    .text_count = 10,
    .texts = { offsetof(uar_memory_draft, content), offsetof(uar_memory_draft, user), offsetof(uar_memory_draft, agent),
               offsetof(uar_memory_draft, session), offsetof(uar_memory_draft, task),
               offsetof(uar_memory_draft, metadata), offsetof(uar_memory_draft, subject),
               offsetof(uar_memory_draft, attribute), offsetof(uar_memory_draft, provenance.session),
               offsetof(uar_memory_draft, unique_key) },
    .list = { offsetof(uar_memory_draft, categories), offsetof(uar_memory_draft, category_count),
              MEMORY_CATEGORIES_MAX },
};
_Static_assert(offsetof(uar_memory_draft, expires_ms) + sizeof(int64_t) == sizeof(uar_memory_draft),
               "copy what is new");

static const keep_shape patch_shape = {
    "uar_memory_patch",
    sizeof(uar_memory_patch),
    .text_count = 2,
    .texts = { offsetof(uar_memory_patch, content), offsetof(uar_memory_patch, metadata) },
    .list = { offsetof(uar_memory_patch, categories), offsetof(uar_memory_patch, category_count),
              MEMORY_CATEGORIES_MAX },
};
_Static_assert(offsetof(uar_memory_patch, expires_ms) + sizeof(int64_t) == sizeof(uar_memory_patch),
               "copy what is new");

static const keep_shape filter_shape = {
    "uar_memory_filter",
    sizeof(uar_memory_filter),
    .text_count = 6,
    .texts = { offsetof(uar_memory_filter, user), offsetof(uar_memory_filter, agent),
               offsetof(uar_memory_filter, session), offsetof(uar_memory_filter, task),
               offsetof(uar_memory_filter, category), offsetof(uar_memory_filter, metadata) },
};
_Static_assert(offsetof(uar_memory_filter, include_past) + sizeof(int64_t) == sizeof(uar_memory_filter),
               "copy what is new");

static const keep_shape compress_shape = {
    "uar_memory_compress_options",
    sizeof(uar_memory_compress_options),
    .text_count = 1,
    .texts = { offsetof(uar_memory_compress_options, summary) },
};
_Static_assert(offsetof(uar_memory_compress_options, trust) + 4 <= sizeof(uar_memory_compress_options) &&
                   offsetof(uar_memory_compress_options, trust) + 8 >= sizeof(uar_memory_compress_options),
               "copy what is new");

static const keep_shape query_shape = {
    "uar_memory_query",
    sizeof(uar_memory_query),
    .is_bare = true,
    .text_count = 1,
    .texts = { offsetof(uar_memory_query, text) },
    .part = &filter_shape,
    .part_at = offsetof(uar_memory_query, filter),
};

/* ---- how ends are told ---- */

void tell_change(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.change(r->in.ctx, status, status == UAR_OK ? &r->result.change : NULL, err);
}

static void tell_changes(deferred *r, uar_status status, const uar_error *err) {
    bool ok = status == UAR_OK;
    r->in.to.changes(r->in.ctx, status, ok ? r->result.list : NULL, ok ? r->in.count : 0, err);
}

static void tell_compression(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.compression(r->in.ctx, status, status == UAR_OK ? &r->result.compression : NULL, err);
}

void tell_records(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.records(r->in.ctx, status, status == UAR_OK ? r->result.records : NULL, err);
}

static void tell_hits(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.hits(r->in.ctx, status, status == UAR_OK ? r->result.hits : NULL, err);
}

static void tell_answers(deferred *r, uar_status status, const uar_error *err) {
    bool ok = status == UAR_OK;
    r->in.to.answers(r->in.ctx, status, ok ? r->result.list : NULL, ok ? r->in.count : 0, err);
}

static void tell_erasure(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.erasure(r->in.ctx, status, status == UAR_OK ? &r->result.erasure : NULL, err);
}

static void tell_stats(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.stats(r->in.ctx, status, status == UAR_OK ? &r->result.stats : NULL, err);
}

static void tell_imported(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.imported(r->in.ctx, status, status == UAR_OK ? &r->result.imported : NULL, err);
}

static void tell_number(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.number(r->in.ctx, status, status == UAR_OK ? r->result.number : 0, err);
}

void tell_done(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.done(r->in.ctx, status, err);
}

/* What was begun unasked has no receiver. */
static void tell_reembedded(deferred *r, uar_status status, const uar_error *err) {
    if (r->in.to.done != NULL) tell_done(r, status, err);
}

/* ---- what is done ---- */

static uar_status run_add(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_add_sync(&r->result.change, m, r->in.who, r->in.given, err);
}

static uar_status run_add_batch(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_add_batch_sync(r->result.list, m, r->in.who, r->in.given, r->in.count, r->in.flags,
                                     r->in.through.refused, r->in.ctx, err);
}

static uar_status run_get(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_get_sync(&r->result.records, m, r->in.who, r->in.id, err);
}

static uar_status run_update(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_update_sync(&r->result.change, m, r->in.who, r->in.id, r->in.given, err);
}

static uar_status run_delete(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_delete_sync(&r->result.change, m, r->in.who, r->in.id, err);
}

static uar_status run_delete_where(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_delete_where_sync(&r->result.erasure, m, r->in.who, r->in.filter, err);
}

static uar_status run_purge(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_purge_sync(&r->result.erasure, m, r->in.who, r->in.id, err);
}

static uar_status run_compress(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_compress_sync(&r->result.compression, m, r->in.who, r->in.filter, r->in.given, err);
}

static uar_status run_list(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_list_sync(&r->result.records, m, r->in.who, r->in.filter, r->in.text, r->in.count, err);
}

static uar_status run_history(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_history_sync(&r->result.records, m, r->in.who, r->in.id, err);
}

static uar_status run_search(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_search_sync(&r->result.hits, m, r->in.who, r->in.text, r->in.filter, r->in.count, err);
}

static uar_status run_search_batch(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_search_batch_sync(r->result.list, m, r->in.who, r->in.given, r->in.count, err);
}

static uar_status run_count(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stats_sync(&r->result.stats, m, r->in.who, r->in.filter, err);
}

static uar_status run_export(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_export_sync(m, r->in.who, r->in.filter, r->in.through.write, r->in.ctx, err);
}

static uar_status run_import(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_import_sync(&r->result.imported, m, r->in.who, r->in.text, r->in.flags, r->in.through.failed,
                                  r->in.ctx, err);
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
    if (status != UAR_OK || r->reembed.over || r->in.through.progress == NULL) return status;
    status = r->in.through.progress(r->in.ctx, r->reembed.done, r->reembed.total);
    return error_plain(err, status);
}

static bool reembed_goes_on(const deferred *r) {
    return !r->reembed.over;
}

static const operation op_add = { .run = run_add, .tell = tell_change, .given = &draft_shape };
static const operation op_add_batch = { .run = run_add_batch,
                                        .tell = tell_changes,
                                        .given = &draft_shape,
                                        .given_most = UAR_MEMORY_BATCH_MAX,
                                        .result_size = sizeof(uar_memory_change) };
static const operation op_get = { .run = run_get, .tell = tell_records };
static const operation op_update = { .run = run_update, .tell = tell_change, .given = &patch_shape };
static const operation op_delete = { .run = run_delete, .tell = tell_change };
static const operation op_delete_where = { .run = run_delete_where, .tell = tell_erasure, .filter = &filter_shape };
static const operation op_purge = { .run = run_purge, .tell = tell_erasure };
static const operation op_compress = {
    .run = run_compress, .tell = tell_compression, .given = &compress_shape, .filter = &filter_shape
};
static const operation op_list = { .run = run_list, .tell = tell_records, .filter = &filter_shape };
static const operation op_history = { .run = run_history, .tell = tell_records };
static const operation op_search = { .run = run_search, .tell = tell_hits, .filter = &filter_shape };
static const operation op_search_batch = { .run = run_search_batch,
                                           .tell = tell_answers,
                                           .given = &query_shape,
                                           .given_most = SIZE_MAX,
                                           .result_size = sizeof(uar_memory_hits *) };
static const operation op_count = { .run = run_count, .tell = tell_stats, .filter = &filter_shape };
static const operation op_export = { .run = run_export, .tell = tell_done, .filter = &filter_shape };
static const operation op_import = { .run = run_import, .tell = tell_imported };
static const operation op_reindex = { .run = run_reindex, .tell = tell_done };
static const operation op_clean = { .run = run_clean, .tell = tell_number };
static const operation op_sweep = { .run = run_sweep, .tell = tell_number };
static const operation op_check = { .run = run_check, .tell = tell_done };
static const operation op_reembed = { .run = run_reembed, .tell = tell_reembedded, .goes_on = reembed_goes_on };

/* ---- the calls ---- */

uar_status uar_memory_add(uar_memory *memory, const uar_identity *who, const uar_memory_draft *draft,
                          uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .given = draft, .ctx = ctx, .to.change = done };
    return async_call(&op_add, memory, &in, err);
}

uar_status uar_memory_add_batch(uar_memory *memory, const uar_identity *who, const uar_memory_draft *drafts,
                                size_t count, uint32_t flags, uar_memory_draft_fn failed, uar_memory_changes_fn done,
                                void *ctx, uar_error *err) {
    const async_input in = { .who = who,
                             .given = drafts,
                             .count = count,
                             .flags = flags,
                             .through.refused = failed,
                             .ctx = ctx,
                             .to.changes = done };
    return async_call(&op_add_batch, memory, &in, err);
}

uar_status uar_memory_get(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_records_fn done,
                          void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .ctx = ctx, .to.records = done };
    return async_call(&op_get, memory, &in, err);
}

uar_status uar_memory_update(uar_memory *memory, const uar_identity *who, uar_uuid id, const uar_memory_patch *patch,
                             uar_memory_change_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .given = patch, .ctx = ctx, .to.change = done };
    return async_call(&op_update, memory, &in, err);
}

uar_status uar_memory_delete(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_change_fn done,
                             void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .ctx = ctx, .to.change = done };
    return async_call(&op_delete, memory, &in, err);
}

uar_status uar_memory_delete_where(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                                   uar_memory_erasure_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .filter = filter, .ctx = ctx, .to.erasure = done };
    return async_call(&op_delete_where, memory, &in, err);
}

uar_status uar_memory_purge(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_erasure_fn done,
                            void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .ctx = ctx, .to.erasure = done };
    return async_call(&op_purge, memory, &in, err);
}

uar_status uar_memory_compress(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                               const uar_memory_compress_options *options, uar_memory_compression_fn done, void *ctx,
                               uar_error *err) {
    const async_input in = { .who = who, .filter = filter, .given = options, .ctx = ctx, .to.compression = done };
    return async_call(&op_compress, memory, &in, err);
}

uar_status uar_memory_list(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter, uar_str cursor,
                           size_t limit, uar_memory_records_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .filter = filter, .text = cursor, .count = limit, .ctx = ctx, .to.records = done
    };
    return async_call(&op_list, memory, &in, err);
}

uar_status uar_memory_history(uar_memory *memory, const uar_identity *who, uar_uuid id, uar_memory_records_fn done,
                              void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = id, .ctx = ctx, .to.records = done };
    return async_call(&op_history, memory, &in, err);
}

uar_status uar_memory_search(uar_memory *memory, const uar_identity *who, uar_str text, const uar_memory_filter *filter,
                             size_t limit, uar_memory_hits_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .text = text, .filter = filter, .count = limit, .ctx = ctx, .to.hits = done };
    return async_call(&op_search, memory, &in, err);
}

uar_status uar_memory_search_batch(uar_memory *memory, const uar_identity *who, const uar_memory_query *queries,
                                   size_t count, uar_memory_answers_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .given = queries, .count = count, .ctx = ctx, .to.answers = done };
    return async_call(&op_search_batch, memory, &in, err);
}

uar_status uar_memory_count(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                            uar_memory_stats_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .filter = filter, .ctx = ctx, .to.stats = done };
    return async_call(&op_count, memory, &in, err);
}

uar_status uar_memory_export(uar_memory *memory, const uar_identity *who, const uar_memory_filter *filter,
                             uar_memory_write_fn write, uar_memory_done_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .filter = filter, .through.write = write, .ctx = ctx, .to.done = done };
    return async_call(&op_export, memory, &in, err);
}

uar_status uar_memory_import(uar_memory *memory, const uar_identity *who, uar_str lines, uint32_t flags,
                             uar_memory_line_fn failed, uar_memory_imported_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .text = lines, .flags = flags, .through.failed = failed, .ctx = ctx, .to.imported = done
    };
    return async_call(&op_import, memory, &in, err);
}

uar_status uar_memory_reindex(uar_memory *memory, uar_memory_done_fn done, void *ctx, uar_error *err) {
    const async_input in = { .ctx = ctx, .to.done = done };
    return async_call(&op_reindex, memory, &in, err);
}

uar_status uar_memory_clean(uar_memory *memory, uar_memory_number_fn done, void *ctx, uar_error *err) {
    const async_input in = { .ctx = ctx, .to.number = done };
    return async_call(&op_clean, memory, &in, err);
}

uar_status uar_memory_sweep(uar_memory *memory, uar_memory_number_fn done, void *ctx, uar_error *err) {
    const async_input in = { .ctx = ctx, .to.number = done };
    return async_call(&op_sweep, memory, &in, err);
}

uar_status uar_memory_check(uar_memory *memory, uar_memory_done_fn done, void *ctx, uar_error *err) {
    const async_input in = { .ctx = ctx, .to.done = done };
    return async_call(&op_check, memory, &in, err);
}

uar_status uar_memory_reembed(uar_memory *memory, uar_memory_progress_fn progress, uar_memory_done_fn done, void *ctx,
                              uar_error *err) {
    const async_input in = { .through.progress = progress, .ctx = ctx, .to.done = done };
    return async_call(&op_reembed, memory, &in, err);
}

/* There may be nothing to do; the first step finds out. */
void reembed_begin(uar_memory *memory) {
    if (embed_is_lexical(memory) || memory->database.read_only || !async_has_executor(memory)) return;
    deferred *r = NULL;
    if (async_new(&r, &op_reembed, memory, NULL) == UAR_OK) (void)async_submit(r, memory, NULL);
}
