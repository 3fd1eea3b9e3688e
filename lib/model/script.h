/*
 * Scripts on a sink: model answers written by hand. The format is told in uar/model.h. A line is checked whole when it is
 * read, so that a mistake shows before anything is pushed; errors name the line and the event.
 */
#ifndef UAR_LIB_MODEL_SCRIPT_H
#define UAR_LIB_MODEL_SCRIPT_H

#include <uar/model.h>

#include "base/alloc.h"
#include "model/sink.h"

typedef struct uar_script script_line;

typedef enum script_step {
    SCRIPT_PUSHED, /* an event went to the sink: ask again */
    SCRIPT_WAIT,   /* wait some time, then ask again */
    SCRIPT_END,    /* finish or fail has been pushed */
} script_step;

/* Read line `number` (from 1; only named in errors). `text` may go afterwards. UAR_E_JSON, UAR_E_INVALID, UAR_E_NOMEM. */
uar_status script_line_read(script_line **out, const uar_allocator *a, uar_str text, size_t number, uar_error *err);
/* Take one step. `*wait_ms` is set with SCRIPT_WAIT. Anything but UAR_OK comes from the sink; the line is over then. */
uar_status script_line_next(script_step *step, uint32_t *wait_ms, script_line *line, const model_sink *sink);
void script_line_free(script_line *line); /* NULL is fine */

/* The text of line `number` (from 1) or of the first line behind it that isn't blank; `*number` becomes its number.
 * False: there is none. */
bool script_find(uar_str *line, size_t *number, uar_str script);

#endif
