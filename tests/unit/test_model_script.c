/* Scripts: one JSON line a model call. */
#include "test_model_recorder.h"

#include "base/alloc.h"
#include "model/script.h"

static recorder seen;

/* Play a line to its end; waits are written down. */
static uar_status line_play(const char *text, const uar_allocator *a, uar_error *err) {
    script_line *line = NULL;
    uar_status status = script_line_read(&line, a, uar_str_of(text), 3, err);
    if (status != UAR_OK) {
        assert_null(line);
        return status;
    }
    model_sink sink = recorder_sink(&seen);
    script_step step = SCRIPT_PUSHED;
    while (status == UAR_OK && step != SCRIPT_END) {
        uint32_t wait = 0;
        status = script_line_next(&step, &wait, line, &sink);
        if (step != SCRIPT_WAIT) continue;
        char text_wait[32];
        int len = snprintf(text_wait, sizeof text_wait, "%u", (unsigned)wait);
        record_line(&seen, "wait", false);
        record_bytes(&seen, text_wait, (size_t)len);
    }
    script_line_free(line);
    return status;
}

static void line_is(const char *text, const char *expected) {
    recorder_clear(&seen);
    assert_int_equal(line_play(text, &alloc_default, NULL), UAR_OK);
    assert_string_equal(seen.log, expected);
    assert_int_equal(seen.ends, 1);
}

static void line_refused(const char *text, uar_status expected, const char *message) {
    uar_error err = UAR_ERROR_INIT;
    recorder_clear(&seen);
    assert_int_equal(line_play(text, &alloc_default, &err), expected);
    assert_int_equal(err.code, expected);
    if (message != NULL) assert_string_equal(err.message, message);
    assert_non_null(strstr(err.message, "line 3: "));
    assert_string_equal(seen.log, "");
}

static void test_every_event_is_pushed_in_order(void **state) {
    (void)state;
    line_is(
        "{\"events\":[{\"text\":\"a\"},{\"reasoning\":\"r\"},{\"tool_call\":{\"index\":4,\"id\":\"c1\",\"name\":\"f\","
        "\"args_delta\":\"{\"}},{\"tool_call\":{\"index\":4,\"args_delta\":\"}\"}},{\"sleep_ms\":50},"
        "{\"usage\":{\"input\":12,\"cache_read\":1,\"cache_write\":2,\"output\":3,\"reasoning\":1}},"
        "{\"finish\":\"tool_calls\"}]}",
        "text a\nreasoning r\ncall 4 id c1\ncall 4 name f\ncall 4 args {}\nwait 50\nfinish tool_calls");
    assert_true(seen.usage.known);
    assert_int_equal(seen.usage.input, 12);
    assert_int_equal(seen.usage.cache_read, 1);
    assert_int_equal(seen.usage.cache_write, 2);
    assert_int_equal(seen.usage.output, 3);
    assert_int_equal(seen.usage.reasoning, 1);
}

static void test_every_finish_is_known(void **state) {
    (void)state;
    line_is("{\"events\":[{\"finish\":\"stop\"}]}", "finish stop");
    line_is("{\"events\":[{\"finish\":\"length\"}]}", "finish length");
    line_is("{\"events\":[{\"finish\":\"content_filter\"}]}", "finish content_filter");
}

static void test_E7_base64_carries_half_characters(void **state) {
    (void)state;
    line_is("{\"events\":[{\"text_base64\":\"8J8=\"},{\"text_base64\":\"mIA=\"},{\"text_base64\":\"\"},"
            "{\"text_base64\":\"YWJj\"},{\"text_base64\":\"+/8A\"},{\"finish\":\"stop\"}]}",
            "text \xf0\x9f\x98\x80"
            "abc\xfb\xff");
    assert_int_equal(seen.len, strlen("text ") + 10 + strlen("\nfinish stop"));
}

static void test_base64_knows_all_its_digits(void **state) {
    (void)state;
    line_is("{\"events\":[{\"text_base64\":\"QUJZWmFieXowMTg5AZaz09z+/w==\"},{\"finish\":\"stop\"}]}",
            "text ABYZabyz0189\x01\x96\xb3\xd3\xdc\xfe\xff\nfinish stop");
    line_is("{\"events\":[{\"text_base64\":\"AZaz09+/\"},{\"finish\":\"stop\"}]}",
            "text \x01\x96\xb3\xd3\xdf\xbf\nfinish stop");
}

static void test_the_longest_sleep_and_the_largest_figures_are_taken(void **state) {
    (void)state;
    line_is(
        "{\"events\":[{\"sleep_ms\":4294967294},{\"usage\":{\"input\":18446744073709551615}},{\"finish\":\"stop\"}]}",
        "wait 4294967294\nfinish stop");
    assert_true(seen.usage.input == UINT64_MAX);
}

static void test_usage_behind_the_finish_comes_before_it(void **state) {
    (void)state;
    line_is("{\"events\":[{\"text\":\"a\"},{\"finish\":\"stop\"},{\"usage\":{\"input\":7}}]}", "text a\nfinish stop");
    assert_int_equal(seen.usage.input, 7);
}

static void test_nothing_but_usage_is_pushed_behind_the_end(void **state) {
    (void)state;
    line_is("{\"events\":[{\"finish\":\"stop\"},{\"text\":\"late\"},{\"sleep_ms\":5},{\"finish\":\"stop\"}]}",
            "finish stop");
}

