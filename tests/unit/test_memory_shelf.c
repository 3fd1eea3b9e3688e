/* The index of a memory in its file: it agrees with the records through packing, changes, deletions, kills and several
 * processes, with vectors and without. */
#include "test_memory_embed_fixture.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#include "index/chunk.h"
#include "index/vector.h"
#include "memory/shelf.h"
#include "support/probe_alloc.h"

#define SHELF_TEST(name) cmocka_unit_test_setup_teardown(name, embed_setup, embed_teardown)
#define WORDS 300

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void make_text(char text[200], uint64_t *seed, int number) {
    int at = snprintf(text, 200, "note n%d", number);
    for (int i = 0; i < 8; i++)
        at += snprintf(text + at, 200 - (size_t)at, " w%d",
                       (int)(next_random(seed) % WORDS * (next_random(seed) % WORDS) / WORDS));
}

/* Records `from` to `to` of conversations of ten, in one transaction; `ids` may be NULL. */
static void add_many(uar_memory *m, int from, int to, uar_uuid *ids) {
    uar_identity who = user_of("ann");
    size_t count = (size_t)(to - from);
    uar_memory_draft *drafts = calloc(count, sizeof *drafts);
    uar_memory_change *changes = calloc(count, sizeof *changes);
    char(*texts)[200] = calloc(count, sizeof *texts);
    char(*sessions)[16] = calloc(count, sizeof *sessions);
    assert_true(drafts != NULL && changes != NULL && texts != NULL && sessions != NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t seed = (uint64_t)(from + (int)i + 1) * 2654435761u;
        make_text(texts[i], &seed, from + (int)i);
        snprintf(sessions[i], sizeof sessions[i], "s%d", (from + (int)i) / 10);
        drafts[i] = draft_of(texts[i]);
        drafts[i].session = uar_str_of(sessions[i]);
    }
    uar_error err = UAR_ERROR_INIT;
    uar_status status =
        uar_memory_add_batch_sync(changes, m, &who, drafts, count, UAR_MEMORY_ADD_VERBATIM, NULL, NULL, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    for (size_t i = 0; ids != NULL && i < count; i++)
        ids[i] = changes[i].id;
    free(drafts);
    free(changes);
    free(texts);
    free(sessions);
}

static void assert_index_sound(uar_memory *m) {
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_check_sync(m, &err) != UAR_OK) fail_msg("%s", err.message);
}

static uar_memory_hits *ask(uar_memory *m, const char *text) {
    uar_identity who = user_of("ann");
    uar_memory_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_search_sync(&hits, m, &who, uar_str_of(text), NULL, 10, &err) != UAR_OK) fail_msg("%s", err.message);
    return hits;
}

static void assert_same_answers(uar_memory *a, uar_memory *b) {
    for (int i = 0; i < 12; i++) {
        char text[64];
        snprintf(text, sizeof text, "w%d w%d w%d n%d", i, i * 7 % WORDS, i * 31 % WORDS, i * 101);
        uar_memory_hits *x = ask(a, text);
        uar_memory_hits *y = ask(b, text);
        assert_string_equal(x->mode, y->mode);
        assert_int_equal(x->count, y->count);
        for (size_t h = 0; h < x->count; h++) {
            double apart = x->hits[h].score - y->hits[h].score;
            assert_true(apart < 1e-5 && apart > -1e-5);
        }
        uar_memory_hits_free(x);
        uar_memory_hits_free(y);
    }
}

