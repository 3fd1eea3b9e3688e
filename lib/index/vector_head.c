/* Owns: bounds of cosines by heads. Invariant: no bound is below the exact cosine of vectors whose squared lengths are at
 * most LENGTH_MOST. */
#include "index/vector_head.h"

#include <assert.h>
#include <math.h>

/* Stored vectors are of length 1 to this degree. */
#define LENGTH_MOST 1.0101
/* What single precision may take from a sum of a few hundred products. */
#define ROUNDING 1e-5f

bool vector_has_heads(size_t dims) {
    size_t stride = vector_stride(dims);
    return stride % VECTOR_HEAD == 0 && stride / VECTOR_HEAD >= 3;
}

static int32_t head_square(const int8_t *row) {
    int32_t sum = 0;
    for (size_t i = 0; i < VECTOR_HEAD; i++)
        sum += row[i] * row[i];
    return sum;
}

/* A head is scale * (code - dither), but for an error of half a step in each dimension: what is certain of its length is that
 * of the codes without the lengths of both. */
void vector_rests(float *rests, const int8_t *rows, const float *scales, size_t dims, size_t count) {
    assert(vector_has_heads(dims));
    double dither = 0;
    for (size_t i = 0; i < VECTOR_HEAD; i++)
        dither += (double)vector_dither(i) * (double)vector_dither(i);
    double unsure = sqrt(dither) + sqrt((double)VECTOR_HEAD) * 0.501;
    size_t stride = vector_stride(dims);
    for (size_t r = 0; r < count; r++) {
        double certain = (double)scales[r] * (sqrt((double)head_square(rows + r * stride)) - unsure);
        double rest = certain > 0 ? LENGTH_MOST - certain * certain : LENGTH_MOST;
        rests[r] = !(scales[r] > 0) ? 0 : rest > 0 ? (float)sqrt(rest) + ROUNDING : ROUNDING;
    }
}

/* The question's head. */
typedef struct head {
    vector_operand operand;
    float shift, half; /* product with the dither; half of the sum of absolute values */
    float rest;        /* length of what follows */
} head;

static head head_of(const vector_query *q) {
    head h = { .operand = q->operand };
    int32_t sum = 0;
    double shift = 0, half = 0, rest = 0;
    for (size_t i = 0; i < VECTOR_HEAD; i++) {
        sum += q->operand.wide[i];
        shift += (double)vector_dither(i) * (double)q->step * q->operand.wide[i];
        half += fabs((double)q->v[i]) * 0.501;
    }
    for (size_t i = VECTOR_HEAD; i < q->dims; i++)
        rest += (double)q->v[i] * (double)q->v[i];
    h.operand.stride = VECTOR_HEAD;
    h.operand.bias = 128 * sum;
    h.shift = (float)shift;
    h.half = (float)half;
    h.rest = (float)sqrt(rest) + ROUNDING;
    return h;
}

size_t vector_head_sift(uint32_t *which, const vector_query *q, float least, const int8_t *rows, const float *scales,
                        const float *rests, size_t count) {
    assert(count <= VECTOR_HEAD_ROWS && vector_has_heads(q->dims));
    head h = head_of(q);
    int32_t dots[VECTOR_HEAD_ROWS];
    uint32_t step = (uint32_t)(q->operand.stride / VECTOR_HEAD);
    for (size_t i = 0; i < count; i++)
        which[i] = (uint32_t)i * step; /* a row is as long as some heads */
    q->kernel->dots(dots, &h.operand, rows, which, count);
    size_t n = 0;
    float floor = least - q->margin - ROUNDING;
    for (size_t i = 0; i < count; i++) {
        float high = scales[i] * ((float)dots[i] * q->step - h.shift + h.half) + h.rest * rests[i];
        which[n] = (uint32_t)i;
        n += high >= floor && scales[i] > 0;
    }
    return n;
}
