/* The nearest rows by codes are those that a comparison with all the vectors finds. */
#include "test_index_vector_fixture.h"

#include "support/probe_alloc.h"

/* A set behind a few blocks, and where their vectors are read. */
typedef struct shelf {
    const vector_set *set;
    vector_block blocks[4];
    size_t starts[4];
    size_t block_count;
    uint64_t *masks;
    size_t fetched;
    size_t fail_at; /* the number of the fetch that fails, from 1; 0: none */
} shelf;

static uar_status fetch(void *ctx, float *out, size_t block, size_t row) {
    shelf *s = ctx;
    assert_true(block < s->block_count && row < s->blocks[block].count);
    if (++s->fetched == s->fail_at) return UAR_E_CORRUPT;
    const vector_set *set = s->set;
    memcpy(out, set->vectors + (s->starts[block] + row) * set->dims, set->dims * sizeof *out);
    return UAR_OK;
}

/* `share`: of how many rows one takes part; 0: there is no mask. */
static shelf make_shelf(const vector_set *set, size_t block_count, size_t share, uint64_t *random) {
    shelf s = { .set = set, .block_count = block_count };
    size_t stride = vector_stride(set->dims), words = set->count / 64 + 1, at = 0;
    s.masks = test_memory(block_count * words * sizeof *s.masks);
    for (size_t b = 0; b < block_count; b++) {
        size_t left = set->count - at;
        size_t count = b + 1 == block_count ? left : below(random, left + 1);
        uint64_t *mask = s.masks + b * words;
        for (size_t w = 0; w < words; w++) {
            mask[w] = 0;
            for (unsigned bit = 0; bit < 64; bit++)
                mask[w] |= (uint64_t)(share != 0 && below(random, share) == 0) << bit;
        }
        s.blocks[b] = (vector_block){ set->rows + at * stride,  set->scales + at,
                                      set->keys + at,           count,
                                      share != 0 ? mask : NULL, NULL };
        s.starts[b] = at;
        at += count;
    }
    return s;
}

static int by_rank(const void *a, const void *b) {
    const vector_hit *x = a, *y = b;
    if (x->cosine > y->cosine || x->cosine < y->cosine) return x->cosine > y->cosine ? -1 : 1;
    return (x->key < y->key) - (x->key > y->key);
}

/* All rows that take part, ranked. */
static size_t rank_all(vector_hit *hits, const shelf *s, const float *v) {
    const vector_set *set = s->set;
    size_t count = 0;
    for (size_t b = 0; b < s->block_count; b++)
        for (size_t r = 0; r < s->blocks[b].count; r++) {
            if (s->blocks[b].mask != NULL && (s->blocks[b].mask[r / 64] >> (r % 64) & 1) == 0) continue;
            const float *vector = set->vectors + (s->starts[b] + r) * set->dims;
            hits[count++] =
                (vector_hit){ s->blocks[b].keys[r], vector_dot(v, vector, set->dims), (uint32_t)b, (uint32_t)r };
        }
    qsort(hits, count, sizeof *hits, by_rank);
    return count;
}

static void expect_exact(shelf *s, const float *v, size_t k, const vector_kernel *kernel) {
    vector_hit *all = test_memory((s->set->count + 1) * sizeof *all), *hits = test_memory((k + 1) * sizeof *hits);
    size_t count = 12345, total = rank_all(all, s, v);
    vector_query q = make_query(v, s->set->dims, kernel);
    vector_source source = { s, fetch };
    assert_int_equal(vector_top(hits, &count, k, &q, s->blocks, s->block_count, source), UAR_OK);
    assert_int_equal(count, k < total ? k : total);
    for (size_t i = 0; i < count; i++) {
        assert_true(hits[i].key == all[i].key && hits[i].block == all[i].block && hits[i].row == all[i].row);
        assert_memory_equal(&hits[i].cosine, &all[i].cosine, sizeof(float));
    }
    vector_query_dispose(&q);
    free(all);
    free(hits);
}

static void expect_exact_sets(set_shape shape, size_t round_count) {
    uint64_t random = test_seed();
    for (size_t round = 0; round < round_count; round++) {
        size_t dims = round % 2 == 0 ? 384 : below(&random, 1024) + 1;
        vector_set set = make_set(dims, 1 + below(&random, 3000), shape, &random);
        shelf s = make_shelf(&set, 1 + below(&random, 4), 0, &random);
        float *v = test_memory(dims * sizeof *v);
        make_vector(v, dims, shape, &random);
        expect_exact(&s, v, 1 + below(&random, 30), NULL);
        expect_exact(&s, set.vectors + below(&random, set.count) * dims, 10, NULL);
        free(v);
        free(s.masks);
        free_set(&set);
    }
}

static void random_sets_are_ranked_as_by_the_vectors(void **state) {
    (void)state;
    expect_exact_sets(SET_RANDOM, rounds(15, 300));
}

static void clustered_sets_are_ranked_as_by_the_vectors(void **state) {
    (void)state;
    expect_exact_sets(SET_CLUSTERED, rounds(15, 300));
}

static void sets_of_few_big_clusters_are_ranked_as_by_the_vectors(void **state) {
    (void)state;
    expect_exact_sets(SET_HARD, rounds(15, 300));
}

static void repeated_vectors_are_ranked_by_key(void **state) {
    (void)state;
    expect_exact_sets(SET_REPEATED, rounds(15, 300));
}

static void vectors_of_one_large_number_are_ranked_as_by_the_vectors(void **state) {
    (void)state;
    expect_exact_sets(SET_SPARSE, rounds(15, 300));
}

