/* The functions of each level. Internal to the kernel files; everyone else uses kernels.h. */
#ifndef UAR_LIB_BERT_KERNELS_LEVELS_H
#define UAR_LIB_BERT_KERNELS_LEVELS_H

#include "bert/kernels.h"

#define KERNEL_PRODUCT(name)                                                                           \
    void name##_product(float *c, size_t c_width, const float *a, size_t a_width, const float *panels, \
                        const float *bias, size_t m, size_t n, size_t k)
#define KERNEL_BYTE_PRODUCT(name)                                                                                   \
    void name##_byte_product(float *c, size_t c_width, const byte_rows *a, const byte_panels *w, const float *bias, \
                             size_t m)
#define KERNEL_ROWS(name)                                                                           \
    void name##_to_bytes(const byte_rows *out, const float *x, size_t x_width, size_t m, size_t k); \
    void name##_gelu(float *x, size_t n);                                                           \
    void name##_softmax(float *row, size_t n, float scale);                                         \
    void name##_norm(float *x, const float *add, const float *gain, const float *shift, size_t n, float epsilon)

KERNEL_PRODUCT(scalar);
KERNEL_BYTE_PRODUCT(scalar);
KERNEL_ROWS(scalar);
KERNEL_PRODUCT(avx2);
KERNEL_BYTE_PRODUCT(avx2);
KERNEL_ROWS(avx2);
KERNEL_BYTE_PRODUCT(avx_vnni);
KERNEL_PRODUCT(avx512);
KERNEL_ROWS(avx512);
KERNEL_BYTE_PRODUCT(avx512_vnni);
KERNEL_PRODUCT(neon);
KERNEL_BYTE_PRODUCT(neon);

/* Rows of a tile: as even as can be, at most `most`. */
static inline size_t tile_rows(size_t m, size_t most) {
    size_t tiles = (m + most - 1) / most;
    return tiles != 0 ? (m + tiles - 1) / tiles : 0;
}

/* Loops over the registers of a tile must be unrolled whole, or the registers become memory. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define TILE static inline __attribute__((always_inline)) void

#endif
