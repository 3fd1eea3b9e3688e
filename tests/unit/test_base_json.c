/* The reader in both modes, trees and their members, the writers. The shared suite decides what is JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "support/probe_alloc.h"

#define LIMIT (64u << 20)
#define FFFD "\xEF\xBF\xBD"
#define GRIN "\xF0\x9F\x98\x80"

static cJSON *read_ok_mode(uar_str text, json_mode mode, json_notes *notes) {
    cJSON *tree = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (json_read_mode(&tree, &alloc_default, text, LIMIT, mode, notes, &err) != UAR_OK) {
        fail_msg("%.200s: %s", text.ptr, err.message);
    }
    return tree;
}

static cJSON *read_ok(const char *text) {
    return read_ok_mode(uar_str_of(text), JSON_STRICT, NULL);
}

static void drop(cJSON *tree) {
    json_free(&alloc_default, tree);
}

static void check_refused(uar_str text, json_mode mode, const char *message) {
    cJSON untouched;
    cJSON *tree = &untouched;
    json_notes notes = { 7, 7, 7 };
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(json_read_mode(&tree, &alloc_default, text, LIMIT, mode, &notes, &err), UAR_E_JSON);
    assert_ptr_equal(tree, &untouched);
    assert_int_equal(notes.nuls, 7);
    assert_int_equal(err.code, UAR_E_JSON);
    if (message != NULL) assert_string_equal(err.message, message);
}

static char *written(const cJSON *tree, void (*write)(buffer *, const cJSON *)) {
    buffer out;
    buffer_init(&out, &alloc_default, LIMIT);
    write(&out, tree);
    assert_int_equal(out.status, UAR_OK);
    return buffer_take(&out, NULL);
}

static void check_written(const char *text, void (*write)(buffer *, const cJSON *), const char *expected) {
    cJSON *tree = read_ok(text);
    char *out = written(tree, write);
    assert_string_equal(out, expected);
    alloc_free(&alloc_default, out);
    drop(tree);
}

/* ---- The shared suite ---- */

static void suite_folder(char *out, size_t room) {
    const char *data = getenv("UAR_TEST_DATA");
    const char *root = getenv("UAR_SOURCE_ROOT");
    if (data != NULL) {
        snprintf(out, room, "%s/json/test_parsing", data);
    } else {
        snprintf(out, room, "%s/../shared/data/json/test_parsing", root != NULL ? root : ".");
    }
}

/* NULL: the data isn't there. */
static DIR *open_suite(char *folder, size_t room) {
    suite_folder(folder, room);
    DIR *dir = opendir(folder);
    const char *ci = getenv("CI");
    if (dir == NULL && ci != NULL && strcmp(ci, "true") == 0) fail_msg("no test data at %s", folder);
    return dir;
}

static void load(buffer *out, const char *folder, const char *name) {
    char path[1024];
    char chunk[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got;
    buffer_reset(out);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0) {
        buffer_append(out, chunk, got);
    }
    fclose(file);
    assert_int_equal(out->status, UAR_OK);
}

typedef struct verdict {
    const char *name;
    bool strict, provider; /* read in this mode */
} verdict;

/* Of the y_ files exactly these are refused: U+0000 and duplicate keys. */
static const verdict refused_valid[] = {
    { "y_object_duplicated_key.json", false, true },
    { "y_object_duplicated_key_and_value.json", false, true },
    { "y_object_escaped_null_in_key.json", false, true },
    { "y_string_null_escape.json", false, true },
};

/* Numbers out of range are clamped; broken text, lone surrogates, a byte order mark and deep nesting are refused. */
static const verdict implementation_defined[] = {
    { "i_number_double_huge_neg_exp.json", true, true },
    { "i_number_huge_exp.json", true, true },
    { "i_number_neg_int_huge_exp.json", true, true },
    { "i_number_pos_double_huge_exp.json", true, true },
    { "i_number_real_neg_overflow.json", true, true },
    { "i_number_real_pos_overflow.json", true, true },
    { "i_number_real_underflow.json", true, true },
    { "i_number_too_big_neg_int.json", true, true },
    { "i_number_too_big_pos_int.json", true, true },
    { "i_number_very_big_negative_int.json", true, true },
    { "i_object_key_lone_2nd_surrogate.json", false, true },
    { "i_string_1st_surrogate_but_2nd_missing.json", false, true },
    { "i_string_1st_valid_surrogate_2nd_invalid.json", false, true },
    { "i_string_incomplete_surrogate_and_escape_valid.json", false, true },
    { "i_string_incomplete_surrogate_pair.json", false, true },
    { "i_string_incomplete_surrogates_escape_valid.json", false, true },
    { "i_string_invalid_lonely_surrogate.json", false, true },
    { "i_string_invalid_surrogate.json", false, true },
    { "i_string_inverted_surrogates_U+1D11E.json", false, true },
    { "i_string_lone_second_surrogate.json", false, true },
    { "i_string_UTF-16LE_with_BOM.json", false, false },
    { "i_string_UTF-8_invalid_sequence.json", false, false },
    { "i_string_UTF8_surrogate_U+D800.json", false, false },
    { "i_string_invalid_utf-8.json", false, false },
    { "i_string_iso_latin_1.json", false, false },
    { "i_string_lone_utf8_continuation_byte.json", false, false },
    { "i_string_not_in_unicode_range.json", false, false },
    { "i_string_overlong_sequence_2_bytes.json", false, false },
    { "i_string_overlong_sequence_6_bytes.json", false, false },
    { "i_string_overlong_sequence_6_bytes_null.json", false, false },
    { "i_string_truncated-utf-8.json", false, false },
    { "i_string_utf16BE_no_BOM.json", false, false },
    { "i_string_utf16LE_no_BOM.json", false, false },
    { "i_structure_500_nested_arrays.json", false, false },
    { "i_structure_UTF-8_BOM_empty_object.json", false, false },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const verdict *find_verdict(const verdict *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) return &list[i];
    }
    return NULL;
}

