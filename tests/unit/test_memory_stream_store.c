/* Task streams in their file: several processes, killed writers, and bytes that must be gone. */
#include "test_memory_stream_fixture.h"

#include "support/byte_scan.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#define WRITERS 2
#define EACH 50

static uar_memory_outcome delete_stream(memory_fixture *f, uar_uuid id) {
    uar_identity who = user_of("ann");
    uar_memory_outcome outcome;
    assert_int_equal(uar_memory_stream_delete_sync(&outcome, f->memory, &who, id, NULL), UAR_OK);
    return outcome;
}

static void test_M6_a_deleted_stream_is_in_no_answer(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "goes");
    append_text(f, "ann", id, "text");
    assert_int_equal(delete_stream(f, id), UAR_MEMORY_OUTCOME_ERASED);
    uar_identity who = user_of("ann");
    uar_memory_streams *s = NULL;
    uar_memory_stream_entries *e = NULL;
    uar_memory_stream_window *w = NULL;
    uar_memory_outcome outcome;
    assert_int_equal(uar_memory_stream_get_sync(&s, f->memory, &who, id, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_stream_read_sync(&e, f->memory, &who, id, 0, false, 1, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_stream_window_sync(&w, f->memory, &who, id, 1, 0, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_stream_delete_sync(&outcome, f->memory, &who, id, NULL), UAR_E_NOT_FOUND);
    uar_memory_stream_stats stats;
    assert_int_equal(uar_memory_stream_stats_sync(&stats, f->memory, &who, NULL, NULL), UAR_OK);
    assert_int_equal(stats.streams + stats.entries + stats.pending, 0);
    /* Its name is free again, and what is written under it is another stream. */
    uar_uuid again = open_stream(f, "ann", "goes");
    assert_false(uar_uuid_equal(id, again));
    assert_int_equal(append_text(f, "ann", again, "text"), 1);
    assert_sound(f);
}

static void test_M6_names_texts_keys_metadata_and_summaries_leave_the_files_bytes(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid stays = open_stream(f, "ann", "stays");
    uar_memory_stream_draft draft = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("QXZNAME"),
                                      .metadata = STR("{\"k\":\"QXZSTREAMMETA\"}") };
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &draft, NULL), UAR_OK);
    uar_uuid id = s->streams[0].id;
    uar_memory_streams_free(s);
    for (int i = 0; i < 60; i++) {
        char text[256], key[64];
        snprintf(text, sizeof text, "entry QXZTEXT%d with a few more words in it, so that pages fill and are split", i);
        snprintf(key, sizeof key, "QXZKEY%d", i);
        uar_memory_stream_entry_draft d = entry_of(text);
        d.role = STR("QXZROLE");
        d.metadata = STR("{\"m\":\"QXZENTRYMETA\"}");
        d.unique_key = uar_str_of(key);
        d.provenance.session = STR("QXZSESSION");
        append_draft(f, "ann", id, &d);
        append_text(f, "ann", stays, "another stream's entry in between");
        uar_memory_stream_summary done;
        if (i % 20 == 19)
            assert_int_equal(summarise_text(&done, f, "ann", id, 0, 0, "summary QXZSUMMARY of it all so far", NULL),
                             UAR_OK);
    }
    const char *canaries[] = { "QXZNAME", "QXZSTREAMMETA", "QXZTEXT",    "QXZKEY",
                               "QXZROLE", "QXZENTRYMETA",  "QXZSESSION", "QXZSUMMARY" };
    for (size_t i = 0; i < sizeof canaries / sizeof canaries[0]; i++)
        assert_true(store_holds(f->path, canaries[i]));
    assert_int_equal(delete_stream(f, id), UAR_MEMORY_OUTCOME_ERASED);
    for (size_t i = 0; i < sizeof canaries / sizeof canaries[0]; i++)
        if (store_holds(f->path, canaries[i])) fail_msg("%s is still in the file", canaries[i]);
    uar_memory_stream_entries *e = read_entries(f, "ann", stays, 0, false, 100);
    assert_int_equal(e->count, 60);
    uar_memory_stream_entries_free(e);
    assert_sound(f);
}

