/* Opening: states, reasons, files that are not ours, doors that are given back. */
#include <sqlite3.h>

#include "test_memory_fixture.h"

static void assert_unavailable(memory_fixture *f, uar_status reason) {
    uar_memory *m = fixture_open(f);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_state(m, &err), UAR_MEMORY_UNAVAILABLE);
    assert_string_equal(uar_status_name(err.code), uar_status_name(reason));
    assert_true(err.message[0] != '\0');
    uar_identity who = user_of("ann");
    uar_memory_stats stats;
    uar_error call = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_stats_sync(&stats, m, &who, NULL, &call), UAR_E_UNAVAILABLE);
    assert_non_null(strstr(call.message, err.message));
    uar_memory_free(m);
}

static void close_store(memory_fixture *f) {
    uar_memory_free(f->memory);
    f->memory = NULL;
}

static char *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 22);
    assert_non_null(bytes);
    *len = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t len) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

static void run_sql(memory_fixture *f, const char *sql) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_M2_without_a_memory_every_call_says_disabled(void **state) {
    (void)state;
    uar_identity who = user_of("ann");
    uar_memory_hits *hits = NULL;
    uar_memory_records *records = NULL;
    uar_memory_change change;
    uar_memory_draft d = draft_of("x");
    uar_uuid id = { { 1 } };
    assert_int_equal(uar_memory_state(NULL, NULL), UAR_MEMORY_DISABLED);
    assert_int_equal(uar_memory_search_sync(&hits, NULL, &who, STR("x"), NULL, 1, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_list_sync(&records, NULL, &who, NULL, uar_str_of(NULL), 1, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_get_sync(&records, NULL, &who, id, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_add_sync(&change, NULL, &who, &d, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_delete_sync(&change, NULL, &who, id, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_reindex_sync(NULL, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_check_sync(NULL, NULL), UAR_E_DISABLED);
    assert_null(uar_memory_ref(NULL));
    uar_memory_free(NULL);
}

static void test_M2_nothing_found_is_an_answer_not_an_error(void **state) {
    memory_fixture *f = *state;
    assert_true(finds(f, "ann", "anything", NULL));
}

static void test_M2_a_missing_folder_makes_it_unavailable(void **state) {
    memory_fixture *f = *state;
    char kept[sizeof f->path];
    memcpy(kept, f->path, sizeof kept);
    snprintf(f->path, sizeof f->path, "%s/none/memory.db", f->folder);
    assert_unavailable(f, UAR_E_CANTOPEN);
    f->path[0] = '\0';
    assert_unavailable(f, UAR_E_INVALID);
    memcpy(f->path, kept, sizeof kept);
}

static void test_R12_a_newer_store_is_refused_and_left_alone(void **state) {
    memory_fixture *f = *state;
    close_store(f);
    run_sql(f, "PRAGMA user_version = 99");
    size_t before_len = 0, after_len = 0;
    char *before = read_file(f->path, &before_len);
    assert_unavailable(f, UAR_E_NEWER);
    char *after = read_file(f->path, &after_len);
    assert_int_equal(before_len, after_len);
    assert_memory_equal(before, after, before_len);
    free(before);
    free(after);
}

static void a_store_of_another_program_is_refused_and_left_alone(void **state) {
    memory_fixture *f = *state;
    close_store(f);
    fixture_remove(f, "");
    run_sql(f, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
    size_t before_len = 0, after_len = 0;
    char *before = read_file(f->path, &before_len);
    assert_unavailable(f, UAR_E_CORRUPT);
    char *after = read_file(f->path, &after_len);
    assert_int_equal(before_len, after_len);
    assert_memory_equal(before, after, before_len);
    free(before);
    free(after);
}

static void test_R10_a_file_that_is_no_store_is_refused_and_left_alone(void **state) {
    memory_fixture *f = *state;
    close_store(f);
    char noise[5000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * 37 + 11);
    write_file(f->path, noise, sizeof noise);
    assert_unavailable(f, UAR_E_CORRUPT);
    size_t len = 0;
    char *after = read_file(f->path, &len);
    assert_int_equal(len, sizeof noise);
    assert_memory_equal(after, noise, sizeof noise);
    free(after);
}

/* Every answer after a flip is the truth or a typed error; the flips are spread over the file. */
static void test_R10_a_flipped_byte_gives_good_data_or_a_typed_error(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made[8];
    char text[64];
    for (int i = 0; i < 8; i++) {
        snprintf(text, sizeof text, "record number %d about lighthouses", i);
        made[i] = add_text(f, "ann", text);
    }
    close_store(f);
    size_t len = 0;
    char *good = read_file(f->path, &len);
    uar_identity who = user_of("ann");
    unsigned refused = 0;
    for (size_t at = 0; at < len; at += 211) {
        good[at] = (char)(good[at] ^ 0x41);
        write_file(f->path, good, len);
        good[at] = (char)(good[at] ^ 0x41);
        fixture_remove(f, "-wal");
        fixture_remove(f, "-shm");
        uar_memory *m = fixture_open(f);
        for (int i = 0; i < 8 && uar_memory_state(m, NULL) == UAR_MEMORY_READY; i++) {
            uar_memory_records *r = NULL;
            uar_status status = uar_memory_get_sync(&r, m, &who, made[i].id, NULL);
            snprintf(text, sizeof text, "record number %d about lighthouses", i);
            if (status == UAR_OK)
                assert_true(str_is(r->records[0].content, text));
            else
                refused++;
            uar_memory_records_free(r);
        }
        refused += uar_memory_state(m, NULL) == UAR_MEMORY_UNAVAILABLE;
        uar_memory_free(m);
    }
    assert_true(refused > 0);
    free(good);
}

static void reading_needs_no_right_to_write(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "written before");
    close_store(f);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &f->clock;
    options.read_only = true;
    f->memory = uar_memory_open(f->path, &options);
    assert_int_equal(uar_memory_state(f->memory, NULL), UAR_MEMORY_READY);
    assert_true(finds(f, "ann", "written", "written before"));
    uar_identity who = user_of("ann");
    uar_memory_draft d = draft_of("more");
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, f->memory, &who, &d, NULL), UAR_E_READ_ONLY);
    uint64_t pending = 7;
    assert_int_equal(uar_memory_clean_sync(&pending, f->memory, NULL), UAR_E_READ_ONLY);
    assert_int_equal(pending, 7);
}

static void a_store_that_does_not_exist_cannot_be_opened_for_reading(void **state) {
    memory_fixture *f = *state;
    close_store(f);
    fixture_remove(f, "");
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.read_only = true;
    f->memory = uar_memory_open(f->path, &options);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_state(f->memory, &err), UAR_MEMORY_UNAVAILABLE);
    assert_int_equal(err.code, UAR_E_CANTOPEN);
    assert_int_not_equal(access(f->path, F_OK), 0);
}

static void the_location_is_the_real_directory(void **state) {
    memory_fixture *f = *state;
    char link[96], kept[sizeof f->path];
    memcpy(kept, f->path, sizeof kept);
    snprintf(link, sizeof link, "%s.link", f->folder);
    assert_int_equal(symlink(f->folder, link), 0);
    snprintf(f->path, sizeof f->path, "%s/memory.db", link);
    uar_memory *other = fixture_open(f);
    assert_string_equal(uar_memory_location(other), uar_memory_location(f->memory));
    uar_memory_free(other);
    unlink(link);
    memcpy(f->path, kept, sizeof kept);
}

static void a_path_is_never_a_special_name(void **state) {
    memory_fixture *f = *state;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(f->folder), 0);
    const char *names[] = { ":memory:", "file:x?mode=memory" };
    for (int i = 0; i < 2; i++) {
        uar_memory *m = uar_memory_open(names[i], NULL);
        assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_READY);
        assert_int_equal(access(names[i], F_OK), 0);
        uar_memory_free(m);
        assert_int_equal(unlink(names[i]), 0);
    }
    assert_int_equal(chdir(here), 0);
}

typedef struct door_count {
    int destroyed;
} door_count;

static void note_destroy(void *ctx) {
    ((door_count *)ctx)->destroyed++;
}

static void never_embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                        uar_completion *done) {
    (void)ctx, (void)purpose, (void)texts, (void)count;
    uar_completion_fail(done, UAR_E_NETWORK, "there is no network");
}

