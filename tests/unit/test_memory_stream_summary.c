/* Summaries of task streams: what they stand for, what they must be, and the bundled rule. */
#include "test_memory_stream_fixture.h"

#include <pthread.h>
#include <sqlite3.h>

/* Forty bytes: ten tokens. */
#define TEN "this text has exactly forty bytes in it."

static uar_uuid stream_of_tens(memory_fixture *f, int count) {
    uar_uuid id = open_stream(f, "ann", "log");
    for (int i = 0; i < count; i++)
        append_text(f, "ann", id, TEN);
    return id;
}

static void test_M9_a_summary_takes_the_place_of_its_range_and_the_originals_stay_readable(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 6);
    uar_memory_stream_summary done;
    assert_int_equal(summarise_text(&done, f, "ann", id, 1, 4, "four texts", NULL), UAR_OK);
    assert_true(done.number == 7 && done.first == 1 && done.last == 4 && done.sources == 4);
    assert_true(done.tokens == 3 && done.source_tokens == 40 && !done.repeated);
    assert_window(f, "ann", id, 100, "7 5 6");
    uar_memory_stream_entries *e = read_entries(f, "ann", id, 0, false, 10);
    assert_int_equal(e->count, 7);
    for (size_t i = 0; i < 6; i++) {
        assert_true(str_is(e->entries[i].text, TEN));
        assert_int_equal(e->entries[i].summarised_by, i < 4 ? 7 : 0);
    }
    assert_true(e->entries[6].first == 1 && e->entries[6].last == 4 && str_is(e->entries[6].role, "summary"));
    assert_int_equal(e->entries[6].trust, UAR_MEMORY_TRUST_MODEL);
    uar_memory_stream_entries_free(e);
    assert_int_equal(append_text(f, "ann", id, "goes on"), 8);
    assert_window(f, "ann", id, 100, "7 5 6 8");
    assert_sound(f);
}

static void summaries_can_be_summarised_again(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 6);
    uar_memory_stream_summary done;
    assert_int_equal(summarise_text(&done, f, "ann", id, 1, 2, "the first two", NULL), UAR_OK);  /* 7 */
    assert_int_equal(summarise_text(&done, f, "ann", id, 3, 4, "three and four", NULL), UAR_OK); /* 8 */
    assert_int_equal(summarise_text(&done, f, "ann", id, 1, 5, "one to five", NULL), UAR_OK);
    assert_true(done.number == 9 && done.first == 1 && done.last == 5 && done.sources == 3 && done.source_tokens == 18);
    assert_window(f, "ann", id, 100, "9 6");
    /* A summary alone may be shortened. */
    assert_int_equal(summarise_text(&done, f, "ann", id, 1, 5, "1-5", NULL), UAR_OK);
    assert_true(done.number == 10 && done.sources == 1);
    /* The numbers of summaries are part of no range: 7 to 10 are behind 6, and don't count. */
    assert_int_equal(summarise_text(&done, f, "ann", id, 6, 10, "six", NULL), UAR_OK);
    assert_true(done.number == 11 && done.first == 6 && done.last == 6 && done.sources == 1);
    assert_window(f, "ann", id, 100, "10 11");
    assert_sound(f);
}

static void a_range_defaults_to_the_whole_stream(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 5);
    uar_memory_stream_summary done;
    assert_int_equal(summarise_text(&done, f, "ann", id, 0, 0, "all five", NULL), UAR_OK);
    assert_true(done.first == 1 && done.last == 5);
}

static void a_range_that_cuts_a_summary_is_refused_by_its_numbers(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 8);
    uar_memory_stream_summary done;
    assert_int_equal(summarise_text(&done, f, "ann", id, 3, 6, "middle", NULL), UAR_OK);
    const uint64_t ranges[][2] = { { 1, 3 }, { 1, 5 }, { 4, 5 }, { 4, 8 }, { 6, 6 } };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(summarise_text(&done, f, "ann", id, ranges[i][0], ranges[i][1], "x", &err), UAR_E_INVALID);
        assert_non_null(strstr(err.message, "3 to 6"));
    }
    assert_window(f, "ann", id, 100, "1 2 9 7 8");
    assert_int_equal(summarise_text(&done, f, "ann", id, 20, 30, "x", NULL), UAR_E_INVALID); /* nothing there */
    assert_int_equal(summarise_text(&done, f, "ann", id, 5, 2, "x", NULL), UAR_E_INVALID);
    uar_uuid empty = open_stream(f, "ann", "empty");
    assert_int_equal(summarise_text(&done, f, "ann", empty, 0, 0, "x", NULL), UAR_E_INVALID);
    assert_sound(f);
}

