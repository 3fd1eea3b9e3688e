/*
 * Reading a store that may be damaged: every row that can be reached is, whatever lies between. Damaged pages are passed by
 * looking for the nearest row number behind them that can be found. Reads only.
 */
#ifndef UAR_LIB_STORE_SQLITE_WALK_H
#define UAR_LIB_STORE_SQLITE_WALK_H

#include "store/sqlite.h"

typedef struct sqlite_walk {
    const sqlite_layer *l;
    const uar_care_progress *progress;
    uar_store_finding_fn each;
    void *each_ctx;
    uint64_t looked;      /* at so many rows and entries */
    sqlite3_stmt *scan;   /* all rows from a number on */
    sqlite3_stmt *behind; /* the next row number */
    sqlite3_stmt *at;     /* one row */
    sqlite3_stmt *find;   /* a key's row number, by the index */
    arena memory;         /* of the row that was read last */
    uar_record record;    /* that row, valid until the next */
    bool rest_lost;       /* some rows were out of reach */
} sqlite_walk;

/* UAR_E_CORRUPT: there are no tables to read. */
uar_status sqlite_walk_begin(sqlite_walk *w, const sqlite_layer *l, uar_error *err);
void sqlite_walk_end(sqlite_walk *w);

/* Read one row into w->record: UAR_E_NOT_FOUND; UAR_E_CORRUPT: it is damaged (what could be read of its key is in w->record, or
 * absent); others end the walk. */
uar_status sqlite_walk_fetch(sqlite_walk *w, sqlite3_int64 row, uar_error *err);
/* The row of a key by the index: 0: it has none, or the index is damaged there. */
uar_status sqlite_walk_find(sqlite_walk *w, sqlite3_int64 *row, const uar_record *key, uar_error *err);

/* Called for each row, which is in w->record, with UAR_OK or UAR_E_CORRUPT as by sqlite_walk_fetch. Not UAR_OK ends the walk. */
typedef uar_status (*sqlite_row_fn)(void *ctx, sqlite3_int64 row, uar_status fetched, uar_error *err);
uar_status sqlite_walk_rows(sqlite_walk *w, sqlite_row_fn fn, void *ctx, uar_error *err);

typedef enum sqlite_index { SQLITE_INDEX_ID, SQLITE_INDEX_PARENT } sqlite_index;

/* Called for each entry of an index: kind, owner and id are set; what lies in `key` is borrowed for the call. */
typedef uar_status (*sqlite_entry_fn)(void *ctx, const uar_record *key, sqlite3_int64 row, uar_error *err);
/* From both ends, as far as it can be read; `*broken` says that something between was out of reach. */
uar_status sqlite_walk_index(sqlite_walk *w, sqlite_index which, bool *broken, sqlite_entry_fn fn, void *ctx,
                             uar_error *err);

/* Tell the host. `record` may be NULL, its fields absent. */
void sqlite_walk_tell(const sqlite_walk *w, bool is_lost, const uar_record *record, const char *what);

#endif
