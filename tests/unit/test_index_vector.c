/* Codes of vectors: what they keep, and that every processor level reads them alike. */
#include "test_index_vector_fixture.h"

#include "support/probe_alloc.h"

static void a_normalised_vector_has_length_1(void **state) {
    (void)state;
    static const float sizes[] = { 1e-42f, 1e-20f, 1, 1e20f, 3e38f };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        float v[3] = { sizes[i], -sizes[i], 0 };
        assert_true(vector_normalise(v, 3));
        assert_float_equal(vector_dot(v, v, 3), 1, 1e-6f);
        assert_true(v[0] > 0 && v[1] < 0);
    }
}

static void what_has_no_direction_is_not_normalised_and_stays_as_it_was(void **state) {
    (void)state;
    const float bad[][3] = { { 0, 0, 0 }, { NAN, 1, 0 }, { INFINITY, 1, 0 }, { 1, -INFINITY, 0 }, { 0, 0, NAN } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float v[3];
        memcpy(v, bad[i], sizeof v);
        assert_false(vector_normalise(v, 3));
        assert_memory_equal(v, bad[i], sizeof v);
    }
    assert_false(vector_normalise(NULL, 0));
}

static void the_dot_product_is_that_of_double_precision_but_for_rounding(void **state) {
    (void)state;
    uint64_t random = test_seed();
    for (size_t dims = 1; dims < 130; dims++) {
        float a[130], b[130];
        double sum = 0;
        make_vector(a, dims, SET_RANDOM, &random);
        make_vector(b, dims, SET_RANDOM, &random);
        for (size_t i = 0; i < dims; i++)
            sum += (double)a[i] * (double)b[i];
        assert_float_equal(vector_dot(a, b, dims), (float)sum, 2e-6f);
    }
}

static void a_stride_is_the_next_multiple_of_64(void **state) {
    (void)state;
    assert_int_equal(vector_stride(1), 64);
    assert_int_equal(vector_stride(64), 64);
    assert_int_equal(vector_stride(65), 128);
    assert_int_equal(vector_stride(384), 384);
}

static void encoding_writes_the_whole_row_and_nothing_else(void **state) {
    (void)state;
    uint64_t random = test_seed();
    static const size_t sizes[] = { 1, 2, 63, 64, 65, 127, 384, 1023 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t dims = sizes[s], stride = vector_stride(dims);
        int8_t row[1024 + 2];
        float v[1024], scale = -1;
        memset(row, 0x55, sizeof row);
        make_vector(v, dims, SET_RANDOM, &random);
        vector_encode(row + 1, &scale, v, dims);
        assert_true(scale > 0 && row[0] == 0x55 && row[stride + 1] == 0x55);
        for (size_t i = 0; i < stride; i++)
            assert_true(i < dims ? row[1 + i] >= -127 : row[1 + i] == 0);
    }
}

static void encoding_the_same_vector_twice_gives_the_same_row(void **state) {
    (void)state;
    uint64_t random = test_seed();
    float v[100], scale = 0, again = 0;
    int8_t row[128], same[128];
    make_vector(v, 100, SET_RANDOM, &random);
    vector_encode(row, &scale, v, 100);
    vector_encode(same, &again, v, 100);
    assert_memory_equal(row, same, sizeof row);
    assert_memory_equal(&scale, &again, sizeof scale);
}

/* The stored format: a change here makes stored rows unreadable. */
static void rows_are_what_they_were_when_the_format_was_fixed(void **state) {
    (void)state;
    const float v[6] = { 0.5f, -0.5f, 0.5f, -0.5f, 0, 0 };
    int8_t row[64];
    float scale = 0;
    vector_encode(row, &scale, v, 6);
    static const int8_t expected[6] = { 127, -127, 126, -126, 0, 0 };
    assert_memory_equal(row, expected, sizeof expected);
    assert_float_equal(scale, 0.5f / 126.5f, 1e-9f);
}

