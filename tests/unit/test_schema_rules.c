/*
 * What a model or a host is told by the keywords that apply schemas, by references and by patterns; and that schemas of ill
 * will end in a typed error: circles, chains, paths that double, values that cost too much. Verdicts as such are the public
 * suite's part (tests/conformance).
 */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/str.h"
#include "support/probe_alloc.h"
#include "support/schema_case.h"

static void test_alternatives_that_all_fail_are_told_one_by_one(void **state) {
    (void)state;
    const char *any = "{\"properties\":{\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5,\"multipleOf\":2}]}}}";
    assert_misfits(
        any, "{\"a\":3}",
        "/a: fits none of 2 alternatives: (1) /a: expected string, got number; (2) /a: must be at least 5, is "
        "3; /a: must be a multiple of 2, is 3");
    assert_fits(any, "{\"a\":6}");
    const char *one = "{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}";
    assert_misfits(
        one, "{}",
        "top level: fits none of 2 alternatives: (1) top level: missing property \"a\"; (2) top level: missing "
        "property \"b\"");
    assert_misfits(one, "{\"a\":1,\"b\":1}",
                   "top level: fits more than one of 2 alternatives, of which only one may fit");
    assert_fits(one, "{\"b\":1}");
}

static void test_what_failed_on_the_way_to_a_fit_is_not_told(void **state) {
    (void)state;
    assert_misfits(
        "{\"properties\":{\"a\":{\"anyOf\":[{\"type\":\"string\"},true]},\"b\":{\"oneOf\":[false,true,false]},"
        "\"c\":{\"if\":{\"const\":1},\"else\":{\"type\":\"null\"}},\"d\":{\"not\":{\"type\":\"number\"}}}}",
        "{\"a\":1,\"b\":1,\"c\":2,\"d\":1}", "/c: expected null, got number; /d: fits what is ruled out here");
}

static void test_a_message_that_is_full_changes_no_verdict(void **state) {
    (void)state;
    buffer text;
    buffer_init(&text, &alloc_default, SIZE_MAX / 2);
    buffer_append_text(&text, "{\"anyOf\":[");
    for (int i = 0; i < 100; i++)
        buffer_append_text(&text, "{\"type\":\"string\"},");
    buffer_append_text(&text, "{\"allOf\":[{\"type\":\"number\"},{\"minimum\":2}]}]}");
    assert_fits(text.ptr, "2");
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(schema_case_check(text.ptr, "1", &err), UAR_E_SCHEMA);
    assert_int_equal(schema_case_check(text.ptr, "1", NULL), UAR_E_SCHEMA);
    buffer_dispose(&text);
}

static void test_messages_of_arrays(void **state) {
    (void)state;
    assert_misfits("{\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":\"string\"}}", "[1,2]",
                   "/0: expected null, got number; /1: expected string, got number");
    assert_misfits("{\"contains\":{\"const\":1}}", "[2]",
                   "top level: must have at least 1 items that fit `contains`, has 0");
    assert_misfits("{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1.0]",
                   "top level: must have at most 1 items that fit `contains`, has 2");
    assert_misfits("{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},0,{\"b\":2.0,\"a\":1}]",
                   "top level: items must differ, but 0 and 2 are equal");
    assert_misfits("{\"uniqueItems\":true}", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,[1],[1.0]]",
                   "top level: items must differ, but 14 and 15 are equal");
    assert_misfits("{\"prefixItems\":[true],\"unevaluatedItems\":{\"type\":\"null\"}}", "[1,2]",
                   "/1: expected null, got number");
}

static void test_messages_of_objects(void **state) {
    (void)state;
    assert_misfits("{\"patternProperties\":{\"^x-\":{\"type\":\"string\"}}}", "{\"x-a\":1}",
                   "/x-a: expected string, got number");
    assert_misfits("{\"propertyNames\":{\"maxLength\":2}}", "{\"ab\":1,\"abc\":1}",
                   "/abc: this name can't be used: /abc: must have at most 2 characters, has 3");
    assert_misfits("{\"dependentRequired\":{\"card\":[\"name\",\"street\"]}}", "{\"card\":1,\"name\":1}",
                   "top level: missing property \"street\", which \"card\" needs");
    assert_misfits("{\"dependentSchemas\":{\"a\":{\"properties\":{\"b\":false}}}}", "{\"a\":1,\"b\":1}",
                   "/b: no value is allowed here");
    assert_misfits("{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":1}",
                   "/b: unknown property");
    assert_misfits("{\"pattern\":\"^[a-z]+$\"}", "\"A\"", "top level: must match the pattern ^[a-z]+$, is \"A\"");
}

