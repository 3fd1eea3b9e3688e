/* The engine beside a scorer that goes through all documents by the letter of the formula: over random documents, changes,
 * removals and packings, with one cache and with two, with room and without. */
#include "index_world.h"

#include "support/probe_alloc.h"

#define TERMS_MOST 9

typedef struct asked {
    engine_question question;
    engine_term terms[TERMS_MOST];
    float vector[WORLD_DIMS];
    time_range time;
} asked;

static void make_question(world *w, asked *a, bool hybrid) {
    memset(a, 0, sizeof *a);
    engine_question *q = &a->question;
    size_t wanted = 1 + world_below(w, TERMS_MOST - 3);
    while (q->term_count < wanted) {
        uint64_t id = world_word(w);
        bool known = false;
        for (size_t i = 0; i < q->term_count; i++)
            known = known || a->terms[i].id == id;
        if (!known) a->terms[q->term_count++] = (engine_term){ id, ENGINE_WORD };
    }
    if (world_below(w, 2) == 0) a->terms[q->term_count++] = (engine_term){ world_word(w), ENGINE_OPENING };
    if (world_below(w, 2) == 0) a->terms[q->term_count++] = (engine_term){ world_word(w), ENGINE_OPENING };
    if (world_below(w, 2) == 0) a->terms[q->term_count++] = (engine_term){ world_word(w), ENGINE_ASKS };
    q->terms = a->terms;
    world_unit(w, a->vector);
    q->vector = hybrid ? a->vector : NULL;
    q->time_ms = WORLD_NOW;
    q->limit = 1 + world_below(w, 30);
    q->as_of = world_below(w, 6) == 0;
    q->include_ended = world_below(w, 3) == 0;
    q->is_open = world_below(w, 4) == 0;
    if (q->as_of) q->time_ms -= INT64_C(86400000) * (int64_t)world_below(w, 100);
    int64_t day = WORLD_NOW - INT64_C(86400000) * (int64_t)world_below(w, 220);
    a->time = time_range_of(day, world_below(w, 9) == 0 ? INT64_MAX
                                                        : day + INT64_C(86400000) * (1 + (int64_t)world_below(w, 50)));
    if (world_below(w, 3) == 0) q->time = &a->time;
    if (world_below(w, 3) == 0) q->types = 1u << (1 + world_below(w, 4));
    if (world_below(w, 4) == 0) q->after_ms = WORLD_NOW - INT64_C(86400000) * 150;
    if (world_below(w, 4) == 0) q->before_ms = WORLD_NOW - INT64_C(86400000) * 20;
    if (world_below(w, 4) == 0) q->places[0] = 1 + (uint32_t)world_below(w, 3);
    if (world_below(w, 4) == 0) q->labels = 1u << world_below(w, 4);
}

