/* The command line: see args.h. Owns its arrays; the texts are argv's. */
#include "args.h"

#include "commands.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option *find_in(const option *table, const char *name, size_t len) {
    for (const option *o = table; o != NULL && o->name != NULL; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0) return o;
    return NULL;
}

static const option *find_option(const command *c, const char *name, size_t len) {
    const option *found = find_in(global_options, name, len);
    for (size_t i = 0; found == NULL && c != NULL && i < OPTION_TABLES; i++)
        found = find_in(c->options[i], name, len);
    return found;
}

/* The message is `before`, then `text` made visible, then `after`. */
static void fault_set(args_fault *fault, const args *a, const char *before, const char *text, const char *after) {
    text_buffer shown = { 0 };
    text_add_visible(&shown, uar_str_of(text), false);
    snprintf(fault->message, sizeof fault->message, "%s%s%s", before, shown.data != NULL ? shown.data : "", after);
    text_free(&shown);
    const command *c = a->command;
    const char *group = c != NULL && c->verb != NULL ? c->verb : "";
    const char *space = strrchr(group, ' ');
    snprintf(fault->hint, sizeof fault->hint, "see 'uar %s%s%.*s--help'", c != NULL ? c->name : "",
             c != NULL ? " " : "", space != NULL ? (int)(space - group) + 1 : 0, group);
}

static void add_value(args *a, const char *name, const char *value) {
    a->values[a->value_count].name = name;
    a->values[a->value_count].value = value;
    a->value_count++;
}

/* Take the option at argv[*i]; leaves *i at the last argument it used. */
static bool take_option(args *a, args_fault *fault, int argc, char **argv, int *i) {
    const char *text = argv[*i];
    const char *name = text + 2;
    const char *equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    if (strncmp(text, "--", 2) != 0 || strcmp(text, "--help") == 0) {
        a->help = strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0;
        if (!a->help) fault_set(fault, a, "unknown option '", text, "'");
        return a->help;
    }
    if (strcmp(text, "--version") == 0) {
        a->version = true;
        return true;
    }
    const option *o = find_option(a->command, name, len);
    if (o == NULL) {
        fault_set(fault, a, "unknown option '", text, "'");
        return false;
    }
    if (o->value == NULL) {
        if (equals != NULL) fault_set(fault, a, "option '--", o->name, "' takes no value");
        if (equals == NULL) add_value(a, o->name, NULL);
        return equals == NULL;
    }
    if (equals == NULL && *i + 1 >= argc) {
        fault_set(fault, a, "option '--", o->name, "' needs a value");
        return false;
    }
    if (equals == NULL) *i += 1;
    add_value(a, o->name, equals != NULL ? equals + 1 : argv[*i]);
    return true;
}

/* The first operand names the command, the next ones the verb of those that have verbs. */
static bool take_operand(args *a, args_fault *fault, const char *text) {
    if (a->word == NULL) {
        a->word = text;
        a->command = command_find(text);
        if (a->command == NULL) fault_set(fault, a, "unknown command '", text, "'");
        return a->command != NULL;
    }
    if (command_is_group(a->command)) {
        const command *verb = command_find_verb(a->command, text);
        if (verb == NULL) {
            fault_set(fault, a, "unknown subcommand '", text, "'");
            return false;
        }
        a->command = verb;
        return true;
    }
    a->operands[a->operand_count++] = text;
    return true;
}

static bool check_operands(const args *a, args_fault *fault) {
    const command *c = a->command;
    if (c == NULL) {
        fault_set(fault, a, "no command given", "", "");
        return false;
    }
    if (command_is_group(c)) {
        char name[64];
        snprintf(name, sizeof name, "%s %s", c->name, c->verb);
        name[strlen(name) - 1] = '\0'; /* a group's name ends in a space */
        fault_set(fault, a, "'uar ", name, "' needs a subcommand");
        return false;
    }
    if (c->run == NULL) return true;
    if (a->operand_count < c->least) {
        fault_set(fault, a, "missing argument: ", c->operands, "");
        return false;
    }
    if (a->operand_count > c->most) {
        fault_set(fault, a, "unexpected argument '", a->operands[c->most], "'");
        return false;
    }
    return true;
}

bool args_parse(args *out, args_fault *fault, int argc, char **argv) {
    memset(out, 0, sizeof *out);
    memset(fault, 0, sizeof *fault);
    out->values = must_alloc((size_t)argc * sizeof *out->values);
    out->operands = must_alloc((size_t)argc * sizeof *out->operands);
    bool options = true;
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        /* What isn't in this version has no tables: only its name counts. */
        bool later = out->command != NULL && out->command->run == NULL && !command_is_group(out->command);
        if (options && strcmp(text, "--") == 0) {
            options = false;
        } else if (options && text[0] == '-' && text[1] != '\0') {
            if (!take_option(out, fault, argc, argv, &i) && !later) return false;
        } else if (!take_operand(out, fault, text)) {
            return false;
        }
    }
    if (out->help || out->version) return true;
    return check_operands(out, fault);
}

void args_free(args *a) {
    free(a->values);
    free(a->operands);
    memset(a, 0, sizeof *a);
}

const char *args_get(const args *a, const char *name) {
    for (size_t i = a->value_count; i > 0; i--)
        if (strcmp(a->values[i - 1].name, name) == 0) return a->values[i - 1].value;
    return NULL;
}

bool args_has(const args *a, const char *name) {
    for (size_t i = 0; i < a->value_count; i++)
        if (strcmp(a->values[i].name, name) == 0) return true;
    return false;
}

const char *args_nth(const args *a, const char *name, size_t n) {
    for (size_t i = 0; i < a->value_count; i++)
        if (strcmp(a->values[i].name, name) == 0 && n-- == 0) return a->values[i].value;
    return NULL;
}
