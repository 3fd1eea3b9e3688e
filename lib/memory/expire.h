/*
 * Records that expire: from their time on they are in no answer, and a sweep erases them with all their versions. What they
 * superseded has its own time and stays.
 */
#ifndef UAR_LIB_MEMORY_EXPIRE_H
#define UAR_LIB_MEMORY_EXPIRE_H

#include "memory/service.h"

/* A given time as it is kept: 0 for 0 and UAR_MEMORY_OPEN_END. UAR_E_INVALID: it has passed, or no date can be made of it. */
uar_status expire_check(int64_t *out, int64_t ms, int64_t now, uar_error *err);
/* True if the record is in no answer any more. */
bool expire_is_due(const uar_memory_record *r, int64_t now);
/* The later of two times; 0 is never. */
int64_t expire_later(int64_t a, int64_t b);
/* Write the time of a record inside a write transaction; 0 takes it away. */
uar_status expire_put(database *db, uar_uuid id, int64_t ms, uar_error *err);
/* Sweep if the last sweep of this object is a minute ago. Without the lock; a fault is left to the next sweep. */
void expire_behind_write(uar_memory *memory);

#endif
