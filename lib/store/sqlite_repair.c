/*
 * Repair of an SQLite store: all that is whole goes into a new file, which then takes the place of the damaged one.
 * Owns: both connections and the new file until it has its name. Invariants: nobody else has the damaged file open; its log is
 * empty and gone before the new file takes its name, so that it can't be taken for that one's; until then nothing is changed
 * that the store is read from.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>

#include <uar/store_care.h>

#include "base/file.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "store/sqlite.h"
#include "store/sqlite_copy.h"
#include "store/sqlite_walk.h"

typedef struct repair {
    sqlite_layer l;    /* the damaged file */
    sqlite_walk walk;  /* over it */
    sqlite3 *to;       /* the new file */
    sqlite3_stmt *put; /* keeps the newer of two */
    sqlite3_stmt *has;
    sqlite3_stmt *name; /* remembers what may be lost */
    uar_store_repair report;
} repair;

static uar_status target_fault(const repair *r, int code, uar_error *err) {
    return sqlite_explain_at(r->l.path, r->to, code, "writing the new file", err);
}

/* ---- the new file ---- */

static const char put_sql[] =
    "INSERT INTO record(" SQLITE_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)"
    " ON CONFLICT(kind,owner,id) DO UPDATE SET parent=?4, revision=?5, sort=?6, schema=?7, created_ms=?8,"
    " updated_ms=?9, body=?10, blob=?11, checksum=?12 WHERE excluded.revision>record.revision";
static const char has_sql[] = "SELECT 1 FROM record INDEXED BY record_id WHERE kind=?1 AND owner=?2 AND id=?3";
static const char name_sql[] = "INSERT OR IGNORE INTO temp.named(kind, owner, id) VALUES(?1,?2,?3)";

