/* Deleting: what is gone, from where, and what the answer says. */
#include "test_memory_fixture.h"

#include "support/byte_scan.h"

#include <sqlite3.h>

static uar_memory_outcome delete_record(memory_fixture *f, const char *user, uar_uuid id) {
    uar_identity who = user_of(user);
    uar_memory_change change;
    assert_int_equal(uar_memory_delete_sync(&change, f->memory, &who, id, NULL), UAR_OK);
    return change.outcome;
}

static uar_status keep_line(void *ctx, uar_str line) {
    char *all = ctx;
    size_t used = strlen(all);
    assert_true(used + line.len < 65536);
    memcpy(all + used, line.ptr, line.len);
    all[used + line.len] = '\0';
    return UAR_OK;
}

static void test_M6_a_deleted_record_is_in_no_answer(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_text(f, "ann", "the canary QXZCANARY sings");
    assert_int_equal(delete_record(f, "ann", made.id), UAR_MEMORY_OUTCOME_ERASED);
    uar_identity who = user_of("ann");
    uar_memory_records *r = NULL;
    assert_int_equal(uar_memory_get_sync(&r, f->memory, &who, made.id, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_history_sync(&r, f->memory, &who, made.id, NULL), UAR_E_NOT_FOUND);
    assert_true(finds(f, "ann", "canary", NULL));
    char all[65536] = "";
    assert_int_equal(uar_memory_export_sync(f->memory, &who, NULL, keep_line, all, NULL), UAR_OK);
    assert_string_equal(all, "");
    uar_memory_change change;
    assert_int_equal(uar_memory_delete_sync(&change, f->memory, &who, made.id, NULL), UAR_E_NOT_FOUND);
    assert_sound(f);
}

static void test_M6_text_history_and_superseded_facts_leave_the_files_bytes(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 40; i++) {
        char text[64];
        snprintf(text, sizeof text, "neighbour number %d stays", i);
        add_text(f, "ann", text);
    }
    add_fact(f, "ann", "home", "canary QXZROME is old");
    atomic_fetch_add(&f->now, 10);
    uar_memory_change made = add_fact(f, "ann", "home", "canary QXZOSLO is new");
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("canary QXZBERGEN is newest");
    p.metadata = STR("{\"note\":\"QXZMETA\"}");
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_OK);
    assert_true(store_holds(f->path, "QXZROME") && store_holds(f->path, "QXZOSLO") &&
                store_holds(f->path, "QXZBERGEN"));
    assert_int_equal(delete_record(f, "ann", made.id), UAR_MEMORY_OUTCOME_ERASED);
    const char *canaries[] = { "QXZROME", "QXZOSLO", "QXZBERGEN", "QXZMETA", "qxzrome", "qxzoslo", "qxzbergen" };
    for (size_t i = 0; i < sizeof canaries / sizeof canaries[0]; i++)
        if (store_holds(f->path, canaries[i])) fail_msg("%s is still in the file", canaries[i]);
    assert_int_equal(count_of(f, "ann"), 40);
    assert_sound(f);
}

/* Rows of many sizes come and go, so that pages are split and merged and leave copies behind. */
static void test_M6_no_byte_survives_much_coming_and_going(void **state) {
    memory_fixture *f = *state;
    enum { ROUNDS = 12, EACH = 30 };
    uar_uuid ids[EACH];
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < EACH; i++) {
            char text[3000];
            int at = snprintf(text, sizeof text, "QXZ%02dX%02d ", round, i);
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int more = (int)(seed >> 33) % (i % 5 == 0 ? 2900 : 300);
            for (int k = 0; k < more && at < (int)sizeof text - 1; k++)
                text[at++] = (char)(k % 9 == 8 ? ' ' : 'a' + (int)((seed >> (k % 50)) % 26));
            text[at] = '\0';
            ids[i] = add_text(f, "ann", text).id;
        }
        for (int i = 0; i < EACH; i += 2)
            delete_record(f, "ann", ids[i]);
        for (int i = 0; i < EACH; i += 2) {
            char canary[32];
            snprintf(canary, sizeof canary, "QXZ%02dX%02d ", round, i);
            if (store_holds(f->path, canary)) fail_msg("%s is still in the file", canary);
        }
    }
    assert_int_equal(count_of(f, "ann"), ROUNDS * EACH / 2);
    assert_sound(f);
}

