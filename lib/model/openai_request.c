/*
 * Invariants: every tool call in the body is followed by exactly one result before any other message; every `arguments`
 * text is a JSON object; every field at the top is written once.
 */
#include "model/openai_request.h"

#include "base/error.h"
#include "base/str.h"

enum { TOOL_NAME_MAX = 64 };

typedef struct request_writer {
    const uar_model_request *request;
    const uar_codec_options *options;
    const uar_allocator *alloc;
    json_writer json;
    uar_error *err;
} request_writer;

/* ---- names ---- */

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_tool_name(uar_str name) {
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_char(name.ptr[i])) return false;
    }
    return name.len >= 1 && name.len <= TOOL_NAME_MAX;
}

/* A model may have called what doesn't exist; its name must not make the whole history unusable. */
static void past_name_put(json_writer *json, uar_str name) {
    char text[TOOL_NAME_MAX];
    size_t len = name.len < TOOL_NAME_MAX ? name.len : TOOL_NAME_MAX;
    for (size_t i = 0; i < len; i++)
        text[i] = is_name_char(name.ptr[i]) ? name.ptr[i] : '_';
    if (len == 0) text[len++] = '_';
    json_put_str(json, "name", uar_str_n(text, len));
}

/* ---- parts ---- */

static size_t part_count(const uar_model_message *m, uar_part_type type) {
    size_t count = 0;
    for (size_t i = 0; i < m->part_count; i++) {
        if (m->parts[i].type == type) count++;
    }
    return count;
}

static const char *part_type_name(uar_part_type type) {
    static const char *const names[] = {
#define UAR_X_NAME(name, json) json,
        UAR_PART_TYPES(UAR_X_NAME)
#undef UAR_X_NAME
    };
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

static bool part_is_allowed(uar_role role, uar_part_type type) {
    if (type == UAR_PART_TEXT) return role != UAR_ROLE_TOOL;
    if (type == UAR_PART_REASONING || type == UAR_PART_TOOL_CALL) return role == UAR_ROLE_ASSISTANT;
    return type == UAR_PART_TOOL_RESULT && role == UAR_ROLE_TOOL;
}

static uar_status parts_check(const request_writer *w, size_t number) {
    const uar_model_message *m = &w->request->messages[number];
    for (size_t i = 0; i < m->part_count; i++) {
        uar_part_type type = m->parts[i].type;
        if (type == UAR_PART_IMAGE || type == UAR_PART_AUDIO || type == UAR_PART_FILE)
            return error_set(w->err, UAR_E_UNSUPPORTED, "message %zu: a part of type %s can't be sent to this provider",
                             number, part_type_name(type));
        if (!part_is_allowed(m->role, type))
            return error_set(w->err, UAR_E_INVALID, "message %zu: a part of type %s doesn't fit its role", number,
                             part_type_name(type));
    }
    return UAR_OK;
}

/* The texts of a message joined, as one JSON string. */
static uar_status text_put(const request_writer *w, json_writer *json, const char *key, const uar_model_message *m,
                           uar_part_type type) {
    buffer joined;
    buffer_init(&joined, w->alloc, SIZE_MAX / 2);
    for (size_t i = 0; i < m->part_count; i++) {
        if (m->parts[i].type == type) buffer_append_str(&joined, m->parts[i].text);
    }
    uar_status status = joined.status;
    if (status == UAR_OK) json_put_str(json, key, buffer_str(&joined));
    buffer_dispose(&joined);
    return status;
}

static bool text_is_empty(const uar_model_message *m, uar_part_type type) {
    for (size_t i = 0; i < m->part_count; i++) {
        if (m->parts[i].type == type && m->parts[i].text.len > 0) return false;
    }
    return true;
}

/* ---- reasoning ---- */

/* Field that reasoning goes back in: the one it came in, NULL if it came from elsewhere. */
static uar_status origin_of(const char **key, const request_writer *w, uar_str opaque) {
    static const char *const keys[] = { "reasoning_content", "reasoning" };
    cJSON *json = NULL;
    if (opaque.len == 0) return UAR_OK;
    uar_status status = json_read(&json, w->alloc, opaque, opaque.len, NULL);
    if (status != UAR_OK) return status == UAR_E_NOMEM ? status : UAR_OK; /* opaque data of another provider */
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (str_is(json_text(json, "openai"), keys[i])) *key = keys[i];
    }
    json_free(w->alloc, json);
    return UAR_OK;
}