static int by_score(const void *a, const void *b) {
    double x = ((const model_score *)a)->score;
    double y = ((const model_score *)b)->score;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The hits are the model's, in its order, where scores are not too close to tell. */
static void compare(world *w, engine *e, const asked *a) {
    index_source source = world_source(w);
    engine_answer *answer = NULL;
    assert_int_equal(engine_search(&answer, e, &a->question, &w->state, 1, &source, NULL), UAR_OK);
    index_segment *segment = NULL;
    assert_int_equal(engine_open(&segment, e, &w->state, &source, NULL), UAR_OK);
    model_score *model = model_run(w, &a->question, segment);
    model_score *ranked = calloc(w->count + 1, sizeof *ranked);
    size_t found = 0;
    for (size_t i = 0; i < w->count; i++)
        if (model[i].is_found) ranked[found++] = model[i];
    qsort(ranked, found, sizeof *ranked, by_score);
    size_t wanted = found < a->question.limit ? found : a->question.limit;
    engine_hit hit;
    double last = 1e9;
    for (size_t i = 0; i < wanted; i++) {
        assert_true(engine_answer_next(answer, &hit));
        const model_score *own = &model[hit.key - 1];
        assert_true(own->is_found);
        assert_true(fabs(own->score - hit.score) < 2e-6);
        assert_true(fabs(ranked[i].score - hit.score) < 2e-6);
        assert_true(hit.score <= last + 1e-6);
        assert_true(hit.lexical >= 0 && hit.lexical <= 1 && hit.around >= 0 && hit.around <= hit.lexical);
        last = hit.score;
    }
    if (wanted == found && !engine_answer_is_hybrid(answer)) assert_false(engine_answer_next(answer, &hit));
    engine_answer_free(answer);
    free(model);
    free(ranked);
}

static void step(world *w) {
    switch (world_below(w, 12)) {
    case 0: world_remove(w); break;
    case 1:
    case 2:
    case 3: world_change(w); break;
    case 4:
        if (world_below(w, 3) == 0) world_pack(w, 1 + world_below(w, 60));
        break;
    case 5:
        if (w->state.packed != 0) {
            w->state.generation++;
            w->state.edits++;
            world_rewrite(w, 1 + (int64_t)world_below(w, (size_t)w->state.packed));
        }
        break;
    default: world_add(w); break;
    }
}

static void run(uint64_t seed, size_t dims, size_t cache_bytes) {
    world w;
    engine near, far; /* `far` looks only now and then */
    world_init(&w, &alloc_default, seed, dims);
    engine_init(&near, &alloc_default, cache_bytes);
    engine_init(&far, &alloc_default, cache_bytes);
    for (int i = 0; i < 20; i++)
        world_add(&w);
    for (int i = 0; i < 150; i++) {
        for (size_t n = world_below(&w, 6); n > 0; n--)
            step(&w);
        asked a;
        make_question(&w, &a, dims != 0 && i % 4 != 0);
        compare(&w, &near, &a);
        if (i % 7 == 0) compare(&w, &far, &a);
    }
    engine_trim(&near);
    engine_trim(&far);
    world_dispose(&w);
}

static void by_words_every_score_is_the_formulas(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        run(seed, 0, (size_t)64 << 20);
}

static void with_vectors_every_score_is_the_formulas(void **state) {
    (void)state;
    for (uint64_t seed = 11; seed <= 14; seed++)
        run(seed, WORLD_DIMS, (size_t)64 << 20);
}

static void a_segment_larger_than_the_cache_is_searched_all_the_same(void **state) {
    (void)state;
    for (uint64_t seed = 21; seed <= 22; seed++)
        run(seed, WORLD_DIMS, 20000);
    run(25, WORLD_DIMS, 1);
}

static void grow(world *w, size_t count, size_t chunk) {
    for (size_t i = 0; i < count; i++)
        world_add(w);
    world_pack(w, chunk);
}

static void search_once(world *w, engine *e) {
    asked a;
    make_question(w, &a, true);
    index_source source = world_source(w);
    engine_answer *answer = NULL;
    assert_int_equal(engine_search(&answer, e, &a.question, &w->state, 1, &source, NULL), UAR_OK);
    engine_answer_free(answer);
}

static void what_is_in_memory_is_not_read_again(void **state) {
    (void)state;
    world w;
    engine e;
    world_init(&w, &alloc_default, 31, WORLD_DIMS);
    engine_init(&e, &alloc_default, (size_t)64 << 20);
    grow(&w, 400, 100);
    search_once(&w, &e);
    size_t reads = w.reads;
    assert_true(reads > 0);
    search_once(&w, &e);
    world_add(&w);
    world_change(&w);
    search_once(&w, &e);
    assert_int_equal(w.reads, reads);
    grow(&w, 10, 100); /* one more chunk: only that one is read */
    search_once(&w, &e);
    assert_int_equal(w.reads - reads, 4);
    assert_int_equal(e.body_reads, 5);
    engine_trim(&e);
    world_dispose(&w);
}

static void the_cache_keeps_its_bound_between_searches(void **state) {
    (void)state;
    world w;
    engine e;
    world_init(&w, &alloc_default, 32, WORLD_DIMS);
    engine_init(&e, &alloc_default, 60000);
    grow(&w, 2000, 100);
    for (int i = 0; i < 5; i++) {
        search_once(&w, &e);
        assert_true(engine_bytes(&e) <= 60000);
    }
    engine_trim(&e);
    world_dispose(&w);
}

static void the_segment_used_longest_ago_goes_first(void **state) {
    (void)state;
    world w[3];
    engine e;
    engine_init(&e, &alloc_default, (size_t)64 << 20);
    for (size_t i = 0; i < 3; i++) {
        world_init(&w[i], &alloc_default, 40 + i, WORLD_DIMS);
        w[i].state.id = (int64_t)i + 1;
        grow(&w[i], 300, 100);
        search_once(&w[i], &e);
    }
    e.cache_bytes = engine_bytes(&e) - 1;
    search_once(&w[0], &e);
    assert_int_equal(e.count, 2);
    assert_int_equal(e.segments[0]->segment.state.id, 1);
    assert_int_equal(e.segments[1]->segment.state.id, 3);
    engine_trim(&e);
    for (size_t i = 0; i < 3; i++)
        world_dispose(&w[i]);
}

static void several_segments_are_one_corpus(void **state) {
    (void)state;
    world whole, parts[2];
    engine e;
    engine_init(&e, &alloc_default, (size_t)64 << 20);
    world_init(&whole, &alloc_default, 51, 0);
    world_init(&parts[0], &alloc_default, 51, 0);
    world_init(&parts[1], &alloc_default, 52, 0);
    parts[1].state.id = 4;
    for (int i = 0; i < 200; i++)
        world_add(&whole);
    for (size_t i = 0; i < 200; i++) { /* conversations stay whole, numbers and keys come apart */
        world *p = &parts[whole.documents[i].item.at.group % 2];
        world_add(p);
        int64_t key = p->documents[p->count - 1].item.at.key;
        p->documents[p->count - 1] = whole.documents[i];
        p->documents[p->count - 1].item.at.key = key;
    }
    world_pack(&parts[1], 50);
    segment_state states[2] = { parts[0].state, parts[1].state };
    for (int i = 0; i < 50; i++) {
        asked a;
        make_question(&whole, &a, false);
        index_source source = world_source(&whole);
        engine_answer *answer = NULL;
        engine other;
        engine_init(&other, &alloc_default, (size_t)64 << 20);
        assert_int_equal(engine_search(&answer, &other, &a.question, &whole.state, 1, &source, NULL), UAR_OK);
        double scores[32];
        size_t count = 0;
        engine_hit hit;
        while (count < a.question.limit && engine_answer_next(answer, &hit))
            scores[count++] = hit.score;
        engine_answer_free(answer);
        engine_trim(&other);
        index_segment *opened = NULL;
        for (size_t p = 0; p < 2; p++) {
            index_source part = world_source(&parts[p]);
            assert_int_equal(engine_open(&opened, &e, &states[p], &part, NULL), UAR_OK);
        }
        index_source either = world_source(&parts[1]); /* bodies that were not read yet are of the second one only */
        assert_int_equal(engine_search(&answer, &e, &a.question, states, 2, &either, NULL), UAR_OK);
        for (size_t n = 0; n < count; n++) {
            assert_true(engine_answer_next(answer, &hit));
            assert_true(fabs(hit.score - scores[n]) < 2e-6);
        }
        engine_answer_free(answer);
    }
    engine_trim(&e);
    world_dispose(&whole);
    world_dispose(&parts[0]);
    world_dispose(&parts[1]);
}

/* Fail at each allocation, once and for good; the engine must answer rightly afterwards and hold nothing it shouldn't. */
static void expect_survival(size_t bits_from) {
    for (int for_good = 0; for_good < 2; for_good++) {
        world w;
        world_init(&w, &alloc_default, 61, WORLD_DIMS);
        grow(&w, 150, 40);
        for (int i = 0; i < 20; i++)
            world_change(&w);
        for (unsigned long at = 1;; at++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            engine e;
            engine_init(&e, &probe.door, (size_t)64 << 20);
            e.bits_from = bits_from;
            asked a;
            make_question(&w, &a, true);
            index_source source = world_source(&w);
            engine_answer *answer = NULL;
            probe_alloc_arm(&probe, at, for_good != 0);
            uar_status status = engine_search(&answer, &e, &a.question, &w.state, 1, &source, NULL);
            bool failed = probe_alloc_has_failed(&probe);
            probe_alloc_arm(&probe, 0, false);
            assert_int_equal(status, failed ? UAR_E_NOMEM : UAR_OK);
            assert_true((status == UAR_OK) == (answer != NULL));
            engine_answer_free(answer);
            e.bits_from = SIZE_MAX;
            compare(&w, &e, &a);
            engine_trim(&e);
            assert_int_equal(probe.alive, 0);
            if (!failed) break;
        }
        world_dispose(&w);
    }
}

static void a_search_survives_the_failure_of_each_allocation(void **state) {
    (void)state;
    expect_survival(SIZE_MAX);
    expect_survival(0);
}

/* Conversations about something, so that vectors have near ones, and one document without a conversation now and then. */
static void grow_talks(world *w, size_t count) {
    float topic[WORLD_DIMS];
    uint64_t group = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % 20 == 0) world_unit(w, topic);
        if (i % 20 == 0) group = 100 + i;
        world_add(w);
        world_document *d = &w->documents[w->count - 1];
        d->item.at.group = world_below(w, 10) == 0 ? 0 : group;
        for (size_t k = 0; k < WORLD_DIMS; k++)
            d->vector[k] += 0.7f * topic[k];
        assert_true(vector_normalise(d->vector, WORLD_DIMS));
    }
}

