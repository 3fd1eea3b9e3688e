/*
 * uar/sys/sink.h: the door that events leave by. A sink is a subscriber to everything of a runtime, all owners. Since 0.1.
 */
#ifndef UAR_SYS_SINK_H
#define UAR_SYS_SINK_H

#include <uar/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An event sink. Callbacks come one at a time, events of a run in order, on a lane of its own. They may call everything
 *  that doesn't wait. See the rules on top of uar/sys/platform.h. */
typedef struct uar_event_sink {
    size_t struct_size;                                  /**< sizeof(uar_event_sink) */
    void *ctx;                                           /**< given to every slot */
    void (*destroy)(void *ctx);                          /**< optional */
    void (*on_event)(void *ctx, const uar_event *event); /**< borrowed; keep it with uar_event_ref */
    void (*on_gap)(void *ctx, const uar_gap *gap);       /**< optional: the sink was too slow */
    void (*on_closed)(void *ctx, uar_run_id run);        /**< optional: nothing more will come from this run */
} uar_event_sink;
/** Head of a uar_event_sink. */
#define UAR_EVENT_SINK_INIT sizeof(uar_event_sink)
/** The twin of UAR_EVENT_SINK_INIT. */
static inline void uar_event_sink_init(uar_event_sink *sink) {
    memset(sink, 0, sizeof *sink);
    sink->struct_size = sizeof *sink;
}

#ifdef __cplusplus
}
#endif
#endif
