/* Owns: writing chunks. Invariant: what it writes, chunk_open accepts. */
#include <assert.h>

#include "index/chunk.h"
#include "index/little.h"
#include "index/vector.h"

static const uint8_t magic[8] = { 'u', 'a', 'r', 'c', 'h', 'n', 'k', 2 };

/* One term in one document. */
typedef struct occurrence {
    uint64_t term;
    uint16_t posting;
} occurrence;

static void put_bytes(buffer *out, const void *bytes, size_t len) {
    buffer_append(out, bytes, len);
}

static void put_u32(buffer *out, uint32_t value) {
    uint8_t bytes[4];
    little_put32(bytes, value);
    put_bytes(out, bytes, sizeof bytes);
}

static void put_u64(buffer *out, uint64_t value) {
    uint8_t bytes[8];
    little_put64(bytes, value);
    put_bytes(out, bytes, sizeof bytes);
}

static void put_zeros(buffer *out, size_t count) {
    if (count == 0 || buffer_reserve(out, count) == NULL) return;
    out->len += count;
}

/* `start` is where the chunk begins in the buffer. */
static void pad(buffer *out, size_t start) {
    put_zeros(out, (CHUNK_ALIGN - (out->len - start) % CHUNK_ALIGN) % CHUNK_ALIGN);
}

static void put_document(buffer *out, const document *d) {
    uint8_t p[CHUNK_DOCUMENT];
    memset(p, 0, sizeof p);
    little_put64(p, (uint64_t)d->key);
    little_put64(p + 8, (uint64_t)d->created_ms);
    little_put64(p + 16, (uint64_t)d->valid_from_ms);
    little_put64(p + 24, (uint64_t)d->valid_until_ms);
    little_put64(p + 32, d->group);
    little_put32(p + 40, d->length);
    for (size_t i = 0; i < DOCUMENT_PLACES; i++)
        little_put32(p + 44 + 4 * i, d->places[i]);
    little_put32(p + 60, d->labels);
    uint32_t bits = 0;
    memcpy(&bits, &d->importance, sizeof bits);
    little_put32(p + 64, bits);
    p[68] = d->trust;
    p[69] = d->type;
    p[70] = d->is_current ? 1 : 0;
    put_bytes(out, p, sizeof p);
}

static void list_occurrences(occurrence *list, const document_item *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t t = 0; t < items[i].term_count; t++) {
            term one = term_unpack(items[i].terms + t * TERM_PACKED);
            uint32_t times = one.count < DOCUMENT_TERM_COUNT_MAX ? one.count : DOCUMENT_TERM_COUNT_MAX;
            *list++ = (occurrence){ one.id, (uint16_t)(i | times << 10) };
        }
    }
}

static void merge_runs(occurrence *to, const occurrence *from, size_t left, size_t middle, size_t right) {
    size_t a = left;
    size_t b = middle;
    for (size_t at = left; at < right; at++) {
        if (b >= right || (a < middle && from[a].term <= from[b].term))
            to[at] = from[a++];
        else
            to[at] = from[b++];
    }
}

/* Terms of one document are sorted already: its list is a run to begin with. Stable, so documents stay in order. Returns
 * which of the two lists is sorted. */
static occurrence *sort_occurrences(occurrence *list, occurrence *spare, size_t *runs, size_t run_count) {
    while (run_count > 1) {
        size_t merged = 0;
        for (size_t r = 0; r < run_count; r += 2) {
            size_t middle = runs[r + 1];
            size_t right = r + 2 <= run_count ? runs[r + 2] : middle;
            merge_runs(spare, list, runs[r], middle, right);
            runs[merged++] = runs[r];
        }
        runs[merged] = runs[run_count];
        run_count = merged;
        occurrence *sorted = spare;
        spare = list;
        list = sorted;
    }
    return list;
}

static uint32_t count_terms(const occurrence *list, size_t count) {
    uint32_t terms = 0;
    for (size_t i = 0; i < count; i++)
        terms += i == 0 || list[i].term != list[i - 1].term;
    return terms;
}

static void put_index(buffer *out, const occurrence *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (i == 0 || list[i].term != list[i - 1].term) put_u64(out, list[i].term);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || list[i].term != list[i - 1].term) put_u32(out, (uint32_t)i);
    put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const char bytes[2] = { (char)(uint8_t)list[i].posting, (char)(uint8_t)(list[i].posting >> 8) };
        buffer_append(out, bytes, sizeof bytes);
    }
}