static void a_summary_that_is_not_shorter_changes_nothing(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 2);
    uar_memory_stream_summary done;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(summarise_text(&done, f, "ann", id, 1, 1, TEN, &err), UAR_E_TOO_LARGE);
    assert_non_null(strstr(err.message, "10 tokens"));
    assert_window(f, "ann", id, 100, "1 2");
    assert_sound(f);
}

static void test_M8_a_summary_is_trusted_as_its_least_trusted_source(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 1);
    uar_memory_stream_entry_draft d = entry_of(TEN);
    d.trust = UAR_MEMORY_TRUST_TOOL;
    append_draft(f, "ann", id, &d);
    append_text(f, "ann", id, TEN);
    uar_identity who = user_of("ann");
    uar_memory_stream_summary_draft s;
    uar_memory_stream_summary_draft_init(&s);
    s.text = STR("short");
    s.trust = UAR_MEMORY_TRUST_HOST;
    uar_memory_stream_summary done;
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_OK);
    uar_memory_stream_entries *e = read_entries(f, "ann", id, done.number, false, 1);
    assert_int_equal(e->entries[0].trust, UAR_MEMORY_TRUST_TOOL);
    uar_memory_stream_entries_free(e);
    /* It stays so through a second summary. */
    s.text = STR("s");
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_OK);
    e = read_entries(f, "ann", id, done.number, false, 1);
    assert_int_equal(e->entries[0].trust, UAR_MEMORY_TRUST_TOOL);
    uar_memory_stream_entries_free(e);
}

static void a_summary_keeps_its_number_its_key_and_its_place(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 4);
    uar_identity who = user_of("ann");
    uar_memory_stream_summary_draft s;
    uar_memory_stream_summary_draft_init(&s);
    s.last = 2;
    s.text = STR("short");
    s.unique_key = STR("sum-1");
    s.expected = 4;
    uar_memory_stream_summary done;
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_E_CONFLICT);
    s.expected = 5;
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_OK);
    for (int by_rule = 0; by_rule < 2; by_rule++) {
        if (by_rule == 1) s.text = uar_str_of(NULL);
        memset(&done, 0, sizeof done);
        assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_OK);
        assert_true(done.repeated && done.number == 5 && done.first == 1 && done.last == 2 && done.sources == 0);
    }
    uar_memory_stream_entry_draft d = entry_of("an entry");
    d.unique_key = STR("entry-1");
    append_draft(f, "ann", id, &d);
    s.unique_key = STR("entry-1");
    s.text = STR("x");
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_E_EXISTS);
    assert_sound(f);
}

static void summaries_may_take_half_of_a_window_before_the_newest_entries(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 30);
    uar_memory_stream_summary done;
    for (uint64_t i = 0; i < 4; i++) /* 31 to 34, five tokens each */
        assert_int_equal(summarise_text(&done, f, "ann", id, 1 + i * 5, 5 + i * 5, "twenty bytes in here", NULL),
                         UAR_OK);
    assert_window(f, "ann", id, 20, "33 34 30");                                   /* half, then an entry */
    assert_window(f, "ann", id, 120, "31 32 33 34 21 22 23 24 25 26 27 28 29 30"); /* all */
    assert_window(f, "ann", id, 12, "33 34"); /* no entry fits: what is left goes to another summary */
    assert_window(f, "ann", id, 40, "31 32 33 34 29 30");
}

static const char *const meeting[] = {
    "Good morning. The database migration to PostgreSQL 16 is planned for 12 March. I had coffee.",
    "The migration needs a backup of the old database first. Nice weather today!",
    "We agreed that Ana makes the backup of the database before the migration on 12 March.",
    "Lunch was fine. Somebody told a joke about elephants.",
};

static uar_memory_stream_summary summarise_by_rule(memory_fixture *f, uar_uuid id, uint64_t max_tokens) {
    uar_identity who = user_of("ann");
    uar_memory_stream_summary_draft s;
    uar_memory_stream_summary_draft_init(&s);
    s.max_tokens = max_tokens;
    uar_memory_stream_summary done;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return done;
}

