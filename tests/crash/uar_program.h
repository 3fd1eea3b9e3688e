/* Runs of the uar program over the store of a case, and what its JSON says. */
#ifndef UAR_TESTS_CRASH_UAR_PROGRAM_H
#define UAR_TESTS_CRASH_UAR_PROGRAM_H

#include <cjson/cJSON.h>

#include "cases.h"
#include "kill_vfs.h"
#include "process.h"

/* `uar` is the program as it is installed; the others are the same with the shim linked in. */
typedef enum program { PROGRAM_UAR, PROGRAM_CRASH, PROGRAM_CRASH_EARLY } program;

/* When to kill it: at a point of the shim, or so long after its start. All zero: never. */
typedef struct uar_kill {
    kill_point point;
    uint64_t after_us;
} uar_kill;

enum { UAR_WORDS = 12 };

typedef struct uar_call {
    program program;
    const char *words[UAR_WORDS]; /* what stands behind --store DIR --json */
    const char *input;
    uar_kill kill;
    const char *count_file; /* NULL, or where the shim writes how many points there were */
} uar_call;

/* Run it. A program that can't start, hangs, or ends by another signal than the wanted kill is a fault. True if it ended by
 * itself or as wanted; then `out` must be freed. */
bool uar_run(process_result *out, case_result *r, const crash_case *c, const uar_call *call);
/* The same for a run that must end with exit code `code`. */
bool uar_run_well(process_result *out, case_result *r, const crash_case *c, const uar_call *call, int code);

/* The whole lines of an output, one JSON document each. Text behind the last line feed is left out: it was cut. */
typedef struct json_lines {
    cJSON **items;
    size_t count;
} json_lines;
/* A line that isn't JSON is a fault. */
json_lines json_lines_read(case_result *r, const process_result *output);
void json_lines_free(json_lines *lines);
/* Text of a member, or "". */
const char *json_z(const cJSON *object, const char *key);

#endif
