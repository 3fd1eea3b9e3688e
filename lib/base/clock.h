/* Time and chance through their doors, with the platform's as default; RFC 3339 text; UUIDs. */
#ifndef UAR_LIB_BASE_CLOCK_H
#define UAR_LIB_BASE_CLOCK_H

#include "base/buffer.h"

extern const uar_clock clock_default;
extern const uar_random random_default; /* the system's random device */

int64_t clock_wall(const uar_clock *clock);
uint64_t clock_mono(const uar_clock *clock);

/* "2026-11-30T15:04:05.123Z", always UTC with milliseconds; years 0000-9999, others are clamped. */
#define TIME_TEXT 25
void time_format(char out[TIME_TEXT], int64_t wall_ms);
/* Whether that text is this time: it isn't clamped. */
bool time_has_text(int64_t wall_ms);
/* RFC 3339 with any offset, or a bare date (midnight UTC). Below a millisecond is cut; a leap second is the first moment
 * of the next day. UAR_E_INVALID on anything else. */
uar_status time_parse(int64_t *out, uar_str text);

/* A date of the Gregorian calendar, also before there was one. */
typedef struct civil_date {
    int64_t year;
    int month; /* 1-12 */
    int day;   /* 1-31 */
} civil_date;

/* Days of a month of a year from 0 on. */
int civil_month_days(int64_t year, int month);
/* Days since 1970 of a date of the years 0 to 9999, and back. */
int64_t civil_days(civil_date date);
civil_date civil_date_of(int64_t days);

/* A new version 7 UUID: 48 bits of wall ms, then random. Order within a millisecond is not promised.
 * Fails with what `random` fails with. */
uar_status uuid_make(uar_uuid *out, const uar_clock *clock, const uar_random *random);

#endif
