/* Settings and their types: a value that doesn't fit is refused, whoever comes first, and with the place where it doesn't. */
#include "base/str.h"
#include "support/spy_layer.h"
#include "unit/test_run_fixture.h"

static spy_layer spy;

static host *open_spied(const char *script) {
    spy_init(&spy);
    return fixture_open(&(host_options){ .script = script, .layer = &spy.door, .threading = UAR_THREADS_MANUAL });
}

static void close_spied(host *h) {
    fixture_close(h);
    spy_dispose(&spy);
}

#define NO_STR uar_str_of(NULL)
#define NUMBER "{\"type\":\"number\",\"maximum\":10}"

static uar_status put_type_at(host *h, const char *key, const char *schema, bool keep, uint64_t revision,
                              uar_error *err) {
    uar_reply *reply = NULL;
    uar_setting_type t = { .key = uar_str_of(key), .schema = uar_str_of(schema), .revision = revision };
    uar_status status = uar_setting_type_put_sync(&reply, host_runtime(h), "local", &t, keep, err);
    if (status != UAR_OK) return status;
    assert_int_equal(reply->count, 1);
    assert_true(uar_str_equal(reply->setting_types[0].key, uar_str_of(key)));
    uar_reply_free(reply);
    return UAR_OK;
}

static uar_status put_type(host *h, const char *key, const char *schema) {
    return put_type_at(h, key, schema, false, UAR_ANY_REVISION, NULL);
}

static uar_status set_in(host *h, const char *owner, const char *key, const char *value, uar_error *err) {
    uar_reply *reply = NULL;
    uar_status status = uar_setting_put_sync(&reply, host_runtime(h), owner, key, uar_str_of(value), err);
    if (status == UAR_OK) uar_reply_free(reply);
    return status;
}

static uar_status set(host *h, const char *key, const char *value) {
    return set_in(h, "local", key, value, NULL);
}

static bool has_type(host *h, const char *key) {
    uar_reply *reply = NULL;
    uar_status status = uar_setting_type_load_sync(&reply, host_runtime(h), "local", key, NULL);
    if (status == UAR_OK) uar_reply_free(reply);
    return status == UAR_OK;
}

/* ---- values ---- */

static void a_value_that_does_not_fit_is_refused_with_its_place(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(put_type(h, "ui", "{\"type\":\"object\",\"properties\":{\"size\":" NUMBER "}}"), UAR_OK);
    assert_int_equal(set_in(h, "local", "ui", "{\"size\":11}", &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "ui"));
    assert_non_null(strstr(err.message, "/size"));
    assert_int_equal(set(h, "ui", "{\"size\":10}"), UAR_OK);
    assert_int_equal(set(h, "ui", "nonsense"), UAR_E_JSON);
    uar_reply *reply = NULL;
    assert_int_equal(uar_setting_get_sync(&reply, host_runtime(h), "local", "ui", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->settings[0].value, STR("{\"size\":10}")));
    uar_reply_free(reply);
    close_spied(h);
}

static void the_narrowest_pattern_counts(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    assert_int_equal(put_type(h, "*", "{\"type\":\"string\"}"), UAR_OK);
    assert_int_equal(put_type(h, "ui.*", "{\"type\":\"boolean\"}"), UAR_OK);
    assert_int_equal(put_type(h, "ui.theme.dark", "{\"type\":\"null\"}"), UAR_OK);
    assert_int_equal(set(h, "ui.theme.dark", "null"), UAR_OK);
    assert_int_equal(set(h, "ui.theme.dark", "true"), UAR_E_INVALID);
    assert_int_equal(set(h, "ui.theme.light", "true"), UAR_OK);
    assert_int_equal(set(h, "ui.theme.light", "null"), UAR_E_INVALID);
    assert_int_equal(set(h, "ui.x", "\"a\""), UAR_E_INVALID);
    assert_int_equal(set(h, "ui", "\"a\""), UAR_OK);
    assert_int_equal(set(h, "uix.y", "true"), UAR_E_INVALID);
    close_spied(h);
}

