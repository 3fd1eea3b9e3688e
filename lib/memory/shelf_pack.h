/* Rows as documents, and chunks of them: used by the shelf only. */
#ifndef UAR_LIB_MEMORY_SHELF_PACK_H
#define UAR_LIB_MEMORY_SHELF_PACK_H

#include "memory/shelf.h"

/* The row that a query over SQL_SHELF stands on. What the item points at stays until the next step, but for its vector,
 * which is put into `room`, of `dims` numbers (NULL: leave it out). UAR_E_CORRUPT, UAR_E_NOMEM. */
uar_status shelf_item_read(document_item *out, float *room, size_t dims, query *q, const uar_memory *m);
/* A stored vector: float32, little-endian, with the sum of these bytes behind them. False: it is damaged. */
#define SHELF_VECTOR_SUM 8
bool shelf_vector_read(float *out, size_t dims, uar_str stored);
/* The next row of the segment behind row `after` whose vector, of whatever model, is damaged; 0: there is none. */
uar_status shelf_find_damaged(int64_t *num, uar_memory *m, int64_t seg, int64_t after, uar_error *err);
/* Documents are packed or rewritten when so many are not in a chunk as they are. */
#define SHELF_LOOSE_MOST CHUNK_DOCUMENTS
/* Take rows that are gone out of their chunks. */
uar_status shelf_pack_gone(uar_memory *m, shelf_touched *t, uar_error *err);
/* Pack fresh rows and rewrite chunks with changed ones as long as there are SHELF_LOOSE_MOST of both. */
uar_status shelf_pack_loose(uar_memory *m, shelf_touched *t, uar_error *err);

#endif
