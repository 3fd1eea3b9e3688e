/* Compiling and checking schemas written as text, for tests. A schema that doesn't compile fails the test. */
#ifndef UAR_TESTS_SUPPORT_SCHEMA_CASE_H
#define UAR_TESTS_SUPPORT_SCHEMA_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schema/schema.h"

static inline cJSON *schema_case_parse(const char *text) {
    cJSON *node = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (json_read(&node, &alloc_default, uar_str_of(text), (size_t)64 << 20, &err) != UAR_OK)
        fail_msg("%.200s: %s", text, err.message);
    return node;
}

static inline schema *schema_case_compile(const char *text) {
    schema *made = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (schema_compile_text(&made, &alloc_default, uar_str_of(text), (size_t)64 << 20, &err) != UAR_OK)
        fail_msg("%.200s: %s", text, err.message);
    return made;
}

static inline uar_status schema_case_check(const char *schema_text, const char *value_text, uar_error *err) {
    schema *s = schema_case_compile(schema_text);
    cJSON *value = schema_case_parse(value_text);
    uar_status status = schema_check(s, value, err);
    json_free(&alloc_default, value);
    schema_free(s);
    return status;
}

static inline void assert_fits(const char *schema_text, const char *value_text) {
    uar_error err = UAR_ERROR_INIT;
    if (schema_case_check(schema_text, value_text, &err) != UAR_OK)
        fail_msg("%s: %s: %s", schema_text, value_text, err.message);
}

static inline void assert_misfits(const char *schema_text, const char *value_text, const char *message) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = schema_case_check(schema_text, value_text, &err);
    if (status != UAR_E_SCHEMA) fail_msg("%s: %s: %s", schema_text, value_text, uar_status_name(status));
    assert_int_equal(err.code, UAR_E_SCHEMA);
    assert_string_equal(err.message, message);
    assert_int_equal(schema_case_check(schema_text, value_text, NULL), UAR_E_SCHEMA);
}

static inline void assert_no_schema(const char *text, uar_status want, const char *message) {
    schema *made = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = schema_compile_text(&made, &alloc_default, uar_str_of(text), (size_t)64 << 20, &err);
    if (status != want) fail_msg("%.200s: %s, %s", text, uar_status_name(status), err.message);
    assert_null(made);
    assert_string_equal(err.message, message);
}

#endif
