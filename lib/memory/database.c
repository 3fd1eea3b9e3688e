/* Owns: the connection, its pragmas, the schema and the statement cache. Invariant: a file that is foreign, newer or damaged
 * is recognised before anything is written to it. */
#include "memory/database.h"

#include <assert.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/str.h"
#include "store/sqlite.h"
#include "store/sqlite_scan.h"

static const char *const statement_texts[] = {
#define X_TEXT(name, text) text,
    SQL_STATEMENTS(X_TEXT) SQL_GRAPH_STATEMENTS(X_TEXT) SQL_STREAM_STATEMENTS(X_TEXT) SQL_EMBED_STATEMENTS(X_TEXT)
        SQL_EXPIRE_STATEMENTS(X_TEXT)
#undef X_TEXT
};

uar_status database_fault(const database *db, int code, uar_error *err) {
    uar_status status = UAR_E_INTERNAL;
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: status = UAR_E_BUSY; break;
    case SQLITE_FULL: status = UAR_E_FULL; break;
    case SQLITE_IOERR: status = code == SQLITE_IOERR_NOMEM ? UAR_E_NOMEM : UAR_E_IO; break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: status = UAR_E_CORRUPT; break;
    case SQLITE_READONLY: status = UAR_E_READ_ONLY; break;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH: status = UAR_E_CANTOPEN; break;
    case SQLITE_NOMEM: status = UAR_E_NOMEM; break;
    case SQLITE_CONSTRAINT: status = UAR_E_EXISTS; break;
    case SQLITE_TOOBIG: status = UAR_E_TOO_LARGE; break;
    default: break;
    }
    if (db != NULL && sqlite_status_of(db->handle, code) == UAR_E_PROTECTED) status = UAR_E_PROTECTED;
    const char *reason = db != NULL && db->handle != NULL ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);
    error_set(err, status, "memory store: %s", reason != NULL ? reason : uar_status_text(status));
    if (err != NULL) err->detail = code;
    return status;
}

void query_begin(query *q, database *db, sql_id id) {
    q->db = db;
    q->code = SQLITE_OK;
    if (db->statements[id] == NULL)
        q->code = sqlite3_prepare_v3(db->handle, statement_texts[id], -1, SQLITE_PREPARE_PERSISTENT,
                                     &db->statements[id], NULL);
    q->statement = db->statements[id];
}

static void note(query *q, int code) {
    if (q->code == SQLITE_OK) q->code = code;
}

void query_int(query *q, int at, int64_t value) {
    if (q->code == SQLITE_OK) note(q, sqlite3_bind_int64(q->statement, at, value));
}

void query_real(query *q, int at, double value) {
    if (q->code == SQLITE_OK) note(q, sqlite3_bind_double(q->statement, at, value));
}

void query_null(query *q, int at) {
    if (q->code == SQLITE_OK) note(q, sqlite3_bind_null(q->statement, at));
}

void query_text(query *q, int at, uar_str text) {
    if (q->code != SQLITE_OK) return;
    if (text.ptr == NULL)
        note(q, sqlite3_bind_null(q->statement, at));
    else
        note(q, sqlite3_bind_text64(q->statement, at, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8));
}

void query_blob(query *q, int at, const void *bytes, size_t len) {
    if (q->code != SQLITE_OK) return;
    note(q, len != 0 ? sqlite3_bind_blob64(q->statement, at, bytes, len, SQLITE_STATIC)
                     : sqlite3_bind_zeroblob(q->statement, at, 0));
}

void query_uuid(query *q, int at, uar_uuid id) {
    if (q->code != SQLITE_OK) return;
    if (uar_uuid_is_none(id))
        note(q, sqlite3_bind_null(q->statement, at));
    else
        note(q, sqlite3_bind_blob64(q->statement, at, id.bytes, sizeof id.bytes, SQLITE_TRANSIENT));
}