/* Streams of many sizes come and go, so that pages are split and merged and leave copies behind. */
static void test_M6_no_byte_of_a_stream_survives_much_coming_and_going(void **state) {
    memory_fixture *f = *state;
    enum { ROUNDS = 10, STREAMS = 6, ENTRIES = 12 };
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        uar_uuid ids[STREAMS];
        for (int k = 0; k < STREAMS; k++) {
            char name[32];
            snprintf(name, sizeof name, "QXZ%02dN%02d", round, k);
            ids[k] = open_stream(f, "ann", name);
        }
        for (int i = 0; i < ENTRIES * STREAMS; i++) {
            char text[3000];
            int at = snprintf(text, sizeof text, "QXZ%02dX%02d ", round, i % STREAMS);
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int more = (int)(seed >> 33) % (i % 5 == 0 ? 2900 : 300);
            for (int k = 0; k < more && at < (int)sizeof text - 1; k++)
                text[at++] = (char)(k % 9 == 8 ? ' ' : 'a' + (int)((seed >> (k % 50)) % 26));
            text[at] = '\0';
            append_text(f, "ann", ids[i % STREAMS], text);
            uar_memory_stream_summary done;
            if (i / STREAMS == 8) (void)summarise_text(&done, f, "ann", ids[i % STREAMS], 2, 6, "short", NULL);
        }
        for (int k = 0; k < STREAMS; k += 2)
            delete_stream(f, ids[k]);
        for (int k = 0; k < STREAMS; k += 2) {
            char canary[32];
            snprintf(canary, sizeof canary, "QXZ%02dX%02d ", round, k);
            if (store_holds(f->path, canary)) fail_msg("%s is still in the file", canary);
            snprintf(canary, sizeof canary, "QXZ%02dN%02d", round, k);
            if (store_holds(f->path, canary)) fail_msg("%s is still in the file", canary);
        }
    }
    assert_sound(f);
}

/* What SQLite may leave of a row that it moved: a copy in a part of the file that no table uses. */
static void test_M6_a_stray_copy_of_an_entry_is_found_and_removed(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "goes");
    append_text(f, "ann", id, "canary QXZSTRAY was moved about");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "PRAGMA secure_delete = OFF; CREATE TABLE stray AS SELECT mark, content FROM stream_entry;"
                     "DROP TABLE stray; PRAGMA wal_checkpoint(TRUNCATE)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    assert_true(store_holds(f->path, "QXZSTRAY"));
    assert_int_equal(delete_stream(f, id), UAR_MEMORY_OUTCOME_ERASED);
    assert_false(store_holds(f->path, "QXZSTRAY"));
    assert_sound(f);
}

static void test_M6_a_reader_in_the_way_makes_the_erasure_of_a_stream_pending(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "waits");
    append_text(f, "ann", id, "canary QXZPENDING waits");
    sqlite3 *reader = NULL;
    assert_int_equal(sqlite3_open(f->path, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM stream_entry", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(delete_stream(f, id), UAR_MEMORY_OUTCOME_ERASURE_PENDING);
    uar_identity who = user_of("ann");
    uar_memory_stream_stats stats;
    assert_int_equal(uar_memory_stream_stats_sync(&stats, f->memory, &who, NULL, NULL), UAR_OK);
    assert_true(stats.streams == 0 && stats.pending == 2);
    assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(reader);
    uint64_t pending = 9;
    assert_int_equal(uar_memory_clean_sync(&pending, f->memory, NULL), UAR_OK);
    assert_int_equal(pending, 0);
    assert_false(store_holds(f->path, "QXZPENDING"));
}

/* A child speaks by its exit status: cmocka's state is the parent's. */
static int append_fifty(const char *path, uar_uuid stream, int writer, int pipe_to) {
    uar_memory *m = uar_memory_open(path, NULL);
    if (uar_memory_state(m, NULL) != UAR_MEMORY_READY) return 2;
    uar_identity who = user_of("ann");
    for (int i = 0; i < EACH; i++) {
        char text[64];
        snprintf(text, sizeof text, "writer %d wrote this as its number %d", writer, i);
        uar_memory_stream_entry_draft d = entry_of(text);
        uar_memory_stream_appended done;
        if (uar_memory_stream_append_sync(&done, m, &who, stream, &d, 0, NULL) != UAR_OK) return 3;
        uar_memory_stream_summary summary;
        uar_memory_stream_summary_draft s;
        uar_memory_stream_summary_draft_init(&s);
        s.first = s.last = done.number;
        s.text = STR("short");
        if (i % 10 == 0 && uar_memory_stream_summarise_sync(&summary, m, &who, stream, &s, NULL) != UAR_OK) return 4;
        /* Acknowledged only now. */
        if (write(pipe_to, &done.number, sizeof done.number) != (ssize_t)sizeof done.number) return 5;
    }
    uar_memory_free(m);
    return 0;
}

static void test_R6_two_processes_that_append_leave_no_hole_and_no_double(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "shared");
    uar_memory_free(f->memory);
    f->memory = NULL;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int writer = 0; writer < WRITERS; writer++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(append_fifty(f->path, id, writer, ends[1]));
    }
    close(ends[1]);
    enum { ALL = WRITERS * (EACH + EACH / 10) };
    bool seen[ALL + 1] = { false };
    uint64_t number;
    size_t got = 0;
    while (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number) {
        assert_true(number >= 1 && number <= ALL);
        assert_false(seen[number]);
        seen[number] = true;
        got++;
    }
    close(ends[0]);
    for (int writer = 0; writer < WRITERS; writer++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(got, WRITERS * EACH);
    f->memory = fixture_open(f);
    uar_memory_stream_entries *e = read_entries(f, "ann", id, 0, false, 1000);
    assert_int_equal(e->count, ALL);
    for (size_t i = 0; i < e->count; i++) {
        assert_int_equal(e->entries[i].number, i + 1);
        assert_true(seen[i + 1] == (e->entries[i].first == 0));
    }
    uar_memory_stream_entries_free(e);
    assert_sound(f);
}

