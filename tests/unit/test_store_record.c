/* Keys, names, checksums and copies of records; base64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/base64.h"
#include "store/record.h"
#include "support/probe_alloc.h"

static arena memory;

static int setup(void **state) {
    (void)state;
    arena_init(&memory, &alloc_default);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_dispose(&memory);
    return 0;
}

static uar_record sample(void) {
    uar_record r = { .kind = UAR_RECORD_MESSAGE,
                     .schema = 1,
                     .owner = STR("local"),
                     .id = STR("id"),
                     .parent = STR("parent"),
                     .revision = 3,
                     .has_sort = true,
                     .sort = -7,
                     .created_ms = 1000,
                     .updated_ms = 2000,
                     .body = STR("{\"a\":1}"),
                     .blob = STR("blob") };
    assert_int_equal(record_seal(&r), UAR_OK);
    return r;
}

/* ---- host ids ---- */

static void host_ids_of_1_to_128_bytes_are_accepted(void **state) {
    (void)state;
    char text[HOST_ID_MAX];
    memset(text, 'x', sizeof text);
    assert_int_equal(host_id_check(STR("u"), "user", NULL), UAR_OK);
    assert_int_equal(host_id_check(uar_str_n(text, sizeof text), "user", NULL), UAR_OK);
    assert_int_equal(host_id_check(STR("J\xc3\xb6rg \xf0\x9f\x98\x80 ~!'\""), "user", NULL), UAR_OK);
    assert_int_equal(host_id_check(STR("\xc2\xa0"), "user", NULL), UAR_OK); /* the first character behind C1 */
}

static void a_bad_host_id_is_refused_and_named(void **state) {
    (void)state;
    char text[HOST_ID_MAX + 1];
    memset(text, 'x', sizeof text);
    const uar_str bad[] = { STR(""),
                            uar_str_n(NULL, 0),
                            uar_str_n(text, sizeof text),
                            STR("a\x1f"
                                "b"),
                            STR("a\nb"),
                            uar_str_n("a\0b", 3),
                            STR("\x7f"),
                            STR("\xc2\x80"),
                            STR("\xc2\x9f"),
                            STR("\xff"),
                            STR("\xed\xa0\x80"),
                            STR("\xc3") };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(host_id_check(bad[i], "session", &err), UAR_E_INVALID);
        assert_int_equal(err.code, UAR_E_INVALID);
        assert_non_null(strstr(err.message, "session"));
    }
}

/* ---- keys ---- */

static void a_key_joins_two_ids_with_a_separator(void **state) {
    (void)state;
    uar_str key;
    assert_int_equal(record_key(&key, &memory, STR("user"), STR("session")), UAR_OK);
    assert_true(uar_str_equal(key, STR("user\x1fsession")));
}

static void keys_of_different_pairs_differ(void **state) {
    (void)state;
    uar_str a, b;
    assert_int_equal(record_key(&a, &memory, STR("ab"), STR("c")), UAR_OK);
    assert_int_equal(record_key(&b, &memory, STR("a"), STR("bc")), UAR_OK);
    assert_false(uar_str_equal(a, b));
}

static void a_key_half_with_a_separator_or_nothing_in_it_is_refused(void **state) {
    (void)state;
    char text[RECORD_ID_MAX];
    memset(text, 'x', sizeof text);
    uar_str key = STR("untouched");
    assert_int_equal(record_key(&key, &memory, STR("a\x1f"), STR("b")), UAR_E_INVALID);
    assert_int_equal(record_key(&key, &memory, STR("a"), STR("\x1f")), UAR_E_INVALID);
    assert_int_equal(record_key(&key, &memory, STR(""), STR("b")), UAR_E_INVALID);
    assert_int_equal(record_key(&key, &memory, STR("a"), uar_str_n(NULL, 0)), UAR_E_INVALID);
    assert_int_equal(record_key(&key, &memory, uar_str_n(text, RECORD_ID_MAX - 1), STR("b")), UAR_E_INVALID);
    assert_int_equal(record_key(&key, &memory, uar_str_n(text, RECORD_ID_MAX), STR("b")), UAR_E_INVALID);
    assert_true(uar_str_equal(key, STR("untouched")));
    assert_int_equal(record_key(&key, &memory, uar_str_n(text, RECORD_ID_MAX - 2), STR("b")), UAR_OK);
    assert_int_equal(key.len, RECORD_ID_MAX);
}

/* ---- names ---- */

static void every_kind_has_a_name_and_an_unknown_one_has_none(void **state) {
    (void)state;
    assert_string_equal(record_kind_name(UAR_RECORD_SESSION), "session");
    assert_string_equal(record_kind_name(UAR_RECORD_GRAPH_STATE), "graph_state");
    assert_null(record_kind_name(0));
    assert_null(record_kind_name(4));
    assert_null(record_kind_name(UINT32_MAX));
}

