/*
 * A look at a write-ahead log for damage that SQLite takes for a torn end.
 *
 * SQLite reads a log up to its first bad frame and drops the rest without a word, because a crash leaves such ends. But each
 * commit is synced before it is acknowledged, so that a crash can only tear the one commit that was being written: nothing
 * was ever written behind it. A commit behind the bad frame with a frame that continues it was therefore acknowledged, and
 * something else has damaged the log. What can't be told from a crash: damage in the last commit, and a log that was cut.
 */
#ifndef UAR_LIB_STORE_SQLITE_SCAN_H
#define UAR_LIB_STORE_SQLITE_SCAN_H

#include <sqlite3.h>
#include <uar/base.h>

#include "base/alloc.h"

typedef struct sqlite_scan {
    bool is_damaged;
    bool has_header;   /* false: the log's own head is damaged, and nothing in it can be read */
    unsigned readable; /* commits before the damage */
    unsigned lost;     /* acknowledged commits behind it, at least */
} sqlite_scan;

/* Scan the log of a connection that has read its file, while other processes may write it. A result code. */
int sqlite_scan_log(sqlite_scan *out, sqlite3 *db, const uar_allocator *alloc);
/* What a damaged log has cost, for people. */
#define SQLITE_SCAN_TEXT 160
void sqlite_scan_tell(char out[SQLITE_SCAN_TEXT], const sqlite_scan *found);

#endif