static int64_t number_of(embed_fixture *x, const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(x->f.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

static void harm(embed_fixture *x, const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(x->f.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void change_one(uar_memory *m, uar_uuid id, int number) {
    uar_identity who = user_of("ann");
    char text[200];
    uint64_t seed = (uint64_t)number * 977 + 5;
    make_text(text, &seed, number);
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = uar_str_of(text);
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, m, &who, id, &p, NULL), UAR_OK);
}

static void delete_one(uar_memory *m, uar_uuid id) {
    uar_identity who = user_of("ann");
    uar_memory_change change;
    assert_int_equal(uar_memory_delete_sync(&change, m, &who, id, NULL), UAR_OK);
}

static void test_M14_records_and_index_agree_through_packing_changes_and_deletions(void **state) {
    embed_fixture *x = *state;
    enum { COUNT = 2500 };
    static uar_uuid ids[COUNT];
    add_many(x->memory, 0, 1000, ids);
    assert_int_equal(number_of(x, "SELECT count(*) FROM chunk"), 0);
    assert_index_sound(x->memory);
    add_many(x->memory, 1000, COUNT, ids + 1000);
    assert_int_equal(number_of(x, "SELECT count(*) FROM chunk"), 2);
    assert_index_sound(x->memory);
    atomic_fetch_add(&x->f.now, 1000);
    for (int i = 0; i < 60; i++)
        change_one(x->memory, ids[i * 41], 10000 + i);
    assert_index_sound(x->memory);
    for (int i = 0; i < 12; i++) {
        delete_one(x->memory, ids[i * 199 + 1]);
        assert_index_sound(x->memory);
    }
    uar_memory *fresh = open_with(x, 300, NULL);
    assert_same_answers(x->memory, fresh);
    uar_memory_free(fresh);
    atomic_store(&x->e.destroyed, 0);
}

static void changed_records_are_packed_again_when_there_are_many(void **state) {
    embed_fixture *x = *state;
    static uar_uuid ids[1100];
    add_many(x->memory, 0, 1100, ids);
    int64_t stamp = number_of(x, "SELECT stamp FROM chunk");
    for (int i = 0; i < 1030; i++) {
        atomic_fetch_add(&x->f.now, 1);
        change_one(x->memory, ids[i], 20000 + i);
    }
    assert_true(number_of(x, "SELECT max(stamp) FROM chunk") > stamp);
    assert_true(number_of(x, "SELECT count(*) FROM loose") < 1024);
    assert_index_sound(x->memory);
}

static void test_M14_chunks_shrink_and_merge_as_records_go(void **state) {
    embed_fixture *x = *state;
    static uar_uuid ids[2200];
    add_many(x->memory, 0, 2200, ids);
    uar_identity who = user_of("ann");
    int64_t size = number_of(x, "SELECT sum(size) FROM chunk");
    for (int s = 0; s < 190; s++) {
        char session[16];
        snprintf(session, sizeof session, "s%d", s);
        uar_memory_filter filter;
        uar_memory_filter_init(&filter);
        filter.session = uar_str_of(session);
        uar_memory_erasure sum;
        if (s % 10 == 0) continue;
        assert_int_equal(uar_memory_delete_where_sync(&sum, x->memory, &who, &filter, NULL), UAR_OK);
        assert_int_equal(sum.erased, 10);
    }
    assert_index_sound(x->memory);
    assert_true(number_of(x, "SELECT sum(size) FROM chunk") < size / 3);
    assert_int_equal(number_of(x, "SELECT count(*) FROM chunk"), 1);
}

static void test_M15_another_memory_of_the_same_file_sees_each_write(void **state) {
    embed_fixture *x = *state;
    static uar_uuid ids[1400];
    uar_memory *other = open_with(x, 300, NULL);
    for (int round = 0; round < 7; round++) {
        add_many(x->memory, round * 200, round * 200 + 200, ids + round * 200);
        assert_same_answers(x->memory, other);
        atomic_fetch_add(&x->f.now, 1000);
        for (int i = 0; i < 5; i++)
            change_one(other, ids[round * 200 + i * 7], 30000 + round * 10 + i);
        assert_same_answers(x->memory, other);
        delete_one(round % 2 == 0 ? other : x->memory, ids[round * 200 + 3]);
        assert_same_answers(x->memory, other);
    }
    assert_index_sound(other);
    uar_memory_free(other);
    atomic_store(&x->e.destroyed, 0);
}

static void a_small_cache_changes_no_answer(void **state) {
    embed_fixture *x = *state;
    add_many(x->memory, 0, 2300, NULL);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x->f.clock;
    options.embedder = &x->e.door;
    options.cache_bytes = 1;
    uar_memory *small = uar_memory_open(x->f.path, &options);
    assert_same_answers(x->memory, small);
    assert_true(engine_bytes(&small->shelf.engine) <= 1);
    uar_memory_free(small);
    atomic_store(&x->e.destroyed, 0);
}

static bool file_has(embed_fixture *x, const void *needle, size_t len) {
    static const char *const tails[] = { "", "-wal" };
    bool found = false;
    for (size_t i = 0; i < 2; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s%s", x->f.path, tails[i]);
        FILE *file = fopen(path, "rb");
        if (file == NULL) continue;
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        rewind(file);
        char *bytes = malloc(size + 1);
        assert_non_null(bytes);
        assert_int_equal(fread(bytes, 1, size, file), size);
        for (size_t at = 0; at + len <= size && !found; at++)
            found = bytes[at] == *(const char *)needle && memcmp(bytes + at, needle, len) == 0;
        free(bytes);
        fclose(file);
    }
    return found;
}

/* Terms, vector and codes of a record, as they lie in the file. */
typedef struct traces {
    float vector[TEST_EMBEDDER_DIMS];
    int8_t codes[64];
    uint8_t term[8];
} traces;

static void trace(traces *t, embed_fixture *x, const char *content, const char *word) {
    float scale = 0;
    embedder_vector(t->vector, TEST_EMBEDDER_DIMS, 1, uar_str_of(content));
    assert_true(vector_normalise(t->vector, TEST_EMBEDDER_DIMS));
    vector_encode(t->codes, &scale, t->vector, TEST_EMBEDDER_DIMS);
    term_list list;
    term_list_init(&list, &alloc_default);
    assert_int_equal(term_list_query(&list, x->memory->database.key, uar_str_of(word)), UAR_OK);
    assert_int_equal(list.count, 1);
    for (size_t i = 0; i < 8; i++)
        t->term[i] = (uint8_t)(list.terms[0].id >> (8 * i)); /* as chunks have it */
    term_list_dispose(&list);
}

static void test_M6_terms_vectors_and_codes_leave_the_files_bytes(void **state) {
    embed_fixture *x = *state;
    uar_identity who = user_of("ann");
    static uar_uuid ids[30];
    traces marks[30];
    add_many(x->memory, 0, 500, NULL);
    for (int i = 0; i < 30; i++) {
        char text[80], word[16];
        snprintf(word, sizeof word, "qxz%dcanary", i);
        snprintf(text, sizeof text, "the %s sings of v%d u%d", word, i * 3, i * 5);
        uar_memory_draft d = draft_of(text);
        uar_memory_change change;
        assert_int_equal(uar_memory_add_sync(&change, x->memory, &who, &d, NULL), UAR_OK);
        ids[i] = change.id;
        trace(&marks[i], x, text, word);
    }
    add_many(x->memory, 500, 1200, NULL); /* packs them */
    assert_int_equal(number_of(x, "SELECT count(*) FROM chunk"), 1);
    int seen = 0; /* some lie across two pages */
    for (int i = 0; i < 30; i++)
        seen += file_has(x, marks[i].vector, sizeof marks[i].vector) &&
                file_has(x, marks[i].codes, TEST_EMBEDDER_DIMS) && file_has(x, marks[i].term, 8);
    assert_true(seen > 20);
    for (int i = 0; i < 30; i++) {
        delete_one(x->memory, ids[i]);
        assert_false(file_has(x, marks[i].vector, sizeof marks[i].vector));
        assert_false(file_has(x, marks[i].codes, TEST_EMBEDDER_DIMS));
        assert_false(file_has(x, marks[i].term, 8));
    }
    assert_index_sound(x->memory);
}

static void a_damaged_chunk_is_told_and_reindexing_repairs_it(void **state) {
    embed_fixture *x = *state;
    static const char *const harms[] = {
        "UPDATE chunk SET body = zeroblob(size)",
        "UPDATE chunk SET body = substr(body, 1, 5000)",
        "UPDATE chunk SET body = substr(body, 1, 4120) || zeroblob(80) || substr(body, 4201)",
        "UPDATE chunk SET body = substr(body, 1, 90000) || randomblob(8000) || substr(body, 98001)",
        "UPDATE chunk SET size = size + 1",
        "UPDATE chunk SET last = 5",
        "DELETE FROM chunk",
        "UPDATE segment SET packed = packed - 1",
    };
    add_many(x->memory, 0, 1100, NULL);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        harm(x, harms[i]);
        reopen_with(x, 300, NULL);
        uar_identity who = user_of("ann");
        uar_memory_hits *hits = NULL;
        uar_status status = uar_memory_search_sync(&hits, x->memory, &who, STR("w1 w2 n5"), NULL, 10, NULL);
        assert_true(status == UAR_OK || status == UAR_E_CORRUPT);
        if (status == UAR_OK) uar_memory_hits_free(hits);
        assert_int_equal(uar_memory_check_sync(x->memory, NULL), UAR_E_CORRUPT);
        assert_int_equal(uar_memory_reindex_sync(x->memory, NULL), UAR_OK);
        assert_index_sound(x->memory);
        hits = ask(x->memory, "n5");
        assert_true(hits->count != 0);
        uar_memory_hits_free(hits);
    }
}

/* The add that packs, with an allocator that fails: either all of it happened or nothing, and the index in memory is the
 * file's. */
static void a_packing_add_survives_the_failure_of_each_allocation(void **state) {
    embed_fixture *x = *state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    add_many(x->memory, 0, 1023, NULL);
    reopen_with(x, 300, &probe.door);
    uar_identity who = user_of("ann");
    uar_memory_hits_free(ask(x->memory, "w1"));
    for (unsigned long at = 1;; at += 1 + at / 8) {
        char text[64];
        snprintf(text, sizeof text, "one more, n%lu", at + 5000);
        uar_memory_draft d = draft_of(text);
        uar_memory_change change;
        probe_alloc_arm(&probe, at, at % 2 == 0);
        uar_status status = uar_memory_add_sync(&change, x->memory, &who, &d, NULL);
        bool failed = probe_alloc_has_failed(&probe);
        probe_alloc_arm(&probe, 0, false);
        assert_true(status == UAR_OK || status == UAR_E_NOMEM);
        if (status == UAR_OK || !failed) break;
        assert_int_equal(number_of(x, "SELECT count(*) FROM chunk"), 0);
        uar_memory_hits_free(ask(x->memory, "w1"));
    }
    assert_int_equal(number_of(x, "SELECT count(*) FROM chunk"), 1);
    assert_index_sound(x->memory);
    uar_memory *fresh = open_with(x, 300, NULL);
    assert_same_answers(x->memory, fresh);
    uar_memory_free(fresh);
    atomic_store(&x->e.destroyed, 0);
    reopen_with(x, 300, NULL);
}

static void write_until_killed(embed_fixture *x, int round) {
    uar_memory *m = open_with(x, 300, NULL);
    static uar_uuid ids[100000];
    int count = 0;
    for (int at = round * 100000; count + 150 < 100000; at += 150) {
        add_many(m, at, at + 150, ids + count);
        count += 150;
        atomic_fetch_add(&x->f.now, 10);
        for (int i = 0; i < 8; i++)
            change_one(m, ids[(at * 31 + i * 17) % count], at + i);
        delete_one(m, ids[count - 1]);
        count--;
    }
    _exit(0);
}

static void test_M14_a_kill_at_any_time_leaves_records_and_index_in_step(void **state) {
    embed_fixture *x = *state;
    for (int round = 0; round < 12; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) write_until_killed(x, round);
        nanosleep(&(struct timespec){ .tv_nsec = (40000 + round * 37000) * 1000L }, NULL);
        kill(child, SIGKILL);
        int how = 0;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        assert_index_sound(x->memory);
    }
    assert_true(number_of(x, "SELECT count(*) FROM version") > 0);
}

