/* Searching: any text is a question, filters, times, scores. */
#include "test_memory_fixture.h"

static size_t count_hits(memory_fixture *f, const char *query, const uar_memory_filter *filter) {
    uar_memory_hits *hits = search_text(f, "ann", query, filter);
    size_t count = hits->count;
    uar_memory_hits_free(hits);
    return count;
}

static void test_M13_every_text_finds_itself(void **state) {
    memory_fixture *f = *state;
    const char *texts[] = {
        "Ticket POL-358 is open",
        "path/to/file.txt and C++ and C#",
        "\"quoted\" AND (NOT this) NEAR/2 col:umn * ^",
        "\xE7\xA7\x81\xE3\x81\xAF\xE6\x9D\xB1\xE4\xBA\xAC\xE3\x81\xAB",
        "\xEC\xA0\x9C \xEC\x9D\xB4\xEB\xA6\x84\xEC\x9D\x80 \xEC\x97\x90\xEC\x9D\xB4\xEB\x8B\xA4",
        "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xD0\xBC\xD0\xB8\xD1\x80",
        "\xD9\x85\xD8\xB1\xD8\xAD\xD8\xA8\xD8\xA7 \xD8\xA8\xD8\xA7\xD9\x84\xD8\xB9\xD8\xA7\xD9\x84\xD9\x85",
        "\xF0\x9F\x8E\x89",
        "???",
        "-- ; DROP TABLE version; '",
        "the"
    };
    size_t count = sizeof texts / sizeof texts[0];
    for (size_t i = 0; i < count; i++)
        add_text(f, "ann", texts[i]);
    for (size_t i = 0; i < count; i++)
        if (!finds(f, "ann", texts[i], texts[i])) fail_msg("\"%s\" doesn't find itself", texts[i]);
    assert_int_equal(count_of(f, "ann"), count);
}

static void test_M13_a_name_with_a_hyphen_is_found_however_it_is_written(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "Ticket POL-358 is open");
    add_text(f, "ann", "Ticket POL359 is closed");
    const char *first[] = { "POL-358", "pol 358", "pol358", "358", "what about POL-358?" };
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        assert_true(finds(f, "ann", first[i], "Ticket POL-358 is open"));
    assert_true(finds(f, "ann", "POL-359", "Ticket POL359 is closed"));
}

static void test_M13_a_natural_question_is_never_anded_to_nothing(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "My sister Clara works at the harbour");
    assert_true(finds(f, "ann",
                      "Hey, could you possibly tell me where on earth my sister is working these days, please?",
                      "My sister Clara works at the harbour"));
}

static void test_M13_odd_questions_are_answers_without_hits(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "something ordinary");
    const char *odd[] = { "", " ", "\"", "*", "(((", "AND OR NOT", "z\x01z", "\xEF\xBF\xBD", "NEAR(" };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_int_equal(count_hits(f, odd[i], NULL), 0);
    uar_identity who = user_of("ann");
    uar_memory_hits *hits = NULL;
    assert_int_equal(uar_memory_search_sync(&hits, f->memory, &who, STR("\xC3("), NULL, 5, NULL), UAR_E_UTF8);
    assert_int_equal(uar_memory_search_sync(&hits, f->memory, &who, STR("x"), NULL, 0, NULL), UAR_E_INVALID);
    assert_null(hits);
}

static void test_M13_accents_and_case_do_not_hide_a_word(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "Le caf\xC3\xA9 de la STRASSE");
    assert_true(finds(f, "ann", "cafe", "Le caf\xC3\xA9 de la STRASSE"));
    assert_true(finds(f, "ann", "CAFE\xCC\x81", "Le caf\xC3\xA9 de la STRASSE"));
    assert_true(finds(f, "ann",
                      "stra\xC3\x9F"
                      "e",
                      "Le caf\xC3\xA9 de la STRASSE"));
}

static void a_fact_is_found_by_its_slot(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "blue");
    add_fact(f, "ann", "favourite colour", "blue"); /* the same record takes the slot */
    assert_int_equal(count_of(f, "ann"), 1);
    assert_true(finds(f, "ann", "what is my favourite colour?", "blue"));
    assert_sound(f);
}

