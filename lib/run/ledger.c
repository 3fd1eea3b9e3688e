/* What model calls used: see ledger.h. Owns the entries of env->ledger. */
#include "run/ledger.h"

#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "store/bodies.h"

typedef struct ledger_entry {
    uar_uuid shard;
    uint64_t calls;
    uar_usage usage;
    uint64_t revision; /* of the record; 0: not stored */
} ledger_entry;

void usage_add(uar_usage *sum, const uar_usage *more) {
    sum->input += more->input;
    sum->cache_read += more->cache_read;
    sum->cache_write += more->cache_write;
    sum->output += more->output;
    sum->reasoning += more->reasoning;
    sum->known = sum->known || more->known;
}

uar_usage usage_since(const uar_usage *now, const uar_usage *before) {
    uar_usage more = {
        .input = now->input - before->input,
        .cache_read = now->cache_read - before->cache_read,
        .cache_write = now->cache_write - before->cache_write,
        .output = now->output - before->output,
        .reasoning = now->reasoning - before->reasoning,
    };
    /* Once something was reported `now` stays known: a call that reported nothing shows by having added nothing. */
    bool added = (more.input | more.cache_read | more.cache_write | more.output | more.reasoning) != 0;
    more.known = now->known && (added || !before->known);
    return more;
}

static void drop(run_env *env, uar_str owner) {
    alloc_free(&env->alloc, map_remove(&env->ledger, owner));
}

void ledger_dispose(run_env *env) {
    for (map_entry *e = map_next(&env->ledger, NULL); e != NULL; e = map_next(&env->ledger, e))
        alloc_free(&env->alloc, map_value(e));
    map_dispose(&env->ledger);
}

/* Under the lock. NULL: out of memory or of randomness. */
static ledger_entry *entry_of(run_env *env, uar_str owner) {
    ledger_entry *found = map_get(&env->ledger, owner);
    if (found != NULL) return found;
    if (env->ledger.count >= LEDGER_OWNERS) {
        drop(env, map_key(map_next(&env->ledger, NULL)));
        env->ledger_turns = true;
    }
    ledger_entry *made = ALLOC_NEW(&env->alloc, ledger_entry);
    if (made == NULL) return NULL;
    made->shard = env->instance;
    bool good = !env->ledger_turns || uuid_make(&made->shard, &env->clock, &env->random) == UAR_OK;
    if (good && map_put(&env->ledger, owner, made) == UAR_OK) return made;
    alloc_free(&env->alloc, made);
    return NULL;
}

uar_status ledger_prepare(run_env *env, uar_write *w, arena *mem, uar_str owner, const uar_usage *usage) {
    mutex_lock(&env->lock);
    ledger_entry *e = entry_of(env, owner);
    ledger_entry now = { .calls = 0 };
    if (e != NULL) now = *e;
    mutex_unlock(&env->lock);
    if (e == NULL) return UAR_E_NOMEM;
    usage_add(&now.usage, usage);
    w->op = UAR_WRITE_PUT;
    w->expected = now.revision;
    return usage_counter_record(&w->record, mem, owner, STR(COUNTER_USAGE), now.shard, now.calls + 1, &now.usage);
}

void ledger_settle(run_env *env, uar_str owner, const uar_usage *usage, uar_status status) {
    if (status == UAR_E_CONFLICT) return; /* nothing was done */
    mutex_lock(&env->lock);
    ledger_entry *e = map_get(&env->ledger, owner);
    assert(e != NULL);
    if (status == UAR_OK) {
        usage_add(&e->usage, usage);
        e->calls++;
        e->revision++;
    } else {
        drop(env, owner);
        env->ledger_turns = true;
    }
    mutex_unlock(&env->lock);
}
