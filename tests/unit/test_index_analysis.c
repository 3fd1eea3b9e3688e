/* From text to tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/buffer.h"
#include "base/str.h"
#include "base/utf8.h"
#include "index/analysis.h"
#include "index/fold.h"
#include "support/probe_alloc.h"

static uar_status join(void *ctx, const token *t) {
    buffer *out = ctx;
    if (out->len != 0) buffer_append_char(out, ' ');
    buffer_append_str(out, t->text);
    if (t->is_stop) buffer_append_char(out, '*');
    if (t->is_extra) buffer_append_char(out, '+');
    return UAR_OK;
}

/* Tokens in order; "*" marks a stop word, "+" another form. */
static void assert_tokens(const char *text, analysis_side side, const char *expected) {
    buffer out;
    buffer_init(&out, &alloc_default, 1 << 16);
    assert_int_equal(analysis_run(&alloc_default, uar_str_of(text), side, join, &out), UAR_OK);
    assert_string_equal(out.len != 0 ? out.ptr : "", expected);
    buffer_dispose(&out);
}

static void words_are_folded_and_stemmed(void **state) {
    (void)state;
    assert_tokens("The Cats were RUNNING home", ANALYSIS_PASSAGE, "the* cat were* run home");
    assert_tokens("hobbies hobby lived living lives live", ANALYSIS_PASSAGE, "hobbi hobbi live live live live");
    assert_tokens("boxes wishes classes bus this", ANALYSIS_PASSAGE, "box wish class bus this*");
}

static void kin_words_meet_in_one_stem(void **state) {
    (void)state;
    assert_tokens("paint painted painting paintings", ANALYSIS_PASSAGE, "paint paint paint paint");
    assert_tokens("hop hopping hopped, hope hoping hoped", ANALYSIS_PASSAGE, "hop hop hop hope hope hope");
    assert_tokens("relation relational relate related", ANALYSIS_PASSAGE, "relat relat relat relat");
    assert_tokens("happy happily happiness", ANALYSIS_PASSAGE, "happi happili happi");
    assert_tokens("agree agreed agreement; quick quickly", ANALYSIS_PASSAGE, "agre agre agreement quick quick");
    assert_tokens("tie ties tied, try tries tried", ANALYSIS_PASSAGE, "tie tie tie tri tri tri");
}

static void what_only_looks_like_an_ending_stays(void **state) {
    (void)state;
    assert_tokens("gas bus boss feed early family", ANALYSIS_PASSAGE, "gas bus boss feed earli famili");
    assert_tokens("add adding egg fill filling", ANALYSIS_PASSAGE, "add add egg fill fill");
}

static void a_stem_is_never_longer_than_its_word_nor_empty(void **state) {
    (void)state;
    uint64_t dice = 9;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzeeeiiisssdgnty";
    for (int round = 0; round < 200000; round++) {
        char word[16], kept[16];
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        size_t len = 1 + (size_t)(dice >> 60);
        for (size_t i = 0; i < len && i < sizeof word; i++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            word[i] = letters[(dice >> 33) % (sizeof letters - 1)];
        }
        memcpy(kept, word, sizeof word);
        size_t stem = stem_word(word, len);
        assert_in_range(stem, 1, len);
        assert_memory_equal(word, kept, 1);
    }
}

static void short_words_and_other_scripts_are_not_stemmed(void **state) {
    (void)state;
    assert_tokens("king sing ring bed", ANALYSIS_PASSAGE, "king sing ring bed");
    assert_tokens("\xD0\x9A\xD0\xBE\xD1\x82\xD1\x8B", ANALYSIS_PASSAGE, "\xD0\xBA\xD0\xBE\xD1\x82\xD1\x8B");
}

static void tied_words_give_their_parts_and_the_joined_form(void **state) {
    (void)state;
    assert_tokens("POL-358", ANALYSIS_PASSAGE, "pol 358 pol358+");
    assert_tokens("a/b.c_d", ANALYSIS_PASSAGE, "a* b c d* abcd+");
    assert_tokens("1,000 2,x", ANALYSIS_PASSAGE, "1 000 1000+ 2 x");
    assert_tokens("a-b-c-d-e", ANALYSIS_PASSAGE, "a* b c d* e");
    assert_tokens("-x- y.", ANALYSIS_PASSAGE, "x y*");
}

static void the_english_genitive_is_no_part(void **state) {
    (void)state;
    assert_tokens("Ada's dog", ANALYSIS_PASSAGE, "ada dog");
    assert_tokens("Ada\xE2\x80\x99s dog", ANALYSIS_PASSAGE, "ada dog");
}

static void signs_of_languages_make_another_form(void **state) {
    (void)state;
    assert_tokens("C++ and C#", ANALYSIS_PASSAGE, "c c+++ and* c c#+");
}

