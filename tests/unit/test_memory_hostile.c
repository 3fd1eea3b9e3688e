/* A memory in bad company: other embedders on the same file, texts without words, times far away, callbacks that free it,
 * damage in what is derived. */
#include "test_memory_embed_fixture.h"

#include <math.h>
#include <sqlite3.h>
#include <time.h>

#include <uar/memory_async.h>
#include <uar/memory_graph.h>
#include <uar/memory_stream.h>

static void add_notes(uar_memory *m, int from, int to) {
    uar_identity who = user_of("ann");
    size_t count = (size_t)(to - from);
    uar_memory_draft *drafts = calloc(count, sizeof *drafts);
    char(*texts)[64] = calloc(count, sizeof *texts);
    assert_true(drafts != NULL && texts != NULL);
    for (size_t i = 0; i < count; i++) {
        int n = from + (int)i;
        snprintf(texts[i], sizeof texts[i], "note n%d w%d w%d w%d", n, n % 17, n % 23, n % 31);
        drafts[i] = draft_of(texts[i]);
    }
    uar_error err = UAR_ERROR_INIT;
    uar_status status =
        uar_memory_add_batch_sync(NULL, m, &who, drafts, count, UAR_MEMORY_ADD_VERBATIM, NULL, NULL, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    free(drafts);
    free(texts);
}

static uar_uuid add_one(uar_memory *m, const char *text) {
    uar_identity who = user_of("ann");
    uar_memory_draft d = draft_of(text);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_add_sync(&change, m, &who, &d, &err) != UAR_OK) fail_msg("%s", err.message);
    return change.id;
}

static void set_text(uar_memory *m, uar_uuid id, const char *text) {
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = uar_str_of(text);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_update_sync(&change, m, &who, id, &p, &err) != UAR_OK) fail_msg("%s", err.message);
}

static void assert_whole(uar_memory *m) {
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_check_sync(m, &err) != UAR_OK) fail_msg("%s", err.message);
}

static uar_memory_hits *ask(uar_memory *m, const char *text, size_t limit) {
    uar_identity who = user_of("ann");
    uar_memory_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_search_sync(&hits, m, &who, uar_str_of(text), NULL, limit, &err) != UAR_OK)
        fail_msg("%s", err.message);
    return hits;
}

static bool first_is(uar_memory *m, const char *question, const char *text) {
    uar_memory_hits *hits = ask(m, question, 5);
    bool is = hits->count != 0 && str_is(hits->hits[0].record.content, text);
    uar_memory_hits_free(hits);
    return is;
}

static bool any_is(uar_memory *m, const char *question, const char *text) {
    uar_memory_hits *hits = ask(m, question, 1000);
    bool is = false;
    for (size_t i = 0; i < hits->count; i++)
        is = is || str_is(hits->hits[i].record.content, text);
    uar_memory_hits_free(hits);
    return is;
}

static void harm(embed_fixture *x, const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(x->f.path, &db), SQLITE_OK);
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s", why);
    sqlite3_close(db);
}

/* Does the record with this text answer a word of the question? */
static bool answers(uar_memory *m, const char *question, const char *text) {
    uar_memory_hits *hits = ask(m, question, 1000);
    bool is = false;
    for (size_t i = 0; i < hits->count; i++)
        is = is || (str_is(hits->hits[i].record.content, text) && hits->hits[i].lexical > 0);
    uar_memory_hits_free(hits);
    return is;
}

/* ---- texts without words ---- */

/* Marks without a letter under them: no word is in them. */
#define NO_WORDS "\xCC\x81\xCC\x88"

static void lose_and_gain_words(uar_memory *m, int others) {
    uar_uuid mute = add_one(m, NO_WORDS);
    uar_uuid loud = add_one(m, "walrus harbour");
    assert_whole(m);
    if (others != 0) add_notes(m, 0, others);
    assert_whole(m);
    set_text(m, mute, "zebra meadow");
    assert_whole(m);
    assert_true(first_is(m, "zebra", "zebra meadow"));
    set_text(m, loud, NO_WORDS "\xCC\x82");
    assert_whole(m);
    assert_false(answers(m, "walrus", NO_WORDS "\xCC\x82"));
    set_text(m, mute, NO_WORDS);
    set_text(m, loud, "pelican beach");
    assert_whole(m);
    assert_true(first_is(m, "pelican", "pelican beach"));
    assert_false(answers(m, "zebra", NO_WORDS));
}

