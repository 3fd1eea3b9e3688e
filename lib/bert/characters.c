/* Owns nothing. Classes come from the table beside this file; how characters come apart and become small, from utf8proc,
 * where Unicode promises that what is there never changes. */
#include "bert/characters.h"

#include <stddef.h>
#include <utf8proc.h>

#include "bert/characters_table.h"

/* Is it in one of `count` ascending ranges? */
static bool is_in(const character_range *ranges, size_t count, uint32_t c) {
    size_t low = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (ranges[low + half].last < c) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return c >= ranges[low].first && c <= ranges[low].last;
}

#define IS_IN(ranges, c) \
    ((c) <= ranges[sizeof ranges / sizeof ranges[0] - 1].last && is_in(ranges, sizeof ranges / sizeof ranges[0], c))

bool character_is_space(uint32_t c) {
    if (c <= 0x20) return c == ' ' || (c >= 0x09 && c <= 0x0D);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

bool character_is_noise(uint32_t c) {
    if (c < 0x80) return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
    return IS_IN(noise_ranges, c);
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
    return IS_IN(punctuation_ranges, c);
}

bool character_is_accent(uint32_t c) {
    return c >= 0x80 && IS_IN(accent_ranges, c);
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
