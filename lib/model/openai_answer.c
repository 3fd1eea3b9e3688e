/*
 * Reading of Chat Completions. Invariants: usage figures are never added up; only choice 0 is heard; an answer with calls
 * never finishes as `stop`, one cut by the token limit always finishes as `length`.
 */
#include "model/openai_answer.h"

#include <stdio.h>

#include "base/str.h"
#include "base/utf8.h"
#include "model/raw_bytes.h"

void openai_answer_init(openai_answer *answer, const uar_allocator *a, const model_sink *sink, size_t max) {
    memset(answer, 0, sizeof *answer);
    answer->alloc = a;
    answer->sink = sink;
    answer->max = max;
    call_table_init(&answer->calls, a, max);
    /* Escapes of raw bytes are six times as long. */
    buffer_init(&answer->scratch, a, max <= SIZE_MAX / 8 ? max * 6 : max);
}

void openai_answer_dispose(openai_answer *answer) {
    call_table_dispose(&answer->calls);
    buffer_dispose(&answer->scratch);
}

static uar_status answer_fail(openai_answer *answer, uar_status status, uar_str message) {
    failure_set(&answer->failure, status, message);
    return status;
}

static uar_status answer_fail_json(openai_answer *answer, const cJSON *error) {
    failure_from_json(&answer->failure, error);
    return answer->failure.status;
}

/* A status of the sink, of a buffer or of the allocator. */
static uar_status answer_check(openai_answer *answer, uar_status status) {
    if (status == UAR_OK) return UAR_OK;
    return answer_fail(answer, status, uar_str_of(uar_status_text(status)));
}

/* ---- text ---- */

/* Undo raw_bytes_escape; the result lives until the next call. */
static uar_status text_restore(uar_str *out, openai_answer *answer, uar_str text) {
    *out = text;
    if (!answer->has_raw_bytes || text.len == 0) return UAR_OK;
    buffer_reset(&answer->scratch);
    raw_bytes_restore(&answer->scratch, text);
    *out = buffer_str(&answer->scratch);
    return answer->scratch.status;
}

static uar_status text_push(openai_answer *answer, uar_status (*push)(void *, uar_str), uar_str text) {
    if (str_is_empty(text)) return UAR_OK;
    uar_str whole;
    uar_status status = text_restore(&whole, answer, text);
    if (status == UAR_OK) status = push(answer->sink->ctx, whole);
    return answer_check(answer, status);
}

static uar_status reasoning_push(openai_answer *answer, const char *key, uar_str text) {
    if (str_is_empty(text)) return UAR_OK;
    if (answer->reasoning_key == NULL) answer->reasoning_key = key;
    return text_push(answer, answer->sink->reasoning, text);
}

/* Content as a list: {"type":"text","text"} and {"type":"thinking","thinking":[texts]}. */
static uar_status content_list(openai_answer *answer, const cJSON *list) {
    uar_status status = UAR_OK;
    for (const cJSON *item = list->child; item != NULL && status == UAR_OK; item = item->next) {
        const cJSON *thinking = json_member(item, "thinking");
        if (cJSON_IsString(thinking)) status = reasoning_push(answer, "reasoning_content", json_node_text(thinking));
        for (const cJSON *t = cJSON_IsArray(thinking) ? thinking->child : NULL; t != NULL && status == UAR_OK;
             t = t->next)
            status = reasoning_push(answer, "reasoning_content", json_text(t, "text"));
        if (thinking == NULL) status = text_push(answer, answer->sink->text, json_text(item, "text"));
    }
    return status;
}

static uar_status content_take(openai_answer *answer, const cJSON *content) {
    if (cJSON_IsArray(content)) return content_list(answer, content);
    return text_push(answer, answer->sink->text, json_node_text(content));
}

/* Vendors name it differently and some send it under two names at once: the first one found counts. */
static uar_status reasoning_take(openai_answer *answer, const cJSON *delta) {
    static const char *const keys[] = { "reasoning_content", "reasoning" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uar_str text = json_text(delta, keys[i]);
        if (!str_is_empty(text)) return reasoning_push(answer, keys[i], text);
    }
    return UAR_OK;
}

