/* Invariant: `closed` never goes back to false; after it nothing is counted. */
#include "model/json_span.h"

static void span_in_string(json_span *span, char c) {
    if (span->escaped) {
        span->escaped = false;
    } else if (c == '\\') {
        span->escaped = true;
    } else if (c == '"') {
        span->in_string = false;
    }
}

static void span_outside(json_span *span, char c) {
    if (c == '"') {
        span->in_string = true;
    } else if (c == '{' || c == '[') {
        span->depth++;
    } else if ((c == '}' || c == ']') && span->depth > 0) {
        span->depth--;
        span->closed = span->depth == 0;
    }
}

void json_span_push(json_span *span, uar_str text) {
    for (size_t i = 0; i < text.len && !span->closed; i++) {
        if (span->in_string) {
            span_in_string(span, text.ptr[i]);
        } else {
            span_outside(span, text.ptr[i]);
        }
    }
}
