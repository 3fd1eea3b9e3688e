/* Progress: see progress.h. A thread of its own shows the seconds; `over` ends it. */
#include "progress.h"

#include "text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct progress {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over;
    const char *what;
    uint64_t done, total; /* total 0: nobody said */
};

static void *show(void *arg) {
    progress *p = arg;
    struct timespec next;
    unsigned seconds = 0;
    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        next.tv_sec += 1;
        while (!p->over && pthread_cond_timedwait(&p->ended, &p->lock, &next) == 0)
            continue;
        if (p->over) continue;
        seconds++;
        if (p->total == 0)
            fprintf(stderr, "\r%s: %u s", p->what, seconds);
        else
            fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64, p->what, p->done, p->total);
    }
    pthread_mutex_unlock(&p->lock);
    if (seconds > 0) fprintf(stderr, "\r\033[K");
    return NULL;
}

progress *progress_start(const app *a, const char *what) {
    if (a->json || a->quiet || !isatty(STDERR_FILENO)) return NULL;
    progress *p = must_alloc(sizeof *p);
    p->what = what;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ended, NULL);
    if (pthread_create(&p->thread, NULL, show, p) == 0) return p;
    free(p);
    return NULL;
}

void progress_step(progress *p, uint64_t done, uint64_t total) {
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->done = done;
    p->total = total;
    pthread_mutex_unlock(&p->lock);
}

void progress_stop(progress *p) {
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
