/* Task streams as lines of JSON: out, in, and what is refused. */
#include "test_memory_stream_fixture.h"

#define TEN "this text has exactly forty bytes in it."
#define LINES_MAX 65536

typedef struct text {
    char bytes[LINES_MAX];
    size_t len;
    size_t lines;
} text;

static uar_status keep_line(void *ctx, uar_str line) {
    text *t = ctx;
    assert_true(t->len + line.len < LINES_MAX);
    assert_true(line.len > 1 && line.ptr[line.len - 1] == '\n');
    memcpy(t->bytes + t->len, line.ptr, line.len);
    t->len += line.len;
    t->bytes[t->len] = '\0';
    t->lines++;
    return UAR_OK;
}

typedef struct failures {
    uint64_t line[8];
    uar_status code[8];
    char message[8][256];
    size_t count;
} failures;

static void note_failure(void *ctx, uint64_t line, const uar_error *err) {
    failures *f = ctx;
    assert_true(f->count < 8);
    f->line[f->count] = line;
    f->code[f->count] = err->code;
    snprintf(f->message[f->count++], 256, "%s", err->message);
}

static uar_memory_stream_imported import_text(uar_memory *m, const uar_identity *who, const char *lines, failures *f) {
    uar_memory_stream_imported sum;
    memset(f, 0, sizeof *f);
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_import_sync(&sum, m, who, uar_str_of(lines), note_failure, f, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    assert_int_equal(sum.failed, f->count);
    return sum;
}

static uar_memory *open_other(memory_fixture *f) {
    char path[256];
    memcpy(path, f->path, sizeof path);
    snprintf(f->path, sizeof f->path, "%s/other.db", f->folder);
    uar_memory *m = fixture_open(f);
    memcpy(f->path, path, sizeof path);
    return m;
}

static void close_other(memory_fixture *f, uar_memory *m) {
    uar_memory_free(m);
    char path[256];
    memcpy(path, f->path, sizeof path);
    snprintf(f->path, sizeof f->path, "%s/other.db", f->folder);
    fixture_remove(f, "");
    fixture_remove(f, "-wal");
    fixture_remove(f, "-shm");
    memcpy(f->path, path, sizeof path);
}

/* Streams of every scope, entries with all that they can carry, summaries of summaries, an archived one. */
static void fill(memory_fixture *f) {
    for (int scope = 1; scope <= 5; scope++) {
        uar_identity who = user_of(scope % 2 == 0 ? "ann" : "bob");
        uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("of every scope"),
                                      .scope = (uar_memory_scope)scope, .metadata = STR("{\"n\":1.50}") };
        uar_memory_streams *s = NULL;
        assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &d, NULL), UAR_OK);
        uar_uuid id = s->streams[0].id;
        uar_memory_streams_free(s);
        for (int i = 0; i < 70; i++) {
            char key[16];
            uar_memory_stream_entry_draft e = entry_of(TEN " \"quoted\"\n\xC3\xA9 and more");
            snprintf(key, sizeof key, "k%d", i);
            if (i % 3 == 0) e.unique_key = uar_str_of(key);
            if (i % 4 == 0) e.role = STR("tool"), e.trust = UAR_MEMORY_TRUST_TOOL;
            if (i % 5 == 0)
                e.provenance = (uar_memory_provenance){ .run = { { 9 } }, .event = 3, .session = STR("s7") };
            uar_memory_stream_appended done;
            assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &who, id, &e, 0, NULL), UAR_OK);
            atomic_fetch_add(&f->now, 7);
            uar_memory_stream_summary_draft sd;
            uar_memory_stream_summary_draft_init(&sd);
            sd.first = i < 40 ? (uint64_t)i - 8 : 1;
            sd.last = (uint64_t)i - 3;
            sd.text = STR("a shorter text");
            uar_memory_stream_summary made;
            if (i % 20 == 19 && scope != 3)
                (void)uar_memory_stream_summarise_sync(&made, f->memory, &who, id, &sd, NULL);
        }
        if (scope == 4) assert_int_equal(uar_memory_stream_archive_sync(f->memory, &who, id, true, NULL), UAR_OK);
        atomic_fetch_add(&f->now, 1000);
    }
}

