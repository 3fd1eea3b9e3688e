/*
 * The public JSON Schema suite, draft 2020-12, all of its files: every group agrees or is named, with a reason, among those
 * that are not run. And controls: a checker that is blind for one keyword must be found out, whichever it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/schema_suite.h"
#include "support/test_data.h"

static suite files;
static suite_exclusions exclusions;

typedef struct tally {
    int passed, excluded, cases;
} tally;

static void run_group(const suite_file *file, const cJSON *group, tally *t) {
    suite_result result = suite_run_group(file, group);
    suite_exclusion *excluded = suite_excluded(&exclusions, file->name, suite_group_name(group));
    bool agrees = result.compiled == UAR_OK && result.differed == 0;
    if (excluded == NULL) {
        if (!agrees) fail_msg("%s", result.first_difference);
        t->passed++;
        t->cases += result.agreed;
        return;
    }
    bool is_whole_file = strcmp(excluded->group, "*") == 0;
    if (agrees && !is_whole_file && !suite_has_replacement(group))
        fail_msg("%s: %s: excluded, but it agrees", file->name, suite_group_name(group));
    t->excluded++;
}

static void test_every_group_of_the_public_suite_agrees_or_is_excluded_with_a_reason(void **state) {
    (void)state;
    if (files.count == 0) TEST_DATA_MISSING("json-schema");
    tally all = { 0 };
    for (size_t i = 0; i < files.count; i++) {
        tally t = { 0 };
        const cJSON *group = NULL;
        cJSON_ArrayForEach(group, files.files[i].groups) run_group(&files.files[i], group, &t);
        print_message("%-40s %3d groups pass (%d cases), %d excluded\n", files.files[i].name, t.passed, t.cases,
                      t.excluded);
        all.passed += t.passed;
        all.excluded += t.excluded;
        all.cases += t.cases;
    }
    print_message("json-schema: %d groups pass (%d cases), %d excluded\n", all.passed, all.cases, all.excluded);
    for (size_t i = 0; i < exclusions.count; i++)
        if (!exclusions.lines[i].is_used)
            fail_msg("no such group: %s | %s", exclusions.lines[i].file, exclusions.lines[i].group);
    assert_true(all.passed >= 390);
    assert_true(all.cases >= 1400);
}

/* Text that was changed on reading proves nothing about the library, so such a group must be excluded. */
static void test_no_group_is_run_whose_text_the_lenient_reader_changed(void **state) {
    (void)state;
    if (files.count == 0) TEST_DATA_MISSING("json-schema");
    for (size_t i = 0; i < files.count; i++) {
        const cJSON *group = NULL;
        cJSON_ArrayForEach(group, files.files[i].groups) {
            if (!suite_has_replacement(group)) continue;
            if (suite_excluded(&exclusions, files.files[i].name, suite_group_name(group)) == NULL)
                fail_msg("%s: %s has U+0000", files.files[i].name, suite_group_name(group));
        }
    }
}

/* Give every member of this name another one, or the other way round: the compiler then sees no such keyword. */
static void rename_members(cJSON *node, const char *from, char first) {
    if (node->string != NULL && strcmp(node->string, from) == 0) node->string[0] = first;
    for (cJSON *child = node->child; child != NULL; child = child->next)
        rename_members(child, from, first);
}

static int count_differences(const char *hidden) {
    int differences = 0;
    for (size_t i = 0; i < files.count; i++) {
        cJSON *group = NULL;
        cJSON_ArrayForEach(group, files.files[i].groups) {
            if (suite_excluded(&exclusions, files.files[i].name, suite_group_name(group)) != NULL) continue;
            cJSON *document = cJSON_GetObjectItemCaseSensitive(group, "schema");
            char blind[40];
            snprintf(blind, sizeof blind, "~%s", hidden + 1);
            rename_members(document, hidden, '~');
            suite_result result = suite_run_group(&files.files[i], group);
            rename_members(document, blind, hidden[0]);
            differences += result.compiled != UAR_OK ? 1 : result.differed;
        }
    }
    return differences;
}

static void test_a_checker_that_is_blind_for_any_one_keyword_is_found_out(void **state) {
    (void)state;
    static const char *const keywords[] = {
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxContains",
        "minContains",
        "maxProperties",
        "minProperties",
        "required",
        "dependentRequired",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "prefixItems",
        "items",
        "contains",
        "properties",
        "propertyNames",
        "additionalProperties",
        "$ref",
        "patternProperties",
        "$dynamicRef",
        "unevaluatedItems",
        "$anchor",
        "unevaluatedProperties",
        "$id",
        "$dynamicAnchor",
        "$defs",
        "dependencies",
    };
    if (files.count == 0) TEST_DATA_MISSING("json-schema");
    assert_int_equal(count_differences("no keyword of this name"), 0);
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        int found = count_differences(keywords[i]);
        print_message("blind for %s: %d differences\n", keywords[i], found);
        if (found == 0) fail_msg("nothing tells whether \"%s\" is checked", keywords[i]);
    }
}

static int load(void **state) {
    (void)state;
    suite_load(&files);
    suite_exclusions_load(&exclusions);
    return 0;
}

static int unload(void **state) {
    (void)state;
    suite_free(&files);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_group_of_the_public_suite_agrees_or_is_excluded_with_a_reason),
        cmocka_unit_test(test_no_group_is_run_whose_text_the_lenient_reader_changed),
        cmocka_unit_test(test_a_checker_that_is_blind_for_any_one_keyword_is_found_out),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
