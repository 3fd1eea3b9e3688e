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

static inline void store4(float *c, int32x4_t sum, const byte_rows *a, size_t row, const byte_panels *w,
                          const float *bias, size_t at) {
    sum = vmlsq_n_s32(sum, vld1q_s32(w->sums + at), a->zeros[row]);
    float32x4_t x = vmulq_f32(vcvtq_f32_s32(sum), vmulq_n_f32(vld1q_f32(w->scales + at), a->scales[row]));
    vst1q_f32(c, bias != NULL ? vaddq_f32(x, vld1q_f32(bias + at)) : x);
}

/* Four outputs of four inputs each: widened to 16 bits, multiplied into 32, added in pairs twice. */
static inline int32x4_t four_outputs(int32x4_t sum, int16x4_t x, const int8_t *codes) {
    int8x16_t b = vld1q_s8(codes);
    int16x8_t low = vmovl_s8(vget_low_s8(b)), high = vmovl_s8(vget_high_s8(b));
    int32x4_t first = vpaddq_s32(vmull_s16(vget_low_s16(low), x), vmull_s16(vget_high_s16(low), x));
    int32x4_t second = vpaddq_s32(vmull_s16(vget_low_s16(high), x), vmull_s16(vget_high_s16(high), x));
    return vaddq_s32(sum, vpaddq_s32(first, second));
}

KERNEL_BYTE_PRODUCT(neon) {
    for (size_t p = 0; p < w->panels; p++)
        for (size_t i = 0; i < m; i++) {
            const int8_t *panel = w->codes + p * w->groups * PANEL * 4;
            const uint8_t *row = a->codes + i * a->width;
            int32x4_t sum[4] = { vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0) };
            for (size_t g = 0; g < w->groups; g++, panel += PANEL * 4) {
                int16_t four[4] = { row[g * 4], row[g * 4 + 1], row[g * 4 + 2], row[g * 4 + 3] };
                int16x4_t x = vld1_s16(four);
                UNROLL for (size_t q = 0; q < 4; q++) sum[q] = four_outputs(sum[q], x, panel + q * 16);
            }
            for (size_t q = 0; q < 4; q++)
                store4(c + i * c_width + p * PANEL + q * 4, sum[q], a, i, w, bias, p * PANEL + q * 4);
        }
}
