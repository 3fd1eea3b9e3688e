/*
 * Lines from a person at a terminal: with editing and history where libedit was built in and the terminal can do it, else
 * as they are typed. Prompts go to stderr.
 */
#ifndef UAR_CLI_EDITOR_H
#define UAR_CLI_EDITOR_H

#include "lines.h"

typedef struct editor editor;

/* `reader` serves plain reading; borrowed. The descriptors are those of signals.h. `history` is a file to keep lines in,
 * made for its owner only, or NULL; copied. Never NULL. */
editor *editor_open(line_reader *reader, int wake_fd, int screen_fd, const char *history);
/* True if lines can be edited. */
bool editor_can_edit(const editor *e);
/* The next line behind `prompt`. `draft` (may be NULL) is what it begins with where lines can be edited. */
line_kind editor_line(text_buffer *line, editor *e, const char *prompt, const char *draft);
/* Drop what was typed and not read yet: it can't answer a question that is still to come. */
void editor_forget(editor *e);
/* Put a line into the history, at once and for good. */
void editor_keep(editor *e, uar_str line);
void editor_close(editor *e); /* NULL is fine */

/* "libedit 2.11", or NULL if it isn't built in. Static. */
const char *editor_library(void);

#endif
