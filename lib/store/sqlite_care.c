/*
 * Backup and maintenance of an SQLite store, and the store as other files see it. Each piece of care has a connection of its
 * own, so that it can run beside the calls of the layer. Owns that connection.
 */
#include <sys/stat.h>

#include "base/file.h"
#include "store/sqlite.h"
#include "store/sqlite_copy.h"

uar_status sqlite_open_beside(sqlite_layer *out, const sqlite_layer *l, uar_error *err) {
    if (l->file == NULL) return error_set(err, UAR_E_CLOSED, "the store isn't open");
    sqlite_layer beside = {
        .alloc = l->alloc, .path = l->path, .file = l->file, .options = l->options, .schema = l->schema
    };
    uar_status status = sqlite_connect(&beside, l->file, err);
    if (status == UAR_OK) *out = beside;
    return status;
}

uar_status sqlite_backup(void *ctx, const char *path, const uar_care_progress *progress, uar_error *err) {
    const sqlite_layer *l = ctx;
    sqlite_layer beside;
    uar_status status = sqlite_open_beside(&beside, l, err);
    if (status != UAR_OK) return status;
    status = sqlite_copy_to(&l->alloc, beside.db, path, progress, err);
    sqlite_close(&beside);
    return status;
}

/* ---- maintenance ---- */

static uint64_t bytes_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static uar_status measure(uint64_t *file, uint64_t *log, const sqlite_layer *l, uar_error *err) {
    char *name = file_name_with(&l->alloc, l->file, "-wal");
    if (name == NULL) return error_plain(err, UAR_E_NOMEM);
    *log = bytes_of(name);
    *file = bytes_of(l->file);
    alloc_free(&l->alloc, name);
    return UAR_OK;
}

static int on_instructions(void *ctx) {
    return care_goes_on(ctx, 0, 0) ? 0 : 1;
}

/* Also makes a file of the first builds, which couldn't give pages back one by one, one that can. */
static int rebuild(sqlite3 *db, const uar_care_progress *progress) {
    enum { INSTRUCTIONS = 100000 };
    uar_care_progress copy = *progress;
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1); /* where the rebuilt pages lie meanwhile, in memory */
    sqlite3_progress_handler(db, INSTRUCTIONS, on_instructions, &copy);
    int code = sqlite3_exec(db, "PRAGMA auto_vacuum=INCREMENTAL; VACUUM", NULL, NULL, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    return code;
}

/* In slices, each a short transaction of its own. */
static int give_back(sqlite3 *db, uint64_t max_bytes, const uar_care_progress *progress) {
    enum { SLICE = 128 };
    sqlite3_int64 page_bytes = 0, left = 0;
    int code = sqlite_ask(db, "PRAGMA page_size", &page_bytes);
    if (code == SQLITE_OK) code = sqlite_ask(db, "PRAGMA freelist_count", &left);
    if (code != SQLITE_OK || page_bytes <= 0) return code;
    uint64_t total = max_bytes / (uint64_t)page_bytes, done = 0;
    if (total > (uint64_t)left) total = (uint64_t)left;
    while (done < total) {
        sqlite3_int64 before = left;
        if (!care_goes_on(progress, done, total)) return SQLITE_INTERRUPT;
        code = sqlite3_exec(db, "PRAGMA incremental_vacuum(128)", NULL, NULL, NULL);
        if (code == SQLITE_OK) code = sqlite_ask(db, "PRAGMA freelist_count", &left);
        if (code != SQLITE_OK || left >= before) return code; /* it can't, or others fill them again */
        done += SLICE;
    }
    (void)care_goes_on(progress, total, total);
    return SQLITE_OK;
}

static uar_status tidy(const sqlite_layer *l, const uar_care_options *options, const uar_care_progress *progress,
                       uar_store_care *report, uar_error *err) {
    const uint64_t default_bytes = (uint64_t)16 << 20;
    enum { PATIENCE_MS = 1000 };
    uint64_t file = 0, log = 0;
    sqlite3_int64 free_pages = 0, page_bytes = 0;
    uar_status status = measure(&file, &log, l, err);
    if (status != UAR_OK) return status;
    report->bytes_before = file + log;
    int code = options->whole
                   ? rebuild(l->db, progress)
                   : give_back(l->db, options->max_bytes != 0 ? options->max_bytes : default_bytes, progress);
    if (code == SQLITE_OK) {
        code = sqlite_log_cut(l->db, sqlite_patience(l) < PATIENCE_MS ? sqlite_patience(l) : PATIENCE_MS);
        if (sqlite_status(code) == UAR_E_BUSY) code = SQLITE_OK; /* a reader holds it: `log_bytes` says so */
    }
    if (code == SQLITE_OK) code = sqlite_ask(l->db, "PRAGMA page_size", &page_bytes);
    if (code == SQLITE_OK) code = sqlite_ask(l->db, "PRAGMA freelist_count", &free_pages);
    if (code != SQLITE_OK) return sqlite_explain(l, code, "tidying", err);
    status = measure(&file, &log, l, err);
    report->bytes_after = file + log;
    report->log_bytes = log;
    report->free_bytes = (uint64_t)(free_pages * page_bytes);
    return status;
}

uar_status sqlite_maintain(void *ctx, const uar_care_options *options, const uar_care_progress *progress,
                           uar_store_care *report, uar_error *err) {
    static const uar_care_progress nobody = { NULL, NULL };
    const sqlite_layer *l = ctx;
    sqlite_layer beside;
    if (l->options.read_only) return sqlite_refuse(l, UAR_E_READ_ONLY, "the store was opened for reading only", err);
    uar_status status = sqlite_open_beside(&beside, l, err);
    if (status != UAR_OK) return status;
    status = tidy(&beside, options, progress != NULL ? progress : &nobody, report, err);
    sqlite_close(&beside);
    return status;
}
