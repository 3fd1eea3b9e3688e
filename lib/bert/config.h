/*
 * What the small files of a model folder say: the shape of the encoder, how the vectors of its tokens become one, how
 * long a window is, what is put in front of a text.
 */
#ifndef UAR_LIB_BERT_CONFIG_H
#define UAR_LIB_BERT_CONFIG_H

#include <uar/bert.h>

#include "base/alloc.h"

typedef enum pooling { POOLING_MEAN, POOLING_CLS, POOLING_MAX, POOLING_MEAN_SQRT } pooling;

typedef struct config {
    size_t words, hidden, layers, heads, inner, positions, kinds;
    float epsilon;
    pooling pooling;
    bool normalise;
    bool lower_first;                    /* sentence_bert_config.json wants lower case whatever the tokenizer says */
    size_t window;                       /* tokens, both marks among them */
    char *name;                          /* last part of the model's name; NULL: it names none */
    char *query_prefix, *passage_prefix; /* NULL: none */
} config;

/* Files that are absent (ptr NULL) give the defaults: mean pooling, length 1, windows as long as there are positions. */
uar_status config_read(config *out, const uar_allocator *a, const uar_bert_files *files, uar_error *err);
void config_dispose(config *c, const uar_allocator *a);

#endif
