/*
 * A segment in memory: the attributes of all its documents, the chain of each conversation, and as many bodies of chunks as
 * there is room for. Documents are numbered from 0: those of chunks first, in the order of keys, then loose ones in the
 * order in which they came. A loose document takes the place of an older copy with its key, which is no longer alive.
 *
 * Invariants: after segment_refresh it says exactly what the source says at its generation; after a failure it is empty.
 */
#ifndef UAR_LIB_INDEX_SEGMENT_H
#define UAR_LIB_INDEX_SEGMENT_H

#include "index/chunk.h"
#include "index/source.h"

#define SEGMENT_NONE UINT32_MAX

typedef struct segment_chunk {
    chunk_place place;
    chunk_head head;
    chunk_seals seals;
    uint32_t base;      /* number of its first document */
    float *sums;        /* of its vectors; NULL: it has none of the source's model */
    void *block;        /* NULL: its body isn't in memory */
    float *sheet;       /* of its codes, for a first look (vector_bits.h); only beside a block. NULL: not made yet */
    int64_t newest;     /* latest creation of its documents */
    float importance;   /* the highest of theirs */
    uint8_t trust;      /* the best tier of theirs */
    float error, scale; /* with a sheet: the largest error of a row and the largest scale */
    float apart;        /* how far the question of the search in the works is from the sheet's centre */
    chunk_view body;
} segment_chunk;

enum { SEGMENT_ALIVE = 1, SEGMENT_LINKED = 2 };

/* Terms and codes of documents that are in no chunk; slot = number - packed. */
typedef struct segment_loose {
    size_t *starts; /* of the terms of each slot, and one more */
    uint64_t *ids;
    uint8_t *counts;
    float *scales; /* 0: no vector */
    int8_t *codes;
    size_t slots, slot_cap, terms, term_cap;
} segment_loose;

/* Conversations. A document without one has a group of its own. */
typedef struct segment_groups {
    uint64_t *keys;
    uint32_t *lengths;   /* tokens of its linked documents */
    uint32_t *documents; /* how many are linked */
    uint32_t *tails;
    size_t count, cap;
    uint32_t *slots; /* hash table: number + 1 */
    size_t slot_count;
} segment_groups;

/* What a neighbour's words count beside a document's own: all of them one step away, three fifths two steps away. */
#define SEGMENT_WINDOW_STEPS 5
#define SEGMENT_WINDOW_FAR 3

/* Sums over linked documents, which are the current ones. */
typedef struct segment_sums {
    uint64_t documents, length, window, groups;
} segment_sums;

typedef struct index_segment {
    const uar_allocator *alloc;
    segment_state state; /* generation 0: empty */
    document *documents;
    uint32_t *before, *after; /* neighbours in the conversation, or SEGMENT_NONE */
    uint32_t *group;
    uint32_t *length;
    float *log_length;
    uint32_t *window; /* tokens of the document and its neighbours, in steps of 1 / SEGMENT_WINDOW_STEPS */
    uint8_t *flags;
    size_t count, cap;
    size_t alive;  /* documents that are no older copies */
    size_t packed; /* documents of chunks */
    int64_t last_key;
    segment_chunk *chunks;
    size_t chunk_count, chunk_cap;
    segment_loose loose;
    segment_groups groups;
    segment_sums sums;
    float
        *vector_sum; /* of the vectors that chunks and loose documents brought; NULL: no vectors. Older copies count. */
    uint64_t vectors;
    size_t bytes;      /* without bodies */
    size_t body_bytes; /* bodies and sheets in memory */
} index_segment;

void segment_init(index_segment *s, const uar_allocator *a);
void segment_dispose(index_segment *s);
/* Bring it to the state `now`; s->state.id is the segment's. UAR_E_CORRUPT: a chunk is damaged, or documents are missing. */
uar_status segment_refresh(index_segment *s, const segment_state *now, const index_source *source, uar_error *err);

/* Read the head of the chunk that c->place names; its documents, c->head.count of them. UAR_E_CORRUPT. */
uar_status segment_read_head(segment_chunk *c, const index_source *source, uar_error *err);
uar_status segment_read_documents(document *out, const segment_chunk *c, const uar_allocator *a,
                                  const index_source *source, uar_error *err);
/* Read the body of a chunk into `out`, to be freed by segment_release. The chunk itself stays as it is. */
uar_status segment_read_body(segment_chunk *out, const index_segment *s, size_t chunk, const index_source *source,
                             uar_error *err);
void segment_release(const index_segment *s, segment_chunk *c);
/* Bytes that the body takes in memory. */
size_t segment_body_cost(const segment_chunk *c);
/* Bytes of the sheet that it has or would have. */
size_t segment_sheet_cost(const segment_chunk *c);

#endif
