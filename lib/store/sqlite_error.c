/* From SQLite's result codes to statuses and to words that help. Owns nothing. */
#include "store/sqlite.h"

#include <assert.h>
#include <errno.h>

static uar_status special_status(int code) {
    switch (code) {
    case SQLITE_IOERR_NOMEM: return UAR_E_NOMEM;
    case SQLITE_IOERR_CORRUPTFS: return UAR_E_CORRUPT;
    case SQLITE_IOERR_BLOCKED: return UAR_E_BUSY;
    case SQLITE_READONLY_RECOVERY:
    case SQLITE_READONLY_CANTLOCK:
    case SQLITE_READONLY_CANTINIT: return UAR_E_CANTOPEN;
    default: return UAR_OK;
    }
}

uar_status sqlite_status(int code) {
    uar_status special = special_status(code);
    if (special != UAR_OK) return special;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return UAR_OK;
    case SQLITE_FULL: return UAR_E_FULL;
    case SQLITE_IOERR: return UAR_E_IO;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return UAR_E_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return UAR_E_BUSY;
    case SQLITE_READONLY: return UAR_E_READ_ONLY;
    case SQLITE_AUTH:
    case SQLITE_PERM: return UAR_E_PROTECTED;
    case SQLITE_CANTOPEN: return UAR_E_CANTOPEN;
    case SQLITE_NOMEM: return UAR_E_NOMEM;
    case SQLITE_TOOBIG: return UAR_E_TOO_LARGE;
    case SQLITE_INTERRUPT: return UAR_E_CANCELLED;
    case SQLITE_CONSTRAINT: return UAR_E_CONFLICT;
    default: return UAR_E_INTERNAL;
    }
}

static const char *remedy(uar_status status) {
    switch (status) {
    case UAR_E_FULL: return "free some space, then try again";
    case UAR_E_IO: return "check the disk and the connection to it";
    case UAR_E_CORRUPT: return "it was left as it is, restore it from a backup";
    case UAR_E_BUSY: return "another process holds it, try again or raise busy_timeout_ms";
    case UAR_E_READ_ONLY: return "make the file and its folder writable";
    case UAR_E_CANTOPEN: return "check the folder and the permissions";
    case UAR_E_PROTECTED: return "the device keeps it locked, try again when it is unlocked";
    case UAR_E_CANCELLED: return "it was told to stop";
    case UAR_E_NOMEM: return "free some memory";
    case UAR_E_TOO_LARGE: return "store less in one record";
    default: return "please report this";
    }
}

static bool is_refusal(int error) {
    return error == EPERM || error == EACCES;
}

/* What the system said last about one of the files of a connection. */
static int last_error_of(sqlite3 *db, int which) {
    sqlite3_file *file = NULL;
    int error = 0;
    if (sqlite3_file_control(db, "main", which, &file) != SQLITE_OK || file == NULL || file->pMethods == NULL) return 0;
    return file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK ? error : 0;
}

/* A device that is locked refuses what worked a moment ago: an open file can't be read or written, one that is there can't be
 * opened. EACCES at opening is how every system refuses a file that isn't ours. */
static bool is_protection(sqlite3 *db, int code) {
    int kind = code & 0xff;
    if (kind == SQLITE_CANTOPEN) return sqlite3_system_errno(db) == EPERM;
    if (kind != SQLITE_IOERR) return false;
    return is_refusal(sqlite3_system_errno(db)) || is_refusal(last_error_of(db, SQLITE_FCNTL_FILE_POINTER)) ||
           is_refusal(last_error_of(db, SQLITE_FCNTL_JOURNAL_POINTER));
}

uar_status sqlite_status_of(sqlite3 *db, int code) {
    if (db != NULL && is_protection(db, code)) return UAR_E_PROTECTED;
    return sqlite_status(code);
}

/* The end of the path, which names the file, where the whole would crowd out the rest of the message. */
static const char *path_tail(const char *path) {
    enum { TAIL = 110 };
    if (path == NULL) return "(no path)";
    size_t len = strlen(path);
    const char *tail = len > TAIL ? path + len - TAIL : path;
    while (((unsigned char)*tail & 0xc0) == 0x80)
        tail++;
    return tail;
}

uar_status sqlite_explain_at(const char *path, sqlite3 *db, int code, const char *doing, uar_error *err) {
    uar_status status = sqlite_status_of(db, code);
    assert(status != UAR_OK);
    error_set(err, status, "%s: %s failed, %s; %s (SQLite %d)", path_tail(path), doing, sqlite3_errstr(code),
              remedy(status), code);
    if (err != NULL) err->detail = code;
    return status;
}

uar_status sqlite_explain(const sqlite_layer *l, int code, const char *doing, uar_error *err) {
    return sqlite_explain_at(l->path, l->db, code, doing, err);
}

uar_status sqlite_refuse_at(const char *path, uar_status status, const char *text, uar_error *err) {
    return error_set(err, status, "%s: %s", path_tail(path), text);
}

uar_status sqlite_refuse(const sqlite_layer *l, uar_status status, const char *text, uar_error *err) {
    return sqlite_refuse_at(l->path, status, text, err);
}