/* ---- tool calls ---- */

static uar_status call_push(openai_answer *answer, const call_delta *delta) {
    call_piece piece;
    uar_status status = call_table_take(&piece, &answer->calls, delta);
    bool is_news = !str_is_empty(piece.id) || !str_is_empty(piece.name) || !str_is_empty(piece.arguments);
    if (status == UAR_OK && is_news) {
        uar_str arguments;
        status = text_restore(&arguments, answer, piece.arguments);
        if (status == UAR_OK)
            status = answer->sink->tool_call(answer->sink->ctx, piece.index, piece.id, piece.name, arguments);
    }
    return answer_check(answer, status);
}

/* Arguments are a text; some servers send the object itself. */
static uar_status call_take(openai_answer *answer, call_delta *delta, const cJSON *function) {
    const cJSON *arguments = json_member(function, "arguments");
    delta->name = json_text(function, "name");
    if (!cJSON_IsObject(arguments)) {
        delta->arguments = json_node_text(arguments);
        return call_push(answer, delta);
    }
    buffer text;
    buffer_init(&text, answer->alloc, answer->max);
    json_append_node(&text, arguments);
    delta->arguments = buffer_str(&text);
    uar_status status = text.status == UAR_OK ? call_push(answer, delta) : answer_check(answer, text.status);
    buffer_dispose(&text);
    return status;
}

static uar_status calls_take(openai_answer *answer, const cJSON *message, bool whole) {
    uar_status status = UAR_OK;
    const cJSON *calls = json_member(message, "tool_calls");
    for (const cJSON *c = cJSON_IsArray(calls) ? calls->child : NULL; c != NULL && status == UAR_OK; c = c->next) {
        call_delta delta;
        memset(&delta, 0, sizeof delta);
        delta.whole = whole;
        delta.id = json_text(c, "id");
        delta.has_index = json_u64(c, "index", &delta.index);
        status = call_take(answer, &delta, json_member(c, "function"));
    }
    const cJSON *old_call = json_member(message, "function_call");
    if (status == UAR_OK && cJSON_IsObject(old_call)) {
        call_delta delta;
        memset(&delta, 0, sizeof delta);
        status = call_take(answer, &delta, old_call);
    }
    return status;
}

/* ---- usage ---- */

/* Figures above this are no counts of tokens; below it sums can't overflow. */
#define FIGURE_MAX (UINT64_C(1) << 53)

static void figure_take(uint64_t *figure, const cJSON *object, const char *key) {
    uint64_t value = 0;
    if (json_u64(object, key, &value) && value <= FIGURE_MAX && value > *figure) *figure = value;
}

/* Exclusive buckets. The prompt includes what came from or went to the cache, unless it is too small for that; the
 * completion includes reasoning, unless it is too small for that or the provider's total says otherwise. */
static uar_usage usage_buckets(const openai_usage *u) {
    uint64_t cache = u->cached + u->cache_write;
    bool is_beside =
        u->reasoning > u->completion || (u->reasoning > 0 && u->total == u->prompt + u->completion + u->reasoning);
    uar_usage usage = {
        .input = cache <= u->prompt ? u->prompt - cache : u->prompt,
        .cache_read = u->cached,
        .cache_write = u->cache_write,
        .output = is_beside ? u->completion + u->reasoning : u->completion,
        .reasoning = u->reasoning,
        .known = true,
    };
    return usage;
}

static uar_status usage_take(openai_answer *answer, const cJSON *json) {
    if (!cJSON_IsObject(json)) return UAR_OK;
    openai_usage *u = &answer->usage;
    const cJSON *in = json_member(json, "prompt_tokens_details");
    const cJSON *out = json_member(json, "completion_tokens_details");
    figure_take(&u->prompt, json, "prompt_tokens");
    figure_take(&u->completion, json, "completion_tokens");
    figure_take(&u->total, json, "total_tokens");
    figure_take(&u->cached, in, "cached_tokens");
    figure_take(&u->cached, json, "prompt_cache_hit_tokens");
    figure_take(&u->cached, json, "cached_tokens");
    figure_take(&u->cache_write, in, "cache_write_tokens");
    figure_take(&u->reasoning, out, "reasoning_tokens");
    u->known = true;
    uar_usage usage = usage_buckets(u);
    return answer_check(answer, answer->sink->usage(answer->sink->ctx, &usage));
}

