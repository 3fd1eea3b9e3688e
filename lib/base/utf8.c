/*
 * UTF-8 stepping and the lane.
 *
 * Invariants of a lane: `held` is empty, or the beginning of a character or surrogate, or a high surrogate with perhaps
 * the beginning of its low half; in each case only further bytes can tell what it is. So every decision depends on the
 * bytes of the whole text alone, never on where a chunk ended.
 */
#include "base/utf8.h"

#include <assert.h>

/* One in each byte of a word, and the top bit of each. */
#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)
#define SURROGATE_BYTES 3

static inline uint8_t byte_at(const char *p) {
    return (uint8_t)*p;
}

static inline uint64_t load_word(const char *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static const char *skip_ascii(const char *p, const char *end) {
    while (end - p >= 8 && (load_word(p) & HIGH) == 0) {
        p += 8;
    }
    while (p < end && byte_at(p) < 0x80) {
        p++;
    }
    return p;
}

/* As skip_ascii, and stops at U+0000. A borrow in `word - ONES` can only start at a zero byte: stopping early is safe. */
static const char *skip_text_ascii(const char *p, const char *end) {
    while (end - p >= 8) {
        uint64_t word = load_word(p);
        if (((word | (word - ONES)) & HIGH) != 0) break;
        p += 8;
    }
    while (p < end && byte_at(p) < 0x80 && *p != 0) {
        p++;
    }
    return p;
}

/* What a lead byte asks for: how many bytes, and the range of the second. */
typedef struct lead {
    unsigned len;
    uint8_t low, high;
    uint8_t bits; /* payload of the lead byte */
} lead;

static lead lead_of(uint8_t b) {
    lead none = { 0, 0, 0, 0 };
    if (b < 0xC2 || b > 0xF4) return none;
    lead two = { 2, 0x80, 0xBF, (uint8_t)(b & 0x1F) };
    if (b < 0xE0) return two;
    /* ED A0..BF are surrogates: kept apart by the caller, not here. */
    lead three = { 3, b == 0xE0 ? 0xA0 : 0x80, 0xBF, (uint8_t)(b & 0x0F) };
    if (b < 0xF0) return three;
    lead four = { 4, b == 0xF0 ? 0x90 : 0x80, b == 0xF4 ? 0x8F : 0xBF, (uint8_t)(b & 0x07) };
    return four;
}

utf8_item utf8_decode(const char *bytes, size_t len) {
    assert(len > 0);
    utf8_item item = { UTF8_CHARACTER, 1, byte_at(bytes) };
    if (item.code_point < 0x80) return item;

    lead first = lead_of(byte_at(bytes));
    item.kind = UTF8_BROKEN;
    item.code_point = 0;
    if (first.len == 0) return item;

    uint32_t code = first.bits;
    for (unsigned i = 1; i < first.len; i++) {
        item.len = i;
        if (i == len) {
            item.kind = UTF8_PARTIAL;
            return item;
        }
        uint8_t b = byte_at(bytes + i);
        uint8_t low = i == 1 ? first.low : 0x80;
        uint8_t high = i == 1 ? first.high : 0xBF;
        if (b < low || b > high) return item;
        code = code << 6 | (b & 0x3Fu);
    }
    item.len = first.len;
    item.code_point = code;
    item.kind = code >= 0xD800 && code <= 0xDFFF ? UTF8_SURROGATE : UTF8_CHARACTER;
    return item;
}

size_t utf8_fault(uar_str s) {
    if (s.len == 0) return 0;
    const char *p = s.ptr;
    const char *end = p + s.len;
    while ((p = skip_ascii(p, end)) < end) {
        utf8_item item = utf8_decode(p, (size_t)(end - p));
        if (item.kind != UTF8_CHARACTER) break;
        p += item.len;
    }
    return (size_t)(p - s.ptr);
}

bool utf8_is_valid(uar_str s) {
    return utf8_fault(s) == s.len;
}

size_t utf8_cut(uar_str s, size_t max) {
    size_t len = s.len < max ? s.len : max;
    size_t last = len;
    for (unsigned back = 0; back < 3 && last > 0; back++) {
        last--;
        if ((byte_at(s.ptr + last) & 0xC0) != 0x80) break;
    }
    if (last == len) return len;
    return utf8_decode(s.ptr + last, len - last).kind == UTF8_PARTIAL ? last : len;
}

uar_str utf8_without_mark(uar_str s) {
    if (s.len < 3 || memcmp(s.ptr, "\xEF\xBB\xBF", 3) != 0) return s;
    return uar_str_n(s.ptr + 3, s.len - 3);
}

size_t utf8_length(uar_str s) {
    size_t count = 0;
    for (size_t i = 0; i < s.len; i++) {
        count += (byte_at(s.ptr + i) & 0xC0) != 0x80;
    }
    return count;
}

unsigned utf8_size(uint32_t code_point) {
    assert(code_point <= 0x10FFFF);
    return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

unsigned utf8_encode(char *out, uint32_t code_point) {
    unsigned len = utf8_size(code_point);
    if (len == 1) {
        out[0] = (char)code_point;
        return 1;
    }
    for (unsigned i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    out[0] = (char)(uint8_t)(0xF00u >> len | code_point);
    return len;
}

void utf8_append(buffer *out, uint32_t code_point) {
    char bytes[4];
    buffer_append(out, bytes, utf8_encode(bytes, code_point));
}

static bool is_high(utf8_item item) {
    return item.kind == UTF8_SURROGATE && item.code_point < 0xDC00;
}
static bool is_low(utf8_item item) {
    return item.kind == UTF8_SURROGATE && item.code_point >= 0xDC00;
}

static void replace(buffer *out, uint32_t *count) {
    (*count)++;
    utf8_append(out, UTF8_REPLACEMENT);
}

/*
 * Bytes that start like the second half of a pair and may become it: ED, or ED B0..BF. Any other partial sequence already
 * shows that the high half before it is alone.
 */
static bool may_become_low(const char *p, utf8_item item) {
    if (item.kind != UTF8_PARTIAL || byte_at(p) != 0xED) return false;
    return item.len == 1 || byte_at(p + 1) >= 0xB0;
}

/* A high surrogate starts at p. Put out what it is; 0 when only more bytes can tell. Else the bytes used. */
static size_t take_high(utf8_lane *lane, const char *p, size_t len, uint32_t high, buffer *out) {
    if (len == SURROGATE_BYTES) return 0;
    const char *rest = p + SURROGATE_BYTES;
    utf8_item next = utf8_decode(rest, len - SURROGATE_BYTES);
    if (may_become_low(rest, next)) return 0;
    if (!is_low(next)) {
        replace(out, &lane->broken);
        return SURROGATE_BYTES;
    }
    utf8_append(out, 0x10000 + ((high - 0xD800) << 10) + (next.code_point - 0xDC00));
    return 2 * SURROGATE_BYTES;
}

/*
 * Replace the one item at p, which can't go out as it is. Returns the bytes used; 0 when only more bytes can tell what it
 * is.
 */
static size_t take_unclean(utf8_lane *lane, const char *p, size_t len, buffer *out) {
    utf8_item item = utf8_decode(p, len);
    assert(item.kind != UTF8_CHARACTER || item.code_point == 0);
    if (item.kind == UTF8_PARTIAL) return 0;
    if (is_high(item)) return take_high(lane, p, len, item.code_point, out);
    replace(out, item.kind == UTF8_CHARACTER ? &lane->nuls : &lane->broken);
    return item.len;
}

/* End of the run of characters that go out as they are. */
static const char *skip_clean(const char *p, const char *end) {
    while ((p = skip_text_ascii(p, end)) < end && *p != 0) {
        utf8_item item = utf8_decode(p, (size_t)(end - p));
        if (item.kind != UTF8_CHARACTER) break;
        p += item.len;
    }
    return p;
}

/* Work through a stretch of text; returns the bytes at its end that only more bytes can explain. */
static size_t take_all(utf8_lane *lane, const char *p, size_t len, buffer *out) {
    const char *end = p + len;
    while (p < end) {
        const char *clean_end = skip_clean(p, end);
        if (clean_end > p) buffer_append(out, p, (size_t)(clean_end - p));
        p = clean_end;
        if (p == end) break;
        size_t used = take_unclean(lane, p, (size_t)(end - p), out);
        if (used == 0) break;
        p += used;
    }
    return (size_t)(end - p);
}

void utf8_lane_init(utf8_lane *lane) {
    memset(lane, 0, sizeof *lane);
}

void utf8_lane_push(utf8_lane *lane, uar_str bytes, buffer *out) {
    const char *p = bytes.ptr;
    size_t left = bytes.len;
    assert(p != NULL || left == 0);
    while (lane->held_len > 0 && left > 0) {
        char joined[sizeof lane->held];
        size_t len = lane->held_len;
        assert(len < sizeof lane->held);
        memcpy(joined, lane->held, len);
        joined[len++] = *p++;
        left--;
        lane->held_len = (uint8_t)take_all(lane, joined, len, out);
        memcpy(lane->held, joined + len - lane->held_len, lane->held_len);
    }
    if (left == 0) return;
    size_t kept = take_all(lane, p, left, out);
    assert(kept < sizeof lane->held);
    memcpy(lane->held, p + left - kept, kept);
    lane->held_len = (uint8_t)kept;
}

void utf8_lane_end(utf8_lane *lane, buffer *out) {
    if (lane->held_len == 0) return;
    utf8_append(out, UTF8_REPLACEMENT);
    lane->held_len = 0;
    lane->truncated = true;
}
