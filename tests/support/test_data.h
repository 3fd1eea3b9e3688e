/*
 * Finding and reading the test data of others, which is never part of this repository: in the folder that UAR_TEST_DATA
 * names, else in shared/data beside the checkout. Missing data skips the test, but fails it where CI is "true".
 */
#ifndef UAR_TESTS_SUPPORT_TEST_DATA_H
#define UAR_TESTS_SUPPORT_TEST_DATA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path of something in the data folder, in a static buffer. */
static inline const char *test_data_path(const char *relative) {
    static char path[4096];
    const char *data = getenv("UAR_TEST_DATA"), *root = getenv("UAR_SOURCE_ROOT");
    if (data != NULL && data[0] != '\0')
        snprintf(path, sizeof path, "%s/%s", data, relative);
    else
        snprintf(path, sizeof path, "%s/../shared/data/%s", root != NULL && root[0] != '\0' ? root : ".", relative);
    return path;
}

/* The whole file, NUL-terminated, to be freed with free(); NULL if it can't be read. */
static inline char *test_data_read(const char *relative, size_t *len) {
    FILE *file = fopen(test_data_path(relative), "rb");
    if (file == NULL) return NULL;
    char *text = NULL;
    size_t size = 0, used = 0;
    do {
        size = size == 0 ? 65536 : size * 2;
        char *more = realloc(text, size + 1);
        if (more == NULL) abort();
        text = more;
        used += fread(text + used, 1, size - used, file);
    } while (used == size);
    fclose(file);
    text[used] = '\0';
    *len = used;
    return text;
}

/* True where missing data is a failure. */
static inline int test_data_is_required(void) {
    const char *ci = getenv("CI");
    return ci != NULL && strcmp(ci, "true") == 0;
}

/* Ends the running cmocka test: skipped, or failed under CI. */
#define TEST_DATA_MISSING(what)                                                  \
    do {                                                                         \
        if (test_data_is_required()) fail_msg("test data is missing: %s", what); \
        print_message("test data is missing: %s\n", what);                       \
        skip();                                                                  \
    } while (0)

#endif
