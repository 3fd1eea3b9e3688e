/* Owns: the child process and its three pipes, for the time of process_run. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_US UINT64_C(60000000)

typedef struct pipes {
    int in[2], out[2], err[2];
} pipes;

typedef struct stream {
    int fd; /* -1: at its end */
    char *text;
    size_t len, cap;
} stream;

static uint64_t now_us(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static bool open_pipe(int ends[2]) {
    if (pipe(ends) != 0) return false;
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

/* Before the child starts, so that nobody waits for anybody. */
static bool fill(int fd, const char *input) {
    size_t len = input != NULL ? strlen(input) : 0;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return false;
    while (len > 0) {
        ssize_t n = write(fd, input, len);
        if (n <= 0) return false;
        input += n;
        len -= (size_t)n;
    }
    return true;
}

static void become(const process_order *order, const pipes *p) {
    (void)setpgid(0, 0);
    if (dup2(p->in[0], 0) < 0 || dup2(p->out[1], 1) < 0 || dup2(p->err[1], 2) < 0) _exit(125);
    for (size_t i = 0; i < PROCESS_SETTINGS; i++) {
        if (order->settings[i].name != NULL && setenv(order->settings[i].name, order->settings[i].value, 1) != 0)
            _exit(125);
    }
    /* execv wants pointers to plain char for the sake of old programs; it writes to none of them. */
    (void)execv(order->arguments[0], (char *const *)(uintptr_t)order->arguments);
    _exit(126);
}

static void take(stream *s) {
    if (s->cap - s->len < 4096) {
        s->cap = s->cap == 0 ? 65536 : s->cap * 2;
        s->text = realloc(s->text, s->cap);
        if (s->text == NULL) abort();
    }
    ssize_t n = read(s->fd, s->text + s->len, s->cap - s->len - 1);
    if (n > 0) s->len += (size_t)n;
    if (n > 0 || (n < 0 && errno == EINTR)) return;
    (void)close(s->fd);
    s->fd = -1;
}

static int milliseconds_to(uint64_t when) {
    uint64_t now = now_us();
    return now >= when ? 0 : (int)((when - now) / 1000u);
}

/* The last part of a wait is shorter than poll can tell. */
static void sleep_to(uint64_t when) {
    uint64_t now = now_us();
    if (now >= when) return;
    struct timespec t = { 0, (long)(when - now) * 1000 };
    (void)nanosleep(&t, NULL);
}

/* Read both until their ends; kill the group at its time. */
static void follow(process_result *out, stream *o, stream *e, pid_t pid, uint64_t started, uint64_t kill_after) {
    uint64_t due = started + (kill_after > 0 ? kill_after : PATIENCE_US);
    bool killed = false;
    while (o->fd >= 0 || e->fd >= 0) {
        struct pollfd fds[2] = { { o->fd, POLLIN, 0 }, { e->fd, POLLIN, 0 } };
        int left = killed ? -1 : milliseconds_to(due);
        if (left > 0 || killed) {
            if (poll(fds, 2, left) < 0 && errno != EINTR) abort();
        } else {
            sleep_to(due);
            (void)kill(-pid, SIGKILL);
            (void)kill(pid, SIGKILL);
            killed = true;
            out->hung = kill_after == 0;
        }
        if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) take(o);
        if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) take(e);
    }
}

static char *whole(stream *s) {
    if (s->text == NULL && (s->text = malloc(1)) == NULL) abort();
    s->text[s->len] = '\0';
    return s->text;
}

bool process_run(process_result *out, const process_order *order) {
    pipes p;
    memset(out, 0, sizeof *out);
    if (!open_pipe(p.in) || !open_pipe(p.out) || !open_pipe(p.err) || !fill(p.in[1], order->input)) return false;
    uint64_t started = now_us();
    pid_t pid = fork();
    if (pid < 0) return false;
    if (pid == 0) become(order, &p);
    (void)setpgid(pid, pid); /* here too: whichever process comes first */
    (void)close(p.in[0]);
    (void)close(p.in[1]);
    (void)close(p.out[1]);
    (void)close(p.err[1]);
    stream o = { .fd = p.out[0] }, e = { .fd = p.err[0] };
    follow(out, &o, &e, pid, started, order->kill_after_us);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    out->us = now_us() - started;
    out->out = whole(&o);
    out->out_len = o.len;
    out->err = whole(&e);
    out->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return true;
}

void process_result_free(process_result *r) {
    free(r->out);
    free(r->err);
    memset(r, 0, sizeof *r);
}

const char *process_last_words(const process_result *r) {
    size_t len = strlen(r->err);
    while (len > 0 && r->err[len - 1] == '\n')
        r->err[--len] = '\0';
    const char *line = strrchr(r->err, '\n');
    return line != NULL ? line + 1 : r->err;
}