/* `*key` is NULL if no reasoning of this message goes back. */
static uar_status reasoning_key(const char **key, const request_writer *w, const uar_model_message *m) {
    uar_reasoning_replay rule = w->options->reasoning;
    *key = NULL;
    if (rule == UAR_REASONING_NEVER || text_is_empty(m, UAR_PART_REASONING)) return UAR_OK;
    if (rule == UAR_REASONING_AUTO && part_count(m, UAR_PART_TOOL_CALL) == 0) return UAR_OK;
    uar_status status = UAR_OK;
    for (size_t i = 0; i < m->part_count && *key == NULL && status == UAR_OK; i++) {
        if (m->parts[i].type == UAR_PART_REASONING) status = origin_of(key, w, m->parts[i].opaque);
    }
    if (*key == NULL && rule == UAR_REASONING_ALWAYS) *key = "reasoning_content";
    return status;
}

/* ---- tool calls and results ---- */

static uar_status malformed_put(const request_writer *w, json_writer *json, uar_str text) {
    buffer wrapped;
    buffer_init(&wrapped, w->alloc, SIZE_MAX / 2);
    json_writer inner;
    json_writer_init(&inner, &wrapped);
    json_object_begin(&inner);
    json_put_str(&inner, "_malformed", text);
    json_object_end(&inner);
    uar_status status = wrapped.status;
    if (status == UAR_OK) json_put_str(json, "arguments", buffer_str(&wrapped));
    buffer_dispose(&wrapped);
    return status;
}

static uar_status arguments_put(const request_writer *w, json_writer *json, uar_str text) {
    if (text.len == 0) {
        json_put_str(json, "arguments", STR("{}"));
        return UAR_OK;
    }
    cJSON *tree = NULL;
    uar_status status = json_read(&tree, w->alloc, text, text.len, NULL);
    if (status == UAR_E_NOMEM) return status;
    bool is_object = status == UAR_OK && cJSON_IsObject(tree);
    json_free(w->alloc, tree);
    if (!is_object) return malformed_put(w, json, text);
    json_put_str(json, "arguments", text);
    return UAR_OK;
}

static uar_status calls_put(request_writer *w, const uar_model_message *m) {
    json_writer *json = &w->json;
    json_key(json, "tool_calls");
    json_array_begin(json);
    uar_status status = UAR_OK;
    for (size_t i = 0; i < m->part_count && status == UAR_OK; i++) {
        const uar_part *p = &m->parts[i];
        if (p->type != UAR_PART_TOOL_CALL) continue;
        if (p->call.len == 0) return error_set(w->err, UAR_E_INVALID, "a tool call has no id");
        json_object_begin(json);
        json_put_str(json, "id", p->call);
        json_put_str(json, "type", STR("function"));
        json_key(json, "function");
        json_object_begin(json);
        past_name_put(json, p->tool);
        status = arguments_put(w, json, p->arguments);
        json_object_end(json);
        json_object_end(json);
    }
    json_array_end(json);
    return status;
}

/* Messages from `from` that answer an assistant message: those of role tool up to the first other one. */
static size_t results_end(const uar_model_request *request, size_t from) {
    while (from < request->message_count && request->messages[from].role == UAR_ROLE_TOOL)
        from++;
    return from;
}

/* The `skip`-th result (from 0) of a call id. */
static const uar_part *result_find(const uar_model_request *request, size_t from, uar_str call, size_t skip) {
    for (size_t i = from, end = results_end(request, from); i < end; i++) {
        const uar_model_message *m = &request->messages[i];
        for (size_t k = 0; k < m->part_count; k++) {
            if (uar_str_equal(m->parts[k].call, call) && skip-- == 0) return &m->parts[k];
        }
    }
    return NULL;
}

/* Calls of a message with this id, before part `limit`. */
static size_t calls_with(const uar_model_message *m, uar_str call, size_t limit) {
    size_t count = 0;
    for (size_t i = 0; i < limit; i++) {
        if (m->parts[i].type == UAR_PART_TOOL_CALL && uar_str_equal(m->parts[i].call, call)) count++;
    }
    return count;
}

