/*
 * Any bytes as the answer of an OpenAI service. What must hold: the call ends exactly once, and what is pushed doesn't
 * depend on where the bytes were cut.
 */
#include <uar/model.h>

#include "base/buffer.h"
#include "fuzz/property.h"
#include "model/codec.h"

enum { EVENT_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct record {
    buffer log;
    char last; /* kind of the newest entry: neighbours of one kind are joined */
    size_t ends;
} record;

static void note(record *r, char kind, uar_str text, bool joins) {
    PROPERTY(r->ends == 0);
    if (!joins || r->last != kind) {
        buffer_append_char(&r->log, '\n');
        buffer_append_char(&r->log, kind);
    }
    r->last = kind;
    buffer_append_str(&r->log, text);
}

static uar_status on_text(void *ctx, uar_str text) {
    note(ctx, 't', text, true);
    return UAR_OK;
}

static uar_status on_reasoning(void *ctx, uar_str text) {
    note(ctx, 'r', text, true);
    return UAR_OK;
}

static uar_status on_opaque(void *ctx, uar_str data) {
    note(ctx, 'o', data, false);
    return UAR_OK;
}

static uar_status on_call(void *ctx, uint32_t index, uar_str id, uar_str name, uar_str arguments) {
    record *r = ctx;
    note(r, 'c', id, false);
    buffer_append_u64(&r->log, index);
    buffer_append_str(&r->log, name);
    buffer_append_str(&r->log, arguments);
    return UAR_OK;
}

static uar_status on_usage(void *ctx, const uar_usage *usage) {
    record *r = ctx;
    note(r, 'u', uar_str_n("", 0), false);
    PROPERTY(usage->known);
    buffer_append_u64(&r->log, usage->input);
    buffer_append_u64(&r->log, usage->output);
    return UAR_OK;
}

static uar_status on_finish(void *ctx, uar_finish reason) {
    record *r = ctx;
    note(r, 'f', uar_str_n("", 0), false);
    buffer_append_u64(&r->log, (uint64_t)reason);
    r->ends++;
    return UAR_OK;
}

static uar_status on_fail(void *ctx, const model_failure *failure) {
    record *r = ctx;
    PROPERTY(r->ends == 0);
    note(r, 'e', uar_str_of(failure->message), false);
    buffer_append_i64(&r->log, failure->status);
    r->ends++;
    return UAR_OK;
}

/* Steps from a generator seeded with the data, or of a fixed size. */
static size_t step_of(uint32_t *seed, size_t fixed) {
    if (fixed != 0) return fixed;
    *seed = *seed * 1664525u + 1013904223u;
    return 1 + (*seed >> 16) % 37;
}

static void answer(record *r, const uint8_t *data, size_t size, size_t fixed) {
    model_sink sink = { r, NULL, on_text, on_reasoning, on_opaque, on_call, on_usage, on_finish, on_fail };
    uar_codec_options options = { UAR_CODEC_OPTIONS_INIT, .max_event_bytes = EVENT_MAX };
    uar_codec *codec = NULL;
    uint32_t seed = 2166136261u;
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ data[i]) * 16777619u;
    PROPERTY(codec_open(&codec, UAR_CODEC_OPENAI, &sink, &options, NULL) == UAR_OK);
    for (size_t at = 0; at < size;) {
        size_t n = step_of(&seed, fixed);
        if (n > size - at) n = size - at;
        if (uar_codec_feed(codec, (const char *)data + at, n) != UAR_OK) break;
        at += n;
    }
    (void)uar_codec_end(codec);
    uar_codec_free(codec);
    PROPERTY(r->ends == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t steps[] = { SIZE_MAX, 1, 0 };
    record records[3];
    for (size_t i = 0; i < 3; i++) {
        memset(&records[i], 0, sizeof records[i]);
        buffer_init(&records[i].log, &alloc_default, SIZE_MAX / 2);
        answer(&records[i], data, size, steps[i]);
        PROPERTY(uar_str_equal(buffer_str(&records[0].log), buffer_str(&records[i].log)));
    }
    for (size_t i = 0; i < 3; i++)
        buffer_dispose(&records[i].log);
    return 0;
}
