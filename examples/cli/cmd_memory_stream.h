/*
 * uar memory stream …: what its commands share. STREAM is a name, looked for in the place that --scope and the ids name, or
 * an id.
 */
#ifndef UAR_CLI_CMD_MEMORY_STREAM_H
#define UAR_CLI_CMD_MEMORY_STREAM_H

#include "app.h"

#include <uar/memory_stream.h>

int cmd_memory_stream_append(app *a);
int cmd_memory_stream_read(app *a);
int cmd_memory_stream_window(app *a);
int cmd_memory_stream_summarise(app *a);
int cmd_memory_stream_list(app *a);
int cmd_memory_stream_archive(app *a);
int cmd_memory_stream_unarchive(app *a);
int cmd_memory_stream_delete(app *a);
int cmd_memory_stream_export(app *a);
int cmd_memory_stream_import(app *a);
int cmd_memory_stream_stats(app *a);

/* A memory and a stream in it. */
typedef struct stream_call {
    const app *app;
    uar_memory *memory;
    uar_identity who;
    uar_uuid stream;
} stream_call;

/* Open the memory and find the stream of the first operand. If there is none of this name and `new_entry` (may be NULL) would
 * be taken as its first entry, which is to get the number `expected` (0: any), it is made. CODE_OK, or a code after a
 * report, and then nothing is left open. End it with stream_call_end. */
int stream_call_begin(stream_call *call, const app *a, const uar_memory_stream_entry_draft *new_entry,
                      uint64_t expected);
void stream_call_end(stream_call *call);
/* Report what a call about the stream said. */
int stream_call_fault(const stream_call *call, const uar_error *err);

/* A filter from the options. CODE_OK, or CODE_USAGE after a report. */
int stream_filter_from_args(uar_memory_stream_filter *out, const app *a);
/* An option that takes a whole number from 1; what isn't given stays. CODE_OK, or CODE_USAGE after a report. */
int stream_number(uint64_t *out, const app *a, const char *name);

#endif