static void a_store_of_the_first_version_is_refused_by_name(void **state) {
    embed_fixture *x = *state;
    harm(x, "PRAGMA user_version = 1");
    reopen_with(x, 300, NULL);
    uar_error reason = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_state(x->memory, &reason), UAR_MEMORY_UNAVAILABLE);
    assert_int_equal(reason.code, UAR_E_UNSUPPORTED);
    assert_non_null(strstr(reason.message, "version 1"));
    harm(x, "PRAGMA user_version = 2");
    reopen_with(x, 300, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SHELF_TEST(test_M14_records_and_index_agree_through_packing_changes_and_deletions),
        SHELF_TEST(changed_records_are_packed_again_when_there_are_many),
        SHELF_TEST(test_M14_chunks_shrink_and_merge_as_records_go),
        SHELF_TEST(test_M15_another_memory_of_the_same_file_sees_each_write),
        SHELF_TEST(a_small_cache_changes_no_answer),
        SHELF_TEST(test_M6_terms_vectors_and_codes_leave_the_files_bytes),
        SHELF_TEST(a_damaged_chunk_is_told_and_reindexing_repairs_it),
        SHELF_TEST(a_packing_add_survives_the_failure_of_each_allocation),
        SHELF_TEST(test_M14_a_kill_at_any_time_leaves_records_and_index_in_step),
        SHELF_TEST(a_store_of_the_first_version_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
