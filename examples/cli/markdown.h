/*
 * Markdown made readable on a terminal while it streams: attributes are added, nothing is taken away.
 *
 * Invariant: take the attributes (ESC [ … m) out of what was written, and the text is there as it came. A wrong guess about
 * a marker so costs a colour, never a character. Text that goes in has no escape characters of its own.
 */
#ifndef UAR_CLI_MARKDOWN_H
#define UAR_CLI_MARKDOWN_H

#include "text.h"

/* A stream of it. All zero is the beginning of a text. */
typedef struct markdown {
    text_buffer held; /* the beginning of a line, or a run of markers: not judged yet */
    bool in_line;     /* the beginning of this line is judged */
    bool heading;     /* this line is one */
    bool fence_line;  /* this line opens or closes a block of code */
    bool escaped;     /* a backslash stands before the next byte */
    char fence;       /* marker of the open block of code, 0: none */
    size_t fence_len; /* length of its run */
    size_t code;      /* backticks of the open code span, 0: none */
    unsigned emphasis;
    unsigned shown; /* attributes that the terminal has now */
    char last;      /* the byte before, 0 at the beginning of a line */
} markdown;

/* Append to `out` what can be judged by now. The terminal is left without attributes. */
void markdown_feed(markdown *m, text_buffer *out, uar_str text);
/* Append what was held back; the next text begins anew. Frees what it holds. */
void markdown_end(markdown *m, text_buffer *out);

#endif