static void what_is_exported_and_imported_by_an_operator_is_the_same(void **state) {
    memory_fixture *f = *state;
    fill(f);
    uar_identity boss = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    text *before = malloc(sizeof *before), *after = malloc(sizeof *after);
    assert_true(before != NULL && after != NULL);
    /* One stream a time, so that it fits into the buffer. */
    uar_memory *other = open_other(f);
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_list_sync(&s, f->memory, &boss, &filter, uar_str_of(NULL), 10, NULL), UAR_OK);
    assert_int_equal(s->count, 5);
    for (size_t i = 0; i < s->count; i++) {
        filter.id = s->streams[i].id;
        memset(before, 0, sizeof *before);
        memset(after, 0, sizeof *after);
        assert_int_equal(uar_memory_stream_export_sync(f->memory, &boss, &filter, keep_line, before, NULL), UAR_OK);
        assert_int_equal(before->lines, s->streams[i].last + 1);
        failures fails;
        uar_memory_stream_imported sum = import_text(other, &boss, before->bytes, &fails);
        assert_true(sum.streams == 1 && sum.entries == s->streams[i].last && sum.skipped == 0 && sum.failed == 0);
        assert_int_equal(uar_memory_stream_export_sync(other, &boss, &filter, keep_line, after, NULL), UAR_OK);
        assert_string_equal(before->bytes, after->bytes);
        /* Once more changes nothing. */
        sum = import_text(other, &boss, before->bytes, &fails);
        assert_true(sum.streams == 0 && sum.entries == 0 && sum.skipped == s->streams[i].last + 1 && sum.failed == 0);
    }
    uar_memory_streams_free(s);
    assert_int_equal(uar_memory_check_sync(other, NULL), UAR_OK);
    close_other(f, other);
    free(before);
    free(after);
}

static void an_import_by_a_user_goes_into_its_own_place(void **state) {
    memory_fixture *f = *state;
    uar_identity ann = user_of("ann");
    failures fails;
    uar_memory_stream_imported sum =
        import_text(f->memory, &ann,
                    "{\"kind\":\"stream\",\"name\":\"plan\",\"scope\":\"user\",\"colour\":\"ignored\"}\n"
                    "{\"kind\":\"entry\",\"text\":\"one\"}\r\n\n"
                    "{\"kind\":\"entry\",\"text\":\"two\",\"role\":\"user\",\"created\":\"2024-05-06T07:08:09Z\"}",
                    &fails);
    assert_true(sum.streams == 1 && sum.entries == 2 && sum.failed == 0);
    uar_memory_streams *s = NULL;
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("plan"), .scope = UAR_MEMORY_SCOPE_USER,
                                  .must_exist = true };
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &ann, &d, NULL), UAR_OK);
    uar_memory_stream_entries *e = read_entries(f, "ann", s->streams[0].id, 0, false, 10);
    assert_true(e->count == 2 && str_is(e->entries[1].role, "user") && e->entries[1].created_ms == 1714979289000);
    assert_int_equal(e->entries[0].trust, UAR_MEMORY_TRUST_IMPORT);
    uar_memory_stream_entries_free(e);
    uar_memory_streams_free(s);
}

