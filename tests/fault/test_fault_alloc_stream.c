/*
 * The allocation sweep over the task streams, SQLite's own allocations among them. Each case: a copy of a store with a
 * stream, one allocation fails (once, or it and all later ones), then: success or UAR_E_NOMEM, outputs untouched, a sound
 * store, the same call works, nothing is left over, in SQLite neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <uar/memory_stream.h>

#include "fault/folder.h"
#include "fault/sqlite_port.h"

typedef struct bench {
    fault_port *port;
    uar_memory *memory;
    uar_identity who;
    uar_uuid id; /* the stream of the store */
    long sqlite_before;
    unsigned round; /* names and keys differ from call to call */
} bench;

static char folder[64], path[96], template_path[96];
static uar_uuid template_id;

static void as_user(uar_identity *who) {
    uar_identity_init(who);
    who->user = uar_str_of("me");
}

static uar_memory_stream_entry_draft entry_of(const char *text) {
    uar_memory_stream_entry_draft d = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(text) };
    return d;
}

static void make_template(void) {
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/memory.db", folder);
    (void)snprintf(template_path, sizeof template_path, "%s/template.db", folder);
    uar_memory *memory = uar_memory_open(template_path, NULL);
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
    uar_memory_free(memory);
}

static void *open_bench(fault_port *port) {
    bench *b = calloc(1, sizeof *b);
    if (b == NULL) abort();
    store_files_remove(path);
    file_copy(path, template_path);
    b->port = port;
    b->id = template_id;
    b->sqlite_before = sqlite_alive;
    as_user(&b->who);
    sqlite_port = port;
    uar_memory_options o;
    uar_memory_options_init(&o);
    o.allocator = &b->port->door;
    b->memory = uar_memory_open(path, &o);
    uar_error why = UAR_ERROR_INIT;
    if (uar_memory_state(b->memory, &why) != UAR_MEMORY_READY) fault_note("the store doesn't open: %s", why.message);
    return b;
}

static void inspect(void *arg, uar_status status) {
    (void)status;
    bench *b = arg;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_check_sync(b->memory, &err) != UAR_OK) fault_note("the store is not whole: %s", err.message);
}

/* The next process finds a good store. */
static void close_bench(void *arg) {
    bench *b = arg;
    uar_memory_free(b->memory);
    sqlite_port = NULL;
    FAULT_EXPECT(sqlite_alive == b->sqlite_before, "SQLite holds %ld blocks", sqlite_alive - b->sqlite_before);
    uar_error err = UAR_ERROR_INIT;
    uar_memory *memory = uar_memory_open(path, NULL);
    if (uar_memory_check_sync(memory, &err) != UAR_OK) fault_note("the store that is left: %s", err.message);
    uar_memory_free(memory);
    free(b);
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
    uar_status status = uar_memory_stream_get_sync(&streams, b->memory, &b->who, b->id, NULL);
    OUTPUT_CHECK(status, streams, "uar_memory_stream_get_sync");
    if (status == UAR_OK) uar_memory_streams_free(streams);
    return status;
}

