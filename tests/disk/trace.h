/*
 * What a disk was told to do, and what may be on it if the power goes.
 *
 * A trace records each creation, write, truncation, sync and deletion of the files of one folder. For a cut before the n-th
 * of them it builds an image: what was synced is there; of what was written since, each piece of a sector (512 bytes) may be
 * there or not, in any combination, but a sector never goes back behind a later write to it that is there. Names come and
 * go in order, and surely only when the folder was synced, which SQLite does with the first sync of a new log or journal.
 */
#ifndef UAR_TESTS_DISK_TRACE_H
#define UAR_TESTS_DISK_TRACE_H

#include "crash/cases.h"
#include "disk_vfs.h"

enum { TRACE_FILES = 64, TRACE_NAME = 48, TRACE_SECTOR = 512 };

typedef enum trace_kind {
    TRACE_CREATE,
    TRACE_WRITE,
    TRACE_TRUNCATE,
    TRACE_SYNC,
    TRACE_SYNC_FOLDER,
    TRACE_DELETE
} trace_kind;

typedef struct trace_op {
    trace_kind kind;
    unsigned file;
    unsigned char *bytes;
    size_t at, len;        /* `at`: the size of a truncation too */
    unsigned acked, begun; /* commits that were acknowledged before it, and those that were begun */
} trace_op;

/* A file from its creation to its deletion: a name may have had several. */
typedef struct trace_file {
    char name[TRACE_NAME];
    unsigned char *base; /* what was in it when the trace began */
    size_t base_len;
    bool is_old, is_gone, syncs_folder;
} trace_file;

typedef struct trace {
    char folder[128];
    trace_file files[TRACE_FILES];
    unsigned file_count;
    trace_op *ops;
    unsigned count, room;
    unsigned acked, begun;
} trace;

/* Record from now on; what is in the folder counts as synced. The VFS must be installed. */
void trace_begin(trace *t, const char *folder);
void trace_end(trace *t);
void trace_free(trace *t);

typedef struct image_file {
    const char *name;
    unsigned char *bytes;
    size_t len, room;
} image_file;

typedef struct image {
    image_file files[TRACE_FILES];
    unsigned count;
    unsigned acked, begun; /* at the cut */
} image;

/* How the unsynced rest is dealt with. Beyond the named ones all is drawn. */
enum { CUT_KEEPS_ALL, CUT_KEEPS_NONE, CUT_KEEPS_NO_NAMES, CUT_DRAWN };

/* The image of a cut before operation `at` (up to t->count). */
void image_make(image *out, const trace *t, unsigned at, unsigned how, lots *random);
uint64_t image_hash(const image *m);
/* Put it into an empty folder. False: it can't be written. */
bool image_write(const image *m, const char *folder);
void image_free(image *m);

#endif