static bool is_read(uar_str text, json_mode mode) {
    cJSON *tree = NULL;
    uar_status status = json_read_mode(&tree, &alloc_default, text, LIMIT, mode, NULL, NULL);
    assert_true(status == UAR_OK || status == UAR_E_JSON);
    json_free(&alloc_default, tree);
    return status == UAR_OK;
}

/* Runs over the files whose names begin with `prefix`; returns how many, and in *listed how many of those have a verdict. */
static size_t judge_suite(const char *prefix, const verdict *list, size_t count, bool otherwise, size_t *listed) {
    char folder[900];
    DIR *dir = open_suite(folder, sizeof folder);
    if (dir == NULL) skip();
    buffer text;
    buffer_init(&text, &alloc_default, LIMIT);
    size_t seen = 0;
    *listed = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        const verdict *v = find_verdict(list, count, entry->d_name);
        load(&text, folder, entry->d_name);
        if (is_read(buffer_str(&text), JSON_STRICT) != (v != NULL ? v->strict : otherwise)) {
            fail_msg("strict: %s", entry->d_name);
        }
        if (is_read(buffer_str(&text), JSON_PROVIDER) != (v != NULL ? v->provider : otherwise)) {
            fail_msg("provider: %s", entry->d_name);
        }
        seen++;
        *listed += v != NULL;
    }
    closedir(dir);
    buffer_dispose(&text);
    return seen;
}

static void suite_files_that_are_json_are_read_but_for_four_by_name(void **state) {
    (void)state;
    size_t listed;
    assert_int_equal(judge_suite("y_", refused_valid, COUNT(refused_valid), true, &listed), 95);
    assert_int_equal(listed, COUNT(refused_valid));
}

static void suite_files_that_are_not_json_are_refused_in_both_modes(void **state) {
    (void)state;
    size_t listed;
    assert_int_equal(judge_suite("n_", NULL, 0, false, &listed), 188);
}

static void suite_files_that_the_standard_leaves_open_are_decided_by_name(void **state) {
    (void)state;
    size_t listed;
    size_t count = COUNT(implementation_defined);
    assert_int_equal(judge_suite("i_", implementation_defined, count, false, &listed), count);
    assert_int_equal(listed, count);
}

/* Write, read again, write again: the same text; so too when canonical. */
static void check_round_trip(const cJSON *tree, void (*write)(buffer *, const cJSON *)) {
    char *first = written(tree, write);
    cJSON *again = read_ok(first);
    char *second = written(again, write);
    assert_string_equal(first, second);
    alloc_free(&alloc_default, first);
    alloc_free(&alloc_default, second);
    drop(again);
}

static void whatever_is_read_of_the_suite_survives_writing_and_reading(void **state) {
    (void)state;
    char folder[900];
    DIR *dir = open_suite(folder, sizeof folder);
    if (dir == NULL) skip();
    buffer text;
    buffer_init(&text, &alloc_default, LIMIT);
    size_t trees = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        cJSON *tree = NULL;
        if (entry->d_name[0] == '.') continue;
        load(&text, folder, entry->d_name);
        if (json_read(&tree, &alloc_default, buffer_str(&text), LIMIT, NULL) != UAR_OK) continue;
        check_round_trip(tree, json_append_node);
        check_round_trip(tree, json_append_canonical);
        drop(tree);
        trees++;
    }
    closedir(dir);
    buffer_dispose(&text);
    assert_int_equal(trees, 101);
}

/* ---- Strict reading ---- */

