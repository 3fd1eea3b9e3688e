/* Answers of reading calls: one allocation for the head, an arena for all that it points at. */
#ifndef UAR_LIB_MEMORY_ANSWER_H
#define UAR_LIB_MEMORY_ANSWER_H

#include "memory/version.h"

/* Where a page goes on: a row's number as text. An absent cursor is `start`. UAR_E_INVALID. */
uar_status cursor_read(int64_t *out, uar_str cursor, int64_t start, uar_error *err);
uar_status cursor_write(uar_str *out, arena *ar, int64_t num, uar_error *err);

/* A uar_memory_records in the making. */
typedef struct record_list {
    uar_memory_records head; /* first: the answer is the list */
    uar_allocator alloc;
    arena ar;
    uar_memory_record *items;
    size_t cap;
} record_list;

/* NULL: out of memory. Hand `head` out or dispose it with uar_memory_records_free. */
record_list *record_list_new(const uar_allocator *a);
uar_status record_list_add(record_list *list, const uar_memory_record *r);

/* A uar_memory_hits in the making. */
typedef struct hit_list {
    uar_memory_hits head;
    uar_allocator alloc;
    arena ar;
    uar_memory_hit *items;
    size_t cap;
} hit_list;

/* Room for `limit` hits. NULL: out of memory. */
hit_list *hit_list_new(const uar_allocator *a, uar_str text, size_t limit);

#endif
