/*
 * The pieces of words that a model knows, by their text. A piece begins a word or continues one; the two are apart even
 * where their letters are the same.
 */
#ifndef UAR_LIB_BERT_VOCABULARY_H
#define UAR_LIB_BERT_VOCABULARY_H

#include "base/alloc.h"

#define VOCABULARY_NONE (-1)
#define VOCABULARY_MAX ((size_t)1 << 20)

typedef struct piece {
    uint32_t at, len; /* in `text`, without the mark of a continuation */
    int32_t id;       /* VOCABULARY_NONE: an empty slot */
    bool continues;
} piece;

typedef struct vocabulary {
    const uar_allocator *alloc;
    char *text;
    size_t text_len;
    piece *slots; /* open addressing, at most half full */
    size_t slot_count;
    size_t longest; /* bytes of the longest piece */
    size_t ids;     /* the highest id plus 1 */
} vocabulary;

/* Room for `count` pieces whose texts take `bytes` together. UAR_E_NOMEM, UAR_E_TOO_LARGE. */
uar_status vocabulary_init(vocabulary *v, const uar_allocator *a, size_t count, size_t bytes);
void vocabulary_dispose(vocabulary *v);
/* The text is copied. The same piece again gets the new id. `id` is below VOCABULARY_MAX. No more pieces than promised. */
void vocabulary_add(vocabulary *v, uar_str text, bool continues, int32_t id);
int32_t vocabulary_find(const vocabulary *v, uar_str text, bool continues);

#endif
