/* Every command, its options and its help. One line of a table each: what isn't listed is refused by name. */
#include "commands.h"

#include "command_table.h"

#include <stdio.h>
#include <string.h>

const option global_options[] = {
    { "store", "DIR", "where the stores lie (default: $XDG_DATA_HOME/uar, or ~/.local/share/uar)" },
    { "owner", "ID", "tenant (default: local)" },
    { "user", "ID", "user (default: me)" },
    { "agent", "ID", "agent (default: assistant)" },
    { "session", "ID", "session (default: default)" },
    { "task", "ID", "task (default: none)" },
    { "model", "SPEC", "offline, script:FILE, replay:FORMAT:PATH[?chunk=N] or openai:URL#NAME (default: offline)" },
    { "script-from", "N", "with script: begin at line N" },
    { "embedder", "SPEC",
      "auto (the fetched model, else lexical), lexical, bert:DIR or openai:URL#NAME (default: auto)" },
    { "memory", NULL, "use the memory service, whatever the settings say" },
    { "no-memory", NULL, "don't use it" },
    { "allow-shared-memory", NULL, "may write memory of global and agent scope" },
    { "json", NULL, "JSON on stdout (one object, or one a line) and on stderr" },
    { "quiet", NULL, "only answers and errors" },
    OPTIONS_END,
};

static const option run_options[] = {
    { "events", "FORM", "text or json, one event a line (default: text; with --json: json)" },
    { "tools", "FILE", "JSON array of tools, each with a command to run" },
    { "approve", "RULE", "calls that need approval: ask, auto or deny (default: ask)" },
    { "max-steps", "N", "at most N model calls (default: 32)" },
    { "instructions", "TEXT", "system text" },
    { "budget", "K=V", "not in this version" },
    { "policy", "FILE", "not in this version" },
    OPTIONS_END,
};

static const option chat_options[] = {
    { "tools", "FILE", "JSON array of tools, each with a command to run" },
    { "approve", "RULE", "calls that need approval: ask, auto or deny (default: ask)" },
    { "max-steps", "N", "at most N model calls a turn (default: 32)" },
    { "instructions", "TEXT", "system text" },
    OPTIONS_END,
};

static const option page_options[] = {
    { "limit", "N", "at most N (default: all)" },
    { "after", "CURSOR", "go on behind the page that named this cursor" },
    OPTIONS_END,
};

static const option runs_list_options[] = {
    { "state", "S", "only running, paused, in_doubt, interrupted, done, failed or cancelled" },
    OPTIONS_END,
};

static const option draft_options[] = {
    { "scope", "S", "global, agent, user, session or task (default: user)" },
    { "type", "T", "episodic, semantic, procedural or associative (default: semantic)" },
    { "category", "C", "a label; may be given again" },
    { "metadata", "JSON", "an object to keep with it" },
    { "importance", "X", "0 to 1 (default: 0.5)" },
    { "fact", "SUBJECT/ATTRIBUTE", "slot that holds one current fact; the first / splits" },
    { "created", "RFC3339", "when it was said (default: now)" },
    { "valid-until", "RFC3339", "when it ends (default: never)" },
    { "ttl", "TIME", "erase it after this time: 90s, 15m, 12h, 30d, 4w" },
    { "expires", "RFC3339", "erase it then" },
    OPTIONS_END,
};

static const option filter_options[] = {
    { "scope", "S", "only this scope; may be given again" },
    { "type", "T", "only this type; may be given again" },
    { "category", "C", "only with this label" },
    { "metadata", "JSON", "only with these members in the metadata" },
    { "since", "DATE", "created at or after (RFC 3339, or a day)" },
    { "before", "DATE", "created before" },
    { "older-than", "TIME", "created longer ago than this: 12h, 30d, 4w" },
    OPTIONS_END,
};

static const option view_options[] = {
    { "as-of", "DATE", "what held then, in the version of that time" },
    { "include-past", NULL, "list: also what has ended or was superseded" },
    OPTIONS_END,
};

static const option operator_options[] = {
    { "all-users", NULL, "act as the operator of --owner: see every user's records" },
    OPTIONS_END,
};

