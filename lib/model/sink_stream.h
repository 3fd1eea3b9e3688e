/* A uar_stream as a sink. */
#ifndef UAR_LIB_MODEL_SINK_STREAM_H
#define UAR_LIB_MODEL_SINK_STREAM_H

#include "model/sink.h"

/* Takes a reference of `stream`, which `release` gives back. */
model_sink sink_of_stream(uar_stream *stream);

#endif
