/*
 * SQLite's own check of a file's structure, told apart from a disk that fails while it runs. Owns nothing.
 */
#include <assert.h>
#include <limits.h>

#include "store/sqlite.h"

/* The check speaks of a page that it couldn't read as of damage; the result code behind it stands at the end of the line.
 * SQLITE_CORRUPT if there is none. */
static int code_behind(const char *finding) {
    static const char mark[] = "error code=";
    const char *at = strstr(finding, mark);
    if (at == NULL) return SQLITE_CORRUPT;
    int code = 0;
    for (at += sizeof mark - 1; *at >= '0' && *at <= '9' && code < INT_MAX / 10 - 1; at++)
        code = code * 10 + (*at - '0');
    return sqlite_status(code) != UAR_OK ? code : SQLITE_CORRUPT;
}

static uar_status judge_finding(const char *path, sqlite3 *db, const char *finding, uar_error *err) {
    if (strcmp(finding, "ok") == 0) return UAR_OK;
    int code = code_behind(finding);
    if (sqlite_status(code) != UAR_E_CORRUPT) return sqlite_explain_at(path, db, code, "verifying", err);
    uar_status status = sqlite_refuse_at(path, UAR_E_CORRUPT, finding, err);
    if (err != NULL) err->detail = code;
    return status;
}

/* True if every byte of what SQLite has open there can be read. */
static bool file_can_be_read(sqlite3 *db, int which) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    unsigned char piece[4096];
    if (sqlite3_file_control(db, "main", which, &file) != SQLITE_OK || file->pMethods == NULL) return true;
    if (file->pMethods->xFileSize(file, &size) != SQLITE_OK) return false;
    for (sqlite3_int64 at = 0; at < size; at += (sqlite3_int64)sizeof piece) {
        sqlite3_int64 len = size - at < (sqlite3_int64)sizeof piece ? size - at : (sqlite3_int64)sizeof piece;
        if (file->pMethods->xRead(file, piece, (int)len, at) != SQLITE_OK) return false;
    }
    return true;
}

bool sqlite_can_be_read(sqlite3 *db) {
    return file_can_be_read(db, SQLITE_FCNTL_FILE_POINTER) && file_can_be_read(db, SQLITE_FCNTL_JOURNAL_POINTER);
}

static uar_status ask(const char *path, sqlite3 *db, uar_error *err) {
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    const unsigned char *found = code == SQLITE_ROW ? sqlite3_column_text(s, 0) : NULL;
    uar_status status;
    if (code == SQLITE_ROW || code == SQLITE_DONE) code = SQLITE_NOMEM;
    if ((code & 0xff) == SQLITE_ERROR) code = SQLITE_CORRUPT; /* our own SQL is right */
    if (found != NULL)
        status = judge_finding(path, db, (const char *)found, err);
    else
        status = sqlite_explain_at(path, db, code, "verifying", err);
    sqlite3_finalize(s);
    return status;
}

uar_status sqlite_integrity(const char *path, sqlite3 *db, uar_error *err) {
    uar_status status = ask(path, db, err);
    if (status != UAR_E_CORRUPT) return status;
    if (!sqlite_can_be_read(db)) return sqlite_explain_at(path, db, SQLITE_IOERR_READ, "verifying", err);
    return ask(path, db, err);
}
