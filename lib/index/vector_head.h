/*
 * A first look that rules rows out for certain: with the heads of two vectors, their first dimensions, and the length of what
 * follows, no cosine is above the product of the heads plus the product of the lengths of the rests. It reads a third of the
 * codes of a row with 384 dimensions, and pays where few rows come near the cosine that is asked for.
 */
#ifndef UAR_LIB_INDEX_VECTOR_HEAD_H
#define UAR_LIB_INDEX_VECTOR_HEAD_H

#include "index/vector.h"

/* Dimensions of a head; rows have one if their stride is a multiple of it, and at least three times as long. */
#define VECTOR_HEAD 128

bool vector_has_heads(size_t dims);

/* Lengths of what follows the heads of `count` rows, rounded up; of a row without a vector (scale 0): 0. */
void vector_rests(float *rests, const int8_t *rows, const float *scales, size_t dims, size_t count);

/* Rows that may have a cosine of `least` or more: their numbers into `which`, rising; returns how many. `which` has room for
 * `count`, at most VECTOR_HEAD_ROWS. Rows without a vector are left out. */
#define VECTOR_HEAD_ROWS 1024
size_t vector_head_sift(uint32_t *which, const vector_query *q, float least, const int8_t *rows, const float *scales,
                        const float *rests, size_t count);

#endif
