/*
 * Watches JSON text go by in pieces and knows when its first object or array is closed, without keeping it. It doesn't
 * validate: it only tells a value that is whole from one that is still being written.
 */
#ifndef UAR_LIB_MODEL_JSON_SPAN_H
#define UAR_LIB_MODEL_JSON_SPAN_H

#include <uar/base.h>

typedef struct json_span {
    size_t depth; /* open objects and arrays */
    bool in_string;
    bool escaped;
    bool closed; /* the outermost one has ended */
} json_span;

void json_span_push(json_span *span, uar_str text);

#endif
