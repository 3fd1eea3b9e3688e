/*
 * Every command of the program, and what people read about them.
 */
#ifndef UAR_CLI_COMMANDS_H
#define UAR_CLI_COMMANDS_H

#include "args.h"

/* Options that every command takes. */
extern const option global_options[];

/* The entry of a command, or the one that stands for its verbs; NULL: there is none. */
const command *command_find(const char *name);
/* True for an entry that stands for verbs: another word must follow. */
bool command_is_group(const command *c);
/* The verb `word` of a group, which may be a group again, or NULL. */
const command *command_find_verb(const command *group, const char *word);

/* Commands of three words, each table in a file of its own. They end with an empty name. */
extern const command memory_graph_commands[];
extern const command memory_stream_commands[];

/* Print help: of the whole program if `c` is NULL, else of one command with its verbs. */
void help_print(const command *c);

struct app;
int cmd_chat(struct app *app);
int cmd_backup(struct app *app);
int cmd_doctor(struct app *app);
int cmd_memory_reindex(struct app *app);
int cmd_run(struct app *app);
int cmd_runs_list(struct app *app);
int cmd_runs_show(struct app *app);
int cmd_sessions_list(struct app *app);
int cmd_sessions_show(struct app *app);
int cmd_sessions_delete(struct app *app);
int cmd_sessions_rename(struct app *app);
int cmd_sessions_export(struct app *app);
int cmd_sessions_branch(struct app *app);
int cmd_settings_list(struct app *app);
int cmd_settings_get(struct app *app);
int cmd_settings_set(struct app *app);
int cmd_memory_add(struct app *app);
int cmd_memory_get(struct app *app);
int cmd_memory_list(struct app *app);
int cmd_memory_search(struct app *app);
int cmd_memory_update(struct app *app);
int cmd_memory_delete(struct app *app);
int cmd_memory_history(struct app *app);
int cmd_memory_stats(struct app *app);
int cmd_memory_import(struct app *app);
int cmd_memory_export(struct app *app);
int cmd_memory_compress(struct app *app);
int cmd_memory_purge(struct app *app);
int cmd_memory_sweep(struct app *app);

#endif
