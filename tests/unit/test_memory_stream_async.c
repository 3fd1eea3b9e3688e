/* Calls of task streams that run later: each does what its `_sync` form does, with a copy of what it was given. */
#include <uar/memory_stream_async.h>

#include "test_memory_async_fixture.h"

static void on_streams(void *ctx, uar_status status, uar_memory_streams *streams, const uar_error *err) {
    heard *h = ctx;
    h->count = streams != NULL ? streams->count : 0;
    if (h->count != 0) {
        const uar_memory_stream *s = &streams->streams[0];
        (void)snprintf(h->first, sizeof h->first, "%.*s", (int)s->name.len, s->name.ptr);
        h->change.id = s->id;
        h->number = s->last;
    }
    uar_memory_streams_free(streams);
    hear(h, status, err);
}

static void on_appended(void *ctx, uar_status status, const uar_memory_stream_appended *appended, size_t count,
                        const uar_error *err) {
    heard *h = ctx;
    h->count = count;
    h->number = count != 0 ? appended[count - 1].number : 0;
    hear(h, status, err);
}

static void on_entries(void *ctx, uar_status status, uar_memory_stream_entries *entries, const uar_error *err) {
    heard *h = ctx;
    h->count = entries != NULL ? entries->count : 0;
    if (h->count != 0)
        (void)snprintf(h->first, sizeof h->first, "%.*s", (int)entries->entries[0].text.len,
                       entries->entries[0].text.ptr);
    uar_memory_stream_entries_free(entries);
    hear(h, status, err);
}

static void on_window(void *ctx, uar_status status, uar_memory_stream_window *window, const uar_error *err) {
    heard *h = ctx;
    h->count = window != NULL ? window->count : 0;
    uar_memory_stream_window_free(window);
    hear(h, status, err);
}

static void on_summary(void *ctx, uar_status status, const uar_memory_stream_summary *summary, const uar_error *err) {
    heard *h = ctx;
    h->number = summary != NULL ? summary->sources : 0;
    hear(h, status, err);
}

static void on_stream_stats(void *ctx, uar_status status, const uar_memory_stream_stats *stats, const uar_error *err) {
    heard *h = ctx;
    h->number = stats != NULL ? stats->streams * 100 + stats->entries : 0;
    hear(h, status, err);
}

static void on_outcome(void *ctx, uar_status status, uar_memory_outcome outcome, const uar_error *err) {
    heard *h = ctx;
    h->number = (uint64_t)outcome;
    hear(h, status, err);
}

static void on_stream_imported(void *ctx, uar_status status, const uar_memory_stream_imported *imported,
                               const uar_error *err) {
    heard *h = ctx;
    h->number = imported != NULL ? imported->streams * 10 + imported->entries : 0;
    hear(h, status, err);
}

/* ---- a stream that is there before ---- */

static const uar_str no_cursor = { NULL, 0 };
static uar_uuid stream;

static void fill(async_fixture *x) {
    /* Also again, whatever was done with it. */
    uar_identity who = user_of("u1");
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("voyage") };
    uar_memory_streams *streams = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&streams, x->memory, &who, &d, NULL), UAR_OK);
    stream = streams->streams[0].id;
    uar_memory_streams_free(streams);
    assert_int_equal(uar_memory_stream_archive_sync(x->memory, &who, stream, false, NULL), UAR_OK);
    const char *const texts[] = { "the ship left the harbour at dawn with forty sailors aboard and much bread",
                                  "a storm took the mast on the second day" };
    for (size_t i = 0; i < 2; i++) {
        uar_memory_stream_entry_draft e = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(texts[i]) };
        uar_memory_stream_appended done;
        assert_int_equal(uar_memory_stream_append_sync(&done, x->memory, &who, stream, &e, 0, NULL), UAR_OK);
    }
}

/* ---- the calls, each as it is begun with what it is given in memory that is gone when it runs ---- */

static uar_status begin_open(async_fixture *x, heard *h) {
    char name[] = "a second stream", metadata[] = "{\"n\":1}";
    uar_identity who = user_of("u1");
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(name),
                                  .metadata = uar_str_of(metadata) };
    uar_status status = uar_memory_stream_open(x->memory, &who, &d, on_streams, h, NULL);
    memset(name, 1, sizeof name), memset(metadata, 'x', sizeof metadata), memset(&d, 0xff, sizeof d);
    return status;
}

static uar_status begin_get(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_stream_get(x->memory, &who, stream, on_streams, h, NULL);
}

