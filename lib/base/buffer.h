/*
 * A growable run of bytes with a maximum set at creation. Errors stick: after the first failed append `status` says why
 * (UAR_E_NOMEM or UAR_E_TOO_LARGE), later appends do nothing, and the bytes so far stay readable. So a writer appends
 * freely and asks once at the end. The bytes are always followed by a NUL that `len` doesn't count.
 */
#ifndef UAR_LIB_BASE_BUFFER_H
#define UAR_LIB_BASE_BUFFER_H

#include "base/alloc.h"

typedef struct buffer {
    const uar_allocator *alloc;
    char *ptr;
    size_t len;
    size_t cap;
    size_t max; /* bytes, without the NUL */
    uar_status status;
} buffer;

void buffer_init(buffer *b, const uar_allocator *a, size_t max);
/* Free the bytes; the buffer is as after init. A zeroed buffer that was never set up is fine too. */
void buffer_dispose(buffer *b);
void buffer_reset(buffer *b); /* forget content and error, keep memory */
void buffer_append(buffer *b, const void *bytes, size_t len);
void buffer_append_str(buffer *b, uar_str s);
void buffer_append_text(buffer *b, const char *text);
void buffer_append_char(buffer *b, char c);
void buffer_append_u64(buffer *b, uint64_t value);
void buffer_append_i64(buffer *b, int64_t value);
/* Make room for `more` zeroed bytes and return where they go; NULL on error. Then add to `len` what was written. */
char *buffer_reserve(buffer *b, size_t more);
void buffer_truncate(buffer *b, size_t len);
static inline uar_str buffer_str(const buffer *b) {
    return uar_str_n(b->ptr != NULL ? b->ptr : "", b->len);
}
/* Hand the NUL-terminated bytes over (free with alloc_free); `len` may be NULL. NULL if the buffer failed: its bytes are
 * freed and `status` still says why. The buffer is empty afterwards either way and needs no dispose. */
char *buffer_take(buffer *b, size_t *len);

#endif
