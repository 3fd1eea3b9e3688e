/*
 * The codec above the formats: tells an event stream from a JSON document, feeds the reader of the format, and sees to it
 * that exactly one end reaches the sink.
 */
#ifndef UAR_LIB_MODEL_CODEC_H
#define UAR_LIB_MODEL_CODEC_H

#include <uar/model.h>

#include "model/sink.h"

/* Read options of any older header; NULL gives the defaults. UAR_E_STRUCT, UAR_E_INVALID. */
uar_status codec_options_read(uar_codec_options *out, const uar_codec_options *options, uar_error *err);
const uar_allocator *codec_allocator(const uar_codec_options *options);

/* As uar_codec_new, on a sink. The sink is released by uar_codec_free; on failure it stays the caller's. */
uar_status codec_open(uar_codec **out, uar_codec_format format, const model_sink *sink,
                      const uar_codec_options *options, uar_error *err);

#endif
