/* Owns: the statements of a walk and the row that it read last. See sqlite_walk.h. */
#include "store/sqlite_walk.h"

#include <assert.h>

#include "base/str.h"
#include "store/record.h"
#include "store/sqlite_copy.h"

static const char scan_sql[] = "SELECT " SQLITE_COLUMNS ", rowid FROM record NOT INDEXED WHERE rowid>=?1";
static const char behind_sql[] = "SELECT rowid FROM record NOT INDEXED WHERE rowid>=?1 ORDER BY rowid LIMIT 1";
static const char at_sql[] = "SELECT " SQLITE_COLUMNS " FROM record NOT INDEXED WHERE rowid=?1";
static const char find_sql[] = "SELECT rowid FROM record INDEXED BY record_id WHERE kind=?1 AND owner=?2 AND id=?3";

/* What a damaged file makes SQLite say, in contrast to a disk that fails. */
static bool is_damage(int code) {
    return sqlite_status(code) == UAR_E_CORRUPT || (code & 0xff) == SQLITE_ERROR;
}

static uar_status failed(const sqlite_walk *w, int code, uar_error *err) {
    return sqlite_explain(w->l, is_damage(code) ? SQLITE_CORRUPT : code, "reading", err);
}

uar_status sqlite_walk_begin(sqlite_walk *w, const sqlite_layer *l, uar_error *err) {
    w->l = l;
    arena_init(&w->memory, &l->alloc);
    int code = sqlite3_prepare_v2(l->db, scan_sql, -1, &w->scan, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(l->db, behind_sql, -1, &w->behind, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(l->db, at_sql, -1, &w->at, NULL);
    if (code != SQLITE_OK) {
        uar_status status = failed(w, code, err);
        sqlite_walk_end(w);
        return status;
    }
    /* The index may be missing: then nothing is found by it. */
    code = sqlite3_prepare_v2(l->db, find_sql, -1, &w->find, NULL);
    if (code == SQLITE_OK || is_damage(code)) return UAR_OK;
    uar_status status = failed(w, code, err);
    sqlite_walk_end(w);
    return status;
}

void sqlite_walk_end(sqlite_walk *w) {
    sqlite3_finalize(w->scan);
    sqlite3_finalize(w->behind);
    sqlite3_finalize(w->at);
    sqlite3_finalize(w->find);
    w->scan = w->behind = w->at = w->find = NULL;
    arena_dispose(&w->memory);
}

static uar_status look(sqlite_walk *w, uar_error *err) {
    enum { OFTEN = 64 };
    w->looked++;
    if (w->looked % OFTEN != 0 || care_goes_on(w->progress, w->looked, 0)) return UAR_OK;
    return error_plain(err, UAR_E_CANCELLED);
}

void sqlite_walk_tell(const sqlite_walk *w, bool is_lost, const uar_record *record, const char *what) {
    if (w->each == NULL) return;
    uar_store_finding finding = { .size = sizeof finding, .is_lost = is_lost, .what = uar_str_of(what) };
    if (record != NULL) {
        finding.kind = record->kind;
        finding.owner = record->owner;
        finding.id = record->id;
    }
    w->each(w->each_ctx, &finding);
}

/* ---- one row ---- */

/* What of the key has its right type: enough to name the row. */
static void read_key(sqlite_walk *w, sqlite3_stmt *s) {
    memset(&w->record, 0, sizeof w->record);
    if (sqlite3_column_type(s, SLOT_KIND - 1) == SQLITE_INTEGER)
        w->record.kind = (uint32_t)sqlite3_column_int64(s, SLOT_KIND - 1);
    uar_str *const texts[] = { &w->record.owner, &w->record.id };
    for (int i = 0; i < 2; i++) {
        const char *bytes = sqlite3_column_blob(s, SLOT_OWNER - 1 + i);
        int len = sqlite3_column_bytes(s, SLOT_OWNER - 1 + i);
        if (bytes != NULL && len > 0 && len <= RECORD_ID_MAX)
            *texts[i] = arena_str(&w->memory, uar_str_n(bytes, (size_t)len));
    }
}

/* The row that a statement stands on: UAR_OK, UAR_E_CORRUPT; others end the walk. */
static uar_status take_row(sqlite_walk *w, sqlite3_stmt *s, uar_error *err) {
    arena_dispose(&w->memory);
    memset(&w->record, 0, sizeof w->record);
    uar_status status = sqlite_read_row(&w->record, s, &w->memory);
    if (status == UAR_OK) status = record_verify(&w->record, NULL);
    if (status == UAR_E_CORRUPT) read_key(w, s);
    return status == UAR_OK || status == UAR_E_CORRUPT ? status : error_plain(err, status);
}

uar_status sqlite_walk_fetch(sqlite_walk *w, sqlite3_int64 row, uar_error *err) {
    sqlite_binder b = { .s = w->at };
    sqlite_bind_integer(&b, 1, row);
    int code = b.code == SQLITE_OK ? sqlite3_step(w->at) : b.code;
    uar_status status = UAR_E_NOT_FOUND;
    if (code == SQLITE_ROW) {
        status = take_row(w, w->at, err);
    } else if (code != SQLITE_DONE) {
        memset(&w->record, 0, sizeof w->record);
        status = is_damage(code) ? UAR_E_CORRUPT : failed(w, code, err);
    }
    sqlite_reset(w->at);
    return status;
}

uar_status sqlite_walk_find(sqlite_walk *w, sqlite3_int64 *row, const uar_record *key, uar_error *err) {
    *row = 0;
    if (w->find == NULL || key->owner.ptr == NULL || key->id.ptr == NULL) return UAR_OK;
    sqlite_binder b = { .s = w->find };
    sqlite_bind_key(&b, key->kind, key->owner, key->id);
    int code = b.code == SQLITE_OK ? sqlite3_step(w->find) : b.code;
    uar_status status = UAR_OK;
    if (code == SQLITE_ROW)
        *row = sqlite3_column_int64(w->find, 0);
    else if (code != SQLITE_DONE && !is_damage(code))
        status = failed(w, code, err);
    sqlite_reset(w->find);
    return status;
}

/* ---- all rows ---- */

/* The first row number from `from` on: SQLITE_ROW, SQLITE_DONE or an error. Where numbers are out of order, a search may end at
 * one before `from`, as often as it is made: that is damage. */
static int next_row(sqlite_walk *w, sqlite3_int64 from, sqlite3_int64 *out) {
    int code = sqlite3_bind_int64(w->behind, 1, from);
    if (code == SQLITE_OK) code = sqlite3_step(w->behind);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(w->behind, 0);
    if (code == SQLITE_ROW && *out < from) code = SQLITE_CORRUPT;
    sqlite3_reset(w->behind);
    return code;
}

/* `from` can't be reached. The nearest number behind it that can, by steps that double and are then halved. */
static int pass_gap(sqlite_walk *w, sqlite3_int64 from, sqlite3_int64 *out) {
    sqlite3_int64 bad = from, good = from, row = 0;
    int code = SQLITE_CORRUPT;
    for (sqlite3_int64 step = 1; is_damage(code); step *= 2) {
        bad = good;
        if (bad == INT64_MAX || step > INT64_MAX / 2) return SQLITE_DONE; /* nothing behind can be reached */
        good = bad > INT64_MAX - step ? INT64_MAX : bad + step;
        code = next_row(w, good, &row);
    }
    while (good - bad > 1 && (code == SQLITE_ROW || code == SQLITE_DONE || is_damage(code))) {
        sqlite3_int64 middle = bad + (good - bad) / 2;
        code = next_row(w, middle, &row);
        if (is_damage(code))
            bad = middle;
        else
            good = middle;
    }
    *out = good;
    if (is_damage(code)) return SQLITE_ROW;
    return code;
}

/* From `*from` on, row after row, as they are linked: a row whose number is damaged is read too. SQLITE_DONE: to the end; an
 * error: `*from` is behind the last row that was read; SQLITE_ABORT: `*status` says why. */
static int scan_rows(sqlite_walk *w, sqlite3_int64 *from, sqlite_row_fn fn, void *ctx, uar_status *status,
                     uar_error *err) {
    int code = sqlite3_bind_int64(w->scan, 1, *from);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(w->scan);
        if (code != SQLITE_ROW) break;
        sqlite3_int64 row = sqlite3_column_int64(w->scan, SLOT_CHECKSUM);
        *status = look(w, err);
        if (*status == UAR_OK) *status = take_row(w, w->scan, err);
        if (*status == UAR_OK || *status == UAR_E_CORRUPT) *status = fn(ctx, row, *status, err);
        if (*status != UAR_OK) code = SQLITE_ABORT;
        if (row >= *from && row < INT64_MAX) *from = row + 1;
    }
    sqlite3_reset(w->scan);
    return code;
}

/* The scan ended in damage before `*from`. The row there, if its number can be read, is one of those; the scan goes on behind. */
static int pass_damage(sqlite_walk *w, sqlite3_int64 *from, sqlite_row_fn fn, void *ctx, uar_status *status,
                       uar_error *err) {
    sqlite3_int64 row = 0;
    int code = next_row(w, *from, &row);
    if (is_damage(code)) {
        w->rest_lost = true;
        return pass_gap(w, *from, from);
    }
    if (code != SQLITE_ROW) return code;
    memset(&w->record, 0, sizeof w->record);
    *status = fn(ctx, row, UAR_E_CORRUPT, err);
    if (*status != UAR_OK || row == INT64_MAX) return *status != UAR_OK ? SQLITE_ABORT : SQLITE_DONE;
    *from = row + 1;
    return SQLITE_ROW;
}

uar_status sqlite_walk_rows(sqlite_walk *w, sqlite_row_fn fn, void *ctx, uar_error *err) {
    sqlite3_int64 from = INT64_MIN;
    uar_status status = UAR_OK;
    int code;
    do {
        code = scan_rows(w, &from, fn, ctx, &status, err);
        if (is_damage(code)) code = pass_damage(w, &from, fn, ctx, &status, err);
    } while (code == SQLITE_ROW);
    if (status != UAR_OK) return status;
    return code == SQLITE_DONE ? UAR_OK : failed(w, code, err);
}

/* ---- indexes ---- */

static const char *index_sql(sqlite_index which, bool from_end) {
#define ENTRIES "SELECT kind, owner, id, rowid FROM record INDEXED BY "
    if (which == SQLITE_INDEX_ID)
        return from_end ? ENTRIES "record_id ORDER BY kind DESC, owner DESC, id DESC"
                        : ENTRIES "record_id ORDER BY kind, owner, id";
    return from_end ? ENTRIES "record_parent WHERE parent IS NOT NULL"
                              " ORDER BY kind DESC, owner DESC, parent DESC, id DESC"
                    : ENTRIES "record_parent WHERE parent IS NOT NULL ORDER BY kind, owner, parent, id";
#undef ENTRIES
}

static uar_str column_text(sqlite3_stmt *s, int column) {
    const char *bytes = sqlite3_column_blob(s, column);
    int len = sqlite3_column_bytes(s, column);
    return bytes != NULL && len > 0 && len <= RECORD_ID_MAX ? uar_str_n(bytes, (size_t)len) : uar_str_n(NULL, 0);
}

/* SQLITE_DONE: all of it; else why it ended, or SQLITE_ABORT: `status` says so. */
static int read_entries(sqlite_walk *w, const char *sql, sqlite_entry_fn fn, void *ctx, uar_status *status,
                        uar_error *err) {
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(w->l->db, sql, -1, &s, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(s);
        if (code != SQLITE_ROW) break;
        uar_record key = { .kind = (uint32_t)sqlite3_column_int64(s, 0),
                           .owner = column_text(s, 1),
                           .id = column_text(s, 2) };
        *status = look(w, err);
        if (*status == UAR_OK) *status = fn(ctx, &key, sqlite3_column_int64(s, 3), err);
        if (*status != UAR_OK) code = SQLITE_ABORT;
    }
    sqlite3_finalize(s);
    return code;
}

uar_status sqlite_walk_index(sqlite_walk *w, sqlite_index which, bool *broken, sqlite_entry_fn fn, void *ctx,
                             uar_error *err) {
    *broken = false;
    for (int from_end = 0; from_end < 2; from_end++) {
        uar_status status = UAR_OK;
        int code = read_entries(w, index_sql(which, from_end != 0), fn, ctx, &status, err);
        if (status != UAR_OK) return status;
        if (code == SQLITE_DONE && from_end == 0) return UAR_OK;
        if (code != SQLITE_DONE && !is_damage(code)) return failed(w, code, err);
        *broken = true;
    }
    return UAR_OK;
}
