/* Answers about streams: one allocation for the head, an arena for all that it points at. */
#ifndef UAR_LIB_MEMORY_STREAM_ANSWER_H
#define UAR_LIB_MEMORY_STREAM_ANSWER_H

#include <uar/memory_stream.h>

#include "base/arena.h"

/* A uar_memory_streams in the making. */
typedef struct stream_list {
    uar_memory_streams head; /* first: the answer is the list */
    uar_allocator alloc;
    arena ar;
    uar_memory_stream *items;
    size_t cap;
} stream_list;

/* A uar_memory_stream_entries in the making. */
typedef struct stream_entry_list {
    uar_memory_stream_entries head;
    uar_allocator alloc;
    arena ar;
    uar_memory_stream_entry *items;
    size_t cap;
} stream_entry_list;

/* A uar_memory_stream_window in the making. */
typedef struct stream_window {
    uar_memory_stream_window head;
    uar_allocator alloc;
    arena ar; /* entries and gaps too: their number is known beforehand */
} stream_window;

/* NULL: out of memory. Hand `head` out or free it as the public answer. */
stream_list *stream_list_new(const uar_allocator *a);
uar_status stream_list_add(stream_list *list, const uar_memory_stream *s);
stream_entry_list *stream_entry_list_new(const uar_allocator *a);
uar_status stream_entry_list_add(stream_entry_list *list, const uar_memory_stream_entry *e);
stream_window *stream_window_new(const uar_allocator *a);

#endif
