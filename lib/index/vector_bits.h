/*
 * One bit a dimension: a first look at many rows, an eighth of the bytes of their codes. For a block of rows it keeps on
 * which side of the block's centre each number lies, and three numbers a row that turn a sum over the bits into an estimate
 * of the cosine and the usual error of it. The estimate is unbiased; a bound of some deviations loses a few rows in a
 * thousand, so what is found with it is approximate.
 *
 * A sheet is one piece of memory, made from the codes of a block: built when these are loaded, or stored beside them (numbers
 * as the processor has them). It says nothing about a row's words or ids.
 */
#ifndef UAR_LIB_INDEX_VECTOR_BITS_H
#define UAR_LIB_INDEX_VECTOR_BITS_H

#include "index/vector.h"

/* From this many rows on a first look pays; below, the codes are read as fast. */
#define VECTOR_BITS_FROM 200000

/* Bytes of the sheet of a block. */
size_t vector_bits_size(size_t dims, size_t count);
/* `sheet` has vector_bits_size bytes; all are written. `count` > 0. UAR_E_NOMEM: `sheet` is untouched. */
uar_status vector_bits_build(float *sheet, const uar_allocator *a, const int8_t *rows, const float *scales, size_t dims,
                             size_t count);
/* What the cosines of the `count` rows from row `first`, a multiple of 32, of a sheet of `total` rows are unlikely to exceed. */
void vector_bits_scan(float *highs, const vector_query *q, const float *sheet, size_t total, size_t first,
                      size_t count);

#endif
