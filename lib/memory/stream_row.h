/*
 * Rows of streams and entries, in memory and in their tables. Each is sealed by a checksum when it is written and checked
 * when it is read; what is sealed is every field, so that a row can't take another's place.
 */
#ifndef UAR_LIB_MEMORY_STREAM_ROW_H
#define UAR_LIB_MEMORY_STREAM_ROW_H

#include <uar/memory_stream.h>

#include "memory/database.h"
#include "memory/version.h"

typedef struct stream_row {
    int64_t num; /* 0: none yet */
    int64_t seg;
    int64_t named; /* keyed number of the name */
    uint8_t mark[MARK_BYTES];
    uar_memory_stream s;
} stream_row;

typedef struct stream_entry_row {
    int64_t num;    /* 0: none yet */
    int64_t stream; /* num of its stream */
    uint8_t mark[MARK_BYTES];
    int64_t keyed; /* keyed number of the unique key, if it has one */
    uar_memory_stream_entry e;
} stream_entry_row;

/* What stands in a window for which numbers. */
typedef struct stream_span {
    uint64_t number; /* of the entry or summary */
    uint64_t first, last;
    uint64_t tokens;
} stream_span;

static inline bool stream_entry_is_summary(const uar_memory_stream_entry *e) {
    return e->first != 0;
}

/* Read the row that the query stands on; texts are copied into the arena. UAR_E_CORRUPT names it. */
uar_status stream_read(stream_row *out, query *q, arena *ar, uar_error *err);
/* First row of the query, then end it: UAR_E_NOT_FOUND. */
uar_status stream_first(stream_row *out, query *q, arena *ar, uar_error *err);
uar_status stream_insert(database *db, stream_row *row, uar_error *err);
/* Seal and write what of a stream can change. */
uar_status stream_update(database *db, stream_row *row, uar_error *err);

uar_status stream_entry_read(stream_entry_row *out, query *q, arena *ar, uar_error *err);
uar_status stream_entry_insert(database *db, stream_entry_row *row, uar_error *err);
/* Seal and write which summary stands for it. */
uar_status stream_entry_cover(database *db, stream_entry_row *row, uint64_t summary, uar_error *err);

/* The entry of a number. UAR_E_NOT_FOUND. */
uar_status stream_entry_load(stream_entry_row *out, database *db, int64_t stream, uint64_t number, arena *ar,
                             uar_error *err);
/* The span that the query of STREAM_ENTRY_LIVE stands on. */
stream_span stream_span_get(const query *q);

#endif
