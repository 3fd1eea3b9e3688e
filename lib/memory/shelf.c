/* Owns: index entries of rows, and the row of each segment that a transaction touches. Invariant: after shelf_flush, the
 * index holds exactly what the rows say. */
#include "memory/shelf.h"
#include "memory/owner.h"

#include <assert.h>

#include "index/little.h"
#include "memory/erase.h"
#include "memory/shelf_pack.h"

static uar_status load_segment(shelf_touched *t, database *db, int64_t seg, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_SEGMENT_LOAD);
    query_int(&q, 18, seg);
    bool found = query_next(&q);
    *t = (shelf_touched){ .seg = seg };
    if (found) {
        t->generation = query_get_int(&q, 0);
        t->edits = query_get_int(&q, 1);
        t->packed = query_get_int(&q, 2);
        t->newest = query_get_int(&q, 3);
        t->records = query_get_int(&q, 4);
        t->fresh = query_get_int(&q, 5);
    }
    uar_status status = query_end(&q, err);
    if (status == UAR_OK && !found) return error_set(err, UAR_E_CORRUPT, "a memory record has no segment");
    return status;
}

/* The segment as this transaction sees it. */
static uar_status touch(shelf_touched **out, uar_memory *m, int64_t seg, uar_error *err) {
    shelf *s = &m->shelf;
    for (size_t i = s->count; i-- > 0;) {
        if (s->touched[i].seg != seg) continue;
        *out = &s->touched[i];
        return UAR_OK;
    }
    if (s->count == s->cap) {
        size_t cap = s->cap != 0 ? s->cap * 2 : 4;
        shelf_touched *touched = (shelf_touched *)alloc_resize(&m->alloc, s->touched, cap * sizeof *touched);
        if (touched == NULL) return error_plain(err, UAR_E_NOMEM);
        s->touched = touched;
        s->cap = cap;
    }
    uar_status status = load_segment(&s->touched[s->count], &m->database, seg, err);
    if (status == UAR_OK) *out = &s->touched[s->count++];
    return status;
}

static uar_status store_segment(uar_memory *m, const shelf_touched *t, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_SEGMENT_STORE);
    query_int(&q, 18, t->seg);
    query_int(&q, 19, t->generation);
    query_int(&q, 20, t->edits);
    query_int(&q, 21, t->packed);
    query_int(&q, 22, t->newest);
    query_int(&q, 23, t->records);
    query_int(&q, 24, t->fresh);
    return query_run(&q, err);
}

static uar_status put_changed(uar_memory *m, shelf_touched *t, int64_t num, uar_error *err) {
    t->has_changed = true;
    query q;
    query_begin(&q, &m->database, SQL_LOOSE_PUT);
    query_int(&q, 18, t->seg);
    query_int(&q, 19, num);
    query_int(&q, 20, t->generation + 1);
    return query_run(&q, err);
}

/* Numbers only grow, so that a row above all others is a new one. */
static uar_status put_row(uar_memory *m, const version *v, uar_error *err) {
    assert(v->num != 0 && v->terms_len % TERM_PACKED == 0);
    if (v->terms_len / TERM_PACKED > DOCUMENT_TERMS_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "the memory record has too many different words");
    shelf_touched *t = NULL;
    uar_status status = touch(&t, m, v->seg, err);
    if (status != UAR_OK) return status;
    t->is_dirty = true;
    if (v->num <= t->newest) return v->length != 0 ? put_changed(m, t, v->num, err) : UAR_OK;
    t->newest = v->num;
    t->records += v->length != 0;
    t->fresh += v->length != 0;
    return UAR_OK;
}

static uar_status drop_vector_row(uar_memory *m, int64_t num, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_DROP);
    query_int(&q, 18, num);
    return query_run(&q, err);
}

/* What of a vector row is needed to decide about it. */
typedef struct vector_head {
    bool is_there;
    int64_t digest;
    uint8_t mark[MARK_BYTES];
} vector_head;

static uar_status find_vector(vector_head *out, uar_memory *m, int64_t num, uar_error *err) {
    memset(out, 0, sizeof *out);
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_GET);
    query_int(&q, 18, num);
    out->is_there = query_next(&q);
    if (out->is_there) {
        out->digest = query_get_int(&q, 1);
        uar_str mark = query_get_text(&q, 2);
        if (mark.len == MARK_BYTES) memcpy(out->mark, mark.ptr, MARK_BYTES);
    }
    return query_end(&q, err);
}

/* The bytes of the vector must leave the file when its record does. */
static uar_status drop_vector(uar_memory *m, int64_t num, const vector_head *head, uar_error *err) {
    uar_status status = erase_note(&m->database, head->mark, err);
    return status == UAR_OK ? drop_vector_row(m, num, err) : status;
}

