/* Owns: what is known of dead instances, and the removal of their heartbeats. */
#include "run/watch.h"

#include "base/clock.h"

uar_str watch_key(char out[WATCH_KEY_MAX], uar_uuid instance) {
    static const char head[] = "instance:";
    memcpy(out, head, sizeof head - 1);
    uar_uuid_format(out + sizeof head - 1, instance);
    return uar_str_of(out);
}

void watch_begin(watch *w, uar_uuid instance) {
    memset(w, 0, sizeof *w);
    w->instance = instance;
}

/* Under the lock. */
static grave *grave_of(graveyard *g, uar_uuid instance) {
    for (size_t i = 0; i < GRAVES_MAX; i++)
        if (uar_uuid_equal(g->graves[i].instance, instance)) return &g->graves[i];
    return NULL;
}

/* True if it was found dead at this beat; `since` says when that beat was first seen. */
static bool is_known_dead(run_env *env, const watch *w, uint64_t beat, uint64_t *since) {
    mutex_lock(&env->lock);
    const grave *found = grave_of(&env->dead, w->instance);
    bool known = found != NULL && found->beat == beat;
    if (known) *since = found->since;
    mutex_unlock(&env->lock);
    return known;
}

static void remember(run_env *env, const watch *w) {
    mutex_lock(&env->lock);
    graveyard *g = &env->dead;
    grave *found = grave_of(g, w->instance);
    if (found == NULL) {
        found = &g->graves[g->next];
        g->next = (g->next + 1) % GRAVES_MAX;
    }
    *found = (grave){ .instance = w->instance, .beat = w->beat, .since = w->since };
    mutex_unlock(&env->lock);
}

watch_verdict watch_look(run_env *env, watch *w, uint64_t beat) {
    uint64_t now = clock_mono(&env->clock);
    uint64_t since = now;
    bool moved = w->seen && beat != w->beat;
    if (beat == 0) {
        w->beat = 0;
        return WATCH_DEAD;
    }
    if (moved) return WATCH_ALIVE;
    if (!w->seen && is_known_dead(env, w, beat, &since)) {
        w->beat = beat;
        w->is_long_dead = now - since >= WATCH_FORGET_MS;
        return WATCH_DEAD;
    }
    if (!w->seen) w->since = now;
    w->seen = true;
    w->beat = beat;
    if (now - w->since < PULSE_DEAD_MS) return WATCH_ON;
    remember(env, w);
    return WATCH_DEAD;
}

/* ---- burying ---- */

typedef struct burial {
    store_op op;
    run_env *env; /* a reference */
} burial;

static void burial_free(burial *b) {
    run_env *env = b->env;
    arena_dispose(&b->op.mem);
    alloc_free(&env->alloc, b);
    env_unref(env);
}

static void buried(store_op *op) {
    burial_free(op->arg);
}

void watch_bury(run_env *env, uar_uuid instance, uint64_t beat) {
    if (beat == 0) return;
    burial *b = ALLOC_NEW(&env->alloc, burial);
    if (b == NULL) return;
    env_ref(env);
    b->env = env;
    arena_init(&b->op.mem, &env->alloc);
    uar_write *w = arena_zeroed(&b->op.mem, 1, sizeof *w);
    if (w == NULL || heartbeat_record(&w->record, &b->op.mem, instance, beat) != UAR_OK) {
        burial_free(b);
        return;
    }
    w->op = UAR_WRITE_DELETE;
    w->expected = beat;
    b->op.call = STORE_COMMIT;
    b->op.writes = w;
    b->op.write_count = 1;
    b->op.done = buried;
    b->op.arg = b;
    store_submit(env->store, &b->op);
}
