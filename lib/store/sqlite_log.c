/*
 * The write-ahead log stays small. Every LOG_STEP pages what was committed is moved into the file, without waiting for
 * anybody; then the log is written anew from its start. A reader that holds an old moment keeps it from starting anew, and it
 * grows; once it is longer than LOG_LONG pages it is cut to nothing as soon as that reader is gone, tried each
 * LOG_AGAIN pages. Owns nothing.
 */
#include "store/sqlite.h"

enum { LOG_STEP = 1000, LOG_LONG = 4000, LOG_AGAIN = 250 };

static int on_log(void *ctx, sqlite3 *db, const char *name, int pages) {
    (void)db, (void)name;
    sqlite_layer *l = ctx;
    l->log_pages = pages;
    return SQLITE_OK;
}

void sqlite_log_watch(sqlite_layer *l) {
    l->log_pages = l->log_seen = 0;
    (void)sqlite3_wal_hook(l->db, on_log, l); /* and with it SQLite's own checkpoints are off */
}

int sqlite_log_cut(sqlite3 *db, int patience_ms) {
    int left = 0, moved = 0;
    sqlite3_busy_timeout(db, patience_ms);
    return sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &left, &moved);
}

void sqlite_log_tend(sqlite_layer *l) {
    if (l->log_pages < l->log_seen) l->log_seen = 0; /* it began anew */
    if (l->log_pages < LOG_STEP || l->log_pages - l->log_seen < LOG_AGAIN) return;
    l->log_seen = l->log_pages;
    if (l->log_pages >= LOG_LONG) {
        (void)sqlite_log_cut(l->db, 0);
        sqlite3_busy_timeout(l->db, sqlite_patience(l));
    } else {
        (void)sqlite3_wal_checkpoint_v2(l->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
}
