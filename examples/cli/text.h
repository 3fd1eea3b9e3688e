/*
 * Text: a growing buffer, UTF-8 checks, and text made safe for a terminal.
 *
 * A program with no memory left has nothing useful to do: must_alloc ends it with status 1.
 */
#ifndef UAR_CLI_TEXT_H
#define UAR_CLI_TEXT_H

#include <uar/base.h>

/* `size` zeroed bytes; never NULL. Free with free(). */
void *must_alloc(size_t size);
/* A copy with a NUL behind it; never NULL. Free with free(). */
char *must_copy(uar_str text);

/* Bytes that grow. All zero is an empty one. */
typedef struct text_buffer {
    char *data; /* NUL behind `len` bytes, or NULL if nothing was ever added */
    size_t len;
    size_t capacity;
} text_buffer;

void text_add(text_buffer *b, const char *bytes, size_t len);
void text_add_z(text_buffer *b, const char *text);
void text_free(text_buffer *b);
uar_str text_str(const text_buffer *b);
/* A uar_write_fn and a uar_memory_write_fn whose ctx is a text_buffer. */
uar_status text_write(void *ctx, const char *bytes, size_t len);
uar_status text_write_piece(void *ctx, uar_str piece);

/* Offset of the first byte that isn't part of valid UTF-8, or `len` if all is. */
size_t text_fault(const char *bytes, size_t len);

/* The text without the byte order mark that some editors put at the beginning of a file. */
uar_str text_without_mark(uar_str text);

/* An id of the host: 1 to 128 bytes of UTF-8 without control characters. */
bool is_host_id(const char *text);

/* Append `text` with whatever could move the cursor, change colours or reorder the line replaced by \uXXXX. Line feeds
 * and tabs stay if `lines`. */
void text_add_visible(text_buffer *b, uar_str text, bool lines);

/* Line and column, both from 1, of a byte. */
void text_place(size_t *line, size_t *column, uar_str text, size_t offset);

/* Whole base-10 number, nothing around it. False if it isn't one or is above `max`. */
bool parse_number(uint64_t *out, const char *text, uint64_t max);

#endif
