/*
 * What the JSON Schema checker promises: what it refuses to compile, what it accepts, and what it tells a model.
 * Beside the cases here it runs the groups of the public draft 2020-12 suite that use supported keywords only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/str.h"
#include "support/probe_alloc.h"
#include "support/test_data.h"
#include "schema/schema.h"

static cJSON *parse(const char *text) {
    cJSON *node = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (json_read(&node, &alloc_default, uar_str_of(text), 1 << 20, &err) != UAR_OK)
        fail_msg("%s: %s", text, err.message);
    return node;
}

static schema *compile(const char *text) {
    cJSON *document = parse(text);
    schema *made = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (schema_compile(&made, &alloc_default, document, &err) != UAR_OK) fail_msg("%s: %s", text, err.message);
    json_free(&alloc_default, document);
    return made;
}

static void assert_refused(const char *text, uar_status want, const char *message) {
    cJSON *document = parse(text);
    schema *made = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = schema_compile(&made, &alloc_default, document, &err);
    if (status != want) fail_msg("%s: %s, %s", text, uar_status_name(status), err.message);
    assert_null(made);
    assert_string_equal(err.message, message);
    json_free(&alloc_default, document);
}

static uar_status check(const char *schema_text, const char *value_text, uar_error *err) {
    schema *s = compile(schema_text);
    cJSON *value = parse(value_text);
    uar_status status = schema_check(s, value, err);
    json_free(&alloc_default, value);
    schema_free(s);
    return status;
}

static void assert_passes(const char *schema_text, const char *value_text) {
    uar_error err = UAR_ERROR_INIT;
    if (check(schema_text, value_text, &err) != UAR_OK) fail_msg("%s: %s: %s", schema_text, value_text, err.message);
}

static void assert_fails(const char *schema_text, const char *value_text, const char *message) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = check(schema_text, value_text, &err);
    if (status != UAR_E_SCHEMA) fail_msg("%s accepted %s", schema_text, value_text);
    assert_int_equal(err.code, UAR_E_SCHEMA);
    assert_string_equal(err.message, message);
    assert_int_equal(check(schema_text, value_text, NULL), UAR_E_SCHEMA);
}

static void test_a_keyword_that_cannot_be_checked_is_refused_by_name_and_place(void **state) {
    (void)state;
    static const char *const names[] = {
        "$ref",
        "$dynamicRef",
        "$vocabulary",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "dependentRequired",
        "prefixItems",
        "contains",
        "minContains",
        "maxContains",
        "uniqueItems",
        "pattern",
        "patternProperties",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[200], want[200];
        snprintf(text, sizeof text, "{\"properties\":{\"a/b\":{\"items\":{\"%s\":true}}}}", names[i]);
        snprintf(want, sizeof want, "\"%s\" is a keyword that can't be checked (at /properties/a~1b/items/%s)",
                 names[i], names[i]);
        assert_refused(text, UAR_E_UNSUPPORTED, want);
    }
}

static void test_a_misspelt_keyword_is_refused(void **state) {
    (void)state;
    assert_refused("{\"requierd\":[\"a\"]}", UAR_E_UNSUPPORTED,
                   "\"requierd\" is not a keyword that is known here (at /requierd)");
    assert_refused("{\"Type\":\"object\"}", UAR_E_UNSUPPORTED,
                   "\"Type\" is not a keyword that is known here (at /Type)");
}

static void test_a_dialect_that_may_mean_something_else_is_refused(void **state) {
    (void)state;
    static const char *const known[] = {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema#",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/schema#",
    };
    static const char *const unknown[] = {
        "http://json-schema.org/draft-04/schema#",
        "https://json-schema.org/draft/2020-12/schema2",
        "https://example.org/draft/2020-12/schema",
        "json-schema",
        "",
    };
    char text[200];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        snprintf(text, sizeof text, "{\"$schema\":\"%s\"}", known[i]);
        assert_passes(text, "1");
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        snprintf(text, sizeof text, "{\"$schema\":\"%s\"}", unknown[i]);
        assert_refused(text, UAR_E_UNSUPPORTED, "\"$schema\" names a dialect that can't be checked (at /$schema)");
    }
}

static void test_annotations_pass_and_assert_nothing(void **state) {
    (void)state;
    assert_passes("{\"$id\":\"a\",\"$comment\":\"c\",\"title\":\"t\",\"description\":\"d\",\"default\":5,"
                  "\"examples\":[1],\"deprecated\":true,\"readOnly\":true,\"writeOnly\":false,\"format\":\"email\","
                  "\"contentEncoding\":\"base64\",\"contentMediaType\":\"a/b\",\"contentSchema\":{\"not\":{}},"
                  "\"$anchor\":\"x\",\"$dynamicAnchor\":\"y\",\"x-order\":3,\"$defs\":{\"a\":{\"pattern\":\"(\"}},"
                  "\"definitions\":{\"a\":false}}",
                  "\"no mail\"");
}

static void test_a_value_that_a_keyword_cannot_have_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *keyword, *value, *must;
    } cases[] = {
        { "type", "\"text\"", "must be the name of a type or an array of different ones" },
        { "type", "[]", "must be the name of a type or an array of different ones" },
        { "type", "[\"null\",\"null\"]", "must be the name of a type or an array of different ones" },
        { "type", "[\"null\",3]", "must be the name of a type or an array of different ones" },
        { "type", "{}", "must be the name of a type or an array of different ones" },
        { "properties", "[]", "must be an object of schemas" },
        { "required", "\"a\"", "must be an array of different names" },
        { "required", "true", "must be an array of different names" },
        { "required", "[\"a\",1]", "must be an array of different names" },
        { "required", "[\"a\",\"b\",\"a\"]", "must be an array of different names" },
        { "additionalProperties", "\"no\"", "must be a schema: an object, true or false" },
        { "items", "[{}]", "must be a schema: an object, true or false" },
        { "enum", "\"a\"", "must be an array" },
        { "minimum", "\"1\"", "must be a number" },
        { "maximum", "null", "must be a number" },
        { "exclusiveMinimum", "true", "must be a number" },
        { "exclusiveMaximum", "{}", "must be a number" },
        { "multipleOf", "0", "must be greater than zero" },
        { "multipleOf", "-1", "must be greater than zero" },
        { "multipleOf", "\"1\"", "must be a number" },
        { "minLength", "-1", "must be a whole number that is not negative" },
        { "maxLength", "1.5", "must be a whole number that is not negative" },
        { "minItems", "\"1\"", "must be a whole number that is not negative" },
        { "maxItems", "1e-1", "must be a whole number that is not negative" },
        { "minProperties", "null", "must be a whole number that is not negative" },
        { "maxProperties", "-1e5", "must be a whole number that is not negative" },
        { "$schema", "1", "must be a string" },
        { "title", "1", "must be a string" },
        { "description", "null", "must be a string" },
        { "format", "[]", "must be a string" },
        { "deprecated", "\"yes\"", "must be true or false" },
        { "examples", "1", "must be an array" },
        { "$defs", "[]", "must be an object" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200], want[200];
        snprintf(text, sizeof text, "{\"items\":{\"%s\":%s}}", cases[i].keyword, cases[i].value);
        snprintf(want, sizeof want, "\"%s\" %s (at /items/%s)", cases[i].keyword, cases[i].must, cases[i].keyword);
        assert_refused(text, UAR_E_SCHEMA, want);
    }
    assert_refused("{\"properties\":{\"a\":3}}", UAR_E_SCHEMA,
                   "\"a\" must be a schema: an object, true or false (at /properties/a)");
    assert_refused("3", UAR_E_SCHEMA, "the schema must be a schema: an object, true or false (at top level)");
    assert_refused("{\"multipleOf\":0.1234567890123456789}", UAR_E_UNSUPPORTED,
                   "\"multipleOf\" can't be checked with more than 18 significant digits (at /multipleOf)");
}

static void assert_no_tool_schema(const char *text) {
    cJSON *document = parse(text);
    schema *made = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = schema_compile_tool(&made, &alloc_default, document, &err);
    if (status != UAR_E_SCHEMA || made != NULL) fail_msg("accepted: %s", text);
    json_free(&alloc_default, document);
}

static void test_the_schema_of_a_tool_must_have_room_for_an_object(void **state) {
    (void)state;
    static const char *const good[] = { "{}", "{\"type\":\"object\"}", "{\"type\":[\"null\",\"object\"]}",
                                        "{\"enum\":[1,{\"a\":1}]}", "{\"const\":{}}" };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cJSON *document = parse(good[i]);
        schema *made = NULL;
        assert_int_equal(schema_compile_tool(&made, &alloc_default, document, NULL), UAR_OK);
        json_free(&alloc_default, document);
        schema_free(made);
    }
    assert_no_tool_schema("true");
    assert_no_tool_schema("false");
    assert_no_tool_schema("[]");
    assert_no_tool_schema("{\"type\":\"string\"}");
    assert_no_tool_schema("{\"type\":[\"array\",\"null\"]}");
    assert_no_tool_schema("{\"const\":1}");
    assert_no_tool_schema("{\"enum\":[1,[]]}");
    assert_no_tool_schema("{\"enum\":[]}");
}

#define WEATHER                                                                                               \
    "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\",\"minLength\":1},\"days\":{\"type\":" \
    "\"integer\",\"minimum\":1,\"maximum\":14},\"unit\":{\"enum\":[\"C\",\"F\",null,2]},\"tags\":{\"type\":"  \
    "\"array\",\"items\":{\"type\":[\"string\",\"null\"]},\"maxItems\":3}},\"required\":[\"city\"],"          \
    "\"additionalProperties\":false}"

static void test_good_arguments_pass(void **state) {
    (void)state;
    assert_passes(WEATHER, "{\"city\":\"Oslo\"}");
    assert_passes(WEATHER, "{\"tags\":[\"a\",null],\"unit\":null,\"days\":14.0,\"city\":\"O\"}");
}

static void test_a_message_names_the_place_what_was_expected_and_what_came(void **state) {
    (void)state;
    assert_fails(WEATHER, "{\"city\":5}", "/city: expected string, got number");
    assert_fails(WEATHER, "[]", "top level: expected object, got array");
    assert_fails(WEATHER, "{\"city\":\"a\",\"days\":1.5}", "/days: expected integer, got 1.5");
    assert_fails(WEATHER, "{\"city\":\"a\",\"days\":true}", "/days: expected integer, got boolean");
    assert_fails(WEATHER, "{\"city\":\"a\",\"days\":15}", "/days: must be at most 14, is 15");
    assert_fails(WEATHER, "{\"city\":\"a\",\"days\":0}", "/days: must be at least 1, is 0");
    assert_fails(WEATHER, "{}", "top level: missing property \"city\" (string)");
    assert_fails(WEATHER, "{\"city\":\"\"}", "/city: must have at least 1 characters, has 0");
    assert_fails(WEATHER, "{\"city\":\"a\",\"unit\":\"K\"}", "/unit: got \"K\", expected one of \"C\", \"F\", null, 2");
    assert_fails(WEATHER, "{\"city\":\"a\",\"tags\":[\"a\",{}]}", "/tags/1: expected string or null, got object");
    assert_fails(WEATHER, "{\"city\":\"a\",\"tags\":[null,null,null,null]}", "/tags: must have at most 3 items, has 4");
    assert_fails(WEATHER, "{\"city\":\"a\",\"day~s\":1}",
                 "/day~0s: unknown property; known are \"city\", \"days\", \"unit\", \"tags\"");
    assert_fails("{\"const\":{\"a\":[]}}", "{\"a\":[1]}", "top level: expected exactly {...}, got {...}");
    assert_fails("{\"properties\":{\"a\":false}}", "{\"a\":1}", "/a: no value is allowed here");
    assert_fails("{\"exclusiveMinimum\":0,\"exclusiveMaximum\":10}", "10", "top level: must be less than 10, is 10");
    assert_fails("{\"exclusiveMinimum\":0}", "-0.0", "top level: must be greater than 0, is -0.0");
    assert_fails("{\"multipleOf\":0.01}", "0.015", "top level: must be a multiple of 0.01, is 0.015");
    assert_fails("{\"maxProperties\":1}", "{\"a\":1,\"b\":1}", "top level: must have at most 1 properties, has 2");
}

static void test_several_faults_are_told_at_once(void **state) {
    (void)state;
    assert_fails(WEATHER, "{\"days\":\"3\",\"unit\":\"K\"}",
                 "/days: expected integer, got string; /unit: got \"K\", expected one of \"C\", \"F\", null, 2; "
                 "top level: missing property \"city\" (string)");
}

static void test_a_message_stays_whole_text_however_much_is_wrong(void **state) {
    (void)state;
    static char value[200000];
    size_t len = 1;
    value[0] = '{';
    for (int i = 0; i < 5000; i++)
        len += (size_t)snprintf(value + len, sizeof value - len, "%s\"\xE4\xBD\xA0%d\":1", i == 0 ? "" : ",", i);
    memcpy(value + len, "}", 2);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(check(WEATHER, value, &err), UAR_E_SCHEMA);
    assert_true(strlen(err.message) > 200);
    assert_null(strchr(err.message, '?'));
}

static void test_a_long_path_does_not_push_the_fault_out_of_the_message(void **state) {
    (void)state;
    char name[600], schema_text[800], value[800];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    snprintf(value, sizeof value, "{\"%s\":1}", name);
    snprintf(schema_text, sizeof schema_text, "{\"properties\":{\"%s\":{\"type\":\"string\"}}}", name);
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(check(schema_text, value, &err), UAR_E_SCHEMA);
    assert_non_null(strstr(err.message, "...: expected string, got number"));
}

static void test_numbers_are_compared_by_their_exact_value(void **state) {
    (void)state;
    assert_passes("{\"const\":1}", "1.0");
    assert_passes("{\"const\":1.0}", "1");
    assert_passes("{\"const\":100}", "1e2");
    assert_passes("{\"const\":0}", "-0.0");
    assert_passes("{\"const\":0.00}", "0e5");
    assert_passes("{\"const\":18446744073709551615}", "18446744073709551615.0");
    assert_fails("{\"const\":9007199254740993}", "9007199254740992",
                 "top level: expected exactly 9007199254740993, got 9007199254740992");
    assert_fails("{\"const\":-1}", "1", "top level: expected exactly -1, got 1");
    assert_passes("{\"maximum\":9223372036854775807}", "9223372036854775807");
    assert_fails("{\"maximum\":9223372036854775807}", "9223372036854775808",
                 "top level: must be at most 9223372036854775807, is 9223372036854775808");
    assert_fails("{\"minimum\":-9223372036854775808}", "-9223372036854775809",
                 "top level: must be at least -9223372036854775808, is -9223372036854775809");
    assert_passes("{\"exclusiveMinimum\":0.1}", "0.10000000000000000000000000001");
    assert_passes("{\"exclusiveMinimum\":1e399}", "1e400");
    assert_passes("{\"minimum\":-2,\"maximum\":-1}", "-1.5");
}

static void test_whole_numbers_are_integers_however_they_are_written(void **state) {
    (void)state;
    static const char *const whole[] = { "0", "-0", "1.0", "1e2", "1.5e1", "120e-1", "18446744073709551616", "1e400" };
    static const char *const broken[] = { "0.5", "1e-1", "1.25e1", "125e-1", "9007199254740992.5" };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        assert_passes("{\"type\":\"integer\"}", whole[i]);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        assert_int_equal(check("{\"type\":\"integer\"}", broken[i], NULL), UAR_E_SCHEMA);
        assert_passes("{\"type\":\"number\"}", broken[i]);
    }
}

static void test_multiples_are_exact(void **state) {
    (void)state;
    static const struct {
        const char *divisor, *value;
        bool want;
    } cases[] = {
        { "0.1", "0.3", true },
        { "0.01", "19.99", true },
        { "0.1", "0.35", false },
        { "3", "0", true },
        { "3", "-9", true },
        { "3", "9223372036854775807", false },
        { "7", "9223372036854775807", true },
        { "10", "100", true },
        { "100", "10", false },
        { "100", "110", false },
        { "2.5", "10", true },
        { "2.5", "11", false },
        { "1e-8", "12391239123", true },
        { "0.5", "1e308", true },
        { "3", "1e308", false },
        { "1024", "1e10", true },
        { "1024", "1e9", false },
        { "999999999999999999", "999999999999999999000000000000000000", true },
        { "999999999999999999", "999999999999999998000000000000000000", false },
        { "576460752303423488", "1e999999999", true },
        { "3", "1e999999999999", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[100];
        snprintf(text, sizeof text, "{\"multipleOf\":%s}", cases[i].divisor);
        uar_status status = check(text, cases[i].value, NULL);
        if ((status == UAR_OK) != cases[i].want) fail_msg("%s of %s", cases[i].value, cases[i].divisor);
    }
}

static void test_limits_hold_at_their_edge(void **state) {
    (void)state;
    assert_passes("{\"minLength\":2,\"maxLength\":2.0}", "\"\\u00e9\\ud83d\\ude00\"");
    assert_int_equal(check("{\"maxLength\":2}", "\"abc\"", NULL), UAR_E_SCHEMA);
    assert_passes("{\"minItems\":1,\"maxItems\":1}", "[0]");
    assert_int_equal(check("{\"minItems\":1}", "[]", NULL), UAR_E_SCHEMA);
    assert_passes("{\"minProperties\":1,\"maxProperties\":1e0}", "{\"a\":0}");
    assert_int_equal(check("{\"minProperties\":1e30}", "{\"a\":0}", NULL), UAR_E_SCHEMA);
    assert_passes("{\"maxItems\":1e30}", "[1,2,3]");
    assert_int_equal(check("{\"minItems\":18446744073709551616}", "[]", NULL), UAR_E_SCHEMA);
    assert_int_equal(check("{\"minItems\":1e999999999999}", "[]", NULL), UAR_E_SCHEMA);
    assert_passes("{\"maxItems\":0,\"maxProperties\":0,\"maxLength\":0,\"maximum\":0}", "true");
}

static void test_deep_equality_ignores_the_order_of_members_only(void **state) {
    (void)state;
    const char *text = "{\"enum\":[{\"a\":[1,{\"b\":2,\"c\":null}],\"d\":\"x\"}]}";
    assert_passes(text, "{\"d\":\"x\",\"a\":[1.0,{\"c\":null,\"b\":2e0}]}");
    static const char *const others[] = {
        "{\"a\":[1,{\"b\":2,\"c\":null}]}",
        "{\"a\":[1,{\"b\":2,\"c\":null}],\"d\":\"x\",\"e\":1}",
        "{\"a\":[{\"b\":2,\"c\":null},1],\"d\":\"x\"}",
        "{\"a\":[1,{\"b\":2,\"c\":null},1],\"d\":\"x\"}",
        "{\"a\":[1,{\"b\":2,\"c\":false}],\"d\":\"x\"}",
        "{\"a\":[1,{\"b\":2,\"C\":null}],\"d\":\"x\"}",
        "{\"a\":[1,{\"b\":\"2\",\"c\":null}],\"d\":\"x\"}",
        "{\"a\":[1],\"d\":\"x\"}",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(check(text, others[i], NULL), UAR_E_SCHEMA);
}

static void test_additional_properties_go_through_their_schema(void **state) {
    (void)state;
    const char *text =
        "{\"properties\":{\"a\":true},\"required\":[\"z\"],\"additionalProperties\":{\"type\":\"null\"}}";
    assert_passes(text, "{\"a\":1,\"b\":null,\"z\":null}");
    assert_fails(text, "{\"a\":1,\"b\":2,\"z\":null}", "/b: expected null, got number");
    assert_fails(text, "{\"a\":1,\"z\":2}", "/z: expected null, got number");
}

static void test_a_compiled_schema_does_not_need_its_document(void **state) {
    (void)state;
    /* compile() frees the document; under AddressSanitizer a pointer left into it is caught here. */
    schema *s = compile("{\"required\":[\"k\"],\"properties\":{\"k\":{\"enum\":[\"a\",[{\"b\":1.5}]],\"default\":1}}}");
    cJSON *value = parse("{\"k\":[{\"b\":15e-1}]}");
    assert_int_equal(schema_check(s, value, NULL), UAR_OK);
    json_free(&alloc_default, value);
    schema_free(s);
    schema_free(NULL);
}

