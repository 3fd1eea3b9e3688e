/* A first look at the heads of vectors: what it may rule out, and the nearest documents that are found with it. */
#define WORLD_DIMS 384
#include "index_world.h"

#include "index/vector_head.h"
#include "support/probe_alloc.h"
#include "test_index_vector_fixture.h"

#define ROWS 1000

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

static void check_heads(size_t dims, set_shape shape, uint64_t *random, size_t *kept, size_t *seen) {
    vector_set set = make_set(dims, ROWS, shape, random);
    draw_near_ones(&set, random);
    set.scales[5] = 0; /* has no vector */
    float *rests = test_memory(ROWS * sizeof *rests);
    uint32_t *which = test_memory(ROWS * sizeof *which);
    vector_rests(rests, set.rows, set.scales, dims, ROWS);
    const vector_kernel *kernels[VECTOR_KERNELS];
    size_t levels = vector_kernels(kernels);
    vector_query q;
    assert_int_equal(vector_query_init(&q, &alloc_default, set.vectors, dims), UAR_OK);
    for (size_t level = 0; level < levels; level++) {
        q.kernel = kernels[level];
        size_t count = vector_head_sift(which, &q, 0.9f, set.rows, set.scales, rests, ROWS);
        size_t at = 0;
        for (size_t r = 0; r < ROWS; r++) {
            bool is_kept = at < count && which[at] == r;
            at += is_kept;
            bool is_near = r != 5 && vector_dot(q.v, set.vectors + r * dims, dims) >= 0.9f;
            assert_true(is_kept || !is_near);
            assert_false(is_kept && r == 5);
        }
        assert_int_equal(at, count);
        *kept += count;
        *seen += ROWS;
    }
    vector_query_dispose(&q);
    free(rests);
    free(which);
    free_set(&set);
}

static void no_row_is_ruled_out_whose_cosine_is_high_enough(void **state) {
    (void)state;
    uint64_t random = test_seed();
    static const size_t sizes[] = { 384, 350, 768, 1536 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (set_shape shape = SET_RANDOM; shape < SET_SHAPES; shape++) {
            size_t kept = 0, seen = 0;
            check_heads(sizes[i], shape, &random, &kept, &seen);
            if (shape == SET_RANDOM && sizes[i] == 384) assert_true(kept < seen / 4);
        }
}

static void short_vectors_have_no_heads(void **state) {
    (void)state;
    assert_false(vector_has_heads(1));
    assert_false(vector_has_heads(256));
    assert_false(vector_has_heads(448));
    assert_true(vector_has_heads(384));
    assert_true(vector_has_heads(768));
}

static void ask_near(world *w, float v[WORLD_DIMS]) {
    const world_document *d = &w->documents[world_below(w, w->count)];
    world_unit(w, v);
    for (size_t i = 0; i < WORLD_DIMS; i++)
        v[i] = d->vector[i] + 0.2f * v[i];
    assert_true(vector_normalise(v, WORLD_DIMS));
}

static bool is_meant(const world_document *d) {
    return d->is_alive && d->item.at.is_current && d->item.at.type == 2 && d->item.vector != NULL &&
           d->item.at.valid_until_ms > WORLD_NOW;
}

/* How many documents have a cosine of `least` or more; each of them is in the answer. */
static size_t check_near(const world *w, const engine_near *near, size_t count, const float *v, float least) {
    size_t fit = 0;
    for (size_t d = 0; d < w->count; d++) {
        const world_document *o = &w->documents[d];
        if (!is_meant(o) || vector_dot(v, o->vector, WORLD_DIMS) < least) continue;
        size_t at = 0;
        while (at < count && near[at].key != o->item.at.key)
            at++;
        assert_true(at < count);
        fit++;
    }
    return fit;
}

static void the_nearest_above_a_cosine_are_those_of_a_scan_of_all(void **state) {
    (void)state;
    world w;
    engine e;
    world_init(&w, &alloc_default, 73, WORLD_DIMS);
    engine_init(&e, &alloc_default, (size_t)64 << 20);
    for (int i = 0; i < 600; i++)
        world_add(&w);
    world_pack(&w, 100);
    size_t found = 0, unwanted = 0;
    index_source source = world_source(&w);
    for (int i = 0; i < 200; i++) {
        float v[WORLD_DIMS];
        engine_near near[50];
        size_t count = 0;
        if (i % 4 == 0) world_change(&w);
        ask_near(&w, v);
        assert_int_equal(engine_nearest(near, &count, 50, &e, v, 2, WORLD_NOW, 0.9f, &w.state, &source, NULL), UAR_OK);
        size_t fit = check_near(&w, near, count, v, 0.9f);
        found += fit;
        unwanted += count - fit;
    }
    assert_true(found > 20);
    assert_true(unwanted < found);
    engine_trim(&e);
    world_dispose(&w);
}

static void a_look_for_what_is_near_survives_the_failure_of_each_allocation(void **state) {
    (void)state;
    world w;
    world_init(&w, &alloc_default, 79, WORLD_DIMS);
    for (int i = 0; i < 60; i++)
        world_add(&w);
    world_pack(&w, 20);
    index_source source = world_source(&w);
    float v[WORLD_DIMS];
    ask_near(&w, v);
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long at = 1;; at++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            engine e;
            engine_init(&e, &probe.door, (size_t)64 << 20);
            engine_near near[50];
            size_t count = 99;
            probe_alloc_arm(&probe, at, for_good != 0);
            uar_status status = engine_nearest(near, &count, 50, &e, v, 2, WORLD_NOW, 0.9f, &w.state, &source, NULL);
            bool failed = probe_alloc_has_failed(&probe);
            probe_alloc_arm(&probe, 0, false);
            assert_int_equal(status, failed ? UAR_E_NOMEM : UAR_OK);
            if (failed) assert_int_equal(count, 99);
            assert_int_equal(engine_nearest(near, &count, 50, &e, v, 2, WORLD_NOW, 0.9f, &w.state, &source, NULL),
                             UAR_OK);
            (void)check_near(&w, near, count, v, 0.9f);
            engine_trim(&e);
            assert_int_equal(probe.alive, 0);
            if (!failed) break;
        }
    }
    world_dispose(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_row_is_ruled_out_whose_cosine_is_high_enough),
        cmocka_unit_test(short_vectors_have_no_heads),
        cmocka_unit_test(the_nearest_above_a_cosine_are_those_of_a_scan_of_all),
        cmocka_unit_test(a_look_for_what_is_near_survives_the_failure_of_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