static uar_status no_chance(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    memset(out, 0x5A, len);
    return UAR_E_IO;
}

static void test_N2_doors_are_given_back_exactly_once_whatever_happens(void **state) {
    memory_fixture *f = *state;
    door_count embedder_count = { 0 }, clock_count = { 0 };
    uar_embedder embedder = { .struct_size = UAR_EMBEDDER_INIT,
                              .ctx = &embedder_count,
                              .destroy = note_destroy,
                              .id = "own",
                              .dims = 3,
                              .embed = never_embed };
    uar_clock clock = f->clock;
    clock.ctx = &clock_count;
    clock.destroy = note_destroy;
    clock.wall_ms = NULL; /* refused */
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = &embedder;
    options.clock = &clock;
    uar_memory *m = uar_memory_open(f->path, &options);
    assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_UNAVAILABLE);
    uar_memory *second = uar_memory_ref(m);
    uar_memory_free(m);
    assert_int_equal(embedder_count.destroyed, 0);
    uar_memory_free(second);
    assert_int_equal(embedder_count.destroyed, 1);
    assert_int_equal(clock_count.destroyed, 1);
}

static void test_N2_a_refused_options_struct_still_gives_its_doors_back(void **state) {
    memory_fixture *f = *state;
    door_count count = { 0 };
    uar_embedder embedder = { .struct_size = UAR_EMBEDDER_INIT,
                              .ctx = &count,
                              .destroy = note_destroy,
                              .id = "own",
                              .dims = 3,
                              .embed = never_embed };
    struct {
        uar_memory_options known;
        uint64_t more;
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.known.size = sizeof newer;
    newer.known.embedder = &embedder;
    newer.more = 1;
    uar_memory *m = uar_memory_open(f->path, &newer.known);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_state(m, &err), UAR_MEMORY_UNAVAILABLE);
    assert_int_equal(err.code, UAR_E_STRUCT);
    uar_memory_free(m);
    assert_int_equal(count.destroyed, 1);
}