static void test_schemas_with_thousands_of_properties_are_checked_in_reasonable_time(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    static char text[COUNT * 40], value[COUNT * 20];
    size_t at = 0, v = 0;
    for (int i = 0; i < COUNT; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\"p%d\":{\"type\":\"integer\"}",
                               i == 0 ? "{\"properties\":{" : ",", i);
        v += (size_t)snprintf(value + v, sizeof value - v, "%s\"p%d\":%d", i == 0 ? "{" : ",", i, i);
    }
    memcpy(text + at, "}}", 3);
    memcpy(value + v, "}", 2);
    cJSON *document = parse(text), *node = parse(value);
    schema *s = NULL;
    assert_int_equal(schema_compile(&s, &alloc_default, document, NULL), UAR_OK);
    assert_int_equal(schema_check(s, node, NULL), UAR_OK);
    schema_free(s);
    json_free(&alloc_default, document);
    json_free(&alloc_default, node);
}

static void test_compiling_without_memory_leaks_nothing_and_leaves_the_output(void **state) {
    (void)state;
    char text[6000];
    size_t len =
        (size_t)snprintf(text, sizeof text, "{\"$defs\":{},\"enum\":[{\"a\":\"%0*d\"}],\"properties\":{", 2500, 7);
    for (int i = 0; i < 60; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\"p%d\":{\"const\":[%d]}", i == 0 ? "" : ",", i, i);
    snprintf(text + len, sizeof text - len, "},\"required\":[\"p1\",\"q\"]}");
    cJSON *document = parse(text);
    for (int for_good = 0; for_good < 2; for_good++) {
        bool has_failed = true;
        for (unsigned long n = 1; has_failed; n++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            probe_alloc_arm(&probe, n, for_good != 0);
            schema *s = NULL;
            uar_error err = UAR_ERROR_INIT;
            uar_status status = schema_compile_tool(&s, &probe.door, document, &err);
            has_failed = probe_alloc_has_failed(&probe);
            assert_int_equal(status, has_failed ? UAR_E_NOMEM : UAR_OK);
            assert_int_equal(err.code, status);
            assert_true((s == NULL) == has_failed);
            if (!has_failed) assert_true(n > 4);
            schema_free(s);
            assert_int_equal(probe.alive, 0);
        }
    }
    json_free(&alloc_default, document);
}

