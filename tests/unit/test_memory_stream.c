/* Task streams: opening, appending, reading, windows, archiving. */
#include "test_memory_stream_fixture.h"

/* Forty bytes: ten tokens. */
#define TEN "this text has exactly forty bytes in it."

static void opening_twice_is_the_same_stream(void **state) {
    memory_fixture *f = *state;
    uar_uuid first = open_stream(f, "ann", "migration");
    append_text(f, "ann", first, "step one");
    fixture_reopen(f);
    assert_true(uar_uuid_equal(first, open_stream(f, "ann", "migration")));
    assert_false(uar_uuid_equal(first, open_stream(f, "ann", "Migration"))); /* names compare as bytes */
    assert_false(uar_uuid_equal(first, open_stream(f, "bob", "migration")));
    assert_sound(f);
}

static void an_open_says_whether_it_created_the_stream_and_keeps_its_metadata(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("m"),
                                  .metadata = STR("{\"a\": 12345678901234567890}") };
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &d, NULL), UAR_OK);
    assert_true(s->streams[0].created);
    assert_int_equal(s->streams[0].scope, UAR_MEMORY_SCOPE_TASK); /* the identity has a task */
    assert_true(str_is(s->streams[0].task, "t1") && str_is(s->streams[0].user, "ann"));
    assert_true(s->streams[0].session.ptr == NULL);
    uar_memory_streams_free(s);
    d.metadata = STR("{}");
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &d, NULL), UAR_OK);
    assert_false(s->streams[0].created);
    assert_true(str_is(s->streams[0].metadata, "{\"a\":12345678901234567890}"));
    uar_memory_streams_free(s);
    who.task = uar_str_of(NULL);
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &d, NULL), UAR_OK);
    assert_int_equal(s->streams[0].scope, UAR_MEMORY_SCOPE_USER);
    uar_memory_streams_free(s);
}

static void a_stream_that_must_exist_is_never_created(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("absent"), .must_exist = true };
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &d, NULL), UAR_E_NOT_FOUND);
    assert_null(s);
    uar_memory_stream_stats stats;
    assert_int_equal(uar_memory_stream_stats_sync(&stats, f->memory, &who, NULL, NULL), UAR_OK);
    assert_int_equal(stats.streams, 0);
}

static void a_bad_draft_of_a_stream_is_refused_by_name(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    const struct {
        uar_memory_stream_draft draft;
        uar_status status;
    } bad[] = { { { UAR_MEMORY_STREAM_DRAFT_INIT, .must_exist = true }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("") }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("a\nb") }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("x"), .scope = (uar_memory_scope)9 }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("x"), .metadata = STR("[]") }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("x"), .metadata = STR("{") }, UAR_E_JSON },
                { { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("x"), .user = STR("bob") }, UAR_E_FORBIDDEN },
                { { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("x"), .session = STR("s1") }, UAR_E_INVALID } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uar_memory_streams *s = NULL;
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &bad[i].draft, &err), bad[i].status);
        assert_true(err.message[0] != '\0');
    }
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_open_sync(&s, NULL, &who, NULL, NULL), UAR_E_DISABLED);
}

