/*
 * The allocation sweep over the task streams, SQLite's own allocations among them. Each case: a copy of a store with a
 * stream, one allocation fails (once, or it and all later ones), then: success or UAR_E_NOMEM, outputs untouched, a sound
 * store, the same call works, nothing is left over, in SQLite neither.
 */
#include <uar/memory_stream_async.h>

#include "fault/memory_bench.h"

static uar_uuid template_id; /* the stream of the store */

static uar_memory_stream_entry_draft entry_of(const char *text) {
    uar_memory_stream_entry_draft d = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(text) };
    return d;
}

static void fill(uar_memory *memory) {
    uar_identity who;
    as_user(&who);
    uar_memory_stream_draft draft = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of("log") };
    uar_memory_streams *streams = NULL;
    if (uar_memory_stream_open_sync(&streams, memory, &who, &draft, NULL) != UAR_OK) abort();
    template_id = streams->streams[0].id;
    uar_memory_streams_free(streams);
    uar_memory_stream_entry_draft entries[] = {
        entry_of("The walrus lives at POL-358 near the harbour. It likes herring."),
        entry_of("Nobody has asked the walrus. The harbour is closed on Mondays."),
        entry_of("Tea is better than coffee in the morning. The walrus drinks neither."),
        entry_of("The meeting is every Tuesday."),
    };
    entries[1].unique_key = uar_str_of("second");
    entries[2].metadata = uar_str_of("{\"n\":[1,2]}");
    uar_memory_stream_appended done[4];
    if (uar_memory_stream_append_batch_sync(done, memory, &who, template_id, entries, 4, 1, NULL) != UAR_OK) abort();
}

static uar_status open_named(bench *b, const char *name, bool must_exist) {
    uar_memory_stream_draft draft = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(name),
                                      .must_exist = must_exist };
    uar_memory_streams *streams;
    OUTPUT_PREPARE(streams);
    uar_status status = uar_memory_stream_open_sync(&streams, b->memory, &b->who, &draft, NULL);
    OUTPUT_CHECK(status, streams, "uar_memory_stream_open_sync");
    if (status == UAR_OK) uar_memory_streams_free(streams);
    return status;
}

static uar_status act_open(void *arg) {
    return open_named(arg, "log", true);
}

static uar_status act_create(void *arg) {
    bench *b = arg;
    char name[32];
    (void)snprintf(name, sizeof name, "new %u", b->round++);
    return open_named(b, name, false);
}

static uar_status act_get(void *arg) {
    bench *b = arg;
    uar_memory_streams *streams;
    OUTPUT_PREPARE(streams);
    uar_status status = uar_memory_stream_get_sync(&streams, b->memory, &b->who, template_id, NULL);
    OUTPUT_CHECK(status, streams, "uar_memory_stream_get_sync");
    if (status == UAR_OK) uar_memory_streams_free(streams);
    return status;
}

/* Two that were never written. */
static void next_entries(uar_memory_stream_entry_draft d[2], bench *b) {
    (void)snprintf(b->text, sizeof b->text, "key %u", b->round++);
    d[0] = entry_of("one more");
    d[0].unique_key = uar_str_of(b->text);
    d[1] = entry_of("and another");
    d[1].metadata = uar_str_of("{\"k\":{\"deep\":[true,null]}}");
}

