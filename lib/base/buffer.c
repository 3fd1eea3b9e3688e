/*
 * A growable run of bytes with a maximum.
 * Invariants: len <= max; if ptr isn't NULL, len < cap and ptr[len] is NUL; ptr is NULL exactly when cap is 0;
 * once status is an error, len doesn't grow.
 */
#include "base/buffer.h"

#include <assert.h>

enum { BUFFER_FIRST = 64 }; /* bytes of the first block */

static void buffer_check(const buffer *b) {
    assert(b != NULL && b->alloc != NULL);
    assert((b->ptr == NULL) == (b->cap == 0));
    assert(b->ptr == NULL ? b->len == 0 : b->len < b->cap);
    (void)b;
}

void buffer_init(buffer *b, const uar_allocator *a, size_t max) {
    assert(b != NULL && a != NULL);
    *b = (buffer){ .alloc = a, .max = max < SIZE_MAX ? max : SIZE_MAX - 1 };
}

void buffer_dispose(buffer *b) {
    if (b->alloc == NULL) return;
    buffer_check(b);
    alloc_free(b->alloc, b->ptr);
    buffer_init(b, b->alloc, b->max);
}

void buffer_reset(buffer *b) {
    buffer_check(b);
    b->status = UAR_OK;
    buffer_truncate(b, 0);
}

/* Room for `more` bytes and the NUL after them; false once the buffer has failed. */
static bool buffer_grow(buffer *b, size_t more) {
    buffer_check(b);
    if (b->status != UAR_OK) return false;
    if (more > b->max - b->len) {
        b->status = UAR_E_TOO_LARGE;
        return false;
    }
    size_t need = b->len + more + 1;
    if (need <= b->cap) return true;
    size_t cap = b->cap != 0 ? b->cap : BUFFER_FIRST;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    if (cap > b->max + 1) cap = b->max + 1;
    char *ptr = alloc_resize(b->alloc, b->ptr, cap);
    if (ptr == NULL) {
        b->status = UAR_E_NOMEM;
        return false;
    }
    ptr[b->len] = '\0';
    b->ptr = ptr;
    b->cap = cap;
    return true;
}

void buffer_append(buffer *b, const void *bytes, size_t len) {
    assert(bytes != NULL || len == 0);
    if (!buffer_grow(b, len) || len == 0) return;
    memcpy(b->ptr + b->len, bytes, len);
    b->len += len;
    b->ptr[b->len] = '\0';
}

void buffer_append_str(buffer *b, uar_str s) {
    buffer_append(b, s.ptr, s.len);
}

void buffer_append_text(buffer *b, const char *text) {
    buffer_append_str(b, uar_str_of(text));
}

void buffer_append_char(buffer *b, char c) {
    buffer_append(b, &c, 1);
}

enum { DECIMAL = 21 }; /* a sign and the digits of the largest number */

/* In one append, so that a full buffer never ends inside a number. */
static void append_decimal(buffer *b, uint64_t magnitude, bool is_negative) {
    char text[DECIMAL];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude != 0);
    if (is_negative) text[--at] = '-';
    buffer_append(b, text + at, sizeof text - at);
}

void buffer_append_u64(buffer *b, uint64_t value) {
    append_decimal(b, value, false);
}

void buffer_append_i64(buffer *b, int64_t value) {
    append_decimal(b, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

char *buffer_reserve(buffer *b, size_t more) {
    if (!buffer_grow(b, more)) return NULL;
    /* Zeroed, so that the NUL follows however much of it the caller uses. */
    memset(b->ptr + b->len, 0, more + 1);
    return b->ptr + b->len;
}

void buffer_truncate(buffer *b, size_t len) {
    assert(len <= b->len);
    b->len = len;
    if (b->ptr != NULL) b->ptr[len] = '\0';
}

char *buffer_take(buffer *b, size_t *len) {
    uar_status status = buffer_grow(b, 0) ? UAR_OK : b->status;
    char *bytes = status == UAR_OK ? b->ptr : NULL;
    if (bytes == NULL) {
        buffer_dispose(b);
        b->status = status;
        return NULL;
    }
    if (len != NULL) *len = b->len;
    buffer_init(b, b->alloc, b->max);
    return bytes;
}