bool query_next(query *q) {
    if (q->code != SQLITE_OK) return false;
    int code = sqlite3_step(q->statement);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) q->code = sqlite3_extended_errcode(q->db->handle);
    if (code != SQLITE_DONE && q->code == SQLITE_OK) q->code = code;
    return false;
}

int64_t query_get_int(const query *q, int column) {
    return sqlite3_column_int64(q->statement, column);
}

double query_get_real(const query *q, int column) {
    return sqlite3_column_double(q->statement, column);
}

uar_str query_get_text(query *q, int column) {
    if (sqlite3_column_type(q->statement, column) == SQLITE_NULL) return uar_str_n(NULL, 0);
    const void *bytes = sqlite3_column_blob(q->statement, column);
    int len = sqlite3_column_bytes(q->statement, column);
    if (bytes == NULL && len == 0) return uar_str_n("", 0);
    if (bytes == NULL) note(q, SQLITE_NOMEM);
    return uar_str_n((const char *)bytes, bytes != NULL ? (size_t)len : 0);
}

uar_status query_copy_text(uar_str *out, query *q, int column, arena *ar) {
    uar_str text = query_get_text(q, column);
    *out = arena_str(ar, text);
    bool is_copied = text.ptr == NULL || out->ptr != NULL;
    return is_copied && q->code == SQLITE_OK ? UAR_OK : UAR_E_NOMEM;
}

uar_uuid query_get_uuid(query *q, int column) {
    uar_uuid id = { { 0 } };
    uar_str bytes = query_get_text(q, column);
    if (bytes.len == sizeof id.bytes) memcpy(id.bytes, bytes.ptr, sizeof id.bytes);
    return id;
}

uar_status query_end(query *q, uar_error *err) {
    uar_status status = q->code == SQLITE_OK ? UAR_OK : database_fault(q->db, q->code, err);
    if (q->statement != NULL) {
        sqlite3_reset(q->statement);
        sqlite3_clear_bindings(q->statement);
    }
    return status;
}

uar_status query_number(query *q, int64_t *out, uar_error *err) {
    int64_t number = query_next(q) ? query_get_int(q, 0) : 0;
    uar_status status = query_end(q, err);
    if (status == UAR_OK) *out = number;
    return status;
}

uar_status statement_number(int64_t *out, database *db, sql_id id, uar_error *err) {
    query q;
    query_begin(&q, db, id);
    return query_number(&q, out, err);
}

uar_status query_run(query *q, uar_error *err) {
    while (query_next(q)) {}
    return query_end(q, err);
}

static uar_status run(database *db, sql_id id, uar_error *err) {
    query q;
    query_begin(&q, db, id);
    return query_run(&q, err);
}

/* Rolling back must not need memory: its statement exists before there is a transaction. One that could not be rolled back
 * all the same is given another try. */
static uar_status begin(database *db, sql_id id, uar_error *err) {
    query rollback;
    query_begin(&rollback, db, SQL_ROLLBACK);
    if (rollback.code == SQLITE_OK && sqlite3_get_autocommit(db->handle) == 0) (void)query_next(&rollback);
    uar_status status = query_end(&rollback, err);
    return status == UAR_OK ? run(db, id, err) : status;
}

uar_status database_begin_read(database *db, uar_error *err) {
    return begin(db, SQL_BEGIN, err);
}

void database_end_read(database *db) {
    if (sqlite3_get_autocommit(db->handle) == 0) (void)run(db, SQL_ROLLBACK, NULL);
}

uar_status database_begin_write(database *db, uar_error *err) {
    return begin(db, SQL_BEGIN_WRITE, err);
}

uar_status database_end_write(database *db, uar_status status, uar_error *err) {
    if (status == UAR_OK) status = run(db, SQL_COMMIT, err);
    if (status != UAR_OK) database_end_read(db);
    return status;
}

uar_status database_run(database *db, const char *sql, uar_error *err) {
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? UAR_OK : database_fault(db, sqlite3_extended_errcode(db->handle), err);
}

