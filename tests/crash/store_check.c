/* Reads stores behind the library's back, through SQLite's own functions. Owns nothing. */
#include "store_check.h"

#include <dirent.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uar/memory.h>
#include <unistd.h>

static sqlite3 *open_file(case_result *r, const char *path) {
    sqlite3 *db = NULL;
    if (access(path, F_OK) != 0) return NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) return db;
    case_fail(r, "%s can't be opened", path);
    (void)sqlite3_close(db);
    return NULL;
}

void check_integrity(case_result *r, const char *path) {
    sqlite3 *db = open_file(r, path);
    if (db == NULL) return;
    sqlite3_stmt *s = NULL;
    const char *found = NULL;
    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        found = (const char *)sqlite3_column_text(s, 0);
    if (found == NULL) found = sqlite3_errmsg(db);
    if (strcmp(found, "ok") != 0) case_fail(r, "%s is damaged: %s", path, found);
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
}

/* A number, or -1 after a fault. */
static sqlite3_int64 count(case_result *r, sqlite3 *db, const char *sql) {
    sqlite3_stmt *s = NULL;
    sqlite3_int64 n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int64(s, 0);
    if (n < 0) case_fail(r, "%s: %s", sql, sqlite3_errmsg(db));
    (void)sqlite3_finalize(s);
    return n;
}

/* Each must count none. Kinds: session 1, message 2, run 50, checkpoint 51, open run 71. */
static const struct {
    const char *fault, *sql;
} rules[] = {
    { "a run says that it is open, the index of open runs doesn't",
      "SELECT count(*) FROM record r WHERE kind=50 AND json_extract(CAST(body AS TEXT), '$.state')='running'"
      " AND NOT EXISTS(SELECT 1 FROM record o WHERE o.kind=71 AND o.id=r.id)" },
    { "the index of open runs names a run that isn't open",
      "SELECT count(*) FROM record o WHERE kind=71 AND NOT EXISTS(SELECT 1 FROM record r WHERE r.kind=50 AND r.id=o.id"
      " AND json_extract(CAST(r.body AS TEXT), '$.state')='running')" },
    { "a run has no checkpoint", "SELECT count(*) FROM record r WHERE kind=50 AND NOT EXISTS(SELECT 1 FROM record c "
                                 "WHERE c.kind=51 AND c.id=r.id)" },
    { "a message has no session",
      "SELECT count(*) FROM record m WHERE kind=2 AND NOT EXISTS(SELECT 1 FROM record s WHERE s.kind=1 AND"
      " s.owner=m.owner AND s.id=m.parent)" },
    { "two messages of a session have one number",
      "SELECT count(*) - count(DISTINCT hex(owner) || '/' || hex(parent) || '/' || sort) FROM record WHERE kind=2" },
    { "a session miscounts its messages",
      "SELECT count(*) FROM record s WHERE kind=1 AND json_extract(CAST(body AS TEXT), '$.messages')<>(SELECT count(*)"
      " FROM record m WHERE m.kind=2 AND m.owner=s.owner AND m.parent=s.id)" },
    { "a message has a number that its session didn't give",
      "SELECT count(*) FROM record m WHERE kind=2 AND sort>(SELECT json_extract(CAST(s.body AS TEXT), '$.last') FROM"
      " record s WHERE s.kind=1 AND s.owner=m.owner AND s.id=m.parent)" },
};

void check_state(case_result *r, const char *path, unsigned open_most) {
    check_integrity(r, path);
    sqlite3 *db = open_file(r, path);
    if (db == NULL) return;
    /* A store whose making was cut short has no table yet. */
    bool is_made = count(r, db, "SELECT count(*) FROM sqlite_master WHERE name='record'") == 1;
    for (size_t i = 0; is_made && i < sizeof rules / sizeof rules[0]; i++) {
        sqlite3_int64 n = count(r, db, rules[i].sql);
        if (n > 0) case_fail(r, "%s (%lld)", rules[i].fault, (long long)n);
    }
    if (is_made) {
        sqlite3_int64 open = count(r, db, "SELECT count(*) FROM record WHERE kind=71");
        if (open > (sqlite3_int64)open_most)
            case_fail(r, "%lld runs are open, at most %u can", (long long)open, open_most);
    }
    (void)sqlite3_close(db);
}

void check_memory(case_result *r, const char *path) {
    if (access(path, F_OK) != 0) return;
    uar_error err = UAR_ERROR_INIT;
    uar_memory *memory = uar_memory_open(path, NULL);
    if (uar_memory_state(memory, &err) != UAR_MEMORY_READY)
        case_fail(r, "the memory is not ready: %s", err.message);
    else if (uar_memory_check_sync(memory, &err) != UAR_OK)
        case_fail(r, "the memory is not consistent: %s", err.message);
    uar_memory_free(memory);
    check_integrity(r, path);
}

static bool file_has_bytes(const char *path, const char *bytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    size_t want = strlen(bytes), at = 0;
    bool found = false;
    /* The tokens looked for begin with a byte that they don't hold again, so that one pass is enough. */
    for (int c = getc(file); c != EOF && !found; c = getc(file)) {
        if (c != bytes[at]) at = 0;
        if (c == bytes[at]) at++;
        found = at == want;
    }
    fclose(file);
    return found;
}

bool folder_has_bytes(const char *folder, const char *bytes) {
    DIR *list = opendir(folder);
    bool found = false;
    for (struct dirent *e = list != NULL ? readdir(list) : NULL; e != NULL && !found; e = readdir(list)) {
        char path[PATH_MAX];
        int len = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && len > 0 && (size_t)len < sizeof path) found = file_has_bytes(path, bytes);
    }
    if (list != NULL) (void)closedir(list);
    return found;
}
