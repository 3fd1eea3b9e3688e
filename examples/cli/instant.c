/* Moments: see instant.h. Days are counted by the civil calendar, eras of 400 years; no time zone data is used. */
#include "instant.h"

#include <stdio.h>
#include <time.h>

static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool digits(int64_t *out, const char **p, int count) {
    int64_t value = 0;
    for (int i = 0; i < count; i++, (*p)++) {
        if (**p < '0' || **p > '9') return false;
        value = value * 10 + (**p - '0');
    }
    *out = value;
    return true;
}

static bool take(const char **p, char c) {
    if (**p != c) return false;
    (*p)++;
    return true;
}

static bool valid_day(int64_t year, int64_t month, int64_t day) {
    static const int lengths[12] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (month < 1 || month > 12 || day < 1 || day > lengths[month - 1]) return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return leap || month != 2 || day < 29;
}

static bool parse_fraction(int64_t *ms, const char **p) {
    *ms = 0;
    if (!take(p, '.')) return true;
    int64_t scale = 100;
    const char *begin = *p;
    for (; **p >= '0' && **p <= '9'; (*p)++, scale /= 10)
        *ms += (**p - '0') * scale;
    return *p > begin;
}

static bool parse_zone(int64_t *minutes, const char **p) {
    *minutes = 0;
    if (take(p, 'Z') || take(p, 'z')) return true;
    int sign = take(p, '+') ? 1 : take(p, '-') ? -1 : 0;
    int64_t hours = 0;
    int64_t rest = 0;
    if (sign == 0 || !digits(&hours, p, 2) || !take(p, ':') || !digits(&rest, p, 2)) return false;
    *minutes = sign * (hours * 60 + rest);
    return hours < 24 && rest < 60;
}

bool instant_parse(int64_t *ms, const char *text) {
    const char *p = text;
    int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, fraction = 0, zone = 0;
    if (!digits(&year, &p, 4) || !take(&p, '-') || !digits(&month, &p, 2) || !take(&p, '-') || !digits(&day, &p, 2))
        return false;
    if (!valid_day(year, month, day)) return false;
    if (*p != '\0') {
        if (!take(&p, 'T') && !take(&p, 't') && !take(&p, ' ')) return false;
        if (!digits(&hour, &p, 2) || !take(&p, ':') || !digits(&minute, &p, 2) || !take(&p, ':') ||
            !digits(&second, &p, 2) || !parse_fraction(&fraction, &p) || !parse_zone(&zone, &p))
            return false;
        if (*p != '\0' || hour > 23 || minute > 59 || second > 60) return false;
    }
    *ms = ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute - zone) * 60000 + second * 1000 + fraction;
    if (*ms == 0) *ms = 1;
    return true;
}

void instant_show(char out[INSTANT_TEXT], int64_t ms) {
    int64_t minutes = ms / 60000 - (ms % 60000 < 0);
    int64_t days = minutes / 1440 - (minutes % 1440 < 0);
    int64_t of_day = minutes - days * 1440;
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t shifted = (5 * of_year + 2) / 153;
    int64_t day = of_year - (153 * shifted + 2) / 5 + 1;
    int64_t month = shifted + (shifted < 10 ? 3 : -9);
    year += era * 400 + (month <= 2);
    snprintf(out, INSTANT_TEXT, "%04d-%02d-%02d %02d:%02d", (int)year, (int)month, (int)day, (int)(of_day / 60),
             (int)(of_day % 60));
}

bool instant_span_parse(int64_t *ms, const char *text) {
    static const struct {
        char name;
        int64_t ms;
    } units[] = { { 's', 1000 }, { 'm', 60000 }, { 'h', 3600000 }, { 'd', 86400000 }, { 'w', 604800000 } };
    int64_t number = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && number < INT64_C(10000000000); p++)
        number = number * 10 + (*p - '0');
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (number == 0 || p[0] != units[i].name || p[1] != '\0') continue;
        if (number > INT64_C(3155760000000) / units[i].ms) return false;
        *ms = number * units[i].ms;
        return true;
    }
    return false;
}

int64_t instant_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