static void the_bundled_rule_keeps_whole_sentences_that_say_the_most(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "meeting");
    for (size_t i = 0; i < sizeof meeting / sizeof meeting[0]; i++)
        append_text(f, "ann", id, meeting[i]);
    uar_memory_stream_summary done = summarise_by_rule(f, id, 45);
    assert_true(done.tokens <= 45 && done.tokens < done.source_tokens);
    uar_memory_stream_entries *e = read_entries(f, "ann", id, done.number, false, 1);
    char text[1024];
    snprintf(text, sizeof text, "%.*s", (int)e->entries[0].text.len, e->entries[0].text.ptr);
    assert_non_null(strstr(text, "migration"));
    assert_null(strstr(text, "elephants"));
    assert_null(strstr(text, "coffee"));
    assert_int_equal(e->entries[0].trust, UAR_MEMORY_TRUST_USER); /* word for word theirs */
    /* Every line is a source's words behind its role. */
    for (char *line = text, *next = NULL; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        assert_memory_equal(line, "note: ", 6);
        bool found = false;
        for (size_t i = 0; i < sizeof meeting / sizeof meeting[0]; i++)
            found = found || strncmp(meeting[i], line + 6, 12) == 0 || strstr(meeting[i], line + 6) != NULL;
        assert_true(found);
    }
    uar_memory_stream_entries_free(e);
    assert_sound(f);
}

/* Each store has its own key for terms; the choice must not hang on it. */
static void the_bundled_rule_gives_the_same_summary_in_another_store(void **state) {
    memory_fixture *f = *state;
    uar_memory *first_store = f->memory;
    char path[256];
    memcpy(path, f->path, sizeof path);
    char texts[2][2048];
    for (int round = 0; round < 2; round++) {
        if (round == 1) {
            snprintf(f->path, sizeof f->path, "%s/other.db", f->folder);
            f->memory = fixture_open(f);
        }
        uar_uuid id = open_stream(f, "ann", "meeting");
        for (size_t i = 0; i < sizeof meeting / sizeof meeting[0]; i++)
            append_text(f, "ann", id, meeting[i]);
        uar_memory_stream_summary done = summarise_by_rule(f, id, 0);
        uar_memory_stream_entries *e = read_entries(f, "ann", id, done.number, false, 1);
        snprintf(texts[round], sizeof texts[round], "%.*s", (int)e->entries[0].text.len, e->entries[0].text.ptr);
        uar_memory_stream_entries_free(e);
    }
    uar_memory_free(f->memory);
    fixture_remove(f, "");
    fixture_remove(f, "-wal");
    fixture_remove(f, "-shm");
    f->memory = first_store;
    memcpy(f->path, path, sizeof path);
    assert_string_equal(texts[0], texts[1]);
    assert_true(texts[0][0] != '\0');
}

static void the_bundled_rule_fits_any_budget_and_any_script(void **state) {
    memory_fixture *f = *state;
    static const char *const texts[] = {
        "One word after another without any mark at the end of it all for quite a while",
        "\xE5\xBE\xA1\xE9\xA3\xAF\xE3\x81\x8C\xE5\xA5\xBD\xE3\x81\x8D\xE3\x80\x82\xE7\x8C\xAB\xE3\x82\x82\xE5\xA5\xBD"
        "\xE3\x81"
        "\x8D\xE3\x80\x82\xE7\x8C\xAB\xE3\x81\xAF\xE5\x8F\xAF\xE6\x84\x9B\xE3\x81\x84\xE3\x80\x82",
        "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xD0\xBC\xD0\xB8\xD1\x80. \xD0\x9A\xD0\xB0\xD0\xBA "
        "\xD0\xB4\xD0\xB5\xD0\xBB\xD0\xB0?",
        "!!! ... ??? \n\n\n 3.14 is a number. v1.2.3 too",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (uint64_t budget = 3; budget < 20; budget++) {
            char name[32];
            snprintf(name, sizeof name, "s%zu-%llu", i, (unsigned long long)budget);
            uar_uuid id = open_stream(f, "ann", name);
            append_text(f, "ann", id, texts[i]);
            uar_memory_stream_summary done = summarise_by_rule(f, id, budget);
            assert_true(done.tokens <= budget && done.tokens < done.source_tokens);
        }
    }
    assert_sound(f);
}

