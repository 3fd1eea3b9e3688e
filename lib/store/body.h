/*
 * Reading and writing record bodies, for the body_*.c files only.
 *
 * Writing: members in the order of their key bytes (canonical JSON), absent texts and ids are left out. Texts that a strict
 * reader would refuse (invalid UTF-8, U+0000) fail the write with UAR_E_UTF8, so that what is stored can be read.
 *
 * Reading: a body_scan holds the parsed tree and the first fault; every take marks one member as seen, and an object that
 * ends with members nobody took is a fault as well. So a body decodes only if it is exactly what its schema says.
 */
#ifndef UAR_LIB_STORE_BODY_H
#define UAR_LIB_STORE_BODY_H

#include <uar/sys/model.h>

#include "base/json.h"
#include "store/record.h"

/* Longest body, in bytes. */
#define BODY_MAX ((size_t)64 << 20)
/* The first schema version of every kind. A kind with more writes the lowest one that holds what is to be said. */
#define BODY_SCHEMA 1u

typedef struct body_writer {
    buffer bytes;
    json_writer json;
} body_writer;

/* Begins the outer object. */
void body_write_begin(body_writer *w, arena *ar);
void body_write_text(body_writer *w, const char *key, uar_str text);     /* an absent text is written empty */
void body_write_optional(body_writer *w, const char *key, uar_str text); /* an absent text is left out */
void body_write_bytes(body_writer *w, const char *key, uar_str bytes);   /* base64; absent: left out */
void body_write_item(body_writer *w, uar_str text);                      /* of an array */
void body_write_uuid(body_writer *w, const char *key, uar_uuid id);      /* none: left out */
void body_write_usage(body_writer *w, const char *key, const uar_usage *usage);
/* Any strict JSON as a member of the outer object, written canonically. UAR_E_JSON; UAR_E_TOO_LARGE, also where the body
 * around it would make it too deep to be read back. */
void body_write_json(body_writer *w, const char *key, uar_str json, uar_error *err);

/* Which record a body belongs to, and the version of its shape. */
typedef struct body_place {
    uint32_t kind;
    uar_str owner, id, parent;
    uint32_t schema; /* 0: BODY_SCHEMA */
} body_place;

/* Ends the outer object, frees the writer and fills `out` from `place` and the body, all copied into the arena.
 * UAR_E_NOMEM, UAR_E_UTF8, UAR_E_TOO_LARGE. */
uar_status body_write_end(uar_record *out, arena *ar, body_writer *w, const body_place *place);
/* The same for a body that is already text. */
uar_status body_record(uar_record *out, arena *ar, uar_str body, const body_place *place);

typedef struct body_scan {
    arena *ar;
    const uar_record *record;
    cJSON *tree;
    uar_status status;  /* first fault */
    const char *member; /* where, or NULL: the record itself */
} body_scan;

typedef struct body_object {
    body_scan *scan;
    const cJSON *node;
    int taken; /* members seen */
} body_object;

/* Check kind and schema and parse the body. UAR_E_CORRUPT, UAR_E_NEWER, UAR_E_NOMEM; then there is nothing to end. */
uar_status body_scan_begin(body_scan *s, body_object *root, arena *ar, const uar_record *record, uint32_t kind,
                           uar_error *err);
/* The same for a kind whose versions go up to `newest`; which one it is says s->record->schema. */
uar_status body_scan_begin_upto(body_scan *s, body_object *root, arena *ar, const uar_record *record, uint32_t kind,
                                uint32_t newest, uar_error *err);
/* Frees the tree; the status of the whole scan, with `err` naming record and member. */
uar_status body_scan_end(body_scan *s, body_object *root, uar_error *err);
/* Note a fault; the first one counts. */
void body_fault(body_scan *s, uar_status status, const char *member);

/* Take a member. What is missing or of another type is a fault and gives the zero value. Texts go into the arena. */
uar_str body_text(body_object *o, const char *key);
uar_str body_optional(body_object *o, const char *key); /* absent if missing */
uar_str body_bytes(body_object *o, const char *key);    /* base64; absent if missing */
uint64_t body_u64(body_object *o, const char *key);     /* integers: only the plain spelling, digits and a minus */
int64_t body_i64(body_object *o, const char *key);
bool body_bool(body_object *o, const char *key);
uar_uuid body_uuid(body_object *o, const char *key);          /* required */
uar_uuid body_optional_uuid(body_object *o, const char *key); /* none if missing */
uar_usage body_usage(body_object *o, const char *key);
uar_str body_json(body_object *o, const char *key);            /* the canonical text of any value */
uar_toggle body_toggle(body_object *o, const char *key);       /* a boolean; UAR_INHERIT if missing */
uint32_t body_count(body_object *o, const char *key);          /* 1 to UINT32_MAX; 0 if missing */
uint32_t body_required_count(body_object *o, const char *key); /* the same; missing is a fault */
/* One of `names`; its index. */
size_t body_choice(body_object *o, const char *key, const char *const *names, size_t count);
/* True if there is a member of that key, which is not taken by this. */
bool body_has(const body_object *o, const char *key);
/* The member as a tree of any type, NULL with a fault if missing. */
const cJSON *body_node(body_object *o, const char *key);
/* An array; its first item, and the count. */
const cJSON *body_array(body_object *o, const char *key, size_t *count);
/* Begin an object inside, a member or an item of an array; end it with body_object_end. */
body_object body_object_begin(body_scan *s, const cJSON *node, const char *name);
void body_object_end(body_object *o, const char *name);

/* The record's id as a UUID; a fault if it isn't one in canonical text. */
uar_uuid body_id_uuid(body_scan *s);
uar_uuid body_parent_uuid(body_scan *s); /* the same of its parent */
/* A fault unless the id (or parent) of the record is the key of a and b. */
void body_expect_id(body_scan *s, uar_str a, uar_str b);
void body_expect_parent(body_scan *s, uar_str a, uar_str b);
/* Copy a text of the record into the arena; a fault if absent. */
uar_str body_keep(body_scan *s, uar_str text, const char *what);

/* UUID text in the arena; ptr NULL on out of memory. */
uar_str body_uuid_text(arena *ar, uar_uuid id);

#endif
