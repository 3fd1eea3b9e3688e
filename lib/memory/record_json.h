/*
 * Records as JSON: the shape of the command line, of exports and of imports. One place writes it and one reads it.
 */
#ifndef UAR_LIB_MEMORY_RECORD_JSON_H
#define UAR_LIB_MEMORY_RECORD_JSON_H

#include <uar/memory.h>

#include "base/arena.h"
#include "base/json.h"

/* The members of a record, inside an object that the caller began. */
void record_json_members(json_writer *w, const uar_memory_record *r);

/* A line of an import. Texts live in the arena. */
typedef struct record_line {
    uar_memory_draft draft;
    uar_memory_record stored; /* what only a verbatim import restores; absent parts are 0 */
    bool has_current;
} record_line;

/* Read a line. Keys that are no keys of a record are ignored, null is absent. UAR_E_JSON, UAR_E_SCHEMA names the key. */
uar_status record_json_read(record_line *out, arena *ar, uar_str line, uar_error *err);

#endif
