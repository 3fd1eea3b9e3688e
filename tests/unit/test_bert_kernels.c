/* Every level of the processor that this machine has, against plain arithmetic in doubles and integers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bert/kernels.h"

/* Rows, outputs and inputs: every height of a tile, one and more panels, groups that aren't full. */
static const struct {
    size_t m, n, k;
} shapes[] = { { 1, 1, 1 },    { 2, 16, 3 },   { 3, 17, 4 },   { 4, 31, 5 },   { 5, 32, 7 },
               { 6, 33, 64 },  { 7, 48, 30 },  { 8, 50, 31 },  { 9, 64, 33 },  { 10, 80, 9 },
               { 11, 96, 12 }, { 12, 40, 24 }, { 13, 24, 40 }, { 25, 90, 130 } };
#define SHAPES (sizeof shapes / sizeof shapes[0])

static float chance(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(*seed >> 33) / 1073741824.0f - 1.0f;
}

static float *numbers(size_t count, uint64_t *seed) {
    float *x = malloc(count * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = chance(seed);
    return x;
}

static void check_product(const kernels *level, size_t m, size_t n, size_t k) {
    uint64_t seed = m * 1000 + n * 10 + k;
    size_t across = panel_round(n), a_width = k + 3, c_width = across + 5;
    float *a = numbers(m * a_width, &seed), *w = numbers(n * k, &seed), *bias = numbers(across, &seed);
    float *panels = calloc(across * k, sizeof *panels), *c = numbers(m * c_width, &seed);
    assert_non_null(panels);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < k; i++)
            panels[j / PANEL * PANEL * k + i * PANEL + j % PANEL] = w[j * k + i];
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        float behind = c[(m - 1) * c_width + across];
        level->product(c, c_width, a, a_width, panels, with_bias ? bias : NULL, m, across, k);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < across; j++) {
                double sum = with_bias ? (double)bias[j] : 0;
                for (size_t l = 0; j < n && l < k; l++)
                    sum += (double)a[i * a_width + l] * (double)w[j * k + l];
                assert_true(fabs((double)c[i * c_width + j] - sum) < 1e-5 * (double)(k + 1));
            }
        assert_true(c[(m - 1) * c_width + across] == behind);
    }
    free(a);
    free(w);
    free(bias);
    free(panels);
    free(c);
}

static void test_a_product_is_right_at_every_level_and_shape(void **state) {
    (void)state;
    for (size_t l = 0; kernels_level(l) != NULL; l++)
        for (size_t s = 0; s < SHAPES; s++)
            check_product(kernels_level(l), shapes[s].m, shapes[s].n, shapes[s].k);
}

static void test_a_row_of_a_product_does_not_depend_on_the_rows_beside_it(void **state) {
    (void)state;
    enum { N = 48, K = 50, M = 29 };
    uint64_t seed = 7;
    float *a = numbers(M * K, &seed), *panels = numbers(N * K, &seed), *bias = numbers(N, &seed);
    float *all = numbers(M * N, &seed), one[N];
    for (size_t l = 0; kernels_level(l) != NULL; l++) {
        kernels_level(l)->product(all, N, a, K, panels, bias, M, N, K);
        for (size_t i = 0; i < M; i++) {
            kernels_level(l)->product(one, N, a + i * K, K, panels, bias, 1, N, K);
            assert_memory_equal(one, all + i * N, sizeof one);
        }
    }
    free(a);
    free(panels);
    free(bias);
    free(all);
}

typedef struct byte_case {
    size_t m, n, k, across, groups;
    uint8_t *codes;
    float *scales, *weight_scales, *bias;
    int32_t *zeros, *sums;
    int8_t *plain, *panels;
} byte_case;

static void *zeroed(size_t count, size_t size) {
    void *ptr = calloc(count, size);
    assert_non_null(ptr);
    return ptr;
}

