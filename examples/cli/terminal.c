/* The terminal: see terminal.h. Owns what was found out about it, written before there are other threads. */
#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios found;
static bool is_kept;
static bool is_utf8;

bool terminal_can_move(void) {
    const char *name = getenv("TERM");
    return name != NULL && name[0] != '\0' && strcmp(name, "dumb") != 0;
}

bool terminal_has_colours(int fd) {
    const char *no = getenv("NO_COLOR");
    return isatty(fd) && terminal_can_move() && (no == NULL || no[0] == '\0');
}

void terminal_speak_utf8(void) {
    static const char *const names[] = { "", "C.UTF-8", "en_US.UTF-8" };
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_utf8; i++)
        is_utf8 = setlocale(LC_CTYPE, names[i]) != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool terminal_speaks_utf8(void) {
    return is_utf8;
}

void terminal_keep(void) {
    is_kept = tcgetattr(STDIN_FILENO, &found) == 0;
}

void terminal_restore(void) {
    if (is_kept) tcsetattr(STDIN_FILENO, TCSANOW, &found);
}
