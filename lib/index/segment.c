/* Owns: keeping a segment in memory in step with its source. Invariant: a chunk is read again only if its stamp is new. */
#include "index/segment.h"

#include <assert.h>

#include "base/error.h"
#include "index/segment_link.h"
#include "index/vector_bits.h"

/* Loose documents, dead ones too, at which all is set up anew. */
#define LOOSE_MOST 4096

void segment_init(index_segment *s, const uar_allocator *a) {
    memset(s, 0, sizeof *s);
    s->alloc = a;
}

static void loose_dispose(segment_loose *l, const uar_allocator *a) {
    alloc_free(a, l->starts);
    alloc_free(a, l->ids);
    alloc_free(a, l->counts);
    alloc_free(a, l->scales);
    alloc_free(a, l->codes);
    memset(l, 0, sizeof *l);
}

void segment_release(const index_segment *s, segment_chunk *c) {
    alloc_free(s->alloc, c->block);
    c->block = NULL;
}

static void drop_bodies(index_segment *s) {
    for (size_t i = 0; i < s->chunk_count; i++) {
        segment_release(s, &s->chunks[i]);
        alloc_free(s->alloc, s->chunks[i].sheet);
        s->chunks[i].sheet = NULL;
    }
    s->body_bytes = 0;
}

void segment_dispose(index_segment *s) {
    drop_bodies(s);
    for (size_t i = 0; i < s->chunk_count; i++)
        alloc_free(s->alloc, s->chunks[i].sums);
    alloc_free(s->alloc, s->chunks);
    alloc_free(s->alloc, s->documents);
    alloc_free(s->alloc, s->before);
    alloc_free(s->alloc, s->after);
    alloc_free(s->alloc, s->group);
    alloc_free(s->alloc, s->length);
    alloc_free(s->alloc, s->log_length);
    alloc_free(s->alloc, s->window);
    alloc_free(s->alloc, s->vector_sum);
    alloc_free(s->alloc, s->flags);
    loose_dispose(&s->loose, s->alloc);
    segment_groups_dispose(&s->groups, s->alloc);
    segment_init(s, s->alloc);
}

size_t segment_body_cost(const segment_chunk *c) {
    return chunk_body_size(&c->head) + CHUNK_ALIGN;
}

size_t segment_sheet_cost(const segment_chunk *c) {
    return vector_bits_size(c->head.dims, c->head.count);
}

uar_status segment_read_body(segment_chunk *out, const index_segment *s, size_t at, const index_source *source,
                             uar_error *err) {
    segment_chunk c = s->chunks[at];
    c.block = alloc_bytes(s->alloc, segment_body_cost(&c));
    if (c.block == NULL) return error_plain(err, UAR_E_NOMEM);
    uint8_t *body = (uint8_t *)c.block;
    body += (CHUNK_ALIGN - ((uintptr_t)body & (CHUNK_ALIGN - 1))) & (CHUNK_ALIGN - 1);
    uar_status status =
        source->read(source->ctx, c.place.id, chunk_body_at(&c.head), body, chunk_body_size(&c.head), err);
    if (status == UAR_OK) {
        bool is_whole = chunk_sum(body, chunk_body_size(&c.head)) == c.seals.body;
        status = is_whole ? chunk_open(&c.body, &c.head, body) : UAR_E_CORRUPT;
        if (status != UAR_OK) error_set(err, status, "a chunk of the index is damaged");
    }
    if (status == UAR_OK)
        *out = c;
    else
        alloc_free(s->alloc, c.block);
    return status;
}

static uar_status note_chunk(void *arg, const chunk_place *place) {
    index_segment *s = (index_segment *)arg;
    if (s->chunk_count == s->chunk_cap) {
        size_t cap = s->chunk_cap != 0 ? s->chunk_cap * 2 : 8;
        segment_chunk *chunks = (segment_chunk *)alloc_resize(s->alloc, s->chunks, cap * sizeof *chunks);
        if (chunks == NULL) return UAR_E_NOMEM;
        s->chunks = chunks;
        s->chunk_cap = cap;
    }
    segment_chunk *c = &s->chunks[s->chunk_count++];
    memset(c, 0, sizeof *c);
    c->place = *place;
    return UAR_OK;
}

