/*
 * The command line: global options anywhere, then a command, perhaps a verb, their options and operands.
 *
 * What a command accepts is a table (see commands.h); anything else is refused by name. `--name=value` and
 * `--name value` are the same; `--` ends the options; a lone `-` is an operand.
 */
#ifndef UAR_CLI_ARGS_H
#define UAR_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

/* One option. A table of them ends with an empty name. */
typedef struct option {
    const char *name;  /* without dashes */
    const char *value; /* what people call its value; NULL: it takes none */
    const char *docs;
} option;

enum { OPTION_TABLES = 4 };

struct app;

/* One command, or one verb of a command. */
typedef struct command {
    const char *name;
    const char *verb;     /* NULL: the command has none; "", or a word and a space: stands for all that begin so */
    const char *operands; /* as help shows them */
    size_t least;         /* operands */
    size_t most;
    const char *summary;
    const option *options[OPTION_TABLES]; /* beside the global ones */
    int (*run)(struct app *app);          /* NULL: not in this version */
} command;

typedef struct arg_value {
    const char *name;
    const char *value; /* NULL for a flag */
} arg_value;

typedef struct args {
    const command *command; /* NULL: none was named */
    const char *word;       /* the command as it was typed, or NULL */
    arg_value *values;
    size_t value_count;
    const char **operands;
    size_t operand_count;
    bool help;
    bool version;
} args;

/* What is wrong with a command line. */
typedef struct args_fault {
    char message[256];
    char hint[128];
} args_fault;

/* False: `fault` says why; what was understood so far is in `out` all the same. Borrows argv. */
bool args_parse(args *out, args_fault *fault, int argc, char **argv);
void args_free(args *a);

/* Value of the last option of this name, or NULL. */
const char *args_get(const args *a, const char *name);
bool args_has(const args *a, const char *name);
/* The n-th value (from 0) of a repeatable option, or NULL. */
const char *args_nth(const args *a, const char *name, size_t n);

#endif
