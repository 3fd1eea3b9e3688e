/*
 * Where the stores lie, and how they are opened.
 *
 * DIR/state/state.db holds sessions, runs and settings, DIR/memory/memory.db the memory. Folders are made as they are
 * needed, for their owner only (0700).
 */
#ifndef UAR_CLI_STORES_H
#define UAR_CLI_STORES_H

#include "app.h"
#include "text.h"

#include <uar/memory.h>
#include <uar/runtime.h>

/* Append the folder for the data of this user's programs. False: nobody says where it lies. */
bool stores_data_home(text_buffer *path);

/* Make a folder for this user alone, and those above it; 0 or an errno. `path` is written to and restored. */
int stores_make_folders(char *path);

/* Path of DIR/`folder`/`file`, its folders made. CODE_OK, or a code after a report. Free with free(). */
int stores_path(char **out, const app *a, const char *folder, const char *file);

/* The same path, nothing made, nothing said; `folder` NULL: DIR/`file`. NULL if nobody says where stores lie. Free with
 * free(). */
char *stores_place(const app *a, const char *folder, const char *file);
/* CODE_OK, or a code after a report: --store names something that this version doesn't take. */
int stores_check_root(const app *a);

/* CODE_OK if the model of --model can be had, or a code after a report. Nothing is kept. */
int stores_check_model(const app *a);

/* The same without a report: UAR_OK, or why not, with a line about it. */
uar_status stores_model_fault(char *line, size_t size, const app *a);

/* What a runtime gets beside its state; all may be zero. */
typedef struct stores_extras {
    uar_builder_options options;
    const uar_event_sink *sink;
    const uar_tool *tools;
    size_t tool_count;
    uar_memory *memory; /* borrowed */
    bool with_model;    /* the one of --model; else the offline one */
} stores_extras;

/* A runtime over the state store. CODE_OK, or a code after a report. */
int stores_open(uar_runtime **out, const app *a, const stores_extras *extras);
void stores_close(uar_runtime *rt);

/* The embedder of --embedder, for a memory that takes it over. CODE_OK, or a code after a report. What can't be had now, but
 * may come, gives `lexical` and a notice: memory works without, and records get their vectors later. */
int stores_embedder(uar_embedder *out, const app *a);
/* The same without a report and without another in its place: UAR_OK, or why not, with a line about it. */
uar_status stores_embedder_fault(char *line, size_t size, const app *a);

/* The memory, perhaps unavailable. CODE_OK, or a code after a report: --embedder names nothing that can be opened. */
int stores_memory(uar_memory **out, const app *a);
/* The memory for `uar memory …`: CODE_OK, or CODE_STORE after a report. */
int stores_memory_open(uar_memory **out, const app *a);

#endif
