/* Terms, scores and the embedder `lexical`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uar/memory.h>

#include "base/completion.h"
#include "base/str.h"
#include "index/score.h"
#include "index/terms.h"
#include "support/probe_alloc.h"

static const term_key key = { 1, 2 };

/* The vectors of the algorithm's authors: key 00 01 … 0f, input 00 01 … (n - 1). */
static void term_numbers_are_those_of_SipHash(void **state) {
    (void)state;
    term_key reference = { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u };
    char input[16];
    for (int i = 0; i < 16; i++)
        input[i] = (char)i;
    assert_true(term_hash(reference, uar_str_n(input, 0)) == 0x726fdb47dd0e0e31u);
    assert_true(term_hash(reference, uar_str_n(input, 1)) == 0x74f839c593dc67fdu);
    assert_true(term_hash(reference, uar_str_n(input, 7)) == 0xab0200f58b01d137u);
    assert_true(term_hash(reference, uar_str_n(input, 8)) == 0x93f5f5799a932462u);
    assert_true(term_hash(reference, uar_str_n(input, 15)) == 0xa129ca6149be45e5u);
}

static void terms_of_a_passage_are_sorted_counted_and_packed(void **state) {
    (void)state;
    term_list list;
    term_list_init(&list, &alloc_default);
    assert_int_equal(term_list_passage(&list, key, STR("dog cat dog the POL-358 dogs")), UAR_OK);
    assert_int_equal(list.count, 7); /* dog cat the pol 358 pol358, and how it opens */
    assert_int_equal(list.length, 7);
    uint32_t dogs = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (i > 0) assert_true(list.terms[i - 1].id < list.terms[i].id);
        if (list.terms[i].id == term_hash(key, STR("dog"))) dogs = list.terms[i].count;
    }
    assert_int_equal(dogs, 3);
    uint8_t packed[7 * TERM_PACKED];
    term_list_pack(&list, packed);
    for (size_t i = 0; i < list.count; i++) {
        term t = term_unpack(packed + i * TERM_PACKED);
        assert_true(t.id == list.terms[i].id && t.count == list.terms[i].count);
    }
    term_list_dispose(&list);
}

