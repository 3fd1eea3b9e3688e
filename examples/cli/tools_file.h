/*
 * The tools file: a JSON array of tools, each with a command. Read strictly: every fault names the tool and the field.
 */
#ifndef UAR_CLI_TOOLS_FILE_H
#define UAR_CLI_TOOLS_FILE_H

#include "app.h"
#include "tool_process.h"

/* What a file said. */
typedef struct tools_file {
    uar_tool *tools; /* texts are this object's */
    size_t count;
    tool_program *programs; /* ctx of the tools, in the same order */
    tool_calls *calls;
    char **texts; /* all that was copied */
    size_t text_count;
} tools_file;

/* Read `path`; NULL gives no tools. CODE_OK, or CODE_USAGE after a report. Free it after the runtime is closed. */
int tools_file_read(tools_file *out, const app *a, const char *path);
/* The same for text that was read; `path` names it in reports. */
int tools_file_read_text(tools_file *out, const app *a, const char *path, uar_str text);
/* Ends calls that still run and waits for them. */
void tools_file_free(tools_file *file);

#endif