static void expect_score_within_bounds(const vector_set *set, const float *v, double *worst) {
    vector_query q = make_query(v, set->dims, NULL);
    float *scores = test_memory(set->count * sizeof *scores);
    vector_scan(scores, &q, set->rows, set->scales, set->count);
    for (size_t i = 0; i < set->count; i++) {
        double exact = (double)vector_dot(v, set->vectors + i * set->dims, set->dims);
        double share = fabs((double)scores[i] - exact) / (double)(set->scales[i] * q.slack + q.margin);
        if (share > *worst) *worst = share;
    }
    free(scores);
    vector_query_dispose(&q);
}

static void an_exact_cosine_lies_within_the_stated_error_of_its_score(void **state) {
    (void)state;
    uint64_t random = test_seed();
    double worst = 0;
    for (size_t round = 0; round < rounds(150, 5000); round++) {
        size_t dims = below(&random, 1024) + 1;
        vector_set set = make_set(dims, 40, (set_shape)below(&random, SET_SHAPES), &random);
        float *v = test_memory(dims * sizeof *v);
        make_vector(v, dims, (set_shape)below(&random, SET_SHAPES), &random);
        expect_score_within_bounds(&set, v, &worst);
        expect_score_within_bounds(&set, set.vectors, &worst);
        free(v);
        free_set(&set);
    }
    print_message("# worst error: %.2f of the bound\n", worst);
    assert_true(worst < 1);
    assert_true(worst > 0.1); /* a bound that nothing comes near would be of no use */
}

static void fill_codes(int8_t *rows, size_t size, unsigned style, uint64_t *random) {
    for (size_t i = 0; i < size; i++) {
        if (style == 0)
            rows[i] = (int8_t)((int)below(random, 255) - 127);
        else
            rows[i] = style == 1 ? 127 : -127;
    }
}

/* All numbers alike is the vector whose sums are largest. */
static void fill_query(float *v, size_t dims, unsigned style, uint64_t *random) {
    if (style == 0) {
        make_vector(v, dims, SET_RANDOM, random);
        return;
    }
    for (size_t i = 0; i < dims; i++)
        v[i] = style == 1 ? 1 : -1;
    assert_true(vector_normalise(v, dims));
}

static void expect_equal_products(const vector_query *q, const int8_t *rows, const uint32_t *which, size_t count) {
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels);
    int32_t *plain = test_memory(count * sizeof *plain), *other = test_memory(count * sizeof *other);
    assert_ptr_equal(kernels[levels - 1], &vector_kernel_plain);
    vector_kernel_plain.dots(plain, &q->operand, rows, which, count);
    for (size_t i = 0; i + 1 < levels; i++) {
        memset(other, 0x77, count * sizeof *other);
        kernels[i]->dots(other, &q->operand, rows, which, count);
        if (memcmp(plain, other, count * sizeof *other) != 0)
            fail_msg("%s: another product, %zu rows of %zu", kernels[i]->name, count, q->dims);
    }
    free(plain);
    free(other);
}

static void every_level_gives_the_same_integers_without_reading_behind_a_row(void **state) {
    (void)state;
    uint64_t random = test_seed();
    for (size_t round = 0; round < rounds(400, 20000); round++) {
        size_t dims = below(&random, 1024) + 1, count = below(&random, 14), stride = vector_stride(dims);
        float *v = test_memory(dims * sizeof *v);
        /* One byte in front: rows lie anywhere. */
        int8_t *memory = test_memory(count * stride + 1);
        uint32_t which[14];
        fill_codes(memory, count * stride + 1, (unsigned)below(&random, 3), &random);
        fill_query(v, dims, (unsigned)below(&random, 3), &random);
        vector_query q = make_query(v, dims, NULL);
        expect_equal_products(&q, memory + 1, NULL, count);
        size_t picked = count != 0 ? below(&random, 14) : 0;
        for (size_t i = 0; i < picked; i++)
            which[i] = (uint32_t)below(&random, count);
        expect_equal_products(&q, memory + 1, which, picked);
        vector_query_dispose(&q);
        free(memory);
        free(v);
    }
}

static void the_largest_sums_do_not_overflow(void **state) {
    (void)state;
    static const size_t sizes[] = { 1, 1024, 4096, VECTOR_DIMS_MAX };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t dims = sizes[s];
        float *v = test_memory(dims * sizeof *v), scale = 0, score = 0;
        int8_t *row = test_memory(vector_stride(dims));
        fill_query(v, dims, 1, NULL);
        vector_encode(row, &scale, v, dims);
        vector_query q = make_query(v, dims, NULL);
        vector_scan(&score, &q, row, &scale, 1);
        assert_float_equal(score, 1, scale * q.slack + q.margin);
        expect_equal_products(&q, row, NULL, 1);
        vector_query_dispose(&q);
        free(row);
        free(v);
    }
}