static void scripts_without_spaces_give_pairs(void **state) {
    (void)state;
    assert_tokens("\xE6\x9D\xB1\xE4\xBA\xAC\xE9\x83\xBD", ANALYSIS_QUERY,
                  "\xE6\x9D\xB1\xE4\xBA\xAC \xE4\xBA\xAC\xE9\x83\xBD");
    assert_tokens("\xE6\x9D\xB1\xE4\xBA\xAC", ANALYSIS_PASSAGE, "\xE6\x9D\xB1\xE4\xBA\xAC \xE6\x9D\xB1+ \xE4\xBA\xAC+");
    assert_tokens("\xE8\x8C\xB6", ANALYSIS_QUERY, "\xE8\x8C\xB6");
    assert_tokens("GPT\xE6\xA8\xA1\xE5\x9E\x8B"
                  "x",
                  ANALYSIS_QUERY, "gpt \xE6\xA8\xA1\xE5\x9E\x8B x");
    assert_tokens("\xEC\x84\x9C\xEC\x9A\xB8\xEC\x97\x90", ANALYSIS_QUERY,
                  "\xEC\x84\x9C\xEC\x9A\xB8 \xEC\x9A\xB8\xEC\x97\x90");
}

static void every_way_to_write_a_character_gives_the_same_token(void **state) {
    (void)state;
    assert_tokens("caf\xC3\xA9", ANALYSIS_PASSAGE, "cafe");
    assert_tokens("cafe\xCC\x81 \xEF\xBC\xA3\xEF\xBC\xA1\xEF\xBC\xA6\xEF\xBC\xA5", ANALYSIS_PASSAGE, "cafe cafe");
    assert_tokens("\xEF\xBD\xB6\xEF\xBE\x9E", ANALYSIS_PASSAGE, "\xE3\x82\xAC"); /* half-width KA and its mark */
}

static void emoji_are_tokens_and_a_text_of_signs_is_its_own(void **state) {
    (void)state;
    assert_tokens("\xF0\x9F\x8E\x89!", ANALYSIS_PASSAGE, "\xF0\x9F\x8E\x89");
    assert_tokens("?! ?", ANALYSIS_PASSAGE, "?!?");
    assert_tokens("", ANALYSIS_PASSAGE, "");
    assert_tokens(" \n", ANALYSIS_PASSAGE, "");
}

static void broken_text_is_refused(void **state) {
    (void)state;
    buffer out;
    buffer_init(&out, &alloc_default, 1 << 16);
    assert_int_equal(analysis_run(&alloc_default, STR("a\xFF"), ANALYSIS_PASSAGE, join, &out), UAR_E_UTF8);
    buffer_dispose(&out);
}

static uar_status check_token(void *ctx, const token *t) {
    size_t *count = ctx;
    ++*count;
    assert_true(t->text.len > 0 && t->text.len <= ANALYSIS_TOKEN_POINTS * 4);
    assert_true(utf8_is_valid(t->text));
    return UAR_OK;
}

/* Random valid text of every plane, long words among it: tokens are whole, bounded and never empty. */
static void any_text_gives_whole_bounded_tokens(void **state) {
    (void)state;
    uint64_t dice = 5;
    for (int round = 0; round < 2000; round++) {
        buffer text;
        buffer_init(&text, &alloc_default, 1 << 16);
        for (int i = 0; i < 200; i++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            uint32_t span = (dice >> 60) < 6 ? 0x80 : (dice >> 60) < 12 ? 0x3000 : 0x110000;
            uint32_t c = (uint32_t)(dice >> 20) % span;
            if (c != 0 && (c < 0xD800 || c > 0xDFFF)) utf8_append(&text, c);
        }
        size_t count = 0;
        assert_int_equal(analysis_run(&alloc_default, buffer_str(&text), ANALYSIS_PASSAGE, check_token, &count),
                         UAR_OK);
        assert_true(count > 0);
        buffer_dispose(&text);
    }
}

static uar_status stop_at_two(void *ctx, const token *t) {
    (void)t;
    return ++*(int *)ctx == 2 ? UAR_E_CANCELLED : UAR_OK;
}

static void the_receiver_can_end_it(void **state) {
    (void)state;
    int calls = 0;
    assert_int_equal(analysis_run(&alloc_default, STR("one two three"), ANALYSIS_PASSAGE, stop_at_two, &calls),
                     UAR_E_CANCELLED);
    assert_int_equal(calls, 2);
}