static void test_M14_a_text_may_lose_its_words_and_get_words_again(void **state) {
    embed_fixture *x = *state;
    lose_and_gain_words(x->memory, 0);
}

static void test_M14_a_packed_text_may_lose_its_words_and_get_words_again(void **state) {
    embed_fixture *x = *state;
    lose_and_gain_words(x->memory, 1100);
    x->e.door.id = "other-32";
    reopen_with(x, 300, NULL);
    assert_whole(x->memory);
}

/* ---- other embedders on the same file ---- */

static uar_memory *open_lexical(embed_fixture *x) {
    uar_memory *m = fixture_open(&x->f);
    assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_READY);
    return m;
}

static uar_memory_embedding embedding_of(uar_memory *m) {
    uar_memory_embedding e;
    uar_memory_embedding_init(&e);
    assert_int_equal(uar_memory_embedding_sync(&e, m, NULL), UAR_OK);
    return e;
}

static size_t hits_with_vector(uar_memory *m, const char *question) {
    uar_memory_hits *hits = ask(m, question, 1000);
    size_t count = 0;
    for (size_t i = 0; i < hits->count; i++)
        count += fabs(hits->hits[i].vector) > 0;
    uar_memory_hits_free(hits);
    return count;
}

static void test_M14_who_has_no_embedder_packs_the_vectors_of_who_has_one(void **state) {
    embed_fixture *x = *state;
    uar_uuid id = add_one(x->memory, "walrus harbour");
    add_notes(x->memory, 0, 1000);
    uar_memory *plain = open_lexical(x);
    add_notes(plain, 1000, 1100);
    uar_identity who = user_of("ann");
    uar_memory_change change;
    assert_whole(plain);
    assert_whole(x->memory);
    size_t before = hits_with_vector(x->memory, "note n5 w3");
    assert_true(before >= 900);
    assert_int_equal(uar_memory_delete_sync(&change, plain, &who, id, NULL), UAR_OK);
    assert_int_equal(uar_memory_reindex_sync(plain, NULL), UAR_OK);
    assert_whole(plain);
    assert_whole(x->memory);
    assert_true(hits_with_vector(x->memory, "note n5 w3") >= 900);
    uar_memory_free(plain);
}

static void test_M4_two_embedders_that_pack_in_turn_leave_no_record_lost_for_good(void **state) {
    embed_fixture *x = *state;
    test_embedder other;
    embedder_init(&other, "other-32");
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x->f.clock;
    options.embedder = &other.door;
    uar_memory *second = uar_memory_open(x->f.path, &options);
    assert_int_equal(uar_memory_state(second, NULL), UAR_MEMORY_READY);
    add_notes(x->memory, 0, 600);
    add_notes(second, 600, 1200);
    assert_whole(x->memory);
    assert_whole(second);
    add_notes(x->memory, 1200, 2300);
    assert_whole(x->memory);
    assert_whole(second);
    uar_memory *plain = open_lexical(x);
    assert_whole(plain);
    uar_memory_free(plain);
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_OK);
    assert_whole(x->memory);
    assert_whole(second);
    assert_int_equal(embedding_of(x->memory).unembedded, 0);
    assert_true(hits_with_vector(x->memory, "note n5 w3") == 1000);
    assert_int_equal(uar_memory_reembed_sync(second, NULL, NULL, NULL), UAR_OK);
    assert_whole(x->memory);
    assert_whole(second);
    assert_int_equal(embedding_of(second).unembedded, 0);
    assert_true(hits_with_vector(second, "note n5 w3") == 1000);
    uar_memory_free(second);
    embedder_dispose(&other);
}

static void test_M4_a_model_that_becomes_known_later_finds_an_index_without_vectors(void **state) {
    embed_fixture *x = *state;
    uar_memory *plain = open_lexical(x);
    add_notes(plain, 0, 40);
    harm(x, "DELETE FROM model");
    test_embedder other;
    embedder_init(&other, "words-32");
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x->f.clock;
    options.embedder = &other.door;
    options.read_only = true;
    uar_memory *reader = uar_memory_open(x->f.path, &options);
    assert_int_equal(uar_memory_state(reader, NULL), UAR_MEMORY_READY);
    assert_true(any_is(reader, "n5", "note n5 w5 w5 w5"));
    reopen_with(x, 300, NULL);
    for (int i = 100; i < 110; i++)
        add_notes(x->memory, i, i + 1);
    assert_true(any_is(reader, "n105", "note n105 w3 w13 w12"));
    assert_int_equal(hits_with_vector(reader, "n105"), 10);
    uar_memory_free(reader);
    uar_memory_free(plain);
    embedder_dispose(&other);
}

