/* Owns nothing. Unicode's tables are utf8proc's; the ranges here are those that the reference has of its own. */
#include "bert/characters.h"

#include <stddef.h>
#include <utf8proc.h>

static utf8proc_category_t category(uint32_t c) {
    return utf8proc_category((utf8proc_int32_t)c);
}

bool character_is_space(uint32_t c) {
    if (c <= 0x20) return c == ' ' || (c >= 0x09 && c <= 0x0D);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

bool character_is_noise(uint32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    if (c == 0 || c == 0xFFFD) return true;
    switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS: return true;
    default: return false;
    }
}

bool character_is_chinese(uint32_t c) {
    static const struct {
        uint32_t first, last;
    } blocks[] = {
        { 0x3400, 0x4DBF },   { 0x4E00, 0x9FFF },   { 0xF900, 0xFAFF },   { 0x20000, 0x2A6DF },
        { 0x2A700, 0x2B73F }, { 0x2B740, 0x2B81F }, { 0x2B920, 0x2CEAF }, { 0x2F800, 0x2FA1F },
    };
    if (c < blocks[0].first) return false;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (c >= blocks[i].first && c <= blocks[i].last) return true;
    return false;
}

bool character_is_punctuation(uint32_t c) {
    if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
    switch (category(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return true;
    default: return false;
    }
}

bool character_is_accent(uint32_t c) {
    return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN;
}

unsigned character_decompose(uint32_t out[CHARACTER_PARTS], uint32_t c) {
    utf8proc_int32_t parts[CHARACTER_PARTS];
    int boundary = 0;
    utf8proc_ssize_t count =
        c < 0xC0 ? 0
                 : utf8proc_decompose_char((utf8proc_int32_t)c, parts, CHARACTER_PARTS, UTF8PROC_DECOMPOSE, &boundary);
    if (count <= 0 || count > CHARACTER_PARTS) {
        out[0] = c;
        return 1;
    }
    for (utf8proc_ssize_t i = 0; i < count; i++)
        out[i] = (uint32_t)parts[i];
    return (unsigned)count;
}

unsigned character_lower(uint32_t out[CHARACTER_PARTS], uint32_t c) {
    /* The one character that becomes two: a capital I with a dot. */
    if (c == 0x130) {
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    out[0] = c < 0x80 ? (c >= 'A' && c <= 'Z' ? c + 32 : c) : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    return 1;
}