uar_status database_number(database *db, const char *sql, int64_t *out, uar_error *err) {
    query q = { db, NULL, SQLITE_OK };
    q.code = sqlite3_prepare_v2(db->handle, sql, -1, &q.statement, NULL);
    int64_t value = *out;
    if (query_next(&q)) value = query_get_int(&q, 0);
    uar_status status = query_end(&q, err);
    sqlite3_finalize(q.statement);
    if (status == UAR_OK) *out = value;
    return status;
}

typedef struct file_identity {
    int64_t application, version, tables;
} file_identity;

/* In one snapshot: another process may create the tables between two reads. */
static uar_status identify(database *db, file_identity *out, uar_error *err) {
    *out = (file_identity){ 0, 0, 0 };
    bool is_inside = sqlite3_get_autocommit(db->handle) == 0;
    uar_status status = is_inside ? UAR_OK : database_run(db, "BEGIN", err);
    if (status == UAR_OK) status = database_number(db, "SELECT count(*) FROM sqlite_master", &out->tables, err);
    if (status == UAR_OK) status = database_number(db, "PRAGMA application_id", &out->application, err);
    if (status == UAR_OK) status = database_number(db, "PRAGMA user_version", &out->version, err);
    if (!is_inside && sqlite3_get_autocommit(db->handle) == 0) {
        uar_status end = database_run(db, "COMMIT", status == UAR_OK ? err : NULL);
        if (status == UAR_OK) status = end;
    }
    return status;
}

/* True in `is_new` if the file is empty; an error if it isn't ours to use. */
static uar_status recognise(database *db, bool *is_new, uar_error *err) {
    file_identity id;
    uar_status status = identify(db, &id, err);
    if (status != UAR_OK) return status;
    *is_new = id.application == 0 && id.version == 0 && id.tables == 0;
    if (*is_new) return UAR_OK;
    if (id.application != SCHEMA_APPLICATION_ID) return error_set(err, UAR_E_CORRUPT, "the file is not a memory store");
    if (id.version > SCHEMA_VERSION)
        return error_set(err, UAR_E_NEWER, "the memory store has version %lld, this library knows %d",
                         (long long)id.version, SCHEMA_VERSION);
    if (id.version > 0 && id.version < SCHEMA_VERSION && id.tables != 0)
        return error_set(err, UAR_E_UNSUPPORTED,
                         "the memory store has version %lld, which was never released; this library reads version %d",
                         (long long)id.version, SCHEMA_VERSION);
    if (id.version != SCHEMA_VERSION || id.tables == 0)
        return error_set(err, UAR_E_CORRUPT, "the memory store has no valid version");
    return UAR_OK;
}

/* SQLite drops what lies behind damage in the log; that commits are missing then must be said. */
static uar_status check_log(database *db, const uar_allocator *alloc, uar_error *err) {
    sqlite_scan found;
    int code = sqlite_scan_log(&found, db->handle, alloc);
    if (code != SQLITE_OK) return database_fault(db, code, err);
    if (!found.is_damaged) return UAR_OK;
    char text[SQLITE_SCAN_TEXT];
    sqlite_scan_tell(text, &found);
    return error_set(err, UAR_E_CORRUPT, "%s", text);
}

/* The switch takes an exclusive lock without calling the busy handler, so that it is tried again here. */
static uar_status switch_to_wal(database *db, uint32_t patience_ms, uar_error *err) {
    uint32_t waited = 0;
    for (;;) {
        query q = { db, NULL, SQLITE_OK };
        q.code = sqlite3_prepare_v2(db->handle, "PRAGMA journal_mode = WAL", -1, &q.statement, NULL);
        bool is_wal = query_next(&q) && str_is(query_get_text(&q, 0), "wal");
        uar_status status = query_end(&q, err);
        sqlite3_finalize(q.statement);
        if (status == UAR_OK)
            return is_wal ? UAR_OK
                          : error_set(err, UAR_E_CANTOPEN, "the memory store can't use a write-ahead log here");
        if (status != UAR_E_BUSY || waited >= patience_ms) return status;
        waited += (uint32_t)sqlite3_sleep(5);
    }
}