static void each_bad_line_is_named_and_the_others_go_in(void **state) {
    memory_fixture *f = *state;
    uar_identity ann = user_of("ann");
    failures fails;
    uar_memory_stream_imported sum =
        import_text(f->memory, &ann,
                    "{\"kind\":\"stream\",\"name\":\"plan\"}\n"
                    "{\"kind\":\"entry\",\"number\":1,\"text\":\"one\"}\n"
                    "{\"kind\":\"entry\",\"number\":3,\"text\":\"three\"}\n" /* 2 is missing */
                    "{\"kind\":\"entry\",\"number\":1,\"text\":\"another\"}\n"
                    "{\"kind\":\"entry\",\"number\":2,\"text\":7}\n"
                    "{\"kind\":\"entry\",\"number\":2,\"text\":\"s\",\"summary\":{\"first\":1,\"last\":4}}\n"
                    "{\"v\":2,\"kind\":\"entry\",\"text\":\"newer\"}\n"
                    "{\"kind\":\"entry\",\"number\":2,\"text\":\"two\"}\n"
                    "{\"kind\":\"entry\",\"stream\":\"0190aaaa-0000-7000-8000-000000000000\",\"text\":\"lost\"}\n"
                    "{\"kind\":\"thing\"}\n"
                    "{\"kind\":\"entry\",\"text\":\"behind a line that nobody could read\"}\n",
                    &fails);
    assert_true(sum.streams == 1 && sum.entries == 2 && sum.skipped == 0);
    const uint64_t lines[] = { 3, 4, 5, 6, 7, 9, 10, 11 };
    const uar_status codes[] = { UAR_E_INVALID, UAR_E_EXISTS,  UAR_E_SCHEMA, UAR_E_INVALID,
                                 UAR_E_NEWER,   UAR_E_INVALID, UAR_E_SCHEMA, UAR_E_INVALID };
    assert_int_equal(sum.failed, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(fails.line[i], lines[i]);
        assert_int_equal(fails.code[i], codes[i]);
    }
    assert_non_null(strstr(fails.message[0], "entry 2 is missing"));
    assert_sound(f);
}

static void an_import_cannot_write_where_its_caller_may_not(void **state) {
    memory_fixture *f = *state;
    uar_identity ann = user_of("ann");
    ann.flags = 0;
    failures fails;
    uar_memory_stream_imported sum =
        import_text(f->memory, &ann,
                    "{\"kind\":\"stream\",\"name\":\"a\",\"scope\":\"global\"}\n"
                    "{\"kind\":\"entry\",\"text\":\"x\"}\n"
                    "{\"kind\":\"stream\",\"name\":\"a\",\"scope\":\"user\",\"user\":\"bob\"}\n"
                    "{\"kind\":\"stream\",\"name\":\"a\",\"owner\":\"zeta\"}\n",
                    &fails);
    assert_true(sum.streams == 0 && sum.entries == 0 && sum.failed == 4);
    assert_int_equal(fails.code[0], UAR_E_FORBIDDEN);
    assert_int_equal(fails.code[2], UAR_E_FORBIDDEN);
    assert_int_equal(fails.code[3], UAR_E_FORBIDDEN);
}

static void an_id_that_another_stream_has_is_not_taken_over(void **state) {
    memory_fixture *f = *state;
    uar_uuid bobs = open_stream(f, "bob", "secret");
    char id[UAR_UUID_TEXT], line[256];
    uar_uuid_format(id, bobs);
    snprintf(line, sizeof line, "{\"kind\":\"stream\",\"id\":\"%s\",\"name\":\"mine\"}\n", id);
    uar_identity ann = user_of("ann");
    failures fails;
    uar_memory_stream_imported sum = import_text(f->memory, &ann, line, &fails);
    assert_int_equal(sum.streams, 1);
    assert_false(uar_uuid_equal(bobs, open_stream(f, "ann", "mine")));
    assert_sound(f);
}

static uar_status stop_at_third(void *ctx, uar_str line) {
    (void)line;
    return ++*(int *)ctx == 3 ? UAR_E_IO : UAR_OK;
}

