/* A tiny model through the public calls of uar/bert.h, against the same model computed plainly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/completion.h"
#include "base/str.h"
#include "bert/bert.h"
#include "support/probe_alloc.h"
#include "support/tiny_bert.h"

static const char *const texts[] = { "the cat sit, sit!", "unbelievable bread", "", "猫 東", "cafe", "zebra the bread.",
                                     "cats the cats sitting a abc unbelievable",
                                     /* more rows than attention takes at a time */
                                     "a b c a b c the cat sit. a b c a b c the cat sit. a b c a b c the cat sit. a b c "
                                     "a b c the cat sit. a b c a b c the cat sit. a b c a b c the cat sit. a b c a b c "
                                     "the cat sit. a b c bread" };
#define TEXTS (sizeof texts / sizeof texts[0])

static uar_embedder opened(const tiny_bert *t, const uar_bert_options *options) {
    uar_embedder e;
    uar_error err = UAR_ERROR_INIT;
    if (uar_bert_open_memory(&e, &t->files, options, &err) != UAR_OK) fail_msg("%s", err.message);
    return e;
}

static void embed(float *out, const uar_embedder *e, uar_embed_purpose purpose, const char *text) {
    uar_str s = uar_str_of(text);
    uar_error err = UAR_ERROR_INIT;
    if (uar_bert_embed(out, e, purpose, &s, 1, &err) != UAR_OK) fail_msg("%s", err.message);
}

static double cosine(const float *a, const double *b) {
    double dot = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < TINY_HIDDEN; i++) {
        dot += (double)a[i] * b[i];
        aa += (double)a[i] * (double)a[i];
        bb += b[i] * b[i];
    }
    return dot / sqrt(aa * bb);
}

/* The tokens of a text between its marks; how many. */
static size_t marked(int32_t ids[TINY_POSITIONS], const uar_embedder *e, const char *text) {
    size_t count = 0;
    assert_int_equal(uar_bert_tokens(ids + 1, TINY_POSITIONS - 2, &count, e, uar_str_of(text), NULL), UAR_OK);
    assert_true(count <= TINY_POSITIONS - 2);
    ids[0] = 2;
    ids[count + 1] = 3;
    return count + 2;
}