/* Codes at both ends of their range, where sums of products are the largest. */
static byte_case byte_case_make(size_t m, size_t n, size_t k) {
    uint64_t seed = m + n + k;
    byte_case b = { .m = m, .n = n, .k = k, .across = panel_round(n), .groups = (k + 3) / 4 };
    b.codes = zeroed(m * b.groups, 4);
    b.scales = numbers(m, &seed);
    b.zeros = zeroed(m, sizeof *b.zeros);
    b.weight_scales = numbers(b.across, &seed);
    b.bias = numbers(b.across, &seed);
    b.sums = zeroed(b.across, sizeof *b.sums);
    b.plain = zeroed(n * k, 1);
    b.panels = zeroed(b.across * b.groups, 4);
    for (size_t i = 0; i < m; i++) {
        b.zeros[i] = (int32_t)(i * 37 % 256);
        for (size_t j = 0; j < k; j++)
            b.codes[i * b.groups * 4 + j] = j % 3 == 0 ? 255 : (uint8_t)(127.0f + 127.0f * chance(&seed));
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < k; i++) {
            int8_t code = i % 5 < 3 ? (j % 2 != 0 ? 127 : -127) : (int8_t)(127.0f * chance(&seed));
            b.plain[j * k + i] = code;
            b.panels[(j / PANEL * b.groups * PANEL + i / 4 * PANEL + j % PANEL) * 4 + i % 4] = code;
            b.sums[j] += code;
        }
    return b;
}

static void byte_case_free(byte_case *b) {
    free(b->codes);
    free(b->scales);
    free(b->zeros);
    free(b->weight_scales);
    free(b->bias);
    free(b->sums);
    free(b->plain);
    free(b->panels);
}

/* The integers are exact, so that only the last steps in floats are left to compare: with scalar's, bit by bit. */
static void check_byte_product(const kernels *level, const byte_case *b) {
    byte_rows a = { b->codes, b->scales, b->zeros, b->groups * 4 };
    byte_panels w = { b->panels, b->weight_scales, b->sums, b->groups, b->across / PANEL };
    float *c = zeroed(b->m * b->across, sizeof *c);
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        level->byte_product(c, b->across, &a, &w, with_bias ? b->bias : NULL, b->m);
        for (size_t i = 0; i < b->m; i++)
            for (size_t j = 0; j < b->n; j++) {
                int32_t sum = 0;
                for (size_t l = 0; l < b->k; l++)
                    sum += (b->codes[i * b->groups * 4 + l] - b->zeros[i]) * b->plain[j * b->k + l];
                float scale = b->scales[i] * b->weight_scales[j], x = (float)sum * scale;
                if (with_bias) x += b->bias[j];
                assert_memory_equal(&c[i * b->across + j], &x, sizeof x);
            }
    }
    free(c);
}

static void test_a_byte_product_is_exact_at_every_level_and_shape(void **state) {
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        byte_case b = byte_case_make(shapes[s].m, shapes[s].n, shapes[s].k);
        for (size_t l = 0; kernels_level(l) != NULL; l++)
            check_byte_product(kernels_level(l), &b);
        byte_case_free(&b);
    }
}

static void test_bytes_stand_for_their_numbers_within_half_a_step(void **state) {
    (void)state;
    enum { M = 5, K = 41, WIDTH = 44 };
    uint64_t seed = 3;
    float *x = numbers(M * K, &seed);
    memset(x, 0, K * sizeof *x); /* a row of zeros */
    for (size_t i = 0; i < K; i++) {
        x[K + i] = fabsf(x[K + i]) + 1;             /* all above zero */
        x[2 * K + i] = -fabsf(x[2 * K + i]) * 1000; /* all below */
    }
    for (size_t l = 0; kernels_level(l) != NULL; l++) {
        uint8_t codes[M * WIDTH];
        float scales[M];
        int32_t zeros[M];
        memset(codes, 0xAA, sizeof codes);
        byte_rows out = { codes, scales, zeros, WIDTH };
        kernels_level(l)->to_bytes(&out, x, K, M, K);
        for (size_t i = 0; i < M; i++) {
            for (size_t j = 0; j < K; j++) {
                float back = (float)(codes[i * WIDTH + j] - zeros[i]) * scales[i];
                assert_true(fabsf(back - x[i * K + j]) <= scales[i] * 1.01f);
            }
            for (size_t j = K; j < WIDTH; j++)
                assert_int_equal(codes[i * WIDTH + j], 0);
        }
        assert_int_equal(codes[0] - zeros[0], 0);
    }
    free(x);
}

