/* Owns nothing. AVX2 with FMA: tiles of 6 rows and one panel. Compiled for that level, called only where it is. */
#include <immintrin.h>
#include <math.h>

#include "bert/kernels_levels.h"

#define LEVEL(name) avx2_##name
#include "bert/kernels_rows.h"

#define ROWS 6

TILE tile(float *c, size_t c_width, const float *a, size_t a_width, const float *panel, const float *bias, size_t k,
          const size_t rows) {
    __m256 low[ROWS], high[ROWS];
    UNROLL for (size_t r = 0; r < rows; r++) {
        low[r] = bias != NULL ? _mm256_loadu_ps(bias) : _mm256_setzero_ps();
        high[r] = bias != NULL ? _mm256_loadu_ps(bias + 8) : _mm256_setzero_ps();
    }
    for (size_t i = 0; i < k; i++, panel += PANEL) {
        __m256 l = _mm256_loadu_ps(panel), h = _mm256_loadu_ps(panel + 8);
        UNROLL for (size_t r = 0; r < rows; r++) {
            __m256 x = _mm256_broadcast_ss(a + r * a_width + i);
            low[r] = _mm256_fmadd_ps(x, l, low[r]);
            high[r] = _mm256_fmadd_ps(x, h, high[r]);
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++) {
        _mm256_storeu_ps(c + r * c_width, low[r]);
        _mm256_storeu_ps(c + r * c_width + 8, high[r]);
    }
}

static void tiles(float *c, size_t c_width, const float *a, size_t a_width, const float *panel, const float *bias,
                  size_t k, size_t rows) {
    switch (rows) {
    case 6: tile(c, c_width, a, a_width, panel, bias, k, 6); break;
    case 5: tile(c, c_width, a, a_width, panel, bias, k, 5); break;
    case 4: tile(c, c_width, a, a_width, panel, bias, k, 4); break;
    case 3: tile(c, c_width, a, a_width, panel, bias, k, 3); break;
    case 2: tile(c, c_width, a, a_width, panel, bias, k, 2); break;
    default: tile(c, c_width, a, a_width, panel, bias, k, 1); break;
    }
}

KERNEL_PRODUCT(avx2) {
    size_t rows = tile_rows(m, ROWS);
    for (size_t p = 0; p < n; p += PANEL, panels += PANEL * k)
        for (size_t i = 0; i < m; i += rows)
            tiles(c + i * c_width + p, c_width, a + i * a_width, a_width, panels, bias != NULL ? bias + p : NULL, k,
                  rows < m - i ? rows : m - i);
}

/* 8 sums of one row to floats. */
static inline void store8(float *c, __m256i sum, const byte_rows *a, size_t row, const byte_panels *w,
                          const float *bias, size_t at) {
    __m256i zero = _mm256_set1_epi32(a->zeros[row]);
    sum = _mm256_sub_epi32(sum, _mm256_mullo_epi32(zero, _mm256_loadu_si256((const __m256i *)(w->sums + at))));
    __m256 scale = _mm256_mul_ps(_mm256_set1_ps(a->scales[row]), _mm256_loadu_ps(w->scales + at));
    __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
    _mm256_storeu_ps(c, bias != NULL ? _mm256_add_ps(x, _mm256_loadu_ps(bias + at)) : x);
}

/* Bytes are widened to 16 bits, as products of bytes added in pairs don't fit into 16 bits. Two rows, so that the
 * widened weights serve twice. */
TILE byte_tile(float *c, size_t c_width, const byte_rows *a, size_t row, const byte_panels *w, const float *bias,
               size_t p, const size_t rows) {
    __m256i sum[2][4];
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < 4; q++) sum[r][q] = _mm256_setzero_si256();
    const int8_t *panel = w->codes + p * w->groups * PANEL * 4;
    for (size_t g = 0; g < w->groups; g++, panel += PANEL * 4) {
        __m256i x[2];
        UNROLL for (size_t r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, a->codes + (row + r) * a->width + g * 4, 4);
            x[r] = _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(four)));
        }
        UNROLL for (size_t q = 0; q < 4; q++) {
            __m256i codes = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(panel + q * 16)));
            UNROLL for (size_t r = 0; r < rows; r++) sum[r][q] =
                _mm256_add_epi32(sum[r][q], _mm256_madd_epi16(x[r], codes));
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t half = 0; half < 2; half++) {
            /* Pairs are added within 128-bit lanes: 0 1 4 5 2 3 6 7 goes back in order. */
            __m256i pairs = _mm256_hadd_epi32(sum[r][half * 2], sum[r][half * 2 + 1]);
            pairs = _mm256_permute4x64_epi64(pairs, 0xD8);
            size_t at = p * PANEL + half * 8;
            store8(c + r * c_width + at, pairs, a, row + r, w, bias, at);
        }
}

KERNEL_BYTE_PRODUCT(avx2) {
    for (size_t p = 0; p < w->panels; p++) {
        size_t i = 0;
        for (; i + 2 <= m; i += 2)
            byte_tile(c + i * c_width, c_width, a, i, w, bias, p, 2);
        if (i < m) byte_tile(c + i * c_width, c_width, a, i, w, bias, p, 1);
    }
}
