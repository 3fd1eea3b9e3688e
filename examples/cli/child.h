/*
 * One child process: bytes in, bytes out, its end. It leads a process group of its own, so that ending it ends what it
 * started.
 */
#ifndef UAR_CLI_CHILD_H
#define UAR_CLI_CHILD_H

#include "text.h"

#include <sys/types.h>

typedef struct child {
    pid_t pid; /* also the id of its group; not reaped before child_reap */
    int in;    /* its standard input, -1 once closed */
    int out;   /* its standard output */
    int err;   /* its standard error */
} child;

/* Start `command` (NULL-terminated; found by PATH). 0, or an errno and nothing started. Any thread. */
int child_start(child *out, char *const *command);
/* True once it has ended; it stays a zombie, so its pid stays its own. */
bool child_ended(const child *c);
/* Wait for its end, give back its status as waitpid does, close what is open. */
int child_reap(child *c);
/* Signal its whole group. */
void child_signal(const child *c, int signal);

#endif
