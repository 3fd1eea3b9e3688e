/* Owns: how the sets are drawn. Invariant: the streams of rows and of questions of a set share its centres and nothing else. */
#include "vector_sets.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Nearly normal, variance 1: four uniform numbers from one draw. */
static float bell(uint64_t *state) {
    uint64_t x = next_random(state);
    int sum = (int)(x & 0xFFFF) + (int)(x >> 16 & 0xFFFF) + (int)(x >> 32 & 0xFFFF) + (int)(x >> 48);
    return (float)(sum - 131070) * (1.7320508f / 65536);
}

static double dot(const float *a, const float *b) {
    double sum = 0;
    for (size_t i = 0; i < SET_DIMS; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void normalise(float *v) {
    float factor = (float)(1 / sqrt(dot(v, v)));
    for (size_t i = 0; i < SET_DIMS; i++)
        v[i] *= factor;
}

const char *set_name(set_kind kind) {
    return kind == SET_HARD ? "hard" : "clustered";
}

static size_t centre_count(set_kind kind) {
    return kind == SET_HARD ? 8 : SET_CENTRES;
}

void set_open(set_stream *s, set_kind kind, bool queries) {
    uint64_t random = kind == SET_HARD ? 88172645463325252u : 2463534242u;
    float shared[SET_DIMS];
    /* Squares of what a vector consists of: the shared direction, the centre, its own. */
    float common = kind == SET_HARD ? sqrtf(0.6f) : 0, own_centre = kind == SET_HARD ? sqrtf(0.15f) : sqrtf(0.75f);
    for (int i = 0; i < 100; i++)
        (void)next_random(&random);
    for (size_t i = 0; i < SET_DIMS; i++)
        shared[i] = bell(&random);
    s->kind = kind;
    s->centres = bench_memory(centre_count(kind) * SET_DIMS * sizeof(float));
    for (size_t i = 0; i < centre_count(kind) * SET_DIMS; i++)
        s->centres[i] = common * shared[i % SET_DIMS] + own_centre * bell(&random);
    s->random = random ^ (queries ? 0x5DEECE66Du : 0);
}

void set_close(set_stream *s) {
    free(s->centres);
}

void set_next(set_stream *s, float *out) {
    const float *centre = s->centres + next_random(&s->random) % centre_count(s->kind) * SET_DIMS;
    for (size_t i = 0; i < SET_DIMS; i++)
        out[i] = centre[i] + 0.5f * bell(&s->random);
    normalise(out);
}

/* The sum that the library uses, so that the order of near ties is the same. */
static float short_dot(const float *a, const float *b) {
    float sums[8] = { 0 };
    for (size_t i = 0; i < SET_DIMS; i += 8)
        for (size_t lane = 0; lane < 8; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/* Rows come by rising number, and of equal cosines the higher number is nearer. */
static void place(int64_t *nearest, float *cosines, int64_t number, float cosine) {
    if (cosine < cosines[SET_NEAREST - 1]) return;
    size_t at = SET_NEAREST - 1;
    for (; at != 0 && cosine >= cosines[at - 1]; at--) {
        cosines[at] = cosines[at - 1];
        nearest[at] = nearest[at - 1];
    }
    cosines[at] = cosine;
    nearest[at] = number;
}

set_truth *set_truth_new(set_kind kind, size_t count) {
    set_truth *truth = bench_memory(sizeof *truth);
    set_stream rows, queries;
    float v[SET_DIMS];
    set_open(&queries, kind, true);
    for (size_t q = 0; q < SET_QUERIES; q++) {
        set_next(&queries, truth->queries[q]);
        for (size_t i = 0; i < SET_NEAREST; i++)
            truth->cosines[q][i] = -2;
    }
    set_close(&queries);
    set_open(&rows, kind, false);
    for (size_t n = 1; n <= count; n++) {
        set_next(&rows, v);
        for (size_t q = 0; q < SET_QUERIES; q++)
            place(truth->nearest[q], truth->cosines[q], (int64_t)n, short_dot(truth->queries[q], v));
    }
    set_close(&rows);
    return truth;
}

double set_recall(const set_truth *truth, size_t query, const int64_t *found, size_t found_count) {
    size_t met = 0;
    for (size_t i = 0; i < SET_NEAREST; i++)
        for (size_t k = 0; k < found_count; k++)
            met += truth->nearest[query][i] == found[k];
    return (double)met / SET_NEAREST;
}

size_t set_resident(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    if (f == NULL) return 0;
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0) kib = strtoull(line + 8, NULL, 10);
    (void)fclose(f);
    return (size_t)kib * 1024;
}

void set_settle(void) {
    (void)malloc_trim(0);
}
