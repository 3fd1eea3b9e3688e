/*
 * Ask a person about a tool call: yes, no with a reason, or yes with other arguments.
 */
#ifndef UAR_CLI_APPROVAL_H
#define UAR_CLI_APPROVAL_H

#include "editor.h"

typedef enum approval {
    APPROVAL_YES,
    APPROVAL_NO,     /* `text` is the reason, perhaps empty */
    APPROVAL_EDITED, /* yes with `text` as arguments; nobody has checked them yet */
    APPROVAL_LEFT    /* a signal came, or the run ended, before there was an answer */
} approval;

/* Show the call. */
void approval_show(const char *tool, const char *arguments);
/* Ask once. `draft` is what an edit begins with; `text` is replaced. */
approval approval_ask(text_buffer *text, editor *e, const char *draft);

/* Append JSON for people: on one line if it is short, else a member a line. Text that isn't JSON stays as it is. */
void json_add_readable(text_buffer *out, uar_str json);

#endif
