/* Signals: see signals.h. SIGUSR1, sent by signals_stop alone, ends the thread. */
#include "signals.h"

#include "text.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct signals {
    pthread_t thread;
    sigset_t set;
    int wake[2];
    int screen[2];
    atomic_bool ended;
    void (*heard)(void *ctx);
    void *ctx;
};

static void poke(int fd) {
    ssize_t written = write(fd, "!", 1);
    (void)written; /* a full pipe is readable all the same */
}

static void *listen_for_signals(void *arg) {
    signals *s = arg;
    int number = 0;
    while (sigwait(&s->set, &number) == 0 && number != SIGUSR1) {
        if (number == SIGWINCH || number == SIGCONT) {
            poke(s->screen[1]);
            continue;
        }
        if (number == SIGTERM) atomic_store(&s->ended, true);
        /* Woken first: whoever ends a turn because of `heard` can then calm the descriptor for good. */
        signals_wake(s);
        s->heard(s->ctx);
    }
    return NULL;
}

static bool pipe_open(int ends[2]) {
    if (pipe(ends) != 0) return false;
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

static void close_pipe(int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

signals *signals_start(void (*heard)(void *ctx), void *ctx) {
    signals *s = must_alloc(sizeof *s);
    s->heard = heard;
    s->ctx = ctx;
    sigemptyset(&s->set);
    sigaddset(&s->set, SIGINT);
    sigaddset(&s->set, SIGTERM);
    sigaddset(&s->set, SIGUSR1);
    sigaddset(&s->set, SIGWINCH);
    sigaddset(&s->set, SIGCONT);
    if (!pipe_open(s->wake)) {
        free(s);
        return NULL;
    }
    if (!pipe_open(s->screen)) {
        close_pipe(s->wake);
        free(s);
        return NULL;
    }
    pthread_sigmask(SIG_BLOCK, &s->set, NULL);
    if (pthread_create(&s->thread, NULL, listen_for_signals, s) != 0) {
        pthread_sigmask(SIG_UNBLOCK, &s->set, NULL);
        close_pipe(s->wake);
        close_pipe(s->screen);
        free(s);
        return NULL;
    }
    return s;
}

int signals_wake_fd(const signals *s) {
    return s->wake[0];
}

int signals_screen_fd(const signals *s) {
    return s->screen[0];
}

bool signals_pending(const signals *s) {
    struct pollfd fd = { s->wake[0], POLLIN, 0 };
    return poll(&fd, 1, 0) > 0;
}

bool signals_ended(const signals *s) {
    return atomic_load(&s->ended);
}

void signals_wake(signals *s) {
    poke(s->wake[1]);
}

void signals_calm(signals *s) {
    char bytes[64];
    while (read(s->wake[0], bytes, sizeof bytes) > 0)
        continue;
}

void signals_stop(signals *s) {
    if (s == NULL) return;
    pthread_kill(s->thread, SIGUSR1);
    pthread_join(s->thread, NULL);
    pthread_sigmask(SIG_UNBLOCK, &s->set, NULL);
    close_pipe(s->wake);
    close_pipe(s->screen);
    free(s);
}
