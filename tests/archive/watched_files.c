/*
 * Stands in front of the C library's functions that open files, in this program only, notes each path and goes on to the
 * system. The archive leaves these names open, so its SQLite and its mbedtls come by here.
 */
#define _DEFAULT_SOURCE 1
#include "watched_files.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_PATHS = 4096, MAX_PATH_BYTES = 256 };

static char paths[MAX_PATHS][MAX_PATH_BYTES];
static size_t path_count;

void watched_files_forget(void) {
    path_count = 0;
}

size_t watched_files_count(void) {
    return path_count;
}

const char *watched_file(size_t index) {
    return paths[index];
}

static void note(const char *path) {
    if (path_count == MAX_PATHS) return;
    snprintf(paths[path_count], MAX_PATH_BYTES, "%s", path);
    path_count++;
}

static int system_open(int folder, const char *path, int flags, mode_t mode) {
    note(path);
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest) {
    return (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
}

/* By their linker names: the headers may rename them for large files. */
int watched_open(const char *path, int flags, ...) __asm__("open");
int watched_open64(const char *path, int flags, ...) __asm__("open64");
int watched_openat(int folder, const char *path, int flags, ...) __asm__("openat");
int watched_openat64(int folder, const char *path, int flags, ...) __asm__("openat64");
FILE *watched_fopen(const char *path, const char *how) __asm__("fopen");
FILE *watched_fopen64(const char *path, const char *how) __asm__("fopen64");

int watched_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return system_open(AT_FDCWD, path, flags, mode);
}

int watched_open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return system_open(AT_FDCWD, path, flags, mode);
}

int watched_openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return system_open(folder, path, flags, mode);
}

int watched_openat64(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return system_open(folder, path, flags, mode);
}

static FILE *system_fopen(const char *path, const char *how) {
    int flags = O_RDONLY;
    if (how[0] == 'w') flags = O_CREAT | O_TRUNC | O_WRONLY;
    if (how[0] == 'a') flags = O_CREAT | O_APPEND | O_WRONLY;
    if (strchr(how, '+') != NULL) flags = (flags & ~O_WRONLY) | O_RDWR;
    int file = system_open(AT_FDCWD, path, flags, 0600);
    return file < 0 ? NULL : fdopen(file, how);
}

FILE *watched_fopen(const char *path, const char *how) {
    return system_fopen(path, how);
}

FILE *watched_fopen64(const char *path, const char *how) {
    return system_fopen(path, how);
}
