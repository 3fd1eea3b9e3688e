/*
 * Many byte patterns looked for in the files of a store at once: what was erased must be in none of them.
 */
#ifndef UAR_TESTS_SUPPORT_BYTE_SCAN_H
#define UAR_TESTS_SUPPORT_BYTE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All patterns are of this length: longer texts are known by their beginning. */
#define SCAN_BYTES 8

typedef struct byte_scan {
    uint64_t *patterns; /* sorted before the first scan */
    size_t count, cap;
    bool is_sorted;
    uint8_t prefixes[65536 / 8];
} byte_scan;

void byte_scan_init(byte_scan *s);
void byte_scan_dispose(byte_scan *s);
/* The first SCAN_BYTES bytes there. */
void byte_scan_add(byte_scan *s, const void *bytes);
/* How many places of the file at `path`, its -wal, -shm and -journal hold a pattern. Missing files hold none. */
size_t byte_scan_store(byte_scan *s, const char *path);
/* True if one of these files holds the text. */
bool store_holds(const char *path, const char *text);

#endif