static void rarer_words_weigh_more(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 30; i++) {
        char text[64];
        snprintf(text, sizeof text, "the report number %d", i);
        add_text(f, "ann", text);
    }
    add_text(f, "ann", "the walrus");
    assert_true(finds(f, "ann", "report walrus", "the walrus"));
}

static void age_importance_and_trust_move_a_score_by_a_fifth_at_most(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of("a plain walrus");
    d.importance = 0;
    d.trust = UAR_MEMORY_TRUST_IMPORT;
    d.created_ms = FIXTURE_START - INT64_C(10) * 365 * 86400000;
    add_draft(f, "ann", &d);
    d = draft_of("one walrus here");
    d.importance = 1;
    d.trust = UAR_MEMORY_TRUST_HOST;
    add_draft(f, "ann", &d);
    uar_memory_hits *hits = search_text(f, "ann", "walrus", NULL);
    assert_int_equal(hits->count, 2);
    assert_true(str_is(hits->hits[0].record.content, "one walrus here"));
    for (size_t i = 0; i < 2; i++) {
        assert_true(hits->hits[i].score <= hits->hits[i].relevance * 1.2 + 1e-9);
        assert_true(hits->hits[i].score >= hits->hits[i].relevance * 0.8 - 1e-9);
        assert_true(hits->hits[i].recency >= 0 && hits->hits[i].recency <= 1);
    }
    assert_true(hits->hits[0].score > hits->hits[0].relevance && hits->hits[1].score < hits->hits[1].relevance);
    uar_memory_hits_free(hits);
}

static void add_at(memory_fixture *f, const char *text, const char *created) {
    uar_memory_draft d = draft_of(text);
    assert_int_equal(time_parse(&d.created_ms, uar_str_of(created)), UAR_OK);
    add_draft(f, "ann", &d);
}

static void what_is_of_the_time_of_the_question_comes_first(void **state) {
    memory_fixture *f = *state;
    add_at(f, "Ann walked the dog by the lake", "2023-05-07T10:00:00Z");
    add_at(f, "Ann walked the dog by the sea", "2023-06-08T10:00:00Z");
    add_at(f, "Ann walked the dog by the mill", "2023-07-09T10:00:00Z");
    const char *questions[] = { "Where did Ann walk the dog on 8 June 2023?", "Wo war Ann am 8. Juni 2023 mit the dog?",
                                "Where was the dog in June 2023?", "dog 2023-06-08" };
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        uar_memory_hits *hits = search_text(f, "ann", questions[i], NULL);
        assert_int_equal(hits->count, 3); /* nothing is left out */
        assert_true(str_is(hits->hits[0].record.content, "Ann walked the dog by the sea"));
        assert_true(hits->hits[0].time >= 1);
        assert_true(hits->hits[1].time < 1 && hits->hits[2].time < 1);
        uar_memory_hits_free(hits);
    }
}

static void a_time_moves_a_score_but_does_not_beat_the_words(void **state) {
    memory_fixture *f = *state;
    add_at(f, "The walrus swam to the harbour of Aberdeen", "2023-05-07T10:00:00Z");
    add_at(f, "Nothing of note", "2023-06-08T10:00:00Z");
    uar_memory_hits *hits = search_text(f, "ann", "Which harbour did the walrus reach on 8 June 2023?", NULL);
    assert_int_equal(hits->count, 2);
    assert_true(str_is(hits->hits[0].record.content, "The walrus swam to the harbour of Aberdeen"));
    uar_memory_hits_free(hits);
}

static void a_short_time_finds_what_has_none_of_the_words(void **state) {
    memory_fixture *f = *state;
    add_at(f, "The walrus swam", "2023-05-07T10:00:00Z");
    add_at(f, "A storm came up", "2023-05-09T10:00:00Z");
    assert_true(finds(f, "ann", "What was there on 7 May 2023?", "The walrus swam"));
    assert_int_equal(count_hits(f, "What was there on 7 May 2023?", NULL), 1);
    assert_int_equal(count_hits(f, "What was there in May 2023?", NULL), 2);
    assert_int_equal(count_hits(f, "What was there in 2023?", NULL), 0);
    assert_int_equal(count_hits(f, "What was there on 31 June 2023?", NULL), 0);
    uar_memory_filter early = { UAR_MEMORY_FILTER_INIT, .before_ms = 1 };
    assert_int_equal(count_hits(f, "What was there on 7 May 2023?", &early), 0);
}

