/* Documents of a segment and their conversations: used by segment.c only. */
#ifndef UAR_LIB_INDEX_SEGMENT_LINK_H
#define UAR_LIB_INDEX_SEGMENT_LINK_H

#include "index/segment.h"

/* Room for `more` documents. UAR_E_NOMEM. */
uar_status segment_reserve(index_segment *s, size_t more);
/* Put document number `at`, whose attributes are there, into its conversation. UAR_E_NOMEM. */
uar_status segment_link(index_segment *s, uint32_t at);
/* Document `at` goes; `by` (SEGMENT_NONE: none) takes its place. UAR_E_NOMEM. */
uar_status segment_replace(index_segment *s, uint32_t at, uint32_t by);
/* Number of the living document with this key, or SEGMENT_NONE. */
uint32_t segment_find(const index_segment *s, int64_t key);
void segment_groups_dispose(segment_groups *g, const uar_allocator *a);

#endif