/* ---- The public suite ---- */

typedef struct suite_count {
    int groups, cases, refused;
} suite_count;

static void run_group(const char *file, const cJSON *group, suite_count *count) {
    schema *s = NULL;
    uar_error err = UAR_ERROR_INIT;
    const char *name = cJSON_GetObjectItemCaseSensitive(group, "description")->valuestring;
    uar_status status = schema_compile(&s, &alloc_default, cJSON_GetObjectItemCaseSensitive(group, "schema"), &err);
    if (status == UAR_E_UNSUPPORTED) {
        count->refused++;
        return;
    }
    if (status != UAR_OK) fail_msg("%s: %s: %s", file, name, err.message);
    count->groups++;
    const cJSON *test = NULL;
    cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(group, "tests")) {
        bool want = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(test, "valid"));
        status = schema_check(s, cJSON_GetObjectItemCaseSensitive(test, "data"), &err);
        if ((status == UAR_OK) != want)
            fail_msg("%s: %s: %s: %s", file, name, cJSON_GetObjectItemCaseSensitive(test, "description")->valuestring,
                     want ? err.message : "accepted");
        count->cases++;
    }
    schema_free(s);
}

/* False if there is no such file. */
static bool run_file(const char *name, suite_count *count) {
    char path[200];
    snprintf(path, sizeof path, "json-schema/tests/draft2020-12/%s.json", name);
    size_t len = 0;
    char *text = test_data_read(path, &len);
    if (text == NULL) return false;
    cJSON *groups = NULL;
    json_notes notes = { 0 };
    uar_error err = UAR_ERROR_INIT;
    /* Provider mode: the suite has U+0000 in strings. */
    uar_status status =
        json_read_mode(&groups, &alloc_default, uar_str_n(text, len), SIZE_MAX, JSON_PROVIDER, &notes, &err);
    if (status != UAR_OK) fail_msg("%s: %s", name, err.message);
    const cJSON *group = NULL;
    cJSON_ArrayForEach(group, groups) run_group(name, group, count);
    json_free(&alloc_default, groups);
    free(text);
    return true;
}

