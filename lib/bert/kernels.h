/*
 * The arithmetic of an encoder, once a level of the processor. All levels compute the same function: the integer product
 * exactly, the float product up to the rounding of a fused multiply-add, everything else bit by bit.
 *
 * Panels: a matrix of n outputs and k inputs lies in ceil(n / 16) panels of 16 outputs. A float panel holds 16 numbers for
 * each input in turn; an int8 panel holds, for each group of 4 inputs, 4 codes of each of its 16 outputs. What pads the
 * last panel or group is zero. Each row of a result has room for all outputs of all panels; the padding is written too.
 *
 * A row of a result depends on its own row of input only, added up in the order of the inputs: so a text has one vector,
 * whatever it is batched with.
 */
#ifndef UAR_LIB_BERT_KERNELS_H
#define UAR_LIB_BERT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PANEL ((size_t)16)

static inline size_t panel_round(size_t n) {
    return (n + PANEL - 1) / PANEL * PANEL;
}

/* Rows of activations as bytes: x = (code - zero) * scale. `width` is a multiple of 4, what is behind k is zero. */
typedef struct byte_rows {
    uint8_t *codes;
    float *scales;
    int32_t *zeros;
    size_t width;
} byte_rows;

/* Weights as int8: w = code * scale of its output. `sums` holds the sum of each output's codes. */
typedef struct byte_panels {
    const int8_t *codes;
    const float *scales;
    const int32_t *sums;
    size_t groups; /* of 4 inputs */
    size_t panels;
} byte_panels;

typedef struct kernels {
    const char *name;
    /* c[m][n] = a[m][k] * panels + bias; n counts what the panels hold, padding included. `bias` may be NULL. */
    void (*product)(float *c, size_t c_width, const float *a, size_t a_width, const float *panels, const float *bias,
                    size_t m, size_t n, size_t k);
    void (*byte_product)(float *c, size_t c_width, const byte_rows *a, const byte_panels *w, const float *bias,
                         size_t m);
    /* Rows of k floats, `x_width` apart, to bytes. */
    void (*to_bytes)(const byte_rows *out, const float *x, size_t x_width, size_t m, size_t k);
    /* In place: x * the share of the normal distribution below x. n is a multiple of 16. */
    void (*gelu)(float *x, size_t n);
    /* In place over one row of n numbers, padded to a multiple of 16: exp(scale * x), made to sum up to 1. */
    void (*softmax)(float *row, size_t n, float scale);
    /* x = layer norm of x + add over n numbers, times gain plus shift. `add` may be NULL. All padded to 16 by zeros. */
    void (*norm)(float *x, const float *add, const float *gain, const float *shift, size_t n, float epsilon);
} kernels;

/* The fastest level that this machine has. Constant. */
const kernels *kernels_best(void);
/* The levels from the slowest, `scalar`, on; NULL behind the last. One that this machine lacks is left out. */
const kernels *kernels_level(size_t index);

#endif
