/* Owns: the clean-up behind deletions. Invariant: a mark leaves the list only after the file was seen without it, or after
 * the file was rebuilt from its live rows. */
#include "memory/erase.h"

/* Marks are looked for by their first two bytes first. */
#define PREFIXES 65536u
#define CHUNK ((size_t)64 * 1024)
/* More marks than this aren't looked for: the file is rebuilt at once. */
#define SEARCHED_MAX 256
/* How long a clean-up waits for readers of other processes: the caller waits with it. */
#define PATIENCE_MS 250

typedef struct marks {
    const uar_allocator *alloc;
    uint8_t (*list)[MARK_BYTES];
    size_t count, cap;
    int64_t last_row;
    uint8_t *prefixes; /* a bit for each two-byte beginning */
} marks;

uar_status erase_note(database *db, const uint8_t mark[MARK_BYTES], uar_error *err) {
    uint8_t inverted[MARK_BYTES];
    for (size_t i = 0; i < MARK_BYTES; i++)
        inverted[i] = (uint8_t)~mark[i]; /* the list itself must not be found */
    query q;
    query_begin(&q, db, SQL_ERASURE_ADD);
    query_blob(&q, 18, inverted, sizeof inverted);
    return query_run(&q, err);
}

static void marks_dispose(marks *m) {
    alloc_free(m->alloc, m->list);
    alloc_free(m->alloc, m->prefixes);
}

static uar_status marks_add(marks *m, uar_str inverted) {
    if (inverted.len != MARK_BYTES) return UAR_E_CORRUPT;
    if (m->count == m->cap) {
        size_t cap = m->cap != 0 ? m->cap * 2 : 16;
        uint8_t(*list)[MARK_BYTES] = (uint8_t(*)[MARK_BYTES])alloc_resize(m->alloc, m->list, cap * MARK_BYTES);
        if (list == NULL) return UAR_E_NOMEM;
        m->list = list;
        m->cap = cap;
    }
    uint8_t *mark = m->list[m->count++];
    for (size_t i = 0; i < MARK_BYTES; i++)
        mark[i] = (uint8_t) ~(uint8_t)inverted.ptr[i];
    unsigned prefix = (unsigned)mark[0] << 8 | mark[1];
    m->prefixes[prefix / 8] |= (uint8_t)(1u << (prefix % 8));
    return UAR_OK;
}

static uar_status marks_load(marks *m, database *db, uar_error *err) {
    m->prefixes = (uint8_t *)alloc_zeroed(m->alloc, PREFIXES / 8, 1);
    uar_status status = m->prefixes != NULL ? UAR_OK : UAR_E_NOMEM;
    query q;
    query_begin(&q, db, SQL_ERASURE_LIST);
    while (status == UAR_OK && query_next(&q)) {
        m->last_row = query_get_int(&q, 0);
        status = marks_add(m, query_get_text(&q, 1));
    }
    uar_status end = query_end(&q, err);
    if (status != UAR_OK) return error_plain(err, status);
    return end;
}

static bool is_mark(const marks *m, const uint8_t *at) {
    for (size_t i = 0; i < m->count; i++)
        if (memcmp(m->list[i], at, MARK_BYTES) == 0) return true;
    return false;
}

static bool holds_mark(const marks *m, const uint8_t *bytes, size_t len) {
    for (size_t at = 0; at + MARK_BYTES <= len; at++) {
        unsigned prefix = (unsigned)bytes[at] << 8 | bytes[at + 1];
        if ((m->prefixes[prefix / 8] >> (prefix % 8) & 1) != 0 && is_mark(m, bytes + at)) return true;
    }
    return false;
}

