/* Owns: the frame of a search: its parts, its memory, its vector. */
#include "index/search.h"

#include <assert.h>

#include "base/error.h"

static uar_status open_parts(engine_answer *s, const segment_state *segments, size_t count, uar_error *err) {
    s->parts = (search_part *)alloc_zeroed(s->engine->alloc, count + 1, sizeof *s->parts);
    if (s->parts == NULL) return error_plain(err, UAR_E_NOMEM);
    for (size_t i = 0; i < count; i++) {
        if (segments[i].generation == 0) continue;
        search_part *p = &s->parts[s->part_count];
        uar_status status = engine_open(&p->segment, s->engine, &segments[i], s->source, err);
        if (status != UAR_OK) return status;
        p->base = (uint32_t)s->documents;
        p->group_base = (uint32_t)s->groups;
        s->documents += p->segment->count;
        s->groups += p->segment->groups.count;
        if (s->documents >= SEGMENT_NONE) return error_set(err, UAR_E_TOO_LARGE, "there is too much to search at once");
        s->part_count++;
    }
    return UAR_OK;
}

static void *carve(char **at, size_t count, size_t size) {
    void *piece = *at;
    *at += (count * size + CHUNK_ALIGN - 1) & ~(size_t)(CHUNK_ALIGN - 1);
    return piece;
}

/* Arrays over documents and groups, all in one run of memory. */
static uar_status lay_out(engine_answer *s) {
    size_t per_document = 5 * sizeof(float) + sizeof(uint32_t) + 2;
    size_t per_group = 2 * sizeof(float) + sizeof(uint32_t);
    if (s->documents > SIZE_MAX / 64 || s->groups > SIZE_MAX / 64) return UAR_E_NOMEM;
    size_t size = s->documents * per_document + s->groups * per_group + (size_t)16 * CHUNK_ALIGN;
    char *at = (char *)engine_scratch_take(s->engine, size);
    if (at == NULL) return UAR_E_NOMEM;
    s->words = (float *)carve(&at, s->documents, sizeof(float));
    s->bonus = (float *)carve(&at, s->documents, sizeof(float));
    s->cosines = (float *)carve(&at, s->documents, sizeof(float));
    s->own = s->relevance = (float *)carve(&at, s->documents, sizeof(float));
    s->window = (float *)carve(&at, s->documents, sizeof(float));
    s->touched = (uint32_t *)carve(&at, s->documents, sizeof(uint32_t));
    s->near = (uint8_t *)carve(&at, s->documents, 1);
    s->holds = s->settled = (uint8_t *)carve(&at, s->documents, 1);
    s->talk = (float *)carve(&at, s->groups, sizeof(float));
    s->talk_own = (float *)carve(&at, s->groups, sizeof(float));
    s->touched_groups = (uint32_t *)carve(&at, s->groups, sizeof(uint32_t));
    return UAR_OK;
}

/* Which documents count: those of the time that is asked for. */
static void choose(engine_answer *s) {
    int64_t time = s->question.time_ms;
    s->in_mask = SEGMENT_LINKED;
    uint64_t held = 0;
    for (size_t p = 0; p < s->part_count; p++) {
        search_part *part = &s->parts[p];
        part->in = part->segment->flags;
        if (!s->question.as_of) continue;
        uint8_t *holds = s->holds + part->base;
        for (size_t i = 0; i < part->segment->count; i++) {
            const document *d = &part->segment->documents[i];
            bool alive = (part->segment->flags[i] & SEGMENT_ALIVE) != 0;
            holds[i] = alive && d->valid_from_ms <= time && d->valid_until_ms > time;
            held += holds[i];
        }
        part->in = holds;
    }
    if (!s->question.as_of) return;
    s->in_mask = 1;
    s->records = (double)held;
}

static void measure(engine_answer *s) {
    segment_sums sum = { 0, 0, 0, 0 };
    for (size_t p = 0; p < s->part_count; p++) {
        const segment_sums *one = &s->parts[p].segment->sums;
        sum.documents += one->documents;
        sum.length += one->length;
        sum.window += one->window;
        sum.groups += one->groups;
    }
    if (!s->question.as_of) s->records = (double)sum.documents;
    if (sum.documents == 0) return;
    s->mean_length = (double)sum.length / (double)sum.documents;
    s->mean_window = (double)sum.window / SEGMENT_WINDOW_STEPS / (double)sum.documents;
    s->mean_talk = (double)sum.length / (double)sum.groups;
}

/* The question's vector without half of what all vectors have in common: what is like everything is like nothing. */
static uar_status centre(engine_answer *s) {
    size_t dims = s->source->dims;
    uint64_t vectors = 0;
    for (size_t p = 0; p < s->part_count; p++)
        vectors += s->parts[p].segment->vectors;
    s->is_hybrid = s->question.vector != NULL && dims != 0 && vectors != 0;
    if (!s->is_hybrid) return UAR_OK;
    s->centred = (float *)alloc_bytes(s->engine->alloc, dims * sizeof(float));
    if (s->centred == NULL) return UAR_E_NOMEM;
    for (size_t d = 0; d < dims; d++) {
        float sum = 0;
        for (size_t p = 0; p < s->part_count; p++)
            if (s->parts[p].segment->vector_sum != NULL) sum += s->parts[p].segment->vector_sum[d];
        s->centred[d] = s->question.vector[d] - SCORE_COMMON * sum / (float)vectors;
    }
    /* `holds` is in use when a time is asked about; an open search may want every document. */
    s->by_bits = s->documents >= s->engine->bits_from && !s->question.as_of && !s->question.is_open;
    if (!vector_normalise(s->centred, dims)) memcpy(s->centred, s->question.vector, dims * sizeof(float));
    uar_status status = vector_query_init(&s->query, s->engine->alloc, s->centred, dims);
    s->has_query = status == UAR_OK;
    return status;
}

uar_status search_begin(engine_answer *s, const segment_state *segments, size_t count, uar_error *err) {
    assert(s->question.term_count <= ENGINE_TERMS_MAX && s->question.limit != 0);
    s->rough.stretch = 1;
    s->rough.ratio = 1;
    s->engine->sheets = ENGINE_SHEETS;
    uar_status status = open_parts(s, segments, count, err);
    if (status != UAR_OK) return status;
    status = lay_out(s);
    if (status == UAR_OK) {
        choose(s);
        measure(s);
        status = centre(s);
    }
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

void search_end(engine_answer *s) {
    if (s->has_query) vector_query_dispose(&s->query);
    alloc_free(s->engine->alloc, s->centred);
    alloc_free(s->engine->alloc, s->parts);
    alloc_free(s->engine->alloc, s->entries);
    (void)engine_settle(s->engine, s->engine->clock, 0);
}

const search_part *search_part_of(const engine_answer *s, uint32_t number) {
    size_t from = 0;
    size_t to = s->part_count;
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (s->parts[middle].base <= number)
            from = middle;
        else
            to = middle;
    }
    return &s->parts[from];
}
