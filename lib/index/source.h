/*
 * Where an index is stored: the door through which the engine reads it. Its owner implements it over tables of its own; all
 * calls of one search see the same snapshot.
 */
#ifndef UAR_LIB_INDEX_SOURCE_H
#define UAR_LIB_INDEX_SOURCE_H

#include "index/document.h"

/* How a segment stands in the snapshot. */
typedef struct segment_state {
    int64_t id;
    int64_t generation; /* above 0; raised by every write to the segment */
    int64_t edits;      /* raised when more happened than that documents were added or changed: chunks were written or
                         * documents went */
    int64_t packed;     /* documents with greater keys are in no chunk */
    int64_t records;    /* documents in chunks and out of them */
} segment_state;

/* A stored chunk. What is under one id and stamp never changes. */
typedef struct chunk_place {
    int64_t id, stamp;
    uint64_t size; /* bytes */
} chunk_place;

/* Not UAR_OK ends the walk with that status. */
typedef uar_status (*chunk_fn)(void *arg, const chunk_place *place);
typedef uar_status (*document_fn)(void *arg, const document_item *item);

typedef struct index_source {
    void *ctx;
    size_t dims;    /* of vectors; 0: there are none */
    uint64_t model; /* keyed number of the model that makes them */
    /* Chunks of a segment, by their first key. */
    uar_status (*chunks)(void *ctx, int64_t segment, chunk_fn each, void *arg, uar_error *err);
    /* Copy `len` bytes of a chunk. */
    uar_status (*read)(void *ctx, int64_t chunk, uint64_t at, void *out, size_t len, uar_error *err);
    /* Documents behind `after` by rising key, then those that were changed after generation `since` and are in no chunk as
     * they are now, each once; some may come in both parts. */
    uar_status (*loose)(void *ctx, const segment_state *now, int64_t after, int64_t since, document_fn each, void *arg,
                        uar_error *err);
    /* The vector of a document, dims numbers, if it has one of the model. NULL: nobody looks for the nearest. */
    uar_status (*vector)(void *ctx, int64_t key, float *out, bool *found, uar_error *err);
} index_source;

#endif
