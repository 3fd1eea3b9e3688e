/*
 * Invariants: exactly one finish or fail is pushed, by codec_settle; after it nothing is. `status` is what feed goes on
 * to answer: UAR_OK while the answer goes well, else how the call ended.
 */
#include "model/codec.h"

#include <assert.h>

#include "base/error.h"
#include "base/str.h"
#include "model/json_span.h"
#include "model/openai_answer.h"
#include "model/sse.h"

enum { EVENT_MAX_DEFAULT = 16 * 1024 * 1024 };

typedef enum body_kind {
    BODY_UNKNOWN,  /* only blanks and a byte order mark so far */
    BODY_EVENTS,   /* an event stream */
    BODY_DOCUMENT, /* one JSON value */
} body_kind;

struct uar_codec {
    const uar_allocator *alloc;
    model_sink sink;
    body_kind kind;
    uint64_t taken; /* bytes seen while the kind is unknown */
    sse_reader sse;
    buffer document;
    json_span span;
    openai_answer answer;
    bool at_end;    /* no more bytes will come */
    bool has_event; /* an event was seen */
    bool has_stray; /* a line was seen that belongs to no event stream */
    bool is_settled;
    uar_status status;
};

/* ---- names and options ---- */

const char *uar_codec_format_name(uar_codec_format format) {
    switch (format) {
#define UAR_X_CASE(name, value, json) \
    case UAR_CODEC_##name: return json;
        UAR_CODEC_FORMATS(UAR_X_CASE)
#undef UAR_X_CASE
    }
    return NULL;
}

uar_status uar_codec_format_parse(uar_codec_format *out, uar_str name) {
    static const uar_codec_format formats[] = {
#define UAR_X_ITEM(name, value, json) UAR_CODEC_##name,
        UAR_CODEC_FORMATS(UAR_X_ITEM)
#undef UAR_X_ITEM
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (!str_is(name, uar_codec_format_name(formats[i]))) continue;
        *out = formats[i];
        return UAR_OK;
    }
    return UAR_E_NOT_FOUND;
}

const char *uar_codec_path(uar_codec_format format) {
    return format == UAR_CODEC_OPENAI ? "/chat/completions" : NULL;
}

uar_status codec_options_read(uar_codec_options *out, const uar_codec_options *options, uar_error *err) {
    uar_codec_options read;
    uar_codec_options_init(&read);
    if (options != NULL) {
        if (options->size < sizeof options->size) return error_set(err, UAR_E_STRUCT, "the codec options have no size");
        const unsigned char *bytes = (const unsigned char *)options;
        for (size_t i = sizeof read; i < options->size; i++) {
            if (bytes[i] != 0) return error_set(err, UAR_E_STRUCT, "the codec options hold fields of a newer version");
        }
        memcpy(&read, options, options->size < sizeof read ? options->size : sizeof read);
        read.size = sizeof read;
    }
    if (read.reasoning > UAR_REASONING_ALWAYS)
        return error_set(err, UAR_E_INVALID, "the codec options name an unknown reasoning replay");
    if (read.max_event_bytes == 0) read.max_event_bytes = EVENT_MAX_DEFAULT;
    *out = read;
    return UAR_OK;
}

const uar_allocator *codec_allocator(const uar_codec_options *options) {
    return options->allocator != NULL ? options->allocator : &alloc_default;
}

/* ---- the one end ---- */

static uar_status codec_settle(uar_codec *codec, const model_failure *failure) {
    assert(!codec->is_settled);
    codec->is_settled = true;
    codec->status = failure->status;
    /* UAR_E_STALE comes from the sink: nobody listens. */
    if (failure->status != UAR_E_STALE) codec->sink.fail(codec->sink.ctx, failure);
    return codec->status;
}

static uar_status codec_fail(uar_codec *codec, uar_status status, uar_str message) {
    model_failure failure;
    failure_set(&failure, status, message);
    return codec_settle(codec, &failure);
}

/* What a reader or a buffer ran into. */
static uar_status codec_fail_limit(uar_codec *codec, uar_status status, const char *too_large) {
    return codec_fail(codec, status, uar_str_of(status == UAR_E_TOO_LARGE ? too_large : uar_status_text(status)));
}

static uar_status codec_finish(uar_codec *codec, bool has_end_mark) {
    uar_status status = openai_answer_finish(&codec->answer, has_end_mark);
    if (status != UAR_OK) return codec_settle(codec, &codec->answer.failure);
    codec->is_settled = true;
    return UAR_OK;
}

/* ---- events ---- */

static uar_status codec_event(void *ctx, uar_str name, uar_str data) {
    uar_codec *codec = ctx;
    if (codec->is_settled) return UAR_OK;
    bool done = false;
    codec->has_event = true;
    uar_status status = openai_answer_event(&codec->answer, name, data, codec->at_end, &done);
    if (status != UAR_OK) return codec_settle(codec, &codec->answer.failure);
    return done ? codec_finish(codec, true) : UAR_OK;
}

static uar_status codec_stray(void *ctx, uar_str line) {
    uar_codec *codec = ctx;
    if (codec->is_settled) return UAR_OK;
    codec->has_stray = codec->has_stray || line.ptr[0] != ' ';
    uar_status status = openai_answer_stray(&codec->answer, line);
    return status == UAR_OK ? UAR_OK : codec_settle(codec, &codec->answer.failure);
}

/* ---- life ---- */