static void test_R7_entries_are_numbered_from_one_whatever_their_times(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    uar_memory_stream_entry_draft d = entry_of("late");
    d.created_ms = FIXTURE_START + 1000;
    assert_int_equal(append_draft(f, "ann", id, &d), 1);
    d = entry_of("early");
    d.created_ms = FIXTURE_START - 1000;
    assert_int_equal(append_draft(f, "ann", id, &d), 2);
    atomic_store(&f->now, FIXTURE_START - 100000);
    assert_int_equal(append_text(f, "ann", id, "when the clock went back"), 3);
    uar_memory_stream_entries *e = read_entries(f, "ann", id, 0, false, 10);
    assert_int_equal(e->count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(e->entries[i].number, i + 1);
    assert_true(str_is(e->entries[1].text, "early"));
    uar_memory_stream_entries_free(e);
    assert_sound(f);
}

static void an_entry_comes_back_as_it_was_given(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    uar_memory_stream_entry_draft d = entry_of("a \"text\"\nof two lines");
    d.role = STR("tool");
    d.metadata = STR("{\"n\": 1.0}");
    d.trust = UAR_MEMORY_TRUST_TOOL;
    d.provenance = (uar_memory_provenance){ .run = { { 1, 2, 3 } }, .event = 7, .session = STR("s9") };
    d.created_ms = 42;
    d.unique_key = STR("k1");
    append_draft(f, "ann", id, &d);
    append_text(f, "ann", id, "plain");
    uar_memory_stream_entries *e = read_entries(f, "ann", id, 1, false, 2);
    const uar_memory_stream_entry *a = &e->entries[0];
    assert_true(str_is(a->text, "a \"text\"\nof two lines") && str_is(a->role, "tool"));
    assert_true(str_is(a->metadata, "{\"n\":1.0}") && str_is(a->unique_key, "k1"));
    assert_int_equal(a->trust, UAR_MEMORY_TRUST_TOOL);
    assert_true(uar_uuid_equal(a->provenance.run, d.provenance.run) && a->provenance.event == 7);
    assert_true(str_is(a->provenance.session, "s9"));
    assert_int_equal(a->created_ms, 42);
    assert_int_equal(a->tokens, 6);
    assert_int_equal(a->first + a->last + a->summarised_by, 0);
    const uar_memory_stream_entry *b = &e->entries[1];
    assert_true(str_is(b->role, "note") && str_is(b->metadata, "{}") && b->unique_key.ptr == NULL);
    assert_true(b->provenance.session.ptr == NULL && uar_uuid_is_none(b->provenance.run));
    assert_int_equal(b->trust, UAR_MEMORY_TRUST_USER);
    assert_int_equal(b->created_ms, FIXTURE_START);
    uar_memory_stream_entries_free(e);
}

static void a_bad_entry_is_refused_and_nothing_is_appended(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    uar_identity who = user_of("ann");
    char *large = calloc(1, 65538);
    assert_non_null(large);
    memset(large, 'a', 65537);
    const struct {
        uar_memory_stream_entry_draft draft;
        uar_status status;
    } bad[] = { { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .created_ms = 1 }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR(" \n") }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("a\0b") }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("a\xFF") }, UAR_E_UTF8 },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(large) }, UAR_E_TOO_LARGE },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("a"), .role = STR("") }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("a"), .metadata = STR("7") }, UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("a"), .trust = (uar_memory_trust)77 },
                  UAR_E_INVALID },
                { { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = STR("a"), .unique_key = STR("") }, UAR_E_INVALID } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uar_memory_stream_entry_draft two[2] = { entry_of("fine"), bad[i].draft };
        uar_memory_stream_appended done[2];
        memset(done, 0x5A, sizeof done);
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(uar_memory_stream_append_batch_sync(done, f->memory, &who, id, two, 2, 0, &err),
                         bad[i].status);
        assert_true(err.message[0] != '\0');
        assert_int_equal(done[0].number, UINT64_C(0x5A5A5A5A5A5A5A5A));
    }
    free(large);
    uar_memory_streams *s = get_stream(f, "ann", id);
    assert_int_equal(s->streams[0].last, 0);
    uar_memory_streams_free(s);
}

static void a_unique_key_appends_exactly_once(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    uar_identity who = user_of("ann");
    uar_memory_stream_entry_draft d = entry_of("once");
    d.unique_key = STR("run7/3");
    append_text(f, "ann", id, "before");
    assert_int_equal(append_draft(f, "ann", id, &d), 2);
    append_text(f, "ann", id, "after");
    fixture_reopen(f);
    uar_memory_stream_appended done;
    /* What is expected doesn't matter for an entry that is there. */
    assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &who, id, &d, 2, NULL), UAR_OK);
    assert_int_equal(done.number, 2);
    assert_true(done.repeated);
    uar_memory_streams *s = get_stream(f, "ann", id);
    assert_int_equal(s->streams[0].last, 3);
    uar_memory_streams_free(s);
    /* A key belongs to its stream. */
    uar_uuid other = open_stream(f, "ann", "other");
    assert_int_equal(append_draft(f, "ann", other, &d), 1);
    assert_sound(f);
}