/* What SQLite may leave of a row that it moved: a copy in a part of the file that no table uses. */
static void test_M6_a_stray_copy_of_a_deleted_row_is_found_and_removed(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_text(f, "ann", "canary QXZSTRAY was moved about");
    for (int i = 0; i < 20; i++) {
        char text[64];
        snprintf(text, sizeof text, "neighbour number %d stays", i);
        add_text(f, "ann", text);
    }
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA secure_delete = OFF; CREATE TABLE stray AS SELECT mark, content FROM version;"
                                  "DROP TABLE stray; PRAGMA wal_checkpoint(TRUNCATE)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(delete_record(f, "ann", made.id), UAR_MEMORY_OUTCOME_ERASED);
    assert_false(store_holds(f->path, "QXZSTRAY"));
    assert_int_equal(count_of(f, "ann"), 20);
    assert_sound(f);
}

static void test_M6_a_reader_in_the_way_makes_the_erasure_pending_and_it_is_made_up_for(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_text(f, "ann", "canary QXZPENDING waits");
    sqlite3 *reader = NULL;
    assert_int_equal(sqlite3_open(f->path, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM version", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(delete_record(f, "ann", made.id), UAR_MEMORY_OUTCOME_ERASURE_PENDING);
    assert_true(finds(f, "ann", "canary", NULL));
    uar_identity who = user_of("ann");
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &who, NULL, NULL), UAR_OK);
    assert_int_equal(stats.pending, 1);
    assert_true(store_holds(f->path, "QXZPENDING"));
    assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(reader);
    uint64_t pending = 9;
    assert_int_equal(uar_memory_clean_sync(&pending, f->memory, NULL), UAR_OK);
    assert_int_equal(pending, 0);
    assert_false(store_holds(f->path, "QXZPENDING"));
}

static void test_M7_a_bulk_delete_without_a_filter_is_refused(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "stays");
    uar_identity who = user_of("ann");
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_delete_where_sync(&sum, f->memory, &who, NULL, NULL), UAR_E_FILTER_REQUIRED);
    assert_int_equal(uar_memory_delete_where_sync(&sum, f->memory, &who, &filter, NULL), UAR_E_FILTER_REQUIRED);
    filter.metadata = STR("{}"); /* names no condition */
    assert_int_equal(uar_memory_delete_where_sync(&sum, f->memory, &who, &filter, NULL), UAR_E_FILTER_REQUIRED);
    assert_int_equal(count_of(f, "ann"), 1);
}

static void a_bulk_delete_takes_what_matches_and_only_that(void **state) {
    memory_fixture *f = *state;
    uar_str label[] = { STR("old") };
    uar_memory_draft d = draft_of("goes QXZONE");
    d.categories = label;
    d.category_count = 1;
    d.metadata = STR("{\"batch\":7}");
    add_draft(f, "ann", &d);
    add_draft(f, "bob", &d);
    d.content = STR("stays, of another batch");
    d.metadata = STR("{\"batch\":8}");
    add_draft(f, "ann", &d);
    add_text(f, "ann", "stays without a label");
    uar_identity who = user_of("ann");
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.category = STR("old");
    filter.metadata = STR("{\"batch\":7}");
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_delete_where_sync(&sum, f->memory, &who, &filter, NULL), UAR_OK);
    assert_int_equal(sum.erased, 1);
    assert_int_equal(sum.pending + sum.forbidden, 0);
    assert_int_equal(count_of(f, "ann"), 2);
    assert_int_equal(count_of(f, "bob"), 1);
    assert_sound(f);
}

static void a_large_bulk_delete_leaves_no_bytes_either(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 400; i++) {
        char text[64];
        snprintf(text, sizeof text, "bulk canary QXZBULK%d", i);
        add_text(f, "ann", text);
    }
    add_text(f, "bob", "somebody else");
    uar_identity who = user_of("ann");
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.scopes = 1u << UAR_MEMORY_SCOPE_USER;
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_delete_where_sync(&sum, f->memory, &who, &filter, NULL), UAR_OK);
    assert_int_equal(sum.erased, 400);
    assert_false(store_holds(f->path, "QXZBULK"));
    assert_int_equal(count_of(f, "bob"), 1);
    assert_sound(f);
}

