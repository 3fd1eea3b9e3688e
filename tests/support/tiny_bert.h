/*
 * A whole model in memory, small enough to be computed a second time in the plainest way: random weights as a safetensors
 * file, a config, a vocabulary. Sizes are odd on purpose: no row fills whole panels.
 */
#ifndef UAR_TESTS_SUPPORT_TINY_BERT_H
#define UAR_TESTS_SUPPORT_TINY_BERT_H

#include <uar/bert.h>

#define TINY_HIDDEN 24
#define TINY_HEADS 2
#define TINY_INNER 40
#define TINY_LAYERS 2
#define TINY_POSITIONS 90
#define TINY_TENSORS (5 + TINY_LAYERS * 16)

/* The vocabulary: a line a token; its count is TINY_WORDS. */
#define TINY_VOCABULARY                                                                                                \
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\n##ting\nsit\nun\n##believ\n##able\nbread\n,\n.\n!\nа\n##б\n" \
    "猫\n東\na\n##b\n##c\ncafe\nquery\n:\nblue\nred\ngreen\n[\n]\n"
#define TINY_WORDS 32

typedef enum tiny_type { TINY_F32, TINY_F16, TINY_BF16, TINY_I32 } tiny_type;

typedef struct tiny_options {
    tiny_type type;
    const char *prefix;    /* in front of tensor names; NULL: none */
    bool old_names;        /* gamma and beta */
    const char *leave_out; /* a tensor that is missing */
    const char *misshape;  /* a tensor that has one number less in its shape's last extent */
    bool not_finite;       /* one weight is infinite */
} tiny_options;

typedef struct tiny_tensor {
    char name[96];
    size_t rows, columns; /* rows 0: one extent */
    float *numbers;       /* as the model must read them */
} tiny_tensor;

typedef struct tiny_bert {
    tiny_tensor tensors[TINY_TENSORS];
    size_t count;
    char *file; /* safetensors */
    size_t file_len;
    uar_bert_files files; /* config, vocabulary, weights; a test adds what it wants */
} tiny_bert;

/* `options` may be NULL. The same options give the same model. Gives up on no memory. */
void tiny_bert_make(tiny_bert *out, const tiny_options *options);
void tiny_bert_free(tiny_bert *t);
/* Numbers of a tensor, without the prefix. */
const float *tiny_bert_numbers(const tiny_bert *t, const char *name);
/* The mean vector of tokens (marks included), computed plainly in doubles, of length 1. */
void tiny_bert_vector(double out[TINY_HIDDEN], const tiny_bert *t, const int32_t *ids, size_t count);
/* The last rows before they are pooled: count * TINY_HIDDEN doubles. */
void tiny_bert_rows(double *out, const tiny_bert *t, const int32_t *ids, size_t count);

#endif
