/*
 * A chat with a person at a terminal: the session that was used last, commands that begin with a slash, what a turn used.
 */
#ifndef UAR_CLI_CONVERSATION_H
#define UAR_CLI_CONVERSATION_H

#include "desk.h"

/* Until the person ends it. CODE_OK, or the code of what was reported if it had to end. */
int conversation_hold(desk *d);

/* How many messages a session has; false if there is none of that name. */
bool conversation_count(uint64_t *messages, desk *d, const char *session);
/* Say which session goes on. `why` (may be NULL) is said behind it. */
void conversation_name_session(desk *d, const char *why);

#endif
