/* Text to tokens with a small vocabulary of our own; the reference's answers are in test_bert_reference.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/str.h"
#include "bert/tokenizer.h"
#include "support/probe_alloc.h"
#include "support/tiny_bert.h"

/* Ids of TINY_VOCABULARY by name, a list ends at -1. */
enum {
    UNK = 1,
    CLS,
    SEP,
    MASK,
    THE,
    CAT,
    S_,
    TING_,
    SIT,
    UN,
    BELIEV_,
    ABLE_,
    BREAD,
    COMMA,
    DOT,
    BANG,
    CYR_A,
    CYR_BE_,
    NEKO,
    HIGASHI,
    A,
    B_,
    C_,
    CAFE,
    QUERY,
    COLON,
    OPEN_BRACKET = 30,
    CLOSE_BRACKET
};

static tokenizer with(const uar_bert_files *files) {
    tokenizer t;
    uar_error err = UAR_ERROR_INIT;
    if (tokenizer_read(&t, &alloc_default, files, false, &err) != UAR_OK) fail_msg("%s", err.message);
    return t;
}

static tokenizer plain(void) {
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    files.vocabulary = STR(TINY_VOCABULARY);
    return with(&files);
}

static void check_n(const tokenizer *t, uar_str text, const int *wanted) {
    id_list list;
    id_list_init(&list, &alloc_default);
    assert_int_equal(tokenizer_run(&list, t, text), UAR_OK);
    size_t count = 0;
    while (wanted[count] >= 0)
        count++;
    assert_int_equal(list.len, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list.ids[i], wanted[i]);
    id_list_dispose(&list);
}

#define CHECK(t, text, ...) check_n(t, STR(text), (const int[]){ __VA_ARGS__ })

static void test_words_become_their_longest_pieces(void **state) {
    (void)state;
    tokenizer t = plain();
    CHECK(&t, "the cats sitting", THE, CAT, S_, SIT, TING_, -1);
    CHECK(&t, "unbelievable", UN, BELIEV_, ABLE_, -1);
    CHECK(&t, "abc", A, B_, C_, -1);
    tokenizer_dispose(&t);
}

static void test_a_word_without_pieces_is_unknown_as_a_whole(void **state) {
    (void)state;
    tokenizer t = plain();
    CHECK(&t, "catx the zebra", UNK, THE, UNK, -1);
    tokenizer_dispose(&t);
}

static void test_case_and_accents_go(void **state) {
    (void)state;
    tokenizer t = plain();
    CHECK(&t, "THE Café cafe\xcc\x81 CAFÉ", THE, CAFE, CAFE, CAFE, -1);
    CHECK(&t, "АБ", CYR_A, CYR_BE_, -1);
    tokenizer_dispose(&t);
}

static void test_punctuation_stands_alone_and_spaces_of_all_kinds_part_words(void **state) {
    (void)state;
    tokenizer t = plain();
    CHECK(&t, "the,cat.!", THE, COMMA, CAT, DOT, BANG, -1);
    CHECK(&t, "\tthe\r\ncat\xc2\xa0the\xe3\x80\x80 cat ", THE, CAT, THE, CAT, -1);
    CHECK(&t, " \n", -1);
    CHECK(&t, "", -1);
    tokenizer_dispose(&t);
}

static void test_controls_and_invisible_characters_go_without_parting_a_word(void **state) {
    (void)state;
    tokenizer t = plain();
    check_n(&t, STR("c\0a\xe2\x80\x8bt\xef\xbf\xbd"), (const int[]){ CAT, -1 });
    tokenizer_dispose(&t);
}

static void test_chinese_characters_stand_alone(void **state) {
    (void)state;
    tokenizer t = plain();
    CHECK(&t, "the猫東cat", THE, NEKO, HIGASHI, CAT, -1);
    tokenizer_dispose(&t);
}

static void test_a_word_of_more_than_100_characters_is_unknown(void **state) {
    (void)state;
    tokenizer t = plain();
    char text[256];
    for (size_t len = 99; len <= 102; len++) {
        text[0] = 'a';
        memset(text + 1, 'b', len - 1);
        id_list list;
        id_list_init(&list, &alloc_default);
        assert_int_equal(tokenizer_run(&list, &t, uar_str_n(text, len)), UAR_OK);
        assert_int_equal(list.len, len <= 100 ? len : 1);
        assert_int_equal(list.ids[0], len <= 100 ? A : UNK);
        id_list_dispose(&list);
    }
    tokenizer_dispose(&t);
}

