/*
 * Moments: RFC 3339 and days to milliseconds since 1970 UTC, and back.
 */
#ifndef UAR_CLI_INSTANT_H
#define UAR_CLI_INSTANT_H

#include <uar/base.h>

/* "2026-01-31", or "2026-01-31T12:30:00[.123](Z|+02:00)"; a day is its beginning in UTC. */
bool instant_parse(int64_t *ms, const char *text);

enum { INSTANT_TEXT = 32 };
/* "2026-01-31 12:30" in UTC, for people. */
void instant_show(char out[INSTANT_TEXT], int64_t ms);

#endif