static void the_best_come_first_and_the_limit_holds_whatever_moves_them(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 60; i++) {
        char text[128];
        snprintf(text, sizeof text, "walrus note %d%s", i,
                 i % 3 == 0 ? " with a good many more words than the others" : "");
        uar_memory_draft d = draft_of(text);
        d.importance = (i * 37 % 60) / 60.0;
        add_draft(f, "ann", &d);
    }
    uar_identity who = user_of("ann");
    uar_memory_hits *all = NULL, *few = NULL;
    assert_int_equal(uar_memory_search_sync(&all, f->memory, &who, STR("walrus"), NULL, 1000, NULL), UAR_OK);
    assert_int_equal(uar_memory_search_sync(&few, f->memory, &who, STR("walrus"), NULL, 7, NULL), UAR_OK);
    assert_int_equal(all->count, 60);
    assert_int_equal(few->count, 7);
    for (size_t i = 0; i < 7; i++)
        assert_true(uar_uuid_equal(all->hits[i].record.id, few->hits[i].record.id));
    for (size_t i = 1; i < all->count; i++)
        assert_true(all->hits[i - 1].score >= all->hits[i].score);
    uar_memory_hits_free(all);
    uar_memory_hits_free(few);
}

static void filters_narrow_by_scope_type_label_time_and_metadata(void **state) {
    memory_fixture *f = *state;
    uar_str label[] = { STR("zoo") };
    uar_memory_draft d = draft_of("walrus one");
    d.type = UAR_MEMORY_TYPE_EPISODIC;
    d.scope = UAR_MEMORY_SCOPE_SESSION;
    d.categories = label;
    d.category_count = 1;
    d.metadata = STR("{\"turn\":1,\"tags\":{\"b\":2,\"a\":1}}");
    d.created_ms = FIXTURE_START - 1000;
    add_draft(f, "ann", &d);
    add_text(f, "ann", "walrus two");
    uar_memory_filter g;
#define ONLY_ONE(set)                                     \
    do {                                                  \
        uar_memory_filter_init(&g);                       \
        set;                                              \
        assert_int_equal(count_hits(f, "walrus", &g), 1); \
    } while (0)
    ONLY_ONE(g.scopes = 1u << UAR_MEMORY_SCOPE_SESSION);
    ONLY_ONE(g.types = 1u << UAR_MEMORY_TYPE_EPISODIC);
    ONLY_ONE(g.category = STR("zoo"));
    ONLY_ONE(g.session = STR("s1"));
    ONLY_ONE(g.after_ms = FIXTURE_START);
    ONLY_ONE(g.before_ms = FIXTURE_START);
    ONLY_ONE(g.metadata = STR("{\"turn\":1}"));
    ONLY_ONE(g.metadata = STR("{\"tags\":{\"a\":1,\"b\":2}}"));
    uar_memory_filter_init(&g);
    g.metadata = STR("{\"turn\":2}");
    assert_int_equal(count_hits(f, "walrus", &g), 0);
    uar_identity who = user_of("ann");
    uar_memory_hits *hits = NULL;
    g.metadata = STR("[]");
    assert_int_equal(uar_memory_search_sync(&hits, f->memory, &who, STR("x"), &g, 5, NULL), UAR_E_INVALID);
    g.metadata = STR("{");
    assert_int_equal(uar_memory_search_sync(&hits, f->memory, &who, STR("x"), &g, 5, NULL), UAR_E_JSON);
    uar_memory_filter_init(&g);
    g.scopes = 1;
    assert_int_equal(uar_memory_search_sync(&hits, f->memory, &who, STR("x"), &g, 5, NULL), UAR_E_INVALID);
}