/* ---- the past ---- */

static void add_fact_of(uar_memory *m, int number) {
    uar_identity who = user_of("ann");
    char text[64];
    snprintf(text, sizeof text, "Ann lives in town%d", number);
    uar_memory_draft d = draft_of(text);
    d.subject = STR("ann");
    d.attribute = STR("home");
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_add_sync(&change, m, &who, &d, &err) != UAR_OK) fail_msg("%s", err.message);
}

static void assert_fact_at(uar_memory *m, int64_t time, int number) {
    uar_identity who = user_of("ann");
    char text[64];
    snprintf(text, sizeof text, "Ann lives in town%d", number);
    uar_memory_filter f;
    uar_memory_filter_init(&f);
    f.as_of_ms = time;
    uar_memory_hits *hits = NULL;
    assert_int_equal(uar_memory_search_sync(&hits, m, &who, STR("where does Ann live?"), &f, 10, NULL), UAR_OK);
    assert_int_equal(hits->count, 1);
    assert_true(str_is(hits->hits[0].record.content, text));
    uar_memory_hits_free(hits);
}

static void test_M3_each_value_of_a_packed_fact_is_found_at_its_time(void **state) {
    embed_fixture *x = *state;
    enum { COUNT = 1400, STEP = 1000 };
    for (int i = 0; i < COUNT; i++) {
        atomic_store(&x->f.now, FIXTURE_START + (int64_t)i * STEP);
        add_fact_of(x->memory, i);
    }
    assert_whole(x->memory);
    for (int i = 0; i < COUNT; i += 97) {
        assert_fact_at(x->memory, FIXTURE_START + (int64_t)i * STEP, i);
        assert_fact_at(x->memory, FIXTURE_START + (int64_t)(i + 1) * STEP - 1, i);
    }
    assert_fact_at(x->memory, FIXTURE_START + (int64_t)COUNT * STEP, COUNT - 1);
    assert_int_equal(uar_memory_reindex_sync(x->memory, NULL), UAR_OK);
    assert_fact_at(x->memory, FIXTURE_START + INT64_C(500) * STEP, 500);
}

/* ---- callbacks ---- */

typedef struct freeing {
    uar_memory *memory;
    int lines;
} freeing;

static uar_status free_in_writer(void *ctx, uar_str piece) {
    freeing *f = ctx;
    (void)piece;
    uar_memory_free(f->memory); /* the first time; then it is NULL */
    f->memory = NULL;
    f->lines++;
    return UAR_OK;
}

static void test_N1_the_memory_may_be_freed_by_the_writer_of_an_export(void **state) {
    embed_fixture *x = *state;
    add_notes(x->memory, 0, 200);
    uar_identity who = user_of("ann");
    freeing f = { x->memory, 0 };
    uar_status status = uar_memory_export_sync(x->memory, &who, NULL, free_in_writer, &f, NULL);
    assert_true(status == UAR_OK || status == UAR_E_CANCELLED);
    assert_true(f.lines > 0);
    x->memory = NULL;
}

static void free_at_failure(void *ctx, uint64_t line, const uar_error *err) {
    (void)line;
    (void)err;
    (void)free_in_writer(ctx, STR(""));
}

static void test_N1_the_memory_may_be_freed_when_an_import_tells_of_a_line(void **state) {
    embed_fixture *x = *state;
    uar_identity who = user_of("ann");
    freeing f = { x->memory, 0 };
    uar_memory_graph_imported graph;
    (void)uar_memory_graph_import_sync(&graph, x->memory, &who, STR("{\n{\n{\n"), NULL, free_at_failure, &f, NULL);
    assert_true(f.lines > 0);
    x->memory = NULL;
    reopen_with(x, 300, NULL);
    f = (freeing){ x->memory, 0 };
    uar_memory_stream_imported streams;
    (void)uar_memory_stream_import_sync(&streams, x->memory, &who, STR("{\n{\n{\n"), free_at_failure, &f, NULL);
    assert_true(f.lines > 0);
    x->memory = NULL;
}

