/* The spinner: see spinner.h. All fields belong to `lock`; drawing happens inside it, so hiding waits for a drawing. */
#include "spinner.h"

#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FRAME_MS = 120, PATIENCE_FRAMES = 3 };

struct spinner {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool wanted;
    bool held;
    bool drawn;
    bool over;
    unsigned frames; /* since it is wanted */
};

static void wipe(spinner *s) {
    if (s->drawn) fprintf(stderr, "\r\033[K");
    s->drawn = false;
}

static void draw(spinner *s) {
    static const char shapes[] = "|/-\\";
    if (s->frames++ < PATIENCE_FRAMES) return;
    fprintf(stderr, "\r%c working, %u s\033[K", shapes[s->frames % 4], s->frames * FRAME_MS / 1000);
    s->drawn = true;
}

static struct timespec next_frame(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += FRAME_MS * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    return at;
}

static void *turn_round(void *arg) {
    spinner *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->over) {
        if (!s->wanted || s->held) {
            pthread_cond_wait(&s->moved, &s->lock);
            continue;
        }
        struct timespec at = next_frame();
        if (pthread_cond_timedwait(&s->moved, &s->lock, &at) == ETIMEDOUT && s->wanted && !s->held) draw(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

spinner *spinner_start(void) {
    spinner *s = must_alloc(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->moved, NULL);
    if (pthread_create(&s->thread, NULL, turn_round, s) == 0) return s;
    free(s);
    return NULL;
}

static void set(spinner *s, bool wanted, bool held) {
    bool goes_on = wanted && !held;
    if (!goes_on) wipe(s);
    if (!goes_on || !s->wanted || s->held) s->frames = 0;
    s->wanted = wanted;
    s->held = held;
    pthread_cond_signal(&s->moved);
}

void spinner_show(spinner *s) {
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    set(s, true, s->held);
    pthread_mutex_unlock(&s->lock);
}

void spinner_hide(spinner *s) {
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    set(s, false, s->held);
    pthread_mutex_unlock(&s->lock);
}

void spinner_hold(spinner *s, bool held) {
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    set(s, s->wanted, held);
    pthread_mutex_unlock(&s->lock);
}

void spinner_stop(spinner *s) {
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    wipe(s);
    s->over = true;
    pthread_cond_signal(&s->moved);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->moved);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
