/*
 * What the rows of a memory have in common: a random mark, by which a stray copy of a deleted row is found in the file, and a
 * checksum over the fields, so that a row which was tampered with is told from a whole one.
 */
#ifndef UAR_LIB_MEMORY_SEAL_H
#define UAR_LIB_MEMORY_SEAL_H

#include <uar/base.h>

#include "base/clock.h"
#include "memory/database.h"

#define MARK_BYTES 16
#define SEAL_BYTES 16
#define SEAL_NUMBERS_MAX 40
#define SEAL_PIECES_MAX 64

/* The fields of a row in the making: numbers as eight bytes, texts behind their length. What is pointed at is borrowed until
 * seal_end. Begin all zero. */
typedef struct seal {
    uint8_t numbers[SEAL_NUMBERS_MAX][8];
    size_t number_count;
    uar_str pieces[SEAL_PIECES_MAX];
    size_t count;
} seal;

void seal_number(seal *s, uint64_t value);
/* Absent and empty seal differently. */
void seal_text(seal *s, uar_str text);
/* Always of one length, which needs no number. */
void seal_id(seal *s, const uar_uuid *id);
uar_status seal_end(uint8_t out[SEAL_BYTES], const seal *s);

/* A new mark. */
uar_status seal_mark(uint8_t mark[MARK_BYTES], const uar_random *random, uar_error *err);
/* The mark or the checksum in a column; false if it has another length. */
bool seal_bytes(uint8_t *out, size_t len, query *q, int column);

#endif