static void a_writer_that_fails_stops_the_export(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    for (int i = 0; i < 5; i++)
        append_text(f, "ann", id, TEN);
    uar_identity ann = user_of("ann");
    int lines = 0;
    assert_int_equal(uar_memory_stream_export_sync(f->memory, &ann, NULL, stop_at_third, &lines, NULL), UAR_E_IO);
    assert_int_equal(lines, 3);
    assert_int_equal(uar_memory_stream_export_sync(f->memory, &ann, NULL, NULL, NULL, NULL), UAR_E_INVALID);
}

/* An entry that arrives while others are written out is another export's, whole numbers and all. */
typedef struct meddler {
    memory_fixture *f;
    uar_uuid id;
    text *out;
} meddler;

static uar_status meddle(void *ctx, uar_str line) {
    meddler *m = ctx;
    append_text(m->f, "ann", m->id, TEN);
    uar_memory_stream_summary done;
    (void)summarise_text(&done, m->f, "ann", m->id, 1, 2, "x", NULL);
    return keep_line(m->out, line);
}

static void an_export_under_way_holds_what_was_there_when_it_began(void **state) {
    memory_fixture *f = *state;
    text *out = malloc(sizeof *out);
    assert_non_null(out);
    memset(out, 0, sizeof *out);
    meddler m = { f, open_stream(f, "ann", "log"), out };
    for (int i = 0; i < 100; i++)
        append_text(f, "ann", m.id, TEN);
    uar_identity ann = user_of("ann");
    assert_int_equal(uar_memory_stream_export_sync(f->memory, &ann, NULL, meddle, &m, NULL), UAR_OK);
    assert_int_equal(out->lines, 101);
    uar_memory *other = open_other(f);
    failures fails;
    uar_memory_stream_imported sum = import_text(other, &ann, out->bytes, &fails);
    assert_true(sum.entries == 100 && sum.failed == 0);
    close_other(f, other);
    free(out);
}

static uar_status copy_piece(void *ctx, uar_str piece) {
    snprintf(ctx, 4096, "%.*s", (int)piece.len, piece.ptr);
    return UAR_OK;
}

static void json_of_a_window_names_gaps_and_entries(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    for (int i = 0; i < 3; i++)
        append_text(f, "ann", id, TEN);
    uar_memory_stream_window *w = window_of(f, "ann", id, 10);
    char json[4096];
    assert_int_equal(uar_memory_stream_window_json(w, NULL, copy_piece, json), UAR_OK);
    assert_string_equal(json, "{\"tokens\":10,\"left_out\":2,\"left_out_tokens\":20,"
                              "\"gaps\":[{\"first\":1,\"last\":2,\"entries\":2,\"tokens\":20}],"
                              "\"entries\":[{\"number\":3,\"role\":\"note\",\"text\":\"" TEN
                              "\",\"metadata\":{},\"trust\":\"user\",\"created\":\"2025-11-30T10:53:20.000Z\","
                              "\"tokens\":10,\"summary\":null,\"summarised_by\":null,"
                              "\"provenance\":{\"run\":null,\"event\":null,\"session\":null},\"key\":null}]}");
    uar_memory_stream_window_free(w);
}

static void json_of_a_stream_and_of_an_entry_is_what_an_export_holds(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "log");
    append_text(f, "ann", id, TEN);
    uar_identity ann = user_of("ann");
    text *out = malloc(sizeof *out);
    assert_non_null(out);
    memset(out, 0, sizeof *out);
    assert_int_equal(uar_memory_stream_export_sync(f->memory, &ann, NULL, keep_line, out, NULL), UAR_OK);
    char json[4096];
    uar_memory_streams *s = get_stream(f, "ann", id);
    assert_int_equal(uar_memory_stream_json(&s->streams[0], NULL, copy_piece, json), UAR_OK);
    assert_non_null(strstr(out->bytes, json + 1)); /* behind what makes it a line of an export */
    uar_memory_streams_free(s);
    uar_memory_stream_entries *e = read_entries(f, "ann", id, 0, false, 1);
    assert_int_equal(uar_memory_stream_entry_json(&e->entries[0], NULL, copy_piece, json), UAR_OK);
    assert_non_null(strstr(out->bytes, json + 1));
    uar_memory_stream_entries_free(e);
    free(out);
}