static void test_references_lead_through_the_text(void **state) {
    (void)state;
    assert_misfits("{\"$defs\":{\"a\":{\"$anchor\":\"x\",\"type\":\"string\"}},\"items\":{\"$ref\":\"#x\"}}", "[1]",
                   "/0: expected string, got number");
    assert_misfits("{\"$id\":\"https://example.org/a/b\",\"$defs\":{\"c\":{\"$id\":\"../c/d?e\",\"type\":\"null\"}},"
                   "\"$ref\":\"https://example.org/c/./x/../d?e#\"}",
                   "1", "top level: expected null, got number");
    assert_fits(
        "{\"$ref\":\"#/definitions/list\",\"definitions\":{\"list\":{\"items\":{\"$ref\":\"#/definitions/list\"},"
        "\"type\":\"array\"}}}",
        "[[],[[[]]]]");
}

static void test_a_reference_to_nothing_or_to_elsewhere_is_refused(void **state) {
    (void)state;
    assert_no_schema("{\"items\":{\"$ref\":\"#/$defs/b\"},\"$defs\":{\"a\":true}}", UAR_E_SCHEMA,
                     "\"$ref\" names nothing that is in this schema (at /items/$ref)");
    assert_no_schema("{\"$ref\":\"#nowhere\"}", UAR_E_SCHEMA,
                     "\"$ref\" names nothing that is in this schema (at /$ref)");
    assert_no_schema("{\"$ref\":\"#/%zz\"}", UAR_E_SCHEMA, "\"$ref\" names nothing that is in this schema (at /$ref)");
    assert_no_schema("{\"prefixItems\":[{\"$dynamicRef\":\"https://example.org/x#y\"}]}", UAR_E_UNSUPPORTED,
                     "\"$dynamicRef\" names a schema outside of this one; nothing is fetched (at "
                     "/prefixItems/0/$dynamicRef)");
    assert_no_schema("{\"$ref\":\"#a\",\"$defs\":{\"x\":{\"$anchor\":\"a\"},\"y\":{\"$anchor\":\"a\"}}}", UAR_E_SCHEMA,
                     "\"$ref\" names an anchor that stands twice (at /$ref)");
    assert_no_schema("{\"$ref\":\"u:a\",\"$defs\":{\"x\":{\"$id\":\"u:a\"},\"y\":{\"$id\":\"u:a\"}}}", UAR_E_SCHEMA,
                     "\"$ref\" names an $id that stands twice (at /$ref)");
    assert_no_schema("{\"$ref\":\"#/title\",\"title\":\"t\"}", UAR_E_SCHEMA,
                     "\"#/title\" must be a schema: an object, true or false (at #/title)");
}

static void test_a_circle_of_references_is_refused(void **state) {
    (void)state;
    const char *fault = "the schema refers to itself in a circle that never reads on in the value (at top level)";
    assert_no_schema("{\"$ref\":\"#\"}", UAR_E_SCHEMA, fault);
    assert_no_schema(
        "{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"not\":{\"$ref\":\"#\"}}}}",
        UAR_E_SCHEMA, fault);
    assert_no_schema("{\"dependentSchemas\":{\"a\":{\"if\":{\"$ref\":\"#\"}}}}", UAR_E_SCHEMA, fault);
    assert_no_schema("{\"$dynamicAnchor\":\"a\",\"else\":{\"$dynamicRef\":\"#a\"}}", UAR_E_SCHEMA, fault);
    assert_fits("{\"items\":{\"$ref\":\"#\"},\"additionalProperties\":{\"$ref\":\"#\"},\"contains\":{\"$ref\":\"#\"}}",
                "[[[{\"a\":[1]}]]]");
}

/* A circle that only the schemas in use close: no compiler sees it, the bound on levels ends it. */
static void test_a_circle_that_dynamic_references_close_ends_with_a_typed_error(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT;
    const char *text =
        "{\"$id\":\"u:a\",\"$ref\":\"u:b\",\"$defs\":{\"b\":{\"$id\":\"u:b\",\"$dynamicRef\":\"#x\","
        "\"$defs\":{\"x\":{\"$dynamicAnchor\":\"x\"}}},\"x\":{\"$dynamicAnchor\":\"x\",\"$ref\":\"u:b\"}}}";
    assert_int_equal(schema_case_check(text, "1", &err), UAR_E_TOO_LARGE);
    assert_string_equal(err.message, "checking it against its schema takes more steps or levels than are allowed");
}

