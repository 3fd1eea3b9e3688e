/*
 * uar/sys/embedder.h: the door to what turns text into vectors. Since 0.1.
 */
#ifndef UAR_SYS_EMBEDDER_H
#define UAR_SYS_EMBEDDER_H

#include <uar/sys/completion.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whether a text is stored or asked. */
typedef enum uar_embed_purpose {
    UAR_EMBED_PASSAGE = 0, /**< a text that will be searched */
    UAR_EMBED_QUERY = 1    /**< a text that searches */
} uar_embed_purpose;

/** An embedder. See the rules on top of uar/sys/platform.h. */
typedef struct uar_embedder {
    size_t struct_size;         /**< sizeof(uar_embedder) */
    void *ctx;                  /**< given to every slot */
    void (*destroy)(void *ctx); /**< optional */
    const char *id;             /**< names the vector space; vectors of different ids are never compared */
    size_t dims;                /**< floats a vector, > 0 */
    double repeat_threshold;    /**< cosine at which two texts may be the same fact; 0: never */
    /** Finish with `count` vectors by uar_completion_vectors. `texts` is borrowed until return. */
    void (*embed)(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done);
} uar_embedder;
/** Head of a uar_embedder. */
#define UAR_EMBEDDER_INIT sizeof(uar_embedder)

#ifdef __cplusplus
}
#endif
#endif
