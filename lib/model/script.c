/* Invariant: all events of a line were checked by script_line_read, so that a step can only fail in the sink. */
#include "model/script.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

/* Events of a script: X(key, enum name, reader). */
#define SCRIPT_EVENTS(X)                    \
    X("text", TEXT, text_read)              \
    X("text_base64", RAW_TEXT, base64_read) \
    X("reasoning", REASONING, text_read)    \
    X("tool_call", TOOL_CALL, call_read)    \
    X("usage", USAGE, usage_read)           \
    X("finish", FINISH, finish_read)        \
    X("error", FAILURE, error_read)         \
    X("sleep_ms", SLEEP, sleep_read)

typedef enum event_kind {
#define X_ENUM(key, name, reader) EVENT_##name,
    SCRIPT_EVENTS(X_ENUM)
#undef X_ENUM
} event_kind;

typedef struct script_event {
    event_kind kind;
    uar_str text;    /* texts; of a call: its arguments */
    uint32_t number; /* index of a call, milliseconds of a sleep */
    uar_str id, name;
    uar_usage usage;
    uar_finish finish;
    model_failure failure;
} script_event;

struct uar_script {
    const uar_allocator *alloc;
    arena memory;
    size_t number;
    script_event *events;
    size_t count;
    size_t at;
    bool is_over;
};

typedef struct event_reader {
    script_line *line;
    size_t number; /* of the event, from 1 */
    uar_error *err;
} event_reader;

static uar_status event_fault(const event_reader *r, const char *what, const char *key) {
    return error_set(r->err, UAR_E_INVALID, "line %zu: event %zu: %s%s", r->line->number, r->number, what, key);
}

static uar_status text_keep(uar_str *out, const event_reader *r, uar_str text) {
    *out = arena_str(&r->line->memory, text);
    return out->ptr == NULL && text.ptr != NULL ? error_plain(r->err, UAR_E_NOMEM) : UAR_OK;
}

/* Every key of an object must be in the NULL-terminated list. */
static uar_status keys_check(const event_reader *r, const cJSON *object, const char *const *keys) {
    if (!cJSON_IsObject(object)) return event_fault(r, "its value must be an object", "");
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        const char *const *key = keys;
        while (*key != NULL && strcmp(*key, item->string) != 0)
            key++;
        if (*key == NULL) return event_fault(r, "unknown key ", item->string);
    }
    return UAR_OK;
}

/* A text member that may be missing. */
static uar_status member_text(uar_str *out, const event_reader *r, const cJSON *object, const char *key) {
    const cJSON *value = json_member(object, key);
    if (value != NULL && !cJSON_IsString(value)) return event_fault(r, "not a text: ", key);
    return text_keep(out, r, json_node_text(value));
}

/* A count that may be missing. */
static uar_status member_count(uint64_t *out, const event_reader *r, const cJSON *object, const char *key,
                               uint64_t max) {
    const cJSON *value = json_member(object, key);
    if (value == NULL) return UAR_OK;
    uint64_t number = 0;
    if (!json_node_u64(value, &number) || number > max) return event_fault(r, "not a count in range: ", key);
    *out = number;
    return UAR_OK;
}

/* ---- readers of one event each ---- */

static uar_status text_read(script_event *out, const event_reader *r, const cJSON *value) {
    if (!cJSON_IsString(value)) return event_fault(r, "its value must be a text", "");
    return text_keep(&out->text, r, json_node_text(value));
}

/* 0-63, or 64 for a byte that is no digit. */
static unsigned base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z') return (unsigned)(c - 'a') + 26;
    if (c >= '0' && c <= '9') return (unsigned)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/* Padded base64 of RFC 4648; `out` holds 3/4 of the text. False: not base64. */
