/* The public constructor: a codec on a uar_stream. Apart from codec.c, so that codecs work where no run layer is linked. */
#include "model/codec.h"
#include "model/sink_stream.h"

uar_status uar_codec_new(uar_codec **out, uar_codec_format format, uar_stream *stream, const uar_codec_options *options,
                         uar_error *err) {
    model_sink sink = sink_of_stream(stream);
    uar_status status = codec_open(out, format, &sink, options, err);
    if (status != UAR_OK) sink.release(sink.ctx);
    return status;
}
