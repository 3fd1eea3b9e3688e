/*
 * The SQLite layer's own types, for the sqlite*.c files only.
 *
 * One connection, used by one call at a time (the library never overlaps calls on a layer that isn't `concurrent`), from any
 * thread. Every statement is prepared once and reset right after use, so that no lock outlives a call.
 */
#ifndef UAR_LIB_STORE_SQLITE_H
#define UAR_LIB_STORE_SQLITE_H

#include <sqlite3.h>
#include <uar/store_care.h>

#include "base/arena.h"
#include "base/error.h"
#include "store/sqlite_schema.h"

/* Stores up to this size are verified whole when they are opened (about 0.2 s at most); larger ones would take too long. */
#define SQLITE_VERIFY_BYTES ((sqlite3_int64)64 << 20)

/* Prepared statements: X(name, sql). */
#define SQLITE_COLUMNS "kind, owner, id, parent, revision, sort, schema, created_ms, updated_ms, body, blob, checksum"
#define SQLITE_STATEMENTS(X)                                                                                      \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                                   \
    X(COMMIT, "COMMIT")                                                                                           \
    X(ROLLBACK, "ROLLBACK")                                                                                       \
    X(REVISION, "SELECT revision FROM record INDEXED BY record_id WHERE kind=?1 AND owner=?2 AND id=?3")          \
    X(INSERT, "INSERT INTO record(" SQLITE_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)")            \
    X(UPDATE, "UPDATE record INDEXED BY record_id SET parent=?4, revision=?5, sort=?6, schema=?7, created_ms=?8," \
              " updated_ms=?9, body=?10, blob=?11, checksum=?12"                                                  \
              " WHERE kind=?1 AND owner=?2 AND id=?3 AND revision=?13")                                           \
    X(DELETE, "DELETE FROM record INDEXED BY record_id WHERE kind=?1 AND owner=?2 AND id=?3 AND revision=?13")    \
    X(DELETE_CHILDREN, "DELETE FROM record INDEXED BY record_parent WHERE kind=?1 AND owner=?2 AND parent=?4")    \
    X(GET, "SELECT " SQLITE_COLUMNS " FROM record INDEXED BY record_id WHERE kind=?1 AND owner=?2 AND id=?3")     \
    X(LIST_KEY, "SELECT " SQLITE_COLUMNS " FROM record INDEXED BY record_id"                                      \
                " WHERE kind=?1 AND owner=?2 AND id>?3 ORDER BY id LIMIT ?14")                                    \
    X(LIST_KEY_OF, "SELECT " SQLITE_COLUMNS " FROM record INDEXED BY record_parent"                               \
                   " WHERE kind=?1 AND owner=?2 AND parent=?4 AND id>?3 ORDER BY id LIMIT ?14")                   \
    X(LIST_SORT, "SELECT " SQLITE_COLUMNS " FROM record INDEXED BY record_id WHERE kind=?1 AND owner=?2"          \
                 " AND sort IS NOT NULL AND (sort, id)>(?6, ?3) ORDER BY sort, id LIMIT ?14")                     \
    X(LIST_SORT_OF, "SELECT " SQLITE_COLUMNS " FROM record INDEXED BY record_sort WHERE kind=?1 AND owner=?2"     \
                    " AND parent=?4 AND sort IS NOT NULL AND (sort, id)>(?6, ?3) ORDER BY sort, id LIMIT ?14")

typedef enum sqlite_statement {
#define X_ENUM(name, sql) SQLITE_RUN_##name,
    SQLITE_STATEMENTS(X_ENUM)
#undef X_ENUM
        SQLITE_STATEMENT_COUNT
} sqlite_statement;

/* The numbered parameters above, which are also the columns of a record. */
enum sqlite_slot {
    SLOT_KIND = 1,
    SLOT_OWNER,
    SLOT_ID,
    SLOT_PARENT,
    SLOT_REVISION,
    SLOT_SORT,
    SLOT_SCHEMA,
    SLOT_CREATED,
    SLOT_UPDATED,
    SLOT_BODY,
    SLOT_BLOB,
    SLOT_CHECKSUM,
    SLOT_EXPECTED,
    SLOT_LIMIT
};

