/*
 * What each event kind consists of, as tables made from the lists in uar/event.h: name, size and fields. Copying and
 * projecting walk these tables, so a new kind or field needs one line in the public header and none here.
 * All tables are constant.
 */
#ifndef UAR_LIB_EVENT_SHAPE_H
#define UAR_LIB_EVENT_SHAPE_H

#include <uar/event.h>

typedef enum field_type {
    FIELD_STR,
    FIELD_JSON,
    FIELD_UUID,
    FIELD_U64,
    FIELD_I64,
    FIELD_F64,
    FIELD_BOOL,
    FIELD_USAGE,
    FIELD_HITS
} field_type;

typedef struct event_field {
    const char *name;
    field_type type;
    size_t offset; /* in the payload struct */
    const char *docs;
} event_field;

typedef struct event_shape {
    const char *name; /* JSON name */
    const char *docs;
    const event_field *fields;
    size_t field_count;
    size_t size; /* of the payload struct */
} event_shape;

/* NULL for an unknown kind. */
const event_shape *event_shape_of(uar_event_kind kind);

/* Where all payloads of an event begin. */
static inline const void *event_payload(const uar_event *event) {
    return &event->run_start;
}

/* One field of a payload; the type asked for must be the field's own. */
static inline const void *field_at(const void *payload, const event_field *field) {
    return (const char *)payload + field->offset;
}
static inline bool field_is_text(const event_field *field) {
    return field->type == FIELD_STR || field->type == FIELD_JSON;
}

#endif
