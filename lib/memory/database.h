/*
 * One SQLite connection to a memory store: opening, transactions, statements, errors as statuses.
 * Not thread-safe: its owner holds the memory's mutex around every call. No statement stays stepped between calls.
 */
#ifndef UAR_LIB_MEMORY_DATABASE_H
#define UAR_LIB_MEMORY_DATABASE_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/error.h"
#include "index/terms.h"
#include "memory/schema.h"

typedef struct database {
    sqlite3 *handle;
    sqlite3_stmt *statements[SQL_COUNT_OF_STATEMENTS];
    bool read_only;
    uint32_t busy_timeout_ms;
    term_key key;     /* of this store's term numbers and digests */
    int64_t analysis; /* ANALYSIS_VERSION that its index was made with */
} database;

typedef struct database_options {
    const uar_allocator *alloc;
    const uar_random *random;
    uint32_t busy_timeout_ms;
    bool read_only;
    bool must_exist; /* never make a new store: it held something before */
} database_options;

/* Open or create. UAR_E_CANTOPEN, UAR_E_CORRUPT, UAR_E_NEWER, UAR_E_BUSY, UAR_E_IO, UAR_E_FULL, UAR_E_NOMEM; then it is closed. */
uar_status database_open(database *db, const char *path, const database_options *options, uar_error *err);
void database_close(database *db);
/* Absolute path with symbolic links resolved, for a file that need not exist; NULL if it can't be told. */
char *database_full_path(const uar_allocator *a, const char *path);

/* A snapshot for several reads. End it with database_end_read. */
uar_status database_begin_read(database *db, uar_error *err);
void database_end_read(database *db);
/* Waits for other writers up to the busy timeout: UAR_E_BUSY. */
uar_status database_begin_write(database *db, uar_error *err);
/* Commit if `status` is UAR_OK, else roll back; the status of the whole. */
uar_status database_end_write(database *db, uar_status status, uar_error *err);
/* Run one statement without results, such as a pragma. Its text is a constant. */
uar_status database_run(database *db, const char *sql, uar_error *err);
/* First column of the first row of a constant statement; `fallback` if it has none. */
uar_status database_number(database *db, const char *sql, int64_t *out, uar_error *err);
/* Status of an SQLite result code, with the reason in `err`. */
uar_status database_fault(const database *db, int code, uar_error *err);

/* One execution of a prepared statement. Faults stick: bind and step freely, ask query_end. */
typedef struct query {
    database *db;
    sqlite3_stmt *statement;
    int code;
} query;

void query_begin(query *q, database *db, sql_id id);
void query_int(query *q, int at, int64_t value);
void query_real(query *q, int at, double value);
void query_null(query *q, int at);
/* Bytes must stay until query_end. An absent text is NULL. */
void query_text(query *q, int at, uar_str text);
void query_blob(query *q, int at, const void *bytes, size_t len);
/* None is NULL. */
void query_uuid(query *q, int at, uar_uuid id);
/* True while there is another row. */
bool query_next(query *q);
int64_t query_get_int(const query *q, int column);
double query_get_real(const query *q, int column);
/* Borrowed until the next step; absent for NULL. */
uar_str query_get_text(query *q, int column);
/* A copy in the arena. UAR_E_NOMEM. */
uar_status query_copy_text(uar_str *out, query *q, int column, arena *ar);
uar_uuid query_get_uuid(query *q, int column);
/* First column of the first row, 0 if there is none, and end it. *out is untouched by a failure. */
uar_status query_number(query *q, int64_t *out, uar_error *err);
/* The same of a statement without parameters. */
uar_status statement_number(int64_t *out, database *db, sql_id id, uar_error *err);
/* Let go of the statement. */
uar_status query_end(query *q, uar_error *err);
/* Step a statement that gives no row, and end it. */
uar_status query_run(query *q, uar_error *err);

/* Row numbers, a stretch at a time. */
#define ROW_BATCH 128
typedef struct row_batch {
    int64_t nums[ROW_BATCH];
    size_t count; /* fewer than ROW_BATCH: nothing follows */
} row_batch;
/* The next ones behind `after` by a statement that takes ?18 after and ?19 how many. */
uar_status row_batch_next(row_batch *out, database *db, sql_id id, int64_t after, uar_error *err);

#endif
