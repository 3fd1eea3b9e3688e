/* Owns: the texts and vectors in its entries. */
#include "memory/embed_cache.h"

uar_status embed_cache_init(embed_cache *c, const uar_allocator *alloc, size_t dims) {
    memset(c, 0, sizeof *c);
    c->alloc = alloc;
    c->dims = dims;
    return mutex_init(&c->lock);
}

static void forget(const embed_cache *c, embed_known *e) {
    alloc_free(c->alloc, e->text);
    alloc_free(c->alloc, e->vector);
    memset(e, 0, sizeof *e);
}

void embed_cache_dispose(embed_cache *c) {
    for (size_t i = 0; i < EMBED_CACHE; i++)
        forget(c, &c->entries[i]);
    mutex_dispose(&c->lock);
}

/* Under the lock. */
static embed_known *find(embed_cache *c, uar_embed_purpose purpose, uar_str text) {
    for (size_t i = 0; i < EMBED_CACHE; i++) {
        embed_known *e = &c->entries[i];
        if (e->text != NULL && e->purpose == purpose && uar_str_equal(uar_str_n(e->text, e->len), text)) return e;
    }
    return NULL;
}

/* Under the lock: the free place, or the one that was used longest ago. */
static embed_known *oldest(embed_cache *c) {
    embed_known *old = &c->entries[0];
    for (size_t i = 1; i < EMBED_CACHE; i++)
        if (c->entries[i].used < old->used) old = &c->entries[i];
    return old;
}

bool embed_cache_take(uar_status *status, float *out, embed_cache *c, uar_embed_purpose purpose, uar_str text) {
    mutex_lock(&c->lock);
    embed_known *e = find(c, purpose, text);
    bool known = e != NULL;
    if (known) {
        *status = e->vector != NULL ? UAR_OK : e->failure;
        e->used = ++c->clock;
        if (e->vector != NULL) memcpy(out, e->vector, c->dims * sizeof *out);
        if (e->vector == NULL || purpose != UAR_EMBED_QUERY) forget(c, e);
    }
    mutex_unlock(&c->lock);
    return known;
}

void embed_cache_keep(embed_cache *c, uar_embed_purpose purpose, uar_str text, const float *vector,
                      uar_status failure) {
    size_t bytes = c->dims * sizeof *vector;
    embed_known made = { .purpose = purpose, .text = alloc_text(c->alloc, text), .len = text.len, .failure = failure };
    if (vector != NULL) made.vector = (float *)alloc_bytes(c->alloc, bytes);
    if (made.text == NULL || (vector != NULL && made.vector == NULL)) {
        forget(c, &made);
        return;
    }
    if (vector != NULL) memcpy(made.vector, vector, bytes);
    mutex_lock(&c->lock);
    embed_known *place = find(c, purpose, text);
    bool knows_better = place != NULL && place->vector != NULL && vector == NULL;
    if (place == NULL) place = oldest(c);
    embed_known gone = knows_better ? made : *place;
    if (!knows_better) *place = made;
    place->used = ++c->clock;
    mutex_unlock(&c->lock);
    forget(c, &gone);
}
