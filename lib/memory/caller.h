/*
 * Who calls, checked, and the segments that this identity reaches. A segment is one scope of one owner with its ids; it is
 * the unit of visibility: what a caller sees is decided here and in SQL_VISIBLE, nowhere else.
 */
#ifndef UAR_LIB_MEMORY_CALLER_H
#define UAR_LIB_MEMORY_CALLER_H

#include <uar/memory.h>

#include "memory/database.h"

#define SEGMENT_KEY_MAX 400
#define SEGMENTS_OF_CALLER 5

typedef struct segment_key {
    size_t len; /* 0: this identity has no such segment */
    char bytes[SEGMENT_KEY_MAX];
} segment_key;

typedef struct caller {
    uar_identity id; /* owner is always set */
    bool is_operator;
    bool writes_shared;
    segment_key keys[SEGMENTS_OF_CALLER];
} caller;

/* How a call begins that has an identity: memory_usable, then the identity is checked. UAR_E_INVALID, UAR_E_STRUCT. Texts stay
 * the identity's. */
uar_status caller_begin(caller *c, const uar_memory *memory, const uar_identity *who, uar_error *err);
/* Bind ?1–?7. The caller must stay until query_end. */
void caller_bind(query *q, const caller *c);
/* UAR_E_FORBIDDEN if this caller may not write this scope. */
uar_status caller_may_write(const caller *c, uar_memory_scope scope, uar_error *err);
bool scope_is_shared(uar_memory_scope scope);

/* An id of a place: the identity's own unless one is given; only an operator may give another. UAR_E_INVALID,
 * UAR_E_FORBIDDEN. */
uar_status caller_place_id(uar_str *out, uar_str given, uar_str own, const caller *c, const char *what, uar_error *err);

/* The ids that place a record. */
typedef struct place {
    uar_memory_scope scope;
    uar_str owner, user, agent, session, task;
} place;

/* The key of a place; its len is 0 if an id that the scope needs is absent. */
void segment_key_of(segment_key *out, const place *p);
/* What is said then: UAR_E_INVALID. `what` has no place, "memory" say. */
uar_status caller_lacks_id(const char *what, uar_memory_scope scope, uar_error *err);
/* The number of a segment; 0 if nothing was written there yet. */
uar_status segment_number_find(int64_t *out, database *db, const segment_key *key, uar_error *err);
/* Find it or make it, inside a write transaction. */
uar_status segment_number_make(int64_t *out, database *db, const segment_key *key, uar_str owner, uar_error *err);

#endif