static const option search_options[] = {
    { "limit", "N", "at most N hits, 1 to 1000 (default: 10)" },
    { "batch", "FILE", "a question a line: {\"query\":\"…\",\"limit\":10,…filters}, over the options; - is stdin" },
    OPTIONS_END,
};

static const option update_options[] = {
    { "type", "T", "new type" },
    { "category", "C", "new labels; may be given again" },
    { "metadata", "JSON", "new object" },
    { "importance", "X", "new importance" },
    { "ttl", "TIME", "erase it after this time: 90s, 15m, 12h, 30d, 4w" },
    { "expires", "RFC3339", "erase it then; never keeps it" },
    { "revision", "N", "only if it is at this revision" },
    OPTIONS_END,
};

static const option delete_options[] = {
    { "yes", NULL, "needed to delete all that match filters" },
    OPTIONS_END,
};

static const option compress_options[] = {
    { "summary", "TEXT", "the summary (default: sentences of the records, chosen by a rule)" },
    { "yes", NULL, "needed without a filter" },
    OPTIONS_END,
};

static const option export_options[] = {
    { "contents", NULL, "the contents of attachments too" },
    OPTIONS_END,
};

static const option branch_options[] = {
    { "at", "N", "up to message N (default: all)" },
    { "text", "TEXT", "what message N says instead" },
    { "name", "NAME", "name of the new session" },
    OPTIONS_END,
};

static const option import_options[] = {
    { "verbatim", NULL, "merge nothing: each line becomes a record with its id and times" },
    OPTIONS_END,
};

static const option doctor_options[] = {
    { "repair", NULL, "keep what is whole of a damaged store, name what is lost" },
    OPTIONS_END,
};

