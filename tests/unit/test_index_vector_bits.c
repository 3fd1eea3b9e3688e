/* A first look by one bit a dimension: what it estimates, what it loses, and that every processor level sees the same. */
#include "test_index_vector_fixture.h"

#include "index/vector_bits.h"
#include "support/probe_alloc.h"

/* The sheet of a set, in memory exactly as long as it says. */
static float *make_sheet(const vector_set *set) {
    float *sheet = test_memory(vector_bits_size(set->dims, set->count));
    assert_int_equal(vector_bits_build(sheet, &alloc_default, set->rows, set->scales, set->dims, set->count), UAR_OK);
    return sheet;
}

static void sums_over_bits_are_those_of_the_table_on_every_level(void **state) {
    (void)state;
    uint64_t random = test_seed();
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels);
    for (size_t round = 0; round < rounds(100, 3000); round++) {
        size_t dims = round % 10 == 0 ? 2000 + below(&random, 5000) : below(&random, 1024) + 1;
        size_t count = VECTOR_GROUP * below(&random, 4), bytes = vector_stride(dims) / 8;
        float *v = test_memory(dims * sizeof *v);
        uint8_t *memory = test_memory(count * bytes + 1), *groups = memory + 1;
        int32_t plain[VECTOR_GROUP * 4], other[VECTOR_GROUP * 4];
        for (size_t i = 0; i < count * bytes; i++)
            groups[i] = round % 7 == 0 ? 0xFF : (uint8_t)next_random(&random);
        make_vector(v, dims, (set_shape)below(&random, SET_SHAPES), &random);
        vector_query q = make_query(v, dims, NULL);
        vector_kernel_plain.bit_sums(plain, &q.operand, groups, count);
        for (size_t i = 0; i < levels; i++) {
            kernels[i]->bit_sums(other, &q.operand, groups, count);
            assert_memory_equal(plain, other, count * sizeof *other);
        }
        vector_query_dispose(&q);
        free(memory);
        free(v);
    }
}

/* Row r has all bits of dimension r: its sum is that of one number. */
static void the_table_says_what_each_dimension_is_worth(void **state) {
    (void)state;
    uint64_t random = test_seed();
    enum { DIMS = 32 };
    float v[DIMS];
    uint8_t group[VECTOR_GROUP * 8] = { 0 };
    int32_t sums[VECTOR_GROUP];
    double all = 0;
    make_vector(v, DIMS, SET_RANDOM, &random);
    vector_query q = make_query(v, DIMS, NULL);
    for (size_t r = 0; r < DIMS; r++) {
        group[r / 8 * VECTOR_GROUP + r] = (uint8_t)(1u << (r % 8));
        all += (double)v[r];
    }
    q.kernel->bit_sums(sums, &q.operand, group, VECTOR_GROUP);
    for (size_t r = 0; r < DIMS; r++) {
        double as_signs = (double)sums[r] * (double)q.bit_step - (double)q.bit_shift;
        assert_true(fabs(as_signs - (2 * (double)v[r] - all)) < 0.05);
    }
    vector_query_dispose(&q);
}

/* Deviations that a row may be off to either side. */
#define DEVIATIONS 2.5f

/* Shares of rows whose cosine lies above and below what their estimate and its error allow. */
static void note_lost(double lost[2], const vector_set *set, const float *sheet, const float *v,
                      const vector_kernel *k) {
    vector_query q = make_query(v, set->dims, k);
    float *estimates = test_memory(set->count * sizeof *estimates);
    const float *errors = vector_bits_errors(sheet, set->dims, set->count);
    float apart = vector_bits_estimate(estimates, &q, sheet, set->count);
    for (size_t i = 0; i < set->count; i++) {
        float cosine = vector_dot(v, set->vectors + i * set->dims, set->dims);
        float doubt = DEVIATIONS * apart * errors[i];
        lost[0] += (cosine > estimates[i] + doubt) / (double)set->count;
        lost[1] += (cosine < estimates[i] - doubt) / (double)set->count;
    }
    free(estimates);
    vector_query_dispose(&q);
}

static void few_cosines_are_far_from_their_estimate(void **state) {
    (void)state;
    uint64_t random = test_seed();
    static const set_shape shapes[] = { SET_RANDOM, SET_CLUSTERED, SET_HARD };
    for (size_t i = 0; i < 3; i++) {
        vector_set set = make_set(384, 5000, shapes[i], &random);
        float *sheet = make_sheet(&set);
        float v[384];
        double lost[2] = { 0, 0 };
        for (int n = 0; n < 10; n++) {
            make_vector(v, 384, shapes[i], &random);
            note_lost(lost, &set, sheet, v, NULL);
        }
        print_message("# lost: %.4f above, %.4f below\n", lost[0] / 10, lost[1] / 10);
        assert_true(lost[0] < 0.2 && lost[1] < 0.2);
        free(sheet);
        free_set(&set);
    }
}

