/*
 * Owns: the meaning of a sheet: the centre of the block (dims numbers), then an offset, a factor and an error for each row,
 * then the bits in groups as kernels read them.
 *
 * A row v lies at centre + r. With b the signs of r, and q the query: q·v = q·centre + q·r, and q·r is estimated by
 * factor * (q - centre)·b + centre·r, factor = r·r / r·b. `offset` is the part that the query doesn't change,
 * centre·r - factor * centre·b. Were the direction of what b misses of r a random one, the estimate would be off by
 * |q - centre| * error, error = factor * sqrt(1 - (r·b)² / (r·r * dims)), as a deviation.
 *
 * It is off by no more than sqrt(dims) * error * |w|, whatever its direction, where w is the part of q - centre that is at
 * right angles to r: the part along r is estimated without fault. And |w| is at most |q - v|.
 */
#include "index/vector_bits.h"

#include <assert.h>
#include <math.h>

/* The most that the squared lengths of a stored vector and a query may make together. */
#define LENGTHS_MOST 2.0201f
/* What single precision may take from a sum of a few hundred products. */
#define ROUNDING 1e-5f

typedef struct sheet_view {
    const float *centre, *offsets, *factors, *errors;
    const uint8_t *bits;
} sheet_view;

static sheet_view view_sheet(const float *sheet, size_t dims, size_t count) {
    const float *rows = sheet + dims;
    return (sheet_view){ sheet, rows, rows + count, rows + 2 * count, (const uint8_t *)(rows + 3 * count) };
}

size_t vector_bits_size(size_t dims, size_t count) {
    size_t rows = (count + VECTOR_GROUP - 1) / VECTOR_GROUP * VECTOR_GROUP;
    return (dims + 3 * count) * sizeof(float) + rows * (vector_stride(dims) / 8);
}

/* Room for the work on one row: whole bytes of dimensions, zeros in the padding. */
typedef struct workspace {
    float *dither, *rest;
    float *centre; /* padded, unlike that of the sheet */
    size_t dims, padded;
} workspace;

/* What the row stands for, without the centre. */
static void find_rest(workspace *w, const int8_t *row, float scale) {
    for (size_t i = 0; i < w->dims; i++)
        w->rest[i] = scale * ((float)row[i] - w->dither[i]) - w->centre[i];
}

static void find_centre(workspace *w, const int8_t *rows, const float *scales, size_t count) {
    for (size_t r = 0; r < count; r++, rows += vector_stride(w->dims))
        for (size_t i = 0; i < w->dims; i++)
            w->rest[i] += scales[r] * ((float)rows[i] - w->dither[i]);
    for (size_t i = 0; i < w->dims; i++)
        w->centre[i] = w->rest[i] / (float)count;
}

typedef struct row_sums {
    float square, sum, centre_bits, centre_rest;
} row_sums;

/* Sums in eight lanes, which compilers turn into vectors. `bits` is the first byte of the row in its group. */
static row_sums sum_row(uint8_t *bits, const workspace *w) {
    float square[8] = { 0 }, sum[8] = { 0 }, centre_bits[8] = { 0 }, centre_rest[8] = { 0 };
    for (size_t at = 0; at < w->padded; at += 8) {
        const float *rest = w->rest + at, *centre = w->centre + at;
        unsigned byte = 0;
        for (size_t i = 0; i < 8; i++) {
            square[i] += rest[i] * rest[i];
            sum[i] += fabsf(rest[i]);
            centre_rest[i] += centre[i] * rest[i];
            centre_bits[i] += copysignf(1, rest[i]) * centre[i];
        }
        for (unsigned i = 0; i < 8; i++)
            byte |= (unsigned)!signbit(rest[i]) << i;
        bits[at / 8 * VECTOR_GROUP] = (uint8_t)byte;
    }
    row_sums all = { 0, 0, 0, 0 };
    for (size_t i = 0; i < 8; i++) {
        all.square += square[i];
        all.sum += sum[i];
        all.centre_bits += centre_bits[i];
        all.centre_rest += centre_rest[i];
    }
    return all;
}

