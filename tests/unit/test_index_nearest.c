/* The nearest documents of a segment are those that a comparison with all vectors finds, in its order. */
#define WORLD_DIMS 384
#include "index_world.h"

#include "support/probe_alloc.h"

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

static int by_rank(const void *a, const void *b) {
    const engine_near *x = (const engine_near *)a, *y = (const engine_near *)b;
    if (x->cosine > y->cosine || x->cosine < y->cosine) return x->cosine > y->cosine ? -1 : 1;
    return (x->key < y->key) - (x->key > y->key);
}

static engine_near_question question_of(const float *v, float least) {
    return (engine_near_question){ .vector = v, .type = 2, .time_ms = WORLD_NOW, .least = least };
}

/* `count` documents are what a comparison with all ranks first; how many that could be. */
static size_t check_near(const world *w, const engine_near *near, size_t count, size_t cap, const float *v,
                         float least) {
    engine_near *all = calloc(w->count, sizeof *all);
    assert_non_null(all);
    size_t fit = 0;
    for (size_t d = 0; d < w->count; d++) {
        const world_document *o = &w->documents[d];
        if (!is_meant(o)) continue;
        float cosine = vector_dot(v, o->vector, WORLD_DIMS);
        if (cosine >= least) all[fit++] = (engine_near){ o->item.at.key, cosine };
    }
    qsort(all, fit, sizeof *all, by_rank);
    assert_int_equal(count, fit < cap ? fit : cap);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(near[i].key, all[i].key);
        assert_memory_equal(&near[i].cosine, &all[i].cosine, sizeof(float));
    }
    free(all);
    return fit;
}

/* Repeats among them, so that equal cosines have an order. */
static void fill(world *w, int count) {
    for (int i = 0; i < count; i++) {
        world_add(w);
        world_document *d = &w->documents[w->count - 1];
        if (i % 9 == 8) memcpy(d->vector, w->documents[w->count - 5].vector, sizeof d->vector);
    }
}

static void check_world(size_t chunk, float least, size_t cap, size_t cache_bytes) {
    world w;
    engine e;
    world_init(&w, &alloc_default, 73 + chunk, WORLD_DIMS);
    engine_init(&e, &alloc_default, cache_bytes);
    fill(&w, 600);
    world_pack(&w, chunk);
    fill(&w, 30);
    size_t found = 0;
    index_source source = world_source(&w);
    for (int i = 0; i < 150; i++) {
        float v[WORLD_DIMS];
        engine_near near[50];
        size_t count = 0;
        if (i % 4 == 0) world_change(&w);
        if (i % 30 == 29) world_pack(&w, chunk);
        ask_near(&w, v);
        engine_near_question q = question_of(v, least);
        assert_int_equal(engine_nearest(near, &count, cap, &e, &q, &w.state, &source, NULL), UAR_OK);
        found += check_near(&w, near, count, cap, v, least);
        assert_true(engine_bytes(&e) <= cache_bytes);
    }
    assert_true(found > 10);
    engine_trim(&e);
    world_dispose(&w);
}

static void the_nearest_of_all_are_ranked_as_by_the_vectors(void **state) {
    (void)state;
    check_world(100, -1, 10, (size_t)64 << 20);
    check_world(600, -1, 50, (size_t)64 << 20);
    check_world(100, -1, 1, (size_t)64 << 20);
}

static void the_nearest_above_a_cosine_are_ranked_as_by_the_vectors(void **state) {
    (void)state;
    check_world(100, 0.9f, 50, (size_t)64 << 20);
    check_world(7, 0.8f, 3, (size_t)64 << 20);
    check_world(1024, 0.6f, 8, (size_t)64 << 20);
}

static void what_has_no_room_in_the_cache_is_found_all_the_same(void **state) {
    (void)state;
    check_world(100, 0.9f, 50, 500000);
    check_world(100, -1, 10, 500000);
}

