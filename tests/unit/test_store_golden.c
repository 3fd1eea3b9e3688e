/*
 * What older libraries stored is read: golden bodies of every kind in every schema version, as text. Each is read and written
 * anew byte for byte; what is newer is refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "support/body_kinds.h"
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

static void assert_same(uar_str got, uar_str wanted) {
    assert_int_equal(got.ptr == NULL, wanted.ptr == NULL);
    assert_int_equal(got.len, wanted.len);
    if (got.len > 0) assert_memory_equal(got.ptr, wanted.ptr, got.len);
}

static const golden_body *golden(const char *name) {
    for (size_t i = 0; i < golden_body_count; i++)
        if (strcmp(golden_bodies[i].name, name) == 0) return &golden_bodies[i];
    fail_msg("there is no golden %s", name);
    return NULL;
}

/* ---- every version ---- */

static void every_version_of_every_body_is_read_and_written_anew_byte_for_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < golden_body_count; i++) {
        uar_record in = golden_record(&golden_bodies[i]), out;
        uar_error err = UAR_ERROR_INIT;
        uar_status status = body_recode(&out, &memory, &in, &err);
        if (status != UAR_OK) fail_msg("%s: %s", golden_bodies[i].name, err.message);
        assert_same(out.body, in.body);
        assert_same(out.owner, in.owner);
        assert_same(out.id, in.id);
        assert_same(out.parent, in.parent);
        assert_same(out.blob, in.blob);
        assert_int_equal(out.schema, in.schema);
        assert_int_equal(out.has_sort, in.has_sort);
        assert_int_equal(out.sort, in.sort);
    }
}

static void every_golden_body_is_canonical_json(void **state) {
    (void)state;
    for (size_t i = 0; i < golden_body_count; i++) {
        cJSON *tree = NULL;
        buffer again;
        uar_str body = uar_str_of(golden_bodies[i].body);
        buffer_init(&again, &alloc_default, 100000);
        assert_int_equal(json_read(&tree, &alloc_default, body, body.len, NULL), UAR_OK);
        json_append_canonical(&again, tree);
        assert_same(buffer_str(&again), body);
        json_free(&alloc_default, tree);
        buffer_dispose(&again);
    }
}

static void test_R12_versions_that_do_not_exist_yet_are_refused_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < golden_body_count; i++) {
        uar_record in = golden_record(&golden_bodies[i]), out;
        uar_error err = UAR_ERROR_INIT;
        in.schema = body_newest(in.kind) + 1;
        assert_int_equal(body_recode(&out, &memory, &in, &err), UAR_E_NEWER);
        assert_non_null(strstr(err.message, record_kind_name(in.kind)));
        in.schema = 0;
        assert_int_equal(body_recode(&out, &memory, &in, &err), UAR_E_CORRUPT);
    }
}

static void test_R12_no_body_is_read_as_empty(void **state) {
    (void)state;
    static const char *const bad[] = { "", "null", "[]", "{}", "{", "{\"zzz\":1}", "\xef\xbb\xbf{}" };
    for (size_t i = 0; i < golden_body_count; i++)
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            uar_record in = golden_record(&golden_bodies[i]), out;
            uint32_t kind = in.kind;
            /* An agent may say nothing; a checkpoint is the machine's. */
            if (b >= 3 && (kind == UAR_RECORD_AGENT || kind == UAR_RECORD_CHECKPOINT)) continue;
            in.body = uar_str_of(bad[b]);
            assert_int_equal(body_recode(&out, &memory, &in, NULL), UAR_E_CORRUPT);
        }
}

/* Cut at each byte, a member twice, a member nobody knows, a number in another spelling. */
static void test_R13_a_body_that_is_not_its_schema_is_a_typed_error(void **state) {
    (void)state;
    char text[2000];
    for (size_t i = 0; i < golden_body_count; i++) {
        uar_record in = golden_record(&golden_bodies[i]), out;
        for (size_t len = 0; len < strlen(golden_bodies[i].body); len++) {
            in.body = uar_str_n(golden_bodies[i].body, len);
            assert_int_equal(body_recode(&out, &memory, &in, NULL), UAR_E_CORRUPT);
        }
        if (in.kind == UAR_RECORD_CHECKPOINT) continue;
        snprintf(text, sizeof text, "{\"aaa\":1,%s", golden_bodies[i].body + 1);
        in.body = uar_str_of(text);
        assert_int_equal(body_recode(&out, &memory, &in, NULL), UAR_E_CORRUPT);
    }
}

static void test_R13_depth_is_capped(void **state) {
    (void)state;
    static char deep[400];
    size_t n = 0;
    n += (size_t)snprintf(deep, sizeof deep, "{\"value\":");
    for (int i = 0; i < 64; i++)
        deep[n++] = '[';
    for (int i = 0; i < 64; i++)
        deep[n++] = ']';
    deep[n++] = '}';
    uar_record in = golden_record(golden("setting 1")), out;
    in.body = uar_str_n(deep, n);
    assert_int_equal(body_recode(&out, &memory, &in, NULL), UAR_E_CORRUPT);
    uar_setting_type type = { .key = STR("k"), .schema = uar_str_n(deep + 9, n - 10) };
    uar_error err = UAR_ERROR_INIT;
    assert_int_not_equal(setting_type_record(&out, &memory, STR("o"), &type, &err), UAR_OK);
    assert_int_not_equal(err.code, UAR_OK);
}

