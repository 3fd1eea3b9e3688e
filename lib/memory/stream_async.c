/* Owns: the calls of uar/memory_stream_async.h: what each takes, does and tells. */
#include "memory/async.h"
#include "memory/stream.h"

/* ---- what is taken: a new member of these structs that points at something must be named here ---- */

static const keep_shape draft_shape = {
    "uar_memory_stream_draft",
    sizeof(uar_memory_stream_draft),
    .text_count = 6,
    .texts = { offsetof(uar_memory_stream_draft, name), offsetof(uar_memory_stream_draft, user),
               offsetof(uar_memory_stream_draft, agent), offsetof(uar_memory_stream_draft, session),
               offsetof(uar_memory_stream_draft, task), offsetof(uar_memory_stream_draft, metadata) },
};
_Static_assert(offsetof(uar_memory_stream_draft, must_exist) + 8 >= sizeof(uar_memory_stream_draft),
               "copy what is new");

static const keep_shape entry_shape = {
    "uar_memory_stream_entry_draft",
    sizeof(uar_memory_stream_entry_draft),
    .text_count = 5,
    .texts = { offsetof(uar_memory_stream_entry_draft, role), offsetof(uar_memory_stream_entry_draft, text),
               offsetof(uar_memory_stream_entry_draft, metadata),
               offsetof(uar_memory_stream_entry_draft, provenance.session),
               offsetof(uar_memory_stream_entry_draft, unique_key) },
};
_Static_assert(offsetof(uar_memory_stream_entry_draft, unique_key) + sizeof(uar_str) ==
                   sizeof(uar_memory_stream_entry_draft),
               "copy what is new");

static const keep_shape summary_shape = {
    "uar_memory_stream_summary_draft",
    sizeof(uar_memory_stream_summary_draft),
    .text_count = 5,
    .texts = { offsetof(uar_memory_stream_summary_draft, text), offsetof(uar_memory_stream_summary_draft, role),
               offsetof(uar_memory_stream_summary_draft, metadata),
               offsetof(uar_memory_stream_summary_draft, provenance.session),
               offsetof(uar_memory_stream_summary_draft, unique_key) },
};
_Static_assert(offsetof(uar_memory_stream_summary_draft, unique_key) + sizeof(uar_str) ==
                   sizeof(uar_memory_stream_summary_draft),
               "copy what is new");

static const keep_shape filter_shape = {
    "uar_memory_stream_filter",
    sizeof(uar_memory_stream_filter),
    .text_count = 4,
    .texts = { offsetof(uar_memory_stream_filter, user), offsetof(uar_memory_stream_filter, agent),
               offsetof(uar_memory_stream_filter, session), offsetof(uar_memory_stream_filter, task) },
};
_Static_assert(offsetof(uar_memory_stream_filter, archived) + 8 >= sizeof(uar_memory_stream_filter),
               "copy what is new");

/* ---- how ends are told ---- */

static void tell_streams(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.streams(r->in.ctx, status, status == UAR_OK ? r->result.streams : NULL, err);
}

static void tell_entries(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.entries(r->in.ctx, status, status == UAR_OK ? r->result.entries : NULL, err);
}

static void tell_window(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.window(r->in.ctx, status, status == UAR_OK ? r->result.window : NULL, err);
}

static void tell_appended(deferred *r, uar_status status, const uar_error *err) {
    bool ok = status == UAR_OK;
    r->in.to.appended(r->in.ctx, status, ok ? r->result.list : NULL, ok ? r->in.count : 0, err);
}

static void tell_summary(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.summary(r->in.ctx, status, status == UAR_OK ? &r->result.summary : NULL, err);
}

static void tell_stream_stats(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.stream_stats(r->in.ctx, status, status == UAR_OK ? &r->result.stream_stats : NULL, err);
}

static void tell_stream_imported(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.stream_imported(r->in.ctx, status, status == UAR_OK ? &r->result.stream_imported : NULL, err);
}

static void tell_outcome(deferred *r, uar_status status, const uar_error *err) {
    r->in.to.outcome(r->in.ctx, status, status == UAR_OK ? r->result.outcome : (uar_memory_outcome)0, err);
}

/* ---- what is done ---- */

static uar_status run_open(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_open_sync(&r->result.streams, m, r->in.who, r->in.given, err);
}

static uar_status run_get(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_get_sync(&r->result.streams, m, r->in.who, r->in.id, err);
}

static uar_status run_append(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_append_batch_sync(r->result.list, m, r->in.who, r->in.id, r->in.given, r->in.count,
                                               r->in.number, err);
}

static uar_status run_read(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_read_sync(&r->result.entries, m, r->in.who, r->in.id, r->in.number, r->in.flag,
                                       r->in.count, err);
}

static uar_status run_read_window(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_window_sync(&r->result.window, m, r->in.who, r->in.id, r->in.number, r->in.flags, err);
}

static uar_status run_summarise(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_summarise_sync(&r->result.summary, m, r->in.who, r->in.id, r->in.given, err);
}

static uar_status run_archive(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_archive_sync(m, r->in.who, r->in.id, r->in.flag, err);
}

static uar_status run_list(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_list_sync(&r->result.streams, m, r->in.who, r->in.filter, r->in.cursor, r->in.count, err);
}

static uar_status run_count(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_stats_sync(&r->result.stream_stats, m, r->in.who, r->in.filter, err);
}

static uar_status run_delete(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_delete_sync(&r->result.outcome, m, r->in.who, r->in.id, err);
}

static uar_status run_export(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_export_sync(m, r->in.who, r->in.filter, r->in.through.write, r->in.ctx, err);
}