static uar_status begin_append(async_fixture *x, heard *h) {
    char text[] = "land was seen", key[] = "key of the land", role[] = "mate";
    uar_identity who = user_of("u1");
    uar_memory_stream_entry_draft d = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(text),
                                        .unique_key = uar_str_of(key), .role = uar_str_of(role) };
    uar_status status = uar_memory_stream_append(x->memory, &who, stream, &d, 0, on_appended, h, NULL);
    memset(text, 'x', sizeof text), memset(key, 'x', sizeof key), memset(role, 1, sizeof role);
    memset(&d, 0xff, sizeof d);
    return status;
}

static uar_status begin_batch(async_fixture *x, heard *h) {
    char one[] = "the anchor fell", two[] = "the boats were lowered";
    uar_identity who = user_of("u1");
    uar_memory_stream_entry_draft d[] = {
        { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(one), .unique_key = STR("k1") },
        { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(two), .unique_key = STR("k2") },
    };
    uar_status status = uar_memory_stream_append_batch(x->memory, &who, stream, d, 2, 0, on_appended, h, NULL);
    memset(one, 'x', sizeof one), memset(two, 'x', sizeof two), memset(d, 0xff, sizeof d);
    return status;
}

static uar_status begin_read(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_stream_read(x->memory, &who, stream, 2, true, 10, on_entries, h, NULL);
}

static uar_status begin_window(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_stream_read_window(x->memory, &who, stream, 1000, UAR_MEMORY_STREAM_WINDOW_ARCHIVED, on_window, h,
                                         NULL);
}

static uar_status begin_summarise(async_fixture *x, heard *h) {
    char text[] = "a storm", key[] = "of the storm";
    uar_identity who = user_of("u1");
    uar_memory_stream_summary_draft d = { UAR_MEMORY_STREAM_SUMMARY_DRAFT_INIT, .first = 1, .last = 2,
                                          .text = uar_str_of(text), .unique_key = uar_str_of(key) };
    uar_status status = uar_memory_stream_summarise(x->memory, &who, stream, &d, on_summary, h, NULL);
    memset(text, 'x', sizeof text), memset(key, 'x', sizeof key), memset(&d, 0xff, sizeof d);
    return status;
}

static uar_status begin_archive(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_stream_archive(x->memory, &who, stream, true, on_done, h, NULL);
}

static uar_status begin_unarchive(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_stream_archive(x->memory, &who, stream, false, on_done, h, NULL);
}

static uar_status begin_list(async_fixture *x, heard *h) {
    char user[] = "u1";
    uar_identity who = user_of("u1");
    uar_memory_stream_filter f = { UAR_MEMORY_STREAM_FILTER_INIT, .user = uar_str_of(user) };
    uar_status status = uar_memory_stream_list(x->memory, &who, &f, no_cursor, 10, on_streams, h, NULL);
    memset(user, 'x', sizeof user), memset(&f, 0xff, sizeof f);
    return status;
}

static uar_status begin_count(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_stream_count(x->memory, &who, NULL, on_stream_stats, h, NULL);
}

static uar_status begin_export(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    h->count = 0;
    return uar_memory_stream_export(x->memory, &who, NULL, count_line, on_done, h, NULL);
}

static uar_status begin_import(async_fixture *x, heard *h) {
    char lines[] = "{\"v\":1,\"kind\":\"stream\",\"name\":\"logbook\",\"scope\":\"user\"}\n"
                   "{\"v\":1,\"kind\":\"entry\",\"number\":1,\"text\":\"calm sea\"}\nno line\n";
    uar_identity who = user_of("u1");
    uar_status status =
        uar_memory_stream_import(x->memory, &who, uar_str_of(lines), count_failed, on_stream_imported, h, NULL);
    memset(lines, 'x', sizeof lines);
    return status;
}

static uar_status begin_delete(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_stream_delete(x->memory, &who, stream, on_outcome, h, NULL);
}

static void every_call_of_a_stream_has_a_form_that_runs_later(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    fill(x);
    play(x, &h, begin_open);
    assert_string_equal(h.first, "a second stream");
    play(x, &h, begin_append);
    assert_int_equal(h.number, 3);
    play(x, &h, begin_append);
    assert_int_equal(h.number, 3); /* the same key */
    play(x, &h, begin_batch);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.number, 5);
    play(x, &h, begin_get);
    assert_string_equal(h.first, "voyage");
    assert_int_equal(h.number, 5);
    play(x, &h, begin_summarise);
    assert_int_equal(h.number, 2);
    play(x, &h, begin_read);
    assert_int_equal(h.count, 2);
    assert_string_equal(h.first, "a storm took the mast on the second day");
    play(x, &h, begin_archive);
    play(x, &h, begin_window);
    assert_int_equal(h.count, 4);
    play(x, &h, begin_list);
    assert_int_equal(h.count, 1);
    play(x, &h, begin_unarchive);
    play(x, &h, begin_list);
    assert_int_equal(h.count, 2);
    play(x, &h, begin_count);
    assert_int_equal(h.number, 206);
    play(x, &h, begin_export);
    assert_int_equal(h.count, 8);
    play(x, &h, begin_import);
    assert_int_equal(h.number, 11);
    assert_int_equal(h.count, 3); /* the line that was refused */
    play(x, &h, begin_delete);
    assert_int_equal(h.number, UAR_MEMORY_OUTCOME_ERASED);
    play(x, &h, begin_count);
    assert_int_equal(h.number, 201);
    heard_dispose(&h);
}

