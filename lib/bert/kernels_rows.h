/*
 * The arithmetic that isn't a product, in plain C that each compiler turns into the vectors of the level it compiles for.
 * Included once by each level's file, with LEVEL(name) giving the level's own name. Sums run over 16 lanes that are
 * folded in one fixed order, and nothing is fused: so all levels agree bit by bit.
 */
#include <string.h>

#define LANES 16

static float lanes_sum(const float *lane) {
    float s[LANES / 2];
    for (int i = 0; i < LANES / 2; i++)
        s[i] = lane[i] + lane[i + LANES / 2];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static float lanes_max(const float *lane) {
    float most = lane[0];
    for (int i = 1; i < LANES; i++)
        most = lane[i] > most ? lane[i] : most;
    return most;
}

/* e^x within 2 units of the last place; below -87 it stays at e^-87, a zero for all uses here. */
static inline float row_exp(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    /* Adding and taking 1.5 * 2^23 rounds to the nearest whole number. */
    float turns = x * 1.44269504f + 12582912.0f;
    turns -= 12582912.0f;
    /* ln 2 in two parts, so that what is left over is exact. */
    float r = (x - turns * 0.693359375f) + turns * 2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t bits = ((int32_t)turns + 127) * (1 << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* The share of the normal distribution below x: Abramowitz and Stegun 7.1.26, within 1e-7. */
static inline float normal_share(float x) {
    float z = (x < 0 ? -x : x) * 0.70710678f;
    float t = 1.0f / (1.0f + 0.3275911f * z);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    float tail = 0.5f * p * t * row_exp(-z * z);
    return x < 0 ? tail : 1.0f - tail;
}

void LEVEL(gelu)(float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] * normal_share(x[i]);
}

void LEVEL(softmax)(float *row, size_t n, float scale) {
    size_t padded = panel_round(n);
    for (size_t i = n; i < padded; i++)
        row[i] = -1e30f;
    float most[LANES], sum[LANES] = { 0 };
    for (int j = 0; j < LANES; j++)
        most[j] = -1e30f;
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            most[j] = row[i + j] > most[j] ? row[i + j] : most[j];
    float top = lanes_max(most);
    for (size_t i = 0; i < padded; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            float e = row_exp((row[i + j] - top) * scale);
            row[i + j] = e;
            sum[j] += e;
        }
    float share = 1.0f / lanes_sum(sum);
    for (size_t i = 0; i < padded; i++)
        row[i] *= share;
}

/* Sum of (x - from)^power over n numbers, power 1 or 2. */
static float row_moment(const float *x, size_t n, float from, bool square) {
    float lane[LANES] = { 0 };
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            float d = x[i + j] - from;
            lane[j] += square ? d * d : d;
        }
    for (size_t i = whole; i < n; i++) {
        float d = x[i] - from;
        lane[i - whole] += square ? d * d : d;
    }
    return lanes_sum(lane);
}

void LEVEL(norm)(float *x, const float *add, const float *gain, const float *shift, size_t n, float epsilon) {
    size_t padded = panel_round(n);
    if (add != NULL)
        for (size_t i = 0; i < padded; i++)
            x[i] += add[i];
    float mean = row_moment(x, n, 0, false) / (float)n;
    float variance = row_moment(x, n, mean, true) / (float)n;
    float scale = 1.0f / sqrtf(variance + epsilon);
    for (size_t i = 0; i < padded; i++)
        x[i] = (x[i] - mean) * scale * gain[i] + shift[i];
}

static void row_range(float *low, float *high, const float *x, size_t k) {
    float lo[LANES] = { 0 }, hi[LANES] = { 0 };
    size_t whole = k / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            lo[j] = x[i + j] < lo[j] ? x[i + j] : lo[j];
            hi[j] = x[i + j] > hi[j] ? x[i + j] : hi[j];
        }
    for (size_t i = whole; i < k; i++) {
        lo[0] = x[i] < lo[0] ? x[i] : lo[0];
        hi[0] = x[i] > hi[0] ? x[i] : hi[0];
    }
    for (int j = 0; j < LANES; j++)
        lo[j] = -lo[j];
    *low = -lanes_max(lo);
    *high = lanes_max(hi);
}

void LEVEL(to_bytes)(const byte_rows *out, const float *x, size_t x_width, size_t m, size_t k) {
    for (size_t i = 0; i < m; i++) {
        const float *from = x + i * x_width;
        uint8_t *to = out->codes + i * out->width;
        float low, high;
        row_range(&low, &high, from, k);
        /* Zero has a code of its own, so that what is zero stays zero. */
        float scale = high > low ? (high - low) / 255.0f : 1.0f;
        float zero = (float)(int32_t)(-low / scale + 0.5f);
        float inverse = 1.0f / scale, offset = zero + 0.5f;
        for (size_t j = 0; j < k; j++) {
            int32_t code = (int32_t)(from[j] * inverse + offset);
            to[j] = (uint8_t)(code < 0 ? 0 : code > 255 ? 255 : code);
        }
        for (size_t j = k; j < out->width; j++)
            to[j] = 0;
        out->scales[i] = scale;
        out->zeros[i] = (int32_t)zero;
    }
}