static void estimates_are_the_same_on_every_level(void **state) {
    (void)state;
    uint64_t random = test_seed();
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels);
    vector_set set = make_set(200, 2500, SET_HARD, &random);
    float *sheet = make_sheet(&set);
    float *first = test_memory(set.count * sizeof *first), *other = test_memory(set.count * sizeof *other);
    for (size_t i = 0; i < levels; i++) {
        vector_query q = make_query(set.vectors, 200, kernels[i]);
        (void)vector_bits_estimate(i == 0 ? first : other, &q, sheet, set.count);
        if (i != 0) assert_memory_equal(first, other, set.count * sizeof *first);
        vector_query_dispose(&q);
    }
    free(first);
    free(other);
    free(sheet);
    free_set(&set);
}

/* Some rows are near the first vector, by little and by much. */
static void draw_near_ones(vector_set *set, uint64_t *random) {
    for (size_t r = 1; r < set->count; r += 7) {
        float *v = set->vectors + r * set->dims;
        float share = (float)below(random, 1000) / 2000;
        for (size_t i = 0; i < set->dims; i++)
            v[i] = set->vectors[i] + share * v[i];
        assert_true(vector_normalise(v, set->dims));
        vector_encode(set->rows + r * vector_stride(set->dims), &set->scales[r], v, set->dims);
    }
}

#define ROWS 1000

/* How many rows of those that were asked about are left. */
static double check_sift(size_t dims, set_shape shape, float least, uint64_t *random) {
    vector_set set = make_set(dims, ROWS, shape, random);
    draw_near_ones(&set, random);
    set.scales[5] = 0; /* has no vector */
    float *sheet = make_sheet(&set);
    uint32_t *which = test_memory(ROWS * sizeof *which);
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels), count = 0;
    for (size_t level = 0; level < levels; level++) {
        vector_query q = make_query(set.vectors, dims, kernels[level]);
        size_t at = 0;
        count = vector_bits_sift(which, &q, least, sheet, set.scales, ROWS);
        for (size_t r = 0; r < ROWS; r++) {
            bool is_kept = at < count && which[at] == r;
            at += is_kept;
            bool is_near = r != 5 && vector_dot(q.v, set.vectors + r * dims, dims) >= least;
            assert_true(is_kept || !is_near);
            assert_false(is_kept && r == 5);
        }
        assert_int_equal(at, count);
        vector_query_dispose(&q);
    }
    free(sheet);
    free(which);
    free_set(&set);
    return (double)count / ROWS;
}

static void no_row_is_ruled_out_whose_cosine_is_high_enough(void **state) {
    (void)state;
    uint64_t random = test_seed();
    static const size_t sizes[] = { 384, 350, 20, 768, 1536 };
    for (size_t round = 0; round < rounds(1, 30); round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (set_shape shape = SET_RANDOM; shape < SET_SHAPES; shape++) {
                double left = check_sift(sizes[i], shape, 0.9f, &random);
                (void)check_sift(sizes[i], shape, 0.6f + (float)below(&random, 400) / 1000, &random);
                if (shape == SET_RANDOM && sizes[i] >= 350) assert_true(left < 0.3);
            }
}

/* Nothing is left of rows that are all alike, and little of one or two. */
static void rows_that_are_their_own_centre_are_found(void **state) {
    (void)state;
    uint64_t random = test_seed();
    for (size_t count = 1; count < 80; count++) {
        vector_set set = make_set(below(&random, 70) + 1, count, SET_REPEATED, &random);
        for (size_t i = 1; i < count; i++) {
            memcpy(set.vectors + i * set.dims, set.vectors, set.dims * sizeof(float));
            vector_encode(set.rows + i * vector_stride(set.dims), &set.scales[i], set.vectors, set.dims);
        }
        float *sheet = make_sheet(&set);
        uint32_t which[80];
        vector_query q = make_query(set.vectors, set.dims, NULL);
        assert_int_equal(vector_bits_sift(which, &q, 0.999f, sheet, set.scales, count), count);
        vector_query_dispose(&q);
        free(sheet);
        free_set(&set);
    }
}

static void a_sheet_without_memory_fails_clean(void **state) {
    (void)state;
    uint64_t random = test_seed();
    vector_set set = make_set(20, 50, SET_RANDOM, &random);
    size_t size = vector_bits_size(20, 50);
    float *sheet = test_memory(size), *untouched = test_memory(size);
    probe_alloc probe;
    probe_alloc_init(&probe);
    memset(sheet, 0x66, size);
    memcpy(untouched, sheet, size);
    probe_alloc_arm(&probe, 1, true);
    assert_int_equal(vector_bits_build(sheet, &probe.door, set.rows, set.scales, 20, 50), UAR_E_NOMEM);
    assert_memory_equal(sheet, untouched, size);
    probe_alloc_arm(&probe, 0, false);
    assert_int_equal(vector_bits_build(sheet, &probe.door, set.rows, set.scales, 20, 50), UAR_OK);
    assert_int_equal(probe.alive, 0);
    free(sheet);
    free(untouched);
    free_set(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_bits_are_those_of_the_table_on_every_level),
        cmocka_unit_test(the_table_says_what_each_dimension_is_worth),
        cmocka_unit_test(few_cosines_are_far_from_their_estimate),
        cmocka_unit_test(estimates_are_the_same_on_every_level),
        cmocka_unit_test(no_row_is_ruled_out_whose_cosine_is_high_enough),
        cmocka_unit_test(rows_that_are_their_own_centre_are_found),
        cmocka_unit_test(a_sheet_without_memory_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
