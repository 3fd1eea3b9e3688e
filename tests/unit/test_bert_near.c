/*
 * The labelled pairs under the default sentence encoder: what it finds near enough to be a repeat, and what the guard makes of
 * it. Without the model folder this skips.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uar/bert.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/str.h"
#include "memory/near.h"
#include "support/bert_model.h"
#include "support/test_data.h"

enum { DIMS_MAX = 1024 };

typedef struct tally_of_pairs {
    unsigned repeats, near_repeats, merged, changes, near_changes, wrong;
} tally_of_pairs;

static double cosine(const uar_embedder *e, const uar_str texts[2]) {
    static float v[2 * DIMS_MAX];
    assert_true(e->dims <= DIMS_MAX);
    assert_int_equal(uar_bert_embed(v, e, UAR_EMBED_PASSAGE, texts, 2, NULL), UAR_OK);
    double dot = 0;
    for (size_t i = 0; i < e->dims; i++)
        dot += (double)v[i] * (double)v[e->dims + i];
    return dot;
}

static void judge(tally_of_pairs *t, const uar_embedder *e, const cJSON *line) {
    uar_str texts[2] = { uar_str_of(json_member(line, "a")->valuestring),
                         uar_str_of(json_member(line, "b")->valuestring) };
    bool is_repeat = strcmp(json_member(line, "label")->valuestring, "repeat") == 0;
    bool is_near = cosine(e, texts) >= e->repeat_threshold;
    near_verdict verdict = NEAR_DIFFERENT;
    assert_int_equal(near_compare(&verdict, &alloc_default, texts[0], texts[1]), UAR_OK);
    bool merged = is_near && verdict != NEAR_DIFFERENT;
    if (is_repeat) {
        t->repeats++;
        t->near_repeats += is_near;
        t->merged += merged;
    } else {
        t->changes++;
        t->near_changes += is_near;
        t->wrong += merged;
    }
}

static void test_M3_of_what_the_encoder_finds_near_repeats_are_merged_and_changes_never(void **state) {
    (void)state;
    uar_embedder e;
    const char *folder = bert_model_folder();
    if (folder == NULL) BERT_MODEL_MISSING();
    assert_int_equal(uar_bert_open(&e, folder, NULL, NULL), UAR_OK);
    assert_true(e.repeat_threshold > 0);
    const char *root = getenv("UAR_SOURCE_ROOT");
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s/tests/data/near_pairs.jsonl", root != NULL ? root : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    tally_of_pairs t = { 0 };
    while (fgets(line, sizeof line, file) != NULL) {
        cJSON *tree = NULL;
        assert_int_equal(json_read(&tree, &alloc_default, uar_str_n(line, strcspn(line, "\n")), sizeof line, NULL),
                         UAR_OK);
        judge(&t, &e, tree);
        json_free(&alloc_default, tree);
    }
    fclose(file);
    print_message("# repeats: %u, near %u, merged %u; others: %u, near %u, merged %u\n", t.repeats, t.near_repeats,
                  t.merged, t.changes, t.near_changes, t.wrong);
    uar_bert_close(&e);
    assert_int_equal(t.wrong, 0);
    assert_true(t.near_repeats >= 20);
    assert_true(t.merged * 10 >= t.near_repeats * 8);
    /* The encoder alone would have merged some of them: without the guard this test has nothing to say. */
    assert_true(t.near_changes != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M3_of_what_the_encoder_finds_near_repeats_are_merged_and_changes_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
