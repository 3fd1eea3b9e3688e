/*
 * One turn: start a run, show its events, ask for approvals, wait until nothing more can come.
 */
#ifndef UAR_CLI_TURN_H
#define UAR_CLI_TURN_H

#include "app.h"
#include "editor.h"
#include "signals.h"

#include <uar/run.h>

typedef struct turn_options {
    uar_approvals approvals;
    bool json;   /* events as JSON lines on stdout, else the answer's text there and the rest on stderr */
    bool quiet;  /* text: the answer only */
    bool person; /* somebody can be asked */
    bool screen; /* stdout is a terminal */
    bool styled; /* … where Markdown is shown with attributes */
    bool lively; /* a spinner may run on stderr */
} turn_options;

typedef struct turn turn;

/* `how` is borrowed. Free it after the runtime is closed. */
turn *turn_new(const app *a, const turn_options *how);
void turn_free(turn *t); /* NULL is fine */
/* A sink that shows the events of the turn that runs. */
uar_event_sink turn_sink(turn *t);
void turn_attach(turn *t, uar_runtime *rt, signals *s);

/* Run it; returns its exit code after reporting a failure. Approvals are decided by lines of `answers`. */
int turn_take(turn *t, const uar_run_request *request, editor *answers);
/* What the last turn used, as its terminal event said. */
uar_usage turn_usage(const turn *t);
/* A signal came: cancel what runs. True if that was asked before, or if the stores are still being opened: the program
 * should just end. Any thread. */
bool turn_interrupt(turn *t);

#endif
