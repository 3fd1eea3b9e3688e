/*
 * Records above the vtable: keys, checksums, kinds.
 *
 * The checksum is the first 16 bytes of SHA-256 over every other field (each length-prefixed, integers big-endian), so that
 * neither a flipped bit nor a field moved to its neighbour goes unseen. It is made before a put and checked on each read.
 */
#ifndef UAR_LIB_STORE_RECORD_H
#define UAR_LIB_STORE_RECORD_H

#include <uar/sys/persistence.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/str.h"

/* Longest id of a record: two host ids and a separator, and some room. */
#define RECORD_ID_MAX 400
/* Longest host id (owner, user, agent, session, task), in bytes. */
#define HOST_ID_MAX 128

/* 1-128 bytes of valid UTF-8 without control characters (C0, DEL, C1). UAR_E_INVALID names `what`. */
uar_status host_id_check(uar_str id, const char *what, uar_error *err);

/* Join two host ids to a record id: `a` US `b` (0x1F, which no host id can hold). UAR_E_NOMEM; UAR_E_INVALID if a half is
 * empty or holds US, or the whole is longer than RECORD_ID_MAX. */
uar_status record_key(uar_str *out, arena *ar, uar_str a, uar_str b);

/* JSON name of a kind, or NULL for an unknown number. */
const char *record_kind_name(uint32_t kind);

/* The id for people, in `out`: cut at a character, control characters replaced. */
#define RECORD_LABEL 96
void record_label(char out[RECORD_LABEL], const uar_record *record);

/* Fill record->checksum. UAR_E_INTERNAL if the platform has no SHA-256. */
uar_status record_seal(uar_record *record);
/* UAR_E_CORRUPT naming kind and id if the checksum doesn't match. */
uar_status record_verify(const uar_record *record, uar_error *err);

/* Deep copy into the arena. */
uar_status record_copy(uar_record *out, arena *ar, const uar_record *record);

#endif
