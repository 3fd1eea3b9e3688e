/* Owns: re-embedding. Invariant: a vector is only written for the text that it was made of. */
#include "memory/reembed.h"

#include "base/arena.h"
#include "base/error.h"
#include "memory/service.h"
#include "memory/shelf.h"

/* The records of one step. */
typedef struct batch {
    arena ar;
    size_t count;
    int64_t nums[EMBED_BATCH], digests[EMBED_BATCH];
    uar_str texts[EMBED_BATCH];
    bool has_vector[EMBED_BATCH];
    float *vectors;
} batch;

static uar_status count_rows(reembed *s, uar_memory *m, uar_error *err) {
    if (s->begun) return UAR_OK;
    uar_status status = shelf_count_unembedded(&s->total, m, err);
    s->begun = status == UAR_OK;
    return status;
}

/* Inside a snapshot. */
static uar_status load(batch *b, reembed *s, uar_memory *m, uar_error *err) {
    uar_status status = count_rows(s, m, err);
    if (status == UAR_OK) status = shelf_unembedded(b->nums, &b->count, EMBED_BATCH, m, s->after, err);
    for (size_t i = 0; status == UAR_OK && i < b->count; i++) {
        version v;
        status = version_load(&v, &m->database, b->nums[i], &b->ar, err);
        if (status != UAR_OK) return status;
        b->texts[i] = v.r.content;
        b->digests[i] = v.digest;
    }
    return status;
}

/* Trying other records would be of no use now. */
static bool ends_work(uar_status status) {
    uar_band band = uar_status_band(status);
    return band == UAR_BAND_RETRY || band == UAR_BAND_STORE || band == UAR_BAND_FATAL || status == UAR_E_CANCELLED ||
           status == UAR_E_WOULD_DEADLOCK || status == UAR_E_UNSUPPORTED;
}

static void take_vector(batch *b, size_t i, const float *vector, size_t dims) {
    memcpy(b->vectors + i * dims, vector, dims * sizeof *vector);
    b->has_vector[i] = true;
}

/* A text that the embedder refuses must not stop the others. If it takes none of them, it is the embedder. */
static uar_status embed_singly(batch *b, reembed *s, uar_memory *m, uar_error *err) {
    uint64_t refused = 0;
    uar_error why = UAR_ERROR_INIT;
    for (size_t i = 0; i < b->count; i++) {
        float *vector = NULL;
        uar_status status = memory_embed(&vector, m, UAR_EMBED_PASSAGE, &b->texts[i], 1, &why);
        if (status == UAR_OK)
            take_vector(b, i, vector, m->embedder.dims);
        else if (ends_work(status))
            return error_pass(err, status, &why);
        else
            refused++;
        alloc_free(&m->alloc, vector);
    }
    if (refused == b->count) return error_copy(err, &why);
    s->refused += refused;
    s->reason = why;
    return UAR_OK;
}

static uar_status embed(batch *b, reembed *s, uar_memory *m, uar_error *err) {
    size_t dims = m->embedder.dims;
    float *vectors = NULL;
    uar_error why = UAR_ERROR_INIT;
    uar_status status = memory_embed(&vectors, m, UAR_EMBED_PASSAGE, b->texts, b->count, &why);
    if (status == UAR_OK) {
        b->vectors = vectors;
        for (size_t i = 0; i < b->count; i++)
            b->has_vector[i] = true;
        return UAR_OK;
    }
    if (ends_work(status)) return error_pass(err, status, &why);
    b->vectors = (float *)alloc_zeroed(&m->alloc, b->count, dims * sizeof *b->vectors);
    if (b->vectors == NULL) return error_plain(err, UAR_E_NOMEM);
    return embed_singly(b, s, m, err);
}