static uar_status sums_room(index_segment *s, size_t dims) {
    if (s->vector_sum != NULL || dims == 0) return UAR_OK;
    s->vector_sum = (float *)alloc_zeroed(s->alloc, dims, sizeof(float));
    return s->vector_sum != NULL ? UAR_OK : UAR_E_NOMEM;
}

static bool has_vectors(const segment_chunk *c, const index_source *source) {
    return source->dims != 0 && c->head.dims == source->dims && c->head.model == source->model;
}

/* The sum of the chunk's vectors, which it carries. */
static uar_status read_sums(segment_chunk *c, const uar_allocator *a, const index_source *source, uar_error *err) {
    size_t size = source->dims * sizeof(float);
    float *sums = (float *)alloc_zeroed(a, 1, size);
    uint8_t *bytes = (uint8_t *)alloc_bytes(a, size);
    uar_status status = sums != NULL && bytes != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK) status = source->read(source->ctx, c->place.id, chunk_sums_at(&c->head), bytes, size, err);
    if (status == UAR_OK) {
        bool is_whole = chunk_sum(bytes, size) == c->seals.sums;
        status = is_whole ? chunk_sums_add(sums, &c->head, bytes) : UAR_E_CORRUPT;
        if (status != UAR_OK) error_set(err, status, "a chunk of the index is damaged");
    }
    alloc_free(a, bytes);
    if (status == UAR_OK)
        c->sums = sums;
    else
        alloc_free(a, sums);
    return status;
}

static uar_status add_sums(index_segment *s, segment_chunk *c, const index_source *source, uar_error *err) {
    if (!has_vectors(c, source)) return UAR_OK;
    uar_status status = sums_room(s, source->dims);
    if (status != UAR_OK) return error_plain(err, status);
    if (c->sums == NULL) status = read_sums(c, s->alloc, source, err);
    if (status != UAR_OK) return status;
    for (size_t i = 0; i < source->dims; i++)
        s->vector_sum[i] += c->sums[i];
    s->vectors += c->head.vectors;
    return UAR_OK;
}

