/*
 * uar_event_write_text: what a person at a terminal should see. The answer's text passes as it is; every other kind that
 * people need has a form below. Everything in brackets is cut short and loses its control characters, because tools,
 * models and servers have a say in it. No state.
 */
#include <assert.h>

#include "base/str.h"
#include "base/utf8.h"
#include "event/projection.h"
#include "event/shape.h"

#define SHOWN_MAX 200 /* bytes of one field */

/* `{field}` stands for a field of the kind. What follows a `|` up to the next one is left out if its field is absent. */
static const char *const forms[UAR_EVENT_KIND_COUNT] = {
    [UAR_EVENT_RUN_PAUSED] = "paused|: {reason}",
    [UAR_EVENT_RUN_RESUMED] = "resumed|: {reason}",
    [UAR_EVENT_RUN_FAILED] = "failed|: {code}|: {message}",
    [UAR_EVENT_CANCELLED] = "cancelled|: {reason}",
    [UAR_EVENT_CITATION] = "source|: {title}|: {source}",
    [UAR_EVENT_MEMORY_RECALL] = "memory: {hits} recalled",
    [UAR_EVENT_MEMORY_MUTATION] = "memory| {op}|: {outcome}",
    [UAR_EVENT_SKILL_ACTIVATED] = "skill| {skill}|: {reason}",
    [UAR_EVENT_TOOL_START] = "tool| {tool}| {arguments}",
    [UAR_EVENT_TOOL_END] = "tool| {tool}: done|: {result}",
    [UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED] = "approval needed|: {tool}| {arguments}",
    [UAR_EVENT_TOOL_CALL_APPROVED] = "approved| {call}|: {reason}",
    [UAR_EVENT_TOOL_CALL_DENIED] = "denied| {call}|: {reason}",
    [UAR_EVENT_MCP_SERVER_STATE_CHANGED] = "server| {server}| {state}|: {reason}",
    [UAR_EVENT_ARTIFACT] = "artifact| {name}| ({media_type})",
    [UAR_EVENT_ARTIFACT_INPUT_REQUEST] = "input needed|: {prompt}",
    [UAR_EVENT_CONTEXT_ACTION] = "context| {action}: {left_out} left out",
    [UAR_EVENT_ATTEMPT_SUPERSEDED] = "starting over|: {reason}",
    [UAR_EVENT_BUDGET_ALERT] = "budget| {budget}: {used} of {limit}",
    [UAR_EVENT_GUARDRAIL_FLAGGED] = "guardrail| {rule}| {action}|: {reason}",
    [UAR_EVENT_AGENT_THREAD_STARTED] = "agent| {agent} started",
    [UAR_EVENT_AGENT_THREAD_FINISHED] = "agent {thread} finished|: {state}",
    [UAR_EVENT_ERROR] = "error|: {code}|: {message}",
};
static const char failed_tool_form[] = "tool| {tool}: failed|: {code}|: {error}";

static const char *form_of(const uar_event *event) {
    if (event->kind == UAR_EVENT_TOOL_END && !event->tool_end.ok) return failed_tool_form;
    return forms[event->kind];
}

/* True for C0, DEL and C1 (two bytes in UTF-8, the second given by `next`). */
static bool is_control(unsigned char c, unsigned char next) {
    return c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next <= 0x9f);
}

static void show_text(projection *p, uar_str text) {
    size_t len = utf8_cut(text, SHOWN_MAX);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool control = is_control(c, i + 1 < len ? (unsigned char)text.ptr[i + 1] : 0);
        projection_str(p, control ? STR(" ") : uar_str_n(text.ptr + i, 1));
        if (control && c == 0xc2) i++;
    }
    if (len < text.len) projection_text(p, "…");
}

static void show_field(projection *p, field_type type, const void *at) {
    switch (type) {
    case FIELD_STR:
    case FIELD_JSON: show_text(p, *(const uar_str *)at); break;
    case FIELD_UUID: projection_uuid(p, *(const uar_uuid *)at); break;
    case FIELD_U64: projection_u64(p, *(const uint64_t *)at); break;
    case FIELD_I64: projection_i64(p, *(const int64_t *)at); break;
    case FIELD_F64: projection_f64(p, *(const double *)at); break;
    case FIELD_BOOL: projection_text(p, *(const bool *)at ? "yes" : "no"); break;
    case FIELD_HITS: projection_u64(p, ((const uar_hits *)at)->count); break;
    case FIELD_USAGE: break; /* in no form */
    }
}

static const event_field *find_field(const event_shape *shape, uar_str name) {
    for (size_t i = 0; i < shape->field_count; i++)
        if (str_is(name, shape->fields[i].name)) return &shape->fields[i];
    return NULL;
}

/* Where the next `stop` in a form begins, or its end. */
static size_t find(uar_str form, size_t from, char stop) {
    while (from < form.len && form.ptr[from] != stop)
        from++;
    return from;
}

/* One part of a form: text around one or more fields. */
static void show_part(projection *p, const event_shape *shape, const void *payload, uar_str part, bool optional) {
    for (size_t at = 0; at < part.len;) {
        size_t open = find(part, at, '{');
        size_t close = find(part, open, '}');
        const event_field *field = NULL;
        if (open < part.len) field = find_field(shape, uar_str_n(part.ptr + open + 1, close - open - 1));
        assert(open == part.len || field != NULL);
        const void *value = field != NULL ? field_at(payload, field) : NULL;
        if (optional && field != NULL && field_is_text(field) && ((const uar_str *)value)->len == 0) return;
        projection_str(p, uar_str_n(part.ptr + at, open - at));
        if (field != NULL) show_field(p, field->type, value);
        at = close < part.len ? close + 1 : part.len;
    }
}

static void show_form(projection *p, const event_shape *shape, const void *payload, uar_str form) {
    bool optional = false;
    projection_text(p, "[");
    for (size_t at = 0; at < form.len;) {
        size_t end = find(form, at, '|');
        show_part(p, shape, payload, uar_str_n(form.ptr + at, end - at), optional);
        optional = true;
        at = end + 1;
    }
    projection_text(p, "]\n");
}

uar_status uar_event_write_text(const uar_event *event, uar_write_fn write, void *ctx) {
    if (event == NULL || write == NULL) return UAR_E_INVALID;
    const event_shape *shape = event_shape_of(event->kind);
    if (shape == NULL) return UAR_E_INVALID;
    projection p;
    projection_begin(&p, write, ctx);
    const char *form = form_of(event);
    if (event->kind == UAR_EVENT_CHAT_DELTA)
        projection_str(&p, event->chat_delta.text);
    else if (form != NULL)
        show_form(&p, shape, event_payload(event), uar_str_of(form));
    return projection_end(&p);
}