static uar_status put_vector_row(uar_memory *m, const version *v, int64_t model, const uint8_t mark[MARK_BYTES],
                                 const void *value, size_t len, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_PUT);
    query_int(&q, 18, v->num);
    query_int(&q, 19, model);
    query_int(&q, 20, v->digest);
    query_blob(&q, 21, mark, MARK_BYTES);
    query_blob(&q, 22, value, len);
    return query_run(&q, err);
}

/* A vector in place of one of the same text keeps its mark: stray copies of either are found by it. */
static uar_status put_vector(uar_memory *m, const version *v, const float *vector, uar_error *err) {
    size_t dims = m->embedder.dims;
    vector_head old;
    uar_status status = find_vector(&old, m, v->num, err);
    if (status == UAR_OK && old.is_there && old.digest != v->digest) {
        status = drop_vector(m, v->num, &old, err);
        old.is_there = false;
    }
    if (status == UAR_OK && !old.is_there) status = seal_mark(old.mark, &m->random, err);
    if (status != UAR_OK) return status;
    uint8_t *bytes = (uint8_t *)alloc_bytes(&m->alloc, dims * 4 + SHELF_VECTOR_SUM);
    if (bytes == NULL) return error_plain(err, UAR_E_NOMEM);
    for (size_t i = 0; i < dims; i++) {
        uint32_t bits = 0;
        memcpy(&bits, &vector[i], sizeof bits);
        little_put32(bytes + i * 4, bits);
    }
    little_put64(bytes + dims * 4, chunk_sum(bytes, dims * 4));
    status = put_vector_row(m, v, m->embed.model, old.mark, bytes, dims * 4 + SHELF_VECTOR_SUM, err);
    alloc_free(&m->alloc, bytes);
    return status;
}

/* A vector of another text is of no use any more. */
static uar_status keep_vector(uar_memory *m, const version *v, uar_error *err) {
    vector_head old;
    uar_status status = find_vector(&old, m, v->num, err);
    bool is_stale = old.is_there && (old.digest != v->digest || v->length == 0);
    return status == UAR_OK && is_stale ? drop_vector(m, v->num, &old, err) : status;
}

uar_status shelf_put(uar_memory *m, const version *v, const float *vector, uar_error *err) {
    bool is_new = m->shelf.count != 0 && m->shelf.touched[m->shelf.count - 1].seg == v->seg &&
                  v->num > m->shelf.touched[m->shelf.count - 1].newest;
    uar_status status = put_row(m, v, err);
    if (status != UAR_OK) return status;
    if (vector != NULL && v->length != 0 && shelf_has_vectors(m)) return put_vector(m, v, vector, err);
    return is_new ? UAR_OK : keep_vector(m, v, err);
}

