/* The verbs of `uar memory stream`. */
#include "cmd_memory_stream.h"
#include "command_table.h"
#include "commands.h"

static const option place_options[] = {
    { "scope", "S", "of the stream: global, agent, user, session or task (default: task with --task, else user)" },
    { "all-users", NULL, "act as the operator of --owner: see every user's streams" },
    OPTIONS_END,
};

static const option entry_options[] = {
    { "role", "R", "what kind of entry it is (default: note; of a summary: summary)" },
    { "metadata", "JSON", "an object to keep with it" },
    { "key", "K", "unique in the stream: a second time changes nothing" },
    { "expect", "N", "only if it gets this number" },
    OPTIONS_END,
};

static const option append_options[] = {
    { "created", "RFC3339", "when it was said (default: now)" },
    OPTIONS_END,
};

static const option read_options[] = {
    { "from", "N", "begin at this number (default: 1; backwards: the newest)" },
    { "backwards", NULL, "the newest first" },
    { "limit", "N", "at most N entries (default: all)" },
    OPTIONS_END,
};

static const option window_options[] = {
    { "tokens", "N", "what it must fit into (default: 2000)" },
    { "archived", NULL, "also of a stream that is archived" },
    OPTIONS_END,
};

static const option summarise_options[] = {
    { "first", "N", "first number that it stands for (default: 1)" },
    { "last", "N", "last number that it stands for (default: the newest)" },
    { "max-tokens", "N", "without TEXT: at most so long (default: a quarter of the range)" },
    OPTIONS_END,
};

static const option filter_options[] = {
    { "scope", "S", "only this scope; may be given again" },
    { "archived", NULL, "only archived streams" },
    { "all", NULL, "archived streams too" },
    { "all-users", NULL, "act as the operator of --owner: see every user's streams" },
    OPTIONS_END,
};

static const option page_options[] = {
    { "limit", "N", "at most N (default: all)" },
    { "after", "CURSOR", "go on behind the page that named this cursor" },
    OPTIONS_END,
};

const command memory_stream_commands[] = {
    { "memory",
      "stream append",
      "STREAM TEXT|-",
      2,
      2,
      "append an entry; a stream that isn't there is made",
      { append_options, entry_options, place_options },
      cmd_memory_stream_append },
    { "memory",
      "stream read",
      "STREAM",
      1,
      1,
      "entries, oldest first",
      { read_options, place_options },
      cmd_memory_stream_read },
    { "memory",
      "stream window",
      "STREAM",
      1,
      1,
      "the newest context that fits: summaries, then entries",
      { window_options, place_options },
      cmd_memory_stream_window },
    { "memory",
      "stream summarise",
      "STREAM [TEXT]",
      1,
      2,
      "let a summary stand for a range; without TEXT its own sentences",
      { summarise_options, entry_options, place_options },
      cmd_memory_stream_summarise },
    { "memory",
      "stream list",
      "",
      0,
      0,
      "streams, newest first",
      { page_options, filter_options },
      cmd_memory_stream_list },
    { "memory",
      "stream archive",
      "STREAM",
      1,
      1,
      "take it out of lists and windows",
      { place_options },
      cmd_memory_stream_archive },
    { "memory", "stream unarchive", "STREAM", 1, 1, "take it back", { place_options }, cmd_memory_stream_unarchive },
    { "memory",
      "stream delete",
      "STREAM",
      1,
      1,
      "erase a stream with its entries",
      { place_options },
      cmd_memory_stream_delete },
    { "memory",
      "stream export",
      "",
      0,
      0,
      "write streams, one JSON object a line",
      { filter_options },
      cmd_memory_stream_export },
    { "memory", "stream import", "FILE|-", 1, 1, "read such lines", { place_options + 1 }, cmd_memory_stream_import },
    { "memory", "stream stats", "", 0, 0, "how many streams and entries", { filter_options }, cmd_memory_stream_stats },
    COMMANDS_END,
};