static void test_N1_the_memory_may_be_freed_by_the_writer_of_a_streams_export(void **state) {
    embed_fixture *x = *state;
    uar_identity who = user_of("ann");
    uar_memory_stream_draft d;
    uar_memory_stream_draft_init(&d);
    d.name = STR("work");
    uar_memory_streams *streams = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&streams, x->memory, &who, &d, NULL), UAR_OK);
    uar_memory_streams_free(streams);
    freeing f = { x->memory, 0 };
    (void)uar_memory_stream_export_sync(x->memory, &who, NULL, free_in_writer, &f, NULL);
    assert_true(f.lines > 0);
    x->memory = NULL;
}

typedef struct batch_end {
    atomic_int told;
    uar_status status;
    size_t count;
} batch_end;

static void on_changes(void *ctx, uar_status status, const uar_memory_change *changes, size_t count,
                       const uar_error *err) {
    batch_end *e = ctx;
    (void)changes;
    (void)err;
    e->status = status;
    e->count = count;
    atomic_store(&e->told, 1);
}

/* A draft of a host whose header was a little older or newer. */
static void add_sized(uar_memory *m, size_t size) {
    uar_identity who = user_of("ann");
    static const char *const texts[] = { "first walrus", "second pelican", "third zebra" };
    char *bytes = calloc(3, size);
    assert_non_null(bytes);
    for (size_t i = 0; i < 3; i++) {
        uar_memory_draft d = draft_of(texts[i]);
        d.size = size;
        memcpy(bytes + i * size, &d, size < sizeof d ? size : sizeof d);
    }
    batch_end end = { .told = 0 };
    assert_int_equal(
        uar_memory_add_batch(m, &who, (const uar_memory_draft *)(void *)bytes, 3, 0, NULL, on_changes, &end, NULL),
        UAR_OK);
    free(bytes);
    while (atomic_load(&end.told) == 0)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(end.status, UAR_OK);
    assert_int_equal(end.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(any_is(m, texts[i], texts[i]));
}

static void test_N9_a_later_batch_takes_the_drafts_of_an_older_header(void **state) {
    embed_fixture *x = *state;
    add_sized(x->memory, sizeof(uar_memory_draft) - sizeof(int64_t));
}

static void test_N9_a_later_batch_takes_the_drafts_of_a_newer_header(void **state) {
    embed_fixture *x = *state;
    add_sized(x->memory, sizeof(uar_memory_draft) + 3 * sizeof(int64_t));
}

/* ---- numbers ---- */

static void assert_sane(const uar_memory_hits *hits) {
    for (size_t i = 0; i < hits->count; i++) {
        const uar_memory_hit *h = &hits->hits[i];
        assert_true(isfinite(h->score) && isfinite(h->relevance) && h->relevance >= 0);
        assert_true(h->lexical >= 0 && h->lexical <= 1 && h->around >= 0 && h->around <= h->lexical);
        assert_true(h->vector >= -1.0001 && h->vector <= 1.0001);
        assert_true(h->recency >= 0 && h->recency <= 1 && h->time >= 0 && h->time <= 1);
        assert_true(i == 0 || hits->hits[i - 1].score >= h->score);
    }
}

static void add_at(uar_memory *m, const char *text, int64_t created) {
    uar_identity who = user_of("ann");
    uar_memory_draft d = draft_of(text);
    d.created_ms = created;
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_add_sync(&change, m, &who, &d, &err) != UAR_OK) fail_msg("%s", err.message);
}

static void test_M13_times_at_the_ends_of_what_a_number_holds_are_times(void **state) {
    embed_fixture *x = *state;
    static const int64_t times[] = { INT64_MIN + 1, INT64_MIN + 2,   -62135596800000, -1,       1,
                                     1764500000000, 253402300799999, INT64_MAX - 1,   INT64_MAX };
    static const char *const questions[] = {
        "walrus",
        "what did I say about the walrus yesterday?",
        "walrus last week",
        "walrus three years ago",
        "walrus in 1969",
        "walrus on 2025-11-30",
        "walrus last May",
        "walrus in the year 9999",
        "walrus last year",
        "walrus recently",
        "walrus today",
        "walrus two days ago",
        "walrus before 2020",
        "walrus 5000 years ago",
        "walrus 99999999999 days ago",
        "walrus since Monday",
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[64];
        snprintf(text, sizeof text, "walrus number %d", (int)i);
        add_at(x->memory, text, times[i]);
    }
    uar_identity who = user_of("ann");
    for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
            uar_memory_filter f;
            uar_memory_filter_init(&f);
            uar_memory_hits *hits = NULL;
            f.as_of_ms = times[t];
            assert_int_equal(uar_memory_search_sync(&hits, x->memory, &who, uar_str_of(questions[i]), &f, 10, NULL),
                             UAR_OK);
            assert_sane(hits);
            uar_memory_hits_free(hits);
            hits = ask(x->memory, questions[i], 10);
            assert_int_equal(hits->count > 5, true);
            assert_sane(hits);
            uar_memory_hits_free(hits);
        }
        atomic_store(&x->f.now, times[t]);
    }
    assert_whole(x->memory);
}

