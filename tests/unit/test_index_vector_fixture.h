/* Vectors for tests: random numbers from a printed seed, sets of several shapes, and the plain comparison with all of them. */
#ifndef UAR_TESTS_INDEX_VECTOR_FIXTURE_H
#define UAR_TESTS_INDEX_VECTOR_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "index/vector.h"

static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline size_t below(uint64_t *state, size_t limit) {
    return (size_t)((next_random(state) >> 11) % limit);
}

/* -1 to 1. */
static inline float signed_unit(uint64_t *state) {
    return (float)(next_random(state) >> 40) * 0x1p-23f - 1;
}

/* Near enough to normal: three uniform numbers. */
static inline float bell(uint64_t *state) {
    float sum = signed_unit(state);
    sum += signed_unit(state);
    return sum + signed_unit(state);
}

static inline uint64_t test_seed(void) {
    const char *text = getenv("UAR_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
    print_message("# seed %llu\n", (unsigned long long)seed);
    return (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline size_t rounds(size_t quick, size_t full) {
    return getenv("UAR_TEST_FULL") != NULL ? full : quick;
}

/* malloc for tests: never NULL, and exactly as long as asked, so that a sanitizer sees each read behind it. */
static inline void *test_memory(size_t size) {
    void *memory = malloc(size != 0 ? size : 1);
    assert_non_null(memory);
    return memory;
}

typedef enum set_shape {
    SET_RANDOM,    /* any direction */
    SET_CLUSTERED, /* around many centres */
    SET_HARD,      /* around three centres that lie near each other */
    SET_REPEATED,  /* few different vectors, many times */
    SET_SPARSE,    /* one or two numbers that aren't almost 0 */
    SET_SHAPES
} set_shape;

/* Vectors of length 1 with their codes. */
typedef struct vector_set {
    size_t dims, count;
    float *vectors, *scales;
    int8_t *rows;
    int64_t *keys;
} vector_set;

static inline void make_vector(float *v, size_t dims, set_shape shape, uint64_t *state) {
    uint64_t centre = 0, common = 12345;
    float spread = 1;
    if (shape == SET_CLUSTERED) centre = below(state, 40) + 1, spread = 0.4f;
    if (shape == SET_HARD) centre = below(state, 3) + 1, spread = 0.9f;
    if (shape == SET_REPEATED) centre = below(state, 6) + 1, spread = 0;
    do {
        uint64_t of_centre = (centre + 7) * UINT64_C(0x9E3779B97F4A7C15);
        uint64_t of_all = common;
        size_t spike = below(state, dims);
        for (size_t i = 0; i < dims; i++) {
            v[i] = spread != 0 ? spread * bell(state) : 0;
            if (centre != 0) v[i] += bell(&of_centre);
            if (shape == SET_HARD) v[i] += 2 * bell(&of_all);
            if (shape == SET_SPARSE) v[i] = i == spike ? 1 + v[i] : v[i] * 1e-4f;
        }
    } while (!vector_normalise(v, dims));
}

static inline vector_set make_set(size_t dims, size_t count, set_shape shape, uint64_t *state) {
    vector_set set = { .dims = dims, .count = count };
    size_t stride = vector_stride(dims);
    set.vectors = test_memory(count * dims * sizeof(float));
    set.scales = test_memory(count * sizeof(float));
    set.rows = test_memory(count * stride);
    set.keys = test_memory(count * sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        make_vector(set.vectors + i * dims, dims, shape, state);
        vector_encode(set.rows + i * stride, &set.scales[i], set.vectors + i * dims, dims);
        set.keys[i] = (int64_t)((i * 2654435761u) % 4294967291u); /* each once, in no order */
    }
    return set;
}

static inline void free_set(vector_set *set) {
    free(set->vectors);
    free(set->scales);
    free(set->rows);
    free(set->keys);
}

static inline vector_query make_query(const float *v, size_t dims, const vector_kernel *kernel) {
    vector_query q;
    assert_int_equal(vector_query_init(&q, &alloc_default, v, dims), UAR_OK);
    if (kernel != NULL) q.kernel = kernel;
    return q;
}

#endif
