/*
 * What makes records findable: their terms and their vectors, kept in step with the rows of `version`. All calls are made
 * with the lock, inside the transaction that wrote the row; a reader sees row and index change together.
 *
 * A vector belongs to the text (its digest) and to one model: it is dropped when either changes.
 */
#ifndef UAR_LIB_MEMORY_SHELF_H
#define UAR_LIB_MEMORY_SHELF_H

#include "memory/caller.h"
#include "memory/service.h"
#include "memory/version.h"

/* Row v was written or changed in any field. `vector` has the dimensions of the memory's embedder and length 1; NULL: the
 * row keeps the vector that it has, as long as its text and the model are the same. */
uar_status shelf_put(uar_memory *m, const version *v, const float *vector, uar_error *err);
/* The same for a new row that keeps the past of row `from`: it takes a copy of the vector that `from` has. Call it before
 * the vector of `from` changes. */
uar_status shelf_put_kept(uar_memory *m, const version *v, int64_t from, uar_error *err);
/* Row v is going: its terms, codes and vector leave the index. */
uar_status shelf_drop(uar_memory *m, const version *v, uar_error *err);
/* Write down what the transaction did; before its commit, which memory_leave_write does. */
uar_status shelf_flush(uar_memory *m, uar_error *err);
/* The transaction is over: forget it, and after a rollback what was learnt inside it. */
void shelf_settle(uar_memory *m, bool is_committed);

/* Give back all memory that is kept between calls. With the lock, outside a transaction. */
void shelf_trim(uar_memory *m);

/* Nearest current documents of one segment and type by cosine, best first, at most `cap`; exact. Only those with a vector
 * of the memory's model that hold now and are not below `least`. `vector` has length 1. Inside a transaction it sees what
 * that wrote. */
uar_status shelf_nearest(engine_near *out, size_t *count, size_t cap, uar_memory *m, int64_t seg, uar_memory_type type,
                         const float *vector, double least, uar_error *err);

/* Searchable rows without a vector of the memory's model, oldest first, behind row `after`, at most `cap`. */
uar_status shelf_unembedded(int64_t *nums, size_t *count, size_t cap, uar_memory *m, int64_t after, uar_error *err);
/* How many searchable rows have no vector of the memory's model. */
uar_status shelf_count_unembedded(uint64_t *out, uar_memory *m, uar_error *err);

/* The vector of a row if it has one of the memory's model: `out` has room for the embedder's dimensions. */
uar_status shelf_vector(float *out, bool *found, uar_memory *m, int64_t num, uar_error *err);
/* True if rows of this memory may have vectors of its model. */
bool shelf_has_vectors(const uar_memory *m);

/* Segments that the caller sees, of the scopes in `scopes` (a bit each; 0: all), for engine_search. Free with alloc_free. */
uar_status shelf_segments(segment_state **out, size_t *count, uar_memory *m, const caller *c, uint32_t scopes,
                          uar_error *err);
/* Where the engine reads from. */
index_source shelf_source(uar_memory *m);
/* Keyed number of a text for document.places; never 0. */
uint32_t shelf_place(const database *db, uar_str text);
/* Its bit in document.labels. */
uint32_t shelf_label(const database *db, uar_str label);

/* Build the chunks of one segment anew from its rows. */
uar_status shelf_rebuild(uar_memory *m, int64_t seg, uar_error *err);
/* Do rows and index of a segment agree? UAR_E_CORRUPT names the fault. */
uar_status shelf_check(uar_memory *m, int64_t seg, uar_error *err);

#endif
