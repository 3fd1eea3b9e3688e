/* Owns: letters and timers of a run. */
#include <assert.h>

#include "base/clock.h"
#include "run/run.h"

static void deliver(run *r, letter *l) {
    outcome_letter *carrier = (outcome_letter *)l;
    run_feed(r, &carrier->out);
    if (carrier->release != NULL)
        carrier->release(carrier->arg);
    else
        alloc_free(&r->env->alloc, carrier);
}

void outcome_letter_init(outcome_letter *l, void (*release)(void *arg), void *arg) {
    memset(l, 0, sizeof *l);
    l->head.open = deliver;
    l->release = release;
    l->arg = arg;
}

/* Copies a text to `*at` and moves it on. */
static uar_str place(char **at, uar_str s) {
    if (s.ptr == NULL) return s;
    char *copy = *at;
    if (s.len != 0) memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    *at += s.len + 1;
    return uar_str_n(copy, s.len);
}

outcome_letter *outcome_letter_new(const uar_allocator *a, const outcome *o) {
    size_t hit_bytes = o->hits.count * sizeof(uar_hit);
    size_t texts = o->message.len + o->text.len + o->id.len + o->name.len + o->model.len + 5;
    outcome_letter *l = alloc_bytes(a, sizeof *l + hit_bytes + texts);
    if (l == NULL) return NULL;
    l->head.next = NULL;
    l->head.open = deliver;
    l->release = NULL;
    l->arg = NULL;
    l->out = *o;
    uar_hit *hits = (uar_hit *)(l + 1);
    if (hit_bytes != 0) memcpy(hits, o->hits.items, hit_bytes);
    l->out.hits.items = hits;
    char *at = (char *)(hits + o->hits.count);
    l->out.message = place(&at, o->message);
    l->out.text = place(&at, o->text);
    l->out.id = place(&at, o->id);
    l->out.name = place(&at, o->name);
    l->out.model = place(&at, o->model);
    return l;
}

void run_post_outcome(run *r, const outcome *o) {
    outcome_letter *l = outcome_letter_new(&r->env->alloc, o);
    if (l == NULL)
        r->break_wanted = true;
    else
        run_post(run_ref(r), &l->head);
}

/* ---- timers ---- */

static void fired(void *arg) {
    run_timer *t = arg;
    run_post(t->r, &t->letter); /* the timer's reference goes with the letter */
}

static void arm(run_timer *t, uint64_t ms) {
    t->armed = true;
    timer_start(&t->r->env->timers, &t->timer, ms);
}

static void open_timer(run *r, letter *l) {
    run_timer *t = (run_timer *)l;
    t->armed = false;
    if (t->due == 0) return;
    uint64_t now = clock_mono(&r->env->clock);
    if (now < t->due) {
        run_ref(r);
        arm(t, t->due - now);
        return;
    }
    t->due = 0;
    t->fn(r, t);
}

void run_timer_init(run_timer *t, run *r, void (*fn)(run *r, run_timer *t)) {
    memset(t, 0, sizeof *t);
    t->letter.open = open_timer;
    t->timer.fire = fired;
    t->timer.arg = t;
    t->r = r;
    t->fn = fn;
}

void run_timer_start(run_timer *t, uint64_t ms) {
    t->due = clock_mono(&t->r->env->clock) + ms;
    if (t->due == 0) t->due = 1;
    if (t->armed && !timer_stop(&t->r->env->timers, &t->timer))
        return; /* its letter is on its way and looks at `due` */
    if (!t->armed) run_ref(t->r);
    arm(t, ms);
}

void run_timer_stop(run_timer *t) {
    t->due = 0;
    if (!t->armed || !timer_stop(&t->r->env->timers, &t->timer)) return;
    t->armed = false;
    run_unref(t->r);
}