static uar_status run_import(deferred *r, uar_memory *m, uar_error *err) {
    return uar_memory_stream_import_sync(&r->result.stream_imported, m, r->in.who, r->in.text, r->in.through.failed,
                                         r->in.ctx, err);
}

static const operation op_open = { .run = run_open, .tell = tell_streams, .given = &draft_shape };
static const operation op_get = { .run = run_get, .tell = tell_streams };
static const operation op_append = { .run = run_append,
                                     .tell = tell_appended,
                                     .given = &entry_shape,
                                     .given_most = UAR_MEMORY_STREAM_BATCH_MAX,
                                     .result_size = sizeof(uar_memory_stream_appended) };
static const operation op_read = { .run = run_read, .tell = tell_entries };
static const operation op_read_window = { .run = run_read_window, .tell = tell_window };
static const operation op_summarise = { .run = run_summarise, .tell = tell_summary, .given = &summary_shape };
static const operation op_archive = { .run = run_archive, .tell = tell_done };
static const operation op_list = { .run = run_list, .tell = tell_streams, .filter = &filter_shape };
static const operation op_count = { .run = run_count, .tell = tell_stream_stats, .filter = &filter_shape };
static const operation op_delete = { .run = run_delete, .tell = tell_outcome };
static const operation op_export = { .run = run_export, .tell = tell_done, .filter = &filter_shape };
static const operation op_import = { .run = run_import, .tell = tell_stream_imported };

/* ---- the calls ---- */

uar_status uar_memory_stream_open(uar_memory *memory, const uar_identity *who, const uar_memory_stream_draft *draft,
                                  uar_memory_streams_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .given = draft, .ctx = ctx, .to.streams = done };
    return async_call(&op_open, memory, &in, err);
}

uar_status uar_memory_stream_get(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                 uar_memory_streams_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = stream, .ctx = ctx, .to.streams = done };
    return async_call(&op_get, memory, &in, err);
}

uar_status uar_memory_stream_append_batch(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                          const uar_memory_stream_entry_draft *entries, size_t count, uint64_t expected,
                                          uar_memory_stream_appended_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .id = stream, .given = entries, .count = count, .number = expected, .ctx = ctx, .to.appended = done
    };
    return async_call(&op_append, memory, &in, err);
}

uar_status uar_memory_stream_append(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                    const uar_memory_stream_entry_draft *entry, uint64_t expected,
                                    uar_memory_stream_appended_fn done, void *ctx, uar_error *err) {
    return uar_memory_stream_append_batch(memory, who, stream, entry, 1, expected, done, ctx, err);
}

uar_status uar_memory_stream_read(uar_memory *memory, const uar_identity *who, uar_uuid stream, uint64_t from,
                                  bool backwards, size_t limit, uar_memory_stream_entries_fn done, void *ctx,
                                  uar_error *err) {
    const async_input in = {
        .who = who, .id = stream, .number = from, .flag = backwards, .count = limit, .ctx = ctx, .to.entries = done
    };
    return async_call(&op_read, memory, &in, err);
}

uar_status uar_memory_stream_read_window(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                         uint64_t max_tokens, uint32_t flags, uar_memory_stream_window_fn done,
                                         void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .id = stream, .number = max_tokens, .flags = flags, .ctx = ctx, .to.window = done
    };
    return async_call(&op_read_window, memory, &in, err);
}

uar_status uar_memory_stream_summarise(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                       const uar_memory_stream_summary_draft *draft, uar_memory_stream_summary_fn done,
                                       void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = stream, .given = draft, .ctx = ctx, .to.summary = done };
    return async_call(&op_summarise, memory, &in, err);
}

uar_status uar_memory_stream_archive(uar_memory *memory, const uar_identity *who, uar_uuid stream, bool archived,
                                     uar_memory_done_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = stream, .flag = archived, .ctx = ctx, .to.done = done };
    return async_call(&op_archive, memory, &in, err);
}

uar_status uar_memory_stream_list(uar_memory *memory, const uar_identity *who, const uar_memory_stream_filter *filter,
                                  uar_str cursor, size_t limit, uar_memory_streams_fn done, void *ctx, uar_error *err) {
    const async_input in = {
        .who = who, .filter = filter, .cursor = cursor, .count = limit, .ctx = ctx, .to.streams = done
    };
    return async_call(&op_list, memory, &in, err);
}

uar_status uar_memory_stream_count(uar_memory *memory, const uar_identity *who, const uar_memory_stream_filter *filter,
                                   uar_memory_stream_stats_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .filter = filter, .ctx = ctx, .to.stream_stats = done };
    return async_call(&op_count, memory, &in, err);
}

uar_status uar_memory_stream_delete(uar_memory *memory, const uar_identity *who, uar_uuid stream,
                                    uar_memory_outcome_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .id = stream, .ctx = ctx, .to.outcome = done };
    return async_call(&op_delete, memory, &in, err);
}

uar_status uar_memory_stream_export(uar_memory *memory, const uar_identity *who, const uar_memory_stream_filter *filter,
                                    uar_memory_write_fn write, uar_memory_done_fn done, void *ctx, uar_error *err) {
    const async_input in = { .who = who, .filter = filter, .through.write = write, .ctx = ctx, .to.done = done };
    return async_call(&op_export, memory, &in, err);
}

uar_status uar_memory_stream_import(uar_memory *memory, const uar_identity *who, uar_str lines,
                                    uar_memory_line_fn failed, uar_memory_stream_imported_fn done, void *ctx,
                                    uar_error *err) {
    const async_input in = {
        .who = who, .text = lines, .through.failed = failed, .ctx = ctx, .to.stream_imported = done
    };
    return async_call(&op_import, memory, &in, err);
}