static void test_gelu_is_right_to_seven_digits_at_every_level(void **state) {
    (void)state;
    enum { N = 4000 };
    float *x = zeroed(N, sizeof *x);
    for (size_t l = 0; kernels_level(l) != NULL; l++) {
        for (int i = 0; i < N; i++)
            x[i] = (float)(i - N / 2) * 0.01f;
        kernels_level(l)->gelu(x, N);
        for (int i = 0; i < N; i++) {
            double z = (double)((float)(i - N / 2) * 0.01f), wanted = z * 0.5 * (1 + erf(z / sqrt(2)));
            assert_true(fabs((double)x[i] - wanted) < 3e-7 * (1 + fabs(z)));
        }
    }
    free(x);
}

static void test_softmax_sums_up_to_one_and_follows_the_exponential(void **state) {
    (void)state;
    for (size_t l = 0; kernels_level(l) != NULL; l++)
        for (size_t n = 1; n < 70; n += 3) {
            float row[80], from[80];
            double sum = 0, all = 0;
            uint64_t seed = n;
            for (size_t i = 0; i < 80; i++)
                from[i] = row[i] = 40 * chance(&seed);
            kernels_level(l)->softmax(row, n, 0.3f);
            for (size_t i = 0; i < n; i++)
                all += exp(0.3 * (double)from[i]);
            for (size_t i = 0; i < n; i++) {
                assert_true(fabs((double)row[i] - exp(0.3 * (double)from[i]) / all) < 2e-6);
                sum += (double)row[i];
            }
            assert_true(fabs(sum - 1) < 1e-5);
        }
}

static void test_a_norm_has_mean_and_spread_of_gain_and_shift(void **state) {
    (void)state;
    for (size_t l = 0; kernels_level(l) != NULL; l++)
        for (size_t n = 2; n < 60; n += 5) {
            float x[64] = { 0 }, add[64] = { 0 }, gain[64] = { 0 }, shift[64] = { 0 };
            double wanted[64], mean = 0, variance = 0;
            uint64_t seed = n;
            for (size_t i = 0; i < n; i++) {
                x[i] = 100 + chance(&seed);
                add[i] = chance(&seed);
                gain[i] = chance(&seed);
                shift[i] = chance(&seed);
                wanted[i] = (double)(x[i] + add[i]);
                mean += wanted[i] / (double)n;
            }
            for (size_t i = 0; i < n; i++)
                variance += (wanted[i] - mean) * (wanted[i] - mean) / (double)n;
            kernels_level(l)->norm(x, add, gain, shift, n, 1e-12f);
            for (size_t i = 0; i < n; i++) {
                double y = (wanted[i] - mean) / sqrt(variance + 1e-12) * (double)gain[i] + (double)shift[i];
                assert_true(fabs((double)x[i] - y) < 1e-3);
            }
            for (size_t i = n; i < 64; i++)
                assert_true(x[i] == 0);
        }
}

static void test_what_is_no_product_agrees_bit_by_bit_with_scalar(void **state) {
    (void)state;
    enum { N = 77, ROOM = 80 };
    uint64_t seed = 99;
    float *from = numbers(ROOM, &seed), *gain = numbers(ROOM, &seed), wanted[3][ROOM], row[ROOM];
    for (size_t l = 0; kernels_level(l) != NULL; l++)
        for (int what = 0; what < 3; what++) {
            const kernels *level = kernels_level(l);
            memcpy(row, from, sizeof row);
            if (what == 0) level->gelu(row, ROOM);
            if (what == 1) level->softmax(row, N, 3.0f);
            if (what == 2) level->norm(row, NULL, gain, from, N, 1e-5f);
            if (l == 0) memcpy(wanted[what], row, sizeof row);
            assert_memory_equal(row, wanted[what], sizeof row);
        }
    free(from);
    free(gain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_product_is_right_at_every_level_and_shape),
        cmocka_unit_test(test_a_row_of_a_product_does_not_depend_on_the_rows_beside_it),
        cmocka_unit_test(test_a_byte_product_is_exact_at_every_level_and_shape),
        cmocka_unit_test(test_bytes_stand_for_their_numbers_within_half_a_step),
        cmocka_unit_test(test_gelu_is_right_to_seven_digits_at_every_level),
        cmocka_unit_test(test_softmax_sums_up_to_one_and_follows_the_exponential),
        cmocka_unit_test(test_a_norm_has_mean_and_spread_of_gain_and_shift),
        cmocka_unit_test(test_what_is_no_product_agrees_bit_by_bit_with_scalar),
    };
    for (size_t l = 0; kernels_level(l) != NULL; l++)
        print_message("level: %s\n", kernels_level(l)->name);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
