/*
 * Owns: the shim VFS and its two counters. Invariant: a point is counted before it is done; whoever draws the armed number
 * never returns. Several threads may write at once, so the counters are atomic and the state of a log lies in its file.
 */
#include "kill_vfs.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
    bool is_log;
    bool is_dirty; /* a log that was written to since its last sync */
} shim_file;

static sqlite3_vfs shim;
static sqlite3_vfs *real_vfs;
static kill_point armed;
static atomic_long count_all, count_inside;
static char count_path[4096];

static void die(void) {
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

/* True if this point is the last one of this process. */
static bool is_due(bool inside) {
    long all = atomic_fetch_add(&count_all, 1) + 1;
    long in = inside ? atomic_fetch_add(&count_inside, 1) + 1 : 0;
    return armed.at > 0 && (armed.inside ? in : all) == armed.at;
}

static shim_file *shim_of(sqlite3_file *file) {
    return (shim_file *)(void *)file;
}

static const sqlite3_io_methods *real_of(sqlite3_file *file) {
    return shim_of(file)->real->pMethods;
}

/* ---- the points ---- */

/* Up to the last sector's edge before the middle: a sector is written or it isn't, and so is a short write within one. */
static int torn_length(int len, sqlite3_int64 at) {
    enum { SECTOR = 512 };
    sqlite3_int64 edge = (at + len / 2) / SECTOR * SECTOR;
    return edge > at ? (int)(edge - at) : 0;
}

static int shim_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at) {
    shim_file *f = shim_of(file);
    if (is_due(f->is_log && f->is_dirty)) {
        int part = armed.torn ? torn_length(len, at) : 0;
        if (part > 0) (void)real_of(file)->xWrite(f->real, bytes, part, at);
        die();
    }
    f->is_dirty = true;
    return real_of(file)->xWrite(f->real, bytes, len, at);
}

static int shim_sync(sqlite3_file *file, int flags) {
    shim_file *f = shim_of(file);
    if (is_due(f->is_log && f->is_dirty)) die();
    int code = real_of(file)->xSync(f->real, flags);
    f->is_dirty = false;
    return code;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
    if (is_due(false)) die();
    return real_of(file)->xTruncate(shim_of(file)->real, size);
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_folder) {
    (void)vfs;
    if (is_due(false)) die();
    return real_vfs->xDelete(real_vfs, name, sync_folder);
}

/* ---- what is only handed on ---- */

static int shim_close(sqlite3_file *file) {
    return real_of(file)->xClose(shim_of(file)->real);
}

static int shim_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at) {
    return real_of(file)->xRead(shim_of(file)->real, bytes, len, at);
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real_of(file)->xFileSize(shim_of(file)->real, size);
}

static int shim_lock(sqlite3_file *file, int level) {
    return real_of(file)->xLock(shim_of(file)->real, level);
}

static int shim_unlock(sqlite3_file *file, int level) {
    return real_of(file)->xUnlock(shim_of(file)->real, level);
}

static int shim_reserved(sqlite3_file *file, int *out) {
    return real_of(file)->xCheckReservedLock(shim_of(file)->real, out);
}

static int shim_control(sqlite3_file *file, int op, void *arg) {
    return real_of(file)->xFileControl(shim_of(file)->real, op, arg);
}

static int shim_sector(sqlite3_file *file) {
    return real_of(file)->xSectorSize(shim_of(file)->real);
}

static int shim_device(sqlite3_file *file) {
    return real_of(file)->xDeviceCharacteristics(shim_of(file)->real);
}

static int shim_map(sqlite3_file *file, int region, int size, int extend, void volatile **out) {
    return real_of(file)->xShmMap(shim_of(file)->real, region, size, extend, out);
}

static int shim_map_lock(sqlite3_file *file, int offset, int n, int flags) {
    return real_of(file)->xShmLock(shim_of(file)->real, offset, n, flags);
}

static void shim_barrier(sqlite3_file *file) {
    real_of(file)->xShmBarrier(shim_of(file)->real);
}

static int shim_unmap(sqlite3_file *file, int remove) {
    return real_of(file)->xShmUnmap(shim_of(file)->real, remove);
}

/* Version 2: without memory-mapped input, so that nothing goes past the counters. */
static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_device,
    .xShmMap = shim_map,
    .xShmLock = shim_map_lock,
    .xShmBarrier = shim_barrier,
    .xShmUnmap = shim_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    shim_file *f = shim_of(file);
    memset(f, 0, (size_t)shim.szOsFile);
    f->real = (sqlite3_file *)(void *)(f + 1);
    f->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    int code = real_vfs->xOpen(real_vfs, name, f->real, flags, out_flags);
    f->base.pMethods = code == SQLITE_OK ? &shim_methods : NULL;
    return code;
}

/* ---- life ---- */

void kill_vfs_arm(const kill_point *point) {
    atomic_store(&count_all, 0);
    atomic_store(&count_inside, 0);
    armed = *point;
}

kill_counts kill_vfs_counts(void) {
    return (kill_counts){ atomic_load(&count_all), atomic_load(&count_inside) };
}

static void write_counts(void) {
    FILE *file = fopen(count_path, "w");
    if (file == NULL) return;
    kill_counts counts = kill_vfs_counts();
    fprintf(file, "%ld %ld\n", counts.all, counts.inside);
    fclose(file);
}

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value != NULL && strcmp(value, "1") == 0;
}

__attribute__((constructor)) static void install(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    if (real_vfs == NULL) abort();
    shim = *real_vfs;
    shim.pNext = NULL;
    shim.zName = "kill";
    shim.szOsFile = (int)sizeof(shim_file) + real_vfs->szOsFile;
    shim.xOpen = shim_open;
    shim.xDelete = shim_delete;
    if (sqlite3_vfs_register(&shim, 1) != SQLITE_OK) abort();
    const char *at = getenv(KILL_VFS_AT);
    const char *path = getenv(KILL_VFS_COUNT);
    if (at != NULL) armed.at = strtol(at, NULL, 10);
    armed.inside = is_set(KILL_VFS_INSIDE);
    armed.torn = is_set(KILL_VFS_TORN);
    if (path == NULL || strlen(path) >= sizeof count_path) return;
    memcpy(count_path, path, strlen(path) + 1);
    if (atexit(write_counts) != 0) abort();
}
