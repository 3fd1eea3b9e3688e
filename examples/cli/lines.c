/* Lines from stdin: see lines.h. A last line without its line feed counts as a line. */
#include "lines.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* Move the first `len` bytes to `line` and drop `drop` bytes. */
static void take(text_buffer *line, line_reader *r, size_t len, size_t drop) {
    line->len = 0;
    text_add(line, r->waiting.data, len);
    memmove(r->waiting.data, r->waiting.data + drop, r->waiting.len - drop);
    r->waiting.len -= drop;
    r->looked_at = 0;
}

/* A line that is there already. */
static bool take_whole(text_buffer *line, line_reader *r) {
    size_t unseen = r->waiting.len - r->looked_at;
    const char *feed = unseen > 0 ? memchr(r->waiting.data + r->looked_at, '\n', unseen) : NULL;
    if (feed == NULL) {
        r->looked_at = r->waiting.len;
        if (r->waiting.len <= LINE_MOST) return false;
        r->skipping = true;
        r->waiting.len = 0;
        r->looked_at = 0;
        return false;
    }
    size_t len = (size_t)(feed - r->waiting.data);
    take(line, r, len, len + 1);
    return true;
}

static void read_more(line_reader *r) {
    char piece[4096];
    ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
    if (n > 0) {
        text_add(&r->waiting, piece, (size_t)n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        r->ended = true;
    }
}

line_kind lines_next(text_buffer *line, line_reader *r, int wake_fd) {
    for (;;) {
        if (take_whole(line, r)) {
            bool skipped = r->skipping;
            r->skipping = false;
            return skipped ? LINE_TOO_LONG : LINE_READ;
        }
        if (r->ended) {
            if (r->skipping || r->waiting.len == 0) return LINE_END;
            take(line, r, r->waiting.len, r->waiting.len);
            return LINE_READ;
        }
        struct pollfd fds[2] = { { STDIN_FILENO, POLLIN, 0 }, { wake_fd, POLLIN, 0 } };
        if (poll(fds, 2, -1) < 0 && errno != EINTR) r->ended = true;
        if (fds[1].revents != 0) return LINE_INTERRUPTED;
        if (fds[0].revents != 0) read_more(r);
    }
}

void lines_free(line_reader *r) {
    text_free(&r->waiting);
}
