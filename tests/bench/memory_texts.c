#include "memory_texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <uar/sys/completion.h>

#include "bench.h"
#include "index/vector.h"

#define VOCABULARY 20000
#define COMMON 30

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static double real(uint64_t x) {
    return (double)(x >> 11) / 9007199254740992.0;
}

/* Zipf's law without the most common words, which no index of a language searches by: the most common of these is in one
 * text of twelve. */
static unsigned pick_word(uint64_t x) {
    return (unsigned)(COMMON * pow((double)(VOCABULARY + COMMON) / COMMON, real(x))) - COMMON;
}

/* A word of two to four syllables. */
static size_t spell(char *out, unsigned word) {
    static const char *const heads[] = { "b", "d", "f", "g", "k", "l", "m",  "n",
                                         "p", "r", "s", "t", "v", "w", "st", "tr" };
    static const char *const tails[] = { "a", "e", "i", "o", "u", "an", "el", "or" };
    uint64_t x = mix(word);
    size_t len = 0;
    unsigned syllables = 2 + (unsigned)(x % 3);
    x = word + UINT64_C(20000) * (syllables + 1);
    for (unsigned i = 0; i < syllables; i++, x = mix(x))
        len += (size_t)sprintf(out + len, "%s%s", heads[x % 16], tails[x / 16 % 8]);
    return len;
}

static unsigned word_of(uint64_t at, unsigned i) {
    return pick_word(mix(at * 64 + i));
}

static unsigned words_of(uint64_t at) {
    return 8 + (unsigned)(mix(at ^ UINT64_C(0xABCDEF)) % 17);
}

size_t texts_passage(char out[TEXTS_LONGEST], uint64_t at) {
    size_t len = 0;
    unsigned count = words_of(at);
    for (unsigned i = 0; i < count; i++) {
        if (i != 0) out[len++] = ' ';
        len += spell(out + len, word_of(at, i));
    }
    out[len] = '\0';
    return len;
}

size_t texts_question(char out[TEXTS_LONGEST], uint64_t at) {
    size_t len = 0;
    uint64_t seed = mix(at ^ UINT64_C(0x5151));
    unsigned count = 5 + (unsigned)(seed % 5);
    for (unsigned i = 0; i < count; i++) {
        if (i != 0) out[len++] = ' ';
        unsigned word = i % 2 == 0 ? word_of(at, (unsigned)(mix(seed + i) % words_of(at))) : pick_word(mix(seed - i));
        len += spell(out + len, word);
    }
    out[len] = '\0';
    return len;
}

/* No syllable has it, and vectors don't hear it. */
#define SILENT 'q'

size_t texts_strange_question(char out[TEXTS_LONGEST], uint64_t at) {
    char plain[TEXTS_LONGEST];
    size_t len = texts_question(plain, at), n = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i == len || plain[i] == ' ') out[n++] = SILENT;
        out[n++] = plain[i];
    }
    return n - 1;
}

static void add_word(float *out, uint64_t word) {
    for (size_t i = 0; i < TEXTS_DIMS; i += 8) {
        uint64_t x = mix(word + i);
        for (size_t lane = 0; lane < 8; lane++)
            out[i + lane] += (float)(int8_t)(x >> (8 * lane)) / 128;
    }
}

void texts_embed(float out[TEXTS_DIMS], uar_str text) {
    uint64_t word = 0;
    for (size_t i = 0; i < TEXTS_DIMS; i++)
        out[i] = 0.3f;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != ' ')
            word = text.ptr[i] != SILENT ? mix(word ^ (uint8_t)text.ptr[i]) : word;
        else if (word != 0)
            add_word(out, word), word = 0;
    }
    if (!vector_normalise(out, TEXTS_DIMS)) out[0] = 1;
}

texts_time texts_embedding;

static void embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    (void)ctx;
    (void)purpose;
    uint64_t began = bench_now(), used = bench_cpu();
    float *rows = bench_memory(count * TEXTS_DIMS * sizeof *rows);
    for (size_t i = 0; i < count; i++)
        texts_embed(rows + i * TEXTS_DIMS, texts[i]);
    texts_embedding.wall += bench_now() - began;
    texts_embedding.cpu += bench_cpu() - used;
    uar_completion_vectors(done, rows, count, TEXTS_DIMS);
    free(rows);
}

const uar_embedder texts_embedder = { UAR_EMBEDDER_INIT, .id = "bench-words", .dims = TEXTS_DIMS, .embed = embed };
const uar_embedder texts_near_embedder = { UAR_EMBEDDER_INIT, .id = "bench-words", .dims = TEXTS_DIMS,
                                           .repeat_threshold = 0.92, .embed = embed };
