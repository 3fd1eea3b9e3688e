/*
 * Erasing one owner. Owns nothing.
 * Invariant: records, graph and streams go through their own deletions, as an operator; what then still names the owner are
 * rows of segments and of unique keys. A segment keeps its number, which caches know it by, and loses its name.
 */
#include "memory/owner.h"

#include <uar/memory_graph.h>
#include <uar/memory_stream.h>

#include "base/str.h"
#include "memory/service.h"

#define PAGE 200
#define ALL_SCOPES 0x3eu

static uar_status erase_records(owner_erasure *sum, uar_memory *m, const uar_identity *who, uar_error *err) {
    const uar_memory_filter all = { UAR_MEMORY_FILTER_INIT, .scopes = ALL_SCOPES };
    uar_memory_erasure done = { .erased = 0 };
    uar_status status = uar_memory_delete_where_sync(&done, m, who, &all, err);
    if (status != UAR_OK) return status;
    sum->records += done.erased + done.pending;
    return UAR_OK;
}

/* False: there is nothing left. */
static uar_status erase_entities(bool *more, owner_erasure *sum, uar_memory *m, const uar_identity *who,
                                 uar_error *err) {
    uar_memory_graph *page = NULL;
    uar_status status = uar_memory_graph_entities_sync(&page, m, who, NULL, uar_str_of(NULL), PAGE, err);
    *more = status == UAR_OK && page->entity_count > 0;
    for (size_t i = 0; *more && status == UAR_OK && i < page->entity_count; i++) {
        uar_memory_change change;
        status = uar_memory_graph_delete_sync(&change, m, who, page->entities[i].id, err);
        if (status == UAR_E_NOT_FOUND) status = UAR_OK;
        sum->entities++;
    }
    uar_memory_graph_free(page);
    return status;
}

static uar_status erase_streams(bool *more, owner_erasure *sum, uar_memory *m, const uar_identity *who,
                                uar_memory_stream_archiving archived, uar_error *err) {
    const uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = archived };
    uar_memory_streams *page = NULL;
    uar_status status = uar_memory_stream_list_sync(&page, m, who, &filter, uar_str_of(NULL), PAGE, err);
    *more = status == UAR_OK && page->count > 0;
    for (size_t i = 0; *more && status == UAR_OK && i < page->count; i++) {
        uar_memory_outcome outcome;
        status = uar_memory_stream_delete_sync(&outcome, m, who, page->streams[i].id, err);
        if (status == UAR_E_NOT_FOUND) status = UAR_OK;
        sum->streams++;
    }
    uar_memory_streams_free(page);
    return status;
}

static uar_status run_for(database *db, const char *sql, uar_str owner, uar_error *err) {
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_bind_text(s, 1, owner.ptr, (int)owner.len, SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    uar_status status = code == SQLITE_DONE ? UAR_OK : database_fault(db, code, err);
    (void)sqlite3_finalize(s);
    return status;
}

static uar_status erase_names(uar_memory *m, uar_str owner, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    database *db = &m->database;
    status = run_for(db, "DELETE FROM written WHERE owner = ?1", owner, err);
    if (status == UAR_OK)
        status = run_for(db, "UPDATE segment SET owner = '', key = randomblob(32) WHERE owner = ?1", owner, err);
    return memory_leave_write(m, status, err);
}

/* A rebuilt file has no strays of what was moved about before. A file that is busy is rebuilt another time. */
static bool rebuild(uar_memory *m) {
    if (memory_enter(m, NULL) != UAR_OK) return false;
    database *db = &m->database;
    bool whole = database_run(db, "VACUUM", NULL) == UAR_OK;
    int log = 0;
    whole = sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, &log, NULL) == SQLITE_OK && whole;
    memory_leave(m);
    return whole;
}

uar_status memory_erase_owner(owner_erasure *out, uar_memory *memory, uar_str owner, uar_error *err) {
    const uar_identity who = { UAR_IDENTITY_INIT, .owner = owner,
                               .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    owner_erasure sum = { .records = 0 };
    bool more = true;
    uar_status status = erase_records(&sum, memory, &who, err);
    while (status == UAR_OK && more)
        status = erase_entities(&more, &sum, memory, &who, err);
    more = true;
    while (status == UAR_OK && more)
        status = erase_streams(&more, &sum, memory, &who, (uar_memory_stream_archiving)0, err);
    more = true;
    while (status == UAR_OK && more)
        status = erase_streams(&more, &sum, memory, &who, UAR_MEMORY_STREAM_ARCHIVED, err);
    if (status == UAR_OK) status = erase_names(memory, owner, err);
    if (status != UAR_OK) return status;
    uint64_t waiting = 0;
    status = uar_memory_clean_sync(&waiting, memory, err);
    if (status != UAR_OK) return status;
    sum.pending = waiting + (rebuild(memory) ? 0 : 1);
    *out = sum;
    return UAR_OK;
}
