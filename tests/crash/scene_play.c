/* Owns: the victim's process and the pipe of its notes. The reader is single-threaded when it forks. */
#include "scenes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void note_write(const stage *s, const char *when, const char *verb, const char *a, const char *b, const char *c) {
    char line[NOTE_WORDS * NOTE_WORD];
    int len = snprintf(line, sizeof line, "%s %s %s %s %s\n", when, verb, a, b, c);
    /* One write of less than PIPE_BUF: lines of several threads stay whole. */
    if (len <= 0 || (size_t)len >= sizeof line || write(s->out, line, (size_t)len) != len) abort();
}

/* In the victim: never returns. */
static void perform(scene_fn scene, const stage *s, const kill_point *point) {
    kill_vfs_arm(point);
    bool done = scene(s);
    kill_counts counts = kill_vfs_counts();
    char all[24], inside[24];
    (void)snprintf(all, sizeof all, "%ld", counts.all);
    (void)snprintf(inside, sizeof inside, "%ld", counts.inside);
    note_write(s, "did", "points", all, inside, "");
    (void)fflush(NULL);
    _exit(done ? 0 : 1);
}

static void take_line(notes *out, case_result *r, unsigned part, const char *line) {
    if (out->count == NOTES_MOST) {
        case_fail(r, "too many notes");
        return;
    }
    note *n = &out->list[out->count];
    memset(n, 0, sizeof *n);
    char when[8] = "";
    int words = sscanf(line, "%7s %63s %63s %63s %63s", when, n->words[0], n->words[1], n->words[2], n->words[3]);
    if (words < 2) {
        case_fail(r, "a note can't be read: %s", line);
        return;
    }
    n->done = strcmp(when, "did") == 0;
    n->part = part;
    out->count++;
}

static void read_notes(notes *out, case_result *r, unsigned part, int from) {
    FILE *file = fdopen(from, "r");
    char line[NOTE_WORDS * NOTE_WORD];
    if (file == NULL) abort();
    while (fgets(line, sizeof line, file) != NULL)
        if (strchr(line, '\n') != NULL) take_line(out, r, part, line);
    fclose(file);
}

bool scene_play(notes *out, case_result *r, scene_fn scene, const stage *given, const kill_point *point) {
    int ends[2];
    stage s = *given;
    (void)fflush(NULL);
    if (pipe(ends) != 0) abort();
    pid_t pid = fork();
    if (pid < 0) abort();
    s.out = ends[1];
    if (pid == 0) {
        (void)close(ends[0]);
        perform(scene, &s, point);
    }
    (void)close(ends[1]);
    read_notes(out, r, s.part, ends[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && point->at > 0;
    if (killed) {
        r->killed = true;
        r->inside = point->inside;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        case_fail(r, "victim %u ended with status 0x%x", s.part, (unsigned)status);
        return false;
    }
    return true;
}

bool scene_measure(kill_counts *out, case_result *r, scene_fn scene) {
    char folder[128], memory[160];
    if (!cases_make_folder(folder)) return false;
    (void)snprintf(memory, sizeof memory, "%s/memory", folder);
    (void)mkdir(memory, 0700);
    stage s = { .folder = folder };
    notes told = { .count = 0 };
    const kill_point never = { .at = 0 };
    bool played = scene_play(&told, r, scene, &s, &never);
    cases_remove_folder(folder);
    const note *last = told.count > 0 ? &told.list[told.count - 1] : NULL;
    if (!played || last == NULL || strcmp(last->words[0], "points") != 0) return false;
    out->all = strtol(last->words[1], NULL, 10);
    out->inside = strtol(last->words[2], NULL, 10);
    return out->all > 0 && out->inside > 0;
}
