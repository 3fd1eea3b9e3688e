/* A store of every schema that was ever written is read, or refused by name and left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <uar/uar.h>

static char folder[64], path[96];

static int setup(void **state) {
    (void)state;
    strcpy(folder, "/tmp/uar-golden-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/store.db", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || uar_live_objects() != 0 ? -1 : 0;
}

static const char *golden(const char *name) {
    static char at[4096];
    const char *root = getenv("UAR_SOURCE_ROOT");
    snprintf(at, sizeof at, "%s/tests/golden/%s", root != NULL && root[0] != '\0' ? root : ".", name);
    return at;
}

/* A copy to work on. */
static void take(const char *name) {
    char command[4400];
    snprintf(command, sizeof command, "cp '%s' '%s' && chmod u+w '%s'", golden(name), path, path);
    assert_int_equal(system(command), 0);
}

static bool is_unchanged(const char *name) {
    char command[4400];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", golden(name), path);
    return system(command) == 0;
}

static uar_runtime *open_state(void) {
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_builder *b = uar_builder_new(NULL);
    uar_builder_persistence(b, uar_persistence_sqlite(path, NULL));
    uar_builder_model(b, uar_model_offline());
    if (uar_builder_build(&rt, b, &err) != UAR_OK) fail_msg("%s", err.message);
    return rt;
}

static void expect_text(const uar_message *m, uar_role role, const char *text) {
    assert_int_equal(m->role, role);
    assert_int_equal(m->part_count, 1);
    assert_true(uar_str_equal(m->parts[0].text, uar_str_of(text)));
}

/* What state_v1.sh wrote. */
static void expect_first_state(uar_runtime *rt) {
    uar_reply *reply = NULL;
    assert_int_equal(uar_message_list_sync(&reply, rt, "local", "me", "default", 0, 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 2);
    expect_text(&reply->messages[0], UAR_ROLE_USER, "Guten Morgen, \xe4\xb8\x96\xe7\x95\x8c");
    expect_text(&reply->messages[1], UAR_ROLE_ASSISTANT, "Good morning, Zo\xc3\xab.");
    uar_reply_free(reply);
    assert_int_equal(uar_message_list_sync(&reply, rt, "local", "ann", "second", 0, 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 4);
    uar_reply_free(reply);
    assert_int_equal(uar_run_list_sync(&reply, rt, "local", "me", uar_str_of(NULL), 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 2);
    assert_int_equal(reply->runs[0].state, UAR_RUN_DONE);
    assert_int_equal(reply->runs[0].usage.output, 4);
    assert_int_equal(reply->runs[1].state, UAR_RUN_FAILED);
    assert_true(uar_str_equal(reply->runs[1].code, uar_str_of("UAR_E_SCRIPT_EXHAUSTED")));
    uar_reply_free(reply);
    assert_int_equal(uar_setting_get_sync(&reply, rt, "other", "memory.enabled", NULL), UAR_OK);
    assert_true(uar_str_equal(reply->settings[0].value, uar_str_of("true")));
    uar_reply_free(reply);
}

static void a_state_of_version_1_is_read_checked_copied_rebuilt_and_read_again(void **state) {
    (void)state;
    take("state-v1.db");
    uar_store_check check;
    uar_store_check_init(&check);
    assert_int_equal(uar_sqlite_check(&check, path, NULL, NULL, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(check.lost + check.faults, 0);
    assert_true(check.records > 10 && is_unchanged("state-v1.db"));
    uar_runtime *rt = open_state();
    expect_first_state(rt);
    uar_reply *reply = NULL;
    assert_int_equal(uar_setting_put_sync(&reply, rt, "local", "new", uar_str_of("1"), NULL), UAR_OK);
    uar_reply_free(reply);
    uar_store_check after;
    uar_store_check_init(&after);
    assert_int_equal(uar_store_verify_sync(&after, rt, NULL, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(after.records, check.records + 1);
    char copy[128];
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    assert_int_equal(uar_backup_to_sync(rt, copy, NULL, NULL), UAR_OK);
    uar_care_options whole;
    uar_store_care care;
    uar_care_options_init(&whole);
    uar_store_care_init(&care);
    whole.whole = true;
    assert_int_equal(uar_store_maintain_sync(&care, rt, &whole, NULL, NULL), UAR_OK);
    expect_first_state(rt);
    assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
    for (int i = 0; i < 2; i++) {
        if (i == 1) assert_int_equal(rename(copy, path), 0);
        rt = open_state();
        expect_first_state(rt);
        assert_int_equal(uar_runtime_close(rt, UAR_CLOSE_PARK, 1000), UAR_OK);
    }
}

static void a_memory_of_version_2_is_read_and_searched(void **state) {
    (void)state;
    take("memory-v2.db");
    uar_memory *memory = uar_memory_open(path, NULL);
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_state(memory, &err) == UAR_MEMORY_UNAVAILABLE) fail_msg("%s", err.message);
    assert_int_equal(uar_memory_check_sync(memory, &err), UAR_OK);
    uar_identity who;
    uar_identity_init(&who);
    who.owner = uar_str_of("local");
    who.user = uar_str_of("me");
    uar_memory_hits *hits = NULL;
    assert_int_equal(
        uar_memory_search_sync(&hits, memory, &who, uar_str_of("Which tea does Alice like?"), NULL, 5, &err), UAR_OK);
    assert_true(hits->count > 0);
    assert_true(uar_str_equal(hits->hits[0].record.content, uar_str_of("Alice likes green tea")));
    uar_memory_hits_free(hits);
    uar_memory_free(memory);
}

static void a_memory_of_version_1_is_refused_by_name_and_left_alone(void **state) {
    (void)state;
    take("memory-v1.db");
    uar_memory *memory = uar_memory_open(path, NULL);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_state(memory, &err), UAR_MEMORY_UNAVAILABLE);
    assert_int_equal(err.code, UAR_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "version 1"));
    uar_memory_free(memory);
    assert_true(is_unchanged("memory-v1.db"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_state_of_version_1_is_read_checked_copied_rebuilt_and_read_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_memory_of_version_2_is_read_and_searched, setup, teardown),
        cmocka_unit_test_setup_teardown(a_memory_of_version_1_is_refused_by_name_and_left_alone, setup, teardown),
    };
    return cmocka_run_group_tests_name("golden files", tests, NULL, NULL);
}