uar_status codec_open(uar_codec **out, uar_codec_format format, const model_sink *sink,
                      const uar_codec_options *options, uar_error *err) {
    uar_codec_options read;
    uar_status status = codec_options_read(&read, options, err);
    if (status != UAR_OK) return status;
    if (uar_codec_format_name(format) == NULL)
        return error_set(err, UAR_E_UNSUPPORTED, "there is no codec of format %d", (int)format);
    const uar_allocator *a = codec_allocator(&read);
    uar_codec *codec = ALLOC_NEW(a, uar_codec);
    if (codec == NULL) return error_plain(err, UAR_E_NOMEM);
    codec->alloc = a;
    codec->sink = *sink;
    sse_handler handler = { codec, codec_event, codec_stray };
    sse_init(&codec->sse, a, read.max_event_bytes, handler);
    buffer_init(&codec->document, a, read.max_event_bytes);
    openai_answer_init(&codec->answer, a, &codec->sink, read.max_event_bytes);
    live_add(1);
    *out = codec;
    return UAR_OK;
}

void uar_codec_free(uar_codec *codec) {
    if (codec == NULL) return;
    sse_dispose(&codec->sse);
    buffer_dispose(&codec->document);
    openai_answer_dispose(&codec->answer);
    if (codec->sink.release != NULL) codec->sink.release(codec->sink.ctx);
    alloc_free(codec->alloc, codec);
    live_add(-1);
}

/* ---- bytes ---- */

/* Bytes at the start of a body that don't tell its kind: blanks, and a byte order mark at the very start. */
static size_t head_length(const uar_codec *codec, uar_str bytes) {
    static const char mark[] = { '\xef', '\xbb', '\xbf' };
    size_t at = 0;
    for (; at < bytes.len; at++) {
        uint64_t place = codec->taken + at;
        bool is_mark = place < sizeof mark && bytes.ptr[at] == mark[place];
        if (!is_mark && memchr(" \t\r\n", bytes.ptr[at], 4) == NULL) break;
    }
    return at;
}

static uar_status events_feed(uar_codec *codec, uar_str bytes) {
    uar_status status = sse_feed(&codec->sse, bytes);
    if (status == UAR_OK || codec->is_settled) return codec->status;
    return codec_fail_limit(codec, status, "an event of the answer is larger than the limit");
}

static uar_status document_feed(uar_codec *codec, uar_str bytes) {
    buffer_append_str(&codec->document, bytes);
    json_span_push(&codec->span, bytes);
    if (codec->document.status == UAR_OK) return UAR_OK;
    return codec_fail_limit(codec, codec->document.status, "the answer is larger than the limit");
}

static uar_status kind_find(uar_codec *codec, uar_str *bytes) {
    size_t head = head_length(codec, *bytes);
    codec->taken += head;
    uar_status status = events_feed(codec, uar_str_n(bytes->ptr, head));
    *bytes = uar_str_n(bytes->ptr + head, bytes->len - head);
    if (bytes->len > 0) {
        bool is_json = bytes->ptr[0] == '{' || bytes->ptr[0] == '[';
        codec->kind = is_json ? BODY_DOCUMENT : BODY_EVENTS;
    }
    return status;
}

uar_status uar_codec_feed(uar_codec *codec, const char *data, size_t len) {
    uar_str bytes = uar_str_n(data, len);
    if (codec->is_settled || len == 0) return codec->status;
    if (codec->kind == BODY_UNKNOWN) {
        uar_status status = kind_find(codec, &bytes);
        if (status != UAR_OK || bytes.len == 0) return status;
    }
    return codec->kind == BODY_DOCUMENT ? document_feed(codec, bytes) : events_feed(codec, bytes);
}

static uar_status document_end(uar_codec *codec) {
    uar_status status = openai_answer_document(&codec->answer, buffer_str(&codec->document), codec->span.closed);
    if (status != UAR_OK) return codec_settle(codec, &codec->answer.failure);
    return codec_finish(codec, true);
}

uar_status uar_codec_end(uar_codec *codec) {
    if (codec->is_settled) return codec->status;
    codec->at_end = true;
    if (codec->kind == BODY_DOCUMENT) return document_end(codec);
    uar_status status = sse_end(&codec->sse);
    if (codec->is_settled) return codec->status;
    if (status != UAR_OK) return codec_fail_limit(codec, status, "an event of the answer is larger than the limit");
    if (codec->has_stray && !codec->has_event)
        return codec_fail(codec, UAR_E_PROTOCOL, STR("the answer is neither an event stream nor JSON"));
    return codec_finish(codec, false);
}

uar_status uar_codec_http_error(uar_codec *codec, int http, uint32_t retry_after_ms, const char *body, size_t len) {
    if (codec->is_settled) return codec->status;
    model_failure failure;
    cJSON *json = NULL;
    /* Without memory or JSON the HTTP status has to do. */
    uar_str text = uar_str_n(body, body != NULL ? len : 0);
    if (text.len == 0 || json_read_mode(&json, codec->alloc, text, text.len, JSON_PROVIDER, NULL, NULL) != UAR_OK)
        json = NULL;
    failure_from_http(&failure, http, retry_after_ms, json);
    json_free(codec->alloc, json);
    return codec_settle(codec, &failure);
}

uar_status uar_codec_transport_error(uar_codec *codec, uar_status status, const char *message) {
    if (codec->is_settled) return codec->status;
    if (codec->answer.has_finish) return codec_finish(codec, false);
    if (status == UAR_OK || status == UAR_E_STALE) status = UAR_E_NETWORK;
    return codec_fail(codec, status, uar_str_of(message != NULL ? message : uar_status_text(status)));
}
