/*
 * Opening an SQLite store: connect, look at what is there, switch to the write-ahead log, make the tables of a new file.
 * Invariants: a file that isn't a store of this library is never written to; a new file gets all its tables in one
 * transaction, so that a killed process leaves either an empty file, which counts as new, or a whole store; after a failure
 * there is no connection. Whoever finds the file locked starts over until busy_timeout_ms is spent.
 */
#include <assert.h>
#include <limits.h>

#include "base/clock.h"
#include "base/str.h"
#include "store/sqlite.h"
#include "store/sqlite_scan.h"

typedef enum store_state { STORE_NEW, STORE_OLDER, STORE_OURS } store_state;

const char *sqlite_text(sqlite_statement s) {
    static const char *const texts[] = {
#define X_TEXT(name, sql) sql,
        SQLITE_STATEMENTS(X_TEXT)
#undef X_TEXT
    };
    return texts[s];
}

void sqlite_close(sqlite_layer *l) {
    for (int i = 0; i < SQLITE_STATEMENT_COUNT; i++) {
        sqlite3_finalize(l->statements[i]);
        l->statements[i] = NULL;
    }
    int code = sqlite3_close(l->db);
    assert(code == SQLITE_OK);
    (void)code;
    l->db = NULL;
}

int sqlite_ask(sqlite3 *db, const char *sql, sqlite3_int64 *out) {
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (code != SQLITE_OK) return code;
    code = sqlite3_step(s);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    while (code == SQLITE_ROW)
        code = sqlite3_step(s);
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int run(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* A transaction that stays open would spoil what comes next: the caller must hear of it. */
static int roll_back(sqlite3 *db) {
    return sqlite3_get_autocommit(db) ? SQLITE_OK : run(db, "ROLLBACK");
}

/* Our own SQL is right, so what SQLite calls an error of SQL while opening is a fault of the file. */
static uar_status open_fault(const sqlite_layer *l, int code, const char *doing, uar_error *err) {
    return sqlite_explain(l, (code & 0xff) == SQLITE_ERROR ? SQLITE_CORRUPT : code, doing, err);
}

/* ---- connection ---- */

int sqlite_patience(const sqlite_layer *l) {
    return l->options.busy_timeout_ms < INT_MAX ? (int)l->options.busy_timeout_ms : INT_MAX;
}

static uar_status open_file(sqlite_layer *l, const char *file, uar_error *err) {
    int flags = SQLITE_OPEN_NOMUTEX;
    flags |= l->options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    /* A store that was open before is never made anew: if its file is gone, so is what it held. */
    if (!l->options.read_only && l->file == NULL) flags |= SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(file, &l->db, flags, NULL);
    if (code != SQLITE_OK) {
        if (l->db != NULL) code = sqlite3_extended_errcode(l->db);
        return sqlite_explain(l, code, "opening", err);
    }
    sqlite3_extended_result_codes(l->db, 1);
    sqlite3_busy_timeout(l->db, sqlite_patience(l));
    return UAR_OK;
}

/* What a stored schema could do by itself is turned off: reading a store runs no code. */
void sqlite_harden(sqlite3 *db) {
    static const int off[] = {
#if defined(SQLITE_DBCONFIG_ENABLE_TRIGGER)
        SQLITE_DBCONFIG_ENABLE_TRIGGER,
#endif
#if defined(SQLITE_DBCONFIG_ENABLE_VIEW)
        SQLITE_DBCONFIG_ENABLE_VIEW,
#endif
#if defined(SQLITE_DBCONFIG_TRUSTED_SCHEMA)
        SQLITE_DBCONFIG_TRUSTED_SCHEMA,
#endif
#if defined(SQLITE_DBCONFIG_DQS_DDL)
        SQLITE_DBCONFIG_DQS_DDL,
        SQLITE_DBCONFIG_DQS_DML,
#endif
        SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
    };
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        (void)sqlite3_db_config(db, off[i], 0, NULL);
#if defined(SQLITE_DBCONFIG_DEFENSIVE)
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
#endif
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

/* Settings that durability, erasure and robustness stand on: each is set and read back. */
static uar_status configure(sqlite_layer *l, uar_error *err) {
    static const struct {
        const char *set, *get;
        int value;
    } settings[] = {
        { "PRAGMA synchronous=FULL", "PRAGMA synchronous", 2 },
        { "PRAGMA fullfsync=ON", "PRAGMA fullfsync", 1 },
        { "PRAGMA checkpoint_fullfsync=ON", "PRAGMA checkpoint_fullfsync", 1 },
        { "PRAGMA secure_delete=ON", "PRAGMA secure_delete", 1 },
        { "PRAGMA cell_size_check=ON", "PRAGMA cell_size_check", 1 },
        { "PRAGMA temp_store=MEMORY", "PRAGMA temp_store", 2 },
        { "PRAGMA mmap_size=0", "PRAGMA mmap_size", 0 },
        { "PRAGMA journal_size_limit=4194304", "PRAGMA journal_size_limit", 4194304 },
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        sqlite3_int64 value = 0;
        int code = run(l->db, settings[i].set);
        if (code == SQLITE_OK) code = sqlite_ask(l->db, settings[i].get, &value);
        if (code != SQLITE_OK) return open_fault(l, code, "opening", err);
        if (value != settings[i].value)
            return error_set(err, UAR_E_UNSUPPORTED, "this SQLite doesn't take %s, link another one", settings[i].set);
    }
    return UAR_OK;
}

/* A file that is shorter than it says, or has odd entries in its schema, is read all the same. */
static void pass_over_damage(sqlite3 *db) {
#if defined(SQLITE_DBCONFIG_DEFENSIVE) && defined(SQLITE_DBCONFIG_WRITABLE_SCHEMA)
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
#else
    (void)db;
#endif
}

/* What is refused keeps its log: SQLite would move it into the file when it closes it. */
static void leave_as_it_is(sqlite_layer *l) {
    if (l->db != NULL) (void)sqlite3_db_config(l->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite_close(l);
}

uar_status sqlite_connect(sqlite_layer *l, const char *file, uar_error *err) {
    uar_status status = open_file(l, file, err);
    if (status == UAR_OK) {
        sqlite_harden(l->db);
        if (l->salvages) pass_over_damage(l->db);
        status = configure(l, err);
    }
    if (status != UAR_OK) leave_as_it_is(l);
    return status;
}

/* ---- identity ---- */

typedef struct store_marks {
    sqlite3_int64 application, version, tables;
} store_marks;

static int read_marks(sqlite3 *db, store_marks *m) {
    int code = sqlite_ask(db, "PRAGMA application_id", &m->application);
    if (code == SQLITE_OK) code = sqlite_ask(db, "PRAGMA user_version", &m->version);
    if (code == SQLITE_OK) code = sqlite_ask(db, "SELECT count(*) FROM sqlite_master", &m->tables);
    return code;
}

static uar_status judge(store_state *out, const sqlite_layer *l, const store_marks *m, uar_error *err) {
    if (m->application == 0 && m->version == 0 && m->tables == 0) {
        *out = STORE_NEW;
        return UAR_OK;
    }
    if (m->application != SQLITE_APPLICATION_ID)
        return sqlite_refuse(l, UAR_E_CANTOPEN, "the file belongs to another program, choose another path", err);
    if (m->version > l->schema->version)
        return error_set(err, UAR_E_NEWER, "%s: the store has format %lld, this library knows up to %d; update it",
                         l->path, (long long)m->version, l->schema->version);
    if (m->version < l->schema->oldest || m->tables == 0)
        return sqlite_refuse(l, UAR_E_CORRUPT, "the store has no valid format version, restore it from a backup", err);
    *out = m->version < l->schema->version ? STORE_OLDER : STORE_OURS;
    return UAR_OK;
}

/* True if the name leads to another file by now: a repair put a new one in its place. */
static bool has_moved(sqlite3 *db) {
    int moved = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

/* In one read transaction, so that a store which another process is making is seen whole or not at all. */
static uar_status identify(store_state *out, const sqlite_layer *l, uar_error *err) {
    store_marks marks = { 0 };
    int code = run(l->db, "BEGIN");
    if (code == SQLITE_OK) code = read_marks(l->db, &marks);
    bool moved = code == SQLITE_OK && has_moved(l->db);
    int ended = roll_back(l->db);
    if (moved) return sqlite_refuse(l, UAR_E_BUSY, "the file was replaced while it was opened, try again", err);
    if (code == SQLITE_OK) code = ended;
    if (code != SQLITE_OK) return open_fault(l, code, "opening", err);
    return judge(out, l, &marks, err);
}

/* ---- making ---- */

static uar_status switch_to_log(const sqlite_layer *l, uar_error *err) {
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(l->db, "PRAGMA journal_mode=WAL", -1, &s, NULL);
    bool is_switched = false;
    if (code == SQLITE_OK) {
        code = sqlite3_step(s);
        const unsigned char *mode = code == SQLITE_ROW ? sqlite3_column_text(s, 0) : NULL;
        is_switched = mode != NULL && strcmp((const char *)mode, "wal") == 0;
        sqlite3_finalize(s);
    }
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        return open_fault(l, code, "switching to the write-ahead log", err);
    if (!is_switched)
        return sqlite_refuse(l, UAR_E_CANTOPEN, "its file system can't hold a write-ahead log, use a local one", err);
    return UAR_OK;
}

/* Under the write lock the file is looked at again: another process may have made or advanced the store meanwhile. */
static uar_status bring_up(const sqlite_layer *l, const char *doing, uar_error *err) {
    int code = run(l->db, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK) return open_fault(l, code, doing, err);
    store_marks marks = { 0 };
    store_state state = STORE_OURS;
    uar_status status = UAR_OK;
    code = read_marks(l->db, &marks);
    if (code == SQLITE_OK) status = judge(&state, l, &marks, err);
    if (code == SQLITE_OK && status == UAR_OK && state == STORE_NEW) code = sqlite_schema_create(l->db, l->schema);
    if (code == SQLITE_OK && status == UAR_OK && state == STORE_OLDER)
        code = sqlite_schema_advance(l->db, l->schema, (int)marks.version, &l->options.progress);
    if (code == SQLITE_OK && status == UAR_OK) code = run(l->db, "COMMIT");
    if (code != SQLITE_OK) status = open_fault(l, code, doing, err);
    int ended = roll_back(l->db);
    return status == UAR_OK && ended != SQLITE_OK ? open_fault(l, ended, doing, err) : status;
}

static uar_status prepare(sqlite_layer *l, uar_error *err) {
    for (int i = 0; i < SQLITE_STATEMENT_COUNT; i++) {
        int code = sqlite3_prepare_v3(l->db, sqlite_text((sqlite_statement)i), -1, SQLITE_PREPARE_PERSISTENT,
                                      &l->statements[i], NULL);
        if (code == SQLITE_ERROR)
            return sqlite_refuse(l, UAR_E_CORRUPT, "the store lacks tables it should have, restore it from a backup",
                                 err);
        if (code != SQLITE_OK) return open_fault(l, code, "opening", err);
    }
    return UAR_OK;
}

/* A damaged key would otherwise only make its record invisible; what lies in the records themselves is guarded by their
 * checksums. */
static uar_status verify(const sqlite_layer *l, uar_error *err) {
    sqlite3_int64 pages = 0, page_bytes = 0;
    int code = sqlite_ask(l->db, "PRAGMA page_count", &pages);
    if (code == SQLITE_OK) code = sqlite_ask(l->db, "PRAGMA page_size", &page_bytes);
    if (code != SQLITE_OK) return open_fault(l, code, "opening", err);
    return pages * page_bytes > SQLITE_VERIFY_BYTES ? UAR_OK : sqlite_integrity(l->path, l->db, err);
}

/* A store that may only be read must be one already. */
static uar_status check_readable(const sqlite_layer *l, store_state state, uar_error *err) {
    if (state == STORE_NEW)
        return sqlite_refuse(l, UAR_E_CANTOPEN, "the store is empty, open it once for writing", err);
    if (state == STORE_OLDER)
        return sqlite_refuse(l, UAR_E_READ_ONLY, "the store is of an older version, open it once for writing", err);
    return UAR_OK;
}

/* Free pages of a new file can be given back bit by bit later on. */
static uar_status begin_new(const sqlite_layer *l, uar_error *err) {
    int code = run(l->db, "PRAGMA auto_vacuum=INCREMENTAL");
    return code == SQLITE_OK ? UAR_OK : open_fault(l, code, "making the store", err);
}

uar_status sqlite_identify(const sqlite_layer *l, uar_error *err) {
    store_state state = STORE_NEW;
    uar_status status = identify(&state, l, err);
    if (status == UAR_OK && state == STORE_NEW)
        return sqlite_refuse(l, UAR_E_CANTOPEN, "the file is no store, it is empty", err);
    return status;
}

/* SQLite drops what lies behind damage in the log; that commits are missing then must be said. */
static uar_status check_log(const sqlite_layer *l, uar_error *err) {
    sqlite_scan found;
    int code = sqlite_scan_log(&found, l->db, &l->alloc);
    if (code != SQLITE_OK) return open_fault(l, code, "reading the write-ahead log", err);
    if (!found.is_damaged) return UAR_OK;
    char text[SQLITE_SCAN_TEXT];
    sqlite_scan_tell(text, &found);
    return sqlite_refuse(l, UAR_E_CORRUPT, text, err);
}

static uar_status make(sqlite_layer *l, uar_error *err) {
    store_state state = STORE_NEW;
    uar_status status = identify(&state, l, err);
    if (status == UAR_OK) status = check_log(l, err);
    if (status != UAR_OK) return status;
    if (state != STORE_NEW && (status = verify(l, err)) != UAR_OK) return status;
    if (state == STORE_NEW && l->file != NULL)
        return sqlite_refuse(l, UAR_E_CORRUPT, "the store was emptied while it was suspended, restore it", err);
    if (l->options.read_only) {
        status = check_readable(l, state, err);
    } else {
        if (state == STORE_NEW) status = begin_new(l, err);
        if (status == UAR_OK) status = switch_to_log(l, err);
        if (status == UAR_OK && state == STORE_NEW) status = bring_up(l, "making the store", err);
        if (status == UAR_OK && state == STORE_OLDER) status = bring_up(l, "bringing the store up to date", err);
        if (status == UAR_OK) sqlite_log_watch(l);
    }
    return status == UAR_OK ? prepare(l, err) : status;
}

static uar_status try_open(sqlite_layer *l, const char *file, uar_error *err) {
    if (sqlite_log_is_orphan(l, file))
        return sqlite_refuse(l, UAR_E_CORRUPT, "the file is gone or empty but its log holds data, restore the file",
                             err);
    if (sqlite_is_too_short(file))
        return sqlite_refuse(l, UAR_E_CORRUPT, "the file is too short to be a store, choose another path", err);
    uar_status status = sqlite_connect(l, file, err);
    if (status == UAR_OK) status = make(l, err);
    if (status != UAR_OK) leave_as_it_is(l);
    return status;
}

static uar_status check_options(const sqlite_layer *l, uar_error *err) {
    if (l->options_fault.code != UAR_OK) return error_copy(err, &l->options_fault);
    if (l->path == NULL || l->path[0] == '\0')
        return error_set(err, UAR_E_INVALID, "an SQLite store needs the path of its file");
    if (sqlite3_threadsafe() == 0)
        return error_set(err, UAR_E_UNSUPPORTED, "this SQLite was built for one thread only, link another one");
    return UAR_OK;
}

/* Whoever finds the file locked starts over until the time is spent. */
static uar_status open_patiently(sqlite_layer *l, const char *file, uar_error *err) {
    enum { PAUSE_MS = 10 };
    uint64_t end = clock_mono(&clock_default) + l->options.busy_timeout_ms;
    uar_status status;
    while ((status = try_open(l, file, err)) == UAR_E_BUSY && clock_mono(&clock_default) < end)
        sqlite3_sleep(PAUSE_MS);
    return status;
}

uar_status sqlite_open(void *ctx, uar_error *err) {
    sqlite_layer *l = ctx;
    assert(l->db == NULL && l->file == NULL);
    uar_status status = check_options(l, err);
    if (status != UAR_OK) return status;
    sqlite_place place;
    status = sqlite_place_find(&place, l, err);
    if (status != UAR_OK) return status;
    status = open_patiently(l, place.file, err);
    if (status == UAR_OK) {
        l->file = place.file;
        l->folder = place.folder;
        return UAR_OK;
    }
    alloc_free(&l->alloc, place.file);
    alloc_free(&l->alloc, place.folder);
    return status;
}

uar_status sqlite_suspend(void *ctx, uar_error *err) {
    sqlite_layer *l = ctx;
    if (l->file == NULL) return error_set(err, UAR_E_CLOSED, "the store isn't open");
    sqlite_close(l);
    return UAR_OK;
}

uar_status sqlite_resume(void *ctx, uar_error *err) {
    sqlite_layer *l = ctx;
    if (l->file == NULL) return error_set(err, UAR_E_CLOSED, "the store isn't open");
    return l->db != NULL ? UAR_OK : open_patiently(l, l->file, err);
}
