/* Export and import. */
#include "test_memory_fixture.h"

#include "base/buffer.h"

static uar_status keep(void *ctx, uar_str piece) {
    buffer_append_str(ctx, piece);
    return UAR_OK;
}

static void export_into(buffer *out, uar_memory *m, const uar_identity *who) {
    buffer_init(out, &alloc_default, 1 << 20);
    assert_int_equal(uar_memory_export_sync(m, who, NULL, keep, out, NULL), UAR_OK);
    assert_int_equal(out->status, UAR_OK);
}

static uar_memory_imported import_text(memory_fixture *f, const uar_identity *who, uar_str lines, uint32_t flags) {
    uar_memory_imported sum;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_import_sync(&sum, f->memory, who, lines, flags, NULL, NULL, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    return sum;
}

static uar_identity operator_of(const char *owner) {
    return (uar_identity){ UAR_IDENTITY_INIT, .owner = uar_str_of(owner),
                           .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
}

static void fill(memory_fixture *f) {
    uar_str labels[] = { STR("a"), STR("b") };
    uar_memory_draft d = draft_of("with \"all\" \xF0\x9F\x8E\x89 of it\nand a line");
    d.categories = labels;
    d.category_count = 2;
    d.metadata = STR("{\"big\":123456789012345678901234567890,\"x\":1.0}");
    d.importance = 0.3;
    d.scope = UAR_MEMORY_SCOPE_SESSION;
    d.provenance.event = 3;
    d.provenance.run.bytes[15] = 1;
    add_draft(f, "ann", &d);
    add_draft(f, "ann", &d); /* reinforced */
    add_fact(f, "ann", "home", "Rome");
    atomic_fetch_add(&f->now, 1000);
    uar_memory_change home = add_fact(f, "ann", "home", "Oslo");
    atomic_fetch_add(&f->now, 1000);
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("Oslo, since spring");
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, home.id, &p, NULL), UAR_OK);
    d = draft_of("for all");
    d.scope = UAR_MEMORY_SCOPE_GLOBAL;
    d.trust = UAR_MEMORY_TRUST_HOST;
    add_draft(f, "bob", &d);
}

static void a_verbatim_import_of_an_export_gives_the_same_export(void **state) {
    memory_fixture *f = *state;
    fill(f);
    uar_identity boss = operator_of("local");
    buffer first, second;
    export_into(&first, f->memory, &boss);
    memory_fixture *other = NULL;
    assert_int_equal(fixture_setup((void **)&other), 0);
    other->live_before = uar_live_objects() - 1;
    uar_memory_imported sum = import_text(other, &boss, buffer_str(&first), UAR_MEMORY_IMPORT_VERBATIM);
    assert_int_equal(sum.added, 5);
    assert_int_equal(sum.failed + sum.reinforced + sum.superseded + sum.skipped, 0);
    export_into(&second, other->memory, &boss);
    assert_string_equal(first.ptr, second.ptr);
    assert_sound(other);
    /* Once more changes nothing. */
    sum = import_text(other, &boss, buffer_str(&first), UAR_MEMORY_IMPORT_VERBATIM);
    assert_int_equal(sum.reinforced, 5);
    assert_int_equal(sum.added + sum.failed, 0);
    buffer_dispose(&first);
    buffer_dispose(&second);
    void *teardown = other;
    assert_int_equal(fixture_teardown(&teardown), 0);
}

static void a_plain_import_merges_and_supersedes(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_memory_imported sum =
        import_text(f, &who,
                    STR("{\"content\":\"I live in "
                        "Rome\",\"fact\":{\"subject\":\"user\",\"attribute\":\"home\"},\"created\":\"2024-01-01\"}\n"
                        "\r\n"
                        "{\"content\":\"likes "
                        "tea\",\"metadata\":{\"turn\":7},\"categories\":[\"x\"],\"importance\":1,\"unknown\":true}\r\n"
                        "{\"content\":\"likes TEA\",\"id\":null}\n"
                        "{\"content\":\"I live in "
                        "Oslo\",\"fact\":{\"subject\":\"user\",\"attribute\":\"home\"},\"created\":\"2025-01-01\"}"),
                    0);
    assert_int_equal(sum.added, 2);
    assert_int_equal(sum.reinforced, 1);
    assert_int_equal(sum.superseded, 1);
    assert_int_equal(sum.failed, 0);
    uar_memory_hits *hits = search_text(f, "ann", "tea", NULL);
    assert_true(str_is(hits->hits[0].record.metadata, "{\"turn\":7}"));
    assert_int_equal(hits->hits[0].record.trust, UAR_MEMORY_TRUST_IMPORT);
    uar_memory_hits_free(hits);
    assert_true(finds(f, "ann", "where do I live", "I live in Oslo"));
}

static void the_session_of_a_user_record_is_kept_as_a_note(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    import_text(f, &who, STR("{\"content\":\"said in another session\",\"session\":\"s77\"}"), 0);
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.session = STR("s77");
    uar_memory_hits *hits = search_text(f, "ann", "session", &filter);
    assert_int_equal(hits->count, 1);
    assert_true(str_is(hits->hits[0].record.session, "s77"));
    uar_memory_hits_free(hits);
}

typedef struct refusals {
    uint64_t lines[16];
    uar_status statuses[16];
    size_t count;
} refusals;

static void note_refusal(void *ctx, uint64_t line, const uar_error *err) {
    refusals *r = ctx;
    assert_true(r->count < 16);
    r->lines[r->count] = line;
    r->statuses[r->count++] = err->code;
}

