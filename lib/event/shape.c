/* The tables behind event_shape_of, and the two questions about kinds that hosts ask. Constant data only. */
#include "event/shape.h"

#include <assert.h>

/* `payload` is the struct of the kind whose case this stands in. */
#define SHAPE_FIELD(type, name, docs) { #name, FIELD_##type, offsetof(payload, name), docs },
#define SHAPE_CASE(kind, member, json, docs)                                                                        \
    case UAR_EVENT_##kind: {                                                                                        \
        typedef uar_event_##member payload;                                                                         \
        static const event_field fields[] = { UAR_EVENT_FIELDS_##kind(SHAPE_FIELD) };                               \
        static const event_shape shape = { json, docs, fields, sizeof fields / sizeof *fields, sizeof(payload) };   \
        static_assert(offsetof(uar_event, member) == offsetof(uar_event, run_start), "payloads share their place"); \
        return &shape;                                                                                              \
    }

const event_shape *event_shape_of(uar_event_kind kind) {
    switch (kind) {
        UAR_EVENT_KINDS(SHAPE_CASE)
    case UAR_EVENT_KIND_COUNT: break;
    }
    return NULL;
}

const char *uar_event_kind_name(uar_event_kind kind) {
    const event_shape *shape = event_shape_of(kind);
    return shape != NULL ? shape->name : NULL;
}

bool uar_event_is_terminal(uar_event_kind kind) {
    return kind == UAR_EVENT_RUN_DONE || kind == UAR_EVENT_RUN_FAILED || kind == UAR_EVENT_CANCELLED;
}
