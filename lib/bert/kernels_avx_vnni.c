/* Owns nothing. AVX-VNNI: the byte product in 256 bits. Compiled for that level, called only where it is. */
#include <immintrin.h>
#include <string.h>

#include "bert/kernels_levels.h"

#define ROWS 4

static inline void store8(float *c, __m256i sum, const byte_rows *a, size_t row, const byte_panels *w,
                          const float *bias, size_t at) {
    __m256i zero = _mm256_set1_epi32(a->zeros[row]);
    sum = _mm256_sub_epi32(sum, _mm256_mullo_epi32(zero, _mm256_loadu_si256((const __m256i *)(w->sums + at))));
    __m256 scale = _mm256_mul_ps(_mm256_set1_ps(a->scales[row]), _mm256_loadu_ps(w->scales + at));
    __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
    _mm256_storeu_ps(c, bias != NULL ? _mm256_add_ps(x, _mm256_loadu_ps(bias + at)) : x);
}

TILE tile(float *c, size_t c_width, const byte_rows *a, size_t row, const byte_panels *w, const float *bias, size_t p,
          const size_t rows) {
    __m256i low[ROWS], high[ROWS];
    UNROLL for (size_t r = 0; r < rows; r++) {
        low[r] = _mm256_setzero_si256();
        high[r] = _mm256_setzero_si256();
    }
    const int8_t *panel = w->codes + p * w->groups * PANEL * 4;
    const uint8_t *x = a->codes + row * a->width;
    for (size_t g = 0; g < w->groups; g++, panel += PANEL * 4, x += 4) {
        __m256i l = _mm256_loadu_si256((const __m256i *)panel), h = _mm256_loadu_si256((const __m256i *)(panel + 32));
        UNROLL for (size_t r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, x + r * a->width, 4);
            __m256i v = _mm256_set1_epi32(four);
            low[r] = _mm256_dpbusd_avx_epi32(low[r], v, l);
            high[r] = _mm256_dpbusd_avx_epi32(high[r], v, h);
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++) {
        store8(c + r * c_width + p * PANEL, low[r], a, row + r, w, bias, p * PANEL);
        store8(c + r * c_width + p * PANEL + 8, high[r], a, row + r, w, bias, p * PANEL + 8);
    }
}

static void tiles(float *c, size_t c_width, const byte_rows *a, size_t row, const byte_panels *w, const float *bias,
                  size_t p, size_t rows) {
    switch (rows) {
    case 4: tile(c, c_width, a, row, w, bias, p, 4); break;
    case 3: tile(c, c_width, a, row, w, bias, p, 3); break;
    case 2: tile(c, c_width, a, row, w, bias, p, 2); break;
    default: tile(c, c_width, a, row, w, bias, p, 1); break;
    }
}

KERNEL_BYTE_PRODUCT(avx_vnni) {
    size_t rows = tile_rows(m, ROWS);
    for (size_t p = 0; p < w->panels; p++)
        for (size_t i = 0; i < m; i += rows)
            tiles(c + i * c_width, c_width, a, i, w, bias, p, rows < m - i ? rows : m - i);
}
