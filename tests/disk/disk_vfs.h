/*
 * A shim in front of SQLite's default VFS that shows each call of the disk to a hook first.
 *
 * The hook may let the call through (SQLITE_OK) or answer it by an error code, in which case the disk isn't touched; a read
 * that is answered SQLITE_IOERR_SHORT_READ gets its first half and zeros. One hook at a time, set while no file is open or
 * while nothing calls; the program's threads must not use SQLite at the same time. SQLite's waiting takes no time.
 */
#ifndef UAR_TESTS_DISK_DISK_VFS_H
#define UAR_TESTS_DISK_DISK_VFS_H

#include <sqlite3.h>

typedef enum disk_op {
    DISK_OPEN,
    DISK_READ,
    DISK_WRITE,
    DISK_TRUNCATE,
    DISK_SYNC,
    DISK_SIZE,
    DISK_DELETE,
    DISK_ACCESS,
    DISK_LOCK,
    DISK_MAP,     /* a part of the index of the log */
    DISK_MAP_LOCK /* a lock in it that is asked for */
} disk_op;

typedef struct disk_call {
    disk_op op;
    const char *name; /* the file's; NULL: a temporary one */
    int file_flags;   /* SQLITE_OPEN_… that the file was opened with; 0 where there is no file */
    int flags;        /* of a sync; 1: a deletion that syncs the folder */
    const void *bytes;
    int len;
    sqlite3_int64 at; /* offset, or the size of a truncation */
} disk_call;

typedef int (*disk_hook)(void *ctx, const disk_call *call);

/* Make it the default VFS. Before anything uses SQLite; once. */
void disk_vfs_install(void);
/* NULL: all goes through. */
void disk_vfs_hook(disk_hook hook, void *ctx);
/* SQLite draws its numbers, such as the salts of a log, from this seed from now on. */
void disk_vfs_seed(unsigned long long seed);
/* Files that are open now. */
int disk_vfs_open_files(void);

#endif
