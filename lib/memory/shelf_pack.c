/* Owns: writing chunks. Invariants: a chunk is always built from rows as they are now, so that nothing that has left a row can
 * stay in it; its rows have no vectors but those of its model. */
#include "memory/shelf_pack.h"

#include "base/buffer.h"
#include "memory/erase.h"

/* Below this, a chunk is merged with one beside it if both fit into one. */
#define CHUNK_FEW (CHUNK_DOCUMENTS / 4)

/* Documents of a run of rows, with all that they point at. */
typedef struct load {
    arena ar;
    document_item *items;
    size_t count;
    int64_t model; /* whose vectors are taken; 0: there are none */
    size_t dims;
} load;

static uar_status keep_item(load *l, const document_item *item) {
    document_item *kept = &l->items[l->count];
    *kept = *item;
    size_t size = item->term_count * TERM_PACKED;
    uint8_t *terms = (uint8_t *)arena_alloc(&l->ar, size + 1);
    if (terms == NULL) return UAR_E_NOMEM;
    if (size != 0) memcpy(terms, item->terms, size);
    kept->terms = terms;
    if (item->vector != NULL) {
        float *vector = (float *)arena_alloc(&l->ar, l->dims * sizeof(float));
        if (vector == NULL) return UAR_E_NOMEM;
        memcpy(vector, item->vector, l->dims * sizeof(float));
        kept->vector = vector;
    }
    l->count++;
    return UAR_OK;
}

/* Who packs may have no embedder, or another one than who wrote: vectors of this memory's model go first, then those of the
 * model that has most of them. */
static uar_status choose_model(load *l, uar_memory *m, int64_t seg, int64_t after, int64_t last, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_MODEL);
    query_int(&q, 18, seg);
    query_int(&q, 19, after);
    query_int(&q, 20, last);
    query_int(&q, 21, m->embed.model);
    query_int(&q, 22, CHUNK_DOCUMENTS);
    int64_t dims = 0;
    if (query_next(&q)) {
        l->model = query_get_int(&q, 0);
        dims = query_get_int(&q, 1);
    }
    uar_status status = query_end(&q, err);
    if (status == UAR_OK && l->model != 0 && (dims <= 0 || dims > VECTOR_DIMS_MAX))
        return error_set(err, UAR_E_CORRUPT, "a model of the memory has no dimensions");
    l->dims = (size_t)dims;
    return status;
}

/* Rows of a segment with numbers above `after`, up to `last`, at most a chunk of them. */
static uar_status load_rows(load *l, uar_memory *m, int64_t seg, int64_t after, int64_t last, uar_error *err) {
    memset(l, 0, sizeof *l);
    arena_init(&l->ar, &m->alloc);
    uar_status status = choose_model(l, m, seg, after, last, err);
    if (status != UAR_OK) return status;
    l->items = (document_item *)arena_zeroed(&l->ar, CHUNK_DOCUMENTS, sizeof *l->items);
    float *room = l->model != 0 ? (float *)arena_alloc(&l->ar, l->dims * sizeof(float)) : NULL;
    status = l->items != NULL && (l->model == 0 || room != NULL) ? UAR_OK : UAR_E_NOMEM;
    query q;
    query_begin(&q, &m->database, SQL_SHELF_RANGE);
    query_int(&q, 18, seg);
    query_int(&q, 19, after);
    query_int(&q, 20, last);
    query_int(&q, 21, l->model);
    query_int(&q, 22, CHUNK_DOCUMENTS);
    while (status == UAR_OK && l->count < CHUNK_DOCUMENTS && query_next(&q)) {
        document_item item;
        status = shelf_item_read(&item, room, l->dims, &q, m);
        if (status == UAR_OK) status = keep_item(l, &item);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) return end;
    return status == UAR_E_CORRUPT ? error_set(err, status, "a memory record has values that it can't have")
                                   : error_plain(err, status);
}

/* A chunk's row: which numbers it is about. */
typedef struct chunk_row {
    int64_t id, first, last;
} chunk_row;

static uar_status find_chunk(chunk_row *out, bool *found, uar_memory *m, sql_id sql, int64_t seg, int64_t num,
                             uar_error *err) {
    query q;
    query_begin(&q, &m->database, sql);
    query_int(&q, 18, seg);
    query_int(&q, 19, num);
    *found = query_next(&q);
    if (*found) *out = (chunk_row){ query_get_int(&q, 0), query_get_int(&q, 1), query_get_int(&q, 2) };
    return query_end(&q, err);
}

