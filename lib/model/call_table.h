/*
 * Which tool call a piece of a stream belongs to. Providers leave the index out, send 0 for every call, repeat id and name
 * in every piece, or send the whole arguments once more at the end; this table sorts that out and gives each call an index
 * of its own: the provider's where it is free, so that gaps and order survive, else the next one above all others.
 *
 * A piece belongs to a new call if it brings a new id or a new name, or comes by name behind a call whose arguments are
 * complete. A new explicit index always is a new call. A piece without index, id and name goes to the call of the piece before it.
 */
#ifndef UAR_LIB_MODEL_CALL_TABLE_H
#define UAR_LIB_MODEL_CALL_TABLE_H

#include "base/buffer.h"
#include "model/json_span.h"

/* Calls in one answer. */
#define CALL_TABLE_MAX 1024

/* A piece as the provider sent it. Absent texts are fine. */
typedef struct call_delta {
    bool has_index;
    uint64_t index;
    uar_str id;
    uar_str name;
    uar_str arguments;
    bool whole; /* from an answer that isn't streamed: always a call of its own */
} call_delta;

/* What is new in it. All texts empty: nothing. */
typedef struct call_piece {
    uint32_t index;
    uar_str id;
    uar_str name;
    uar_str arguments;
} call_piece;

typedef struct call_slot call_slot;
typedef struct call_table {
    const uar_allocator *alloc;
    size_t max_arguments; /* bytes of all calls' arguments together */
    size_t arguments;     /* bytes so far */
    call_slot *slots;
    size_t count, cap;
    size_t last;    /* slot that got the last piece */
    uint32_t next;  /* above every index given so far */
    uint64_t chunk; /* number of the provider's chunk */
} call_table;

void call_table_init(call_table *table, const uar_allocator *a, size_t max_arguments);
void call_table_dispose(call_table *table);
/* A new chunk of the provider begins: pieces of one chunk with the same name are different calls. */
void call_table_chunk(call_table *table);
/* UAR_E_TOO_LARGE, UAR_E_NOMEM. Texts of the piece are those of the delta. */
uar_status call_table_take(call_piece *out, call_table *table, const call_delta *delta);

#endif
