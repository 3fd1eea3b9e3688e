/*
 * Base64, both ways. Owns nothing.
 * Invariant: decode accepts exactly what append writes, so that equal bytes always have equal text.
 */
#include "store/base64.h"

#include "base/str.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_append(buffer *out, uar_str bytes) {
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)(unsigned char)bytes.ptr[i] << 16;
        if (left > 1) group |= (uint32_t)(unsigned char)bytes.ptr[i + 1] << 8;
        if (left > 2) group |= (uint32_t)(unsigned char)bytes.ptr[i + 2];
        const char four[4] = { alphabet[group >> 18], alphabet[group >> 12 & 63],
                               left > 1 ? alphabet[group >> 6 & 63] : '=', left > 2 ? alphabet[group & 63] : '=' };
        buffer_append(out, four, sizeof four);
    }
}

/* 0-63, or 64 for what isn't a digit. */
static uint32_t digit(char c) {
    if (c >= 'A' && c <= 'Z') return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z') return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9') return (uint32_t)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

static size_t padding(uar_str text) {
    if (text.len == 0 || text.ptr[text.len - 1] != '=') return 0;
    return text.ptr[text.len - 2] == '=' ? 2 : 1;
}

/* Decode four characters of which the last `pad` are padding. False if they aren't canonical. */
static bool decode_group(char *to, const char *four, size_t pad) {
    uint32_t group = 0;
    for (size_t i = 0; i < 4; i++) {
        uint32_t d = i < 4 - pad ? digit(four[i]) : 0;
        if (d > 63) return false;
        group = group << 6 | d;
    }
    if ((pad == 1 && (group & 0xff) != 0) || (pad == 2 && (group & 0xffff) != 0)) return false;
    for (size_t i = 0; i < 3 - pad; i++)
        to[i] = (char)(unsigned char)(group >> (16 - 8 * i) & 0xff);
    return true;
}

uar_status base64_decode(uar_str *out, arena *ar, uar_str text) {
    if (text.len % 4 != 0) return UAR_E_INVALID;
    size_t pad = padding(text);
    size_t len = text.len / 4 * 3 - pad;
    char *bytes = arena_alloc(ar, len + 1);
    if (bytes == NULL) return UAR_E_NOMEM;
    size_t at = 0;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t cut = i + 4 == text.len ? pad : 0;
        if (!decode_group(bytes + at, text.ptr + i, cut)) return UAR_E_INVALID;
        at += 3 - cut;
    }
    bytes[len] = '\0';
    *out = uar_str_n(bytes, len);
    return UAR_OK;
}
