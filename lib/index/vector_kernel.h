/*
 * Kernels: the inner loops over codes, one set for each level of processor, chosen at run time. All levels give the same
 * integers. Rows need no alignment; a row's stride is a multiple of 64.
 */
#ifndef UAR_LIB_INDEX_VECTOR_KERNEL_H
#define UAR_LIB_INDEX_VECTOR_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* The query's codes, padded with zeros to `stride`, in the forms that kernels want. wide[i] = 128 * high[i] + low[i]. */
typedef struct vector_operand {
    const int16_t *wide;
    const int8_t *high, *low;
    size_t stride;
    int32_t bias; /* 128 * sum of wide */
} vector_operand;

typedef struct vector_kernel {
    const char *name;
    /* out[r] = sum of row r's codes * wide. The caller keeps 128 * sum |wide| below 2^31. */
    void (*dots)(int32_t *out, const vector_operand *q, const int8_t *rows, size_t count);
} vector_kernel;

/* Plain C: the meaning of all others. */
extern const vector_kernel vector_kernel_plain;

/* The best for this processor. Asks the processor: some microseconds on a virtual machine. */
const vector_kernel *vector_kernel_best(void);
/* Every kernel that this processor can run, the plain one first: `index` from 0; NULL behind the last. */
const vector_kernel *vector_kernel_at(size_t index);

#endif
