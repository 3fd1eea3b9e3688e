/* Both directions are exact for text whose own escapes hold no lone surrogate of the range. */
#include "model/raw_bytes.h"

#include "base/utf8.h"

static void escape_byte(buffer *out, unsigned char byte) {
    static const char hex[] = "0123456789abcdef";
    char text[6] = { '\\', 'u', 'd', 'c', hex[byte >> 4], hex[byte & 15] };
    buffer_append(out, text, sizeof text);
}

void raw_bytes_escape(buffer *out, uar_str json) {
    while (json.len > 0) {
        size_t good = utf8_fault(json);
        buffer_append(out, json.ptr, good);
        if (good < json.len) escape_byte(out, (unsigned char)json.ptr[good++]);
        json = uar_str_n(json.ptr + good, json.len - good);
    }
}

static bool is_stand_in(const char *at, size_t left) {
    const unsigned char *b = (const unsigned char *)at;
    return left >= 3 && b[0] == 0xed && (b[1] == 0xb2 || b[1] == 0xb3);
}

void raw_bytes_restore(buffer *out, uar_str text) {
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_stand_in(text.ptr + i, text.len - i)) continue;
        buffer_append(out, text.ptr + from, i - from);
        unsigned high = (unsigned char)text.ptr[i + 1] - 0xb2u;
        unsigned low = (unsigned char)text.ptr[i + 2] & 0x3fu;
        buffer_append_char(out, (char)(unsigned char)(0x80u + (high << 6) + low));
        i += 2;
        from = i + 1;
    }
    buffer_append(out, text.ptr + from, text.len - from);
}
