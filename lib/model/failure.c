/*
 * Sorting of provider errors. Invariant: only what may pass by itself is retryable; a refused key, a wrong request and a
 * used-up quota never are.
 */
#include "model/failure.h"

#include <assert.h>

#include "base/str.h"
#include "base/utf8.h"

typedef struct error_word {
    const char *word; /* the provider's `code` or `type` */
    uar_status status;
} error_word;

/* Asked in this order; the first match counts. */
static const error_word error_words[] = {
    { "insufficient_quota", UAR_E_MODEL },
    { "billing_hard_limit_reached", UAR_E_MODEL },
    { "invalid_api_key", UAR_E_FORBIDDEN },
    { "authentication_error", UAR_E_FORBIDDEN },
    { "permission_error", UAR_E_FORBIDDEN },
    { "rate_limit_exceeded", UAR_E_MODEL_BUSY },
    { "rate_limit_error", UAR_E_MODEL_BUSY },
    { "rate_limit", UAR_E_MODEL_BUSY },
    { "overloaded_error", UAR_E_MODEL_BUSY },
    { "overloaded", UAR_E_MODEL_BUSY },
    { "engine_overloaded", UAR_E_MODEL_BUSY },
    { "service_unavailable", UAR_E_MODEL_BUSY },
    { "server_error", UAR_E_UNAVAILABLE },
    { "internal_error", UAR_E_UNAVAILABLE },
    { "internal_server_error", UAR_E_UNAVAILABLE },
    { "api_error", UAR_E_UNAVAILABLE },
    { "timeout", UAR_E_TIMEOUT },
    { "timeout_error", UAR_E_TIMEOUT },
};

/* Copy as much as fits: valid UTF-8, controls as blanks, broken bytes as '?'. */
static void line_copy(char *out, size_t cap, uar_str text) {
    size_t len = 0;
    while (text.len > 0 && len + 1 < cap) {
        size_t good = utf8_cut(uar_str_n(text.ptr, utf8_fault(text)), cap - 1 - len);
        if (good == 0 && utf8_fault(text) > 0) break; /* the next character doesn't fit */
        memcpy(out + len, text.ptr, good);
        len += good;
        text = uar_str_n(text.ptr + good, text.len - good);
        if (text.len > 0 && utf8_fault(text) == 0 && len + 1 < cap) {
            out[len++] = '?';
            text = uar_str_n(text.ptr + 1, text.len - 1);
        }
    }
    out[len] = '\0';
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f) out[i] = ' ';
    }
}

void failure_code(model_failure *out, uar_str code) {
    line_copy(out->code, sizeof out->code, code);
}

void failure_message(model_failure *out, uar_str message) {
    line_copy(out->message, sizeof out->message, message);
}

static void failure_status(model_failure *out, uar_status status) {
    out->status = status;
    out->retryable = uar_status_band(status) == UAR_BAND_RETRY;
}

void failure_set(model_failure *out, uar_status status, uar_str message) {
    assert(status != UAR_OK);
    memset(out, 0, sizeof *out);
    failure_status(out, status);
    failure_message(out, message);
}

const cJSON *failure_find(const cJSON *json) {
    if (cJSON_IsArray(json)) json = json->child;
    const cJSON *error = json_member(json, "error");
    return error == NULL || cJSON_IsNull(error) ? NULL : error;
}

static uar_status status_of_http(int status) {
    if (status == 429 || status == 503 || status == 529) return UAR_E_MODEL_BUSY;
    if (status == 408 || status == 504) return UAR_E_TIMEOUT;
    if (status >= 500 && status <= 599) return UAR_E_UNAVAILABLE;
    if (status == 401 || status == 403) return UAR_E_FORBIDDEN;
    if (status >= 400 && status <= 499) return UAR_E_MODEL;
    return UAR_E_PROTOCOL;
}

/* UAR_OK: the word says nothing. */
static uar_status status_of_word(uar_str word) {
    for (size_t i = 0; i < sizeof error_words / sizeof error_words[0]; i++) {
        if (str_is(word, error_words[i].word)) return error_words[i].status;
    }
    return UAR_OK;
}

/* Code and message of a provider's error; numbers as code are kept as text. */
static void failure_describe(model_failure *out, const cJSON *error) {
    uar_str message = cJSON_IsString(error) ? json_node_text(error) : json_text(error, "message");
    const cJSON *code = json_member(error, "code");
    uar_str word = cJSON_IsNumber(code) ? uar_str_of(code->valuestring) : json_node_text(code);
    if (str_is_empty(word)) word = json_text(error, "type");
    failure_code(out, word);
    if (!str_is_empty(message)) failure_message(out, message);
}

/* What the words of an error say about its status; UAR_OK: nothing. */
static uar_status status_of_error(const cJSON *error) {
    uint64_t number = 0;
    if (json_u64(error, "code", &number) && number >= 400 && number <= 599) return status_of_http((int)number);
    uar_status status = status_of_word(json_text(error, "code"));
    return status != UAR_OK ? status : status_of_word(json_text(error, "type"));
}

void failure_from_json(model_failure *out, const cJSON *error) {
    uar_status status = status_of_error(error);
    failure_set(out, status != UAR_OK ? status : UAR_E_MODEL, STR("the provider sent an error without a message"));
    failure_describe(out, error);
}

/* "HTTP 502". Statuses have three digits; others are shown as 0. */
static void http_line(char out[9], int status) {
    int shown = status >= 100 && status <= 999 ? status : 0;
    memcpy(out, "HTTP 000", 9);
    out[5] = (char)('0' + shown / 100);
    out[6] = (char)('0' + shown / 10 % 10);
    out[7] = (char)('0' + shown % 10);
}

void failure_from_http(model_failure *out, int status, uint32_t retry_after_ms, const cJSON *body) {
    char line[9];
    http_line(line, status);
    failure_set(out, status_of_http(status), uar_str_of(line));
    out->retry_after_ms = retry_after_ms;
    const cJSON *error = failure_find(body);
    if (error == NULL && cJSON_IsObject(body)) error = body;
    if (error == NULL) return;
    failure_describe(out, error);
    if (status == 429 && status_of_error(error) == UAR_E_MODEL) failure_status(out, UAR_E_MODEL);
}
