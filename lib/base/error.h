/* Filling a caller's uar_error. `err` may be NULL everywhere. Each returns the status it was given. */
#ifndef UAR_LIB_BASE_ERROR_H
#define UAR_LIB_BASE_ERROR_H

#include <uar/base.h>

/* printf-like for %s %.*s %c %d %u %zu %lld %llu only (locale-free). The message is cut at a character; controls in it
 * become spaces, broken bytes `?`. Arguments may point into `err`. UAR_OK as code writes nothing. */
uar_status error_set(uar_error *err, uar_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The text of the status as the message. */
uar_status error_plain(uar_error *err, uar_status code);
/* Copy `from` if it names an error; returns its code. NULL counts as no error. */
uar_status error_copy(uar_error *err, const uar_error *from);
/* What a call answered and said: `status` is returned whatever `why` holds, and the message is why's if it is about `status`. */
uar_status error_pass(uar_error *err, uar_status status, const uar_error *why);

#endif
