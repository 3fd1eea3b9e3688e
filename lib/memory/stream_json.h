/* Streams and entries as JSON: the shape of the command line, of exports and of imports. */
#ifndef UAR_LIB_MEMORY_STREAM_JSON_H
#define UAR_LIB_MEMORY_STREAM_JSON_H

#include <uar/memory_stream.h>

#include "base/arena.h"
#include "base/json.h"

/* The members of a stream or entry, inside an object that the caller began. */
void stream_json_members(json_writer *w, const uar_memory_stream *s);
void stream_entry_json_members(json_writer *w, const uar_memory_stream_entry *e);

/* A line of an import. Texts live in the arena. */
typedef struct stream_line {
    bool is_entry;
    uar_uuid id; /* of the stream; of an entry: that of its stream; none if it isn't said */
    uar_str owner;
    uar_memory_stream_draft stream;
    int64_t created_ms, updated_ms, archived_ms; /* of a stream; 0 if it isn't said */
    uar_memory_stream_entry_draft entry;
    uint64_t number;      /* 0: next */
    uint64_t first, last; /* of a summary, else 0 */
} stream_line;

/* Read a line. Keys that it doesn't know are ignored, null is absent. UAR_E_JSON, UAR_E_NEWER, UAR_E_SCHEMA names the key. */
uar_status stream_line_read(stream_line *out, arena *ar, uar_str text, uar_error *err);

#endif
