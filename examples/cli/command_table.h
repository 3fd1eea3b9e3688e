/*
 * Words for writing tables of commands and options.
 */
#ifndef UAR_CLI_COMMAND_TABLE_H
#define UAR_CLI_COMMAND_TABLE_H

#define OPTIONS_END \
    { NULL, NULL, NULL }

#define COMMANDS_END \
    { NULL, NULL, NULL, 0, 0, NULL, { NULL }, NULL }

#define LATER(name, verb, operands) \
    { name, verb, operands, 0, 0, "not in this version", { NULL }, NULL }

/* A command that only stands for its verbs, and a verb that does. */
#define GROUP(name, summary) \
    { name, "", "", 0, 0, summary, { NULL }, NULL }
#define SUBGROUP(name, verb, summary) \
    { name, verb " ", "", 0, 0, summary, { NULL }, NULL }

#endif
