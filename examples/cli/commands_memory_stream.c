/* The verbs of `uar memory stream`. */
#include "command_table.h"
#include "commands.h"

const command memory_stream_commands[] = {
    LATER("memory", "stream list", ""),
    COMMANDS_END,
};