static void test_the_public_suite_agrees_where_its_keywords_are_supported(void **state) {
    (void)state;
    static const char *const names[] = {
        "additionalProperties",
        "allOf",
        "anchor",
        "anyOf",
        "boolean_schema",
        "const",
        "contains",
        "content",
        "default",
        "defs",
        "dependentRequired",
        "dependentSchemas",
        "dynamicRef",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "if-then-else",
        "infinite-loop-detection",
        "items",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "properties",
        "propertyNames",
        "ref",
        "refRemote",
        "required",
        "type",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
        "vocabulary",
        "optional/bignum",
        "optional/float-overflow",
        "optional/no-schema",
        "optional/unknownKeyword",
    };
    suite_count count = { 0 };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!run_file(names[i], &count)) TEST_DATA_MISSING("json-schema");
    }
    print_message("json-schema: %d groups with %d cases agree, %d groups refused\n", count.groups, count.cases,
                  count.refused);
    assert_true(count.groups >= 90);
    assert_true(count.cases >= 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_keyword_that_cannot_be_checked_is_refused_by_name_and_place),
        cmocka_unit_test(test_a_misspelt_keyword_is_refused),
        cmocka_unit_test(test_a_dialect_that_may_mean_something_else_is_refused),
        cmocka_unit_test(test_annotations_pass_and_assert_nothing),
        cmocka_unit_test(test_a_value_that_a_keyword_cannot_have_is_refused),
        cmocka_unit_test(test_the_schema_of_a_tool_must_have_room_for_an_object),
        cmocka_unit_test(test_good_arguments_pass),
        cmocka_unit_test(test_a_message_names_the_place_what_was_expected_and_what_came),
        cmocka_unit_test(test_several_faults_are_told_at_once),
        cmocka_unit_test(test_a_message_stays_whole_text_however_much_is_wrong),
        cmocka_unit_test(test_a_long_path_does_not_push_the_fault_out_of_the_message),
        cmocka_unit_test(test_numbers_are_compared_by_their_exact_value),
        cmocka_unit_test(test_whole_numbers_are_integers_however_they_are_written),
        cmocka_unit_test(test_multiples_are_exact),
        cmocka_unit_test(test_limits_hold_at_their_edge),
        cmocka_unit_test(test_deep_equality_ignores_the_order_of_members_only),
        cmocka_unit_test(test_additional_properties_go_through_their_schema),
        cmocka_unit_test(test_a_compiled_schema_does_not_need_its_document),
        cmocka_unit_test(test_schemas_with_thousands_of_properties_are_checked_in_reasonable_time),
        cmocka_unit_test(test_compiling_without_memory_leaks_nothing_and_leaves_the_output),
        cmocka_unit_test(test_the_public_suite_agrees_where_its_keywords_are_supported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