static uar_status act_append(void *arg) {
    bench *b = arg;
    char key[32];
    (void)snprintf(key, sizeof key, "key %u", b->round++);
    uar_memory_stream_entry_draft d[2] = { entry_of("one more"), entry_of("and another") };
    d[0].unique_key = uar_str_of(key);
    d[1].metadata = uar_str_of("{\"k\":{\"deep\":[true,null]}}");
    uar_memory_stream_appended done[2];
    OUTPUT_PREPARE(done);
    uar_status status = uar_memory_stream_append_batch_sync(done, b->memory, &b->who, b->id, d, 2, 0, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_stream_append_batch_sync");
    return status;
}

static uar_status act_repeat(void *arg) {
    bench *b = arg;
    uar_memory_stream_entry_draft d = entry_of("the second again");
    d.unique_key = uar_str_of("second");
    uar_memory_stream_appended done;
    OUTPUT_PREPARE(done);
    uar_status status = uar_memory_stream_append_sync(&done, b->memory, &b->who, b->id, &d, 0, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_stream_append_sync");
    if (status == UAR_OK) FAULT_EXPECT(done.repeated && done.number == 2, "a key was written twice");
    return status;
}

static uar_status act_read(void *arg) {
    bench *b = arg;
    uar_memory_stream_entries *entries;
    OUTPUT_PREPARE(entries);
    uar_status status = uar_memory_stream_read_sync(&entries, b->memory, &b->who, b->id, 0, true, 10, NULL);
    OUTPUT_CHECK(status, entries, "uar_memory_stream_read_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(entries->count == 4, "%zu entries", entries->count);
    uar_memory_stream_entries_free(entries);
    return UAR_OK;
}

static uar_status drop_piece(void *ctx, uar_str piece) {
    *(size_t *)ctx += piece.len;
    return UAR_OK;
}

static uar_status act_window(void *arg) {
    bench *b = arg;
    uar_memory_stream_window *window;
    OUTPUT_PREPARE(window);
    uar_status status = uar_memory_stream_window_sync(&window, b->memory, &b->who, b->id, 30, 0, NULL);
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
    uar_status status = uar_memory_stream_summarise_sync(&done, b->memory, &b->who, b->id, &d, NULL);
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
    uar_status status = uar_memory_stream_archive_sync(b->memory, &b->who, b->id, true, NULL);
    return status == UAR_OK ? uar_memory_stream_archive_sync(b->memory, &b->who, b->id, false, NULL) : status;
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

static uar_status act_import(void *arg) {
    bench *b = arg;
    char lines[512];
    (void)snprintf(lines, sizeof lines,
                   "{\"kind\":\"stream\",\"name\":\"imported %u\",\"archived\":\"2025-01-01\"}\n"
                   "{\"kind\":\"entry\",\"number\":1,\"text\":\"the first imported text\",\"key\":\"k\"}\n"
                   "{\"kind\":\"entry\",\"number\":2,\"text\":\"short\",\"summary\":{\"first\":1,\"last\":1}}\n",
                   b->round++);
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
    uar_status status = uar_memory_stream_delete_sync(&outcome, b->memory, &b->who, b->id, NULL);
    OUTPUT_CHECK(status, outcome, "uar_memory_stream_delete_sync");
    return status;
}

/* A failed deletion deleted nothing; one that worked is done. */
static uar_status delete_again(void *arg, uar_status was) {
    bench *b = arg;
    uar_status then = act_read(b);
    if (was != UAR_OK) return then == UAR_OK ? act_delete(b) : then;
    FAULT_EXPECT(then == UAR_E_NOT_FOUND, "a deleted stream answers %s", uar_status_name(then));
    return UAR_OK;
}

static sweep_scenario scenarios[] = {
    { "stream_open", open_bench, act_open, inspect, NULL, close_bench, 0 },
    { "stream_create", open_bench, act_create, inspect, NULL, close_bench, 0 },
    { "stream_get", open_bench, act_get, inspect, NULL, close_bench, 0 },
    { "stream_append", open_bench, act_append, inspect, NULL, close_bench, 0 },
    { "stream_append_repeat", open_bench, act_repeat, inspect, NULL, close_bench, 0 },
    { "stream_read", open_bench, act_read, inspect, NULL, close_bench, 0 },
    { "stream_window", open_bench, act_window, inspect, NULL, close_bench, 0 },
    { "stream_summarise", open_bench, act_summarise, inspect, summarise_again, close_bench, 0 },
    { "stream_summarise_by_rule", open_bench, act_summarise_by_rule, inspect, summarise_again, close_bench, 0 },
    { "stream_archive", open_bench, act_archive, inspect, NULL, close_bench, 0 },
    { "stream_list", open_bench, act_list, inspect, NULL, close_bench, 0 },
    { "stream_stats", open_bench, act_stats, inspect, NULL, close_bench, 0 },
    { "stream_export", open_bench, act_export, inspect, NULL, close_bench, 0 },
    { "stream_import", open_bench, act_import, inspect, NULL, close_bench, 0 },
    { "stream_delete", open_bench, act_delete, inspect, delete_again, close_bench, 0 },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(void) {
    struct CMUnitTest tests[COUNT(scenarios)];
    sqlite_port_install();
    make_template();
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < COUNT(scenarios); i++) {
        if (scenarios[i].quick == 0) scenarios[i].quick = 40;
        tests[i].name = scenarios[i].name;
        tests[i].test_func = test_sweep;
        tests[i].initial_state = &scenarios[i];
    }
    int failed =
        _cmocka_run_group_tests("every allocation of the task streams may fail", tests, COUNT(tests), NULL, NULL);
    store_files_remove(path);
    store_files_remove(template_path);
    (void)rmdir(folder);
    return failed;
}
