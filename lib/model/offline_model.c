/* The offline model as a door: everything happens inside `start`, there is nothing to cancel. */
#include <uar/model.h>

#include "model/offline.h"
#include "model/sink_stream.h"

static void offline_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx;
    model_sink sink = sink_of_stream(stream);
    (void)offline_answer(request, &sink); /* a status here says that nobody listens */
    sink.release(sink.ctx);
}

static const uar_model offline_model = {
    .struct_size = UAR_MODEL_INIT,
    .name = "offline",
    .start = offline_start,
};

const uar_model *uar_model_offline(void) {
    return &offline_model;
}
