/*
 * Text to tokens as BERT does it: control characters go; Chinese characters stand alone; accents and case go where the
 * model wants that; words end at spaces and at punctuation, which stands alone too; a word becomes the longest pieces of
 * the vocabulary from its left on, or [UNK] as a whole. Literal marks such as "[SEP]" in a text are the marks themselves,
 * as in the reference.
 *
 * Immutable after reading: any thread.
 */
#ifndef UAR_LIB_BERT_TOKENIZER_H
#define UAR_LIB_BERT_TOKENIZER_H

#include <uar/bert.h>

#include "bert/vocabulary.h"

#define TOKENIZER_MAX_MARKS 64
#define TOKENIZER_MAX_WORD 256 /* characters; a model may say less */

/* Ids, growing. */
typedef struct id_list {
    const uar_allocator *alloc;
    int32_t *ids;
    size_t len, room;
} id_list;

void id_list_init(id_list *list, const uar_allocator *a);
void id_list_dispose(id_list *list);
uar_status id_list_add(id_list *list, int32_t id);

/* A text that is one token wherever it stands, before anything else is done. */
typedef struct mark {
    uint32_t at, len; /* in `mark_text` */
    int32_t id;
} mark;

typedef struct tokenizer {
    const uar_allocator *alloc;
    vocabulary pieces;
    bool clean, space_chinese, strip_accents, lower;
    size_t max_word; /* characters; longer words are [UNK] */
    int32_t unknown, begin, end;
    mark marks[TOKENIZER_MAX_MARKS];
    size_t mark_count;
    char *mark_text;
} tokenizer;

/*
 * From tokenizer.json, else from vocab.txt; tokenizer_config.json corrects either. `lower_first`: lower case whatever they
 * say. UAR_E_NOT_FOUND: neither is there; UAR_E_UNSUPPORTED: another sort of tokenizer; UAR_E_SCHEMA; UAR_E_JSON; UAR_E_UTF8;
 * UAR_E_TOO_LARGE; UAR_E_NOMEM.
 */
uar_status tokenizer_read(tokenizer *out, const uar_allocator *a, const uar_bert_files *files, bool lower_first,
                          uar_error *err);
void tokenizer_dispose(tokenizer *t);
/* Append the tokens of a text, without the marks of begin and end. UAR_E_UTF8, UAR_E_NOMEM; the list may then have grown. */
uar_status tokenizer_run(id_list *out, const tokenizer *t, uar_str text);

#endif