static void an_unexpected_number_is_a_conflict_that_names_the_next(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    uar_identity who = user_of("ann");
    uar_memory_stream_entry_draft d = entry_of("entry");
    uar_memory_stream_appended done;
    assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &who, id, &d, 1, NULL), UAR_OK);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &who, id, &d, 1, &err), UAR_E_CONFLICT);
    assert_non_null(strstr(err.message, "is 2, not 1"));
    assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &who, id, &d, 3, NULL), UAR_E_CONFLICT);
    assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &who, id, &d, 2, NULL), UAR_OK);
    assert_int_equal(done.number, 2);
}

static void a_batch_goes_in_whole_and_tells_repeats_from_new_entries(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    uar_identity who = user_of("ann");
    uar_memory_stream_entry_draft d[4] = { entry_of("a"), entry_of("b"), entry_of("c"), entry_of("d") };
    d[1].unique_key = STR("kb");
    d[3].unique_key = STR("kb"); /* the same batch may repeat itself */
    uar_memory_stream_appended done[4];
    assert_int_equal(uar_memory_stream_append_batch_sync(done, f->memory, &who, id, d, 4, 1, NULL), UAR_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(done[i].number == i + 1 && !done[i].repeated);
    assert_true(done[3].number == 2 && done[3].repeated);
    assert_int_equal(uar_memory_stream_append_batch_sync(done, f->memory, &who, id, d, 4, 9, NULL), UAR_E_CONFLICT);
    /* A retry whose first is there already: the first new one must get the number. */
    assert_int_equal(uar_memory_stream_append_batch_sync(done, f->memory, &who, id, d + 1, 2, 4, NULL), UAR_OK);
    assert_true(done[0].number == 2 && done[0].repeated && done[1].number == 4);
    assert_int_equal(uar_memory_stream_append_batch_sync(done, f->memory, &who, id, d, 0, 0, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_append_batch_sync(done, f->memory, &who, id, d, 1001, 0, NULL), UAR_E_INVALID);
    assert_sound(f);
}

static void pages_cover_a_stream_in_both_directions(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    for (int i = 1; i <= 10; i++) {
        char text[32];
        snprintf(text, sizeof text, "entry %d", i);
        append_text(f, "ann", id, text);
    }
    uint64_t seen = 0;
    for (uint64_t from = 0, pages = 0;; pages++) {
        uar_memory_stream_entries *e = read_entries(f, "ann", id, from, false, 4);
        for (size_t i = 0; i < e->count; i++)
            assert_int_equal(e->entries[i].number, ++seen);
        from = e->next;
        uar_memory_stream_entries_free(e);
        if (from != 0) continue;
        assert_int_equal(pages, 2);
        break;
    }
    assert_int_equal(seen, 10);
    for (uint64_t from = 0;;) {
        uar_memory_stream_entries *e = read_entries(f, "ann", id, from, true, 5);
        for (size_t i = 0; i < e->count; i++)
            assert_int_equal(e->entries[i].number, seen--);
        from = e->next;
        uar_memory_stream_entries_free(e);
        if (from == 0) break;
    }
    assert_int_equal(seen, 0);
    uar_memory_stream_entries *e = read_entries(f, "ann", id, 11, false, 5);
    assert_true(e->count == 0 && e->next == 0);
    uar_memory_stream_entries_free(e);
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_stream_read_sync(&e, f->memory, &who, id, 0, false, 0, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_read_sync(&e, f->memory, &who, id, 0, false, 1001, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_read_sync(&e, f->memory, &who, id, UINT64_MAX, false, 1, NULL), UAR_E_INVALID);
}

static void a_window_holds_the_newest_entries_that_fit(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    for (int i = 0; i < 6; i++)
        append_text(f, "ann", id, TEN);
    assert_window(f, "ann", id, 60, "1 2 3 4 5 6");
    assert_window(f, "ann", id, 59, "2 3 4 5 6");
    assert_window(f, "ann", id, 10, "6");
    assert_window(f, "ann", id, 9, "");
    uar_memory_stream_window *w = window_of(f, "ann", id, 25);
    assert_int_equal(w->tokens, 20);
    assert_int_equal(w->gap_count, 1);
    assert_true(w->gaps[0].first == 1 && w->gaps[0].last == 4 && w->gaps[0].entries == 4 && w->gaps[0].tokens == 40);
    assert_true(w->left_out == 4 && w->left_out_tokens == 40);
    uar_memory_stream_window_free(w);
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_stream_window_sync(&w, f->memory, &who, id, 0, 0, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_window_sync(&w, f->memory, &who, id, 1, 8, NULL), UAR_E_INVALID);
}

static void an_entry_too_long_for_a_window_is_skipped_whole_and_reported(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    append_text(f, "ann", id, TEN);
    append_text(f, "ann", id, TEN " " TEN " " TEN);
    append_text(f, "ann", id, TEN);
    append_text(f, "ann", id, TEN " " TEN " " TEN);
    uar_memory_stream_window *w = window_of(f, "ann", id, 25);
    char numbers[512];
    window_numbers(numbers, w);
    assert_string_equal(numbers, "1 3");
    assert_int_equal(w->gap_count, 2);
    assert_true(w->gaps[0].first == 2 && w->gaps[0].last == 2 && w->gaps[1].first == 4 && w->gaps[1].last == 4);
    assert_int_equal(w->left_out, 2);
    uar_memory_stream_window_free(w);
}

/* Whatever the entries: within the budget, nothing lost, nothing twice, in order. */
static void a_window_and_its_gaps_are_the_stream_for_any_budget(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    uint64_t seed = 3;
    for (int i = 0; i < 60; i++) {
        char text[400];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int len = 1 + (int)(seed >> 40) % 390;
        memset(text, 'x', (size_t)len);
        text[len] = '\0';
        append_text(f, "ann", id, text);
        uar_memory_stream_summary done;
        if (i % 10 == 9)
            assert_int_equal(summarise_text(&done, f, "ann", id, (uint64_t)i - 8, (uint64_t)i - 3, "short", NULL),
                             UAR_OK);
    }
    uar_memory_streams *s = get_stream(f, "ann", id);
    for (uint64_t budget = 1; budget < 4000; budget += 1 + budget / 7) {
        uar_memory_stream_window *w = window_of(f, "ann", id, budget);
        uint64_t tokens = 0, end = 0;
        for (size_t i = 0; i < w->count; i++) {
            uint64_t first = w->entries[i].first != 0 ? w->entries[i].first : w->entries[i].number;
            assert_true(first > end);
            end = first;
            tokens += w->entries[i].tokens;
        }
        assert_int_equal(tokens, w->tokens);
        assert_true(tokens <= budget);
        assert_int_equal(w->count + w->left_out, s->streams[0].live);
        assert_int_equal(w->tokens + w->left_out_tokens, s->streams[0].live_tokens);
        uar_memory_stream_window_free(w);
    }
    uar_memory_streams_free(s);
    assert_sound(f);
}

static size_t count_listed(memory_fixture *f, uar_memory_stream_archiving archived) {
    uar_identity who = user_of("ann");
    uar_memory_stream_filter filter;
    uar_memory_stream_filter_init(&filter);
    filter.archived = archived;
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_list_sync(&s, f->memory, &who, &filter, uar_str_of(NULL), 100, NULL), UAR_OK);
    size_t count = s->count;
    uar_memory_streams_free(s);
    return count;
}

static void an_archived_stream_leaves_lists_and_windows_and_takes_no_entries(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "done");
    open_stream(f, "ann", "going on");
    append_text(f, "ann", id, "last words");
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_stream_archive_sync(f->memory, &who, id, true, NULL), UAR_OK);
    assert_int_equal(uar_memory_stream_archive_sync(f->memory, &who, id, true, NULL), UAR_OK);
    assert_int_equal(count_listed(f, UAR_MEMORY_STREAM_ACTIVE), 1);
    assert_int_equal(count_listed(f, UAR_MEMORY_STREAM_ANY), 2);
    assert_int_equal(count_listed(f, UAR_MEMORY_STREAM_ARCHIVED), 1);
    uar_memory_stream_window *w = NULL;
    assert_int_equal(uar_memory_stream_window_sync(&w, f->memory, &who, id, 100, 0, NULL), UAR_E_CLOSED);
    assert_int_equal(
        uar_memory_stream_window_sync(&w, f->memory, &who, id, 100, UAR_MEMORY_STREAM_WINDOW_ARCHIVED, NULL), UAR_OK);
    assert_int_equal(w->count, 1);
    uar_memory_stream_window_free(w);
    uar_memory_stream_entry_draft d = entry_of("more");
    uar_memory_stream_appended done;
    assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &who, id, &d, 0, NULL), UAR_E_CLOSED);
    uar_memory_stream_summary summary;
    assert_int_equal(summarise_text(&summary, f, "ann", id, 1, 1, "x", NULL), UAR_E_CLOSED);
    uar_memory_stream_entries_free(read_entries(f, "ann", id, 0, false, 1));
    assert_true(uar_uuid_equal(id, open_stream(f, "ann", "done"))); /* its name is still its own */
    assert_int_equal(uar_memory_stream_archive_sync(f->memory, &who, id, false, NULL), UAR_OK);
    assert_int_equal(append_text(f, "ann", id, "more"), 2);
    assert_int_equal(count_listed(f, UAR_MEMORY_STREAM_ACTIVE), 2);
    assert_sound(f);
}