static void as_of_gives_what_held_then_in_the_words_of_then(void **state) {
    memory_fixture *f = *state;
    add_fact(f, "ann", "home", "home is Rome");
    uar_memory_change note = add_text(f, "ann", "note in old words");
    atomic_store(&f->now, FIXTURE_START + 1000);
    add_fact(f, "ann", "home", "home is Oslo");
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("note in new words");
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, note.id, &p, NULL), UAR_OK);
    uar_memory_filter then;
    uar_memory_filter_init(&then);
    then.as_of_ms = FIXTURE_START + 500;
    uar_memory_hits *hits = search_text(f, "ann", "home", &then);
    assert_int_equal(hits->count, 1);
    assert_true(str_is(hits->hits[0].record.content, "home is Rome"));
    uar_memory_hits_free(hits);
    hits = search_text(f, "ann", "note words", &then);
    assert_int_equal(hits->count, 1);
    assert_true(str_is(hits->hits[0].record.content, "note in old words"));
    uar_memory_hits_free(hits);
    then.as_of_ms = FIXTURE_START - 1;
    assert_int_equal(count_hits(f, "home note", &then), 0);
    assert_int_equal(count_hits(f, "home note", NULL), 2);
}

static void a_record_that_has_ended_leaves_recall(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of("the sale lasts a day");
    d.valid_until_ms = FIXTURE_START + 86400000;
    add_draft(f, "ann", &d);
    assert_int_equal(count_hits(f, "sale", NULL), 1);
    atomic_store(&f->now, FIXTURE_START + 86400000);
    assert_int_equal(count_hits(f, "sale", NULL), 0);
    assert_int_equal(count_of(f, "ann"), 0);
}

static void a_page_goes_on_where_the_last_one_ended(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 25; i++) {
        char text[32];
        snprintf(text, sizeof text, "item %02d", i);
        add_text(f, "ann", text);
    }
    uar_identity who = user_of("ann");
    char cursor[32] = "";
    int seen = 0;
    for (int page = 0; page < 10; page++) {
        uar_memory_records *r = NULL;
        uar_str from = cursor[0] != '\0' ? uar_str_of(cursor) : uar_str_of(NULL);
        assert_int_equal(uar_memory_list_sync(&r, f->memory, &who, NULL, from, 10, NULL), UAR_OK);
        for (size_t i = 0; i < r->count; i++, seen++) {
            char text[32];
            snprintf(text, sizeof text, "item %02d", 24 - seen);
            assert_true(str_is(r->records[i].content, text));
        }
        bool last = r->cursor.ptr == NULL;
        if (!last) snprintf(cursor, sizeof cursor, "%.*s", (int)r->cursor.len, r->cursor.ptr);
        uar_memory_records_free(r);
        if (last) break;
    }
    assert_int_equal(seen, 25);
    uar_memory_records *r = NULL;
    assert_int_equal(uar_memory_list_sync(&r, f->memory, &who, NULL, STR("x1"), 10, NULL), UAR_E_INVALID);
}

static uar_status keep_text(void *ctx, uar_str piece) {
    snprintf(ctx, 4096, "%.*s", (int)piece.len, piece.ptr);
    return UAR_OK;
}

static void test_M10_answers_carry_no_raw_vectors(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "walrus");
    uar_memory_hits *hits = search_text(f, "ann", "walrus", NULL);
    char json[4096];
    assert_int_equal(uar_memory_hits_json(hits, NULL, keep_text, json), UAR_OK);
    assert_non_null(strstr(json, "\"mode\":\"lexical\""));
    assert_non_null(strstr(json, "\"why\":{\"lexical\":"));
    /* No array but the hits and the labels, so none of numbers. */
    size_t arrays = 0;
    for (char *at = json; (at = strchr(at, '[')) != NULL; at++)
        arrays++;
    assert_int_equal(arrays, 2);
    assert_null(strstr(json, "embedding"));
    uar_memory_hits_free(hits);
}

