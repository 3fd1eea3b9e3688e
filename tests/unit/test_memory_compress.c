/* Many records become one summary; the originals can be read until they are purged. */
#include "test_memory_fixture.h"

static const char *const days[] = {
    "On the first day the crew of the ferry painted the deck. It rained for an hour.",
    "On the second day the crew of the ferry repaired the engine. Lunch was soup.",
    "On the third day the ferry sailed with its crew to the island. Nobody was ill.",
};

static void add_days(memory_fixture *f, uar_uuid ids[3]) {
    for (size_t i = 0; i < 3; i++) {
        uar_memory_draft d = draft_of(days[i]);
        d.type = UAR_MEMORY_TYPE_EPISODIC;
        d.importance = 0.2 + 0.1 * (double)i;
        ids[i] = add_draft(f, "ann", &d).id;
        atomic_fetch_add(&f->now, 1000);
    }
}

static uar_status compress(memory_fixture *f, uar_memory_compression *out, const uar_memory_filter *filter,
                           const uar_memory_compress_options *options) {
    uar_identity who = user_of("ann");
    return uar_memory_compress_sync(out, f->memory, &who, filter, options, NULL);
}

static uar_memory_compress_options with_summary(const char *text) {
    uar_memory_compress_options o;
    uar_memory_compress_options_init(&o);
    o.summary = uar_str_of(text);
    return o;
}

static void test_M9_a_summary_takes_the_place_of_its_sources_which_stay_readable(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    uar_memory_compress_options o = with_summary("The ferry was made ready and sailed.");
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_OK);
    assert_int_equal(done.archived, 3);
    assert_int_equal(done.summary_bytes, o.summary.len);
    assert_int_equal(count_of(f, "ann"), 1);
    assert_true(finds(f, "ann", "engine soup island", NULL));
    assert_true(finds(f, "ann", "ferry", "The ferry was made ready and sailed."));
    uar_memory_records *r = get_record(f, "ann", done.id);
    assert_int_equal(r->records[0].type, UAR_MEMORY_TYPE_EPISODIC);
    assert_true(r->records[0].importance > 0.39 && r->records[0].importance < 0.41);
    uar_memory_records_free(r);
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_history_sync(&r, f->memory, &who, done.id, NULL), UAR_OK);
    assert_int_equal(r->count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_true(str_is(r->records[i].content, days[i]));
        assert_true(uar_uuid_equal(r->records[i].superseded_by, done.id));
    }
    uar_memory_records_free(r);
    /* What held before it did is still found as of then. */
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.as_of_ms = FIXTURE_START + 1500;
    uar_memory_hits *hits = search_text(f, "ann", "engine", &filter);
    assert_int_equal(hits->count, 1);
    uar_memory_hits_free(hits);
    assert_sound(f);
}

static void test_M9_a_purge_erases_the_sources_and_keeps_the_summary(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    uar_memory_compress_options o = with_summary("The ferry sailed.");
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_OK);
    uar_identity who = user_of("ann"), bob = user_of("bob");
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_purge_sync(&sum, f->memory, &bob, done.id, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_purge_sync(&sum, f->memory, &who, done.id, NULL), UAR_OK);
    assert_int_equal(sum.erased, 3);
    uar_memory_records *r = NULL;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(uar_memory_get_sync(&r, f->memory, &who, ids[i], NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_history_sync(&r, f->memory, &who, done.id, NULL), UAR_OK);
    assert_int_equal(r->count, 1);
    uar_memory_records_free(r);
    assert_int_equal(uar_memory_purge_sync(&sum, f->memory, &who, done.id, NULL), UAR_OK);
    assert_int_equal(sum.erased, 0);
    assert_sound(f);
}

static void test_M6_deleting_the_summary_erases_its_sources(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    uar_memory_compress_options o = with_summary("The ferry sailed.");
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_OK);
    uar_identity who = user_of("ann");
    uar_memory_change gone;
    assert_int_equal(uar_memory_delete_sync(&gone, f->memory, &who, done.id, NULL), UAR_OK);
    uar_memory_records *r = NULL;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(uar_memory_get_sync(&r, f->memory, &who, ids[i], NULL), UAR_E_NOT_FOUND);
    assert_sound(f);
}

