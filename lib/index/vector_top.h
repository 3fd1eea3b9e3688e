/*
 * The nearest of many rows, exactly: the ids and the order that a comparison with all the vectors themselves would give.
 * One pass over the codes keeps the rows that may be among the nearest, by the error that a score can have; the vectors of
 * these few are fetched, likely ones first, until no other can come in any more. With sheets of bits a row in some hundreds
 * is missed; the others are as exact.
 */
#ifndef UAR_LIB_INDEX_VECTOR_TOP_H
#define UAR_LIB_INDEX_VECTOR_TOP_H

#include "index/vector_bits.h"

/* Rows that lie together. Borrowed for the call. */
typedef struct vector_block {
    const int8_t *rows; /* count * vector_stride(dims) bytes */
    const float *scales;
    const int64_t *keys;
    size_t count;         /* below 2^32 */
    const uint64_t *mask; /* row r takes part if bit r % 64 of word r / 64 is set; NULL: all do */
    const float *sheet;   /* of vector_bits_build: rows that it rules out aren't looked at. NULL, or a mask: all are */
} vector_block;

/* Where the vectors themselves are read: `dims` numbers into `out`. A status that isn't UAR_OK ends the search with it. */
typedef struct vector_source {
    void *ctx;
    uar_status (*fetch)(void *ctx, float *out, size_t block, size_t row);
} vector_source;

typedef struct vector_hit {
    int64_t key;
    float cosine; /* vector_dot of the query and the vector */
    uint32_t block, row;
} vector_hit;

/*
 * The `*count` <= k rows of highest cosine into `hits`, which has room for k; highest first, of equal ones the higher key.
 * UAR_E_NOMEM and what the source answers; `*count` and `hits` are untouched then.
 */
uar_status vector_top(vector_hit *hits, size_t *count, size_t k, const vector_query *q, const vector_block *blocks,
                      size_t block_count, vector_source source);

#endif
