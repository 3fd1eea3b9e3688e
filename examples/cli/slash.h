/*
 * Commands of a chat: lines that begin with a slash.
 */
#ifndef UAR_CLI_SLASH_H
#define UAR_CLI_SLASH_H

#include "desk.h"

/* Do what `line` asks for; one that isn't known says so. False ends the chat; *code says why, CODE_OK for /quit. */
bool slash_take(desk *d, const char *line, int *code);

#endif