static void lists_are_newest_first_and_paged(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        open_stream(f, "ann", name);
    }
    uar_identity who = user_of("ann");
    char names[64] = "", cursor[32] = "";
    for (int page = 0;; page++) {
        uar_memory_streams *s = NULL;
        uar_str after = page == 0 ? uar_str_of(NULL) : uar_str_of(cursor);
        assert_int_equal(uar_memory_stream_list_sync(&s, f->memory, &who, NULL, after, 3, NULL), UAR_OK);
        for (size_t i = 0; i < s->count; i++) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%.*s ", (int)s->streams[i].name.len, s->streams[i].name.ptr);
        }
        bool more = s->cursor.ptr != NULL;
        if (more) snprintf(cursor, sizeof cursor, "%.*s", (int)s->cursor.len, s->cursor.ptr);
        uar_memory_streams_free(s);
        if (!more) break;
    }
    assert_string_equal(names, "s6 s5 s4 s3 s2 s1 s0 ");
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_list_sync(&s, f->memory, &who, NULL, STR("x1"), 3, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_list_sync(&s, f->memory, &who, NULL, uar_str_of(NULL), 0, NULL), UAR_E_INVALID);
}

static void stats_add_up(void **state) {
    memory_fixture *f = *state;
    uar_uuid a = open_stream(f, "ann", "a");
    uar_uuid b = open_stream(f, "ann", "b");
    for (int i = 0; i < 4; i++)
        append_text(f, "ann", a, TEN);
    append_text(f, "ann", b, TEN);
    uar_memory_stream_summary done;
    assert_int_equal(summarise_text(&done, f, "ann", a, 1, 3, "four", NULL), UAR_OK);
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_stream_archive_sync(f->memory, &who, b, true, NULL), UAR_OK);
    uar_memory_stream_filter any = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    uar_memory_stream_stats s;
    assert_int_equal(uar_memory_stream_stats_sync(&s, f->memory, &who, &any, NULL), UAR_OK);
    assert_true(s.streams == 2 && s.archived == 1 && s.entries == 6 && s.summaries == 1);
    assert_true(s.tokens == 51 && s.live_tokens == 21 && s.pending == 0);
    any.id = a;
    assert_int_equal(uar_memory_stream_stats_sync(&s, f->memory, &who, &any, NULL), UAR_OK);
    assert_true(s.streams == 1 && s.entries == 5);
    assert_int_equal(uar_memory_stream_stats_sync(&s, f->memory, &who, NULL, NULL), UAR_OK);
    assert_int_equal(s.streams, 1);
    uar_memory_stream_filter bad = { UAR_MEMORY_STREAM_FILTER_INIT, .scopes = 1 };
    assert_int_equal(uar_memory_stream_stats_sync(&s, f->memory, &who, &bad, NULL), UAR_E_INVALID);
    bad = (uar_memory_stream_filter){ UAR_MEMORY_STREAM_FILTER_INIT, .archived = (uar_memory_stream_archiving)3 };
    assert_int_equal(uar_memory_stream_stats_sync(&s, f->memory, &who, &bad, NULL), UAR_E_INVALID);
}