static void a_label_has_no_control_characters_and_ends_at_a_character(void **state) {
    (void)state;
    char label[RECORD_LABEL];
    const uar_record key = { .id = STR("user\x1f"
                                       "s\n1") };
    record_label(label, &key);
    assert_string_equal(label, "user/s?1");
    char text[RECORD_LABEL + 1];
    memset(text, 'x', sizeof text);
    memcpy(text + RECORD_LABEL - 2, "\xc3\xa9", 2);
    const uar_record longer = { .id = uar_str_n(text, RECORD_LABEL) };
    record_label(label, &longer);
    assert_int_equal(strlen(label), RECORD_LABEL - 2);
}

/* ---- checksums ---- */

static void a_sealed_record_verifies(void **state) {
    (void)state;
    const uar_record r = sample();
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(record_verify(&r, &err), UAR_OK);
    assert_int_equal(err.code, UAR_OK);
}

static void assert_damaged(const uar_record *r) {
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(record_verify(r, &err), UAR_E_CORRUPT);
    assert_int_equal(err.code, UAR_E_CORRUPT);
}

static void a_change_of_any_field_is_seen(void **state) {
    (void)state;
    const uar_record good = sample();
#define CHANGED(field, value) \
    do {                      \
        uar_record r = good;  \
        r.field = (value);    \
        assert_damaged(&r);   \
    } while (0)
    CHANGED(kind, UAR_RECORD_RUN);
    CHANGED(schema, 2);
    CHANGED(owner, STR("locam"));
    CHANGED(id, STR("ie"));
    CHANGED(parent, STR("parenu"));
    CHANGED(revision, 4);
    CHANGED(revision, 3 + ((uint64_t)1 << 63));
    CHANGED(has_sort, false);
    CHANGED(sort, 7);
    CHANGED(created_ms, 1001);
    CHANGED(updated_ms, -2000);
    CHANGED(body, STR("{\"a\":2}"));
    CHANGED(blob, STR("blub"));
    CHANGED(checksum[15], (uint8_t)(good.checksum[15] ^ 1));
#undef CHANGED
}

static void bytes_that_move_to_the_neighbour_field_are_seen(void **state) {
    (void)state;
    uar_record r = sample();
    r.owner = STR("loca");
    r.id = STR("lid");
    assert_damaged(&r);
    r = sample();
    r.body = STR("{\"a\":1}blob");
    r.blob = STR("");
    assert_damaged(&r);
}

static void an_absent_text_and_an_empty_one_have_different_checksums(void **state) {
    (void)state;
    uar_record r = sample();
    r.blob = uar_str_n(NULL, 0);
    assert_int_equal(record_seal(&r), UAR_OK);
    assert_int_equal(record_verify(&r, NULL), UAR_OK);
    r.blob = STR("");
    assert_damaged(&r);
}

static void the_sort_of_an_unsorted_record_does_not_count(void **state) {
    (void)state;
    uar_record r = sample();
    r.has_sort = false;
    assert_int_equal(record_seal(&r), UAR_OK);
    r.sort = 99;
    assert_int_equal(record_verify(&r, NULL), UAR_OK);
}

static void the_checksum_never_changes_between_versions(void **state) {
    (void)state;
    const uar_record r = sample();
    static const uint8_t expected[16] = { 0x08, 0x46, 0xfe, 0x31, 0x59, 0xc4, 0x6a, 0x3d,
                                          0x04, 0xd8, 0x01, 0x6b, 0xb5, 0xd3, 0xcd, 0xc7 };
    assert_memory_equal(r.checksum, expected, sizeof expected);
}

static void a_damaged_record_is_named(void **state) {
    (void)state;
    uar_record r = sample();
    r.revision++;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(record_verify(&r, &err), UAR_E_CORRUPT);
    assert_non_null(strstr(err.message, "message"));
    assert_non_null(strstr(err.message, "id"));
    r.kind = 4;
    assert_int_equal(record_verify(&r, &err), UAR_E_CORRUPT);
    assert_non_null(strstr(err.message, "unknown"));
}

/* ---- copies ---- */

static void a_copy_shares_no_byte_with_its_original(void **state) {
    (void)state;
    char body[] = "{\"a\":1}";
    uar_record r = sample();
    r.body = uar_str_of(body);
    r.blob = STR("");
    r.parent = uar_str_n(NULL, 0);
    uar_record copy;
    assert_int_equal(record_copy(&copy, &memory, &r), UAR_OK);
    memset(body, '#', sizeof body - 1);
    assert_true(uar_str_equal(copy.body, STR("{\"a\":1}")));
    assert_non_null(copy.blob.ptr);
    assert_int_equal(copy.blob.len, 0);
    assert_null(copy.parent.ptr);
    assert_int_equal(copy.revision, 3);
    assert_memory_equal(copy.checksum, r.checksum, sizeof r.checksum);
}

