/* The thin adapter from model_sink to the stream pushes of the model door. Holds one reference of the stream. */
#include "model/sink_stream.h"

static void stream_release(void *ctx) {
    uar_stream_unref(ctx);
}

static uar_status stream_text(void *ctx, uar_str text) {
    return uar_stream_text(ctx, text.ptr, text.len);
}

static uar_status stream_reasoning(void *ctx, uar_str text) {
    return uar_stream_reasoning(ctx, text.ptr, text.len);
}

static uar_status stream_opaque(void *ctx, uar_str data) {
    return uar_stream_reasoning_opaque(ctx, data.ptr, data.len);
}

static uar_status stream_tool_call(void *ctx, uint32_t index, uar_str id, uar_str name, uar_str arguments) {
    return uar_stream_tool_call(ctx, index, id, name, arguments);
}

static uar_status stream_usage(void *ctx, const uar_usage *usage) {
    return uar_stream_usage(ctx, usage);
}

static uar_status stream_finish(void *ctx, uar_finish reason) {
    return uar_stream_finish(ctx, reason);
}

static uar_status stream_fail(void *ctx, const model_failure *failure) {
    const char *code = failure->code[0] != '\0' ? failure->code : NULL;
    const char *message = failure->message[0] != '\0' ? failure->message : NULL;
    return uar_stream_fail(ctx, failure->status, code, message, failure->retryable, failure->retry_after_ms);
}

model_sink sink_of_stream(uar_stream *stream) {
    model_sink sink = {
        .ctx = uar_stream_ref(stream),
        .release = stream_release,
        .text = stream_text,
        .reasoning = stream_reasoning,
        .opaque = stream_opaque,
        .tool_call = stream_tool_call,
        .usage = stream_usage,
        .finish = stream_finish,
        .fail = stream_fail,
    };
    return sink;
}