/* The page cache holds what a chunk of the index is built from, vectors included: each of its rows is read soon after it was
 * written, and a cache that is a little too small for them reads all of them again. Pages of random indexes are written by
 * every batch: a checkpoint every 16 MB rather than every 4 carries them over less often. */
static uar_status harden(database *db, uar_error *err) {
    uar_status status =
        database_run(db,
                     "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;"
                     "PRAGMA checkpoint_fullfsync = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;"
                     "PRAGMA wal_autocheckpoint = 4000;"
                     "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0",
                     err);
    int64_t secure = 0;
    if (status == UAR_OK) status = database_number(db, "PRAGMA secure_delete = ON", &secure, err);
    if (status == UAR_OK) status = database_number(db, "PRAGMA secure_delete", &secure, err);
    if (status == UAR_OK && secure != 1)
        return error_set(err, UAR_E_CANTOPEN, "this SQLite can't overwrite what it deletes");
    return status;
}

static uint64_t big_endian(const char *bytes) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | (uint8_t)bytes[i];
    return value;
}

static uar_status put_meta(database *db, const char *key, const void *bytes, size_t len, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_META_PUT);
    query_text(&q, 18, uar_str_of(key));
    query_blob(&q, 19, bytes, len);
    return query_run(&q, err);
}

static uar_status create_tables(database *db, const uar_random *random, uar_error *err) {
    uint8_t key[16];
    if (random->fill(random->ctx, key, sizeof key) != UAR_OK)
        return error_set(err, UAR_E_INTERNAL, "there are no random bytes for a new memory store");
    uar_status status = database_run(db, schema_sql, err);
    if (status == UAR_OK) status = database_run(db, graph_schema_sql, err);
    if (status == UAR_OK) status = database_run(db, stream_schema_sql, err);
    if (status == UAR_OK) status = database_run(db, embed_schema_sql, err);
    if (status == UAR_OK) status = database_run(db, expire_schema_sql, err);
    if (status == UAR_OK) status = put_meta(db, "terms", key, sizeof key, err);
    uint8_t analysis[1] = { ANALYSIS_VERSION };
    if (status == UAR_OK) status = put_meta(db, "analysis", analysis, sizeof analysis, err);
    char pragmas[96];
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", SCHEMA_APPLICATION_ID,
             SCHEMA_VERSION);
    return status == UAR_OK ? database_run(db, pragmas, err) : status;
}

static uar_status create(database *db, const uar_random *random, uar_error *err) {
    uar_status status = database_begin_write(db, err);
    if (status != UAR_OK) return status;
    bool is_new = false;
    status = recognise(db, &is_new, err);
    if (status == UAR_OK && is_new) status = create_tables(db, random, err);
    return database_end_write(db, status, err);
}

static uar_status read_meta(database *db, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_META_GET);
    query_text(&q, 18, STR("terms"));
    bool found = false;
    if (query_next(&q)) {
        uar_str key = query_get_text(&q, 0);
        found = key.len == 16;
        if (found) db->key = (term_key){ big_endian(key.ptr), big_endian(key.ptr + 8) };
    }
    uar_status status = query_end(&q, err);
    if (status != UAR_OK) return status;
    query_begin(&q, db, SQL_META_GET);
    query_text(&q, 18, STR("analysis"));
    if (query_next(&q)) {
        uar_str version = query_get_text(&q, 0);
        db->analysis = version.len == 1 ? (uint8_t)version.ptr[0] : 0;
    }
    status = query_end(&q, err);
    if (status == UAR_OK && !found) return error_set(err, UAR_E_CORRUPT, "the memory store has lost its term key");
    return status;
}