uar_status shelf_put_kept(uar_memory *m, const version *v, int64_t from, uar_error *err) {
    uar_status status = put_row(m, v, err);
    if (status != UAR_OK || v->length == 0) return status;
    uint8_t mark[MARK_BYTES];
    status = seal_mark(mark, &m->random, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_GET);
    query_int(&q, 18, from);
    if (query_next(&q) && query_get_int(&q, 1) == v->digest) {
        uar_str value = query_get_text(&q, 3);
        status = put_vector_row(m, v, query_get_int(&q, 0), mark, value.ptr, value.len, err);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

static uar_status note_gone(shelf_nums *n, const uar_allocator *a, int64_t num) {
    if (n->count == n->cap) {
        size_t cap = n->cap != 0 ? n->cap * 2 : 16;
        int64_t *list = (int64_t *)alloc_resize(a, n->list, cap * sizeof *list);
        if (list == NULL) return UAR_E_NOMEM;
        n->list = list;
        n->cap = cap;
    }
    n->list[n->count++] = num;
    return UAR_OK;
}

uar_status shelf_drop(uar_memory *m, const version *v, uar_error *err) {
    shelf_touched *t = NULL;
    uar_status status = touch(&t, m, v->seg, err);
    vector_head head;
    if (status == UAR_OK) status = find_vector(&head, m, v->num, err);
    if (status == UAR_OK && head.is_there) status = drop_vector(m, v->num, &head, err);
    if (status != UAR_OK || v->length == 0) return status;
    t->is_dirty = true;
    t->records--;
    t->edits++;
    if (v->num > t->packed)
        t->fresh--;
    else if (note_gone(&t->gone, &m->alloc, v->num) != UAR_OK)
        return error_plain(err, UAR_E_NOMEM);
    query q;
    query_begin(&q, &m->database, SQL_LOOSE_DROP);
    query_int(&q, 18, v->seg);
    query_int(&q, 19, v->num);
    query_int(&q, 20, v->num);
    return query_run(&q, err);
}

uar_status shelf_flush(uar_memory *m, uar_error *err) {
    for (size_t i = 0; i < m->shelf.count; i++) {
        shelf_touched *t = &m->shelf.touched[i];
        if (!t->is_dirty) continue;
        t->generation++;
        uar_status status = t->gone.count != 0 ? shelf_pack_gone(m, t, err) : UAR_OK;
        if (status == UAR_OK) status = shelf_pack_loose(m, t, err);
        if (status == UAR_OK) status = store_segment(m, t, err);
        if (status != UAR_OK) return status;
        t->is_dirty = false;
    }
    return UAR_OK;
}

void shelf_settle(uar_memory *m, bool is_committed) {
    for (size_t i = 0; i < m->shelf.count; i++) {
        if (!is_committed) engine_forget(&m->shelf.engine, m->shelf.touched[i].seg);
        alloc_free(&m->alloc, m->shelf.touched[i].gone.list);
    }
    m->shelf.count = 0;
}

void shelf_trim(uar_memory *m) {
    assert(m->shelf.count == 0);
    engine_trim(&m->shelf.engine);
    alloc_free(&m->alloc, m->shelf.touched);
    m->shelf.touched = NULL;
    m->shelf.cap = 0;
}

size_t memory_trim(uar_memory *memory) {
    if (memory_enter(memory, NULL) != UAR_OK) return 0;
    size_t before = engine_bytes(&memory->shelf.engine);
    shelf_trim(memory);
    size_t after = engine_bytes(&memory->shelf.engine);
    (void)sqlite3_db_release_memory(memory->database.handle);
    memory_leave(memory);
    return before > after ? before - after : 0;
}

uar_status shelf_vector(float *out, bool *found, uar_memory *m, int64_t num, uar_error *err) {
    *found = false;
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_GET);
    query_int(&q, 18, num);
    bool is_sound = true;
    if (query_next(&q) && query_get_int(&q, 0) == m->embed.model && shelf_has_vectors(m)) {
        is_sound = shelf_vector_read(out, m->embedder.dims, query_get_text(&q, 3));
        *found = is_sound;
    }
    uar_status status = query_end(&q, err);
    if (status == UAR_OK && !is_sound) return error_set(err, UAR_E_CORRUPT, "a vector of the memory is damaged");
    return status;
}

/* Build a segment's index from nothing. */
static uar_status forget_index(uar_memory *m, shelf_touched *t, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_CHUNK_DROP_ALL);
    query_int(&q, 18, t->seg);
    uar_status status = query_run(&q, err);
    if (status != UAR_OK) return status;
    query_begin(&q, &m->database, SQL_LOOSE_DROP);
    query_int(&q, 18, t->seg);
    query_int(&q, 19, INT64_MIN);
    query_int(&q, 20, INT64_MAX);
    status = query_run(&q, err);
    if (status != UAR_OK) return status;
    query_begin(&q, &m->database, SQL_SEGMENT_COUNTS);
    query_int(&q, 18, t->seg);
    query_int(&q, 19, 0);
    if (query_next(&q)) {
        t->records = t->fresh = query_get_int(&q, 0);
        int64_t newest = query_get_int(&q, 1);
        if (newest > t->newest) t->newest = newest;
    }
    return query_end(&q, err);
}

uar_status shelf_find_damaged(int64_t *num, uar_memory *m, int64_t seg, int64_t after, uar_error *err) {
    float *room = (float *)alloc_bytes(&m->alloc, VECTOR_DIMS_MAX * sizeof(float));
    if (room == NULL) return error_plain(err, UAR_E_NOMEM);
    query q;
    query_begin(&q, &m->database, SQL_VECTOR_OF_SEGMENT);
    query_int(&q, 18, seg);
    query_int(&q, 19, after);
    *num = 0;
    while (*num == 0 && query_next(&q)) {
        int64_t dims = query_get_int(&q, 1);
        bool is_sound =
            dims > 0 && dims <= VECTOR_DIMS_MAX && shelf_vector_read(room, (size_t)dims, query_get_text(&q, 2));
        if (!is_sound) *num = query_get_int(&q, 0);
    }
    alloc_free(&m->alloc, room);
    return query_end(&q, err);
}

/* Vectors can be made anew from their texts, so that a damaged one must not stand in the way. */
static uar_status void_damaged(uar_memory *m, int64_t seg, uar_error *err) {
    int64_t num = 0;
    do {
        uar_status status = shelf_find_damaged(&num, m, seg, num, err);
        if (status != UAR_OK || num == 0) return status;
        query q;
        query_begin(&q, &m->database, SQL_VECTOR_VOID);
        query_int(&q, 18, num);
        status = query_run(&q, err);
        if (status != UAR_OK) return status;
    } while (true);
}

uar_status shelf_rebuild(uar_memory *m, int64_t seg, uar_error *err) {
    shelf_touched *t = NULL;
    uar_status status = touch(&t, m, seg, err);
    if (status == UAR_OK) status = forget_index(m, t, err);
    if (status == UAR_OK) status = void_damaged(m, seg, err);
    if (status != UAR_OK) return status;
    t->packed = 0;
    t->gone.count = 0;
    t->edits++;
    t->is_dirty = true;
    return shelf_flush(m, err);
}