static void the_bundled_rule_says_when_nothing_can_be_shorter(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "tiny");
    append_text(f, "ann", id, "x");
    uar_identity who = user_of("ann");
    uar_memory_stream_summary_draft s;
    uar_memory_stream_summary_draft_init(&s);
    uar_memory_stream_summary done;
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_E_TOO_LARGE);
    assert_window(f, "ann", id, 100, "1");
}

static void a_large_stream_is_summarised_by_rule_in_bounded_time(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "large");
    uar_identity who = user_of("ann");
    uar_memory_stream_entry_draft drafts[500];
    char texts[500][256];
    uint64_t seed = 11;
    for (int i = 0; i < 500; i++) {
        int at = 0;
        for (int word = 0; word < 20; word++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            at += snprintf(texts[i] + at, sizeof texts[i] - (size_t)at, "word%d%s", (int)(seed >> 33) % 700,
                           word % 7 == 6 ? ". " : " ");
        }
        drafts[i] = entry_of(texts[i]);
    }
    uar_memory_stream_appended done[500];
    assert_int_equal(uar_memory_stream_append_batch_sync(done, f->memory, &who, id, drafts, 500, 0, NULL), UAR_OK);
    uar_memory_stream_summary summary = summarise_by_rule(f, id, 0);
    assert_true(summary.tokens > 900 && summary.tokens <= 1024 && summary.sources == 500);
    assert_sound(f);
}

static void the_bundled_rule_refuses_what_it_has_not_and_what_is_too_much(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "huge");
    uar_identity who = user_of("ann");
    uar_memory_stream_summary_draft s;
    uar_memory_stream_summary_draft_init(&s);
    uar_memory_stream_summary done;
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_E_INVALID);
    char *large = calloc(1, 65537);
    assert_non_null(large);
    for (size_t i = 0; i < 65536; i++)
        large[i] = i % 8 == 7 ? ' ' : (char)('a' + i % 26);
    for (int i = 0; i < 65; i++)
        append_text(f, "ann", id, large);
    free(large);
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_E_TOO_LARGE);
    s.last = 3;
    assert_int_equal(uar_memory_stream_summarise_sync(&done, f->memory, &who, id, &s, NULL), UAR_OK);
    assert_sound(f);
}

/* Random bytes that take their time: another writer summarises in between. */
typedef struct race {
    memory_fixture *f;
    uar_uuid id;
    int fills;
    uar_status other;
} race;

static void *summarise_first(void *arg) {
    race *r = arg;
    uar_memory_stream_summary done;
    r->other = summarise_text(&done, r->f, "ann", r->id, 1, 2, "faster", NULL);
    return NULL;
}

static uar_status slow_fill(void *ctx, uint8_t *out, size_t len) {
    race *r = ctx;
    memset(out, 0x11 + r->fills, len);
    /* The check of the draft takes one, the row of the chosen text the next. */
    if (++r->fills != 2) return UAR_OK;
    pthread_t thread;
    if (pthread_create(&thread, NULL, summarise_first, r) != 0) return UAR_E_INTERNAL;
    return pthread_join(thread, NULL) == 0 ? UAR_OK : UAR_E_INTERNAL;
}

static void test_R14_a_summary_by_rule_yields_to_one_that_was_faster(void **state) {
    memory_fixture *f = *state;
    race r = { .f = f, .id = stream_of_tens(f, 6), .other = UAR_E_INTERNAL };
    uar_random slow = { .struct_size = UAR_RANDOM_INIT, .ctx = &r, .fill = slow_fill };
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.random = &slow;
    uar_memory *m = uar_memory_open(f->path, &options);
    assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_READY);
    r.fills = 0;
    uar_identity who = user_of("ann");
    uar_memory_stream_summary_draft s;
    uar_memory_stream_summary_draft_init(&s);
    uar_memory_stream_summary done;
    assert_int_equal(uar_memory_stream_summarise_sync(&done, m, &who, r.id, &s, NULL), UAR_E_CONFLICT);
    assert_int_equal(r.other, UAR_OK);
    assert_int_equal(uar_memory_stream_summarise_sync(&done, m, &who, r.id, &s, NULL), UAR_OK);
    assert_int_equal(done.number, 8);
    uar_memory_free(m);
    assert_sound(f);
}

