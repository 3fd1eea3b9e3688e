/*
 * Calls of a memory that run later: one queue, and at most ASYNC_AT_ONCE workers on an executor.
 *
 * A lane outlives its memory while the executor still has one of its workers; it owns the executor. A request that runs pins
 * its memory, so that the memory goes only when nothing of it runs. Lock order: `lock` of the lane is a leaf; neither a
 * callback nor the executor is called with it.
 */
#ifndef UAR_LIB_MEMORY_ASYNC_H
#define UAR_LIB_MEMORY_ASYNC_H

#include <uar/memory_async.h>

#include "base/arena.h"
#include "memory/reembed.h"

#define ASYNC_AT_ONCE 4

typedef struct async_lane async_lane;
typedef struct deferred deferred;

/* One kind of call: how it is done, and how its end is told. The table of them is in async_calls.c. */
typedef struct operation {
    uar_status (*run)(deferred *r, uar_memory *memory, uar_error *err);
    /* `err` is NULL on success. Results go to the receiver. */
    void (*tell)(deferred *r, uar_status status, const uar_error *err);
    /* True: the request is put at the end of the queue again instead of being told; optional. */
    bool (*goes_on)(const deferred *r);
} operation;

/* A request: the copied input of one call, its receiver, and its result. Members that an operation doesn't speak of are zero. */
struct deferred {
    deferred *next;
    const operation *op;
    uar_allocator alloc;
    arena ar;
    bool lacks_memory; /* something could not be copied */
    const uar_identity *who;
    uar_uuid id;
    uar_str text;
    size_t count; /* limit, or how many drafts or questions */
    uint32_t flags;
    const uar_memory_draft *drafts;
    const uar_memory_patch *patch;
    const uar_memory_filter *filter;
    const uar_memory_query *queries;
    const uar_memory_compress_options *compress;
    reembed reembed;
    void *ctx;
    union {
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
    } to;
    union {
        uar_memory_write_fn write;
        uar_memory_line_fn failed;
        uar_memory_draft_fn refused;
        uar_memory_progress_fn progress;
    } through;
    union {
        uar_memory_change change;
        uar_memory_change *changes;
        uar_memory_compression compression;
        uar_memory_records *records;
        uar_memory_hits *hits;
        uar_memory_hits **answers;
        uar_memory_erasure erasure;
        uar_memory_stats stats;
        uar_memory_imported imported;
        uint64_t number;
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

#endif