/* Killed at any moment: what was acknowledged is there, without hole or double, and the counts agree. */
static void test_M15_a_killed_writer_leaves_all_that_it_acknowledged(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = open_stream(f, "ann", "killed");
    uar_memory_free(f->memory);
    f->memory = NULL;
    for (unsigned round = 0; round < 12; round++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(append_fifty(f->path, id, (int)round, ends[1]));
        close(ends[1]);
        uint64_t number, last = 0;
        unsigned until = 1 + round * 3, acknowledged = 0;
        while (acknowledged < until && read(ends[0], &number, sizeof number) == (ssize_t)sizeof number) {
            acknowledged++;
            last = number;
        }
        kill(child, SIGKILL);
        while (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number)
            last = number;
        close(ends[0]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        f->memory = fixture_open(f);
        uar_memory_streams *s = get_stream(f, "ann", id);
        assert_true(s->streams[0].last >= last);
        uar_memory_streams_free(s);
        assert_sound(f);
        uar_memory_free(f->memory);
        f->memory = NULL;
    }
}

/* Opened by sixteen at once, a name is one stream. */
static void test_R8_sixteen_processes_that_open_one_name_find_one_stream(void **state) {
    memory_fixture *f = *state;
    uar_memory_free(f->memory);
    f->memory = NULL;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 16; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child != 0) continue;
        uar_memory *m = uar_memory_open(f->path, NULL);
        uar_identity who = user_of("ann");
        uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("one") };
        uar_memory_streams *s = NULL;
        if (uar_memory_stream_open_sync(&s, m, &who, &d, NULL) != UAR_OK) _exit(2);
        _exit(write(ends[1], s->streams[0].id.bytes, 16) == 16 ? 0 : 3);
    }
    close(ends[1]);
    uar_uuid first = { { 0 } }, id;
    for (int i = 0; i < 16; i++) {
        assert_int_equal(read(ends[0], id.bytes, 16), 16);
        if (i == 0) first = id;
        assert_true(uar_uuid_equal(first, id));
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M6_a_deleted_stream_is_in_no_answer),
        MEMORY_TEST(test_M6_names_texts_keys_metadata_and_summaries_leave_the_files_bytes),
        MEMORY_TEST(test_M6_no_byte_of_a_stream_survives_much_coming_and_going),
        MEMORY_TEST(test_M6_a_stray_copy_of_an_entry_is_found_and_removed),
        MEMORY_TEST(test_M6_a_reader_in_the_way_makes_the_erasure_of_a_stream_pending),
        MEMORY_TEST(test_R6_two_processes_that_append_leave_no_hole_and_no_double),
        MEMORY_TEST(test_M15_a_killed_writer_leaves_all_that_it_acknowledged),
        MEMORY_TEST(test_R8_sixteen_processes_that_open_one_name_find_one_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
