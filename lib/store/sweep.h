/*
 * Deep deletes: a root record and everything that hangs below it, in batches that can be taken up again after a kill.
 *
 * How it goes. One commit turns the root into a tombstone (its own body says so, its revision rises) and puts a job under
 * the owner "~". From then on the root reads as not there. A sweep removes what hangs below in batches, and its last commit
 * removes the root, its twins and the job together. So a job is there exactly as long as its tombstone: after a kill, whoever
 * finds the job goes on, and the id can be used anew when the job is gone. A job whose root isn't at the tombstone's revision
 * touches nothing.
 *
 * A sweep does no I/O: it is asked for the next store call and looks at its answer. Two sweeps of one root don't disturb each
 * other, nor what is made anew under the id: each batch checks that tombstone and job are there, and after a conflict the
 * sweep looks at the root again. What hangs below a kind of root is one table in sweep.c.
 */
#ifndef UAR_LIB_STORE_SWEEP_H
#define UAR_LIB_STORE_SWEEP_H

#include "store/store.h"

/* Records removed by one commit, at most. */
#define SWEEP_BATCH 32
/* Ids of jobs begin so, under UAR_SYSTEM_OWNER and kind UAR_RECORD_OUTBOX. */
#define SWEEP_JOB_PREFIX "sweep:"

/* What is to be removed. */
typedef struct sweep_root {
    uint32_t kind;     /* one that sweep_can_remove */
    uar_str owner, id; /* of the root record */
    uint64_t revision; /* of its tombstone */
    uar_uuid maker;    /* instance that still makes it: nobody else may sweep while that lives, and of a session
                          only copied messages are swept; none: sweep all at once */
} sweep_root;

/* True if the table knows what hangs below this kind. */
bool sweep_can_remove(uint32_t kind);

/* The job's record, in the arena, for the commit that makes the tombstone (PUT, expected 0). UAR_E_NOMEM, UAR_E_INVALID,
 * UAR_E_UTF8, UAR_E_INTERNAL. */
uar_status sweep_job_record(uar_record *out, arena *ar, const sweep_root *root);
/* Texts are copied into the arena. UAR_E_NOMEM, UAR_E_CORRUPT, UAR_E_NEWER. */
uar_status sweep_job_decode(sweep_root *out, arena *ar, const uar_record *record, uar_error *err);
/* Id of the job of a root, in the arena. UAR_E_NOMEM, UAR_E_INTERNAL. */
uar_status sweep_job_id(uar_str *out, arena *ar, uint32_t kind, uar_str owner, uar_str id);

typedef enum sweep_stage {
    SWEEP_AT_ROOT,    /* is the tombstone there? */
    SWEEP_AT_LIST,    /* the next batch of a rule */
    SWEEP_AT_BRANCH,  /* what hangs below one child */
    SWEEP_AT_COMMIT,  /* a batch is being removed */
    SWEEP_AT_TWIN,    /* one record with the root's id */
    SWEEP_AT_END,     /* the last commit */
    SWEEP_AT_DROP,    /* the job alone is being removed */
    SWEEP_AT_FINISHED /* nothing is left */
} sweep_stage;

#define SWEEP_TWINS_MAX 4

typedef struct sweep_rule sweep_rule;
typedef struct sweep {
    sweep_root root; /* texts are the caller's, and live as long */
    const sweep_rule *rules;
    size_t rule_count, at;
    sweep_stage stage, asked; /* `asked`: the list that the batch came from */
    uint32_t conflicts;
    uar_str cursor; /* of an index, in `cursor_text` */
    char cursor_text[RECORD_ID_MAX];
    uar_str branch; /* child whose children are being removed, in `branch_text`; empty: none */
    char branch_text[RECORD_ID_MAX];
    uint64_t branch_revision;
    size_t branch_at; /* which kind below it */
    size_t twin_count;
    uint64_t twins[SWEEP_TWINS_MAX]; /* their revisions, 0: not there */
    uint64_t removed;                /* records so far */
} sweep;

typedef enum sweep_next {
    SWEEP_ASKS,  /* `op` is filled: submit it, and call again with its answer */
    SWEEP_DONE,  /* nothing of the root is left */
    SWEEP_FAILED /* the store or memory said no: op->status and op->error; the job is still there */
} sweep_next;

/* `root` must be of a kind that sweep_can_remove. */
void sweep_begin(sweep *s, const sweep_root *root);
/* `op` belongs to the caller (done, arg, an initialised mem); its mem is used up between the calls. The first call looks at
 * no answer. */
sweep_next sweep_step(sweep *s, store_op *op);

#endif
