/* Owns: the search for byte patterns; see byte_scan.h. */
#include "support/byte_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORE_FILES 4
static const char *const suffixes[STORE_FILES] = { "", "-wal", "-shm", "-journal" };

void byte_scan_init(byte_scan *s) {
    memset(s, 0, sizeof *s);
}

void byte_scan_dispose(byte_scan *s) {
    free(s->patterns);
    byte_scan_init(s);
}

void byte_scan_add(byte_scan *s, const void *bytes) {
    if (s->count == s->cap) {
        s->cap = s->cap != 0 ? s->cap * 2 : 256;
        s->patterns = realloc(s->patterns, s->cap * sizeof *s->patterns);
        if (s->patterns == NULL) abort();
    }
    const uint8_t *at = bytes;
    memcpy(&s->patterns[s->count++], at, SCAN_BYTES);
    unsigned prefix = (unsigned)at[0] << 8 | at[1];
    s->prefixes[prefix / 8] |= (uint8_t)(1u << (prefix % 8));
    s->is_sorted = false;
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static bool is_pattern(const byte_scan *s, const uint8_t *at) {
    uint64_t value = 0;
    memcpy(&value, at, SCAN_BYTES);
    return bsearch(&value, s->patterns, s->count, sizeof value, by_value) != NULL;
}

static size_t scan_file(const byte_scan *s, const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    uint8_t *bytes = NULL;
    size_t len = 0, got = 0, found = 0;
    do {
        bytes = realloc(bytes, len + 65536);
        if (bytes == NULL) abort();
        got = fread(bytes + len, 1, 65536, file);
        len += got;
    } while (got == 65536);
    fclose(file);
    for (size_t i = 0; i + SCAN_BYTES <= len; i++) {
        unsigned prefix = (unsigned)bytes[i] << 8 | bytes[i + 1];
        if ((s->prefixes[prefix / 8] >> (prefix % 8) & 1) != 0) found += is_pattern(s, bytes + i);
    }
    free(bytes);
    return found;
}

size_t byte_scan_store(byte_scan *s, const char *path) {
    size_t found = 0;
    if (s->count == 0) return 0;
    if (!s->is_sorted) qsort(s->patterns, s->count, sizeof *s->patterns, by_value);
    s->is_sorted = true;
    for (size_t i = 0; i < STORE_FILES; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        found += scan_file(s, name);
    }
    return found;
}

static bool file_holds(const char *name, const char *text) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) return false;
    char *bytes = NULL;
    size_t len = 0;
    for (size_t got = 1; got != 0; len += got) {
        bytes = realloc(bytes, len + (1 << 20));
        if (bytes == NULL) abort();
        got = fread(bytes + len, 1, 1 << 20, file);
    }
    fclose(file);
    bool found = false;
    size_t size = strlen(text);
    for (size_t at = 0; at + size <= len && !found; at++)
        found = memcmp(bytes + at, text, size) == 0;
    free(bytes);
    return found;
}

bool store_holds(const char *path, const char *text) {
    for (size_t i = 0; i < STORE_FILES; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        if (file_holds(name, text)) return true;
    }
    return false;
}