/* {"$defs":{"d0":{"$ref":"#/$defs/d1"},…}}, `times` references each. */
static char *chain(int length, int times, buffer *text) {
    char part[64];
    buffer_init(text, &alloc_default, SIZE_MAX / 2);
    buffer_append_text(text, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < length; i++) {
        snprintf(part, sizeof part, "\"d%d\":{\"allOf\":[", i);
        buffer_append_text(text, part);
        for (int j = 0; j < times; j++) {
            snprintf(part, sizeof part, "%s{\"$ref\":\"#/$defs/d%d\"}", j > 0 ? "," : "", i + 1);
            buffer_append_text(text, part);
        }
        buffer_append_text(text, "]},");
    }
    snprintf(part, sizeof part, "\"d%d\":true}}", length);
    buffer_append_text(text, part);
    return text->ptr;
}

static void test_a_chain_of_references_has_a_longest_length(void **state) {
    (void)state;
    buffer text;
    assert_fits(chain(90, 1, &text), "1");
    buffer_dispose(&text);
    assert_no_schema(chain(110, 1, &text), UAR_E_UNSUPPORTED,
                     "the schema has a chain of references that is too long (at top level)");
    buffer_dispose(&text);
}

static void test_a_schema_has_a_largest_number_of_references(void **state) {
    (void)state;
    buffer text;
    assert_no_schema(chain(9999, 1, &text), UAR_E_UNSUPPORTED,
                     "the schema has a chain of references that is too long (at top level)");
    buffer_dispose(&text);
    assert_no_schema(chain(10000, 1, &text), UAR_E_UNSUPPORTED,
                     "\"$ref\" is one reference more than the 10000 that are allowed (at #/$defs/d9999/allOf/0/$ref)");
    buffer_dispose(&text);
}

static void test_paths_that_double_end_when_the_budget_does(void **state) {
    (void)state;
    buffer text;
    uar_error err = UAR_ERROR_INIT;
    assert_fits(chain(12, 2, &text), "1");
    buffer_dispose(&text);
    assert_int_equal(schema_case_check(chain(40, 2, &text), "1", &err), UAR_E_TOO_LARGE);
    assert_int_equal(err.code, UAR_E_TOO_LARGE);
    buffer_dispose(&text);
}

static char *repeated(buffer *text, const char *before, const char *part, int count, const char *after) {
    buffer_init(text, &alloc_default, SIZE_MAX / 2);
    buffer_append_text(text, before);
    for (int i = 0; i < count; i++) {
        if (i > 0) buffer_append_char(text, ',');
        buffer_append_text(text, part);
    }
    buffer_append_text(text, after);
    return text->ptr;
}

static void test_a_value_that_costs_too_much_ends_when_the_budget_does(void **state) {
    (void)state;
    buffer schema_text, value;
    /* Each item against each choice. */
    repeated(&schema_text, "{\"items\":{\"enum\":[", "2", 20000, "]}}");
    repeated(&value, "[", "1,2", 10000, "]");
    assert_int_equal(schema_case_check(schema_text.ptr, value.ptr, NULL), UAR_E_SCHEMA);
    buffer_dispose(&value);
    repeated(&value, "[", "2", 20000, "]");
    assert_int_equal(schema_case_check(schema_text.ptr, value.ptr, NULL), UAR_OK);
    buffer_dispose(&schema_text);
    repeated(&schema_text, "{\"items\":{\"not\":{\"enum\":[", "1", 20000, "]}}}");
    assert_int_equal(schema_case_check(schema_text.ptr, value.ptr, NULL), UAR_E_TOO_LARGE);
    buffer_dispose(&schema_text);
    buffer_dispose(&value);
}

static void test_large_values_that_need_one_look_are_within_the_budget(void **state) {
    (void)state;
    buffer value;
    repeated(&value, "[", "{\"id\":1,\"tags\":[\"a\",\"b\"]}", 100000, "]");
    assert_fits(
        "{\"items\":{\"properties\":{\"id\":{\"type\":\"integer\",\"minimum\":0},\"tags\":{\"items\":{\"pattern\":"
        "\"^[a-z]+$\"},\"uniqueItems\":true}},\"required\":[\"id\"],\"additionalProperties\":false}}",
        value.ptr);
    buffer_dispose(&value);
}