typedef struct ranking {
    int64_t keys[10];
    double scores[10];
    size_t count;
} ranking;

static ranking rank_by(engine *e, world *w, const asked *a, size_t bits_from) {
    ranking r = { .count = 0 };
    index_source source = world_source(w);
    engine_answer *answer = NULL;
    e->bits_from = bits_from;
    assert_int_equal(engine_search(&answer, e, &a->question, &w->state, 1, &source, NULL), UAR_OK);
    engine_hit hit;
    while (r.count < 10 && engine_answer_next(answer, &hit)) {
        r.keys[r.count] = hit.key;
        r.scores[r.count++] = hit.score;
    }
    engine_answer_free(answer);
    return r;
}

static size_t count_common(const ranking *a, const ranking *b) {
    size_t common = 0;
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            common += a->keys[i] == b->keys[k];
    return common;
}

static void searches_by_bits_find_what_searches_by_codes_find(void **state) {
    (void)state;
    world w;
    engine e;
    world_init(&w, &alloc_default, 91, WORLD_DIMS);
    engine_init(&e, &alloc_default, (size_t)64 << 20);
    grow_talks(&w, 3000);
    world_pack(&w, 300);
    grow_talks(&w, 100);
    size_t wanted = 0, common = 0;
    double off = 0;
    for (int i = 0; i < 300; i++) {
        asked a;
        make_question(&w, &a, true);
        a.question.limit = 10;
        a.question.is_open = false;
        if (i % 3 == 0) a.question.term_count = 0;
        if (i % 10 == 0) world_change(&w);
        ranking codes = rank_by(&e, &w, &a, SIZE_MAX), bits = rank_by(&e, &w, &a, 0);
        wanted += codes.count;
        common += count_common(&codes, &bits);
        assert_int_equal(bits.count, codes.count);
        for (size_t k = 0; k < codes.count; k++)
            off = fabs(codes.scores[k] - bits.scores[k]) > off ? fabs(codes.scores[k] - bits.scores[k]) : off;
    }
    print_message("# of %zu hits by codes %zu are found by bits; scores are off by %.4f at most\n", wanted, common,
                  off);
    assert_true(common * 100 >= wanted * 98);
    assert_true(off < 0.03);
    engine_trim(&e);
    world_dispose(&w);
}

