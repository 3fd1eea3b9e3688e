/* Standard output: see output.h. Owns the one record of its failure; after a failure nothing more is written. */
#include "output.h"

#include "json_out.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static int first_fault;

/* Somebody may have made the pipe non-blocking. */
static bool wait_writable(void) {
    struct pollfd fd = { STDOUT_FILENO, POLLOUT, 0 };
    return poll(&fd, 1, -1) >= 0 || errno == EINTR;
}

bool output_bytes(const char *bytes, size_t len) {
    while (len > 0 && first_fault == 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, len);
        if (n >= 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN ? !wait_writable() : errno != EINTR) {
            first_fault = errno;
        }
    }
    return first_fault == 0;
}

bool output_text(const char *text) {
    return output_bytes(text, strlen(text));
}

bool output_json(cJSON *value) {
    char *line = node_line(value);
    size_t len = strlen(line);
    line[len] = '\n'; /* in place of the NUL: one write keeps lines whole for readers of a pipe */
    bool written = output_bytes(line, len + 1);
    free(line);
    return written;
}

int output_fault(void) {
    return first_fault;
}

int output_close(const app *a, int code) {
    if (first_fault == 0 || first_fault == EPIPE) return code;
    report(a, UAR_E_IO, NULL, "standard output can't be written: %s", strerror(first_fault));
    return CODE_FAILED;
}