static void a_bad_line_is_counted_and_named_and_stops_no_other(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    who.flags = 0;
    refusals r = { { 0 }, { UAR_OK }, 0 };
    uar_memory_imported sum;
    uar_str lines = STR("{\"content\":\"good one\"}\n"
                        "{\"content\":\n"
                        "{\"content\":5}\n"
                        "{\"content\":\"  \"}\n"
                        "{\"content\":\"x\",\"scope\":\"galaxy\"}\n"
                        "{\"content\":\"x\",\"scope\":\"global\"}\n"
                        "{\"content\":\"x\",\"user\":\"bob\"}\n"
                        "{\"content\":\"x\",\"owner\":\"zeta\"}\n"
                        "{\"v\":2,\"content\":\"x\"}\n"
                        "[1]\n"
                        "{\"content\":\"good two\"}\n");
    assert_int_equal(uar_memory_import_sync(&sum, f->memory, &who, lines, 0, note_refusal, &r, NULL), UAR_OK);
    assert_int_equal(sum.added, 2);
    assert_int_equal(sum.failed, 9);
    const uar_status expected[] = { UAR_E_JSON,      UAR_E_SCHEMA,    UAR_E_INVALID, UAR_E_SCHEMA, UAR_E_FORBIDDEN,
                                    UAR_E_FORBIDDEN, UAR_E_FORBIDDEN, UAR_E_NEWER,   UAR_E_SCHEMA };
    assert_int_equal(r.count, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(r.lines[i], i + 2);
        assert_string_equal(uar_status_name(r.statuses[i]), uar_status_name(expected[i]));
    }
}

static void an_id_in_use_is_not_taken_over(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_text(f, "ann", "hers");
    char line[256], id[UAR_UUID_TEXT];
    uar_uuid_format(id, made.id);
    snprintf(line, sizeof line, "{\"id\":\"%s\",\"content\":\"his\"}", id);
    uar_identity bob = user_of("bob"), ann = user_of("ann");
    assert_int_equal(import_text(f, &bob, uar_str_of(line), UAR_MEMORY_IMPORT_VERBATIM).failed, 1);
    assert_int_equal(import_text(f, &ann, uar_str_of(line), UAR_MEMORY_IMPORT_VERBATIM).failed, 1);
    uar_memory_records *r = get_record(f, "ann", made.id);
    assert_true(str_is(r->records[0].content, "hers"));
    uar_memory_records_free(r);
}

/* A line may name any id as its successor; that opens no way to a record of others, nor a sign of it. */
static void naming_anothers_record_as_successor_shows_nothing_of_it(void **state) {
    memory_fixture *f = *state;
    uar_memory_change hers = add_text(f, "ann", "hers");
    char line[256], id[UAR_UUID_TEXT];
    uar_uuid_format(id, hers.id);
    snprintf(line, sizeof line, "{\"content\":\"his\",\"superseded_by\":\"%s\"}", id);
    uar_identity bob = user_of("bob"), ann = user_of("ann");
    assert_int_equal(import_text(f, &bob, uar_str_of(line), UAR_MEMORY_IMPORT_VERBATIM).added, 1);
    uar_memory_records *r = NULL;
    assert_int_equal(uar_memory_history_sync(&r, f->memory, &bob, hers.id, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_history_sync(&r, f->memory, &ann, hers.id, NULL), UAR_OK);
    assert_int_equal(r->count, 1);
    uar_memory_records_free(r);
    uar_memory_change gone;
    assert_int_equal(uar_memory_delete_sync(&gone, f->memory, &ann, hers.id, NULL), UAR_OK);
    assert_int_equal(count_of(f, "bob"), 1);
}

static uar_status stop(void *ctx, uar_str piece) {
    (void)piece;
    ++*(int *)ctx;
    return UAR_E_CANCELLED;
}

static void a_writer_that_stops_ends_the_export(void **state) {
    memory_fixture *f = *state;
    fill(f);
    uar_identity boss = operator_of("local");
    int calls = 0;
    assert_int_equal(uar_memory_export_sync(f->memory, &boss, NULL, stop, &calls, NULL), UAR_E_CANCELLED);
    assert_int_equal(calls, 1);
}

typedef struct reentry {
    memory_fixture *f;
    int calls;
} reentry;

static uar_status ask_inside(void *ctx, uar_str piece) {
    (void)piece;
    reentry *r = ctx;
    r->calls++;
    assert_true(count_of(r->f, "ann") > 0);
    return UAR_OK;
}

static void the_writer_of_an_export_may_call_the_memory(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "one");
    add_text(f, "ann", "two");
    uar_identity who = user_of("ann");
    reentry r = { f, 0 };
    assert_int_equal(uar_memory_export_sync(f->memory, &who, NULL, ask_inside, &r, NULL), UAR_OK);
    assert_int_equal(r.calls, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(a_verbatim_import_of_an_export_gives_the_same_export),
        MEMORY_TEST(a_plain_import_merges_and_supersedes),
        MEMORY_TEST(the_session_of_a_user_record_is_kept_as_a_note),
        MEMORY_TEST(a_bad_line_is_counted_and_named_and_stops_no_other),
        MEMORY_TEST(an_id_in_use_is_not_taken_over),
        MEMORY_TEST(naming_anothers_record_as_successor_shows_nothing_of_it),
        MEMORY_TEST(a_writer_that_stops_ends_the_export),
        MEMORY_TEST(the_writer_of_an_export_may_call_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