static void shared_records_stay_and_are_counted_where_the_identity_may_not_delete(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of("for all");
    d.scope = UAR_MEMORY_SCOPE_GLOBAL;
    uar_memory_change shared = add_draft(f, "ann", &d);
    add_text(f, "ann", "own");
    uar_identity who = user_of("ann");
    who.flags = 0;
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.before_ms = FIXTURE_START + 1;
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_delete_where_sync(&sum, f->memory, &who, &filter, NULL), UAR_OK);
    assert_int_equal(sum.erased, 1);
    assert_int_equal(sum.forbidden, 1);
    uar_memory_change change;
    assert_int_equal(uar_memory_delete_sync(&change, f->memory, &who, shared.id, NULL), UAR_E_FORBIDDEN);
}

static void test_M14_space_comes_back_after_deletes(void **state) {
    memory_fixture *f = *state;
    char *text = malloc(60001);
    assert_non_null(text);
    uar_uuid ids[40];
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 60000; k++)
            text[k] = (char)(k % 8 == 7 ? ' ' : 'a' + (k * 7 + i * 3 + k / 26) % 26);
        text[60000] = '\0';
        int head = snprintf(text, 20, "big%d", i);
        text[head] = ' ';
        ids[i] = add_text(f, "ann", text).id;
    }
    free(text);
    struct stat full, after;
    uint64_t pending = 0;
    assert_int_equal(uar_memory_clean_sync(&pending, f->memory, NULL), UAR_OK);
    fixture_reopen(f);
    assert_int_equal(stat(f->path, &full), 0);
    for (int i = 0; i < 40; i++)
        delete_record(f, "ann", ids[i]);
    assert_int_equal(stat(f->path, &after), 0);
    assert_true(after.st_size * 4 < full.st_size);
    assert_sound(f);
}

static void test_M14_records_and_index_agree_after_every_kind_of_write(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid ids[20];
    for (int i = 0; i < 20; i++) {
        char text[64];
        snprintf(text, sizeof text, "item %d repeated repeated words", i);
        ids[i] = i % 3 == 0 ? add_fact(f, "ann", "slot", text).id : add_text(f, "ann", text).id;
        assert_sound(f);
    }
    for (int i = 0; i < 20; i += 2) {
        uar_memory_patch p;
        uar_memory_patch_init(&p);
        p.content = STR("changed words");
        uar_memory_change change;
        (void)uar_memory_update_sync(&change, f->memory, &who, ids[i], &p, NULL);
        assert_sound(f);
    }
    for (int i = 0; i < 20; i += 4) {
        uar_memory_change change;
        (void)uar_memory_delete_sync(&change, f->memory, &who, ids[i], NULL);
        assert_sound(f);
    }
}

/* The check must be able to fail, or the tests that lean on it prove nothing. */
static void test_M14_the_check_sees_each_disagreement_of_records_and_index(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "some words to index");
    const char *harm[] = { "UPDATE segment SET records = records + 1", "UPDATE segment SET fresh = fresh - 1",
                           "UPDATE segment SET packed = 1",
                           "INSERT INTO vector SELECT 99, 1, 2, mark, mark, mark FROM version",
                           "UPDATE version SET content = 'other words'" };
    for (size_t i = 0; i < sizeof harm / sizeof harm[0]; i++) {
        fixture_reopen(f);
        assert_sound(f);
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, harm[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(uar_memory_check_sync(f->memory, NULL), UAR_E_CORRUPT);
        if (i < 3) assert_int_equal(uar_memory_reindex_sync(f->memory, NULL), UAR_OK);
        if (i != 3) continue;
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "DELETE FROM vector", NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M6_a_deleted_record_is_in_no_answer),
        MEMORY_TEST(test_M6_text_history_and_superseded_facts_leave_the_files_bytes),
        MEMORY_TEST(test_M6_no_byte_survives_much_coming_and_going),
        MEMORY_TEST(test_M6_a_stray_copy_of_a_deleted_row_is_found_and_removed),
        MEMORY_TEST(test_M6_a_reader_in_the_way_makes_the_erasure_pending_and_it_is_made_up_for),
        MEMORY_TEST(test_M7_a_bulk_delete_without_a_filter_is_refused),
        MEMORY_TEST(a_bulk_delete_takes_what_matches_and_only_that),
        MEMORY_TEST(a_large_bulk_delete_leaves_no_bytes_either),
        MEMORY_TEST(shared_records_stay_and_are_counted_where_the_identity_may_not_delete),
        MEMORY_TEST(test_M14_space_comes_back_after_deletes),
        MEMORY_TEST(test_M14_records_and_index_agree_after_every_kind_of_write),
        MEMORY_TEST(test_M14_the_check_sees_each_disagreement_of_records_and_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