static void test_many_different_items_are_compared_in_reasonable_time(void **state) {
    (void)state;
    buffer value;
    char part[32];
    buffer_init(&value, &alloc_default, SIZE_MAX / 2);
    for (int i = 0; i < 50000; i++) {
        snprintf(part, sizeof part, "%s{\"a\":%d}", i == 0 ? "[" : ",", i);
        buffer_append_text(&value, part);
    }
    buffer_append_text(&value, "]");
    assert_fits("{\"uniqueItems\":true}", value.ptr);
    value.len--;
    buffer_append_text(&value, ",{\"a\":41.0e1}]");
    assert_misfits("{\"uniqueItems\":true}", value.ptr, "top level: items must differ, but 410 and 50000 are equal");
    buffer_dispose(&value);
}

static void test_marks_of_more_than_64_properties(void **state) {
    (void)state;
    buffer schema_text, value;
    char part[40];
    buffer_init(&schema_text, &alloc_default, SIZE_MAX / 2);
    buffer_init(&value, &alloc_default, SIZE_MAX / 2);
    buffer_append_text(&schema_text, "{\"allOf\":[{\"properties\":{\"p0\":true");
    buffer_append_text(&value, "{\"p0\":1");
    for (int i = 1; i < 200; i++) {
        snprintf(part, sizeof part, ",\"p%d\":true", i);
        buffer_append_text(&schema_text, part);
        buffer_append_text(&value, part);
    }
    buffer_append_text(&schema_text, "}}],\"unevaluatedProperties\":false}");
    buffer_append_text(&value, "}");
    assert_fits(schema_text.ptr, value.ptr);
    value.len--;
    buffer_append_text(&value, ",\"q\":1}");
    assert_misfits(schema_text.ptr, value.ptr, "/q: unknown property");
    buffer_dispose(&schema_text);
    buffer_dispose(&value);
}

static void test_a_bad_pattern_is_refused_with_its_place(void **state) {
    (void)state;
    assert_no_schema("{\"properties\":{\"a\":{\"pattern\":\"a(?=b)\"}}}", UAR_E_UNSUPPORTED,
                     "\"pattern\" can't be checked: a lookahead at character 2 (at /properties/a/pattern)");
    assert_no_schema(
        "{\"patternProperties\":{\"[\":true}}", UAR_E_SCHEMA,
        "\"[\" is no regular expression: a class without its end at character 1 (at /patternProperties/[)");
    assert_no_schema("{\"pattern\":1}", UAR_E_SCHEMA, "\"pattern\" must be a string (at /pattern)");
}

static void test_the_patterns_of_a_schema_share_a_limit(void **state) {
    (void)state;
    buffer text;
    repeated(&text, "{\"allOf\":[", "{\"pattern\":\"^.{1,4000}$\"}", 20, "]}");
    assert_fits(text.ptr, "\"a\"");
    buffer_dispose(&text);
    repeated(&text, "{\"allOf\":[", "{\"pattern\":\"^.{1,4000}$\"}", 40, "]}");
    assert_int_equal(schema_compile_text(&(schema *){ NULL }, &alloc_default, uar_str_of(text.ptr), SIZE_MAX, NULL),
                     UAR_E_UNSUPPORTED);
    buffer_dispose(&text);
}

static void test_values_that_new_keywords_cannot_have(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "{\"allOf\":[]}", "\"allOf\" must be an array of schemas that is not empty (at /allOf)" },
        { "{\"anyOf\":{}}", "\"anyOf\" must be an array of schemas that is not empty (at /anyOf)" },
        { "{\"oneOf\":[1]}", "item 0 must be a schema: an object, true or false (at /oneOf/0)" },
        { "{\"prefixItems\":[]}", "\"prefixItems\" must be an array of schemas that is not empty (at /prefixItems)" },
        { "{\"not\":[]}", "\"not\" must be a schema: an object, true or false (at /not)" },
        { "{\"if\":1}", "\"if\" must be a schema: an object, true or false (at /if)" },
        { "{\"uniqueItems\":1}", "\"uniqueItems\" must be true or false (at /uniqueItems)" },
        { "{\"minContains\":-1}", "\"minContains\" must be a whole number that is not negative (at /minContains)" },
        { "{\"dependentRequired\":[]}",
          "\"dependentRequired\" must be an object of arrays of names (at /dependentRequired)" },
        { "{\"dependentRequired\":{\"a\":1}}", "\"a\" must be an array of names (at /dependentRequired/a)" },
        { "{\"dependentRequired\":{\"a\":[1]}}", "\"a\" must be an array of names (at /dependentRequired/a)" },
        { "{\"dependentSchemas\":{\"a\":[]}}",
          "\"a\" must be a schema: an object, true or false (at /dependentSchemas/a)" },
        { "{\"patternProperties\":1}", "\"patternProperties\" must be an object of schemas (at /patternProperties)" },
        { "{\"$ref\":1}", "\"$ref\" must be a string (at /$ref)" },
        { "{\"$vocabulary\":1}", "\"$vocabulary\" must be an object (at /$vocabulary)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_no_schema(cases[i].text, UAR_E_SCHEMA, cases[i].message);
}

