/* Several processes on one store. */
#include "test_memory_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/lock.h"

#define WRITERS 2
#define EACH 50
#define OPENERS 16
#define WRITES_OF_A_THREAD 4

/* A child speaks by its exit status: cmocka's state is the parent's. */
static int write_fifty(const char *path, int writer, int pipe_to) {
    uar_memory *m = uar_memory_open(path, NULL);
    if (uar_memory_state(m, NULL) != UAR_MEMORY_READY) return 2;
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    for (int i = 0; i < EACH; i++) {
        char text[64];
        snprintf(text, sizeof text, "writer %d wrote number %d", writer, i);
        uar_memory_draft d = draft_of(text);
        uar_memory_change change;
        if (uar_memory_add_sync(&change, m, &who, &d, NULL) != UAR_OK) return 3;
        /* Acknowledged only now. */
        if (write(pipe_to, change.id.bytes, sizeof change.id.bytes) != (ssize_t)sizeof change.id.bytes) return 4;
    }
    uar_memory_free(m);
    return 0;
}

/* One of fifty writers of one process; all share its memory object. */
typedef struct writer {
    uar_memory *memory;
    int process, number, pipe_to;
    int code; /* 0: all was acknowledged and told */
    thread thread;
} writer;

static void write_some(void *ctx) {
    writer *w = ctx;
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    for (int i = 0; i < WRITES_OF_A_THREAD && w->code == 0; i++) {
        char text[64];
        snprintf(text, sizeof text, "process %d writer %d wrote number %d", w->process, w->number, i);
        uar_memory_draft d = draft_of(text);
        uar_memory_change change;
        if (uar_memory_add_sync(&change, w->memory, &who, &d, NULL) != UAR_OK)
            w->code = 3;
        else if (write(w->pipe_to, change.id.bytes, sizeof change.id.bytes) != (ssize_t)sizeof change.id.bytes)
            w->code = 4;
    }
}

static int write_with_fifty_threads(const char *path, int process, int pipe_to) {
    static writer writers[EACH];
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.busy_timeout_ms = 60000;
    uar_memory *m = uar_memory_open(path, &options);
    if (uar_memory_state(m, NULL) != UAR_MEMORY_READY) return 2;
    int code = 0;
    for (int i = 0; i < EACH; i++) {
        writers[i] = (writer){ .memory = m, .process = process, .number = i, .pipe_to = pipe_to };
        if (thread_start(&writers[i].thread, 0, write_some, &writers[i]) != UAR_OK) return 5;
    }
    for (int i = 0; i < EACH; i++) {
        thread_join(writers[i].thread);
        if (writers[i].code != 0) code = writers[i].code;
    }
    uar_memory_free(m);
    return code;
}

static void test_M15_two_processes_with_fifty_writers_each_lose_none(void **state) {
    memory_fixture *f = *state;
    uar_memory_free(f->memory);
    f->memory = NULL;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int process = 0; process < WRITERS; process++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(write_with_fifty_threads(f->path, process, ends[1]));
    }
    close(ends[1]);
    static uar_uuid ids[WRITERS * EACH * WRITES_OF_A_THREAD];
    size_t got = 0;
    uar_uuid id;
    while (read(ends[0], id.bytes, sizeof id.bytes) == (ssize_t)sizeof id.bytes) {
        assert_true(got < sizeof ids / sizeof ids[0]);
        ids[got++] = id;
    }
    close(ends[0]);
    for (int process = 0; process < WRITERS; process++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(got, sizeof ids / sizeof ids[0]);
    f->memory = fixture_open(f);
    for (size_t i = 0; i < got; i++)
        uar_memory_records_free(get_record(f, "ann", ids[i]));
    assert_int_equal(count_of(f, "ann"), got);
    assert_sound(f);
}

static int open_and_read(const char *path) {
    uar_memory *m = uar_memory_open(path, NULL);
    uar_error why = UAR_ERROR_INIT;
    if (uar_memory_state(m, &why) != UAR_MEMORY_READY) {
        fprintf(stderr, "%s (%d)\n", why.message, (int)why.detail);
        return 2;
    }
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    uar_memory_stats stats;
    int code = uar_memory_stats_sync(&stats, m, &who, NULL, NULL) == UAR_OK ? 0 : 3;
    uar_memory_free(m);
    return code;
}

static void test_R8_sixteen_processes_that_open_a_new_store_at_once_see_no_lock(void **state) {
    memory_fixture *f = *state;
    uar_memory_free(f->memory);
    f->memory = NULL;
    fixture_remove(f, "");
    for (int i = 0; i < OPENERS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(open_and_read(f->path));
    }
    for (int i = 0; i < OPENERS; i++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* Killed at any moment: what was acknowledged is there, and records and index agree. */
static void test_M14_a_killed_writer_leaves_a_sound_store_with_all_that_it_acknowledged(void **state) {
    memory_fixture *f = *state;
    uar_memory_free(f->memory);
    f->memory = NULL;
    uint64_t total = 0;
    for (unsigned round = 0; round < 12; round++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(write_fifty(f->path, (int)round + 100, ends[1]));
        close(ends[1]);
        uar_uuid id;
        size_t until = 1 + round * 3;
        size_t acknowledged = 0;
        while (acknowledged < until && read(ends[0], id.bytes, sizeof id.bytes) == (ssize_t)sizeof id.bytes)
            acknowledged++;
        kill(child, SIGKILL);
        while (read(ends[0], id.bytes, sizeof id.bytes) == (ssize_t)sizeof id.bytes)
            acknowledged++;
        close(ends[0]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        total += acknowledged;
        f->memory = fixture_open(f);
        assert_true(count_of(f, "ann") >= total);
        total = count_of(f, "ann");
        assert_sound(f);
        uar_memory_free(f->memory);
        f->memory = NULL;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M15_two_processes_with_fifty_writers_each_lose_none),
        MEMORY_TEST(test_R8_sixteen_processes_that_open_a_new_store_at_once_see_no_lock),
        MEMORY_TEST(test_M14_a_killed_writer_leaves_a_sound_store_with_all_that_it_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
