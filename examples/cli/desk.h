/*
 * The desk of chat and run: one runtime with its memory, tools, sink and signals, and turns on it.
 *
 * One turn runs at a time. Events come on a thread of the library: it writes them out, and leaves approvals that a person
 * must decide for the thread that called desk_turn. A turn is over when the library says that nothing more will come from
 * its run, so memory that was captured after the answer is shown too.
 */
#ifndef UAR_CLI_DESK_H
#define UAR_CLI_DESK_H

#include "app.h"
#include "editor.h"

#include <uar/run.h>

typedef enum desk_form { DESK_TEXT, DESK_JSON } desk_form;

typedef struct desk desk;

/* Open everything: options, settings, tools, memory, runtime. CODE_OK, or a code after a report. */
int desk_open(desk **out, const app *a, desk_form form);
/* Say how memory stands, where somebody is there to read it. */
void desk_greet(desk *d);
/* One turn; a failure is reported. Returns the exit code that it deserves. */
int desk_turn(desk *d, uar_str input);
/* What that turn used. */
uar_usage desk_usage(const desk *d);
/* The next line of stdin, for chat. */
line_kind desk_line(desk *d, text_buffer *line);
void desk_close(desk *d);

/* Somebody reads text on a terminal and can be asked. */
bool desk_has_person(const desk *d);
/* The options that hold now: session and model may have changed since the start. */
const app *desk_app(const desk *d);
uar_runtime *desk_runtime(desk *d);
uar_memory *desk_memory(desk *d); /* NULL: off */
/* For a person; its history lies beside the stores. */
editor *desk_editor(desk *d);
/* A signal has ended a wait for input: be ready for the next. True if the program was asked to end. */
bool desk_calm(desk *d);
bool desk_is_ended(const desk *d);
/* Go on in another session; copied. */
void desk_use_session(desk *d, const char *session);
/* Go on with another model. CODE_OK; CODE_USAGE after a report: it can't be had and the old one stays; else the state could
 * not be opened again and the desk can only be closed. */
int desk_use_model(desk *d, const char *spec);

/* The form that --events and --json ask for. CODE_OK, or a code after a report. */
int desk_form_of(desk_form *out, const app *a);

#endif