static uar_status act_append(void *arg) {
    bench *b = arg;
    uar_memory_stream_entry_draft d[2];
    next_entries(d, b);
    uar_memory_stream_appended done[2];
    OUTPUT_PREPARE(done);
    uar_status status = uar_memory_stream_append_batch_sync(done, b->memory, &b->who, template_id, d, 2, 0, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_stream_append_batch_sync");
    return status;
}

static uar_status act_repeat(void *arg) {
    bench *b = arg;
    uar_memory_stream_entry_draft d = entry_of("the second again");
    d.unique_key = uar_str_of("second");
    uar_memory_stream_appended done;
    OUTPUT_PREPARE(done);
    uar_status status = uar_memory_stream_append_sync(&done, b->memory, &b->who, template_id, &d, 0, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_stream_append_sync");
    if (status == UAR_OK) FAULT_EXPECT(done.repeated && done.number == 2, "a key was written twice");
    return status;
}

static uar_status act_read(void *arg) {
    bench *b = arg;
    uar_memory_stream_entries *entries;
    OUTPUT_PREPARE(entries);
    uar_status status = uar_memory_stream_read_sync(&entries, b->memory, &b->who, template_id, 0, true, 10, NULL);
    OUTPUT_CHECK(status, entries, "uar_memory_stream_read_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(entries->count == 4, "%zu entries", entries->count);
    uar_memory_stream_entries_free(entries);
    return UAR_OK;
}

static uar_status act_window(void *arg) {
    bench *b = arg;
    uar_memory_stream_window *window;
    OUTPUT_PREPARE(window);
    uar_status status = uar_memory_stream_window_sync(&window, b->memory, &b->who, template_id, 30, 0, NULL);
    OUTPUT_CHECK(status, window, "uar_memory_stream_window_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(window->count >= 1 && window->count + window->left_out == 4, "entries are missing for a fault");
    size_t written = 0;
    status = uar_memory_stream_window_json(window, &b->port->door, drop_piece, &written);
    uar_memory_stream_window_free(window);
    return status;
}

/* What was summarised once is made anew, so that the second call has as much to do. */
static uar_status summarise(bench *b, const char *text) {
    uar_memory_stream_summary_draft d;
    uar_memory_stream_summary_draft_init(&d);
    d.text = uar_str_of(text);
    d.last = 4;
    uar_memory_stream_summary done;
    OUTPUT_PREPARE(done);
    uar_status status = uar_memory_stream_summarise_sync(&done, b->memory, &b->who, template_id, &d, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_stream_summarise_sync");
    if (status == UAR_OK) FAULT_EXPECT(done.number == 5 && done.sources == 4, "a failed summary left something behind");
    return status;
}

static uar_status act_summarise(void *arg) {
    return summarise(arg, "All about the walrus.");
}

static uar_status act_summarise_by_rule(void *arg) {
    return summarise(arg, NULL);
}

/* A summary that worked has nothing left to do. */
static uar_status summarise_again(void *arg, uar_status was) {
    return was == UAR_OK ? act_get(arg) : act_summarise(arg);
}

static uar_status act_archive(void *arg) {
    bench *b = arg;
    uar_status status = uar_memory_stream_archive_sync(b->memory, &b->who, template_id, true, NULL);
    return status == UAR_OK ? uar_memory_stream_archive_sync(b->memory, &b->who, template_id, false, NULL) : status;
}

static uar_status act_list(void *arg) {
    bench *b = arg;
    uar_memory_streams *streams;
    OUTPUT_PREPARE(streams);
    uar_status status = uar_memory_stream_list_sync(&streams, b->memory, &b->who, NULL, uar_str_of(NULL), 1, NULL);
    OUTPUT_CHECK(status, streams, "uar_memory_stream_list_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(streams->count == 1, "a list of nothing for a fault");
    uar_memory_streams_free(streams);
    return UAR_OK;
}

static uar_status act_stats(void *arg) {
    bench *b = arg;
    uar_memory_stream_stats stats;
    OUTPUT_PREPARE(stats);
    uar_status status = uar_memory_stream_stats_sync(&stats, b->memory, &b->who, NULL, NULL);
    OUTPUT_CHECK(status, stats, "uar_memory_stream_stats_sync");
    if (status == UAR_OK) FAULT_EXPECT(stats.streams == 1 && stats.entries == 4, "counts are wrong");
    return status;
}

static uar_status act_export(void *arg) {
    bench *b = arg;
    size_t written = 0;
    uar_status status = uar_memory_stream_export_sync(b->memory, &b->who, NULL, drop_piece, &written, NULL);
    if (status == UAR_OK) FAULT_EXPECT(written > 800, "an export of %zu bytes", written);
    return status;
}

static void next_lines(char lines[512], bench *b) {
    (void)snprintf(lines, 512,
                   "{\"kind\":\"stream\",\"name\":\"imported %u\",\"archived\":\"2025-01-01\"}\n"
                   "{\"kind\":\"entry\",\"number\":1,\"text\":\"the first imported text\",\"key\":\"k\"}\n"
                   "{\"kind\":\"entry\",\"number\":2,\"text\":\"short\",\"summary\":{\"first\":1,\"last\":1}}\n",
                   b->round++);
}

static uar_status act_import(void *arg) {
    bench *b = arg;
    char lines[512];
    next_lines(lines, b);
    uar_memory_stream_imported done;
    OUTPUT_PREPARE(done);
    uar_status status = uar_memory_stream_import_sync(&done, b->memory, &b->who, uar_str_of(lines), NULL, NULL, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_stream_import_sync");
    if (status == UAR_OK) FAULT_EXPECT(done.streams == 1 && done.entries == 2, "lines are lost for a fault");
    return status;
}

static uar_status act_delete(void *arg) {
    bench *b = arg;
    uar_memory_outcome outcome;
    OUTPUT_PREPARE(outcome);
    uar_status status = uar_memory_stream_delete_sync(&outcome, b->memory, &b->who, template_id, NULL);
    OUTPUT_CHECK(status, outcome, "uar_memory_stream_delete_sync");
    return status;
}

/* A failed deletion deleted nothing; one that worked is done. */
static uar_status once_more(bench *b, uar_status was, uar_status (*act)(void *arg)) {
    uar_status then = act_read(b);
    if (was != UAR_OK) return then == UAR_OK ? act(b) : then;
    FAULT_EXPECT(then == UAR_E_NOT_FOUND, "a deleted stream answers %s", uar_status_name(then));
    return UAR_OK;
}

static uar_status delete_again(void *arg, uar_status was) {
    return once_more(arg, was, act_delete);
}

/* ---- later: each call of uar/memory_stream_async.h ---- */

static void on_streams(void *ctx, uar_status status, uar_memory_streams *streams, const uar_error *err) {
    later_told(ctx, status, streams != NULL, err);
    FAULT_EXPECT(streams == NULL || streams->count == 1, "a stream is missing");
    uar_memory_streams_free(streams);
}

static void on_appended(void *ctx, uar_status status, const uar_memory_stream_appended *appended, size_t count,
                        const uar_error *err) {
    later_told(ctx, status, appended != NULL && count != 0, err);
}

static void on_entries(void *ctx, uar_status status, uar_memory_stream_entries *entries, const uar_error *err) {
    later_told(ctx, status, entries != NULL, err);
    FAULT_EXPECT(entries == NULL || entries->count == 4, "entries are missing");
    uar_memory_stream_entries_free(entries);
}

static void on_window(void *ctx, uar_status status, uar_memory_stream_window *window, const uar_error *err) {
    later_told(ctx, status, window != NULL, err);
    uar_memory_stream_window_free(window);
}

static void on_summary(void *ctx, uar_status status, const uar_memory_stream_summary *summary, const uar_error *err) {
    later_told(ctx, status, summary != NULL, err);
    FAULT_EXPECT(summary == NULL || summary->sources == 4, "a failed summary left something behind");
}

static void on_stream_stats(void *ctx, uar_status status, const uar_memory_stream_stats *stats, const uar_error *err) {
    later_told(ctx, status, stats != NULL, err);
    FAULT_EXPECT(stats == NULL || (stats->streams == 1 && stats->entries == 4), "counts are wrong");
}

static void on_outcome(void *ctx, uar_status status, uar_memory_outcome outcome, const uar_error *err) {
    later_told(ctx, status, outcome != 0, err);
}

static void on_imported(void *ctx, uar_status status, const uar_memory_stream_imported *imported,
                        const uar_error *err) {
    later_told(ctx, status, imported != NULL, err);
    FAULT_EXPECT(imported == NULL || (imported->streams == 1 && imported->entries == 2), "lines are lost for a fault");
}

/* With something to copy. */
static uar_memory_stream_filter user_filter(void) {
    return (uar_memory_stream_filter){ UAR_MEMORY_STREAM_FILTER_INIT, .user = uar_str_of("me") };
}

static uar_status act_create_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    (void)snprintf(b->text, sizeof b->text, "new %u", b->round++);
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(b->text) };
    return run_later(b, &end, uar_memory_stream_open(b->memory, &b->who, &d, on_streams, &end, NULL));
}

static uar_status act_get_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_stream_get(b->memory, &b->who, template_id, on_streams, &end, NULL));
}

static uar_status act_append_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_stream_entry_draft d[2];
    next_entries(d, b);
    return run_later(b, &end,
                     uar_memory_stream_append(b->memory, &b->who, template_id, &d[0], 0, on_appended, &end, NULL));
}

static uar_status act_append_batch_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_stream_entry_draft d[2];
    next_entries(d, b);
    return run_later(b, &end,
                     uar_memory_stream_append_batch(b->memory, &b->who, template_id, d, 2, 0, on_appended, &end, NULL));
}

static uar_status act_read_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end,
                     uar_memory_stream_read(b->memory, &b->who, template_id, 0, true, 10, on_entries, &end, NULL));
}

