/*
 * UTF-8: validation, one step of decoding, and an incremental lane that turns chunks cut anywhere into whole characters.
 *
 * The lane's promises: what it puts out is valid UTF-8 without U+0000 and doesn't depend on where the chunks were cut;
 * U+0000 and each maximal broken sequence become U+FFFD; a surrogate pair written as two 3-byte sequences (also over two
 * chunks) becomes its character; a lone surrogate becomes U+FFFD. What was replaced is counted, never silent.
 */
#ifndef UAR_LIB_BASE_UTF8_H
#define UAR_LIB_BASE_UTF8_H

#include "base/buffer.h"

#define UTF8_REPLACEMENT 0xFFFDu

/* True if valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). U+0000 is valid here. */
bool utf8_is_valid(uar_str s);
/* Offset of the first fault, or s.len. */
size_t utf8_fault(uar_str s);
/*
 * Longest prefix of at most `max` bytes that ends at a character boundary. `s` is valid UTF-8; a character that is
 * incomplete at its very end is left out too.
 */
size_t utf8_cut(uar_str s, size_t max);
/* The text behind the byte order mark that some editors put at the beginning of a file. */
uar_str utf8_without_mark(uar_str s);
/* Code points of valid UTF-8. */
size_t utf8_length(uar_str s);
/* Bytes of one code point of at most U+10FFFF, 1 to 4. */
unsigned utf8_size(uint32_t code_point);
/* Write these bytes and return how many (surrogates: WTF-8). `out` has room for them, no NUL is added. */
unsigned utf8_encode(char *out, uint32_t code_point);
/* Append one code point of at most U+10FFFF (surrogates are written as WTF-8: three bytes). */
void utf8_append(buffer *out, uint32_t code_point);

typedef enum utf8_kind {
    UTF8_CHARACTER, /* a code point that may stand in UTF-8 */
    UTF8_SURROGATE, /* U+D800 to U+DFFF in three bytes, as WTF-8 writes it */
    UTF8_BROKEN,    /* the longest run that no continuation could have saved: one U+FFFD */
    UTF8_PARTIAL    /* all that is left, and more bytes could make it whole */
} utf8_kind;

typedef struct utf8_item {
    utf8_kind kind;
    unsigned len;        /* bytes it takes, 1 to 4 */
    uint32_t code_point; /* of a character or surrogate, else 0 */
} utf8_item;

/* What starts at `bytes`; `len` is at least 1. */
utf8_item utf8_decode(const char *bytes, size_t len);

typedef struct utf8_lane {
    uint8_t held[6]; /* bytes that wait for more */
    uint8_t held_len;
    uint32_t nuls;   /* U+0000 replaced so far */
    uint32_t broken; /* invalid sequences and lone surrogates replaced so far */
    bool truncated;  /* set by utf8_lane_end when the text ended inside a character or pair */
} utf8_lane;

void utf8_lane_init(utf8_lane *lane);
/* Append what is whole after `bytes` to out. */
void utf8_lane_push(utf8_lane *lane, uar_str bytes, buffer *out);
/*
 * The text is over: what is still held becomes one U+FFFD and `truncated` is set (`broken` doesn't count it). The lane
 * is as after init, counts kept.
 */
void utf8_lane_end(utf8_lane *lane, buffer *out);

#endif