/* Each result must answer a call of the message before, once. */
static uar_status results_check(request_writer *w, const uar_model_message *m, size_t from) {
    const uar_model_request *request = w->request;
    for (size_t i = from, end = results_end(request, from); i < end; i++) {
        for (size_t k = 0; k < request->messages[i].part_count; k++) {
            uar_str call = request->messages[i].parts[k].call;
            size_t calls = m != NULL ? calls_with(m, call, m->part_count) : 0;
            if (calls == 0)
                return error_set(w->err, UAR_E_INVALID, "message %zu: a tool result answers no call before it", i);
            if (result_find(request, from, call, calls) != NULL)
                return error_set(w->err, UAR_E_INVALID, "message %zu: a tool call is answered twice", i);
        }
    }
    return UAR_OK;
}

static void result_put(json_writer *json, uar_str call, const uar_part *result) {
    json_object_begin(json);
    json_put_str(json, "role", STR("tool"));
    json_put_str(json, "tool_call_id", call);
    uar_str text = result != NULL ? result->text : STR("The call was interrupted; its outcome is unknown.");
    json_put_str(json, "content", text.ptr != NULL ? text : STR(""));
    json_object_end(json);
}

/* Results in call order behind the message that made the calls; none is left open. */
static void results_put(request_writer *w, const uar_model_message *m, size_t from) {
    for (size_t i = 0; i < m->part_count; i++) {
        const uar_part *p = &m->parts[i];
        if (p->type != UAR_PART_TOOL_CALL) continue;
        result_put(&w->json, p->call, result_find(w->request, from, p->call, calls_with(m, p->call, i)));
    }
}

/* ---- messages ---- */

static uar_status assistant_put(request_writer *w, const uar_model_message *m, size_t next) {
    json_writer *json = &w->json;
    bool has_text = !text_is_empty(m, UAR_PART_TEXT);
    bool has_calls = part_count(m, UAR_PART_TOOL_CALL) > 0;
    const char *key = NULL;
    uar_status status = reasoning_key(&key, w, m);
    if (status == UAR_OK) status = results_check(w, m, next);
    if (status != UAR_OK) return status;
    if (!has_text && !has_calls && key == NULL) return UAR_OK;
    json_object_begin(json);
    json_put_str(json, "role", STR("assistant"));
    if (has_text || !has_calls) {
        status = text_put(w, json, "content", m, UAR_PART_TEXT);
    } else {
        json_key(json, "content");
        json_null(json);
    }
    if (status == UAR_OK && key != NULL) status = text_put(w, json, key, m, UAR_PART_REASONING);
    if (status == UAR_OK && has_calls) status = calls_put(w, m);
    json_object_end(json);
    results_put(w, m, next);
    return status;
}

/* System and user messages: one text as a string, several as a list of parts. */
static uar_status plain_put(request_writer *w, const uar_model_message *m) {
    json_writer *json = &w->json;
    bool is_system = m->role == UAR_ROLE_SYSTEM;
    if (is_system && text_is_empty(m, UAR_PART_TEXT)) return UAR_OK;
    json_object_begin(json);
    json_put_str(json, "role", is_system ? STR("system") : STR("user"));
    uar_status status = UAR_OK;
    if (m->part_count <= 1 || is_system) {
        status = text_put(w, json, "content", m, UAR_PART_TEXT);
    } else {
        json_key(json, "content");
        json_array_begin(json);
        for (size_t i = 0; i < m->part_count; i++) {
            json_object_begin(json);
            json_put_str(json, "type", STR("text"));
            json_put_str(json, "text", m->parts[i].text.ptr != NULL ? m->parts[i].text : STR(""));
            json_object_end(json);
        }
        json_array_end(json);
    }
    json_object_end(json);
    return status;
}