static void each_fault_is_named_with_its_byte_line_and_column(void **state) {
    (void)state;
    static const struct {
        uar_str text;
        const char *message;
    } cases[] = {
        { STR_INIT(""), "the text ends too early at byte 0 (line 1, column 1)" },
        { STR_INIT(" \n "), "the text ends too early at byte 3 (line 2, column 2)" },
        { STR_INIT("{\n  \"a\": 01\n}"), "a number can't begin with 0 at byte 10 (line 2, column 9)" },
        { STR_INIT("09"), "a number can't begin with 0 at byte 1 (line 1, column 2)" },
        { STR_INIT("-012"), "a number can't begin with 0 at byte 2 (line 1, column 3)" },
        { STR_INIT("[1.]"), "a digit is missing in this number at byte 3 (line 1, column 4)" },
        { STR_INIT("[-]"), "a digit is missing in this number at byte 2 (line 1, column 3)" },
        { STR_INIT("[1e+]"), "a digit is missing in this number at byte 4 (line 1, column 5)" },
        { STR_INIT("[1,]"), "a value is expected here at byte 3 (line 1, column 4)" },
        { STR_INIT("[1 2]"), "a comma or ] is expected here at byte 3 (line 1, column 4)" },
        { STR_INIT("{\"a\":1 \"b\"}"), "a comma or } is expected here at byte 7 (line 1, column 8)" },
        { STR_INIT("{a:1}"), "a key in quotes is expected here at byte 1 (line 1, column 2)" },
        { STR_INIT("{\"a\":1,}"), "a key in quotes is expected here at byte 7 (line 1, column 8)" },
        { STR_INIT("{\"a\" 1}"), "a colon is expected after a key at byte 5 (line 1, column 6)" },
        { STR_INIT("nul"), "the text ends too early at byte 3 (line 1, column 4)" },
        { STR_INIT("nuLl"), "a word other than true, false and null at byte 2 (line 1, column 3)" },
        { STR_INIT("true false"), "text after the end of the value at byte 5 (line 1, column 6)" },
        { STR_INIT("\"\\x\""), "unknown escape at byte 1 (line 1, column 2)" },
        { STR_INIT("\"\\u12G4\""), "\\u needs four hex digits at byte 1 (line 1, column 2)" },
        { STR_INIT("\"\\"), "the text ends too early at byte 2 (line 1, column 3)" },
        { STR_INIT("\"ab"), "the text ends too early at byte 3 (line 1, column 4)" },
        { STR_INIT("\"a\tb\""), "a control character in a string must be escaped at byte 2 (line 1, column 3)" },
        { STR_INIT("\"a\0b\""), "U+0000 is not allowed at byte 2 (line 1, column 3)" },
        { STR_INIT("\"a\\u0000\""), "U+0000 is not allowed at byte 2 (line 1, column 3)" },
        { STR_INIT("\"\\u0041\\ude00\""), "a surrogate without its other half at byte 7 (line 1, column 8)" },
        { STR_INIT("\"\\ude00\\ude00\""), "a surrogate without its other half at byte 1 (line 1, column 2)" },
        { STR_INIT("\"\\ud83d\""), "a surrogate without its other half at byte 1 (line 1, column 2)" },
        { STR_INIT("\"\xC3\xA9\xFF\""), "not valid UTF-8 at byte 3 (line 1, column 3)" },
        { STR_INIT("\xEF\xBB\xBF{}"), "a value is expected here at byte 0 (line 1, column 1)" },
        { STR_INIT("{\"a\":1,\n\"b\":2,\"a\":3}"), "a key that this object has already at byte 14 (line 2, column 7)" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_refused(cases[i].text, JSON_STRICT, cases[i].message);
    }
}

static void sixty_four_levels_are_read_and_written_and_one_more_is_refused(void **state) {
    (void)state;
    char text[2 * 65 + 1];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    check_written(text, json_append_node, text);
    check_written(text, json_append_canonical, text);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    check_refused(uar_str_n(text, 130), JSON_STRICT, "nested deeper than 64 levels at byte 64 (line 1, column 65)");
}

static void a_million_brackets_are_refused_quickly(void **state) {
    (void)state;
    char *text = malloc(1000000);
    assert_non_null(text);
    memset(text, '[', 1000000);
    check_refused(uar_str_n(text, 1000000), JSON_STRICT, NULL);
    free(text);
}

static void a_text_over_the_limit_is_too_large(void **state) {
    (void)state;
    cJSON *tree = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(json_read(&tree, &alloc_default, STR("[1,2]"), 4, &err), UAR_E_TOO_LARGE);
    assert_null(tree);
    assert_string_equal(err.message, "the JSON text has 5 bytes, the limit is 4");
    assert_int_equal(json_read(&tree, &alloc_default, STR("[1,2]"), 5, &err), UAR_OK);
    drop(tree);
}

static void an_absent_text_is_refused_and_one_that_lies_is_invalid(void **state) {
    (void)state;
    cJSON *tree = NULL;
    check_refused(uar_str_of(NULL), JSON_STRICT, NULL);
    assert_int_equal(json_read(&tree, &alloc_default, uar_str_n(NULL, 3), LIMIT, NULL), UAR_E_INVALID);
    assert_null(tree);
}

static void the_tree_is_one_that_cjson_can_read(void **state) {
    (void)state;
    cJSON *tree = read_ok("{\"a\":[1,\"x\",null,true,false],\"b\":{\"c\":-2.5}}");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(tree, "a");
    assert_int_equal(cJSON_GetArraySize(list), 5);
    assert_int_equal(cJSON_GetArrayItem(list, 0)->valueint, 1);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(list, 1)), "x");
    assert_true(cJSON_IsNull(cJSON_GetArrayItem(list, 2)));
    assert_true(cJSON_IsTrue(cJSON_GetArrayItem(list, 3)));
    assert_true(cJSON_IsFalse(cJSON_GetArrayItem(list, 4)));
    assert_true(cJSON_IsObject(cJSON_GetArrayItem(tree, 1)));
    assert_true(list->child->prev == cJSON_GetArrayItem(list, 4));
    assert_true(cJSON_GetNumberValue(json_member(json_member(tree, "b"), "c")) == -2.5);
    drop(tree);
}

static void escapes_become_the_characters_they_stand_for(void **state) {
    (void)state;
    cJSON *tree = read_ok("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u65E5\\ud83d\\ude00 and more\"");
    assert_string_equal(tree->valuestring, "\"\\/\b\f\n\r\tA\xC3\xA9\xE6\x97\xA5" GRIN " and more");
    drop(tree);
}

static void special_bytes_are_found_at_every_place_of_a_word(void **state) {
    (void)state;
    for (size_t at = 0; at < 24; at++) {
        char text[40] = "\"........................\"";
        text[1 + at] = '\x1F';
        check_refused(uar_str_n(text, 26), JSON_STRICT, NULL);
        text[1 + at] = '\xFF';
        check_refused(uar_str_n(text, 26), JSON_STRICT, NULL);
        text[1 + at] = '"';
        check_refused(uar_str_n(text, 26), JSON_STRICT, NULL);
        text[1 + at] = '\\';
        check_refused(uar_str_n(text, 26), JSON_STRICT, NULL);
        text[1 + at] = '\x7F';
        drop(read_ok(text));
    }
}

/* ---- Duplicate keys ---- */