/* ---- migrations ---- */

static void migration_a_message_of_version_1_reads_as_it_did(void **state) {
    (void)state;
    uar_record in = golden_record(golden("message 1"));
    uar_message m;
    assert_int_equal(message_decode(&m, &memory, &in, NULL), UAR_OK);
    assert_int_equal(m.part_count, 4);
    assert_int_equal(m.number, 9);
    assert_int_equal(m.parts[1].opaque.len, 7);
    assert_true(uar_str_equal(m.recalled, STR("a memory")));
}

static void migration_attachments_in_a_message_of_version_1_are_damage(void **state) {
    (void)state;
    uar_record in = golden_record(golden("message 2"));
    uar_message m;
    assert_int_equal(message_decode(&m, &memory, &in, NULL), UAR_OK);
    assert_int_equal(m.parts[1].type, UAR_PART_IMAGE);
    assert_true(uar_str_equal(m.parts[1].text, STR("a red kite")));
    assert_null(m.parts[2].text.ptr);
    assert_non_null(m.parts[3].text.ptr);
    in.schema = 1;
    assert_int_equal(message_decode(&m, &memory, &in, NULL), UAR_E_CORRUPT);
}

static void migration_a_counter_of_version_1_has_a_value_and_no_tokens(void **state) {
    (void)state;
    uar_record in = golden_record(golden("counter 1"));
    uint64_t value = 0;
    uar_usage usage = { .input = 77 };
    assert_int_equal(usage_counter_decode(&value, &usage, &memory, &in, NULL), UAR_OK);
    assert_true(value == UINT64_MAX && usage.input == 0 && !usage.known);
    in = golden_record(golden("counter 2"));
    assert_int_equal(counter_decode(&value, &memory, &in, NULL), UAR_OK);
    assert_true(value == 2);
    assert_int_equal(usage_counter_decode(&value, &usage, &memory, &in, NULL), UAR_OK);
    assert_true(usage.input == 10 && usage.output == 7 && usage.known);
}

/* ---- what belongs to what ---- */

static uar_status recode_with(const char *name, void (*change)(uar_record *r)) {
    uar_record in = golden_record(golden(name)), out;
    change(&in);
    return body_recode(&out, &memory, &in, NULL);
}

static void under_another_id(uar_record *r) {
    r->id = STR("02020202-0202-0202-0202-020202020203");
}

static void under_another_parent(uar_record *r) {
    r->parent = STR("u2");
}

static void of_another_sort(uar_record *r) {
    r->has_sort = true;
    r->sort = 5;
}

static void without_content(uar_record *r) {
    r->blob = uar_str_n("", 0);
}

static void a_body_under_another_records_id_is_damage(void **state) {
    (void)state;
    static const char *const named[] = { "session policy 1",         "memory block 1 of an agent",
                                         "memory block 1 of a user", "memory block 1 of a session",
                                         "attachment part 1",        "cost 1" };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_int_equal(recode_with(named[i], under_another_id), UAR_E_CORRUPT);
    static const char *const children[] = { "session policy 1",
                                            "memory block 1 of an agent",
                                            "memory block 1 of a user",
                                            "memory block 1 of a session",
                                            "attachment 1",
                                            "attachment part 1",
                                            "cost 1" };
    for (size_t i = 0; i < sizeof children / sizeof *children; i++)
        assert_int_equal(recode_with(children[i], under_another_parent), UAR_E_CORRUPT);
    assert_int_equal(recode_with("attachment part 1", of_another_sort), UAR_E_CORRUPT);
    assert_int_equal(recode_with("attachment part 1", without_content), UAR_E_CORRUPT);
}

static void a_text_replaced_in(char out[2000], const char *body, const char *from, const char *to) {
    const char *at = strstr(body, from);
    assert_non_null(at);
    snprintf(out, 2000, "%.*s%s%s", (int)(at - body), body, to, at + strlen(from));
}

