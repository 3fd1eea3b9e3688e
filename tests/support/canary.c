/* Owns: records that leave known traces; see canary.h. */
#include "support/canary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "index/vector.h"
#include "memory/service.h"

#define BATCH 100

static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "canary: %s\n", what);
    abort();
}

/* Mixed so that neighbours have nothing in common. */
static uint64_t mixed(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static void vector_of(float *out, uar_str text) {
    uint64_t seed = 1469598103934665603u;
    for (size_t i = 0; i < text.len; i++)
        seed = (seed ^ (uint8_t)text.ptr[i]) * UINT64_C(1099511628211);
    for (size_t i = 0; i < CANARY_DIMS; i++)
        out[i] = (float)(mixed(seed + i) >> 40) / 8388608.0f - 1.0f;
}

static void embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    (void)ctx, (void)purpose;
    float *values = calloc(count, CANARY_DIMS * sizeof *values);
    check(values != NULL, "no memory");
    for (size_t i = 0; i < count; i++)
        vector_of(values + i * CANARY_DIMS, texts[i]);
    uar_completion_vectors(done, values, count, CANARY_DIMS);
    free(values);
}

const uar_embedder *canary_embedder(void) {
    static const uar_embedder door = {
        .struct_size = UAR_EMBEDDER_INIT, .id = "canary-64", .dims = CANARY_DIMS, .embed = embed
    };
    return &door;
}

#define WORD_BYTES 24
#define TEXT_BYTES 96

/* Letters only, so that the analysis takes it as one word. */
static void word_of(char word[WORD_BYTES], unsigned number) {
    uint64_t bits = mixed(number);
    memcpy(word, "qx", 2);
    for (size_t i = 2; i < 18; i++, bits >>= 4)
        word[i] = "bcdfghjklmnpqrvw"[bits & 15];
    word[18] = '\0';
}

static void text_of(char text[TEXT_BYTES], unsigned number) {
    char word[WORD_BYTES];
    word_of(word, number);
    snprintf(text, TEXT_BYTES, "%s sings in the garden of the house", word);
}

void canary_write(uar_memory *memory, unsigned from, unsigned count) {
    static char texts[2 * BATCH][TEXT_BYTES];
    uar_memory_draft drafts[2 * BATCH];
    uar_str label = STR("canary");
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    for (unsigned at = 0; at < count; at += BATCH) {
        unsigned n = count - at < BATCH ? count - at : BATCH;
        for (unsigned i = 0; i < n; i++) {
            text_of(texts[2 * i], from + at + i);
            snprintf(texts[2 * i + 1], TEXT_BYTES, "sparrow %u sings in the street", from + at + i);
            for (unsigned k = 2 * i; k < 2 * i + 2; k++) {
                uar_memory_draft_init(&drafts[k]);
                drafts[k].content = uar_str_of(texts[k]);
            }
            drafts[2 * i].categories = &label;
            drafts[2 * i].category_count = 1;
        }
        check(uar_memory_add_batch_sync(NULL, memory, &who, drafts, 2 * (size_t)n, UAR_MEMORY_ADD_VERBATIM, NULL, NULL,
                                        NULL) == UAR_OK,
              "a batch was refused");
    }
}

static void add_number(byte_scan *s, uint64_t value) {
    uint8_t little[8], big[8];
    for (int i = 0; i < 8; i++) {
        little[i] = (uint8_t)(value >> (8 * i));
        big[7 - i] = little[i];
    }
    byte_scan_add(s, little);
    byte_scan_add(s, big);
}

void canary_patterns(byte_scan *words, byte_scan *terms, byte_scan *vectors, uar_memory *memory, unsigned from,
                     unsigned count) {
    for (unsigned i = from; i < from + count; i++) {
        char word[WORD_BYTES], text[TEXT_BYTES];
        word_of(word, i);
        text_of(text, i);
        byte_scan_add(words, word);
        byte_scan_add(words, word + 8);
        term_list list;
        term_list_init(&list, &alloc_default);
        check(term_list_passage(&list, memory->database.key, uar_str_of(word)) == UAR_OK, "no terms");
        for (size_t t = 0; t < list.count; t++)
            add_number(terms, list.terms[t].id);
        term_list_dispose(&list);
        float vector[CANARY_DIMS], scale = 0;
        int8_t codes[256];
        check(vector_stride(CANARY_DIMS) <= sizeof codes, "the codes are longer than expected");
        vector_of(vector, uar_str_of(text));
        check(vector_normalise(vector, CANARY_DIMS), "a vector without direction"); /* as the memory does */
        byte_scan_add(vectors, &vector[0]);
        byte_scan_add(vectors, &vector[30]);
        vector_encode(codes, &scale, vector, CANARY_DIMS);
        byte_scan_add(vectors, &codes[0]);
        byte_scan_add(vectors, &codes[32]);
    }
}
