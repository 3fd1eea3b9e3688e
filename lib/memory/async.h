/*
 * Calls of a memory that run later: one queue, and at most ASYNC_AT_ONCE workers on an executor.
 *
 * A lane outlives its memory while the executor still has one of its workers; it owns the executor. A request that runs pins
 * its memory, so that the memory goes only when nothing of it runs. Lock order: `lock` of the lane is a leaf; neither a
 * callback nor the executor is called with it.
 */
#ifndef UAR_LIB_MEMORY_ASYNC_H
#define UAR_LIB_MEMORY_ASYNC_H

#include <uar/memory_graph_async.h>
#include <uar/memory_stream_async.h>

#include "base/arena.h"
#include "memory/reembed.h"

#define ASYNC_AT_ONCE 4

typedef struct async_lane async_lane;
typedef struct deferred deferred;

/* A member that is an array of texts, by the offsets of it and of its count; of more than `most` + 1 the call refuses the
 * whole, so the rest isn't copied. */
typedef struct keep_list {
    size_t texts, count, most; /* most 0: there is none */
} keep_list;

#define KEEP_TEXTS_MAX 10

/* A struct that a call takes: which of its members point at something. */
typedef struct keep_shape {
    const char *name;
    size_t size;
    bool is_bare; /* it has no size head */
    size_t text_count;
    size_t texts[KEEP_TEXTS_MAX]; /* offsets of uar_str members */
    keep_list list;
    /* A member that points at one struct of this shape, which may be NULL; shape NULL: there is none. */
    const struct keep_shape *part;
    size_t part_at;
} keep_shape;

/* One kind of call: what it takes, how it is done, and how its end is told. Tables of them are in async_calls.c,
 * graph_async.c and stream_async.c. */
typedef struct operation {
    uar_status (*run)(deferred *r, uar_memory *memory, uar_error *err);
    /* `err` is NULL on success. Results go to the receiver. */
    void (*tell)(deferred *r, uar_status status, const uar_error *err);
    const keep_shape *given, *filter; /* shapes of the input's members of these names */
    size_t given_most;  /* `given` is an array of `count`; of more the call refuses them all. 0: one struct */
    size_t result_size; /* result.list has `count` items of this size; 0: it isn't used */
    /* True: the request is put at the end of the queue again instead of being told; optional. */
    bool (*goes_on)(const deferred *r);
} operation;

/* What a call was given; in a request all that is pointed at is a copy. Members that an operation doesn't speak of are zero. */
typedef struct async_input {
    const uar_identity *who;
    uar_uuid id, other;
    uar_str text;    /* query, name, cursor, lines */
    uar_str cursor;  /* where there is a text besides it */
    size_t count;    /* limit, or how many structs are given */
    uint64_t number; /* of an entry, of tokens */
    int64_t at_ms;
    bool flag;
    uint32_t flags;
    const void *given, *filter;
    void *ctx;
    union {
        void (*any)(void); /* is there a receiver at all? */
        uar_memory_change_fn change;
        uar_memory_changes_fn changes;
        uar_memory_compression_fn compression;
        uar_memory_records_fn records;
        uar_memory_hits_fn hits;
        uar_memory_answers_fn answers;
        uar_memory_erasure_fn erasure;
        uar_memory_stats_fn stats;
        uar_memory_imported_fn imported;
        uar_memory_number_fn number;
        uar_memory_done_fn done;
        uar_memory_graph_fn graph;
        uar_memory_paths_fn paths;
        uar_memory_entity_hits_fn entity_hits;
        uar_memory_graph_stats_fn graph_stats;
        uar_memory_graph_imported_fn graph_imported;
        uar_memory_streams_fn streams;
        uar_memory_stream_appended_fn appended;
        uar_memory_stream_entries_fn entries;
        uar_memory_stream_window_fn window;
        uar_memory_stream_summary_fn summary;
        uar_memory_stream_stats_fn stream_stats;
        uar_memory_outcome_fn outcome;
        uar_memory_stream_imported_fn stream_imported;
    } to;
    union {
        uar_memory_write_fn write;
        uar_memory_line_fn failed;
        uar_memory_draft_fn refused;
        uar_memory_progress_fn progress;
    } through;
} async_input;

/* A request: the copied input of one call, and its result. */
struct deferred {
    deferred *next;
    const operation *op;
    uar_allocator alloc;
    arena ar;
    bool lacks_memory; /* something could not be copied */
    async_input in;
    reembed reembed;
    union {
        void *list;
        uar_memory_change change;
        uar_memory_compression compression;
        uar_memory_records *records;
        uar_memory_hits *hits;
        uar_memory_erasure erasure;
        uar_memory_stats stats;
        uar_memory_imported imported;
        uint64_t number;
        uar_memory_graph *graph;
        uar_memory_paths *paths;
        uar_memory_entity_hits *entity_hits;
        uar_memory_graph_stats graph_stats;
        uar_memory_graph_imported graph_imported;
        uar_memory_streams *streams;
        uar_memory_stream_entries *entries;
        uar_memory_stream_window *window;
        uar_memory_stream_summary summary;
        uar_memory_stream_stats stream_stats;
        uar_memory_outcome outcome;
        uar_memory_stream_imported stream_imported;
    } result;
};

/* Takes the executor over, also on failure; `executor` all zero: a pool of its own. UAR_E_NOMEM. */
uar_status async_open(uar_memory *memory, const uar_executor *executor);
/* Cancel what has not begun; wait for what runs, unless this thread is inside a callback of the memory. */
void async_close(uar_memory *memory);
/* The memory goes. */
void async_release(async_lane *lane);

/* A request for a memory that can be asked, from a thread that may ask. */
uar_status async_new(deferred **out, const operation *op, uar_memory *memory, uar_error *err);
void async_free(deferred *r);
/* Whether the host gave an executor: then work may be begun unasked. */
bool async_has_executor(const uar_memory *memory);
/* Queue it; it is freed in any case. */
uar_status async_submit(deferred *r, uar_memory *memory, uar_error *err);

/* The whole of a public call: copy the input and queue it. */
uar_status async_call(const operation *op, uar_memory *memory, const async_input *in, uar_error *err);
/* Endings that several tables use. */
void tell_change(deferred *r, uar_status status, const uar_error *err);
void tell_records(deferred *r, uar_status status, const uar_error *err);
void tell_done(deferred *r, uar_status status, const uar_error *err);

#endif
