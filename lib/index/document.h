/*
 * A document as the index sees it: what it is found and filtered by, without its text. The owner of the text decides what a
 * document is; its key orders it among the others of its segment.
 */
#ifndef UAR_LIB_INDEX_DOCUMENT_H
#define UAR_LIB_INDEX_DOCUMENT_H

#include "index/terms.h"

/* Which places a filter can name. */
#define DOCUMENT_PLACES 4
/* Occurrences of a term beyond this count no more, in chunks as elsewhere. */
#define DOCUMENT_TERM_COUNT_MAX 63
/* Terms that one document may have. */
#define DOCUMENT_TERMS_MAX 65535

typedef struct document {
    int64_t key; /* above 0, one of a kind in its segment; neighbours of a conversation follow in the order of keys */
    int64_t created_ms, valid_from_ms, valid_until_ms;
    uint64_t group;                   /* its conversation as a keyed number; 0: none */
    uint32_t length;                  /* tokens, at least 1 */
    uint32_t places[DOCUMENT_PLACES]; /* keyed numbers, 0: absent; equal numbers may stand for different names */
    uint32_t labels;                  /* a bit for each label, by its keyed number */
    float importance;                 /* 0 to 1 */
    uint8_t trust;                    /* owner's tier */
    uint8_t type;                     /* owner's type, below 32 */
    bool is_current;                  /* false: an older version, found only as of its time */
} document;

/* A document with what makes it findable. */
typedef struct document_item {
    document at;
    const uint8_t *terms; /* packed by term_list_pack */
    size_t term_count;
    const float *vector; /* of length 1; NULL: none */
} document_item;

#endif
