/* Invariant: what is handed out depends on the bytes alone, never on where they were cut. */
#include "model/sse.h"

#include "base/str.h"

enum { MARK_LEN = 3, NAME_MAX_BYTES = 256 };

void sse_init(sse_reader *reader, const uar_allocator *a, size_t max, sse_handler handler) {
    memset(reader, 0, sizeof *reader);
    reader->handler = handler;
    buffer_init(&reader->line, a, max);
    buffer_init(&reader->data, a, max);
    buffer_init(&reader->name, a, NAME_MAX_BYTES);
}

void sse_dispose(sse_reader *reader) {
    buffer_dispose(&reader->line);
    buffer_dispose(&reader->data);
    buffer_dispose(&reader->name);
}

static uar_status event_dispatch(sse_reader *reader) {
    uar_status status = UAR_OK;
    if (reader->has_data) {
        buffer_truncate(&reader->data, reader->data.len - 1);
        status = reader->handler.event(reader->handler.ctx, buffer_str(&reader->name), buffer_str(&reader->data));
    }
    buffer_reset(&reader->data);
    buffer_reset(&reader->name);
    reader->has_data = false;
    return status;
}

static uar_status field_take(sse_reader *reader, uar_str field, uar_str value) {
    if (str_is(field, "data")) {
        buffer_append_str(&reader->data, value);
        buffer_append_char(&reader->data, '\n');
        reader->has_data = true;
        return reader->data.status;
    }
    if (str_is(field, "event")) {
        buffer_reset(&reader->name);
        buffer_append_str(&reader->name, value);
        return reader->name.status;
    }
    if (str_is(field, "id") || str_is(field, "retry")) return UAR_OK;
    return reader->handler.stray(reader->handler.ctx, buffer_str(&reader->line));
}

static uar_status line_take(sse_reader *reader) {
    uar_str line = buffer_str(&reader->line);
    if (line.len == 0) return event_dispatch(reader);
    const char *colon = memchr(line.ptr, ':', line.len);
    if (colon == line.ptr) return UAR_OK; /* a comment */
    if (colon == NULL) return field_take(reader, line, STR(""));
    size_t field = (size_t)(colon - line.ptr);
    size_t skip = field + 1 < line.len && colon[1] == ' ' ? 2 : 1;
    return field_take(reader, uar_str_n(line.ptr, field), uar_str_n(colon + skip, line.len - field - skip));
}

static uar_status line_end(sse_reader *reader) {
    uar_status status = line_take(reader);
    buffer_reset(&reader->line);
    return status;
}

/* Bytes of `bytes` that belong to the byte order mark at the start. */
static size_t mark_skip(sse_reader *reader, uar_str bytes) {
    static const char mark[MARK_LEN] = { '\xef', '\xbb', '\xbf' };
    size_t at = 0;
    while (reader->mark < MARK_LEN && at < bytes.len) {
        if (bytes.ptr[at] != mark[reader->mark]) {
            /* What looked like a mark was the start of the first line. */
            buffer_append(&reader->line, mark, reader->mark);
            reader->mark = MARK_LEN;
            break;
        }
        reader->mark++;
        at++;
    }
    return at;
}

static size_t run_length(uar_str bytes, size_t from) {
    size_t at = from;
    while (at < bytes.len && bytes.ptr[at] != '\n' && bytes.ptr[at] != '\r')
        at++;
    return at - from;
}

uar_status sse_feed(sse_reader *reader, uar_str bytes) {
    size_t at = mark_skip(reader, bytes);
    while (at < bytes.len) {
        bool joins = reader->after_cr && bytes.ptr[at] == '\n';
        reader->after_cr = false;
        if (joins) {
            at++;
            continue;
        }
        size_t run = run_length(bytes, at);
        buffer_append(&reader->line, bytes.ptr + at, run);
        if (reader->line.status != UAR_OK) return reader->line.status;
        at += run;
        if (at == bytes.len) break;
        reader->after_cr = bytes.ptr[at++] == '\r';
        uar_status status = line_end(reader);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

uar_status sse_end(sse_reader *reader) {
    uar_status status = reader->line.len > 0 ? line_end(reader) : UAR_OK;
    return status == UAR_OK ? event_dispatch(reader) : status;
}
