/* The tools file: see tools_file.h. */
#include "tools_file.h"

#include "file.h"
#include "json_syntax.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_MOST = 64, TIMEOUT_MOST_MS = 86400000 };

/* Where reading is; used to name faults. */
typedef struct tools_reader {
    tools_file *file;
    const app *app;
    const char *path;
    const cJSON *item;
    uar_str text;               /* of the item */
    char label[NAME_MOST + 16]; /* tool "name", or tool 3 */
} tools_reader;

__attribute__((format(printf, 3, 4))) static bool fault(const tools_reader *r, const char *field, const char *format,
                                                        ...);

static bool fault(const tools_reader *r, const char *field, const char *format, ...) {
    char what[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    report_usage(r->app, NULL, "%s: %s: \"%s\" %s", r->path, r->label, field, what);
    return false;
}

/* Keep a copy for as long as the file lives. */
static char *keep(tools_reader *r, char *copy) {
    tools_file *f = r->file;
    char **grown = must_alloc((f->text_count + 1) * sizeof *grown);
    for (size_t i = 0; i < f->text_count; i++)
        grown[i] = f->texts[i];
    free(f->texts);
    f->texts = grown;
    f->texts[f->text_count++] = copy;
    return copy;
}

static const cJSON *field_of(const tools_reader *r, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(r->item, name);
}

static bool check_fields(const tools_reader *r) {
    static const char *const known[] = { "name",     "description", "input_schema", "class",
                                         "approval", "timeout_ms",  "command" };
    for (const cJSON *m = r->item->child; m != NULL; m = m->next) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || strcmp(known[i], m->string) == 0;
        if (!found) return fault(r, m->string, "is no field of a tool");
        if (field_of(r, m->string) != m) return fault(r, m->string, "is given twice");
    }
    return true;
}