/* ---- choices ---- */

typedef struct finish_word {
    const char *word;
    uar_finish finish;
} finish_word;

static const finish_word finish_words[] = {
    { "stop", UAR_FINISH_STOP },
    { "tool_calls", UAR_FINISH_TOOL_CALLS },
    { "function_call", UAR_FINISH_TOOL_CALLS },
    { "length", UAR_FINISH_LENGTH },
    { "max_tokens", UAR_FINISH_LENGTH },
    { "content_filter", UAR_FINISH_CONTENT_FILTER },
};

/* A word that nobody knows is an ordinary end. */
static uar_finish finish_of(uar_str word) {
    for (size_t i = 0; i < sizeof finish_words / sizeof finish_words[0]; i++) {
        if (str_is(word, finish_words[i].word)) return finish_words[i].finish;
    }
    return UAR_FINISH_STOP;
}

/* The reason may come several times; a cut or a filter isn't taken back by a later word. */
static uar_status finish_take(openai_answer *answer, uar_str word) {
    if (str_is_empty(word)) return UAR_OK;
    if (str_is(word, "error"))
        return answer_fail(answer, UAR_E_UNAVAILABLE, STR("the provider ended the answer with an error"));
    uar_finish finish = finish_of(word);
    bool is_final = answer->finish == UAR_FINISH_LENGTH || answer->finish == UAR_FINISH_CONTENT_FILTER;
    if (!answer->has_finish || !is_final) answer->finish = finish;
    answer->has_finish = true;
    return UAR_OK;
}

static uar_status choice_take(openai_answer *answer, const cJSON *choice) {
    uint64_t index = 0;
    if (json_u64(choice, "index", &index) && index != 0) return UAR_OK;
    const cJSON *delta = json_member(choice, "delta");
    bool whole = !cJSON_IsObject(delta);
    if (whole) delta = json_member(choice, "message");
    answer->has_choice = true;
    call_table_chunk(&answer->calls);
    uar_status status = reasoning_take(answer, delta);
    if (status == UAR_OK) status = content_take(answer, json_member(delta, "content"));
    if (status == UAR_OK) status = text_push(answer, answer->sink->text, json_text(delta, "refusal"));
    if (status == UAR_OK) status = calls_take(answer, delta, whole);
    if (status == UAR_OK) status = finish_take(answer, json_text(choice, "finish_reason"));
    return status;
}

static uar_status chunk_take(openai_answer *answer, const cJSON *json) {
    const cJSON *error = failure_find(json);
    if (error != NULL) return answer_fail_json(answer, error);
    const cJSON *choices = json_member(json, "choices");
    uar_status status = UAR_OK;
    for (const cJSON *c = cJSON_IsArray(choices) ? choices->child : NULL; c != NULL && status == UAR_OK; c = c->next)
        status = choice_take(answer, c);
    return status == UAR_OK ? usage_take(answer, json_member(json, "usage")) : status;
}

/* ---- events ---- */

/* Provider JSON, also with bytes that aren't UTF-8. */
static uar_status wire_read(cJSON **out, openai_answer *answer, uar_str text, uar_error *err) {
    answer->has_raw_bytes = !utf8_is_valid(text);
    if (!answer->has_raw_bytes) return json_read_mode(out, answer->alloc, text, answer->max, JSON_PROVIDER, NULL, err);
    buffer escaped;
    buffer_init(&escaped, answer->alloc, answer->scratch.max);
    raw_bytes_escape(&escaped, text);
    uar_status status = escaped.status;
    if (status == UAR_OK)
        status = json_read_mode(out, answer->alloc, buffer_str(&escaped), escaped.max, JSON_PROVIDER, NULL, err);
    buffer_dispose(&escaped);
    return status;
}

