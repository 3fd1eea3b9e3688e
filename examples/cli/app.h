/*
 * One invocation of the program: its global options, its diagnostics, its exit codes.
 */
#ifndef UAR_CLI_APP_H
#define UAR_CLI_APP_H

#include "args.h"

#include <uar/base.h>

/* Exit codes; programs rely on them. */
enum {
    CODE_OK = 0,
    CODE_FAILED = 1,    /* the run failed */
    CODE_USAGE = 2,     /* usage or a bad file */
    CODE_STORE = 3,     /* the store can't be opened, is damaged, newer or full */
    CODE_CANCELLED = 4, /* the run was cancelled */
    CODE_PAUSED = 5,    /* the run waits for somebody */
    CODE_NOT_FOUND = 6,
    CODE_BUSY = 7 /* another writer holds it */
};

typedef struct app {
    args args;
    const char *store; /* NULL: the default place */
    const char *owner;
    const char *user;
    const char *agent;
    const char *session;
    const char *task; /* NULL: none */
    const char *model;
    const char *embedder;
    uar_toggle memory; /* what --memory and --no-memory say */
    bool shared_memory;
    bool json;
    bool quiet;
} app;

/* Fill in from the global options. CODE_OK, or the code of what was reported. */
int app_init(app *a);

/* The exit code that a failed call deserves. */
int code_of_status(uar_status status);
/* The exit code of a run that ended with this status. */
int code_of_outcome(uar_status status);

/* Say what went wrong: one line of text, or one JSON object. `hint` may be NULL. Returns code_of_status(status). */
int report(const app *a, uar_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a wrong command line or a bad file: CODE_USAGE. */
int report_usage(const app *a, const char *hint, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for what a call of the library put into `err`; `what` says what was tried. */
int report_error(const app *a, const uar_error *err, const char *what);
/* A notice that isn't a failure; in JSON it has the same shape. Silent with --quiet if `chatty`. */
void notice(const app *a, bool chatty, uar_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