static void running_out_of_memory_leaves_outputs_alone_and_nothing_behind(void **state) {
    (void)state;
    char large[5000];
    memset(large, 'x', sizeof large);
    uar_record r = sample();
    r.body = uar_str_n(large, sizeof large);
    r.blob = uar_str_n(large, sizeof large);
    probe_alloc probe;
    probe_alloc_init(&probe);
    bool ended = false;
    for (unsigned long n = 1; !ended; n++) {
        arena ar;
        arena_init(&ar, &probe.door);
        probe_alloc_arm(&probe, n, n % 2 == 0);
        uar_record copy = { .revision = 77 };
        uar_str key = STR("untouched");
        uar_status first = record_copy(&copy, &ar, &r);
        uar_status second = record_key(&key, &ar, STR("a"), STR("b"));
        ended = !probe_alloc_has_failed(&probe);
        if (first != UAR_OK) assert_int_equal(copy.revision, 77);
        if (second != UAR_OK) assert_true(uar_str_equal(key, STR("untouched")));
        assert_true(ended ? first == UAR_OK && second == UAR_OK : first == UAR_E_NOMEM || second == UAR_E_NOMEM);
        arena_dispose(&ar);
        assert_int_equal(probe.alive, 0);
    }
}

/* ---- base64 ---- */

static void base64_follows_the_rfc(void **state) {
    (void)state;
    static const char *const pairs[][2] = { { "", "" },
                                            { "f", "Zg==" },
                                            { "fo", "Zm8=" },
                                            { "foo", "Zm9v" },
                                            { "foob", "Zm9vYg==" },
                                            { "fooba", "Zm9vYmE=" },
                                            { "foobar", "Zm9vYmFy" },
                                            { "\xfb\xff\xfe", "+//+" } };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        buffer b;
        buffer_init(&b, &alloc_default, 100);
        base64_append(&b, uar_str_of(pairs[i][0]));
        assert_true(uar_str_equal(buffer_str(&b), uar_str_of(pairs[i][1])));
        uar_str back;
        assert_int_equal(base64_decode(&back, &memory, buffer_str(&b)), UAR_OK);
        assert_true(uar_str_equal(back, uar_str_of(pairs[i][0])));
        buffer_dispose(&b);
    }
}

static void base64_keeps_every_byte(void **state) {
    (void)state;
    char bytes[256 + 2];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(unsigned char)(i & 0xff);
    for (size_t len = 250; len <= sizeof bytes; len++) {
        buffer b;
        buffer_init(&b, &alloc_default, 1000);
        base64_append(&b, uar_str_n(bytes, len));
        uar_str back;
        assert_int_equal(base64_decode(&back, &memory, buffer_str(&b)), UAR_OK);
        assert_int_equal(back.len, len);
        assert_memory_equal(back.ptr, bytes, len);
        buffer_dispose(&b);
    }
}

static void base64_in_another_spelling_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = { "Z",        "Zg",   "Zg=",   "Zh==", "Zm9=", "====", "=Zg=",
                                       "Zg==Zg==", "Z m9", "Zm9\n", "Zm9-", "Zm9_", "Zg=a", "\xff\xff\xff\xff" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uar_str out = STR("untouched");
        assert_int_equal(base64_decode(&out, &memory, uar_str_of(bad[i])), UAR_E_INVALID);
        assert_true(uar_str_equal(out, STR("untouched")));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_ids_of_1_to_128_bytes_are_accepted),
        cmocka_unit_test(a_bad_host_id_is_refused_and_named),
        cmocka_unit_test(a_key_joins_two_ids_with_a_separator),
        cmocka_unit_test(keys_of_different_pairs_differ),
        cmocka_unit_test(a_key_half_with_a_separator_or_nothing_in_it_is_refused),
        cmocka_unit_test(every_kind_has_a_name_and_an_unknown_one_has_none),
        cmocka_unit_test(a_label_has_no_control_characters_and_ends_at_a_character),
        cmocka_unit_test(a_sealed_record_verifies),
        cmocka_unit_test(a_change_of_any_field_is_seen),
        cmocka_unit_test(bytes_that_move_to_the_neighbour_field_are_seen),
        cmocka_unit_test(an_absent_text_and_an_empty_one_have_different_checksums),
        cmocka_unit_test(the_sort_of_an_unsorted_record_does_not_count),
        cmocka_unit_test(the_checksum_never_changes_between_versions),
        cmocka_unit_test(a_damaged_record_is_named),
        cmocka_unit_test(a_copy_shares_no_byte_with_its_original),
        cmocka_unit_test(running_out_of_memory_leaves_outputs_alone_and_nothing_behind),
        cmocka_unit_test(base64_follows_the_rfc),
        cmocka_unit_test(base64_keeps_every_byte),
        cmocka_unit_test(base64_in_another_spelling_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