static void the_bundled_rule_chooses_sentences_of_the_sources(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    uar_memory_compress_options o;
    uar_memory_compress_options_init(&o);
    o.max_bytes = 130;
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_OK);
    assert_true(done.summary_bytes <= 130 && done.summary_bytes > 40);
    uar_memory_records *r = get_record(f, "ann", done.id);
    uar_str rest = r->records[0].content;
    size_t of_the_ferry = 0;
    /* Each line is a sentence of a source, and the ferry is what they have in common. */
    while (rest.len != 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
        char line[200];
        snprintf(line, sizeof line, "%.*s", (int)len, rest.ptr);
        assert_true(strstr(days[0], line) != NULL || strstr(days[1], line) != NULL || strstr(days[2], line) != NULL);
        of_the_ferry += strstr(line, "ferry") != NULL;
        rest.ptr += len + (end != NULL);
        rest.len -= len + (end != NULL);
    }
    assert_true(of_the_ferry != 0);
    uar_memory_records_free(r);
}

static void without_options_a_third_is_left(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, NULL), UAR_OK);
    assert_true(done.summary_bytes * 3 <= done.source_bytes && done.summary_bytes != 0);
}

static void without_options_a_sentence_stays_whole_where_a_third_holds_none(void **state) {
    memory_fixture *f = *state;
    static const char *const texts[] = { "Packed eleven boxes of books for the move.",
                                         "Sold the sofa to the neighbour next door." };
    for (size_t i = 0; i < 2; i++)
        add_text(f, "ann", texts[i]);
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, NULL), UAR_OK);
    uar_memory_records *r = get_record(f, "ann", done.id);
    assert_true(str_is(r->records[0].content, texts[1]));
    uar_memory_records_free(r);
}

typedef struct summarizer {
    memory_fixture *f;
    const char *text;
    uar_status status;
    size_t seen;
    bool meddles;
    uar_uuid id;
} summarizer;

static uar_status summarize(void *ctx, const uar_memory_records *sources, uar_memory_write_fn write, void *write_ctx) {
    summarizer *s = ctx;
    s->seen = sources->count;
    assert_true(str_is(sources->records[0].content, days[0]));
    (void)count_of(s->f, "ann"); /* no lock is held */
    if (s->meddles) {
        uar_identity who = user_of("ann");
        uar_memory_patch p;
        uar_memory_patch_init(&p);
        p.content = STR("Something else happened.");
        uar_memory_change change;
        assert_int_equal(uar_memory_update_sync(&change, s->f->memory, &who, s->id, &p, NULL), UAR_OK);
    }
    if (s->status != UAR_OK) return s->status;
    uar_status status = write(write_ctx, uar_str_of(s->text));
    return status == UAR_OK ? write(write_ctx, STR("!")) : status;
}

static uar_memory_compress_options with_summarizer(summarizer *s) {
    uar_memory_compress_options o;
    uar_memory_compress_options_init(&o);
    o.summarize = summarize;
    o.ctx = s;
    return o;
}

static void a_host_may_summarise_and_ask_the_memory_meanwhile(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    summarizer s = { .f = f, .text = "They sailed" };
    uar_memory_compress_options o = with_summarizer(&s);
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_OK);
    assert_int_equal(s.seen, 3);
    assert_true(finds(f, "ann", "sailed", "They sailed!"));
}

static void assert_nothing_changed(memory_fixture *f, uint64_t count) {
    assert_int_equal(count_of(f, "ann"), count);
    assert_true(finds(f, "ann", "soup", days[1]));
    assert_sound(f);
}

static void test_M9_a_summary_that_fails_or_is_too_long_changes_nothing(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    char longer[400];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    uar_memory_compression done, before;
    memset(&done, 0x5A, sizeof done);
    before = done;
    uar_memory_compress_options o = with_summary(longer);
    assert_int_equal(compress(f, &done, NULL, &o), UAR_E_TOO_LARGE);
    o = with_summary(" ");
    assert_int_equal(compress(f, &done, NULL, &o), UAR_E_INVALID);
    o = with_summary("\xFF");
    assert_int_equal(compress(f, &done, NULL, &o), UAR_E_UTF8);
    summarizer s = { .f = f, .text = "x", .status = UAR_E_NETWORK };
    o = with_summarizer(&s);
    assert_int_equal(compress(f, &done, NULL, &o), UAR_E_NETWORK);
    assert_memory_equal(&done, &before, sizeof done);
    assert_nothing_changed(f, 3);
}

static void test_M9_a_source_that_changes_while_it_is_summarised_ends_it(void **state) {
    memory_fixture *f = *state;
    uar_uuid ids[3];
    add_days(f, ids);
    summarizer s = { .f = f, .text = "They sailed", .meddles = true, .id = ids[0] };
    uar_memory_compress_options o = with_summarizer(&s);
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_E_CONFLICT);
    assert_nothing_changed(f, 3);
}

