/*
 * What the terminal can do, and how it was found.
 */
#ifndef UAR_CLI_TERMINAL_H
#define UAR_CLI_TERMINAL_H

#include <stdbool.h>

/* The cursor can be moved: TERM names something better than "dumb". */
bool terminal_can_move(void);
/* Attributes are welcome on this descriptor: a terminal that isn't dumb, and no NO_COLOR. */
bool terminal_has_colours(int fd);

/* Take characters of every language from the terminal. Before any other thread is started. */
void terminal_speak_utf8(void);
/* True if the call above was made and went well. */
bool terminal_speaks_utf8(void);

/* Remember how the terminal on stdin is set; give it back so. Restoring what was never kept does nothing. Any thread. */
void terminal_keep(void);
void terminal_restore(void);

#endif
