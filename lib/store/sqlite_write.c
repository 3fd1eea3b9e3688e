/*
 * Writing to an SQLite store: one commit is one short transaction.
 * Invariant: when a call ends there is no open transaction and no statement that is stepped.
 */
#include <assert.h>

#include "store/layer.h"
#include "store/sqlite.h"

/* Step a statement that gives no rows, then reset it. */
static int run(const sqlite_layer *l, sqlite_statement which) {
    sqlite3_stmt *s = l->statements[which];
    int code = sqlite3_step(s);
    sqlite_reset(s);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static uar_status explain(const sqlite_layer *l, int code, uar_error *err) {
    return sqlite_explain(l, code, "writing", err);
}

static uar_status conflict(uar_error *err) {
    return error_plain(err, UAR_E_CONFLICT);
}

/* Step a bound statement once; its result code. It must be reset. */
static int step(const sqlite_binder *b) {
    return b->code == SQLITE_OK ? sqlite3_step(b->s) : b->code;
}

/* Compare the stored revision with the expected one. */
static uar_status write_check(const sqlite_layer *l, const uar_write *w, uar_error *err) {
    sqlite_binder b = { .s = l->statements[SQLITE_RUN_REVISION] };
    sqlite_bind_key(&b, w->record.kind, w->record.owner, w->record.id);
    int code = step(&b);
    uint64_t stored = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(b.s, 0) : 0;
    sqlite_reset(b.s);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return explain(l, code, err);
    return stored == w->expected ? UAR_OK : conflict(err);
}

void sqlite_bind_record(sqlite_binder *b, const uar_record *r) {
    sqlite_bind_key(b, r->kind, r->owner, r->id);
    sqlite_bind_bytes(b, SLOT_PARENT, r->parent);
    sqlite_bind_integer(b, SLOT_REVISION, (int64_t)r->revision);
    if (r->has_sort) sqlite_bind_integer(b, SLOT_SORT, r->sort);
    sqlite_bind_integer(b, SLOT_SCHEMA, r->schema);
    sqlite_bind_integer(b, SLOT_CREATED, r->created_ms);
    sqlite_bind_integer(b, SLOT_UPDATED, r->updated_ms);
    sqlite_bind_bytes(b, SLOT_BODY, r->body);
    sqlite_bind_bytes(b, SLOT_BLOB, r->blob);
    sqlite_bind_bytes(b, SLOT_CHECKSUM, uar_str_n((const char *)r->checksum, sizeof r->checksum));
}

/* Run a bound statement that must change exactly one row. */
static uar_status change_one(const sqlite_layer *l, const sqlite_binder *b, uar_error *err) {
    int code = step(b);
    sqlite_reset(b->s);
    if ((code & 0xff) == SQLITE_CONSTRAINT) return conflict(err);
    if (code != SQLITE_DONE) return explain(l, code, err);
    return sqlite3_changes(l->db) == 1 ? UAR_OK : conflict(err);
}

static uar_status write_put(const sqlite_layer *l, const uar_write *w, uar_error *err) {
    bool is_new = w->expected == 0;
    sqlite_binder b = { .s = l->statements[is_new ? SQLITE_RUN_INSERT : SQLITE_RUN_UPDATE] };
    sqlite_bind_record(&b, &w->record);
    if (!is_new) sqlite_bind_integer(&b, SLOT_EXPECTED, (int64_t)w->expected);
    return change_one(l, &b, err);
}

static uar_status write_delete(const sqlite_layer *l, const uar_write *w, uar_error *err) {
    if (w->expected == 0) return write_check(l, w, err);
    sqlite_binder b = { .s = l->statements[SQLITE_RUN_DELETE] };
    sqlite_bind_key(&b, w->record.kind, w->record.owner, w->record.id);
    sqlite_bind_integer(&b, SLOT_EXPECTED, (int64_t)w->expected);
    return change_one(l, &b, err);
}

static uar_status write_delete_children(const sqlite_layer *l, const uar_write *w, uar_error *err) {
    sqlite_binder b = { .s = l->statements[SQLITE_RUN_DELETE_CHILDREN] };
    sqlite_bind_integer(&b, SLOT_KIND, w->record.kind);
    sqlite_bind_bytes(&b, SLOT_OWNER, w->record.owner);
    sqlite_bind_bytes(&b, SLOT_PARENT, w->record.parent);
    int code = step(&b);
    sqlite_reset(b.s);
    return code == SQLITE_DONE ? UAR_OK : explain(l, code, err);
}

static uar_status write_one(const sqlite_layer *l, const uar_write *w, uar_error *err) {
    switch (w->op) {
    case UAR_WRITE_CHECK: return write_check(l, w, err);
    case UAR_WRITE_PUT: return write_put(l, w, err);
    case UAR_WRITE_DELETE: return write_delete(l, w, err);
    case UAR_WRITE_DELETE_CHILDREN: return write_delete_children(l, w, err);
    default: return error_plain(err, UAR_E_INVALID);
    }
}

static uar_status write_all(const sqlite_layer *l, const uar_write *writes, size_t count, uar_error *err) {
    int code = run(l, SQLITE_RUN_BEGIN);
    if (code != SQLITE_OK) return explain(l, code, err);
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = write_one(l, &writes[i], err);
    if (status == UAR_OK) {
        code = run(l, SQLITE_RUN_COMMIT);
        if (code != SQLITE_OK) status = explain(l, code, err);
    }
    /* Some errors roll back by themselves. */
    if (!sqlite3_get_autocommit(l->db)) (void)run(l, SQLITE_RUN_ROLLBACK);
    assert(sqlite3_get_autocommit(l->db));
    return status;
}

static uar_status check_writes(const sqlite_layer *l, const uar_write *writes, size_t count, uar_error *err) {
    if (l->db == NULL) return error_set(err, UAR_E_CLOSED, "the store isn't open");
    if (l->options.read_only) return sqlite_refuse(l, UAR_E_READ_ONLY, "the store was opened for reading only", err);
    for (size_t i = 0; i < count; i++) {
        const char *fault = layer_write_fault(&writes[i]);
        if (fault != NULL) return error_set(err, UAR_E_INVALID, "%s", fault);
    }
    return UAR_OK;
}

void sqlite_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    sqlite_layer *l = ctx;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = check_writes(l, writes, count, &err);
    if (status == UAR_OK && count > 0) status = write_all(l, writes, count, &err);
    if (status == UAR_OK) sqlite_log_tend(l);
    if (status == UAR_OK)
        uar_completion_ok(done);
    else
        uar_completion_fail(done, status, err.message);
}
