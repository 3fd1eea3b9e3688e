/* The history: see history.h. `lines` is what the file held when it was opened; `newest` the last line added. */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 16 * 1024, FILE_BYTES = 64 * 1024 * 1024 };

struct history_file {
    char *path;
    text_buffer lines; /* each ends with a line feed */
    char *newest;
};

static void read_all(text_buffer *out, const char *path) {
    char piece[4096];
    struct stat info;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    bool fits = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= FILE_BYTES;
    while (fits) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text_add(out, piece, (size_t)n);
    }
    close(fd);
    if (out->len > 0 && out->data[out->len - 1] != '\n') text_add_z(out, "\n");
}

static bool write_all(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* Where the newest `keep` lines begin, and in *count how many there are in all. */
static size_t newest_from(size_t *count, const text_buffer *b, size_t keep) {
    size_t from = 0;
    *count = 0;
    for (size_t i = b->len; i > 0; i--) {
        if (b->data[i - 1] != '\n') continue;
        if (*count == keep) from = i;
        *count += 1;
    }
    return from;
}

/* Put the newest lines into a new file and that in place of the old. Where it fails the old one stays. */
static void cut(const history_file *h, size_t from) {
    text_buffer other = { 0 };
    text_add_z(&other, h->path);
    text_add_z(&other, ".new");
    int fd = open(other.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        bool written = write_all(fd, h->lines.data + from, h->lines.len - from);
        written = close(fd) == 0 && written;
        if (!written || rename(other.data, h->path) != 0) unlink(other.data);
    }
    text_free(&other);
}

history_file *history_open(const char *path) {
    if (path == NULL) return NULL;
    history_file *h = must_alloc(sizeof *h);
    size_t count = 0;
    h->path = must_copy(uar_str_of(path));
    read_all(&h->lines, path);
    size_t from = newest_from(&count, &h->lines, HISTORY_LINES);
    if (count >= 2 * (size_t)HISTORY_LINES) cut(h, from);
    if (from > 0) {
        memmove(h->lines.data, h->lines.data + from, h->lines.len - from + 1);
        h->lines.len -= from;
    }
    return h;
}

void history_each(const history_file *h, void (*each)(void *ctx, const char *line), void *ctx) {
    if (h == NULL) return;
    for (size_t begin = 0; begin < h->lines.len;) {
        const char *at = h->lines.data + begin;
        size_t len = (size_t)((const char *)memchr(at, '\n', h->lines.len - begin) - at);
        char *line = must_copy(uar_str_n(at, len));
        if (len > 0 && text_fault(line, len) == len) each(ctx, line);
        free(line);
        begin += len + 1;
    }
}

bool history_add(history_file *h, uar_str line) {
    if (h == NULL || line.len == 0 || line.len > LINE_BYTES || memchr(line.ptr, '\n', line.len) != NULL) return false;
    if (h->newest != NULL && uar_str_equal(uar_str_of(h->newest), line)) return false;
    free(h->newest);
    h->newest = must_copy(line);
    int fd = open(h->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) return true;
    text_buffer whole = { 0 };
    text_add(&whole, line.ptr, line.len);
    text_add_z(&whole, "\n");
    if (fchmod(fd, 0600) == 0) write_all(fd, whole.data, whole.len);
    text_free(&whole);
    close(fd);
    return true;
}

void history_close(history_file *h) {
    if (h == NULL) return;
    text_free(&h->lines);
    free(h->path);
    free(h->newest);
    free(h);
}
