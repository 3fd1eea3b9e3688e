/*
 * Time and chance: the platform's defaults, and RFC 3339 text.
 * Owns nothing. The calendar is the proleptic Gregorian one, computed here: the C library's is bound to time zones.
 */
#if defined(_WIN32)
#include <windows.h>

#include <bcrypt.h>
#else
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__) || defined(__linux__)
#include <sys/random.h>
#endif
#endif

#include <assert.h>

#include "base/clock.h"

int64_t clock_wall(const uar_clock *clock) {
    assert(clock != NULL);
    return clock->wall_ms(clock->ctx);
}

uint64_t clock_mono(const uar_clock *clock) {
    assert(clock != NULL);
    return clock->mono_ms(clock->ctx);
}

#if defined(_WIN32)

static int64_t system_wall(void *ctx) {
    (void)ctx;
    FILETIME ft;
    GetSystemTimePreciseAsFileTime(&ft);
    int64_t ticks = (int64_t)((uint64_t)ft.dwHighDateTime << 32 | ft.dwLowDateTime);
    return ticks / 10000 - INT64_C(11644473600000); /* 100 ns since 1601 */
}

static uint64_t system_mono(void *ctx) {
    (void)ctx;
    return GetTickCount64();
}

static uar_status system_random(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    while (len > 0) {
        ULONG piece = len < 65536 ? (ULONG)len : 65536;
        if (BCryptGenRandom(NULL, out, piece, BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0) return UAR_E_INTERNAL;
        out += piece;
        len -= piece;
    }
    return UAR_OK;
}

#else

static int64_t system_wall(void *ctx) {
    (void)ctx;
    struct timespec now = { 0 };
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t system_mono(void *ctx) {
    (void)ctx;
    struct timespec now = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uar_status device_random(uint8_t *out, size_t len) {
    int fd;
    do {
        fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return UAR_E_INTERNAL;
    while (len > 0) {
        ssize_t got = read(fd, out, len);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        out += got;
        len -= (size_t)got;
    }
    close(fd);
    return len == 0 ? UAR_OK : UAR_E_INTERNAL;
}

#if defined(__APPLE__)

static size_t kernel_random(uint8_t *out, size_t len) {
    size_t piece = len < 256 ? len : 256;
    return getentropy(out, piece) == 0 ? piece : 0;
}

#elif defined(__linux__) && (!defined(__ANDROID_API__) || __ANDROID_API__ >= 28)

static size_t kernel_random(uint8_t *out, size_t len) {
    ssize_t got;
    do {
        got = getrandom(out, len, 0);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

#else

static size_t kernel_random(uint8_t *out, size_t len) {
    (void)out;
    (void)len;
    return 0;
}

#endif

/* The kernel's call first; the device where an old kernel or a sandbox refuses it. */
static uar_status system_random(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    while (len > 0) {
        size_t got = kernel_random(out, len);
        if (got == 0) return device_random(out, len);
        out += got;
        len -= got;
    }
    return UAR_OK;
}

#endif

const uar_clock clock_default = { .struct_size = UAR_CLOCK_INIT, .wall_ms = system_wall, .mono_ms = system_mono };
const uar_random random_default = { .struct_size = UAR_RANDOM_INIT, .fill = system_random };

#define MS_PER_DAY INT64_C(86400000)
#define DAYS_PER_400_YEARS INT64_C(146097)
#define DAYS_TO_1970 INT64_C(719528) /* from 0000-01-01 */

static bool is_leap(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int civil_month_days(int64_t year, int month) {
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Days from 0000-01-01 to the first day of a year that is not negative. */
static int64_t days_before_year(int64_t year) {
    if (year == 0) return 0;
    int64_t past = year - 1;
    return year * 365 + past / 4 - past / 100 + past / 400 + 1; /* + 1: year 0 is a leap year */
}

int64_t civil_days(civil_date date) {
    int64_t days = days_before_year(date.year) - DAYS_TO_1970;
    for (int month = 1; month < date.month; month++)
        days += civil_month_days(date.year, month);
    return days + date.day - 1;
}

civil_date civil_date_of(int64_t days) {
    int64_t from_zero = days + DAYS_TO_1970;
    civil_date date = { .year = from_zero * 400 / DAYS_PER_400_YEARS, .month = 1 };
    while (date.year > 0 && days_before_year(date.year) > from_zero)
        date.year--;
    while (days_before_year(date.year + 1) <= from_zero)
        date.year++;
    int64_t left = from_zero - days_before_year(date.year);
    while (left >= civil_month_days(date.year, date.month))
        left -= civil_month_days(date.year, date.month++);
    date.day = (int)left + 1;
    return date;
}

static char *put_digits(char *at, int64_t value, int width) {
    for (int i = width - 1; i >= 0; i--, value /= 10)
        at[i] = (char)('0' + value % 10);
    return at + width;
}

/* First moment of the year 0, and of the year 10000. */
static int64_t first_ms(void) {
    return -DAYS_TO_1970 * MS_PER_DAY;
}

static int64_t end_ms(void) {
    return (days_before_year(10000) - DAYS_TO_1970) * MS_PER_DAY;
}

bool time_has_text(int64_t wall_ms) {
    return wall_ms >= first_ms() && wall_ms < end_ms();
}

void time_format(char out[TIME_TEXT], int64_t wall_ms) {
    int64_t first = first_ms();
    int64_t last = end_ms() - 1;
    int64_t ms = wall_ms < first ? first : wall_ms > last ? last : wall_ms;
    int64_t days = (ms - first) / MS_PER_DAY - DAYS_TO_1970;
    int64_t rest = ms - days * MS_PER_DAY;
    civil_date date = civil_date_of(days);
    char *at = put_digits(out, date.year, 4);
    *at++ = '-';
    at = put_digits(at, date.month, 2);
    *at++ = '-';
    at = put_digits(at, date.day, 2);
    *at++ = 'T';
    at = put_digits(at, rest / 3600000, 2);
    *at++ = ':';
    at = put_digits(at, rest / 60000 % 60, 2);
    *at++ = ':';
    at = put_digits(at, rest / 1000 % 60, 2);
    *at++ = '.';
    at = put_digits(at, rest % 1000, 3);
    *at++ = 'Z';
    *at++ = '\0';
    assert(at - out == TIME_TEXT);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Take exactly `width` digits off the text as a number within [low, high]. */
static bool take_number(uar_str *text, size_t width, int low, int high, int *out) {
    if (text->len < width) return false;
    int value = 0;
    for (size_t i = 0; i < width; i++) {
        if (!is_digit(text->ptr[i])) return false;
        value = value * 10 + (text->ptr[i] - '0');
    }
    *text = uar_str_n(text->ptr + width, text->len - width);
    *out = value;
    return value >= low && value <= high;
}

/* Take one of two characters off the text. */
static bool take_char(uar_str *text, char one, char other) {
    if (text->len == 0 || (text->ptr[0] != one && text->ptr[0] != other)) return false;
    *text = uar_str_n(text->ptr + 1, text->len - 1);
    return true;
}

static bool take_date(uar_str *text, int64_t *days) {
    civil_date date = { 0 };
    int year = 0;
    if (!take_number(text, 4, 0, 9999, &year) || !take_char(text, '-', '-')) return false;
    date.year = year;
    if (!take_number(text, 2, 1, 12, &date.month) || !take_char(text, '-', '-')) return false;
    if (!take_number(text, 2, 1, civil_month_days(year, date.month), &date.day)) return false;
    *days = civil_days(date);
    return true;
}

/* An optional fraction of a second; what is finer than a millisecond is cut. */
static bool take_fraction(uar_str *text, int *ms) {
    *ms = 0;
    if (!take_char(text, '.', '.')) return true;
    int scale = 100;
    size_t digits = 0;
    for (; digits < text->len && is_digit(text->ptr[digits]); digits++, scale /= 10)
        *ms += scale * (text->ptr[digits] - '0');
    *text = uar_str_n(text->ptr + digits, text->len - digits);
    return digits > 0;
}

static bool take_offset(uar_str *text, int *minutes) {
    *minutes = 0;
    if (take_char(text, 'Z', 'z')) return true;
    bool is_west = text->len > 0 && text->ptr[0] == '-';
    int hour = 0, minute = 0;
    if (!take_char(text, '+', '-') || !take_number(text, 2, 0, 23, &hour) || !take_char(text, ':', ':') ||
        !take_number(text, 2, 0, 59, &minute))
        return false;
    *minutes = (hour * 60 + minute) * (is_west ? -1 : 1);
    return true;
}

uar_status time_parse(int64_t *out, uar_str text) {
    assert(out != NULL);
    int64_t days = 0;
    if (!take_date(&text, &days)) return UAR_E_INVALID;
    if (text.len == 0) {
        *out = days * MS_PER_DAY;
        return UAR_OK;
    }
    int hour = 0, minute = 0, second = 0, ms = 0, offset = 0;
    if (!take_char(&text, 'T', 't') || !take_number(&text, 2, 0, 23, &hour) || !take_char(&text, ':', ':') ||
        !take_number(&text, 2, 0, 59, &minute) || !take_char(&text, ':', ':') ||
        !take_number(&text, 2, 0, 60, &second) || !take_fraction(&text, &ms) || !take_offset(&text, &offset) ||
        text.len != 0)
        return UAR_E_INVALID;
    int64_t minutes = (int64_t)hour * 60 + minute - offset;
    /* A leap second exists only at the end of a UTC day; here it is the first moment of the next one. */
    if (second == 60) {
        if ((minutes + 2 * 1440) % 1440 != 1439) return UAR_E_INVALID;
        ms = 0;
    }
    *out = days * MS_PER_DAY + (minutes * 60 + second) * 1000 + ms;
    return UAR_OK;
}
