/* Owns: reading chunks. Invariant: a chunk that was opened can be searched without further checks, whatever its bytes. */
#include "index/chunk.h"

#include <assert.h>
#include <math.h>

#include "index/little.h"
#include "index/vector.h"

static const uint8_t magic[8] = { 'u', 'a', 'r', 'c', 'h', 'n', 'k', 2 };

static size_t aligned(size_t at) {
    return (at + CHUNK_ALIGN - 1) & ~(size_t)(CHUNK_ALIGN - 1);
}

size_t chunk_documents_size(const chunk_head *head) {
    return (size_t)head->count * CHUNK_DOCUMENT;
}

size_t chunk_sums_at(const chunk_head *head) {
    return CHUNK_DOCUMENTS_AT + chunk_documents_size(head);
}

size_t chunk_body_at(const chunk_head *head) {
    return aligned(chunk_sums_at(head) + (size_t)head->dims * 4);
}

/* Offsets in the body. */
typedef struct body_layout {
    size_t starts, postings, scales, codes, end;
} body_layout;

static body_layout lay_out(const chunk_head *head) {
    body_layout at;
    at.starts = (size_t)head->terms * 8;
    at.postings = at.starts + ((size_t)head->terms + 1) * 4;
    at.end = at.postings + (size_t)head->postings * 2;
    at.scales = aligned(at.end);
    at.codes = aligned(at.scales + (size_t)head->count * 4);
    if (head->dims != 0) at.end = at.codes + (size_t)head->count * vector_stride(head->dims);
    return at;
}

size_t chunk_body_size(const chunk_head *head) {
    return lay_out(head).end;
}

size_t chunk_total_size(const uint8_t bytes[CHUNK_HEAD_USED]) {
    chunk_head head = { little_u32(bytes + 8),  little_u32(bytes + 12), little_u32(bytes + 16),
                        little_u32(bytes + 20), little_u32(bytes + 24), little_u64(bytes + 28) };
    if (memcmp(bytes, magic, sizeof magic) != 0 || head.count == 0 || head.count > CHUNK_DOCUMENTS ||
        head.dims > VECTOR_DIMS_MAX || head.postings > CHUNK_DOCUMENTS * DOCUMENT_TERMS_MAX ||
        head.terms > head.postings || head.vectors > (head.dims != 0 ? head.count : 0))
        return 0;
    return chunk_body_at(&head) + chunk_body_size(&head) + CHUNK_MARK;
}

uar_status chunk_head_read(chunk_head *out, const uint8_t bytes[CHUNK_HEAD_USED], uint64_t size) {
    if (size == 0 || size != chunk_total_size(bytes)) return UAR_E_CORRUPT;
    *out = (chunk_head){ little_u32(bytes + 8),  little_u32(bytes + 12), little_u32(bytes + 16),
                         little_u32(bytes + 20), little_u32(bytes + 24), little_u64(bytes + 28) };
    return UAR_OK;
}

#define SUM_LANES 4

static uint64_t turn(uint64_t x) {
    return x << 29 | x >> 35;
}

/* Each step can be undone, so that two texts which differ in one word only never meet. */
static uint64_t stir(uint64_t state, uint64_t word) {
    return turn((state ^ word) * UINT64_C(0x9E3779B97F4A7C15)) + UINT64_C(0x632BE59BD9B4E019);
}

uint64_t chunk_sum(const uint8_t *bytes, size_t len) {
    uint64_t lanes[SUM_LANES] = { 1, 2, 3, 4 };
    size_t at = 0;
    for (; at + SUM_LANES * 8 <= len; at += SUM_LANES * 8)
        for (size_t i = 0; i < SUM_LANES; i++)
            lanes[i] = stir(lanes[i], little_u64(bytes + at + i * 8));
    uint64_t sum = len;
    for (size_t i = 0; i < SUM_LANES; i++)
        sum = stir(sum, lanes[i]);
    for (; at < len; at++)
        sum = stir(sum, bytes[at]);
    return sum ^ sum >> 32;
}

chunk_seals chunk_seals_read(const uint8_t bytes[CHUNK_SEALS]) {
    return (chunk_seals){ little_u64(bytes), little_u64(bytes + 8), little_u64(bytes + 16), little_u64(bytes + 24) };
}

void chunk_seal(uint8_t *chunk, const chunk_head *head) {
    uint8_t *seals = chunk + CHUNK_SEALS_AT;
    little_put64(seals, chunk_sum(chunk, CHUNK_HEAD_USED));
    little_put64(seals + 8, chunk_sum(chunk + CHUNK_DOCUMENTS_AT, chunk_documents_size(head)));
    little_put64(seals + 16, chunk_sum(chunk + chunk_sums_at(head), (size_t)head->dims * 4));
    little_put64(seals + 24, chunk_sum(chunk + chunk_body_at(head), chunk_body_size(head)));
}

