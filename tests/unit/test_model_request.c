/* Bodies of OpenAI Chat Completions requests, read back with the library's own strict reader. */
#include "test_model_recorder.h"

#include <uar/model.h>

#include "base/json.h"

static uar_str str(const char *text) {
    return uar_str_of(text);
}

static uar_part text_part(const char *text) {
    uar_part p = { .type = UAR_PART_TEXT, .text = str(text) };
    return p;
}

static uar_part call_part(const char *id, const char *tool, const char *arguments) {
    uar_part p = { .type = UAR_PART_TOOL_CALL, .call = str(id), .tool = str(tool), .arguments = str(arguments) };
    return p;
}

static uar_part result_part(const char *id, const char *text) {
    uar_part p = { .type = UAR_PART_TOOL_RESULT, .call = str(id), .text = str(text) };
    return p;
}

static uar_part reasoning_part(const char *text, const char *opaque) {
    uar_part p = { .type = UAR_PART_REASONING, .text = str(text), .opaque = str(opaque) };
    return p;
}

typedef struct call {
    uar_model_request request;
    uar_codec_options options;
    uar_model_message messages[8];
    uar_error err;
} call;

static call call_of(size_t count) {
    call c;
    memset(&c, 0, sizeof c);
    c.request.size = sizeof c.request;
    c.request.temperature = -1;
    c.options.size = sizeof c.options;
    c.options.model = "m";
    c.request.message_count = count;
    return c;
}

static void message_set(call *c, size_t at, uar_role role, const uar_part *parts, size_t count) {
    c->messages[at].role = role;
    c->messages[at].parts = parts;
    c->messages[at].part_count = count;
}

static uar_status call_write(call *c, char **body) {
    c->request.messages = c->messages;
    *body = NULL;
    size_t len = 0;
    uar_status status = uar_codec_request(body, &len, UAR_CODEC_OPENAI, &c->request, &c->options, &c->err);
    if (status == UAR_OK) {
        assert_int_equal(strlen(*body), len);
        cJSON *json = NULL;
        assert_int_equal(json_read(&json, &alloc_default, uar_str_n(*body, len), len, NULL), UAR_OK);
        json_free(&alloc_default, json);
    } else {
        assert_null(*body);
        assert_int_equal(c->err.code, status);
    }
    return status;
}

static void body_is(call *c, const char *expected) {
    char *body = NULL;
    assert_int_equal(call_write(c, &body), UAR_OK);
    assert_string_equal(body, expected);
    uar_codec_body_free(body, &c->options);
}

static void messages_are(call *c, const char *expected) {
    char text[4096];
    c->options.whole = true;
    (void)snprintf(text, sizeof text, "{\"model\":\"m\",\"stream\":false,\"messages\":%s}", expected);
    body_is(c, text);
}

static void refused_with(call *c, uar_status expected, const char *needle) {
    char *body = NULL;
    assert_int_equal(call_write(c, &body), expected);
    assert_non_null(strstr(c->err.message, needle));
}

static void test_a_plain_request_asks_for_a_stream_with_usage(void **state) {
    (void)state;
    uar_part system = text_part("Be brief."), user = text_part("Hi \"you\"\n");
    call c = call_of(2);
    message_set(&c, 0, UAR_ROLE_SYSTEM, &system, 1);
    message_set(&c, 1, UAR_ROLE_USER, &user, 1);
    body_is(&c,
            "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"messages\":["
            "{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\\n\"}]}");
    c.options.no_stream_usage = true;
    body_is(&c,
            "{\"model\":\"m\",\"stream\":true,\"messages\":["
            "{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\\n\"}]}");
}

static void test_several_texts_of_a_user_become_a_list(void **state) {
    (void)state;
    uar_part parts[] = { text_part("a"), text_part("b") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, parts, 2);
    messages_are(
        &c,
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}]");
}

static void test_results_follow_their_calls_in_call_order(void **state) {
    (void)state;
    uar_part calls[] = { text_part("Look."), call_part("a", "f", "{\"x\":1}"), call_part("b", "g", "") };
    uar_part second = result_part("b", "two"), first = result_part("a", "one");
    call c = call_of(3);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, calls, 3);
    message_set(&c, 1, UAR_ROLE_TOOL, &second, 1);
    message_set(&c, 2, UAR_ROLE_TOOL, &first, 1);
    messages_are(&c,
                 "[{\"role\":\"assistant\",\"content\":\"Look.\",\"tool_calls\":["
                 "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}},"
                 "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]},"
                 "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"one\"},"
                 "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"two\"}]");
}

