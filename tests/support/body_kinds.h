/*
 * Every kind of record that has a body, in every schema version that was ever written, as golden text; and one call that reads
 * any of them and writes it anew. Golden texts never change: they are what older libraries left in stores.
 */
#ifndef UAR_TESTS_SUPPORT_BODY_KINDS_H
#define UAR_TESTS_SUPPORT_BODY_KINDS_H

#include "store/bodies.h"

typedef struct golden_body {
    const char *name;
    uint32_t kind, schema;
    const char *owner, *id, *parent; /* parent NULL: absent */
    int64_t sort;                    /* 0: none */
    const char *body;
    const char *blob; /* NULL: absent */
} golden_body;

extern const golden_body golden_bodies[];
extern const size_t golden_body_count;

/* The record that a golden text stands for, at revision 3. */
uar_record golden_record(const golden_body *g);
/* The newest schema version of a kind, 0 if it has no body yet. */
uint32_t body_newest(uint32_t kind);
/* Decode `in` as what its kind says, then encode that again. UAR_E_UNSUPPORTED: a kind without a body. */
uar_status body_recode(uar_record *out, arena *ar, const uar_record *in, uar_error *err);

#endif
