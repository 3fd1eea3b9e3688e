/*
 * Owns: what the codes of rows and queries mean.
 * Invariants: codes lie in -127 .. 127 and are 0 in the padding; 128 times the sum of a query's absolute codes stays below
 * 2^31, so no kernel can overflow, in whatever order it adds.
 */
#include "index/vector.h"

#include <assert.h>
#include <math.h>

/* Rows are rounded after the dither moved them by up to a half: 126.5 steps leave room for it. */
#define ROW_STEPS 126.5f
#define QUERY_STEPS 16256
/* Uniform errors of width 1 have a variance of 1/12 and tails no heavier than normal ones: eight deviations. */
#define SLACK 2.3095

bool vector_normalise(float *v, size_t dims) {
    double sum = 0;
    for (size_t i = 0; i < dims; i++)
        sum += (double)v[i] * (double)v[i];
    if (!isfinite(sum) || !(sum > 0)) return false;
    double factor = 1 / sqrt(sum);
    for (size_t i = 0; i < dims; i++)
        v[i] = (float)((double)v[i] * factor);
    return true;
}

float vector_dot(const float *a, const float *b, size_t dims) {
    float sums[8] = { 0 };
    size_t whole = dims & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        for (size_t lane = 0; lane < 8; lane++)
            sums[lane] += a[i + lane] * b[i + lane];
    for (size_t i = whole; i < dims; i++)
        sums[i & 7] += a[i] * b[i];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

size_t vector_stride(size_t dims) {
    return (dims + 63) & ~(size_t)63;
}

/* The finisher of SplitMix64 over the number of the dimension: the top 24 bits as a number from -1/2 to 1/2. */
float vector_dither(size_t dimension) {
    uint64_t x = ((uint64_t)dimension + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return ((float)(x >> 40) + 0.5f) * 0x1p-24f - 0.5f;
}

static float largest(const float *v, size_t dims) {
    float most = 0;
    for (size_t i = 0; i < dims; i++)
        most = fabsf(v[i]) > most ? fabsf(v[i]) : most;
    return most;
}

/* To the nearest, whatever the rounding mode: `above` is a whole number above |x|, small, so that no digit is lost. */
static int nearest(float x, int above) {
    return (int)(x + (float)above + 0.5f) - above;
}

void vector_encode(int8_t *row, float *scale, const float *v, size_t dims) {
    assert(dims != 0 && dims <= VECTOR_DIMS_MAX);
    float most = largest(v, dims);
    float per_step = most > 0 ? ROW_STEPS / most : 0;
    *scale = most / ROW_STEPS;
    for (size_t i = 0; i < dims; i++)
        row[i] = (int8_t)nearest(v[i] * per_step + vector_dither(i), 128);
    memset(row + dims, 0, vector_stride(dims) - dims);
}

/* Pieces of one block of memory, each on a line of 64 bytes. */
typedef struct query_space {
    int16_t *wide;
    int8_t *high, *low;
    float *v;
    uint8_t *table;
} query_space;

static uar_status make_space(query_space *space, void **block, const uar_allocator *a, size_t stride) {
    char *memory = (char *)alloc_zeroed(a, stride, 2 + 1 + 1 + 4 + 4 + 1);
    if (memory == NULL) return UAR_E_NOMEM;
    *block = memory;
    memory += (64 - ((uintptr_t)memory & 63)) & 63;
    space->v = (float *)(void *)memory;
    space->wide = (int16_t *)(void *)(memory + stride * 4);
    space->high = (int8_t *)(memory + stride * 6);
    space->low = (int8_t *)(memory + stride * 7);
    space->table = (uint8_t *)(memory + stride * 8);
    return UAR_OK;
}

/* The largest code that a query may use, so that the sum of all codes times 128 stays below 2^31. */
static int query_steps(const float *v, size_t dims, float most) {
    double sum = 0;
    for (size_t i = 0; i < dims; i++)
        sum += fabs((double)v[i]);
    double steps = ((double)(1 << 24) - 1 - (double)dims) * (double)most / sum;
    return steps < QUERY_STEPS ? (int)steps : QUERY_STEPS;
}

/* Codes of the query; returns the length of what they miss. */
static double encode_query(query_space *space, vector_query *q, const float *v) {
    float most = largest(v, q->dims);
    float steps = (float)query_steps(v, q->dims, most);
    double shift = 0, missed = 0;
    int32_t sum = 0;
    q->step = most / steps;
    for (size_t i = 0; i < q->dims; i++) {
        int code = nearest(v[i] * (steps / most), 1 << 14);
        int high = (code + 64 + 128 * 128) / 128 - 128;
        space->v[i] = v[i];
        space->wide[i] = (int16_t)code;
        space->high[i] = (int8_t)high;
        space->low[i] = (int8_t)(code - 128 * high);
        sum += code;
        shift += (double)vector_dither(i) * (double)q->step * code;
        missed += pow((double)v[i] - (double)q->step * code, 2);
    }
    q->shift = (float)shift;
    q->operand =
        (vector_operand){ space->wide, space->high, space->low, vector_stride(q->dims), 128 * sum, space->table };
    return sqrt(missed);
}

/* The largest sum of absolute values of four dimensions. */
static float largest_four(const float *v, size_t dims) {
    float most = 0;
    for (size_t d = 0; d < dims; d += 4) {
        float sum = 0;
        for (size_t i = d; i < d + 4 && i < dims; i++)
            sum += fabsf(v[i]);
        most = sum > most ? sum : most;
    }
    return most;
}

/* The 16 sums of four codes, moved up by what is below 0 of them; returns by how much. */
static int fill_four(uint8_t table[16], const int codes[4]) {
    int sums[16] = { 0 }, below = 0;
    for (unsigned i = 0; i < 4; i++) {
        below += codes[i] < 0 ? -codes[i] : 0;
        for (unsigned bits = 0; bits < 1u << i; bits++)
            sums[bits | 1u << i] = sums[bits] + codes[i];
    }
    for (unsigned bits = 0; bits < 16; bits++)
        table[bits] = (uint8_t)(sums[bits] + below);
    return below;
}

/* Four codes at most 127 in all, rounding included: two tables' sums fit into a byte. */
static void fill_table(vector_query *q, uint8_t *table) {
    float step = largest_four(q->v, q->dims) / 125;
    int sum = 0, moved = 0;
    for (size_t d = 0; d < q->dims; d += 4, table += 16) {
        int codes[4] = { 0 };
        for (size_t i = 0; i < 4 && d + i < q->dims; i++)
            sum += codes[i] = nearest(q->v[d + i] / step, 128);
        moved += fill_four(table, codes);
    }
    q->bit_step = 2 * step;
    q->bit_shift = step * (float)(2 * moved + sum);
}

/* No error of a row is above half a step in each dimension. Single precision adds less than 2^-15 of a step. */
static float find_slack(const float *v, size_t dims, double length) {
    double sum = 0;
    for (size_t i = 0; i < dims; i++)
        sum += fabs((double)v[i]);
    double probable = SLACK * length;
    return (float)((sum / 2 < probable ? sum / 2 : probable) + sum * 0x1p-15);
}

uar_status vector_query_init(vector_query *q, const uar_allocator *a, const float *v, size_t dims) {
    if (dims == 0 || dims > VECTOR_DIMS_MAX) return UAR_E_INVALID;
    float length = vector_dot(v, v, dims);
    if (!(length > 0.5f && length < 2)) return UAR_E_INVALID;
    query_space space;
    vector_query made = { .alloc = a, .kernel = vector_kernel_best(), .dims = dims };
    uar_status status = make_space(&space, &made.block, a, vector_stride(dims));
    if (status != UAR_OK) return status;
    double missed = encode_query(&space, &made, v);
    made.v = space.v;
    fill_table(&made, space.table);
    made.slack = find_slack(v, dims, sqrt((double)length));
    made.margin = (float)(missed * 2 + (double)(dims / 8 + 32) * 0x1p-24);
    *q = made;
    return UAR_OK;
}

void vector_query_dispose(vector_query *q) {
    alloc_free(q->alloc, q->block);
    q->block = NULL;
}

/* How many integer products are kept on the stack at a time. */
#define SCAN_ROWS 1024

void vector_scan(float *scores, const vector_query *q, const int8_t *rows, const float *scales, size_t count) {
    int32_t dots[SCAN_ROWS];
    while (count != 0) {
        size_t some = count < SCAN_ROWS ? count : SCAN_ROWS;
        q->kernel->dots(dots, &q->operand, rows, NULL, some);
        for (size_t r = 0; r < some; r++)
            scores[r] = scales[r] * ((float)dots[r] * q->step - q->shift);
        rows += some * q->operand.stride;
        scales += some;
        scores += some;
        count -= some;
    }
}

void vector_scan_some(float *scores, const vector_query *q, const int8_t *rows, const float *scales,
                      const uint32_t *which, size_t count) {
    if (which == NULL) {
        vector_scan(scores, q, rows, scales, count);
        return;
    }
    int32_t dots[SCAN_ROWS];
    for (size_t from = 0; from < count; from += SCAN_ROWS) {
        size_t some = count - from < SCAN_ROWS ? count - from : SCAN_ROWS;
        q->kernel->dots(dots, &q->operand, rows, which + from, some);
        for (size_t i = 0; i < some; i++)
            scores[from + i] = scales[which[from + i]] * ((float)dots[i] * q->step - q->shift);
    }
}