static void test_M8_a_summary_is_as_trusted_as_the_least_of_its_sources(void **state) {
    memory_fixture *f = *state;
    const uar_memory_trust trusts[] = { UAR_MEMORY_TRUST_HOST, UAR_MEMORY_TRUST_TOOL, UAR_MEMORY_TRUST_USER };
    for (size_t i = 0; i < 3; i++) {
        uar_memory_draft d = draft_of(days[i]);
        d.trust = trusts[i];
        (void)add_draft(f, "ann", &d);
    }
    uar_memory_compress_options o = with_summary("The ferry sailed.");
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_OK);
    assert_int_equal(done.trust, UAR_MEMORY_TRUST_TOOL);
    (void)add_text(f, "ann", days[0]);
    o = with_summary("Ferry.");
    o.trust = UAR_MEMORY_TRUST_IMPORT;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_OK);
    uar_memory_records *r = get_record(f, "ann", done.id);
    assert_int_equal(r->records[0].trust, UAR_MEMORY_TRUST_IMPORT);
    uar_memory_records_free(r);
}

static void records_of_two_scopes_are_not_mixed(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of(days[0]);
    (void)add_draft(f, "ann", &d);
    d = draft_of(days[1]);
    d.scope = UAR_MEMORY_SCOPE_SESSION;
    (void)add_draft(f, "ann", &d);
    uar_memory_compress_options o = with_summary("x");
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, &o), UAR_E_INVALID);
    assert_nothing_changed(f, 2);
    /* Nor those of two users, by an operator. */
    uar_identity boss = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    (void)add_text(f, "ann", days[2]);
    (void)add_text(f, "bob", days[2]);
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.scopes = 1u << UAR_MEMORY_SCOPE_USER;
    assert_int_equal(uar_memory_compress_sync(&done, f->memory, &boss, &filter, &o, NULL), UAR_E_INVALID);
    filter.user = STR("ann");
    assert_int_equal(uar_memory_compress_sync(&done, f->memory, &boss, &filter, &o, NULL), UAR_OK);
    assert_true(finds(f, "ann", "x", "x"));
    assert_int_equal(count_of(f, "bob"), 1);
}

static void facts_and_expiring_records_stay_as_they_are(void **state) {
    memory_fixture *f = *state;
    (void)add_text(f, "ann", days[0]);
    (void)add_fact(f, "ann", "boat", "The user owns a very old ferry");
    uar_memory_draft d = draft_of(days[1]);
    d.expires_ms = FIXTURE_START + 100000;
    (void)add_draft(f, "ann", &d);
    uar_memory_compression done;
    assert_int_equal(compress(f, &done, NULL, NULL), UAR_E_NOT_FOUND);
    (void)add_text(f, "ann", days[2]);
    assert_int_equal(compress(f, &done, NULL, NULL), UAR_OK);
    assert_int_equal(done.archived, 2);
    assert_int_equal(count_of(f, "ann"), 3);
    assert_true(finds(f, "ann", "soup", days[1]));
}

static void shared_memory_needs_the_right_to_write_it(void **state) {
    memory_fixture *f = *state;
    for (size_t i = 0; i < 2; i++) {
        uar_memory_draft d = draft_of(days[i]);
        d.scope = UAR_MEMORY_SCOPE_GLOBAL;
        (void)add_draft(f, "ann", &d);
    }
    uar_identity who = user_of("ann");
    who.flags = 0;
    uar_memory_compression done;
    assert_int_equal(uar_memory_compress_sync(&done, f->memory, &who, NULL, NULL, NULL), UAR_E_FORBIDDEN);
    assert_nothing_changed(f, 2);
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.as_of_ms = FIXTURE_START;
    assert_int_equal(compress(f, &done, &filter, NULL), UAR_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M9_a_summary_takes_the_place_of_its_sources_which_stay_readable),
        MEMORY_TEST(test_M9_a_purge_erases_the_sources_and_keeps_the_summary),
        MEMORY_TEST(test_M6_deleting_the_summary_erases_its_sources),
        MEMORY_TEST(the_bundled_rule_chooses_sentences_of_the_sources),
        MEMORY_TEST(without_options_a_third_is_left),
        MEMORY_TEST(without_options_a_sentence_stays_whole_where_a_third_holds_none),
        MEMORY_TEST(a_host_may_summarise_and_ask_the_memory_meanwhile),
        MEMORY_TEST(test_M9_a_summary_that_fails_or_is_too_long_changes_nothing),
        MEMORY_TEST(test_M9_a_source_that_changes_while_it_is_summarised_ends_it),
        MEMORY_TEST(test_M8_a_summary_is_as_trusted_as_the_least_of_its_sources),
        MEMORY_TEST(records_of_two_scopes_are_not_mixed),
        MEMORY_TEST(facts_and_expiring_records_stay_as_they_are),
        MEMORY_TEST(shared_memory_needs_the_right_to_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