static void scores_are_the_same_bits_on_every_level(void **state) {
    (void)state;
    uint64_t random = test_seed();
    vector_set set = make_set(384, 3000, SET_HARD, &random);
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels);
    float *plain = test_memory(set.count * sizeof *plain), *other = test_memory(set.count * sizeof *other);
    vector_query q = make_query(set.vectors, set.dims, &vector_kernel_plain);
    vector_scan(plain, &q, set.rows, set.scales, set.count);
    for (size_t i = 0; i < levels; i++) {
        q.kernel = kernels[i];
        vector_scan(other, &q, set.rows, set.scales, set.count);
        assert_memory_equal(plain, other, set.count * sizeof *other);
    }
    print_message("# levels: %zu, best %s\n", levels, kernels[0]->name);
    vector_query_dispose(&q);
    free(plain);
    free(other);
    free_set(&set);
}

static void the_best_kernel_is_the_first_of_the_list(void **state) {
    (void)state;
    const vector_kernel *kernels[VECTOR_KERNELS];
    assert_in_range(vector_kernels(kernels), 1, VECTOR_KERNELS);
    assert_ptr_equal(kernels[0], vector_kernel_best());
}

static void a_query_that_has_no_direction_is_refused(void **state) {
    (void)state;
    vector_query q, untouched;
    memset(&q, 0x33, sizeof q);
    untouched = q;
    const float bad[][2] = { { 0, 0 }, { NAN, 1 }, { INFINITY, 0 }, { 3, 4 }, { 1e-3f, 0 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(vector_query_init(&q, &alloc_default, bad[i], 2), UAR_E_INVALID);
    assert_int_equal(vector_query_init(&q, &alloc_default, bad[0], 0), UAR_E_INVALID);
    assert_int_equal(vector_query_init(&q, &alloc_default, bad[0], VECTOR_DIMS_MAX + 1), UAR_E_INVALID);
    assert_memory_equal(&q, &untouched, sizeof q);
}

static void a_query_without_memory_fails_clean(void **state) {
    (void)state;
    const float v[2] = { 0.6f, 0.8f };
    probe_alloc probe;
    probe_alloc_init(&probe);
    probe_alloc_arm(&probe, 1, true);
    vector_query q, untouched;
    memset(&q, 0x33, sizeof q);
    untouched = q;
    assert_int_equal(vector_query_init(&q, &probe.door, v, 2), UAR_E_NOMEM);
    assert_memory_equal(&q, &untouched, sizeof q);
    assert_int_equal(probe.alive, 0);
    probe_alloc_arm(&probe, 0, false);
    assert_int_equal(vector_query_init(&q, &probe.door, v, 2), UAR_OK);
    vector_query_dispose(&q);
    assert_int_equal(probe.alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_normalised_vector_has_length_1),
        cmocka_unit_test(what_has_no_direction_is_not_normalised_and_stays_as_it_was),
        cmocka_unit_test(the_dot_product_is_that_of_double_precision_but_for_rounding),
        cmocka_unit_test(a_stride_is_the_next_multiple_of_64),
        cmocka_unit_test(encoding_writes_the_whole_row_and_nothing_else),
        cmocka_unit_test(encoding_the_same_vector_twice_gives_the_same_row),
        cmocka_unit_test(rows_are_what_they_were_when_the_format_was_fixed),
        cmocka_unit_test(an_exact_cosine_lies_within_the_stated_error_of_its_score),
        cmocka_unit_test(every_level_gives_the_same_integers_without_reading_behind_a_row),
        cmocka_unit_test(the_largest_sums_do_not_overflow),
        cmocka_unit_test(scores_are_the_same_bits_on_every_level),
        cmocka_unit_test(the_best_kernel_is_the_first_of_the_list),
        cmocka_unit_test(a_query_that_has_no_direction_is_refused),
        cmocka_unit_test(a_query_without_memory_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
