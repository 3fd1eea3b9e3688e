/*
 * Vectors: rows of 8-bit codes of unit vectors, and how near they are to a query.
 *
 * A row stands for the vector scale * (code - dither), where the dither is a fixed number between -1/2 and 1/2 for each
 * dimension, the same for all rows. With it the rounding errors of a row are independent of each other and of the vector
 * and the query, whatever these are, so that the error of a cosine can be bounded far below the worst case: see
 * vector_query.slack. The query keeps 15 bits a dimension.
 *
 * Integer products are equal on every processor and so are scores made of them. No function reads behind a row.
 */
#ifndef UAR_LIB_INDEX_VECTOR_H
#define UAR_LIB_INDEX_VECTOR_H

#include "base/alloc.h"
#include "index/vector_kernel.h"

#define VECTOR_DIMS_MAX 16384

/* Makes `v` length 1. False, with `v` untouched: its length is 0, or a number is not finite. */
bool vector_normalise(float *v, size_t dims);
/* The same sum on every processor level. Also the cosine of two vectors of length 1. */
float vector_dot(const float *a, const float *b, size_t dims);

/* Bytes of one row of codes, padded: a multiple of 64. */
size_t vector_stride(size_t dims);
/* `v` of length 1, `dims` 1 to VECTOR_DIMS_MAX; `row` has vector_stride(dims) bytes, all of them are written. */
void vector_encode(int8_t *row, float *scale, const float *v, size_t dims);

/* The fixed number between -1/2 and 1/2 that is added to a dimension before rounding. Part of the stored format. */
float vector_dither(size_t dimension);

/* A prepared question. Read-only once made: many threads may scan with it. */
typedef struct vector_query {
    const uar_allocator *alloc;
    const vector_kernel *kernel;
    vector_operand operand;
    const float *v; /* the vector itself */
    size_t dims;
    void *block;  /* owns what the pointers above point at */
    float step;   /* value of one step of the operand's codes */
    float shift;  /* dot product of the query and the dither */
    float slack;  /* an exact cosine is off its score by at most scale * slack + margin, but for one row in 10^13 */
    float margin; /* rounding of the query's own codes and of single precision */
    /* With b a row's bits as signs: q·b = bit_step * sum by the table - bit_shift, nearly. */
    float bit_step, bit_shift;
} vector_query;

/* `v` of length 1, copied. The processor's best kernel. UAR_E_INVALID: no such size, or not of length 1; UAR_E_NOMEM. */
uar_status vector_query_init(vector_query *q, const uar_allocator *a, const float *v, size_t dims);
/* Accepts an initialised query only, once. */
void vector_query_dispose(vector_query *q);
/* Scores of `count` consecutive rows: approximate cosines. */
void vector_scan(float *scores, const vector_query *q, const int8_t *rows, const float *scales, size_t count);
/* The same for the rows that `which` names, `count` of them; NULL: they are the first ones. */
void vector_scan_some(float *scores, const vector_query *q, const int8_t *rows, const float *scales,
                      const uint32_t *which, size_t count);

#endif