static bool is_name(const char *text) {
    size_t len = strlen(text);
    return len > 0 && len <= NAME_MOST &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

static bool read_name(tools_reader *r, uar_tool *tool) {
    const cJSON *name = field_of(r, "name");
    if (name == NULL) return fault(r, "name", "is missing");
    if (!cJSON_IsString(name) || !is_name(name->valuestring))
        return fault(r, "name", "must be 1 to 64 of a-z, A-Z, 0-9, _ and -");
    snprintf(r->label, sizeof r->label, "tool \"%s\"", name->valuestring);
    for (const uar_tool *other = r->file->tools; other < tool; other++)
        if (strcmp(other->name, name->valuestring) == 0) return fault(r, "name", "is that of an earlier tool");
    tool->name = keep(r, must_copy(uar_str_of(name->valuestring)));
    return true;
}

static bool read_texts(tools_reader *r, uar_tool *tool) {
    const cJSON *description = field_of(r, "description");
    const cJSON *schema = field_of(r, "input_schema");
    if (description == NULL) return fault(r, "description", "is missing");
    if (!cJSON_IsString(description)) return fault(r, "description", "must be text");
    if (schema == NULL) return fault(r, "input_schema", "is missing");
    if (!cJSON_IsObject(schema)) return fault(r, "input_schema", "must be a JSON Schema object");
    tool->description = keep(r, must_copy(uar_str_of(description->valuestring)));
    /* As it stands in the file: cJSON would round its numbers. */
    tool->input_schema = keep(r, must_copy(json_raw_member(r->text, "input_schema")));
    return true;
}

static bool read_class(tools_reader *r, uar_tool *tool) {
    const cJSON *class = field_of(r, "class");
    tool->tool_class = UAR_TOOL_EFFECT;
    if (class == NULL) return true;
    const char *name = cJSON_IsString(class) ? class->valuestring : "";
    if (strcmp(name, "read_only") == 0) {
        tool->tool_class = UAR_TOOL_READ_ONLY;
    } else if (strcmp(name, "idempotent") == 0) {
        tool->tool_class = UAR_TOOL_IDEMPOTENT;
    } else if (strcmp(name, "effect") != 0) {
        return fault(r, "class", "must be read_only, idempotent or effect");
    }
    return true;
}

static bool read_rules(tools_reader *r, uar_tool *tool) {
    const cJSON *approval = field_of(r, "approval");
    const cJSON *timeout = field_of(r, "timeout_ms");
    tool->approval = UAR_APPROVAL_AUTO;
    if (approval != NULL) {
        const char *name = cJSON_IsString(approval) ? approval->valuestring : "";
        if (strcmp(name, "ask") == 0) {
            tool->approval = UAR_APPROVAL_ASK;
        } else if (strcmp(name, "auto") != 0) {
            return fault(r, "approval", "must be auto or ask");
        }
    }
    if (timeout != NULL) {
        double ms = cJSON_IsNumber(timeout) ? timeout->valuedouble : 0;
        if (!(ms >= 1 && ms <= TIMEOUT_MOST_MS) || ms != (double)(uint32_t)ms)
            return fault(r, "timeout_ms", "must be a whole number from 1 to %d", TIMEOUT_MOST_MS);
        tool->timeout_ms = (uint32_t)ms;
    }
    return true;
}

static bool read_command(tools_reader *r, tool_program *program) {
    const cJSON *words = field_of(r, "command");
    if (words == NULL) return fault(r, "command", "is missing");
    int count = cJSON_IsArray(words) ? cJSON_GetArraySize(words) : 0;
    if (count == 0) return fault(r, "command", "must be an array of texts: the program and its arguments");
    program->command = must_alloc(((size_t)count + 1) * sizeof *program->command);
    size_t i = 0;
    for (const cJSON *each = words->child; each != NULL; each = each->next) {
        if (!cJSON_IsString(each) || (i == 0 && each->valuestring[0] == '\0'))
            return fault(r, "command", "item %zu must be %stext", i + 1, i == 0 ? "non-empty " : "");
        program->command[i++] = keep(r, must_copy(uar_str_of(each->valuestring)));
    }
    return true;
}

static bool read_tool(tools_reader *r, uar_tool *tool, tool_program *program) {
    if (!cJSON_IsObject(r->item)) {
        report_usage(r->app, NULL, "%s: %s: must be an object", r->path, r->label);
        return false;
    }
    if (!read_name(r, tool) || !check_fields(r) || !read_texts(r, tool) || !read_class(r, tool) ||
        !read_rules(r, tool) || !read_command(r, program))
        return false;
    program->calls = r->file->calls;
    tool->struct_size = sizeof *tool;
    tool->ctx = program;
    tool->invoke = tool_program_invoke;
    tool->cancel = tool_program_cancel;
    return true;
}

static int read_array(tools_file *file, const app *a, const char *path, const cJSON *array, uar_str text) {
    if (!cJSON_IsArray(array)) return report_usage(a, NULL, "%s: must be a JSON array of tools", path);
    size_t count = (size_t)cJSON_GetArraySize(array);
    file->tools = must_alloc(count * sizeof *file->tools);
    file->programs = must_alloc(count * sizeof *file->programs);
    tools_reader r = { .file = file, .app = a, .path = path };
    for (r.item = array->child; r.item != NULL; r.item = r.item->next) {
        snprintf(r.label, sizeof r.label, "tool %zu", file->count + 1);
        /* Counted first: what a half-read tool holds is freed with the rest. */
        size_t at = file->count++;
        r.text = json_raw_item(text, at);
        if (!read_tool(&r, &file->tools[at], &file->programs[at])) return CODE_USAGE;
    }
    return CODE_OK;
}

int tools_file_read_text(tools_file *out, const app *a, const char *path, uar_str text) {
    memset(out, 0, sizeof *out);
    size_t at = 0;
    const char *why = NULL;
    int code = CODE_OK;
    cJSON *array = json_parse(text, &at, &why);
    if (why != NULL) {
        size_t line = 0;
        size_t column = 0;
        text_place(&line, &column, text, at);
        code = report_usage(a, NULL, "%s:%zu:%zu: not JSON: %s", path, line, column, why);
    } else {
        out->calls = tool_calls_new();
        code = read_array(out, a, path, array, text);
    }
    cJSON_Delete(array);
    if (code != CODE_OK) tools_file_free(out);
    return code;
}

int tools_file_read(tools_file *out, const app *a, const char *path) {
    memset(out, 0, sizeof *out);
    if (path == NULL) return CODE_OK;
    text_buffer text = { 0 };
    int code = file_read(&text, a, path, "the tools file");
    if (code == CODE_OK) code = tools_file_read_text(out, a, path, text_str(&text));
    text_free(&text);
    return code;
}

void tools_file_free(tools_file *file) {
    tool_calls_free(file->calls);
    for (size_t i = 0; i < file->text_count; i++)
        free(file->texts[i]);
    for (size_t i = 0; i < file->count; i++)
        free(file->programs[i].command);
    free(file->texts);
    free(file->tools);
    free(file->programs);
    memset(file, 0, sizeof *file);
}