static void test_vectors_are_those_of_the_plain_model_at_every_level(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_embedder e = opened(&t, NULL);
    for (size_t l = 0; kernels_level(l) != NULL; l++)
        for (size_t i = 0; i < TEXTS; i++) {
            bert_of(&e)->encoder.kernels = kernels_level(l);
            float v[TINY_HIDDEN];
            double wanted[TINY_HIDDEN];
            int32_t ids[TINY_POSITIONS];
            embed(v, &e, UAR_EMBED_PASSAGE, texts[i]);
            tiny_bert_vector(wanted, &t, ids, marked(ids, &e, texts[i]));
            for (size_t j = 0; j < TINY_HIDDEN; j++)
                assert_true(fabs((double)v[j] - wanted[j]) < 1e-5);
        }
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

static void test_int8_stays_near_the_plain_model_at_every_level(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.precision = UAR_BERT_INT8;
    uar_embedder e = opened(&t, &o);
    for (size_t i = 0; i < TEXTS; i++) {
        float first[TINY_HIDDEN], v[TINY_HIDDEN];
        double wanted[TINY_HIDDEN];
        int32_t ids[TINY_POSITIONS];
        tiny_bert_vector(wanted, &t, ids, marked(ids, &e, texts[i]));
        for (size_t l = 0; kernels_level(l) != NULL; l++) {
            bert_of(&e)->encoder.kernels = kernels_level(l);
            embed(v, &e, UAR_EMBED_PASSAGE, texts[i]);
            if (l == 0) memcpy(first, v, sizeof first);
            assert_true(cosine(v, wanted) > 0.99);
        }
    }
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

static void test_a_vector_does_not_depend_on_what_it_is_batched_with(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    enum { MANY = 300 };
    uar_str many[MANY];
    for (size_t i = 0; i < MANY; i++)
        many[i] = uar_str_of(texts[i * 5 % TEXTS]);
    for (int precision = UAR_BERT_FP32; precision <= UAR_BERT_INT8; precision++) {
        uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
        o.precision = (uar_bert_precision)precision;
        uar_embedder e = opened(&t, &o);
        float *all = malloc(MANY * TINY_HIDDEN * sizeof *all), one[TINY_HIDDEN];
        assert_non_null(all);
        assert_int_equal(uar_bert_embed(all, &e, UAR_EMBED_PASSAGE, many, MANY, NULL), UAR_OK);
        for (size_t i = 0; i < MANY; i++) {
            embed(one, &e, UAR_EMBED_PASSAGE, many[i].ptr);
            assert_memory_equal(one, all + i * TINY_HIDDEN, sizeof one);
        }
        free(all);
        uar_bert_close(&e);
    }
    tiny_bert_free(&t);
}

/* ---- Pooling ---- */

static void check_pooling(const char *file, int which) {
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    t.files.pooling = uar_str_of(file);
    t.files.modules = STR("[{\"type\":\"sentence_transformers.models.Transformer\"},"
                          "{\"type\":\"sentence_transformers.models.Pooling\"}]");
    uar_embedder e = opened(&t, NULL);
    float v[TINY_HIDDEN];
    int32_t ids[TINY_POSITIONS];
    double rows[TINY_POSITIONS * TINY_HIDDEN];
    size_t count = marked(ids, &e, texts[0]);
    tiny_bert_rows(rows, &t, ids, count);
    embed(v, &e, UAR_EMBED_PASSAGE, texts[0]);
    for (size_t j = 0; j < TINY_HIDDEN; j++) {
        double sum = 0, most = rows[j];
        for (size_t i = 0; i < count; i++) {
            sum += rows[i * TINY_HIDDEN + j];
            most = fmax(most, rows[i * TINY_HIDDEN + j]);
        }
        double wanted = which == 0   ? sum / (double)count
                        : which == 1 ? rows[j]
                        : which == 2 ? most
                                     : sum / sqrt((double)count);
        assert_true(fabs((double)v[j] - wanted) < 1e-4);
    }
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

static void test_each_pooling_is_honoured_and_no_normalising_where_no_module_asks_for_it(void **state) {
    (void)state;
    check_pooling("{\"pooling_mode_mean_tokens\":true}", 0);
    check_pooling("{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":false}", 1);
    check_pooling("{\"pooling_mode_max_tokens\":true}", 2);
    check_pooling("{\"pooling_mode_mean_sqrt_len_tokens\":true}", 3);
}

/* ---- Number types and names ---- */

static void check_same_as_plain(const tiny_options *options) {
    tiny_bert t;
    tiny_bert_make(&t, options);
    uar_embedder e = opened(&t, NULL);
    float v[TINY_HIDDEN];
    double wanted[TINY_HIDDEN];
    int32_t ids[TINY_POSITIONS];
    embed(v, &e, UAR_EMBED_PASSAGE, texts[0]);
    tiny_bert_vector(wanted, &t, ids, marked(ids, &e, texts[0]));
    assert_true(cosine(v, wanted) > 0.999999);
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

static void test_half_and_brain_floats_are_read_as_what_they_are(void **state) {
    (void)state;
    check_same_as_plain(&(tiny_options){ .type = TINY_F16 });
    check_same_as_plain(&(tiny_options){ .type = TINY_BF16 });
}

static void test_names_with_a_prefix_and_old_names_of_norms_give_the_same_model(void **state) {
    (void)state;
    float first[TINY_HIDDEN], v[TINY_HIDDEN];
    char id[128] = "";
    const tiny_options all[] = { { .type = TINY_F32 }, { .prefix = "bert." }, { .old_names = true } };
    for (size_t i = 0; i < 3; i++) {
        tiny_bert t;
        tiny_bert_make(&t, &all[i]);
        uar_embedder e = opened(&t, NULL);
        embed(i == 0 ? first : v, &e, UAR_EMBED_PASSAGE, texts[0]);
        if (i == 0) strncpy(id, e.id, sizeof id - 1);
        assert_string_equal(e.id, id);
        if (i > 0) assert_memory_equal(v, first, sizeof first);
        uar_bert_close(&e);
        tiny_bert_free(&t);
    }
}

/* ---- Windows and prefixes ---- */

/* Sum of the vectors of windows of 6 tokens each, made long 1. */
static void window_mean(double out[TINY_HIDDEN], const tiny_bert *t, const int32_t *tokens, const size_t *starts,
                        size_t count) {
    memset(out, 0, TINY_HIDDEN * sizeof *out);
    for (size_t w = 0; w < count; w++) {
        double v[TINY_HIDDEN];
        int32_t ids[8] = { 2, 0, 0, 0, 0, 0, 0, 3 };
        memcpy(ids + 1, tokens + starts[w], 6 * sizeof *ids);
        tiny_bert_vector(v, t, ids, 8);
        for (size_t j = 0; j < TINY_HIDDEN; j++)
            out[j] += v[j];
    }
}

static void test_a_long_text_is_the_mean_of_windows_that_overlap(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.max_window = 8;
    o.overlap = 2;
    uar_embedder e = opened(&t, &o);
    const char *text = "the cat sit bread , . ! a blue red green the cat"; /* 13 tokens: windows at 0, 3, 7 */
    int32_t tokens[16];
    size_t count = 0;
    assert_int_equal(uar_bert_tokens(tokens, 16, &count, &e, uar_str_of(text), NULL), UAR_OK);
    assert_int_equal(count, 13);
    float v[TINY_HIDDEN];
    double wanted[TINY_HIDDEN];
    embed(v, &e, UAR_EMBED_PASSAGE, text);
    window_mean(wanted, &t, tokens, (const size_t[]){ 0, 3, 7 }, 3);
    assert_true(cosine(v, wanted) > 0.999999);
    double length = 0;
    for (size_t j = 0; j < TINY_HIDDEN; j++)
        length += (double)v[j] * (double)v[j];
    assert_true(fabs(length - 1) < 1e-5);
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

static void test_a_text_of_thousands_of_tokens_works(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_embedder e = opened(&t, NULL);
    enum { LEN = 30000 };
    char *text = malloc(LEN + 1);
    assert_non_null(text);
    for (size_t i = 0; i < LEN; i++)
        text[i] = "the cat, "[i % 9];
    text[LEN] = '\0';
    float v[TINY_HIDDEN], again[TINY_HIDDEN];
    embed(v, &e, UAR_EMBED_PASSAGE, text);
    embed(again, &e, UAR_EMBED_PASSAGE, text);
    assert_memory_equal(v, again, sizeof v);
    free(text);
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

static void check_prefixes(const tiny_bert *t, const uar_bert_options *o) {
    uar_embedder e = opened(t, o), plain = opened(t, NULL);
    float asked[TINY_HIDDEN], stored[TINY_HIDDEN], wanted[TINY_HIDDEN], bare[TINY_HIDDEN];
    embed(asked, &e, UAR_EMBED_QUERY, "the cat");
    embed(stored, &e, UAR_EMBED_PASSAGE, "the cat");
    uar_bert_close(&e);
    tiny_bert none = *t;
    none.files.prompts = uar_str_of(NULL);
    uar_bert_close(&plain);
    plain = opened(&none, NULL);
    embed(wanted, &plain, UAR_EMBED_QUERY, "query: the cat");
    embed(bare, &plain, UAR_EMBED_PASSAGE, "blue the cat");
    uar_bert_close(&plain);
    assert_memory_equal(asked, wanted, sizeof asked);
    assert_memory_equal(stored, bare, sizeof stored);
}

static void test_prefixes_come_from_the_model_or_from_the_options(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.query_prefix = "query: ";
    o.passage_prefix = "blue ";
    check_prefixes(&t, &o);
    t.files.prompts = STR("{\"prompts\":{\"query\":\"query: \",\"document\":\"blue \"}}");
    check_prefixes(&t, NULL);
    tiny_bert_free(&t);
}

/* ---- The id ---- */

static void test_the_id_names_model_digest_and_precision_and_follows_what_shapes_a_vector(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_bert_options o[5];
    for (size_t i = 0; i < 5; i++)
        uar_bert_options_init(&o[i]);
    o[1].precision = UAR_BERT_INT8;
    o[2].max_window = 8;
    o[3].query_prefix = "query: ";
    o[4].name = "tiny";
    char ids[5][128];
    for (size_t i = 0; i < 5; i++) {
        uar_embedder e = opened(&t, &o[i]);
        assert_int_equal(e.dims, TINY_HIDDEN);
        assert_true(e.repeat_threshold == 0.92);
        strncpy(ids[i], e.id, sizeof ids[i] - 1);
        ids[i][sizeof ids[i] - 1] = '\0';
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
        uar_bert_close(&e);
    }
    assert_memory_equal(ids[0], "bert:bert:", 10);
    assert_memory_equal(ids[4], "bert:tiny:", 10);
    assert_string_equal(strrchr(ids[0], ':'), ":fp32");
    assert_string_equal(strrchr(ids[1], ':'), ":int8");
    tiny_options other = { .type = TINY_BF16 };
    tiny_bert changed;
    tiny_bert_make(&changed, &other);
    uar_embedder e = opened(&changed, NULL);
    assert_string_not_equal(e.id, ids[0]);
    uar_bert_close(&e);
    tiny_bert_free(&changed);
    tiny_bert_free(&t);
}

/* ---- Faults of a call ---- */

static void test_text_that_is_no_utf8_is_refused_and_nothing_is_written(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_embedder e = opened(&t, NULL);
    float v[2 * TINY_HIDDEN], before[2 * TINY_HIDDEN];
    for (size_t i = 0; i < 2 * TINY_HIDDEN; i++)
        before[i] = v[i] = (float)i;
    uar_str bad[] = { STR("the cat"), STR("bro\xffken") };
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_bert_embed(v, &e, UAR_EMBED_PASSAGE, bad, 2, &err), UAR_E_UTF8);
    assert_int_equal(err.code, UAR_E_UTF8);
    assert_memory_equal(v, before, sizeof v);
    size_t count = 77;
    assert_int_equal(uar_bert_tokens(NULL, 0, &count, &e, bad[1], &err), UAR_E_UTF8);
    assert_int_equal(count, 77);
    uar_bert_close(&e);
    tiny_bert_free(&t);
}

static void test_an_embedder_of_somebody_else_is_refused(void **state) {
    (void)state;
    uar_embedder none = { .struct_size = UAR_EMBEDDER_INIT };
    float v[4];
    size_t count;
    uar_str s = STR("a");
    assert_int_equal(uar_bert_embed(v, &none, UAR_EMBED_QUERY, &s, 1, NULL), UAR_E_INVALID);
    assert_int_equal(uar_bert_tokens(NULL, 0, &count, &none, s, NULL), UAR_E_INVALID);
    uar_bert_close(&none);
    uar_bert_close(NULL);
}

static void check_option(const tiny_bert *t, const uar_bert_options *o) {
    uar_embedder e;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_bert_open_memory(&e, &t->files, o, &err), UAR_E_INVALID);
    assert_int_equal(err.code, UAR_E_INVALID);
}

static void test_an_option_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    check_option(&t, &(uar_bert_options){ .size = sizeof(uar_bert_options), .precision = (uar_bert_precision)7 });
    check_option(&t, &(uar_bert_options){ .size = sizeof(uar_bert_options), .threads = 65 });
    check_option(&t, &(uar_bert_options){ .size = sizeof(uar_bert_options), .max_window = 2 });
    check_option(&t, &(uar_bert_options){ .size = sizeof(uar_bert_options), .max_window = 8, .overlap = 6 });
    check_option(&t, &(uar_bert_options){ .size = sizeof(uar_bert_options), .name = "has space" });
    check_option(&t, &(uar_bert_options){ .size = sizeof(uar_bert_options), .name = "" });
    check_option(
        &t, &(uar_bert_options){ .size = sizeof(uar_bert_options),
                                 .query_prefix =
                                     "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a "
                                     "a a a a a a a a a a" });
    uar_executor idle = { .struct_size = UAR_EXECUTOR_INIT };
    check_option(&t, &(uar_bert_options){ .size = sizeof(uar_bert_options), .executor = &idle });
    uar_embedder e;
    uar_bert_options unset = { .size = 0 };
    assert_int_equal(uar_bert_open_memory(&e, &t.files, &unset, NULL), UAR_E_STRUCT);
    tiny_bert_free(&t);
}

/* ---- The door ---- */

typedef struct answer {
    uar_status status;
    size_t count, dims;
    float first[TINY_HIDDEN];
    int ended;
} answer;

static void take(void *arg, const completion_result *result) {
    answer *a = arg;
    a->ended++;
    a->status = result->status;
    a->count = result->vector_count;
    a->dims = result->vector_dims;
    if (result->status == UAR_OK && result->vector_count > 0) memcpy(a->first, result->vectors, sizeof a->first);
}

static answer through_the_door(const uar_embedder *e, const uar_str *asked, size_t count) {
    answer a = { .ended = 0 };
    uar_completion *done = completion_new(&alloc_default, COMPLETION_VECTORS, take, &a);
    assert_non_null(done);
    completion_lend(done);
    e->embed(e->ctx, UAR_EMBED_PASSAGE, asked, count, done);
    completion_return(done);
    completion_release(done);
    return a;
}

static void test_the_door_finishes_with_a_vector_a_text_inside_the_call(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    uar_embedder e = opened(&t, NULL);
    uar_str asked[] = { STR("the cat"), STR("") };
    answer a = through_the_door(&e, asked, 2);
    float v[TINY_HIDDEN];
    embed(v, &e, UAR_EMBED_PASSAGE, "the cat");
    assert_int_equal(a.ended, 1);
    assert_int_equal(a.status, UAR_OK);
    assert_int_equal(a.count, 2);
    assert_int_equal(a.dims, TINY_HIDDEN);
    assert_memory_equal(a.first, v, sizeof v);
    uar_str bad = STR("\xc0");
    assert_int_equal(through_the_door(&e, &bad, 1).status, UAR_E_UTF8);
    e.destroy(e.ctx);
    tiny_bert_free(&t);
}

/* ---- Memory ---- */

static void sweep(const tiny_bert *t, bool for_good, uar_bert_precision precision) {
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.allocator = &probe.door;
    o.precision = precision;
    o.max_window = 8;
    o.query_prefix = "query: ";
    for (unsigned long at = 1;; at++) {
        uar_embedder e = { .dims = 12345 };
        uar_error err = UAR_ERROR_INIT;
        probe_alloc_arm(&probe, at, for_good);
        uar_status status = uar_bert_open_memory(&e, &t->files, &o, &err);
        if (status != UAR_OK) {
            assert_int_equal(status, UAR_E_NOMEM);
            assert_int_equal(err.code, UAR_E_NOMEM);
            assert_int_equal(e.dims, 12345);
            assert_int_equal(probe.alive, 0);
            continue;
        }
        assert_false(probe_alloc_has_failed(&probe));
        uar_bert_close(&e);
        assert_int_equal(probe.alive, 0);
        break;
    }
}

static void test_opening_survives_every_lack_of_memory(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    t.files.pooling = STR("{\"pooling_mode_cls_token\":true}");
    t.files.sentence = STR("{\"max_seq_length\":16}");
    for (int for_good = 0; for_good < 2; for_good++) {
        sweep(&t, for_good != 0, UAR_BERT_FP32);
        sweep(&t, for_good != 0, UAR_BERT_INT8);
    }
    tiny_bert_free(&t);
}

static void test_embedding_survives_every_lack_of_memory_and_leaves_the_output_alone(void **state) {
    (void)state;
    tiny_bert t;
    tiny_bert_make(&t, NULL);
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.allocator = &probe.door;
    o.max_window = 8;
    uar_embedder e = opened(&t, &o);
    long alive = probe.alive;
    uar_str asked[] = { uar_str_of(texts[0]), STR("the cat the cat the cat the cat the cat the cat") };
    for (int for_good = 0; for_good < 2; for_good++)
        for (unsigned long at = 1;; at++) {
            float v[2 * TINY_HIDDEN] = { 42 };
            size_t count = 42;
            probe_alloc_arm(&probe, at, for_good != 0);
            uar_status status = uar_bert_embed(v, &e, UAR_EMBED_QUERY, asked, 2, NULL);
            if (status == UAR_OK) status = uar_bert_tokens(NULL, 0, &count, &e, asked[1], NULL);
            assert_int_equal(probe.alive, alive);
            if (!probe_alloc_has_failed(&probe)) {
                assert_int_equal(status, UAR_OK);
                break;
            }
            assert_int_equal(status, UAR_E_NOMEM);
            assert_int_equal(count, 42);
        }
    probe_alloc_arm(&probe, 1, false);
    assert_int_equal(through_the_door(&e, asked, 2).status, UAR_E_NOMEM);
    probe_alloc_arm(&probe, 0, false);
    uar_bert_close(&e);
    assert_int_equal(probe.alive, 0);
    tiny_bert_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_are_those_of_the_plain_model_at_every_level),
        cmocka_unit_test(test_int8_stays_near_the_plain_model_at_every_level),
        cmocka_unit_test(test_a_vector_does_not_depend_on_what_it_is_batched_with),
        cmocka_unit_test(test_each_pooling_is_honoured_and_no_normalising_where_no_module_asks_for_it),
        cmocka_unit_test(test_half_and_brain_floats_are_read_as_what_they_are),
        cmocka_unit_test(test_names_with_a_prefix_and_old_names_of_norms_give_the_same_model),
        cmocka_unit_test(test_a_long_text_is_the_mean_of_windows_that_overlap),
        cmocka_unit_test(test_a_text_of_thousands_of_tokens_works),
        cmocka_unit_test(test_prefixes_come_from_the_model_or_from_the_options),
        cmocka_unit_test(test_the_id_names_model_digest_and_precision_and_follows_what_shapes_a_vector),
        cmocka_unit_test(test_text_that_is_no_utf8_is_refused_and_nothing_is_written),
        cmocka_unit_test(test_an_embedder_of_somebody_else_is_refused),
        cmocka_unit_test(test_an_option_that_makes_no_sense_is_refused),
        cmocka_unit_test(test_the_door_finishes_with_a_vector_a_text_inside_the_call),
        cmocka_unit_test(test_opening_survives_every_lack_of_memory),
        cmocka_unit_test(test_embedding_survives_every_lack_of_memory_and_leaves_the_output_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
