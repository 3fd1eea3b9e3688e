/*
 * A sign of life on stderr while a run works and nothing streams.
 *
 * Whoever writes to the terminal hides it first: once spinner_hide returns, its line is clean and stays so.
 */
#ifndef UAR_CLI_SPINNER_H
#define UAR_CLI_SPINNER_H

#include <stdbool.h>

typedef struct spinner spinner;

/* NULL if there is no thread for it; the calls below take that. */
spinner *spinner_start(void);
/* Work goes on: it appears after a moment, unless it is held. The cursor must be at the beginning of a line. */
void spinner_show(spinner *s);
void spinner_hide(spinner *s);
/* Held, it isn't shown whatever spinner_show says: somebody is being asked. */
void spinner_hold(spinner *s, bool held);
void spinner_stop(spinner *s);

#endif
