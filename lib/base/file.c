/* Owns nothing. See file.h. */
#if !defined(_WIN32)
#define _XOPEN_SOURCE 700 /* lstat, link */
#endif

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#if defined(_WIN32)
#include <io.h>
#include <process.h>
#define unlink _unlink
#define O_CLOEXEC _O_NOINHERIT
#else
#define O_BINARY 0
#include <unistd.h>
#endif

static uar_status fault(int error, const char *path, const char *doing, uar_error *err) {
    uar_status status = UAR_E_IO;
    if (error == EEXIST) status = UAR_E_EXISTS;
    if (error == ENOSPC) status = UAR_E_FULL;
    if (error == ENOENT || error == ENOTDIR || error == EACCES || error == EROFS) status = UAR_E_CANTOPEN;
    if (error == EPERM) status = UAR_E_PROTECTED;
    if (error == ENOMEM) status = UAR_E_NOMEM;
    error_set(err, status, "%s: %s failed (errno %d)", path, doing, error);
    if (err != NULL) err->detail = error;
    return status;
}

bool file_is_there(const char *path) {
    struct stat st;
#if defined(_WIN32)
    return stat(path, &st) == 0;
#else
    return lstat(path, &st) == 0;
#endif
}

char *file_name_with(const uar_allocator *a, const char *path, const char *tail) {
    size_t len = strlen(path), tail_len = strlen(tail);
    char *joined = alloc_bytes(a, len + tail_len + 1);
    if (joined == NULL) return NULL;
    memcpy(joined, path, len);
    memcpy(joined + len, tail, tail_len + 1);
    return joined;
}

void file_remove(const char *path) {
    (void)unlink(path);
}

static int fill_new(int fd, uint64_t size, file_read_fn read_piece, void *ctx) {
    unsigned char piece[4096];
    for (uint64_t at = 0; at < size;) {
        size_t len = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
        if (!read_piece(ctx, piece, len, at)) return EIO;
        for (size_t sent = 0; sent < len;) {
            long n = (long)write(fd, piece + sent, (unsigned)(len - sent));
            if (n < 0 && errno != EINTR) return errno;
            if (n > 0) sent += (size_t)n;
        }
        at += len;
    }
    return 0;
}

uar_status file_write_new(const char *path, uint64_t size, file_read_fn read_piece, void *ctx, uar_error *err) {
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_BINARY, 0600);
    int error = fd < 0 ? errno : fill_new(fd, size, read_piece, ctx);
    if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
    if (error == 0) return UAR_OK;
    if (fd >= 0) (void)unlink(path);
    return fault(error, path, "writing", err);
}

#if defined(_WIN32)

bool file_link(const char *from, const char *to) {
    (void)from, (void)to;
    return false;
}

static int sync_file(const char *path) {
    int fd = _open(path, _O_RDWR | _O_BINARY);
    if (fd < 0) return errno;
    int error = _commit(fd) == 0 ? 0 : errno;
    (void)_close(fd);
    return error;
}

/* The file system keeps names durable by itself. */
static int sync_folder_of(const char *path) {
    (void)path;
    return 0;
}

static int name_anew(const char *from, const char *to) {
    return rename(from, to) == 0 ? 0 : errno; /* refuses a name that is taken */
}

static int take_name(const char *from, const char *to) {
    (void)unlink(to);
    return name_anew(from, to);
}

#else

bool file_link(const char *from, const char *to) {
    return link(from, to) == 0;
}

static int sync_open(int fd) {
#if defined(F_FULLFSYNC)
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(fd) == 0 ? 0 : errno;
}

static int sync_path(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) return errno;
    int error = sync_open(fd);
    (void)close(fd);
    return error;
}

static int sync_file(const char *path) {
    return sync_path(path, O_RDWR);
}

/* What can't sync a folder keeps names durable by itself, or can't keep them at all. */
static int sync_folder_of(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (len >= sizeof folder) return ENAMETOOLONG;
    memcpy(folder, len != 0 ? path : ".", len != 0 ? len : 1);
    folder[len != 0 ? len : 1] = '\0';
    int error = sync_path(folder, O_RDONLY);
    return error == EINVAL || error == EBADF ? 0 : error;
}

/* Where there are no hard links, the name is reserved by an empty file first. */
static int reserve_and_rename(const char *from, const char *to) {
    int fd = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    (void)close(fd);
    if (rename(from, to) == 0) return 0;
    int error = errno;
    (void)unlink(to);
    return error;
}

static int name_anew(const char *from, const char *to) {
    if (link(from, to) == 0) {
        (void)unlink(from);
        return 0;
    }
    return errno == EEXIST ? EEXIST : reserve_and_rename(from, to);
}

static int take_name(const char *from, const char *to) {
    return rename(from, to) == 0 ? 0 : errno;
}

#endif

static uar_status give_name(int (*give)(const char *from, const char *to), const char *from, const char *to,
                            uar_error *err) {
    int error = sync_file(from);
    if (error != 0) return fault(error, from, "syncing", err);
    error = give(from, to);
    if (error == EEXIST) return error_set(err, UAR_E_EXISTS, "%s: there is a file already, choose another name", to);
    if (error != 0) return fault(error, to, "naming", err);
    error = sync_folder_of(to);
    if (error != 0) return fault(error, to, "syncing the folder", err);
    return UAR_OK;
}

uar_status file_publish(const char *from, const char *to, uar_error *err) {
    return give_name(name_anew, from, to, err);
}

uar_status file_replace(const char *from, const char *to, uar_error *err) {
    return give_name(take_name, from, to, err);
}