static void a_record_as_JSON_has_the_keys_that_programs_read(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_fact(f, "ann", "home", "I live in \"Oslo\"");
    uar_memory_records *r = get_record(f, "ann", made.id);
    char json[4096], id[UAR_UUID_TEXT], want[512];
    assert_int_equal(uar_memory_record_json(&r->records[0], NULL, keep_text, json), UAR_OK);
    uar_uuid_format(id, made.id);
    snprintf(want, sizeof want,
             "{\"id\":\"%s\",\"content\":\"I live in "
             "\\\"Oslo\\\"\",\"type\":\"semantic\",\"scope\":\"user\",\"owner\":\"local\","
             "\"user\":\"ann\",\"agent\":null,\"session\":null,\"task\":null,\"categories\":[],\"metadata\":{},"
             "\"importance\":0.5,\"trust\":\"user\",\"fact\":{\"subject\":\"user\",\"attribute\":\"home\"},"
             "\"created\":\"2025-11-30T10:53:20.000Z\",\"updated\":\"2025-11-30T10:53:20.000Z\","
             "\"valid_from\":\"2025-11-30T10:53:20.000Z\",\"valid_until\":null,\"revision\":1,",
             id);
    json[strlen(want)] = '\0';
    assert_string_equal(json, want);
    uar_memory_records_free(r);
    assert_int_equal(uar_memory_change_json(&made, NULL, keep_text, json), UAR_OK);
    snprintf(want, sizeof want, "{\"id\":\"%s\",\"outcome\":\"added\",\"supersedes\":null,\"revision\":1}", id);
    assert_string_equal(json, want);
    uar_identity who = user_of("ann");
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &who, NULL, NULL), UAR_OK);
    uar_memory_embedding embedding;
    uar_memory_embedding_init(&embedding);
    assert_int_equal(uar_memory_embedding_sync(&embedding, f->memory, NULL), UAR_OK);
    assert_int_equal(uar_memory_stats_json(&stats, &embedding, NULL, keep_text, json), UAR_OK);
    assert_string_equal(json,
                        "{\"total\":1,\"by_scope\":{\"global\":0,\"agent\":0,\"user\":1,\"session\":0,\"task\":0},"
                        "\"state\":\"ready\",\"pending\":0,\"embedder\":\"lexical\",\"embedded\":0,\"unembedded\":0}");
    assert_int_equal(uar_memory_stats_json(&stats, NULL, NULL, keep_text, json), UAR_OK);
    assert_non_null(strstr(json, "\"pending\":0,\"embedder\":null,\"embedded\":null,\"unembedded\":null}"));
}

static void an_answer_may_outlive_its_memory(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "walrus");
    uar_memory_hits *hits = search_text(f, "ann", "walrus", NULL);
    uar_memory_free(f->memory);
    f->memory = NULL;
    assert_true(str_is(hits->hits[0].record.content, "walrus"));
    uar_memory_hits_free(hits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M13_every_text_finds_itself),
        MEMORY_TEST(test_M13_a_name_with_a_hyphen_is_found_however_it_is_written),
        MEMORY_TEST(test_M13_a_natural_question_is_never_anded_to_nothing),
        MEMORY_TEST(test_M13_odd_questions_are_answers_without_hits),
        MEMORY_TEST(test_M13_accents_and_case_do_not_hide_a_word),
        MEMORY_TEST(a_fact_is_found_by_its_slot),
        MEMORY_TEST(rarer_words_weigh_more),
        MEMORY_TEST(age_importance_and_trust_move_a_score_by_a_fifth_at_most),
        MEMORY_TEST(what_is_of_the_time_of_the_question_comes_first),
        MEMORY_TEST(a_time_moves_a_score_but_does_not_beat_the_words),
        MEMORY_TEST(a_short_time_finds_what_has_none_of_the_words),
        MEMORY_TEST(the_best_come_first_and_the_limit_holds_whatever_moves_them),
        MEMORY_TEST(filters_narrow_by_scope_type_label_time_and_metadata),
        MEMORY_TEST(as_of_gives_what_held_then_in_the_words_of_then),
        MEMORY_TEST(a_record_that_has_ended_leaves_recall),
        MEMORY_TEST(a_page_goes_on_where_the_last_one_ended),
        MEMORY_TEST(test_M10_answers_carry_no_raw_vectors),
        MEMORY_TEST(a_record_as_JSON_has_the_keys_that_programs_read),
        MEMORY_TEST(an_answer_may_outlive_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