/* An object of `count` members k0, k1, … in a scattered order; the last member repeats the key of the `repeat`-th. */
static void many_members(buffer *out, size_t count, size_t repeat) {
    buffer_init(out, &alloc_default, LIMIT);
    buffer_append_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        size_t at = repeat < count && i == count - 1 ? repeat : i;
        buffer_append_text(out, i > 0 ? ",\"a common beginning " : "\"a common beginning ");
        buffer_append_u64(out, (at * 7919) % 1000003);
        buffer_append_text(out, "\":");
        buffer_append_u64(out, i);
    }
    buffer_append_char(out, '}');
    assert_int_equal(out->status, UAR_OK);
}

static void a_hundred_thousand_keys_are_read_and_one_repeat_among_them_is_found(void **state) {
    (void)state;
    buffer text;
    many_members(&text, 100000, SIZE_MAX);
    cJSON *tree = read_ok_mode(buffer_str(&text), JSON_STRICT, NULL);
    assert_int_equal(cJSON_GetArraySize(tree), 100000);
    drop(tree);
    buffer_dispose(&text);

    many_members(&text, 100000, 50000);
    check_refused(buffer_str(&text), JSON_STRICT, NULL);
    buffer_dispose(&text);
}

static void a_repeat_is_found_at_every_size_and_place(void **state) {
    (void)state;
    for (size_t count = 2; count < 40; count++) {
        for (size_t repeat = 0; repeat < count - 1; repeat++) {
            buffer text;
            json_notes notes;
            many_members(&text, count, repeat);
            check_refused(buffer_str(&text), JSON_STRICT, NULL);
            cJSON *tree = read_ok_mode(buffer_str(&text), JSON_PROVIDER, &notes);
            assert_int_equal(notes.duplicates, 1);
            assert_int_equal(cJSON_GetArraySize(tree), count - 1);
            assert_int_equal(tree->child->prev->valueint, count - 1);
            drop(tree);
            buffer_dispose(&text);
        }
    }
}

static void a_repeat_is_found_in_an_object_inside_another(void **state) {
    (void)state;
    for (size_t count = 10; count < 40; count += 10) {
        buffer inner;
        buffer outer;
        json_notes notes;
        many_members(&inner, count, 3);
        buffer_init(&outer, &alloc_default, LIMIT);
        buffer_append_text(&outer, "{\"z\":1,\"y\":2,\"x\":");
        buffer_append_str(&outer, buffer_str(&inner));
        buffer_append_text(&outer, ",\"w\":3}");
        check_refused(buffer_str(&outer), JSON_STRICT, NULL);
        cJSON *tree = read_ok_mode(buffer_str(&outer), JSON_PROVIDER, &notes);
        assert_int_equal(cJSON_GetArraySize(json_member(tree, "x")), count - 1);
        assert_int_equal(cJSON_GetArraySize(tree), 4);
        drop(tree);
        buffer_dispose(&inner);
        buffer_dispose(&outer);
    }
}

static void the_first_repeat_in_the_text_is_the_one_that_is_named(void **state) {
    (void)state;
    check_refused(STR("{\"b\":1,\"a\":1,\"a\":1,\"b\":1}"), JSON_STRICT,
                  "a key that this object has already at byte 13 (line 1, column 14)");
}

static void keys_are_compared_after_their_escapes_are_resolved(void **state) {
    (void)state;
    check_refused(STR("{\"a\":1,\"\\u0061\":2}"), JSON_STRICT, NULL);
    drop(read_ok("{\"a\":1,\"A\":2,\"\":3,\"ab\":4}"));
}

static void the_same_key_in_two_objects_is_no_repeat(void **state) {
    (void)state;
    drop(read_ok("{\"a\":{\"a\":{\"a\":1},\"b\":2},\"b\":[{\"a\":1},{\"a\":2}]}"));
}

/* ---- Provider reading ---- */

static void a_provider_may_send_what_strict_json_refuses_and_each_is_counted(void **state) {
    (void)state;
    json_notes notes;
    cJSON *tree = read_ok_mode(STR("{\"a\":\"x\\u0000y\",\"b\":\"\\ud83d\",\"c\":\"\\ude00!\",\"a\":\"last\"}"),
                               JSON_PROVIDER, &notes);
    assert_int_equal(notes.nuls, 1);
    assert_int_equal(notes.surrogates, 2);
    assert_int_equal(notes.duplicates, 1);
    assert_true(str_is(json_text(tree, "a"), "last"));
    assert_true(str_is(json_text(tree, "b"), "\xED\xA0\xBD"));
    assert_true(str_is(json_text(tree, "c"), "\xED\xB8\x80!"));
    drop(tree);
}

static void what_only_looks_like_the_second_half_of_a_pair_stays_text(void **state) {
    (void)state;
    json_notes notes;
    cJSON *tree = read_ok_mode(STR("[\"\\ud83d\\nde00\",\"\\ud83dxude00\",\"\\ud83d\\u0041\"]"), JSON_PROVIDER, &notes);
    assert_true(str_is(json_node_text(cJSON_GetArrayItem(tree, 0)), "\xED\xA0\xBD\nde00"));
    assert_true(str_is(json_node_text(cJSON_GetArrayItem(tree, 1)), "\xED\xA0\xBDxude00"));
    assert_true(str_is(json_node_text(cJSON_GetArrayItem(tree, 2)), "\xED\xA0\xBD"
                                                                    "A"));
    assert_int_equal(notes.surrogates, 3);
    drop(tree);
}