static float little_float(const uint8_t *p) {
    uint32_t bits = little_u32(p);
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static document document_read(const uint8_t *p) {
    document d;
    memset(&d, 0, sizeof d);
    d.key = (int64_t)little_u64(p);
    d.created_ms = (int64_t)little_u64(p + 8);
    d.valid_from_ms = (int64_t)little_u64(p + 16);
    d.valid_until_ms = (int64_t)little_u64(p + 24);
    d.group = little_u64(p + 32);
    d.length = little_u32(p + 40);
    for (size_t i = 0; i < DOCUMENT_PLACES; i++)
        d.places[i] = little_u32(p + 44 + 4 * i);
    d.labels = little_u32(p + 60);
    d.importance = little_float(p + 64);
    d.trust = p[68];
    d.type = p[69];
    d.is_current = p[70] == 1;
    return d;
}

uar_status chunk_documents_read(document *out, const chunk_head *head, const uint8_t *bytes) {
    int64_t last = 0;
    for (size_t i = 0; i < head->count; i++) {
        const uint8_t *p = bytes + i * CHUNK_DOCUMENT;
        document d = document_read(p);
        if (d.key <= last || d.length == 0 || d.type >= 32 || p[70] > 1 || p[71] != 0 ||
            !(d.importance >= 0 && d.importance <= 1))
            return UAR_E_CORRUPT;
        last = d.key;
        out[i] = d;
    }
    return UAR_OK;
}

uar_status chunk_sums_add(float *sum, const chunk_head *head, const uint8_t *bytes) {
    for (size_t i = 0; i < head->dims; i++)
        if (!(fabsf(little_float(bytes + i * 4)) <= CHUNK_DOCUMENTS)) return UAR_E_CORRUPT;
    for (size_t i = 0; i < head->dims; i++)
        sum[i] += little_float(bytes + i * 4);
    return UAR_OK;
}

static bool postings_are_sound(const uint8_t *postings, size_t from, size_t to, uint32_t count) {
    uint32_t next = 0;
    for (size_t i = from; i < to; i++) {
        chunk_posting p = chunk_posting_at(postings, i);
        if (p.document < next || p.document >= count || p.count == 0) return false;
        next = p.document + 1;
    }
    return true;
}

static bool terms_are_sound(const chunk_view *c) {
    uint32_t from = little_u32(c->starts);
    if (from != 0) return false;
    for (size_t i = 0; i < c->head.terms; i++) {
        if (i != 0 && little_u64(c->ids + i * 8) <= little_u64(c->ids + (i - 1) * 8)) return false;
        uint32_t to = little_u32(c->starts + (i + 1) * 4);
        if (to <= from || to > c->head.postings) return false;
        if (!postings_are_sound(c->postings, from, to, c->head.count)) return false;
        from = to;
    }
    return from == c->head.postings;
}

static bool take_scales(uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++, bytes += 4) {
        float scale = little_float(bytes);
        if (!(scale >= 0 && scale <= 1)) return false;
        memcpy(bytes, &scale, sizeof scale);
    }
    return true;
}

uar_status chunk_open(chunk_view *out, const chunk_head *head, uint8_t *body) {
    assert(((uintptr_t)body & (CHUNK_ALIGN - 1)) == 0);
    body_layout at = lay_out(head);
    chunk_view c = { *head, body, body + at.starts, body + at.postings, NULL, NULL };
    if (!terms_are_sound(&c)) return UAR_E_CORRUPT;
    if (head->dims != 0) {
        if (!take_scales(body + at.scales, head->count)) return UAR_E_CORRUPT;
        c.scales = (const float *)(const void *)(body + at.scales);
        c.codes = (const int8_t *)(body + at.codes);
    }
    *out = c;
    return UAR_OK;
}

/* Ids are spread evenly, so that one lies about where its value says; from there the bounds are stepped to in strides that
 * double. Whatever the ids are, it takes few steps. */
static void narrow(const chunk_view *c, uint64_t id, size_t *from, size_t *to) {
    size_t count = c->head.terms;
    size_t guess = (size_t)(((id >> 32) * count) >> 32);
    size_t stride = 4;
    if (little_u64(c->ids + guess * 8) < id) {
        *from = guess + 1;
        size_t at = guess + stride;
        for (; at < count && little_u64(c->ids + at * 8) < id; at += stride) {
            *from = at + 1;
            stride *= 2;
        }
        *to = at < count ? at : count;
        return;
    }
    *to = guess;
    for (size_t at = guess; at > stride; stride *= 2) {
        at -= stride;
        if (little_u64(c->ids + at * 8) < id) {
            *from = at + 1;
            return;
        }
        *to = at;
    }
    *from = 0;
}

const uint8_t *chunk_find(const chunk_view *c, uint64_t id, size_t *count) {
    size_t from = 0;
    size_t to = 0;
    *count = 0;
    if (c->head.terms == 0) return c->postings;
    narrow(c, id, &from, &to);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (little_u64(c->ids + middle * 8) < id)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == c->head.terms || little_u64(c->ids + from * 8) != id) return c->postings;
    uint32_t start = little_u32(c->starts + from * 4);
    *count = little_u32(c->starts + (from + 1) * 4) - start;
    return c->postings + (size_t)start * 2;
}
