/*
 * Texts of made-up conversations for the benchmarks of memory: words of a vocabulary whose frequencies fall as those of a
 * language do, and an embedder that costs next to nothing, so that what is measured is the memory. The same seed gives the
 * same texts everywhere.
 */
#ifndef UAR_TESTS_BENCH_MEMORY_TEXTS_H
#define UAR_TESTS_BENCH_MEMORY_TEXTS_H

#include <uar/memory.h>

#define TEXTS_DIMS 384
#define TEXTS_LONGEST 400
/* Texts of one session. */
#define TEXTS_SESSION 25

/* Text number `at`, 8 to 24 words; the length. */
size_t texts_passage(char out[TEXTS_LONGEST], uint64_t at);
/* A question of 5 to 9 words about text number `at`: some of its words, some others. */
size_t texts_question(char out[TEXTS_LONGEST], uint64_t at);
/* The same question in words that no text has, but with the same vector. */
size_t texts_strange_question(char out[TEXTS_LONGEST], uint64_t at);
/* Vector of any text, of length 1: those of texts with words in common are near. */
void texts_embed(float out[TEXTS_DIMS], uar_str text);
extern const uar_embedder texts_embedder;
/* The same vectors, with near repeats from a cosine of 0.92 on. */
extern const uar_embedder texts_near_embedder;

/* Nanoseconds that the embedders took so far, so that they can be left out. One thread. */
typedef struct texts_time {
    uint64_t wall, cpu;
} texts_time;
extern texts_time texts_embedding;

#endif