static void values_that_cannot_be_are_damage(void **state) {
    (void)state;
    static const struct {
        const char *name, *from, *to;
    } cases[] = {
        { "attachment 1", "\"parts\":3", "\"parts\":2" },
        { "attachment 1", "\"part_bytes\":131072", "\"part_bytes\":0" },
        { "attachment 1", "\"part_bytes\":131072", "\"part_bytes\":131073" },
        { "attachment 1", "\"size\":300000", "\"size\":4294967297" },
        { "attachment 1", "ba7816bf", "BA7816BF" },
        { "attachment 1", "ba7816bf", "ba7816b" },
        { "attachment 1", "image/png", "" },
        { "attachment part 1", "\"part\":2", "\"part\":0" },
        { "attachment part 1", "\"part\":2", "\"part\":3" },
        { "attachment part 1", "\"part\":2", "\"part\":2.0" },
        { "memory block 1 of a user", "\"limit\":8", "\"limit\":7" },
        { "memory block 1 of a user", "\"limit\":8", "\"limit\":0" },
        { "memory block 1 of a user", "\"limit\":8", "\"limit\":4294967296" },
        { "memory block 1 of a user", "\"scope\":\"user\"", "\"scope\":\"agent\"" },
        { "session policy 1", "\"deny\"", "\"inherit\"" },
        { "session policy 1", "\"max_steps\":4", "\"max_steps\":0" },
        { "session policy 1", "\"clock\"", "1" },
        { "cost 1", "\"step\":3", "\"step\":0" },
        { "cost 1", "\"attempts\":2", "\"attempts\":0" },
        { "counter 2", "\"value\":2", "\"value\":2e0" },
        { "message 2", "{\"attachment\":\"0", "{\"attachment\":\"x" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        uar_record in = golden_record(golden(cases[i].name)), out;
        a_text_replaced_in(text, golden(cases[i].name)->body, cases[i].from, cases[i].to);
        in.body = uar_str_of(text);
        uar_status status = body_recode(&out, &memory, &in, NULL);
        if (status != UAR_E_CORRUPT) fail_msg("%s with %s: %s", cases[i].name, cases[i].to, uar_status_name(status));
    }
}

/* ---- patterns of setting types ---- */

static void a_pattern_is_a_key_or_a_prefix(void **state) {
    (void)state;
    static const char *const good[] = { "a", "a.b", "a.*", "*", "a.b.*" };
    static const char *const bad[] = { "", "a*", "a.*.b", "*.a", "**", "a.b*" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(setting_pattern_is_valid(uar_str_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(setting_pattern_is_valid(uar_str_of(bad[i])));
    assert_true(setting_pattern_matches(STR("a.*"), STR("a.b.c")));
    assert_true(setting_pattern_matches(STR("*"), STR("a")));
    assert_true(setting_pattern_matches(STR("a.b"), STR("a.b")));
    assert_false(setting_pattern_matches(STR("a.*"), STR("a")));
    assert_false(setting_pattern_matches(STR("a.*"), STR("ab.c")));
    assert_false(setting_pattern_matches(STR("a.b"), STR("a.b.c")));
}

static void the_types_of_a_key_go_from_narrow_to_wide(void **state) {
    (void)state;
    static const char *const chain[] = { "a.b.c", "a.b.*", "a.*", "*" };
    char text[RECORD_ID_MAX];
    uar_str level = STR("a.b.c");
    for (size_t i = 0; i < 4; i++) {
        assert_same(level, uar_str_of(chain[i]));
        level = setting_pattern_wider(text, level);
    }
    assert_null(level.ptr);
}

/* ---- memory ---- */

static void running_out_of_memory_anywhere_is_clean(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    for (size_t i = 0; i < golden_body_count; i++) {
        bool ended = false;
        for (unsigned long n = 1; !ended; n++) {
            arena ar;
            arena_init(&ar, &probe.door);
            probe_alloc_arm(&probe, (n + 1) / 2, n % 2 == 0);
            uar_record in = golden_record(&golden_bodies[i]), out = { .kind = 77 };
            uar_status status = body_recode(&out, &ar, &in, NULL);
            ended = !probe_alloc_has_failed(&probe);
            assert_int_equal(status, ended ? UAR_OK : UAR_E_NOMEM);
            if (!ended) assert_int_equal(out.kind, 77);
            arena_dispose(&ar);
            assert_int_equal(probe.alive, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_of_every_body_is_read_and_written_anew_byte_for_byte),
        cmocka_unit_test(every_golden_body_is_canonical_json),
        cmocka_unit_test(test_R12_versions_that_do_not_exist_yet_are_refused_by_name),
        cmocka_unit_test(test_R12_no_body_is_read_as_empty),
        cmocka_unit_test(test_R13_a_body_that_is_not_its_schema_is_a_typed_error),
        cmocka_unit_test(test_R13_depth_is_capped),
        cmocka_unit_test(migration_a_message_of_version_1_reads_as_it_did),
        cmocka_unit_test(migration_attachments_in_a_message_of_version_1_are_damage),
        cmocka_unit_test(migration_a_counter_of_version_1_has_a_value_and_no_tokens),
        cmocka_unit_test(a_body_under_another_records_id_is_damage),
        cmocka_unit_test(values_that_cannot_be_are_damage),
        cmocka_unit_test(a_pattern_is_a_key_or_a_prefix),
        cmocka_unit_test(the_types_of_a_key_go_from_narrow_to_wide),
        cmocka_unit_test(running_out_of_memory_anywhere_is_clean),
    };
    return cmocka_run_group_tests_name("golden bodies", tests, setup, teardown);
}