static void test_a_literal_mark_is_the_mark_but_only_as_it_is_written(void **state) {
    (void)state;
    tokenizer t = plain();
    CHECK(&t, "the[MASK]cat [SEP]", THE, MASK, CAT, SEP, -1);
    CHECK(&t, "[the]", OPEN_BRACKET, THE, CLOSE_BRACKET, -1);
    CHECK(&t, "[mask]", OPEN_BRACKET, UNK, CLOSE_BRACKET, -1);
    tokenizer_dispose(&t);
}

static void test_a_vocabulary_with_windows_line_ends_is_the_same(void **state) {
    (void)state;
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    files.vocabulary = STR("[UNK]\r\n[CLS]\r\n[SEP]\r\nthe\r\n##re");
    tokenizer t = with(&files);
    CHECK(&t, "the there", 3, 3, 4, -1);
    assert_int_equal(t.pieces.ids, 5);
    tokenizer_dispose(&t);
}

static void test_the_settings_file_keeps_case_accents_and_chinese_together(void **state) {
    (void)state;
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    files.vocabulary = STR("[UNK]\n[CLS]\n[SEP]\nThe\nthe\ncafé\n猫\n##東\ncafe\n");
    files.tokenizer_config = STR("{\"do_lower_case\":false,\"strip_accents\":null,\"tokenize_chinese_chars\":false}");
    tokenizer t = with(&files);
    CHECK(&t, "The the café 猫東", 3, 4, 5, 6, 7, -1);
    tokenizer_dispose(&t);
    files.tokenizer_config = STR("{\"do_lower_case\":false,\"strip_accents\":true}");
    t = with(&files);
    CHECK(&t, "The café", 3, 8, -1);
    tokenizer_dispose(&t);
    files.tokenizer_config = STR("{\"do_lower_case\":true,\"strip_accents\":false}");
    t = with(&files);
    CHECK(&t, "The CAFÉ", 4, 5, -1);
    tokenizer_dispose(&t);
}

static void test_the_letter_i_with_a_dot_keeps_its_dot_where_accents_stay(void **state) {
    (void)state;
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    files.vocabulary = STR("[UNK]\n[CLS]\n[SEP]\ni\xcc\x87\ni\n");
    files.tokenizer_config = STR("{\"strip_accents\":false}");
    tokenizer t = with(&files);
    CHECK(&t, "İ I", 3, 4, -1);
    tokenizer_dispose(&t);
}

#define JSON_HEAD                                                                                                 \
    "{\"added_tokens\":[{\"id\":0,\"content\":\"[UNK]\"},{\"id\":1,\"content\":\"[CLS]\"},{\"id\":2,\"content\":" \
    "\"[SEP]\"},{\"id\":9,\"content\":\"<extra>\"},{\"id\":8,\"content\":\"<extra\"}],"
#define JSON_NORMALIZER "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":true,\"strip_accents\":null},"
#define JSON_SPLITTER "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
#define JSON_MODEL(more)                                                                                            \
    "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,\"the\":3,\"@@n\":4,\"##n\":" \
    "5}" more "}}"

static void test_a_tokenizer_file_is_read_with_its_marks_prefix_and_limit(void **state) {
    (void)state;
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    files.tokenizer = STR(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER JSON_MODEL(""));
    tokenizer t = with(&files);
    CHECK(&t, "THEN <extra>the <extra", 3, 5, 9, 3, 8, -1);
    assert_int_equal(t.pieces.ids, 10);
    tokenizer_dispose(&t);
    files.tokenizer = STR(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER JSON_MODEL(
        ",\"continuing_subword_prefix\":\"@@\",\"max_input_chars_per_word\":4"));
    t = with(&files);
    CHECK(&t, "then thenn", 3, 4, 0, -1);
    tokenizer_dispose(&t);
}

/* ---- Faults ---- */

static void check_refused(const uar_bert_files *files, uar_status wanted, const char *in_message) {
    tokenizer t;
    uar_error err = UAR_ERROR_INIT;
    probe_alloc probe;
    probe_alloc_init(&probe);
    assert_int_equal(tokenizer_read(&t, &probe.door, files, false, &err), wanted);
    assert_int_equal(err.code, wanted);
    if (strstr(err.message, in_message) == NULL) fail_msg("'%s' does not say '%s'", err.message, in_message);
    assert_int_equal(probe.alive, 0);
}

static void check_json(const char *json, uar_status wanted, const char *in_message) {
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    files.tokenizer = uar_str_of(json);
    check_refused(&files, wanted, in_message);
}

static void test_a_tokenizer_of_another_sort_is_refused_by_name(void **state) {
    (void)state;
    check_json(JSON_HEAD JSON_SPLITTER JSON_MODEL(""), UAR_E_UNSUPPORTED, "normalizer");
    check_json(JSON_HEAD JSON_NORMALIZER JSON_MODEL(""), UAR_E_UNSUPPORTED, "pre_tokenizer");
    check_json(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER "\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}",
               UAR_E_UNSUPPORTED, "WordPiece");
    check_json(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER JSON_MODEL(",\"max_input_chars_per_word\":257"),
               UAR_E_UNSUPPORTED, "max_input_chars_per_word");
}