static uar_status messages_put(request_writer *w) {
    const uar_model_request *request = w->request;
    json_key(&w->json, "messages");
    json_array_begin(&w->json);
    size_t i = 0;
    uar_status status = UAR_OK;
    while (i < request->message_count && status == UAR_OK) {
        const uar_model_message *m = &request->messages[i];
        for (size_t k = i, end = results_end(request, i + 1); k < end && status == UAR_OK; k++)
            status = parts_check(w, k);
        if (status != UAR_OK) return status;
        if (m->role == UAR_ROLE_ASSISTANT) {
            status = assistant_put(w, m, i + 1);
            i = results_end(request, i + 1);
        } else if (m->role == UAR_ROLE_TOOL) {
            status = results_check(w, NULL, i);
            i = results_end(request, i);
        } else {
            status = plain_put(w, m);
            i++;
        }
    }
    json_array_end(&w->json);
    return status;
}

/* ---- tools ---- */

/* Text that must be a JSON object. */
static uar_status object_check(const request_writer *w, uar_str text, const char *what) {
    cJSON *tree = NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = json_read(&tree, w->alloc, text, text.len, &fault);
    bool is_object = status == UAR_OK && cJSON_IsObject(tree);
    json_free(w->alloc, tree);
    if (status == UAR_E_NOMEM) return error_plain(w->err, UAR_E_NOMEM);
    if (status != UAR_OK) return error_set(w->err, UAR_E_INVALID, "%s: %s", what, fault.message);
    if (!is_object) return error_set(w->err, UAR_E_INVALID, "%s: not a JSON object", what);
    return UAR_OK;
}

static uar_status tool_put(request_writer *w, const uar_model_tool *tool, size_t number) {
    json_writer *json = &w->json;
    if (!is_tool_name(tool->name))
        return error_set(w->err, UAR_E_INVALID, "tool %zu: its name is not ^[a-zA-Z0-9_-]{1,64}$", number);
    uar_str schema = tool->input_schema.len > 0 ? tool->input_schema : STR("{\"type\":\"object\",\"properties\":{}}");
    uar_status status = object_check(w, schema, "the schema of a tool");
    if (status != UAR_OK) return status;
    json_object_begin(json);
    json_put_str(json, "type", STR("function"));
    json_key(json, "function");
    json_object_begin(json);
    json_put_str(json, "name", tool->name);
    if (tool->description.len > 0) json_put_str(json, "description", tool->description);
    json_put_raw(json, "parameters", schema);
    json_object_end(json);
    json_object_end(json);
    return UAR_OK;
}

static bool tool_is_offered(const uar_model_request *request, uar_str name) {
    for (size_t i = 0; i < request->tool_count; i++) {
        if (uar_str_equal(request->tools[i].name, name)) return true;
    }
    return false;
}

static uar_status choice_put(request_writer *w) {
    const uar_model_request *request = w->request;
    json_writer *json = &w->json;
    switch (request->tool_choice) {
    case UAR_TOOL_CHOICE_AUTO: return UAR_OK;
    case UAR_TOOL_CHOICE_NONE:
        if (request->tool_count > 0) json_put_str(json, "tool_choice", STR("none"));
        return UAR_OK;
    case UAR_TOOL_CHOICE_REQUIRED:
        if (request->tool_count == 0) return error_set(w->err, UAR_E_INVALID, "a tool is required but none is offered");
        json_put_str(json, "tool_choice", STR("required"));
        return UAR_OK;
    case UAR_TOOL_CHOICE_NAMED:
        if (!tool_is_offered(request, request->tool_choice_name))
            return error_set(w->err, UAR_E_INVALID, "the tool to be used is not among those offered");
        json_key(json, "tool_choice");
        json_object_begin(json);
        json_put_str(json, "type", STR("function"));
        json_key(json, "function");
        json_object_begin(json);
        json_put_str(json, "name", request->tool_choice_name);
        json_object_end(json);
        json_object_end(json);
        return UAR_OK;
    }
    return error_set(w->err, UAR_E_INVALID, "an unknown tool choice");
}

static uar_status tools_put(request_writer *w) {
    const uar_model_request *request = w->request;
    uar_status status = UAR_OK;
    if (request->tool_count > 0) {
        json_key(&w->json, "tools");
        json_array_begin(&w->json);
        for (size_t i = 0; i < request->tool_count && status == UAR_OK; i++)
            status = tool_put(w, &request->tools[i], i);
        json_array_end(&w->json);
    }
    return status == UAR_OK ? choice_put(w) : status;
}

/* ---- everything else ---- */