static uar_status act_window_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end,
                     uar_memory_stream_read_window(b->memory, &b->who, template_id, 30, 0, on_window, &end, NULL));
}

static uar_status act_summarise_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    (void)snprintf(b->text, sizeof b->text, "All about the walrus.");
    uar_memory_stream_summary_draft d = { UAR_MEMORY_STREAM_SUMMARY_DRAFT_INIT, .text = uar_str_of(b->text),
                                          .last = 4 };
    return run_later(b, &end, uar_memory_stream_summarise(b->memory, &b->who, template_id, &d, on_summary, &end, NULL));
}

static uar_status summarise_later_again(void *arg, uar_status was) {
    return was == UAR_OK ? act_get_later(arg) : act_summarise_later(arg);
}

/* Away and back, so that the second call has as much to do. */
static uar_status act_archive_later(void *arg) {
    bench *b = arg;
    later_end away = LATER_END, back = LATER_END;
    uar_status status =
        run_later(b, &away, uar_memory_stream_archive(b->memory, &b->who, template_id, true, on_done, &away, NULL));
    if (status != UAR_OK) return status;
    return run_later(b, &back, uar_memory_stream_archive(b->memory, &b->who, template_id, false, on_done, &back, NULL));
}

static uar_status act_list_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_stream_filter f = user_filter();
    return run_later(b, &end,
                     uar_memory_stream_list(b->memory, &b->who, &f, uar_str_of(NULL), 1, on_streams, &end, NULL));
}

