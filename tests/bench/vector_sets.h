/*
 * Sets of vectors for benchmarks, the same in every program: drawn from a fixed seed, one after another, so that nobody has
 * to hold them. C++ programs include it, too.
 */
#ifndef UAR_TESTS_BENCH_VECTOR_SETS_H
#define UAR_TESTS_BENCH_VECTOR_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SET_DIMS 384
#define SET_QUERIES 100
#define SET_NEAREST 10

typedef enum set_kind {
    SET_CLUSTERED, /* a thousand centres in all directions; a vector has 0.75 in common with others of its centre */
    SET_HARD /* eight big clusters around one shared direction: 0.6 in common with all, 0.75 with the own cluster */
} set_kind;

#define SET_CENTRES 1000

/* A stream of vectors of length 1. */
typedef struct set_stream {
    uint64_t random;
    set_kind kind;
    float *centres; /* SET_CENTRES rows, or those in use */
} set_stream;

const char *set_name(set_kind kind);
void set_open(set_stream *s, set_kind kind, bool queries);
void set_close(set_stream *s);
void set_next(set_stream *s, float *out);

/* Questions of a set, and the numbers (from 1) of the rows nearest to each, by comparison with all of the first `count`. */
typedef struct set_truth {
    float queries[SET_QUERIES][SET_DIMS];
    int64_t nearest[SET_QUERIES][SET_NEAREST];
    float cosines[SET_QUERIES][SET_NEAREST];
} set_truth;

set_truth *set_truth_new(set_kind kind, size_t count);
/* Share of the true nearest rows among `found`. */
double set_recall(const set_truth *truth, size_t query, const int64_t *found, size_t found_count);

/* Bytes of this process that are in memory and its own. 0 where the system doesn't say. */
size_t set_resident(void);
/* Give freed memory back, so that the next growth shows. */
void set_settle(void);

#ifdef __cplusplus
}
#endif
#endif
