/*
 * When two texts are one fact. tests/data/near_pairs.jsonl was written before the guard and is its gate: no change may pass
 * for a repeat, whatever an encoder thinks of the two texts.
 */
#include "test_memory_fixture.h"

#include "base/alloc.h"
#include "base/json.h"
#include "memory/near.h"
#include "support/probe_alloc.h"

typedef struct pair {
    uar_str a, b;
    const char *label, *lang;
} pair;

typedef struct tally_of_pairs {
    unsigned repeats, merged, changes, unrelated, wrong;
    unsigned unlike_both_ways;
} tally_of_pairs;

typedef void (*pair_fn)(void *ctx, const pair *p);

static const char *text_of(const cJSON *line, const char *key) {
    const cJSON *node = json_member(line, key);
    assert_non_null(node);
    assert_true(cJSON_IsString(node));
    return node->valuestring;
}

/* The set is part of the checkout: it's never skipped. */
static unsigned each_pair(pair_fn each, void *ctx) {
    const char *root = getenv("UAR_SOURCE_ROOT");
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s/tests/data/near_pairs.jsonl", root != NULL ? root : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    unsigned count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        cJSON *tree = NULL;
        assert_int_equal(json_read(&tree, &alloc_default, uar_str_n(line, strcspn(line, "\n")), sizeof line, NULL),
                         UAR_OK);
        pair p = { uar_str_of(text_of(tree, "a")), uar_str_of(text_of(tree, "b")), text_of(tree, "label"),
                   text_of(tree, "lang") };
        each(ctx, &p);
        json_free(&alloc_default, tree);
        count++;
    }
    fclose(file);
    return count;
}

static near_verdict verdict_of(const char *a, const char *b) {
    near_verdict v = NEAR_DIFFERENT;
    assert_int_equal(near_compare(&v, &alloc_default, uar_str_of(a), uar_str_of(b)), UAR_OK);
    return v;
}

static void judge(void *ctx, const pair *p) {
    tally_of_pairs *t = ctx;
    near_verdict there = NEAR_DIFFERENT, back = NEAR_DIFFERENT;
    assert_int_equal(near_compare(&there, &alloc_default, p->a, p->b), UAR_OK);
    assert_int_equal(near_compare(&back, &alloc_default, p->b, p->a), UAR_OK);
    bool merged = there != NEAR_DIFFERENT;
    t->unlike_both_ways += merged != (back != NEAR_DIFFERENT);
    bool is_repeat = strcmp(p->label, "repeat") == 0;
    t->repeats += is_repeat;
    t->merged += is_repeat && merged;
    t->changes += strcmp(p->label, "change") == 0;
    t->unrelated += strcmp(p->label, "unrelated") == 0;
    if (is_repeat && !merged) print_message("# kept apart: %s | %s\n", p->a.ptr, p->b.ptr);
    if (is_repeat || !merged) return;
    t->wrong++;
    print_message("# taken for a repeat: %s | %s\n", p->a.ptr, p->b.ptr);
}

static void test_M3_no_change_of_the_labelled_set_is_taken_for_a_repeat(void **state) {
    (void)state;
    tally_of_pairs t = { 0 };
    assert_true(each_pair(judge, &t) >= 240);
    print_message("# %u of %u repeats merged, %u of %u changes and unrelated\n", t.merged, t.repeats, t.wrong,
                  t.changes + t.unrelated);
    assert_true(t.repeats >= 80 && t.changes >= 100 && t.unrelated >= 20);
    assert_int_equal(t.wrong, 0);
    assert_int_equal(t.unlike_both_ways, 0);
    assert_true(t.merged * 10 >= t.repeats * 8);
}

/* One character after the other is replaced by another digit or letter: that is never the same fact. */
static void spoil(void *ctx, const pair *p) {
    unsigned long *count = ctx;
    char text[1024];
    assert_true(p->a.len < sizeof text);
    for (size_t i = 0; i < p->a.len; i++) {
        char c = p->a.ptr[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) continue;
        memcpy(text, p->a.ptr, p->a.len + 1);
        text[i] = 'q';
        if (is_digit) text[i] = c == '9' ? '0' : (char)(c + 1);
        if (c == text[i]) continue;
        if (verdict_of(p->a.ptr, text) != NEAR_DIFFERENT) fail_msg("%s | %s", p->a.ptr, text);
        ++*count;
    }
}

static void test_M3_a_text_with_one_other_letter_or_digit_is_another_fact(void **state) {
    (void)state;
    unsigned long count = 0;
    (void)each_pair(spoil, &count);
    assert_true(count > 2000);
}

/* A word that no list knows makes another fact, wherever it is put. */
static void add_stranger(void *ctx, const pair *p) {
    unsigned long *count = ctx;
    char text[1024];
    for (size_t i = 0; i <= p->a.len; i++) {
        if (i != 0 && i != p->a.len && p->a.ptr[i] != ' ') continue;
        int head = (int)i;
        snprintf(text, sizeof text, "%.*s xyzzy %s", head, p->a.ptr, p->a.ptr + i);
        if (verdict_of(p->a.ptr, text) != NEAR_DIFFERENT) fail_msg("%s | %s", p->a.ptr, text);
        ++*count;
    }
}

