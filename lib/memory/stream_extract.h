/*
 * The bundled rule for summaries: whole sentences, word for word, in their order. It prefers sentences whose words are
 * frequent in the whole and not yet said, the first ones of an entry, and those with numbers; it needs no model and gives
 * the same text for the same entries.
 */
#ifndef UAR_LIB_MEMORY_STREAM_EXTRACT_H
#define UAR_LIB_MEMORY_STREAM_EXTRACT_H

#include "base/buffer.h"
#include "index/terms.h"

/* Something that is to be summarised. */
typedef struct extract_passage {
    uar_str role; /* stands before its sentences; absent: nothing does */
    uar_str text;
} extract_passage;

/* Append sentences of at most `max_tokens` by memory_estimate_tokens to `out`. If every sentence is longer, the best is cut
 * behind a word. Nothing is appended if not even that fits. UAR_E_NOMEM, UAR_E_UTF8, or what the buffer says. */
uar_status stream_extract(buffer *out, const extract_passage *passages, size_t count, uint64_t max_tokens,
                          term_key key);

#endif