static void test_a_damaged_tokenizer_file_is_refused(void **state) {
    (void)state;
    check_json("{\"model\":", UAR_E_JSON, "tokenizer.json");
    check_json(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER "\"model\":{\"vocab\":7}}", UAR_E_SCHEMA, "vocabulary");
    check_json(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER "\"model\":{\"vocab\":{\"x\":1.5}}}", UAR_E_SCHEMA, "'x'");
    check_json(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER "\"model\":{\"vocab\":{\"x\":2000000}}}", UAR_E_SCHEMA, "'x'");
    check_json("{\"added_tokens\":[{\"id\":1}]," JSON_NORMALIZER JSON_SPLITTER JSON_MODEL(""), UAR_E_SCHEMA,
               "added token");
    check_json("{\"added_tokens\":[]," JSON_NORMALIZER JSON_SPLITTER "\"model\":{\"vocab\":{\"[UNK]\":0,\"[CLS]\":1}}}",
               UAR_E_SCHEMA, "[SEP]");
}

static void test_a_vocabulary_that_can_not_be_used_is_refused(void **state) {
    (void)state;
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    check_refused(&files, UAR_E_NOT_FOUND, "vocab.txt");
    files.vocabulary = STR("[CLS]\n[SEP]\nthe\n");
    check_refused(&files, UAR_E_SCHEMA, "[UNK]");
    files.vocabulary = STR("[UNK]\n[CLS]\n[SEP]\nbr\xffken\n");
    check_refused(&files, UAR_E_UTF8, "byte 20");
    files.vocabulary = STR(TINY_VOCABULARY);
    files.tokenizer_config = STR("[");
    check_refused(&files, UAR_E_JSON, "tokenizer_config.json");
}

static void test_reading_and_running_survive_every_lack_of_memory(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_bert_files files[2] = { { .size = UAR_BERT_FILES_INIT }, { .size = UAR_BERT_FILES_INIT } };
    files[0].vocabulary = STR(TINY_VOCABULARY);
    files[1].tokenizer = STR(JSON_HEAD JSON_NORMALIZER JSON_SPLITTER JSON_MODEL(""));
    for (int round = 0; round < 4; round++)
        for (unsigned long at = 1;; at++) {
            tokenizer t = { .max_word = 4711 };
            id_list list;
            id_list_init(&list, &probe.door);
            probe_alloc_arm(&probe, at, round % 2 != 0);
            uar_status status = tokenizer_read(&t, &probe.door, &files[round / 2], false, NULL);
            assert_true(status == UAR_OK || t.max_word == 4711);
            if (status == UAR_OK) {
                status = tokenizer_run(&list, &t, STR("the the the zebra"));
                tokenizer_dispose(&t);
            }
            id_list_dispose(&list);
            assert_int_equal(probe.alive, 0);
            assert_int_equal(status, probe_alloc_has_failed(&probe) ? UAR_E_NOMEM : UAR_OK);
            if (status == UAR_OK) break;
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_become_their_longest_pieces),
        cmocka_unit_test(test_a_word_without_pieces_is_unknown_as_a_whole),
        cmocka_unit_test(test_case_and_accents_go),
        cmocka_unit_test(test_punctuation_stands_alone_and_spaces_of_all_kinds_part_words),
        cmocka_unit_test(test_controls_and_invisible_characters_go_without_parting_a_word),
        cmocka_unit_test(test_chinese_characters_stand_alone),
        cmocka_unit_test(test_a_word_of_more_than_100_characters_is_unknown),
        cmocka_unit_test(test_a_literal_mark_is_the_mark_but_only_as_it_is_written),
        cmocka_unit_test(test_a_vocabulary_with_windows_line_ends_is_the_same),
        cmocka_unit_test(test_the_settings_file_keeps_case_accents_and_chinese_together),
        cmocka_unit_test(test_the_letter_i_with_a_dot_keeps_its_dot_where_accents_stay),
        cmocka_unit_test(test_a_tokenizer_file_is_read_with_its_marks_prefix_and_limit),
        cmocka_unit_test(test_a_tokenizer_of_another_sort_is_refused_by_name),
        cmocka_unit_test(test_a_damaged_tokenizer_file_is_refused),
        cmocka_unit_test(test_a_vocabulary_that_can_not_be_used_is_refused),
        cmocka_unit_test(test_reading_and_running_survive_every_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
