/*
 * Read a whole file, or all of stdin.
 */
#ifndef UAR_CLI_FILE_H
#define UAR_CLI_FILE_H

#include "app.h"
#include "text.h"

/* `path` "-" is stdin. `what` names it to people ("the tools file"). CODE_OK, or CODE_USAGE after a report. */
int file_read(text_buffer *out, const app *a, const char *path, const char *what);

#endif
