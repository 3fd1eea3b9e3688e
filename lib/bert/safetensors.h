/*
 * Weights in the safetensors format: 8 bytes with the length of a JSON header (little-endian), the header, the numbers.
 * The header names each tensor with its type, its shape and its place behind the header.
 *
 * After opening every tensor of the header has a known type and a place inside the file that its shape fills exactly;
 * types that can't be weights (integers, booleans) are known but not read.
 */
#ifndef UAR_LIB_BERT_SAFETENSORS_H
#define UAR_LIB_BERT_SAFETENSORS_H

#include "base/json.h"
#include "bert/source.h"

#define TENSOR_MAX_RANK 8
#define SAFETENSORS_MAX_HEADER ((size_t)16 * 1024 * 1024)

typedef enum tensor_type { TENSOR_F32, TENSOR_F16, TENSOR_BF16, TENSOR_OTHER } tensor_type;

typedef struct tensor {
    tensor_type type;
    unsigned rank;
    uint64_t shape[TENSOR_MAX_RANK];
    uint64_t at; /* byte of the source */
    uint64_t bytes;
} tensor;

typedef struct safetensors {
    const uar_allocator *alloc;
    source *from; /* of the caller, open until dispose */
    cJSON *header;
    uint64_t data; /* byte of the source where the numbers begin */
} safetensors;

/* UAR_E_CORRUPT: it ends too early or a tensor lies outside; UAR_E_TOO_LARGE: the header; UAR_E_JSON; UAR_E_SCHEMA:
 * a tensor is described wrongly. */
uar_status safetensors_open(safetensors *out, const uar_allocator *a, source *from, uar_error *err);
void safetensors_dispose(safetensors *s);
/* UAR_E_NOT_FOUND names the tensor. */
uar_status safetensors_find(tensor *out, const safetensors *s, const char *name, uar_error *err);
/* `count` numbers from number `first` of the tensor on, as floats. UAR_E_UNSUPPORTED: its type has no floats;
 * UAR_E_SCHEMA: one of them isn't finite. */
uar_status safetensors_read(float *out, const safetensors *s, const tensor *t, uint64_t first, size_t count,
                            uar_error *err);

#endif
