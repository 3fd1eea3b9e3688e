/*
 * Work for a store: numbered commits, and what a store that took the first n of them must hold.
 *
 * A commit is made from its style, its number and the revisions that the store has now, so that the same commits over any
 * layer give the same records. The volatile layer, which knows nothing of files, says what is right: a digest of all records
 * after each commit. No two of a style are alike.
 */
#ifndef UAR_TESTS_SUPPORT_STORE_WORK_H
#define UAR_TESTS_SUPPORT_STORE_WORK_H

#include <uar/persistence.h>

typedef enum work_style {
    WORK_SMALL,  /* short records, new and changed */
    WORK_CHANGE, /* records come, change and go */
    WORK_BIG,    /* values of 10 to 60 KiB, as parts of attachments are */
    WORK_TREE,   /* parents with 12 children that go in one write */
    WORK_STYLES
} work_style;

enum { WORK_MOST = 60 };

typedef struct work_model {
    work_style style;
    unsigned count;
    uint64_t digest[WORK_MOST + 1]; /* after so many commits */
} work_model;

const char *work_name(work_style style);
void work_model_make(work_model *out, work_style style, unsigned count);
/* Commit number `i`, from 0. */
uar_status work_commit(const uar_persistence *layer, work_style style, unsigned i, uar_error *err);
/* Read all records, check each checksum and the order, and fold them into one number. UAR_E_CORRUPT if one is wrong. */
uar_status work_digest(uint64_t *out, const uar_persistence *layer, uar_error *err);
/* The same, and every record also by its id and by its place under its parent: each index is used. */
uar_status work_digest_deep(uint64_t *out, const uar_persistence *layer, uar_error *err);
/* A control: reads as a host that doesn't look at checksums. */
uar_status work_digest_unchecked(uint64_t *out, const uar_persistence *layer, uar_error *err);
/* After how many commits a store has this digest; -1: after none of them. */
int work_find(const work_model *model, uint64_t digest);

#endif