static void test_a_call_without_result_is_answered_as_unknown(void **state) {
    (void)state;
    uar_part calls[] = { call_part("a", "f", "{}"), call_part("b", "f", "{}") };
    uar_part one = result_part("b", "two"), user = text_part("next");
    call c = call_of(3);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, calls, 2);
    message_set(&c, 1, UAR_ROLE_TOOL, &one, 1);
    message_set(&c, 2, UAR_ROLE_USER, &user, 1);
    messages_are(&c, "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
                     "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
                     "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
                     "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"The call was interrupted; its outcome is "
                     "unknown.\"},{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"two\"},"
                     "{\"role\":\"user\",\"content\":\"next\"}]");
}

static void test_calls_that_share_an_id_get_their_results_in_order(void **state) {
    (void)state;
    uar_part calls[] = { call_part("a", "f", "{}"), call_part("a", "f", "{}") };
    uar_part results[] = { result_part("a", "1"), result_part("a", "2") };
    call c = call_of(2);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, calls, 2);
    message_set(&c, 1, UAR_ROLE_TOOL, results, 2);
    messages_are(&c, "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
                     "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
                     "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
                     "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"1\"},"
                     "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"2\"}]");
}

static void test_a_result_without_its_call_is_refused(void **state) {
    (void)state;
    uar_part user = text_part("x"), one = result_part("z", "r"), ask = call_part("a", "f", "{}");
    call c = call_of(2);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    message_set(&c, 1, UAR_ROLE_TOOL, &one, 1);
    refused_with(&c, UAR_E_INVALID, "answers no call");
    message_set(&c, 0, UAR_ROLE_ASSISTANT, &ask, 1);
    refused_with(&c, UAR_E_INVALID, "answers no call");
    uar_part twice[] = { result_part("a", "1"), result_part("a", "2") };
    message_set(&c, 1, UAR_ROLE_TOOL, twice, 2);
    refused_with(&c, UAR_E_INVALID, "answered twice");
}

static void test_arguments_that_are_no_json_object_are_wrapped(void **state) {
    (void)state;
    uar_part calls[] = { call_part("a", "f", "{\"x\":"), call_part("b", "f", "[1]") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, calls, 2);
    c.options.whole = true;
    char *body = NULL;
    assert_int_equal(call_write(&c, &body), UAR_OK);
    assert_non_null(strstr(body, "\"arguments\":\"{\\\"_malformed\\\":\\\"{\\\\\\\"x\\\\\\\":\\\"}\""));
    assert_non_null(strstr(body, "\"arguments\":\"{\\\"_malformed\\\":\\\"[1]\\\"}\""));
    uar_codec_body_free(body, &c.options);
}

static void test_a_name_of_the_past_that_no_provider_takes_is_made_valid(void **state) {
    (void)state;
    uar_part calls[] = { call_part("a", "memory.search", "{}"), call_part("b", "", "{}") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, calls, 2);
    char *body = NULL;
    assert_int_equal(call_write(&c, &body), UAR_OK);
    assert_non_null(strstr(body, "\"name\":\"memory_search\""));
    assert_non_null(strstr(body, "\"name\":\"_\""));
    uar_codec_body_free(body, &c.options);
}

static void test_every_letter_of_a_valid_name_is_kept(void **state) {
    (void)state;
    uar_part calls[] = { call_part("a", "abyzABYZ0189_-@[`{/:^", "{}"),
                         call_part("b", "0123456789012345678901234567890123456789012345678901234567890123more", "{}") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, calls, 2);
    char *body = NULL;
    assert_int_equal(call_write(&c, &body), UAR_OK);
    assert_non_null(strstr(body, "\"name\":\"abyzABYZ0189_-_______\""));
    assert_non_null(strstr(body, "\"name\":\"0123456789012345678901234567890123456789012345678901234567890123\""));
    uar_codec_body_free(body, &c.options);
}

static void name_is(const char *name, uar_status expected) {
    uar_part user = text_part("x");
    uar_model_tool tool = { str(name), str(NULL), str(NULL) };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    c.request.tools = &tool;
    c.request.tool_count = 1;
    char *body = NULL;
    assert_int_equal(call_write(&c, &body), expected);
    uar_codec_body_free(body, &c.options);
}

