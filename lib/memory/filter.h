/*
 * Which records a call is about. What SQL can decide is bound into SQL_FILTERED; labels and metadata are compared here.
 */
#ifndef UAR_LIB_MEMORY_FILTER_H
#define UAR_LIB_MEMORY_FILTER_H

#include <uar/memory.h>

#include "base/json.h"
#include "memory/caller.h"
#include "memory/database.h"

typedef enum filter_mode {
    FILTER_LIVE = 0,    /* current versions that hold at `time` */
    FILTER_AS_OF = 1,   /* versions that held at `time` */
    FILTER_CURRENT = 2, /* current versions, ended ones too */
    FILTER_ALL = 3      /* every version */
} filter_mode;

typedef struct filter {
    uar_memory_filter given;
    filter_mode mode;
    int64_t time;
    int64_t now; /* of the call: what has expired by then is not there */
    const uar_allocator *alloc;
    cJSON *metadata; /* NULL: no condition */
} filter;

/* `given` may be NULL. The mode is LIVE at `now`, AS_OF or CURRENT as the filter says. UAR_E_INVALID, UAR_E_JSON,
 * UAR_E_STRUCT, UAR_E_NOMEM. Dispose it. */
uar_status filter_init(filter *f, const uar_memory_filter *given, int64_t now, const uar_allocator *a, uar_error *err);
void filter_dispose(filter *f);
/* True if it names a condition. */
bool filter_has_condition(const filter *f);
/* True if filter_matches decides something that SQL doesn't. */
bool filter_needs_row(const filter *f);
/* How a call begins that has an identity and a filter: caller_begin, then filter_init at the time of now. */
uar_status filter_begin(filter *f, caller *c, const uar_memory *memory, const uar_identity *who,
                        const uar_memory_filter *given, uar_error *err);
/* Bind ?8–?17. */
void filter_bind(query *q, const filter *f);
/* What SQL doesn't decide. UAR_E_NOMEM, UAR_E_CORRUPT. */
uar_status filter_matches(bool *out, const filter *f, const uar_memory_record *r);

#endif