static const command commands[] = {
    { "chat", NULL, "", 0, 0, "talk; or lines on stdin, answers on stdout", { chat_options }, cmd_chat },
    { "run", NULL, "PROMPT|-", 1, 1, "one turn; - reads the prompt from stdin", { run_options }, cmd_run },
    GROUP("runs", "look at runs"),
    { "runs", "list", "", 0, 0, "runs, oldest first", { page_options, runs_list_options }, cmd_runs_list },
    { "runs", "show", "RUN", 1, 1, "one run", { NULL }, cmd_runs_show },
    LATER("runs", "approve", "RUN [CALL]"),
    LATER("runs", "deny", "RUN [CALL]"),
    LATER("runs", "resume", "RUN"),
    LATER("runs", "cancel", "RUN"),
    LATER("runs", "abandon", "RUN"),
    LATER("runs", "settle", "RUN CALL"),
    LATER("runs", "fork", "RUN"),
    LATER("runs", "replay", "RUN"),
    GROUP("sessions", "look at sessions, and look after them"),
    { "sessions", "list", "", 0, 0, "sessions of the user", { page_options }, cmd_sessions_list },
    { "sessions", "show", "SESSION", 1, 1, "messages of a session", { NULL }, cmd_sessions_show },
    { "sessions", "delete", "SESSION", 1, 1, "delete it with all that belongs to it", { NULL }, cmd_sessions_delete },
    { "sessions", "rename", "SESSION NAME", 2, 2, "give it a name; \"\" takes it away", { NULL }, cmd_sessions_rename },
    { "sessions", "export", "SESSION", 1, 1, "lines of JSON", { export_options }, cmd_sessions_export },
    { "sessions",
      "branch",
      "SESSION NEW",
      2,
      2,
      "begin a new one as this one did",
      { branch_options },
      cmd_sessions_branch },
    GROUP("memory", "write, search and look after memory"),
    { "memory", "add", "TEXT", 1, 1, "write a record", { draft_options, operator_options }, cmd_memory_add },
    { "memory", "get", "ID", 1, 1, "one record", { operator_options }, cmd_memory_get },
    { "memory",
      "list",
      "",
      0,
      0,
      "records, newest write first",
      { page_options, filter_options, view_options, operator_options },
      cmd_memory_list },
    { "memory",
      "search",
      "QUERY",
      0,
      1,
      "find records by words, and with an embedder by meaning",
      { search_options, filter_options, view_options, operator_options },
      cmd_memory_search },
    { "memory",
      "update",
      "ID [TEXT]",
      1,
      2,
      "change a record",
      { update_options, operator_options },
      cmd_memory_update },
    { "memory",
      "delete",
      "[ID]",
      0,
      1,
      "erase a record, or all that match filters",
      { delete_options, filter_options, operator_options },
      cmd_memory_delete },
    { "memory",
      "history",
      "ID",
      1,
      1,
      "all versions of a record, oldest first",
      { operator_options },
      cmd_memory_history },
    { "memory",
      "stats",
      "",
      0,
      0,
      "how many records",
      { filter_options, view_options, operator_options },
      cmd_memory_stats },
    { "memory",
      "import",
      "FILE|-",
      1,
      1,
      "read records, one JSON object a line",
      { import_options, operator_options },
      cmd_memory_import },
    { "memory",
      "export",
      "",
      0,
      0,
      "write all records, one JSON object a line",
      { filter_options, operator_options },
      cmd_memory_export },
    { "memory",
      "compress",
      "",
      0,
      0,
      "put one summary in the place of all that match",
      { compress_options, filter_options, operator_options },
      cmd_memory_compress },
    { "memory",
      "purge",
      "ID",
      1,
      1,
      "erase what a record superseded or summarises",
      { operator_options },
      cmd_memory_purge },
    { "memory", "sweep", "", 0, 0, "erase what has expired", { NULL }, cmd_memory_sweep },
    { "memory",
      "reindex",
      "",
      0,
      0,
      "build the index anew, give vectors to records without one",
      { NULL },
      cmd_memory_reindex },
    SUBGROUP("memory", "graph", "entities, how they are related, what is known of them"),
    SUBGROUP("memory", "stream", "the steps of long tasks"),
    GROUP("settings", "look at and change settings"),
    { "settings", "list", "", 0, 0, "all settings", { NULL }, cmd_settings_list },
    { "settings", "get", "KEY", 1, 1, "one setting", { NULL }, cmd_settings_get },
    { "settings", "set", "KEY VALUE", 2, 2, "store a setting; VALUE is JSON", { NULL }, cmd_settings_set },
    LATER("knowledge", NULL, "..."),
    LATER("skills", NULL, "..."),
    LATER("graph", NULL, "..."),
    LATER("agents", NULL, "..."),
    LATER("mcp", NULL, ""),
    LATER("admin", NULL, "METHOD PATH [BODY]"),
    { "backup", NULL, "DIR", 1, 1, "copy state and memory into a new folder, a --store", { NULL }, cmd_backup },
    { "doctor", NULL, "", 0, 0, "is everything there, and is it well?", { doctor_options }, cmd_doctor },
    COMMANDS_END,
};

static const command *const tables[] = { commands, memory_graph_commands, memory_stream_commands };

enum { TABLE_COUNT = sizeof tables / sizeof tables[0], USAGE_WIDTH = 26 };

/* The n-th entry of all tables; NULL behind the last. */
static const command *command_at(size_t n) {
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (const command *c = tables[t]; c->name != NULL; c++)
            if (n-- == 0) return c;
    return NULL;
}