static bool base64_decode(char *out, size_t *len, uar_str text) {
    size_t digits = text.len;
    while (digits > 0 && text.len - digits < 2 && text.ptr[digits - 1] == '=')
        digits--;
    if (text.len % 4 != 0) return false;
    uint32_t bits = 0;
    size_t n = 0;
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = base64_digit(text.ptr[i]);
        if (digit > 63) return false;
        bits = bits << 6 | digit;
        if (i % 4 != 0) out[n++] = (char)(unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    *len = n;
    return true;
}

static uar_status base64_read(script_event *out, const event_reader *r, const cJSON *value) {
    if (!cJSON_IsString(value)) return event_fault(r, "its value must be a text", "");
    uar_str text = json_node_text(value);
    char *bytes = arena_alloc(&r->line->memory, text.len + 1);
    if (bytes == NULL) return error_plain(r->err, UAR_E_NOMEM);
    size_t len = 0;
    if (!base64_decode(bytes, &len, text)) return event_fault(r, "its value is not base64", "");
    out->text = uar_str_n(bytes, len);
    return UAR_OK;
}

static uar_status call_read(script_event *out, const event_reader *r, const cJSON *value) {
    static const char *const keys[] = { "index", "id", "name", "args_delta", NULL };
    uint64_t index = 0;
    uar_status status = keys_check(r, value, keys);
    if (status == UAR_OK) status = member_count(&index, r, value, "index", UINT32_MAX);
    if (status == UAR_OK) status = member_text(&out->id, r, value, "id");
    if (status == UAR_OK) status = member_text(&out->name, r, value, "name");
    if (status == UAR_OK) status = member_text(&out->text, r, value, "args_delta");
    out->number = (uint32_t)index;
    return status;
}

static uar_status usage_read(script_event *out, const event_reader *r, const cJSON *value) {
    static const char *const keys[] = { "input", "cache_read", "cache_write", "output", "reasoning", NULL };
    uint64_t *const figures[] = { &out->usage.input, &out->usage.cache_read, &out->usage.cache_write,
                                  &out->usage.output, &out->usage.reasoning };
    uar_status status = keys_check(r, value, keys);
    for (size_t i = 0; keys[i] != NULL && status == UAR_OK; i++)
        status = member_count(figures[i], r, value, keys[i], UINT64_MAX);
    out->usage.known = true;
    return status;
}

static uar_status finish_read(script_event *out, const event_reader *r, const cJSON *value) {
    static const char *const words[] = {
#define X_WORD(name, json) json,
        UAR_FINISHES(X_WORD)
#undef X_WORD
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!str_is(json_node_text(value), words[i])) continue;
        out->finish = (uar_finish)i;
        return UAR_OK;
    }
    return event_fault(r, "finish must be stop, tool_calls, length or content_filter", "");
}

/* The status that a code names; UAR_OK if it names none. */
static uar_status status_of_name(uar_str code) {
    static const uar_status statuses[] = {
#define X_STATUS(name, value, band, text) UAR_##name,
        UAR_STATUSES(X_STATUS)
#undef X_STATUS
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (str_is(code, uar_status_name(statuses[i]))) return statuses[i];
    }
    return UAR_OK;
}

static uar_status error_read(script_event *out, const event_reader *r, const cJSON *value) {
    static const char *const keys[] = { "code", "message", "retryable", "retry_after_ms", NULL };
    uar_str code = { NULL, 0 }, message = { NULL, 0 };
    uint64_t after = 0;
    uar_status status = keys_check(r, value, keys);
    if (status == UAR_OK) status = member_text(&code, r, value, "code");
    if (status == UAR_OK) status = member_text(&message, r, value, "message");
    if (status == UAR_OK) status = member_count(&after, r, value, "retry_after_ms", UINT32_MAX);
    const cJSON *flag = json_member(value, "retryable");
    if (status == UAR_OK && flag != NULL && !cJSON_IsBool(flag))
        status = event_fault(r, "not true or false: ", "retryable");
    if (status != UAR_OK) return status;
    bool retryable = cJSON_IsTrue(flag);
    uar_status named = status_of_name(code);
    if (named == UAR_OK) named = retryable ? UAR_E_MODEL_BUSY : UAR_E_MODEL;
    failure_set(&out->failure, named, message);
    failure_code(&out->failure, code);
    if (flag != NULL) out->failure.retryable = retryable;
    out->failure.retry_after_ms = (uint32_t)after;
    return UAR_OK;
}

static uar_status sleep_read(script_event *out, const event_reader *r, const cJSON *value) {
    uint64_t ms = 0;
    if (!json_node_u64(value, &ms) || ms > UINT32_MAX - 1) return event_fault(r, "not a count in range: ", "sleep_ms");
    out->number = (uint32_t)ms;
    return UAR_OK;
}

/* ---- a line ---- */

typedef struct event_type {
    const char *key;
    event_kind kind;
    uar_status (*read)(script_event *out, const event_reader *r, const cJSON *value);
} event_type;

static const event_type event_types[] = {
#define X_TYPE(key, name, reader) { key, EVENT_##name, reader },
    SCRIPT_EVENTS(X_TYPE)
#undef X_TYPE
};

static uar_status event_read(script_event *out, const event_reader *r, const cJSON *node) {
    if (!cJSON_IsObject(node) || node->child == NULL || node->child->next != NULL)
        return event_fault(r, "it must be an object with one key", "");
    const cJSON *value = node->child;
    for (size_t i = 0; i < sizeof event_types / sizeof event_types[0]; i++) {
        if (strcmp(value->string, event_types[i].key) != 0) continue;
        out->kind = event_types[i].kind;
        return event_types[i].read(out, r, value);
    }
    return event_fault(r, "unknown key ", value->string);
}