static uar_status act_stats_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_stream_filter f = user_filter();
    return run_later(b, &end, uar_memory_stream_count(b->memory, &b->who, &f, on_stream_stats, &end, NULL));
}

static uar_status act_delete_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    return run_later(b, &end, uar_memory_stream_delete(b->memory, &b->who, template_id, on_outcome, &end, NULL));
}

static uar_status delete_later_again(void *arg, uar_status was) {
    return once_more(arg, was, act_delete_later);
}

static uar_status act_export_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    uar_memory_stream_filter f = user_filter();
    uar_status status =
        run_later(b, &end, uar_memory_stream_export(b->memory, &b->who, &f, drop_piece, on_done, &end, NULL));
    if (status == UAR_OK) FAULT_EXPECT(end.written > 800, "an export of %zu bytes", end.written);
    return status;
}

/* The lines are gone when they are read. */
static uar_status act_import_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    char lines[512];
    next_lines(lines, b);
    uar_status begun = uar_memory_stream_import(b->memory, &b->who, uar_str_of(lines), NULL, on_imported, &end, NULL);
    memset(lines, '?', sizeof lines);
    return run_later(b, &end, begun);
}

static sweep_scenario scenarios[] = {
    { "stream_open", open_bench, act_open, inspect_memory, NULL, close_bench, 0 },
    { "stream_create", open_bench, act_create, inspect_memory, NULL, close_bench, 0 },
    { "stream_get", open_bench, act_get, inspect_memory, NULL, close_bench, 0 },
    { "stream_append", open_bench, act_append, inspect_memory, NULL, close_bench, 0 },
    { "stream_append_repeat", open_bench, act_repeat, inspect_memory, NULL, close_bench, 0 },
    { "stream_read", open_bench, act_read, inspect_memory, NULL, close_bench, 0 },
    { "stream_window", open_bench, act_window, inspect_memory, NULL, close_bench, 0 },
    { "stream_summarise", open_bench, act_summarise, inspect_memory, summarise_again, close_bench, 0 },
    { "stream_summarise_by_rule", open_bench, act_summarise_by_rule, inspect_memory, summarise_again, close_bench, 0 },
    { "stream_archive", open_bench, act_archive, inspect_memory, NULL, close_bench, 0 },
    { "stream_list", open_bench, act_list, inspect_memory, NULL, close_bench, 0 },
    { "stream_stats", open_bench, act_stats, inspect_memory, NULL, close_bench, 0 },
    { "stream_export", open_bench, act_export, inspect_memory, NULL, close_bench, 0 },
    { "stream_import", open_bench, act_import, inspect_memory, NULL, close_bench, 0 },
    { "stream_delete", open_bench, act_delete, inspect_memory, delete_again, close_bench, 0 },
    { "later_create", open_pumped, act_create_later, inspect_memory, NULL, close_bench, 20 },
    { "later_get", open_pumped, act_get_later, inspect_memory, NULL, close_bench, 20 },
    { "later_append", open_pumped, act_append_later, inspect_memory, NULL, close_bench, 20 },
    { "later_append_batch", open_pumped, act_append_batch_later, inspect_memory, NULL, close_bench, 20 },
    { "later_read", open_pumped, act_read_later, inspect_memory, NULL, close_bench, 20 },
    { "later_window", open_pumped, act_window_later, inspect_memory, NULL, close_bench, 20 },
    { "later_summarise", open_pumped, act_summarise_later, inspect_memory, summarise_later_again, close_bench, 20 },
    { "later_archive", open_pumped, act_archive_later, inspect_memory, NULL, close_bench, 20 },
    { "later_list", open_pumped, act_list_later, inspect_memory, NULL, close_bench, 20 },
    { "later_stats", open_pumped, act_stats_later, inspect_memory, NULL, close_bench, 20 },
    { "later_delete", open_pumped, act_delete_later, inspect_memory, delete_later_again, close_bench, 20 },
    { "later_export", open_pumped, act_export_later, inspect_memory, NULL, close_bench, 20 },
    { "later_import", open_pumped, act_import_later, inspect_memory, NULL, close_bench, 20 },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(void) {
    return sweep_memory("every allocation of the task streams may fail", fill, scenarios, COUNT(scenarios));
}
