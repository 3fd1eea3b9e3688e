/*
 * Kernels: the inner loops over codes, one set for each level of processor, chosen at run time. All levels give the same
 * integers. Rows need no alignment; a row's stride is a multiple of 64. No kernel reads behind the rows it is given.
 */
#ifndef UAR_LIB_INDEX_VECTOR_KERNEL_H
#define UAR_LIB_INDEX_VECTOR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The query's codes, padded with zeros to `stride`, in the forms that kernels want. wide[i] = 128 * high[i] + low[i]. */
typedef struct vector_operand {
    const int16_t *wide;
    const int8_t *high, *low;
    size_t stride;
    int32_t bias; /* 128 * sum of wide */
    const uint8_t
        *table; /* 16 bytes for each four dimensions: the sum of their values by their bits, the first lowest */
} vector_operand;

/* out[i] = sum over row i's codes * wide. `which` names the rows; NULL: they are the first `count`. The caller keeps
 * 128 * sum |wide| below 2^31. */
typedef void vector_dots(int32_t *out, const vector_operand *q, const int8_t *rows, const uint32_t *which,
                         size_t count);

/* Rows of bits lie in groups of 32, side by side: byte d / 8 of each row, then byte d / 8 + 1 of each. out[i] = the sum, over
 * each four dimensions, of what the table says for these four bits of row i; `count` is a whole number of groups. Sums of
 * eight dimensions stay below 256. */
#define VECTOR_GROUP 32
/* Dimensions whose sum fits into 16 bits. */
#define VECTOR_SLAB 2048
typedef void vector_bit_sums(int32_t *out, const vector_operand *q, const uint8_t *groups, size_t count);

typedef struct vector_kernel {
    const char *name;
    vector_dots *dots;
    vector_bit_sums *bit_sums;
} vector_kernel;

/* Plain C: the meaning of all others. */
extern const vector_kernel vector_kernel_plain;

/* Kernels of this build that the processor in use can run, best first, at most VECTOR_KERNELS; returns how many. The last
 * is the plain one. */
#define VECTOR_KERNELS 8
size_t vector_kernels(const vector_kernel *out[VECTOR_KERNELS]);
/* The best of them. Cheap: may be asked for each query. */
const vector_kernel *vector_kernel_best(void);

/* The kernels of one architecture, best first, without the plain one; with `only_best` the first is enough. None where the
 * build has none. */
size_t vector_kernels_x86(const vector_kernel **out, bool only_best);
size_t vector_kernels_arm(const vector_kernel **out);

#endif
