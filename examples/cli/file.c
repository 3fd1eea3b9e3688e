/* Read a whole file: see file.h. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

/* More than anything that is read whole should have. */
#define FILE_MAX ((size_t)256 << 20)

static int read_all(text_buffer *out, int fd) {
    char *piece = must_alloc(PIECE);
    ssize_t n = 0;
    do {
        n = read(fd, piece, PIECE);
        if (n > 0) text_add(out, piece, (size_t)n);
    } while ((n > 0 && out->len <= FILE_MAX) || (n < 0 && errno == EINTR));
    int fault = n < 0 ? errno : n > 0 ? EFBIG : 0;
    text_buffer spent = { piece, 0, 0 };
    text_free(&spent);
    return fault;
}

int file_read(text_buffer *out, const app *a, const char *path, const char *what) {
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return report_usage(a, NULL, "%s '%s' can't be opened: %s", what, path, strerror(errno));
    text_buffer read = { 0 };
    text_add(&read, "", 0);
    int fault = read_all(&read, fd);
    if (!standard) close(fd);
    if (fault != 0) {
        text_free(&read);
        return report_usage(a, NULL, "%s '%s' can't be read: %s", what, path, strerror(fault));
    }
    *out = read;
    return CODE_OK;
}