static void a_question_drops_stop_words_unless_it_has_nothing_else(void **state) {
    (void)state;
    term_list list;
    term_list_init(&list, &alloc_default);
    assert_int_equal(term_list_query(&list, key, STR("where is the dog")), UAR_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(term_list_query(&list, key, STR("who is it")), UAR_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(term_list_query(&list, key, STR("")), UAR_OK);
    assert_int_equal(list.count, 0);
    term_list_dispose(&list);
}

static bool has_term(const term_list *list, uint64_t id) {
    for (size_t i = 0; i < list->count; i++)
        if (list->terms[i].id == id) return true;
    return false;
}

/* True if a question of `question` meets the opening of `passage`. */
static bool opens_with(const char *passage, const char *question) {
    term_list stored, asked;
    term_list_init(&stored, &alloc_default);
    term_list_init(&asked, &alloc_default);
    assert_int_equal(term_list_passage(&stored, key, uar_str_of(passage)), UAR_OK);
    assert_int_equal(term_list_openings(&asked, key, uar_str_of(question)), UAR_OK);
    bool met = false;
    for (size_t i = 0; i < asked.count; i++)
        met = met || has_term(&stored, asked.terms[i].id);
    term_list_dispose(&stored);
    term_list_dispose(&asked);
    return met;
}

static void a_passage_is_known_by_its_speaker_or_subject(void **state) {
    (void)state;
    assert_true(opens_with("Ada said, \"I like tea\"", "What does Ada like?"));
    assert_true(opens_with("The project of Ada", "Which projects?"));
    assert_true(opens_with("Ada: hello", "ada"));
    assert_false(opens_with("I told Ada so", "What does Ada like?"));
    assert_false(opens_with("Ada said", "Where is it?"));
    assert_false(opens_with("the and of", "the and of"));
    assert_false(opens_with("", "Ada"));
}

static void the_opening_is_no_word_and_no_length(void **state) {
    (void)state;
    term_list list, word;
    term_list_init(&list, &alloc_default);
    term_list_init(&word, &alloc_default);
    assert_int_equal(term_list_passage(&list, key, STR("Ada ada sings")), UAR_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.length, 3);
    assert_int_equal(term_list_query(&word, key, STR("Ada")), UAR_OK);
    assert_int_equal(word.count, 1);
    assert_int_equal(term_list_openings(&list, key, STR("Ada ada sings")), UAR_OK);
    assert_int_equal(list.count, 2);
    assert_false(has_term(&list, word.terms[0].id));
    term_list_dispose(&list);
    term_list_dispose(&word);
}

static bool asks(const char *text) {
    term_list list;
    term_list_init(&list, &alloc_default);
    assert_int_equal(term_list_passage(&list, key, uar_str_of(text)), UAR_OK);
    bool found = has_term(&list, term_asking(key));
    term_list_dispose(&list);
    return found;
}

static void a_passage_that_ends_by_asking_is_known(void **state) {
    (void)state;
    assert_true(asks("How are you?"));
    assert_true(asks("Ada said, \"Fine. And you?\" and shared a photo"));
    assert_false(asks("Really?!")); /* its last mark is no question mark */
    assert_true(asks("\xE5\x85\x83\xE6\xB0\x97\xEF\xBC\x9F"));
    assert_true(asks("\xC2\xBFQu\xC3\xA9 tal?"));
    assert_false(asks("How are you? I am fine."));
    assert_false(asks("see https://example.org/?q=1 there"));
    assert_false(asks("see https://example.org/a.b?c"));
    assert_true(asks("Is version 2.5 out?"));
    assert_false(asks("no mark at all"));
    assert_false(asks(""));
}

static void rarer_terms_and_more_occurrences_weigh_more(void **state) {
    (void)state;
    assert_true(score_rarity(100, 1) > score_rarity(100, 50));
    assert_true(score_rarity(100, 100) > 0);
    assert_true(score_rarity(0, 0) > 0);
    assert_true(score_share(2, 10, 10) > score_share(1, 10, 10));
    assert_true(score_share(1, 5, 10) > score_share(1, 20, 10));
    assert_true(score_share(1000000, 1, 10) < 1);
    assert_true(score_share(1, 1, 0) > 0);
}

static void an_adjusted_score_moves_by_a_fifth_at_most(void **state) {
    (void)state;
    assert_true(fabs(score_adjust(1, 1, 1, 1) - 1.2) < 1e-12);
    assert_true(fabs(score_adjust(1, 0, 0, 0) - 0.8) < 1e-12);
    for (int i = 0; i < 1000; i++) {
        double s = score_adjust(0.5, i / 999.0 * 3 - 1, (i * 7 % 1000) / 999.0, (i * 13 % 1000) / 999.0);
        assert_true(s >= 0.4 - 1e-12 && s <= 0.6 + 1e-12);
    }
}

static void recency_halves_in_thirty_days(void **state) {
    (void)state;
    int64_t month = INT64_C(30) * 86400000;
    assert_true(fabs(score_recency(7, 7) - 1) < 1e-12);
    assert_true(fabs(score_recency(month, 0) - 0.5) < 1e-12);
    assert_true(fabs(score_recency(0, 5) - 1) < 1e-12);
    assert_true(score_recency(INT64_MAX, INT64_MIN) >= 0);
}

/* ---- the embedder ---- */

typedef struct answer {
    uar_status status;
    size_t count, dims;
    float vectors[4 * 256];
} answer;

static void take(void *arg, const completion_result *result) {
    answer *a = arg;
    a->status = result->status;
    a->count = result->vector_count;
    a->dims = result->vector_dims;
    if (result->status == UAR_OK) memcpy(a->vectors, result->vectors, result->vector_count * 256 * sizeof(float));
}

static answer embed(const char *const *texts, size_t count, uar_embed_purpose purpose) {
    const uar_embedder *e = uar_embedder_lexical();
    uar_str list[4];
    for (size_t i = 0; i < count; i++)
        list[i] = uar_str_of(texts[i]);
    answer a = { .status = UAR_E_INTERNAL };
    uar_completion *done = completion_new(&alloc_default, COMPLETION_VECTORS, take, &a);
    assert_non_null(done);
    completion_lend(done);
    e->embed(e->ctx, purpose, list, count, done);
    completion_return(done);
    completion_release(done);
    return a;
}

static double cosine(const answer *a, size_t x, size_t y) {
    double sum = 0;
    for (size_t i = 0; i < 256; i++)
        sum += (double)a->vectors[x * 256 + i] * (double)a->vectors[y * 256 + i];
    return sum;
}

static void lexical_vectors_have_length_one_and_kin_texts_are_near(void **state) {
    (void)state;
    const char *texts[] = { "the cats are sleeping", "a sleeping cat", "quarterly tax report", "" };
    answer a = embed(texts, 4, UAR_EMBED_PASSAGE);
    assert_int_equal(a.status, UAR_OK);
    assert_int_equal(a.count, 4);
    assert_int_equal(a.dims, uar_embedder_lexical()->dims);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(cosine(&a, i, i) - 1) < 1e-4);
    assert_true(cosine(&a, 0, 1) > cosine(&a, 0, 2) + 0.3);
}

static void lexical_is_the_same_for_questions_and_passages_and_over_time(void **state) {
    (void)state;
    const char *texts[] = { "\xE6\x9D\xB1\xE4\xBA\xAC tower", "x" };
    answer passage = embed(texts, 2, UAR_EMBED_PASSAGE), question = embed(texts, 2, UAR_EMBED_QUERY);
    assert_memory_equal(passage.vectors, question.vectors, 2 * 256 * sizeof(float));
    assert_string_equal(uar_embedder_lexical()->id, "lexical");
}

static void lexical_refuses_broken_text(void **state) {
    (void)state;
    const char *texts[] = { "\xFF" };
    assert_int_equal(embed(texts, 1, UAR_EMBED_PASSAGE).status, UAR_E_UTF8);
}

static void running_out_of_memory_leaks_nothing(void **state) {
    (void)state;
    for (unsigned long at = 1;; at++) {
        probe_alloc probe;
        probe_alloc_init(&probe);
        probe_alloc_arm(&probe, at, true);
        term_list list;
        term_list_init(&list, &probe.door);
        uar_status status =
            term_list_passage(&list, key, STR("a few words of text that make a list grow, grow and grow"));
        bool failed = probe_alloc_has_failed(&probe);
        assert_int_equal(status, failed ? UAR_E_NOMEM : UAR_OK);
        term_list_dispose(&list);
        assert_int_equal(probe.alive, 0);
        if (!failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(term_numbers_are_those_of_SipHash),
        cmocka_unit_test(terms_of_a_passage_are_sorted_counted_and_packed),
        cmocka_unit_test(a_question_drops_stop_words_unless_it_has_nothing_else),
        cmocka_unit_test(a_passage_is_known_by_its_speaker_or_subject),
        cmocka_unit_test(the_opening_is_no_word_and_no_length),
        cmocka_unit_test(a_passage_that_ends_by_asking_is_known),
        cmocka_unit_test(rarer_terms_and_more_occurrences_weigh_more),
        cmocka_unit_test(an_adjusted_score_moves_by_a_fifth_at_most),
        cmocka_unit_test(recency_halves_in_thirty_days),
        cmocka_unit_test(lexical_vectors_have_length_one_and_kin_texts_are_near),
        cmocka_unit_test(lexical_is_the_same_for_questions_and_passages_and_over_time),
        cmocka_unit_test(lexical_refuses_broken_text),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
