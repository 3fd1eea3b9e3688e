/* Owns: the shim VFS and its hook. Invariant: what isn't a call of the disk (unlocking, closing) is never refused. */
#include "disk_vfs.h"

#include <stdlib.h>
#include <string.h>

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind this struct */
    const char *name;   /* SQLite keeps it for as long as the file is open */
    int flags;
} shim_file;

static sqlite3_vfs shim;
static sqlite3_vfs *real_vfs;
static disk_hook hook;
static void *hook_ctx;
static int open_files;
static unsigned long long seed;

static shim_file *shim_of(sqlite3_file *file) {
    return (shim_file *)(void *)file;
}

static const sqlite3_io_methods *real_of(sqlite3_file *file) {
    return shim_of(file)->real->pMethods;
}

static int ask(const disk_call *call) {
    return hook != NULL ? hook(hook_ctx, call) : SQLITE_OK;
}

static disk_call call_of(sqlite3_file *file, disk_op op) {
    return (disk_call){ .op = op, .name = shim_of(file)->name, .file_flags = shim_of(file)->flags };
}

/* ---- calls that the hook is shown ---- */

static int shim_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 at) {
    disk_call call = call_of(file, DISK_READ);
    call.len = len;
    call.at = at;
    int code = ask(&call);
    if (code == SQLITE_IOERR_SHORT_READ) {
        int read = real_of(file)->xRead(shim_of(file)->real, bytes, len, at);
        if (read != SQLITE_OK && read != SQLITE_IOERR_SHORT_READ) return read;
        memset((char *)bytes + len / 2, 0, (size_t)(len - len / 2));
    }
    return code != SQLITE_OK ? code : real_of(file)->xRead(shim_of(file)->real, bytes, len, at);
}

static int shim_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at) {
    disk_call call = call_of(file, DISK_WRITE);
    call.bytes = bytes;
    call.len = len;
    call.at = at;
    int code = ask(&call);
    return code != SQLITE_OK ? code : real_of(file)->xWrite(shim_of(file)->real, bytes, len, at);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
    disk_call call = call_of(file, DISK_TRUNCATE);
    call.at = size;
    int code = ask(&call);
    return code != SQLITE_OK ? code : real_of(file)->xTruncate(shim_of(file)->real, size);
}

static int shim_sync(sqlite3_file *file, int flags) {
    disk_call call = call_of(file, DISK_SYNC);
    call.flags = flags;
    int code = ask(&call);
    return code != SQLITE_OK ? code : real_of(file)->xSync(shim_of(file)->real, flags);
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *size) {
    disk_call call = call_of(file, DISK_SIZE);
    int code = ask(&call);
    return code != SQLITE_OK ? code : real_of(file)->xFileSize(shim_of(file)->real, size);
}

static int shim_lock(sqlite3_file *file, int level) {
    disk_call call = call_of(file, DISK_LOCK);
    int code = ask(&call);
    return code != SQLITE_OK ? code : real_of(file)->xLock(shim_of(file)->real, level);
}

static int shim_map(sqlite3_file *file, int region, int size, int extend, void volatile **out) {
    disk_call call = call_of(file, DISK_MAP);
    int code = ask(&call);
    if (code != SQLITE_OK) *out = NULL;
    return code != SQLITE_OK ? code : real_of(file)->xShmMap(shim_of(file)->real, region, size, extend, out);
}

static int shim_map_lock(sqlite3_file *file, int offset, int n, int flags) {
    disk_call call = call_of(file, DISK_MAP_LOCK);
    int code = (flags & SQLITE_SHM_LOCK) != 0 ? ask(&call) : SQLITE_OK;
    return code != SQLITE_OK ? code : real_of(file)->xShmLock(shim_of(file)->real, offset, n, flags);
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_folder) {
    (void)vfs;
    const disk_call call = { .op = DISK_DELETE, .name = name, .flags = sync_folder != 0 };
    int code = ask(&call);
    return code != SQLITE_OK ? code : real_vfs->xDelete(real_vfs, name, sync_folder);
}

static int shim_access(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
    (void)vfs;
    const disk_call call = { .op = DISK_ACCESS, .name = name };
    int code = ask(&call);
    return code != SQLITE_OK ? code : real_vfs->xAccess(real_vfs, name, flags, out);
}

/* ---- what is only handed on ---- */

static int shim_close(sqlite3_file *file) {
    open_files--;
    return real_of(file)->xClose(shim_of(file)->real);
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

static int shim_traits(sqlite3_file *file) {
    return real_of(file)->xDeviceCharacteristics(shim_of(file)->real);
}

static void shim_barrier(sqlite3_file *file) {
    real_of(file)->xShmBarrier(shim_of(file)->real);
}

static int shim_unmap(sqlite3_file *file, int remove) {
    return real_of(file)->xShmUnmap(shim_of(file)->real, remove);
}

/* Version 2: without memory-mapped input, so that nothing goes past the hook. */
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
    .xDeviceCharacteristics = shim_traits,
    .xShmMap = shim_map,
    .xShmLock = shim_map_lock,
    .xShmBarrier = shim_barrier,
    .xShmUnmap = shim_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    shim_file *f = shim_of(file);
    const disk_call call = { .op = DISK_OPEN, .name = name, .file_flags = flags };
    memset(f, 0, (size_t)shim.szOsFile);
    f->real = (sqlite3_file *)(void *)(f + 1);
    f->name = name;
    f->flags = flags;
    int code = ask(&call);
    if (code == SQLITE_OK) code = real_vfs->xOpen(real_vfs, name, f->real, flags, out_flags);
    f->base.pMethods = code == SQLITE_OK ? &shim_methods : NULL;
    open_files += code == SQLITE_OK;
    return code;
}

/* Whoever waits for a lock that the hook never gives would wait for long. */
static int shim_sleep(sqlite3_vfs *vfs, int us) {
    (void)vfs;
    return us;
}

static int shim_randomness(sqlite3_vfs *vfs, int len, char *out) {
    (void)vfs;
    for (int i = 0; i < len; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        out[i] = (char)(seed >> 56);
    }
    return len;
}

void disk_vfs_install(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    if (real_vfs == NULL) abort();
    shim = *real_vfs;
    shim.pNext = NULL;
    shim.zName = "disk";
    shim.szOsFile = (int)sizeof(shim_file) + real_vfs->szOsFile;
    shim.xOpen = shim_open;
    shim.xDelete = shim_delete;
    shim.xAccess = shim_access;
    shim.xSleep = shim_sleep;
    shim.xRandomness = shim_randomness;
    if (sqlite3_vfs_register(&shim, 1) != SQLITE_OK) abort();
}

void disk_vfs_hook(disk_hook h, void *ctx) {
    hook = h;
    hook_ctx = ctx;
}

int disk_vfs_open_files(void) {
    return open_files;
}

void disk_vfs_seed(unsigned long long s) {
    seed = s;
    sqlite3_randomness(0, NULL);
}