static void types_belong_to_one_owner(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_reply *reply = NULL;
    assert_int_equal(put_type(h, "a", "false"), UAR_OK);
    assert_int_equal(set(h, "a", "1"), UAR_E_INVALID);
    assert_int_equal(set_in(h, "other", "a", "1", NULL), UAR_OK);
    assert_int_equal(uar_setting_type_load_sync(&reply, host_runtime(h), "other", "a", NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_setting_type_load_sync(&reply, host_runtime(h), "~", "a", NULL), UAR_E_INVALID);
    close_spied(h);
}

static void a_deleted_type_binds_nobody(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_reply *reply = NULL;
    assert_int_equal(put_type(h, "a", "false"), UAR_OK);
    assert_int_equal(uar_setting_type_delete_sync(&reply, host_runtime(h), "local", "a", 2, NULL), UAR_E_CONFLICT);
    assert_int_equal(uar_setting_type_delete_sync(&reply, host_runtime(h), "local", "a", 1, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_setting_type_delete_sync(&reply, host_runtime(h), "local", "a", 1, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(set(h, "a", "1"), UAR_OK);
    close_spied(h);
}

static void a_setting_is_deleted_at_its_revision(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_reply *reply = NULL;
    uar_runtime *rt = host_runtime(h);
    assert_int_equal(set(h, "a", "1"), UAR_OK);
    assert_int_equal(set(h, "a", "2"), UAR_OK);
    assert_int_equal(uar_setting_delete_sync(&reply, rt, "local", "a", 1, NULL), UAR_E_CONFLICT);
    assert_int_equal(uar_setting_delete_sync(&reply, rt, "other", "a", UAR_ANY_REVISION, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_setting_delete_sync(&reply, rt, "local", "a", UAR_ANY_REVISION, NULL), UAR_OK);
    assert_int_equal(reply->count, 0);
    uar_reply_free(reply);
    assert_int_equal(uar_setting_get_sync(&reply, rt, "local", "a", NULL), UAR_E_NOT_FOUND);
    close_spied(h);
}

/* ---- types ---- */

static void a_type_comes_back_with_all_it_says(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_reply *reply = NULL;
    uar_setting_type t = { .key = STR("ui.*"),
                           .schema = STR(" { \"maximum\" : 10 } "),
                           .fallback = STR(" 3.0"),
                           .description = STR("how large") };
    assert_int_equal(uar_setting_type_put_sync(&reply, host_runtime(h), "local", &t, false, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_setting_type_load_sync(&reply, host_runtime(h), "local", "ui.*", NULL), UAR_OK);
    const uar_setting_type *got = &reply->setting_types[0];
    assert_true(uar_str_equal(got->schema, STR("{\"maximum\":10}")));
    assert_true(uar_str_equal(got->fallback, STR("3.0")));
    assert_true(uar_str_equal(got->description, STR("how large")));
    assert_int_equal(got->revision, 1);
    uar_reply_free(reply);
    assert_int_equal(uar_setting_type_put_sync(&reply, host_runtime(h), "local", &t, false, NULL), UAR_E_CONFLICT);
    close_spied(h);
}

static void types_that_can_not_be_are_refused(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(put_type(h, "a*", "true"), UAR_E_INVALID);
    assert_int_equal(put_type(h, "", "true"), UAR_E_INVALID);
    assert_int_equal(put_type(h, "a", "{"), UAR_E_JSON);
    assert_int_equal(put_type_at(h, "a", "{\"type\":\"colour\"}", false, 0, &err), UAR_E_SCHEMA);
    assert_non_null(strstr(err.message, "type"));
    assert_int_not_equal(put_type(h, "a", NULL), UAR_OK);
    uar_setting_type t = { .key = STR("a"), .schema = STR(NUMBER), .fallback = STR("11") };
    assert_int_equal(uar_setting_type_put_sync(&reply, host_runtime(h), "local", &t, false, &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "fallback"));
    assert_int_equal(uar_setting_type_put_sync(&reply, host_runtime(h), "local", NULL, false, NULL), UAR_E_INVALID);
    assert_false(has_type(h, "a"));
    close_spied(h);
}

static void a_type_that_stored_settings_do_not_fit_names_the_first(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(set(h, "ui.a", "1"), UAR_OK);
    assert_int_equal(set(h, "ui.b", "\"red\""), UAR_OK);
    assert_int_equal(set(h, "ui.c", "\"blue\""), UAR_OK);
    assert_int_equal(set(h, "uj", "\"other\""), UAR_OK);
    assert_int_equal(put_type_at(h, "ui.*", NUMBER, false, 0, &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "ui.b"));
    assert_false(has_type(h, "ui.*"));
    assert_int_equal(put_type(h, "ui.a", NUMBER), UAR_OK);
    assert_int_equal(put_type(h, "ui.b", NUMBER), UAR_E_INVALID);
    close_spied(h);
}

static void told_to_keep_them_unfit_settings_stay_until_somebody_puts_them(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_reply *reply = NULL;
    assert_int_equal(set(h, "a", "\"red\""), UAR_OK);
    assert_int_equal(put_type_at(h, "a", NUMBER, true, 0, NULL), UAR_OK);
    assert_int_equal(uar_setting_get_sync(&reply, host_runtime(h), "local", "a", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->settings[0].value, STR("\"red\"")));
    uar_reply_free(reply);
    assert_int_equal(set(h, "a", "\"blue\""), UAR_E_INVALID);
    assert_int_equal(set(h, "a", "7"), UAR_OK);
    close_spied(h);
}

static void a_setting_that_a_narrower_type_governs_is_none_of_a_wider_ones(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    assert_int_equal(put_type(h, "ui.theme.*", "{\"type\":\"string\"}"), UAR_OK);
    assert_int_equal(set(h, "ui.theme.dark", "\"red\""), UAR_OK);
    assert_int_equal(set(h, "ui.size", "3"), UAR_OK);
    assert_int_equal(put_type(h, "ui.*", NUMBER), UAR_OK);
    assert_int_equal(set(h, "ui.size", "\"red\""), UAR_E_INVALID);
    close_spied(h);
}

static void all_settings_of_a_pattern_are_gone_through_page_by_page(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_error err = UAR_ERROR_INIT;
    char key[32];
    for (int i = 0; i < 250; i++) {
        snprintf(key, sizeof key, "p.%03d", i);
        assert_int_equal(set(h, key, i == 249 ? "\"red\"" : "1"), UAR_OK);
        snprintf(key, sizeof key, "a.%03d", i);
        assert_int_equal(set(h, key, "\"red\""), UAR_OK);
    }
    assert_int_equal(put_type_at(h, "p.*", NUMBER, false, 0, &err), UAR_E_INVALID);
    assert_non_null(strstr(err.message, "p.249"));
    assert_int_equal(set(h, "p.249", "1"), UAR_OK);
    assert_int_equal(put_type_at(h, "p.*", NUMBER, false, 0, NULL), UAR_OK);
    close_spied(h);
}

static void a_type_is_put_at_the_expected_revision_only(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    assert_int_equal(put_type_at(h, "a", NUMBER, false, 5, NULL), UAR_E_CONFLICT);
    assert_int_equal(put_type_at(h, "a", NUMBER, false, 0, NULL), UAR_OK);
    assert_int_equal(put_type_at(h, "a", "true", false, 0, NULL), UAR_E_CONFLICT);
    assert_int_equal(put_type_at(h, "a", "true", false, 1, NULL), UAR_OK);
    assert_int_equal(put_type_at(h, "a", NUMBER, false, UAR_ANY_REVISION, NULL), UAR_OK);
    close_spied(h);
}

static void pages_of_types_follow_each_other(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    static const char *const keys[] = { "*", "a", "a.*", "b", "c" };
    uar_reply *reply = NULL;
    size_t seen = 0;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(put_type(h, keys[4 - i], "true"), UAR_OK);
    char cursor[64] = "";
    do {
        uar_str after = cursor[0] != '\0' ? uar_str_of(cursor) : NO_STR;
        assert_int_equal(uar_setting_type_list_sync(&reply, host_runtime(h), "local", after, 2, NULL), UAR_OK);
        for (size_t i = 0; i < reply->count; i++)
            assert_true(uar_str_equal(reply->setting_types[i].key, uar_str_of(keys[seen++])));
        snprintf(cursor, sizeof cursor, "%.*s", (int)reply->cursor.len,
                 reply->cursor.ptr != NULL ? reply->cursor.ptr : "");
        uar_reply_free(reply);
    } while (cursor[0] != '\0');
    assert_int_equal(seen, 5);
    close_spied(h);
}

/* ---- two at once ---- */

/* Somebody else stores something just before a commit of ours. */
typedef struct intruder {
    uint32_t waits_for; /* kind that our commit puts */
    uar_record record;
    bool came;
} intruder;

static void intrude(void *ctx, const uar_write *writes, size_t count) {
    intruder *in = ctx;
    if (in->came || writes[count - 1].record.kind != in->waits_for) return;
    in->came = true;
    spy_put(&spy, in->record);
}

static void let_in(intruder *in, uint32_t waits_for, uar_record record) {
    *in = (intruder){ .waits_for = waits_for, .record = record };
    spy.before_commit = intrude;
    spy.before_ctx = in;
}

static uar_record raw(uint32_t kind, const char *id, const char *body) {
    return (
        uar_record){ .kind = kind, .schema = 1, .owner = STR("local"), .id = uar_str_of(id), .body = uar_str_of(body) };
}

static void a_type_that_comes_while_a_setting_is_put_is_seen(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    intruder in;
    let_in(&in, UAR_RECORD_SETTING, raw(UAR_RECORD_SETTING_TYPE, "ui.*", "{\"schema\":false}"));
    assert_int_equal(set(h, "ui.a", "1"), UAR_E_INVALID);
    assert_true(in.came);
    assert_int_equal(spy_count(&spy, UAR_RECORD_SETTING, "local"), 0);
    close_spied(h);
}

static void a_setting_that_comes_while_a_type_is_put_takes_it_back(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    intruder in;
    uar_error err = UAR_ERROR_INIT;
    let_in(&in, UAR_RECORD_SETTING_TYPE, raw(UAR_RECORD_SETTING, "ui.a", "{\"value\":\"red\"}"));
    assert_int_equal(put_type_at(h, "ui.*", NUMBER, false, 0, &err), UAR_E_INVALID);
    assert_true(in.came);
    assert_non_null(strstr(err.message, "ui.a"));
    assert_false(has_type(h, "ui.*"));
    assert_int_equal(put_type(h, "ui.*", "{\"type\":\"string\"}"), UAR_OK);
    let_in(&in, UAR_RECORD_SETTING_TYPE, raw(UAR_RECORD_SETTING, "ui.b", "{\"value\":\"red\"}"));
    assert_int_equal(put_type(h, "ui.*", "{\"maxLength\":2}"), UAR_E_INVALID);
    spy.before_commit = NULL;
    assert_int_equal(set(h, "ui.c", "\"a long one\""), UAR_OK);
    assert_int_equal(set(h, "ui.c", "3"), UAR_E_INVALID);
    close_spied(h);
}

static void a_damaged_type_is_damage_and_not_a_free_pass(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    spy_put(&spy, raw(UAR_RECORD_SETTING_TYPE, "a", "{\"schema\":1,\"x\":2}"));
    assert_int_equal(set(h, "a", "1"), UAR_E_CORRUPT);
    uar_record newer = raw(UAR_RECORD_SETTING_TYPE, "b", "{\"schema\":true}");
    newer.schema = 9;
    spy_put(&spy, newer);
    assert_int_equal(set(h, "b", "1"), UAR_E_NEWER);
    close_spied(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_value_that_does_not_fit_is_refused_with_its_place),
        fixture_test(the_narrowest_pattern_counts),
        fixture_test(types_belong_to_one_owner),
        fixture_test(a_deleted_type_binds_nobody),
        fixture_test(a_setting_is_deleted_at_its_revision),
        fixture_test(a_type_comes_back_with_all_it_says),
        fixture_test(types_that_can_not_be_are_refused),
        fixture_test(a_type_that_stored_settings_do_not_fit_names_the_first),
        fixture_test(told_to_keep_them_unfit_settings_stay_until_somebody_puts_them),
        fixture_test(a_setting_that_a_narrower_type_governs_is_none_of_a_wider_ones),
        fixture_test(all_settings_of_a_pattern_are_gone_through_page_by_page),
        fixture_test(a_type_is_put_at_the_expected_revision_only),
        fixture_test(pages_of_types_follow_each_other),
        fixture_test(a_type_that_comes_while_a_setting_is_put_is_seen),
        fixture_test(a_setting_that_comes_while_a_type_is_put_takes_it_back),
        fixture_test(a_damaged_type_is_damage_and_not_a_free_pass),
    };
    return cmocka_run_group_tests_name("settings and their types", tests, NULL, NULL);
}
