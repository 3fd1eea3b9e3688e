/*
 * docs/schema.md keeps its word: each schema in it compiles or is refused with the message that stands below it, each value
 * gets the verdict and the message that stand below it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/schema_case.h"

enum { LINE = 2000 };

typedef struct reading {
    char schema[LINE], value[LINE];
    int refused, fitted, misfitted;
} reading;

static void expect_verdict(const reading *r, uar_status want, const char *message) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = schema_case_check(r->schema, r->value, &err);
    if (status != want || strcmp(err.message, message) != 0)
        fail_msg("%s\n%s\n%s\n%s", r->schema, r->value, uar_status_name(status), err.message);
}

static void expect_refusal(const reading *r, const char *message) {
    uar_error err = UAR_ERROR_INIT;
    schema *made = NULL;
    assert_int_not_equal(schema_compile_text(&made, &alloc_default, uar_str_of(r->schema), LINE, &err), UAR_OK);
    assert_string_equal(err.message, message);
}

/* What follows a word at the beginning of an indented line, or NULL. */
static const char *behind(const char *line, const char *word) {
    size_t len = strlen(word);
    if (strncmp(line, "    ", 4) != 0 || strncmp(line + 4, word, len) != 0) return NULL;
    line += 4 + len;
    if (*line != ' ' && *line != '\0') return NULL;
    return line + strspn(line, " ");
}

static void read_line(reading *r, const char *line) {
    const char *rest;
    if ((rest = behind(line, "schema")) != NULL)
        snprintf(r->schema, sizeof r->schema, "%s", rest);
    else if ((rest = behind(line, "value")) != NULL)
        snprintf(r->value, sizeof r->value, "%s", rest);
    else if ((rest = behind(line, "no")) != NULL) {
        expect_refusal(r, rest);
        r->refused++;
    } else if ((rest = behind(line, "misfits")) != NULL) {
        expect_verdict(r, UAR_E_SCHEMA, rest);
        r->misfitted++;
    } else if (behind(line, "fits") != NULL) {
        expect_verdict(r, UAR_OK, "");
        r->fitted++;
    }
}

static void test_every_example_of_the_page_holds(void **state) {
    (void)state;
    char path[4096], line[LINE];
    const char *root = getenv("UAR_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/docs/schema.md", root != NULL ? root : ".");
    FILE *file = fopen(path, "r");
    if (file == NULL) fail_msg("%s can't be read", path);
    reading r = { .refused = 0 };
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        read_line(&r, line);
    }
    fclose(file);
    assert_true(r.refused >= 4 && r.fitted >= 3 && r.misfitted >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_example_of_the_page_holds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
