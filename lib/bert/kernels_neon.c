/* Owns nothing. NEON: tiles of 6 rows and one panel. Compiled where the compiler's target has it, which is all arm64. */
#include <arm_neon.h>
#include <string.h>

#include "bert/kernels_levels.h"

#define ROWS 6

TILE tile(float *c, size_t c_width, const float *a, size_t a_width, const float *panel, const float *bias, size_t k,
          const size_t rows) {
    float32x4_t sum[ROWS][4];
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < 4; q++) sum[r][q] =
        bias != NULL ? vld1q_f32(bias + q * 4) : vdupq_n_f32(0);
    for (size_t i = 0; i < k; i++, panel += PANEL) {
        float32x4_t b[4];
        UNROLL for (size_t q = 0; q < 4; q++) b[q] = vld1q_f32(panel + q * 4);
        UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < 4; q++) sum[r][q] =
            vfmaq_n_f32(sum[r][q], b[q], a[r * a_width + i]);
    }
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < 4; q++)
        vst1q_f32(c + r * c_width + q * 4, sum[r][q]);
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

KERNEL_PRODUCT(neon) {
    size_t rows = tile_rows(m, ROWS);
    for (size_t p = 0; p < n; p += PANEL, panels += PANEL * k)
        for (size_t i = 0; i < m; i += rows)
            tiles(c + i * c_width + p, c_width, a + i * a_width, a_width, panels, bias != NULL ? bias + p : NULL, k,
                  rows < m - i ? rows : m - i);
}

/* Four sums of one row to floats; `zero` is taken from each code that was summed up. */
static inline void store4(float *c, int32x4_t sum, const byte_rows *a, size_t row, int32_t zero, const byte_panels *w,
                          const float *bias, size_t at) {
    sum = vmlsq_n_s32(sum, vld1q_s32(w->sums + at), zero);
    float32x4_t x = vmulq_f32(vcvtq_f32_s32(sum), vmulq_n_f32(vld1q_f32(w->scales + at), a->scales[row]));
    vst1q_f32(c, bias != NULL ? vaddq_f32(x, vld1q_f32(bias + at)) : x);
}

#if defined(__ARM_FEATURE_DOTPROD)
#define BYTE_ROWS 4
#define CODE_SHIFT 128 /* the instruction wants signed codes: 128 less, and so is what stands for zero */

TILE byte_tile(int32x4_t sum[BYTE_ROWS][4], const uint8_t *x, size_t width, const int8_t *panel, size_t groups,
               const size_t rows) {
    for (size_t g = 0; g < groups; g++, panel += PANEL * 4, x += 4) {
        int8x16_t w[4];
        UNROLL for (size_t q = 0; q < 4; q++) w[q] = vld1q_s8(panel + q * 16);
        UNROLL for (size_t r = 0; r < rows; r++) {
            uint32_t four;
            memcpy(&four, x + r * width, 4);
            int8x16_t codes = vreinterpretq_s8_u32(vdupq_n_u32(four ^ 0x80808080u));
            UNROLL for (size_t q = 0; q < 4; q++) sum[r][q] = vdotq_s32(sum[r][q], w[q], codes);
        }
    }
}
#else
#define BYTE_ROWS 2
#define CODE_SHIFT 0

/* Four outputs of four inputs each: multiplied into 32 bits, added in pairs twice. */
static inline int32x4_t four_outputs(int32x4_t sum, int16x4_t x, int16x8_t low, int16x8_t high) {
    int32x4_t first = vpaddq_s32(vmull_s16(vget_low_s16(low), x), vmull_s16(vget_high_s16(low), x));
    int32x4_t second = vpaddq_s32(vmull_s16(vget_low_s16(high), x), vmull_s16(vget_high_s16(high), x));
    return vaddq_s32(sum, vpaddq_s32(first, second));
}

TILE byte_tile(int32x4_t sum[BYTE_ROWS][4], const uint8_t *x, size_t width, const int8_t *panel, size_t groups,
               const size_t rows) {
    for (size_t g = 0; g < groups; g++, panel += PANEL * 4, x += 4) {
        int16x4_t codes[BYTE_ROWS];
        UNROLL for (size_t r = 0; r < rows; r++) {
            const uint8_t *from = x + r * width;
            int16_t four[4] = { from[0], from[1], from[2], from[3] };
            codes[r] = vld1_s16(four);
        }
        UNROLL for (size_t q = 0; q < 4; q++) {
            int8x16_t w = vld1q_s8(panel + q * 16);
            int16x8_t low = vmovl_s8(vget_low_s8(w)), high = vmovl_s8(vget_high_s8(w));
            UNROLL for (size_t r = 0; r < rows; r++) sum[r][q] = four_outputs(sum[r][q], codes[r], low, high);
        }
    }
}
#endif

TILE byte_rows_of(float *c, size_t c_width, const byte_rows *a, size_t row, const byte_panels *w, const float *bias,
                  size_t p, const size_t rows) {
    int32x4_t sum[BYTE_ROWS][4];
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < 4; q++) sum[r][q] = vdupq_n_s32(0);
    byte_tile(sum, a->codes + row * a->width, a->width, w->codes + p * w->groups * PANEL * 4, w->groups, rows);
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t q = 0; q < 4; q++) {
        size_t at = p * PANEL + q * 4;
        store4(c + r * c_width + at, sum[r][q], a, row + r, a->zeros[row + r] - CODE_SHIFT, w, bias, at);
    }
}

KERNEL_BYTE_PRODUCT(neon) {
    for (size_t p = 0; p < w->panels; p++) {
        size_t i = 0;
        for (; i + BYTE_ROWS <= m; i += BYTE_ROWS)
            byte_rows_of(c + i * c_width, c_width, a, i, w, bias, p, BYTE_ROWS);
        for (; i < m; i++)
            byte_rows_of(c + i * c_width, c_width, a, i, w, bias, p, 1);
    }
}