static int prepare_target(repair *r) {
    static const char set_up[] =
        "PRAGMA temp_store=MEMORY; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
        "PRAGMA auto_vacuum=INCREMENTAL; BEGIN";
    int code = sqlite3_exec(r->to, set_up, NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite_schema_create(r->to, r->l.schema);
    if (code == SQLITE_OK)
        code = sqlite3_exec(r->to, "CREATE TEMP TABLE named(kind, owner, id, PRIMARY KEY(kind, owner, id))", NULL, NULL,
                            NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(r->to, put_sql, -1, &r->put, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(r->to, has_sql, -1, &r->has, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(r->to, name_sql, -1, &r->name, NULL);
    return code;
}

static uar_status open_target(repair *r, const char *path, uar_error *err) {
    int code = sqlite3_open_v2(path, &r->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(r->to, 1);
        code = prepare_target(r);
    }
    return code == SQLITE_OK ? UAR_OK : target_fault(r, code, err);
}

static void close_target(repair *r) {
    sqlite3_finalize(r->put);
    sqlite3_finalize(r->has);
    sqlite3_finalize(r->name);
    r->put = r->has = r->name = NULL;
    int code = sqlite3_close(r->to);
    assert(code == SQLITE_OK);
    (void)code;
    r->to = NULL;
}

/* Step a statement that has a key; `*found` is true if it gave a row. */
static uar_status run_key(repair *r, sqlite3_stmt *s, const uar_record *key, bool *found, uar_error *err) {
    sqlite_binder b = { .s = s };
    sqlite_bind_key(&b, key->kind, key->owner, key->id);
    int code = b.code == SQLITE_OK ? sqlite3_step(s) : b.code;
    *found = code == SQLITE_ROW;
    sqlite_reset(s);
    return code == SQLITE_ROW || code == SQLITE_DONE ? UAR_OK : target_fault(r, code, err);
}

static uar_status keep(repair *r, const uar_record *record, uar_error *err) {
    sqlite_binder b = { .s = r->put };
    sqlite_bind_record(&b, record);
    int code = b.code == SQLITE_OK ? sqlite3_step(r->put) : b.code;
    sqlite_reset(r->put);
    return code == SQLITE_DONE ? UAR_OK : target_fault(r, code, err);
}

/* ---- salvage ---- */

static void tell_unnamed(repair *r, const char *what) {
    r->report.lost++;
    sqlite_walk_tell(&r->walk, true, NULL, what);
}

/* Perhaps: another way may lead to it yet. */
static uar_status remember_lost(repair *r, const uar_record *key, uar_error *err) {
    bool ignored;
    return run_key(r, r->name, key, &ignored, err);
}

/* What was remembered and didn't turn up. */
static uar_status tell_lost(repair *r, uar_error *err) {
    static const char sql[] = "SELECT kind, owner, id FROM temp.named AS n WHERE NOT EXISTS"
                              " (SELECT 1 FROM record AS r WHERE r.kind=n.kind AND r.owner=n.owner AND r.id=n.id)"
                              " ORDER BY kind, owner, id";
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(r->to, sql, -1, &s, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(s);
        if (code != SQLITE_ROW) break;
        const uar_record key = {
            .kind = (uint32_t)sqlite3_column_int64(s, 0),
            .owner = uar_str_n(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1)),
            .id = uar_str_n(sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2)),
        };
        r->report.lost++;
        sqlite_walk_tell(&r->walk, true, &key, "the record is damaged or missing");
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? UAR_OK : target_fault(r, code, err);
}

static uar_status on_row(void *ctx, sqlite3_int64 row, uar_status fetched, uar_error *err) {
    repair *r = ctx;
    (void)row;
    if (fetched == UAR_OK) return keep(r, &r->walk.record, err);
    r->walk.rest_lost = true; /* an index names it, or nobody can */
    return UAR_OK;
}

static uar_status on_entry(void *ctx, const uar_record *key, sqlite3_int64 row, uar_error *err) {
    repair *r = ctx;
    bool is_kept = false;
    if (key->owner.ptr == NULL || key->id.ptr == NULL) return UAR_OK;
    uar_status status = run_key(r, r->has, key, &is_kept, err);
    if (status != UAR_OK || is_kept) return status;
    status = sqlite_walk_fetch(&r->walk, row, err);
    /* A whole record of another key: it is the entry that is damaged. */
    if (status == UAR_OK) return keep(r, &r->walk.record, err);
    if (status == UAR_E_CORRUPT || status == UAR_E_NOT_FOUND) return remember_lost(r, key, err);
    return status;
}

static uar_status salvage(repair *r, uar_error *err) {
    bool broken[2] = { false, false };
    uar_status status = sqlite_walk_rows(&r->walk, on_row, r, err);
    if (status == UAR_OK) status = sqlite_walk_index(&r->walk, SQLITE_INDEX_ID, &broken[0], on_entry, r, err);
    if (status == UAR_OK) status = sqlite_walk_index(&r->walk, SQLITE_INDEX_PARENT, &broken[1], on_entry, r, err);
    if (status == UAR_OK) status = tell_lost(r, err);
    if (status != UAR_OK) return status;
    if (r->walk.rest_lost && broken[0]) tell_unnamed(r, "some records lie on damaged pages and can't be named");
    int code = sqlite3_exec(r->to, "COMMIT; DROP TABLE temp.named", NULL, NULL, NULL);
    sqlite3_int64 count = 0;
    if (code == SQLITE_OK) code = sqlite_ask(r->to, "SELECT count(*) FROM record", &count);
    r->report.records = (uint64_t)count;
    return code == SQLITE_OK ? UAR_OK : target_fault(r, code, err);
}

static uar_status fill(repair *r, const char *target, uar_error *err) {
    uar_status status = open_target(r, target, err);
    if (status == UAR_OK) status = sqlite_walk_begin(&r->walk, &r->l, err);
    if (status == UAR_OK) {
        status = salvage(r, err);
        sqlite_walk_end(&r->walk);
    }
    close_target(r);
    return status == UAR_OK ? sqlite_prove(target, err) : status;
}

/* ---- changing places ---- */

static bool read_piece(void *ctx, void *to, size_t len, uint64_t at) {
    sqlite3_file *file = ctx;
    return file->pMethods->xRead(file, to, (int)len, (sqlite3_int64)at) == SQLITE_OK;
}

/* Where a file can't have two names it is copied, by SQLite's own handle: another would drop its locks. */
static uar_status keep_aside(const repair *r, const char *aside, uar_error *err) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    if (file_link(r->l.file, aside)) return UAR_OK;
    int code = sqlite3_file_control(r->l.db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
    if (code != SQLITE_OK) return sqlite_explain(&r->l, code, "keeping the damaged file", err);
    return file_write_new(aside, (uint64_t)size, read_piece, file, err);
}

/* Move the log into the damaged file and end it. */
static uar_status end_log(const repair *r, uar_error *err) {
    int code = sqlite3_exec(r->l.db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
    if (code != SQLITE_OK) return sqlite_explain(&r->l, code, "ending the log", err);
    char *log = file_name_with(&r->l.alloc, r->l.file, "-wal");
    if (log == NULL) return error_plain(err, UAR_E_NOMEM);
    bool is_left = file_is_there(log);
    alloc_free(&r->l.alloc, log);
    return is_left ? sqlite_refuse(&r->l, UAR_E_BUSY, "its log is still there: somebody uses the store", err) : UAR_OK;
}

static uar_status change_places(repair *r, const char *target, uar_error *err) {
    char *aside = sqlite_name_beside(&r->l.alloc, r->l.file, "-damaged-");
    if (aside == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = end_log(r, err);
    if (status == UAR_OK) status = keep_aside(r, aside, err);
    if (status == UAR_OK) {
        status = file_replace(target, r->l.file, err);
        if (status != UAR_OK) file_remove(aside);
    }
    if (status == UAR_OK) {
        r->report.replaced = true;
        snprintf(r->report.aside, sizeof r->report.aside, "%s", aside + strlen(r->l.file));
    }
    alloc_free(&r->l.alloc, aside);
    return status;
}

static uar_status rebuild(repair *r, uar_error *err) {
    char *target = sqlite_name_beside(&r->l.alloc, r->l.file, "-repair-");
    if (target == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = fill(r, target, err);
    if (status == UAR_OK) status = change_places(r, target, err);
    sqlite_remove_files(&r->l.alloc, target); /* also what a failing close left beside it */
    alloc_free(&r->l.alloc, target);
    return status;
}

/* ---- the damaged file ---- */

/* From here on nobody else can open it. Rolled back: to begin writing, SQLite mends the page count of a file that was cut. */
static uar_status lock_out_others(const sqlite_layer *l, uar_error *err) {
    int code = sqlite3_exec(l->db, "PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);
    if (code == SQLITE_OK) return UAR_OK;
    uar_status status = sqlite_explain(l, code, "locking", err);
    if (status == UAR_E_BUSY) sqlite_refuse(l, status, "somebody has the store open, close it first", err);
    return status;
}

/* Find and connect, without asking whether it is whole. */
static uar_status open_any(sqlite_layer *l, uar_error *err) {
    sqlite_place place;
    uar_status status = sqlite_place_find(&place, l, err);
    if (status != UAR_OK) return status;
    l->file = place.file;
    l->folder = place.folder;
    if (sqlite_log_is_orphan(l, l->file))
        return sqlite_refuse(l, UAR_E_CORRUPT, "the file is gone or empty but its log holds data, restore the file",
                             err);
    if (sqlite_is_too_short(l->file))
        return sqlite_refuse(l, UAR_E_CORRUPT, "the file is too short to be a store", err);
    status = sqlite_connect(l, l->file, err);
    return status == UAR_OK ? sqlite_identify(l, err) : status;
}

static void close_any(sqlite_layer *l) {
    sqlite_close(l);
    alloc_free(&l->alloc, l->file);
    alloc_free(&l->alloc, l->folder);
    alloc_free(&l->alloc, l->path);
}

static uar_status begin_any(sqlite_layer *l, const uar_allocator *alloc, const char *path,
                            const uar_sqlite_options *options, bool read_only, uar_error *err) {
    *l = (sqlite_layer){ .alloc = *alloc, .schema = &sqlite_schema_now };
    uar_status status = struct_in(&l->options, sizeof l->options, options, "uar_sqlite_options", err);
    if (status != UAR_OK) return status;
    if (path == NULL || path[0] == '\0')
        return error_set(err, UAR_E_INVALID, "an SQLite store needs the path of its file");
    sqlite_fill_options(&l->options);
    l->options.read_only = read_only;
    l->salvages = true;
    l->path = alloc_text(&l->alloc, uar_str_of(path));
    return l->path != NULL ? open_any(l, err) : error_plain(err, UAR_E_NOMEM);
}

uar_status sqlite_check_file(uar_store_check *out, const uar_allocator *alloc, const char *path,
                             const uar_sqlite_options *options, const sqlite_listener *to, uar_error *err) {
    if (out == NULL) return error_set(err, UAR_E_INVALID, "out is NULL");
    sqlite_layer l;
    uar_store_check report = { .size = UAR_STORE_CHECK_INIT };
    uar_status status = begin_any(&l, alloc, path, options, true, err);
    if (status == UAR_OK) status = sqlite_check_with(&l, to, &report, err);
    close_any(&l);
    if (status == UAR_OK) struct_out(out, &report, sizeof report);
    return status;
}

uar_status uar_sqlite_check(uar_store_check *out, const char *path, const uar_sqlite_options *options,
                            uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                            uar_error *err) {
    const sqlite_listener to = { each, each_ctx, progress };
    return sqlite_check_file(out, &alloc_default, path, options, &to, err);
}

/* ---- repair ---- */

/* The check speaks of what is lost too; the salvage knows better. */
static void pass_faults(void *ctx, const uar_store_finding *finding) {
    const repair *r = ctx;
    if (!finding->is_lost && r->walk.each != NULL) r->walk.each(r->walk.each_ctx, finding);
}

static uar_status check_version(const repair *r, uar_error *err) {
    sqlite3_int64 version = 0;
    int code = sqlite_ask(r->l.db, "PRAGMA user_version", &version);
    if (code != SQLITE_OK) return sqlite_explain(&r->l, code, "reading", err);
    if (version == r->l.schema->version) return UAR_OK;
    return sqlite_refuse(&r->l, UAR_E_UNSUPPORTED, "a damaged store of an older version can't be repaired", err);
}

static uar_status repair_store(repair *r, uar_error *err) {
    const sqlite_listener to = { pass_faults, r, r->walk.progress };
    uar_store_check seen = { .size = UAR_STORE_CHECK_INIT };
    uar_status status = lock_out_others(&r->l, err);
    if (status == UAR_OK) status = check_version(r, err);
    if (status == UAR_OK) status = sqlite_check_with(&r->l, &to, &seen, err);
    if (status != UAR_OK) return status;
    r->report.records = seen.records;
    r->report.faults = seen.faults;
    return seen.lost != 0 || seen.faults != 0 ? rebuild(r, err) : UAR_OK;
}

uar_status sqlite_repair_file(uar_store_repair *out, const uar_allocator *alloc, const char *path,
                              const uar_sqlite_options *options, const sqlite_listener *to, uar_error *err) {
    if (out == NULL) return error_set(err, UAR_E_INVALID, "out is NULL");
    repair r = { .walk = { .each = to->each, .each_ctx = to->each_ctx, .progress = to->progress },
                 .report = { .size = UAR_STORE_REPAIR_INIT } };
    uar_status status = begin_any(&r.l, alloc, path, options, false, err);
    if (status == UAR_OK) status = repair_store(&r, err);
    close_any(&r.l);
    if (status == UAR_OK) struct_out(out, &r.report, sizeof r.report);
    return status;
}

uar_status uar_sqlite_repair(uar_store_repair *out, const char *path, const uar_sqlite_options *options,
                             uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                             uar_error *err) {
    const sqlite_listener to = { each, each_ctx, progress };
    return sqlite_repair_file(out, &alloc_default, path, options, &to, err);
}
