/*
 * One bit a dimension: a first look at many rows, an eighth of the bytes of their codes. For a block of rows it keeps on
 * which side of the block's centre each number lies, and three numbers a row that turn a sum over the bits into an estimate
 * of the cosine and the usual error of it.
 *
 * The estimate is unbiased, so that a bound of some deviations loses a few rows in a thousand. What rules rows out for
 * certain is a bound for those alone that are near the query: the nearer a row is, the less its estimate can be off.
 *
 * A sheet is one piece of memory, made from the codes of a block when they are in memory. It is never stored.
 */
#ifndef UAR_LIB_INDEX_VECTOR_BITS_H
#define UAR_LIB_INDEX_VECTOR_BITS_H

#include "index/vector.h"

/* Bytes of the sheet of a block. */
size_t vector_bits_size(size_t dims, size_t count);
/* `sheet` has vector_bits_size bytes; all are written. `count` > 0. UAR_E_NOMEM: `sheet` is untouched. */
uar_status vector_bits_build(float *sheet, const uar_allocator *a, const int8_t *rows, const float *scales, size_t dims,
                             size_t count);
/* Estimates of the cosines of all `count` rows. What is answered, how far the query is from the block's centre, times the
 * error of a row is a deviation of its estimate. */
float vector_bits_estimate(float *cosines, const vector_query *q, const float *sheet, size_t count);
const float *vector_bits_errors(const float *sheet, size_t dims, size_t count);
/* Rows that may have a cosine of `least` or more: their numbers into `which`, rising, which has room for `count`; returns
 * how many. Rows without a vector (scale 0) are left out. Stored vectors are of length 1 to a hundredth. */
size_t vector_bits_sift(uint32_t *which, const vector_query *q, float least, const float *sheet, const float *scales,
                        size_t count);

#endif