static void a_store_that_is_read_only_can_be_read_and_not_written(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    append_text(f, "ann", id, "text");
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.read_only = true;
    uar_memory *m = uar_memory_open(f->path, &options);
    uar_identity who = user_of("ann");
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("log") };
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&s, m, &who, &d, NULL), UAR_OK);
    uar_memory_streams_free(s);
    d.name = STR("new");
    assert_int_equal(uar_memory_stream_open_sync(&s, m, &who, &d, NULL), UAR_E_READ_ONLY);
    uar_memory_stream_entry_draft e = entry_of("more");
    uar_memory_stream_appended done;
    assert_int_equal(uar_memory_stream_append_sync(&done, m, &who, id, &e, 0, NULL), UAR_E_READ_ONLY);
    uar_memory_outcome outcome;
    assert_int_equal(uar_memory_stream_delete_sync(&outcome, m, &who, id, NULL), UAR_E_READ_ONLY);
    uar_memory_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(opening_twice_is_the_same_stream),
        MEMORY_TEST(an_open_says_whether_it_created_the_stream_and_keeps_its_metadata),
        MEMORY_TEST(a_stream_that_must_exist_is_never_created),
        MEMORY_TEST(a_bad_draft_of_a_stream_is_refused_by_name),
        MEMORY_TEST(test_R7_entries_are_numbered_from_one_whatever_their_times),
        MEMORY_TEST(an_entry_comes_back_as_it_was_given),
        MEMORY_TEST(a_bad_entry_is_refused_and_nothing_is_appended),
        MEMORY_TEST(a_unique_key_appends_exactly_once),
        MEMORY_TEST(an_unexpected_number_is_a_conflict_that_names_the_next),
        MEMORY_TEST(a_batch_goes_in_whole_and_tells_repeats_from_new_entries),
        MEMORY_TEST(pages_cover_a_stream_in_both_directions),
        MEMORY_TEST(a_window_holds_the_newest_entries_that_fit),
        MEMORY_TEST(an_entry_too_long_for_a_window_is_skipped_whole_and_reported),
        MEMORY_TEST(a_window_and_its_gaps_are_the_stream_for_any_budget),
        MEMORY_TEST(an_archived_stream_leaves_lists_and_windows_and_takes_no_entries),
        MEMORY_TEST(lists_are_newest_first_and_paged),
        MEMORY_TEST(stats_add_up),
        MEMORY_TEST(a_store_that_is_read_only_can_be_read_and_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
