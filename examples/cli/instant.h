/*
 * Moments: RFC 3339 and days to milliseconds since 1970 UTC, and back.
 */
#ifndef UAR_CLI_INSTANT_H
#define UAR_CLI_INSTANT_H

#include <uar/base.h>

/* "2026-01-31", or "2026-01-31T12:30:00[.123](Z|+02:00)"; a day is its beginning in UTC. Never 0, which stands
 * for no time at all throughout the library: a filter would lose its condition. The first moment of 1970 gives 1. */
bool instant_parse(int64_t *ms, const char *text);

/* "90s", "15m", "12h", "30d", "4w": a whole number above 0 and a unit; at most a hundred years. */
bool instant_span_parse(int64_t *ms, const char *text);
/* Now. */
int64_t instant_now(void);

enum { INSTANT_TEXT = 32 };
/* "2026-01-31 12:30" in UTC, for people. */
void instant_show(char out[INSTANT_TEXT], int64_t ms);

#endif
