/*
 * What is whole in an SQLite store and what isn't. First by the index, which names what should be there, then by the table,
 * which may have more. Reads one moment; others may write meanwhile. Owns nothing.
 */
#include <uar/store_care.h>

#include "base/str.h"
#include "base/struct_in.h"
#include "store/sqlite.h"
#include "store/sqlite_copy.h"
#include "store/sqlite_walk.h"

typedef struct checkup {
    sqlite_walk walk;
    uar_store_check *report;
    bool index_broken;
} checkup;

static void count_lost(checkup *c, const uar_record *key, const char *what) {
    c->report->lost++;
    sqlite_walk_tell(&c->walk, true, key, what);
}

static void count_fault(checkup *c, const uar_record *key, const char *what) {
    c->report->faults++;
    sqlite_walk_tell(&c->walk, false, key, what);
}

/* ---- structure ---- */

static uar_status check_structure(checkup *c, uar_error *err) {
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(c->walk.l->db, "PRAGMA integrity_check(100)", -1, &s, NULL);
    bool stopped = false, is_sure = false;
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(s);
        const char *found = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
        bool is_fault = found != NULL && strcmp(found, "ok") != 0;
        if (is_fault && !is_sure) {
            /* Some findings hide a disk that failed to give a page: only what is found twice is a fault. */
            code = sqlite_can_be_read(c->walk.l->db) ? sqlite3_reset(s) : SQLITE_IOERR_READ;
            is_sure = true;
            continue;
        }
        if (is_fault) count_fault(c, NULL, found);
        stopped = !care_goes_on(c->walk.progress, 0, 0);
        if (stopped) break;
    }
    sqlite3_finalize(s);
    if (stopped) return error_plain(err, UAR_E_CANCELLED);
    if (code == SQLITE_DONE) return UAR_OK;
    if (sqlite_status(code) != UAR_E_CORRUPT) return sqlite_explain(c->walk.l, code, "checking", err);
    count_fault(c, NULL, "the structure can't be read to its end");
    return UAR_OK;
}

/* Every statement of the layer must find its tables, columns and indexes. */
static uar_status check_tables(checkup *c, uar_error *err) {
    for (int i = 0; i < SQLITE_STATEMENT_COUNT; i++) {
        sqlite3_stmt *s = NULL;
        int code = sqlite3_prepare_v2(c->walk.l->db, sqlite_text((sqlite_statement)i), -1, &s, NULL);
        sqlite3_finalize(s);
        if (code == SQLITE_ERROR) {
            count_fault(c, NULL, "a table, a column or an index is missing");
            return UAR_OK;
        }
        if (code != SQLITE_OK && sqlite_status(code) != UAR_E_CORRUPT)
            return sqlite_explain(c->walk.l, code, "checking", err);
    }
    return UAR_OK;
}

/* ---- records ---- */

static bool same_key(const uar_record *a, const uar_record *b) {
    return a->kind == b->kind && uar_str_equal(a->owner, b->owner) && uar_str_equal(a->id, b->id);
}

static uar_status on_entry(void *ctx, const uar_record *key, sqlite3_int64 row, uar_error *err) {
    checkup *c = ctx;
    uar_status status = sqlite_walk_fetch(&c->walk, row, err);
    if (status == UAR_OK && same_key(&c->walk.record, key))
        c->report->records++;
    else if (status == UAR_OK)
        count_fault(c, key, "the index leads to another record");
    else if (status == UAR_E_NOT_FOUND)
        count_lost(c, key, "the record is missing");
    else if (status == UAR_E_CORRUPT)
        count_lost(c, key, "the record is damaged");
    else
        return status;
    return UAR_OK;
}

/* What the index leads to was counted by it. */
static uar_status on_row(void *ctx, sqlite3_int64 row, uar_status fetched, uar_error *err) {
    checkup *c = ctx;
    sqlite3_int64 found = 0;
    bool is_named = c->walk.record.owner.ptr != NULL && c->walk.record.id.ptr != NULL;
    if (!is_named && !c->index_broken) return UAR_OK; /* the index named it */
    uar_status status = sqlite_walk_find(&c->walk, &found, &c->walk.record, err);
    if (status != UAR_OK || found == row) return status;
    if (fetched == UAR_OK) {
        c->report->records++;
        count_fault(c, &c->walk.record, "the index doesn't know the record");
    } else if (c->index_broken) {
        count_lost(c, &c->walk.record, "the record is damaged");
    } else {
        count_fault(c, NULL, "a row is damaged, its key among it");
    }
    return UAR_OK;
}

static uar_status check_records(checkup *c, uar_error *err) {
    uar_status status = sqlite_walk_index(&c->walk, SQLITE_INDEX_ID, &c->index_broken, on_entry, c, err);
    if (status != UAR_OK) return status;
    if (c->index_broken) count_fault(c, NULL, "the index of keys can't be read to its end");
    status = sqlite_walk_rows(&c->walk, on_row, c, err);
    if (status == UAR_OK && c->walk.rest_lost && c->index_broken)
        count_lost(c, NULL, "some records lie on damaged pages and can't be named");
    return status;
}

uar_status sqlite_check_with(const sqlite_layer *l, const sqlite_listener *to, uar_store_check *report,
                             uar_error *err) {
    checkup c = { .walk = { .each = to->each, .each_ctx = to->each_ctx, .progress = to->progress }, .report = report };
    uar_status status = sqlite_walk_begin(&c.walk, l, err);
    if (status != UAR_OK) return status;
    int code = sqlite3_exec(l->db, "BEGIN", NULL, NULL, NULL);
    if (code != SQLITE_OK) status = sqlite_explain(l, code, "checking", err);
    if (status == UAR_OK) status = check_tables(&c, err);
    if (status == UAR_OK) status = check_structure(&c, err);
    if (status == UAR_OK) status = check_records(&c, err);
    sqlite_walk_end(&c.walk);
    code = sqlite_end_moment(l->db);
    return status == UAR_OK && code != SQLITE_OK ? sqlite_explain(l, code, "checking", err) : status;
}

uar_status sqlite_check(void *ctx, uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                        uar_store_check *report, uar_error *err) {
    const sqlite_layer *l = ctx;
    const sqlite_listener to = { each, each_ctx, progress };
    sqlite_layer beside;
    uar_status status = sqlite_open_beside(&beside, l, err);
    if (status != UAR_OK) return status;
    status = sqlite_check_with(&beside, &to, report, err);
    sqlite_close(&beside);
    return status;
}
