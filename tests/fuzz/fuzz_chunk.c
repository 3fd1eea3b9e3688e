/*
 * Any bytes as a chunk of the search index: head, documents, sums and body are refused as damaged, or can be searched in all
 * ways without reading behind their ends. The first 64 bytes are the head, as they are or with the right magic (by the last
 * byte of the input); what follows is laid behind the head's fixed room and cut or filled up to the size that the head tells.
 */
#include <stdint.h>

#include "fuzz/property.h"
#include "index/engine.h"
#include "support/probe_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MOST ((size_t)1 << 20)

typedef struct stored {
    uint8_t *bytes;
    size_t size;
} stored;

static uar_status list_chunks(void *ctx, int64_t segment, chunk_fn each, void *arg, uar_error *err) {
    const stored *s = ctx;
    chunk_place at = { 1, 1, s->size };
    (void)segment;
    (void)err;
    return each(arg, &at);
}

static uar_status read_chunk(void *ctx, int64_t chunk, uint64_t at, void *out, size_t len, uar_error *err) {
    const stored *s = ctx;
    PROPERTY(chunk == 1 && at + len <= s->size);
    (void)err;
    memcpy(out, s->bytes + at, len);
    return UAR_OK;
}

static uar_status no_loose(void *ctx, const segment_state *now, int64_t after, int64_t since, document_fn each,
                           void *arg, uar_error *err) {
    (void)ctx, (void)now, (void)after, (void)since, (void)each, (void)arg, (void)err;
    return UAR_OK;
}

static void search(const stored *s, const uar_allocator *a, const chunk_head *head) {
    engine e;
    engine_init(&e, a, SIZE_MOST);
    float vector[64] = { 0.6f, 0.8f };
    size_t dims = head->dims <= 64 ? head->dims : 0;
    index_source source = { (void *)(uintptr_t)s, dims, head->model, list_chunks, read_chunk, no_loose, NULL };
    engine_term terms[3] = { { 0, ENGINE_WORD }, { UINT64_MAX, ENGINE_OPENING }, { 0, ENGINE_ASKS } };
    size_t ids_at = chunk_body_at(head);
    for (size_t i = 0; i < 3 && ids_at + i * 8 + 8 <= s->size; i++)
        memcpy(&terms[i].id, s->bytes + ids_at + i * 8, 8);
    engine_question q = { .terms = terms,
                          .term_count = 3,
                          .vector = dims != 0 ? vector : NULL,
                          .time_ms = 1000,
                          .as_of = head->count % 2 == 0,
                          .include_ended = true,
                          .limit = 5 };
    segment_state state = { 1, 1, 0, INT64_MAX, head->count };
    engine_answer *answer = NULL;
    uar_status status = engine_search(&answer, &e, &q, &state, 1, &source, NULL);
    PROPERTY(status == UAR_OK || status == UAR_E_CORRUPT);
    engine_hit hit;
    double last = 1e300;
    while (status == UAR_OK && engine_answer_next(answer, &hit)) {
        PROPERTY(hit.score >= 0 && hit.score <= last + 1e-5);
        last = hit.score;
    }
    engine_answer_free(answer);
    engine_trim(&e);
}

/* The bytes of the chunk, in a block of their own size. */
static stored lay_out(const uint8_t *data, size_t size, bool as_given, const uar_allocator *a) {
    uint8_t head_bytes[CHUNK_HEAD_USED] = { 'u', 'a', 'r', 'c', 'h', 'n', 'k', 2 };
    size_t from = as_given ? 0 : 8;
    if (size > from)
        memcpy(head_bytes + from, data + from, size < sizeof head_bytes ? size - from : sizeof head_bytes - from);
    chunk_head head = { 0 };
    size_t total = chunk_total_size(head_bytes);
    if (total < CHUNK_HEAD || total > SIZE_MOST || chunk_head_read(&head, head_bytes, total) != UAR_OK)
        total = CHUNK_HEAD + size;
    stored s = { alloc_zeroed(a, 1, total), total };
    PROPERTY(s.bytes != NULL);
    memcpy(s.bytes, head_bytes, sizeof head_bytes);
    if (size > sizeof head_bytes) {
        size_t rest = size - sizeof head_bytes;
        size_t room = total > CHUNK_DOCUMENTS_AT ? total - CHUNK_DOCUMENTS_AT : 0;
        if (room != 0) memcpy(s.bytes + CHUNK_DOCUMENTS_AT, data + sizeof head_bytes, rest < room ? rest : room);
    }
    /* Seals keep out damage, not an enemy, who can make them. */
    if (chunk_head_read(&head, s.bytes, s.size) == UAR_OK) chunk_seal(s.bytes, &head);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    probe_alloc probe;
    probe_alloc_init(&probe);
    stored s = lay_out(data, size - 1, (data[size - 1] & 1) != 0, &probe.door);
    chunk_head head;
    uar_status status = chunk_head_read(&head, s.bytes, s.size);
    PROPERTY(status == UAR_OK || status == UAR_E_CORRUPT);
    if (status == UAR_OK) {
        PROPERTY(chunk_body_at(&head) + chunk_body_size(&head) + CHUNK_MARK == s.size);
        search(&s, &probe.door, &head);
    }
    alloc_free(&probe.door, s.bytes);
    PROPERTY(probe.alive == 0);
    return 0;
}