static void any_shape_size_mask_and_level_gives_the_same_hits(void **state) {
    (void)state;
    uint64_t random = test_seed();
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels);
    static const size_t shares[] = { 0, 1, 2, 10, 100, 100000 };
    for (size_t round = 0; round < rounds(400, 20000); round++) {
        size_t dims = below(&random, 130) + 1;
        vector_set set = make_set(dims, below(&random, 700), (set_shape)below(&random, SET_SHAPES), &random);
        shelf s = make_shelf(&set, 1 + below(&random, 4), shares[below(&random, 6)], &random);
        float v[130];
        make_vector(v, dims, (set_shape)below(&random, SET_SHAPES), &random);
        expect_exact(&s, v, below(&random, 40), kernels[below(&random, levels)]);
        free(s.masks);
        free_set(&set);
    }
}

static void tiny_sets_and_none_are_answered(void **state) {
    (void)state;
    uint64_t random = test_seed();
    for (size_t rows = 0; rows < 20; rows++) {
        vector_set set = make_set(5, rows, SET_RANDOM, &random);
        shelf s = make_shelf(&set, 1, 0, &random);
        float v[5];
        make_vector(v, 5, SET_RANDOM, &random);
        expect_exact(&s, v, 10, NULL);
        expect_exact(&s, v, 0, NULL);
        s.block_count = 0;
        if (rows == 0) expect_exact(&s, v, 10, NULL);
        free(s.masks);
        free_set(&set);
    }
}

/* The point of it all: an exact answer from few of the vectors, even where all lie close together. */
static void few_vectors_are_fetched_even_of_a_hard_set(void **state) {
    (void)state;
    uint64_t random = test_seed();
    vector_set set = make_set(384, 20000, SET_HARD, &random);
    shelf s = make_shelf(&set, 4, 0, &random);
    float v[384];
    make_vector(v, 384, SET_HARD, &random);
    expect_exact(&s, v, 10, NULL);
    print_message("# fetched %zu of %zu\n", s.fetched, set.count);
    assert_in_range(s.fetched, 10, 400);
    free(s.masks);
    free_set(&set);
}

static void a_failing_source_ends_the_search_with_its_status(void **state) {
    (void)state;
    uint64_t random = test_seed();
    vector_set set = make_set(50, 500, SET_CLUSTERED, &random);
    shelf s = make_shelf(&set, 2, 0, &random);
    vector_query q = make_query(set.vectors, 50, NULL);
    vector_source source = { &s, fetch };
    for (s.fail_at = 1; s.fail_at <= 10; s.fail_at++) {
        vector_hit hits[10], untouched[10];
        size_t count = 99;
        memset(hits, 0x44, sizeof hits);
        memcpy(untouched, hits, sizeof hits);
        s.fetched = 0;
        assert_int_equal(vector_top(hits, &count, 10, &q, s.blocks, 2, source), UAR_E_CORRUPT);
        assert_int_equal(count, 99);
        assert_memory_equal(hits, untouched, sizeof hits);
    }
    vector_query_dispose(&q);
    free(s.masks);
    free_set(&set);
}

/* Rows that come nearer and nearer: each is kept, and the list must grow. */
static vector_set make_rising_set(size_t count) {
    uint64_t random = 1;
    vector_set set = make_set(2, count, SET_RANDOM, &random);
    for (size_t i = 0; i < count; i++) {
        float *v = set.vectors + i * 2;
        v[0] = 0.9f + 1e-6f * (float)i;
        v[1] = sqrtf(1 - v[0] * v[0]);
        vector_encode(set.rows + i * vector_stride(2), &set.scales[i], v, 2);
    }
    return set;
}

static void a_search_without_memory_fails_clean(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    uint64_t random = 1;
    vector_set set = make_rising_set(5000);
    shelf s = make_shelf(&set, 1, 0, &random);
    const float v[2] = { 1, 0 };
    vector_source source = { &s, fetch };
    unsigned failures = 0;
    for (unsigned long n = 1; n < 40; n++)
        for (int for_good = 0; for_good < 2; for_good++) {
            vector_query q = make_query(v, 2, NULL);
            const uar_allocator *own = q.alloc;
            vector_hit hits[3], untouched[3];
            size_t count = 99;
            memset(hits, 0x44, sizeof hits);
            memcpy(untouched, hits, sizeof hits);
            q.alloc = &probe.door;
            probe_alloc_arm(&probe, n, for_good != 0);
            uar_status status = vector_top(hits, &count, 3, &q, s.blocks, 1, source);
            assert_int_equal(probe.alive, 0);
            if (probe_alloc_has_failed(&probe)) {
                failures++;
                assert_int_equal(status, UAR_E_NOMEM);
                assert_int_equal(count, 99);
                assert_memory_equal(hits, untouched, sizeof hits);
            } else {
                assert_int_equal(status, UAR_OK);
                assert_int_equal(count, 3);
            }
            q.alloc = own;
            vector_query_dispose(&q);
        }
    assert_in_range(failures, 10, 60); /* four blocks to begin with, and the list grew */
    free(s.masks);
    free_set(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sets_are_ranked_as_by_the_vectors),
        cmocka_unit_test(clustered_sets_are_ranked_as_by_the_vectors),
        cmocka_unit_test(sets_of_few_big_clusters_are_ranked_as_by_the_vectors),
        cmocka_unit_test(repeated_vectors_are_ranked_by_key),
        cmocka_unit_test(vectors_of_one_large_number_are_ranked_as_by_the_vectors),
        cmocka_unit_test(any_shape_size_mask_and_level_gives_the_same_hits),
        cmocka_unit_test(tiny_sets_and_none_are_answered),
        cmocka_unit_test(few_vectors_are_fetched_even_of_a_hard_set),
        cmocka_unit_test(a_failing_source_ends_the_search_with_its_status),
        cmocka_unit_test(a_search_without_memory_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