static uar_status set_up(database *db, const database_options *options, uar_error *err) {
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, (int)options->busy_timeout_ms);
    bool is_new = false;
    uar_status status = recognise(db, &is_new, err);
    if (status == UAR_OK) status = check_log(db, options->alloc, err);
    if (status == UAR_OK && is_new && options->must_exist)
        return error_set(err, UAR_E_CORRUPT, "the memory store was emptied while it was suspended; restore it");
    if (status == UAR_OK && is_new && db->read_only)
        return error_set(err, UAR_E_CANTOPEN, "there is no memory store to read");
    if (status == UAR_OK && is_new)
        status = database_run(db, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL", err);
    if (status == UAR_OK && !db->read_only) status = switch_to_wal(db, options->busy_timeout_ms, err);
    if (status == UAR_OK) status = harden(db, err);
    if (status == UAR_OK && is_new) status = create(db, options->random, err);
    if (status == UAR_OK) status = read_meta(db, err);
    return status;
}

/* SQLite may be built to read URIs and knows names with a meaning; a path is only ever a path. */
static char *plain_path(const uar_allocator *a, const char *path) {
    bool is_special = path[0] == ':' || strncmp(path, "file:", 5) == 0;
    buffer b;
    buffer_init(&b, a, SIZE_MAX / 4);
    if (is_special) buffer_append_text(&b, "./");
    buffer_append_text(&b, path);
    char *out = buffer_take(&b, NULL);
    buffer_dispose(&b);
    return out;
}

static void name_path(uar_error *err, const char *path) {
    if (err == NULL) return;
    int32_t detail = err->detail;
    error_set(err, err->code, "%s: %s", err->message, path);
    err->detail = detail;
}

uar_status database_open(database *db, const char *path, const database_options *options, uar_error *err) {
    *db = (database){ .read_only = options->read_only, .busy_timeout_ms = options->busy_timeout_ms };
    int flags = SQLITE_OPEN_NOMUTEX | (options->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    if (!options->read_only && !options->must_exist) flags |= SQLITE_OPEN_CREATE;
    char *plain = plain_path(options->alloc, path);
    if (plain == NULL) return error_plain(err, UAR_E_NOMEM);
    int code = sqlite3_open_v2(plain, &db->handle, flags, NULL);
    alloc_free(options->alloc, plain);
    uar_status status = code == SQLITE_OK ? set_up(db, options, err) : database_fault(db, code, err);
    if (status != UAR_OK) {
        name_path(err, path);
        /* What is refused is left as it is: SQLite would move the log into the file now. */
        if (db->handle != NULL) (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        database_close(db);
    }
    return status;
}

void database_close(database *db) {
    for (size_t i = 0; i < SQL_COUNT_OF_STATEMENTS; i++)
        sqlite3_finalize(db->statements[i]);
    int code = sqlite3_close(db->handle);
    assert(code == SQLITE_OK);
    (void)code;
    *db = (database){ .read_only = db->read_only, .busy_timeout_ms = db->busy_timeout_ms };
}

char *database_full_path(const uar_allocator *a, const char *path) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    char *plain = vfs != NULL ? plain_path(a, path) : NULL;
    if (plain == NULL) return NULL;
    size_t room = (size_t)vfs->mxPathname + 1;
    char *full = (char *)alloc_zeroed(a, 1, room);
    int code = full != NULL ? vfs->xFullPathname(vfs, plain, (int)room, full) : SQLITE_NOMEM;
    alloc_free(a, plain);
    if (code == SQLITE_OK || code == SQLITE_OK_SYMLINK) return full;
    alloc_free(a, full);
    return NULL;
}

uar_status row_batch_next(row_batch *out, database *db, sql_id id, int64_t after, uar_error *err) {
    query q;
    query_begin(&q, db, id);
    query_int(&q, 18, after);
    query_int(&q, 19, ROW_BATCH);
    out->count = 0;
    while (out->count < ROW_BATCH && query_next(&q))
        out->nums[out->count++] = query_get_int(&q, 0);
    return query_end(&q, err);
}
