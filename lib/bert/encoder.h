/* From windows of tokens to vectors. The encoder is immutable; whoever runs it brings the scratch. */
#ifndef UAR_LIB_BERT_ENCODER_H
#define UAR_LIB_BERT_ENCODER_H

#include "bert/weights.h"

typedef struct encoder {
    const config *shape;
    const weights *weights;
    const kernels *kernels;
    int32_t begin, end; /* the marks around each window */
} encoder;

/* Tokens without the marks around them: `head_len` ids of `head`, then `len` of `ids`. */
typedef struct window {
    const int32_t *head, *ids;
    size_t head_len, len;
} window;

static inline size_t window_rows(const window *w) {
    return w->head_len + w->len + 2;
}

/* Activations for a pass. Not shared between threads. */
typedef struct scratch {
    const uar_allocator *alloc;
    void *block;
    size_t rows, longest; /* what it has room for */
    float *x, *y, *z, *wide;
    float *keys, *values, *scores, *mixed; /* of one head */
    byte_rows bytes;
} scratch;

void scratch_init(scratch *s, const uar_allocator *a);
void scratch_dispose(scratch *s);

/*
 * One vector of `hidden` floats for each of `count` windows, pooled as the model says, not normalised. No window is longer
 * than the model has positions. Ids below the number of words. UAR_E_NOMEM.
 */
uar_status encoder_run(float *out, const encoder *e, scratch *s, const window *windows, size_t count);

#endif
