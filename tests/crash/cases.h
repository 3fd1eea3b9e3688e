/*
 * Many small cases, each in a process of its own, several at a time.
 *
 * A case is named by a suite, a seed and an index; all that is random in it is drawn from these three, so that naming them
 * again repeats it. The seed is UAR_TEST_SEED, or drawn and printed. UAR_CRASH_CASE=SUITE:INDEX runs that case alone and
 * keeps its folder. What is random by nature, such as which thread writes first, stays so.
 */
#ifndef UAR_TESTS_CRASH_CASES_H
#define UAR_TESTS_CRASH_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers from a seed (splitmix64). */
typedef struct lots {
    uint64_t state;
} lots;
uint64_t lots_next(lots *l);
/* From 0 to below `n`, n > 0. */
uint64_t lots_below(lots *l, uint64_t n);

/* What a case found. Sent over a pipe in one piece. */
typedef struct case_result {
    bool killed;      /* the process was killed before it was done */
    bool inside;      /* ... and inside a commit, as aimed */
    unsigned acked;   /* acknowledgements that arrived */
    unsigned lost;    /* of these, not found afterwards */
    unsigned open;    /* captures of acknowledged turns that the kill came before */
    unsigned fresh;   /* 1: this state of the disk is none that was looked at before */
    char fault[1024]; /* what else was wrong; empty: nothing */
} case_result;

/* The first fault stays. Printf-like. */
void case_fail(case_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct crash_case {
    unsigned index;
    lots random;
    char folder[128]; /* empty, its own, removed afterwards */
    const void *arg;
} crash_case;

typedef void (*case_fn)(case_result *out, crash_case *c);

typedef struct case_suite {
    const char *name;
    case_fn run;
    const void *arg;
    unsigned count;
    unsigned at_once;  /* how many processes run at a time */
    unsigned batch;    /* cases that one process runs, one after the other, in one folder; 0: one */
    unsigned seconds;  /* a case that takes longer hangs; 0: no limit */
    bool is_for_show;  /* a control, whose faults are wanted: they are counted, not printed */
    bool keeps_folder; /* what a case leaves in its folder is for the next one of its batch */
} case_suite;

typedef struct case_sum {
    unsigned cases, killed, inside, acked, lost, open, fresh, faults;
} case_sum;

/* Read the environment and print the seed. `program` is argv[0]. */
void cases_begin(const char *program);
uint64_t cases_seed(void);
/* UAR_TEST_FULL: the full counts. */
bool cases_are_full(void);
/* UAR_CRASH_CASE names one case. */
bool cases_are_alone(void);
/* The folder that `program` lies in. */
const char *cases_program_folder(void);
/* Run all cases of a suite; prints each fault and the line that runs it again. A case that loses acknowledgements prints it
 * too if `loss_is_fault`. False if this suite was not asked for. */
bool cases_run(case_sum *sum, const case_suite *suite, bool loss_is_fault);
/* An empty folder for a case; false if there is no room for one. */
bool cases_make_folder(char out[128]);
/* Remove a folder with all files and folders in it. */
void cases_remove_folder(const char *path);

#endif
