/*
 * Giving a memory's file back and taking it again, and copies of it. Invariant: while it is suspended there is no connection, and
 * no copy is being made. Owns: the connection of a copy.
 */
#include <uar/store_care.h>

#include "memory/service.h"
#include "store/sqlite_copy.h"

uar_status uar_memory_suspend(uar_memory *memory, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status == UAR_E_SUSPENDED) return UAR_OK;
    if (status != UAR_OK) return status;
    atomic_store(&memory->stops_care, true);
    mutex_lock(&memory->care);
    mutex_lock(&memory->lock);
    if (!atomic_load(&memory->suspended)) database_close(&memory->database);
    atomic_store(&memory->suspended, true);
    atomic_store(&memory->stops_care, false);
    mutex_unlock(&memory->lock);
    mutex_unlock(&memory->care);
    return UAR_OK;
}

uar_status uar_memory_resume(uar_memory *memory, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_E_SUSPENDED) return status;
    mutex_lock(&memory->lock);
    status = UAR_OK;
    if (atomic_load(&memory->suspended)) {
        const database_options options = { .alloc = &memory->alloc,
                                           .random = &memory->random,
                                           .busy_timeout_ms = memory->database.busy_timeout_ms,
                                           .read_only = memory->database.read_only,
                                           .must_exist = true };
        status = database_open(&memory->database, memory->file, &options, err);
        if (status == UAR_OK) atomic_store(&memory->suspended, false);
    }
    mutex_unlock(&memory->lock);
    return status;
}

/* ---- copies ---- */

typedef struct watch {
    const uar_memory *memory;
    const uar_care_progress *host;
} watch;

static bool watch_step(void *ctx, uint64_t done, uint64_t total) {
    const watch *w = ctx;
    return !atomic_load(&w->memory->stops_care) && care_goes_on(w->host, done, total);
}

/* A connection of its own: the memory goes on meanwhile. */
static uar_status copy(const uar_memory *m, const char *path, const uar_care_progress *progress, uar_error *err) {
    database beside = { .handle = NULL };
    int code = sqlite3_open_v2(m->file, &beside.handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    uar_status status = UAR_OK;
    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(beside.handle, 1);
        sqlite3_busy_timeout(beside.handle, (int)m->database.busy_timeout_ms);
        status = sqlite_copy_to(&m->alloc, beside.handle, path, progress, err);
    } else {
        status = database_fault(&beside, code, err);
    }
    database_close(&beside);
    return status;
}

uar_status uar_memory_backup_to_sync(uar_memory *memory, const char *path, const uar_care_progress *progress,
                                     uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    watch w = { memory, progress };
    const uar_care_progress both = { &w, watch_step };
    mutex_lock(&memory->care);
    if (atomic_load(&memory->suspended))
        status = error_set(err, UAR_E_SUSPENDED, "the memory is suspended");
    else
        status = copy(memory, path, &both, err);
    if (status == UAR_E_CANCELLED && atomic_load(&memory->stops_care)) status = error_plain(err, UAR_E_SUSPENDED);
    mutex_unlock(&memory->care);
    return status;
}
