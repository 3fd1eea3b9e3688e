/* Owns: the engine's view of the store. Invariant: everything is read inside the transaction or snapshot of the caller. */
#include "memory/shelf_pack.h"

#include "base/buffer.h"
#include "base/str.h"
#include "index/little.h"

uint32_t shelf_place(const database *db, uar_str text) {
    uint32_t number = (uint32_t)(term_hash(db->key, text) >> 32);
    return number != 0 ? number : 1;
}

uint32_t shelf_label(const database *db, uar_str label) {
    return UINT32_C(1) << (term_hash(db->key, label) & 31);
}

static uint32_t labels_of(const database *db, uar_str joined) {
    uint32_t bits = 0;
    size_t from = 0;
    for (size_t i = 0; i <= joined.len; i++) {
        if (i < joined.len && joined.ptr[i] != LABEL_SEPARATOR) continue;
        if (i > from) bits |= shelf_label(db, uar_str_n(joined.ptr + from, i - from));
        from = i + 1;
    }
    return bits;
}

/* A conversation is a session of one user: two users' sessions may have one name. */
static uint64_t group_of(const database *db, uar_str user, uar_str session) {
    if (str_is_empty(session)) return 0;
    const uint64_t parts[2] = { term_hash(db->key, user), term_hash(db->key, session) };
    char bytes[sizeof parts];
    memcpy(bytes, parts, sizeof parts);
    uint64_t group = term_hash(db->key, uar_str_n(bytes, sizeof bytes));
    return group != 0 ? group : 1;
}

static void read_places(document *d, query *q, const database *db) {
    uar_str names[DOCUMENT_PLACES];
    for (int i = 0; i < DOCUMENT_PLACES; i++) {
        names[i] = query_get_text(q, 9 + i);
        d->places[i] = names[i].ptr != NULL ? shelf_place(db, names[i]) : 0;
    }
    uar_str origin = query_get_text(q, 13);
    d->group = group_of(db, names[0], str_is_empty(names[2]) ? origin : names[2]);
    d->labels = labels_of(db, query_get_text(q, 14));
}

bool shelf_vector_read(float *out, size_t dims, uar_str stored) {
    if (stored.len != dims * 4 + SHELF_VECTOR_SUM) return false;
    const uint8_t *p = (const uint8_t *)stored.ptr;
    if (little_u64(p + dims * 4) != chunk_sum(p, dims * 4)) return false;
    double sum = 0;
    for (size_t i = 0; i < dims; i++) {
        uint32_t bits = little_u32(p + i * 4);
        memcpy(&out[i], &bits, sizeof bits);
        sum += (double)out[i] * (double)out[i];
    }
    return sum > 0.99 && sum < 1.01;
}

uar_status shelf_item_read(document_item *out, float *room, size_t dims, query *q, const uar_memory *m) {
    document_item item;
    memset(&item, 0, sizeof item);
    document *d = &item.at;
    d->key = query_get_int(q, 0);
    d->created_ms = query_get_int(q, 1);
    d->valid_from_ms = query_get_int(q, 2);
    d->valid_until_ms = query_get_int(q, 3);
    int64_t length = query_get_int(q, 4);
    double importance = query_get_real(q, 5);
    int64_t trust = query_get_int(q, 6);
    int64_t type = query_get_int(q, 7);
    d->is_current = query_get_int(q, 8) == 1;
    read_places(d, q, &m->database);
    uar_str terms = query_get_text(q, 15);
    uar_str value = query_get_text(q, 16);
    if (q->code != SQLITE_OK) return UAR_E_NOMEM;
    bool is_sound = d->key > 0 && length > 0 && length <= UINT32_MAX && importance >= 0 && importance <= 1 &&
                    trust > 0 && trust < 256 && type > 0 && type < 32 && terms.len % TERM_PACKED == 0 &&
                    terms.len / TERM_PACKED <= DOCUMENT_TERMS_MAX;
    if (!is_sound) return UAR_E_CORRUPT;
    d->length = (uint32_t)length;
    d->importance = (float)importance;
    d->trust = (uint8_t)trust;
    d->type = (uint8_t)type;
    item.terms = (const uint8_t *)terms.ptr;
    item.term_count = terms.len / TERM_PACKED;
    if (value.ptr != NULL && room != NULL) {
        if (!shelf_vector_read(room, dims, value)) return UAR_E_CORRUPT;
        item.vector = room;
    }
    *out = item;
    return UAR_OK;
}

static uar_status list_chunks(void *ctx, int64_t segment, chunk_fn each, void *arg, uar_error *err) {
    uar_memory *m = (uar_memory *)ctx;
    query q;
    query_begin(&q, &m->database, SQL_CHUNK_LIST);
    query_int(&q, 18, segment);
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(&q)) {
        chunk_place one = { query_get_int(&q, 0), query_get_int(&q, 1), (uint64_t)query_get_int(&q, 2) };
        status = each(arg, &one);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status != UAR_OK) return error_plain(err, status);
    return end;
}