/* Inside a transaction. A record that is gone or says something else by now needs nothing. */
static uar_status put(const batch *b, size_t i, uar_memory *m, uar_error *err) {
    arena ar;
    arena_init(&ar, &m->alloc);
    version v;
    uar_status status = version_load(&v, &m->database, b->nums[i], &ar, err);
    if (status == UAR_OK && v.digest == b->digests[i] && v.length != 0)
        status = shelf_put(m, &v, b->vectors + i * m->embedder.dims, err);
    arena_dispose(&ar);
    return status == UAR_E_NOT_FOUND ? UAR_OK : status;
}

static uar_status write_vectors(const batch *b, uar_memory *m, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    for (size_t i = 0; i < b->count && status == UAR_OK; i++)
        if (b->has_vector[i]) status = put(b, i, m, err);
    return memory_leave_write(m, status, err);
}

static uar_status finish(reembed *s, uar_error *err) {
    s->over = true;
    if (s->refused == 0) return UAR_OK;
    return error_set(err, s->reason.code, "%llu records have no vector: %s", (unsigned long long)s->refused,
                     s->reason.message);
}

static uar_status do_step(batch *b, reembed *s, uar_memory *m, uar_error *err) {
    uar_status status = memory_enter_read(m, err);
    if (status != UAR_OK) return status;
    status = load(b, s, m, err);
    memory_leave_read(m);
    if (status != UAR_OK) return status;
    if (b->count == 0) return finish(s, err);
    status = embed(b, s, m, err);
    if (status == UAR_OK) status = write_vectors(b, m, err);
    if (status != UAR_OK) return status;
    s->after = b->nums[b->count - 1];
    s->done += b->count;
    if (s->done > s->total) s->total = s->done;
    return UAR_OK;
}

uar_status reembed_step(reembed *s, uar_memory *m, uar_error *err) {
    uar_status status = memory_usable(m, err);
    if (status != UAR_OK) return status;
    if (embed_is_lexical(m)) {
        s->over = true;
        return UAR_OK;
    }
    if (m->database.read_only) return error_set(err, UAR_E_READ_ONLY, "the memory store was opened for reading");
    status = embed_register(m, err); /* before rows are looked for that lack a vector of it */
    if (status != UAR_OK) return status;
    batch *b = ALLOC_NEW(&m->alloc, batch);
    if (b == NULL) return error_plain(err, UAR_E_NOMEM);
    arena_init(&b->ar, &m->alloc);
    status = do_step(b, s, m, err);
    arena_dispose(&b->ar);
    alloc_free(&m->alloc, b->vectors);
    alloc_free(&m->alloc, b);
    return status;
}

uar_status uar_memory_reembed_sync(uar_memory *memory, uar_memory_progress_fn progress, void *ctx, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    memory_pin(memory);
    reembed s = { .over = false };
    while (status == UAR_OK && !s.over) {
        status = reembed_step(&s, memory, err);
        if (status != UAR_OK || s.over || progress == NULL) continue;
        status = progress(ctx, s.done, s.total);
        if (status != UAR_OK) error_set(err, status, "re-embedding was stopped by who watched it");
    }
    memory_unpin(memory);
    return status;
}

uar_status uar_memory_embedding_sync(uar_memory_embedding *out, uar_memory *memory, uar_error *err) {
    size_t size = out->size;
    if (size < sizeof size || size > sizeof *out)
        return error_set(err, UAR_E_STRUCT, "uar_memory_embedding: its size is not one that this library knows");
    uar_status status = memory_enter_read(memory, err);
    if (status != UAR_OK) return status;
    uar_memory_embedding e = { .size = size, .model = memory->embedder_id };
    int64_t searchable = 0;
    if (!embed_is_lexical(memory)) {
        e.dims = memory->embedder.dims;
        status = statement_number(&searchable, &memory->database, SQL_SEARCHABLE_COUNT, err);
        if (status == UAR_OK) status = shelf_count_unembedded(&e.unembedded, memory, err);
    }
    memory_leave_read(memory);
    if (status != UAR_OK) return status;
    e.embedded = (uint64_t)searchable - e.unembedded;
    memcpy(out, &e, size);
    return UAR_OK;
}
