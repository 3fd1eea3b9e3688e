/*
 * What every benchmark of this folder prints: one line a figure, `NAME VALUE UNIT (aim ...)`, and the facts of the machine
 * that a reader needs to compare it. A missed aim is said and fails nothing; a failed check fails the program.
 */
#ifndef UAR_TESTS_BENCH_H
#define UAR_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which side of its limit a figure should be on. */
typedef enum bench_aim { BENCH_FACT, BENCH_BELOW, BENCH_ABOVE, BENCH_EXACTLY } bench_aim;

/* Print the machine. One benchmark a program; not thread-safe. */
void bench_begin(const char *program);
/* Print the load after it and what was missed. The exit status: 1 if a check failed. */
int bench_end(void);

void bench_report(const char *name, double value, const char *unit, bench_aim aim, double limit);
/* A condition without which the figures mean nothing. Returns it. */
bool bench_check(bool holds, const char *what);
/* Print why and exit: the benchmark can't run here. */
_Noreturn void bench_give_up(const char *why);

/* Nanoseconds that never go back; nanoseconds that this process used on all its threads. */
uint64_t bench_now(void);
uint64_t bench_cpu(void);

/* Sorts `values`. `share` in 0 … 1: 0.5 is the median. `count` > 0. */
double bench_quantile(double *values, size_t count, double share);
/* Median of the slopes of all pairs of points (0, y[0]), (1, y[1]) …: a few outliers don't move it. `count` > 1. */
double bench_slope(const double *y, size_t count);

/* malloc that gives up instead of failing. */
void *bench_memory(size_t size);

#endif
