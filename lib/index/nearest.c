/* Owns: the nearest documents of one segment. Invariant: of the living current documents of the type, none that isn't on the
 * list has a higher approximate cosine than one that is. */
#include "base/error.h"
#include "index/search.h"

static void place(engine_near *out, size_t *count, size_t cap, engine_near one) {
    size_t at = *count;
    if (at == cap) {
        if (!(one.cosine > out[at - 1].cosine)) return;
        at--;
    } else {
        ++*count;
    }
    for (; at > 0 && one.cosine > out[at - 1].cosine; at--)
        out[at] = out[at - 1];
    out[at] = one;
}

/* The search without words and without centring. */
static uar_status scan(engine_answer *s, const segment_state *segment, uar_error *err) {
    uar_status status = search_begin(s, segment, 1, err);
    if (status != UAR_OK || !s->is_hybrid) return status;
    vector_query_dispose(&s->query);
    s->has_query = false;
    status = vector_query_init(&s->query, s->engine->alloc, s->question.vector, s->source->dims);
    s->has_query = status == UAR_OK;
    if (status != UAR_OK) return error_plain(err, status);
    return search_gather(s, err);
}

static size_t pick(engine_near *out, size_t cap, const engine_answer *s, uint8_t type) {
    size_t count = 0;
    for (size_t i = 0; i < s->part_count; i++) {
        const index_segment *g = s->parts[i].segment;
        for (size_t at = 0; at < g->count; at++) {
            const document *d = &g->documents[at];
            if (!(s->cosines[at] > SEARCH_NO_COSINE) || (g->flags[at] & SEGMENT_LINKED) == 0 || d->type != type ||
                d->valid_until_ms <= s->question.time_ms)
                continue;
            float slack = s->widest * s->query.slack + s->query.margin;
            place(out, &count, cap, (engine_near){ d->key, s->cosines[at], slack });
        }
    }
    return count;
}

uar_status engine_nearest(engine_near *out, size_t *count, size_t cap, engine *e, const float *vector, uint8_t type,
                          int64_t time_ms, const segment_state *segment, const index_source *source, uar_error *err) {
    engine_answer s = { .engine = e, .source = source, .since = e->clock };
    s.question = (engine_question){ .vector = vector, .time_ms = time_ms, .limit = 1 };
    uar_status status = scan(&s, segment, err);
    if (status == UAR_OK) *count = s.is_hybrid && cap != 0 ? pick(out, cap, &s, type) : 0;
    search_end(&s);
    return status;
}
