/* Owns: the tools of a runtime and their compiled schemas. */
#include "tool/registry.h"

#include "base/error.h"
#include "base/str.h"
#include "base/struct_in.h"

#define SCHEMA_MAX_BYTES ((size_t)1 << 20)
#define ARGUMENTS_MAX_BYTES ((size_t)64 << 20)

void tool_registry_init(tool_registry *r, const uar_allocator *alloc) {
    memset(r, 0, sizeof *r);
    r->alloc = alloc;
}

static void tool_dispose(const uar_allocator *a, tool *t) {
    if (t->door.destroy != NULL) t->door.destroy(t->door.ctx);
    schema_free(t->arguments);
    alloc_free(a, t->name);
    alloc_free(a, t->description);
    alloc_free(a, t->input_schema);
}

void tool_registry_dispose(tool_registry *r) {
    for (size_t i = 0; i < r->count; i++)
        tool_dispose(r->alloc, &r->tools[i]);
    alloc_free(r->alloc, r->tools);
    tool_registry_init(r, r->alloc);
}

static bool name_is_valid(const char *name) {
    size_t len = name != NULL ? strlen(name) : 0;
    if (len == 0 || len > 64) return false;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (!good) return false;
    }
    return true;
}

static uar_status check_door(const tool_registry *r, const uar_tool *door, uar_error *err) {
    if (!name_is_valid(door->name))
        return error_set(err, UAR_E_INVALID, "tool name \"%s\": must be 1 to 64 letters, digits, '_' or '-'",
                         door->name != NULL ? door->name : "");
    if (tool_find(r, uar_str_of(door->name)) != NULL)
        return error_set(err, UAR_E_EXISTS, "there are two tools named \"%s\"", door->name);
    if (door->invoke == NULL) return error_set(err, UAR_E_INVALID, "tool \"%s\" has no invoke function", door->name);
    if (door->input_schema == NULL) return error_set(err, UAR_E_INVALID, "tool \"%s\" has no input schema", door->name);
    if (door->tool_class > UAR_TOOL_READ_ONLY || door->approval > UAR_APPROVAL_ASK)
        return error_set(err, UAR_E_INVALID, "tool \"%s\": unknown class or approval rule", door->name);
    return UAR_OK;
}

static uar_status compile(const tool_registry *r, tool *t, uar_error *err) {
    cJSON *document = NULL;
    uar_error inner = UAR_ERROR_INIT;
    uar_status status = json_read(&document, r->alloc, uar_str_of(t->input_schema), SCHEMA_MAX_BYTES, &inner);
    if (status == UAR_OK) status = schema_compile_tool(&t->arguments, r->alloc, document, &inner);
    json_free(r->alloc, document);
    if (status == UAR_OK) return UAR_OK;
    return error_set(err, status, "schema of tool \"%s\": %s", t->name, inner.message);
}

static uar_status copy_texts(const tool_registry *r, tool *t) {
    t->name = alloc_text(r->alloc, uar_str_of(t->door.name));
    t->description = alloc_text(r->alloc, uar_str_of(t->door.description));
    t->input_schema = alloc_text(r->alloc, uar_str_of(t->door.input_schema));
    if (t->name == NULL || t->description == NULL || t->input_schema == NULL) return UAR_E_NOMEM;
    t->door.name = t->name;
    t->door.description = t->description;
    t->door.input_schema = t->input_schema;
    if (t->door.timeout_ms == 0) t->door.timeout_ms = TOOL_TIMEOUT_MS;
    return UAR_OK;
}

static uar_status grow(tool_registry *r) {
    if (r->count < r->cap) return UAR_OK;
    size_t cap = r->cap == 0 ? 4 : r->cap * 2;
    tool *tools = alloc_resize(r->alloc, r->tools, cap * sizeof *tools);
    if (tools == NULL) return UAR_E_NOMEM;
    r->tools = tools;
    r->cap = cap;
    return UAR_OK;
}

uar_status tool_registry_add(tool_registry *r, const uar_tool *door, uar_error *err) {
    tool t;
    memset(&t, 0, sizeof t);
    uar_status status = struct_in(&t.door, sizeof t.door, door, "uar_tool", err);
    if (status == UAR_OK) status = check_door(r, &t.door, err);
    if (status == UAR_OK) {
        status = copy_texts(r, &t);
        if (status == UAR_OK) status = grow(r);
        if (status != UAR_OK) error_plain(err, status);
    }
    if (status == UAR_OK) status = compile(r, &t, err);
    if (status != UAR_OK) {
        tool_dispose(r->alloc, &t);
        return status;
    }
    r->tools[r->count++] = t;
    return UAR_OK;
}

const tool *tool_find(const tool_registry *r, uar_str name) {
    for (size_t i = 0; i < r->count; i++)
        if (str_is(name, r->tools[i].name)) return &r->tools[i];
    return NULL;
}

static void explain(const tool *t, buffer *message, const char *fault) {
    buffer_append_text(message, "The arguments of ");
    buffer_append_text(message, t->name);
    buffer_append_text(message, " can't be used, so it was not run: ");
    buffer_append_text(message, fault);
    buffer_append_text(message, ". Make the call again. The arguments must match this JSON Schema: ");
    buffer_append_text(message, t->input_schema);
}

static bool is_blank(uar_str s) {
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != ' ' && s.ptr[i] != '\n' && s.ptr[i] != '\t' && s.ptr[i] != '\r') return false;
    return true;
}

uar_status tool_check_arguments(const tool *t, uar_str arguments, buffer *canonical, buffer *message) {
    uar_str text = is_blank(arguments) ? STR("{}") : arguments;
    cJSON *value = NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = json_read(&value, canonical->alloc, text, ARGUMENTS_MAX_BYTES, &fault);
    if (status == UAR_OK && !cJSON_IsObject(value))
        status = error_set(&fault, UAR_E_SCHEMA, "they are not a JSON object");
    if (status == UAR_OK) status = schema_check(t->arguments, value, &fault);
    if (status == UAR_OK) json_append_node(canonical, value);
    json_free(canonical->alloc, value);
    if (status == UAR_E_NOMEM) return status;
    if (status != UAR_OK) {
        explain(t, message, fault.message);
        status = UAR_E_TOOL_ARGUMENTS;
    }
    if (canonical->status != UAR_OK || message->status != UAR_OK) return UAR_E_NOMEM;
    return status;
}

void tool_explain_unknown(const tool_registry *r, uar_str name, buffer *message) {
    buffer_append_text(message, "There is no tool named \"");
    buffer_append_str(message, name);
    buffer_append_text(message, r->count > 0 ? "\". The tools are: " : "\". There are no tools.");
    for (size_t i = 0; i < r->count; i++) {
        if (i > 0) buffer_append_text(message, ", ");
        buffer_append_text(message, r->tools[i].name);
    }
}
