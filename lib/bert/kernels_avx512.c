/* Owns nothing. AVX-512: tiles of 12 rows and two panels. Compiled for that level, called only where it is. */
#include <immintrin.h>
#include <math.h>

#include "bert/kernels_levels.h"

#define LEVEL(name) avx512_##name
#include "bert/kernels_rows.h"

#define ROWS 12

TILE tile(float *c, size_t c_width, const float *a, size_t a_width, const float *panel, size_t next, const float *bias,
          size_t k, const size_t rows, const size_t wide) {
    __m512 sum[ROWS][2];
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < wide; q++) sum[r][q] =
        bias != NULL ? _mm512_loadu_ps(bias + q * PANEL) : _mm512_setzero_ps();
    for (size_t i = 0; i < k; i++, panel += PANEL) {
        __m512 b[2];
        UNROLL for (size_t q = 0; q < wide; q++) b[q] = _mm512_loadu_ps(panel + q * next);
        UNROLL for (size_t r = 0; r < rows; r++) {
            __m512 x = _mm512_set1_ps(a[r * a_width + i]);
            UNROLL for (size_t q = 0; q < wide; q++) sum[r][q] = _mm512_fmadd_ps(x, b[q], sum[r][q]);
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < wide; q++)
        _mm512_storeu_ps(c + r * c_width + q * PANEL, sum[r][q]);
}

#define CASE(count)                                                       \
    case count:                                                           \
        if (wide == 2)                                                    \
            tile(c, c_width, a, a_width, panel, next, bias, k, count, 2); \
        else                                                              \
            tile(c, c_width, a, a_width, panel, next, bias, k, count, 1); \
        break;

static void tiles(float *c, size_t c_width, const float *a, size_t a_width, const float *panel, size_t next,
                  const float *bias, size_t k, size_t rows, size_t wide) {
    switch (rows) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
    default: break;
    }
}

KERNEL_PRODUCT(avx512) {
    size_t rows = tile_rows(m, ROWS), wide;
    for (size_t p = 0; p < n; p += wide * PANEL, panels += wide * PANEL * k) {
        wide = n - p >= 2 * PANEL ? 2 : 1;
        for (size_t i = 0; i < m; i += rows)
            tiles(c + i * c_width + p, c_width, a + i * a_width, a_width, panels, PANEL * k,
                  bias != NULL ? bias + p : NULL, k, rows < m - i ? rows : m - i, wide);
    }
}