typedef struct sqlite_layer {
    uar_persistence door;
    uar_allocator alloc;
    char *path;   /* as given; NULL if none was */
    char *file;   /* absolute path of the file, once open */
    char *folder; /* real path of the folder, once open */
    uar_sqlite_options options;
    uar_error options_fault; /* why the options can't be used */
    const sqlite_schema *schema;
    sqlite3 *db;   /* NULL: not open */
    bool salvages; /* what is damaged is read as far as it goes */
    int log_pages; /* of the write-ahead log, after the last commit */
    int log_seen;  /* and when it was last shortened, or tried to be */
    sqlite3_stmt *statements[SQLITE_STATEMENT_COUNT];
} sqlite_layer;

/* ---- sqlite.c ---- */

/* The defaults for what is 0. */
void sqlite_fill_options(uar_sqlite_options *options);

/* ---- sqlite_open.c ---- */

uar_status sqlite_open(void *ctx, uar_error *err);
/* Give the connection back, or open the same file anew: slots of the door. */
uar_status sqlite_suspend(void *ctx, uar_error *err);
uar_status sqlite_resume(void *ctx, uar_error *err);
/* A connection alone: hardened, with the settings that durability stands on. Makes a file only if l->file is NULL. */
uar_status sqlite_connect(sqlite_layer *l, const char *file, uar_error *err);
/* Whether the file is a store that this library knows: UAR_E_CANTOPEN, UAR_E_NEWER, UAR_E_CORRUPT. Of any readable version. */
uar_status sqlite_identify(const sqlite_layer *l, uar_error *err);
/* Finalize the statements and close the connection, if there is one. */
void sqlite_close(sqlite_layer *l);
const char *sqlite_text(sqlite_statement s);
/* What every connection to a store needs, whoever opens it: nothing stored runs as code. */
void sqlite_harden(sqlite3 *db);
/* How long a connection waits for another, in milliseconds. */
int sqlite_patience(const sqlite_layer *l);
/* First column of the first row, or 0 if there is none. A result code. */
int sqlite_ask(sqlite3 *db, const char *sql, sqlite3_int64 *out);
/* The layer with another schema than this library's: for tests of what older and newer versions do. */
const uar_persistence *sqlite_new_with(const uar_allocator *alloc, const char *path, const uar_sqlite_options *options,
                                       const sqlite_schema *schema);

/* ---- sqlite_log.c: the write-ahead log stays small ---- */

/* Keep count of the log from now on. */
void sqlite_log_watch(sqlite_layer *l);
/* After a commit: move what was written into the file, when there is enough of it. Failing is no fault of the commit. */
void sqlite_log_tend(sqlite_layer *l);
/* Move all of the log into the file and cut it to nothing, as far as other connections allow it within `patience_ms`. */
int sqlite_log_cut(sqlite3 *db, int patience_ms);

/* ---- sqlite_care.c, sqlite_check.c: slots of the door ---- */

/* Another connection to an open store's file. Close it with sqlite_close; all else of it is borrowed from `l`. */
uar_status sqlite_open_beside(sqlite_layer *out, const sqlite_layer *l, uar_error *err);
uar_status sqlite_backup(void *ctx, const char *path, const uar_care_progress *progress, uar_error *err);
uar_status sqlite_maintain(void *ctx, const uar_care_options *options, const uar_care_progress *progress,
                           uar_store_care *report, uar_error *err);
/* Who hears of findings and of progress. */
typedef struct sqlite_listener {
    uar_store_finding_fn each; /* may be NULL */
    void *each_ctx;
    const uar_care_progress *progress; /* may be NULL */
} sqlite_listener;
/* Check the store that a connection has open, whatever state it is in. */
uar_status sqlite_check_with(const sqlite_layer *l, const sqlite_listener *to, uar_store_check *report, uar_error *err);
/* uar_sqlite_check and uar_sqlite_repair with an allocator. */
uar_status sqlite_check_file(uar_store_check *out, const uar_allocator *alloc, const char *path,
                             const uar_sqlite_options *options, const sqlite_listener *to, uar_error *err);