static void test_M16_writing_needs_no_embedder_that_answers(void **state) {
    memory_fixture *f = *state;
    close_store(f);
    uar_embedder embedder = { .struct_size = UAR_EMBEDDER_INIT, .id = "far-away", .dims = 3, .embed = never_embed };
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &f->clock;
    options.embedder = &embedder;
    f->memory = uar_memory_open(f->path, &options);
    assert_string_equal(uar_memory_embedder(f->memory), "far-away");
    uar_memory_change made = add_text(f, "ann", "written without a network");
    assert_true(finds(f, "ann", "network", "written without a network"));
    uar_memory_records *r = get_record(f, "ann", made.id);
    assert_true(str_is(r->records[0].embedder, "far-away"));
    uar_memory_records_free(r);
}

static void without_chance_a_new_store_is_not_made(void **state) {
    memory_fixture *f = *state;
    close_store(f);
    fixture_remove(f, "");
    uar_random none = { .struct_size = UAR_RANDOM_INIT, .fill = no_chance };
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.random = &none;
    f->memory = uar_memory_open(f->path, &options);
    assert_int_equal(uar_memory_state(f->memory, NULL), UAR_MEMORY_UNAVAILABLE);
}

static void an_index_of_older_rules_is_built_anew_at_opening(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "found by new rules");
    close_store(f);
    run_sql(f, "UPDATE meta SET value = x'00' WHERE key = 'analysis'");
    fixture_reopen(f);
    assert_true(finds(f, "ann", "rules", "found by new rules"));
    assert_sound(f);
}