/* A cache that holds codes but no sheets, and less. */
static void searches_by_bits_keep_the_bound_of_the_cache(void **state) {
    (void)state;
    world w;
    world_init(&w, &alloc_default, 92, WORLD_DIMS);
    grow_talks(&w, 1500);
    world_pack(&w, 100);
    for (size_t bytes = 150000; bytes < 600000; bytes += 30000) {
        engine e;
        engine_init(&e, &alloc_default, bytes);
        for (int i = 0; i < 4; i++) {
            asked a;
            make_question(&w, &a, true);
            a.question.limit = 10;
            (void)rank_by(&e, &w, &a, 0);
            assert_true(e.count == 0 || engine_bytes(&e) <= bytes);
        }
        engine_trim(&e);
    }
    world_dispose(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_words_every_score_is_the_formulas),
        cmocka_unit_test(with_vectors_every_score_is_the_formulas),
        cmocka_unit_test(a_segment_larger_than_the_cache_is_searched_all_the_same),
        cmocka_unit_test(what_is_in_memory_is_not_read_again),
        cmocka_unit_test(the_cache_keeps_its_bound_between_searches),
        cmocka_unit_test(the_segment_used_longest_ago_goes_first),
        cmocka_unit_test(several_segments_are_one_corpus),
        cmocka_unit_test(a_search_survives_the_failure_of_each_allocation),
        cmocka_unit_test(searches_by_bits_find_what_searches_by_codes_find),
        cmocka_unit_test(searches_by_bits_keep_the_bound_of_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