static void test_M3_an_unknown_word_anywhere_makes_another_fact(void **state) {
    (void)state;
    unsigned long count = 0;
    (void)each_pair(add_stranger, &count);
    assert_true(count > 1000);
}

static void a_text_is_the_same_fact_as_itself(void *ctx, const pair *p) {
    (void)ctx;
    near_verdict v = NEAR_DIFFERENT;
    assert_int_equal(near_compare(&v, &alloc_default, p->b, p->b), UAR_OK);
    assert_int_equal(v, NEAR_SAME);
}

static void every_text_of_the_set_repeats_itself(void **state) {
    (void)state;
    (void)each_pair(a_text_is_the_same_fact_as_itself, NULL);
}

static void traps_for_each_rule_are_kept_apart(void **state) {
    (void)state;
    static const char *const apart[][2] = {
        { "Team A won the cup", "Team won the cup" },
        { "I take vitamin A", "I take vitamin" },
        { "I do not really like it", "I do not like it" },
        { "It is not very hot", "It is not hot" },
        { "He is not actually ill", "He is not ill" },
        { "She likes tea and hates milk", "She likes milk and hates tea" },
        { "He drinks green tea and coffee", "He drinks green coffee and tea" },
        { "Bob eats fish and rice", "Rice eats fish and Bob" },
        { "I left because I was ill", "I left" },
        { "I like it because Eve likes it", "I like it" },
        { "I like tea because it has 3 flavours", "I like tea" },
        { "I don't go because I am ill", "I don't go" },
        { "I like tea because it is warm but only in winter", "I like tea" },
        { "Pay 1,5 euros", "Pay 15 euros" },
        { "Pay 1.5 euros", "Pay 1,5 euros" },
        { "Call at 5-30", "Call at 530" },
        { "It is 10% off", "It is 10 off" },
        { "It costs 10 \xE2\x82\xAC", "It costs 10 $" },
        { "On Monday the team plays on Tuesday", "On Tuesday the team plays on Monday" },
        { "Remember", "Remember that" },
        { "The code is b2", "The code is b3" },
        { "\xD9\xA3\xD9\xAB\xD9\xA5 kg", "\xD9\xA3\xD9\xA5 kg" },
        { "xyzzy", "" },
        { "", "" },
        { "!!!", "..." },
    };
    for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++) {
        if (verdict_of(apart[i][0], apart[i][1]) != NEAR_DIFFERENT) fail_msg("%s | %s", apart[i][0], apart[i][1]);
        assert_int_equal(verdict_of(apart[i][1], apart[i][0]), NEAR_DIFFERENT);
    }
}

static void the_fuller_text_is_named(void **state) {
    (void)state;
    assert_int_equal(verdict_of("I like tea", "I like tea because it is warm"), NEAR_SECOND_FULLER);
    assert_int_equal(verdict_of("I like tea because it is warm", "I like tea"), NEAR_FIRST_FULLER);
    assert_int_equal(verdict_of("I really like tea", "I like tea"), NEAR_FIRST_FULLER);
    assert_int_equal(verdict_of("I like tea.", "I like tea!"), NEAR_SAME);
}

/* Digits of every script count; so does a long text, which says more than one thing. */
static void a_text_of_many_words_is_no_near_repeat(void **state) {
    (void)state;
    char text[4096] = "";
    for (int i = 0; i < 450; i++)
        strcat(text, "word ");
    assert_int_equal(verdict_of(text, text), NEAR_DIFFERENT);
}

static void comparing_survives_the_failure_of_each_allocation(void **state) {
    (void)state;
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long at = 1;; at++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            probe_alloc_arm(&probe, at, for_good != 0);
            near_verdict v = NEAR_SECOND_FULLER;
            uar_status status =
                near_compare(&v, &probe.door, STR("I don't eat three eggs"), STR("I do not eat 3 eggs"));
            assert_int_equal(probe.alive, 0);
            if (!probe_alloc_has_failed(&probe)) {
                assert_int_equal(v, NEAR_SAME);
                break;
            }
            if (status != UAR_OK) {
                assert_int_equal(status, UAR_E_NOMEM);
                assert_int_equal(v, NEAR_SECOND_FULLER);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M3_no_change_of_the_labelled_set_is_taken_for_a_repeat),
        cmocka_unit_test(test_M3_a_text_with_one_other_letter_or_digit_is_another_fact),
        cmocka_unit_test(test_M3_an_unknown_word_anywhere_makes_another_fact),
        cmocka_unit_test(every_text_of_the_set_repeats_itself),
        cmocka_unit_test(traps_for_each_rule_are_kept_apart),
        cmocka_unit_test(the_fuller_text_is_named),
        cmocka_unit_test(a_text_of_many_words_is_no_near_repeat),
        cmocka_unit_test(comparing_survives_the_failure_of_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