static uar_status events_read(script_line *line, const cJSON *json, uar_error *err) {
    const cJSON *list = json_member(json, "events");
    if (!cJSON_IsArray(list))
        return error_set(err, UAR_E_INVALID, "line %zu: it must be an object with a list \"events\"", line->number);
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        if (strcmp(item->string, "events") != 0)
            return error_set(err, UAR_E_INVALID, "line %zu: unknown key %s", line->number, item->string);
    }
    size_t count = 0;
    for (const cJSON *item = list->child; item != NULL; item = item->next)
        count++;
    line->events = arena_zeroed(&line->memory, count + 1, sizeof *line->events);
    if (line->events == NULL) return error_plain(err, UAR_E_NOMEM);
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        event_reader reader = { line, line->count + 1, err };
        uar_status status = event_read(&line->events[line->count], &reader, item);
        if (status != UAR_OK) return status;
        line->count++;
    }
    return UAR_OK;
}

uar_status script_line_read(script_line **out, const uar_allocator *a, uar_str text, size_t number, uar_error *err) {
    cJSON *json = NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = json_read(&json, a, text, text.len, &fault);
    if (status != UAR_OK) return error_set(err, status, "line %zu: %s", number, fault.message);
    script_line *line = ALLOC_NEW(a, script_line);
    if (line == NULL) {
        json_free(a, json);
        return error_plain(err, UAR_E_NOMEM);
    }
    live_add(1);
    line->alloc = a;
    line->number = number;
    arena_init(&line->memory, a);
    status = events_read(line, json, err);
    json_free(a, json);
    if (status != UAR_OK) {
        script_line_free(line);
        return status;
    }
    *out = line;
    return UAR_OK;
}

void script_line_free(script_line *line) {
    if (line == NULL) return;
    arena_dispose(&line->memory);
    alloc_free(line->alloc, line);
    live_add(-1);
}

/* ---- steps ---- */

static uar_status cut_push(script_line *line, const model_sink *sink) {
    model_failure failure;
    char message[80];
    snprintf(message, sizeof message, "line %zu of the script ends without finish or error", line->number);
    failure_set(&failure, UAR_E_MODEL_CUT, uar_str_of(message));
    return sink->fail(sink->ctx, &failure);
}

static uar_status finish_push(script_line *line, const script_event *event, const model_sink *sink) {
    uar_status status = UAR_OK;
    for (size_t i = line->at; i < line->count && status == UAR_OK; i++) {
        if (line->events[i].kind == EVENT_USAGE) status = sink->usage(sink->ctx, &line->events[i].usage);
    }
    return status == UAR_OK ? sink->finish(sink->ctx, event->finish) : status;
}

static uar_status event_push(script_line *line, const script_event *event, const model_sink *sink) {
    switch (event->kind) {
    case EVENT_TEXT:
    case EVENT_RAW_TEXT: return sink->text(sink->ctx, event->text);
    case EVENT_REASONING: return sink->reasoning(sink->ctx, event->text);
    case EVENT_TOOL_CALL: return sink->tool_call(sink->ctx, event->number, event->id, event->name, event->text);
    case EVENT_USAGE: return sink->usage(sink->ctx, &event->usage);
    case EVENT_FINISH: return finish_push(line, event, sink);
    case EVENT_FAILURE: return sink->fail(sink->ctx, &event->failure);
    case EVENT_SLEEP: return UAR_OK;
    }
    return UAR_E_INTERNAL;
}

uar_status script_line_next(script_step *step, uint32_t *wait_ms, script_line *line, const model_sink *sink) {
    if (line->is_over) {
        *step = SCRIPT_END;
        return UAR_OK;
    }
    if (line->at == line->count) {
        line->is_over = true;
        *step = SCRIPT_END;
        return cut_push(line, sink);
    }
    const script_event *event = &line->events[line->at++];
    uar_status status = event_push(line, event, sink);
    bool is_end = event->kind == EVENT_FINISH || event->kind == EVENT_FAILURE;
    line->is_over = is_end || status != UAR_OK;
    *step = line->is_over ? SCRIPT_END : event->kind == EVENT_SLEEP ? SCRIPT_WAIT : SCRIPT_PUSHED;
    if (*step == SCRIPT_WAIT) *wait_ms = event->number;
    return status;
}

static bool line_is_blank(uar_str line) {
    for (size_t i = 0; i < line.len; i++) {
        if (memchr(" \t\r", line.ptr[i], 3) == NULL) return false;
    }
    return true;
}

bool script_find(uar_str *line, size_t *number, uar_str script) {
    size_t at = 1;
    while (script.len > 0) {
        const char *end = memchr(script.ptr, '\n', script.len);
        size_t len = end != NULL ? (size_t)(end - script.ptr) : script.len;
        uar_str text = uar_str_n(script.ptr, len);
        if (at >= *number && !line_is_blank(text)) {
            *line = text;
            *number = at;
            return true;
        }
        at++;
        size_t skip = end != NULL ? len + 1 : len;
        script = uar_str_n(script.ptr + skip, script.len - skip);
    }
    return false;
}
