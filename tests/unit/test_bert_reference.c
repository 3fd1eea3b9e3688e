/*
 * The default model against the reference: token ids and vectors made by tests/data/bert/make_reference.py. The model is not
 * part of the repository: examples/fetch_model.sh fetches it. Tests look in the folder that UAR_BERT_MODEL names, else where
 * the script puts it; without it they skip, but where CI is "true" they fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/json.h"
#include "base/str.h"
#include "bert/bert.h"
#include "support/bert_model.h"
#include "support/test_data.h"

enum { DIMS = 384, EACH = 5 };

typedef struct reference {
    char *tokens; /* a JSON line a sentence */
    size_t tokens_len;
    char *vectors; /* half floats, of each fifth sentence */
    size_t vectors_len;
} reference;

static char *read_file(const char *name, size_t *len) {
    char path[1024];
    const char *root = getenv("UAR_SOURCE_ROOT");
    (void)snprintf(path, sizeof path, "%s/tests/data/bert/%s", root != NULL ? root : ".", name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) fail_msg("%s is missing", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *len = (size_t)ftell(f);
    assert_int_equal(fseek(f, 0, SEEK_SET), 0);
    char *bytes = malloc(*len + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *len, f), *len);
    bytes[*len] = '\0';
    (void)fclose(f);
    return bytes;
}

static int reference_open(void **state) {
    static reference r;
    r.tokens = read_file("tokens.jsonl", &r.tokens_len);
    r.vectors = read_file("vectors.bin", &r.vectors_len);
    *state = &r;
    return 0;
}

static int reference_close(void **state) {
    reference *r = *state;
    if (r == NULL) return 0;
    free(r->tokens);
    free(r->vectors);
    return 0;
}

/* The default model; ends the test where there is none. */
static uar_embedder opened(uar_bert_precision precision) {
    const char *folder = bert_model_folder();
    if (folder == NULL) TEST_DATA_MISSING("the model; run examples/fetch_model.sh");
    uar_bert_options o = { .size = UAR_BERT_OPTIONS_INIT };
    o.precision = precision;
    uar_embedder e;
    uar_error err = UAR_ERROR_INIT;
    if (uar_bert_open(&e, folder, &o, &err) != UAR_OK) fail_msg("%s: %s", folder, err.message);
    return e;
}

/* The next line as JSON, or NULL at the end. */
static cJSON *next_line(const reference *r, size_t *at) {
    if (*at >= r->tokens_len) return NULL;
    const char *end = memchr(r->tokens + *at, '\n', r->tokens_len - *at);
    assert_non_null(end);
    cJSON *line = NULL;
    uar_str text = uar_str_n(r->tokens + *at, (size_t)(end - r->tokens) - *at);
    assert_int_equal(json_read(&line, &alloc_default, text, 1 << 20, NULL), UAR_OK);
    *at += text.len + 1;
    return line;
}

/* The sentence; where the file says so, U+2400 stands for the U+0000 that JSON can't hold here. */
static uar_str sentence_of(const cJSON *line, char room[8192]) {
    uar_str text = json_text(line, "text");
    if (!json_flag(line, "nul", false)) return text;
    size_t len = 0;
    for (size_t i = 0; i < text.len && len < 8191; i++) {
        bool symbol = i + 2 < text.len && memcmp(text.ptr + i, "\xe2\x90\x80", 3) == 0;
        room[len++] = symbol ? '\0' : text.ptr[i];
        i += symbol ? 2 : 0;
    }
    return uar_str_n(room, len);
}

static bool has_tokens(const cJSON *line, const int32_t *ids, size_t count) {
    const cJSON *n = json_member(line, "ids")->child;
    for (size_t i = 0; i < count; i++, n = n->next) {
        uint64_t id;
        if (n == NULL || !json_node_u64(n, &id) || id != (uint64_t)ids[i]) return false;
    }
    return n == NULL;
}

static void test_token_ids_are_the_references_on_more_than_1000_sentences(void **state) {
    const reference *r = *state;
    uar_embedder e = opened(UAR_BERT_FP32);
    static int32_t ids[8192];
    static char room[8192];
    size_t at = 0, sentences = 0, count;
    for (cJSON *line; (line = next_line(r, &at)) != NULL; sentences++) {
        uar_str text = sentence_of(line, room);
        assert_int_equal(uar_bert_tokens(ids, 8192, &count, &e, text, NULL), UAR_OK);
        if (!has_tokens(line, ids, count))
            fail_msg("other tokens in line %zu: %.*s", sentences + 1, (int)text.len, text.ptr);
        json_free(&alloc_default, line);
    }
    assert_true(sentences >= 1000);
    uar_bert_close(&e);
}

static float half_at(const char *bytes) {
    unsigned half = (unsigned char)bytes[0] | (unsigned)(unsigned char)bytes[1] << 8;
    float x = ldexpf((float)(half & 0x3FFu), -24);
    if ((half >> 10 & 31u) != 0) x = ldexpf((float)(0x400u | (half & 0x3FFu)), (int)(half >> 10 & 31u) - 25);
    return (half & 0x8000u) != 0 ? -x : x;
}

