/* An opened model: what one embedder's ctx is. Internal; hosts use uar/bert.h. */
#ifndef UAR_LIB_BERT_BERT_H
#define UAR_LIB_BERT_BERT_H

#include <stdatomic.h>

#include "bert/encoder.h"
#include "bert/tokenizer.h"

#define BERT_MAX_THREADS 64u
#define BERT_REPEAT_THRESHOLD 0.92

typedef struct bert {
    uar_allocator alloc;
    atomic_uint refs; /* the embedder and each job */
    atomic_bool closing;
    config config;
    tokenizer tokenizer;
    weights weights;
    encoder encoder;
    size_t window;         /* tokens, marks included */
    size_t overlap;        /* tokens, less than what a window has beside marks and prefix */
    id_list prefix[2];     /* by uar_embed_purpose */
    uar_executor executor; /* `post` NULL: none */
    bool owns_pool;
    uint32_t threads; /* tasks a batch */
    char *id;
} bert;

bert *bert_ref(bert *b);
void bert_unref(bert *b);
/* The ctx of an embedder of this library, or NULL. */
bert *bert_of(const uar_embedder *embedder);

/* Vectors of texts, one after the other, on this thread. `out` may be half filled on failure. It ends early with
 * UAR_E_CLOSED when the model is being closed. */
uar_status bert_run(float *out, bert *b, uar_embed_purpose purpose, const uar_str *texts, size_t count);
/* The door: starts a batch where the model's options say, or runs it here. */
void bert_embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done);
void bert_destroy(void *ctx);

#endif