static void test_names_on_offer_have_1_to_64_letters(void **state) {
    (void)state;
    name_is("", UAR_E_INVALID);
    name_is("a", UAR_OK);
    name_is("abyzABYZ0189_-", UAR_OK);
    name_is("0123456789012345678901234567890123456789012345678901234567890123", UAR_OK);
    name_is("01234567890123456789012345678901234567890123456789012345678901234", UAR_E_INVALID);
    name_is("a b", UAR_E_INVALID);
}

static void test_reasoning_goes_back_with_calls_under_the_name_it_came_in(void **state) {
    (void)state;
    uar_part parts[] = { reasoning_part("hm", "{\"openai\":\"reasoning\"}"), call_part("a", "f", "{}") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, parts, 2);
    const char *tail =
        "\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"The call was interrupted; its outcome is "
        "unknown.\"}]";
    char expected[1024];
    (void)snprintf(expected, sizeof expected, "[{\"role\":\"assistant\",\"content\":null,\"reasoning\":\"hm\",%s",
                   tail);
    messages_are(&c, expected);
    c.options.reasoning = UAR_REASONING_ALWAYS;
    messages_are(&c, expected);
    c.options.reasoning = UAR_REASONING_NEVER;
    (void)snprintf(expected, sizeof expected, "[{\"role\":\"assistant\",\"content\":null,%s", tail);
    messages_are(&c, expected);
}

static void test_reasoning_of_a_plain_answer_or_another_provider_stays_unless_all_is_wanted(void **state) {
    (void)state;
    uar_part parts[] = { reasoning_part("hm", "not json"), text_part("yes") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_ASSISTANT, parts, 2);
    messages_are(&c, "[{\"role\":\"assistant\",\"content\":\"yes\"}]");
    c.options.reasoning = UAR_REASONING_ALWAYS;
    messages_are(&c, "[{\"role\":\"assistant\",\"content\":\"yes\",\"reasoning_content\":\"hm\"}]");
}

static void test_messages_that_say_nothing_are_left_out(void **state) {
    (void)state;
    uar_part empty = text_part(""), user = text_part("");
    call c = call_of(3);
    message_set(&c, 0, UAR_ROLE_SYSTEM, &empty, 1);
    message_set(&c, 1, UAR_ROLE_ASSISTANT, NULL, 0);
    message_set(&c, 2, UAR_ROLE_USER, &user, 1);
    messages_are(&c, "[{\"role\":\"user\",\"content\":\"\"}]");
}

static void test_parts_that_the_provider_lacks_are_refused_by_name(void **state) {
    (void)state;
    uar_part image = { .type = UAR_PART_IMAGE };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &image, 1);
    refused_with(&c, UAR_E_UNSUPPORTED, "image");
    image.type = UAR_PART_AUDIO;
    refused_with(&c, UAR_E_UNSUPPORTED, "audio");
    image.type = UAR_PART_FILE;
    refused_with(&c, UAR_E_UNSUPPORTED, "file");
    image.type = (uar_part_type)99;
    refused_with(&c, UAR_E_INVALID, "unknown");
    uar_part result = result_part("a", "r");
    message_set(&c, 0, UAR_ROLE_USER, &result, 1);
    refused_with(&c, UAR_E_INVALID, "tool_result");
}

