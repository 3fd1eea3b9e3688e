/*
 * Reading from an SQLite store. Owns answers: the records of one call and the arena with their bytes, freed by their
 * release, on any thread, without touching the connection.
 * Invariant: what doesn't have the types that this layer writes is UAR_E_CORRUPT, never a default.
 */
#include <assert.h>

#include "base/arena.h"
#include "store/layer.h"
#include "store/sqlite.h"

typedef struct answer {
    uar_allocator alloc;
    arena memory;
    uar_record *records;
    size_t count, capacity;
} answer;

static answer *answer_new(const uar_allocator *alloc) {
    answer *a = ALLOC_NEW(alloc, answer);
    if (a == NULL) return NULL;
    a->alloc = *alloc;
    arena_init(&a->memory, &a->alloc);
    return a;
}

static void answer_free(void *ctx) {
    answer *a = ctx;
    uar_allocator alloc = a->alloc;
    arena_dispose(&a->memory);
    alloc_free(&alloc, a->records);
    alloc_free(&alloc, a);
}

static uar_status answer_grow(answer *a) {
    if (a->count < a->capacity) return UAR_OK;
    size_t capacity = a->capacity != 0 ? a->capacity * 2 : 8;
    uar_record *records = alloc_resize(&a->alloc, a->records, capacity * sizeof *records);
    if (records == NULL) return UAR_E_NOMEM;
    a->records = records;
    a->capacity = capacity;
    return UAR_OK;
}

/* ---- columns ---- */

/* Reads the columns of one row; the first fault counts. */
typedef struct row {
    sqlite3_stmt *s;
    arena *memory;
    uar_status status;
} row;

static int type_of(const row *r, int slot) {
    return sqlite3_column_type(r->s, slot - 1);
}

static void row_fault(row *r, uar_status status) {
    if (r->status == UAR_OK) r->status = status;
}

static int64_t row_integer(row *r, int slot) {
    if (type_of(r, slot) != SQLITE_INTEGER) row_fault(r, UAR_E_CORRUPT);
    return sqlite3_column_int64(r->s, slot - 1);
}

static uint32_t row_u32(row *r, int slot) {
    int64_t value = row_integer(r, slot);
    if (value < 0 || value > UINT32_MAX) row_fault(r, UAR_E_CORRUPT);
    return (uint32_t)value;
}

/* Bytes that must be there, still SQLite's. */
static uar_str row_borrow(row *r, int slot) {
    if (type_of(r, slot) != SQLITE_BLOB) {
        row_fault(r, UAR_E_CORRUPT);
        return uar_str_n("", 0);
    }
    const char *bytes = sqlite3_column_blob(r->s, slot - 1);
    size_t len = (size_t)sqlite3_column_bytes(r->s, slot - 1);
    if (bytes == NULL && len != 0) {
        row_fault(r, UAR_E_NOMEM);
        len = 0;
    }
    return uar_str_n(len != 0 ? bytes : "", len);
}

static uar_str row_bytes(row *r, int slot) {
    uar_str copy = arena_str(r->memory, row_borrow(r, slot));
    if (copy.ptr == NULL) row_fault(r, UAR_E_NOMEM);
    return copy;
}

static uar_str row_optional(row *r, int slot) {
    return type_of(r, slot) == SQLITE_NULL ? uar_str_n(NULL, 0) : row_bytes(r, slot);
}

uar_status sqlite_read_row(uar_record *out, sqlite3_stmt *s, arena *memory) {
    row r = { .s = s, .memory = memory };
    uar_record record = {
        .kind = row_u32(&r, SLOT_KIND),
        .schema = row_u32(&r, SLOT_SCHEMA),
        .owner = row_bytes(&r, SLOT_OWNER),
        .id = row_bytes(&r, SLOT_ID),
        .parent = row_optional(&r, SLOT_PARENT),
        .revision = (uint64_t)row_integer(&r, SLOT_REVISION),
        .has_sort = type_of(&r, SLOT_SORT) != SQLITE_NULL,
        .created_ms = row_integer(&r, SLOT_CREATED),
        .updated_ms = row_integer(&r, SLOT_UPDATED),
        .body = row_optional(&r, SLOT_BODY),
        .blob = row_optional(&r, SLOT_BLOB),
    };
    if (record.has_sort) record.sort = row_integer(&r, SLOT_SORT);
    uar_str checksum = row_borrow(&r, SLOT_CHECKSUM);
    if (checksum.len == sizeof record.checksum)
        memcpy(record.checksum, checksum.ptr, checksum.len);
    else
        row_fault(&r, UAR_E_CORRUPT);
    if (r.status == UAR_OK) *out = record;
    return r.status;
}

/* ---- calls ---- */

static void binder_note(sqlite_binder *b, int code) {
    if (b->code == SQLITE_OK) b->code = code;
}