static double cosine(const float *v, const char *halves) {
    double dot = 0, vv = 0, hh = 0;
    for (size_t i = 0; i < DIMS; i++) {
        double h = (double)half_at(halves + 2 * i);
        dot += h * (double)v[i];
        vv += (double)v[i] * (double)v[i];
        hh += h * h;
    }
    return dot / sqrt(vv * hh);
}

typedef struct closeness {
    double mean, worst;
} closeness;

/* Over each fifth sentence, whose vectors the reference has. */
static closeness compare(const reference *r, const uar_embedder *e) {
    static char room[8192];
    closeness c = { 0, 1 };
    size_t at = 0, line_number = 0, compared = 0;
    for (cJSON *line; (line = next_line(r, &at)) != NULL; line_number++) {
        if (line_number % EACH == 0) {
            float v[DIMS];
            uar_str text = sentence_of(line, room);
            assert_int_equal(uar_bert_embed(v, e, UAR_EMBED_PASSAGE, &text, 1, NULL), UAR_OK);
            assert_true((compared + 1) * DIMS * 2 <= r->vectors_len);
            double value = cosine(v, r->vectors + compared++ * DIMS * 2);
            c.mean += value;
            c.worst = value < c.worst ? value : c.worst;
        }
        json_free(&alloc_default, line);
    }
    assert_int_equal(compared * DIMS * 2, r->vectors_len);
    assert_true(compared >= 200);
    c.mean /= (double)compared;
    print_message("cosine to the reference: mean %.6f, worst %.6f\n", c.mean, c.worst);
    return c;
}

static void test_vectors_have_a_cosine_of_0_9999_to_the_references(void **state) {
    uar_embedder e = opened(UAR_BERT_FP32);
    assert_int_equal(e.dims, DIMS);
    assert_true(compare(*state, &e).worst >= 0.9999);
    uar_bert_close(&e);
}

static void test_every_level_has_a_cosine_of_0_9999_to_the_references(void **state) {
    uar_embedder e = opened(UAR_BERT_FP32);
    const reference *r = *state;
    reference part = *r;
    /* Scalar is slow: the first sentences are enough to tell a level that is wrong. */
    size_t lines = 0, at = 0;
    while (lines < 50) {
        at += (size_t)((const char *)memchr(r->tokens + at, '\n', r->tokens_len - at) - (r->tokens + at)) + 1;
        lines++;
    }
    part.tokens_len = at;
    for (size_t l = 0; kernels_level(l) != NULL; l++) {
        static char room[8192];
        bert_of(&e)->encoder.kernels = kernels_level(l);
        size_t from = 0, number = 0;
        for (cJSON *line; (line = next_line(&part, &from)) != NULL; number++) {
            float v[DIMS];
            uar_str text = sentence_of(line, room);
            if (number % EACH == 0 && text.len < 200) {
                assert_int_equal(uar_bert_embed(v, &e, UAR_EMBED_PASSAGE, &text, 1, NULL), UAR_OK);
                assert_true(cosine(v, r->vectors + number / EACH * DIMS * 2) >= 0.9999);
            }
            json_free(&alloc_default, line);
        }
    }
    uar_bert_close(&e);
}

static void test_int8_loses_little(void **state) {
    uar_embedder e = opened(UAR_BERT_INT8);
    closeness c = compare(*state, &e);
    assert_true(c.mean >= 0.997);
    assert_true(c.worst >= 0.985);
    uar_bert_close(&e);
}

static void test_what_means_the_same_is_nearer_than_what_shares_words(void **state) {
    (void)state;
    uar_embedder e = opened(UAR_BERT_INT8);
    uar_str texts[] = { STR("My sister is allergic to peanuts."), STR("Which foods can't she eat?"),
                        STR("My sister sells peanuts."), STR("The train to Bergen leaves at nine.") };
    float v[4][DIMS];
    double near[4] = { 0 };
    assert_int_equal(uar_bert_embed(v[0], &e, UAR_EMBED_PASSAGE, texts, 4, NULL), UAR_OK);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < DIMS; j++)
            near[i] += (double)v[1][j] * (double)v[i][j];
    assert_true(near[0] > near[2] && near[2] > near[3]);
    uar_bert_close(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_ids_are_the_references_on_more_than_1000_sentences),
        cmocka_unit_test(test_vectors_have_a_cosine_of_0_9999_to_the_references),
        cmocka_unit_test(test_every_level_has_a_cosine_of_0_9999_to_the_references),
        cmocka_unit_test(test_int8_loses_little),
        cmocka_unit_test(test_what_means_the_same_is_nearer_than_what_shares_words),
    };
    return cmocka_run_group_tests(tests, reference_open, reference_close);
}
