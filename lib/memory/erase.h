/*
 * Getting deleted bytes out of the file.
 *
 * A deleted row is overwritten (secure_delete), but SQLite may have moved rows about before and left a stray copy in the
 * unused part of a page. Each row carries a random mark at both ends; the marks of deleted rows wait (inverted) in `erasure`.
 * Cleaning empties the log into the file, searches the file for the marks, rebuilds the file if one is found, and only then
 * strikes them off the list.
 */
#ifndef UAR_LIB_MEMORY_ERASE_H
#define UAR_LIB_MEMORY_ERASE_H

#include "memory/service.h"
#include "memory/version.h"

/* Note the mark of a row that this transaction deletes. */
uar_status erase_note(database *db, const uint8_t mark[MARK_BYTES], uar_error *err);
/* How many marks wait. */
uar_status erase_count(uint64_t *out, database *db, uar_error *err);
/* Clean what waits; `pending` gets how many marks are left. With the lock, outside a transaction. A busy file or one that
 * can't be rebuilt now is no error: what is left stays on the list. */
uar_status erase_pending(uar_memory *memory, uint64_t *pending, uar_error *err);
/* The same behind a deletion that is committed, without the lock. True if nothing waits any more. */
bool erase_now(uar_memory *memory);

#endif
