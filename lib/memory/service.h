/*
 * The memory object and the way into it.
 *
 * Lock order: `lock` is a leaf; it guards `database`, `shelf`, `state` and nothing else, and is never held across a call-out but
 * allocator, clock and random. SQLite is not a call-out. `care` comes before it and is held across the progress of a backup. All else is set by uar_memory_open and never changes.
 */
#ifndef UAR_LIB_MEMORY_SERVICE_H
#define UAR_LIB_MEMORY_SERVICE_H

#include <stdatomic.h>

#include <uar/memory.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/struct_in.h"
#include "memory/database.h"
#include "memory/embed.h"
#include "memory/shelf_state.h"

/* Longest text of a record, and of a question. */
#define MEMORY_TEXT_MAX ((size_t)64 * 1024)
/* Longest metadata that is given; merged ones may grow to sixteen times this. */
#define MEMORY_METADATA_MAX ((size_t)64 * 1024)
#define MEMORY_METADATA_DEPTH 60
#define MEMORY_CATEGORIES_MAX 32
#define MEMORY_LIMIT_MAX 1000

struct uar_memory {
    atomic_uint refs; /* of the host */
    atomic_uint pins; /* one for all of those, one a call that may call out to the host: when they go, it goes */
    uar_allocator alloc;
    uar_clock clock;
    uar_random random;
    uar_embedder embedder;
    char *embedder_id;
    embed_door embed;
    struct async_lane *lane; /* calls that run later */
    char *location;
    char *file; /* absolute path of the store; NULL: not open */
    mutex lock;
    mutex care; /* held while the store is copied; taken before `lock` */
    bool has_lock;
    bool is_open;          /* it could be opened; never changes */
    atomic_bool suspended; /* changes under `lock`, once the store is closed or open again */
    atomic_bool stops_care;
    database database;
    shelf shelf; /* under the lock */
    uar_memory_status state;
    int64_t swept_ms; /* when expired records were last looked for */
    uar_error reason; /* why it is unavailable */
};

/* 1 to MEMORY_LIMIT_MAX, else UAR_E_INVALID. */
uar_status memory_check_limit(size_t limit, uar_error *err);
/* UAR_E_INVALID: a time is INT64_MIN, which stands for none in what is exported. */
uar_status memory_no_time(uar_error *err);
/* The same, and valid UTF-8 of at most MEMORY_TEXT_MAX: UAR_E_TOO_LARGE, UAR_E_UTF8. */
uar_status memory_check_question(uar_str text, size_t limit, uar_error *err);

/* Take the lock of a memory that works. UAR_E_DISABLED, UAR_E_UNAVAILABLE with the reason; then nothing is locked. */
uar_status memory_enter(uar_memory *memory, uar_error *err);
/* The same inside a snapshot. */
uar_status memory_enter_read(uar_memory *memory, uar_error *err);
/* The same inside a write transaction: also UAR_E_READ_ONLY, UAR_E_BUSY. */
uar_status memory_enter_write(uar_memory *memory, uar_error *err);
void memory_leave(uar_memory *memory);
void memory_leave_read(uar_memory *memory);
/* Commit if `status` is UAR_OK, else roll back; the status of the whole. */
uar_status memory_leave_write(uar_memory *memory, uar_status status, uar_error *err);

/* True if after this status nothing else could be written either; false if one of many was refused alone. */
bool memory_stops_at(uar_status status);

/* A call that calls out to the host keeps its memory alive: the host may free it there. */
void memory_pin(uar_memory *memory);
void memory_unpin(uar_memory *memory);

/* Whether it can be asked at all: UAR_E_DISABLED, UAR_E_UNAVAILABLE with the reason. */
uar_status memory_ready(const uar_memory *memory, uar_error *err);
/* Whether it can be asked at all, and by this thread: UAR_E_WOULD_DEADLOCK inside a callback of this memory. */
uar_status memory_usable(const uar_memory *memory, uar_error *err);

#endif
