/*
 * A summary without a model: the sentences of the sources that say most of what the others say too, in the order of the
 * sources, no word of its own. The same sources give the same summary.
 */
#ifndef UAR_LIB_MEMORY_SUMMARY_H
#define UAR_LIB_MEMORY_SUMMARY_H

#include <uar/memory.h>

#include "base/buffer.h"
#include "index/terms.h"

/* Append chosen sentences, a line each, in at most `wished` bytes; if none fits, the shortest, cut at `most`. UAR_E_NOMEM. */
uar_status summary_extract(buffer *out, term_key key, const uar_memory_record *sources, size_t count, size_t wished,
                           size_t most);

#endif