static void of_many_repeats_a_provider_s_last_wins_and_keeps_its_place(void **state) {
    (void)state;
    json_notes notes;
    cJSON *tree =
        read_ok_mode(STR("{\"a\":1,\"b\":{\"x\":[1]},\"a\":2,\"b\":3,\"c\":4,\"a\":5,\"b\":6}"), JSON_PROVIDER, &notes);
    char *text = written(tree, json_append_node);
    assert_string_equal(text, "{\"c\":4,\"a\":5,\"b\":6}");
    assert_int_equal(notes.duplicates, 4);
    alloc_free(&alloc_default, text);
    drop(tree);
}

static void a_provider_s_u_0000_becomes_a_replacement_also_in_keys(void **state) {
    (void)state;
    json_notes notes;
    cJSON *tree = read_ok_mode(STR("{\"k\\u0000\":1}"), JSON_PROVIDER, &notes);
    assert_string_equal(tree->child->string, "k" FFFD);
    assert_int_equal(notes.nuls, 1);
    drop(tree);
}

static void a_raw_u_0000_and_broken_bytes_are_refused_from_a_provider_too(void **state) {
    (void)state;
    check_refused(STR("\"a\0b\""), JSON_PROVIDER, "U+0000 is not allowed at byte 2 (line 1, column 3)");
    check_refused(STR("\"\xED\xA0\xBD\""), JSON_PROVIDER, NULL);
    check_refused(STR("{} x"), JSON_PROVIDER, NULL);
}

static void test_E7_a_pair_split_over_two_chunks_of_a_provider_arrives_whole(void **state) {
    (void)state;
    utf8_lane lane;
    buffer out;
    utf8_lane_init(&lane);
    buffer_init(&out, &alloc_default, 100);
    cJSON *first = read_ok_mode(STR("\"hi \\ud83d\""), JSON_PROVIDER, NULL);
    cJSON *second = read_ok_mode(STR("\"\\ude00!\""), JSON_PROVIDER, NULL);
    utf8_lane_push(&lane, json_node_text(first), &out);
    utf8_lane_push(&lane, json_node_text(second), &out);
    utf8_lane_end(&lane, &out);
    assert_string_equal(out.ptr, "hi " GRIN "!");
    assert_int_equal(lane.broken, 0);
    assert_false(lane.truncated);
    buffer_dispose(&out);
    drop(first);
    drop(second);
}

/* ---- Members ---- */

static void members_are_read_by_type_or_are_absent(void **state) {
    (void)state;
    cJSON *tree = read_ok("{\"s\":\"text\",\"e\":\"\",\"t\":true,\"f\":false,\"n\":null,\"d\":0.5}");
    double d = 0;
    assert_true(str_is(json_text(tree, "s"), "text"));
    assert_non_null(json_text(tree, "e").ptr);
    assert_null(json_text(tree, "t").ptr);
    assert_null(json_text(tree, "missing").ptr);
    assert_true(json_flag(tree, "t", false));
    assert_false(json_flag(tree, "f", true));
    assert_true(json_flag(tree, "n", true));
    assert_false(json_flag(tree, "missing", false));
    assert_true(json_f64(tree, "d", &d) && d == 0.5);
    assert_false(json_f64(tree, "s", &d));
    assert_null(json_member(tree, "S"));
    assert_null(json_member(json_member(tree, "s"), "s"));
    assert_null(json_member(NULL, "s"));
    assert_null(json_node_text(NULL).ptr);
    drop(tree);
}

typedef struct integer_case {
    const char *text;
    bool is_u64, is_i64;
    uint64_t u64;
    int64_t i64;
} integer_case;

