/*
 * A shim in front of SQLite's default VFS that kills the process with SIGKILL at a chosen point.
 *
 * Linking it is enough: a constructor makes it the default VFS, so that code which knows nothing of it is killed too. Points
 * are counted over all files of the process: each write, sync, truncation and deletion is one. A point is *inside* if it
 * belongs to a write-ahead log that was written to since its last sync: some of a commit is in the file, and nobody was told
 * yet that it is there.
 */
#ifndef UAR_TESTS_CRASH_KILL_VFS_H
#define UAR_TESTS_CRASH_KILL_VFS_H

#include <stdbool.h>

/* What a program reads from its environment when it starts. Numbers count from 1; 0 or absent: never. */
#define KILL_VFS_AT "UAR_CRASH_AT"         /* die before the point of this number is done */
#define KILL_VFS_INSIDE "UAR_CRASH_INSIDE" /* 1: count only the points that are inside a commit */
#define KILL_VFS_TORN "UAR_CRASH_TORN"     /* 1: if it is a write, sectors of its first half are done */
#define KILL_VFS_COUNT "UAR_CRASH_COUNT"   /* write "all inside" to this file at exit */

typedef struct kill_point {
    long at; /* 0: never */
    bool inside, torn;
} kill_point;

/* Points so far. */
typedef struct kill_counts {
    long all, inside;
} kill_counts;

/* Count from zero and die at `point`. While nothing writes. */
void kill_vfs_arm(const kill_point *point);
kill_counts kill_vfs_counts(void);

#endif