static uar_status build(buffer *body, const load *l, uar_memory *m, uar_error *err) {
    uint8_t mark[CHUNK_MARK];
    if (m->random.fill(m->random.ctx, mark, sizeof mark) != UAR_OK)
        return error_set(err, UAR_E_INTERNAL, "there are no random bytes for the memory index");
    uar_status status = chunk_build(body, l->items, l->count, l->dims, (uint64_t)l->model, mark);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

/* Vectors that the chunk has no room for would be found nowhere, and their records not be missed: they are given up, so that
 * re-embedding makes them again. */
static uar_status void_others(uar_memory *m, const shelf_touched *t, const load *l, uar_error *err) {
    if (l->model == 0) return UAR_OK;
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_VOID_OTHERS);
    query_int(&q, 18, t->seg);
    query_int(&q, 19, l->items[0].at.key);
    query_int(&q, 20, l->items[l->count - 1].at.key);
    query_int(&q, 21, l->model);
    return query_run(&q, err);
}

/* Write a chunk; `id` 0: a new one. */
static uar_status write_chunk(uar_memory *m, int64_t id, const shelf_touched *t, const load *l, uar_error *err) {
    uar_status status = void_others(m, t, l, err);
    if (status != UAR_OK) return status;
    buffer body;
    buffer_init(&body, &m->alloc, INT32_MAX / 2);
    status = build(&body, l, m, err);
    if (status == UAR_OK) {
        query q;
        query_begin(&q, &m->database, id != 0 ? SQL_CHUNK_PUT : SQL_CHUNK_ADD);
        query_int(&q, 18, id != 0 ? id : t->seg);
        query_int(&q, 19, l->items[0].at.key);
        query_int(&q, 20, l->items[l->count - 1].at.key);
        query_int(&q, 21, t->generation);
        query_int(&q, 22, (int64_t)body.len);
        query_blob(&q, 23, body.ptr, body.len);
        status = query_run(&q, err);
    }
    buffer_dispose(&body);
    return status;
}

static uar_status drop_loose(uar_memory *m, int64_t seg, int64_t first, int64_t last, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_LOOSE_DROP);
    query_int(&q, 18, seg);
    query_int(&q, 19, first);
    query_int(&q, 20, last);
    return query_run(&q, err);
}

static uar_status drop_chunk(uar_memory *m, int64_t id, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_CHUNK_DROP);
    query_int(&q, 18, id);
    return query_run(&q, err);
}

/* What a chunk says of rows that are gone must leave the file. */
static uar_status note_mark(uar_memory *m, int64_t id, uar_error *err) {
    uint8_t mark[CHUNK_MARK];
    index_source source = shelf_source(m);
    uar_status status = source.read(source.ctx, id, CHUNK_HEAD, mark, sizeof mark, err);
    if (status == UAR_E_CORRUPT) return UAR_OK; /* it is being replaced */
    return status == UAR_OK ? erase_note(&m->database, mark, err) : status;
}

/* Build a chunk anew from the rows that it is about now. `count` gets how many there are. */
static uar_status rewrite(size_t *count, uar_memory *m, const shelf_touched *t, const chunk_row *c, uar_error *err) {
    load l;
    uar_status status = load_rows(&l, m, t->seg, c->first - 1, c->last, err);
    if (status == UAR_OK) status = l.count != 0 ? write_chunk(m, c->id, t, &l, err) : drop_chunk(m, c->id, err);
    if (status == UAR_OK) status = drop_loose(m, t->seg, c->first, c->last, err);
    *count = l.count;
    arena_dispose(&l.ar);
    return status;
}

/* Put two chunks that follow each other into the first, if they fit into one. */
static uar_status merge_pair(bool *merged, uar_memory *m, const shelf_touched *t, const chunk_row *a,
                             const chunk_row *b, uar_error *err) {
    load l;
    uar_status status = load_rows(&l, m, t->seg, a->first - 1, b->last, err);
    *merged = status == UAR_OK && l.count != 0 && l.count < CHUNK_DOCUMENTS;
    if (*merged) {
        status = drop_chunk(m, b->id, err);
        if (status == UAR_OK) status = write_chunk(m, a->id, t, &l, err);
        if (status == UAR_OK) status = drop_loose(m, t->seg, a->first, b->last, err);
    }
    arena_dispose(&l.ar);
    return status;
}