uar_status sqlite_repair_file(uar_store_repair *out, const uar_allocator *alloc, const char *path,
                              const uar_sqlite_options *options, const sqlite_listener *to, uar_error *err);
uar_status sqlite_check(void *ctx, uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                        uar_store_check *report, uar_error *err);

/* ---- sqlite_path.c ---- */

/* What the file system says of a store's path. */
typedef struct sqlite_place {
    char *file;   /* absolute path without symbolic links, for SQLite */
    char *folder; /* the folder that holds it */
} sqlite_place;

/* UAR_E_CANTOPEN when a folder is missing or the path names one; UAR_E_NOMEM. Free both with alloc_free. */
uar_status sqlite_place_find(sqlite_place *out, const sqlite_layer *l, uar_error *err);
/* True if the file has bytes but less than a page: SQLite would take some of these for empty and write over them. */
bool sqlite_is_too_short(const char *file);
/* True if the write-ahead log beside `file` holds data although the file itself is missing or empty. */
bool sqlite_log_is_orphan(const sqlite_layer *l, const char *file);

/* ---- sqlite_error.c ---- */

/* The status of an (extended) result code; SQLITE_OK, ROW and DONE are UAR_OK. */
uar_status sqlite_status(int code);
/* The same, right after the fault: a file that the device keeps locked is told from a broken disk. `db` may be NULL. */
uar_status sqlite_status_of(sqlite3 *db, int code);
/* Say what failed, for which file, and what helps. Returns the status of the code; `code` must be an error. */
uar_status sqlite_explain(const sqlite_layer *l, int code, const char *doing, uar_error *err);
uar_status sqlite_explain_at(const char *path, sqlite3 *db, int code, const char *doing, uar_error *err);
/* The same for a fault that SQLite has no code for: "<path>: <text>". */
uar_status sqlite_refuse(const sqlite_layer *l, uar_status status, const char *text, uar_error *err);

uar_status sqlite_refuse_at(const char *path, uar_status status, const char *text, uar_error *err);

/* ---- sqlite_integrity.c ---- */

/* Read everything once and compare tables with indexes: UAR_E_CORRUPT. Some findings hide a disk that failed to give a page: the
 * file is called damaged only if it can be read and is found so twice. */
uar_status sqlite_integrity(const char *path, sqlite3 *db, uar_error *err);
/* Whether every byte of the file and of its log can be read. */
bool sqlite_can_be_read(sqlite3 *db);

/* ---- sqlite_read.c, sqlite_write.c: slots of the door ---- */

void sqlite_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done);
void sqlite_list(void *ctx, const uar_list_query *query, uar_completion *done);
void sqlite_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done);

/* One row of SQLITE_COLUMNS. UAR_E_CORRUPT: not what this layer writes; UAR_E_NOMEM. */
uar_status sqlite_read_row(uar_record *out, sqlite3_stmt *s, arena *memory);
/* Binds the parameters of one statement; the first error stays in `code` and is reported when the statement is run. */
typedef struct sqlite_binder {
    sqlite3_stmt *s;
    int code;
} sqlite_binder;

void sqlite_bind_integer(sqlite_binder *b, int slot, int64_t value);
/* Absent is NULL, empty is an empty blob. The bytes must stay until the statement is reset. */
void sqlite_bind_bytes(sqlite_binder *b, int slot, uar_str text);
void sqlite_bind_key(sqlite_binder *b, uint32_t kind, uar_str owner, uar_str id);
/* All columns of a record. */
void sqlite_bind_record(sqlite_binder *b, const uar_record *r);
/* Reset and forget what was bound. */
void sqlite_reset(sqlite3_stmt *s);

#endif
