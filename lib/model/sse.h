/*
 * Reader of event streams (HTML standard, section 9.2) from bytes cut anywhere. Lines end in LF, CRLF or CR; one leading
 * byte order mark is dropped; comments, `id` and `retry` are read and ignored.
 *
 * Two departures, both for servers that are careless at the end: sse_end hands out an event that no blank line closed
 * (the caller knows it may be cut), and a line that is no field goes to `stray` where the standard ignores it.
 */
#ifndef UAR_LIB_MODEL_SSE_H
#define UAR_LIB_MODEL_SSE_H

#include "base/buffer.h"

typedef struct sse_handler {
    void *ctx;
    /* `name` is empty if the event has none. Texts are borrowed. Anything but UAR_OK stops the reader. */
    uar_status (*event)(void *ctx, uar_str name, uar_str data);
    uar_status (*stray)(void *ctx, uar_str line);
} sse_handler;

typedef struct sse_reader {
    sse_handler handler;
    buffer line;
    buffer data; /* each data line with a LF behind it */
    buffer name;
    bool has_data;
    bool after_cr; /* a LF that follows belongs to the line end before */
    uint8_t mark;  /* bytes of a leading byte order mark seen; 3: past the start */
} sse_reader;

/* `max` bounds a line and the data of an event, in bytes. */
void sse_init(sse_reader *reader, const uar_allocator *a, size_t max, sse_handler handler);
void sse_dispose(sse_reader *reader);
/* UAR_E_TOO_LARGE, UAR_E_NOMEM, or what the handler answered; the reader must not be fed again then. */
uar_status sse_feed(sse_reader *reader, uar_str bytes);
uar_status sse_end(sse_reader *reader);

#endif
