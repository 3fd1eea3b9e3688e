/* Where the bytes of a model come from: a file, or memory of the host. Each read names its place, so nothing is held twice. */
#ifndef UAR_LIB_BERT_SOURCE_H
#define UAR_LIB_BERT_SOURCE_H

#include <stdio.h>

#include "base/alloc.h"

typedef struct source {
    const char *bytes; /* of memory; NULL: the file */
    FILE *file;
    uint64_t size;
} source;

/* UAR_E_NOT_FOUND: there is no such file; UAR_E_IO. */
uar_status source_open(source *out, const char *path, uar_error *err);
void source_of_memory(source *out, uar_str bytes);
void source_close(source *s);
/* Exactly `len` bytes from `at`; UAR_E_CORRUPT if there are fewer. Not from two threads at once. */
uar_status source_read(void *out, source *s, uint64_t at, size_t len, uar_error *err);
/* A whole small file, NUL-terminated; free with alloc_free. UAR_E_TOO_LARGE above `max` bytes. */
uar_status source_load(char **out, size_t *len, const uar_allocator *a, const char *path, size_t max, uar_error *err);

#endif