/* What bits ruled out isn't scanned: sheets are kept beside the codes and made only once. */
static void sheets_are_made_a_few_a_call_and_kept(void **state) {
    (void)state;
    world w;
    engine e;
    world_init(&w, &alloc_default, 79, WORLD_DIMS);
    engine_init(&e, &alloc_default, (size_t)64 << 20);
    fill(&w, 600);
    world_pack(&w, 6);
    index_source source = world_source(&w);
    float v[WORLD_DIMS];
    ask_near(&w, v);
    engine_near_question q = question_of(v, 0.9f);
    size_t made = 0;
    for (int call = 1; call <= 3; call++) {
        engine_near near[50];
        size_t count = 0;
        assert_int_equal(engine_nearest(near, &count, 50, &e, &q, &w.state, &source, NULL), UAR_OK);
        made = 0;
        const index_segment *s = &e.segments[0]->segment;
        for (size_t i = 0; i < s->chunk_count; i++)
            made += s->chunks[i].sheet != NULL;
        assert_in_range(made, call == 1 ? 1 : ENGINE_SHEETS, call == 1 ? ENGINE_SHEETS : s->chunk_count);
    }
    assert_true(made > ENGINE_SHEETS);
    engine_trim(&e);
    world_dispose(&w);
}

static uar_status no_vector(void *ctx, int64_t key, float *out, bool *found, uar_error *err) {
    (void)key;
    (void)out;
    (void)found;
    (void)err;
    return --*(int *)ctx == 0 ? UAR_E_CORRUPT : UAR_OK;
}

typedef struct failing {
    world *w;
    int left;
} failing;

static failing *failing_now; /* tests are on one thread */

static uar_status failing_vector(void *ctx, int64_t key, float *out, bool *found, uar_error *err) {
    if (no_vector(&failing_now->left, key, out, found, err) != UAR_OK) return UAR_E_CORRUPT;
    return world_vector(ctx, key, out, found, err);
}

static void a_failing_source_ends_the_look_with_its_status(void **state) {
    (void)state;
    world w;
    engine e;
    world_init(&w, &alloc_default, 80, WORLD_DIMS);
    engine_init(&e, &alloc_default, (size_t)64 << 20);
    fill(&w, 300);
    world_pack(&w, 100);
    index_source source = world_source(&w);
    source.vector = failing_vector;
    failing f = { &w, 0 };
    failing_now = &f;
    float v[WORLD_DIMS];
    ask_near(&w, v);
    engine_near_question q = question_of(v, -1);
    for (int n = 1; n <= 5; n++) {
        engine_near near[5], untouched[5];
        size_t count = 99;
        memset(near, 0x44, sizeof near);
        memcpy(untouched, near, sizeof near);
        f.left = n;
        assert_int_equal(engine_nearest(near, &count, 5, &e, &q, &w.state, &source, NULL), UAR_E_CORRUPT);
        assert_int_equal(count, 99);
        assert_memory_equal(near, untouched, sizeof near);
    }
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
    engine_near_question q = question_of(v, 0.9f);
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long at = 1;; at++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            engine e;
            engine_init(&e, &probe.door, (size_t)64 << 20);
            engine_near near[50];
            size_t count = 99;
            probe_alloc_arm(&probe, at, for_good != 0);
            uar_status status = engine_nearest(near, &count, 50, &e, &q, &w.state, &source, NULL);
            bool failed = probe_alloc_has_failed(&probe);
            probe_alloc_arm(&probe, 0, false);
            assert_int_equal(status, failed ? UAR_E_NOMEM : UAR_OK);
            if (failed) assert_int_equal(count, 99);
            assert_int_equal(engine_nearest(near, &count, 50, &e, &q, &w.state, &source, NULL), UAR_OK);
            (void)check_near(&w, near, count, 50, v, 0.9f);
            engine_trim(&e);
            assert_int_equal(probe.alive, 0);
            if (!failed) break;
        }
    }
    world_dispose(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_of_all_are_ranked_as_by_the_vectors),
        cmocka_unit_test(the_nearest_above_a_cosine_are_ranked_as_by_the_vectors),
        cmocka_unit_test(what_has_no_room_in_the_cache_is_found_all_the_same),
        cmocka_unit_test(sheets_are_made_a_few_a_call_and_kept),
        cmocka_unit_test(a_failing_source_ends_the_look_with_its_status),
        cmocka_unit_test(a_look_for_what_is_near_survives_the_failure_of_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
