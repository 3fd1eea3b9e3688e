/*
 * Where a store's file really lies. SQLite gets an absolute path without links, so that none of its special names (empty,
 * ":memory:", "file:") can be meant, and so that two ways to one folder are seen to be one.
 */
#if !defined(_WIN32)
#define _XOPEN_SOURCE 700 /* realpath */
#endif

#include "store/sqlite.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/str.h"

#if defined(_WIN32)
#define real_path(path) _fullpath(NULL, (path), 0)
static bool is_separator(char c) {
    return c == '/' || c == '\\' || c == ':';
}
#else
#define real_path(path) realpath((path), NULL)
static bool is_separator(char c) {
    return c == '/';
}
#endif

/* Where the file's own name begins. */
static size_t name_at(const char *path) {
    size_t at = strlen(path);
    while (at > 0 && !is_separator(path[at - 1]))
        at--;
    return at;
}

static char *join(const uar_allocator *a, const char *folder, const char *name) {
    size_t len = strlen(folder);
    bool is_closed = len > 0 && is_separator(folder[len - 1]);
    size_t size = len + 1 + strlen(name) + 1;
    char *joined = alloc_bytes(a, size);
    if (joined == NULL) return NULL;
    memcpy(joined, folder, len);
    if (!is_closed) joined[len++] = '/';
    memcpy(joined + len, name, strlen(name) + 1);
    return joined;
}

static uar_status no_folder(const sqlite_layer *l, int error, uar_error *err) {
    uar_status status = error == ENOMEM ? UAR_E_NOMEM : UAR_E_CANTOPEN;
    const char *text = error == EACCES ? "its folder may not be entered, check the permissions"
                                       : "its folder doesn't exist, create it first";
    return sqlite_refuse(l, status, text, err);
}

/* The real folder of a file that need not exist, and the file in it. */
static uar_status place_by_folder(sqlite_place *out, const sqlite_layer *l, uar_error *err) {
    size_t at = name_at(l->path);
    if (l->path[at] == '\0') return sqlite_refuse(l, UAR_E_CANTOPEN, "the path names a folder, not a file", err);
    char *folder = alloc_text(&l->alloc, at > 0 ? uar_str_n(l->path, at) : STR("."));
    if (folder == NULL) return error_plain(err, UAR_E_NOMEM);
    char *real = real_path(folder);
    int error = errno;
    alloc_free(&l->alloc, folder);
    if (real == NULL) return no_folder(l, error, err);
    sqlite_place place = { join(&l->alloc, real, l->path + at), alloc_text(&l->alloc, uar_str_of(real)) };
    free(real);
    if (place.file != NULL && place.folder != NULL) {
        *out = place;
        return UAR_OK;
    }
    alloc_free(&l->alloc, place.file);
    alloc_free(&l->alloc, place.folder);
    return error_plain(err, UAR_E_NOMEM);
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == S_IFDIR;
}

/* The same for a file that exists, perhaps through a link. */
static uar_status place_by_file(sqlite_place *out, const sqlite_layer *l, const char *real, uar_error *err) {
    if (is_folder(real)) return sqlite_refuse(l, UAR_E_CANTOPEN, "the path names a folder, not a file", err);
    size_t at = name_at(real);
    size_t folder_len = at > 1 ? at - 1 : at;
    sqlite_place place = { alloc_text(&l->alloc, uar_str_of(real)),
                           alloc_text(&l->alloc, uar_str_n(real, folder_len)) };
    if (place.file != NULL && place.folder != NULL) {
        *out = place;
        return UAR_OK;
    }
    alloc_free(&l->alloc, place.file);
    alloc_free(&l->alloc, place.folder);
    return error_plain(err, UAR_E_NOMEM);
}

uar_status sqlite_place_find(sqlite_place *out, const sqlite_layer *l, uar_error *err) {
    char *real = real_path(l->path);
    if (real == NULL) return place_by_folder(out, l, err);
    uar_status status = place_by_file(out, l, real, err);
    free(real);
    return status;
}

/* 0 as well for what isn't there. */
static int64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

bool sqlite_is_too_short(const char *file) {
    enum { SMALLEST = 512 };
    int64_t size = size_of(file);
    return size > 0 && size < SMALLEST;
}

bool sqlite_log_is_orphan(const sqlite_layer *l, const char *file) {
    size_t len = strlen(file);
    char *log = alloc_bytes(&l->alloc, len + sizeof "-wal");
    if (log == NULL) return false;
    memcpy(log, file, len);
    memcpy(log + len, "-wal", sizeof "-wal");
    /* The log first: another process may be making the store, and its file has bytes before its log has. */
    bool is_orphan = size_of(log) > 0 && size_of(file) == 0;
    alloc_free(&l->alloc, log);
    return is_orphan;
}