static uar_status wire_fail(openai_answer *answer, uar_status status, bool is_cut, const uar_error *err) {
    if (status != UAR_E_JSON) return answer_check(answer, status);
    if (is_cut) return answer_fail(answer, UAR_E_MODEL_CUT, STR("the answer ended inside its JSON"));
    return answer_fail(answer, UAR_E_PROTOCOL, uar_str_of(err->message));
}

static uar_str blank_trim(uar_str text) {
    while (text.len > 0 && memchr(" \t\r\n", text.ptr[text.len - 1], 4) != NULL)
        text.len--;
    while (text.len > 0 && memchr(" \t\r\n", text.ptr[0], 4) != NULL)
        text = uar_str_n(text.ptr + 1, text.len - 1);
    return text;
}

uar_status openai_answer_event(openai_answer *answer, uar_str name, uar_str data, bool tail, bool *done) {
    data = blank_trim(data);
    if (str_is_empty(data)) return UAR_OK;
    if (str_is(data, "[DONE]")) {
        *done = true;
        return UAR_OK;
    }
    cJSON *json = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = wire_read(&json, answer, data, &err);
    if (status == UAR_E_JSON && tail) return UAR_OK; /* never whole: openai_answer_finish decides */
    if (status != UAR_OK) return wire_fail(answer, status, false, &err);
    bool is_error = str_is(name, "error") && failure_find(json) == NULL;
    status = is_error ? answer_fail_json(answer, json) : chunk_take(answer, json);
    json_free(answer->alloc, json);
    return status;
}

uar_status openai_answer_stray(openai_answer *answer, uar_str line) {
    if (line.len == 0 || line.ptr[0] != '{') return UAR_OK;
    cJSON *json = NULL;
    uar_status status = wire_read(&json, answer, line, NULL);
    if (status == UAR_E_JSON) return UAR_OK;
    if (status != UAR_OK) return answer_check(answer, status);
    const cJSON *error = failure_find(json);
    status = error != NULL ? answer_fail_json(answer, error) : UAR_OK;
    json_free(answer->alloc, json);
    return status;
}

uar_status openai_answer_document(openai_answer *answer, uar_str text, bool is_closed) {
    cJSON *json = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = wire_read(&json, answer, text, &err);
    if (status != UAR_OK) return wire_fail(answer, status, !is_closed, &err);
    status = chunk_take(answer, json);
    json_free(answer->alloc, json);
    if (status == UAR_OK && !answer->has_choice)
        status = answer_fail(answer, UAR_E_PROTOCOL, STR("the answer holds no choice"));
    return status;
}

/* Where the reasoning came from goes along as opaque data, so that it can go back under the same name. */
static uar_status origin_push(openai_answer *answer) {
    if (answer->reasoning_key == NULL) return UAR_OK;
    char text[64];
    int len = snprintf(text, sizeof text, "{\"openai\":\"%s\"}", answer->reasoning_key);
    return answer_check(answer, answer->sink->opaque(answer->sink->ctx, uar_str_n(text, (size_t)len)));
}

uar_status openai_answer_finish(openai_answer *answer, bool has_end_mark) {
    if (!answer->has_finish && !has_end_mark)
        return answer_fail(answer, UAR_E_MODEL_CUT, STR("the answer ended without an end mark or a finish reason"));
    if (!answer->has_choice) return answer_fail(answer, UAR_E_PROTOCOL, STR("the answer holds no choice"));
    uar_finish finish = answer->has_finish ? answer->finish : UAR_FINISH_STOP;
    bool has_calls = answer->calls.count > 0;
    if (finish == UAR_FINISH_STOP && has_calls) finish = UAR_FINISH_TOOL_CALLS;
    if (finish == UAR_FINISH_TOOL_CALLS && !has_calls) finish = UAR_FINISH_STOP;
    uar_status status = origin_push(answer);
    return status == UAR_OK ? answer_check(answer, answer->sink->finish(answer->sink->ctx, finish)) : status;
}