static void integers_are_exact_whatever_their_notation(void **state) {
    (void)state;
    static const integer_case cases[] = {
        { "0", true, true, 0, 0 },
        { "-0", true, true, 0, 0 },
        { "0.000e-7", true, true, 0, 0 },
        { "1.0", true, true, 1, 1 },
        { "1e2", true, true, 100, 100 },
        { "1.5e1", true, true, 15, 15 },
        { "1200e-2", true, true, 12, 12 },
        { "-7", false, true, 0, -7 },
        { "1.5", false, false, 0, 0 },
        { "15e-1", false, false, 0, 0 },
        { "1e-1", false, false, 0, 0 },
        { "1e-400", false, false, 0, 0 },
        { "9007199254740993", true, true, 9007199254740993, 9007199254740993 },
        { "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
        { "9223372036854775808", true, false, UINT64_C(9223372036854775808), 0 },
        { "-9223372036854775808", false, true, 0, INT64_MIN },
        { "-9223372036854775809", false, false, 0, 0 },
        { "18446744073709551615", true, false, UINT64_MAX, 0 },
        { "18446744073709551615.000000000000000000000000", true, false, UINT64_MAX, 0 },
        { "1844674407370955161500000e-5", true, false, UINT64_MAX, 0 },
        { "1844674407370955161e1", true, false, UINT64_C(18446744073709551610), 0 },
        { "1844674407370955162e1", false, false, 0, 0 },
        { "18446744073709551616", false, false, 0, 0 },
        { "1e20", false, false, 0, 0 },
        { "1e999999999999999999999", false, false, 0, 0 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const integer_case *c = &cases[i];
        cJSON *node = read_ok(c->text);
        uint64_t u = 0;
        int64_t s = 0;
        if (json_node_u64(node, &u) != c->is_u64 || u != c->u64) fail_msg("u64 of %s", c->text);
        if (json_node_i64(node, &s) != c->is_i64 || s != c->i64) fail_msg("i64 of %s", c->text);
        drop(node);
    }
}

static void what_is_no_integer_leaves_the_output_untouched(void **state) {
    (void)state;
    cJSON *tree = read_ok("{\"s\":\"1\",\"d\":1.5,\"n\":-1}");
    uint64_t u = 42;
    int64_t i = 42;
    assert_false(json_u64(tree, "s", &u) || json_u64(tree, "d", &u) || json_u64(tree, "n", &u) ||
                 json_u64(tree, "x", &u));
    assert_false(json_i64(tree, "s", &i) || json_i64(tree, "d", &i) || json_i64(NULL, "n", &i));
    assert_int_equal(u, 42);
    assert_int_equal(i, 42);
    assert_true(json_i64(tree, "n", &i));
    assert_int_equal(i, -1);
    drop(tree);
}

static void numbers_out_of_range_are_clamped_in_the_double_and_kept_in_the_text(void **state) {
    (void)state;
    cJSON *tree = read_ok("[1e400,-1e400,123456789012345678901234567890]");
    assert_true(tree->child->valuedouble == DBL_MAX);
    assert_true(tree->child->next->valuedouble == -DBL_MAX);
    drop(tree);
    check_written("[1e400,-1.50E+400,0.10,-0,12345678901234567890]", json_append_node,
                  "[1e400,-1.50E+400,0.10,-0,12345678901234567890]");
}

/* ---- Writing ---- */

static void check_string(uar_str input, const char *expected) {
    buffer out;
    buffer_init(&out, &alloc_default, LIMIT);
    json_append_string(&out, input);
    assert_string_equal(out.ptr, expected);
    drop(read_ok(out.ptr));
    buffer_dispose(&out);
}

static void strings_are_written_with_the_least_escapes(void **state) {
    (void)state;
    check_string(STR(""), "\"\"");
    check_string(uar_str_of(NULL), "\"\"");
    check_string(STR("a/b \x7F \xE2\x80\xA8 \xC3\xA9 " GRIN), "\"a/b \x7F \xE2\x80\xA8 \xC3\xA9 " GRIN "\"");
    check_string(STR("\"\\\b\f\n\r\t\x01\x1F"), "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\"");
    check_string(STR("a longer run, then \"quotes\", then the end of it"),
                 "\"a longer run, then \\\"quotes\\\", then the end of it\"");
}

static void what_the_reader_would_refuse_is_written_as_a_replacement(void **state) {
    (void)state;
    check_string(STR("a\0b"), "\"a" FFFD "b\"");
    check_string(STR("a\xFF\xE6\x97"), "\"a" FFFD FFFD "\"");
    check_string(STR("\xED\xA0\xBD."), "\"" FFFD ".\"");
}

static void canonical_text_has_its_members_sorted_by_key_bytes_at_every_depth(void **state) {
    (void)state;
    check_written(
        "{ \"b\" : 1, \"a\" : { \"z\": [ {\"y\":1,\"x\":2} ], \"\": 0 }, \"B\": 2, \"\xC3\xA9\": 3, \"ab\":4 }",
        json_append_canonical, "{\"B\":2,\"a\":{\"\":0,\"z\":[{\"x\":2,\"y\":1}]},\"ab\":4,\"b\":1,\"\xC3\xA9\":3}");
}

static void document_order_is_kept_when_not_canonical(void **state) {
    (void)state;
    check_written(" { \"b\" : 1 , \"a\" : [ ] , \"c\" : { } } ", json_append_node, "{\"b\":1,\"a\":[],\"c\":{}}");
}

static void keys_with_long_common_beginnings_are_sorted_too(void **state) {
    (void)state;
    for (size_t count = 2; count < 300; count = count * 3 / 2 + 1) {
        buffer text;
        many_members(&text, count, SIZE_MAX);
        cJSON *tree = read_ok_mode(buffer_str(&text), JSON_STRICT, NULL);
        char *canonical = written(tree, json_append_canonical);
        cJSON *sorted = read_ok(canonical);
        assert_int_equal(cJSON_GetArraySize(sorted), count);
        for (const cJSON *m = sorted->child; m->next != NULL; m = m->next) {
            assert_true(strcmp(m->string, m->next->string) < 0);
        }
        alloc_free(&alloc_default, canonical);
        drop(sorted);
        drop(tree);
        buffer_dispose(&text);
    }
}

static void keys_that_differ_in_one_byte_anywhere_are_two_keys_in_order(void **state) {
    (void)state;
    for (int at = 0; at < 20; at++) {
        char keys[2][32];
        char text[128];
        char expected[128];
        snprintf(keys[0], sizeof keys[0], "%.*sa%.*s", at, "twenty bytes of a key", 3, "end");
        snprintf(keys[1], sizeof keys[1], "%.*sb%.*s", at, "twenty bytes of a key", 2, "end");
        snprintf(text, sizeof text, "{\"%s\":2,\"%s\":1}", keys[1], keys[0]);
        snprintf(expected, sizeof expected, "{\"%s\":1,\"%s\":2}", keys[0], keys[1]);
        check_written(text, json_append_canonical, expected);
        snprintf(text, sizeof text, "{\"%.*s\":2,\"%.*s\":1}", at + 1, keys[0], at, keys[0]);
        snprintf(expected, sizeof expected, "{\"%.*s\":1,\"%.*s\":2}", at, keys[0], at + 1, keys[0]);
        check_written(text, json_append_canonical, expected);
    }
}

static void no_tree_is_written_as_null(void **state) {
    (void)state;
    char *text = written(NULL, json_append_node);
    assert_string_equal(text, "null");
    alloc_free(&alloc_default, text);
}

static void a_tree_deeper_than_any_reader_makes_is_not_written(void **state) {
    (void)state;
    cJSON nodes[65];
    buffer out;
    memset(nodes, 0, sizeof nodes);
    for (size_t i = 0; i < COUNT(nodes); i++) {
        nodes[i].type = cJSON_Array;
        nodes[i].child = i + 1 < COUNT(nodes) ? &nodes[i + 1] : NULL;
    }
    buffer_init(&out, &alloc_default, LIMIT);
    json_append_node(&out, &nodes[0]);
    assert_int_equal(out.status, UAR_E_TOO_LARGE);
    buffer_reset(&out);
    json_append_node(&out, &nodes[1]);
    assert_int_equal(out.status, UAR_OK);
    buffer_dispose(&out);
}

static void a_number_made_without_a_token_is_written_from_its_double(void **state) {
    (void)state;
    cJSON node;
    memset(&node, 0, sizeof node);
    node.type = cJSON_Number;
    node.valuedouble = 0.1;
    char *text = written(&node, json_append_node);
    assert_string_equal(text, "0.1");
    alloc_free(&alloc_default, text);
}

static void write_sample(json_writer *w) {
    uar_uuid id = { { 1, 2, 3, 4, 5, 6, 0x77, 8, 0x89, 10, 11, 12, 13, 14, 15, 16 } };
    uar_uuid none = { { 0 } };
    json_object_begin(w);
    json_put_str(w, "text", STR("a \"b\""));
    json_put_str(w, "absent", uar_str_of(NULL));
    json_put_uint(w, "uint", UINT64_MAX);
    json_put_int(w, "int", INT64_MIN);
    json_put_bool(w, "yes", true);
    json_put_bool(w, "no", false);
    json_put_raw(w, "raw", STR("{\"x\":[1]}"));
    json_put_raw(w, "no raw", uar_str_of(NULL));
    json_put_uuid(w, "id", id);
    json_put_uuid(w, "no id", none);
    json_key(w, "list");
    json_array_begin(w);
    json_double(w, 0.5);
    json_array_begin(w);
    json_array_end(w);
    json_object_begin(w);
    json_object_end(w);
    json_null(w);
    json_array_end(w);
    json_object_end(w);
}

static void the_writer_places_commas_and_colons(void **state) {
    (void)state;
    buffer out;
    json_writer w;
    buffer_init(&out, &alloc_default, LIMIT);
    json_writer_init(&w, &out);
    write_sample(&w);
    assert_string_equal(out.ptr, "{\"text\":\"a \\\"b\\\"\",\"absent\":null,\"uint\":18446744073709551615,"
                                 "\"int\":-9223372036854775808,\"yes\":true,\"no\":false,\"raw\":{\"x\":[1]},"
                                 "\"no raw\":null,\"id\":\"01020304-0506-7708-890a-0b0c0d0e0f10\",\"no id\":null,"
                                 "\"list\":[0.5,[],{},null]}");
    drop(read_ok(out.ptr));
    buffer_dispose(&out);
}

static void the_writer_nests_sixty_four_deep_and_no_deeper(void **state) {
    (void)state;
    for (unsigned depth = 64; depth <= 65; depth++) {
        buffer out;
        json_writer w;
        buffer_init(&out, &alloc_default, LIMIT);
        json_writer_init(&w, &out);
        for (unsigned i = 0; i < depth; i++) {
            json_array_begin(&w);
            json_int(&w, 1);
        }
        for (unsigned i = 0; i < depth; i++) {
            json_int(&w, 2);
            json_array_end(&w);
        }
        assert_int_equal(out.status, depth == 64 ? UAR_OK : UAR_E_TOO_LARGE);
        if (depth == 64) drop(read_ok(out.ptr));
        buffer_dispose(&out);
    }
}

/* ---- Running out of memory ---- */

static void round_of_reading(probe_alloc *probe, uar_str text, json_mode mode, bool *has_failed) {
    cJSON untouched;
    cJSON *tree = &untouched;
    json_notes notes = { 7, 7, 7 };
    uar_error err = UAR_ERROR_INIT;
    uar_status status = json_read_mode(&tree, &probe->door, text, LIMIT, mode, &notes, &err);
    *has_failed = probe_alloc_has_failed(probe);
    if (*has_failed) {
        assert_int_equal(status, UAR_E_NOMEM);
        assert_int_equal(err.code, UAR_E_NOMEM);
        assert_ptr_equal(tree, &untouched);
        assert_int_equal(notes.duplicates, 7);
    } else {
        assert_int_equal(status, UAR_OK);
        json_free(&probe->door, tree);
    }
    assert_int_equal(probe->alive, 0);
}

static void sweep_reading(uar_str text, json_mode mode) {
    probe_alloc probe;
    probe_alloc_init(&probe);
    for (int for_good = 0; for_good <= 1; for_good++) {
        bool has_failed = true;
        for (unsigned long n = 1; has_failed; n++) {
            probe_alloc_arm(&probe, n, for_good != 0);
            round_of_reading(&probe, text, mode, &has_failed);
        }
    }
}

static void reading_without_memory_leaks_nothing_and_touches_no_output(void **state) {
    (void)state;
    buffer many;
    many_members(&many, 100, 40);
    sweep_reading(STR("{\"a\":[1,\"x\",{\"b\":null}],\"c\":{\"d\":\"\\n\"}}"), JSON_STRICT);
    sweep_reading(STR("{\"a\":[1],\"a\":{\"b\":[]},\"c\":1}"), JSON_PROVIDER);
    sweep_reading(buffer_str(&many), JSON_PROVIDER);
    buffer_dispose(&many);
}

static void a_text_cut_anywhere_is_refused_leaks_nothing_and_is_not_read_beyond(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_str text = STR(
        "{\"a\":[0,-10.25e+3,\"x\\u00e9\\ud83d\\ude00 and more\",{\"b\":null}],\"c\":{\"d\":\"\\n\",\"e\":[true]}}");
    for (size_t len = 0; len < text.len; len++) {
        for (size_t from = 0; from <= len; from++) {
            /* Exactly as large as the text, so that the sanitizers see a read beyond it. */
            char *exact = malloc(len - from + (len == from));
            cJSON *tree = NULL;
            assert_non_null(exact);
            memcpy(exact, text.ptr + from, len - from);
            uar_status status = json_read(&tree, &probe.door, uar_str_n(exact, len - from), LIMIT, NULL);
            assert_true(status == UAR_E_JSON || (status == UAR_OK && from > 0));
            json_free(&probe.door, tree);
            free(exact);
            assert_int_equal(probe.alive, 0);
        }
    }
}

static void writing_without_memory_leaves_the_status_in_the_buffer(void **state) {
    (void)state;
    buffer many;
    many_members(&many, 40, SIZE_MAX);
    cJSON *tree = read_ok_mode(buffer_str(&many), JSON_STRICT, NULL);
    probe_alloc probe;
    probe_alloc_init(&probe);
    bool has_failed = true;
    for (unsigned long n = 1; has_failed; n++) {
        buffer out;
        json_writer w;
        buffer_init(&out, &probe.door, LIMIT);
        json_writer_init(&w, &out);
        probe_alloc_arm(&probe, n, n % 2 == 0);
        write_sample(&w);
        json_append_canonical(&out, tree);
        has_failed = probe_alloc_has_failed(&probe);
        assert_int_equal(out.status, has_failed ? UAR_E_NOMEM : UAR_OK);
        buffer_dispose(&out);
        assert_int_equal(probe.alive, 0);
    }
    drop(tree);
    buffer_dispose(&many);
}

static void freeing_no_tree_is_fine(void **state) {
    (void)state;
    json_free(&alloc_default, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_files_that_are_json_are_read_but_for_four_by_name),
        cmocka_unit_test(suite_files_that_are_not_json_are_refused_in_both_modes),
        cmocka_unit_test(suite_files_that_the_standard_leaves_open_are_decided_by_name),
        cmocka_unit_test(whatever_is_read_of_the_suite_survives_writing_and_reading),
        cmocka_unit_test(each_fault_is_named_with_its_byte_line_and_column),
        cmocka_unit_test(sixty_four_levels_are_read_and_written_and_one_more_is_refused),
        cmocka_unit_test(a_million_brackets_are_refused_quickly),
        cmocka_unit_test(a_text_over_the_limit_is_too_large),
        cmocka_unit_test(an_absent_text_is_refused_and_one_that_lies_is_invalid),
        cmocka_unit_test(the_tree_is_one_that_cjson_can_read),
        cmocka_unit_test(escapes_become_the_characters_they_stand_for),
        cmocka_unit_test(special_bytes_are_found_at_every_place_of_a_word),
        cmocka_unit_test(a_hundred_thousand_keys_are_read_and_one_repeat_among_them_is_found),
        cmocka_unit_test(a_repeat_is_found_at_every_size_and_place),
        cmocka_unit_test(a_repeat_is_found_in_an_object_inside_another),
        cmocka_unit_test(the_first_repeat_in_the_text_is_the_one_that_is_named),
        cmocka_unit_test(keys_are_compared_after_their_escapes_are_resolved),
        cmocka_unit_test(the_same_key_in_two_objects_is_no_repeat),
        cmocka_unit_test(a_provider_may_send_what_strict_json_refuses_and_each_is_counted),
        cmocka_unit_test(what_only_looks_like_the_second_half_of_a_pair_stays_text),
        cmocka_unit_test(of_many_repeats_a_provider_s_last_wins_and_keeps_its_place),
        cmocka_unit_test(a_provider_s_u_0000_becomes_a_replacement_also_in_keys),
        cmocka_unit_test(a_raw_u_0000_and_broken_bytes_are_refused_from_a_provider_too),
        cmocka_unit_test(test_E7_a_pair_split_over_two_chunks_of_a_provider_arrives_whole),
        cmocka_unit_test(members_are_read_by_type_or_are_absent),
        cmocka_unit_test(integers_are_exact_whatever_their_notation),
        cmocka_unit_test(what_is_no_integer_leaves_the_output_untouched),
        cmocka_unit_test(numbers_out_of_range_are_clamped_in_the_double_and_kept_in_the_text),
        cmocka_unit_test(strings_are_written_with_the_least_escapes),
        cmocka_unit_test(what_the_reader_would_refuse_is_written_as_a_replacement),
        cmocka_unit_test(canonical_text_has_its_members_sorted_by_key_bytes_at_every_depth),
        cmocka_unit_test(document_order_is_kept_when_not_canonical),
        cmocka_unit_test(keys_with_long_common_beginnings_are_sorted_too),
        cmocka_unit_test(keys_that_differ_in_one_byte_anywhere_are_two_keys_in_order),
        cmocka_unit_test(no_tree_is_written_as_null),
        cmocka_unit_test(a_tree_deeper_than_any_reader_makes_is_not_written),
        cmocka_unit_test(a_number_made_without_a_token_is_written_from_its_double),
        cmocka_unit_test(the_writer_places_commas_and_colons),
        cmocka_unit_test(the_writer_nests_sixty_four_deep_and_no_deeper),
        cmocka_unit_test(reading_without_memory_leaks_nothing_and_touches_no_output),
        cmocka_unit_test(a_text_cut_anywhere_is_refused_leaks_nothing_and_is_not_read_beyond),
        cmocka_unit_test(writing_without_memory_leaves_the_status_in_the_buffer),
        cmocka_unit_test(freeing_no_tree_is_fine),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
