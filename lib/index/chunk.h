/*
 * Chunks: up to CHUNK_DOCUMENTS documents in one run of bytes that never changes: their attributes, an inverted index over
 * them, and the codes of their vectors. A chunk is derived data; it is read as if an enemy had written it.
 *
 * Layout, all numbers little-endian, in this order:
 *   head        CHUNK_HEAD bytes, zero behind what is used. It tells nothing of what the documents say. SQLite keeps the
 *               start of a long value beside other rows and may leave stray copies of it; the rest lies on pages of its own,
 *               which are overwritten when they are given up.
 *   mark        16 random bytes, so that stray copies of what follows can be found
 *   seals       u64 sums (chunk_sum) of the head's first CHUNK_HEAD_USED bytes, the documents, the sums and the body: a
 *               byte that changed by itself is found out before anything is made of it
 *   documents   72 bytes each, by rising key
 *   sums        f32 for each dimension: the sum of all vectors      (only if the chunk has dimensions)
 *   ids         u64 for each term, rising
 *   starts      u32 for each term and one more: where its postings begin
 *   postings    u16: document in the low ten bits, occurrences (1 to 63) above; rising documents in each term
 *   scales      f32 for each document; 0: it has no vector       } only if the chunk has dimensions, each from
 *   codes       vector_stride(dims) bytes for each document      } a multiple of 64 bytes on
 *   tail        the mark again
 * What follows the documents is the body; it begins at a multiple of 64 as well.
 */
#ifndef UAR_LIB_INDEX_CHUNK_H
#define UAR_LIB_INDEX_CHUNK_H

#include "base/buffer.h"
#include "index/document.h"

#define CHUNK_DOCUMENTS 1024
#define CHUNK_HEAD 4096
/* Bytes that chunk_head_read wants. */
#define CHUNK_HEAD_USED 64
#define CHUNK_MARK 16
#define CHUNK_DOCUMENT 72
#define CHUNK_ALIGN 64

typedef struct chunk_head {
    uint32_t count, terms, postings;
    uint32_t dims;    /* 0: no vectors */
    uint32_t vectors; /* documents that have one */
    uint64_t model;   /* keyed number of what made the vectors */
} chunk_head;

/* UAR_E_CORRUPT: these are not the first bytes of a chunk that has `size` bytes. */
uar_status chunk_head_read(chunk_head *out, const uint8_t bytes[CHUNK_HEAD_USED], uint64_t size);
/* The size that a chunk with this head has; 0: it is no head. */
size_t chunk_total_size(const uint8_t bytes[CHUNK_HEAD_USED]);
/* Where the parts lie. */
#define CHUNK_SEALS_AT (CHUNK_HEAD + CHUNK_MARK)
#define CHUNK_SEALS 32
#define CHUNK_DOCUMENTS_AT (CHUNK_SEALS_AT + CHUNK_SEALS)
size_t chunk_documents_size(const chunk_head *head);
size_t chunk_sums_at(const chunk_head *head);
size_t chunk_body_at(const chunk_head *head);
size_t chunk_body_size(const chunk_head *head); /* without the tail mark */

/* Sums of the parts, so that damage is told and not believed. Not against an enemy. */
typedef struct chunk_seals {
    uint64_t head, documents, sums, body;
} chunk_seals;

/* Any change of one aligned run of eight bytes changes it. */
uint64_t chunk_sum(const uint8_t *bytes, size_t len);
chunk_seals chunk_seals_read(const uint8_t bytes[CHUNK_SEALS]);
/* Put the seals into a chunk that is complete but for them. */
void chunk_seal(uint8_t *chunk, const chunk_head *head);

/* `out` has room for head->count documents, `bytes` chunk_documents_size bytes. UAR_E_CORRUPT. */
uar_status chunk_documents_read(document *out, const chunk_head *head, const uint8_t *bytes);

/* Add the sum of the chunk's vectors, head->dims numbers, to `sum`. UAR_E_CORRUPT leaves it as it was. */
uar_status chunk_sums_add(float *sum, const chunk_head *head, const uint8_t *bytes);

/* A body that was checked. */
typedef struct chunk_view {
    chunk_head head;
    const uint8_t *ids, *starts, *postings;
    const float *scales; /* NULL: no vectors */
    const int8_t *codes;
} chunk_view;

/* `body` has chunk_body_size bytes, begins at a multiple of CHUNK_ALIGN, may be changed here (numbers take the form of this
 * machine) and must stay. UAR_E_CORRUPT. */
uar_status chunk_open(chunk_view *out, const chunk_head *head, uint8_t *body);

typedef struct chunk_posting {
    uint32_t document, count;
} chunk_posting;

/* Postings of a term: where they begin; `count` gets how many. 0 if the term isn't here. */
const uint8_t *chunk_find(const chunk_view *c, uint64_t id, size_t *count);
static inline chunk_posting chunk_posting_at(const uint8_t *postings, size_t at) {
    unsigned p = (unsigned)postings[at * 2] | (unsigned)postings[at * 2 + 1] << 8;
    return (chunk_posting){ p & (CHUNK_DOCUMENTS - 1), p >> 10 };
}

/* Append the chunk of `count` items, 1 to CHUNK_DOCUMENTS, by rising key. `dims` 0: leave vectors out. The buffer's status
 * says how it went; UAR_E_NOMEM for working memory. */
uar_status chunk_build(buffer *out, const document_item *items, size_t count, size_t dims, uint64_t model,
                       const uint8_t mark[CHUNK_MARK]);

#endif