uar_status segment_read_documents(document *out, const segment_chunk *c, const uar_allocator *a,
                                  const index_source *source, uar_error *err) {
    size_t size = chunk_documents_size(&c->head);
    uint8_t *bytes = (uint8_t *)alloc_bytes(a, size);
    if (bytes == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = source->read(source->ctx, c->place.id, CHUNK_DOCUMENTS_AT, bytes, size, err);
    if (status == UAR_OK) {
        bool is_whole = chunk_sum(bytes, size) == c->seals.documents;
        status = is_whole ? chunk_documents_read(out, &c->head, bytes) : UAR_E_CORRUPT;
        if (status != UAR_OK) error_set(err, status, "a chunk of the index is damaged");
    }
    alloc_free(a, bytes);
    return status;
}

uar_status segment_read_head(segment_chunk *c, const index_source *source, uar_error *err) {
    uint8_t bytes[CHUNK_DOCUMENTS_AT];
    if (c->place.size < sizeof bytes) return error_set(err, UAR_E_CORRUPT, "a chunk of the index is too short");
    uar_status status = source->read(source->ctx, c->place.id, 0, bytes, sizeof bytes, err);
    if (status != UAR_OK) return status;
    c->seals = chunk_seals_read(bytes + CHUNK_SEALS_AT);
    bool is_whole = chunk_sum(bytes, CHUNK_HEAD_USED) == c->seals.head;
    status = is_whole ? chunk_head_read(&c->head, bytes, c->place.size) : UAR_E_CORRUPT;
    return status == UAR_OK ? UAR_OK : error_set(err, status, "a chunk of the index is damaged");
}

static segment_chunk *find_chunk(const index_segment *s, const chunk_place *place) {
    for (size_t i = 0; i < s->chunk_count; i++)
        if (s->chunks[i].place.id == place->id && s->chunks[i].place.stamp == place->stamp) return &s->chunks[i];
    return NULL;
}

static void note_best(segment_chunk *c, const document *documents) {
    c->newest = documents[0].created_ms;
    c->importance = 0;
    c->trust = UINT8_MAX;
    for (size_t i = 0; i < c->head.count; i++) {
        const document *d = &documents[i];
        c->newest = d->created_ms > c->newest ? d->created_ms : c->newest;
        c->importance = d->importance > c->importance ? d->importance : c->importance;
        c->trust = d->trust < c->trust ? d->trust : c->trust;
    }
}

/* Documents of one chunk, from the older picture of the segment if it has them. */
static uar_status take_chunk(index_segment *s, segment_chunk *c, index_segment *old, const index_source *source,
                             uar_error *err) {
    segment_chunk *known = find_chunk(old, &c->place);
    uar_status status = UAR_OK;
    if (known != NULL) {
        c->head = known->head;
        c->seals = known->seals;
    } else {
        status = segment_read_head(c, source, err);
    }
    if (status != UAR_OK) return status;
    status = segment_reserve(s, c->head.count);
    if (status != UAR_OK) return error_plain(err, status);
    c->base = (uint32_t)s->count;
    document *to = s->documents + s->count;
    if (known != NULL) {
        memcpy(to, old->documents + known->base, c->head.count * sizeof *to);
        c->block = known->block;
        c->body = known->body;
        c->sums = known->sums;
        c->sheet = known->sheet;
        c->error = known->error;
        c->scale = known->scale;
        known->block = NULL;
        known->sums = NULL;
        known->sheet = NULL;
        if (c->block != NULL) s->body_bytes += segment_body_cost(c);
        if (c->sheet != NULL) s->body_bytes += segment_sheet_cost(c);
    } else {
        status = segment_read_documents(to, c, s->alloc, source, err);
    }
    if (status == UAR_OK) status = add_sums(s, c, source, err);
    if (status != UAR_OK) return status;
    note_best(c, to);
    if (to[0].key <= s->last_key) return error_set(err, UAR_E_CORRUPT, "chunks of the index overlap");
    s->last_key = to[c->head.count - 1].key;
    s->count += c->head.count;
    s->alive += c->head.count;
    return UAR_OK;
}

static uar_status loose_room(segment_loose *l, const uar_allocator *a, size_t terms, size_t stride) {
    if (l->slots + 1 >= l->slot_cap) {
        size_t cap = l->slot_cap != 0 ? l->slot_cap * 2 : 64;
        size_t *starts = (size_t *)alloc_resize(a, l->starts, cap * sizeof *starts);
        if (starts != NULL) l->starts = starts;
        float *scales = (float *)alloc_resize(a, l->scales, cap * sizeof *scales);
        if (scales != NULL) l->scales = scales;
        int8_t *codes = (int8_t *)alloc_resize(a, l->codes, cap * (stride != 0 ? stride : 1));
        if (codes != NULL) l->codes = codes;
        if (starts == NULL || scales == NULL || codes == NULL) return UAR_E_NOMEM;
        l->slot_cap = cap;
    }
    if (l->term_cap - l->terms < terms) {
        size_t cap = l->term_cap * 2 + terms + 256;
        uint64_t *ids = (uint64_t *)alloc_resize(a, l->ids, cap * sizeof *ids);
        if (ids != NULL) l->ids = ids;
        uint8_t *counts = (uint8_t *)alloc_resize(a, l->counts, cap);
        if (counts != NULL) l->counts = counts;
        if (ids == NULL || counts == NULL) return UAR_E_NOMEM;
        l->term_cap = cap;
    }
    return UAR_OK;
}

static void put_loose(segment_loose *l, const document_item *item, size_t dims) {
    size_t slot = l->slots++;
    if (slot == 0) l->starts[0] = 0;
    for (size_t i = 0; i < item->term_count; i++) {
        term t = term_unpack(item->terms + i * TERM_PACKED);
        l->ids[l->terms] = t.id;
        l->counts[l->terms++] = (uint8_t)(t.count < DOCUMENT_TERM_COUNT_MAX ? t.count : DOCUMENT_TERM_COUNT_MAX);
    }
    l->starts[slot + 1] = l->terms;
    l->scales[slot] = 0;
    if (dims == 0) return;
    int8_t *row = l->codes + slot * vector_stride(dims);
    if (item->vector != NULL)
        vector_encode(row, &l->scales[slot], item->vector, dims);
    else
        memset(row, 0, vector_stride(dims));
}

typedef struct loose_walk {
    index_segment *s;
    size_t dims;
} loose_walk;

static uar_status take_loose(void *arg, const document_item *item) {
    loose_walk *w = (loose_walk *)arg;
    index_segment *s = w->s;
    uar_status status = segment_reserve(s, 1);
    if (status == UAR_OK)
        status = loose_room(&s->loose, s->alloc, item->term_count, w->dims != 0 ? vector_stride(w->dims) : 0);
    if (status == UAR_OK && item->vector != NULL) status = sums_room(s, w->dims);
    if (status != UAR_OK) return status;
    if (item->vector != NULL && w->dims != 0) {
        for (size_t i = 0; i < w->dims; i++)
            s->vector_sum[i] += item->vector[i];
        s->vectors++;
    }
    uint32_t older = item->at.key <= s->last_key ? segment_find(s, item->at.key) : SEGMENT_NONE;
    uint32_t at = (uint32_t)s->count++;
    s->documents[at] = item->at;
    put_loose(&s->loose, item, w->dims);
    if (item->at.key > s->last_key) s->last_key = item->at.key;
    s->alive += older == SEGMENT_NONE;
    return older == SEGMENT_NONE ? segment_link(s, at) : segment_replace(s, older, at);
}

static void count_bytes(index_segment *s) {
    const segment_loose *l = &s->loose;
    s->bytes = sizeof *s + s->cap * (sizeof(document) + 7 * sizeof(uint32_t) + 1) +
               s->chunk_cap * sizeof(segment_chunk) + l->term_cap * 9 + l->slot_cap * (sizeof(size_t) + 4) +
               s->groups.cap * 20 + s->groups.slot_count * 4;
}

static uar_status read_loose(index_segment *s, const segment_state *now, int64_t after, int64_t since,
                             const index_source *source, uar_error *err) {
    loose_walk w = { s, source->dims };
    uar_status status = source->loose(source->ctx, now, after, since, take_loose, &w, err);
    if (status == UAR_OK) {
        s->state = *now;
        count_bytes(s);
        if (source->dims != 0)
            s->bytes += s->loose.slot_cap * vector_stride(source->dims) + (s->chunk_count + 1) * source->dims * 4;
    }
    return status;
}

/* Set `s`, which is empty, up from the source and what can be taken from `old`. */
static uar_status set_up(index_segment *s, index_segment *old, const segment_state *now, const index_source *source,
                         uar_error *err) {
    uar_status status = source->chunks(source->ctx, now->id, note_chunk, s, err);
    for (size_t i = 0; i < s->chunk_count && status == UAR_OK; i++)
        status = take_chunk(s, &s->chunks[i], old, source, err);
    if (status != UAR_OK) return status;
    s->packed = s->count;
    for (size_t i = 0; i < s->packed && status == UAR_OK; i++)
        status = segment_link(s, (uint32_t)i);
    if (status != UAR_OK) return error_plain(err, status);
    return read_loose(s, now, now->packed, -1, source, err);
}

uar_status segment_refresh(index_segment *s, const segment_state *now, const index_source *source, uar_error *err) {
    assert(now->generation > 0);
    if (s->state.generation == now->generation) return UAR_OK;
    bool can_add = s->state.generation != 0 && s->state.generation < now->generation && s->state.edits == now->edits &&
                   s->loose.slots < LOOSE_MOST;
    uar_status status = UAR_OK;
    if (can_add) {
        status =
            read_loose(s, now, s->last_key > now->packed ? s->last_key : now->packed, s->state.generation, source, err);
    } else {
        index_segment next;
        segment_init(&next, s->alloc);
        status = set_up(&next, s, now, source, err);
        segment_dispose(s);
        *s = next;
    }
    if (status == UAR_OK && s->alive != (uint64_t)now->records)
        status = error_set(err, UAR_E_CORRUPT, "the index of a segment lacks documents, or has too many");
    if (status != UAR_OK) segment_dispose(s);
    return status;
}
