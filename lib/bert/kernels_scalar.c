/* Owns nothing. The level that every machine has. */
#include <math.h>

#include "bert/kernels_levels.h"

#define LEVEL(name) scalar_##name
#include "bert/kernels_rows.h"

#define ROWS 4

TILE tile(float *c, size_t c_width, const float *a, size_t a_width, const float *panel, const float *bias, size_t k,
          const size_t rows) {
    float sum[ROWS][PANEL];
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < PANEL; j++)
            sum[r][j] = bias != NULL ? bias[j] : 0;
    for (size_t i = 0; i < k; i++, panel += PANEL)
        for (size_t r = 0; r < rows; r++) {
            float x = a[r * a_width + i];
            for (size_t j = 0; j < PANEL; j++)
                sum[r][j] += x * panel[j];
        }
    for (size_t r = 0; r < rows; r++)
        memcpy(c + r * c_width, sum[r], sizeof sum[r]);
}

KERNEL_PRODUCT(scalar) {
    for (size_t p = 0; p < n; p += PANEL, panels += PANEL * k) {
        const float *b = bias != NULL ? bias + p : NULL;
        size_t i = 0;
        for (; i + ROWS <= m; i += ROWS)
            tile(c + i * c_width + p, c_width, a + i * a_width, a_width, panels, b, k, ROWS);
        for (; i < m; i++)
            tile(c + i * c_width + p, c_width, a + i * a_width, a_width, panels, b, k, 1);
    }
}

KERNEL_BYTE_PRODUCT(scalar) {
    for (size_t p = 0; p < w->panels; p++) {
        const int8_t *panel = w->codes + p * w->groups * PANEL * 4;
        for (size_t i = 0; i < m; i++) {
            int32_t sum[PANEL] = { 0 };
            const uint8_t *row = a->codes + i * a->width;
            for (size_t g = 0; g < w->groups; g++)
                for (size_t j = 0; j < PANEL; j++)
                    for (size_t b = 0; b < 4; b++)
                        sum[j] += row[g * 4 + b] * panel[(g * PANEL + j) * 4 + b];
            for (size_t j = 0; j < PANEL; j++) {
                size_t at = p * PANEL + j;
                float scale = a->scales[i] * w->scales[at];
                float x = (float)(sum[j] - a->zeros[i] * w->sums[at]) * scale;
                c[i * c_width + at] = x + (bias != NULL ? bias[at] : 0);
            }
        }
    }
}
