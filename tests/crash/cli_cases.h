/* The cases of test_crash_cli: one kill of `uar chat`, one kill of `uar memory add`. */
#ifndef UAR_TESTS_CRASH_CLI_CASES_H
#define UAR_TESTS_CRASH_CLI_CASES_H

#include "store_check.h"
#include "uar_program.h"

/* How long a scenario is when nobody is killed. */
typedef struct cli_length {
    kill_counts points;
    uint64_t us;
} cli_length;

typedef struct cli_plan {
    bool is_control; /* the program acknowledges first: acknowledgements may be lost, and nothing else is asked */
    bool no_kill;    /* nobody is killed: nothing may be lost, not even by the control */
    cli_length fresh, further; /* over a new store, over one that has something in it */
} cli_plan;

/* `arg` of the case is a cli_plan. */
void chat_case(case_result *r, crash_case *c);
void memory_case(case_result *r, crash_case *c);
/* Run the scenario unharmed and measure it, with the shim and without. False after a fault. */
bool chat_measure(cli_plan *plan, case_result *r);
bool memory_measure(cli_plan *plan, case_result *r);

/* Half of the kills are inside a commit; the rest is divided between any point and, of the program as it is installed, any
 * instant. */
typedef struct cli_kill {
    program program;
    uar_kill kill;
} cli_kill;
cli_kill cli_draw(crash_case *c, const cli_plan *plan, bool is_fresh);
/* Read "all inside" of a file that the shim wrote. */
bool cli_counts(kill_counts *out, const char *path);

#endif
