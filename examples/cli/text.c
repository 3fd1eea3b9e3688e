/* Text: see text.h. Owns nothing global. */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

static void *must(void *memory) {
    if (memory == NULL) {
        fputs("uar: out of memory\n", stderr);
        _Exit(1);
    }
    return memory;
}

void *must_alloc(size_t size) {
    return must(calloc(1, size > 0 ? size : 1));
}

char *must_copy(uar_str text) {
    char *copy = must_alloc(text.len + 1);
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    return copy;
}

void text_add(text_buffer *b, const char *bytes, size_t len) {
    if (b->len + len + 1 > b->capacity) {
        size_t capacity = b->capacity > 0 ? b->capacity : 256;
        while (capacity < b->len + len + 1)
            capacity *= 2;
        b->data = must(realloc(b->data, capacity));
        b->capacity = capacity;
    }
    if (len > 0) memcpy(b->data + b->len, bytes, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void text_add_z(text_buffer *b, const char *text) {
    text_add(b, text, strlen(text));
}

void text_free(text_buffer *b) {
    free(b->data);
    memset(b, 0, sizeof *b);
}

uar_str text_str(const text_buffer *b) {
    return uar_str_n(b->data, b->len);
}

uar_status text_write(void *ctx, const char *bytes, size_t len) {
    text_add(ctx, bytes, len);
    return UAR_OK;
}

uar_status text_write_piece(void *ctx, uar_str piece) {
    text_add(ctx, piece.ptr, piece.len);
    return UAR_OK;
}

/* Length of the character at `p` and its code point; 0 if it isn't valid. */
static size_t utf8_next(uint32_t *code, const unsigned char *p, size_t left) {
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;
    if (n == 0 || n > left) return 0;
    uint32_t value = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        value = value << 6 | (p[i] & 0x3Fu);
    }
    if (value < least[n] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return 0;
    *code = value;
    return n;
}

size_t text_fault(const char *bytes, size_t len) {
    size_t i = 0;
    uint32_t code = 0;
    while (i < len) {
        size_t n = utf8_next(&code, (const unsigned char *)bytes + i, len - i);
        if (n == 0) return i;
        i += n;
    }
    return len;
}

static bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/* Marks that change the direction of the text around them, and line separators. */
static bool is_reordering(uint32_t code) {
    return code == 0x200E || code == 0x200F || code == 0x061C || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

uar_str text_without_mark(uar_str text) {
    if (text.len < 3 || memcmp(text.ptr, "\xEF\xBB\xBF", 3) != 0) return text;
    return uar_str_n(text.ptr + 3, text.len - 3);
}

bool is_host_id(const char *text) {
    size_t len = strlen(text);
    if (len == 0 || len > 128) return false;
    uint32_t code = 0;
    for (size_t i = 0, n = 0; i < len; i += n) {
        n = utf8_next(&code, (const unsigned char *)text + i, len - i);
        if (n == 0 || is_control(code)) return false;
    }
    return true;
}

void text_add_visible(text_buffer *b, uar_str text, bool lines) {
    size_t i = 0;
    while (i < text.len) {
        uint32_t code = 0;
        size_t n = utf8_next(&code, (const unsigned char *)text.ptr + i, text.len - i);
        bool allowed = lines && (code == '\n' || code == '\t');
        if (n == 0) {
            text_add_z(b, "\xEF\xBF\xBD");
            n = 1;
        } else if (!allowed && (is_control(code) || is_reordering(code))) {
            char escape[16];
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code);
            text_add_z(b, escape);
        } else {
            text_add(b, text.ptr + i, n);
        }
        i += n;
    }
}

void text_place(size_t *line, size_t *column, uar_str text, size_t offset) {
    size_t at_line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < offset && i < text.len; i++) {
        if (text.ptr[i] != '\n') continue;
        at_line++;
        begin = i + 1;
    }
    *line = at_line;
    *column = offset - begin + 1;
}

bool parse_number(uint64_t *out, const char *text, uint64_t max) {
    uint64_t value = 0;
    if (text[0] == '\0') return false;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9') return false;
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (max - digit) / 10 || digit > max) return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}
