/*
 * Lines from stdin, that a signal may interrupt.
 */
#ifndef UAR_CLI_LINES_H
#define UAR_CLI_LINES_H

#include "text.h"

typedef enum line_kind {
    LINE_READ,        /* a line, without its line feed */
    LINE_END,         /* nothing more will come */
    LINE_INTERRUPTED, /* the wake descriptor became readable first */
    LINE_TOO_LONG     /* over LINE_MOST bytes; it was skipped */
} line_kind;

#define LINE_MOST ((size_t)64 * 1024 * 1024)

/* What was read and not yet taken. All zero is the beginning. */
typedef struct line_reader {
    text_buffer waiting;
    size_t looked_at; /* bytes of `waiting` known to hold no line feed */
    bool ended;
    bool skipping;
} line_reader;

/* The next line; `line` is replaced. `wake_fd` as in signals.h. */
line_kind lines_next(text_buffer *line, line_reader *reader, int wake_fd);
void lines_free(line_reader *reader);

#endif