/* Draft-07, which many tools still write: what stands beside $ref is ignored there, and `$id` may be an anchor. */
static void test_schemas_that_say_draft_07_keep_its_ref(void **state) {
    (void)state;
    const char *text = "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$ref\":\"#a\",\"maximum\":0,"
                       "\"definitions\":{\"x\":{\"$id\":\"#a\",\"type\":\"integer\"}}}";
    assert_fits(text, "5");
    assert_misfits(text, "\"5\"", "top level: expected integer, got string");
}

static void test_what_nothing_refers_to_in_defs_is_not_looked_at(void **state) {
    (void)state;
    assert_fits("{\"$defs\":{\"a\":{\"pattern\":\"(\"},\"b\":{\"$ref\":\"https://example.org\"},\"c\":7}}", "1");
    assert_no_schema(
        "{\"$defs\":{\"a\":{\"pattern\":\"(\"}},\"$ref\":\"#/$defs/a\"}", UAR_E_SCHEMA,
        "\"pattern\" is no regular expression: a group without its end at character 1 (at #/$defs/a/pattern)");
}

static void test_a_tool_may_say_what_its_object_is_by_reference(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_good;
    } cases[] = {
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"object\"}}}", true },
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"array\"}}}", false },
        { "{\"allOf\":[{\"type\":\"object\"},{\"type\":\"string\"}]}", false },
        { "{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"string\"}]}", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *document = schema_case_parse(cases[i].text);
        schema *made = NULL;
        uar_status status = schema_compile_tool(&made, &alloc_default, document, NULL);
        assert_int_equal(status, cases[i].is_good ? UAR_OK : UAR_E_SCHEMA);
        json_free(&alloc_default, document);
        schema_free(made);
    }
}

#define EVERYTHING                                                                                                   \
    "{\"$id\":\"https://example.org/root\",\"$dynamicAnchor\":\"node\",\"$defs\":{\"n\":{\"$id\":\"n\",\"$anchor\":" \
    "\"x\",\"$dynamicAnchor\":\"node\",\"type\":[\"string\",\"null\"],\"pattern\":\"^(a|b){1,40}[^x]?$\"}},"         \
    "\"properties\":{\"a\":{\"$ref\":\"n#x\"},\"l\":{\"prefixItems\":[{\"const\":1}],\"uniqueItems\":true,"          \
    "\"contains\":{\"enum\":[3,{\"k\":[1]}]},\"unevaluatedItems\":{\"type\":\"integer\"}}},\"patternProperties\":{"  \
    "\"^p\":{\"anyOf\":[{\"$dynamicRef\":\"#node\"},{\"not\":{\"type\":\"null\"}}]}},\"dependentRequired\":{\"a\":[" \
    "\"l\"]},\"dependencies\":{\"l\":{\"minProperties\":1}},\"propertyNames\":{\"maxLength\":200},"                  \
    "\"if\":{\"required\":[\"a\"]},\"then\":{\"oneOf\":[{\"required\":[\"l\"]},false]},\"unevaluatedProperties\":"   \
    "false}"

static char *everything_fits(buffer *value) {
    char part[32];
    buffer_init(value, &alloc_default, SIZE_MAX / 2);
    buffer_append_text(value, "{\"a\":\"abab\",\"l\":[1");
    for (int i = 2; i < 100; i++) {
        snprintf(part, sizeof part, ",%d", i);
        buffer_append_text(value, part);
    }
    buffer_append_text(value, "]");
    for (int i = 0; i < 80; i++) {
        snprintf(part, sizeof part, ",\"p%d\":{}", i);
        buffer_append_text(value, part);
    }
    buffer_append_text(value, "}");
    return value->ptr;
}