/* What is left of a chunk goes together with the one behind it or the one before. */
static uar_status merge_small(uar_memory *m, const shelf_touched *t, const chunk_row *c, size_t left, uar_error *err) {
    if (left == 0 || left >= CHUNK_FEW) return UAR_OK;
    chunk_row other;
    bool found = false;
    bool merged = false;
    uar_status status = find_chunk(&other, &found, m, SQL_CHUNK_AFTER, t->seg, c->last, err);
    if (status == UAR_OK && found) status = merge_pair(&merged, m, t, c, &other, err);
    if (status != UAR_OK || merged) return status;
    status = find_chunk(&other, &found, m, SQL_CHUNK_OF, t->seg, c->first - 1, err);
    return status == UAR_OK && found ? merge_pair(&merged, m, t, &other, c, err) : status;
}

static void sift(int64_t *list, size_t root, size_t count) {
    for (;;) {
        size_t child = root * 2 + 1;
        if (child >= count) return;
        if (child + 1 < count && list[child + 1] > list[child]) child++;
        if (list[root] >= list[child]) return;
        int64_t num = list[root];
        list[root] = list[child];
        list[child] = num;
        root = child;
    }
}

static void sort_nums(shelf_nums *n) {
    for (size_t i = n->count / 2; i-- > 0;)
        sift(n->list, i, n->count);
    for (size_t end = n->count; end-- > 1;) {
        int64_t num = n->list[0];
        n->list[0] = n->list[end];
        n->list[end] = num;
        sift(n->list, 0, end);
    }
}

uar_status shelf_pack_gone(uar_memory *m, shelf_touched *t, uar_error *err) {
    sort_nums(&t->gone);
    int64_t done = 0; /* numbers up to here are out */
    uar_status status = UAR_OK;
    for (size_t i = 0; i < t->gone.count && status == UAR_OK; i++) {
        if (t->gone.list[i] <= done) continue;
        chunk_row c;
        bool found = false;
        status = find_chunk(&c, &found, m, SQL_CHUNK_OF, t->seg, t->gone.list[i], err);
        if (status != UAR_OK || !found || c.last < t->gone.list[i]) continue;
        size_t left = 0;
        status = note_mark(m, c.id, err);
        if (status == UAR_OK) status = rewrite(&left, m, t, &c, err);
        if (status == UAR_OK) status = merge_small(m, t, &c, left, err);
        done = c.last;
        t->edits++;
    }
    t->gone.count = 0;
    return status;
}

/* The oldest fresh rows become a chunk. */
static uar_status pack_fresh(uar_memory *m, shelf_touched *t, uar_error *err) {
    load l;
    uar_status status = load_rows(&l, m, t->seg, t->packed, INT64_MAX, err);
    if (status == UAR_OK && l.count == 0) status = error_set(err, UAR_E_CORRUPT, "a memory segment is miscounted");
    if (status == UAR_OK) status = write_chunk(m, 0, t, &l, err);
    if (status == UAR_OK) {
        int64_t last = l.items[l.count - 1].at.key;
        status = drop_loose(m, t->seg, t->packed + 1, last, err);
        t->packed = last;
        t->fresh -= (int64_t)l.count;
        t->edits++;
    }
    arena_dispose(&l.ar);
    return status;
}

/* Each chunk with changed rows is written anew. */
static uar_status pack_changed(uar_memory *m, shelf_touched *t, uar_error *err) {
    int64_t done = 0;
    for (;;) {
        query q;
        query_begin(&q, &m->database, SQL_LOOSE_LIST);
        query_int(&q, 18, t->seg);
        query_int(&q, 19, done);
        bool more = query_next(&q);
        if (more) done = query_get_int(&q, 0);
        uar_status status = query_end(&q, err);
        if (status != UAR_OK || !more || done > t->packed) return status;
        chunk_row c;
        bool found = false;
        size_t left = 0;
        status = find_chunk(&c, &found, m, SQL_CHUNK_OF, t->seg, done, err);
        if (status == UAR_OK && (!found || c.last < done))
            return error_set(err, UAR_E_CORRUPT, "a memory record is in no chunk of the index");
        if (status == UAR_OK) status = rewrite(&left, m, t, &c, err);
        if (status != UAR_OK) return status;
        t->edits++;
    }
}

uar_status shelf_pack_loose(uar_memory *m, shelf_touched *t, uar_error *err) {
    for (;;) {
        int64_t changed = 0;
        if (t->has_changed) {
            query q;
            query_begin(&q, &m->database, SQL_LOOSE_COUNT);
            query_int(&q, 18, t->seg);
            if (query_next(&q)) changed = query_get_int(&q, 0);
            uar_status status = query_end(&q, err);
            if (status != UAR_OK) return status;
        }
        if (t->fresh + changed < SHELF_LOOSE_MOST) return UAR_OK;
        uar_status status = t->fresh >= changed ? pack_fresh(m, t, err) : pack_changed(m, t, err);
        if (status != UAR_OK) return status;
    }
}