static uar_status keep_lines(void *ctx, uar_str piece) {
    char *text = ctx;
    size_t len = strlen(text);
    assert_true(len + piece.len < 16384);
    memcpy(text + len, piece.ptr, piece.len);
    text[len + piece.len] = '\0';
    return UAR_OK;
}

static void test_M14_every_time_that_is_taken_comes_through_an_export(void **state) {
    embed_fixture *x = *state;
    static const int64_t times[] = { INT64_MIN + 1, -62135596800001, -1, 1, 253402300800000, INT64_MAX };
    static char first[16384], second[16384];
    first[0] = second[0] = '\0';
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[64];
        snprintf(text, sizeof text, "walrus number %d", (int)i);
        add_at(x->memory, text, times[i]);
    }
    uar_identity all = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    uar_memory_draft d = draft_of("before all");
    uar_memory_change change;
    d.user = STR("ann");
    d.created_ms = INT64_MIN;
    assert_int_equal(uar_memory_add_sync(&change, x->memory, &all, &d, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_export_sync(x->memory, &all, NULL, keep_lines, first, NULL), UAR_OK);
    assert_non_null(strstr(first, "\"created\":253402300800000,"));
    assert_non_null(strstr(first, "\"created\":-9223372036854775807,"));
    uar_memory_filter f;
    uar_memory_filter_init(&f);
    f.user = STR("ann");
    uar_memory_erasure gone;
    assert_int_equal(uar_memory_delete_where_sync(&gone, x->memory, &all, &f, NULL), UAR_OK);
    uar_memory_imported in;
    assert_int_equal(
        uar_memory_import_sync(&in, x->memory, &all, uar_str_of(first), UAR_MEMORY_IMPORT_VERBATIM, NULL, NULL, NULL),
        UAR_OK);
    assert_int_equal(in.added, sizeof times / sizeof *times);
    assert_int_equal(uar_memory_export_sync(x->memory, &all, NULL, keep_lines, second, NULL), UAR_OK);
    assert_string_equal(first, second);
}

static void test_R13_a_record_at_the_last_revision_takes_no_further_one(void **state) {
    embed_fixture *x = *state;
    uar_identity all = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR };
    static const char line[] = "{\"content\":\"walrus\",\"user\":\"ann\",\"revision\":9223372036854775807,"
                               "\"id\":\"018f0000-0000-7000-8000-000000000001\"}";
    uar_memory_imported in;
    assert_int_equal(
        uar_memory_import_sync(&in, x->memory, &all, uar_str_of(line), UAR_MEMORY_IMPORT_VERBATIM, NULL, NULL, NULL),
        UAR_OK);
    assert_int_equal(in.added, 1);
    uar_memory_hits *hits = ask(x->memory, "walrus", 1);
    uar_uuid id = hits->hits[0].record.id;
    uar_memory_hits_free(hits);
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("pelican");
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, x->memory, &who, id, &p, NULL), UAR_E_TOO_LARGE);
    assert_true(first_is(x->memory, "walrus", "walrus"));
    assert_whole(x->memory);
}

static void unit_answer(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                        uar_completion *completion) {
    (void)ctx;
    (void)purpose;
    (void)texts;
    float *vectors = calloc(count, 3 * sizeof *vectors);
    assert_non_null(vectors);
    for (size_t i = 0; i < count; i++)
        vectors[i * 3] = 0.1f;
    (void)uar_completion_vectors(completion, vectors, count, 3);
    free(vectors);
}