static void a_key_of_an_import_appends_once_and_belongs_to_one_number(void **state) {
    memory_fixture *f = *state;
    uar_identity ann = user_of("ann");
    failures fails;
    static const char lines[] = "{\"kind\":\"stream\",\"name\":\"plan\"}\n"
                                "{\"kind\":\"entry\",\"text\":\"a\",\"key\":\"k\"}\n";
    uar_memory_stream_imported sum = import_text(f->memory, &ann, lines, &fails);
    assert_true(sum.entries == 1);
    sum = import_text(f->memory, &ann, lines, &fails);
    assert_true(sum.entries == 0 && sum.skipped == 2 && sum.failed == 0);
    sum = import_text(f->memory, &ann,
                      "{\"kind\":\"stream\",\"name\":\"plan\"}\n"
                      "{\"kind\":\"entry\",\"number\":2,\"text\":\"b\",\"key\":\"k\"}\n"
                      "{\"kind\":\"entry\",\"number\":2,\"text\":\"b\",\"provenance\":7}\n",
                      &fails);
    assert_true(sum.entries == 0 && sum.failed == 2);
    assert_int_equal(fails.code[0], UAR_E_EXISTS);
    assert_int_equal(fails.code[1], UAR_E_SCHEMA);
    assert_sound(f);
}

static void test_M14_every_time_of_a_stream_comes_through_an_export(void **state) {
    memory_fixture *f = *state;
    static const int64_t times[] = { INT64_MIN + 1,   -62167219200001, -62167219200000, -1, 1,
                                     253402300799999, 253402300800000, INT64_MAX };
    static text first, second;
    first.len = second.len = 0;
    uar_uuid stream = open_stream(f, "ann", "plan");
    uar_memory_stream_entry_draft d = entry_of("said at some time");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        d.created_ms = times[i];
        (void)append_draft(f, "ann", stream, &d);
    }
    uar_identity ann = user_of("ann");
    uar_memory_stream_appended done;
    d.created_ms = INT64_MIN;
    assert_int_equal(uar_memory_stream_append_sync(&done, f->memory, &ann, stream, &d, 0, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stream_export_sync(f->memory, &ann, NULL, keep_line, &first, NULL), UAR_OK);
    uar_memory *other = open_other(f);
    failures fails;
    assert_true(import_text(other, &ann, first.bytes, &fails).entries == sizeof times / sizeof *times);
    assert_int_equal(uar_memory_stream_export_sync(other, &ann, NULL, keep_line, &second, NULL), UAR_OK);
    assert_string_equal(first.bytes, second.bytes);
    close_other(f, other);
    uar_memory_stream_entries *e = read_entries(f, "ann", stream, 0, false, 10);
    for (size_t i = 0; i < e->count; i++)
        assert_true(e->entries[i].created_ms == times[i]);
    uar_memory_stream_entries_free(e);
    /* Of the stream itself, in an import. */
    uar_memory_stream_imported sum = import_text(
        f->memory, &ann,
        "{\"kind\":\"stream\",\"name\":\"x\",\"created\":-9223372036854775807,\"updated\":9223372036854775807}\n"
        "{\"kind\":\"stream\",\"name\":\"y\",\"created\":-9223372036854775808}\n",
        &fails);
    assert_true(sum.streams == 1 && sum.failed == 1);
    assert_int_equal(fails.code[0], UAR_E_SCHEMA);
    assert_sound(f);
}