static void put_float(buffer *out, float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    put_u32(out, bits);
}

static uint32_t count_vectors(const document_item *items, size_t count) {
    uint32_t vectors = 0;
    for (size_t i = 0; i < count; i++)
        vectors += items[i].vector != NULL;
    return vectors;
}

static uar_status put_sums(buffer *out, const document_item *items, size_t count, size_t dims) {
    if (dims == 0) return UAR_OK;
    float *sums = (float *)alloc_zeroed(out->alloc, dims, sizeof *sums);
    if (sums == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; items[i].vector != NULL && d < dims; d++)
            sums[d] += items[i].vector[d];
    for (size_t d = 0; d < dims; d++)
        put_float(out, sums[d]);
    alloc_free(out->alloc, sums);
    return UAR_OK;
}

static void put_vectors(buffer *out, size_t start, const document_item *items, size_t count, size_t dims) {
    pad(out, start);
    size_t stride = vector_stride(dims);
    size_t scales_at = out->len;
    put_zeros(out, count * 4);
    pad(out, start);
    size_t codes_at = out->len;
    put_zeros(out, count * stride);
    if (out->status != UAR_OK) return;
    for (size_t i = 0; i < count; i++) {
        if (items[i].vector == NULL) continue;
        float scale = 0;
        vector_encode((int8_t *)(out->ptr + codes_at + i * stride), &scale, items[i].vector, dims);
        uint32_t bits = 0;
        memcpy(&bits, &scale, sizeof bits);
        little_put32((uint8_t *)out->ptr + scales_at + i * 4, bits);
    }
}

typedef struct build {
    occurrence *list, *spare;
    size_t *runs;
    size_t total;
} build;

static uar_status build_begin(build *b, const uar_allocator *a, const document_item *items, size_t count) {
    b->total = 0;
    b->runs = (size_t *)alloc_bytes(a, (count + 1) * sizeof *b->runs);
    if (b->runs == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        b->runs[i] = b->total;
        b->total += items[i].term_count;
    }
    b->runs[count] = b->total;
    b->list = (occurrence *)alloc_bytes(a, (b->total + 1) * sizeof(occurrence));
    b->spare = (occurrence *)alloc_bytes(a, (b->total + 1) * sizeof(occurrence));
    if (b->list == NULL || b->spare == NULL) return UAR_E_NOMEM;
    list_occurrences(b->list, items, count);
    return UAR_OK;
}

static void build_end(build *b, const uar_allocator *a) {
    alloc_free(a, b->list);
    alloc_free(a, b->spare);
    alloc_free(a, b->runs);
}

static void put_head(buffer *out, const chunk_head *head) {
    size_t start = out->len;
    put_bytes(out, magic, sizeof magic);
    put_u32(out, head->count);
    put_u32(out, head->terms);
    put_u32(out, head->postings);
    put_u32(out, head->dims);
    put_u32(out, head->vectors);
    put_u64(out, head->model);
    if (out->status == UAR_OK) put_zeros(out, CHUNK_HEAD - (out->len - start));
}

uar_status chunk_build(buffer *out, const document_item *items, size_t count, size_t dims, uint64_t model,
                       const uint8_t mark[CHUNK_MARK]) {
    assert(count != 0 && count <= CHUNK_DOCUMENTS);
    build b = { NULL, NULL, NULL, 0 };
    uar_status status = build_begin(&b, out->alloc, items, count);
    if (status == UAR_OK) {
        const occurrence *sorted = sort_occurrences(b.list, b.spare, b.runs, count);
        size_t start = out->len;
        chunk_head head = { .count = (uint32_t)count,
                            .terms = count_terms(sorted, b.total),
                            .postings = (uint32_t)b.total,
                            .dims = (uint32_t)dims,
                            .vectors = dims != 0 ? count_vectors(items, count) : 0,
                            .model = dims != 0 ? model : 0 };
        put_head(out, &head);
        put_bytes(out, mark, CHUNK_MARK);
        put_zeros(out, CHUNK_SEALS);
        for (size_t i = 0; i < count; i++)
            put_document(out, &items[i].at);
        status = put_sums(out, items, count, dims);
        pad(out, start);
        put_index(out, sorted, b.total);
        if (dims != 0) put_vectors(out, start, items, count, dims);
        put_bytes(out, mark, CHUNK_MARK);
        if (status == UAR_OK) status = out->status;
        if (status == UAR_OK) chunk_seal((uint8_t *)out->ptr + start, &head);
    }
    build_end(&b, out->alloc);
    return status;
}