static void encode_rows(float *figures, const workspace *w, const int8_t *rows, const float *scales, size_t count) {
    float *offsets = figures, *factors = offsets + count, *errors = factors + count;
    size_t stride = vector_stride(w->dims), group_bytes = stride / 8 * VECTOR_GROUP;
    uint8_t *bits = (uint8_t *)(errors + count);
    workspace row = *w;
    for (size_t r = 0; r < count; r++) {
        find_rest(&row, rows + r * stride, scales[r]);
        row_sums s = sum_row(bits + r / VECTOR_GROUP * group_bytes + r % VECTOR_GROUP, w);
        float factor = s.sum > 0 ? s.square / s.sum : 0;
        float hit = s.square > 0 ? s.sum * s.sum / (s.square * (float)w->dims) : 1;
        offsets[r] = s.centre_rest - factor * s.centre_bits;
        factors[r] = factor;
        errors[r] = factor * sqrtf(hit < 1 ? 1 - hit : 0);
    }
}

uar_status vector_bits_build(float *sheet, const uar_allocator *a, const int8_t *rows, const float *scales, size_t dims,
                             size_t count) {
    assert(count != 0 && dims != 0 && dims <= VECTOR_DIMS_MAX);
    workspace w = { .dims = dims, .padded = (dims + 7) & ~(size_t)7 };
    w.dither = (float *)alloc_zeroed(a, 3 * w.padded, sizeof *w.dither);
    if (w.dither == NULL) return UAR_E_NOMEM;
    w.rest = w.dither + w.padded;
    w.centre = w.rest + w.padded;
    for (size_t i = 0; i < dims; i++)
        w.dither[i] = vector_dither(i);
    find_centre(&w, rows, scales, count);
    memset(sheet, 0, vector_bits_size(dims, count));
    memset(w.rest, 0, w.padded * sizeof *w.rest);
    memcpy(sheet, w.centre, dims * sizeof *sheet);
    encode_rows(sheet + dims, &w, rows, scales, count);
    alloc_free(a, w.dither);
    return UAR_OK;
}

/* Rows at a time: their sums fit into the stack. */
#define SCAN_ROWS 1024

/* Estimates as if each sum over bits were `more` larger, and `above` errors more. */
static void scan(float *out, const vector_query *q, const float *sheet, size_t total, float more, float above) {
    sheet_view s = view_sheet(sheet, q->dims, total);
    float along = vector_dot(q->v, s.centre, q->dims);
    float shift = q->bit_shift - more;
    int32_t sums[SCAN_ROWS];
    for (size_t first = 0; first < total; first += SCAN_ROWS, out += SCAN_ROWS) {
        size_t some = total - first < SCAN_ROWS ? total - first : SCAN_ROWS;
        size_t whole = (some + VECTOR_GROUP - 1) / VECTOR_GROUP * VECTOR_GROUP;
        q->kernel->bit_sums(sums, &q->operand, s.bits + first * (q->operand.stride / 8), whole);
        const float *offsets = s.offsets + first, *factors = s.factors + first, *errors = s.errors + first;
        for (size_t r = 0; r < some; r++)
            out[r] = along + offsets[r] + factors[r] * ((float)sums[r] * q->bit_step - shift) + errors[r] * above;
    }
}

const float *vector_bits_errors(const float *sheet, size_t dims, size_t count) {
    return view_sheet(sheet, dims, count).errors;
}

float vector_bits_estimate(float *cosines, const vector_query *q, const float *sheet, size_t count) {
    scan(cosines, q, sheet, count, 0, 0);
    float square = vector_dot(sheet, sheet, q->dims) + 1 - 2 * vector_dot(q->v, sheet, q->dims);
    return sqrtf(square > 0 ? square : 0);
}

static float widest(const float *scales, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; i++)
        most = scales[i] > most ? scales[i] : most;
    return most;
}

size_t vector_bits_sift(uint32_t *which, const vector_query *q, float least, const float *sheet, const float *scales,
                        size_t count) {
    float highs[SCAN_ROWS];
    assert(count <= SCAN_ROWS);
    float root = sqrtf((float)q->dims), square = LENGTHS_MOST - 2 * least, wide = widest(scales, count);
    /* To what the codes stand for, not to the vector. */
    float reach = (square > 0 ? sqrtf(square) : 0) + wide * 0.501f * root;
    /* Each code of the table is off by half a step at most, and bit_step is two of them. */
    float off = q->bit_step * 0.2501f * (float)q->dims;
    scan(highs, q, sheet, count, off, root * reach * 1.0001f);
    float floor = least - q->margin - ROUNDING;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        which[n] = (uint32_t)i;
        n += highs[i] + scales[i] * q->slack >= floor && scales[i] > 0;
    }
    return n;
}