/* Past the end of a value that is shorter than its row says, SQLite answers an error. */
static uar_status read_chunk(void *ctx, int64_t chunk, uint64_t at, void *out, size_t len, uar_error *err) {
    uar_memory *m = (uar_memory *)ctx;
    database *db = &m->database;
    sqlite3_blob *blob = NULL;
    if (len == 0) return UAR_OK;
    int code = sqlite3_blob_open(db->handle, "main", "chunk", "body", chunk, 0, &blob);
    if (code == SQLITE_OK && at + len > (uint64_t)sqlite3_blob_bytes(blob)) {
        sqlite3_blob_close(blob);
        return error_set(err, UAR_E_CORRUPT, "a chunk of the memory index is too short");
    }
    if (code == SQLITE_OK) code = sqlite3_blob_read(blob, out, (int)len, (int)at);
    uar_status status = code == SQLITE_OK ? UAR_OK : database_fault(db, code, err);
    sqlite3_blob_close(blob);
    return status;
}

static uar_status visit(query *q, uar_memory *m, document_fn each, void *arg, uar_error *err) {
    bool has_vectors = shelf_has_vectors(m);
    float *room = has_vectors ? (float *)alloc_zeroed(&m->alloc, m->embedder.dims, sizeof(float)) : NULL;
    uar_status status = has_vectors && room == NULL ? UAR_E_NOMEM : UAR_OK;
    while (status == UAR_OK && query_next(q)) {
        document_item item;
        status = shelf_item_read(&item, room, m->embedder.dims, q, m);
        if (status == UAR_OK) status = each(arg, &item);
    }
    uar_status end = query_end(q, status == UAR_OK ? err : NULL);
    alloc_free(&m->alloc, room);
    if (status == UAR_E_CORRUPT) return error_set(err, status, "a memory record has values that it can't have");
    if (status != UAR_OK) return error_plain(err, status);
    return end;
}

static uar_status list_loose(void *ctx, const segment_state *now, int64_t after, int64_t since, document_fn each,
                             void *arg, uar_error *err) {
    uar_memory *m = (uar_memory *)ctx;
    query q;
    query_begin(&q, &m->database, SQL_SHELF_RANGE);
    query_int(&q, 18, now->id);
    query_int(&q, 19, after);
    query_int(&q, 20, INT64_MAX);
    query_int(&q, 21, m->embed.model);
    query_int(&q, 22, -1);
    uar_status status = visit(&q, m, each, arg, err);
    if (status != UAR_OK) return status;
    query_begin(&q, &m->database, SQL_SHELF_CHANGED);
    query_int(&q, 18, now->id);
    query_int(&q, 19, after);
    query_int(&q, 20, since);
    query_int(&q, 21, m->embed.model);
    return visit(&q, m, each, arg, err);
}

static uar_status read_vector(void *ctx, int64_t key, float *out, bool *found, uar_error *err) {
    return shelf_vector(out, found, (uar_memory *)ctx, key, err);
}

bool shelf_has_vectors(const uar_memory *m) {
    return m->embed.model != 0 && !embed_is_lexical(m);
}

index_source shelf_source(uar_memory *m) {
    bool has_vectors = shelf_has_vectors(m);
    return (index_source){ .ctx = m,
                           .dims = has_vectors ? m->embedder.dims : 0,
                           .model = (uint64_t)m->embed.model,
                           .chunks = list_chunks,
                           .read = read_chunk,
                           .loose = list_loose,
                           .vector = read_vector };
}

/* The first character of a segment's key is the number of its scope. */
static bool is_of_scope(uar_str key, uint32_t scopes) {
    return scopes == 0 || (key.len != 0 && key.ptr[0] > '0' && key.ptr[0] < '6' && (scopes >> (key.ptr[0] - '0') & 1));
}

uar_status shelf_segments(segment_state **out, size_t *count, uar_memory *m, const caller *c, uint32_t scopes,
                          uar_error *err) {
    buffer list;
    buffer_init(&list, &m->alloc, SIZE_MAX / 4);
    query q;
    query_begin(&q, &m->database, SQL_SEGMENTS_SEEN);
    caller_bind(&q, c);
    while (query_next(&q)) {
        segment_state s = { query_get_int(&q, 0), query_get_int(&q, 1), query_get_int(&q, 2), query_get_int(&q, 3),
                            query_get_int(&q, 5) };
        if (s.generation > 0 && is_of_scope(query_get_text(&q, 4), scopes)) buffer_append(&list, &s, sizeof s);
    }
    uar_status status = query_end(&q, err);
    if (status == UAR_OK && list.status != UAR_OK) status = error_plain(err, list.status);
    size_t len = list.len;
    if (status == UAR_OK && len == 0) buffer_append_char(&list, 0); /* so that there is something to hand out */
    char *bytes = status == UAR_OK ? buffer_take(&list, NULL) : NULL;
    buffer_dispose(&list);
    if (status == UAR_OK && bytes == NULL) status = error_plain(err, UAR_E_NOMEM);
    if (status != UAR_OK) return status;
    *out = (segment_state *)(void *)bytes;
    *count = len / sizeof **out;
    return UAR_OK;
}