static void what_is_wrong_is_told_to_the_receiver(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    fill(x);
    uar_identity who = user_of("u1");
    uar_memory_stream_entry_draft d = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("late") };
    assert_int_equal(uar_memory_stream_append(x->memory, &who, stream, NULL, 0, on_appended, &h, NULL), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_append(x->memory, &who, stream, &d, 9, on_appended, &h, NULL), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_CONFLICT);
    /* Of so many nothing is read. */
    assert_int_equal(uar_memory_stream_append_batch(x->memory, &who, stream, &d, 1000000, 0, on_appended, &h, NULL),
                     UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_INVALID);
    assert_int_equal(h.calls, 3);
    heard_dispose(&h);
}

static void a_call_that_cannot_begin_says_so_at_once(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    fill(x);
    uar_identity who = user_of("u1");
    assert_int_equal(uar_memory_stream_archive(x->memory, &who, stream, true, NULL, &h, NULL), UAR_E_INVALID);
    uar_memory_stream_entry_draft d[2] = { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("one") },
                                           { .size = 8, .text = STR("two") } };
    assert_int_equal(uar_memory_stream_append_batch(x->memory, &who, stream, d, 2, 0, on_appended, &h, NULL),
                     UAR_E_STRUCT);
    (void)pump(x);
    assert_int_equal(h.calls, 0);
    heard_dispose(&h);
}

static void test_X3_freeing_cancels_what_has_not_begun(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    fill(x);
    for (int i = 0; i < 6; i++)
        assert_int_equal(begin_append(x, &h), UAR_OK);
    assert_int_equal(begin_read(x, &h), UAR_OK);
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_int_equal(h.calls, 7);
    assert_int_equal(h.status, UAR_E_CANCELLED);
    (void)pump(x);
    assert_int_equal(h.calls, 7);
    heard_dispose(&h);
}

static void on_any_append(void *ctx, uar_status status, const uar_memory_stream_appended *appended, size_t count,
                          const uar_error *err) {
    assert_true((appended != NULL && count == 1) == (status == UAR_OK));
    hear(ctx, status, err);
}

static void on_any_window(void *ctx, uar_status status, uar_memory_stream_window *window, const uar_error *err) {
    uar_memory_stream_window_free(window);
    hear(ctx, status, err);
}

static void many_calls_of_a_stream_run_at_once(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    fill(x);
    uar_identity who = user_of("u1");
    for (int i = 0; i < 60; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "entry %d", i);
        uar_memory_stream_entry_draft d = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(text) };
        assert_int_equal(uar_memory_stream_append(x->memory, &who, stream, &d, 0, on_any_append, &h, NULL), UAR_OK);
        assert_int_equal(uar_memory_stream_read_window(x->memory, &who, stream, 100, 0, on_any_window, &h, NULL),
                         UAR_OK);
    }
    await(&h, 120);
    uar_memory_stream_stats stats;
    assert_int_equal(uar_memory_stream_stats_sync(&stats, x->memory, &who, NULL, NULL), UAR_OK);
    assert_int_equal(stats.entries, 62);
    heard_dispose(&h);
}

static void every_allocation_of_a_call_may_fail(void **state) {
    (void)state;
    const begin_fn calls[] = { begin_open,      begin_get,     begin_append,   begin_batch,  begin_read,
                               begin_window,    begin_list,    begin_count,    begin_export, begin_import,
                               begin_summarise, begin_archive, begin_unarchive };
    sweep_all(calls, sizeof calls / sizeof *calls, fill, false, true);
    const begin_fn once_only[] = { begin_delete };
    sweep_all(once_only, 1, fill, true, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_POOL(every_call_of_a_stream_has_a_form_that_runs_later),
        PUMPED(every_call_of_a_stream_has_a_form_that_runs_later),
        PUMPED(what_is_wrong_is_told_to_the_receiver),
        PUMPED(a_call_that_cannot_begin_says_so_at_once),
        PUMPED(test_X3_freeing_cancels_what_has_not_begun),
        ON_POOL(many_calls_of_a_stream_run_at_once),
        cmocka_unit_test(every_allocation_of_a_call_may_fail),
    };
    return cmocka_run_group_tests_name("calls of task streams that run later", tests, NULL, NULL);
}