static void test_tools_and_their_choice_are_written(void **state) {
    (void)state;
    uar_part user = text_part("x");
    uar_model_tool tools[] = { { str("f"), str("Does f"), str("{\"type\":\"object\"}") },
                               { str("g"), str(NULL), str(NULL) } };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    c.options.whole = true;
    c.request.tools = tools;
    c.request.tool_count = 2;
    c.request.tool_choice = UAR_TOOL_CHOICE_NAMED;
    c.request.tool_choice_name = str("g");
    body_is(&c,
            "{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":["
            "{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"Does f\",\"parameters\":{\"type\":"
            "\"object\"}}},{\"type\":\"function\",\"function\":{\"name\":\"g\",\"parameters\":{\"type\":\"object\","
            "\"properties\":{}}}}],\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"g\"}}}");
}

static void choice_is(uar_tool_choice choice, size_t tools, const char *expected) {
    uar_part user = text_part("x");
    uar_model_tool tool = { str("f"), str(NULL), str("{}") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    c.request.tools = &tool;
    c.request.tool_count = tools;
    c.request.tool_choice = choice;
    char *body = NULL;
    assert_int_equal(call_write(&c, &body), UAR_OK);
    const char *found = strstr(body, "\"tool_choice\"");
    if (expected == NULL) assert_null(found);
    if (expected != NULL) assert_string_equal(found, expected);
    uar_codec_body_free(body, &c.options);
}

static void test_a_choice_is_written_where_it_says_something(void **state) {
    (void)state;
    choice_is(UAR_TOOL_CHOICE_AUTO, 1, NULL);
    choice_is(UAR_TOOL_CHOICE_NONE, 0, NULL);
    choice_is(UAR_TOOL_CHOICE_NONE, 1, "\"tool_choice\":\"none\"}");
    choice_is(UAR_TOOL_CHOICE_REQUIRED, 1, "\"tool_choice\":\"required\"}");
}

static void test_what_is_unknown_is_refused(void **state) {
    (void)state;
    call c = call_of(0);
    c.request.tool_choice = (uar_tool_choice)9;
    refused_with(&c, UAR_E_INVALID, "choice");
    char *body = NULL;
    c.request.tool_choice = UAR_TOOL_CHOICE_AUTO;
    assert_int_equal(uar_codec_request(&body, NULL, (uar_codec_format)9, &c.request, &c.options, NULL),
                     UAR_E_UNSUPPORTED);
    c.request.size--;
    refused_with(&c, UAR_E_STRUCT, "older");
    uar_codec_body_free(NULL, NULL);
}

static void test_tools_that_no_provider_takes_are_refused(void **state) {
    (void)state;
    uar_part user = text_part("x");
    uar_model_tool tool = { str("a.b"), str(NULL), str(NULL) };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    c.request.tool_choice = UAR_TOOL_CHOICE_REQUIRED;
    refused_with(&c, UAR_E_INVALID, "none is offered");
    c.request.tools = &tool;
    c.request.tool_count = 1;
    refused_with(&c, UAR_E_INVALID, "a-zA-Z0-9_-");
    tool.name = str("a");
    tool.input_schema = str("[]");
    refused_with(&c, UAR_E_INVALID, "not a JSON object");
    tool.input_schema = str("{");
    refused_with(&c, UAR_E_INVALID, "schema");
    tool.input_schema = str("{}");
    c.request.tool_choice = UAR_TOOL_CHOICE_NAMED;
    c.request.tool_choice_name = str("b");
    refused_with(&c, UAR_E_INVALID, "not among");
}

static void test_a_temperature_of_zero_is_a_temperature(void **state) {
    (void)state;
    call c = call_of(0);
    c.options.whole = true;
    c.request.temperature = 0;
    body_is(&c, "{\"model\":\"m\",\"stream\":false,\"messages\":[],\"temperature\":0}");
}

static void test_limits_schema_and_extras_are_written(void **state) {
    (void)state;
    uar_part user = text_part("x");
    uar_str stops[] = { str("END"), str("\n") };
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    c.options.whole = true;
    c.options.max_completion_tokens = true;
    c.request.temperature = 0.25;
    c.request.max_output_tokens = 100;
    c.request.stop = stops;
    c.request.stop_count = 2;
    c.request.response_schema = str("{\"type\":\"object\"}");
    c.request.extras = str("{\"seed\":12345678901234567890,\"user\":\"u\",\"x\":{\"y\":[1.50]}}");
    body_is(
        &c,
        "{\"model\":\"m\",\"stream\":false,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"temperature\":0.25,"
        "\"max_completion_tokens\":100,\"stop\":[\"END\",\"\\n\"],\"response_format\":{\"type\":\"json_schema\","
        "\"json_schema\":{\"name\":\"answer\",\"schema\":{\"type\":\"object\"}}},\"seed\":12345678901234567890,"
        "\"user\":\"u\",\"x\":{\"y\":[1.50]}}");
}

static void test_extras_cant_replace_what_the_codec_writes(void **state) {
    (void)state;
    static const char *const bad[] = { "{\"messages\":[]}", "{\"model\":\"z\"}",  "{\"stream\":false}",
                                       "{\"n\":2}",         "{\"tools\":[]}",     "[1]",
                                       "{\"a\":1",          "{\"max_tokens\":1}", "{\"temperature\":1}" };
    uar_part user = text_part("x");
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    c.request.max_output_tokens = 5;
    c.request.temperature = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        c.request.extras = str(bad[i]);
        refused_with(&c, UAR_E_INVALID, "extras");
    }
    c.request.max_output_tokens = 0;
    c.request.temperature = -1;
    c.request.extras = str("{\"max_tokens\":1,\"temperature\":1,\"stop\":\"x\",\"response_format\":{}}");
    char *body = NULL;
    assert_int_equal(call_write(&c, &body), UAR_OK);
    uar_codec_body_free(body, &c.options);
}

static void test_a_request_without_a_model_name_is_refused(void **state) {
    (void)state;
    call c = call_of(0);
    c.options.model = NULL;
    refused_with(&c, UAR_E_INVALID, "model");
}

static void test_text_that_is_not_utf8_makes_valid_json(void **state) {
    (void)state;
    uar_part user = text_part("a\xff\xed\xa0\x80");
    call c = call_of(1);
    message_set(&c, 0, UAR_ROLE_USER, &user, 1);
    char *body = NULL;
    assert_int_equal(call_write(&c, &body), UAR_OK);
    uar_codec_body_free(body, &c.options);
}

static void test_out_of_memory_leaves_the_output_alone_and_leaks_nothing(void **state) {
    (void)state;
    uar_part calls[] = { reasoning_part("hm", "{\"openai\":\"reasoning\"}"), text_part("x"),
                         call_part("a", "f", "{\"x\":1}"), call_part("b", "f", "{") };
    uar_part user = text_part("y");
    uar_model_tool tool = { str("f"), str("d"), str("{\"type\":\"object\"}") };
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (size_t n = 1; fired; n++) {
            probe_alloc memory;
            probe_alloc_init(&memory);
            probe_alloc_arm(&memory, n, for_good != 0);
            call c = call_of(2);
            message_set(&c, 0, UAR_ROLE_ASSISTANT, calls, 4);
            message_set(&c, 1, UAR_ROLE_USER, &user, 1);
            c.request.tools = &tool;
            c.request.tool_count = 1;
            c.request.response_schema = str("{\"type\":\"object\"}");
            c.request.extras = str("{\"seed\":1}");
            c.options.allocator = &memory.door;
            char *body = NULL;
            uar_status status = call_write(&c, &body);
            fired = probe_alloc_has_failed(&memory);
            assert_int_equal(status, fired ? UAR_E_NOMEM : UAR_OK);
            uar_codec_body_free(body, &c.options);
            assert_int_equal(memory.alive, 0);
            assert_true(n < 1000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_request_asks_for_a_stream_with_usage),
        cmocka_unit_test(test_several_texts_of_a_user_become_a_list),
        cmocka_unit_test(test_results_follow_their_calls_in_call_order),
        cmocka_unit_test(test_a_call_without_result_is_answered_as_unknown),
        cmocka_unit_test(test_calls_that_share_an_id_get_their_results_in_order),
        cmocka_unit_test(test_a_result_without_its_call_is_refused),
        cmocka_unit_test(test_arguments_that_are_no_json_object_are_wrapped),
        cmocka_unit_test(test_a_name_of_the_past_that_no_provider_takes_is_made_valid),
        cmocka_unit_test(test_every_letter_of_a_valid_name_is_kept),
        cmocka_unit_test(test_names_on_offer_have_1_to_64_letters),
        cmocka_unit_test(test_reasoning_goes_back_with_calls_under_the_name_it_came_in),
        cmocka_unit_test(test_reasoning_of_a_plain_answer_or_another_provider_stays_unless_all_is_wanted),
        cmocka_unit_test(test_messages_that_say_nothing_are_left_out),
        cmocka_unit_test(test_parts_that_the_provider_lacks_are_refused_by_name),
        cmocka_unit_test(test_tools_and_their_choice_are_written),
        cmocka_unit_test(test_a_choice_is_written_where_it_says_something),
        cmocka_unit_test(test_what_is_unknown_is_refused),
        cmocka_unit_test(test_tools_that_no_provider_takes_are_refused),
        cmocka_unit_test(test_a_temperature_of_zero_is_a_temperature),
        cmocka_unit_test(test_limits_schema_and_extras_are_written),
        cmocka_unit_test(test_extras_cant_replace_what_the_codec_writes),
        cmocka_unit_test(test_a_request_without_a_model_name_is_refused),
        cmocka_unit_test(test_text_that_is_not_utf8_makes_valid_json),
        cmocka_unit_test(test_out_of_memory_leaves_the_output_alone_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
