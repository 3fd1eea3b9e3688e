/* A whole copy of an SQLite file that is in use, for the state store and for memory. */
#ifndef UAR_LIB_STORE_SQLITE_COPY_H
#define UAR_LIB_STORE_SQLITE_COPY_H

#include <sqlite3.h>
#include <uar/sys/persistence.h>

#include "base/alloc.h"
#include "base/error.h"

/*
 * Copy what `from` reads, as it is at one moment, into a new file at `path`, check the copy, make it durable, then give it its
 * name. Others may write to the source meanwhile. UAR_E_EXISTS if anything lies at `path` or where its log would lie;
 * UAR_E_CANCELLED when `progress` (may be NULL) says so. On failure nothing is left. `from` must be outside a transaction and
 * is so again at the end; nobody else may use it meanwhile.
 */
uar_status sqlite_copy_to(const uar_allocator *alloc, sqlite3 *from, const char *path,
                          const uar_care_progress *progress, uar_error *err);

/* End a transaction that only read, also when memory is short for it once. A result code. */
int sqlite_end_moment(sqlite3 *db);

/* A new name beside `path`: "<path><mark><16 hex digits>". NULL when there is no memory. */
char *sqlite_name_beside(const uar_allocator *alloc, const char *path, const char *mark);
/* Remove a file and SQLite's companions of it. */
void sqlite_remove_files(const uar_allocator *alloc, const char *path);
/* Make the file at `path` one that needs no log beside it, read all of it and compare tables with indexes: UAR_E_CORRUPT. Nobody
 * else may use it. */
uar_status sqlite_prove(const char *path, uar_error *err);

/* NULL, or one without a function, watches nothing. */
static inline bool care_goes_on(const uar_care_progress *progress, uint64_t done, uint64_t total) {
    return progress == NULL || progress->step == NULL || progress->step(progress->ctx, done, total);
}

#endif