static uar_status schema_put(request_writer *w) {
    json_writer *json = &w->json;
    uar_str schema = w->request->response_schema;
    if (schema.len == 0) return UAR_OK;
    uar_status status = object_check(w, schema, "the schema of the answer");
    if (status != UAR_OK) return status;
    json_key(json, "response_format");
    json_object_begin(json);
    json_put_str(json, "type", STR("json_schema"));
    json_key(json, "json_schema");
    json_object_begin(json);
    json_put_str(json, "name", STR("answer"));
    json_put_raw(json, "schema", schema);
    json_object_end(json);
    json_object_end(json);
    return UAR_OK;
}

static const char *limit_key(const request_writer *w) {
    return w->options->max_completion_tokens ? "max_completion_tokens" : "max_tokens";
}

static uar_status sampling_put(request_writer *w) {
    const uar_model_request *request = w->request;
    json_writer *json = &w->json;
    if (request->temperature >= 0) {
        json_key(json, "temperature");
        json_double(json, request->temperature);
    }
    if (request->max_output_tokens > 0) json_put_uint(json, limit_key(w), request->max_output_tokens);
    if (request->stop_count > 0) {
        json_key(json, "stop");
        json_array_begin(json);
        for (size_t i = 0; i < request->stop_count; i++)
            json_str(json, request->stop[i]);
        json_array_end(json);
    }
    return schema_put(w);
}

static void stream_put(request_writer *w) {
    json_writer *json = &w->json;
    json_put_bool(json, "stream", !w->options->whole);
    if (w->options->whole || w->options->no_stream_usage) return;
    json_key(json, "stream_options");
    json_object_begin(json);
    json_put_bool(json, "include_usage", true);
    json_object_end(json);
}

/* Fields that only the codec may write, and those that this request sets already. */
static bool extra_is_taken(const request_writer *w, uar_str key) {
    static const char *const own[] = { "model", "messages",    "stream",    "stream_options", "n",
                                       "tools", "tool_choice", "functions", "function_call" };
    const uar_model_request *request = w->request;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (str_is(key, own[i])) return true;
    }
    bool is_limit = str_is(key, "max_tokens") || str_is(key, "max_completion_tokens");
    return (request->temperature >= 0 && str_is(key, "temperature")) || (request->max_output_tokens > 0 && is_limit) ||
           (request->stop_count > 0 && str_is(key, "stop")) ||
           (request->response_schema.len > 0 && str_is(key, "response_format"));
}

static uar_status extra_put(request_writer *w, const cJSON *item) {
    if (extra_is_taken(w, uar_str_of(item->string)))
        return error_set(w->err, UAR_E_INVALID, "the extras can't set %s", item->string);
    buffer value;
    buffer_init(&value, w->alloc, SIZE_MAX / 2);
    json_append_node(&value, item);
    uar_status status = value.status;
    if (status == UAR_OK) json_put_raw(&w->json, item->string, buffer_str(&value));
    buffer_dispose(&value);
    return status;
}

static uar_status extras_put(request_writer *w) {
    uar_str extras = w->request->extras;
    if (extras.len == 0) return UAR_OK;
    uar_status status = object_check(w, extras, "the extras");
    if (status != UAR_OK) return status;
    cJSON *tree = NULL;
    status = json_read(&tree, w->alloc, extras, extras.len, w->err);
    for (const cJSON *item = tree != NULL ? tree->child : NULL; item != NULL && status == UAR_OK; item = item->next)
        status = extra_put(w, item);
    json_free(w->alloc, tree);
    return status;
}

uar_status openai_request(buffer *out, const uar_model_request *request, const uar_codec_options *options,
                          uar_error *err) {
    request_writer w = { .request = request, .options = options, .alloc = out->alloc, .err = err };
    json_writer_init(&w.json, out);
    json_object_begin(&w.json);
    json_put_str(&w.json, "model", uar_str_of(options->model));
    stream_put(&w);
    uar_status status = messages_put(&w);
    if (status == UAR_OK) status = tools_put(&w);
    if (status == UAR_OK) status = sampling_put(&w);
    if (status == UAR_OK) status = extras_put(&w);
    if (status == UAR_OK) {
        json_object_end(&w.json);
        status = out->status;
    }
    if (status == UAR_E_NOMEM || status == UAR_E_TOO_LARGE) error_plain(err, status);
    return status;
}