/* A thousand equal vectors: their sum is as long as a sum can be, and no two differ. */
static void test_M14_a_chunk_of_equal_vectors_can_be_read(void **state) {
    embed_fixture *x = *state;
    uar_embedder same = { .struct_size = UAR_EMBEDDER_INIT, .id = "same", .dims = 3, .embed = unit_answer };
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x->f.clock;
    options.embedder = &same;
    uar_memory *m = uar_memory_open(x->f.path, &options);
    add_notes(m, 0, 1500);
    assert_whole(m);
    uar_memory_hits *hits = ask(m, "n7 w3", 100);
    assert_string_equal(hits->mode, "hybrid");
    assert_int_equal(hits->count, 100);
    assert_sane(hits);
    uar_memory_hits_free(hits);
    uar_memory_free(m);
}

/* ---- more words than a record may have ---- */

static void count_refused(void *ctx, size_t index, const uar_error *err) {
    (void)err;
    *(size_t *)ctx += index + 1;
}

static void test_M14_a_draft_with_too_many_words_leaves_nothing_of_itself(void **state) {
    embed_fixture *x = *state;
    static char text[65537];
    size_t len = 0;
    unsigned n = 0;
    /* Words of few bytes that are all different, tied in chains of four, which give joined forms. */
    while (len + 24 < sizeof text) {
        static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
        text[len++] = digits[n % 36];
        text[len++] = digits[n / 36 % 36];
        if (n >= 1296) text[len++] = digits[n / 1296 % 36];
        text[len++] = n % 4 == 3 ? ' ' : '-';
        n++;
    }
    text[len] = '\0';
    uar_memory_draft drafts[3] = { draft_of("walrus"), draft_of(text), draft_of("pelican") };
    uar_identity who = user_of("ann");
    size_t refused = 0;
    assert_int_equal(uar_memory_add_batch_sync(NULL, x->memory, &who, drafts, 3, 0, count_refused, &refused, NULL),
                     UAR_OK);
    assert_whole(x->memory);
    assert_true(refused == 0 || refused == 2);
    assert_true(first_is(x->memory, "pelican", "pelican"));
}

/* ---- damage ---- */

static void test_R10_a_damaged_vector_is_told_and_can_be_made_anew(void **state) {
    embed_fixture *x = *state;
    static const char *const harms[] = {
        "UPDATE vector SET value = zeroblob(128) WHERE num = 7",
        "UPDATE vector SET value = x'00' WHERE num = 8",
        "UPDATE vector SET value = randomblob(136) WHERE num = 9",
        /* Still of length 1: only its sum knows. */
        "UPDATE vector SET value = substr(value, 65, 64) || substr(value, 1, 64) || substr(value, 129) WHERE "
        "num = 1099",
    };
    add_notes(x->memory, 0, 1100);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        harm(x, harms[i]);
        reopen_with(x, 300, NULL);
        assert_int_equal(uar_memory_check_sync(x->memory, NULL), UAR_E_CORRUPT);
        uar_error err = UAR_ERROR_INIT;
        if (uar_memory_reindex_sync(x->memory, &err) != UAR_OK) fail_msg("%s", err.message);
        assert_whole(x->memory);
        assert_int_equal(embedding_of(x->memory).unembedded, 1);
        assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_OK);
        assert_int_equal(embedding_of(x->memory).unembedded, 0);
        assert_whole(x->memory);
    }
}