static void lines_without_number_and_key_are_read_again_without_appending(void **state) {
    memory_fixture *f = *state;
    uar_identity ann = user_of("ann");
    failures fails;
    /* Two say the same, one the same with another role; a summary is among them. */
    static const char lines[] =
        "{\"kind\":\"stream\",\"name\":\"plan\"}\n"
        "{\"kind\":\"entry\",\"text\":\"tick of the old clock in the hall\"}\n"
        "{\"kind\":\"entry\",\"text\":\"tick of the old clock in the hall\"}\n"
        "{\"kind\":\"entry\",\"text\":\"tick of the old clock in the hall\",\"role\":\"mate\"}\n"
        "{\"kind\":\"entry\",\"text\":\"ticks\",\"summary\":{\"first\":1,\"last\":3}}\n"
        "{\"kind\":\"stream\",\"name\":\"other\"}\n"
        "{\"kind\":\"entry\",\"text\":\"tick of the old clock in the hall\"}\n";
    uar_memory_stream_imported sum = import_text(f->memory, &ann, lines, &fails);
    assert_true(sum.streams == 2 && sum.entries == 5 && sum.failed == 0);
    atomic_fetch_add(&f->now, 1000);
    sum = import_text(f->memory, &ann, lines, &fails);
    assert_true(sum.streams == 0 && sum.entries == 0 && sum.skipped == 7 && sum.failed == 0);
    /* The same in two parts of one text: a third tick is new, the first two are not. */
    sum = import_text(f->memory, &ann,
                      "{\"kind\":\"stream\",\"name\":\"plan\"}\n"
                      "{\"kind\":\"entry\",\"text\":\"tick of the old clock in the hall\"}\n"
                      "{\"kind\":\"stream\",\"name\":\"other\"}\n"
                      "{\"kind\":\"stream\",\"name\":\"plan\"}\n"
                      "{\"kind\":\"entry\",\"text\":\"tick of the old clock in the hall\"}\n"
                      "{\"kind\":\"entry\",\"text\":\"tick of the old clock in the hall\"}\n",
                      &fails);
    assert_true(sum.entries == 1 && sum.skipped == 5 && sum.failed == 0);
    assert_sound(f);
}

/* More than one transaction takes. */
static void a_long_text_without_numbers_is_read_again_without_appending(void **state) {
    memory_fixture *f = *state;
    uar_identity ann = user_of("ann");
    failures fails;
    static char lines[20000];
    int at = snprintf(lines, sizeof lines, "{\"kind\":\"stream\",\"name\":\"plan\"}\n");
    for (int i = 0; i < 200; i++)
        at += snprintf(lines + at, sizeof lines - (size_t)at, "{\"kind\":\"entry\",\"text\":\"step %d\"}\n", i % 7);
    assert_true(import_text(f->memory, &ann, lines, &fails).entries == 200);
    uar_memory_stream_imported sum = import_text(f->memory, &ann, lines, &fails);
    assert_true(sum.entries == 0 && sum.skipped == 201 && sum.failed == 0);
    assert_sound(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(what_is_exported_and_imported_by_an_operator_is_the_same),
        MEMORY_TEST(an_import_by_a_user_goes_into_its_own_place),
        MEMORY_TEST(each_bad_line_is_named_and_the_others_go_in),
        MEMORY_TEST(an_import_cannot_write_where_its_caller_may_not),
        MEMORY_TEST(an_id_that_another_stream_has_is_not_taken_over),
        MEMORY_TEST(a_writer_that_fails_stops_the_export),
        MEMORY_TEST(an_export_under_way_holds_what_was_there_when_it_began),
        MEMORY_TEST(json_of_a_window_names_gaps_and_entries),
        MEMORY_TEST(json_of_a_stream_and_of_an_entry_is_what_an_export_holds),
        MEMORY_TEST(a_key_of_an_import_appends_once_and_belongs_to_one_number),
        MEMORY_TEST(test_M14_every_time_of_a_stream_comes_through_an_export),
        MEMORY_TEST(lines_without_number_and_key_are_read_again_without_appending),
        MEMORY_TEST(a_long_text_without_numbers_is_read_again_without_appending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