static void test_an_error_says_if_it_may_be_tried_again(void **state) {
    (void)state;
    line_is("{\"events\":[{\"error\":{\"code\":\"overloaded\",\"message\":\"later\",\"retryable\":true,"
            "\"retry_after_ms\":100}}]}",
            "retry UAR_E_MODEL_BUSY");
    assert_int_equal(seen.failure.retry_after_ms, 100);
    assert_string_equal(seen.failure.code, "overloaded");
    assert_string_equal(seen.failure.message, "later");
    line_is("{\"events\":[{\"error\":{\"code\":\"bad\"}}]}", "fail UAR_E_MODEL");
    line_is("{\"events\":[{\"error\":{\"code\":\"UAR_E_NETWORK\"}}]}", "retry UAR_E_NETWORK");
    line_is("{\"events\":[{\"error\":{\"code\":\"UAR_E_NETWORK\",\"retryable\":false}}]}", "fail UAR_E_NETWORK");
}

static void test_a_line_without_end_is_a_cut_stream(void **state) {
    (void)state;
    line_is("{\"events\":[{\"text\":\"a\"}]}", "text a\nretry UAR_E_MODEL_CUT");
    line_is("{\"events\":[]}", "retry UAR_E_MODEL_CUT");
}

static void test_faults_name_the_line_and_the_event(void **state) {
    (void)state;
    line_refused("{\"events\":[{\"text\":\"a\"},{\"txt\":\"b\"}]}", UAR_E_INVALID, "line 3: event 2: unknown key txt");
    line_refused("{\"events\":[{\"text\":1}]}", UAR_E_INVALID, "line 3: event 1: its value must be a text");
    line_refused("{\"events\":[{}]}", UAR_E_INVALID, "line 3: event 1: it must be an object with one key");
    line_refused("{\"events\":[{\"text\":\"a\",\"finish\":\"stop\"}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[\"text\"]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"finish\":\"end\"}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"finish\":1}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"sleep_ms\":-1}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"sleep_ms\":4294967295}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"tool_call\":{\"arguments\":\"{}\"}}]}", UAR_E_INVALID,
                 "line 3: event 1: unknown key arguments");
    line_refused("{\"events\":[{\"tool_call\":{\"index\":4294967296}}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"tool_call\":{\"id\":1}}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"tool_call\":[]}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"usage\":{\"tokens\":1}}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"usage\":{\"input\":\"1\"}}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"error\":{\"retryable\":1}}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[{\"error\":{\"retry\":true}}]}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":{}}", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[],\"more\":1}", UAR_E_INVALID, "line 3: unknown key more");
    line_refused("[]", UAR_E_INVALID, NULL);
    line_refused("{\"events\":[", UAR_E_JSON, NULL);
}

static void test_what_is_not_base64_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = { "YQ", "YQ=", "Y===", "=aaa", "Y!==", "YQ==YQ==", "YQ\\n=" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char line[80];
        (void)snprintf(line, sizeof line, "{\"events\":[{\"text_base64\":\"%s\"}]}", bad[i]);
        line_refused(line, UAR_E_INVALID, "line 3: event 1: its value is not base64");
    }
}

static void test_a_refusal_of_the_sink_ends_the_line(void **state) {
    (void)state;
    recorder_clear(&seen);
    seen.refusal = UAR_E_STALE;
    seen.refuse_after = 1;
    assert_int_equal(
        line_play("{\"events\":[{\"text\":\"a\"},{\"text\":\"b\"},{\"text\":\"c\"}]}", &alloc_default, NULL),
        UAR_E_STALE);
    assert_string_equal(seen.log, "text ab");
}

static void test_lines_are_counted_as_editors_do_and_blank_ones_passed_over(void **state) {
    (void)state;
    uar_str script = uar_str_of("one\n\n \r\nfour\r\nfive");
    uar_str line;
    size_t number = 1;
    assert_true(script_find(&line, &number, script));
    assert_int_equal(number, 1);
    number = 2;
    assert_true(script_find(&line, &number, script));
    assert_int_equal(number, 4);
    assert_true(uar_str_equal(line, uar_str_of("four\r")));
    number = 5;
    assert_true(script_find(&line, &number, script));
    assert_true(uar_str_equal(line, uar_str_of("five")));
    number = 6;
    assert_false(script_find(&line, &number, script));
    number = 1;
    assert_false(script_find(&line, &number, uar_str_of("\n")));
}

static void test_out_of_memory_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    const char *text =
        "{\"events\":[{\"text\":\"a\"},{\"text_base64\":\"YQ==\"},{\"tool_call\":{\"id\":\"c\",\"name\":\"f\"}},"
        "{\"error\":{\"code\":\"x\",\"message\":\"y\"}}]}";
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (size_t n = 1; fired; n++) {
            probe_alloc memory;
            probe_alloc_init(&memory);
            probe_alloc_arm(&memory, n, for_good != 0);
            recorder_clear(&seen);
            uar_status status = line_play(text, &memory.door, NULL);
            fired = probe_alloc_has_failed(&memory);
            assert_int_equal(status, fired ? UAR_E_NOMEM : UAR_OK);
            assert_int_equal(memory.alive, 0);
            assert_true(n < 1000);
        }
    }
}

static int setup(void **state) {
    (void)state;
    recorder_init(&seen);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    recorder_dispose(&seen);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(test_every_event_is_pushed_in_order),
        T(test_every_finish_is_known),
        T(test_E7_base64_carries_half_characters),
        T(test_base64_knows_all_its_digits),
        T(test_the_longest_sleep_and_the_largest_figures_are_taken),
        T(test_usage_behind_the_finish_comes_before_it),
        T(test_nothing_but_usage_is_pushed_behind_the_end),
        T(test_an_error_says_if_it_may_be_tried_again),
        T(test_a_line_without_end_is_a_cut_stream),
        T(test_faults_name_the_line_and_the_event),
        T(test_what_is_not_base64_is_refused),
        T(test_a_refusal_of_the_sink_ends_the_line),
        T(test_lines_are_counted_as_editors_do_and_blank_ones_passed_over),
        T(test_out_of_memory_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