/* Change one byte of a chunk; the same again takes it back. */
static void flip_chunk(embed_fixture *x, int at) {
    sqlite3 *db = NULL;
    sqlite3_blob *blob = NULL;
    unsigned char byte = 0;
    assert_int_equal(sqlite3_open(x->f.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_blob_open(db, "main", "chunk", "body", 1, 1, &blob), SQLITE_OK);
    at %= sqlite3_blob_bytes(blob);
    assert_int_equal(sqlite3_blob_read(blob, &byte, 1, at), SQLITE_OK);
    byte ^= (unsigned char)(1u << at % 8);
    assert_int_equal(sqlite3_blob_write(blob, &byte, 1, at), SQLITE_OK);
    sqlite3_blob_close(blob);
    sqlite3_close(db);
}

static void assert_same_or_told(uar_memory *m, const uar_memory_hits *good) {
    uar_identity who = user_of("ann");
    uar_memory_hits *hits = NULL;
    uar_status status = uar_memory_search_sync(&hits, m, &who, good->query, NULL, 1000, NULL);
    if (status == UAR_E_CORRUPT) return;
    assert_int_equal(status, UAR_OK);
    assert_int_equal(hits->count, good->count);
    for (size_t i = 0; i < hits->count; i++) {
        assert_true(uar_uuid_equal(hits->hits[i].record.id, good->hits[i].record.id));
        assert_true(fabs(hits->hits[i].score - good->hits[i].score) < 1e-9);
    }
    uar_memory_hits_free(hits);
}

static void test_R10_a_byte_of_a_chunk_that_changed_is_told_or_changes_no_answer(void **state) {
    embed_fixture *x = *state;
    add_notes(x->memory, 0, 1100);
    uar_memory_hits *good = ask(x->memory, "note n77 w3 w9", 1000);
    assert_string_equal(good->mode, "hybrid");
    uint32_t seed = 12345;
    for (int round = 0; round < 300; round++) {
        seed = seed * 1664525u + 1013904223u;
        int at = round < 60 ? round : round < 160 ? 4090 + round : (int)(seed >> 8);
        flip_chunk(x, at);
        reopen_with(x, 300, NULL);
        assert_same_or_told(x->memory, good);
        flip_chunk(x, at);
    }
    uar_memory_hits_free(good);
    reopen_with(x, 300, NULL);
    assert_whole(x->memory);
}

static void test_R10_a_segment_that_lacks_records_is_told_by_a_search(void **state) {
    embed_fixture *x = *state;
    static const char *const harms[] = {
        "UPDATE segment SET packed = packed + 64, generation = generation + 1",
        "UPDATE segment SET packed = packed | 0x100000",
        "UPDATE segment SET packed = 0",
        "DELETE FROM chunk",
        "UPDATE segment SET records = records - 1",
    };
    add_notes(x->memory, 0, 1100);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        harm(x, harms[i]);
        reopen_with(x, 300, NULL);
        uar_memory_hits *hits = NULL;
        uar_identity who = user_of("ann");
        uar_status status = uar_memory_search_sync(&hits, x->memory, &who, STR("n1050"), NULL, 5, NULL);
        if (status == UAR_OK) {
            assert_true(str_is(hits->hits[0].record.content, "note n1050 w13 w15 w27"));
            uar_memory_hits_free(hits);
        } else {
            assert_int_equal(status, UAR_E_CORRUPT);
        }
        assert_int_equal(uar_memory_check_sync(x->memory, NULL), UAR_E_CORRUPT);
        assert_int_equal(uar_memory_reindex_sync(x->memory, NULL), UAR_OK);
        assert_whole(x->memory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EMBED_TEST(test_M14_a_text_may_lose_its_words_and_get_words_again),
        EMBED_TEST(test_M14_a_packed_text_may_lose_its_words_and_get_words_again),
        EMBED_TEST(test_M14_who_has_no_embedder_packs_the_vectors_of_who_has_one),
        EMBED_TEST(test_M4_two_embedders_that_pack_in_turn_leave_no_record_lost_for_good),
        EMBED_TEST(test_M4_a_model_that_becomes_known_later_finds_an_index_without_vectors),
        EMBED_TEST(test_M3_each_value_of_a_packed_fact_is_found_at_its_time),
        EMBED_TEST(test_N1_the_memory_may_be_freed_by_the_writer_of_an_export),
        EMBED_TEST(test_N1_the_memory_may_be_freed_when_an_import_tells_of_a_line),
        EMBED_TEST(test_N1_the_memory_may_be_freed_by_the_writer_of_a_streams_export),
        EMBED_TEST(test_N9_a_later_batch_takes_the_drafts_of_an_older_header),
        EMBED_TEST(test_N9_a_later_batch_takes_the_drafts_of_a_newer_header),
        EMBED_TEST(test_M13_times_at_the_ends_of_what_a_number_holds_are_times),
        EMBED_TEST(test_M14_every_time_that_is_taken_comes_through_an_export),
        EMBED_TEST(test_R13_a_record_at_the_last_revision_takes_no_further_one),
        EMBED_TEST(test_M14_a_chunk_of_equal_vectors_can_be_read),
        EMBED_TEST(test_M14_a_draft_with_too_many_words_leaves_nothing_of_itself),
        EMBED_TEST(test_R10_a_damaged_vector_is_told_and_can_be_made_anew),
        EMBED_TEST(test_R10_a_byte_of_a_chunk_that_changed_is_told_or_changes_no_answer),
        EMBED_TEST(test_R10_a_segment_that_lacks_records_is_told_by_a_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
