/*
 * The numbers of an encoder in the order in which the kernels read them. Rows of activations are `width` floats wide, the
 * hidden size rounded up to a panel; what pads a row is zero. Immutable after loading.
 */
#ifndef UAR_LIB_BERT_WEIGHTS_H
#define UAR_LIB_BERT_WEIGHTS_H

#include "bert/config.h"
#include "bert/digest.h"
#include "bert/kernels.h"
#include "bert/safetensors.h"

/* y = x times the transposed matrix plus bias. */
typedef struct matrix {
    size_t inputs, outputs; /* outputs: padded to panels */
    float *bias;
    float *panels; /* fp32 */
    int8_t *codes; /* int8 */
    float *scales; /* int8: of each output */
    int32_t *sums; /* int8: of each output */
} matrix;

typedef struct layer_norm {
    float *gain, *shift;
} layer_norm;

typedef struct layer {
    matrix attend; /* query, key and value side by side, each `width` wide */
    matrix gather;
    layer_norm after_attention;
    matrix expand, contract;
    layer_norm after_expansion;
} layer;

typedef struct weights {
    const uar_allocator *alloc;
    uar_bert_precision precision;
    size_t width; /* of a row of activations */
    size_t inner; /* of a row between expand and contract */
    void *block;
    float *words;       /* fp32: a row a word, not padded */
    int8_t *word_codes; /* int8 */
    float *word_scales;
    float *places; /* a row a position, with the first kind of segment added */
    layer_norm first;
    layer *layers;
    uint64_t digest; /* of every number read */
} weights;

/* UAR_E_NOT_FOUND: a tensor is missing; UAR_E_SCHEMA: one has another shape than config.json says; UAR_E_UNSUPPORTED,
 * UAR_E_CORRUPT, UAR_E_IO, UAR_E_NOMEM. */
uar_status weights_load(weights *out, const uar_allocator *a, const config *c, uar_bert_precision precision,
                        const safetensors *from, uar_error *err);
void weights_dispose(weights *w);

#endif
