/*
 * The public JSON Schema suite as the tests see it: files of groups, each a schema with values that fit or don't. The files
 * are read leniently (an escaped U+0000 becomes U+FFFD, a lone surrogate is kept): the library's own reader refuses both.
 */
#ifndef UAR_TESTS_CONFORMANCE_SCHEMA_SUITE_H
#define UAR_TESTS_CONFORMANCE_SCHEMA_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

#define SUITE_FILES 80

typedef struct suite_file {
    char name[64]; /* from the folder of the draft, without ".json" */
    cJSON *groups;
} suite_file;

typedef struct suite {
    suite_file files[SUITE_FILES];
    size_t count;
} suite;

/* False: the data isn't there. Anything else that is wrong fails the test. */
bool suite_load(suite *s);
void suite_free(suite *s);

/* The groups that are not run, from tests/conformance/schema_excluded.txt: a line is FILE | GROUP | REASON. */
typedef struct suite_exclusion {
    char file[64], group[160], reason[160];
    bool is_used;
} suite_exclusion;

typedef struct suite_exclusions {
    suite_exclusion lines[200];
    size_t count;
} suite_exclusions;

void suite_exclusions_load(suite_exclusions *e);
/* The line of a group, or of its whole file (GROUP is `*`), marked as used; NULL: the group is run. */
suite_exclusion *suite_excluded(suite_exclusions *e, const char *file, const char *group);

/* How a group came out. */
typedef struct suite_result {
    uar_status compiled; /* the status of its schema */
    int agreed, differed;
    char first_difference[400]; /* empty: none */
} suite_result;

suite_result suite_run_group(const suite_file *file, const cJSON *group);
const char *suite_group_name(const cJSON *group);
/* A group has text that the lenient reader had to change. */
bool suite_has_replacement(const cJSON *node);

#endif
