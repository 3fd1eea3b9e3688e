/* The verbs of `uar memory graph`. */
#include "command_table.h"
#include "commands.h"

const command memory_graph_commands[] = {
    LATER("memory", "graph list", ""),
    COMMANDS_END,
};
