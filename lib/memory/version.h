/*
 * One stored version of a record, in memory and in the table. Each is sealed by a checksum when it is written and checked
 * when it is read.
 */
#ifndef UAR_LIB_MEMORY_VERSION_H
#define UAR_LIB_MEMORY_VERSION_H

#include <uar/memory.h>

#include "memory/database.h"
#include "memory/seal.h"

/* Between labels in their column; no label holds it. */
#define LABEL_SEPARATOR '\x1F'

typedef struct version {
    int64_t num; /* row; 0: none yet */
    int64_t seg;
    uint8_t mark[MARK_BYTES]; /* random, unique to this row's content */
    uar_memory_record r;      /* recall_count, recalled_ms, reinforced and expires_ms are kept beside the row */
    int64_t digest;           /* keyed number of the folded content */
    bool has_slot;
    int64_t slot;         /* keyed number of the folded fact slot */
    const uint8_t *terms; /* packed terms in the index; empty: not searchable */
    size_t terms_len;
    uint32_t length; /* tokens; at least 1 if it is searchable, else 0 */
} version;

/* Read the row that the query stands on (SQL_COLUMNS); texts are copied into the arena. UAR_E_CORRUPT names the record. */
uar_status version_read(version *out, query *q, arena *ar, uar_error *err);
/* First row of the query, then end it: UAR_E_NOT_FOUND if there is none. */
uar_status version_first(version *out, query *q, arena *ar, uar_error *err);
/* Seal and write a new row; `num` is set. Its index entries are the caller's (shelf_put). */
uar_status version_insert(database *db, version *v, const uar_allocator *a, uar_error *err);
/* Seal and write over row `num`. Its index entries are the caller's (shelf_put). */
uar_status version_update(database *db, version *v, const uar_allocator *a, uar_error *err);

/* The row of a number. UAR_E_NOT_FOUND. */
uar_status version_load(version *out, database *db, int64_t num, arena *ar, uar_error *err);

#endif
