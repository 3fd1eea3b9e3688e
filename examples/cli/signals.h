/*
 * Ctrl-C and termination, heard by a thread instead of a handler.
 *
 * SIGINT and SIGTERM are blocked in every thread; one thread waits for them and calls `heard`, which may lock and allocate
 * as it likes. A pipe wakes whoever waits for input. A window that changed is heard the same way, on a pipe of its own.
 */
#ifndef UAR_CLI_SIGNALS_H
#define UAR_CLI_SIGNALS_H

#include <stdbool.h>

typedef struct signals signals;

/* Before any other thread is started. NULL if there is no thread or pipe for it. */
signals *signals_start(void (*heard)(void *ctx), void *ctx);
/* A descriptor that can be read once a signal came. */
int signals_wake_fd(const signals *s);
/* Another one, that can be read once the window changed or the program goes on after it was stopped; non-blocking. */
int signals_screen_fd(const signals *s);
/* True while the first descriptor can be read. */
bool signals_pending(const signals *s);
/* True once somebody asked the program to end (SIGTERM). */
bool signals_ended(const signals *s);
/* Make the descriptor readable, as a signal would. Any thread. */
void signals_wake(signals *s);
/* Make the descriptor silent again. */
void signals_calm(signals *s);
/* NULL is fine. */
void signals_stop(signals *s);

#endif
