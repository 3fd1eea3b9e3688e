/*
 * Terms: tokens as keyed 64-bit numbers. An index stores the numbers only, so that no word stays readable in it; the key is
 * the store's own. Two words meet by chance once in 2^64.
 */
#ifndef UAR_LIB_INDEX_TERMS_H
#define UAR_LIB_INDEX_TERMS_H

#include "index/analysis.h"

typedef struct term_key {
    uint64_t k0, k1;
} term_key;

/* SipHash-2-4. */
uint64_t term_hash(term_key key, uar_str bytes);

typedef struct term {
    uint64_t id;
    uint32_t count; /* how often it occurs, at least 1 */
} term;

/* Terms of one text, by id, each once. */
typedef struct term_list {
    const uar_allocator *alloc;
    term *terms;
    size_t count, cap;
    uint32_t length; /* tokens of the text, extra forms not counted */
} term_list;

void term_list_init(term_list *list, const uar_allocator *a);
void term_list_dispose(term_list *list);
/*
 * All terms of a passage: of its words, and of two cues that are terms of their own, which no word has: how it opens (with
 * its speaker or its subject: the first word that is no stop word), and that it ends by asking. Cues count once and not for
 * the length. UAR_E_NOMEM, UAR_E_UTF8.
 */
uar_status term_list_passage(term_list *list, term_key key, uar_str text);
/* Terms of a question: without stop words unless it has nothing else; at most TERMS_OF_QUERY_MAX. */
#define TERMS_OF_QUERY_MAX 256
uar_status term_list_query(term_list *list, term_key key, uar_str text);

/* Openings with a word of the question that is no stop word, at most TERMS_OF_QUERY_MAX. */
uar_status term_list_openings(term_list *list, term_key key, uar_str question);
/* The term of the passages that end by asking. */
uint64_t term_asking(term_key key);

/* Fixed bytes of one packed term. */
#define TERM_PACKED 12
/* Write the packed list, count * TERM_PACKED bytes. */
void term_list_pack(const term_list *list, uint8_t *out);
/* One packed term. */
term term_unpack(const uint8_t *packed);

#endif
