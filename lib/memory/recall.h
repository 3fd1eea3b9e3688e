/*
 * The memory block of a run: relevant records as quoted data, within a budget.
 *
 * Promises: the text is valid, on one line a record; nothing a record says can close the block, begin a line or hide from a
 * reader; the same records give the same bytes (no clock, records in the order in which they were said).
 */
#ifndef UAR_LIB_MEMORY_RECALL_H
#define UAR_LIB_MEMORY_RECALL_H

#include <uar/memory.h>

#include "base/arena.h"

typedef struct memory_recalled_hit {
    uar_uuid id;
    double score;
    uar_str content; /* as stored, for the capture's check of repeats */
} memory_recalled_hit;

/* Freed with memory_recalled_free. */
typedef struct memory_recalled {
    uar_str block;                   /* absent if nothing was recalled */
    const memory_recalled_hit *hits; /* what is in the block, best first */
    size_t count;
    uar_allocator alloc;
    arena ar;
} memory_recalled;

/* What is searched for: a text may be longer than a question. */
uar_str memory_recall_question(uar_str text);
/*
 * Search for `text` and build the block; at most `max_tokens` by memory_estimate_tokens. Counts the recall of what is in it.
 * An operator identity is refused (UAR_E_FORBIDDEN): injection never takes it.
 */
uar_status memory_recall_block(memory_recalled **out, uar_memory *memory, const uar_identity *who, uar_str text,
                               uint32_t max_tokens, uar_error *err);
void memory_recalled_free(memory_recalled *recalled);

/* Tokens of a text, rather too many than too few: four bytes of ASCII a token, a character of CJK a token. */
size_t memory_estimate_tokens(uar_str text);

#endif