static void test_compiling_anything_without_memory_leaks_nothing_and_leaves_the_output(void **state) {
    (void)state;
    cJSON *document = schema_case_parse(EVERYTHING);
    for (int for_good = 0; for_good < 2; for_good++) {
        bool has_failed = true;
        for (unsigned long n = 1; has_failed; n++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            probe_alloc_arm(&probe, n, for_good != 0);
            schema *s = NULL;
            uar_error err = UAR_ERROR_INIT;
            uar_status status = schema_compile(&s, &probe.door, document, &err);
            has_failed = probe_alloc_has_failed(&probe);
            assert_int_equal(status, has_failed ? UAR_E_NOMEM : UAR_OK);
            assert_int_equal(err.code, status);
            assert_true((s == NULL) == has_failed);
            if (!has_failed) assert_true(n > 20);
            schema_free(s);
            assert_int_equal(probe.alive, 0);
        }
    }
    json_free(&alloc_default, document);
}

static void test_checking_without_memory_leaks_nothing_and_says_so(void **state) {
    (void)state;
    buffer text;
    cJSON *document = schema_case_parse(EVERYTHING), *value = schema_case_parse(everything_fits(&text));
    for (int for_good = 0; for_good < 2; for_good++) {
        bool has_failed = true;
        for (unsigned long n = 1; has_failed; n++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            schema *s = NULL;
            assert_int_equal(schema_compile(&s, &probe.door, document, NULL), UAR_OK);
            long alive = probe.alive;
            probe_alloc_arm(&probe, n, for_good != 0);
            uar_error err = UAR_ERROR_INIT;
            uar_status status = schema_check(s, value, &err);
            has_failed = probe_alloc_has_failed(&probe);
            if (status != (has_failed ? UAR_E_NOMEM : UAR_OK)) fail_msg("%s: %s", uar_status_name(status), err.message);
            assert_int_equal(err.code, status);
            if (!has_failed) assert_true(n > 4);
            assert_int_equal(probe.alive, alive);
            schema_free(s);
            assert_int_equal(probe.alive, 0);
        }
    }
    buffer_dispose(&text);
    json_free(&alloc_default, document);
    json_free(&alloc_default, value);
}

static void test_text_that_is_no_json_is_no_schema(void **state) {
    (void)state;
    schema *made = NULL;
    assert_int_equal(schema_compile_text(&made, &alloc_default, STR("{"), 100, NULL), UAR_E_JSON);
    assert_int_equal(schema_compile_text(&made, &alloc_default, STR("{\"type\":\"null\"}"), 5, NULL), UAR_E_TOO_LARGE);
    assert_null(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alternatives_that_all_fail_are_told_one_by_one),
        cmocka_unit_test(test_what_failed_on_the_way_to_a_fit_is_not_told),
        cmocka_unit_test(test_a_message_that_is_full_changes_no_verdict),
        cmocka_unit_test(test_messages_of_arrays),
        cmocka_unit_test(test_messages_of_objects),
        cmocka_unit_test(test_references_lead_through_the_text),
        cmocka_unit_test(test_a_reference_to_nothing_or_to_elsewhere_is_refused),
        cmocka_unit_test(test_a_circle_of_references_is_refused),
        cmocka_unit_test(test_a_circle_that_dynamic_references_close_ends_with_a_typed_error),
        cmocka_unit_test(test_a_chain_of_references_has_a_longest_length),
        cmocka_unit_test(test_a_schema_has_a_largest_number_of_references),
        cmocka_unit_test(test_paths_that_double_end_when_the_budget_does),
        cmocka_unit_test(test_a_value_that_costs_too_much_ends_when_the_budget_does),
        cmocka_unit_test(test_large_values_that_need_one_look_are_within_the_budget),
        cmocka_unit_test(test_many_different_items_are_compared_in_reasonable_time),
        cmocka_unit_test(test_marks_of_more_than_64_properties),
        cmocka_unit_test(test_a_bad_pattern_is_refused_with_its_place),
        cmocka_unit_test(test_the_patterns_of_a_schema_share_a_limit),
        cmocka_unit_test(test_values_that_new_keywords_cannot_have),
        cmocka_unit_test(test_schemas_that_say_draft_07_keep_its_ref),
        cmocka_unit_test(test_what_nothing_refers_to_in_defs_is_not_looked_at),
        cmocka_unit_test(test_a_tool_may_say_what_its_object_is_by_reference),
        cmocka_unit_test(test_compiling_anything_without_memory_leaks_nothing_and_leaves_the_output),
        cmocka_unit_test(test_checking_without_memory_leaks_nothing_and_says_so),
        cmocka_unit_test(test_text_that_is_no_json_is_no_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