/* Reads through SQLite's own handle: to open and close the file beside it would drop the process's locks on it. */
static uar_status file_holds_mark(bool *out, const marks *m, database *db) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == NULL ||
        file->pMethods == NULL || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        return UAR_E_IO;
    uint8_t *chunk = (uint8_t *)alloc_bytes(m->alloc, CHUNK + MARK_BYTES);
    if (chunk == NULL) return UAR_E_NOMEM;
    uar_status status = UAR_OK;
    *out = false;
    for (sqlite3_int64 at = 0; at < size && !*out && status == UAR_OK; at += (sqlite3_int64)CHUNK) {
        size_t want = CHUNK + MARK_BYTES - 1; /* overlap: a mark may lie across two chunks */
        if ((sqlite3_int64)want > size - at) want = (size_t)(size - at);
        int code = file->pMethods->xRead(file, chunk, (int)want, at);
        if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
            status = UAR_E_IO;
        else
            *out = holds_mark(m, chunk, want);
    }
    alloc_free(m->alloc, chunk);
    return status;
}

/* Move all of the log into the file and empty it. UAR_E_BUSY while another connection still reads the log. */
static uar_status empty_log(database *db) {
    int code = sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return code == SQLITE_OK ? UAR_OK : database_fault(db, code, NULL);
}

/* Give whole free pages back when they are more than a quarter of the file. */
static void shrink(database *db) {
    int64_t pages = 0;
    int64_t unused = 0;
    if (database_number(db, "PRAGMA page_count", &pages, NULL) != UAR_OK ||
        database_number(db, "PRAGMA freelist_count", &unused, NULL) != UAR_OK)
        return;
    if (unused > 16 && unused * 4 > pages) (void)database_run(db, "PRAGMA incremental_vacuum", NULL);
}

static uar_status strike_off(database *db, int64_t last_row) {
    uar_status status = database_begin_write(db, NULL);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, db, SQL_ERASURE_DROP);
    query_int(&q, 18, last_row);
    return database_end_write(db, query_run(&q, NULL), NULL);
}

static uar_status clean(marks *m, database *db) {
    shrink(db);
    uar_status status = empty_log(db);
    bool found = true;
    if (status == UAR_OK && m->count <= SEARCHED_MAX) status = file_holds_mark(&found, m, db);
    if (status == UAR_OK && found) {
        status = database_run(db, "VACUUM", NULL);
        if (status == UAR_OK) status = empty_log(db);
    }
    return status == UAR_OK ? strike_off(db, m->last_row) : status;
}

uar_status erase_count(uint64_t *out, database *db, uar_error *err) {
    int64_t count = 0;
    uar_status status = statement_number(&count, db, SQL_ERASURE_COUNT, err);
    if (status == UAR_OK) *out = (uint64_t)count;
    return status;
}

uar_status erase_pending(uar_memory *memory, uint64_t *pending, uar_error *err) {
    database *db = &memory->database;
    uint64_t waiting = 0;
    uar_status status = erase_count(&waiting, db, err);
    if (status != UAR_OK) return status;
    if (waiting != 0 && !db->read_only) {
        marks m = { .alloc = &memory->alloc };
        status = marks_load(&m, db, err);
        if (status == UAR_OK) {
            sqlite3_busy_timeout(db->handle, PATIENCE_MS);
            (void)clean(&m, db);
            sqlite3_busy_timeout(db->handle, (int)db->busy_timeout_ms);
        }
        marks_dispose(&m);
        if (status == UAR_OK) status = erase_count(&waiting, db, err);
    }
    if (status == UAR_OK) *pending = waiting;
    return status;
}

bool erase_now(uar_memory *memory) {
    uint64_t pending = 0;
    if (memory_enter(memory, NULL) != UAR_OK) return false;
    uar_status status = erase_pending(memory, &pending, NULL);
    memory_leave(memory);
    return status == UAR_OK && pending == 0;
}

uar_status uar_memory_clean_sync(uint64_t *pending, uar_memory *memory, uar_error *err) {
    uar_status status = memory_enter(memory, err);
    if (status != UAR_OK) return status;
    uint64_t left = 0;
    if (memory->database.read_only)
        status = error_set(err, UAR_E_READ_ONLY, "the memory store was opened for reading");
    else
        status = erase_pending(memory, &left, err);
    memory_leave(memory);
    if (status == UAR_OK) *pending = left;
    return status;
}
