/*
 * Any bytes as the program's tools file. What must hold: it is refused after a report, with nothing left behind, or every
 * tool is whole: a name that is its own, a schema that is strict JSON, a command that names a program.
 */
#include "tools_file.h"

#include "base/alloc.h"
#include "base/json.h"
#include "fuzz/property.h"

enum { NAME_MOST = 64, TIMEOUT_MOST_MS = 86400000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refused(const tools_file *file) {
    PROPERTY(file->tools == NULL && file->programs == NULL && file->calls == NULL && file->texts == NULL);
    PROPERTY(file->count == 0 && file->text_count == 0);
}

static void check_schema(const char *text) {
    cJSON *schema = NULL;
    uar_status status = json_read(&schema, &alloc_default, uar_str_of(text), SIZE_MAX, NULL);
    /* The library is the one to refuse what the host's reader lets pass, with a reason of its own. */
    PROPERTY(status == UAR_OK || status == UAR_E_JSON);
    if (status == UAR_OK) PROPERTY(cJSON_IsObject(schema));
    json_free(&alloc_default, schema);
}

static void check_tool(const tools_file *file, size_t at) {
    const uar_tool *tool = &file->tools[at];
    const tool_program *program = tool->ctx;
    size_t len = strlen(tool->name);
    PROPERTY(tool->struct_size == sizeof *tool && tool->invoke != NULL && tool->cancel != NULL);
    PROPERTY(len >= 1 && len <= NAME_MOST);
    for (size_t i = 0; i < at; i++)
        PROPERTY(strcmp(file->tools[i].name, tool->name) != 0);
    PROPERTY(tool->description != NULL);
    PROPERTY(tool->tool_class == UAR_TOOL_EFFECT || tool->tool_class == UAR_TOOL_IDEMPOTENT ||
             tool->tool_class == UAR_TOOL_READ_ONLY);
    PROPERTY(tool->approval == UAR_APPROVAL_AUTO || tool->approval == UAR_APPROVAL_ASK);
    PROPERTY(tool->timeout_ms <= TIMEOUT_MOST_MS);
    PROPERTY(program == &file->programs[at] && program->calls == file->calls);
    PROPERTY(program->command[0] != NULL && program->command[0][0] != '\0');
    check_schema(tool->input_schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const app a = { .quiet = true };
    tools_file file;
    int code = tools_file_read_text(&file, &a, "tools.json", uar_str_n((const char *)data, size));
    PROPERTY(code == CODE_OK || code == CODE_USAGE);
    if (code != CODE_OK) {
        check_refused(&file);
        return 0;
    }
    for (size_t i = 0; i < file.count; i++)
        check_tool(&file, i);
    tools_file_free(&file);
    return 0;
}
