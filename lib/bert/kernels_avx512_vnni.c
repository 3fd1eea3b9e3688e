/* Owns nothing. AVX-512 VNNI: the byte product in 512 bits. Compiled for that level, called only where it is. */
#include <immintrin.h>
#include <string.h>

#include "bert/kernels_levels.h"

/* More rows would need more row addresses than there are registers for them. */
#define ROWS 6

static inline void store16(float *c, __m512i sum, const byte_rows *a, size_t row, const byte_panels *w,
                           const float *bias, size_t at) {
    __m512i zero = _mm512_set1_epi32(a->zeros[row]);
    sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(zero, _mm512_loadu_si512(w->sums + at)));
    __m512 scale = _mm512_mul_ps(_mm512_set1_ps(a->scales[row]), _mm512_loadu_ps(w->scales + at));
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
    _mm512_storeu_ps(c, bias != NULL ? _mm512_add_ps(x, _mm512_loadu_ps(bias + at)) : x);
}

TILE tile(float *c, size_t c_width, const byte_rows *a, size_t row, const byte_panels *w, const float *bias, size_t p,
          const size_t rows, const size_t wide) {
    __m512i sum[ROWS][2];
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < wide; q++) sum[r][q] =
        _mm512_setzero_si512();
    const int8_t *panel = w->codes + p * w->groups * PANEL * 4;
    const uint8_t *x = a->codes + row * a->width;
    size_t next = w->groups * PANEL * 4;
    for (size_t g = 0; g < w->groups; g++, panel += PANEL * 4, x += 4) {
        __m512i b[2];
        UNROLL for (size_t q = 0; q < wide; q++) b[q] = _mm512_loadu_si512(panel + q * next);
        UNROLL for (size_t r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, x + r * a->width, 4);
            __m512i v = _mm512_set1_epi32(four);
            UNROLL for (size_t q = 0; q < wide; q++) sum[r][q] = _mm512_dpbusd_epi32(sum[r][q], v, b[q]);
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < wide; q++)
        store16(c + r * c_width + (p + q) * PANEL, sum[r][q], a, row + r, w, bias, (p + q) * PANEL);
}

#define CASE(count)                                         \
    case count:                                             \
        if (wide == 2)                                      \
            tile(c, c_width, a, row, w, bias, p, count, 2); \
        else                                                \
            tile(c, c_width, a, row, w, bias, p, count, 1); \
        break;

static void tiles(float *c, size_t c_width, const byte_rows *a, size_t row, const byte_panels *w, const float *bias,
                  size_t p, size_t rows, size_t wide) {
    switch (rows) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
    default: break;
    }
}

KERNEL_BYTE_PRODUCT(avx512_vnni) {
    size_t rows = tile_rows(m, ROWS), wide;
    for (size_t p = 0; p < w->panels; p += wide) {
        wide = w->panels - p >= 2 ? 2 : 1;
        for (size_t i = 0; i < m; i += rows)
            tiles(c + i * c_width, c_width, a, i, w, bias, p, rows < m - i ? rows : m - i, wide);
    }
}
