/*
 * What a person typed before: a file with a line a line, readable for its owner only (0600).
 *
 * Lines are appended as they are taken, so that a killed program loses none and two of them don't undo each other. Opening
 * cuts a file that has grown to twice HISTORY_LINES.
 */
#ifndef UAR_CLI_HISTORY_H
#define UAR_CLI_HISTORY_H

#include "text.h"

enum { HISTORY_LINES = 1000 };

typedef struct history_file history_file;

/* NULL for a NULL path; a file that can't be read is an empty history. `path` is copied. */
history_file *history_open(const char *path);
/* The newest HISTORY_LINES, oldest first. NULL has none. */
void history_each(const history_file *h, void (*each)(void *ctx, const char *line), void *ctx);
/* False: the line isn't worth keeping (empty, very long, or that before it again), or there is no file. */
bool history_add(history_file *h, uar_str line);
void history_close(history_file *h);

#endif
