/*
 * Where decoded model output goes. Codecs, scripts and the offline model push here; in the library a sink is a uar_stream
 * (sink_stream.h), in tests a recorder. A push that answers anything but UAR_OK ends the decoding: UAR_E_STALE means that
 * nobody listens. After finish or fail nothing more is pushed.
 */
#ifndef UAR_LIB_MODEL_SINK_H
#define UAR_LIB_MODEL_SINK_H

#include <uar/sys/model.h>

#include "model/failure.h"

typedef struct model_sink {
    void *ctx;
    void (*release)(void *ctx); /* optional: the last use is over */
    uar_status (*text)(void *ctx, uar_str text);
    uar_status (*reasoning)(void *ctx, uar_str text);
    uar_status (*opaque)(void *ctx, uar_str data);
    uar_status (*tool_call)(void *ctx, uint32_t index, uar_str id, uar_str name, uar_str arguments);
    uar_status (*usage)(void *ctx, const uar_usage *usage);
    uar_status (*finish)(void *ctx, uar_finish reason);
    uar_status (*fail)(void *ctx, const model_failure *failure);
} model_sink;

#endif
