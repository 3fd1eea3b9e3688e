/*
 * What is known of texts without asking the embedder: the vectors of the last questions, and what came of texts that were
 * asked about ahead (see ahead.h), a failure among them. Bounded; the entry that was used longest ago goes first.
 * What was asked ahead is taken out by its use; a question's vector stays. Lock order: a leaf.
 */
#ifndef UAR_LIB_MEMORY_EMBED_CACHE_H
#define UAR_LIB_MEMORY_EMBED_CACHE_H

#include <uar/sys/embedder.h>

#include "base/alloc.h"
#include "base/lock.h"

#define EMBED_CACHE 32

typedef struct embed_known {
    uar_embed_purpose purpose;
    char *text; /* NULL: the place is free */
    size_t len;
    float *vector;      /* NULL: it failed */
    uar_status failure; /* why */
    uint64_t used;      /* greater: later */
} embed_known;

typedef struct embed_cache {
    const uar_allocator *alloc;
    size_t dims;
    mutex lock;
    uint64_t clock;
    embed_known entries[EMBED_CACHE];
} embed_cache;

/* `alloc` must outlive it. */
uar_status embed_cache_init(embed_cache *c, const uar_allocator *alloc, size_t dims);
void embed_cache_dispose(embed_cache *c);
/* What is known of a text: false: nothing. A vector goes to `out` and *status is UAR_OK; else *status is the failure. */
bool embed_cache_take(uar_status *status, float *out, embed_cache *c, uar_embed_purpose purpose, uar_str text);
/* Keep a vector, or with NULL the failure, which drives out no vector. Without memory for it, it is not kept. */
void embed_cache_keep(embed_cache *c, uar_embed_purpose purpose, uar_str text, const float *vector, uar_status failure);

#endif
