#include "die_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "kill_vfs.h"

void die_store_make(die_store *s) {
    assert_true(cases_make_folder(s->folder));
    snprintf(s->kept, sizeof s->kept, "%s/kept.db", s->folder);
    snprintf(s->path, sizeof s->path, "%s/memory.db", s->folder);
}

static void copy_file(const char *from, const char *to) {
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    char bytes[65536];
    size_t got = 0;
    while ((got = fread(bytes, 1, sizeof bytes, in)) != 0)
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void start_again(const die_store *s) {
    static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s%s", s->path, suffixes[i]);
        (void)unlink(path);
    }
    copy_file(s->kept, s->path);
}

bool die_store_at(const die_store *s, long at, bool torn, uar_memory *(*open)(const char *path),
                  bool (*act)(void *ctx, uar_memory *memory), void *ctx) {
    start_again(s);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kill_point point = { .at = at, .torn = torn };
        kill_vfs_arm(&point);
        uar_memory *m = open(s->path);
        bool well = act(ctx, m);
        uar_memory_free(m);
        _exit(well ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return true;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}