static void folded_text_is_equal_for_equal_texts_only(void **state) {
    (void)state;
    const char *same[] = { "Caf\xC3\xA9 au lait", " cafe\xCC\x81\tAU\n\nlait ", "CAF\xC3\x89 au\xC2\xA0lait",
                           "caf\xC3\xA9\xE2\x80\x8B au lait" };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        buffer out;
        buffer_init(&out, &alloc_default, 256);
        assert_int_equal(fold_append(&out, uar_str_of(same[i])), UAR_OK);
        assert_string_equal(out.ptr, "caf\xC3\xA9 au lait");
        buffer_dispose(&out);
    }
    buffer out;
    buffer_init(&out, &alloc_default, 256);
    assert_int_equal(fold_append(&out, STR("cafe au lait")), UAR_OK);
    assert_string_equal(out.ptr, "cafe au lait");
    buffer_dispose(&out);
}

static void blank_texts_are_known(void **state) {
    (void)state;
    assert_true(fold_is_blank(STR("")));
    assert_true(fold_is_blank(STR(" \t\r\n\xC2\xA0\xE3\x80\x80\xE2\x80\x8B\xEF\xBB\xBF")));
    assert_false(fold_is_blank(STR(" .")));
}

static void running_out_of_memory_leaks_nothing(void **state) {
    (void)state;
    for (unsigned long at = 1; at < 10; at++) {
        probe_alloc probe;
        probe_alloc_init(&probe);
        probe_alloc_arm(&probe, at, true);
        size_t count = 0;
        uar_status status = analysis_run(&probe.door, STR("one two"), ANALYSIS_PASSAGE, check_token, &count);
        assert_int_equal(status, probe_alloc_has_failed(&probe) ? UAR_E_NOMEM : UAR_OK);
        assert_int_equal(probe.alive, 0);
    }
}

/* A letter of another script behind a text keeps it off the short way of plain ones. */
static void plain_text_is_folded_as_it_is_among_other_text(void **state) {
    (void)state;
    char text[128 + 3];
    for (size_t i = 0; i < 128; i++)
        text[i] = (char)i;
    memcpy(text + 128, "\xC3\x9F", 3);
    for (int marks = FOLD_KEEP_MARKS; marks <= FOLD_DROP_MARKS; marks++) {
        folded plain, other;
        assert_int_equal(fold_points(&plain, &alloc_default, uar_str_n(text, 128), (fold_marks)marks), UAR_OK);
        assert_int_equal(fold_points(&other, &alloc_default, uar_str_n(text, 130), (fold_marks)marks), UAR_OK);
        assert_int_equal(plain.count, 128);
        assert_true(other.count > 128);
        assert_memory_equal(plain.points, other.points, 128 * sizeof *plain.points);
        folded_dispose(&plain);
        folded_dispose(&other);
    }
}

static uar_status count_tokens(void *ctx, const token *t) {
    (void)t;
    ++*(size_t *)ctx;
    return UAR_OK;
}

static void plain_characters_are_classified_by_their_category(void **state) {
    (void)state;
    for (int c = 1; c < 128; c++) {
        utf8proc_category_t category = utf8proc_category(c);
        bool is_token = (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) ||
                        category == UTF8PROC_CATEGORY_SO || category == UTF8PROC_CATEGORY_SC;
        bool is_space = category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_CC;
        const char text[] = { 'w', ' ', (char)c };
        size_t count = 0;
        assert_int_equal(analysis_run(&alloc_default, uar_str_n(text, 3), ANALYSIS_PASSAGE, count_tokens, &count),
                         UAR_OK);
        assert_int_equal(count, is_token ? 2 : 1);
        assert_int_equal(fold_is_space(c), is_space);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_folded_and_stemmed),
        cmocka_unit_test(kin_words_meet_in_one_stem),
        cmocka_unit_test(what_only_looks_like_an_ending_stays),
        cmocka_unit_test(a_stem_is_never_longer_than_its_word_nor_empty),
        cmocka_unit_test(short_words_and_other_scripts_are_not_stemmed),
        cmocka_unit_test(tied_words_give_their_parts_and_the_joined_form),
        cmocka_unit_test(the_english_genitive_is_no_part),
        cmocka_unit_test(signs_of_languages_make_another_form),
        cmocka_unit_test(scripts_without_spaces_give_pairs),
        cmocka_unit_test(every_way_to_write_a_character_gives_the_same_token),
        cmocka_unit_test(emoji_are_tokens_and_a_text_of_signs_is_its_own),
        cmocka_unit_test(broken_text_is_refused),
        cmocka_unit_test(any_text_gives_whole_bounded_tokens),
        cmocka_unit_test(the_receiver_can_end_it),
        cmocka_unit_test(folded_text_is_equal_for_equal_texts_only),
        cmocka_unit_test(blank_texts_are_known),
        cmocka_unit_test(plain_text_is_folded_as_it_is_among_other_text),
        cmocka_unit_test(plain_characters_are_classified_by_their_category),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
