/*
 * Tools that are programs: arguments as JSON on their standard input, the result on their standard output.
 *
 * Each running call has a thread of its own, so that `invoke` returns at once. A call that is cancelled or past its
 * deadline is ended with its whole process group: asked first, killed a moment later. The calls are counted: closing waits
 * until none is left.
 */
#ifndef UAR_CLI_TOOL_PROCESS_H
#define UAR_CLI_TOOL_PROCESS_H

#include <uar/sys/tool.h>

/* Most of a result that is read. */
#define TOOL_OUTPUT_MAX ((size_t)64 * 1024 * 1024)

/* All calls that run. */
typedef struct tool_calls tool_calls;

tool_calls *tool_calls_new(void);
/* End whatever still runs and wait for it; NULL is fine. After the runtime is closed. */
void tool_calls_free(tool_calls *calls);
/* Kill whatever runs, without waiting: the program is about to end. Any thread. */
void tool_calls_kill(tool_calls *calls);

/* What a tool's ctx points at; it must outlive the runtime. */
typedef struct tool_program {
    tool_calls *calls;
    char **command; /* NULL-terminated */
} tool_program;

/* The slots of a uar_tool whose ctx is a tool_program. */
void tool_program_invoke(void *ctx, const uar_tool_call *call, uar_completion *done);
void tool_program_cancel(void *ctx, const uar_tool_call *call, uar_completion *done);

#endif
