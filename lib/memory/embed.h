/*
 * The door to a memory's embedder: calls it, waits for it, checks and normalises what it answers.
 *
 * A call is waited for without any lock of the memory, at most `timeout_ms`; a late answer finds nobody and harms nothing.
 * Vectors that leave this door are finite and of length 1. What is known already is not asked for (see embed_cache.h). `calls` also knows which threads are inside callbacks of this memory.
 * Lock order: `lock` is a leaf, apart from the lock of one embed_call, which may be taken under it.
 */
#ifndef UAR_LIB_MEMORY_EMBED_H
#define UAR_LIB_MEMORY_EMBED_H

#include <uar/memory.h>

#include "base/callout.h"
#include "base/completion.h"
#include "index/vector.h"
#include "memory/embed_cache.h"

/* Most texts of one call of the embedder; longer lists make several calls, each with a deadline of its own. */
#define EMBED_BATCH 64
#define EMBED_DIMS_MAX VECTOR_DIMS_MAX
#define EMBED_TIMEOUT_MS 30000u

struct embed_call;

typedef struct embed_door {
    bool is_open;
    uint32_t timeout_ms;
    int64_t model; /* row of `model`; 0: not registered. Under the lock of the memory */
    callouts calls;
    mutex lock; /* guards what follows */
    bool closed;
    struct embed_call *first; /* calls that are waited for */
    embed_cache cache;
} embed_door;

/* Set up the door of a memory whose embedder is known; then find or add its model in the store. UAR_E_NOMEM. */
uar_status embed_open(uar_memory *memory, uint32_t timeout_ms, uar_error *err);
/* Find or add the model; may be tried again. Takes the memory's lock. */
uar_status embed_register(uar_memory *memory, uar_error *err);
/* Whoever waits for the embedder stops at once with UAR_E_CANCELLED, and so does every later call. */
void embed_cancel(uar_memory *memory);
/* Nobody is inside any more. */
void embed_dispose(uar_memory *memory);

/* True if the memory's embedder is `lexical`: there are no vectors, and search is by words. */
bool embed_is_lexical(const uar_memory *memory);
/* True if this thread is inside a callback of this memory: calls that wait are refused there. */
bool embed_is_inside(uar_memory *memory);

/*
 * Vectors of `count` texts by the memory's embedder, each of length 1, row by row; waits for it. Without locks held. *out is
 * freed with alloc_free of memory->alloc. UAR_E_UNSUPPORTED: the embedder is `lexical`, there are no vectors. Any other
 * failure (UAR_E_TIMEOUT, UAR_E_DROPPED, UAR_E_INVALID for a wrong shape or value, UAR_E_CANCELLED, what the embedder says):
 * the caller goes on without vectors. Whoever calls pins the memory (memory_pin): the host may free it inside the callback.
 */
uar_status memory_embed(float **out, uar_memory *memory, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                        uar_error *err);

/* Questions that will be asked next, at most EMBED_CACHE: one call for them all. Each then finds its vector, or that there is
 * none, without another call. The caller pins the memory. */
void embed_prepare(uar_memory *memory, const uar_str *questions, size_t count);

/* ---- for ahead.c ---- */

/* Call the embedder; the borrowed reference of the completion ends with the call. */
void embed_call_out(uar_memory *memory, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                    uar_completion *completion);
/* Copy the vectors of an answer of the right shape. */
uar_status embed_take_answer(float *out, const completion_result *answer, size_t count, size_t dims, uar_error *err);
/* Length 1, each. UAR_E_INVALID: one has no direction. */
uar_status embed_make_unit(float *vectors, size_t count, size_t dims, uar_error *err);

#endif
