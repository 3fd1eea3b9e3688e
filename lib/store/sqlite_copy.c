/*
 * Owns: a copy until it has its name. It is made under a name of its own, so that a process killed on the way leaves no file
 * that could be taken for a backup.
 */
#include "store/sqlite_copy.h"

#include <assert.h>
#include <stdio.h>

#include "base/file.h"
#include "store/sqlite.h"

char *sqlite_name_beside(const uar_allocator *alloc, const char *path, const char *mark) {
    uint64_t chance = 0;
    char tail[64];
    sqlite3_randomness((int)sizeof chance, &chance);
    int len = snprintf(tail, sizeof tail, "%s%016llx", mark, (unsigned long long)chance);
    assert(len > 0 && (size_t)len < sizeof tail);
    (void)len;
    return file_name_with(alloc, path, tail);
}

static const char *const companions[] = { "", "-wal", "-shm", "-journal" };

void sqlite_remove_files(const uar_allocator *alloc, const char *path) {
    for (size_t i = 0; i < sizeof companions / sizeof companions[0]; i++) {
        char *name = file_name_with(alloc, path, companions[i]);
        if (name != NULL) file_remove(name);
        alloc_free(alloc, name);
    }
}

static uar_status check_free(const uar_allocator *alloc, const char *path, uar_error *err) {
    for (size_t i = 0; i < sizeof companions / sizeof companions[0]; i++) {
        char *name = file_name_with(alloc, path, companions[i]);
        if (name == NULL) return error_plain(err, UAR_E_NOMEM);
        bool taken = file_is_there(name);
        alloc_free(alloc, name);
        if (taken)
            return error_set(err, UAR_E_EXISTS, "%s%s: there is a file already, choose another name", path,
                             companions[i]);
    }
    return UAR_OK;
}

/* ---- pages ---- */

static int begin_moment(sqlite3 *from) {
    sqlite3_int64 tables = 0;
    int code = sqlite3_exec(from, "BEGIN", NULL, NULL, NULL);
    return code == SQLITE_OK ? sqlite_ask(from, "SELECT count(*) FROM sqlite_master", &tables) : code;
}

int sqlite_end_moment(sqlite3 *db) {
    int code = SQLITE_OK;
    for (int i = 0; i < 2 && !sqlite3_get_autocommit(db); i++)
        code = sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return sqlite3_get_autocommit(db) ? SQLITE_OK : code;
}

/* SQLITE_INTERRUPT: told to stop. */
static int copy_pages(sqlite3 *to, sqlite3 *from, const uar_care_progress *progress) {
    enum { PAGES = 256 };
    sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
    if (b == NULL) return sqlite3_extended_errcode(to);
    int code = SQLITE_OK;
    while (code == SQLITE_OK) {
        code = sqlite3_backup_step(b, PAGES);
        uint64_t total = (uint64_t)sqlite3_backup_pagecount(b);
        uint64_t done = total - (uint64_t)sqlite3_backup_remaining(b);
        if ((code == SQLITE_OK || code == SQLITE_DONE) && !care_goes_on(progress, done, total)) code = SQLITE_INTERRUPT;
    }
    int ended = sqlite3_backup_finish(b);
    if (code != SQLITE_DONE) return code;
    return ended;
}

/* The file is durable later on, as a whole; until then nobody needs it. */
static int open_target(sqlite3 **out, const char *path) {
    int code = sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) return code;
    sqlite3_extended_result_codes(*out, 1);
    return sqlite3_exec(*out, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL,
                        NULL, NULL);
}

static uar_status fill_target(const char *target, sqlite3 *from, const uar_care_progress *progress, uar_error *err) {
    sqlite3 *to = NULL;
    int code = open_target(&to, target);
    uar_status status = UAR_OK;
    if (code == SQLITE_OK) code = begin_moment(from);
    if (code == SQLITE_OK) code = copy_pages(to, from, progress);
    if (code != SQLITE_OK) status = sqlite_explain_at(target, to, code, "copying", err);
    int ended = sqlite_end_moment(from);
    if (status == UAR_OK && ended != SQLITE_OK) status = sqlite_explain_at(target, from, ended, "copying", err);
    code = sqlite3_close(to);
    assert(code == SQLITE_OK);
    (void)code;
    return status;
}

uar_status sqlite_prove(const char *path, uar_error *err) {
    /* Without a log the file can be read on its own, also where nothing can be written beside it. */
    static const char settings[] =
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=DELETE; PRAGMA cell_size_check=ON";
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(db, 1);
        code = sqlite3_exec(db, settings, NULL, NULL, NULL);
    }
    uar_status status =
        code == SQLITE_OK ? sqlite_integrity(path, db, err) : sqlite_explain_at(path, db, code, "checking", err);
    code = sqlite3_close(db);
    assert(code == SQLITE_OK);
    (void)code;
    return status;
}

/* ---- the copy as a whole ---- */

static uar_status make_copy(const uar_allocator *alloc, sqlite3 *from, const char *path,
                            const uar_care_progress *progress, uar_error *err) {
    char *target = sqlite_name_beside(alloc, path, "-partial-");
    if (target == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = fill_target(target, from, progress, err);
    if (status == UAR_OK) status = sqlite_prove(target, err);
    if (status == UAR_OK) status = file_publish(target, path, err);
    sqlite_remove_files(alloc, target); /* also what a failing close left beside it */
    alloc_free(alloc, target);
    return status;
}

uar_status sqlite_copy_to(const uar_allocator *alloc, sqlite3 *from, const char *path,
                          const uar_care_progress *progress, uar_error *err) {
    assert(sqlite3_get_autocommit(from));
    if (path == NULL || path[0] == '\0') return error_set(err, UAR_E_INVALID, "a copy needs a path");
    char *given = alloc_text(alloc, uar_str_of(path));
    if (given == NULL) return error_plain(err, UAR_E_NOMEM);
    const sqlite_layer l = { .alloc = *alloc, .path = given };
    sqlite_place place = { NULL, NULL };
    uar_status status = check_free(alloc, path, err);
    if (status == UAR_OK) status = sqlite_place_find(&place, &l, err);
    if (status == UAR_OK) status = make_copy(alloc, from, place.file, progress, err);
    alloc_free(alloc, place.file);
    alloc_free(alloc, place.folder);
    alloc_free(alloc, given);
    return status;
}
