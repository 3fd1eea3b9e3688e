/* One run of a program in a process group of its own: what it reads, when it is killed, what it wrote until then. */
#ifndef UAR_TESTS_CRASH_PROCESS_H
#define UAR_TESTS_CRASH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESS_SETTINGS = 4 };

typedef struct process_order {
    const char *const *arguments; /* argv, ended by NULL; [0] is the path */
    const char *input;            /* given through a pipe, at most 60 KiB; NULL: none */
    struct {
        const char *name, *value; /* added to its environment; name NULL: none */
    } settings[PROCESS_SETTINGS];
    uint64_t kill_after_us; /* SIGKILL to the group so long after its start; 0: never */
} process_order;

typedef struct process_result {
    char *out, *err; /* all that it wrote, NUL-terminated */
    size_t out_len;
    int code;    /* exit code; -1: ended by a signal */
    int signal;  /* that signal */
    bool hung;   /* it was killed because it took over a minute */
    uint64_t us; /* how long it ran */
} process_result;

/* False if it could not be started. Give the result to process_result_free. */
bool process_run(process_result *out, const process_order *order);
void process_result_free(process_result *r);
/* The end of what it said on its standard error, for people: one line. */
const char *process_last_words(const process_result *r);

#endif