const command *command_find(const char *name) {
    const command *c = NULL;
    for (size_t i = 0; (c = command_at(i)) != NULL; i++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

bool command_is_group(const command *c) {
    return c->verb != NULL && (c->verb[0] == '\0' || c->verb[strlen(c->verb) - 1] == ' ');
}

/* What a verb says behind the group's own words, or NULL if it isn't one of its verbs. A group's own ends in a space. */
static const char *word_in(const command *group, const command *c) {
    size_t len = strlen(group->verb);
    if (strcmp(c->name, group->name) != 0 || c->verb == NULL || strncmp(c->verb, group->verb, len) != 0) return NULL;
    const char *word = c->verb + len;
    const char *space = strchr(word, ' ');
    return word[0] != '\0' && (space == NULL || space[1] == '\0') ? word : NULL;
}

const command *command_find_verb(const command *group, const char *word) {
    const command *c = NULL;
    size_t len = strlen(word);
    if (len == 0 || strchr(word, ' ') != NULL) return NULL;
    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        const char *each = word_in(group, c);
        if (each != NULL && strncmp(each, word, len) == 0 && (each[len] == '\0' || each[len] == ' ')) return c;
    }
    return NULL;
}

static void print_options(const char *title, const option *table) {
    if (table == NULL) return;
    printf("%s\n", title);
    for (const option *o = table; o->name != NULL; o++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        printf("  %-26s %s\n", left, o->docs);
    }
}

/* "memory graph", without the space that a group's name ends in. */
static void full_name(char *out, size_t size, const command *c) {
    snprintf(out, size, "%s%s%s", c->name, c->verb != NULL ? " " : "", c->verb != NULL ? c->verb : "");
    size_t len = strlen(out);
    if (len > 0 && out[len - 1] == ' ') out[len - 1] = '\0';
}

/* What is typed: the name with its operands. Its length. */
static int usage_of(char *out, size_t size, const command *c) {
    char name[64];
    full_name(name, sizeof name, c);
    return snprintf(out, size, "%s%s%s", name, c->operands[0] != '\0' ? " " : "", c->operands);
}

static void print_usage_line(const command *c, int width) {
    char left[96];
    usage_of(left, sizeof left, c);
    printf("  %-*s %s\n", width, left, c->summary);
}

/* Wide enough for every verb of a group. */
static int usage_width(const command *group) {
    int width = USAGE_WIDTH;
    const command *c = NULL;
    for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
        char left[96];
        int len = word_in(group, c) != NULL ? usage_of(left, sizeof left, c) : 0;
        if (len > width) width = len;
    }
    return width;
}

static void print_own_options(const command *c) {
    char name[64];
    char title[96];
    full_name(name, sizeof name, c);
    snprintf(title, sizeof title, "\nOptions of %s:", name);
    const char *heading = title;
    for (size_t i = 0; i < OPTION_TABLES && c->options[i] != NULL; i++, heading = "")
        print_options(heading, c->options[i]);
}

static void print_program(void) {
    printf("uar: an agent runtime on the command line, over libuar\n\nusage: uar [global options] COMMAND …\n\n"
           "Commands:\n");
    const command *c = NULL;
    for (size_t i = 0; (c = command_at(i)) != NULL; i++)
        if (c->verb == NULL || c->verb[0] == '\0') print_usage_line(c, USAGE_WIDTH);
    print_options("\nGlobal options:", global_options);
    printf("  %-26s %s\n  %-26s %s\n", "--help", "this text; behind a command: about it", "--version", "the version");
    printf(
        "\nEnvironment, weaker than flags and stronger than settings: UAR_MEMORY__ENABLED, UAR_MEMORY__AUTO_CAPTURE,\n"
        "UAR_MEMORY__INJECT_CONTEXT (true or false), UAR_MEMORY__MAX_CONTEXT_TOKENS. Keys of model services: "
        "OPENAI_API_KEY.\n");
    printf("\nExit codes: 0 ok, 1 the run failed, 2 usage or a bad file, 3 store, 4 cancelled, 5 paused, 6 not found, "
           "7 busy.\n");
}

void help_print(const command *c) {
    if (c == NULL) {
        print_program();
        return;
    }
    char name[64];
    full_name(name, sizeof name, c);
    bool all = command_is_group(c);
    const command *each = NULL;
    printf("usage: uar [global options] %s%s\n\n", name, all ? " SUBCOMMAND …" : " …");
    for (size_t i = 0; (each = command_at(i)) != NULL; i++)
        if (all ? word_in(c, each) != NULL : each == c) print_usage_line(each, all ? usage_width(c) : USAGE_WIDTH);
    for (size_t i = 0; (each = command_at(i)) != NULL; i++)
        if (each->options[0] != NULL && (each == c || (all && word_in(c, each) != NULL))) print_own_options(each);
    printf("\nGlobal options: see 'uar --help'.\n");
}