void sqlite_bind_integer(sqlite_binder *b, int slot, int64_t value) {
    binder_note(b, sqlite3_bind_int64(b->s, slot, value));
}

void sqlite_bind_bytes(sqlite_binder *b, int slot, uar_str text) {
    if (text.ptr == NULL)
        binder_note(b, sqlite3_bind_null(b->s, slot));
    else
        binder_note(b, sqlite3_bind_blob64(b->s, slot, text.ptr, text.len, SQLITE_STATIC));
}

void sqlite_bind_key(sqlite_binder *b, uint32_t kind, uar_str owner, uar_str id) {
    sqlite_bind_integer(b, SLOT_KIND, kind);
    sqlite_bind_bytes(b, SLOT_OWNER, owner);
    sqlite_bind_bytes(b, SLOT_ID, id);
}

void sqlite_reset(sqlite3_stmt *s) {
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
}

/* Step a bound statement to its end and keep its rows. */
static uar_status collect(sqlite_layer *l, sqlite3_stmt *s, answer *a, uar_error *err) {
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        uar_status status = answer_grow(a);
        if (status == UAR_OK) status = sqlite_read_row(&a->records[a->count], s, &a->memory);
        if (status == UAR_E_CORRUPT) return sqlite_refuse(l, status, "a stored record is damaged", err);
        if (status != UAR_OK) return error_plain(err, status);
        a->count++;
    }
    return code == SQLITE_DONE ? UAR_OK : sqlite_explain(l, code, "reading", err);
}

/* Run a bound statement and reset it. The answer, or NULL with `err`. */
static answer *run(sqlite_layer *l, const sqlite_binder *b, uar_error *err) {
    answer *a = NULL;
    uar_status status = UAR_OK;
    if (b->code != SQLITE_OK)
        status = sqlite_explain(l, b->code, "reading", err);
    else if ((a = answer_new(&l->alloc)) == NULL)
        status = error_plain(err, UAR_E_NOMEM);
    else
        status = collect(l, b->s, a, err);
    sqlite_reset(b->s);
    if (status == UAR_OK) return a;
    if (a != NULL) answer_free(a);
    return NULL;
}

static void finish(answer *a, const uar_error *err, uar_completion *done) {
    if (a != NULL)
        uar_completion_records(done, a->records, a->count, answer_free, a);
    else
        uar_completion_fail(done, err->code, err->message);
}

void sqlite_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    sqlite_layer *l = ctx;
    if (l->db == NULL) {
        uar_completion_fail(done, UAR_E_CLOSED, "the store isn't open");
        return;
    }
    uar_error err = UAR_ERROR_INIT;
    sqlite_binder b = { .s = l->statements[SQLITE_RUN_GET] };
    sqlite_bind_key(&b, kind, owner, id);
    answer *a = run(l, &b, &err);
    if (a != NULL && a->count == 0) {
        answer_free(a);
        uar_completion_fail(done, UAR_E_NOT_FOUND, NULL);
        return;
    }
    finish(a, &err, done);
}

static sqlite_statement statement_of(const uar_list_query *q) {
    bool has_parent = q->parent.ptr != NULL;
    if (q->order == UAR_ORDER_KEY) return has_parent ? SQLITE_RUN_LIST_KEY_OF : SQLITE_RUN_LIST_KEY;
    return has_parent ? SQLITE_RUN_LIST_SORT_OF : SQLITE_RUN_LIST_SORT;
}

static void bind_query(sqlite_binder *b, const uar_list_query *q, const layer_start *start) {
    sqlite_bind_key(b, q->kind, q->owner, start->id);
    if (q->parent.ptr != NULL) sqlite_bind_bytes(b, SLOT_PARENT, q->parent);
    if (q->order == UAR_ORDER_SORT) sqlite_bind_integer(b, SLOT_SORT, start->sort);
    sqlite_bind_integer(b, SLOT_LIMIT, q->limit < INT64_MAX ? (int64_t)q->limit : INT64_MAX);
}

void sqlite_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    sqlite_layer *l = ctx;
    const char *fault = layer_query_fault(query);
    if (l->db == NULL || fault != NULL) {
        uar_completion_fail(done, fault != NULL ? UAR_E_INVALID : UAR_E_CLOSED,
                            fault != NULL ? fault : "the store isn't open");
        return;
    }
    layer_start start;
    if (!layer_list_start(&start, query)) {
        uar_completion_records(done, NULL, 0, NULL, NULL);
        return;
    }
    uar_error err = UAR_ERROR_INIT;
    sqlite_binder b = { .s = l->statements[statement_of(query)] };
    bind_query(&b, query, &start);
    answer *a = run(l, &b, &err);
    finish(a, &err, done);
}
