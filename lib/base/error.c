/*
 * Filling a caller's uar_error.
 * Invariants: a message is one line of valid UTF-8 and always NUL-terminated; success writes nothing.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

/* Length of the text without a character that its end has cut. */
static size_t whole_characters(const char *text, size_t len) {
    size_t lead = len;
    while (lead > 0 && len - lead < 4) {
        unsigned char c = (unsigned char)text[--lead];
        if ((c & 0xC0) == 0x80) continue;
        size_t want = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        return want > len - lead ? lead : len;
    }
    return len;
}

/* Messages quote what others wrote: line breaks, other controls and broken bytes must not get through. */
static void clean(char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7F) text[i] = ' ';
    }
    for (size_t at = 0; at < len; at++) {
        at += utf8_fault(uar_str_n(text + at, len - at));
        if (at < len) text[at] = '?';
    }
}

uar_status error_set(uar_error *err, uar_status code, const char *format, ...) {
    if (err == NULL || code == UAR_OK) return code;
    /* Written aside first: the arguments may point into err->message. */
    uar_error made = UAR_ERROR_INIT;
    made.code = code;
    va_list args;
    va_start(args, format);
    int want = vsnprintf(made.message, sizeof made.message, format, args);
    va_end(args);
    if (want < 0) return error_plain(err, code);
    size_t len = (size_t)want;
    if (len >= sizeof made.message) len = whole_characters(made.message, sizeof made.message - 1);
    memset(made.message + len, 0, sizeof made.message - len);
    clean(made.message, len);
    *err = made;
    return code;
}

uar_status error_plain(uar_error *err, uar_status code) {
    return error_set(err, code, "%s", uar_status_text(code));
}

uar_status error_copy(uar_error *err, const uar_error *from) {
    if (from == NULL) return UAR_OK;
    if (err != NULL && from->code != UAR_OK) *err = *from;
    return from->code;
}

uar_status error_pass(uar_error *err, uar_status status, const uar_error *why) {
    return why->code == status ? error_copy(err, why) : error_plain(err, status);
}
