/*
 * A line on stderr for work that takes over a second, where somebody is there to read it.
 */
#ifndef UAR_CLI_PROGRESS_H
#define UAR_CLI_PROGRESS_H

#include "app.h"

typedef struct progress progress;

/* Begin; nothing is shown before a second has gone. `what` is borrowed. NULL where nobody would read it. */
progress *progress_start(const app *a, const char *what);
/* How far it is: shown instead of the seconds. NULL is fine. */
void progress_step(progress *p, uint64_t done, uint64_t total);
/* End and remove the line; NULL is fine. */
void progress_stop(progress *p);

#endif
