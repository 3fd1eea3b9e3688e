/* Owns: the segments in memory. Invariant: what is held between searches stays within cache_bytes, but for what a search in
 * the works needs. */
#include "index/engine.h"

#include "base/error.h"

void engine_init(engine *e, const uar_allocator *a, size_t cache_bytes) {
    memset(e, 0, sizeof *e);
    e->alloc = a;
    e->cache_bytes = cache_bytes;
    e->bits_from = ENGINE_BITS_FROM;
}

static void drop_at(engine *e, size_t at) {
    segment_dispose(&e->segments[at]->segment);
    alloc_free(e->alloc, e->segments[at]);
    e->count--;
    memmove(&e->segments[at], &e->segments[at + 1], (e->count - at) * sizeof(engine_cached *));
}

void engine_trim(engine *e) {
    while (e->count != 0)
        drop_at(e, e->count - 1);
    for (size_t i = 0; i < ENGINE_TERMS_MAX; i++) {
        alloc_free(e->alloc, e->found[i].at);
        alloc_free(e->alloc, e->found[i].times);
        e->found[i] = (engine_found){ NULL, NULL, 0, 0 };
    }
    alloc_free(e->alloc, e->scratch.bytes);
    e->scratch = (engine_scratch){ NULL, 0 };
    alloc_free(e->alloc, e->segments);
    e->segments = NULL;
    e->cap = 0;
}

static size_t place_of(const engine *e, int64_t id) {
    size_t from = 0;
    size_t to = e->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (e->segments[middle]->segment.state.id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void engine_forget(engine *e, int64_t segment) {
    if (segment == 0) {
        while (e->count != 0)
            drop_at(e, e->count - 1);
        return;
    }
    size_t at = place_of(e, segment);
    if (at < e->count && e->segments[at]->segment.state.id == segment) drop_at(e, at);
}

size_t engine_bytes(const engine *e) {
    size_t sum = 0;
    for (size_t i = 0; i < e->count; i++)
        sum += e->segments[i]->segment.bytes + e->segments[i]->segment.body_bytes;
    return sum;
}

bool engine_settle(engine *e, uint64_t since, size_t more) {
    size_t held = engine_bytes(e);
    while (held + more > e->cache_bytes) {
        size_t oldest = e->count;
        for (size_t i = 0; i < e->count; i++)
            if (e->segments[i]->used <= since &&
                (oldest == e->count || e->segments[i]->used < e->segments[oldest]->used))
                oldest = i;
        if (oldest == e->count) return false;
        held -= e->segments[oldest]->segment.bytes + e->segments[oldest]->segment.body_bytes;
        drop_at(e, oldest);
    }
    return true;
}

void *engine_scratch_take(engine *e, size_t size) {
    if (size > e->scratch.size) {
        alloc_free(e->alloc, e->scratch.bytes);
        e->scratch.bytes = alloc_bytes(e->alloc, size);
        e->scratch.size = e->scratch.bytes != NULL ? size : 0;
    }
    if (e->scratch.bytes != NULL) memset(e->scratch.bytes, 0, size);
    return e->scratch.bytes;
}

static uar_status add_cached(engine_cached **out, engine *e, int64_t id) {
    if (e->count == e->cap) {
        size_t cap = e->cap != 0 ? e->cap * 2 : 8;
        engine_cached **bigger = (engine_cached **)alloc_resize(e->alloc, e->segments, cap * sizeof *bigger);
        if (bigger == NULL) return UAR_E_NOMEM;
        e->segments = bigger;
        e->cap = cap;
    }
    engine_cached *c = ALLOC_NEW(e->alloc, engine_cached);
    if (c == NULL) return UAR_E_NOMEM;
    segment_init(&c->segment, e->alloc);
    c->segment.state.id = id;
    size_t at = place_of(e, id);
    memmove(&e->segments[at + 1], &e->segments[at], (e->count - at) * sizeof(engine_cached *));
    e->segments[at] = c;
    e->count++;
    *out = c;
    return UAR_OK;
}

uar_status engine_open(index_segment **out, engine *e, const segment_state *now, const index_source *source,
                       uar_error *err) {
    size_t at = place_of(e, now->id);
    engine_cached *c = at < e->count ? e->segments[at] : NULL;
    if (c == NULL || c->segment.state.id != now->id) {
        uar_status status = add_cached(&c, e, now->id);
        if (status != UAR_OK) return error_plain(err, status);
    }
    c->used = ++e->clock;
    uar_status status = segment_refresh(&c->segment, now, source, err);
    if (status != UAR_OK) {
        c->segment.state.id = now->id;
        engine_forget(e, now->id);
        return status;
    }
    *out = &c->segment;
    return UAR_OK;
}