static void reindexing_changes_no_answer(void **state) {
    memory_fixture *f = *state;
    for (int i = 0; i < 300; i++) {
        char text[64];
        snprintf(text, sizeof text, "note %d of the garden", i);
        add_text(f, "ann", text);
    }
    uar_memory_hits *before = search_text(f, "ann", "garden note 123", NULL);
    assert_int_equal(uar_memory_reindex_sync(f->memory, NULL), UAR_OK);
    assert_int_equal(uar_memory_state(f->memory, NULL), UAR_MEMORY_READY);
    uar_memory_hits *after = search_text(f, "ann", "garden note 123", NULL);
    assert_int_equal(before->count, after->count);
    for (size_t i = 0; i < before->count; i++)
        assert_true(uar_uuid_equal(before->hits[i].record.id, after->hits[i].record.id));
    uar_memory_hits_free(before);
    uar_memory_hits_free(after);
    assert_sound(f);
}

static void test_R10_damage_in_the_log_that_hides_commits_is_told_and_nothing_is_changed(void **state) {
    memory_fixture *f = *state;
    char log_path[sizeof f->path + 8];
    snprintf(log_path, sizeof log_path, "%s-wal", f->path);
    for (int i = 0; i < 8; i++) {
        char text[64];
        snprintf(text, sizeof text, "note %d of the garden", i);
        add_text(f, "ann", text);
    }
    size_t len = 0, log_len = 0, again_len = 0;
    char *bytes = read_file(f->path, &len), *log = read_file(log_path, &log_len); /* as a kill would leave them */
    close_store(f);
    assert_true(log_len > 3 * 4120);
    write_file(f->path, bytes, len);
    write_file(log_path, log, log_len);
    fixture_reopen(f); /* whole, it is read */
    assert_int_equal(count_of(f, "ann"), 8);
    close_store(f);
    log[32 + 24 + 100] ^= 1; /* in the first page of the first commit */
    write_file(f->path, bytes, len);
    write_file(log_path, log, log_len);
    assert_unavailable(f, UAR_E_CORRUPT);
    char *again = read_file(log_path, &again_len);
    assert_int_equal(again_len, log_len);
    assert_memory_equal(again, log, log_len);
    free(bytes);
    free(log);
    free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M2_without_a_memory_every_call_says_disabled),
        MEMORY_TEST(test_M2_nothing_found_is_an_answer_not_an_error),
        MEMORY_TEST(test_M2_a_missing_folder_makes_it_unavailable),
        MEMORY_TEST(test_R12_a_newer_store_is_refused_and_left_alone),
        MEMORY_TEST(a_store_of_another_program_is_refused_and_left_alone),
        MEMORY_TEST(test_R10_a_file_that_is_no_store_is_refused_and_left_alone),
        MEMORY_TEST(test_R10_a_flipped_byte_gives_good_data_or_a_typed_error),
        MEMORY_TEST(test_R10_damage_in_the_log_that_hides_commits_is_told_and_nothing_is_changed),
        MEMORY_TEST(reading_needs_no_right_to_write),
        MEMORY_TEST(a_store_that_does_not_exist_cannot_be_opened_for_reading),
        MEMORY_TEST(the_location_is_the_real_directory),
        MEMORY_TEST(a_path_is_never_a_special_name),
        MEMORY_TEST(test_N2_doors_are_given_back_exactly_once_whatever_happens),
        MEMORY_TEST(test_N2_a_refused_options_struct_still_gives_its_doors_back),
        MEMORY_TEST(test_M16_writing_needs_no_embedder_that_answers),
        MEMORY_TEST(without_chance_a_new_store_is_not_made),
        MEMORY_TEST(an_index_of_older_rules_is_built_anew_at_opening),
        MEMORY_TEST(reindexing_changes_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
