/* A first look by one bit a dimension: what it estimates, what it loses, and that every processor level sees the same. */
#include "test_index_vector_fixture.h"

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

/* Share of rows whose cosine lies above what the bits allow. */
static double share_lost(const vector_set *set, const float *sheet, const float *v) {
    vector_query q = make_query(v, set->dims, NULL);
    float *highs = test_memory(set->count * sizeof *highs);
    size_t lost = 0;
    vector_bits_scan(highs, &q, sheet, set->count, 0, set->count);
    for (size_t i = 0; i < set->count; i++)
        lost += vector_dot(v, set->vectors + i * set->dims, set->dims) > highs[i];
    free(highs);
    vector_query_dispose(&q);
    return (double)lost / (double)set->count;
}

static void few_cosines_lie_above_their_estimate(void **state) {
    (void)state;
    uint64_t random = test_seed();
    static const set_shape shapes[] = { SET_RANDOM, SET_CLUSTERED, SET_HARD };
    for (size_t i = 0; i < 3; i++) {
        vector_set set = make_set(384, 5000, shapes[i], &random);
        float *sheet = make_sheet(&set);
        float v[384];
        double lost = 0;
        for (int n = 0; n < 10; n++) {
            make_vector(v, 384, shapes[i], &random);
            lost += share_lost(&set, sheet, v) / 10;
        }
        print_message("# lost: %.4f\n", lost);
        assert_true(lost < 0.03);
        free(sheet);
        free_set(&set);
    }
}

static void a_part_of_a_sheet_is_scanned_like_the_whole(void **state) {
    (void)state;
    uint64_t random = test_seed();
    vector_set set = make_set(100, 2500, SET_CLUSTERED, &random);
    float *sheet = make_sheet(&set);
    float whole[2500], part[2500];
    vector_query q = make_query(set.vectors, 100, NULL);
    vector_bits_scan(whole, &q, sheet, 2500, 0, 2500);
    for (size_t first = 0; first < 2500; first += 32 * 7) {
        size_t count = below(&random, 2500 - first) + 1;
        vector_bits_scan(part, &q, sheet, 2500, first, count);
        assert_memory_equal(part, whole + first, count * sizeof *part);
    }
    vector_query_dispose(&q);
    free(sheet);
    free_set(&set);
}

typedef struct shelf {
    const vector_set *set;
    vector_block blocks[40];
    float *sheets[40];
    size_t block_count;
} shelf;

#define CHUNK 1000

static shelf make_shelf(const vector_set *set) {
    shelf s = { .set = set };
    for (size_t at = 0; at < set->count; at += CHUNK) {
        size_t count = set->count - at < CHUNK ? set->count - at : CHUNK;
        const int8_t *rows = set->rows + at * vector_stride(set->dims);
        float *sheet = test_memory(vector_bits_size(set->dims, count));
        assert_int_equal(vector_bits_build(sheet, &alloc_default, rows, set->scales + at, set->dims, count), UAR_OK);
        s.sheets[s.block_count] = sheet;
        s.blocks[s.block_count++] = (vector_block){
            .rows = rows, .scales = set->scales + at, .keys = set->keys + at, .count = count, .sheet = sheet
        };
    }
    return s;
}

static void free_shelf(shelf *s) {
    for (size_t i = 0; i < s->block_count; i++)
        free(s->sheets[i]);
}

static uar_status fetch(void *ctx, float *out, size_t block, size_t row) {
    const shelf *s = ctx;
    memcpy(out, s->set->vectors + (block * CHUNK + row) * s->set->dims, s->set->dims * sizeof *out);
    return UAR_OK;
}

enum { NEAREST = 10 };

static size_t ask(vector_hit *hits, shelf *s, const float *v, const vector_kernel *kernel, bool by_bits) {
    vector_query q = make_query(v, s->set->dims, kernel);
    size_t count = 0;
    for (size_t i = 0; i < s->block_count; i++)
        s->blocks[i].sheet = by_bits ? s->sheets[i] : NULL;
    vector_source source = { s, fetch };
    assert_int_equal(vector_top(hits, &count, NEAREST, &q, s->blocks, s->block_count, source), UAR_OK);
    vector_query_dispose(&q);
    return count;
}

static size_t count_common(const vector_hit *a, const vector_hit *b, size_t count) {
    size_t common = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            common += a[i].key == b[k].key;
    return common;
}

static void ninety_nine_of_a_hundred_nearest_rows_are_found(void **state) {
    (void)state;
    uint64_t random = test_seed();
    static const set_shape shapes[] = { SET_RANDOM, SET_CLUSTERED, SET_HARD };
    for (size_t i = 0; i < 3; i++) {
        vector_set set = make_set(384, 20300, shapes[i], &random);
        shelf s = make_shelf(&set);
        size_t found = 0, queries = rounds(100, 400);
        for (size_t n = 0; n < queries; n++) {
            float v[384];
            vector_hit exact[NEAREST], likely[NEAREST];
            make_vector(v, 384, shapes[i], &random);
            assert_int_equal(ask(exact, &s, v, NULL, false), NEAREST);
            assert_int_equal(ask(likely, &s, v, NULL, true), NEAREST);
            found += count_common(exact, likely, NEAREST);
        }
        print_message("# recall %.4f\n", (double)found / (double)(queries * NEAREST));
        assert_true(found * 100 >= queries * NEAREST * 99);
        free_shelf(&s);
        free_set(&set);
    }
}

static void hits_by_bits_are_the_same_on_every_level(void **state) {
    (void)state;
    uint64_t random = test_seed();
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels);
    vector_set set = make_set(200, 6000, SET_HARD, &random);
    shelf s = make_shelf(&set);
    for (int n = 0; n < 10; n++) {
        float v[200];
        vector_hit first[NEAREST], other[NEAREST];
        make_vector(v, 200, SET_HARD, &random);
        (void)ask(first, &s, v, kernels[0], true);
        for (size_t i = 1; i < levels; i++) {
            assert_int_equal(ask(other, &s, v, kernels[i], true), NEAREST);
            for (size_t k = 0; k < NEAREST; k++)
                assert_true(other[k].key == first[k].key && other[k].cosine >= first[k].cosine &&
                            other[k].cosine <= first[k].cosine);
        }
    }
    free_shelf(&s);
    free_set(&set);
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
        shelf s = make_shelf(&set);
        vector_hit exact[NEAREST], likely[NEAREST];
        size_t found = ask(exact, &s, set.vectors, NULL, false);
        assert_int_equal(ask(likely, &s, set.vectors, NULL, true), found);
        assert_int_equal(count_common(exact, likely, found), found);
        free_shelf(&s);
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
        cmocka_unit_test(few_cosines_lie_above_their_estimate),
        cmocka_unit_test(a_part_of_a_sheet_is_scanned_like_the_whole),
        cmocka_unit_test(ninety_nine_of_a_hundred_nearest_rows_are_found),
        cmocka_unit_test(hits_by_bits_are_the_same_on_every_level),
        cmocka_unit_test(rows_that_are_their_own_centre_are_found),
        cmocka_unit_test(a_sheet_without_memory_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
