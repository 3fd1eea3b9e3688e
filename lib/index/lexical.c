/* Owns: the embedder `lexical`: hashed words and character trigrams, signed, in 256 dimensions. Stateless; the same text
 * gives the same vector on every machine and in every process. */
#include <uar/memory.h>

#include <math.h>

#include "index/analysis.h"
#include "index/terms.h"

#define DIMS 256
#define WORD_WEIGHT 1.0f
#define STOP_WEIGHT 0.2f
#define TRIGRAM_WEIGHT 0.4f
#define GRAM_CHARACTERS 3

/* The vector space is public: these numbers never change under this id. */
static const term_key word_key = { 0x6c65786963616c31u, 0x776f726473000001u };
static const term_key gram_key = { 0x6c65786963616c31u, 0x6772616d73000001u };

static void add(float *vector, uint64_t hash, float weight) {
    vector[hash & (DIMS - 1)] += (hash >> 32 & 1) != 0 ? weight : -weight;
}

static size_t character_len(uar_str text, size_t at) {
    size_t to = at + 1;
    while (to < text.len && ((uint8_t)text.ptr[to] & 0xC0) == 0x80)
        to++;
    return to - at;
}

/* Trigrams of characters, so that kin words and misspellings meet. */
static void add_grams(float *vector, uar_str text, float weight) {
    size_t from[GRAM_CHARACTERS] = { 0 };
    size_t seen = 0;
    for (size_t at = 0; at < text.len; seen++) {
        from[seen % GRAM_CHARACTERS] = at;
        at += character_len(text, at);
        if (seen + 1 < GRAM_CHARACTERS) continue;
        size_t first = from[(seen + 1) % GRAM_CHARACTERS];
        add(vector, term_hash(gram_key, uar_str_n(text.ptr + first, at - first)), weight);
    }
}

static uar_status add_token(void *ctx, const token *t) {
    float *vector = (float *)ctx;
    float weight = t->is_stop ? STOP_WEIGHT : WORD_WEIGHT;
    add(vector, term_hash(word_key, t->text), weight);
    add_grams(vector, t->text, weight * TRIGRAM_WEIGHT);
    return UAR_OK;
}

static void normalise(float *vector) {
    float sum = 0;
    for (size_t i = 0; i < DIMS; i++)
        sum += vector[i] * vector[i];
    if (!(sum > 0)) {
        vector[0] = 1; /* a text without a token still has a direction */
        return;
    }
    float scale = 1 / sqrtf(sum);
    for (size_t i = 0; i < DIMS; i++)
        vector[i] *= scale;
}

static void embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    (void)ctx, (void)purpose;
    float *vectors = (float *)alloc_zeroed(&alloc_default, count != 0 ? count : 1, DIMS * sizeof(float));
    if (vectors == NULL) {
        uar_completion_fail(done, UAR_E_NOMEM, NULL);
        return;
    }
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        /* Both sides see the same tokens: a question must land where its passage is. */
        status = analysis_run(&alloc_default, texts[i], ANALYSIS_PASSAGE, add_token, vectors + i * DIMS);
        normalise(vectors + i * DIMS);
    }
    if (status == UAR_OK)
        uar_completion_vectors(done, vectors, count, DIMS);
    else
        uar_completion_fail(done, status, NULL);
    alloc_free(&alloc_default, vectors);
}

static const uar_embedder lexical = {
    .struct_size = UAR_EMBEDDER_INIT,
    .id = "lexical",
    .dims = DIMS,
    .embed = embed,
};

const uar_embedder *uar_embedder_lexical(void) {
    return &lexical;
}
