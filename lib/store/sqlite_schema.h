/*
 * The tables of a store, and how older ones become these. Forward only; every step of a store that must catch up runs in one
 * transaction, so that a process killed on the way leaves the store as it was.
 */
#ifndef UAR_LIB_STORE_SQLITE_SCHEMA_H
#define UAR_LIB_STORE_SQLITE_SCHEMA_H

#include <sqlite3.h>
#include <uar/persistence.h>

/* "uar1" in the header of the file. */
#define SQLITE_APPLICATION_ID 0x75617231

/* Tells how far a step is. */
typedef struct sqlite_watch {
    const uar_care_progress *host;
    uint64_t base, total; /* thousandths of a step: those of the steps before, and of all */
    bool stopped;
} sqlite_watch;

/* `done` of `total` rows of this step are through; false: stop with SQLITE_INTERRUPT. */
bool sqlite_watch_tell(sqlite_watch *w, uint64_t done, uint64_t total);

/* From one version to the next: `sql`, then `run` (either may be NULL), both inside the transaction. `run` answers with a result
 * code of SQLite. */
typedef struct sqlite_step {
    const char *sql;
    int (*run)(sqlite3 *db, sqlite_watch *watch);
} sqlite_step;

typedef struct sqlite_schema {
    int version;              /* what this library writes */
    int oldest;               /* what it can still read */
    const char *create;       /* all tables of `version` */
    const sqlite_step *steps; /* version - oldest of them; the first leads away from `oldest` */
} sqlite_schema;

extern const sqlite_schema sqlite_schema_now;

/* Inside a write transaction: take a store from `version` to that of the schema. A result code. */
int sqlite_schema_advance(sqlite3 *db, const sqlite_schema *schema, int version, const uar_care_progress *host);
/* The same: make the tables of a new file. */
int sqlite_schema_create(sqlite3 *db, const sqlite_schema *schema);

#endif
