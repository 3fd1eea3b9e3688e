/* The verbs of `uar memory graph`. */
#include "command_table.h"
#include "commands.h"
#include "memory_graph.h"

static const option entity_options[] = {
    { "kind", "K", "what it is, such as person (default: none)" },
    { "alias", "NAME", "another name; may be given again" },
    { "properties", "JSON", "an object to keep with it" },
    { "replace", NULL, "--properties are all there are; without it they are put over those there" },
    { "scope", "S", "global, agent, user, session or task (default: user)" },
    OPTIONS_END,
};

static const option kind_options[] = {
    { "kind", "K", "which one, where several have the name" },
    OPTIONS_END,
};

static const option fact_options[] = {
    { "scope", "S", "who shares it (default: as what it is about)" },
    { "valid-from", "RFC3339", "from when it holds (default: now)" },
    { "valid-until", "RFC3339", "until when (default: open)" },
    OPTIONS_END,
};

static const option relate_options[] = {
    { "properties", "JSON", "an object to keep with it" },
    OPTIONS_END,
};

static const option end_options[] = {
    { "at", "RFC3339", "when it ends (default: now)" },
    { "erase", NULL, "erase it instead: it never was" },
    OPTIONS_END,
};

static const option forget_options[] = {
    { "keep", NULL, "end it instead of erasing it" },
    OPTIONS_END,
};

static const option list_options[] = {
    { "relations", NULL, "relations instead of entities" },
    { "observations", NULL, "observations instead of entities" },
    { "kind", "K", "only entities of this kind" },
    { "type", "T", "only relations of this type" },
    { "scope", "S", "only this scope; may be given again" },
    OPTIONS_END,
};

static const option time_options[] = {
    { "as-of", "DATE", "what held then" },
    { "include-past", NULL, "also what has ended or not begun" },
    OPTIONS_END,
};

static const option walk_options[] = {
    { "kind", "K", "which one, where several have the name" },
    { "type", "T", "only relations of this type" },
    { "direction", "D", "out, in or both (default: both)" },
    OPTIONS_END,
};

static const option path_options[] = {
    { "max-length", "N", "at most N relations on a path, 1 to 6 (default: 4)" },
    { "max-visited", "N", "at most N steps of the search (default: 20000)" },
    { "limit", "N", "at most N paths, 1 to 1000 (default: 10)" },
    OPTIONS_END,
};

static const option find_options[] = {
    { "limit", "N", "at most N hits, 1 to 1000 (default: 10)" },
    { "kind", "K", "only entities of this kind" },
    { "scope", "S", "only entities of this scope; may be given again" },
    OPTIONS_END,
};

static const option graph_page_options[] = {
    { "limit", "N", "at most N (default: all)" },
    { "after", "CURSOR", "go on behind the page that named this cursor" },
    OPTIONS_END,
};

static const option graph_import_options[] = {
    { "scope", "S", "of lines that name none (default: user)" },
    OPTIONS_END,
};

static const option all_users[] = {
    { "all-users", NULL, "act as the operator of --owner: see every user's graph" },
    OPTIONS_END,
};

#define VERB(verb, operands, least, most, summary, run, ...) \
    { "memory", "graph " verb, operands, least, most, summary, { __VA_ARGS__, all_users }, run }
#define PLAIN(verb, operands, least, most, summary, run) \
    { "memory", "graph " verb, operands, least, most, summary, { all_users }, run }

const command memory_graph_commands[] = {
    VERB("add", "NAME", 1, 1, "write an entity", cmd_memory_graph_add, entity_options),
    VERB("get", "NAME|ID", 1, 1, "an entity and all about it", cmd_memory_graph_get, kind_options, time_options),
    VERB("list", "", 0, 0, "entities, in the order of writing", cmd_memory_graph_list, list_options, time_options,
         graph_page_options),
    VERB("relate", "FROM TYPE TO", 3, 3, "relate two entities", cmd_memory_graph_relate, kind_options, fact_options,
         relate_options),
    VERB("unrelate", "ID | FROM TYPE TO", 1, 3, "end a relation", cmd_memory_graph_unrelate, kind_options, end_options),
    VERB("observe", "NAME|ID TEXT", 2, 2, "note what is known of an entity", cmd_memory_graph_observe, kind_options,
         fact_options),
    VERB("forget", "ID", 1, 1, "erase an observation", cmd_memory_graph_forget, forget_options),
    VERB("rename", "NAME|ID NEW", 2, 2, "the old name becomes an alias", cmd_memory_graph_rename, kind_options),
    VERB("merge", "INTO FROM", 2, 2, "two names of one entity", cmd_memory_graph_merge, kind_options),
    VERB("delete", "NAME|ID", 1, 1, "erase an entity with all about it", cmd_memory_graph_delete, kind_options),
    VERB("neighbours", "NAME|ID", 1, 1, "relations of an entity", cmd_memory_graph_neighbours, walk_options,
         time_options, graph_page_options),
    VERB("path", "FROM TO", 2, 2, "ways from one entity to another", cmd_memory_graph_path, walk_options, time_options,
         path_options),
    VERB("search", "QUERY", 1, 1, "find entities by words", cmd_memory_graph_search, find_options, time_options),
    VERB("link", "RECORD NAME|ID", 2, 2, "link a memory record to an entity", cmd_memory_graph_link, kind_options),
    VERB("unlink", "RECORD NAME|ID", 2, 2, "take the link away", cmd_memory_graph_unlink, kind_options),
    VERB("records", "NAME|ID", 1, 1, "memory records linked to an entity", cmd_memory_graph_records, kind_options,
         graph_page_options),
    VERB("entities", "RECORD", 1, 1, "entities linked to a memory record", cmd_memory_graph_entities,
         graph_page_options),
    VERB("import", "FILE|-", 1, 1, "read an export, or a file of the official memory server", cmd_memory_graph_import,
         graph_import_options),
    PLAIN("export", "", 0, 0, "write the graph, one JSON object a line", cmd_memory_graph_export),
    PLAIN("stats", "", 0, 0, "how much there is", cmd_memory_graph_stats),
    COMMANDS_END,
};
