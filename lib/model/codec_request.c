/* The public request writer: checks what all formats share, then lets the format write. */
#include "base/error.h"
#include "model/codec.h"
#include "model/openai_request.h"

enum { BODY_MAX = 256 * 1024 * 1024 };

static uar_status request_write(buffer *out, uar_codec_format format, const uar_model_request *request,
                                const uar_codec_options *options, uar_error *err) {
    switch (format) {
    case UAR_CODEC_OPENAI: return openai_request(out, request, options, err);
    }
    return error_set(err, UAR_E_UNSUPPORTED, "there is no codec of format %d", (int)format);
}

uar_status uar_codec_request(char **body, size_t *len, uar_codec_format format, const uar_model_request *request,
                             const uar_codec_options *options, uar_error *err) {
    uar_codec_options read;
    uar_status status = codec_options_read(&read, options, err);
    if (status != UAR_OK) return status;
    if (request->size < sizeof *request) return error_set(err, UAR_E_STRUCT, "the request is of an older version");
    if (read.model == NULL || read.model[0] == '\0')
        return error_set(err, UAR_E_INVALID, "the codec options name no model");
    buffer out;
    buffer_init(&out, codec_allocator(&read), BODY_MAX);
    status = request_write(&out, format, request, &read, err);
    if (status == UAR_OK) {
        size_t bytes = 0;
        *body = buffer_take(&out, &bytes);
        if (len != NULL) *len = bytes;
    }
    buffer_dispose(&out);
    return status;
}

void uar_codec_body_free(char *body, const uar_codec_options *options) {
    uar_codec_options read;
    if (body == NULL || codec_options_read(&read, options, NULL) != UAR_OK) return;
    alloc_free(codec_allocator(&read), body);
}
