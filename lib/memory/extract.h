/*
 * The bundled rule for summaries, of records and of streams: whole sentences, word for word, in their order. It prefers
 * sentences whose words are frequent in the whole and not yet said, the first ones of a passage, and those with numbers; it
 * needs no model and gives the same text for the same passages.
 */
#ifndef UAR_LIB_MEMORY_EXTRACT_H
#define UAR_LIB_MEMORY_EXTRACT_H

#include "base/buffer.h"
#include "index/terms.h"

/* Something that is to be summarised. */
typedef struct extract_passage {
    uar_str role; /* stands before its sentences; absent: nothing does */
    uar_str text;
} extract_passage;

typedef enum extract_unit {
    EXTRACT_BYTES,
    EXTRACT_TOKENS /* by memory_estimate_tokens */
} extract_unit;

/* How long the summary may become. */
typedef struct extract_budget {
    uint64_t wished;
    uint64_t most; /* where no sentence is as short as wished; at least `wished` */
    extract_unit unit;
} extract_budget;

/* Append the chosen sentences to `out`, a line a passage. If each is longer than wished, the shortest that `most` has room
 * for stands alone; if there is none, the best is cut behind a word. Nothing is appended if not even that fits. UAR_E_NOMEM,
 * UAR_E_UTF8, or what the buffer says. */
uar_status extract_sentences(buffer *out, const extract_passage *passages, size_t count, extract_budget budget,
                             term_key key);

#endif