/* The check must be able to fail, or the tests that lean on it prove nothing. */
static void the_check_sees_every_kind_of_harm(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 6);
    uar_memory_stream_summary done;
    assert_int_equal(summarise_text(&done, f, "ann", id, 1, 3, "short", NULL), UAR_OK);
    assert_sound(f);
    static const char *const harm[] = {
        "UPDATE stream_entry SET content = 'other words of forty bytes, to deceive.' WHERE number = 2",
        "UPDATE stream_entry SET role = 'user' WHERE number = 2",
        "UPDATE stream_entry SET covered = 0 WHERE number = 2",
        "UPDATE stream_entry SET covered = 7 WHERE number = 5",
        "UPDATE stream_entry SET first = 2 WHERE number = 7",
        "UPDATE stream_entry SET number = 9 WHERE number = 6",
        "UPDATE stream_entry SET trust = 1 WHERE number = 6",
        "DELETE FROM stream_entry WHERE number = 7",
        "DELETE FROM stream_entry WHERE number = 1",
        "UPDATE stream SET last = 6",
        "UPDATE stream SET archived = 5",
        "UPDATE stream SET seg = seg + 1",
        "DELETE FROM stream",
    };
    for (size_t i = 0; i < sizeof harm / sizeof harm[0]; i++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db,
                                      "CREATE TABLE keep_s AS SELECT * FROM stream;"
                                      "CREATE TABLE keep_e AS SELECT * FROM stream_entry",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, harm[i], NULL, NULL, NULL), SQLITE_OK);
        if (uar_memory_check_sync(f->memory, NULL) != UAR_E_CORRUPT) fail_msg("not seen: %s", harm[i]);
        assert_int_equal(
            sqlite3_exec(db,
                         "DELETE FROM stream; DELETE FROM stream_entry; INSERT INTO stream SELECT * FROM keep_s;"
                         "INSERT INTO stream_entry SELECT * FROM keep_e; DROP TABLE keep_s; DROP TABLE keep_e",
                         NULL, NULL, NULL),
            SQLITE_OK);
        sqlite3_close(db);
        assert_sound(f);
    }
}

static void a_damaged_entry_is_refused_when_it_is_read(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = stream_of_tens(f, 3);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE stream_entry SET content = 'x' WHERE number = 2", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    uar_identity who = user_of("ann");
    uar_memory_stream_entries *e = NULL;
    assert_int_equal(uar_memory_stream_read_sync(&e, f->memory, &who, id, 0, false, 10, NULL), UAR_E_CORRUPT);
    uar_memory_stream_window *w = NULL;
    assert_int_equal(uar_memory_stream_window_sync(&w, f->memory, &who, id, 100, 0, NULL), UAR_E_CORRUPT);
    assert_null(e);
    assert_null(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M9_a_summary_takes_the_place_of_its_range_and_the_originals_stay_readable),
        MEMORY_TEST(summaries_can_be_summarised_again),
        MEMORY_TEST(a_range_defaults_to_the_whole_stream),
        MEMORY_TEST(a_range_that_cuts_a_summary_is_refused_by_its_numbers),
        MEMORY_TEST(a_summary_that_is_not_shorter_changes_nothing),
        MEMORY_TEST(test_M8_a_summary_is_trusted_as_its_least_trusted_source),
        MEMORY_TEST(a_summary_keeps_its_number_its_key_and_its_place),
        MEMORY_TEST(summaries_may_take_half_of_a_window_before_the_newest_entries),
        MEMORY_TEST(the_bundled_rule_keeps_whole_sentences_that_say_the_most),
        MEMORY_TEST(the_bundled_rule_gives_the_same_summary_in_another_store),
        MEMORY_TEST(the_bundled_rule_fits_any_budget_and_any_script),
        MEMORY_TEST(the_bundled_rule_says_when_nothing_can_be_shorter),
        MEMORY_TEST(a_large_stream_is_summarised_by_rule_in_bounded_time),
        MEMORY_TEST(the_bundled_rule_refuses_what_it_has_not_and_what_is_too_much),
        MEMORY_TEST(test_R14_a_summary_by_rule_yields_to_one_that_was_faster),
        MEMORY_TEST(the_check_sees_every_kind_of_harm),
        MEMORY_TEST(a_damaged_entry_is_refused_when_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
