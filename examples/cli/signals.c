/* Signals: see signals.h. SIGUSR1, sent by signals_stop alone, ends the thread. */
#include "signals.h"

#include "text.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct signals {
    pthread_t thread;
    sigset_t set;
    int wake[2];
    void (*heard)(void *ctx);
    void *ctx;
};

static void *listen_for_signals(void *arg) {
    signals *s = arg;
    int number = 0;
    while (sigwait(&s->set, &number) == 0 && number != SIGUSR1) {
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

signals *signals_start(void (*heard)(void *ctx), void *ctx) {
    signals *s = must_alloc(sizeof *s);
    s->heard = heard;
    s->ctx = ctx;
    sigemptyset(&s->set);
    sigaddset(&s->set, SIGINT);
    sigaddset(&s->set, SIGTERM);
    sigaddset(&s->set, SIGUSR1);
    if (!pipe_open(s->wake)) {
        free(s);
        return NULL;
    }
    pthread_sigmask(SIG_BLOCK, &s->set, NULL);
    if (pthread_create(&s->thread, NULL, listen_for_signals, s) != 0) {
        pthread_sigmask(SIG_UNBLOCK, &s->set, NULL);
        close(s->wake[0]);
        close(s->wake[1]);
        free(s);
        return NULL;
    }
    return s;
}

int signals_wake_fd(const signals *s) {
    return s->wake[0];
}

bool signals_pending(const signals *s) {
    struct pollfd fd = { s->wake[0], POLLIN, 0 };
    return poll(&fd, 1, 0) > 0;
}

void signals_wake(signals *s) {
    ssize_t written = write(s->wake[1], "!", 1);
    (void)written; /* a full pipe is readable all the same */
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
    close(s->wake[0]);
    close(s->wake[1]);
    free(s);
}
